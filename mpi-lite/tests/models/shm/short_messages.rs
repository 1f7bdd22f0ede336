//! The ring: messages come whole and in order, and no byte is touched by both sides at once.

use super::ring::{Consumer, Note, Producer};
use super::segment::Pair;
use crate::sync::{Bug, Role, check, interrupted};

fn note(number: u64, bytes: usize) -> Note {
    let kind = u8::try_from(number).expect("a few messages") + 1;
    Note { kind, bytes }
}

fn send(pair: &'static Pair, bodies: &[usize]) {
    let mut ring = Producer::new(pair);
    for (number, &bytes) in (0..).zip(bodies) {
        while !ring.has_room(1, bytes) {
            loom::thread::yield_now();
        }
        if bytes > 0 {
            ring.body(bytes).fill(number + 7);
        }
        ring.push(note(number, bytes), [number + 3]);
    }
}

fn receive(pair: &'static Pair, bodies: &[usize]) {
    let mut ring = Consumer::new(pair);
    for (number, &bytes) in (0..).zip(bodies) {
        let seen = loop {
            match ring.peek() {
                Some(seen) => break seen,
                None => loom::thread::yield_now(),
            }
        };
        assert_eq!(seen, note(number, bytes));
        assert_eq!(ring.word(0), number + 3);
        if bytes > 0 {
            let body = ring.body(bytes).expect("a body that fits");
            assert!(body.is(number + 7), "bytes of another message");
        }
        ring.take(bytes);
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
    // The last does not fit behind the others: the rest of the ring is left out.
    check(&bugs, || pass(&[128, 64, 128, 100, 128]));
}
