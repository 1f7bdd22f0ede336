//! The ring: messages come whole and in order, and no byte is touched by both sides at once.

use super::ring::{Consumer, Note, Producer};
use super::segment::Pair;
use crate::memory::Memory;
use crate::sync::{Bug, Role, check, interrupted};

/// Where the bodies of messages come from.
const SOURCES: usize = 0x1000;

fn kind(number: u64) -> u8 {
    u8::try_from(number).expect("a few messages") + 1
}

fn send(pair: &'static Pair, bodies: &[usize]) {
    let mut ring = Producer::new(pair, 2);
    for (number, &bytes) in (0..).zip(bodies) {
        while !ring.has_room(1, bytes) {
            loom::thread::yield_now();
        }
        let words = [number + 3];
        if bytes == 0 {
            ring.push(Note::new(kind(number), 0), words);
        } else {
            let source = Memory::at(SOURCES, bytes.next_multiple_of(64), 64).span();
            source.fill(number + 7);
            ring.push_body(kind(number), source.part(0, bytes), words);
        }
    }
}

fn receive(pair: &'static Pair, bodies: &[usize]) {
    let mut ring = Consumer::new(pair, 2);
    for (number, &bytes) in (0..).zip(bodies) {
        let seen = loop {
            match ring.peek() {
                Some(seen) => break seen,
                None => loom::thread::yield_now(),
            }
        };
        assert_eq!((seen.kind, seen.bytes), (kind(number), bytes));
        assert_eq!(ring.word(0), number + 3);
        if bytes > 0 {
            let body = ring.body(seen).expect("a body that fits");
            assert!(body.is(number + 7), "bytes of another message");
        }
        ring.take((bytes > 0).then_some(seen));
    }
}

fn pass(bodies: &'static [usize]) {
    let pair = Pair::leak();
    let sender = loom::thread::spawn(move || interrupted(|| send(pair, bodies)));
    receive(pair, bodies);
    sender.join().expect("it ends");
}

#[test]
fn slots_are_used_again_only_when_they_are_read() {
    let bugs = [
        Bug::StoresRelaxed(Role::Stamp),
        Bug::LoadsRelaxed(Role::Stamp),
        Bug::OneTooMany(Role::Taken),
    ];
    check(&bugs, || pass(&[0; 10]));
}

#[test]
fn bodies_are_overwritten_only_when_they_are_read() {
    let bugs = [
        Bug::StoresRelaxed(Role::Stamp),
        Bug::LoadsRelaxed(Role::Stamp),
        Bug::StoresRelaxed(Role::Taken),
        Bug::LoadsRelaxed(Role::Taken),
    ];
    // From the middle of the ring on the sender starts over, if all is read.
    check(&bugs, || pass(&[128, 128, 128, 128, 64, 64]));
}
