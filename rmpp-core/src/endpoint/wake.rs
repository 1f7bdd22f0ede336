//! Timers: retries, lost peers, and the end of what is remembered.

use alloc::vec::Vec;

use super::Endpoint;
use crate::caps::Caps;
use crate::config::Bug;
use crate::event::Event;
use crate::ids::NodeId;
use crate::list::List;
use crate::outgoing::Place;
use crate::outgoing::states::{Action, Input, State};
use crate::peer::Path;
use crate::time::{Instant, nanoseconds};

/// In the fast profile this many repetitions follow the first before the timeout is doubled.
pub(super) const PROBES: u8 = 3;

impl<Out, In> Endpoint<Out, In> {
    /// Looks at the timers that are due, and at no others. There are two schedules, one of paths
    /// and one of messages in `sending`. A timer is lowered when something is due earlier, and
    /// never raised: one that rings too early is set anew.
    pub(super) fn do_what_is_due(&mut self, now: Instant) {
        self.common.timeouts_mut().spread_anew();
        self.receiver.forget_expired(&mut self.common, now);
        while let Some(to) = self.common.alarms_mut().next_path(now) {
            self.tick_path(to, now);
        }
        while let Some(index) = self.common.alarms_mut().next_message(now) {
            self.tick_sending(index, now);
        }
        let expiry = self.receiver.first_expiry(&self.common);
        self.common.alarms_mut().begin_anew(expiry);
    }

    /// The first thing due on a path: its oldest first packet, its held messages, or the
    /// acknowledgement that is owed there.
    pub(super) fn path_due(&self, to: u32) -> Instant {
        let path = &self.paths[to as usize];
        let oldest = self.oldest_pending(to);
        let pending = oldest.map(|index| self.outgoing[index].deadline);
        let held = match path.held.len() {
            0 => Instant::NEVER,
            _ => path.held_due.min(path.suspects_due),
        };
        let ack = self.receiver.ack_due(&self.common, to);
        pending.unwrap_or(Instant::NEVER).min(held).min(ack)
    }

    fn tick_path(&mut self, to: u32, now: Instant) {
        if self.is_lost_by_silence(to, now) {
            return;
        }
        self.receiver.tick_ack(to, now);
        self.tick_pending(to, now);
        self.tick_held(to, now);
        let due = self.path_due(to);
        debug_assert!(due > now, "what is due has been done");
        // The layer below may have no room for what is to go again.
        let due = due.min(self.silence_ends(to));
        self.common.alarms_mut().time_path(to, due);
    }

    fn oldest_pending(&self, to: u32) -> Option<u32> {
        let pending = &self.paths[to as usize].pending;
        if self.common.has(Bug::RepeatYoungest) {
            pending.tail()
        } else {
            pending.head()
        }
    }

    /// The periodic look at `send_pending`: the oldest first packet is repeated, no other.
    // Rule P12.
    fn tick_pending(&mut self, to: u32, now: Instant) {
        let Some(index) = self.oldest_pending(to) else {
            return;
        };
        let message = &self.outgoing[index];
        if message.deadline > now {
            return;
        }
        if message.attempt > 0 && self.common.has(Bug::TimerArmedOnce) {
            self.outgoing[index].deadline = Instant::NEVER;
            return;
        }
        if self.put_off(index, now) {
            return;
        }
        self.common.counts().timeouts += 1;
        // A packet that went out before another was repeated was lost with it: the timeout has been
        // doubled.
        let is_new_failure = self.is_after_repeats(index);
        self.open_again(index);
        let path = &mut self.paths[to as usize];
        path.backoff = path.backoff.saturating_add(is_new_failure.into());
    }

    /// The timer of a message whose block or NULL was not answered, unless it has ended or waits
    /// for something else by now.
    // Rule P11.
    fn tick_sending(&mut self, index: u32, now: Instant) {
        let message = self.outgoing.get(index);
        let Some(message) = message.filter(|message| message.place == Place::Sending) else {
            return;
        };
        let to = message.to;
        if message.deadline <= now {
            if self.is_lost_by_silence(to, now) {
                return;
            }
            if !self.put_off(index, now) {
                self.try_again(index);
            }
        }
        self.common
            .alarms_mut()
            .time_message(index, self.outgoing[index].deadline);
        let silent = self.silence_ends(to);
        self.common.alarms_mut().time_path(to, silent);
    }

