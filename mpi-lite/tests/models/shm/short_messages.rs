//! The ring: messages come whole and in order, and no byte is touched by both sides at once.

use std::sync::Arc;

use super::reply_slot::ReplySlot;
use super::ring::{Consumer, Producer, RELAY_PIECE_BYTES, SlotHeader};
use crate::memory::{Memory, Span};
use crate::node::segment::Pair;
use crate::sync::{Bug, Role, check, interrupted, is_planted};

/// Where the bodies of messages come from.
const SOURCES: usize = 0x1000;

fn kind(number: u64) -> u8 {
    u8::try_from(number).expect("a few messages") + 1
}

fn send(ring: &mut Producer, bodies: &[usize], first: u64) {
    for (number, &bytes) in (first..).zip(bodies) {
        while !ring.has_room(1, bytes) {
            loom::thread::yield_now();
        }
        let words = [number + 3];
        if bytes == 0 {
            ring.push(SlotHeader::new(kind(number), 0), words);
            continue;
        }
        let source = Memory::at(SOURCES, bytes.next_multiple_of(64), 64).span();
        source.fill(number + 7);
        if !ring.fits_reply(bytes) {
            ring.push_body(kind(number), source.part(0, bytes), words);
            continue;
        }
        for at in (0..bytes).step_by(RELAY_PIECE_BYTES) {
            let piece = source.part(at, RELAY_PIECE_BYTES);
            let (place, is_last) = (at, at + piece.len() == bytes);
            let fill = |room: Span| {
                room.copy_from(piece);
            };
            ring.relay_piece((kind(number), place, piece.len()), is_last, words, fill);
        }
    }
}

fn receive(ring: &mut Consumer, bodies: &[usize], first: u64) {
    for (number, &bytes) in (first..).zip(bodies) {
        let mut come = 0;
        loop {
            let seen = next(ring);
            assert_eq!((seen.kind, ring.word(0)), (kind(number), number + 3));
            if bytes > 0 {
                let body = ring.body(seen, come).expect("a body that fits");
                assert!(body.is(number + 7), "bytes of another message");
            }
            ring.take((bytes > 0).then_some(seen));
            come += seen.bytes;
            if come == bytes {
                break;
            }
        }
    }
}

/// Waits for the next slot.
fn next(ring: &mut Consumer) -> SlotHeader {
    loop {
        match ring.peek() {
            Some(seen) => return seen,
            None => loom::thread::yield_now(),
        }
    }
}

fn pass(bodies: &'static [usize]) {
    let pair = Pair::leak();
    let sender = move || {
        let mut ring = Producer::new(pair, ReplySlot::new(&pair.reply, true), 2);
        send(&mut ring, bodies, 0);
    };
    let sender = loom::thread::spawn(move || interrupted(sender));
    let mut ring = Consumer::new(pair, ReplySlot::new(&pair.reply, false), 2);
    receive(&mut ring, bodies, 0);
    sender.join().expect("it ends");
}

