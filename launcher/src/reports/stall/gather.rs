//! When to ask the ranks what they do, and what their answers are together.
//!
//! A [`Gather`] is pure, as the job is: reports and wishes go in, [`Step`]s come out, and the time
//! is passed in. The job is stalled when every rank that lives has been blocked for a while.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::settings::blocked_after;
use super::{Doing, Occasion, RankSeen, Snapshot};
use crate::failure::printable;
use crate::pmi;
use crate::poll::earlier;
use crate::wire::Report;

/// How often the ranks are asked again about a stall if one does not answer, and after how long at
/// most. On a busy machine an answer may come late, and `--stall abort` ends the job.
const RETRIES: u32 = 2;
const RETRY_AFTER: Duration = Duration::from_secs(1);

// How long an answer may take depends on the machine, not on `--stall-after`.

/// How long the answers of ranks on this host may take: their node answers for them after 1 s.
const PATIENCE_HERE: Duration = Duration::from_millis(1500);

/// How long the answers of other hosts may take.
const PATIENCE_THERE: Duration = Duration::from_secs(3);

/// What to do now.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Ask all nodes this question.
    Ask(u32),
    /// Print this report.
    Report(Snapshot),
    /// Print this line.
    Say(String),
}

/// How far a rank has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    NotStarted,
    BeforeInit,
    InMpi,
    /// Its program is of another MPI, and does not report that it is blocked.
    InOtherMpi,
    Finalized,
    Ended,
}

#[derive(Debug, Default)]
struct Rank {
    host: String,
    is_here: bool,
    pid: Option<i32>,
    stage: Stage,
    /// Since when it is in MPI.
    entered_at: Option<Instant>,
    /// Since when nothing has come for it, as it reports itself.
    blocked_at: Option<Instant>,
    /// Since when it waits for the cards of all ranks.
    carded_at: Option<Instant>,
    /// What it does, once that is known for the question of now.
    answer: Option<Doing>,
}

impl Rank {
    /// Returns true if the rank may still do something for others.
    fn lives(&self) -> bool {
        !matches!(self.stage, Stage::Finalized | Stage::Ended)
    }

    /// Since when the rank is blocked, if it is.
    fn stuck_at(&self) -> Option<Instant> {
        earlier(self.blocked_at, self.carded_at)
    }

    /// Returns true if it has not answered, though it may be able to.
    fn is_missing(&self) -> bool {
        match &self.answer {
            None | Some(Doing::Unknown) => true,
            Some(Doing::Silent(process)) => process.stopped_ms.is_none(),
            Some(_) => false,
        }
    }

    fn patience(&self) -> Duration {
        match self.is_here {
            true => PATIENCE_HERE,
            false => PATIENCE_THERE,
        }
    }
}

/// A question that the ranks are asked.
#[derive(Debug)]
struct Question {
    occasion: Occasion,
    asked_at: Instant,
    /// A rank has gone on since the question.
    is_void: bool,
}

/// The ranks of a job, as far as they are blocked.
#[derive(Debug, Default)]
pub struct Gather {
    ranks: Vec<Rank>,
    /// After how long a stall is reported; `None`: never.
    stall_after: Option<Duration>,
    /// When to look for a stall at the earliest.
    look_at: Option<Instant>,
    /// How often this stall was asked about in vain: a rank did not answer.
    retries: u32,
    /// The number of the last question.
    number: u32,
    question: Option<Question>,
    /// How many more reports the user has asked for.
    asked: u32,
    is_reported: bool,
    is_over: bool,
    steps: VecDeque<Step>,
}

impl Gather {
    /// A job with these hosts, by rank; `here` are the ranks on this one, ascending.
    pub fn new(hosts: &[String], here: &[u32], stall_after: Option<Duration>) -> Gather {
        let is_here = |rank: &u32| here.binary_search(rank).is_ok();
        let ranks = (0..).zip(hosts).map(|(rank, host)| Rank {
            host: printable(host),
            is_here: is_here(&rank),
            ..Rank::default()
        });
        Gather {
            ranks: ranks.collect(),
            stall_after,
            ..Gather::default()
        }
    }

    /// The next thing to do.
    pub fn step(&mut self) -> Option<Step> {
        self.steps.pop_front()
    }

