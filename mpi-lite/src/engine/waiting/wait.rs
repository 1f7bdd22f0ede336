//! The only file that blocks, except for threads that follow a leader (`lead`).
//!
//! A waiting thread takes turns itself. It spins for a while, because an answer within microseconds
//! is the common case and waking a sleeping process costs ten times as much. Then it yields its
//! core to others. Then it sleeps on the links' descriptors until something arrives or a deadline
//! of the protocol is due. `wait_policy` decides how long it does each.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::clock::Instant;
use crate::engine::Engine;
use crate::engine::inbox::budget::LONG_WAIT;
use crate::engine::lane::Lane;
use crate::engine::report::waits::{Blockage, Describe, LONG, Subject};
use crate::engine::waiting::lock::Guard;
use crate::engine::waiting::policy::{Next, Wait};
use crate::engine::waiting::waiters::Until;
use crate::transport::Progress;

/// How often a spinning thread looks before it reads the clock again. To read the clock takes about
/// a tenth as long as a look.
const LOOKS_PER_TIME: u32 = 8;

/// A thread looks around after this many turns, since most may have been cut short. A prime, so
/// that it does not always fall on one place of a program.
const TURNS_PER_LOOK_AROUND: u32 = 61;

/// The most turns of [`Engine::catch_up`]: enough for the rings of a thousand local peers.
const MOST_TURNS_TO_CATCH_UP: u32 = 10_000;

/// A thread that waits: alone, or as the leader of several (`lead`).
pub(crate) trait Role {
    /// Threads follow it.
    const LEADS: bool;

    /// Returns what a leader waits for.
    fn awaits(&self, lane: &Lane) -> Until;
}

/// The only thread that waits.
struct Alone;

impl Role for Alone {
    const LEADS: bool = false;

    fn awaits(&self, _: &Lane) -> Until {
        Until::Change
    }
}

/// What ended a sleep, beside links and doorbells.
pub(crate) struct Woken {
    /// The launcher asks.
    pub(crate) has_question: bool,
}

/// The earliest of some times, of which there may be none.
// What is absent is compared as a time: valgrind takes it for uninitialised memory otherwise.
fn earliest(times: [Option<Instant>; 3]) -> Option<Instant> {
    let never = Instant::ZERO.plus(Duration::MAX);
    let times = times.map(|time| time.unwrap_or(never));
    times.into_iter().min().filter(|at| *at != never)
}

impl Guard<'_, Lane> {
    /// Calls the threads that follow, and lets those in that wait for the lane: the ticker may need
    /// it for the task that it polls, and this thread may stay awake until that task has gone on.
    #[inline(always)]
    fn leave_between_turns<R: Role>(&mut self, progress: Progress, now: Instant) {
        if R::LEADS {
            self.tell_after_turn(progress, now);
        }
        self.give_way();
    }
}

impl Engine {
    /// Takes turns until `ready` returns something. `subject` is what is waited for, for the report
    /// of a job that hangs.
    #[inline(always)]
    pub fn wait_until<T>(
        &self,
        subject: impl Fn(&Lane) -> Subject,
        ready: impl FnMut(&mut Lane) -> Option<T>,
    ) -> T {
        self.wait_whole(|_| Until::Change, subject, ready)
    }

