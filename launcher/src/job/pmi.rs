//! The ranks of a job that speak PMI: their fence, their services, and that they do not meet ranks
//! of ours.

use std::collections::BTreeSet;

use super::ranks::Phase;
use super::{FAILED, Job};
use crate::pmi::names::Names;
use crate::pmi::store::size;
use crate::pmi::{Command, Event, Put};
use crate::wire::Order;

/// The most that the ranks of a job put between two fences, in bytes: it goes to each node in one
/// frame.
const FENCE_MAX: usize = 8 << 20;

/// What the ranks have said by PMI.
#[derive(Debug, Default)]
pub(super) struct Conversations {
    /// A rank has spoken PMI, and the user knows what that means.
    is_known: bool,
    /// The ranks whose program is of another MPI.
    foreign: BTreeSet<u32>,
    /// The ranks in the fence.
    waiting: BTreeSet<u32>,
    /// What they have put, and its size.
    puts: Vec<Put>,
    bytes: usize,
    names: Names,
}

impl Job {
    /// Takes note of what a rank does that speaks PMI.
    pub(super) fn hear_pmi(&mut self, rank: u32, event: Event) {
        match event {
            Event::Init => {
                self.judge_wishes(rank);
                self.pmi.foreign.insert(rank);
                // Nobody is waited for here, but in the first fence.
                self.note_init(rank);
            }
            Event::Fence(puts) => self.collect_puts(rank, puts),
            Event::Finalized => {
                self.pmi.foreign.remove(&rank);
                self.ranks.get(rank).phase = Phase::Finalized;
            }
            Event::Abort { code, message } => self.abort(rank, code, &message),
            Event::Name(ask) => {
                let answer = self.pmi.names.answer(ask);
                let named = Command::Named { rank, answer };
                self.outcome.order(Order::Pmi(named));
            }
        }
    }

    /// Ends the job if the user asks for what a rank that speaks PMI must not go without, and says
    /// what else has no effect. Nothing has been sent yet: the ranks learn of each other in the
    /// first fence.
    fn judge_wishes(&mut self, rank: u32) {
        if self.ranks.size() == 1 || self.pmi.is_known {
            return;
        }
        self.pmi.is_known = true;
        let who = self.ranks.who(rank);
        if let Some(line) = self.wishes.refusal(&who) {
            self.outcome.fail(FAILED, line);
        } else if let Some(note) = self.wishes.note(&who) {
            self.outcome.say(note);
        }
    }

    /// Ends the job if this rank meets one of another MPI: they do not find each other.
    pub(super) fn refuse_mixture(&mut self, rank: u32) {
        if self.pmi.foreign.is_empty() {
            return;
        }
        let is_foreign = |rank: u32| self.pmi.foreign.contains(&rank);
        let mut in_mpi = self.ranks.which(|seen| seen.phase == Phase::InMpi);
        let other = in_mpi.find(|other| is_foreign(*other) != is_foreign(rank));
        drop(in_mpi);
        let Some(other) = other else { return };
        let (foreign, own) = match is_foreign(rank) {
            true => (rank, other),
            false => (other, rank),
        };
        let (foreign, own) = (self.ranks.who(foreign), self.ranks.who(own));
        let line = format!(
            "{foreign} runs a program of another MPI (it uses PMI), but {own} one of mpi-lite: \
             compile both with the same mpicc; ending the job"
        );
        self.outcome.fail(FAILED, line);
    }

    /// When every rank is in the fence, all get what all have put.
    fn collect_puts(&mut self, rank: u32, puts: Vec<Put>) {
        self.pmi.waiting.insert(rank);
        self.pmi.bytes += puts.iter().map(size).sum::<usize>();
        self.pmi.puts.extend(puts);
        if self.pmi.bytes > FENCE_MAX {
            self.pmi.puts = Vec::new();
            let line = format!("the ranks put more than {FENCE_MAX} bytes by PMI; ending the job");
            return self.outcome.fail(FAILED, line);
        }
        if self.pmi.waiting.len() == self.ranks.size() && !self.outcome.is_ending() {
            self.pmi.waiting.clear();
            self.pmi.bytes = 0;
            let release = Command::Release(std::mem::take(&mut self.pmi.puts));
            self.outcome.order(Order::Pmi(release));
        }
        self.judge_fence();
    }

