//! How long who waits keeps its core, offers it to others, and stays awake; and what it learns from
//! its waits.
//!
//! Who offers its core and has it back soon shares it with ranks that wait as well: nobody sleeps,
//! so nobody has to be woken, and an idle core is never the answer to a message. Who has it back
//! late shares it with somebody who computes: the system gives that one a whole slice of time for
//! each offer, while a sleeper that is woken has the core at once. So the length of an offer says
//! whether to sleep.
//!
//! With a core for each rank, one whose offers are late may share a core with the very rank it
//! waits for while another core is idle. The system moves one of two to an idle core only if both
//! want to run: if one sleeps, each message wakes it beside its sender again. So it sleeps only if
//! its offers stay late for longer than the system takes to move one.

use std::time::Duration;

/// How long a waiting thread stays awake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Time to spin, before it sleeps.
    pub spin: Duration,
    /// Time of that in which it keeps its core; from then on it offers it to others at each turn.
    pub hold: Duration,
    /// An offer after which one has the core back later than this is late.
    pub lend: Duration,
    /// Who loses so much by late offers, without one that is not late between them, sleeps.
    pub balance: Duration,
    /// So many waits sleep at once after that, before one tries again.
    pub sleeping_waits: u32,
}

/// A round of all who wait on a core takes less than this for each of them (to be switched to, to
/// take a turn, to offer the core again: some 3 us), and less than the next for a few. Who computes
/// has the core for as long as the system gives it at a time: 1.4 to 3 ms.
const TURN_OF_A_WAITER: Duration = Duration::from_micros(20);
const ROUND_OF_WAITERS: Duration = Duration::from_millis(1);

/// The system looks for idle cores at each of its ticks, every 1 to 10 ms.
const BALANCE: Duration = Duration::from_millis(10);

/// Ranks on each core, rounded up.
pub(super) fn sharers(local: usize, cores: usize) -> u32 {
    u32::try_from(local.div_ceil(cores.max(1))).unwrap_or(u32::MAX)
}

impl Patience {
    /// Whoever waits keeps its core for ever.
    pub const SPINNING: Self = Self {
        spin: Duration::MAX,
        hold: Duration::MAX,
        lend: Duration::MAX,
        balance: Duration::MAX,
        sleeping_waits: 0,
    };

    /// Whoever waits offers its core at each look.
    pub const YIELDING: Self = Self {
        spin: Duration::MAX,
        hold: Duration::ZERO,
        lend: Duration::MAX,
        balance: Duration::MAX,
        sleeping_waits: 0,
    };

    /// Whoever waits sleeps at once.
    pub const BLOCKING: Self = Self {
        spin: Duration::ZERO,
        hold: Duration::ZERO,
        lend: Duration::ZERO,
        balance: Duration::ZERO,
        sleeping_waits: 0,
    };

    /// The policy for `local` ranks on `cores` cores: with a core each, spinning disturbs nobody;
    /// otherwise whoever we wait for needs our core.
    #[must_use]
    pub fn of(local: usize, cores: usize) -> Self {
        let is_crowded = local > cores;
        let sharers = sharers(local, cores);
        Self {
            // A blocked rank is to be quiet after its first millisecond.
            spin: Duration::from_millis(1),
            // And cores are never quite ours: two ranks that happen to share one must not spin
            // against each other.
            hold: if is_crowded {
                Duration::ZERO
            } else {
                Duration::from_micros(20)
            },
            lend: TURN_OF_A_WAITER
                .saturating_mul(sharers)
                .max(ROUND_OF_WAITERS),
            balance: if is_crowded { Duration::ZERO } else { BALANCE },
            // To try again costs one late offer, or as many as fill `BALANCE`.
            sleeping_waits: if is_crowded { 16 } else { 1024 },
        }
    }
}

/// After a wait in which offering the core helped, so many do it at once, before one tries again
/// whether keeping it is better.
const YIELDING_WAITS: u32 = 32;