    /// The user asks what the ranks do.
    pub fn ask(&mut self, now: Instant) {
        self.asked = self.asked.saturating_add(1);
        self.tick(now);
    }

    /// The time of the job is over. A question on its way is for this: there is no time for two.
    pub fn time_is_up(&mut self, now: Instant) {
        match &mut self.question {
            Some(question) => question.occasion = Occasion::Timeout,
            None => self.begin(Occasion::Timeout, now),
        }
        self.tick(now);
    }

    /// The job is being ended: there is nothing more to ask and to report.
    pub fn stop(&mut self) {
        self.is_over = true;
        self.question = None;
        self.steps.clear();
    }

    /// All ranks go on after they were suspended. They were blocked for no time before.
    pub fn go_on(&mut self, now: Instant) {
        for rank in &mut self.ranks {
            for since in [&mut rank.blocked_at, &mut rank.carded_at] {
                *since = since.map(|_| now);
            }
        }
        self.void();
        if let Some(question) = &mut self.question {
            question.asked_at = now;
        }
    }

    /// The cards of all ranks are on their way to all.
    pub fn cards_are_out(&mut self) {
        for rank in &mut self.ranks {
            rank.carded_at = None;
        }
    }

    /// When [`Gather::tick`] must be called.
    pub fn wake_at(&self) -> Option<Instant> {
        if self.is_over {
            return None;
        }
        let Some(question) = &self.question else {
            return self.due_at();
        };
        let open = self.ranks.iter().filter(|rank| rank.answer.is_none());
        open.map(|rank| question.asked_at + rank.patience()).max()
    }

    /// Takes note of a report.
    pub fn hear(&mut self, report: &Report, now: Instant) {
        let Some(rank) = report.rank() else { return };
        let place = rank as usize;
        match report {
            Report::Started { pid, .. } => {
                self.ranks[place].pid = Some(*pid);
                self.enter(place, Stage::BeforeInit);
            }
            Report::Init { .. } => {
                self.enter(place, Stage::InMpi);
                self.ranks[place].entered_at = Some(now);
            }
            Report::Pmi { event, .. } => match event {
                pmi::Event::Init => self.enter(place, Stage::InOtherMpi),
                pmi::Event::Finalized => self.enter(place, Stage::Finalized),
                pmi::Event::Fence(_) | pmi::Event::Abort { .. } | pmi::Event::Name(_) => {}
            },
            Report::Card { .. } => {
                self.goes_on(place);
                // A wait before this one has ended, though the rank may not have said so.
                self.ranks[place].blocked_at = None;
                self.ranks[place].carded_at = Some(now);
            }
            Report::Finalized { .. } => self.enter(place, Stage::Finalized),
            Report::Ended { .. } => {
                self.enter(place, Stage::Ended);
                self.answer(place, Doing::Ended);
            }
            Report::Blocked { blocked_ms, .. } => {
                let since = now.checked_sub(Duration::from_millis(*blocked_ms));
                let entered_at = self.ranks[place].entered_at;
                self.ranks[place].blocked_at = since.max(entered_at).or(Some(now));
            }
            Report::Resumed { .. } => {
                self.ranks[place].blocked_at = None;
                self.goes_on(place);
            }
            Report::Described {
                question, answer, ..
            } if *question == self.number => self.answer(place, answer.clone()),
            _ => {}
        }
    }

    /// Does what is due.
    pub fn tick(&mut self, now: Instant) {
        if self.is_over {
            return;
        }
        self.close(now);
        if self.question.is_some() || self.is_over {
            return;
        }
        if self.asked > 0 {
            self.asked -= 1;
            self.begin(Occasion::Asked, now);
        } else if self.due_at().is_some_and(|at| at <= now) {
            let blocked = self
                .stalled_at()
                .map(|at| now.saturating_duration_since(at));
            let seconds = blocked.unwrap_or_default().as_secs();
            self.begin(Occasion::Stall { seconds }, now);
        }
        // A job without a process has nobody to wait for.
        self.close(now);
    }

    /// Since when no rank has gone on, if all that live are blocked.
    fn stalled_at(&self) -> Option<Instant> {
        let living = || self.ranks.iter().filter(|rank| rank.lives());
        match living().all(|rank| rank.stuck_at().is_some()) {
            true => living().filter_map(Rank::stuck_at).max(),
            false => None,
        }
    }

