//! The steps of a wait. It blocks in `doorbells`; threads that follow a leader block in `lead`.
//!
//! A waiting thread takes turns itself. It spins for a while, because an answer within microseconds
//! is the common case and waking a sleeping process costs ten times as much. Then it yields its
//! core to others. Then it sleeps on the links' descriptors until something arrives or a deadline
//! of the protocol is due. `wait_policy` decides how long it does each.

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::{Clock, Instant};
use crate::engine::inbox::LONG_WAIT;
use crate::engine::lane::Lane;
use crate::engine::report::Description;
use crate::engine::report::{Blockage, Describe, LONG, Subject, Waits};
use crate::engine::requests::{Completion, Request};
use crate::engine::tasks::{TaskId, Tasks};
use crate::engine::waiting::doorbells::{Doorbells, Sleeper};
use crate::engine::waiting::lock::Guard;
use crate::engine::waiting::policy::{Next, Wait, WaitPolicy};
use crate::engine::waiting::stillness::Stillness;
use crate::engine::waiting::waiters::{Shared as _, Until};
use crate::error::Result;
use crate::transport::Progress;

/// How often a spinning thread looks before it reads the clock again. To read the clock takes about
/// a tenth as long as a look.
const LOOKS_PER_TIME: u32 = 8;

/// A thread looks around after this many turns, since most may have been cut short. A prime, so
/// that it does not always fall on one place of a program.
const TURNS_PER_LOOK_AROUND: u32 = 61;

/// The most turns of [`Waiting::catch_up`]: enough for the rings of a thousand local peers.
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

/// How the threads of a process wait for its lane, and what they serve meanwhile: tasks, and the
/// questions of the launcher.
#[derive(Debug)]
pub(crate) struct Waiting {
    clock: Clock,
    policy: WaitPolicy,
    doorbells: Doorbells,
    /// Several threads of the program may be inside at once: see `lead`.
    is_threaded: AtomicBool,
    sleepers: AtomicU32,
    /// Turns taken by the program's threads.
    turns: AtomicU64,
    tasks: Tasks,
    waits: Waits,
    stillness: Stillness,
}

impl Waiting {
    pub(crate) fn new(
        doorbells: Doorbells,
        (clock, policy): (Clock, WaitPolicy),
        tasks: Tasks,
    ) -> Self {
        Self {
            clock,
            policy,
            doorbells,
            is_threaded: AtomicBool::new(false),
            sleepers: AtomicU32::new(0),
            turns: AtomicU64::new(0),
            tasks,
            waits: Waits::default(),
            stillness: Stillness::default(),
        }
    }

    pub(crate) fn stillness(&self) -> &Stillness {
        &self.stillness
    }

    #[inline]
    pub(crate) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Returns true if a waiter keeps its core for a while before it yields.
    #[inline]
    pub(crate) fn spins(&self) -> bool {
        !self.policy.spin.is_zero()
    }

    /// Takes in more if a call has waited for long in vain while a message was not taken in.
    #[cold]
    #[inline(never)]
    fn consider_more(&self, lane: &mut Lane, waited: Duration) {
        if waited >= LONG_WAIT {
            lane.take_in_more();
        }
    }

    #[inline(always)]
    pub(crate) fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    #[inline(always)]
    pub(crate) fn waits(&self) -> &Waits {
        &self.waits
    }

    pub(crate) fn doorbells(&self) -> &Doorbells {
        &self.doorbells
    }

    /// Turns taken by the program's threads.
    pub(crate) fn turns(&self) -> u64 {
        self.turns.load(Ordering::Relaxed)
    }

    /// Returns true if several threads may be inside at once.
    #[inline(always)]
    pub(crate) fn is_threaded(&self) -> bool {
        self.is_threaded.load(Ordering::Relaxed)
    }

    /// Allows several threads inside at once. The lane must be shared already.
    pub(crate) fn allow_threads(&self) {
        self.is_threaded.store(true, Ordering::Relaxed);
    }