/// So many tests in vain are followed by an offer of the core, where ranks share cores.
const VAIN_TESTS: u32 = 8;

/// What a rank has learnt of its core.
#[derive(Debug, Default)]
pub(super) struct Habit {
    /// So many waits from now on offer the core at once.
    yielding_waits: u32,
    /// So many do not even do that.
    sleeping_waits: u32,
    /// Lost by late offers since the last one that was not late.
    late: Duration,
    /// Tests without success since one offered the core.
    vain_tests: u32,
}

impl Habit {
    /// Whether the program has tested so often without success that it is waiting.
    pub(super) fn is_tested_in_vain(&mut self) -> bool {
        self.vain_tests = (self.vain_tests + 1) % VAIN_TESTS;
        self.vain_tests == 0
    }
}

/// What to do before the next look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Nothing,
    Offer,
    Sleep,
}

/// One wait.
#[derive(Debug, Default)]
pub(super) struct Wait {
    has_offered: bool,
    has_slept: bool,
}

impl Wait {
    /// What to do now, when nothing has happened for `waited`.
    #[inline]
    pub(super) fn next(&self, patience: &Patience, habit: &Habit, waited: Duration) -> Next {
        if waited < patience.hold && habit.yielding_waits == 0 {
            return Next::Nothing;
        }
        if waited < patience.spin && habit.sleeping_waits == 0 {
            return Next::Offer;
        }
        Next::Sleep
    }

    /// The core was offered; `away` is how long others had it.
    pub(super) fn note_offer(&mut self, patience: &Patience, habit: &mut Habit, away: Duration) {
        self.has_offered = true;
        if away < patience.lend {
            habit.late = Duration::ZERO;
            return;
        }
        habit.late = habit.late.saturating_add(away);
        if habit.late >= patience.balance {
            habit.late = Duration::ZERO;
            habit.sleeping_waits = patience.sleeping_waits;
        }
    }

    pub(super) fn note_sleep(&mut self) {
        self.has_slept = true;
    }

    /// Something has happened, but not all that is waited for: the next wait begins. If nothing
    /// was done in this one it was none.
    #[inline]
    pub(super) fn restart(&mut self, habit: &mut Habit) {
        if self.has_offered || self.has_slept {
            core::mem::take(self).end(habit);
        }
    }

