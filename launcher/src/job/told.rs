//! Signals to `mpirun`: those that it passes on, and those that end the job and leave the ranks
//! some time for it.

use std::time::{Duration, Instant};

use nix::libc::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2};

use super::{Job, in_words, killed_line};
use crate::failure::{SIGNAL_BASE, TIMEOUT, printable};
use crate::poll::earlier;
use crate::signals::words;
use crate::wire::{Ended, Order, Report};

/// When the user reads which ranks still run after a signal that ends the job.
const PATIENCE: Duration = Duration::from_secs(1);

/// The same signal so soon after the first is no second one: timeout(1) sends it to its child, and
/// again to the whole process group.
const ECHO: Duration = Duration::from_millis(250);

/// The ranks were told to end, and have a time for it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told {
    signal: i32,
    at: Instant,
    /// No signal to `mpirun` was the reason. Whoever sent one elsewhere may send it the same.
    awaits_own: bool,
    /// When the user reads who still runs, if nobody has done so.
    warn_at: Option<Instant>,
    kill_at: Instant,
}

impl Told {
    /// Hears another signal to `mpirun`. Returns true if it says nothing new. A terminal that goes
    /// away sends HUP, and its shell as well. A user who presses a key twice means it.
    fn hears_echo(&mut self, signal: i32, is_from_terminal: bool, now: Instant) -> bool {
        if signal == self.signal && std::mem::take(&mut self.awaits_own) {
            self.at = now;
            return true;
        }
        let is_soon = now.saturating_duration_since(self.at) < ECHO;
        signal == SIGHUP || signal == self.signal && is_soon && !is_from_terminal
    }
}

impl Job {
    /// When [`Job::tick`] must be called.
    pub fn wake_at(&self) -> Option<Instant> {
        let told = self.told.filter(|_| !self.outcome.is_ending())?;
        earlier(told.warn_at, Some(told.kill_at))
    }

    /// Does what is due.
    pub fn tick(&mut self, now: Instant) {
        let Some(told) = self.told.as_mut().filter(|_| !self.outcome.is_ending()) else {
            return;
        };
        let Told { kill_at, .. } = *told;
        if kill_at <= now {
            self.outcome.kill();
        } else if told.warn_at.take_if(|at| *at <= now).is_some() {
            self.warn_of_end(kill_at.saturating_duration_since(now));
        }
    }

    /// Forwards a signal of the user to the ranks, or ends the job by it.
    pub fn signal(&mut self, signal: i32, is_from_terminal: bool, now: Instant) {
        let forward = Order::Signal {
            signal,
            is_from_terminal,
        };
        let code = SIGNAL_BASE.saturating_add(u8::try_from(signal).unwrap_or(0));
        match signal {
            SIGUSR1 | SIGUSR2 | SIGTSTP | SIGCONT => self.outcome.order(forward),
            _ if self.is_started && self.outcome.decide(code) => {
                self.tell_to_end(signal, is_from_terminal, now);
            }
            _ => {
                let told = self.told.as_mut();
                if !told.is_some_and(|told| told.hears_echo(signal, is_from_terminal, now)) {
                    self.outcome.decide(code);
                    self.outcome.kill();
                }
            }
        }
    }

    /// The agent of a host has got a signal that ends programs.
    pub fn signal_elsewhere(&mut self, host: &str, signal: i32, now: Instant) {
        if self.outcome.is_open() {
            let (host, words) = (printable(host), words(signal));
            let what = format!("got signal {signal} ({words}); ending the job");
            self.end_by(signal, format!("mpirun's agent on host {host} {what}"), now);
        }
    }

    /// Looks whether a signal has killed a rank, before [`Job::hear`]. A scheduler signals all
    /// processes of a job, so `mpirun` may not have read its own yet: the others have their time.
    pub fn look_for_signal(&mut self, report: &Report, now: Instant) {
        let Report::Ended {
            rank,
            ended: Ended::Killed(signal),
        } = *report
        else {
            return;
        };
        let is_for_all = matches!(signal, SIGHUP | SIGINT | SIGTERM);
        let ends = self.outcome.is_open() && !self.ranks.get(rank).is_lost;
        if is_for_all && ends && self.is_started {
            let line = killed_line(&self.ranks.who(rank), signal);
            self.end_by(signal, line, now);
        }
    }

    /// Ends the job by a signal that somebody else got.
    fn end_by(&mut self, signal: i32, line: String, now: Instant) {
        self.outcome.say(line);
        self.signal(signal, false, now);
        if let Some(told) = &mut self.told {
            told.awaits_own = true;
        }
    }

