//! Coding of the 28-byte header: every packet pays for both directions once.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use rmpp_core::{Flags, Header, Kind, VERSION};

fn header() -> Header {
    Header {
        kind: Kind::ALL[0],
        version: VERSION,
        src: 3,
        msg_id: 17,
        len: 1_000_000,
        seq: 42,
        info1: 16,
        info2: 1,
        msg_num: 7,
        ack: 0,
        flags: Flags::NONE,
    }
}

fn code(criterion: &mut Criterion) {
    let header = header();
    let bytes = header.encode();
    criterion.bench_function("encode a header", |bencher| {
        bencher.iter(|| black_box(&header).encode());
    });
    criterion.bench_function("decode a header", |bencher| {
        bencher.iter(|| Header::decode(black_box(&bytes)));
    });
}

criterion_group!(packet, code);
criterion_main!(packet);
