//! How many bytes of unexpected messages a rank takes in. Decision 0034.
//!
//! A rank that computes takes in little: it will receive later, and until then its senders may
//! wait. A rank that waits in a call cannot receive before that call returns, and the rank that it
//! waits for may be one of its senders. So after a while it takes in as much as its share of the
//! memory allows, until little of that is left.

use std::time::Duration;

use crate::data::Area;
use crate::engine::envelope::Envelope;
use crate::engine::inbox::budget::{LONG_WAIT, widest};
use crate::engine::inbox::matching::{Body, Buffered, Inbound, UnexpectedMessage};
use crate::engine::lane::Lane;
use crate::engine::lane::delivery::{Delivery, Target};
use crate::engine::protocol::{self, Unmatched};
use crate::engine::report::observer::MessageStep;
use crate::memory::Span;
use crate::transport::{Incoming, Landing};

impl Delivery {
    /// Takes in a message that no receive waits for, or leaves it with its sender.
    #[inline(always)]
    pub(crate) fn unexpected(
        &mut self,
        inbound: Inbound,
        message: &Incoming,
        envelope: Envelope,
    ) -> Landing {
        let len = message.len;
        let room = self.taken.room(&self.settings);
        let choice =
            protocol::unmatched(envelope.flags.is_synchronous(), len, room, &self.settings);
        let landing = match choice {
            Unmatched::TakeIn if message.is_whole => {
                self.take_in(len);
                let body = Body::Whole(Buffered::new(len as usize, &mut self.pool));
                let place = self.note_unexpected(envelope, len, body);
                let message = self.unexpected.get_mut(place);
                match message.map(|message| &mut message.body) {
                    // The link writes it before this is read.
                    Some(Body::Whole(body)) => Landing::Into(Area::Run(body.span())),
                    _ => unreachable!("just entered"),
                }
            }
            Unmatched::TakeIn => {
                self.take_in(len);
                let mut buffer = self.pool.take_filled(len as usize);
                let area = Area::Run(Span::held(&mut buffer));
                let place = self.note_unexpected(envelope, len, Body::Coming(buffer));
                self.set_target(inbound, Target::Unexpected(place));
                Landing::Into(area)
            }
            Unmatched::Wait => {
                self.note_refused(envelope.flags.is_synchronous(), len);
                let place = self.note_unexpected(envelope, len, Body::Held(inbound));
                self.set_target(inbound, Target::Unexpected(place));
                Landing::Later
            }
        };
        let peak = &mut self.counters.unexpected_peak_bytes;
        *peak = (*peak).max(self.taken.bytes);
        landing
    }

    /// Tells a tool that watches of the unexpected message at `place`.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_waiting(&mut self, step: MessageStep, place: u32) {
        let message = self.unexpected.get_mut(place);
        if let Some((envelope, len)) = message.map(|it| (it.envelope, it.len)) {
            self.watch.note_message(step, &envelope, len);
        }
    }

    #[inline]
    fn note_unexpected(&mut self, envelope: Envelope, len: u64, body: Body) -> u32 {
        let place = self.unexpected.push(UnexpectedMessage {
            envelope,
            len,
            body,
        });
        if self.is_special {
            self.note_waiting(MessageStep::Unexpected, place);
        }
        self.counters.unexpected += 1;
        let peak = &mut self.counters.unexpected_peak;
        *peak = (*peak).max(self.unexpected.len() as u64);
        place
    }

    #[cold]
    fn note_refused(&mut self, synchronous: bool, len: u64) {
        self.taken.has_refused |= protocol::is_buffered(synchronous, len, &self.settings);
    }

    /// Counts the body of an unexpected message that is taken in.
    #[inline]
    fn take_in(&mut self, len: u64) {
        self.taken.bytes += protocol::kept_unexpected(len);
        if self.taken.bytes > self.taken.budget(&self.settings) / 2 && !self.taken.is_full {
            self.press(true);
        }
    }

    /// Counts the body of an unexpected message that is gone.
    #[inline]
    pub(crate) fn let_go(&mut self, len: u64) {
        let taken = &mut self.taken;
        taken.bytes -= protocol::kept_unexpected(len);
        taken.is_wide &= taken.bytes > self.settings.unexpected_budget_bytes / 4;
        if taken.is_full && taken.bytes <= taken.budget(&self.settings) / 4 {
            self.press(false);
        }
    }

    /// Begins or ends back pressure. The lane sets it on the links.
    #[cold]
    fn press(&mut self, is_full: bool) {
        self.taken.is_full = is_full;
        self.has_deferred = true;
    }
}

impl Lane {
    /// Takes in more if a call has waited for long in vain, `waited`, while a message was not taken
    /// in.
    #[cold]
    #[inline(never)]
    pub(crate) fn consider_more(&mut self, waited: Duration) {
        if waited >= LONG_WAIT {
            self.take_in_more();
        }
    }

    /// Takes in the messages left with their senders by the larger budget, for a program that has
    /// waited in a call for long. Prints a warning, once, if that is used up.
    #[cold]
    pub(crate) fn take_in_more(&mut self) {
        let taken = &mut self.delivery.taken;
        if taken.is_wide {
            if !core::mem::replace(&mut taken.is_told, true) {
                eprintln!("{}", self.no_room());
            }
            return;
        }
        taken.has_refused = false;
        for place in self.delivery.unexpected.held() {
            if let Some((inbound, target, area)) = self.delivery.take_held(place) {
                self.land(inbound, target, area);
            }
        }
        self.delivery.press_less();
        self.send_deferred();
    }

    /// Returns the warning about a budget that is used up.
    fn no_room(&self) -> String {
        let Delivery {
            peers,
            taken,
            settings,
            ..
        } = &self.delivery;
        let (rank, host) = (peers.rank(peers.me()), peers.host(peers.me()));
        format!(
            "mpi-lite: rank {rank} on host {host}: waits in a call and has buffered {} bytes of \
             messages without a receive; further ones stay with their senders, which may wait for \
             ever: post the receives, or raise MPILITE_WAITING_BUDGET_BYTES={}",
            taken.bytes,
            widest(settings),
        )
    }
}

impl Delivery {
    /// Ends back pressure if there is room again by the larger budget.
    fn press_less(&mut self) {
        let taken = &self.taken;
        if taken.is_full && taken.bytes <= taken.budget(&self.settings) / 2 {
            self.press(false);
        }
    }

    /// Takes in the message at `place`, whose body is with its sender, if it may and there is room.
    /// Returns how it lands.
    fn take_held(&mut self, place: u32) -> Option<(Inbound, Target, Area)> {
        let message = self.unexpected.get_mut(place);
        let message = message.expect("a held message has its place");
        let (len, synchronous) = (message.len, message.envelope.flags.is_synchronous());
        let Body::Held(inbound) = message.body else {
            return None;
        };
        if !protocol::is_buffered(synchronous, len, &self.settings) {
            return None;
        }
        self.taken.is_wide = true;
        if protocol::kept_unexpected(len) > self.taken.room(&self.settings) {
            self.taken.has_refused = true;
            return None;
        }
        let mut buffer = self.pool.take_filled(len as usize);
        let area = Area::Run(Span::held(&mut buffer));
        message.body = Body::Coming(buffer);
        self.take_in(len);
        Some((inbound, Target::Unexpected(place), area))
    }
}