    /// It is over. If only after the core was offered to others, whom we wait for may need it: the
    /// next waits do not keep it either.
    #[inline]
    pub(super) fn end(self, habit: &mut Habit) {
        habit.yielding_waits = match (habit.yielding_waits, self.has_offered) {
            (0, true) => YIELDING_WAITS,
            (waits, _) => waits.saturating_sub(1),
        };
        if self.has_slept {
            habit.sleeping_waits = habit.sleeping_waits.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_micros(5);
    const LONG: Duration = Duration::from_millis(3);

    fn next(patience: &Patience, habit: &Habit, waited: Duration) -> Next {
        Wait::default().next(patience, habit, waited)
    }

    /// Waits that sleep at once, until one does not.
    fn sleeping_waits(patience: &Patience, habit: &mut Habit) -> u32 {
        let mut waits = 0;
        while next(patience, habit, LONG / 10) == Next::Sleep {
            let mut wait = Wait::default();
            wait.note_sleep();
            wait.end(habit);
            waits += 1;
        }
        waits
    }

    #[test]
    fn who_has_no_core_of_its_own_does_not_keep_it() {
        let habit = Habit::default();
        let (crowded, alone) = (Patience::of(3, 2), Patience::of(2, 2));
        assert_eq!(next(&crowded, &habit, Duration::ZERO), Next::Offer);
        assert_eq!(next(&alone, &habit, Duration::ZERO), Next::Nothing);
    }

    #[test]
    fn whoever_waits_for_long_sleeps() {
        let habit = Habit::default();
        for ranks in 1..100 {
            assert_eq!(next(&Patience::of(ranks, 2), &habit, LONG), Next::Sleep);
        }
    }

    #[test]
    fn who_shares_a_core_with_others_that_wait_offers_it_until_the_time_is_over() {
        let (patience, mut habit) = (Patience::of(5, 2), Habit::default());
        let mut wait = Wait::default();
        for _ in 0..100 {
            assert_eq!(wait.next(&patience, &habit, SHORT), Next::Offer);
            wait.note_offer(&patience, &mut habit, SHORT);
        }
    }

    #[test]
    fn where_ranks_share_cores_one_late_offer_makes_a_few_waits_sleep() {
        let (patience, mut habit) = (Patience::of(5, 2), Habit::default());
        let mut wait = Wait::default();
        wait.note_offer(&patience, &mut habit, LONG);
        assert_eq!(wait.next(&patience, &habit, SHORT), Next::Sleep);
        wait.note_sleep();
        wait.end(&mut habit);
        assert_eq!(
            1 + sleeping_waits(&patience, &mut habit),
            patience.sleeping_waits
        );
        assert_eq!(next(&patience, &habit, Duration::ZERO), Next::Offer);
    }

    #[test]
    fn with_a_core_for_each_rank_a_few_late_offers_make_nobody_sleep() {
        let (patience, mut habit) = (Patience::of(2, 2), Habit::default());
        for away in [LONG, LONG, SHORT, LONG, LONG] {
            let mut wait = Wait::default();
            wait.note_offer(&patience, &mut habit, away);
            assert_eq!(wait.next(&patience, &habit, LONG / 10), Next::Offer);
            wait.end(&mut habit);
        }
    }

    #[test]
    fn with_a_core_for_each_rank_who_never_has_it_back_in_time_sleeps_and_tries_again_later() {
        let (patience, mut habit) = (Patience::of(2, 2), Habit::default());
        for _ in 0..2 {
            let mut lost = Duration::ZERO;
            while next(&patience, &habit, LONG / 10) == Next::Offer {
                let mut wait = Wait::default();
                wait.note_offer(&patience, &mut habit, LONG);
                wait.end(&mut habit);
                lost += LONG;
            }
            assert!(
                (patience.balance..patience.balance + LONG).contains(&lost),
                "{lost:?}"
            );
            assert_eq!(
                sleeping_waits(&patience, &mut habit),
                patience.sleeping_waits
            );
        }
    }

    #[test]
    fn a_wait_for_many_messages_tries_again_as_soon_as_many_waits_for_one() {
        let (patience, mut habit) = (Patience::of(5, 2), Habit::default());
        let mut wait = Wait::default();
        wait.note_offer(&patience, &mut habit, LONG);
        wait.restart(&mut habit);
        for _ in 0..patience.sleeping_waits {
            assert_eq!(wait.next(&patience, &habit, LONG / 10), Next::Sleep);
            wait.note_sleep();
            wait.restart(&mut habit);
        }
        assert_eq!(wait.next(&patience, &habit, LONG / 10), Next::Offer);
    }

    #[test]
    fn after_an_offer_that_helped_cores_are_offered_at_once() {
        let (patience, mut habit) = (Patience::of(2, 2), Habit::default());
        let mut wait = Wait::default();
        wait.note_offer(&patience, &mut habit, SHORT);
        wait.end(&mut habit);
        assert_eq!(next(&patience, &habit, Duration::ZERO), Next::Offer);
    }

    #[test]
    fn who_was_told_how_to_wait_does_so_whatever_others_do() {
        for (patience, expected) in [
            (Patience::SPINNING, Next::Nothing),
            (Patience::YIELDING, Next::Offer),
            (Patience::BLOCKING, Next::Sleep),
        ] {
            let (mut habit, mut wait) = (Habit::default(), Wait::default());
            wait.note_offer(&patience, &mut habit, LONG);
            assert_eq!(wait.next(&patience, &habit, LONG), expected);
            wait.end(&mut habit);
        }
    }
}
