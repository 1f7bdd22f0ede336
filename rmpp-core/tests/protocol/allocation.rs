//! A steady load does not allocate: state, queues and tables are reused.
#![expect(
    unsafe_code,
    reason = "counting allocations needs an allocator of our own"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use rmpp_core::{Endpoint, Instant, Landing, Message, NodeId, Placement};

use crate::wire;

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: everything is left to the system's allocator; counting touches a thread-local integer
// that has no destructor and needs no allocation.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`, which is the same.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Carries everything between two nodes until neither has more to send.
fn carry(nodes: &mut [Endpoint; 2], now: Instant) {
    let mut idle = 0;
    let mut from = 0;
    while idle < 2 {
        match nodes[from].poll_transmit(now, 1) {
            None => {
                idle += 1;
                from = 1 - from;
            }
            Some(packet) => {
                idle = 0;
                let (me, to) = (NodeId(from as u32), &mut nodes[1 - from]);
                let placement = wire::handle((to, me), &packet.header, packet.len, now);
                if let Ok(Placement::First { message, .. }) = placement {
                    to.incoming().land(message, Landing::Accept, (), now);
                }
            }
        }
    }
    for node in nodes {
        while node.poll_event().is_some() {}
    }
}

#[test]
fn a_steady_load_does_not_allocate() {
    let mut nodes = [0, 1].map(|n| Endpoint::new(NodeId(n), wire::config(2)));
    let mut counts = [0; 2];
    for round in 0..20_000_u64 {
        let now = Instant(round * 10_000);
        for burst in 0..10 {
            let len = if burst == 0 { 3_000 } else { 8 };
            nodes[0]
                .send(NodeId(1), Message::of(len, false), now)
                .expect("a send");
            nodes[1]
                .send(NodeId(0), Message::of(len, false), now)
                .expect("a send");
        }
        carry(&mut nodes, now);
        nodes.iter_mut().for_each(|node| node.handle_timeout(now));
        if round == 1_000 {
            counts[0] = COUNT.get();
        }
    }
    counts[1] = COUNT.get();
    assert!(nodes.iter().all(|node| node.state().is_quiet));
    assert_eq!(
        counts[1] - counts[0],
        0,
        "allocations in 19,000 rounds of 20 messages"
    );
}