    /// Ends the job if ranks wait in the fence for one that is gone.
    pub(super) fn judge_fence(&mut self) {
        let waiting = self.pmi.waiting.first().copied();
        if let (Some(gone), Some(waiting)) = (self.ranks.first_in(Phase::Gone), waiting) {
            let what = format!("has ended, but rank {waiting} waits for it in a barrier of PMI");
            self.blame(FAILED, gone, &what);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Effect;
    use super::super::tests::{ended, job, lines};
    use super::*;
    use crate::pmi::Ask;
    use crate::wire::{Ended, Report};

    fn event(job: &mut Job, rank: u32, event: Event) {
        job.hear("n1", Report::Pmi { rank, event });
    }

    fn commands(job: &mut Job) -> Vec<Command> {
        std::iter::from_fn(|| job.outcome.effect())
            .filter_map(|effect| match effect {
                Effect::Order(Order::Pmi(command)) => Some(command),
                _ => None,
            })
            .collect()
    }

    fn put(key: &str) -> Put {
        (key.to_string(), "v".to_string())
    }

    #[test]
    fn a_fence_gives_all_puts_once_the_last_rank_is_there() {
        let mut job = job(2);
        for round in ["a", "b"] {
            for rank in 0..2 {
                if round == "a" {
                    event(&mut job, rank, Event::Init);
                }
                assert_eq!(commands(&mut job), []);
                let puts = vec![put(&format!("{round}{rank}"))];
                event(&mut job, rank, Event::Fence(puts));
            }
            let all = (0..2).map(|rank| put(&format!("{round}{rank}")));
            assert_eq!(commands(&mut job), [Command::Release(all.collect())]);
        }
        for rank in 0..2 {
            event(&mut job, rank, Event::Finalized);
            job.hear("n1", ended(rank, Ended::Exited(0)));
        }
        assert_eq!((job.exit_code(), lines(&mut job)), (0, vec![]));
    }

    #[test]
    fn a_rank_that_ends_without_finalize_or_while_others_wait_fails_the_job() {
        let run = |finalizes: bool| {
            let mut job = job(2);
            event(&mut job, 0, Event::Init);
            event(&mut job, 1, Event::Init);
            event(&mut job, 1, Event::Fence(vec![]));
            if finalizes {
                event(&mut job, 0, Event::Finalized);
            }
            job.hear("n1", ended(0, Ended::Exited(0)));
            (job.exit_code(), lines(&mut job).join("\n"))
        };
        let (code, line) = run(false);
        assert!(
            code == 1 && line.contains("without calling MPI_Finalize"),
            "{line}"
        );
        let (code, line) = run(true);
        assert!(
            code == 1 && line.contains("waits for it in a barrier"),
            "{line}"
        );
    }

    #[test]
    fn an_abort_has_its_code_and_its_text() {
        let abort = |message: &str| {
            let mut job = job(1);
            event(&mut job, 0, Event::Init);
            let message = message.into();
            event(&mut job, 0, Event::Abort { code: 7, message });
            (job.exit_code(), lines(&mut job).concat())
        };
        assert_eq!(abort("it broke"), (7, "it broke".into()));
        let (code, line) = abort("");
        assert!(
            code == 7 && line.contains("rank 0 (pid 4700 on host n1) aborted"),
            "{line}"
        );
    }

    #[test]
    fn programs_of_two_mpis_do_not_wait_for_each_other() {
        for own_first in [true, false] {
            let mut job = job(2);
            if own_first {
                job.hear("n1", Report::Init { rank: 1 });
            }
            event(&mut job, 0, Event::Init);
            if !own_first {
                job.hear("n1", Report::Init { rank: 1 });
            }
            let line = lines(&mut job).concat();
            assert!(
                line.contains("rank 0 (pid 4700 on host n1) runs a program of"),
                "{line}"
            );
            assert_eq!(job.exit_code(), 1);
        }
    }

    #[test]
    fn a_service_is_found_by_another_rank() {
        let mut job = job(2);
        let (name, port) = ("s".to_string(), "p".to_string());
        event(&mut job, 0, Event::Init);
        event(&mut job, 1, Event::Init);
        let publish = Ask::Publish(name.clone(), port);
        event(&mut job, 0, Event::Name(publish));
        event(&mut job, 1, Event::Name(Ask::Lookup(name)));
        let answers = commands(&mut job);
        let answer = Ok("p".to_string());
        assert_eq!(answers[1], Command::Named { rank: 1, answer });
    }

    #[test]
    fn what_the_ranks_put_together_is_bounded() {
        let mut job = job(100);
        let puts = || vec![("k".to_string(), "v".repeat(1024)); 200];
        for rank in 0..100 {
            event(&mut job, rank, Event::Init);
            event(&mut job, rank, Event::Fence(puts()));
        }
        assert!(lines(&mut job).concat().contains("put more than"));
        assert_eq!(job.exit_code(), 1);
    }
}