/// One side of two that talk: its ends of the channels from and to the other one.
fn side([out, back]: [&'static Pair; 2], is_first: bool) -> (Producer, Consumer) {
    let reply = if is_first { &out.reply } else { &back.reply };
    let reply_slot = ReplySlot::new(reply, is_first || is_planted(Bug::TwoReplySlots));
    let producer = Producer::new(out, Arc::clone(&reply_slot), 2);
    (producer, Consumer::new(back, reply_slot, 2))
}

/// Both send the same, again and again, each what the other one has just sent.
fn talk(bodies: &'static [usize], rounds: u64) {
    let [there, back] = [0, 1].map(|_| Pair::leak());
    let firsts = move || (0..rounds).map(|round| round * bodies.len() as u64);
    let first = move || {
        let (mut out, mut ring) = side([there, back], true);
        for first in firsts() {
            send(&mut out, bodies, first);
            receive(&mut ring, bodies, first + 100);
        }
    };
    let first = loom::thread::spawn(move || interrupted(first));
    let (mut out, mut ring) = side([back, there], false);
    for first in firsts() {
        receive(&mut ring, bodies, first);
        send(&mut out, bodies, first + 100);
    }
    first.join().expect("it ends");
}

#[test]
fn slots_are_used_again_only_when_they_are_read() {
    let bugs = [
        Bug::StoresRelaxed(Role::Sequence),
        Bug::LoadsRelaxed(Role::Sequence),
        Bug::OneTooMany(Role::Taken),
    ];
    check(&bugs, || pass(&[0; 10]));
}

#[test]
fn bodies_are_overwritten_only_when_they_are_read() {
    let bugs = [
        Bug::StoresRelaxed(Role::Sequence),
        Bug::LoadsRelaxed(Role::Sequence),
        Bug::StoresRelaxed(Role::Taken),
        Bug::LoadsRelaxed(Role::Taken),
    ];
    // The first body goes with the reply slot. From the middle of the ring on the sender starts
    // over, if all is read.
    check(&bugs, || pass(&[64, 128, 128, 128, 128, 64, 64]));
}

#[test]
fn the_owner_of_the_reply_slot_overwrites_only_what_it_has_read() {
    let bugs = [
        Bug::StoresRelaxed(Role::Sequence),
        Bug::LoadsRelaxed(Role::Sequence),
        Bug::TwoReplySlots,
    ];
    // The second message of each round goes through the ring.
    check(&bugs, || talk(&[64, 0], 2));
}

#[test]
fn pieces_in_the_reply_buffer_are_read_before_the_buffer_comes_back() {
    let bugs = [
        Bug::StoresRelaxed(Role::Sequence),
        Bug::LoadsRelaxed(Role::Sequence),
    ];
    // The first piece has a slot of the ring; the second one passes the buffer.
    check(&bugs, || talk(&[2 * RELAY_PIECE_BYTES], 2));
}

/// A requested message of `pieces` pieces goes through a reply buffer in which one has room.
fn answer_request(pieces: usize) {
    const RANKS_OF_ONE_PIECE: u32 = 64;
    let pair = Pair::leak();
    let sender = move || {
        let reply_slot = ReplySlot::new(&pair.reply, true);
        let mut ring = Producer::new(pair, reply_slot, RANKS_OF_ONE_PIECE);
        let source = Memory::at(SOURCES, RELAY_PIECE_BYTES, 64).span();
        for number in 0..pieces {
            while !ring.has_room_to_relay(RELAY_PIECE_BYTES) {
                loom::thread::yield_now();
            }
            source.fill(number as u64 + 7);
            let piece = (1, number * RELAY_PIECE_BYTES, RELAY_PIECE_BYTES);
            let fill = |room: Span| {
                room.copy_from(source);
            };
            ring.count_relayed(RELAY_PIECE_BYTES);
            ring.relay_piece(piece, number + 1 == pieces, [0], fill);
        }
    };
    let sender = loom::thread::spawn(move || interrupted(sender));
    let reply_slot = ReplySlot::new(&pair.reply, false);
    let mut ring = Consumer::new(pair, reply_slot, RANKS_OF_ONE_PIECE);
    for number in 0..pieces {
        let seen = next(&mut ring);
        let body = ring.body(seen, number * RELAY_PIECE_BYTES);
        assert!(
            body.expect("a body that fits").is(number as u64 + 7),
            "bytes of another piece"
        );
        ring.report_relayed(seen);
        ring.take(Some(seen));
    }
    sender.join().expect("it ends");
}

#[test]
fn a_piece_of_a_requested_message_is_overwritten_only_when_it_is_read() {
    let bugs = [
        Bug::StoresRelaxed(Role::Sequence),
        Bug::LoadsRelaxed(Role::Sequence),
        Bug::StoresRelaxed(Role::Taken),
        Bug::LoadsRelaxed(Role::Taken),
    ];
    check(&bugs, || answer_request(3));
}
