//! The shortcut of a short message between ranks that share memory: it is sent without a record,
//! and received without a request. Decision 0022.
//!
//! A receive may take it if no receive was posted before and no message waits. Other messages that
//! it finds go the usual way. So does the receive itself after a while.

use super::arrive::Inlet;
use super::{Parts, Traffic};
use crate::clock::Instant;
use crate::data::Area;
use crate::engine::envelope::{Envelope, Flags};
use crate::engine::inbox::matching::Pattern;
use crate::engine::requests::{Completion, Request};
use crate::engine::tasks::{ReceivePlan, SendPlan};
use crate::ids::Mode;
use crate::memory::Span;
use crate::transport::{
    Arrival, Incoming, Landing, Lost, Progress, Sink, Token, Transport, Unheard,
};

/// The result of an early look for the message of a receive.
pub(crate) enum Early {
    /// The receive is over.
    Done(Completion),
    /// The receive has matched a message, of which a part is still to come.
    Coming(Request),
    /// No message has come for the receive.
    Nothing,
}

/// A receive that looks for its message before it becomes a request. It would be the only one, so
/// the first message that fits is for it. All others go to the delivery.
struct Direct<'a> {
    inlet: Inlet<'a>,
    pattern: &'a Pattern,
    span: &'a Span,
    found: Option<Found>,
}

/// The message of a receive that became no request.
#[derive(Clone, Copy)]
struct Found {
    source: u32,
    tag: i32,
    len: u64,
    /// The request, if a part of the message is still to come.
    request: Option<Request>,
}

impl Found {
    /// Returns the result of a receive that has found its message.
    #[inline(always)]
    fn early(self, parts: &mut Parts, (pattern, span): (&Pattern, &Span)) -> Early {
        if let Some(request) = self.request {
            return Early::Coming(request);
        }
        let envelope = Envelope {
            context: pattern.context,
            source: self.source,
            tag: self.tag,
            flags: Flags::default(),
        };
        let room = span.len() as u64;
        let (status, error) = parts.outcome(&envelope, self.len, room);
        Early::Done(Completion {
            status,
            error,
            context: Some(pattern.context),
            is_gone: true,
            is_generalized: false,
        })
    }
}

impl Sink for Direct<'_> {
    #[inline(always)]
    fn arriving(&mut self, message: Incoming) -> Landing {
        let envelope = Envelope::decode(&message.envelope);
        if self.found.is_some() || !self.pattern.fits(&envelope) {
            return self.inlet.arriving(message);
        }
        let request = (!message.is_whole).then(|| self.inlet.begin(&message, envelope, *self.span));
        self.found = Some(Found {
            source: envelope.source,
            tag: envelope.tag,
            len: message.len,
            request,
        });
        Landing::Into(Area::Run(*self.span))
    }

    fn arrived(&mut self, arrival: Arrival) {
        self.inlet.arrived(arrival);
    }

    fn sent(&mut self, token: Token) {
        self.inlet.sent(token);
    }

    fn lost(&mut self, lost: Lost) {
        self.inlet.lost(lost);
    }

    fn unheard(&mut self, peer: Unheard) {
        self.inlet.unheard(peer);
    }

    #[inline(always)]
    fn wants_more(&self) -> bool {
        self.found.is_none() && self.inlet.wants_more()
    }
}

impl Traffic {
    /// Sends a message if the link can do so at once. Returns true if it did.
    #[inline(always)]
    pub(crate) fn send_at_once(&mut self, plan: &SendPlan) -> bool {
        match self.links.memory() {
            None => false,
            Some(link) => self.offer(link, plan),
        }
    }

    #[inline]
    fn offer(&mut self, link: usize, plan: &SendPlan) -> bool {
        let (Some(to), Area::Run(body)) = (plan.to, &plan.area) else {
            return false;
        };
        // A synchronous send waits for its match, a buffered one needs its buffer.
        if self.parts.peers.link(to) != link || !matches!(plan.mode, Mode::Standard | Mode::Ready) {
            return false;
        }
        let is_taken = self
            .links
            .at(link)
            .offer(to, &plan.envelope().encode(), *body);
        if is_taken {
            self.parts.outbox.count_offered(body.len() as u64);
        }
        is_taken
    }

    /// Looks `looks` times for the message of a receive that would be the only one.
    #[inline(always)]
    pub(in crate::engine) fn receive_at_once(
        &mut self,
        link: usize,
        plan: &ReceivePlan,
        looks: u32,
    ) -> Early {
        let (Some(pattern), Area::Run(span)) = (&plan.pattern, &plan.area) else {
            return Early::Nothing;
        };
        if !self.is_clear() {
            return Early::Nothing;
        }
        for _ in 0..looks {
            let mut direct = Direct {
                inlet: Inlet::new(&mut self.parts, link, 0),
                pattern,
                span,
                found: None,
            };
            // A link through memory needs no clock.
            let progress = self.links.progress(link, Instant::ZERO, &mut direct);
            let found = direct.found;
            self.run_errands();
            if let Some(found) = found {
                return found.early(&mut self.parts, (pattern, span));
            }
            match progress {
                Progress::Idle => core::hint::spin_loop(),
                Progress::Delivered if self.is_clear() => {}
                // Other links must not wait for long copies.
                Progress::Delivered | Progress::Moved => break,
            }
        }
        Early::Nothing
    }

    /// Returns true if a message that arrives now, and fits, must be for the receive that is made
    /// now.
    #[inline]
    fn is_clear(&self) -> bool {
        self.parts.inbox.is_clear() && !self.parts.is_special && !self.links.own_is_busy()
    }
}