    /// When to ask because of a stall.
    fn due_at(&self) -> Option<Instant> {
        let stall_after = self.stall_after.filter(|_| !self.is_reported)?;
        let at = self.stalled_at()? + stall_after;
        Some(self.look_at.map_or(at, |look_at| at.max(look_at)))
    }

    fn enter(&mut self, place: usize, stage: Stage) {
        let rank = &mut self.ranks[place];
        // What it left in the background may go on as this rank, but its process is what is shown.
        if rank.stage != Stage::Ended {
            rank.stage = stage;
        }
        rank.blocked_at = None;
        rank.carded_at = None;
        if stage == Stage::InMpi {
            self.goes_on(place);
        } else {
            self.void();
        }
    }

    /// A rank is no longer blocked.
    fn goes_on(&mut self, place: usize) {
        self.void();
        if std::mem::take(&mut self.is_reported) {
            let line = format!("rank {place} goes on; the job is no longer stalled");
            self.steps.push_back(Step::Say(line));
        }
    }

    /// What the ranks were asked because of a stall is not a stall.
    fn void(&mut self) {
        self.retries = 0;
        if let Some(question) = &mut self.question {
            question.is_void = true;
        }
    }

    fn begin(&mut self, occasion: Occasion, now: Instant) {
        self.number += 1;
        self.question = Some(Question {
            occasion,
            asked_at: now,
            is_void: false,
        });
        for rank in &mut self.ranks {
            // What is known without an answer of its node.
            rank.answer = match rank.stage {
                Stage::NotStarted => Some(Doing::BeforeInit),
                Stage::Ended => Some(Doing::Ended),
                Stage::BeforeInit | Stage::InMpi | Stage::InOtherMpi | Stage::Finalized => None,
            };
        }
        self.steps.push_back(Step::Ask(self.number));
    }

    fn answer(&mut self, place: usize, doing: Doing) {
        if self.question.is_some() {
            self.ranks[place].answer.get_or_insert(doing);
        }
    }

    /// Makes the snapshot once all have answered, or their time is over.
    fn close(&mut self, now: Instant) {
        let is_done = |question: &mut Question| {
            let mut ranks = self.ranks.iter();
            ranks.all(|rank| rank.answer.is_some() || question.asked_at + rank.patience() <= now)
        };
        let Some(question) = self.question.take_if(is_done) else {
            return;
        };
        match question.occasion {
            Occasion::Asked => {}
            // The job ends now.
            Occasion::Timeout => self.is_over = true,
            Occasion::Stall { .. } if self.is_refuted(&question) => {
                self.look_at = self.stall_after.map(|stall_after| now + stall_after);
                return;
            }
            Occasion::Stall { .. }
                if self.retries < RETRIES && self.ranks.iter().any(Rank::is_missing) =>
            {
                self.retries += 1;
                let stall_after = self.stall_after.unwrap_or(RETRY_AFTER);
                self.look_at = Some(now + RETRY_AFTER.min(stall_after));
                return;
            }
            Occasion::Stall { .. } => self.is_reported = true,
        }
        let ranks = self.ranks.iter_mut().map(|rank| RankSeen {
            host: rank.host.clone(),
            pid: rank.pid,
            doing: rank.answer.take().unwrap_or(Doing::Unknown),
        });
        let (occasion, ranks) = (question.occasion, ranks.collect());
        self.steps
            .push_back(Step::Report(Snapshot { occasion, ranks }));
    }

    /// Returns true if the answers show that a rank has gone on.
    fn is_refuted(&self, question: &Question) -> bool {
        // Each rank had been blocked for that long when it first said so.
        let tolerance = self.stall_after.map(blocked_after).unwrap_or_default();
        let mut ranks = self.ranks.iter();
        question.is_void || ranks.any(|rank| has_gone_on(rank, question.asked_at, tolerance))
    }
}

/// Returns true if the answer of a rank shows that it has gone on, though it was blocked when it
/// was asked: it has been blocked for less than it should by more than `tolerance`.
fn has_gone_on(rank: &Rank, asked_at: Instant, tolerance: Duration) -> bool {
    let Some(Doing::State(state)) = &rank.answer else {
        return false;
    };
    let least = state.threads.iter().map(|thread| thread.blocked_ms).min();
    let expected = rank
        .stuck_at()
        .map(|at| asked_at.saturating_duration_since(at));
    let expected = expected.unwrap_or_default();
    state.may_go_on
        || least
            .is_none_or(|least| Duration::from_millis(least).saturating_add(tolerance) < expected)
}

