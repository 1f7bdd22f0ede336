//! Time: everything that happens because nothing happened.

use alloc::vec::Vec;

use super::Endpoint;
use crate::caps::Caps;
use crate::config::Bug;
use crate::event::Event;
use crate::ids::NodeId;
use crate::list::List;
use crate::outgoing::states::{Action, Input, State};
use crate::peer::Path;
use crate::time::{Instant, nanoseconds};

/// In the fast profile so many repetitions follow the first before the timeout is doubled.
pub(super) const PROBES: u8 = 3;

impl Endpoint {
    /// Goes through all timers. A timer is armed by lowering `wake`, and never taken back, so this
    /// runs at most about once per timeout however many messages there are.
    pub(super) fn do_what_is_due(&mut self, now: Instant) {
        self.wake = Instant::NEVER;
        self.timeouts.spread_anew();
        self.forget_expired(now);
        self.tick_owing(now);
        let mut lost = Vec::new();
        self.tick_paths(now, &mut lost);
        self.tick_sending(now, &mut lost);
        for to in lost {
            self.lose(to);
        }
    }

    /// When a message that is done now is forgotten without a GCH.
    pub(super) fn expiry(&self, done_at: Instant) -> Instant {
        done_at.plus(self.config.done_state_lifetime)
    }

    // Rule P8.
    fn forget_expired(&mut self, now: Instant) {
        while let Some(oldest) = self.done.head() {
            let expiry = self.expiry(self.incoming[oldest].done_at);
            debug_assert!(self.incoming[oldest].is_done());
            if expiry > now {
                self.wake = self.wake.min(expiry);
                break;
            }
            self.counters.done_expired += 1;
            self.forget(oldest);
        }
    }

    fn tick_paths(&mut self, now: Instant, lost: &mut Vec<u32>) {
        for at in (0..self.open_paths.len()).rev() {
            let to = self.open_paths[at];
            let path = &mut self.paths[to as usize];
            if path.pending.len() + path.waiting.len() + path.held.len() == 0 {
                path.listed = false;
                self.open_paths.swap_remove(at);
                continue;
            }
            self.tick_pending(to, now);
            self.tick_held(to, now);
            self.note_lost(to, now, lost);
        }
    }

    /// The periodic look at `send_pending`: the oldest first packet is repeated, no other.
    // Rule P12.
    fn tick_pending(&mut self, to: u32, now: Instant) {
        let path = &self.paths[to as usize];
        let oldest = if self.config.has(Bug::RepeatYoungest) {
            path.pending.tail()
        } else {
            path.pending.head()
        };
        let Some(index) = oldest else { return };
        let message = &self.outgoing[index];
        if message.deadline > now {
            self.wake = self.wake.min(message.deadline);
            return;
        }
        if message.attempt > 0 && self.config.has(Bug::TimerArmedOnce) {
            return;
        }
        if self.put_off(index, now) {
            return;
        }
        self.counters.timeouts += 1;
        self.open_again(index);
        let path = &mut self.paths[to as usize];
        path.backoff = path.backoff.saturating_add(1);
    }

    /// Messages whose block or NULL was not answered.
    // Rule P11.
    fn tick_sending(&mut self, now: Instant, lost: &mut Vec<u32>) {
        let mut at = self.sending.head();
        while let Some(index) = at {
            at = List::after(&self.outgoing, index);
            let (deadline, to) = (self.outgoing[index].deadline, self.outgoing[index].to);
            if deadline > now {
                self.wake = self.wake.min(deadline);
                continue;
            }
            self.note_lost(to, now, lost);
            if !self.put_off(index, now) {
                self.try_again(index);
            }
        }
    }

    fn try_again(&mut self, index: u32) {
        self.counters.timeouts += 1;
        let step = self.outgoing[index].step(Input::Timeout, &self.config);
        let (state, action) = step.expect("a timer runs only in a state that waits");
        let message = &mut self.outgoing[index];
        message.state = state;
        message.tries = message.tries.saturating_add(1);
        match action {
            Action::Restart => {
                self.counters.restarts += 1;
                message.attempt = message.attempt.wrapping_add(1);
                let from = if self.config.has(Bug::RestartWhereStopped) {
                    message.next - 1
                } else {
                    1
                };
                (message.next, message.limit, message.grant) = (from, from, 1);
            }
            Action::Probe => self.probe(index),
            _ => message.opener_due = true,
        }
        self.make_ready(index);
    }

    /// Sends the last data packet once more, to learn what is missing; the first packet when no
    /// data has gone out.
    // Rule R.
    pub(super) fn probe(&mut self, index: u32) {
        self.counters.probes += 1;
        let message = &mut self.outgoing[index];
        if message.next == 1 {
            message.opener_due = true;
            return;
        }
        message.probing = true;
        if message.resend.is_empty() {
            message.resend_from = message.next - 1;
            message.resend.set(0);
        }
    }

