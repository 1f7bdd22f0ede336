//! Long messages that both sides copy: every byte comes once, the receiver knows when all are
//! there, and the sender may reuse body and transfer as soon as it hears so.

use loom::sync::atomic::AtomicU32;
use loom::sync::atomic::Ordering::{Acquire, Release};
use loom::thread::yield_now;

use super::transfer::{Copying, Origin, Progress, Side, help};
use crate::memory::{Memory, Span};
use crate::node::peer_memory::PeerMemory;
use crate::node::segment::Transfer;
use crate::sync::{Bug, Role, check};

const BYTES: usize = 3 * (32 << 10);
const PIECE: usize = 4096;
const BODY: usize = 1 << 40;
const ROOM: usize = 1 << 41;

/// Words that stand for the slots `Long` and `Done`: a ring hands over what was done before.
struct Notes {
    told: AtomicU32,
    done: AtomicU32,
}

fn wait_for(word: &AtomicU32, number: u32) {
    while word.load(Acquire) < number {
        yield_now();
    }
}

/// The sender, which waits and therefore helps, from one end.
fn send(
    body: Span,
    transfer: &Transfer,
    notes: &Notes,
    messages: u32,
    (local_peer, side): (PeerMemory, Side),
) {
    for number in 1..=messages {
        body.fill(u64::from(number));
        transfer.reset();
        notes.told.store(number, Release);
        while notes.done.load(Acquire) < number {
            help((local_peer, side), body, transfer);
            yield_now();
        }
    }
    body.fill(0);
}

/// The receiver, which copies from the other end. Returns how often each piece of its room was
/// written.
fn receive(transfer: &'static Transfer, notes: &Notes, messages: u32, side: Side) -> Vec<u32> {
    let room = Memory::at(ROOM, BYTES, PIECE);
    let local_peer = PeerMemory { writable_from: 0 };
    for number in 1..=messages {
        room.span().fill(0);
        wait_for(&notes.told, number);
        let origin = Origin {
            from: 0,
            local_peer,
            side,
            address: BODY as u64,
        };
        let mut copying = Copying::begin(origin, BYTES as u64, room.span(), Some(transfer));
        loop {
            match copying.go_on() {
                Progress::Going => {}
                Progress::Waiting => yield_now(),
                Progress::Done => break,
                Progress::Failed => panic!("the system copies"),
            }
        }
        assert!(room.span().is(u64::from(number)), "bytes are missing");
        notes.done.store(number, Release);
    }
    room.writes()
}

/// Both sides; the system lets the sender write from this address on. The receiver is `me`, the
/// sender `other`.
fn copy(messages: u32, writable_from: usize, (me, other): (u32, u32)) -> Vec<u32> {
    let body = Memory::at(BODY, BYTES, PIECE).span();
    let transfer = Transfer::leak();
    let notes: &Notes = Box::leak(Box::new(Notes {
        told: AtomicU32::new(0),
        done: AtomicU32::new(0),
    }));
    let local_peer = PeerMemory {
        writable_from: writable_from as u64,
    };
    let sender = loom::thread::spawn(move || {
        let helper = (local_peer, Side::of(other, me));
        send(body, transfer, notes, messages, helper);
    });
    let writes = receive(transfer, notes, messages, Side::of(me, other));
    sender.join().expect("it ends");
    writes
}

#[test]
fn every_byte_is_copied_once_and_the_body_free_when_all_are_there() {
    let bugs = [
        Bug::StoresRelaxed(Role::Place),
        Bug::LoadsRelaxed(Role::Place),
        Bug::Torn(Role::Claims),
        Bug::OneTooMany(Role::Copied),
        Bug::StoresRelaxed(Role::Copied),
        Bug::LoadsRelaxed(Role::Copied),
    ];
    let copy = |ranks| {
        let writes = copy(1, 0, ranks);
        // Once by the earlier owner of the room, once by the copy.
        assert!(writes.iter().all(|&writes| writes == 2), "{writes:?}");
    };
    check(&bugs, move || copy((1, 0)));
    check(&bugs, move || copy((0, 1)));
}

#[test]
fn a_transfer_is_used_again_as_soon_as_its_message_is_done() {
    check(&[Bug::Torn(Role::Claims)], || {
        let writes = copy(2, 0, (1, 0));
        assert!(writes.iter().all(|&writes| writes == 4), "{writes:?}");
    });
}

#[test]
fn the_receiver_reads_what_the_sender_may_not_write() {
    let bugs = [Bug::OneTooMany(Role::Copied)];
    check(&bugs, || {
        copy(1, ROOM + 2 * BYTES / 3, (1, 0));
    });
    // From the front it may write nothing.
    check(&bugs, || {
        copy(1, ROOM + 2 * BYTES / 3, (0, 1));
    });
}
