//! What another host has reported so far, and what it may report next.
//!
//! A host may run another program than ours, or a changed one. What it reports is not believed
//! where it cannot be, and it holds no more of our memory than a right one.

use std::mem::replace;
use std::time::{Duration, Instant};

use mpi_boot::protocol::CARD_MAX;

use crate::job::phase::{Course, Phase, Step};
use crate::node::{OUTPUT_ON_THE_WAY_MAX, STOPPED_FOR};
use crate::pmi::account::Account;
use crate::reports::stall::limits;
use crate::signals::Reported;
use crate::wire::{Answer, Order, Report};

/// What a rank's node has reported about it.
#[derive(Debug, Default)]
struct Entry {
    rank: u32,
    /// It was reported what it is bound to.
    is_bound: bool,
    is_started: bool,
    /// It was reported to have loaded another MPI.
    is_stranger: bool,
    has_ended: bool,
    course: Course,
    pmi: Account,
    stops: u32,
    /// The last question that was answered for it.
    answered: u32,
}

impl Entry {
    /// Enters the answer to a question, of which `asked` is the last one.
    fn answer(&mut self, question: u32, asked: u32, answer: &Answer) -> Result<(), String> {
        refuse_if(question > asked, "was not asked what it does")?;
        refuse_if(question <= self.answered, "was described twice")?;
        let is_possible = match answer {
            Answer::State(_) | Answer::Silent(_) => self.course.is_in_mpi(),
            Answer::BeforeInit => self.course.phase() == Phase::Silent,
            Answer::Finalized => {
                self.course.phase() == Phase::Finalized || self.pmi.has_finalized()
            }
            Answer::OtherMpi => self.pmi.is_in_mpi(),
            Answer::Ended => self.has_ended,
            Answer::Unknown => false,
        };
        refuse_if(!is_possible, "cannot be in the state that was described")?;
        self.answered = question;
        match answer {
            Answer::State(state) => limits::check(state, limits::WITH_LINES_MAX),
            _ => Ok(()),
        }
    }

    /// Enters a report about the rank, `elapsed` after its node was told to start; `asked` is the
    /// last question. Returns what is wrong with it, as words behind the rank.
    fn enter(&mut self, report: &Report, asked: u32, elapsed: Duration) -> Result<(), String> {
        let was_started = self.is_started;
        let is_wrong = match report {
            Report::Bound { .. } => {
                let is_wrong = replace(&mut self.is_bound, true) || was_started;
                return refuse_if(is_wrong, "is bound twice or too late");
            }
            Report::Started { .. } => {
                self.is_started = true;
                return refuse_if(was_started, "has started twice");
            }
            _ => !was_started,
        };
        refuse_if(is_wrong, "has not started yet")?;
        match report {
            Report::Ended { .. } => {
                refuse_if(replace(&mut self.has_ended, true), "has ended twice")?;
            }
            Report::Stranger { .. } => {
                let is_known = replace(&mut self.is_stranger, true) || self.has_ended;
                let is_late = is_known || self.course.phase() != Phase::Silent;
                refuse_if(is_late, "loads another MPI too late or twice")?;
            }
            Report::Pmi { event, .. } => self.pmi.enter(event)?,
            Report::Stopped { .. } => {
                self.stops += 1;
                let is_early = elapsed < STOPPED_FOR * self.stops;
                refuse_if(is_early, "has not been stopped for 10 s")?;
            }
            Report::Described {
                question, answer, ..
            } => self.answer(*question, asked, answer)?,
            report => {
                if let Some(step) = step_of(report) {
                    self.course = self.course.after(step)?;
                }
            }
        }
        Ok(())
    }
}

fn refuse_if(is_wrong: bool, why: &str) -> Result<(), String> {
    match is_wrong {
        true => Err(why.into()),
        false => Ok(()),
    }
}

