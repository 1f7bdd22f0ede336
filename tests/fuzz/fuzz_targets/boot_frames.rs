//! What a rank and its launcher say to each other, and the cards that ranks exchange by way of it:
//! any bytes are messages or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mpi_lite::boot::protocol::{FromRank, ToRank};
use mpi_lite::hosts::Hosts;
use mpi_lite::transport::udp::{Card, agree};
use mpi_lite_fuzz::frames::{check, stream_of};

fuzz_target!(|input: &[u8]| {
    let Some((step, stream)) = stream_of(input) else {
        return;
    };
    check::<FromRank>(&stream, step);
    check::<ToRank>(&stream, step);
    if let Ok((card, rest)) = postcard::take_from_bytes::<Card>(&input[1..]) {
        let second = postcard::from_bytes(rest).unwrap_or_else(|_| card.clone());
        let hosts = Hosts::of(&["one", "two"]);
        let _ = agree(&[card, second], &hosts);
    }
});
