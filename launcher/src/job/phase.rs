//! The order in which a rank may speak. The node holds its ranks to it, and `mpirun` the reports
//! of other hosts about theirs.

/// How far a rank has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Phase {
    /// It has not called Init: maybe it is no MPI program.
    #[default]
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
    /// It reports that it is blocked.
    Blocked,
    /// It reports that it is no longer blocked.
    Resumed,
    /// It reports what it does.
    State,
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
            Step::Blocked => "reported that it is blocked",
            Step::Resumed => "reported that it is no longer blocked",
            Step::State => "reported what it does",
        }
    }
}

/// What is wrong with a rank of which two processes are in MPI.
const TWO_PROCESSES: &str = "is two processes that have called MPI_Init: a rank may run several \
                             programs one after the other, but not at once";

impl Phase {
    /// The phase in words, behind the name of a rank.
    fn in_words(self) -> &'static str {
        match self {
            Phase::Silent => "it has not called MPI_Init",
            Phase::Assigned => "it is in MPI",
            Phase::Carded => "it has given its card and waits for those of all",
            Phase::Finalized => "it has called MPI_Finalize",
        }
    }
}

/// What a rank has done so far, as far as it bears on what it may do next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Course {
    phase: Phase,
    is_blocked: bool,
}

impl Course {
    /// How far the rank has come.
    pub fn phase(self) -> Phase {
        self.phase
    }

    /// Returns true if the rank answers what it does: it is between Init and Finalize.
    pub fn is_in_mpi(self) -> bool {
        matches!(self.phase, Phase::Assigned | Phase::Carded)
    }

    /// The course after this step, or words for one that is out of order.
    pub fn after(self, step: Step) -> Result<Course, String> {
        let phase = match (self.phase, step) {
            (Phase::Silent | Phase::Finalized, Step::Init) => Phase::Assigned,
            (Phase::Assigned, Step::Card) => Phase::Carded,
            // A library refuses a second Init by itself, so this is another process.
            (Phase::Assigned | Phase::Carded, Step::Init) => return Err(TWO_PROCESSES.into()),
            // A single rank has nobody to exchange cards with.
            (Phase::Assigned | Phase::Carded, Step::Finalized) => Phase::Finalized,
            (phase, Step::Abort) if phase != Phase::Silent => phase,
            (phase @ (Phase::Assigned | Phase::Carded), step) if step != Step::Card => phase,
            (phase, step) => {
                let (what, state) = (step.in_words(), phase.in_words());
                return Err(format!("{what} out of order ({state})"));
            }
        };
        let is_blocked = match (step, self.is_blocked) {
            (Step::Blocked, true) => return Err("was blocked already".into()),
            (Step::Resumed, false) => return Err("resumed, but was not blocked".into()),
            (Step::Blocked, false) => true,
            (Step::Resumed | Step::Init | Step::Finalized, _) => false,
            (_, is_blocked) => is_blocked,
        };
        Ok(Course { phase, is_blocked })
    }

    /// The course after the cards of all ranks were sent to the rank: the next exchange may begin.
    #[must_use]
    pub fn after_cards(self) -> Course {
        let phase = match self.phase {
            Phase::Carded => Phase::Assigned,
            phase => phase,
        };
        Course { phase, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(steps: &[Step]) -> Result<Course, String> {
        let start = Ok(Course::default());
        steps
            .iter()
            .fold(start, |course, step| course.and_then(|it| it.after(*step)))
    }

    #[test]
    fn a_rank_is_blocked_and_resumes_in_turn_and_only_in_mpi() {
        use Step::{Blocked, Finalized, Init, Resumed, State};
        let right: [&[Step]; 3] = [
            &[Init, Blocked, Resumed, Blocked, State, Resumed],
            &[Init, Blocked, Finalized, Init, Blocked],
            &[Init, State, State],
        ];
        for steps in right {
            assert!(after(steps).is_ok(), "{steps:?}");
        }
        let wrong: [&[Step]; 6] = [
            &[Blocked],
            &[State],
            &[Init, Resumed],
            &[Init, Blocked, Blocked],
            &[Init, Blocked, Resumed, Resumed],
            &[Init, Finalized, Blocked],
        ];
        for steps in wrong {
            assert!(after(steps).is_err(), "{steps:?}");
        }
    }
}