/// The account of one node.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// Its ranks, ascending.
    entries: Vec<Entry>,
    is_ready: bool,
    is_quiet: bool,
    /// When it was told to start its ranks.
    started_at: Option<Instant>,
    /// How many ranks the job has, as it was told then.
    job_size: usize,
    /// The last question that it was asked.
    question: u32,
    /// Bytes of output that have come and not been written yet.
    output: usize,
    /// Ranks of it read our input.
    has_input: bool,
    signals: Reported,
    /// Bytes of input that were sent and not been taken yet.
    input: u64,
}

impl Ledger {
    /// The account of a node that may report about these ranks, and has not been reached.
    pub(super) fn new(ranks: &[u32]) -> Ledger {
        let entry = |rank: &u32| Entry {
            rank: *rank,
            ..Entry::default()
        };
        Ledger {
            entries: ranks.iter().map(entry).collect(),
            ..Ledger::default()
        }
    }

    /// Enters an order to the node.
    pub(super) fn enter_order(&mut self, order: &Order, now: Instant) {
        match order {
            Order::Start(start) => {
                self.started_at = Some(now);
                self.job_size = start.hosts.len();
                self.has_input = start.input.is_forwarded();
            }
            Order::Cards(_) => {
                for entry in &mut self.entries {
                    entry.course = entry.course.after_cards();
                }
            }
            Order::Pmi(command) => {
                for entry in &mut self.entries {
                    entry.pmi.obey(entry.rank, command);
                }
            }
            Order::Describe { question } => self.question = *question,
            Order::Input(bytes) => self.input += bytes.len() as u64,
            Order::OutputTaken(bytes) => {
                let bytes = usize::try_from(*bytes).unwrap_or(usize::MAX);
                self.output = self.output.saturating_sub(bytes);
            }
            _ => {}
        }
    }

    /// Enters a report of the node. An error is what is wrong with it, as the end of a line that
    /// begins with the host.
    pub(super) fn enter_report(&mut self, report: &Report, now: Instant) -> Result<(), String> {
        match self.untimely(report) {
            Some(why) => return impossible(why),
            None => self.enter_of_node(report)?,
        }
        let Some(rank) = report.rank() else {
            return Ok(());
        };
        let entry = self.entries.binary_search_by_key(&rank, |it| it.rank);
        let Ok(entry) = entry.map(|place| &mut self.entries[place]) else {
            return impossible(&format!("rank {rank} is not one of its ranks"));
        };
        let elapsed = self.started_at.map(|at| now.saturating_duration_since(at));
        let entered = entry.enter(report, self.question, elapsed.unwrap_or_default());
        entered.or_else(|why| impossible(&format!("rank {rank} {why}")))
    }

