//! The road from a process to itself.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;

use super::{Arrival, Event, Landed, Landing, Outbound, Peer, Refusal, Token, Transport};
use crate::clock::Instant;
use crate::data::Area;
use crate::slab::Slab;

/// Messages to this process itself: copied once, from where the sender has them to where they land;
/// from gaps to gaps by way of a piece in between.
#[derive(Debug)]
pub struct Loopback {
    me: Peer,
    messages: Slab<(Area, Token)>,
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
        let len = body.len();
        let arrival = Arrival(self.messages.insert((body, token)));
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
        let mut take = || {
            let message = self.messages.remove(arrival.0);
            message.expect("the engine lands what it was told of")
        };
        let (token, bounced) = match landing {
            Landing::Into(area) => {
                let (body, token) = take();
                area.copy_from(&body);
                (token, None)
            }
            Landing::Bounce(_) => {
                let (body, token) = take();
                let mut copy = Vec::with_capacity(body.len() as usize);
                body.append_to(&mut copy);
                (token, Some(copy))
            }
            Landing::Later => return Landed::Coming,
        };
        self.events.push_back(Event::Arrived { arrival, bounced });
        self.events.push_back(Event::Sent { token });
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

    fn packed_most(&self) -> u64 {
        0
    }

    fn shrink(&mut self) {
        self.messages.shrink();
    }

    fn is_quiet(&self) -> bool {
        self.messages.is_empty()
    }
}
