//! What the ranks of a node do, when `mpirun` asks: their own answers, and what the system shows of
//! those that do not answer.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use mpi_boot::state::RankState;

use super::activity::Process;
use super::rank::RankProcess;
use crate::job::phase::Phase;
use crate::reports::stall::ProcessSeen;
use crate::reports::stall::source::Source;
use crate::wire::{Answer, Report};

/// How long a rank has to answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long the files of the program are read for its lines.
const READING_TIME: Duration = Duration::from_millis(300);

/// One question.
#[derive(Debug)]
struct Question {
    number: u32,
    asked_at: Instant,
    /// The ranks that it has no answer of, by place, with the processor time that they had used.
    open: BTreeMap<usize, Duration>,
    /// The states of those that have answered, by place. They are passed on together, with the
    /// lines of the program: ranks call from few places.
    states: Vec<(usize, Box<RankState>)>,
}

/// What the ranks of a node are asked.
#[derive(Debug, Default)]
pub(super) struct Questions {
    /// The one of now.
    question: Option<Question>,
    /// Of the programs of the ranks.
    source: Source,
}

impl Questions {
    /// When the ranks that have not answered are silent.
    pub(super) fn ends_at(&self) -> Option<Instant> {
        let question = self.question.as_ref().filter(|it| !it.open.is_empty());
        question.map(|it| it.asked_at + PATIENCE)
    }

    /// Asks each rank what it does. A question before this one gets no more answers.
    pub(super) fn ask(&mut self, number: u32, ranks: &mut [RankProcess], now: Instant) {
        let mut open = BTreeMap::new();
        for (place, rank) in ranks.iter_mut().enumerate() {
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

    /// Enters the answer of a rank, if it is to the question of now.
    pub(super) fn enter(&mut self, place: usize, number: u32, state: Box<RankState>) {
        let question = self.question.as_mut().filter(|it| it.number == number);
        if let Some(question) = question
            && question.open.remove(&place).is_some()
        {
            question.states.push((place, state));
        }
    }

    /// Answers for the ranks that cannot answer, and for those whose time is over; `of_pmi` does
    /// for those that use PMI. The last answer comes with what the ranks have answered themselves,
    /// and the lines of the program.
    pub(super) fn answers(
        &mut self,
        ranks: &[RankProcess],
        of_pmi: impl Fn(usize) -> Option<Answer>,
        now: Instant,
    ) -> Vec<Report> {
        let Some(mut question) = self.question.take() else {
            return Vec::new();
        };
        let number = question.number;
        let report = |place: usize, answer| Report::Described {
            rank: ranks[place].rank,
            question: number,
            answer,
        };
        let mut answers = Vec::new();
        let waited = now.saturating_duration_since(question.asked_at);
        question.open.retain(|&place, used| {
            let rank = &ranks[place];
            let silent = || Answer::Silent(process_of(rank, *used, waited, now));
            let answer = answer_without(rank, of_pmi(place));
            let answer = answer.or_else(|| (waited >= PATIENCE).then(silent));
            let is_open = answer.is_none();
            answers.extend(answer.map(|answer| report(place, answer)));
            is_open
        });
        if question.open.is_empty() {
            let states = question.states.iter_mut();
            let mut unfilled: Vec<_> = states.map(|(_, state)| &mut **state).collect();
            self.source
                .fill(&mut unfilled, Instant::now() + READING_TIME);
            let states = question.states.into_iter();
            answers.extend(states.map(|(place, state)| report(place, Answer::State(state))));
        } else {
            self.question = Some(question);
        }
        answers
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
