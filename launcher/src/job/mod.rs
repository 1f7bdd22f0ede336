//! What the job means: which rank failed first, what the exit status is, when everything must end.
//!
//! A [`Job`] is pure: reports of the nodes and the user's wishes go in, [`Effect`]s come out. It
//! has no descriptor and reads no clock, so that every rule can be tested without a process.

pub mod allocation;
pub mod environment;
pub mod hosts;
pub mod input;
pub mod machine;
pub mod other_mpi;
mod outcome;
pub mod phase;
pub mod place;
pub mod plan;
mod pmi;
pub mod preload;
pub mod program;
pub mod programs;
mod ranks;
mod told;

use std::collections::BTreeSet;
use std::time::Duration;

use serde_bytes::ByteBuf;

use crate::failure::{LAUNCH, SIGNAL_BASE, printable, printable_line};
use crate::job::other_mpi::Wishes;
use crate::signals::words;
use crate::wire::{Ended, Order, Report};
pub use outcome::Effect;
use outcome::Outcome;
use ranks::{Phase, Rank, Ranks};
use told::Told;

/// Exit status after a failure that has none of its own.
const FAILED: u8 = 1;

/// The state of all ranks, and the verdict.
#[derive(Debug, Default)]
pub struct Job {
    ranks: Ranks,
    /// The exit status, and what is to be done.
    pub outcome: Outcome,
    /// The nodes were told to start the ranks; they may not have said yet that they have.
    is_started: bool,
    /// How long the ranks have after a signal that ends the job.
    grace: Duration,
    /// The ranks were told to end by such a signal.
    told: Option<Told>,
    /// The ranks that speak PMI.
    pmi: pmi::Conversations,
    /// What the user asks of the ranks.
    wishes: Wishes,
    /// The ranks that have loaded another MPI, and have not spoken to us.
    strangers: BTreeSet<u32>,
}

impl Job {
    /// A job with these hosts, by rank. After a signal that ends it the ranks have `grace`.
    pub fn new(hosts: &[String], grace: Duration) -> Job {
        Job {
            ranks: Ranks::new(hosts),
            grace,
            ..Job::default()
        }
    }

    /// The same job, of whose ranks the user asks this.
    pub fn with(self, wishes: Wishes) -> Job {
        Job { wishes, ..self }
    }

    /// The exit status of `mpirun`, when all nodes are quiet.
    pub fn exit_code(&self) -> u8 {
        let of_strangers = (!self.strangers.is_empty()).then_some(FAILED);
        self.outcome.code().or(of_strangers).unwrap_or(0)
    }

    /// Returns true if nothing of the job shall live on, as after an interrupt.
    pub fn leaves_nothing(&self) -> bool {
        self.outcome.is_ending() || self.told.is_some()
    }

    /// Notes that the nodes are told to start the ranks. What they are told later reaches ranks.
    pub fn note_start(&mut self) {
        self.is_started = true;
    }

    /// Takes note of a report from the node that has the host named `host`.
    pub fn hear(&mut self, host: &str, report: Report) {
        match report {
            Report::Bound { rank, text } => {
                let host = &self.ranks.get(rank).host;
                self.outcome.say(format!(
                    "rank {rank} on host {host}: {}",
                    printable_line(&text)
                ));
            }
            Report::Started { rank, pid } => self.ranks.get(rank).pid = Some(pid),
            Report::Init { rank } => self.enter(rank),
            Report::Pmi { rank, event } => self.hear_pmi(rank, event),
            Report::Stranger { rank, library } => self.note_stranger(rank, &library),
            Report::Card { rank, card } => self.collect(rank, card),
            Report::Finalized { rank } => self.ranks.get(rank).phase = Phase::Finalized,
            Report::Loss { rank, lost, reason } => self.lose(rank, lost, &reason),
            Report::Failure { rank, reason } => self.finalize_failed(rank, &reason),
            Report::Abort {
                rank,
                code,
                message,
            } => self.abort(rank, code, &message),
            Report::Broken { rank, reason } => {
                self.blame(FAILED, rank, &printable_line(&reason));
            }
            Report::Stopped { rank } => {
                let who = self.ranks.who(rank);
                let line = format!("{who} has been stopped (state T) for 10 s");
                self.outcome.say(line);
            }
            Report::Ended { rank, ended } => self.rank_ended(rank, ended),
            Report::Refused { code, reason } => {
                let (host, reason) = (printable(host), printable_line(&reason));
                let line = format!("cannot start the job on host {host}: {reason}");
                self.outcome.fail(code, line);
            }
            Report::Silent(time) => {
                let (host, seconds) = (printable(host), time.as_secs_f64());
                self.outcome.say(format!(
                    "host {host} has given no sign of life for {seconds} s"
                ));
            }
            Report::Unreached { reason, patience } => {
                let (host, seconds) = (printable(host), patience.as_secs_f64());
                self.outcome.say(format!(
                    "host {host} accepts no ssh connection yet ({reason}); trying again for \
                     {seconds} s"
                ));
            }
            Report::Lost { reason } => self.outcome.fail(LAUNCH, printable_line(&reason)),
            Report::Quiet => self.node_is_quiet(host),
            // A signal is heard with its time: `signal_elsewhere`.
            _ => {}
        }
    }

