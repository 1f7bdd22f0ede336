//! How a long message travels: copied across (`transfer`), or in pieces through the reply buffer.
//!
//! Which one takes less time depends on the processor, on where the two cores lie, and on what the
//! program does with its buffers. A copy across touches each byte once; but if the program changes
//! its buffers, the lines cross between the cores in both ways, and no table can know that. So the
//! receiver measures. For each class of lengths it tries both ways in turn, now and then, and takes
//! the cheaper one until the next trial. Messages of the two shortest classes need not be requested
//! if they come in pieces: the receiver stores in the channel for which of them it prefers a copy
//! across, and the sender announces those.
//!
//! Only messages that are under way alone are measured, from the time at which their place is
//! known to the time at which they are there. The least of a few measurements counts: others may
//! have waited for a busy core.

use crate::clock::Instant;

/// How a long message travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Both sides copy it from one memory to the other.
    Across,
    /// The sender writes it to shared memory in pieces.
    Pieces,
}

impl Way {
    fn other(self) -> Self {
        match self {
            Self::Across => Self::Pieces,
            Self::Pieces => Self::Across,
        }
    }
}

/// Messages of similar lengths.
#[derive(Debug)]
struct Class {
    /// Its longest messages.
    most: u64,
    /// The way before anything is measured.
    first: Way,
    /// What the program pays, in percent, when it uses a buffer again that was copied across: its
    /// lines are in both caches then.
    after_across: u64,
    /// Both sides copy a message of several that go across at once. If it is shorter, the receiver
    /// copies it alone: half of the lines would be written by one core and read by the other.
    is_shared: bool,
}

/// The classes, by length. Measured on two processors: see decision 0052.
const CLASSES: [Class; 8] = {
    const fn class(kib: u64, first: Way, after_across: u64, is_shared: bool) -> Class {
        let most = if kib == 0 { u64::MAX } else { kib << 10 };
        Class {
            most,
            first,
            after_across,
            is_shared,
        }
    }
    [
        class(32, Way::Pieces, 50, false),
        class(64, Way::Pieces, 70, false),
        class(128, Way::Pieces, 100, false),
        class(256, Way::Pieces, 100, false),
        class(512, Way::Pieces, 80, true),
        class(1024, Way::Across, 25, true),
        class(2048, Way::Across, 0, true),
        class(0, Way::Across, 0, true),
    ]
};

/// Classes whose messages go unasked if they go in pieces.
const EAGER_CLASSES: usize = 2;

/// A message of at most so many bytes belongs to no class: it always goes in pieces, or whole.
pub(super) const CHOICE_BYTES: usize = 16 << 10;

/// Messages of a class from one trial to the next, after a trial that has changed the way. Each
/// trial that confirms it doubles them: with buffers that change, a copy across may cost four times
/// what pieces cost, and one trial in 128 messages 10 % of all of them.
const PERIOD: u32 = 128;
const PERIOD_MOST: u32 = 1024;

/// Messages of a trial that go one way, and how many of them are not measured: the caches are as
/// the way before has left them.
const RUN: u32 = 4;
const UNMEASURED: u32 = 2;

/// Copies across in a row that take longer than pieces would, until the class goes in pieces again.
const SLOW_MOST: u32 = 4;

/// The class of a message of `bytes` bytes.
fn class_of(bytes: u64) -> usize {
    let place = CLASSES.iter().position(|class| bytes <= class.most);
    place.unwrap_or(CLASSES.len() - 1)
}

/// The bit of the class of a message of `bytes` bytes in what a receiver stores in the channel.
pub(super) fn bit_of(bytes: usize) -> u64 {
    1 << class_of(bytes as u64)
}

/// Returns true if both sides copy a message of `bytes` bytes, of several that go across at once.
pub(super) fn is_shared(bytes: usize) -> bool {
    CLASSES[class_of(bytes as u64)].is_shared
}

/// What is known of a class.
#[derive(Clone, Copy, Debug)]
struct Known {
    way: Way,
    /// Messages since the last trial began.
    count: u32,
    /// Messages from that trial to the next.
    period: u32,
    /// The least time of a message in this trial, in nanoseconds for each MiB.
    across: u64,
    pieces: u64,
    /// Copies across in a row that have taken longer than pieces would.
    slow: u32,
}