    /// The time that `asked` (`--timeout` or a variable) has set is over.
    pub fn time_is_up(&mut self, seconds: f64, asked: &str, now: Instant) {
        let line = format!("the job still runs after {seconds} s ({asked}); ending it");
        if !self.is_started {
            self.outcome.fail(TIMEOUT, line);
        } else if self.outcome.decide(TIMEOUT) {
            self.outcome.say(line);
            self.tell_to_end(SIGTERM, false, now).awaits_own = true;
        }
    }

    /// Sends the ranks a signal by which they may save their state and end. HUP means to many
    /// programs something else than an end.
    fn tell_to_end(&mut self, signal: i32, is_from_terminal: bool, now: Instant) -> &mut Told {
        let (sent, is_from_terminal) = match signal {
            SIGINT => (SIGINT, is_from_terminal),
            _ => (SIGTERM, false),
        };
        self.outcome.order(Order::Signal {
            signal: sent,
            is_from_terminal,
        });
        self.told.insert(Told {
            signal,
            at: now,
            awaits_own: false,
            warn_at: Some(now + PATIENCE),
            kill_at: now + self.grace,
        })
    }

    fn warn_of_end(&mut self, left: Duration) {
        let running: Vec<u32> = self.ranks.which(|rank| !rank.has_ended).collect();
        let what = match running.is_empty() {
            true => "what the ranks have started or written".into(),
            false => in_words(&running),
        };
        let (seconds, grace) = (left.as_secs_f64().round(), self.grace.as_secs_f64());
        self.outcome.say(format!(
            "waiting for {what} to end: killed in {seconds} s (--grace {grace}), or by a second \
             signal at once"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::super::Effect;
    use super::super::tests::{GRACE, ended, job, lines, verdict};
    use super::*;

    fn forwarded(signal: i32, is_from_terminal: bool) -> Option<Effect> {
        Some(Effect::Order(Order::Signal {
            signal,
            is_from_terminal,
        }))
    }

    #[test]
    fn the_first_signal_is_forwarded_and_the_second_kills() {
        for (signal, is_from_terminal, code, sent) in
            [(2, true, 130, 2), (15, false, 143, 15), (1, true, 129, 15)]
        {
            let now = Instant::now();
            let mut job = job(1);
            job.signal(signal, is_from_terminal, now);
            let is_from_terminal = is_from_terminal && signal == sent;
            assert_eq!(job.outcome.effect(), forwarded(sent, is_from_terminal));
            assert!(!job.outcome.is_ending());
            job.signal(2, true, now);
            assert_eq!(job.outcome.effect(), Some(Effect::Order(Order::Kill)));
            assert_eq!(job.exit_code(), code);
        }
    }

    #[test]
    fn the_echo_of_a_signal_kills_nobody() {
        let now = Instant::now();
        let mut job = job(1);
        job.signal(15, false, now);
        job.outcome.effect();
        job.signal(15, false, now + ECHO / 2);
        job.signal(1, true, now + 2 * ECHO);
        assert_eq!(job.outcome.effect(), None);
        job.signal(15, false, now + ECHO);
        assert_eq!(job.outcome.effect(), Some(Effect::Order(Order::Kill)));
    }

    #[test]
    fn a_signal_to_an_agent_is_one_for_the_job() {
        let now = Instant::now();
        let mut job = job(1);
        for _ in 0..2 {
            job.signal_elsewhere("n1", 15, now);
        }
        let line = "mpirun's agent on host n1 got signal 15 (Terminated); ending the job";
        assert_eq!(job.outcome.effect(), Some(Effect::Say(line.into())));
        assert_eq!(job.outcome.effect(), forwarded(15, false));
        assert_eq!((job.outcome.effect(), job.exit_code()), (None, 143));
        own_signal_is_an_echo(job, now);
    }

    /// mpirun gets its own TERM late, and as timeout(1) sends it; then a second one.
    fn own_signal_is_an_echo(mut job: Job, now: Instant) {
        job.signal(15, false, now + 4 * ECHO);
        job.signal(15, false, now + 4 * ECHO + ECHO / 2);
        assert_eq!(job.outcome.effect(), None);
        job.signal(15, false, now + 6 * ECHO);
        assert_eq!(job.outcome.effect(), Some(Effect::Order(Order::Kill)));
    }

    #[test]
    fn another_signal_than_the_one_elsewhere_is_a_second_one() {
        let now = Instant::now();
        let mut job = job(1);
        job.signal_elsewhere("n1", 15, now);
        job.signal(2, true, now);
        let kills = |effect| effect == Effect::Order(Order::Kill);
        assert!(std::iter::from_fn(|| job.outcome.effect()).any(kills));
    }

    fn kill_rank(job: &mut Job, signal: i32, now: Instant) {
        let report = ended(1, Ended::Killed(signal));
        job.look_for_signal(&report, now);
        job.hear("n1", report);
    }

    /// A rank without a handler dies before mpirun has read its own signal.
    #[test]
    fn a_rank_that_a_scheduler_kills_costs_no_other_its_time() {
        let now = Instant::now();
        for (signal, sent, word) in [
            (15, 15, "Terminated"),
            (2, 2, "Interrupt"),
            (1, 15, "Hangup"),
        ] {
            let mut job = job(2);
            kill_rank(&mut job, signal, now);
            let line = format!(
                "rank 1 (pid 4701 on host n1) was killed by signal {signal} ({word}); ending the \
                 job"
            );
            assert_eq!(job.outcome.effect(), Some(Effect::Say(line)));
            assert_eq!(job.outcome.effect(), forwarded(sent, false));
            assert_eq!(job.outcome.effect(), None);
            assert_eq!(
                (job.outcome.is_ending(), job.exit_code()),
                (false, 128 + signal as u8)
            );
            assert_eq!(job.told.unwrap().kill_at, now + GRACE);
        }
        let mut job = job(2);
        kill_rank(&mut job, 15, now);
        while job.outcome.effect().is_some() {}
        own_signal_is_an_echo(job, now);
    }

    #[test]
    fn a_rank_that_any_other_signal_kills_is_a_failure() {
        for signal in [6, 9, 11] {
            let mut job = job(2);
            kill_rank(&mut job, signal, Instant::now());
            assert!(matches!(job.outcome.effect(), Some(Effect::Say(_))));
            assert_eq!(job.outcome.effect(), Some(Effect::Order(Order::End)));
        }
    }

    #[test]
    fn a_rank_that_aborts_on_a_signal_ends_the_others_soon() {
        let mut job = job(2);
        job.signal(15, false, Instant::now());
        job.outcome.effect();
        job.hear(
            "n1",
            Report::Abort {
                rank: 1,
                code: 3,
                message: "saved".into(),
            },
        );
        assert_eq!(job.outcome.effect(), Some(Effect::Order(Order::End)));
        assert_eq!(job.exit_code(), 143);
    }

    #[test]
    fn ranks_that_take_their_time_are_named_once_and_killed_at_its_end() {
        let now = Instant::now();
        let mut job = job(3);
        job.signal(15, false, now);
        job.hear("n1", ended(1, Ended::Killed(15)));
        let at = job.wake_at().unwrap();
        job.tick(at);
        let line = "waiting for ranks 0 and 2 to end: killed in 4 s (--grace 5), or by a second \
                    signal at once";
        assert_eq!(lines(&mut job), [line]);
        assert_eq!(job.wake_at(), Some(now + GRACE));
        job.tick(now + GRACE);
        assert_eq!(job.outcome.effect(), Some(Effect::Order(Order::Kill)));
        assert_eq!((job.wake_at(), job.exit_code()), (None, 143));
    }

    #[test]
    fn an_interrupt_before_the_start_ends_the_job_at_once() {
        let mut job = Job::new(&["n1".to_string()], GRACE);
        job.signal(2, true, Instant::now());
        assert_eq!((job.outcome.is_ending(), job.exit_code()), (true, 130));
    }

    #[test]
    fn an_interrupt_goes_to_ranks_that_are_starting() {
        let mut job = Job::new(&["n1".to_string()], GRACE);
        job.note_start();
        job.signal(2, true, Instant::now());
        let effect = job.outcome.effect();
        assert!(
            matches!(effect, Some(Effect::Order(Order::Signal { .. }))),
            "{effect:?}"
        );
        assert_eq!((job.outcome.is_ending(), job.exit_code()), (false, 130));
    }

    #[test]
    fn ranks_that_an_interrupt_kills_are_not_blamed() {
        let mut job = job(1);
        job.signal(2, true, Instant::now());
        job.hear("n1", ended(0, Ended::Killed(2)));
        assert_eq!((job.exit_code(), lines(&mut job)), (130, vec![]));
    }

    #[test]
    fn a_timeout_is_124_and_a_lost_node_125() {
        let (mut late, now) = (job(1), Instant::now());
        late.time_is_up(1.5, "--timeout", now);
        assert_eq!(late.exit_code(), 124);
        let said = late.outcome.effect();
        assert!(matches!(said, Some(Effect::Say(line)) if line.contains("1.5 s")));
        assert_eq!(late.outcome.effect(), forwarded(15, false));
        own_signal_is_an_echo(late, now);
        assert_eq!(
            verdict(
                1,
                vec![Report::Lost {
                    reason: "n1 is gone".into()
                }]
            )
            .0,
            125
        );
    }
}
