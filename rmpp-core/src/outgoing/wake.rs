//! Timers: retries, and lost peers.

use super::states::{Action, Input, State};
use super::{Outgoing, Place, Queues, Sender, ToPeer};
use crate::common::{Common, Kept};
use crate::config::{Bug, Config};
use crate::event::Event;
use crate::ids::NodeId;
use crate::list::List;
use crate::time::{Instant, nanoseconds};

/// In the fast profile this many repetitions follow the first before the timeout is doubled.
pub(super) const PROBES: u8 = 3;

impl<K: Kept> Sender<K> {
    /// The first thing due on a path: its oldest first packet, or its held messages.
    pub(crate) fn path_due(&self, config: &Config, to: u32) -> Instant {
        let path = &self.queues.to[to as usize];
        let oldest = path.oldest_pending(config);
        let pending = oldest.map(|index| self.queues.messages[index].deadline);
        let held = match path.held.len() {
            0 => Instant::NEVER,
            _ => path.held_due.min(path.suspects_due),
        };
        pending.unwrap_or(Instant::NEVER).min(held)
    }

    /// The periodic look at `send_pending`: the oldest first packet is repeated, no other.
    // Rule P12.
    pub(crate) fn tick_pending(&mut self, common: &mut Common<K>, to: u32) {
        let path = &mut self.queues.to[to as usize];
        let Some(index) = path.oldest_pending(common.config()) else {
            return;
        };
        let message = &mut self.queues.messages[index];
        if message.deadline > common.now() {
            return;
        }
        if message.attempt > 0 && common.has(Bug::TimerArmedOnce) {
            message.deadline = Instant::NEVER;
            return;
        }
        if message.put_off(path, common) {
            return;
        }
        common.counts().timeouts += 1;
        // A packet that went out before another was repeated was lost with it: the timeout has been
        // doubled.
        let is_new_failure = path.is_after_repeats(message);
        path.backoff = path.backoff.saturating_add(is_new_failure.into());
        self.queues.open_again(index);
    }

    /// Asks after held messages: an answer may have been lost.
    // Rule H.
    pub(crate) fn tick_held(&mut self, common: &mut Common<K>, to: u32) {
        for turns in [ToPeer::held_turns, ToPeer::suspect_turns] {
            let path = &mut self.queues.to[to as usize];
            if path.held.len() > 0 {
                let turns = turns(path, common.timeouts(), common.now());
                self.queues.ask_after_held(common.config(), to, turns);
            }
        }
    }

    /// The timer of a message whose block or NULL was not answered, unless it has ended or waits
    /// for something else by now. Returns its peer, if that one is lost.
    // Rule P11.
    pub(crate) fn tick_sending(&mut self, common: &mut Common<K>, index: u32) -> Option<u32> {
        let message = self.queues.messages.get(index);
        let message = message.filter(|message| message.place == Place::Sending)?;
        let to = message.to;
        if message.deadline <= common.now() {
            if self.is_lost_by_silence(common, to) {
                return Some(to);
            }
            let message = &mut self.queues.messages[index];
            if !message.put_off(&self.queues.to[to as usize], common) {
                message.try_again(common);
                self.queues.make_ready(index);
            }
        }
        let alarms = common.alarms_mut();
        alarms.time_message(index, self.queues.messages[index].deadline);
        alarms.time_path(to, self.silence_ends(to));
        None
    }

    /// Returns true if a peer has answered nothing for so long that it is lost. One that has never
    /// answered anything is reported before.
    // Rule T.
    pub(crate) fn is_lost_by_silence(&mut self, common: &mut Common<K>, to: u32) -> bool {
        let path = &self.queues.to[to as usize];
        let (since, is_unheard) = (path.silent_since, path.heard_at == Instant::ZERO);
        let is_lost = self.silence_ends(to) <= common.now();
        if !is_lost && is_unheard && since.plus_ns(self.unheard_after_ns) <= common.now() {
            let node = NodeId(to);
            common.raise(Event::Unheard { node, since });
        }
        is_lost
    }

    /// When a peer counts as lost if it answers nothing until then.
    pub(crate) fn silence_ends(&self, to: u32) -> Instant {
        let path = &self.queues.to[to as usize];
        path.silent_since.plus_ns(self.lost_after_ns)
    }

