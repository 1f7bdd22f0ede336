//! How long a waiter spins, yields its core and stays awake, and the history of a rank's waits.
//!
//! A waiter that yields and soon has its core back shares it with ranks that wait as well: nobody
//! sleeps, so nobody has to be woken, and no message finds an idle core. If it has the core back
//! late, it shares it with a process that computes: the system gives that one a whole time slice
//! for each yield, while a sleeper that is woken has the core at once. So the length of a yield
//! decides whether to sleep.
//!
//! With a core for each rank, a rank whose yields are late may share a core with the very rank it
//! waits for while another core is idle. The system moves one of two to an idle core only if both
//! want to run: if one sleeps, each message wakes it beside its sender again. So it sleeps only if
//! its yields stay late for longer than the system takes to move one.

use std::time::Duration;

/// How long a waiting thread stays awake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitPolicy {
    /// Time for which it stays awake, before it sleeps.
    pub awake: Duration,
    /// The part of that time in which it spins on its core. Then it yields between two looks.
    pub spin: Duration,
    /// A yield after which the waiter has its core back later than this is late.
    pub late_yield: Duration,
    /// A waiter that loses this much by late yields, with none in time between them, sleeps.
    pub balance: Duration,
    /// How many waits after that sleep at once, before one tries again.
    pub sleeping_waits: u32,
}

/// A round of all waiters on a core takes less than this for each of them (a switch, a turn, a
/// yield: some 3 us), and less than `ROUND_OF_WAITERS` for a few. A process that computes has the
/// core for a whole time slice: 1.4 to 3 ms.
const TURN_OF_A_WAITER: Duration = Duration::from_micros(20);
const ROUND_OF_WAITERS: Duration = Duration::from_millis(1);

/// A waiter with a core of its own outlasts a process that has the core of the awaited rank for a
/// time slice. If it slept, it would lose its own core to another process for as long.
const SEVERAL_TIME_SLICES: Duration = Duration::from_millis(10);

/// The system looks for idle cores at each of its ticks, every 1 to 10 ms.
const BALANCE: Duration = Duration::from_millis(10);

/// Ranks on each core, rounded up.
pub(crate) fn sharers(local: usize, cores: usize) -> u32 {
    u32::try_from(local.div_ceil(cores.max(1))).unwrap_or(u32::MAX)
}

/// How often a receive looks for its message before it becomes a request.
const LOOKS: u32 = 1000;

/// How often a receive looks for a message that may come from another node.
const LOOKS_BESIDE_A_NETWORK: u32 = 16;

impl WaitPolicy {
    /// How often a receive looks for its message before it becomes a request.
    pub(crate) fn looks(&self, may_come_from_afar: bool) -> u32 {
        match may_come_from_afar {
            _ if self.spin.is_zero() => 1,
            false => LOOKS,
            true => LOOKS_BESIDE_A_NETWORK,
        }
    }

    /// A waiter keeps its core for ever.
    pub const SPINNING: Self = Self {
        awake: Duration::MAX,
        spin: Duration::MAX,
        late_yield: Duration::MAX,
        balance: Duration::MAX,
        sleeping_waits: 0,
    };

    /// A waiter yields after each look.
    pub const YIELDING: Self = Self {
        awake: Duration::MAX,
        spin: Duration::ZERO,
        late_yield: Duration::MAX,
        balance: Duration::MAX,
        sleeping_waits: 0,
    };

    /// A waiter sleeps at once.
    pub const BLOCKING: Self = Self {
        awake: Duration::ZERO,
        spin: Duration::ZERO,
        late_yield: Duration::ZERO,
        balance: Duration::ZERO,
        sleeping_waits: 0,
    };

    /// The policy for `local` ranks on `cores` cores. With a core each, spinning disturbs nobody.
    /// Otherwise the awaited rank may need this core.
    #[must_use]
    pub fn of(local: usize, cores: usize) -> Self {
        let is_oversubscribed = local > cores;
        let sharers = sharers(local, cores);
        Self {
            awake: if is_oversubscribed {
                ROUND_OF_WAITERS
            } else {
                SEVERAL_TIME_SLICES
            },
            // Even then two ranks may happen to share a core: they must not spin against each
            // other.
            spin: if is_oversubscribed {
                Duration::ZERO
            } else {
                Duration::from_micros(20)
            },
            late_yield: TURN_OF_A_WAITER
                .saturating_mul(sharers)
                .max(ROUND_OF_WAITERS),
            balance: if is_oversubscribed {
                Duration::ZERO
            } else {
                BALANCE
            },
            // Another try costs one late yield, or as many as fill `BALANCE`.
            sleeping_waits: if is_oversubscribed { 16 } else { 1024 },
        }
    }
}

