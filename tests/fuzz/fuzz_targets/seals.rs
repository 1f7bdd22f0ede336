//! Datagrams of the ranks of a job among those of somebody without its key: what is true opens
//! once, with what was sent; nothing else opens.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use mpi_lite::config::Secure;
use mpi_lite::transport::udp::fuzzing::Seals;

#[derive(Arbitrary, Debug)]
enum Way {
    Cookie,
    Tag,
    Encrypt,
}

#[derive(Arbitrary, Debug)]
enum Act<'a> {
    Send(u8, u8, &'a [u8], u8),
    Long(u8, u8, u16, u16),
    Give(u8),
    Lie(u8, u8, u16, u8, u8),
    Stray(u8, u8, &'a [u8]),
}

fuzz_target!(|input: (Way, Vec<Act<'_>>)| {
    let mut seals = Seals::new(match input.0 {
        Way::Cookie => Secure::Cookie,
        Way::Tag => Secure::Tag,
        Way::Encrypt => Secure::Encrypt,
    });
    for act in input.1 {
        match act {
            Act::Send(from, to, packets, head) => {
                seals.send((from.into(), to.into()), packets, head.into());
            }
            Act::Long(from, to, bytes, head) => {
                let packets = vec![from; usize::from(bytes % 9_000)];
                seals.send((from.into(), to.into()), &packets, head.into());
            }
            Act::Give(number) => seals.give(number.into()),
            Act::Lie(number, at, place, change, cut) => {
                let change = (usize::from(place), change);
                seals.lie(number.into(), at.into(), change, cut.into());
            }
            Act::Stray(at, from, bytes) => seals.stray(at.into(), from.into(), bytes),
        }
    }
});