    /// Ends the job for what this rank has done.
    fn blame(&mut self, code: u8, rank: u32, what: &str) {
        let line = format!("{} {what}; ending the job", self.ranks.who(rank));
        self.outcome.fail(code, line);
    }

    fn enter(&mut self, rank: u32) {
        self.note_init(rank);
        if let Some(gone) = self.ranks.first_in(Phase::Gone) {
            self.fail_for_absence(gone, rank);
        }
    }

    /// Says once that ranks do not find each other. The job is not ended: what is loaded need not
    /// be used. But its exit status is not 0, unless they call our Init after all.
    fn note_stranger(&mut self, rank: u32, library: &str) {
        let is_first = self.strangers.is_empty();
        self.strangers.insert(rank);
        if is_first && self.outcome.is_open() {
            let line = other_mpi::loaded(&self.ranks.who(rank), library);
            self.outcome.say(line);
        }
    }

    fn note_init(&mut self, rank: u32) {
        self.strangers.remove(&rank);
        self.ranks.get(rank).phase = Phase::InMpi;
        self.refuse_mixture(rank);
    }

    /// A rank that is gone can never take part in the Init that others wait in.
    fn fail_for_absence(&mut self, gone: u32, waiting: u32) {
        let what =
            format!("exited without calling MPI_Init, but rank {waiting} waits for it there");
        self.blame(FAILED, gone, &what);
    }

    /// When every rank has given its card, all get all.
    fn collect(&mut self, rank: u32, card: ByteBuf) {
        for line in self.ranks.settle_losses(rank) {
            self.outcome.note_flaw(FAILED, line);
        }
        if let Some(cards) = self.ranks.collect(rank, card) {
            self.outcome.order(Order::Cards(cards));
        }
    }

    /// A rank has lost a peer, and is about to finalize without it.
    fn lose(&mut self, rank: u32, lost: u32, reason: &str) {
        if !self.ranks.note_loss(rank, lost, reason) {
            let what = "reported the loss of a rank that does not exist";
            self.blame(FAILED, rank, what);
        }
    }

    /// Notes that a Finalize of this rank failed: the first one only, so that a rank that fails for
    /// ever fills no memory.
    fn finalize_failed(&mut self, rank: u32, reason: &str) {
        if !std::mem::replace(&mut self.ranks.get(rank).has_failed, true) {
            let (who, reason) = (self.ranks.who(rank), printable_line(reason));
            let line = format!("{who}: MPI_Finalize failed: {reason}");
            self.outcome.note_flaw(FAILED, line);
        }
    }

    /// An abort's message is the line for the user; without one it is ours.
    fn abort(&mut self, rank: u32, code: i32, message: &str) {
        let line = if message.is_empty() {
            format!("{} aborted the job with code {code}", self.ranks.who(rank))
        } else {
            let lines: Vec<String> = message.lines().map(printable_line).collect();
            lines.join("\n")
        };
        self.outcome.fail(status(code).max(1), line);
        if self.told.is_some() {
            // It has been told to end, and wants the others to end with it.
            self.outcome.end();
        }
    }

