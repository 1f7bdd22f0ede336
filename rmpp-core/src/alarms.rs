//! The timers of an endpoint: of its paths, and of the messages that it sends.

use crate::schedule::Schedule;
use crate::time::Instant;

/// One schedule of paths and one of messages in `sending`. A timer is lowered when something is due
/// earlier, and never raised: one that rings too early is set anew.
#[cfg_attr(feature = "simulated", derive(Clone, Hash))]
pub(crate) struct Alarms {
    /// A timer for each path, no later than the first thing due there.
    paths: Schedule,
    /// A timer for each message in `sending` whose deadline is set, no later than that; and for
    /// some that have ended.
    messages: Schedule,
    /// No timer is due before this.
    wake: Instant,
}

impl Alarms {
    pub(crate) const fn new() -> Self {
        Self {
            paths: Schedule::new(),
            messages: Schedule::new(),
            wake: Instant::NEVER,
        }
    }

    /// Something of a path is due at `when`.
    #[inline]
    pub(crate) fn time_path(&mut self, to: u32, when: Instant) {
        if when != Instant::NEVER && self.paths.lower(to, when) {
            self.wake_at(when);
        }
    }

    /// A message in `sending` is due at `when`.
    #[inline]
    pub(crate) fn time_message(&mut self, index: u32, when: Instant) {
        if when != Instant::NEVER && self.messages.lower(index, when) {
            self.wake_at(when);
        }
    }

    /// Something that has no timer of its own is due at `when`.
    #[inline]
    pub(crate) fn wake_at(&mut self, when: Instant) {
        self.wake = self.wake.min(when);
    }

    /// No timer is due before this.
    #[inline]
    pub(crate) fn wake(&self) -> Instant {
        self.wake
    }

    /// The next path whose timer is due.
    pub(crate) fn next_path(&mut self, now: Instant) -> Option<u32> {
        self.paths.take_due(now)
    }

    /// The next message whose timer is due.
    pub(crate) fn next_message(&mut self, now: Instant) -> Option<u32> {
        self.messages.take_due(now)
    }

    /// What was due has been done; beside the timers something is due at `other`.
    pub(crate) fn begin_anew(&mut self, other: Instant) {
        self.wake = self.paths.first().min(self.messages.first()).min(other);
    }

    /// No message is left: the memory of a long schedule is given back.
    #[inline]
    pub(crate) fn give_back(&mut self) {
        if self.messages.is_long() {
            self.messages = Schedule::new();
        }
    }
}

#[cfg(feature = "simulated")]
impl Alarms {
    /// When the timers of a path and of a message ring.
    pub(crate) fn of_path(&self, to: u32) -> Instant {
        self.paths.of(to)
    }

    pub(crate) fn of_message(&self, index: u32) -> Instant {
        self.messages.of(index)
    }

    /// How many timers have rung, and how many were looked at to find those.
    pub(crate) fn rung(&self) -> (u64, u64) {
        let (paths, of_paths) = self.paths.rung();
        let (messages, of_messages) = self.messages.rung();
        (paths + messages, of_paths + of_messages)
    }

    pub(crate) fn bytes_of_paths(&self) -> usize {
        self.paths.bytes()
    }

    pub(crate) fn bytes_of_messages(&self) -> usize {
        self.messages.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_timer_is_due_before_the_endpoint_wakes() {
        let mut alarms = Alarms::new();
        assert_eq!(alarms.wake(), Instant::NEVER);
        alarms.time_path(1, Instant(50));
        alarms.time_message(1, Instant(40));
        alarms.time_path(2, Instant::NEVER);
        assert_eq!(alarms.wake(), Instant(40));
        assert_eq!(alarms.next_path(Instant(49)), None);
        assert_eq!(alarms.next_message(Instant(49)), Some(1));
        alarms.begin_anew(Instant(60));
        assert_eq!(alarms.wake(), Instant(50));
        alarms.wake_at(Instant(45));
        alarms.time_path(1, Instant(55));
        assert_eq!(alarms.wake(), Instant(45));
    }
}