/// The choice for one channel, at its receiver.
#[derive(Debug)]
pub(super) struct Choice {
    classes: [Known; CLASSES.len()],
    /// Messages that were begun.
    begun: u64,
    /// Messages that are under way.
    under_way: u32,
    /// What the receiver has stored last: see `announced`.
    stored: u64,
}

/// A message that is measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    way: Way,
    begun: u64,
    is_alone: bool,
    since: Instant,
}

impl Class {
    /// What a copy across costs that takes so long.
    fn cost_across(&self, rate: u64) -> u64 {
        rate.saturating_mul(100 + self.after_across) / 100
    }
}

impl Default for Choice {
    fn default() -> Self {
        let classes = CLASSES.each_ref().map(|class| Known {
            way: class.first,
            count: 0,
            period: PERIOD / 2,
            across: u64::MAX,
            pieces: u64::MAX,
            slow: 0,
        });
        Self {
            classes,
            begun: 0,
            under_way: 0,
            stored: 0,
        }
    }
}

impl Choice {
    /// Begins a message of `bytes` bytes that was announced: the way that it takes.
    /// One of several goes across: the reply buffer serves one message at a time.
    pub(super) fn begin(&mut self, bytes: u64, now: Instant) -> (Way, Trial) {
        let is_alone = self.under_way == 0;
        let way = if is_alone {
            self.classes[class_of(bytes)].next()
        } else {
            Way::Across
        };
        self.begun += 1;
        self.under_way += 1;
        let trial = Trial {
            way,
            begun: self.begun,
            is_alone,
            since: now,
        };
        (way, trial)
    }

    /// Ends a message of `bytes` bytes.
    pub(super) fn end(&mut self, bytes: u64, trial: Trial, now: Instant) {
        self.under_way -= 1;
        let number = class_of(bytes);
        let known = &mut self.classes[number];
        if trial.is_alone && trial.begun == self.begun {
            let took = now.0.saturating_sub(trial.since.0);
            let rate = (u128::from(took) << 20) / u128::from(bytes.max(1));
            let rate = u64::try_from(rate).unwrap_or(u64::MAX);
            known.note(trial.way, rate, &CLASSES[number]);
        }
    }

    /// Counts a message of `bytes` bytes that came unasked.
    pub(super) fn count_eager(&mut self, bytes: u64) {
        let known = &mut self.classes[class_of(bytes)];
        if known.count >= 2 * RUN {
            known.count += 1;
        }
    }

    /// Counts a message of `bytes` bytes that was announced, but goes in pieces anyway: one side's
    /// memory has gaps. To announce such a message costs more than a slow copy across.
    pub(super) fn count_scattered(&mut self, bytes: u64) {
        self.begun += 1;
        let class = class_of(bytes);
        if class < EAGER_CLASSES {
            let known = &mut self.classes[class];
            let way = known.next();
            known.watch(way, u64::MAX);
        }
    }

    /// The classes of which the sender is to announce messages, a bit for each; `None` if they are
    /// the same as the last time.
    pub(super) fn new_announced(&mut self) -> Option<u64> {
        let bits = self.announced();
        (core::mem::replace(&mut self.stored, bits) != bits).then_some(bits)
    }

    fn announced(&self) -> u64 {
        let bits = (0..EAGER_CLASSES).filter(|&class| {
            let known = &self.classes[class];
            known.way == Way::Across || known.count < 2 * RUN || known.count >= known.period
        });
        bits.fold(0, |bits, class| bits | 1 << class)
    }
}

impl Known {
    /// The way of the next message. First comes a trial: a run of messages each way.
    fn next(&mut self) -> Way {
        if self.count >= self.period {
            (self.count, self.slow) = (0, 0);
            (self.across, self.pieces) = (u64::MAX, u64::MAX);
        }
        let count = self.count;
        self.count += 1;
        if (RUN..2 * RUN).contains(&count) {
            self.way.other()
        } else {
            self.way
        }
    }

    /// Notes how long the last message took.
    fn note(&mut self, way: Way, rate: u64, class: &Class) {
        if self.count > 2 * RUN {
            self.watch(way, class.cost_across(rate));
            return;
        }
        if (self.count - 1) % RUN >= UNMEASURED {
            let least = match way {
                Way::Across => &mut self.across,
                Way::Pieces => &mut self.pieces,
            };
            *least = rate.min(*least);
        }
        if self.count == 2 * RUN && self.across.max(self.pieces) < u64::MAX {
            let way = if class.cost_across(self.across) < self.pieces {
                Way::Across
            } else {
                Way::Pieces
            };
            self.period = if way == self.way {
                (2 * self.period).min(PERIOD_MOST)
            } else {
                PERIOD
            };
            self.way = way;
        }
    }

