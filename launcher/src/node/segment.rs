//! What the ranks of one node share: a memory, and a doorbell for each rank.
//!
//! It is made when the first rank of the node calls Init, anew for each round of Init, since a
//! script may run several programs one after the other. It goes to the ranks over their boot
//! channels and nowhere else: it has no name, so it ends with the last process that has it.

use std::collections::VecDeque;
use std::rc::Rc;

use mpi_boot::shared::Shared;
use mpi_boot::transports::named;

/// How many rounds of Init a rank may be ahead of another one of its node. MPI lets no rank leave
/// Init before all have come, so only a rank that does not follow MPI gets ahead.
const ROUNDS_MAX: usize = 4;

/// Why a rank gets no assignment.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The user wants shared memory, the system does not.
    System(String),
    /// The rank is too far ahead of others.
    Ahead,
}

/// One round of Init.
#[derive(Debug)]
struct Round {
    /// Nothing where the system refused it.
    segment: Option<Rc<Shared>>,
    /// Ranks that have not come yet.
    missing: u32,
}

/// The rounds of Init that some ranks of the node have begun and others have not.
#[derive(Debug)]
pub(super) struct Rounds {
    /// How many files a rank may have open.
    files: u64,
    ranks: u32,
    /// `auto` or `shm`, and somebody to share with.
    is_wanted: bool,
    /// `shm`: nothing else will do.
    is_forced: bool,
    /// How many rounds each rank has begun.
    begun: Vec<u64>,
    /// The number of the oldest round in `open`.
    oldest: u64,
    open: VecDeque<Round>,
}

impl Rounds {
    pub(super) fn new(ranks: u32, transport: &str, files: u64) -> Rounds {
        Rounds {
            files,
            ranks,
            is_wanted: ranks > 1 && named(transport).is_some_and(|it| it.shares_memory),
            is_forced: transport == "shm",
            begun: vec![0; ranks as usize],
            oldest: 0,
            open: VecDeque::new(),
        }
    }

    /// The rank at this place of the node begins its next round. Returns what it shares with the
    /// others in it.
    pub(super) fn enter(&mut self, place: usize) -> Result<Option<Rc<Shared>>, Refusal> {
        if !self.is_wanted {
            return Ok(None);
        }
        let ahead = usize::try_from(self.begun[place] - self.oldest).unwrap_or(usize::MAX);
        if ahead >= ROUNDS_MAX {
            return Err(Refusal::Ahead);
        }
        if ahead == self.open.len() {
            self.begin()?;
        }
        self.begun[place] += 1;
        let round = &mut self.open[ahead];
        round.missing -= 1;
        let segment = round.segment.clone();
        // Every rank enters the rounds in order, so they are complete in order.
        while self.open.front().is_some_and(|round| round.missing == 0) {
            self.open.pop_front();
            self.oldest += 1;
        }
        Ok(segment)
    }

    fn begin(&mut self) -> Result<(), Refusal> {
        let segment = match Shared::make(self.ranks, self.files) {
            Err(reason) if self.is_forced => return Err(Refusal::System(reason)),
            made => made.ok().map(Rc::new),
        };
        let missing = self.ranks;
        self.open.push_back(Round { segment, missing });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(rounds: &mut Rounds, place: usize) -> Rc<Shared> {
        rounds.enter(place).unwrap().expect("nothing hinders")
    }

    #[test]
    fn a_round_has_one_segment_which_is_let_go_when_all_ranks_have_it() {
        let mut rounds = Rounds::new(3, "auto", 1024);
        for _ in 0..10 {
            let first = enter(&mut rounds, 2);
            let others = [0, 1].map(|place| enter(&mut rounds, place));
            assert!(others.iter().all(|other| Rc::ptr_eq(other, &first)));
            drop(others);
            assert_eq!((Rc::strong_count(&first), rounds.open.len()), (1, 0));
        }
    }

    #[test]
    fn a_rank_that_is_ahead_gets_the_segments_that_the_others_will_get() {
        let mut rounds = Rounds::new(2, "shm", 1024);
        let ahead: Vec<_> = (0..ROUNDS_MAX).map(|_| enter(&mut rounds, 0)).collect();
        assert_eq!(rounds.enter(0).unwrap_err(), Refusal::Ahead);
        for segment in &ahead {
            assert!(Rc::ptr_eq(segment, &enter(&mut rounds, 1)));
            assert_eq!(Rc::strong_count(segment), 1);
        }
        enter(&mut rounds, 0);
    }

    #[test]
    fn ranks_that_may_not_open_enough_share_nothing() {
        let poor = 34;
        assert!(Shared::make(1, poor).is_ok());
        let mut rounds = Rounds::new(2, "auto", poor);
        assert!(rounds.enter(0).unwrap().is_none() && rounds.enter(1).unwrap().is_none());
        let refusal = Rounds::new(2, "shm", poor).enter(0).unwrap_err();
        assert!(matches!(refusal, Refusal::System(reason) if reason.contains("ulimit -n")));
    }

    #[test]
    fn nothing_is_made_for_other_transports_and_single_ranks() {
        for (ranks, transport) in [(2, "rmpp"), (2, "loopback"), (1, "auto"), (1, "shm")] {
            assert!(
                Rounds::new(ranks, transport, 1024)
                    .enter(0)
                    .unwrap()
                    .is_none()
            );
        }
    }
}