    /// Enters what is not about one rank alone.
    fn enter_of_node(&mut self, report: &Report) -> Result<(), String> {
        match report {
            Report::Ready { .. } => self.is_ready = true,
            Report::Quiet => self.is_quiet = true,
            Report::InputTaken(bytes) => match self.input.checked_sub(*bytes) {
                Some(left) => self.input = left,
                None => return impossible("it has taken more input than it got"),
            },
            Report::InputClosed if !self.has_input => {
                return impossible("it has closed the input, which it does not get");
            }
            Report::Signalled { signal } if !self.signals.enter(*signal) => {
                return impossible(&format!("signal {signal}, or that again"));
            }
            Report::Silent(_) | Report::Unreached { .. } | Report::Lost { .. } => {
                return impossible("its own silence or loss");
            }
            Report::Calling(_) | Report::Connected => return impossible("its own connection"),
            Report::Loss { lost, .. } if *lost as usize >= self.job_size => {
                return impossible(&format!("there is no rank {lost} to lose"));
            }
            Report::Output { bytes, .. } => return self.enter_output(bytes.len()),
            Report::Card { card, .. } if card.len() > CARD_MAX => {
                let bytes = card.len();
                return Err(format!("sent a card of {bytes} bytes ({CARD_MAX} at most)"));
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns why the node cannot report this now, whatever it says.
    fn untimely(&self, report: &Report) -> Option<&'static str> {
        let is_ready = matches!(report, Report::Ready { .. });
        let needs_no_start = matches!(
            report,
            Report::Quiet | Report::Pong | Report::Signalled { .. }
        );
        let is_of_others = matches!(report, Report::Below { .. });
        let may_come_last = matches!(report, Report::Pong | Report::InputClosed);
        match () {
            () if is_ready && self.is_ready => Some("it is ready a second time"),
            () if !is_ready && !self.is_ready => Some("it is not ready yet"),
            () if is_ready || is_of_others || needs_no_start && !self.is_quiet => None,
            () if self.started_at.is_none() => Some("it has not been told to start"),
            () if self.is_quiet && !may_come_last => Some("it had already reported its end"),
            () => None,
        }
    }

    fn enter_output(&mut self, bytes: usize) -> Result<(), String> {
        self.output += bytes;
        if bytes == 0 {
            return impossible("output without a byte");
        }
        if self.output > OUTPUT_ON_THE_WAY_MAX {
            return Err(format!(
                "sends more output than mpirun has room for ({OUTPUT_ON_THE_WAY_MAX} bytes until \
                 some are written)"
            ));
        }
        Ok(())
    }
}

fn impossible(why: &str) -> Result<(), String> {
    Err(format!("sent an impossible report: {why}"))
}

/// The step of a rank that its node passes on.
fn step_of(report: &Report) -> Option<Step> {
    match report {
        Report::Init { .. } => Some(Step::Init),
        Report::Card { .. } => Some(Step::Card),
        Report::Counters { .. } => Some(Step::Counters),
        Report::Finalized { .. } => Some(Step::Finalized),
        Report::Abort { .. } => Some(Step::Abort),
        Report::Loss { .. } => Some(Step::Loss),
        Report::Failure { .. } => Some(Step::Failure),
        Report::Blocked { .. } => Some(Step::Blocked),
        Report::Resumed { .. } => Some(Step::Resumed),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use mpi_boot::state::{RankState, THREADS_MAX, ThreadState};

    use super::*;
    use crate::reports::stall::ProcessSeen;
    use crate::wire::{Ended, Known};

    /// The account of a node whose rank 0 is in MPI, and whose rank 1 has not called Init.
    fn ledger() -> Ledger {
        let mut ledger = Ledger::new(&[0, 1]);
        ledger.is_ready = true;
        ledger.started_at = Some(Instant::now());
        for rank in 0..2 {
            enter(&mut ledger, &Report::Started { rank, pid: 4711 }).unwrap();
        }
        enter(&mut ledger, &Report::Init { rank: 0 }).unwrap();
        ledger
    }

    fn enter(ledger: &mut Ledger, report: &Report) -> Result<(), String> {
        ledger.enter_report(report, Instant::now())
    }

    fn ask(ledger: &mut Ledger, question: u32) {
        ledger.enter_order(&Order::Describe { question }, Instant::now());
    }

    fn described(rank: u32, question: u32, answer: Answer) -> Report {
        Report::Described {
            rank,
            question,
            answer,
        }
    }

    fn state(threads: usize) -> Answer {
        Answer::State(Box::new(RankState {
            threads: vec![ThreadState::default(); threads],
            ..RankState::default()
        }))
    }

    fn silent() -> Answer {
        Answer::Silent(ProcessSeen {
            state: 'S',
            stopped_ms: None,
            used_ms: 0,
            waited_ms: 1000,
        })
    }

    #[test]
    fn a_rank_is_reported_as_bound_once_and_before_it_starts() {
        let mut ledger = Ledger::new(&[0, 1]);
        let ready = Report::Ready {
            version: String::new(),
            known: Known::default(),
        };
        enter(&mut ledger, &ready).unwrap();
        ledger.started_at = Some(Instant::now());
        let bound = |rank| Report::Bound {
            rank,
            text: String::new(),
        };
        enter(&mut ledger, &bound(0)).unwrap();
        assert!(enter(&mut ledger, &bound(0)).is_err());
        enter(&mut ledger, &Report::Started { rank: 1, pid: 4711 }).unwrap();
        assert!(enter(&mut ledger, &bound(1)).is_err());
        assert!(enter(&mut ledger, &bound(2)).is_err());
    }

    #[test]
    fn an_agent_hears_signals_that_end_programs_once_and_few_that_ask() {
        let mut ledger = ledger();
        let mut hears = |signal| enter(&mut ledger, &Report::Signalled { signal }).is_ok();
        for signal in [1, 2, 15] {
            assert!(hears(signal) && !hears(signal), "{signal}");
        }
        for signal in [9, 0, -1, i32::MAX] {
            assert!(!hears(signal), "{signal}");
        }
        assert_eq!((0..1000).filter(|_| hears(3)).count(), 100);
    }

    #[test]
    fn a_rank_loads_another_mpi_once_and_instead_of_calling_init() {
        let mut ledger = ledger();
        let stranger = |rank| Report::Stranger {
            rank,
            library: String::new(),
        };
        assert!(enter(&mut ledger, &stranger(0)).is_err());
        assert_eq!(enter(&mut ledger, &stranger(1)), Ok(()));
        assert!(enter(&mut ledger, &stranger(1)).is_err());
    }

    #[test]
    fn each_rank_answers_each_question_once_also_late() {
        let mut ledger = ledger();
        assert!(enter(&mut ledger, &described(0, 1, state(1))).is_err());
        ask(&mut ledger, 1);
        ask(&mut ledger, 2);
        for question in 1..=2 {
            let answer = described(0, question, state(1));
            assert_eq!(enter(&mut ledger, &answer), Ok(()));
            assert!(enter(&mut ledger, &answer).is_err());
            let answer = described(1, question, Answer::BeforeInit);
            assert_eq!(enter(&mut ledger, &answer), Ok(()));
        }
        assert!(enter(&mut ledger, &described(0, 1, state(1))).is_err());
        assert!(enter(&mut ledger, &described(0, 3, state(1))).is_err());
    }

    #[test]
    fn an_answer_fits_what_the_rank_has_done() {
        let all = || {
            [
                state(1),
                silent(),
                Answer::BeforeInit,
                Answer::Finalized,
                Answer::Ended,
            ]
        };
        let fitting = |ledger: &mut Ledger, rank, first: u32| -> Vec<bool> {
            let asked = (first..).zip(all()).map(|(question, answer)| {
                ask(ledger, question);
                enter(ledger, &described(rank, question, answer)).is_ok()
            });
            asked.collect()
        };
        let mut ledger = ledger();
        assert_eq!(
            fitting(&mut ledger, 0, 1),
            [true, true, false, false, false]
        );
        assert_eq!(
            fitting(&mut ledger, 1, 10),
            [false, false, true, false, false]
        );
        enter(&mut ledger, &Report::Finalized { rank: 0 }).unwrap();
        assert_eq!(
            fitting(&mut ledger, 0, 20),
            [false, false, false, true, false]
        );
        let ended = Ended::Exited(0);
        enter(&mut ledger, &Report::Ended { rank: 0, ended }).unwrap();
        assert_eq!(
            fitting(&mut ledger, 0, 30),
            [false, false, false, true, true]
        );
    }

    #[test]
    fn a_state_with_longer_lists_than_a_rank_has_is_a_lie() {
        let mut ledger = ledger();
        ask(&mut ledger, 1);
        ask(&mut ledger, 2);
        assert_eq!(
            enter(&mut ledger, &described(0, 1, state(THREADS_MAX))),
            Ok(())
        );
        let lie = enter(&mut ledger, &described(0, 2, state(THREADS_MAX + 1))).unwrap_err();
        assert!(
            lie.contains("rank 0 described 33 threads (32 at most)"),
            "{lie}"
        );
    }
}