/// After a wait in which a yield helped, this many waits yield at once, before one tries again to
/// keep the core.
const YIELDING_WAITS: u32 = 32;

/// A yield follows this many tests in vain, if ranks share cores.
const VAIN_TESTS: u32 = 8;

/// What the waits of a rank have shown of its core.
#[derive(Debug, Default)]
pub(crate) struct WaitHistory {
    /// How many waits from now on yield at once.
    yielding_waits: u32,
    /// How many waits from now on sleep at once.
    sleeping_waits: u32,
    /// Time lost by late yields since the last one that was not late.
    late: Duration,
    /// Tests without success since the last yield.
    vain_tests: u32,
}

impl WaitHistory {
    /// Returns true if the program has tested so often without success that it is waiting.
    pub(crate) fn is_tested_in_vain(&mut self) -> bool {
        self.vain_tests = (self.vain_tests + 1) % VAIN_TESTS;
        self.vain_tests == 0
    }
}

/// What to do before the next look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Nothing,
    Yield,
    Sleep,
}

/// One wait.
#[derive(Debug, Default)]
pub(crate) struct Wait {
    has_yielded: bool,
    has_slept: bool,
}

impl Wait {
    /// Returns what to do now, if nothing has happened for `waited`.
    #[inline]
    pub(crate) fn next(
        &self,
        policy: &WaitPolicy,
        history: &WaitHistory,
        waited: Duration,
    ) -> Next {
        if waited < policy.spin && history.yielding_waits == 0 {
            return Next::Nothing;
        }
        if waited < policy.awake && history.sleeping_waits == 0 {
            return Next::Yield;
        }
        Next::Sleep
    }

    /// Notes a yield; `away` is how long others had the core.
    pub(crate) fn note_yield(
        &mut self,
        policy: &WaitPolicy,
        history: &mut WaitHistory,
        away: Duration,
    ) {
        self.has_yielded = true;
        if away < policy.late_yield {
            history.late = Duration::ZERO;
            return;
        }
        history.late = history.late.saturating_add(away);
        if history.late >= policy.balance {
            history.late = Duration::ZERO;
            history.sleeping_waits = policy.sleeping_waits;
        }
    }

    pub(crate) fn note_sleep(&mut self) {
        self.has_slept = true;
    }

    /// Begins the next wait, since a part of what is waited for has happened. A wait that neither
    /// yielded nor slept does not count.
    #[inline]
    pub(crate) fn restart(&mut self, history: &mut WaitHistory) {
        if self.has_yielded || self.has_slept {
            core::mem::take(self).end(history);
        }
    }

