//! Rule S: what a packet must be like before any state is touched.

use super::Endpoint;
use crate::caps::Caps;
use crate::config::Bug;
use crate::error::Dropped;
use crate::ids::NodeId;
use crate::packet::{HEADER_BYTES, Header, Kind, Packet, header_bytes_of, source_of, version_of};

impl<Out, In> Endpoint<Out, In> {
    /// Why what came is no packet, in the order of rule S.
    // Rule S.
    #[cold]
    pub(super) fn what_is_wrong(&self, from: NodeId, packet: &Packet<'_>) -> Dropped {
        let bytes = packet.head;
        if bytes.len() < HEADER_BYTES {
            return Dropped::TooShort;
        }
        // Rule P2.
        if version_of(bytes) != Some(self.common.config().version) {
            return Dropped::Version;
        }
        let Some(src) = header_bytes_of(bytes).and_then(|_| source_of(bytes)) else {
            return Dropped::TooShort;
        };
        if !self.is_between(from, src) {
            return Dropped::Source;
        }
        let Some(header) = Header::decode(bytes) else {
            return Dropped::Kind;
        };
        // Its payload does not have the length of its header, or there is no such header.
        self.validate(from, &header)
            .err()
            .unwrap_or(Dropped::Fields)
    }

    /// Checks a packet, touches nothing. Its payload has the length of its header.
    // Rule S.
    #[inline]
    pub(super) fn validate(&self, from: NodeId, header: &Header) -> Result<(), Dropped> {
        // Rule P2.
        if header.version != self.common.config().version {
            return Err(Dropped::Version);
        }
        if !self.is_between(from, header.src) || !self.comes_from_the_right_side(header, from) {
            return Err(Dropped::Source);
        }
        if !self.fields_fit(header) {
            return Err(Dropped::Fields);
        }
        if self.sender.is_lost(from.0) {
            return Err(Dropped::PeerLost);
        }
        Ok(())
    }

    /// Returns true if `from` is another node, and a message of `src` is one between it and this
    /// one.
    #[inline]
    fn is_between(&self, from: NodeId, src: u32) -> bool {
        let is_known = from.0 < self.common.config().nodes && from.0 != self.common.me();
        is_known && (src == from.0 || src == self.common.me() || self.common.has(Bug::TrustSource))
    }

    /// `srcNID` names the message's source: the peer for what a sender sends, this node for what a
    /// receiver answers. A GCH may come from both sides (rule H).
    fn comes_from_the_right_side(&self, header: &Header, from: NodeId) -> bool {
        if self.common.has(Bug::TrustSource) {
            return true;
        }
        match header.kind {
            Kind::Cts | Kind::MsgEnd | Kind::MsgDrop => header.src == self.common.me(),
            Kind::Gch => true,
            _ => header.src == from.0,
        }
    }
}

/// The payload that goes with a header; `None` when length and sequence number contradict the
/// type.
pub(super) fn payload_bytes(header: &Header, packet_bytes: usize) -> Option<usize> {
    let shape = header.shape(packet_bytes);
    let last = shape.last_seq();
    match header.kind {
        Kind::Rts => (!shape.is_short()).then_some(packet_bytes),
        Kind::LastRts => shape.is_short().then(|| shape.first_bytes()),
        Kind::Data | Kind::StopData => (1..last).contains(&header.seq).then_some(packet_bytes),
        Kind::LastData => (last > 0 && header.seq == last).then(|| shape.data_bytes(header.seq)),
        Kind::Cts => (1..=last).contains(&header.seq).then_some(0),
        Kind::MsgEnd | Kind::MsgDrop | Kind::Gch | Kind::Null => Some(0),
    }
}

impl<Out, In> Endpoint<Out, In> {
    /// Returns true if length, grant and flags agree with the type. Payload and sequence number
    /// have been compared with it already.
    #[inline]
    fn fields_fit(&self, header: &Header) -> bool {
        let caps = self.common.caps();
        let grant_fits = match header.kind {
            Kind::Data | Kind::StopData | Kind::LastData => {
                header.info1 > 0 || caps.has(Caps::SNAK)
            }
            Kind::Cts => header.info1 > 0,
            _ => true,
        };
        grant_fits && header.flags.is_known() && header.len <= self.common.config().longest()
    }
}