    /// No rank of this host runs any more. One that has not ended was lost by its node, unless the
    /// node was ordered to end it.
    fn node_is_quiet(&mut self, host: &str) {
        let host = printable(host);
        let is_lost = |rank: &Rank| rank.host == host && !rank.has_ended;
        let lost: Vec<u32> = self.ranks.which(is_lost).collect();
        if !self.outcome.is_ending() && !lost.is_empty() {
            let what = "it is done, but never reported how they ended";
            let line = format!("host {host} has lost {}: {what}", in_words(&lost));
            self.outcome.fail(LAUNCH, line);
        }
    }

    fn rank_ended(&mut self, rank: u32, ended: Ended) {
        let seen = self.ranks.get(rank);
        seen.has_ended = true;
        if seen.is_lost {
            // The others go on without it, however it ends.
            seen.phase = Phase::Gone;
        } else {
            self.judge_end(rank, ended);
            self.judge_fence();
        }
        if self.ranks.are_lost() {
            self.outcome.end();
        }
    }

    fn judge_end(&mut self, rank: u32, ended: Ended) {
        let who = self.ranks.who(rank);
        let phase = std::mem::replace(&mut self.ranks.get(rank).phase, Phase::Gone);
        let of_signal = |signal| SIGNAL_BASE.saturating_add(u8::try_from(signal).unwrap_or(127));
        let code = ended.signal().map_or(1, of_signal);
        match (ended, phase) {
            (Ended::Killed(signal), _) => self.outcome.fail(code, killed_line(&who, signal)),
            (Ended::LittleStack { limit }, _) => {
                let kib = limit >> 10;
                let line = format!(
                    "{who} was killed by signal 11 (Segmentation fault); its stack may take {kib} \
                     KiB only, which may be why; ending the job: raise the limit with ulimit -s \
                     8192"
                );
                self.outcome.fail(code, line);
            }
            (Ended::OutOfMemory { limit }, _) => self.outcome.fail(code, for_memory(&who, limit)),
            (Ended::Exited(0), Phase::InMpi) => {
                self.blame(FAILED, rank, "exited without calling MPI_Finalize");
            }
            (Ended::Exited(0), Phase::Silent) => {
                if let Some(waiting) = self.ranks.first_in(Phase::InMpi) {
                    self.fail_for_absence(rank, waiting);
                }
            }
            (Ended::Exited(0), _) => {}
            // The others have finalized as well or are about to: nobody waits for this one.
            (Ended::Exited(code), Phase::Finalized) => self.outcome.note_flaw(
                status(code).max(1),
                format!("{who} exited with status {code} after MPI_Finalize"),
            ),
            (Ended::Exited(code), _) => {
                let what = format!("exited with status {code}");
                self.blame(status(code).max(1), rank, &what);
            }
        }
    }
}

/// The line about a rank that a signal has killed.
fn killed_line(who: &str, signal: i32) -> String {
    let words = words(signal);
    format!("{who} was killed by signal {signal} ({words}); ending the job")
}

/// The line about a rank that the system killed since memory was short, and what helps.
fn for_memory(who: &str, limit: Option<u64>) -> String {
    let helps = limit.map_or("", |_| ", or raise the limit");
    let limit = limit.map(|bytes| format!(" (its limit is {} MiB)", bytes >> 20));
    let limit = limit.unwrap_or_default();
    format!(
        "{who} was killed by signal 9 (Killed) because memory was short{limit}; ending the job: \
         start fewer ranks on that host{helps}"
    )
}

/// "rank 3", "ranks 0 and 1", "ranks 0, 1, 2 and 5 more".
fn in_words(ranks: &[u32]) -> String {
    const NAMED: usize = 8;
    let names: Vec<String> = ranks.iter().map(u32::to_string).collect();
    match &names[..] {
        [] => "no rank".into(),
        [rank] => format!("rank {rank}"),
        [named @ .., last] if named.len() < NAMED => {
            format!("ranks {} and {last}", named.join(", "))
        }
        named => {
            let more = named.len() - NAMED;
            format!("ranks {} and {more} more", named[..NAMED].join(", "))
        }
    }
}

