//! Rule S: what a packet must be like before any state is touched.

use super::Endpoint;
use crate::config::Bug;
use crate::error::Dropped;
use crate::ids::NodeId;
use crate::packet::{HEADER_BYTES, Header, Kind, Shape, source_of, version_of};

impl Endpoint {
    /// Checks a packet in the order of rule S; touches nothing.
    // Rule S.
    pub(super) fn sift(
        &self,
        from: NodeId,
        bytes: &[u8],
        payload_len: usize,
    ) -> Result<Header, Dropped> {
        if bytes.len() < HEADER_BYTES {
            return Err(Dropped::TooShort);
        }
        // Rule P2.
        if version_of(bytes) != Some(self.config.version) {
            return Err(Dropped::Version);
        }
        let src = source_of(bytes).ok_or(Dropped::TooShort)?;
        let known = from.0 < self.config.nodes && from.0 != self.me;
        let trusting = self.config.has(Bug::TrustSource);
        if !known || (src != from.0 && src != self.me && !trusting) {
            return Err(Dropped::Source);
        }
        let header = Header::decode(bytes).ok_or(Dropped::Kind)?;
        if !self.comes_from_the_right_side(&header, from) {
            return Err(Dropped::Source);
        }
        if !fields_fit(&header, payload_len, self.config.packet_bytes) {
            return Err(Dropped::Fields);
        }
        if self.paths[from.0 as usize].lost {
            return Err(Dropped::PeerLost);
        }
        Ok(header)
    }

    /// `srcNID` names the message's source: the peer for what a sender sends, this node for what a
    /// receiver answers. A GCH may come from both sides (rule H).
    fn comes_from_the_right_side(&self, header: &Header, from: NodeId) -> bool {
        if self.config.has(Bug::TrustSource) {
            return true;
        }
        match header.kind {
            Kind::Cts | Kind::MsgEnd | Kind::MsgDrop => header.src == self.me,
            Kind::Gch => true,
            _ => header.src == from.0,
        }
    }
}

/// Whether length, sequence number, grant and payload agree with the type.
fn fields_fit(header: &Header, payload_len: usize, packet_bytes: usize) -> bool {
    let shape = Shape {
        len: header.len,
        packet_bytes,
    };
    let (seq, last) = (header.seq, shape.last_seq());
    match header.kind {
        Kind::Rts => !shape.is_short() && payload_len == packet_bytes,
        Kind::LastRts => shape.is_short() && payload_len == shape.first_bytes(),
        Kind::Data | Kind::StopData => {
            (1..last).contains(&seq) && payload_len == packet_bytes && header.info1 > 0
        }
        Kind::LastData => {
            seq > 0 && seq == last && payload_len == shape.data_bytes(seq) && header.info1 > 0
        }
        Kind::Cts => payload_len == 0 && header.info1 > 0 && (1..=last).contains(&seq),
        Kind::MsgEnd | Kind::MsgDrop | Kind::Gch | Kind::Null => payload_len == 0,
    }
}
