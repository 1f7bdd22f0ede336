//! The road from a process to itself.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;

use super::{Arrival, Event, Landed, Landing, Outbound, Peer, Refusal, Token, Transport};
use crate::clock::Instant;
use crate::memory::Span;
use crate::slab::Slab;

/// Messages to this process itself: one copy, from the sender's span to where it lands.
#[derive(Debug)]
pub struct Loopback {
    me: Peer,
    messages: Slab<(Span, Token)>,
    events: VecDeque<Event>,
}

impl Loopback {
    /// The road of process `me`.
    #[must_use]
    pub fn new(me: Peer) -> Self {
        Self {
            me,
            messages: Slab::default(),
            events: VecDeque::new(),
        }
    }

    fn arrived(&mut self, arrival: Arrival, token: Token, bounced: Option<Vec<u8>>) {
        self.messages.remove(arrival.0);
        self.events.push_back(Event::Arrived { arrival, bounced });
        self.events.push_back(Event::Sent { token });
    }
}

impl Transport for Loopback {
    fn body_limit(&self) -> u64 {
        u64::MAX
    }

    fn send(&mut self, to: Peer, message: Outbound<'_>) -> Result<(), Refusal> {
        let Outbound {
            envelope,
            body,
            token,
            ..
        } = message;
        assert_eq!(to, self.me, "loopback leads to this process only");
        let arrival = Arrival(self.messages.insert((body, token)));
        let len = body.len() as u64;
        let envelope = *envelope;
        self.events.push_back(Event::Arriving {
            arrival,
            from: to,
            envelope,
            len,
        });
        Ok(())
    }

    fn flush(&mut self) {}

    fn pause(&mut self) {}

    fn land(&mut self, arrival: Arrival, landing: Landing) -> Landed {
        let &(body, token) = self
            .messages
            .get(arrival.0)
            .expect("the engine lands what it was told of");
        match landing {
            Landing::Into(span) => {
                span.copy_from(body);
                self.arrived(arrival, token, None);
            }
            Landing::Bounce(_) => {
                let mut copy = Vec::with_capacity(body.len());
                body.append_to(&mut copy);
                self.arrived(arrival, token, Some(copy));
            }
            Landing::Later => {}
        }
        Landed::Coming
    }

    fn poll(&mut self, _now: Instant) -> Option<Event> {
        self.events.pop_front()
    }

    fn wake_at(&self) -> Option<Instant> {
        // A message to oneself waits for nobody else: whoever sleeps would sleep for ever.
        (!self.events.is_empty()).then_some(Instant::ZERO)
    }

    fn wake_on(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn shrink(&mut self) {
        self.messages.shrink();
    }

    fn is_quiet(&self) -> bool {
        self.messages.is_empty()
    }
}