#[cfg(test)]
mod tests {
    use mpi_boot::state::{RankState, ThreadState};
    use serde_bytes::ByteBuf;

    use super::*;
    use crate::reports::stall::ProcessSeen;
    use crate::wire::{Answer, Ended};

    const S: Duration = Duration::from_secs(1);

    /// A job whose clock the test moves.
    struct Trial {
        gather: Gather,
        now: Instant,
    }

    impl Trial {
        /// All ranks are in MPI; the last one is on another host.
        fn new(size: u32) -> Trial {
            let hosts = vec!["n1".to_string(); size as usize];
            let here: Vec<u32> = (0..size - 1).collect();
            let gather = Gather::new(&hosts, &here, Some(10 * S));
            let now = Instant::now() + 1000 * S;
            let mut trial = Trial { gather, now };
            for rank in 0..size {
                let pid = 4700 + rank.cast_signed();
                trial.hear(Report::Started { rank, pid });
                trial.hear(Report::Init { rank });
            }
            trial
        }

        fn blocked(size: u32) -> Trial {
            let mut trial = Trial::new(size);
            trial.pass(3 * S);
            for rank in 0..size {
                trial.block(rank);
            }
            trial
        }

        /// The rank has been blocked for 2 s.
        fn block(&mut self, rank: u32) {
            let blocked_ms = 2000;
            self.hear(Report::Blocked { rank, blocked_ms });
        }

        fn hear(&mut self, report: Report) {
            self.gather.hear(&report, self.now);
        }

        fn pass(&mut self, time: Duration) {
            self.now += time;
            self.gather.tick(self.now);
        }

        fn steps(&mut self) -> Vec<Step> {
            std::iter::from_fn(|| self.gather.step()).collect()
        }

        /// The number of the question that is asked now.
        #[track_caller]
        fn question(&mut self) -> u32 {
            match self.steps()[..] {
                [Step::Ask(question)] => question,
                ref other => panic!("{other:?}"),
            }
        }

        fn answer(&mut self, rank: u32, question: u32, answer: Answer) {
            self.hear(Report::Described {
                rank,
                question,
                answer,
            });
        }

        #[track_caller]
        fn snapshot(&mut self) -> Snapshot {
            self.gather.tick(self.now);
            match self.steps().pop() {
                Some(Step::Report(snapshot)) => snapshot,
                other => panic!("{other:?}"),
            }
        }

        fn stall(size: u32) -> (Trial, u32) {
            let mut trial = Trial::blocked(size);
            trial.pass(8 * S);
            let question = trial.question();
            (trial, question)
        }
    }

    fn waits_for(blocked_ms: u64) -> Answer {
        let thread = ThreadState {
            blocked_ms,
            ..ThreadState::default()
        };
        Answer::State(Box::new(RankState {
            threads: vec![thread],
            ..RankState::default()
        }))
    }

    #[test]
    fn a_job_is_asked_once_all_its_ranks_have_been_blocked_for_10_s() {
        let mut trial = Trial::new(2);
        trial.pass(3 * S);
        trial.block(0);
        trial.pass(100 * S);
        assert_eq!(trial.steps(), [], "a rank is at work");
        trial.block(1);
        assert_eq!(trial.gather.wake_at(), Some(trial.now + 8 * S));
        trial.pass(8 * S - Duration::from_millis(1));
        assert_eq!(trial.steps(), []);
        trial.pass(Duration::from_millis(1));
        assert_eq!(trial.question(), 1);
        trial.answer(0, 1, waits_for(110_000));
        trial.answer(1, 1, waits_for(10_000));
        let snapshot = trial.snapshot();
        assert_eq!(snapshot.occasion, Occasion::Stall { seconds: 10 });
        assert_eq!(snapshot.ranks.len(), 2);
        let seen = &snapshot.ranks[1];
        assert_eq!((seen.host.as_str(), seen.pid), ("n1", Some(4701)));
        assert!(matches!(seen.doing, Doing::State(_)), "{seen:?}");
    }