    /// Starts the timer of what has just been sent.
    pub(super) fn arm(&mut self, index: u32, now: Instant) {
        let message = &self.outgoing[index];
        let path = &self.paths[message.to as usize];
        let backoff = path.backoff.max(message.tries);
        let round_trip = &path.round_trip;
        let mut wait_ns = match self.config.caps.is_classic() {
            true => self.timeouts.wait_ns(round_trip, backoff),
            false if backoff <= PROBES => self.timeouts.before_probe_ns(round_trip, backoff),
            // A packet or two lost in a row are no congestion.
            false => self.timeouts.wait_ns(round_trip, backoff - PROBES),
        };
        if matches!(message.state, State::Blocked | State::Closing) {
            let taken_ns = now.0.saturating_sub(message.begun_at.0);
            wait_ns = wait_ns.max(self.timeouts.before_restart_ns(taken_ns));
        }
        let deadline = now.plus_ns(wait_ns + self.courtesy_ns(index));
        self.outgoing[index].deadline = deadline;
        self.wake = self.wake.min(deadline);
    }

    /// What the receiver may take on top to answer: it may wait for a packet to acknowledge with.
    // Rule K.
    fn courtesy_ns(&self, index: u32) -> u64 {
        match self.outgoing[index].state {
            State::Pending if self.config.caps.has(Caps::LAZY) => {
                nanoseconds(self.config.ack_delay)
            }
            _ => 0,
        }
    }

    /// Whether to wait on: a peer that answers others of our packets is busy with what came before.
    /// It is not asked what became of this one until the timeout is over.
    // Rule T.
    fn put_off(&mut self, index: u32, now: Instant) -> bool {
        let message = &self.outgoing[index];
        let path = &self.paths[message.to as usize];
        if self.config.caps.is_classic() || path.backoff.max(message.tries) > 0 {
            return false;
        }
        let since_heard = path
            .heard_at
            .plus_ns(self.timeouts.before_probe_ns(&path.round_trip, 0));
        let timeout_ns = self.timeouts.wait_ns(&path.round_trip, 0);
        let since_sent = message.sent_at.plus_ns(timeout_ns);
        let deadline = since_heard.min(since_sent).plus_ns(self.courtesy_ns(index));
        if deadline <= now {
            return false;
        }
        self.outgoing[index].deadline = deadline;
        self.wake = self.wake.min(deadline);
        true
    }

    /// Something that asks for an answer goes out.
    pub(super) fn mark_silence(&mut self, to: u32, now: Instant) {
        let path = &mut self.paths[to as usize];
        path.silent_since = path.silent_since.min(now);
    }

    // Rule T.
    fn note_lost(&self, to: u32, now: Instant, lost: &mut Vec<u32>) {
        let since = self.paths[to as usize].silent_since;
        let silent_ns = now.0.saturating_sub(since.0);
        if silent_ns >= self.lost_after_ns && !lost.contains(&to) {
            lost.push(to);
        }
    }

    /// Frees everything that has to do with a peer that is gone.
    fn lose(&mut self, peer: u32) {
        let to_it: Vec<u32> = self
            .outgoing
            .iter()
            .filter(|(_, m)| m.to == peer)
            .map(|(index, _)| index)
            .collect();
        for index in to_it {
            self.unlist(index);
            self.forget_outgoing(index);
        }
        let from_it: Vec<u32> = self
            .incoming
            .iter()
            .filter(|(_, m)| m.from == peer)
            .map(|(index, _)| index)
            .collect();
        for index in from_it {
            self.lose_incoming(index);
        }
        self.answers.retain(|answer| answer.to != peer);
        let Path { listed, owing, .. } = self.paths[peer as usize];
        self.paths[peer as usize] = Path {
            lost: true,
            listed,
            owing,
            ..Path::NEW
        };
        self.events.push_back(Event::Lost(NodeId(peer)));
    }

    fn lose_incoming(&mut self, index: u32) {
        if self.incoming[index].is_done() {
            self.forget(index);
            return;
        }
        let message = self.incoming.remove(index);
        if message.is_counted {
            let to_peer = &mut self.paths[message.from as usize].granted;
            self.grants.give_back(message.granted(), to_peer);
        }
        self.incoming_at.remove(message.from, message.msg_id);
    }

    /// This node slept: whatever was to be answered gets its full time again.
    // Rule T.
    pub(super) fn start_timers_anew(&mut self, now: Instant) {
        for at in 0..self.open_paths.len() {
            let to = self.open_paths[at];
            self.paths[to as usize].held_due = now.plus_ns(nanoseconds(self.config.max_timeout));
            let mut each = self.paths[to as usize].pending.head();
            while let Some(index) = each {
                each = List::after(&self.outgoing, index);
                self.start_timer_anew(index, now);
            }
            self.forgive(to, now);
        }
        let mut each = self.sending.head();
        while let Some(index) = each {
            each = List::after(&self.outgoing, index);
            self.start_timer_anew(index, now);
            self.forgive(self.outgoing[index].to, now);
        }
    }

    fn start_timer_anew(&mut self, index: u32, now: Instant) {
        let waits = !matches!(self.outgoing[index].state, State::Waiting | State::Granted);
        if waits && self.outgoing[index].deadline != Instant::NEVER {
            self.arm(index, now);
        }
    }

    fn forgive(&mut self, to: u32, now: Instant) {
        let silent_since = &mut self.paths[to as usize].silent_since;
        if *silent_since != Instant::NEVER {
            *silent_since = now;
        }
    }
}
