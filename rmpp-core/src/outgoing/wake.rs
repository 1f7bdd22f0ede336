//! Timers: retries, lost peers, and the end of what is remembered.

use super::states::{Action, Input, State};
use super::{Place, Sender, ToPeer};
use crate::common::Common;
use crate::config::Bug;
use crate::event::Event;
use crate::ids::NodeId;
use crate::list::List;
use crate::time::{Instant, nanoseconds};

/// In the fast profile this many repetitions follow the first before the timeout is doubled.
pub(super) const PROBES: u8 = 3;

impl<Out> Sender<Out> {
    /// The first thing due on a path: its oldest first packet, or its held messages.
    pub(crate) fn path_due<In>(&self, common: &Common<Out, In>, to: u32) -> Instant {
        let path = &self.queues.to[to as usize];
        let oldest = self.queues.oldest_pending(common.config(), to);
        let pending = oldest.map(|index| self.queues.messages[index].deadline);
        let held = match path.held.len() {
            0 => Instant::NEVER,
            _ => path.held_due.min(path.suspects_due),
        };
        pending.unwrap_or(Instant::NEVER).min(held)
    }

    /// The periodic look at `send_pending`: the oldest first packet is repeated, no other.
    // Rule P12.
    pub(crate) fn tick_pending<In>(&mut self, common: &mut Common<Out, In>, to: u32, now: Instant) {
        let Some(index) = self.queues.oldest_pending(common.config(), to) else {
            return;
        };
        let message = &self.queues.messages[index];
        if message.deadline > now {
            return;
        }
        if message.attempt > 0 && common.has(Bug::TimerArmedOnce) {
            self.queues.messages[index].deadline = Instant::NEVER;
            return;
        }
        if self.put_off(common, index, now) {
            return;
        }
        common.counts().timeouts += 1;
        // A packet that went out before another was repeated was lost with it: the timeout has been
        // doubled.
        let is_new_failure = self.queues.is_after_repeats(index);
        self.queues.open_again(index);
        let path = &mut self.queues.to[to as usize];
        path.backoff = path.backoff.saturating_add(is_new_failure.into());
    }

    /// The timer of a message whose block or NULL was not answered, unless it has ended or waits
    /// for something else by now.
    /// Returns its peer, if that one is lost.
    // Rule P11.
    pub(crate) fn tick_sending<In>(
        &mut self,
        common: &mut Common<Out, In>,
        index: u32,
        now: Instant,
    ) -> Option<u32> {
        let message = self.queues.messages.get(index);
        let message = message.filter(|message| message.place == Place::Sending)?;
        let to = message.to;
        if message.deadline <= now {
            if self.is_lost_by_silence(common, to, now) {
                return Some(to);
            }
            if !self.put_off(common, index, now) {
                self.try_again(common, index);
            }
        }
        common
            .alarms_mut()
            .time_message(index, self.queues.messages[index].deadline);
        let silent = self.silence_ends(to);
        common.alarms_mut().time_path(to, silent);
        None
    }

    pub(super) fn try_again<In>(&mut self, common: &mut Common<Out, In>, index: u32) {
        common.counts().timeouts += 1;
        let step = self.queues.messages[index].step(Input::Timeout, common.config());
        let (state, action) = step.expect("a timer runs only in a state that waits");
        let message = &mut self.queues.messages[index];
        message.state = state;
        message.tries = message.tries.saturating_add(1);
        match action {
            Action::Restart => {
                common.counts().restarts += 1;
                message.attempt = message.attempt.wrapping_add(1);
                let from = if common.has(Bug::RestartWhereStopped) {
                    message.next - 1
                } else {
                    1
                };
                (message.next, message.limit, message.grant) = (from, from, 1);
            }
            Action::Probe => {
                common.counts().probes += 1;
                self.queues.messages[index].probe();
            }
            _ => message.opener_due = true,
        }
        self.queues.make_ready(index);
    }

    /// Starts the timer of what has just been sent.
    pub(super) fn arm<In>(&mut self, common: &mut Common<Out, In>, index: u32, now: Instant) {
        let message = &self.queues.messages[index];
        let path = &self.queues.to[message.to as usize];
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
        let deadline =
            now.plus_ns(wait_ns + self.queues.messages[index].courtesy_ns(common.config()));
        self.set_deadline(common, index, deadline);
    }