    /// Takes turns until `ready` returns something. `until` is what is waited for, for the case
    /// that several threads wait; `subject` says it for the report of a job that hangs.
    #[inline(always)]
    pub(crate) fn wait_whole<T>(
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
                    lane.turn_whole(now, ready)
                })
            }
            None => {
                let turn = Lane::turn_whole;
                self.take_turns(Alone, (&mut lane, &subject), &mut ready, turn)
            }
        }
    }

    /// Waits for one request.
    #[inline(always)]
    pub(crate) fn wait_with(
        &self,
        lane: Guard<'_, Lane>,
        request: Option<Request>,
    ) -> Result<Completion> {
        let until = request.map_or(Until::Change, |request| Until::Finished(request.0));
        let subject = |_: &Lane| Subject::one(request);
        let take = |lane: &mut Lane| lane.take(request).transpose();
        self.wait_in(lane, |_| until, subject, take)
    }

    /// Takes turns until `ready` returns something. `ready` is called whenever an operation has
    /// finished, and must be quick; the turn ends as soon as it returns something. `until` is what
    /// is waited for, for the case that several threads wait; `subject` says it for the report of a
    /// job that hangs.
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
        let mut now = self.now();
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
                now = self.now();
            }
            if worked {
                self.waits.end(&mut blockage);
                begin = None;
                wait.restart(lane.history());
                continue;
            }
            let since = *begin.get_or_insert(now);
            let waited = now.since(since);
            if lane.view().wants_room() {
                self.consider_more(lane, waited);
            }
            if waited >= LONG {
                self.note_blocked((lane, subject), &mut blockage, since);
            }
            match wait.next(&self.policy, lane.history(), waited) {
                // The system call is pause enough.
                Next::Nothing => {}
                _ if progress == Progress::Moved => {
                    self.waits.end(&mut blockage);
                    begin = None;
                    wait.restart(lane.history());
                }
                Next::Yield => {
                    lane.unlocked(std::thread::yield_now);
                    let back = self.now();
                    wait.note_yield(&self.policy, lane.history(), back.since(now));
                    now = back;
                }
                Next::Sleep => {
                    wait.note_sleep();
                    self.note_blocked((lane, subject), &mut blockage, since);
                    if let Some(answer) = self.sleep(&role, lane, (since, blockage), ready) {
                        self.end_wait(lane, wait, blockage);
                        return answer;
                    }
                    now = self.now();
                }
            }
        }
    }

    #[inline(always)]
    fn end_wait(&self, lane: &mut Lane, wait: Wait, mut blockage: Blockage) {
        wait.end(lane.history());
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
        lane.look_around(self.now());
    }

    /// Takes one turn and returns what `look` returns: for the calls that test.
    #[inline]
    pub(crate) fn look<T>(
        &self,
        mut lane: Guard<'_, Lane>,
        look: impl FnOnce(&mut Lane) -> T,
    ) -> T {
        self.count_turn(&mut lane);
        let now = self.now();
        let worked = lane.turn(now) == Progress::Delivered;
        let worked = self.advance_if_due(&mut lane) || worked;
        if !worked && !self.spins() && lane.history().is_tested_in_vain() {
            // A program that tests in a loop may keep the ranks that it waits for from their core.
            lane.unlocked(std::thread::yield_now);
        }
        look(&mut lane)
    }

    /// Delivers what has come, also from peers that never sent before. The number of turns has a
    /// limit, so that it ends.
    pub(crate) fn catch_up(&self, lane: &mut Lane) {
        // `begin_sleep` finds the peers that have sent for the first time.
        lane.begin_sleep();
        if !self.is_about_to_sleep() {
            lane.end_sleep();
        }
        for _ in 0..MOST_TURNS_TO_CATCH_UP {
            if lane.turn(self.now()) != Progress::Delivered {
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
        let more_at = lane.view().wants_room().then(|| since.plus(LONG_WAIT));
        if R::LEADS {
            // This check sets it again: another thread may have set it last.
            lane.waiters().look_again(None);
            if let Some(answer) = ready(lane) {
                return Some(answer);
            }
        }
        let look_again_at = lane.waiters().look_again_at();
        let wake_at = earliest([lane.links().wake_at(), more_at, look_again_at]);
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
        if is_quiet && answer.is_none() && !is_asked && !self.tasks.look_again() {
            lane.waiters().note_sleep();
            if R::LEADS {
                let awaits = role.awaits(lane);
                let wants_room = lane.view().wants_room();
                lane.waiters().begin_sleep(awaits, wake_at, wants_room);
            }
            lane.unlocked(|| self.doze(wake_at, Sleeper::Program, None));
            if R::LEADS {
                lane.waiters().end_sleep();
            }
        }
        if self.sleepers.fetch_sub(1, Ordering::SeqCst) == 1 {
            lane.end_sleep();
        }
        answer
    }

    /// Sleeps until a link has something, the doorbell of `sleeper` rings, the launcher `asks`, or
    /// `until`. Returns true if the launcher asks.
    pub(crate) fn doze(
        &self,
        until: Option<Instant>,
        sleeper: Sleeper,
        asks: Option<BorrowedFd<'_>>,
    ) -> bool {
        let time = until.map(|until| until.since(self.now()));
        self.doorbells.doze(time, sleeper, asks)
    }

    /// Wakes all sleepers, if there are any.
    pub(crate) fn ring(&self) {
        if self.is_about_to_sleep() {
            self.doorbells.ring(Sleeper::Program);
        }
    }

    /// The call of this task has returned on another thread.
    pub(crate) fn note_called(&self, task: TaskId) {
        self.tasks.note_called(task);
        self.ring();
    }

    /// Lets the tasks go on that can; costs a few instructions if none can. Returns true if any has
    /// gone on. The lane is left to others meanwhile.
    #[inline(always)]
    pub(crate) fn advance_if_due(&self, lane: &mut Guard<'_, Lane>) -> bool {
        self.tasks.is_due(lane) && self.advance(lane)
    }

    #[cold]
    pub(crate) fn advance(&self, lane: &mut Guard<'_, Lane>) -> bool {
        let has_advanced = self.tasks.advance(lane);
        if has_advanced {
            // A request that another thread waits for may have finished.
            self.ring();
        }
        has_advanced
    }

    /// Lets the tasks go on for the ticker, which visits the lane by `visit`. Returns true if it
    /// has polled any.
    pub(crate) fn advance_as_ticker<'a>(
        &self,
        lane: Guard<'a, Lane>,
        visit: impl Fn() -> Option<Guard<'a, Lane>>,
    ) -> bool {
        let has_polled = self.tasks.advance_as_ticker(lane, visit);
        if has_polled.is_some() {
            self.ring();
        }
        has_polled == Some(true)
    }

    /// Notes that nothing has come for the thread that takes turns since then, which is so long
    /// ago. Describes its wait if a question is open that it has not answered.
    #[cold]
    fn note_blocked(
        &self,
        (lane, subject): (&Lane, Describe<'_>),
        blockage: &mut Blockage,
        since: Instant,
    ) {
        self.waits.begin(blockage, since);
        self.describe_if_asked((lane, subject), blockage, since);
    }

    /// Describes the wait of this thread, which began then, if a question is open that it has not
    /// answered.
    pub(crate) fn describe_if_asked(
        &self,
        (lane, subject): (&Lane, Describe<'_>),
        blockage: &mut Blockage,
        since: Instant,
    ) {
        if self.waits.asks(*blockage) {
            // Not the time of the turn: the ticker may have read the clock after that.
            let blocked = self.now().since(since);
            self.describe(lane).answer(subject, blocked);
            self.waits.note_answer(blockage);
        }
    }

    /// What there is to say of `lane`, this one.
    pub(crate) fn describe<'a>(&'a self, lane: &'a Lane) -> Description<'a> {
        Description::new(lane, &self.waits, &self.tasks)
    }
}