    /// This node slept: whatever was to be answered gets its full time again.
    // Rule T.
    pub(crate) fn start_timers_anew(&mut self, common: &mut Common<K>) {
        let queues = &mut self.queues;
        let now = common.now();
        for to in 0..queues.to.len() {
            queues.to[to].held_due = now.plus_ns(nanoseconds(common.config().max_timeout));
            queues.start_timers_of(common, queues.to[to].pending);
            queues.to[to].forgive(now);
        }
        queues.start_timers_of(common, queues.sending);
    }
}

impl<K: Kept> Queues<K> {
    fn start_timers_of(&mut self, common: &mut Common<K>, list: List) {
        let mut each = list.head();
        while let Some(index) = each {
            each = List::after(&self.messages, index);
            let message = &self.messages[index];
            let waits = !matches!(message.state, State::Waiting | State::Granted);
            if waits && message.deadline != Instant::NEVER {
                self.arm(common, index, common.now());
            }
        }
    }

    /// Starts the timer of what has just been sent.
    pub(super) fn arm(&mut self, common: &mut Common<K>, index: u32, now: Instant) {
        let message = &mut self.messages[index];
        let path = &self.to[message.to as usize];
        let backoff = path.backoff.max(message.tries);
        let round_trip = &path.round_trip;
        let mut wait_ns = match common.caps().is_classic() {
            true => common.timeouts().wait_ns(round_trip, backoff),
            false if backoff <= PROBES => common.timeouts().before_probe_ns(round_trip, backoff),
            // A packet or two lost in a row are no congestion.
            false => common.timeouts().wait_ns(round_trip, backoff - PROBES),
        };
        if matches!(message.state, State::Blocked | State::Closing) {
            let taken_ns = now.0.saturating_sub(message.begun_at.0);
            wait_ns = wait_ns.max(common.timeouts().before_restart_ns(taken_ns));
        }
        let deadline = now.plus_ns(wait_ns + message.courtesy_ns(common.config()));
        message.deadline = deadline;
        match message.place {
            Place::Sending => common.alarms_mut().time_message(index, deadline),
            _ => common.alarms_mut().time_path(message.to, deadline),
        }
    }

    /// Starts the timer of a granted message that has nothing to send; queues one that has. A
    /// message that is still queued loses its old deadline: it starts its timer when it leaves the
    /// queue.
    pub(super) fn arm_idle(&mut self, common: &mut Common<K>, index: u32, now: Instant) {
        let message = &self.messages[index];
        debug_assert_eq!(
            message.state,
            State::Granted,
            "only such leave the queue armed"
        );
        if message.next_data().is_some() || message.ready {
            self.make_ready(index);
        } else {
            self.arm(common, index, now);
        }
    }
}

impl<Out> Outgoing<Out> {
    /// Its timer has rung: what goes out again.
    fn try_again<K: Kept>(&mut self, common: &mut Common<K>) {
        common.counts().timeouts += 1;
        let step = self.step(Input::Timeout, common.config());
        let (state, action) = step.expect("a timer runs only in a state that waits");
        self.state = state;
        self.tries = self.tries.saturating_add(1);
        match action {
            Action::Restart => {
                common.counts().restarts += 1;
                self.attempt = self.attempt.wrapping_add(1);
                let from = match common.has(Bug::RestartWhereStopped) {
                    true => self.next - 1,
                    false => 1,
                };
                (self.next, self.limit, self.grant) = (from, from, 1);
            }
            Action::Probe => {
                common.counts().probes += 1;
                self.probe();
            }
            _ => self.opener_due = true,
        }
    }

    /// Puts its timer off, if its peer has sent other packets since: the peer is busy with earlier
    /// ones. Returns false if the timeout is over.
    // Rule T.
    fn put_off<K: Kept>(&mut self, path: &ToPeer, common: &Common<K>) -> bool {
        if common.caps().is_classic() || path.backoff.max(self.tries) > 0 {
            return false;
        }
        let timeouts = common.timeouts();
        let since_heard = path
            .heard_at
            .plus_ns(timeouts.before_probe_ns(&path.round_trip, 0));
        let since_sent = self.sent_at.plus_ns(timeouts.wait_ns(&path.round_trip, 0));
        let deadline = since_heard
            .min(since_sent)
            .plus_ns(self.courtesy_ns(common.config()));
        let is_later = deadline > common.now();
        if is_later {
            self.deadline = deadline;
        }
        is_later
    }
}
