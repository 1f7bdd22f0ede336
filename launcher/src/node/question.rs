//! What the ranks of a node do, when `mpirun` asks: their own answers, and what the system shows of
//! those that do not answer.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use mpi_boot::state::RankState;

use super::Node;
use super::activity::Process;
use super::rank::RankProcess;
use crate::job::phase::Phase;
use crate::reports::stall::ProcessSeen;
use crate::wire::{Answer, Report};

/// How long a rank has to answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long the files of the program are read for its lines.
const READING_TIME: Duration = Duration::from_millis(300);

/// The question that the ranks of a node are asked.
#[derive(Debug)]
pub(super) struct Question {
    number: u32,
    asked_at: Instant,
    /// The ranks that it has no answer of, by place, with the processor time that they had used.
    open: BTreeMap<usize, Duration>,
    /// The states of those that have answered, by place. They are passed on together, with the
    /// lines of the program: ranks call from few places.
    states: Vec<(usize, Box<RankState>)>,
}

impl Question {
    /// When the ranks that have not answered are silent.
    pub(super) fn ends_at(&self) -> Option<Instant> {
        (!self.open.is_empty()).then(|| self.asked_at + PATIENCE)
    }
}

impl Node {
    /// Asks each rank what it does. A question before this one gets no more answers.
    pub(super) fn ask(&mut self, number: u32, now: Instant) {
        if self.is_quiet {
            return;
        }
        let mut open = BTreeMap::new();
        for (place, rank) in self.ranks.iter_mut().enumerate() {
            if rank.ended.is_none() && rank.channel.course().is_in_mpi() {
                rank.channel.describe(number);
            }
            let used = Process::of(rank.pid).map_or(Duration::ZERO, |it| it.used);
            open.insert(place, used);
        }
        self.question = Some(Question {
            number,
            asked_at: now,
            open,
            states: Vec::new(),
        });
    }

    /// Passes on the answer of a rank, if it is to the question of now.
    pub(super) fn hear_state(&mut self, place: usize, number: u32, state: Box<RankState>) {
        let question = self.question.as_mut().filter(|it| it.number == number);
        if let Some(question) = question
            && question.open.remove(&place).is_some()
        {
            question.states.push((place, state));
        }
    }

    /// Answers for the ranks that cannot answer, and for those whose time is over.
    pub(super) fn answer_for_ranks(&mut self, now: Instant) {
        let Some(mut question) = self.question.take() else {
            return;
        };
        let waited = now.saturating_duration_since(question.asked_at);
        question.open.retain(|place, used| {
            let rank = &self.ranks[*place];
            let of_pmi = self.pmi.as_ref().and_then(|pmi| pmi.answer(*place));
            let silent = || Answer::Silent(process_of(rank, *used, waited, now));
            let answer = answer_without(rank, of_pmi).or_else(|| (waited >= PATIENCE).then(silent));
            let is_open = answer.is_none();
            if let Some(answer) = answer {
                self.answer(*place, question.number, answer);
            }
            is_open
        });
        if question.open.is_empty() {
            self.pass_states(question);
        } else {
            self.question = Some(question);
        }
    }

    /// Passes on what the ranks have answered, with the lines of the program.
    fn pass_states(&mut self, mut question: Question) {
        let states = question.states.iter_mut();
        let mut unfilled: Vec<_> = states.map(|(_, state)| &mut **state).collect();
        self.source
            .fill(&mut unfilled, Instant::now() + READING_TIME);
        for (place, state) in question.states {
            self.answer(place, question.number, Answer::State(state));
        }
    }

    fn answer(&mut self, place: usize, question: u32, answer: Answer) {
        let rank = self.ranks[place].rank;
        self.reports.push_back(Report::Described {
            rank,
            question,
            answer,
        });
    }
}

/// The answer for a rank that takes no question.
fn answer_without(rank: &RankProcess, of_pmi: Option<Answer>) -> Option<Answer> {
    match rank.channel.course().phase() {
        _ if rank.ended.is_some() => Some(Answer::Ended),
        Phase::Silent | Phase::Finalized if of_pmi.is_some() => of_pmi,
        Phase::Silent => Some(Answer::BeforeInit),
        Phase::Finalized => Some(Answer::Finalized),
        Phase::Assigned | Phase::Carded => None,
    }
}

/// What the system shows of a rank that had used this much processor time `waited` ago.
fn process_of(rank: &RankProcess, used: Duration, waited: Duration, now: Instant) -> ProcessSeen {
    let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let process = Process::of(rank.pid);
    let used_now = process.as_ref().map_or(used, |it| it.used);
    let stopped = rank.stopped_at.map(|at| now.saturating_duration_since(at));
    ProcessSeen {
        state: process.map_or(' ', |it| it.state),
        stopped_ms: stopped.map(milliseconds),
        used_ms: milliseconds(used_now.saturating_sub(used)),
        waited_ms: milliseconds(waited),
    }
}