    /// When a message in `send_pending` or `sending` is due.
    pub(super) fn set_deadline<In>(
        &mut self,
        common: &mut Common<Out, In>,
        index: u32,
        deadline: Instant,
    ) {
        let message = &mut self.queues.messages[index];
        message.deadline = deadline;
        let (place, to) = (message.place, message.to);
        match place {
            Place::Sending => common.alarms_mut().time_message(index, deadline),
            Place::Waiting | Place::Pending | Place::Held => {
                common.alarms_mut().time_path(to, deadline)
            }
        }
    }

    /// Puts the timer of a message off, if its peer has sent other packets since: the peer is busy
    /// with earlier ones. Returns false if the timeout is over.
    // Rule T.
    pub(super) fn put_off<In>(
        &mut self,
        common: &mut Common<Out, In>,
        index: u32,
        now: Instant,
    ) -> bool {
        let message = &self.queues.messages[index];
        let path = &self.queues.to[message.to as usize];
        if common.caps().is_classic() || path.backoff.max(message.tries) > 0 {
            return false;
        }
        let since_heard = path
            .heard_at
            .plus_ns(common.timeouts().before_probe_ns(&path.round_trip, 0));
        let timeout_ns = common.timeouts().wait_ns(&path.round_trip, 0);
        let since_sent = message.sent_at.plus_ns(timeout_ns);
        let deadline = since_heard
            .min(since_sent)
            .plus_ns(self.queues.messages[index].courtesy_ns(common.config()));
        if deadline <= now {
            return false;
        }
        self.queues.messages[index].deadline = deadline;
        true
    }

    /// Returns true if a peer has answered nothing for so long that it is lost. One that has never
    /// answered anything is reported before.
    // Rule T.
    pub(crate) fn is_lost_by_silence<In>(
        &mut self,
        common: &mut Common<Out, In>,
        to: u32,
        now: Instant,
    ) -> bool {
        let is_lost = self.silence_ends(to) <= now;
        if !is_lost {
            self.report_unheard(common, to, now);
        }
        is_lost
    }

    pub(super) fn report_unheard<In>(
        &mut self,
        common: &mut Common<Out, In>,
        to: u32,
        now: Instant,
    ) {
        let ToPeer {
            heard_at,
            silent_since: since,
            ..
        } = self.queues.to[to as usize];
        if heard_at == Instant::ZERO && since.plus_ns(self.unheard_after_ns) <= now {
            let node = NodeId(to);
            common.raise(Event::Unheard { node, since });
        }
    }

    /// When a peer counts as lost if it answers nothing until then.
    pub(crate) fn silence_ends(&self, to: u32) -> Instant {
        self.queues.to[to as usize]
            .silent_since
            .plus_ns(self.lost_after_ns)
    }

    /// This node slept: whatever was to be answered gets its full time again.
    // Rule T.
    pub(crate) fn start_timers_anew<In>(&mut self, common: &mut Common<Out, In>, now: Instant) {
        for to in 0..common.config().nodes {
            self.queues.to[to as usize].held_due =
                now.plus_ns(nanoseconds(common.config().max_timeout));
            let mut each = self.queues.to[to as usize].pending.head();
            while let Some(index) = each {
                each = List::after(&self.queues.messages, index);
                self.start_timer_anew(common, index, now);
            }
            self.queues.to[to as usize].forgive(now);
        }
        let mut each = self.queues.sending.head();
        while let Some(index) = each {
            each = List::after(&self.queues.messages, index);
            self.start_timer_anew(common, index, now);
        }
    }

    pub(super) fn start_timer_anew<In>(
        &mut self,
        common: &mut Common<Out, In>,
        index: u32,
        now: Instant,
    ) {
        let waits = !matches!(
            self.queues.messages[index].state,
            State::Waiting | State::Granted
        );
        if waits && self.queues.messages[index].deadline != Instant::NEVER {
            self.arm(common, index, now);
        }
    }
}