    #[test]
    fn a_rank_that_finalizes_after_a_long_wait_waits_anew() {
        let mut trial = Trial::new(2);
        trial.block(1);
        trial.pass(6 * S);
        let card = ByteBuf::new();
        trial.hear(Report::Card { rank: 1, card });
        trial.block(0);
        trial.pass(10 * S);
        let question = trial.question();
        trial.answer(0, question, waits_for(12_000));
        trial.answer(1, question, waits_for(10_000));
        let snapshot = trial.snapshot();
        assert_eq!(snapshot.occasion, Occasion::Stall { seconds: 10 });
    }

    #[test]
    fn a_rank_that_has_given_its_card_is_blocked_until_all_cards_are_out() {
        let mut trial = Trial::new(2);
        trial.block(0);
        let card = ByteBuf::new();
        trial.hear(Report::Card { rank: 1, card });
        trial.pass(10 * S);
        assert_eq!(trial.question(), 1);
        let mut trial = Trial::new(2);
        for rank in 0..2 {
            let card = ByteBuf::new();
            trial.hear(Report::Card { rank, card });
        }
        trial.gather.cards_are_out();
        trial.pass(100 * S);
        assert_eq!(trial.steps(), []);
    }

    #[test]
    fn ranks_that_have_left_do_not_count_and_one_before_init_does() {
        let mut trial = Trial::new(3);
        trial.block(0);
        trial.hear(Report::Finalized { rank: 1 });
        let ended = Ended::Exited(0);
        trial.hear(Report::Ended { rank: 2, ended });
        trial.pass(10 * S);
        let question = trial.question();
        trial.answer(0, question, waits_for(12_000));
        trial.answer(1, question, Answer::Finalized);
        let doing: Vec<Doing> = trial
            .snapshot()
            .ranks
            .into_iter()
            .map(|it| it.doing)
            .collect();
        assert_eq!(doing[1..], [Doing::Finalized, Doing::Ended]);

        let hosts = vec!["n1".to_string(); 2];
        let mut gather = Gather::new(&hosts, &[0, 1], Some(10 * S));
        let now = Instant::now();
        for rank in 0..2 {
            gather.hear(&Report::Started { rank, pid: 1 }, now);
        }
        gather.hear(&Report::Init { rank: 0 }, now);
        let blocked_ms = 2000;
        gather.hear(
            &Report::Blocked {
                rank: 0,
                blocked_ms,
            },
            now,
        );
        gather.tick(now + 100 * S);
        assert_eq!(gather.step(), None);
    }

    #[test]
    fn a_rank_that_has_gone_on_is_no_stall_and_is_looked_at_again_later() {
        let busy = |state| Answer::State(Box::new(state));
        let may_go_on = RankState {
            may_go_on: true,
            threads: vec![ThreadState {
                blocked_ms: 60_000,
                ..ThreadState::default()
            }],
            ..RankState::default()
        };
        for answer in [
            busy(RankState::default()),
            busy(may_go_on),
            waits_for(7_999),
        ] {
            let (mut trial, question) = Trial::stall(2);
            trial.answer(0, question, waits_for(10_000));
            trial.answer(1, question, answer.clone());
            trial.pass(Duration::ZERO);
            assert_eq!(trial.steps(), [], "{answer:?}");
            assert_eq!(trial.gather.wake_at(), Some(trial.now + 10 * S));
            trial.pass(10 * S);
            assert_eq!(trial.question(), question + 1);
        }
    }

    #[test]
    fn what_comes_while_the_ranks_are_asked_refutes_a_stall() {
        let card = Report::Card {
            rank: 1,
            card: ByteBuf::new(),
        };
        for report in [
            Report::Resumed { rank: 1 },
            Report::Finalized { rank: 1 },
            card,
        ] {
            let (mut trial, question) = Trial::stall(2);
            trial.hear(report.clone());
            for rank in 0..2 {
                trial.answer(rank, question, waits_for(10_000));
            }
            trial.pass(Duration::ZERO);
            assert_eq!(trial.steps(), [], "{report:?}");
        }
    }

    #[test]
    fn a_stall_is_reported_once_and_its_end_in_one_line() {
        let (mut trial, question) = Trial::stall(2);
        for rank in 0..2 {
            trial.answer(rank, question, waits_for(10_000));
        }
        trial.snapshot();
        trial.pass(1000 * S);
        assert_eq!((trial.steps(), trial.gather.wake_at()), (vec![], None));
        for rank in [1, 0] {
            trial.hear(Report::Resumed { rank });
        }
        let line = "rank 1 goes on; the job is no longer stalled".to_string();
        assert_eq!(trial.steps(), [Step::Say(line)]);
        for rank in 0..2 {
            trial.block(rank);
        }
        trial.pass(8 * S);
        assert_eq!(trial.question(), question + 1);
    }