    /// Takes turns until `ready` returns something. `until` is what is waited for, for the case
    /// that several threads wait; `subject` says it for the report of a job that hangs.
    #[inline(always)]
    pub(crate) fn wait_whole<T>(
        &self,
        until: impl Fn(&Lane) -> Until,
        subject: impl Fn(&Lane) -> Subject,
        mut ready: impl FnMut(&mut Lane) -> Option<T>,
    ) -> T {
        let mut lane = self.lane.lock();
        lane.flush();
        match ready(&mut lane) {
            Some(answer) => answer,
            None if self.is_threaded() => {
                let awaited = (&until as &dyn Fn(&Lane) -> Until, &subject as Describe<'_>);
                self.wait_with_others(lane, awaited, &mut ready, |lane, now, ready| {
                    lane.turn_whole(now, ready)
                })
            }
            None => {
                let turn = Lane::turn_whole;
                self.take_turns(Alone, (&mut lane, &subject), &mut ready, turn)
            }
        }
    }

    /// Takes turns until `ready` returns something, for a caller that has the lane already. `ready`
    /// is called whenever an operation has finished, and must be quick; the turn ends as soon as it
    /// returns something. `until` is what is waited for, for the case that several threads wait;
    /// `subject` says it for the report of a job that hangs.
    #[inline(always)]
    pub(crate) fn wait_in<T>(
        &self,
        mut lane: Guard<'_, Lane>,
        until: impl Fn(&Lane) -> Until,
        subject: impl Fn(&Lane) -> Subject,
        mut ready: impl FnMut(&mut Lane) -> Option<T>,
    ) -> T {
        lane.flush();
        match ready(&mut lane) {
            Some(answer) => answer,
            None if self.is_threaded() => {
                let awaited = (&until as &dyn Fn(&Lane) -> Until, &subject as Describe<'_>);
                self.wait_with_others(lane, awaited, &mut ready, |lane, now, ready| {
                    lane.turn_until(now, ready)
                })
            }
            None => {
                let turn = Lane::turn_until;
                self.take_turns(Alone, (&mut lane, &subject), &mut ready, turn)
            }
        }
    }

    /// Takes turns until `ready` returns something, for threads that follow too if `role` is that
    /// of a leader.
    #[inline(never)]
    pub(crate) fn take_turns<R: Role, T, Ready: FnMut(&mut Lane) -> Option<T>>(
        &self,
        role: R,
        (lane, subject): (&mut Guard<'_, Lane>, &impl Fn(&Lane) -> Subject),
        ready: &mut Ready,
        turn: impl Fn(&mut Lane, Instant, &mut Ready) -> (Progress, Option<T>),
    ) -> T {
        let mut now = self.clock.now();
        let (mut begin, mut looks) = (None, 0_u32);
        let (mut wait, mut blockage) = (Wait::default(), Blockage::default());
        loop {
            if self.count_turn(lane) {
                // Each turn of a busy program may end early, with its awaited message.
                self.advance_if_due(lane);
            }
            let (progress, answer) = turn(lane, now, ready);
            if let Some(answer) = answer {
                self.end_wait(lane, wait, blockage);
                return answer;
            }
            let has_advanced = self.advance_if_due(lane);
            lane.leave_between_turns::<R>(progress, now);
            let worked = progress == Progress::Delivered || has_advanced;
            looks = looks.wrapping_add(1);
            if worked || looks.is_multiple_of(LOOKS_PER_TIME) {
                now = self.clock.now();
            }
            if worked {
                self.waits.end(&mut blockage);
                begin = None;
                wait.restart(&mut lane.history);
                continue;
            }
            let since = *begin.get_or_insert(now);
            let waited = now.since(since);
            if lane.delivery.taken.wants_room() {
                lane.consider_more(waited);
            }
            if waited >= LONG {
                self.note_blocked((lane, subject), &mut blockage, since);
            }
            match wait.next(&self.policy, &lane.history, waited) {
                // The system call is pause enough.
                Next::Nothing => {}
                _ if progress == Progress::Moved => {
                    self.waits.end(&mut blockage);
                    begin = None;
                    wait.restart(&mut lane.history);
                }
                Next::Yield => {
                    lane.unlocked(std::thread::yield_now);
                    let back = self.clock.now();
                    wait.note_yield(&self.policy, &mut lane.history, back.since(now));
                    now = back;
                }
                Next::Sleep => {
                    wait.note_sleep();
                    self.note_blocked((lane, subject), &mut blockage, since);
                    if let Some(answer) = self.sleep(&role, lane, (since, blockage), ready) {
                        self.end_wait(lane, wait, blockage);
                        return answer;
                    }
                    now = self.clock.now();
                }
            }
        }
    }

    #[inline(always)]
    fn end_wait(&self, lane: &mut Lane, wait: Wait, mut blockage: Blockage) {
        wait.end(&mut lane.history);
        self.waits.end(&mut blockage);
    }

    /// Counts a turn, so that the ticker stays away. Only the holder of the lane writes this count.
    /// Looks around now and then: most turns end early, with the awaited message, and a local peer
    /// that sends one message after the other would keep all others waiting. Returns true if it
    /// looked around.
    #[inline]
    pub(crate) fn count_turn(&self, lane: &mut Lane) -> bool {
        let turns = self.turns.load(Ordering::Relaxed) + 1;
        self.turns.store(turns, Ordering::Relaxed);
        let is_due = (turns as u32).is_multiple_of(TURNS_PER_LOOK_AROUND);
        if is_due {
            self.look_around(lane);
        }
        is_due
    }

    #[cold]
    fn look_around(&self, lane: &mut Lane) {
        lane.look_around(self.clock.now());
    }

    /// Takes one turn and returns what `look` returns: for the calls that test.
    #[inline]
    pub fn look<T>(&self, look: impl FnOnce(&mut Lane) -> T) -> T {
        let mut lane = self.lane.lock();
        self.count_turn(&mut lane);
        let now = self.clock.now();
        let worked = lane.turn(now) == Progress::Delivered;
        let worked = self.advance_if_due(&mut lane) || worked;
        if !worked && self.policy.spin.is_zero() && lane.history.is_tested_in_vain() {
            // A program that tests in a loop may keep the ranks that it waits for from their core.
            lane.unlocked(std::thread::yield_now);
        }
        look(&mut lane)
    }

    /// Delivers what has come, also from peers that never sent before. The number of turns has a
    /// limit, so that it ends.
    pub fn catch_up(&self) {
        let mut lane = self.lane.lock();
        // `begin_sleep` finds the peers that have sent for the first time.
        lane.begin_sleep();
        if !self.is_about_to_sleep() {
            lane.end_sleep();
        }
        for _ in 0..MOST_TURNS_TO_CATCH_UP {
            if lane.turn(self.clock.now()) != Progress::Delivered {
                break;
            }
        }
    }

    /// Returns true if a thread sleeps, or makes its last check before.
    pub(crate) fn is_about_to_sleep(&self) -> bool {
        self.sleepers.load(Ordering::SeqCst) > 0
    }

    /// Sleeps, unless there is something to do. First it makes the others wake it, and then checks
    /// once more. Nothing has happened since `since`.
    fn sleep<R: Role, T>(
        &self,
        role: &R,
        lane: &mut Guard<'_, Lane>,
        (since, blockage): (Instant, Blockage),
        ready: &mut impl FnMut(&mut Lane) -> Option<T>,
    ) -> Option<T> {
        let more_at = lane
            .delivery
            .taken
            .wants_room()
            .then(|| since.plus(LONG_WAIT));
        if R::LEADS {
            // This check sets it again: another thread may have set it last.
            lane.look_again_at = None;
            if let Some(answer) = ready(lane) {
                return Some(answer);
            }
        }
        let wake_at = earliest([lane.wake_at(), more_at, lane.look_again_at]);
        if wake_at == Some(Instant::ZERO) {
            // There is something to do already, but another rank may need this core first.
            lane.unlocked(std::thread::yield_now);
            return None;
        }
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let is_quiet = lane.begin_sleep();
        let answer = ready(lane);
        // A question that is opened later rings.
        let is_asked = self.waits.asks(blockage);
        if is_quiet && answer.is_none() && !is_asked && !self.has_due_tasks() {
            lane.delivery.counters.sleeps += 1;
            if R::LEADS {
                let awaits = role.awaits(lane);
                lane.begin_sleep_of_leader(awaits, wake_at);
            }
            lane.unlocked(|| self.doze(wake_at, &self.own_doorbell, None));
            if R::LEADS {
                lane.end_sleep_of_leader();
            }
        }
        if self.sleepers.fetch_sub(1, Ordering::SeqCst) == 1 {
            lane.end_sleep();
        }
        answer
    }

    /// Sleeps until a link has something, `doorbell` rings, the launcher `asks`, or `until`.
    #[expect(clippy::disallowed_methods, reason = "this file blocks")]
    pub(crate) fn doze(
        &self,
        until: Option<Instant>,
        doorbell: &OwnedFd,
        asks: Option<BorrowedFd<'_>>,
    ) -> Woken {
        let timeout = until.map(|until| {
            let left = until.since(self.clock.now());
            Timespec::try_from(left).unwrap_or(Timespec {
                tv_sec: 1,
                tv_nsec: 0,
            })
        });
        let watched = self.doorbells.iter().chain([doorbell]);
        let mut watched: Vec<_> = watched.map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        let own = watched.len() - 1;
        watched.extend(asks.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        // Interrupted by a signal: the caller looks again.
        let _ = poll(&mut watched, timeout.as_ref());
        let is_closed = |it: &PollFd<'_>| it.revents().contains(PollFlags::NVAL);
        if watched[..=own].iter().any(is_closed) {
            self.tell_closed();
        }
        let has_come = |it: &PollFd<'_>| !it.revents().is_empty();
        if has_come(&watched[own]) {
            let _ = rustix::io::read(doorbell.as_fd(), &mut [0; 8]);
        }
        Woken {
            has_question: watched.get(own + 1).is_some_and(has_come),
        }
    }

    /// Sleeps until the launcher `asks`, this process ends, or for `time`. Returns true if the
    /// launcher asks.
    #[expect(clippy::disallowed_methods, reason = "this file blocks")]
    pub(crate) fn await_question(&self, time: Duration, asks: Option<BorrowedFd<'_>>) -> bool {
        let mut watched = vec![PollFd::new(&self.end, PollFlags::IN)];
        watched.extend(asks.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        let timeout = Timespec::try_from(time).ok();
        let _ = poll(&mut watched, timeout.as_ref());
        let is_readable = |it: &PollFd<'_>| !it.revents().is_empty();
        watched.get(1).is_some_and(is_readable)
    }

    /// Reports, once, that the program has closed descriptors that threads sleep on. The peers
    /// notice by themselves that this process answers no more.
    #[cold]
    fn tell_closed(&self) {
        self.closed.call_once(|| {
            eprintln!(
                "mpi-lite (pid {}): the program has closed file descriptors of MPI, so it can \
                 send and receive no more messages; close only descriptors that the program opened",
                std::process::id()
            );
        });
    }

    /// Wakes all sleepers, if there are any.
    pub(crate) fn ring(&self) {
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            let _ = rustix::io::write(self.own_doorbell.as_fd(), &1u64.to_ne_bytes());
        }
    }
}
