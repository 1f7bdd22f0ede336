//! The link from a process to itself.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;

use super::sink::LinkEvent;
use super::{
    Arrival, Capabilities, EnvelopeBytes, Incoming, Landing, Outbound, PeerId, Progress, Refusal,
    Sink, Tallies, Token, Transport,
};
use crate::clock::Instant;
use crate::data::Area;
use crate::slab::Slab;

/// Messages to this process itself. They are copied once, from the sender's memory to where they
/// land. From gaps to gaps they go through a piece in between.
#[derive(Debug)]
pub struct Loopback {
    me: PeerId,
    messages: Slab<OwnMessage>,
    /// Messages that were not reported to the sink yet.
    new: VecDeque<Arrival>,
    events: VecDeque<LinkEvent>,
}

#[derive(Debug)]
struct OwnMessage {
    envelope: EnvelopeBytes,
    body: Area,
    token: Token,
}

impl Loopback {
    /// The link of process `me`.
    #[must_use]
    pub fn new(me: PeerId) -> Self {
        Self {
            me,
            messages: Slab::default(),
            new: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// It counts nothing.
    #[expect(clippy::unused_self, reason = "all links have this")]
    pub(super) fn count(&self, _tallies: &mut Tallies) {}

    /// Copies a message to where it goes; returns its sender's name for it.
    fn copy(&mut self, arrival: Arrival, area: &Area) -> Token {
        let message = self.messages.remove(arrival.0);
        let message = message.expect("the engine lands what it was told of, once");
        area.copy_from(&message.body);
        message.token
    }

    fn announce(&mut self, arrival: Arrival, sink: &mut impl Sink) {
        let message = self.messages.get(arrival.0).expect("it was just sent");
        let landing = sink.arriving(Incoming {
            arrival,
            from: self.me,
            envelope: message.envelope,
            len: message.body.len(),
            is_whole: true,
        });
        if let Landing::Into(area) = landing {
            let token = self.copy(arrival, &area);
            sink.sent(token);
        }
    }
}

impl Transport for Loopback {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            body_limit: u64::MAX,
            packed_most: 0,
            acknowledges: false,
            is_memory: false,
        }
    }

    fn send(&mut self, to: PeerId, message: Outbound<'_>) -> Result<(), Refusal> {
        assert_eq!(to, self.me, "loopback leads to this process only");
        let index = self.messages.insert(OwnMessage {
            envelope: *message.envelope,
            body: message.body,
            token: message.token,
        });
        self.new.push_back(Arrival(index));
        Ok(())
    }

    fn flush(&mut self) {}

    fn land(&mut self, arrival: Arrival, landing: Landing) -> bool {
        let Landing::Into(area) = landing else {
            return false;
        };
        let token = self.copy(arrival, &area);
        self.events.push_back(LinkEvent::Sent(token));
        true
    }

    fn progress(&mut self, _now: Instant, sink: &mut impl Sink) -> Progress {
        let mut progress = Progress::Idle;
        while sink.wants_more() {
            if let Some(event) = self.events.pop_front() {
                event.deliver(sink);
            } else if let Some(arrival) = self.new.pop_front() {
                self.announce(arrival, sink);
            } else {
                self.messages.shrink();
                break;
            }
            progress = Progress::Delivered;
        }
        progress
    }

    fn wake_at(&self) -> Option<Instant> {
        // A message to itself waits for nobody else: a thread that sleeps would sleep for ever.
        let is_busy = self.events.len() + self.new.len() > 0;
        is_busy.then_some(Instant::ZERO)
    }

    fn wake_on(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn is_quiet(&self) -> bool {
        self.messages.is_empty()
    }
}
