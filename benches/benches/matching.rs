//! Matching: a message finds its receive, a receive finds its message, in short and long queues.
//! The queue is emptied in the reverse order of its filling: the worst a program can do.

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mpi_lite::engine::Request;
use mpi_lite::engine::envelope::Envelope;
use mpi_lite::engine::matching::{Body, Pattern, Posted, Unexpected, UnexpectedMessage};
use mpi_lite::ids::Context;
use mpi_lite::slab::Key;

const DEPTHS: [usize; 3] = [1, 16, 1000];

fn tag(number: usize) -> i32 {
    i32::try_from(number).expect("a small number")
}

fn envelope(number: usize) -> Envelope {
    Envelope {
        context: Context::WORLD,
        source: 1,
        tag: tag(number),
        synchronous: false,
    }
}

fn pattern(number: usize, is_any_source: bool) -> Pattern {
    Pattern {
        context: Context::WORLD,
        source: (!is_any_source).then_some(1),
        tag: Some(tag(number)),
    }
}

fn posted(depth: usize, is_any_source: bool) -> Posted {
    let mut queue = Posted::default();
    for number in 0..depth {
        let index = u32::try_from(number).expect("a small number");
        let key = Key {
            index,
            generation: 0,
        };
        queue.push(pattern(number, is_any_source), Request(key));
    }
    queue
}

fn unexpected(depth: usize) -> Unexpected {
    let mut queue = Unexpected::default();
    for number in 0..depth {
        queue.push(UnexpectedMessage {
            envelope: envelope(number),
            len: 0,
            body: Body::Whole(Vec::new()),
        });
    }
    queue
}

fn empty_posted(queue: &mut Posted, depth: usize) {
    for number in (0..depth).rev() {
        queue
            .take(&envelope(number))
            .expect("its receive is posted");
    }
}

fn empty_unexpected(queue: &mut Unexpected, depth: usize) {
    for number in (0..depth).rev() {
        let place = queue
            .extract(&pattern(number, true))
            .expect("its message is there");
        queue.discard(place);
    }
}

fn matching(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("matching");
    for depth in DEPTHS {
        group.throughput(Throughput::Elements(depth as u64));
        for (name, is_any_source) in [("posted", false), ("posted, any source", true)] {
            group.bench_function(BenchmarkId::new(name, depth), |bencher| {
                let fresh = || posted(depth, is_any_source);
                let empty = |queue: &mut Posted| empty_posted(queue, depth);
                bencher.iter_batched_ref(fresh, empty, BatchSize::SmallInput);
            });
        }
        group.bench_function(BenchmarkId::new("unexpected", depth), |bencher| {
            let empty = |queue: &mut Unexpected| empty_unexpected(queue, depth);
            bencher.iter_batched_ref(|| unexpected(depth), empty, BatchSize::SmallInput);
        });
    }
    group.finish();
}

criterion_group!(queues, matching);
criterion_main!(queues);