    #[test]
    fn a_rank_that_does_not_answer_is_asked_again_and_waited_for_longer_if_it_is_elsewhere() {
        for (silent, patience) in [(0, PATIENCE_HERE), (1, PATIENCE_THERE)] {
            let (mut trial, mut question) = Trial::stall(2);
            let wait = |trial: &mut Trial, question| {
                trial.answer(1 - silent, question, waits_for(100_000));
                assert_eq!(trial.gather.wake_at(), Some(trial.now + patience));
                trial.pass(patience - Duration::from_millis(1));
                assert_eq!(trial.steps(), []);
                trial.now += Duration::from_millis(1);
            };
            for _ in 0..RETRIES {
                wait(&mut trial, question);
                trial.gather.tick(trial.now);
                assert_eq!(trial.steps(), []);
                trial.pass(RETRY_AFTER);
                question = trial.question();
            }
            wait(&mut trial, question);
            let snapshot = trial.snapshot();
            assert_eq!(snapshot.ranks[silent as usize].doing, Doing::Unknown);
        }
    }

    #[test]
    fn an_answer_to_another_question_counts_for_nothing() {
        let mut trial = Trial::new(2);
        trial.gather.ask(trial.now);
        let question = trial.question();
        for number in [0, question + 1, u32::MAX] {
            trial.answer(0, number, Answer::Ended);
        }
        trial.now += PATIENCE_THERE;
        assert_eq!(trial.snapshot().ranks[0].doing, Doing::Unknown);
    }

    #[test]
    fn each_wish_of_the_user_is_reported_one_after_the_other() {
        let mut trial = Trial::new(2);
        let process = ProcessSeen {
            state: 'R',
            stopped_ms: None,
            used_ms: 900,
            waited_ms: 1000,
        };
        for _ in 0..3 {
            trial.gather.ask(trial.now);
        }
        for question in 1..=3 {
            assert_eq!(trial.question(), question);
            for rank in 0..2 {
                trial.answer(rank, question, Answer::Silent(process));
            }
            trial.gather.tick(trial.now);
            let Some(Step::Report(snapshot)) = trial.gather.step() else {
                panic!("no report")
            };
            assert_eq!(snapshot.occasion, Occasion::Asked);
            assert_eq!(snapshot.ranks[0].doing, Doing::Silent(process));
        }
        assert_eq!(trial.steps(), []);
    }

    #[test]
    fn the_end_of_the_time_takes_over_a_question_on_its_way() {
        let (mut trial, question) = Trial::stall(2);
        trial.pass(S);
        trial.gather.time_is_up(trial.now);
        assert_eq!(trial.steps(), []);
        trial.answer(0, question, waits_for(10_000));
        trial.now += PATIENCE_THERE - S;
        assert_eq!(trial.snapshot().occasion, Occasion::Timeout);
    }

    #[test]
    fn a_job_that_is_being_ended_is_asked_nothing() {
        let (mut trial, _) = Trial::stall(2);
        trial.gather.stop();
        trial.gather.ask(trial.now);
        trial.pass(100 * S);
        assert_eq!((trial.steps(), trial.gather.wake_at()), (vec![], None));
    }

    #[test]
    fn ranks_that_were_suspended_were_not_blocked_meanwhile() {
        let mut trial = Trial::blocked(2);
        trial.now += 1000 * S;
        trial.gather.go_on(trial.now);
        trial.pass(10 * S - Duration::from_millis(1));
        assert_eq!(trial.steps(), []);
        trial.pass(Duration::from_millis(1));
        assert_eq!(trial.question(), 1);
    }

    #[test]
    fn a_rank_was_not_blocked_before_it_was_in_mpi() {
        for blocked_ms in [3_600_000, u64::MAX] {
            let mut trial = Trial::new(2);
            for rank in 0..2 {
                trial.hear(Report::Blocked { rank, blocked_ms });
            }
            assert_eq!(trial.gather.wake_at(), Some(trial.now + 10 * S));
        }
    }
}
