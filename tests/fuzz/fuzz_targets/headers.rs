//! Any bytes at the parser of packets and at an endpoint that knows nothing of their sender: they
//! are cut and decoded or refused, an encoding decodes to the same, and memory is bounded.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mpi_lite_fuzz::memory::peak_of;
use rmpp_core::{Caps, Config, Endpoint, Header, Instant, NodeId};

/// Bytes of payload in a packet.
const PACKET: usize = 100;

/// More than an endpoint of three nodes takes for a hundred packets of strangers.
const MOST_BYTES: usize = 1 << 20;

fn play(input: &[u8]) {
    let Some((&how, bytes)) = input.split_first() else {
        return;
    };
    let profile = ["classic", "fast", "fast,-ooo", "fast,-lazy"][usize::from(how % 4)];
    let caps = Caps::parse(profile).expect("a profile");
    let mut node: Endpoint = Endpoint::new(NodeId(1), Config::with_caps(3, PACKET, caps));
    let mut rest = bytes;
    while !rest.is_empty() {
        let packet = node.cut(rest, rest.len());
        assert!(packet.bytes() <= rest.len() && packet.bytes() > 0);
        rest = &rest[packet.bytes()..];
    }
    if let Some(header) = Header::decode(bytes) {
        let again = Header::decode(&header.encode()).map(|again| Header {
            flags: header.flags,
            ..again
        });
        assert_eq!(again, Some(header));
    }
    // A length of the packet, its sender, and its header.
    for piece in bytes.chunks(40) {
        let (from, len) = (piece[0] % 4, usize::from(piece[piece.len() / 2]));
        let packet = node.cut(&piece[1..], piece.len() - 1 + len);
        let _ = node.handle(NodeId(from.into()), &packet, Instant::ZERO);
        while node.poll_event().is_some() {}
    }
    while node.poll_transmit(Instant::ZERO, 1).is_some() {}
}

fuzz_target!(|input: &[u8]| {
    let ((), peak) = peak_of(|| play(input));
    assert!(peak < MOST_BYTES, "{peak} bytes");
});