    /// Ends the wait. If it took a yield, the awaited rank may need this core: the next waits do
    /// not keep the core either.
    #[inline]
    pub(crate) fn end(self, history: &mut WaitHistory) {
        history.yielding_waits = match (history.yielding_waits, self.has_yielded) {
            (0, true) => YIELDING_WAITS,
            (waits, _) => waits.saturating_sub(1),
        };
        if self.has_slept {
            history.sleeping_waits = history.sleeping_waits.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_micros(5);
    const LONG: Duration = Duration::from_millis(3);

    fn next(policy: &WaitPolicy, history: &WaitHistory, waited: Duration) -> Next {
        Wait::default().next(policy, history, waited)
    }

    /// Waits that sleep at once, until one does not.
    fn sleeping_waits(policy: &WaitPolicy, history: &mut WaitHistory) -> u32 {
        let mut waits = 0;
        while next(policy, history, LONG / 10) == Next::Sleep {
            let mut wait = Wait::default();
            wait.note_sleep();
            wait.end(history);
            waits += 1;
        }
        waits
    }

    #[test]
    fn a_waiter_without_a_core_of_its_own_yields_at_once() {
        let history = WaitHistory::default();
        let (oversubscribed, alone) = (WaitPolicy::of(3, 2), WaitPolicy::of(2, 2));
        assert_eq!(next(&oversubscribed, &history, Duration::ZERO), Next::Yield);
        assert_eq!(next(&alone, &history, Duration::ZERO), Next::Nothing);
    }

    #[test]
    fn a_long_wait_sleeps() {
        let history = WaitHistory::default();
        for ranks in 1..100 {
            let policy = WaitPolicy::of(ranks, 2);
            assert_eq!(next(&policy, &history, SEVERAL_TIME_SLICES), Next::Sleep);
        }
    }

    #[test]
    fn a_waiter_with_a_core_of_its_own_outlasts_a_time_slice_of_the_awaited_rank_s_core() {
        let (policy, history) = (WaitPolicy::of(2, 2), WaitHistory::default());
        let time_slice = Duration::from_millis(4);
        assert_eq!(next(&policy, &history, time_slice), Next::Yield);
    }

    #[test]
    fn a_waiter_that_shares_its_core_with_waiters_yields_until_the_time_is_over() {
        let (policy, mut history) = (WaitPolicy::of(5, 2), WaitHistory::default());
        let mut wait = Wait::default();
        for _ in 0..100 {
            assert_eq!(wait.next(&policy, &history, SHORT), Next::Yield);
            wait.note_yield(&policy, &mut history, SHORT);
        }
    }

    #[test]
    fn where_ranks_share_cores_one_late_yield_makes_a_few_waits_sleep() {
        let (policy, mut history) = (WaitPolicy::of(5, 2), WaitHistory::default());
        let mut wait = Wait::default();
        wait.note_yield(&policy, &mut history, LONG);
        assert_eq!(wait.next(&policy, &history, SHORT), Next::Sleep);
        wait.note_sleep();
        wait.end(&mut history);
        assert_eq!(
            1 + sleeping_waits(&policy, &mut history),
            policy.sleeping_waits
        );
        assert_eq!(next(&policy, &history, Duration::ZERO), Next::Yield);
    }

    #[test]
    fn with_a_core_for_each_rank_a_few_late_yields_make_nobody_sleep() {
        let (policy, mut history) = (WaitPolicy::of(2, 2), WaitHistory::default());
        for away in [LONG, LONG, SHORT, LONG, LONG] {
            let mut wait = Wait::default();
            wait.note_yield(&policy, &mut history, away);
            assert_eq!(wait.next(&policy, &history, LONG / 10), Next::Yield);
            wait.end(&mut history);
        }
    }

    #[test]
    fn with_a_core_for_each_rank_late_yields_make_a_waiter_sleep_and_try_again_later() {
        let (policy, mut history) = (WaitPolicy::of(2, 2), WaitHistory::default());
        for _ in 0..2 {
            let mut lost = Duration::ZERO;
            while next(&policy, &history, LONG / 10) == Next::Yield {
                let mut wait = Wait::default();
                wait.note_yield(&policy, &mut history, LONG);
                wait.end(&mut history);
                lost += LONG;
            }
            assert!(
                (policy.balance..policy.balance + LONG).contains(&lost),
                "{lost:?}"
            );
            assert_eq!(sleeping_waits(&policy, &mut history), policy.sleeping_waits);
        }
    }

    #[test]
    fn a_wait_for_many_messages_tries_again_as_soon_as_many_waits_for_one() {
        let (policy, mut history) = (WaitPolicy::of(5, 2), WaitHistory::default());
        let mut wait = Wait::default();
        wait.note_yield(&policy, &mut history, LONG);
        wait.restart(&mut history);
        for _ in 0..policy.sleeping_waits {
            assert_eq!(wait.next(&policy, &history, LONG / 10), Next::Sleep);
            wait.note_sleep();
            wait.restart(&mut history);
        }
        assert_eq!(wait.next(&policy, &history, LONG / 10), Next::Yield);
    }

    #[test]
    fn after_a_yield_that_helped_waits_yield_at_once() {
        let (policy, mut history) = (WaitPolicy::of(2, 2), WaitHistory::default());
        let mut wait = Wait::default();
        wait.note_yield(&policy, &mut history, SHORT);
        wait.end(&mut history);
        assert_eq!(next(&policy, &history, Duration::ZERO), Next::Yield);
    }

    #[test]
    fn a_fixed_wait_policy_ignores_late_yields() {
        for (policy, expected) in [
            (WaitPolicy::SPINNING, Next::Nothing),
            (WaitPolicy::YIELDING, Next::Yield),
            (WaitPolicy::BLOCKING, Next::Sleep),
        ] {
            let (mut history, mut wait) = (WaitHistory::default(), Wait::default());
            wait.note_yield(&policy, &mut history, LONG);
            assert_eq!(wait.next(&policy, &history, LONG), expected);
            wait.end(&mut history);
        }
    }
}
