//! The order in which a rank may speak. The node holds its ranks to it, and `mpirun` the reports
//! of other hosts about theirs.

/// How far a rank has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// It has not called Init: maybe it is no MPI program.
    Silent,
    /// It has its assignment.
    Assigned,
    /// It has given its card and waits for those of all.
    Carded,
    /// It has finalized. It may start over: a script may run several programs.
    Finalized,
}

/// What a rank may do over its channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It calls Init.
    Init,
    /// It gives its card.
    Card,
    /// It reports its counters.
    Counters,
    /// It has finalized.
    Finalized,
    /// It aborts the job.
    Abort,
    /// It finalizes without a peer that it has lost.
    Loss,
    /// It reports why its Finalize fails.
    Failure,
    /// It says that it is blocked, or no longer, or what it does.
    Wait,
}

impl Step {
    /// The step in words, behind the name of a rank.
    pub fn in_words(self) -> &'static str {
        match self {
            Step::Init => "called Init a second time",
            Step::Card => "gave its card",
            Step::Counters => "reported its counters",
            Step::Finalized => "finalized",
            Step::Abort => "aborted",
            Step::Loss => "reported the loss of a peer",
            Step::Failure => "reported why MPI_Finalize fails",
            Step::Wait => "reported what it waits for",
        }
    }
}

impl Phase {
    /// The phase after this step.
    ///
    /// # Errors
    ///
    /// Words for a step that is out of order.
    pub fn after(self, step: Step) -> Result<Phase, String> {
        match (self, step) {
            (Phase::Silent | Phase::Finalized, Step::Init) => Ok(Phase::Assigned),
            (Phase::Assigned, Step::Card) => Ok(Phase::Carded),
            (
                Phase::Assigned | Phase::Carded,
                Step::Counters | Step::Loss | Step::Failure | Step::Wait,
            ) => Ok(self),
            // A single rank has nobody to exchange cards with.
            (Phase::Assigned | Phase::Carded, Step::Finalized) => Ok(Phase::Finalized),
            (phase, Step::Abort) if phase != Phase::Silent => Ok(phase),
            (phase, step) => {
                let what = step.in_words();
                Err(format!("{what} out of order (it was {phase:?})"))
            }
        }
    }

    /// The phase after the cards of all ranks were sent to it: the next exchange may begin.
    #[must_use]
    pub fn after_cards(self) -> Phase {
        match self {
            Phase::Carded => Phase::Assigned,
            phase => phase,
        }
    }
}
