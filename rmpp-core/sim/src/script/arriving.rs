//! Packets that come to a node of a script, one by one and in runs.

use rmpp_core::{Header, Landing, NodeId, Placement, Run};

use super::rig::{MOST_PAYLOAD, NOBODY, Rig};
use super::tables::{HEADER_ROOM, Packet};
use crate::checker::{Verdict, hold};

impl Rig {
    /// A packet arrives, as `mpi-lite`'s driver takes it in: cut from its datagram, then handled.
    /// `looks`: it finds out at once what the packet has acknowledged.
    pub(super) fn arrive(&mut self, packet: &Packet, looks: bool) -> Verdict {
        if !self.ends[packet.to as usize].is_alive {
            return Ok(());
        }
        self.start_timers(packet.to);
        let mut datagram = [0; HEADER_ROOM + MOST_PAYLOAD];
        datagram[..packet.header_len].copy_from_slice(packet.head());
        let bytes = packet.header_len + packet.len.min(MOST_PAYLOAD);
        let mut left = &datagram[..bytes];
        while !left.is_empty() {
            self.hear_at_hand(packet.to)?;
            left = self.take_packet(packet, left)?;
        }
        if looks {
            self.hear(packet.to)?;
        }
        Ok(())
    }

    fn take_packet<'a>(&mut self, packet: &Packet, left: &'a [u8]) -> Result<&'a [u8], String> {
        let (now, from) = (self.now, NodeId(packet.from));
        let end = &mut self.ends[packet.to as usize];
        let awaited = end.current.and_then(|id| end.core.incoming().awaited(id));
        let awaited = awaited.filter(|awaited| awaited.is(from, left));
        let cut = end.core.cut(left, left.len());
        let outcome = end.core.handle(from, &cut, now);
        let rest = &left[cut.bytes()..];
        let placement = outcome.unwrap_or(Placement::None);
        if let (
            Some(awaited),
            Placement::Data {
                message, offset, ..
            },
        ) = (awaited, placement)
        {
            hold!(
                (message, offset) == (awaited.message, awaited.offset),
                "I3: data was awaited elsewhere"
            );
        }
        self.place(packet, placement)?;
        Ok(rest)
    }

    fn place(&mut self, packet: &Packet, placement: Placement) -> Verdict {
        let (at, from) = (packet.to, packet.from);
        let is_honest = self.is_honest(from, at);
        let tag = packet.tag.filter(|_| is_honest).unwrap_or(NOBODY);
        let end = &mut self.ends[at as usize];
        match placement {
            Placement::None => Ok(()),
            Placement::First { message, len } => {
                end.incoming.put(message.index(), message, (from, tag))?;
                self.announce(at, message, len)
            }
            Placement::Early { message } => {
                end.incoming.put(message.index(), message, (from, tag))?;
                let whole = end
                    .core
                    .incoming()
                    .land(message, Landing::Later, tag, self.now);
                hold!(whole.is_none(), "I2: message {tag} lands ahead of its turn");
                Ok(())
            }
            Placement::Data { message, .. } => {
                end.current = Some(message);
                let known = end.incoming.get(message.index(), message);
                let (_, known) = known.ok_or("I3: data is placed in a message that is over")?;
                let kept = end.core.incoming().kept(message).copied();
                hold!(
                    kept == Some(known),
                    "I3: data of message {known} is placed in {kept:?}"
                );
                hold!(
                    !is_honest || known == tag,
                    "I3: data of message {tag} is placed in {known}"
                );
                if tag == NOBODY {
                    return Ok(());
                }
                let header = Header::decode(&packet.header).ok_or("a header that was taken")?;
                self.checker.place(tag, header.info2, header.seq)
            }
        }
    }

    /// Packets that were handed out as one arrive as one.
    pub(super) fn arrive_as_run(&mut self, packets: &[Packet]) -> Verdict {
        let (from, to) = (packets[0].from, packets[0].to);
        self.played.packets += packets.len() as u64;
        if !self.ends[to as usize].is_alive {
            return Ok(());
        }
        self.start_timers(to);
        self.hear_at_hand(to)?;
        let core = &self.ends[to as usize].core;
        let mut run = Run::of(&core.cut(packets[0].head(), packets[0].bytes()))
            .ok_or("packets are handed out as one that are no run")?;
        for packet in &packets[1..] {
            hold!(
                run.takes(packet.head(), packet.bytes()),
                "a run as handed out is none: {packet:?}"
            );
        }
        let mut left = packets.iter();
        while run.count() > 0 {
            let core = &mut self.ends[to as usize].core;
            let outcome = core.handle(NodeId(from), &run.packets(), self.now);
            let placement = outcome.unwrap_or(Placement::None);
            let taken = match placement {
                Placement::Data { packets, .. } => packets,
                _ => 1,
            };
            run.skip(taken);
            for packet in left.by_ref().take(taken as usize) {
                self.place(packet, placement)?;
            }
        }
        self.hear(to)
    }
}