    /// Looks whether copies across still cost less than pieces: the program may use its buffers in
    /// another way than during the trial.
    fn watch(&mut self, way: Way, cost: u64) {
        let is_slow = way == Way::Across && cost >= self.pieces;
        self.slow = if is_slow { self.slow + 1 } else { 0 };
        if self.slow == SLOW_MOST {
            (self.way, self.period) = (Way::Pieces, PERIOD);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nanoseconds of a message, by way.
    type Cost = fn(Way) -> u64;

    /// A receiver of messages of `bytes` bytes, one after the other.
    struct Receiver {
        choice: Choice,
        bytes: u64,
        now: u64,
    }

    impl Receiver {
        fn new(bytes: u64) -> Self {
            Self {
                choice: Choice::default(),
                bytes,
                now: 0,
            }
        }

        fn receive(&mut self, cost: Cost) -> Way {
            let (way, trial) = self.choice.begin(self.bytes, Instant(self.now));
            self.now += cost(way);
            self.choice.end(self.bytes, trial, Instant(self.now));
            way
        }

        /// How many of `count` messages go across.
        fn across(&mut self, count: u32, cost: Cost) -> u32 {
            let is_across = |way| u32::from(way == Way::Across);
            (0..count).map(|_| is_across(self.receive(cost))).sum()
        }
    }

    const ACROSS_IS_CHEAP: Cost = |way| if way == Way::Across { 10_000 } else { 100_000 };
    const ACROSS_IS_DEAR: Cost = |way| if way == Way::Across { 99_000 } else { 100_000 };

    const LENGTHS: [u64; 8] = [
        20_000,
        65_536,
        70_000,
        262_144,
        300_000,
        1_000_000,
        2_000_000,
        1 << 26,
    ];

    #[test]
    fn each_class_takes_the_cheaper_way_and_tries_the_other_one_now_and_then() {
        for bytes in LENGTHS {
            let mut receiver = Receiver::new(bytes);
            receiver.across(2 * RUN, ACROSS_IS_CHEAP);
            let across = receiver.across(PERIOD - 2 * RUN, ACROSS_IS_CHEAP);
            assert_eq!(across, PERIOD - 2 * RUN, "{bytes} bytes");
            assert_eq!(receiver.across(2 * RUN, ACROSS_IS_CHEAP), RUN, "a trial");
        }
    }

    #[test]
    fn trials_that_confirm_the_way_become_rare_and_one_that_changes_it_makes_them_frequent() {
        // Trials in so many messages: each takes some the other way.
        let trials = |receiver: &mut Receiver, cost| receiver.across(8 * PERIOD_MOST, cost) / RUN;
        let mut receiver = Receiver::new(65_536);
        let first = trials(&mut receiver, ACROSS_IS_DEAR);
        let later = trials(&mut receiver, ACROSS_IS_DEAR);
        assert!(
            (7..=9).contains(&later) && first > later,
            "{first}, {later}"
        );
        while receiver.receive(ACROSS_IS_CHEAP) != Way::Across {}
        receiver.across(2 * RUN, ACROSS_IS_CHEAP);
        let across = receiver.across(PERIOD - 3 * RUN, ACROSS_IS_CHEAP);
        assert_eq!(across, PERIOD - 3 * RUN);
        assert_eq!(receiver.choice.classes[class_of(65_536)].period, PERIOD);
    }

    #[test]
    fn a_copy_across_that_saves_little_is_dear_for_a_buffer_that_is_changed() {
        let mut receiver = Receiver::new(65_536);
        receiver.across(2 * RUN, ACROSS_IS_DEAR);
        assert_eq!(receiver.across(PERIOD - 2 * RUN, ACROSS_IS_DEAR), 0);
        // Nothing is gained by pieces that are longer than caches.
        let mut receiver = Receiver::new(8 << 20);
        receiver.across(2 * RUN, ACROSS_IS_DEAR);
        assert_eq!(receiver.across(10, ACROSS_IS_DEAR), 10);
    }

    #[test]
    fn copies_across_end_soon_when_they_become_dear() {
        let mut receiver = Receiver::new(65_536);
        receiver.across(2 * RUN + 10, ACROSS_IS_CHEAP);
        assert_eq!(receiver.across(20, ACROSS_IS_DEAR), SLOW_MOST);
    }

    #[test]
    fn a_single_message_that_waits_for_a_core_changes_nothing() {
        let mut receiver = Receiver::new(65_536);
        receiver.across(2 * RUN + 10, ACROSS_IS_CHEAP);
        receiver.receive(|_| 1_000_000_000);
        assert_eq!(receiver.across(10, ACROSS_IS_CHEAP), 10);
    }

    #[test]
    fn of_several_messages_at_once_all_but_the_first_go_across_and_none_is_measured() {
        let mut choice = Choice::default();
        for round in 0..100 {
            let now = Instant(round * 1000);
            let trials: Vec<_> = (0..5).map(|_| choice.begin(65_536, now)).collect();
            let ways: Vec<Way> = trials.iter().map(|&(way, _)| way).collect();
            assert_eq!(ways[1..], [Way::Across; 4]);
            for (_, trial) in trials {
                choice.end(65_536, trial, Instant(round * 1000 + 1));
            }
        }
        let known = choice.classes[class_of(65_536)];
        assert_eq!((known.across, known.pieces), (u64::MAX, u64::MAX));
    }

    #[test]
    fn short_classes_are_announced_in_trials_and_while_copies_across_are_cheaper() {
        let mut receiver = Receiver::new(65_536);
        let bit = bit_of(65_536);
        let announced = |receiver: &Receiver| receiver.choice.announced() & bit != 0;
        assert!(announced(&receiver));
        receiver.across(2 * RUN, ACROSS_IS_DEAR);
        assert!(!announced(&receiver));
        for _ in 2 * RUN..PERIOD {
            assert!(!announced(&receiver));
            receiver.choice.count_eager(65_536);
        }
        assert!(announced(&receiver), "the next trial");
        receiver.across(2 * RUN + 1, ACROSS_IS_CHEAP);
        assert!(announced(&receiver));
        assert_eq!(bit_of(1 << 20) & receiver.choice.announced(), 0);
    }

    const BYTES: u64 = CLASSES[0].most;

    fn is_announced(choice: &Choice) -> bool {
        choice.announced() & bit_of(BYTES as usize) != 0
    }

    /// Passes `count` messages that were announced; a copy across takes `across`. Returns the ways
    /// that they went.
    fn pass(choice: &mut Choice, count: u32, across: u64) -> Vec<Way> {
        let one = |_| {
            let (way, trial) = choice.begin(BYTES, Instant(0));
            let took = if way == Way::Across { across } else { 1000 };
            choice.end(BYTES, trial, Instant(took));
            way
        };
        (0..count).map(one).collect()
    }

    /// A choice that has measured that copies across are cheap.
    fn choice_across() -> Choice {
        let mut choice = Choice::default();
        let _ = pass(&mut choice, 2 * RUN, 10);
        assert_eq!(pass(&mut choice, 1, 10), [Way::Across]);
        choice
    }

    #[test]
    fn a_few_slow_copies_across_end_them_in_each_period() {
        let mut choice = Choice::default();
        for period in 0..3 {
            let _ = pass(&mut choice, 2 * RUN, 10);
            let ways = pass(&mut choice, SLOW_MOST, 100_000);
            assert!(ways.iter().all(|&way| way == Way::Across), "{ways:?}");
            assert!(!is_announced(&choice), "period {period}");
            while !is_announced(&choice) {
                choice.count_eager(BYTES);
            }
        }
    }

    #[test]
    fn scattered_messages_go_unasked_soon_and_for_most_of_each_period() {
        for mut choice in [Choice::default(), choice_across()] {
            let mut announced = 0;
            for _ in 0..10 * PERIOD {
                if is_announced(&choice) {
                    choice.count_scattered(BYTES);
                    announced += 1;
                } else {
                    choice.count_eager(BYTES);
                }
            }
            assert!(announced <= 11 * 2 * RUN, "{announced} were announced");
        }
    }

    #[test]
    fn a_scattered_message_among_others_does_not_end_copies_across() {
        let mut choice = choice_across();
        for _ in 0..PERIOD / 4 {
            choice.count_scattered(BYTES);
            assert_eq!(pass(&mut choice, 1, 10), [Way::Across]);
        }
    }
}