/// The part of a code that fits into an exit status.
fn status(code: i32) -> u8 {
    code.to_le_bytes()[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) const GRACE: Duration = Duration::from_secs(5);

    pub(super) fn job(size: usize) -> Job {
        let mut job = Job::new(&vec!["n1".to_string(); size], GRACE);
        job.note_start();
        for rank in 0..size as u32 {
            job.hear(
                "n1",
                Report::Started {
                    rank,
                    pid: 4700 + rank as i32,
                },
            );
        }
        job
    }

    pub(super) fn ended(rank: u32, ended: Ended) -> Report {
        Report::Ended { rank, ended }
    }

    pub(super) fn lines(job: &mut Job) -> Vec<String> {
        std::iter::from_fn(|| job.outcome.effect())
            .filter_map(|effect| match effect {
                Effect::Say(line) => Some(line),
                Effect::Order(_) => None,
            })
            .collect()
    }

    /// Exit status and lines after these reports.
    pub(super) fn verdict(size: usize, reports: Vec<Report>) -> (u8, Vec<String>) {
        let mut job = job(size);
        reports
            .into_iter()
            .for_each(|report| job.hear("n1", report));
        (job.exit_code(), lines(&mut job))
    }

    #[test]
    fn all_ranks_at_0_is_0_without_a_word() {
        let reports = (0..3).map(|rank| ended(rank, Ended::Exited(0))).collect();
        assert_eq!(verdict(3, reports), (0, vec![]));
    }

    #[test]
    fn ranks_with_another_mpi_make_one_line_and_a_status() {
        let stranger = |rank| Report::Stranger {
            rank,
            library: "libmpi.so.40.30.4".into(),
        };
        let end = |rank| ended(rank, Ended::Exited(0));
        let (code, said) = verdict(2, vec![stranger(1), stranger(0), end(0), end(1)]);
        assert_eq!((code, said.len()), (1, 1));
        let start = "rank 1 (pid 4701 on host n1) has loaded libmpi.so.40.30.4 of Open MPI";
        assert!(said[0].starts_with(start), "{said:?}");
        // It loads both, and calls ours.
        let init = |rank| Report::Init { rank };
        let finalized = |rank| Report::Finalized { rank };
        let mut reports = vec![stranger(0), init(0), init(1)];
        reports.extend([finalized(0), finalized(1), end(0), end(1)]);
        assert_eq!(verdict(2, reports).0, 0);
        // What ends the job has its own status.
        let reports = vec![stranger(0), ended(1, Ended::Exited(3))];
        assert_eq!(verdict(2, reports).0, 3);
    }

    #[test]
    fn the_first_failure_in_time_decides() {
        let reports = vec![ended(2, Ended::Killed(9)), ended(0, Ended::Exited(3))];
        let line = "rank 2 (pid 4702 on host n1) was killed by signal 9 (Killed); ending the job";
        assert_eq!(verdict(3, reports), (137, vec![line.to_string()]));
    }

    #[test]
    fn a_rank_that_was_killed_for_memory_is_named_with_the_limit() {
        for (limit, words) in [
            (Some(512 << 20), "short (its limit is 512 MiB); "),
            (None, "short; ending the job"),
        ] {
            let (status, lines) = verdict(2, vec![ended(1, Ended::OutOfMemory { limit })]);
            assert_eq!(status, 137);
            let first = "rank 1 (pid 4701 on host n1) was killed by signal 9 (Killed) ";
            assert!(lines[0].starts_with(first) && lines[0].contains(words));
        }
    }

    #[test]
    fn a_status_is_passed_on() {
        for (code, expected) in [(3, 3), (255, 255), (256, 1)] {
            let (status, lines) = verdict(2, vec![ended(1, Ended::Exited(code))]);
            assert_eq!(status, expected);
            assert!(lines[0].contains("rank 1 (pid 4701 on host n1) exited with status"));
        }
    }

    #[test]
    fn exit_0_between_init_and_finalize_is_a_failure() {
        let reports = vec![Report::Init { rank: 1 }, ended(1, Ended::Exited(0))];
        let (status, lines) = verdict(2, reports);
        assert_eq!(status, 1);
        assert!(
            lines[0].contains("without calling MPI_Finalize"),
            "{lines:?}"
        );
    }

    #[test]
    fn exit_0_after_finalize_is_clean() {
        let reports = vec![
            Report::Init { rank: 0 },
            Report::Finalized { rank: 0 },
            ended(0, Ended::Exited(0)),
        ];
        assert_eq!(verdict(1, reports), (0, vec![]));
    }

    #[test]
    fn a_status_after_finalize_counts_but_ends_nobody() {
        let mut job = job(2);
        job.hear("n1", Report::Init { rank: 0 });
        job.hear("n1", Report::Finalized { rank: 0 });
        job.hear("n1", ended(0, Ended::Exited(5)));
        assert_eq!((job.exit_code(), job.outcome.is_ending()), (5, false));
    }

    #[test]
    fn a_failure_after_finalize_does_not_hide_a_worse_one() {
        let mut job = job(2);
        job.hear("n1", Report::Init { rank: 0 });
        job.hear("n1", Report::Finalized { rank: 0 });
        job.hear("n1", ended(0, Ended::Exited(5)));
        job.hear("n1", ended(1, Ended::Killed(11)));
        assert_eq!((job.exit_code(), job.outcome.is_ending()), (139, true));
    }

    fn loss(rank: u32, lost: u32) -> Report {
        let reason = "it gave no answer for 2 s".into();
        Report::Loss { rank, lost, reason }
    }

    fn empty_card(rank: u32) -> Report {
        let card = ByteBuf::new();
        Report::Card { rank, card }
    }

    #[test]
    fn survivors_of_a_loss_finalize_and_the_lost_rank_is_ended_when_they_have_ended() {
        let mut job = job(3);
        let cards = Effect::Order(Order::Cards(vec![ByteBuf::new(); 3]));
        for rank in 0..3 {
            job.hear("n1", Report::Init { rank });
        }
        job.hear("n1", loss(0, 2));
        job.hear("n1", empty_card(0));
        let line = "rank 2 (pid 4702 on host n1) is lost: it gave no answer for 2 s; rank 0 (pid \
                    4700 on host n1) has finalized without it";
        assert_eq!(lines(&mut job), [line]);
        job.hear("n1", loss(1, 2));
        job.hear("n1", empty_card(1));
        assert_eq!(job.outcome.effect(), Some(cards));
        for rank in 0..2 {
            job.hear("n1", Report::Finalized { rank });
            assert!(!job.outcome.is_ending());
            job.hear("n1", ended(rank, Ended::Exited(0)));
        }
        assert_eq!((job.exit_code(), job.outcome.is_ending()), (1, true));
        job.hear("n1", ended(2, Ended::Killed(9)));
        job.hear("n1", Report::Quiet);
        assert_eq!((job.exit_code(), lines(&mut job)), (1, vec![]));
    }

    #[test]
    fn a_lost_rank_that_comes_back_waits_for_nobody_that_has_left() {
        let mut job = job(2);
        for rank in 0..2 {
            job.hear("n1", Report::Init { rank });
        }
        let cards = Effect::Order(Order::Cards(vec![ByteBuf::new(); 2]));
        job.hear("n1", loss(0, 1));
        job.hear("n1", empty_card(0));
        let effects: Vec<_> = std::iter::from_fn(|| job.outcome.effect()).collect();
        assert!(effects.contains(&cards));
        job.hear("n1", Report::Finalized { rank: 0 });
        job.hear("n1", empty_card(1));
        assert_eq!(job.outcome.effect(), Some(cards));
    }

    /// The others go on; nobody ends them because of what the rank that is cut off reports.
    #[test]
    fn a_rank_that_has_lost_most_of_the_job_is_the_lost_one() {
        let mut job = job(4);
        for rank in 0..4 {
            job.hear("n1", Report::Init { rank });
        }
        for lost in [0, 1, 3] {
            job.hear("n1", loss(2, lost));
        }
        job.hear("n1", empty_card(2));
        let told = lines(&mut job);
        assert!(told.len() == 1 && told[0].contains("rank 2"), "{told:?}");
        assert!(told[0].contains("cut off"), "{told:?}");
        job.hear("n1", empty_card(0));
        job.hear("n1", empty_card(1));
        assert_eq!(job.outcome.effect(), None, "rank 3 is still at work");
        job.hear("n1", loss(3, 2));
        job.hear("n1", empty_card(3));
        let cards = Effect::Order(Order::Cards(vec![ByteBuf::new(); 4]));
        assert_eq!(job.outcome.effect(), Some(cards));
        for rank in [2, 0, 1, 3] {
            job.hear("n1", Report::Finalized { rank });
            job.hear("n1", ended(rank, Ended::Exited(0)));
        }
        assert_eq!((job.exit_code(), job.outcome.is_ending()), (1, false));
    }

    #[test]
    fn what_a_lost_rank_reports_of_others_counts_for_nothing() {
        let mut job = job(3);
        for rank in 0..3 {
            job.hear("n1", Report::Init { rank });
        }
        job.hear("n1", loss(0, 2));
        job.hear("n1", empty_card(0));
        job.hear("n1", loss(2, 1));
        job.hear("n1", empty_card(2));
        while job.outcome.effect().is_some() {}
        job.hear("n1", ended(1, Ended::Killed(11)));
        assert_eq!((job.exit_code(), job.outcome.is_ending()), (139, true));
    }

    #[test]
    fn a_rank_that_is_no_part_of_the_job_cannot_be_lost() {
        let (status, lines) = verdict(2, vec![Report::Init { rank: 0 }, loss(0, 2)]);
        assert_eq!((status, lines.len()), (1, 1));
    }

    #[test]
    fn a_finalize_that_fails_is_reported_and_ends_nobody() {
        let mut job = job(2);
        job.hear("n1", Report::Init { rank: 0 });
        for _ in 0..2 {
            let reason = "a wait is missing".into();
            job.hear("n1", Report::Failure { rank: 0, reason });
        }
        job.hear("n1", Report::Finalized { rank: 0 });
        job.hear("n1", ended(0, Ended::Exited(0)));
        assert_eq!((job.exit_code(), job.outcome.is_ending()), (1, false));
        let line = "rank 0 (pid 4700 on host n1): MPI_Finalize failed: a wait is missing";
        assert_eq!(lines(&mut job), [line]);
    }

    #[test]
    fn a_rank_that_leaves_before_init_ends_those_that_wait() {
        let init = Report::Init { rank: 0 };
        let leave = ended(1, Ended::Exited(0));
        for reports in [vec![init.clone(), leave.clone()], vec![leave, init]] {
            let (status, lines) = verdict(2, reports);
            assert_eq!(status, 1);
            assert!(lines[0].starts_with("rank 1 (pid 4701"), "{lines:?}");
            assert!(
                lines[0].contains("without calling MPI_Init, but rank 0 waits"),
                "{lines:?}"
            );
        }
    }

    #[test]
    fn an_abort_gives_its_code_and_its_message_once() {
        let abort = |code, message: &str| Report::Abort {
            rank: 1,
            code,
            message: message.into(),
        };
        assert_eq!(
            verdict(2, vec![abort(42, "no\x07")]),
            (42, vec!["no\\u{7}".to_string()])
        );
        assert_eq!(verdict(2, vec![abort(0, "x")]).0, 1);
        assert_eq!(verdict(2, vec![abort(256 + 7, "x")]).0, 7);
        let (_, lines) = verdict(
            2,
            vec![abort(7, ""), abort(8, ""), ended(0, Ended::Exited(7))],
        );
        assert_eq!(
            lines,
            ["rank 1 (pid 4701 on host n1) aborted the job with code 7"]
        );
    }

    /// What to do and the class of an error stand at its end.
    #[test]
    fn a_long_line_of_a_rank_keeps_its_end() {
        let message = format!("MPI error {}: call the same [MPI_ERR_ARG]", "x".repeat(480));
        let report = Report::Abort {
            rank: 0,
            code: 1,
            message: message.clone(),
        };
        assert_eq!(verdict(2, vec![report]), (1, vec![message]));
    }

    #[test]
    fn cards_go_out_when_the_last_has_come() {
        let mut job = job(2);
        job.hear(
            "n1",
            Report::Card {
                rank: 1,
                card: ByteBuf::from(*b"b"),
            },
        );
        assert_eq!(job.outcome.effect(), None);
        job.hear(
            "n1",
            Report::Card {
                rank: 0,
                card: ByteBuf::from(*b"a"),
            },
        );
        let cards = vec![ByteBuf::from(*b"a"), ByteBuf::from(*b"b")];
        assert_eq!(
            job.outcome.effect(),
            Some(Effect::Order(Order::Cards(cards)))
        );
    }
}
