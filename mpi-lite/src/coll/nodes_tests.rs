//! What operations send from one host to another, counted.

use super::tests::{
    Process, Room, allgather, allreduce, alltoall, bcast, gather, on_hosts, reduce, run, scan,
    scatter,
};
use super::*;
use crate::comm::Peers;
use crate::data::{Basic, Op};

/// A mebibyte of elements of four bytes.
const LONG: usize = 1 << 18;

/// How the processes are placed on the hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    ByNode,
    InTurn,
}

/// Checks what `program` sends between hosts, for 2 to 4 of them with 2 and 4 processes each:
/// messages and bytes must fit for this number of hosts and of processes on each.
fn check(program: impl Fn(&Process) + Sync, fits: impl Fn((usize, usize), (usize, usize)) -> bool) {
    for (hosts, each) in (2..=4).flat_map(|hosts| [(hosts, 2), (hosts, 4)]) {
        for order in [Order::ByNode, Order::InTurn] {
            let host = |rank| match order {
                Order::ByNode => rank / each,
                Order::InTurn => rank % hosts,
            };
            let placement = (0..hosts * each).map(host).collect();
            let sent = on_hosts(placement, &program);
            assert!(
                fits((hosts, each), sent),
                "{hosts} x {each} {order:?}: {sent:?}"
            );
        }
    }
}

/// The roots worth trying: the first one, and ones in the midst of a node.
fn roots(check: impl Fn(i32)) {
    [0, 1, 3].into_iter().for_each(check);
}

/// Rounds of messages until each of `hosts` has heard from all.
fn rounds(hosts: usize) -> usize {
    hosts.next_power_of_two().ilog2() as usize
}

fn room(count: usize) -> Room {
    Room::empty(count, &Basic::Int.into())
}

#[test]
fn a_short_message_crosses_once_to_each_other_host() {
    roots(|root| {
        check(
            |peers| run(peers, &bcast(&room(2).buffer, root)).unwrap(),
            |(hosts, _), sent| sent == (hosts - 1, (hosts - 1) * 8),
        );
        check(
            |peers| {
                let (own, result) = (room(2), room(2));
                let receive = (peers.here() == root as usize).then_some(&result.buffer);
                run(peers, &reduce(own.input(), receive, &Op::Sum, root)).unwrap();
            },
            |(hosts, _), sent| sent == (hosts - 1, (hosts - 1) * 8),
        );
    });
}

#[test]
fn all_meet_by_one_message_of_each_host_in_each_round() {
    check(
        |peers| run(peers, &Barrier).unwrap(),
        |(hosts, _), (messages, _)| messages <= hosts * rounds(hosts),
    );
    check(
        |peers| {
            let (own, result) = (room(2), room(2));
            run(peers, &allreduce(own.input(), &result.buffer, &Op::Sum)).unwrap();
        },
        |(hosts, _), (messages, _)| messages <= hosts * rounds(hosts),
    );
}

#[test]
fn a_long_message_crosses_once_to_each_other_host() {
    roots(|root| {
        check(
            |peers| run(peers, &bcast(&room(LONG).buffer, root)).unwrap(),
            |(hosts, _), (_, bytes)| bytes <= (hosts - 1) * LONG * 4,
        );
        check(
            |peers| {
                let (own, result) = (room(LONG), room(LONG));
                let receive = (peers.here() == root as usize).then_some(&result.buffer);
                run(peers, &reduce(own.input(), receive, &Op::Sum, root)).unwrap();
            },
            |(hosts, _), (_, bytes)| bytes <= (hosts - 1) * LONG * 4,
        );
    });
}

/// Each host gives a vector and gets one.
#[test]
fn a_long_allreduce_crosses_twice_for_each_host_but_one() {
    check(
        |peers| {
            let (own, result) = (room(LONG), room(LONG));
            run(peers, &allreduce(own.input(), &result.buffer, &Op::Sum)).unwrap();
        },
        |(hosts, _), (_, bytes)| bytes <= 2 * (hosts - 1) * LONG * 4,
    );
}

#[test]
fn short_blocks_go_to_each_host_and_from_it_in_one_message() {
    roots(|root| {
        check(
            |peers| {
                let (own, all) = (room(2), room(2 * peers.all()));
                let place = all.per_process(2);
                let receive = (peers.here() == root as usize).then_some(&place);
                run(peers, &gather(own.input(), receive, root)).unwrap();
            },
            |(hosts, _), (messages, _)| messages == hosts - 1,
        );
        check(
            |peers| {
                let (own, all) = (room(2), room(2 * peers.all()));
                let blocks = all.per_process(2);
                let send = (peers.here() == root as usize).then_some(&blocks);
                run(peers, &scatter(send, own.input(), root)).unwrap();
            },
            |(hosts, _), (messages, _)| messages == hosts - 1,
        );
    });
}

/// Gathers a block of `count` elements of each process at all.
fn gather_everywhere(peers: &Process, count: usize) {
    let (own, all) = (room(count), room(count * peers.all()));
    let places = all.per_process(count as u64);
    run(peers, &allgather(own.input(), &places)).unwrap();
}

#[test]
fn an_allgather_brings_each_block_to_each_host_once() {
    check(
        |peers| gather_everywhere(peers, 2),
        |(hosts, _), (messages, _)| messages <= hosts * rounds(hosts),
    );
    check(
        |peers| gather_everywhere(peers, LONG / 16),
        |(hosts, each), (_, bytes)| bytes == hosts * each * (hosts - 1) * LONG / 4,
    );
}

#[test]
fn an_alltoall_of_short_blocks_sends_one_message_from_each_host_to_each_other() {
    check(
        |peers| {
            let (own, all) = (room(2 * peers.all()), room(2 * peers.all()));
            let send = Input::Buffer(own.per_process(2));
            run(peers, &alltoall(send, &all.per_process(2))).unwrap();
        },
        |(hosts, each), sent| {
            let messages = hosts * (hosts - 1);
            sent == (messages, messages * each * each * 8)
        },
    );
}

/// Ranks that are placed in turn stay apart: a sum covers adjacent ones.
#[test]
fn a_scan_crosses_from_node_to_node_if_their_ranks_follow_one_another() {
    for (hosts, each) in [(2, 4), (3, 2), (4, 4)] {
        let placement = (0..hosts * each).map(|rank| rank / each).collect();
        let (messages, _) = on_hosts(placement, &|peers: &Process| {
            let (own, result) = (room(2), room(2));
            run(peers, &scan(own.input(), &result.buffer, &Op::Sum)).unwrap();
        });
        assert!(
            messages <= hosts * rounds(hosts),
            "{hosts} x {each}: {messages}"
        );
    }
}
