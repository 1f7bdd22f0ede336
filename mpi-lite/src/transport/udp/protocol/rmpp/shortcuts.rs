//! What RMPP does to save time and copies: packets that go out at once, packets whose place is
//! known before they come, and runs of packets.

use rmpp_core::{Awaited, HeaderBytes, NodeId, OutgoingId, Placement, Run};

use super::super::{Expected, Parcel, Shortcuts};
use super::{Destination, LIVING, Rmpp};
use crate::clock::Instant;
use crate::memory::Span;
use crate::transport::{ENVELOPE_BYTES, PeerId};

impl Expected for Awaited {
    #[inline]
    fn header_bytes(&self) -> usize {
        self.header_bytes
    }

    #[inline]
    fn payload_bytes(&self) -> usize {
        self.payload_bytes
    }

    #[inline]
    fn is(&self, from: PeerId, packet: &[u8]) -> bool {
        self.is(NodeId(from.0), packet)
    }
}

/// Data packets of one message.
#[derive(Debug)]
pub(crate) struct Train(Run);

impl super::super::Run for Train {
    #[inline]
    fn count(&self) -> u32 {
        self.0.count()
    }

    #[inline]
    fn header_bytes(&self) -> usize {
        self.0.header_bytes()
    }

    #[inline]
    fn payload_bytes(&self) -> usize {
        self.0.payload_bytes()
    }

    #[inline]
    fn add(&mut self, datagram: &[u8]) -> bool {
        self.0.takes(datagram, datagram.len())
    }
}

impl Shortcuts for Rmpp {
    type Message = OutgoingId;
    type Header = HeaderBytes;
    type Expected = Awaited;
    type Run = Train;

    fn shares_datagrams(&self) -> bool {
        self.shares_datagrams
    }

    #[inline]
    fn transmit_first(
        &mut self,
        id: OutgoingId,
        mut send: impl FnMut(&Parcel<'_, HeaderBytes>),
    ) -> bool {
        let packet = self.core.outgoing().first_packet(id);
        if let Some(packet) = &packet {
            self.hand_out(packet, &mut send);
        }
        packet.is_some()
    }

    #[inline]
    fn note_sent(&mut self, id: OutgoingId, now: Instant) {
        self.core.outgoing().note_sent(id, now);
    }

    #[inline]
    fn is_pressed(&self) -> bool {
        self.core.state().is_pressed
    }

    #[inline]
    fn awaited(&mut self) -> Option<(Awaited, Span)> {
        let id = self.current?;
        let awaited = self.core.incoming().awaited(id)?;
        let Destination::Into(area) = self.core.incoming().kept(id)? else {
            return None;
        };
        let span = area.span()?;
        let offset = usize::try_from(awaited.offset).expect("a range of memory");
        let place = span.part(offset - ENVELOPE_BYTES, awaited.payload_bytes);
        // What does not fit is dropped, but not here.
        if place.len() != awaited.payload_bytes {
            return None;
        }
        self.awaited = Some((id, awaited.offset));
        Some((awaited, place))
    }

    #[inline]
    fn note_in_place(&mut self) {
        self.in_place = self.awaited;
    }

    #[inline]
    fn run_of(&self, datagram: &[u8]) -> Option<Train> {
        let packet = self.core.cut(datagram, datagram.len());
        let run = Run::of(&packet).filter(|_| packet.bytes() == datagram.len());
        run.map(Train)
    }

    fn take_run<'a>(
        &mut self,
        from: PeerId,
        Train(mut run): Train,
        payload: impl Fn(u32) -> &'a [u8],
        now: Instant,
    ) {
        let from = NodeId(from.0);
        let mut done = 0;
        while run.count() > 0 {
            let mut taken = 1;
            // Dropped packets are counted by the core.
            if let Ok(Placement::Data {
                message,
                offset,
                packets,
            }) = self.core.handle(from, &run.packets(), now)
            {
                taken = packets;
                self.has_moved = true;
                self.current = Some(message);
                let mut offset = usize::try_from(offset).expect("a range of memory");
                let place = self.core.incoming().kept(message).expect(LIVING);
                for number in done..done + taken {
                    let payload = payload(number);
                    place.write(offset - ENVELOPE_BYTES, payload);
                    offset += payload.len();
                }
            }
            run.skip(taken);
            done += taken;
        }
    }

    fn note_overflow(&mut self) {
        self.core.incoming().note_overflow();
    }

    fn has_moved(&mut self) -> bool {
        core::mem::take(&mut self.has_moved)
    }
}