    fn try_again(&mut self, index: u32) {
        self.common.counts().timeouts += 1;
        let step = self.outgoing[index].step(Input::Timeout, self.common.config());
        let (state, action) = step.expect("a timer runs only in a state that waits");
        let message = &mut self.outgoing[index];
        message.state = state;
        message.tries = message.tries.saturating_add(1);
        match action {
            Action::Restart => {
                self.common.counts().restarts += 1;
                message.attempt = message.attempt.wrapping_add(1);
                let from = if self.common.has(Bug::RestartWhereStopped) {
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
        self.common.counts().probes += 1;
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
        let mut wait_ns = match self.common.caps().is_classic() {
            true => self.common.timeouts().wait_ns(round_trip, backoff),
            false if backoff <= PROBES => {
                self.common.timeouts().before_probe_ns(round_trip, backoff)
            }
            // A packet or two lost in a row are no congestion.
            false => self.common.timeouts().wait_ns(round_trip, backoff - PROBES),
        };
        if matches!(message.state, State::Blocked | State::Closing) {
            let taken_ns = now.0.saturating_sub(message.begun_at.0);
            wait_ns = wait_ns.max(self.common.timeouts().before_restart_ns(taken_ns));
        }
        let deadline = now.plus_ns(wait_ns + self.courtesy_ns(index));
        self.set_deadline(index, deadline);
    }

    /// When a message in `send_pending` or `sending` is due.
    fn set_deadline(&mut self, index: u32, deadline: Instant) {
        let message = &mut self.outgoing[index];
        message.deadline = deadline;
        let (place, to) = (message.place, message.to);
        match place {
            Place::Sending => self.common.alarms_mut().time_message(index, deadline),
            Place::Waiting | Place::Pending | Place::Held => {
                self.common.alarms_mut().time_path(to, deadline)
            }
        }
    }

    /// The extra time of a first packet: its receiver may wait for a packet that carries the
    /// acknowledgement.
    // Rule K.
    fn courtesy_ns(&self, index: u32) -> u64 {
        match self.outgoing[index].state {
            State::Pending if self.common.caps().has(Caps::LAZY) => {
                nanoseconds(self.common.config().ack_delay)
            }
            _ => 0,
        }
    }

    /// Puts the timer of a message off, if its peer has sent other packets since: the peer is busy
    /// with earlier ones. Returns false if the timeout is over.
    // Rule T.
    fn put_off(&mut self, index: u32, now: Instant) -> bool {
        let message = &self.outgoing[index];
        let path = &self.paths[message.to as usize];
        if self.common.caps().is_classic() || path.backoff.max(message.tries) > 0 {
            return false;
        }
        let since_heard = path
            .heard_at
            .plus_ns(self.common.timeouts().before_probe_ns(&path.round_trip, 0));
        let timeout_ns = self.common.timeouts().wait_ns(&path.round_trip, 0);
        let since_sent = message.sent_at.plus_ns(timeout_ns);
        let deadline = since_heard.min(since_sent).plus_ns(self.courtesy_ns(index));
        if deadline <= now {
            return false;
        }
        self.outgoing[index].deadline = deadline;
        true
    }

    /// Something that asks for an answer goes out.
    pub(super) fn mark_silence(&mut self, to: u32, now: Instant) {
        let path = &mut self.paths[to as usize];
        path.silent_since = path.silent_since.min(now);
    }

    /// Returns true if a peer has answered nothing for so long that it is lost. One that has never
    /// answered anything is reported before.
    // Rule T.
    fn is_lost_by_silence(&mut self, to: u32, now: Instant) -> bool {
        let is_lost = self.silence_ends(to) <= now;
        if is_lost {
            self.lose(to);
        } else {
            self.report_unheard(to, now);
        }
        is_lost
    }

    fn report_unheard(&mut self, to: u32, now: Instant) {
        let Path {
            heard_at,
            silent_since: since,
            ..
        } = self.paths[to as usize];
        if heard_at == Instant::ZERO && since.plus_ns(self.unheard_after_ns) <= now {
            let node = NodeId(to);
            self.common.raise(Event::Unheard { node, since });
        }
    }

    /// When a peer counts as lost if it answers nothing until then.
    fn silence_ends(&self, to: u32) -> Instant {
        self.paths[to as usize]
            .silent_since
            .plus_ns(self.lost_after_ns)
    }

    /// Frees everything that has to do with a peer that is gone.
    fn lose(&mut self, peer: u32) {
        let to_it: Vec<u32> = self
            .outgoing
            .iter()
            .filter(|(_, m)| m.to == peer)
            .map(|(index, _)| index)
            .collect();
        let mut unsent = Vec::new();
        for index in to_it {
            self.unlist(index);
            unsent.push(self.forget_outgoing(index));
        }
        let unfinished = self.receiver.lose(peer);
        self.common.drop_answers(peer);
        self.paths[peer as usize] = Path {
            lost: true,
            ..Path::NEW
        };
        self.common.raise(Event::Lost {
            node: NodeId(peer),
            unsent,
            unfinished,
        });
    }

    /// This node slept: whatever was to be answered gets its full time again.
    // Rule T.
    pub(super) fn start_timers_anew(&mut self, now: Instant) {
        for to in 0..self.common.config().nodes {
            self.paths[to as usize].held_due =
                now.plus_ns(nanoseconds(self.common.config().max_timeout));
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
