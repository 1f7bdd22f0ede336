//! What goes out of the driver to whatever carries datagrams.

use super::guest::Header;
use crate::data::Part;
use crate::transport::Peer;

/// What goes out: a packet, or a run of packets that only their numbers tell apart.
pub(crate) struct Parcel<'a, H> {
    pub(crate) to: Peer,
    /// Of the first packet; those behind it have [`Header::behind`].
    pub(crate) header: &'a H,
    pub(crate) packets: u32,
    /// What stands before the body of a first packet; else empty.
    pub(crate) envelope: &'a [u8],
    /// The bodies of all packets, each as long as the others.
    pub(crate) body: Part<'a>,
}

impl<'a, H: Header> Parcel<'a, H> {
    /// Header and body of the packet with this place in the run.
    #[inline]
    pub(crate) fn packet(&self, number: u32) -> (H, Part<'a>) {
        let bytes = self.body.len() / self.packets as usize;
        let body = self.body.part(number as usize * bytes, bytes);
        (self.header.behind(number), body)
    }
}
