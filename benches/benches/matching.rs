//! Matching: a message finds its receive, a receive finds its message, in short and deep queues.
//! A queue is filled and emptied, again and again: in the order of its filling, in the reverse
//! order, which is the worst for a scan, and in one without order, which is the worst for caches.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mpi_lite::engine::Request;
use mpi_lite::engine::envelope::{Envelope, Flags};
use mpi_lite::engine::matching::{Body, Buffered, Pattern, Posted, Unexpected, UnexpectedMessage};
use mpi_lite::ids::Context;
use mpi_lite::slab::Key;

const DEPTHS: [usize; 6] = [1, 16, 64, 1000, 20_000, 200_000];

/// What a pattern leaves open.
#[derive(Clone, Copy)]
enum Open {
    Nothing,
    Source,
    Tag,
}

const SHAPES: [(&str, Open); 3] = [
    ("exact", Open::Nothing),
    ("any source", Open::Source),
    ("any tag", Open::Tag),
];

/// The numbers below a depth, in some order.
type Numbers = fn(usize) -> Vec<u32>;

/// In which order the queue is emptied.
const ORDERS: [(&str, Numbers); 3] = [
    ("in order", |depth| numbers(depth).collect()),
    ("reverse", |depth| numbers(depth).rev().collect()),
    ("no order", shuffled),
];

fn numbers(depth: usize) -> std::ops::Range<u32> {
    0..u32::try_from(depth).expect("a small number")
}

/// A step that has no divisor in common with the depths reaches every number.
fn shuffled(depth: usize) -> Vec<u32> {
    const STEP: u64 = 99_991;
    let depth = depth as u64;
    let number = |i: u64| u32::try_from(i * STEP % depth).expect("a small number");
    (0..depth).map(number).collect()
}

/// The message of this number: its source, if the pattern leaves the tag open, else its tag.
fn envelope(number: u32, open: Open) -> Envelope {
    let (source, tag) = match open {
        Open::Tag => (number, 1),
        Open::Nothing | Open::Source => (1, number.cast_signed()),
    };
    Envelope {
        context: Context::WORLD,
        source,
        tag,
        flags: Flags::default(),
    }
}

fn pattern(number: u32, open: Open) -> Pattern {
    let Envelope {
        context,
        source,
        tag,
        ..
    } = envelope(number, open);
    Pattern {
        context,
        source: (!matches!(open, Open::Source)).then_some(source),
        tag: (!matches!(open, Open::Tag)).then_some(tag),
    }
}

fn pass_posted(queue: &mut Posted, order: &[u32], open: Open) {
    for index in numbers(order.len()) {
        let generation = 0;
        let request = Request(Key { index, generation });
        queue.push(pattern(index, open), request);
    }
    for &number in order {
        let request = queue.take(&envelope(number, open));
        assert_eq!(request.expect("it is posted").0.index, number);
    }
}

fn pass_unexpected(queue: &mut Unexpected, order: &[u32], open: Open) {
    for number in numbers(order.len()) {
        queue.push(UnexpectedMessage {
            envelope: envelope(number, open),
            len: u64::from(number),
            body: Body::Whole(Buffered::Buffer(Vec::new())),
        });
    }
    for &number in order {
        let place = queue.extract(&pattern(number, open)).expect("it is there");
        let message = queue.remove(place).expect("it keeps its place");
        assert_eq!(message.len, u64::from(number));
    }
}

fn matching(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("matching");
    for (shape, open) in SHAPES {
        for (order, numbers) in ORDERS {
            for depth in DEPTHS {
                let order_of = numbers(depth);
                group.throughput(Throughput::Elements(depth as u64));
                let id = |queue| BenchmarkId::new(format!("{queue} {shape}, {order}"), depth);
                let mut queue = Posted::default();
                group.bench_function(id("posted"), |bencher| {
                    bencher.iter(|| pass_posted(&mut queue, &order_of, open));
                });
                let mut queue = Unexpected::default();
                group.bench_function(id("unexpected"), |bencher| {
                    bencher.iter(|| pass_unexpected(&mut queue, &order_of, open));
                });
            }
        }
    }
    group.finish();
}

criterion_group!(queues, matching);
criterion_main!(queues);
