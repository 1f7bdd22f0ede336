//! Messages on their way in.

use super::coming::{Coming, Destination, Garbled};
use super::record::{HEADER_BYTES, NOBODY, RecordHeader, RecordKind};
use super::{ChannelId, Streams};
use crate::memory::Span;
use crate::transport::sink::LinkEvent;
use crate::transport::{Arrival, Incoming, Landing, PeerId, Sink};

/// Bodies from this length on are worth a read of their own.
const PLACED_LEAST: u64 = 4096;

/// Why an arrival has an entry.
const NAMED: &str = "a message keeps its name until it is complete";

impl Streams {
    /// Takes bytes that have come, and reports messages to `sink`. Returns how many it has taken:
    /// fewer if the sink wants no more, a message has to wait for an earlier one of another stream,
    /// or a header is not complete. The carrier keeps the rest.
    ///
    /// # Errors
    /// [`Garbled`]: the peer must be given up.
    pub(crate) fn feed(
        &mut self,
        on: ChannelId,
        bytes: &[u8],
        sink: &mut impl Sink,
    ) -> Result<usize, Garbled> {
        let mut taken = 0;
        loop {
            taken += self.take_body(on, &bytes[taken..]);
            if self.channel(on).body.is_some() {
                return Ok(taken);
            }
            let Some((head, body)) = bytes[taken..].split_first_chunk::<HEADER_BYTES>() else {
                return Ok(taken);
            };
            let header = RecordHeader::decode(head).ok_or(Garbled)?;
            let bytes = match header.kind {
                RecordKind::Short | RecordKind::Ask => match self.announce(on, &header, body, sink)
                {
                    Some(bytes) => bytes,
                    None => return Ok(taken),
                },
                _ => self.obey(on, &header).map(|()| 0)?,
            };
            taken += HEADER_BYTES + bytes;
        }
    }

    /// Takes bytes of the body that comes on a stream.
    fn take_body(&mut self, on: ChannelId, bytes: &[u8]) -> usize {
        let Some((arrival, left)) = self.channel(on).body else {
            return 0;
        };
        let bytes = &bytes[..bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
        let coming = self.arrivals.get_mut(arrival.0).expect(NAMED);
        match &mut coming.place {
            Destination::Into(area) => area.write(coming.here as usize, bytes),
            Destination::Kept(kept) => kept.extend_from_slice(bytes),
            Destination::Asked => {}
        }
        self.note_body(on, bytes.len());
        bytes.len()
    }

    /// Notes that `bytes` more of the body that comes on a stream are in their place.
    fn note_body(&mut self, on: ChannelId, bytes: usize) {
        let Some((arrival, left)) = self.channel(on).body else {
            return;
        };
        let left = left - bytes as u64;
        self.channel_mut(on).body = (left > 0).then_some((arrival, left));
        let coming = self.arrivals.get_mut(arrival.0).expect(NAMED);
        coming.here += bytes as u64;
        if left == 0 && matches!(coming.place, Destination::Into(_)) {
            self.finish(arrival);
            self.events.push_back(LinkEvent::Arrived(arrival));
        }
    }

    /// The memory where the next bytes of a stream belong, if they are many and it is one run.
    /// Nobody else writes there. The carrier then calls `placed`.
    pub(crate) fn place(&self, on: ChannelId) -> Option<Span> {
        let (arrival, left) = self.channel(on).body.filter(|it| it.1 >= PLACED_LEAST)?;
        let coming = self.arrivals.get(arrival.0)?;
        let Destination::Into(area) = &coming.place else {
            return None;
        };
        let place = area.span()?.part(coming.here as usize, left as usize);
        (!place.is_empty()).then_some(place)
    }

    /// Notes that `bytes` bytes have come to where `place` said.
    pub(crate) fn placed(&mut self, on: ChannelId, bytes: usize) {
        self.note_body(on, bytes);
    }

    /// Reports a message to `sink`, and lands it. Returns the bytes of `body` that it has taken;
    /// `None` if the message has to wait.
    fn announce(
        &mut self,
        on: ChannelId,
        header: &RecordHeader,
        body: &[u8],
        sink: &mut impl Sink,
    ) -> Option<usize> {
        // Names are free again once this is done.
        self.tell(sink);
        let from = self.channel(on).peer;
        if !sink.wants_more() || !self.is_in_order(from, header, sink) {
            return None;
        }
        let is_short = header.kind == RecordKind::Short;
        let is_whole = is_short && body.len() as u64 >= header.len;
        let arrival = Arrival(self.arrivals.insert(Coming {
            channel: on,
            len: header.len,
            here: 0,
            place: if is_short {
                Destination::Kept(Vec::new())
            } else {
                Destination::Asked
            },
            answer: header.own,
        }));
        let landing = sink.arriving(Incoming {
            arrival,
            from,
            envelope: header.envelope,
            len: header.len,
            is_whole,
        });
        let mut bytes = 0;
        if is_whole {
            bytes = header.len as usize;
            self.settle(arrival, &body[..bytes], landing);
        } else {
            if is_short {
                self.channel_mut(on).body = Some((arrival, header.len));
            }
            self.land(arrival, landing);
        }
        Some(bytes)
    }

    /// Lands a message that is here as a whole.
    fn settle(&mut self, arrival: Arrival, body: &[u8], landing: Landing) {
        let coming = self.arrivals.get_mut(arrival.0).expect(NAMED);
        coming.here = coming.len;
        match landing {
            Landing::Into(area) => {
                area.write(0, body);
                self.finish(arrival);
            }
            Landing::Later => coming.place = Destination::Kept(body.to_vec()),
        }
    }

    /// Forgets a message that is complete, and answers its sender if that waits for it. Not before:
    /// the answer lets the sender reuse the memory of the body.
    fn finish(&mut self, arrival: Arrival) {
        let coming = self.arrivals.remove(arrival.0).expect(NAMED);
        if coming.answer != NOBODY {
            self.control(coming.channel, RecordKind::Matched, NOBODY, coming.answer);
        }
    }

    /// Lands a message that was announced. Returns true if it is complete.
    pub(crate) fn land(&mut self, arrival: Arrival, landing: Landing) -> bool {
        let Landing::Into(area) = landing else {
            return false;
        };
        // Its sender may be lost, and the engine not know it yet.
        let Some(coming) = self.arrivals.get_mut(arrival.0) else {
            return false;
        };
        let (channel, answer) = (coming.channel, coming.answer);
        match core::mem::replace(&mut coming.place, Destination::Into(area.clone())) {
            Destination::Asked => {
                coming.answer = NOBODY;
                self.control(channel, RecordKind::Clear, arrival.0, answer);
                return false;
            }
            Destination::Kept(kept) => area.write(0, &*kept),
            Destination::Into(_) => unreachable!("the engine lands a message once"),
        }
        if coming.here == coming.len {
            self.finish(arrival);
            return true;
        }
        false
    }

    /// Returns true if a message of `from` may be announced now, and notes that it is.
    fn is_in_order(&mut self, from: PeerId, header: &RecordHeader, sink: &impl Sink) -> bool {
        let peer = &mut self.peers[from.0 as usize];
        if header.order != peer.announced {
            let may_overtake = sink.may_overtake(from, &header.envelope);
            if may_overtake {
                peer.early.push(header.order);
            }
            return may_overtake;
        }
        peer.announced = peer.announced.wrapping_add(1);
        while let Some(place) = peer.early.iter().position(|it| *it == peer.announced) {
            peer.early.swap_remove(place);
            peer.announced = peer.announced.wrapping_add(1);
        }
        true
    }
}
