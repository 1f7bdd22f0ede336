//! Reports of snapshots made by hand.

use mpi_boot::state::{
    Address, CommunicatorState, EndsWith, FailedCall, HeldMessage, MessageKind, Operation,
    Partitions, Peer, RankState, Run, ThreadState, Wanted,
};

use super::*;

/// The contexts of the snapshots.
const WORLD: u32 = 0;
const HALO: u32 = 5;

fn snapshot(ranks: Vec<Doing>) -> Snapshot {
    let ranks = ranks.into_iter().map(|doing| RankSeen {
        host: "n1".into(),
        pid: Some(4700),
        doing,
    });
    Snapshot {
        occasion: Occasion::Stall { seconds: 10 },
        ranks: ranks.collect(),
    }
}

fn peer(world: u32) -> Peer {
    Peer {
        rank: Some(world),
        world: Some(world),
    }
}

fn world(size: u32, begun: u32, begun_nonblocking: u32) -> CommunicatorState {
    CommunicatorState {
        context: WORLD,
        name: "MPI_COMM_WORLD".into(),
        made: String::new(),
        size,
        first: 0,
        members: Run::of(0..size),
        begun,
        begun_nonblocking,
    }
}

/// Of the ranks 0, 2, 4 and 6.
fn halo() -> CommunicatorState {
    CommunicatorState {
        context: HALO,
        name: "halo".into(),
        made: "MPI_Comm_split on MPI_COMM_WORLD".into(),
        size: 4,
        first: 0,
        members: Run::of([0, 2, 4, 6]),
        begun: 0,
        begun_nonblocking: 0,
    }
}

fn wanted(source: u32, tag: i32) -> Wanted {
    Wanted {
        context: WORLD,
        source: Some(peer(source)),
        tag: Some(tag),
        room: Some(4),
        kind: MessageKind::Ordinary,
    }
}

fn receive(source: u32, tag: i32) -> Operation {
    Operation::Receive(wanted(source, tag))
}

fn any() -> Operation {
    Operation::Receive(Wanted {
        context: WORLD,
        source: None,
        tag: None,
        room: Some(4),
        kind: MessageKind::Ordinary,
    })
}

fn send(dest: u32, tag: i32) -> Operation {
    Operation::Send {
        context: WORLD,
        dest: peer(dest),
        tag,
        bytes: 80000,
        is_synchronous: false,
        kind: MessageKind::Ordinary,
    }
}

fn collective(name: &str, root: Option<u32>, number: u32) -> Operation {
    Operation::Collective {
        context: WORLD,
        name: name.into(),
        root,
        number,
        is_blocking: !name.starts_with("MPI_I"),
    }
}

fn held(source: u32, tag: i32) -> HeldMessage {
    HeldMessage {
        context: WORLD,
        source: peer(source),
        tag: Some(tag),
        bytes: 4,
        is_with_sender: false,
        collective: String::new(),
        kind: MessageKind::Ordinary,
    }
}

fn thread(call: &str, operations: Vec<Operation>) -> ThreadState {
    ThreadState {
        call: call.into(),
        blocked_ms: 12_345,
        operations,
        ..ThreadState::default()
    }
}

/// A rank of a job of eight whose threads wait.
fn state(threads: Vec<ThreadState>) -> RankState {
    RankState {
        threads,
        last_call: "MPI_Iprobe".into(),
        communicators: vec![world(8, 0, 0)],
        ..RankState::default()
    }
}

fn with(mut state: RankState, change: impl FnOnce(&mut RankState)) -> Doing {
    change(&mut state);
    Doing::State(Box::new(state))
}

fn waits(call: &str, operations: Vec<Operation>) -> Doing {
    with(state(vec![thread(call, operations)]), |_| ())
}

/// Waits in a collective of a communicator with so many members.
fn meets(size: u32, call: &str, collective: Operation, begun: (u32, u32)) -> Doing {
    with(state(vec![thread(call, vec![collective])]), |state| {
        state.communicators = vec![world(size, begun.0, begun.1)];
    })
}

fn barrier(size: u32) -> Doing {
    meets(
        size,
        "MPI_Barrier",
        collective("MPI_Barrier", None, 3),
        (3, 0),
    )
}

fn recv(source: u32, tag: i32) -> Doing {
    with(recv_state(source, tag), |_| ())
}

fn recv_state(source: u32, tag: i32) -> RankState {
    let mut thread = thread("MPI_Recv", vec![receive(source, tag)]);
    thread.arguments = vec![format!("source={source}"), format!("tag={tag}")];
    state(vec![thread])
}

fn computes() -> Doing {
    with(state(vec![]), |_| ())
}

fn in_finalize() -> Doing {
    waits("MPI_Finalize", vec![Operation::Job])
}

fn silent(state: char, used_ms: u64) -> Doing {
    Doing::Silent(ProcessSeen {
        state,
        stopped_ms: None,
        used_ms,
        waited_ms: 1000,
    })
}

/// The reasons of a report.
fn reasons(ranks: Vec<Doing>) -> Vec<String> {
    let lines = report(&snapshot(ranks)).into_iter();
    lines
        .filter_map(|line| line.strip_prefix("reason: ").map(String::from))
        .collect()
}

/// The lines between the title and the reasons.
fn lines(ranks: Vec<Doing>) -> Vec<String> {
    let lines = report(&snapshot(ranks)).into_iter().skip(1);
    lines.filter(|line| !line.starts_with("reason: ")).collect()
}

#[test]
fn two_receives_that_wait_for_each_other_are_a_cycle() {
    assert_eq!(
        report(&snapshot(vec![recv(1, 7), recv(0, 8)])),
        [
            "the job hangs: no rank has gone on for 10 s (--stall-after)",
            "rank 0: MPI_Recv(source=1, tag=7) for 12 s",
            "rank 1: MPI_Recv(source=0, tag=8) for 12 s",
            "reason: rank 0 waits in MPI_Recv for rank 1, tag 7; rank 1 waits in MPI_Recv for \
             rank 0, tag 8: nobody sends",
        ]
    );
}

#[test]
fn a_cycle_of_sends_is_cut_if_it_is_long() {
    let cycle = |size: u32| {
        let ssend = |rank| waits("MPI_Ssend", vec![send((rank + 1) % size, 3)]);
        reasons((0..size).map(ssend).collect())
    };
    assert_eq!(
        cycle(5),
        ["rank 0 waits in MPI_Ssend until rank 1 receives tag 3; \
          rank 1 waits in MPI_Ssend until rank 2 receives tag 3; \
          rank 2 waits in MPI_Ssend until rank 3 receives tag 3; \
          rank 3 waits in MPI_Ssend until rank 4 receives tag 3; \
          rank 4 waits in MPI_Ssend until rank 0 receives tag 3: nobody receives"]
    );
    let [long] = &cycle(8)[..] else {
        panic!("one cycle");
    };
    assert!(long.contains("rank 4 waits in MPI_Ssend until rank 5 receives tag 3; ...: nobody"));
    assert!(!long.contains("until rank 6"));
}

#[test]
fn the_shortest_cycle_is_named() {
    let ranks = vec![recv(1, 0), recv(2, 0), recv(1, 0), recv(4, 0), recv(0, 0)];
    assert_eq!(
        reasons(ranks),
        [
            "rank 1 waits in MPI_Recv for rank 2, tag 0; rank 2 waits in MPI_Recv for rank 1, \
          tag 0: nobody sends"
        ]
    );
}

#[test]
fn a_receive_and_a_send_that_wait_for_each_other_are_a_cycle() {
    let ranks = vec![recv(1, 7), waits("MPI_Ssend", vec![send(2, 1)]), recv(0, 7)];
    assert_eq!(
        reasons(ranks),
        [
            "rank 0 waits in MPI_Recv for rank 1, tag 7; rank 1 waits in MPI_Ssend until rank 2 \
          receives tag 1; rank 2 waits in MPI_Recv for rank 0, tag 7: they wait for each other"
        ]
    );
}

#[test]
fn a_rank_may_wait_for_itself() {
    assert_eq!(
        reasons(vec![recv(0, 5)]),
        ["rank 0 waits in MPI_Recv for itself, tag 5: it has not sent that"]
    );
    assert_eq!(
        reasons(vec![waits("MPI_Ssend", vec![send(0, 5)])]),
        ["rank 0 waits in MPI_Ssend until it receives tag 5 itself"]
    );
}

#[test]
fn a_message_with_another_tag_is_the_reason() {
    let receiver = with(recv_state(1, 7), |state| {
        state.unexpected = vec![held(1, 8)];
    });
    let ranks = vec![receiver, recv(0, 9)];
    assert_eq!(
        reasons(ranks.clone()),
        [
            "rank 0 waits in MPI_Recv for rank 1, tag 7; rank 1 has sent it tag 8, which nobody \
          received"
        ]
    );
    assert_eq!(
        lines(ranks),
        [
            "rank 0: MPI_Recv(source=1, tag=7) for 12 s",
            "  holds a message from rank 1, tag 8, 4 bytes, that nobody received",
            "  nearly fits: the message from rank 1 has tag 8, not 7",
            "rank 1: MPI_Recv(source=0, tag=9) for 12 s",
        ]
    );
}

#[test]
fn a_message_on_another_communicator_is_the_reason() {
    let receiver = with(recv_state(2, 7), |state| {
        state.communicators.push(halo());
        let source = Peer {
            rank: Some(1),
            world: Some(2),
        };
        state.unexpected = vec![HeldMessage {
            context: HALO,
            source,
            ..held(2, 7)
        }];
    });
    let ranks = vec![receiver, in_finalize(), recv(0, 9)];
    assert_eq!(
        reasons(ranks.clone()),
        [
            "rank 0 waits in MPI_Recv for rank 2, tag 7; rank 2 (1 in \"halo\") has sent it tag 7 \
             on \
          \"halo\", which nobody received"
        ]
    );
    assert_eq!(
        lines(ranks)[1..3],
        [
            "  holds a message from rank 2 (1 in \"halo\"), tag 7, 4 bytes, on \"halo\", that \
             nobody received",
            "  nearly fits: the message from rank 2 (1 in \"halo\") is on \"halo\", not on \
             MPI_COMM_WORLD",
        ]
    );
}

#[test]
fn a_send_and_a_receive_with_different_tags_are_the_reason() {
    let ranks = vec![recv(1, 7), waits("MPI_Ssend", vec![send(0, 8)])];
    assert_eq!(
        reasons(ranks),
        [
            "rank 1 waits in MPI_Ssend until rank 0 receives tag 8; rank 0 waits in MPI_Recv for \
          rank 1, tag 7: the tags differ"
        ]
    );
}

#[test]
fn different_collectives_are_the_reason() {
    let bcast = |root| {
        meets(
            4,
            "MPI_Bcast",
            collective("MPI_Bcast", Some(root), 3),
            (3, 0),
        )
    };
    assert_eq!(
        reasons(vec![bcast(0), bcast(0), bcast(1), bcast(1)]),
        [
            "ranks 0-1 wait in MPI_Bcast(root 0), ranks 2-3 in MPI_Bcast(root 1): all ranks of \
          MPI_COMM_WORLD must call the same"
        ]
    );
    assert_eq!(
        reasons(vec![bcast(0), barrier(2)]),
        [
            "rank 0 waits in MPI_Bcast(root 0), rank 1 in MPI_Barrier: all ranks of \
          MPI_COMM_WORLD must call the same"
        ]
    );
    let later = meets(2, "MPI_Barrier", collective("MPI_Barrier", None, 4), (4, 0));
    assert_eq!(
        reasons(vec![bcast(1), later]),
        [
            "rank 0 waits in MPI_Bcast(root 1), rank 1 in MPI_Barrier: all ranks of \
          MPI_COMM_WORLD must call the same"
        ]
    );
}

/// A call that has failed when two collectives had begun.
fn failed_alltoall() -> FailedCall {
    FailedCall {
        name: "MPI_Alltoall".into(),
        why: "the block is too long".into(),
        context: Some(WORLD),
        begun: 2,
        begun_nonblocking: 0,
    }
}

/// A rank whose call has failed goes on, maybe to another collective, and maybe to its end.
#[test]
fn the_error_of_a_rank_that_has_left_a_collective_is_told() {
    let failed = |doing: Doing| match doing {
        Doing::State(state) => with(*state, |state| {
            state.failed_call = failed_alltoall();
        }),
        doing => doing,
    };
    let alltoall = || {
        let alltoall = collective("MPI_Alltoall", None, 3);
        meets(2, "MPI_Alltoall", alltoall, (3, 0))
    };
    assert_eq!(
        reasons(vec![failed(barrier(2)), alltoall()]),
        [
            "rank 0 waits in MPI_Barrier, rank 1 in MPI_Alltoall: MPI_Alltoall has failed on rank \
          0: the block is too long"
        ]
    );
    let at_end = thread("MPI_Finalize", vec![Operation::Job]);
    let at_end = with(state(vec![at_end]), |state| {
        state.communicators = vec![world(2, 2, 0)];
    });
    assert_eq!(
        reasons(vec![failed(at_end), alltoall()]),
        [
            "rank 0 is in MPI_Finalize; rank 1 waits for it in MPI_Alltoall; MPI_Alltoall has \
          failed on rank 0: the block is too long"
        ]
    );
    // Nor is an error of another communicator, or of an earlier call of the same collective.
    let others: [fn(&mut FailedCall); 3] = [
        |call| call.context = Some(HALO),
        |call| call.context = None,
        |call| call.begun = 1,
    ];
    for change in others {
        let Doing::State(state) = barrier(2) else {
            panic!("it answers");
        };
        let other = with(*state, |state| {
            state.failed_call = failed_alltoall();
            change(&mut state.failed_call);
        });
        let told = reasons(vec![other, alltoall()]);
        assert!(told[0].ends_with("must call the same"), "{told:?}");
    }
    // An earlier error is not what a rank is kept by that is in the same call.
    let both = reasons(vec![failed(alltoall()), barrier(2)]);
    assert!(both[0].ends_with("must call the same"), "{both:?}");
}

#[test]
fn a_blocking_collective_does_not_meet_a_nonblocking_one() {
    let bcast = meets(2, "MPI_Bcast", collective("MPI_Bcast", Some(0), 1), (1, 0));
    let ibcast = meets(2, "MPI_Wait", collective("MPI_Ibcast", Some(0), 1), (0, 1));
    assert_eq!(
        reasons(vec![bcast, ibcast]),
        [
            "rank 0 waits in MPI_Bcast(root 0), rank 1 in MPI_Ibcast(root 0): all ranks of \
          MPI_COMM_WORLD must call the same"
        ]
    );
}

#[test]
fn a_rank_in_finalize_keeps_the_others_from_a_barrier() {
    let ranks = vec![barrier(4), barrier(4), barrier(4), in_finalize()];
    assert_eq!(
        report(&snapshot(ranks)),
        [
            "the job hangs: no rank has gone on for 10 s (--stall-after)",
            "ranks 0-2: MPI_Barrier() for 12 s",
            "  has come: ranks 0-2; has not come: rank 3",
            "rank 3: in MPI_Finalize for 12 s",
            "reason: rank 3 is in MPI_Finalize; ranks 0-2 wait for it in MPI_Barrier",
        ]
    );
    assert_eq!(
        reasons(vec![recv(1, 7), in_finalize()]),
        ["rank 1 is in MPI_Finalize; rank 0 waits for it in MPI_Recv, tag 7"]
    );
}

#[test]
fn a_rank_that_is_somewhere_else_is_named_with_those_that_wait_for_it() {
    for (doing, words) in [
        (computes(), "rank 2 computes"),
        (silent('T', 0), "rank 2 is stopped (state T)"),
        (silent('t', 0), "rank 2 is stopped (state t)"),
        (silent('S', 0), "rank 2 does not answer"),
        (silent('R', 0), "rank 2 does not wait in MPI"),
        (silent('S', 10), "rank 2 does not wait in MPI"),
        (Doing::BeforeInit, "rank 2 has not called MPI_Init"),
        (Doing::OtherMpi, "rank 2 runs a program of another MPI"),
        (Doing::Finalized, "rank 2 has finalized"),
        (Doing::Ended, "rank 2 has ended"),
        (Doing::Unknown, "rank 2 is on a host that did not answer"),
    ] {
        assert_eq!(
            reasons(vec![barrier(4), barrier(4), doing, barrier(4)]),
            [format!("{words}; ranks 0-1, 3 wait for it in MPI_Barrier")]
        );
    }
}

#[test]
fn different_calls_that_wait_for_a_rank_are_named() {
    assert_eq!(
        reasons(vec![barrier(3), barrier(3), computes(), recv(2, 1)]),
        ["rank 2 computes; ranks 0-1 wait for it in MPI_Barrier, rank 3 in MPI_Recv"]
    );
}

#[test]
fn a_chain_names_each_of_its_ranks() {
    assert_eq!(
        reasons(vec![recv(1, 7), recv(2, 7), computes()]),
        [
            "rank 2 computes; rank 1 waits for it in MPI_Recv, tag 7; rank 0 waits for rank 1 in \
          MPI_Recv, tag 7"
        ]
    );
}

#[test]
fn a_chain_begins_at_its_end() {
    assert_eq!(
        reasons(vec![recv(1, 7), recv(2, 7), recv(3, 7), in_finalize()]),
        [
            "rank 3 is in MPI_Finalize; rank 2 waits for it in MPI_Recv, tag 7; rank 1 waits for \
          rank 2 in MPI_Recv, tag 7; rank 0 waits for rank 1 in MPI_Recv, tag 7"
        ]
    );
}

#[test]
fn a_message_of_another_collective_is_the_reason() {
    let bcast = with(
        state(vec![thread(
            "MPI_Bcast",
            vec![collective("MPI_Bcast", Some(1), 1)],
        )]),
        |state| {
            state.communicators = vec![world(3, 1, 0)];
            state.unexpected = vec![HeldMessage {
                collective: "MPI_Bcast(root 0)".into(),
                ..held(0, 0)
            }];
        },
    );
    let gone = meets(3, "MPI_Finalize", Operation::Job, (1, 0));
    let ranks = vec![gone.clone(), gone, bcast];
    assert_eq!(
        reasons(ranks.clone()),
        [
            "rank 2 waits in MPI_Bcast(root 1); rank 0 has sent it a message of MPI_Bcast(root 0): \
          all ranks of MPI_COMM_WORLD must call the same"
        ]
    );
    assert_eq!(
        lines(ranks)[1..],
        [
            "rank 2: MPI_Bcast() for 12 s",
            "  has come: ranks 0-2",
            "  holds a message of MPI_Bcast(root 0) from rank 0, 4 bytes, that nobody received",
        ]
    );
}

/// A rank that waits for a barrier beside the program, of so many `members`, and holds a message of
/// it.
fn holder_in_ibarrier(from: u32, members: u32) -> Doing {
    let waits = thread("MPI_Wait", vec![collective("MPI_Ibarrier", None, 1)]);
    with(state(vec![waits]), |state| {
        state.communicators = vec![world(members, 0, 1)];
        state.unexpected = vec![HeldMessage {
            collective: "MPI_Ibarrier".into(),
            ..held(from, 0)
        }];
        state.awaited = vec![Wanted {
            tag: None,
            ..wanted(from, 0)
        }];
    })
}

#[test]
fn a_message_of_a_collective_is_shown_once_all_have_come_to_it() {
    let holders = |members| {
        [1, 0]
            .map(|from| holder_in_ibarrier(from, members))
            .to_vec()
    };
    let held = "  holds a message of MPI_Ibarrier from rank 1, 4 bytes, that nobody received";
    let lacks = "  lacks a message from rank 1, any tag";
    let shown = lines(holders(2));
    assert!(shown.iter().any(|line| line == held), "{shown:?}");
    assert!(shown.iter().any(|line| line == lacks), "{shown:?}");
    let mut waiting = holders(3);
    waiting.push(computes());
    let hidden = lines(waiting);
    let is_either = |line: &String| line.contains("holds") || line.contains("lacks");
    assert!(!hidden.iter().any(is_either), "{hidden:?}");
}

#[test]
fn a_short_wait_for_what_is_there_is_no_error() {
    let mut snapshot = snapshot(vec![barrier(1)]);
    snapshot.occasion = Occasion::Asked;
    let Doing::State(state) = &mut snapshot.ranks[0].doing else {
        panic!("it waits");
    };
    state.threads[0].blocked_ms = 100;
    assert_eq!(
        report(&snapshot)[1..],
        [
            "rank 0: MPI_Barrier() for less than 1 s",
            "  has come: rank 0",
            "reason: no reason found: see the lines above",
        ]
    );
}

#[test]
fn a_rank_that_has_not_come_to_a_collective_may_be_in_a_cycle() {
    assert_eq!(
        reasons(vec![barrier(4), barrier(4), barrier(4), recv(0, 1)]),
        [
            "rank 3 waits in MPI_Recv for rank 0, tag 1; ranks 0-2 wait in MPI_Barrier for rank 3: \
          they wait for each other"
        ]
    );
}

#[test]
fn a_receive_from_any_rank_waits_for_all() {
    let first = || waits("MPI_Recv", vec![any()]);
    assert_eq!(
        reasons(vec![first(), recv(0, 1)]),
        [
            "rank 0 waits in MPI_Recv for any rank, any tag; all other ranks wait too, and nobody \
          sends"
        ]
    );
    let of_four = with(state(vec![thread("MPI_Recv", vec![any()])]), |state| {
        state.communicators = vec![world(4, 0, 0)];
    });
    assert_eq!(
        reasons(vec![of_four, in_finalize(), in_finalize(), in_finalize()]),
        [
            "rank 0 waits in MPI_Recv for any rank, any tag; ranks 1-3 are in MPI_Finalize (all \
          others)"
        ]
    );
    assert_eq!(
        reasons(vec![first(), computes()]),
        ["rank 1 computes; rank 0 waits for it in MPI_Recv, any tag"]
    );
}

#[test]
fn a_message_whose_receive_is_posted_is_on_its_way() {
    let why = "is on its way: the network holds it up, or mpi-lite has an error";
    let message = format!("a message from rank 1 to rank 0, tag 7, {why}");
    let sender = || waits("MPI_Send", vec![send(0, 7)]);
    assert_eq!(reasons(vec![recv(1, 7), sender()]), [message.as_str()]);
    let incoming = waits("MPI_Recv", vec![Operation::Incoming(held(1, 7))]);
    assert_eq!(reasons(vec![incoming, recv(0, 1)]), [message]);
    assert_eq!(
        reasons(vec![barrier(2), barrier(2)]),
        [
            "all ranks have come to MPI_Barrier on MPI_COMM_WORLD, and it does not end: the \
          network holds it up, or mpi-lite has an error"
        ]
    );
}

#[test]
fn a_message_that_is_too_long_is_remarked() {
    assert_eq!(
        lines(vec![recv(1, 7), waits("MPI_Send", vec![send(0, 7)])])[1],
        "  nearly fits: the message from rank 1 has 80000 bytes, the receive has room for 4"
    );
}

#[test]
fn a_wait_without_a_reason_says_so() {
    let wait = vec![Operation::Other("the buffered messages to be sent".into())];
    let ranks = vec![waits("MPI_Buffer_detach", wait)];
    assert_eq!(
        reasons(ranks.clone()),
        ["no reason found: see the lines above"]
    );
    assert_eq!(
        lines(ranks)[1],
        "  waits for the buffered messages to be sent"
    );
}

#[test]
fn a_wait_for_requests_lists_them() {
    let requests = vec![
        receive(1, 7),
        send(1, 8),
        collective("MPI_Ibarrier", None, 2),
    ];
    let all = with(state(vec![thread("MPI_Waitall", requests)]), |state| {
        state.threads[0].left_out = 12;
        state.communicators = vec![world(2, 0, 2)];
    });
    assert_eq!(
        lines(vec![all, in_finalize()]),
        [
            "rank 0: MPI_Waitall() for 12 s",
            "  waits for a message from rank 1, tag 7",
            "  waits for rank 1 to receive a message with tag 8, 80000 bytes",
            "  waits for MPI_Ibarrier on MPI_COMM_WORLD: rank 0 has begun it, rank 1 has not",
            "  and 12 more",
            "rank 1: in MPI_Finalize for 12 s",
        ]
    );
}

#[test]
fn a_wait_for_all_is_stuck_if_one_is_missing() {
    let requests = vec![receive(2, 7), receive(1, 8)];
    assert_eq!(
        reasons(vec![
            waits("MPI_Waitall", requests),
            in_finalize(),
            computes()
        ]),
        ["rank 1 is in MPI_Finalize; rank 0 waits for it in MPI_Waitall, tag 8"]
    );
}

#[test]
fn a_wait_for_any_is_not_stuck_while_one_can_come() {
    let any = |doing| {
        let mut thread = thread("MPI_Waitany", vec![receive(1, 7), receive(2, 8)]);
        thread.ends_with = EndsWith::Any;
        reasons(vec![with(state(vec![thread]), |_| ()), recv(0, 1), doing])
    };
    assert_eq!(
        any(computes()),
        [
            "rank 2 computes; rank 0 waits for it in MPI_Waitany, tag 8; rank 1 waits for rank 0 \
          in MPI_Recv, tag 1"
        ]
    );
    assert_eq!(
        any(recv(1, 1)),
        [
            "rank 0 waits in MPI_Waitany for rank 1, tag 7; rank 1 waits in MPI_Recv for rank 0, \
          tag 1: nobody sends"
        ]
    );
}

#[test]
fn a_probe_waits_for_a_message_as_a_receive_does() {
    let probe = |source, tag| {
        let wanted = Wanted {
            room: None,
            ..wanted(source, tag)
        };
        waits("MPI_Probe", vec![Operation::Probe(wanted)])
    };
    assert_eq!(
        reasons(vec![probe(1, 7), probe(0, 7)]),
        [
            "rank 0 waits in MPI_Probe for rank 1, tag 7; rank 1 waits in MPI_Probe for rank 0, \
          tag 7: nobody sends"
        ]
    );
}

#[test]
fn a_nonblocking_barrier_names_those_that_have_begun_it() {
    let ibarrier = || meets(4, "MPI_Wait", collective("MPI_Ibarrier", None, 1), (0, 1));
    let last = with(recv_state(0, 1), |state| {
        state.communicators = vec![world(4, 0, 0)];
    });
    let ranks = vec![ibarrier(), ibarrier(), ibarrier(), last];
    assert_eq!(
        lines(ranks.clone())[..2],
        [
            "ranks 0-2: MPI_Wait() for 12 s",
            "  waits for MPI_Ibarrier on MPI_COMM_WORLD: ranks 0-2 have begun it, rank 3 has not",
        ]
    );
    assert_eq!(
        reasons(ranks),
        [
            "rank 3 waits in MPI_Recv for rank 0, tag 1; ranks 0-2 wait in MPI_Wait (MPI_Ibarrier) \
          for rank 3: they wait for each other"
        ]
    );
}

#[test]
fn a_rank_with_two_threads_is_stuck_if_both_are() {
    let two = |other: Operation| {
        let threads = vec![
            thread("MPI_Recv", vec![receive(1, 7)]),
            thread("MPI_Recv", vec![other]),
        ];
        vec![with(state(threads), |_| ()), recv(0, 1), computes()]
    };
    assert_eq!(
        reasons(two(receive(1, 8))),
        [
            "rank 0 waits in MPI_Recv for rank 1, tag 7; rank 1 waits in MPI_Recv for rank 0, tag \
          1: nobody sends"
        ]
    );
    assert_eq!(
        reasons(two(receive(2, 8))),
        [
            "rank 2 computes; rank 0 waits for it in MPI_Recv, tag 8; rank 1 waits for rank 0 in \
          MPI_Recv, tag 1"
        ]
    );
    assert_eq!(
        lines(two(receive(2, 8)))[..2],
        [
            "rank 0, thread 1 of 2: MPI_Recv() for 12 s",
            "rank 0, thread 2 of 2: MPI_Recv() for 12 s",
        ]
    );
}

#[test]
fn each_state_of_a_rank_has_its_words() {
    let stopped = Doing::Silent(ProcessSeen {
        state: 'T',
        stopped_ms: Some(12_000),
        used_ms: 0,
        waited_ms: 1000,
    });
    let ranks = vec![
        computes(),
        silent('R', 0),
        stopped,
        silent('S', 0),
        Doing::BeforeInit,
        in_finalize(),
        Doing::Finalized,
        Doing::Ended,
        Doing::Unknown,
    ];
    assert_eq!(
        lines(ranks),
        [
            "rank 0: computes; its last MPI call was MPI_Iprobe",
            "rank 1: does not wait in MPI",
            "rank 2: is stopped (state T) for 12 s",
            "rank 3: does not answer (state S, 0 ms of processor time in 1000 ms)",
            "rank 4: has not called MPI_Init",
            "rank 5: in MPI_Finalize for 12 s",
            "rank 6: has finalized",
            "rank 7: has ended",
            "rank 8: unknown: host n1 did not answer",
        ]
    );
}

#[test]
fn the_place_in_the_program_is_the_nearest_that_is_known() {
    let place = |frames: &[(&str, &str, &str)], python: &str| {
        let frames = frames.iter().map(|(module, function, line)| Address {
            module: (*module).into(),
            offset: 0x1234,
            function: (*function).into(),
            into_function: 0x1f,
            line: (*line).into(),
        });
        let doing = with(recv_state(0, 1), |state| {
            state.threads[0].frames = frames.collect();
            state.threads[0].python = python.into();
        });
        let line = lines(vec![doing]).remove(0);
        let (_, place) = line.split_once(" for 12 s").expect("a time");
        place.to_string()
    };
    let (program, library) = ("/opt/solver", "/lib/libwrap.so.1");
    assert_eq!(place(&[], ""), "");
    assert_eq!(
        place(&[(program, "exchange", "solver.c:41")], ""),
        ", at solver.c:41 in exchange"
    );
    assert_eq!(
        place(&[(program, "exchange", "")], ""),
        ", at exchange+0x1f in solver"
    );
    assert_eq!(place(&[(program, "", "")], ""), ", at solver+0x1234");
    assert_eq!(
        place(
            &[
                (library, "send_all", "wrapper.c:9"),
                (program, "main", "main.c:20"),
            ],
            ""
        ),
        ", at wrapper.c:9 in send_all, called at main.c:20 in main"
    );
    assert_eq!(
        place(&[(library, "", "")], "a.py:12 in go"),
        ", at a.py:12 in go"
    );
}

#[test]
fn a_communicator_that_a_call_names_is_explained() {
    let wanted = Wanted {
        context: HALO,
        source: Some(Peer {
            rank: Some(3),
            world: Some(6),
        }),
        tag: None,
        room: None,
        kind: MessageKind::Ordinary,
    };
    let on_halo = |call| {
        let operations = vec![Operation::Receive(wanted.clone())];
        with(state(vec![thread(call, operations)]), |state| {
            state.communicators.push(halo());
        })
    };
    let mut ranks = vec![computes(); 7];
    ranks[0] = on_halo("MPI_Recv");
    ranks[1] = on_halo("MPI_Wait");
    assert_eq!(
        lines(ranks)[..4],
        [
            "rank 0: MPI_Recv() for 12 s",
            "  communicator \"halo\": made by MPI_Comm_split on MPI_COMM_WORLD, 4 ranks: 0, 2, 4, \
             6",
            "rank 1: MPI_Wait() for 12 s",
            "  waits for a message from rank 6 (3 in \"halo\"), any tag, on \"halo\" \
             (MPI_Comm_split on MPI_COMM_WORLD, 4 ranks)",
        ]
    );
}

#[test]
fn a_group_of_ranks_shows_its_least_time() {
    let wait = |ms| with(recv_state(1, 7), |state| state.threads[0].blocked_ms = ms);
    assert_eq!(
        lines(vec![wait(15_000), computes(), wait(9_000), wait(12_000)])[0],
        "ranks 0, 2-3: MPI_Recv(source=1, tag=7) for 9 s"
    );
}

#[test]
fn one_of_a_thousand_ranks_is_found() {
    let mut ranks: Vec<Doing> = (0..1000).map(|_| barrier(1000)).collect();
    ranks[321] = recv(7, 5);
    assert_eq!(
        report(&snapshot(ranks))[1..],
        [
            "ranks 0-320, 322-999: MPI_Barrier() for 12 s",
            "  has come: ranks 0-320, 322-999; has not come: rank 321",
            "rank 321: MPI_Recv(source=7, tag=5) for 12 s",
            "reason: rank 321 waits in MPI_Recv for rank 7, tag 5; ranks 0-320, 322-999 wait in \
             MPI_Barrier for rank 321: they wait for each other",
        ]
    );
}

#[test]
fn titles_name_the_occasion() {
    let title = |occasion| {
        let ranks = Vec::new();
        report(&Snapshot { occasion, ranks }).remove(0)
    };
    assert_eq!(title(Occasion::Asked), "what the ranks do (SIGQUIT)");
    assert_eq!(
        title(Occasion::Timeout),
        "what the ranks do at the end of --timeout"
    );
}

#[test]
fn the_json_has_what_the_report_has() {
    let receiver = with(recv_state(1, 7), |state| {
        state.unexpected = vec![held(1, 8)];
    });
    let text = json(&snapshot(vec![receiver, recv(0, 9)]));
    assert!(!text.contains('\n'));
    let object: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(object["occasion"], "stall");
    assert_eq!(object["seconds"], 10);
    assert_eq!(object["ranks"][0]["doing"], "waits");
    assert_eq!(object["ranks"][0]["host"], "n1");
    assert_eq!(object["ranks"][0]["pid"], 4700);
    let thread = &object["ranks"][0]["threads"][0];
    assert_eq!(thread["call"], "MPI_Recv");
    assert_eq!(thread["blocked_seconds"], 12.345);
    assert_eq!(thread["operations"][0]["source"], 1);
    assert_eq!(object["ranks"][0]["unexpected"][0]["tag"], 8);
    assert_eq!(object["groups"][1]["ranks"], serde_json::json!([1]));
    let barrier = json(&snapshot(vec![barrier(2), in_finalize()]));
    let barrier: serde_json::Value = serde_json::from_str(&barrier).unwrap();
    let collective = &barrier["collectives"][0];
    assert_eq!(collective["communicator"], "MPI_COMM_WORLD");
    assert_eq!(collective["form"], "blocking");
    assert_eq!(collective["number"], 3);
    assert_eq!(collective["missing"], serde_json::json!([1]));
    assert_eq!(barrier["reasons"][0]["kind"], "end");
    assert_eq!(barrier["reasons"][0]["doing"], "in_finalize");
    let reason = &object["reasons"][0];
    assert_eq!(reason["kind"], "near_match");
    assert_eq!(reason["ranks"], serde_json::json!([0, 1]));
    assert_eq!(reason["message"]["difference"], "tag");
    assert!(
        reason["sentence"]
            .as_str()
            .unwrap()
            .contains("has sent it tag 8")
    );
}

/// Numbers that follow from a seed.
struct Dice(u64);

impl Dice {
    /// A number below `sides`.
    fn roll(&mut self, sides: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        u32::try_from(self.0 >> 33).unwrap() % sides
    }

    /// A small number, and sometimes one that makes no sense.
    fn number(&mut self) -> u32 {
        match self.roll(20) {
            0 => u32::MAX,
            1 => 1 << 31,
            _ => self.roll(6),
        }
    }

    fn words(&mut self) -> String {
        let texts = [
            "",
            "MPI_COMM_WORLD",
            "a\nb\x1b[2J",
            "\u{202e}x\"",
            "MPI_Wait",
            "halo",
        ];
        match self.roll(12) {
            0 => "long ".repeat(3000),
            roll => texts[roll as usize % texts.len()].into(),
        }
    }

    fn list<T>(&mut self, most: u32, item: impl Fn(&mut Dice) -> T) -> Vec<T> {
        let count = self.roll(most + 1);
        (0..count).map(|_| item(self)).collect()
    }

    fn peer(&mut self) -> Peer {
        let world = self.number();
        let rank = match self.roll(3) {
            0 => self.number(),
            _ => world,
        };
        let known = self.roll(8);
        Peer {
            rank: (known > 0).then_some(rank),
            world: (known > 1).then_some(world),
        }
    }

    fn wanted(&mut self) -> Wanted {
        Wanted {
            context: self.number(),
            source: (self.roll(4) > 0).then(|| self.peer()),
            tag: (self.roll(4) > 0).then(|| self.number().cast_signed()),
            room: (self.roll(2) > 0).then(|| self.number().into()),
            kind: self.kind(),
        }
    }

    fn kind(&mut self) -> MessageKind {
        match self.roll(6) {
            0 => MessageKind::Creation,
            1 => MessageKind::Partitioned(Partitions {
                ready: self.number(),
                all: self.number(),
            }),
            _ => MessageKind::Ordinary,
        }
    }

    fn held(&mut self) -> HeldMessage {
        HeldMessage {
            context: self.number(),
            source: self.peer(),
            tag: (self.roll(8) > 0).then(|| self.number().cast_signed()),
            bytes: self.number().into(),
            is_with_sender: self.roll(2) > 0,
            kind: self.kind(),
            collective: match self.roll(3) {
                0 => self.words(),
                _ => String::new(),
            },
        }
    }

    fn operation(&mut self) -> Operation {
        match self.roll(9) {
            0 => Operation::Job,
            1 => Operation::Other(self.words()),
            2 => Operation::Incoming(self.held()),
            3 => Operation::Probe(self.wanted()),
            4 | 5 => Operation::Receive(self.wanted()),
            6 => Operation::Send {
                context: self.number(),
                dest: self.peer(),
                tag: self.number().cast_signed(),
                bytes: u64::MAX,
                is_synchronous: true,
                kind: self.kind(),
            },
            _ => Operation::Collective {
                context: self.number(),
                name: self.words(),
                root: (self.roll(2) > 0).then(|| self.number()),
                number: self.number(),
                is_blocking: self.roll(2) > 0,
            },
        }
    }

    fn thread(&mut self) -> ThreadState {
        let ends_with = [EndsWith::All, EndsWith::Any];
        ThreadState {
            call: match self.roll(4) {
                0 => "MPI_Finalize".into(),
                _ => self.words(),
            },
            arguments: self.list(3, Dice::words),
            blocked_ms: u64::from(self.number()) * 1000,
            ends_with: ends_with[self.roll(2) as usize],
            operations: self.list(12, Dice::operation),
            left_out: self.roll(3).into(),
            begins_inside: self.roll(2) > 0,
            frames: self.list(2, |dice| Address {
                module: dice.words(),
                offset: u64::MAX,
                function: dice.words(),
                into_function: u64::MAX,
                line: dice.words(),
            }),
            python: self.words(),
        }
    }

    fn communicator(&mut self) -> CommunicatorState {
        CommunicatorState {
            context: self.number(),
            name: self.words(),
            made: self.words(),
            size: self.number(),
            first: self.roll(2),
            members: self.list(3, |dice| Run {
                first: dice.number(),
                step: dice.number().cast_signed(),
                count: dice.number(),
            }),
            begun: self.number(),
            begun_nonblocking: self.number(),
        }
    }

    fn doing(&mut self) -> Doing {
        match self.roll(12) {
            0 => Doing::BeforeInit,
            1 => Doing::Finalized,
            2 => Doing::Ended,
            3 => Doing::Unknown,
            4 => silent(
                ['\n', 'T', 'S'][self.roll(3) as usize],
                self.number().into(),
            ),
            _ => Doing::State(Box::new(RankState {
                threads: self.list(3, Dice::thread),
                threads_left_out: self.number() / 6,
                may_go_on: self.roll(4) == 0,
                last_call: self.words(),
                failed_call: FailedCall {
                    name: self.words(),
                    why: self.words(),
                    context: self.roll(2).checked_sub(1),
                    begun: self.number(),
                    begun_nonblocking: self.number(),
                },
                unexpected: self.list(12, Dice::held),
                unexpected_left_out: u64::MAX,
                awaited: self.list(12, Dice::wanted),
                communicators: self.list(6, Dice::communicator),
            })),
        }
    }
}

/// Checks what holds for every report.
fn assert_sound(snapshot: &Snapshot) {
    let lines = report(snapshot);
    assert!(lines.len() <= LINES_MAX, "{} lines", lines.len());
    for line in &lines {
        assert_eq!(&crate::failure::printable_line(line), line);
    }
    let text = json(snapshot);
    assert!(!text.chars().any(char::is_control));
    let object: serde_json::Value = serde_json::from_str(&text).unwrap();
    let ranks = object["ranks"].as_array().map(Vec::len);
    assert_eq!(ranks, Some(snapshot.ranks.len()));
}

proptest::proptest! {
    #[test]
    fn any_answers_make_a_report(seed: u64) {
        let mut dice = Dice(seed);
        let ranks = dice.list(40, Dice::doing);
        assert_sound(&snapshot(ranks));
    }
}

#[test]
fn rubbish_makes_a_short_report() {
    let rubbish = with(recv_state(u32::MAX, i32::MIN), |state| {
        let everything = Run {
            first: 0,
            step: 1,
            count: u32::MAX,
        };
        state.communicators = vec![CommunicatorState {
            size: u32::MAX,
            members: vec![everything; 500],
            begun: u32::MAX,
            ..world(1, 0, 0)
        }];
        state.threads[0].left_out = 1_000_000;
        state.unexpected_left_out = u64::MAX;
        state.unexpected = vec![
            HeldMessage {
                context: 77,
                ..held(u32::MAX, 0)
            };
            50
        ];
        let operations = &mut state.threads[0].operations;
        operations.extend((0..100).map(|number| collective("MPI_Barrier", None, number)));
        state.threads = vec![state.threads[0].clone(); 100];
    });
    let snapshot = snapshot(vec![rubbish; 20]);
    assert_sound(&snapshot);
    let lines = report(&snapshot);
    assert!(lines.contains(&"  and 1000093 more".to_string()));
}

/// Each rank is in a state of its own, with lists as long as they may be.
#[test]
fn the_report_of_many_long_lists_ends_with_a_count() {
    use mpi_boot::state::{COMMUNICATORS_MAX, LISTED_MAX, THREADS_MAX};
    let of_all = world(1000, 0, 0);
    let rank = |rank: u32| {
        let thread = |number| {
            let operations = (0..LISTED_MAX)
                .zip(0..)
                .map(|(_, place): (_, u32)| match place % 3 {
                    0 => receive((rank + number + place) % 1000, 7),
                    1 => send((rank + 1) % 1000, place.cast_signed()),
                    _ => collective("MPI_Ibarrier", None, rank + place),
                });
            let mut thread = thread("MPI_Waitall", operations.collect());
            thread.arguments = vec![format!("count={rank}")];
            thread
        };
        let threads = (0..THREADS_MAX).zip(0..).map(|(_, number)| thread(number));
        with(state(threads.collect()), |state| {
            let communicators = (0..COMMUNICATORS_MAX).zip(0..);
            state.communicators = communicators
                .map(|(_, context)| CommunicatorState {
                    context,
                    begun_nonblocking: rank,
                    ..of_all.clone()
                })
                .collect();
            state.unexpected = (0..LISTED_MAX)
                .map(|_| held((rank + 1) % 1000, 9))
                .collect();
        })
    };
    let snapshot = snapshot((0..1000).map(rank).collect());
    let lines = report(&snapshot);
    assert_eq!(lines.len(), LINES_MAX);
    assert!(lines.iter().any(|line| line.ends_with(" more lines")));
    assert!(lines.last().unwrap().starts_with("reason: "));
}

#[test]
fn communicators_that_differ_are_the_reason() {
    let sender = with(state(vec![thread("MPI_Ssend", vec![])]), |state| {
        state.communicators.push(halo());
        state.threads[0].operations = vec![Operation::Send {
            context: HALO,
            dest: peer(0),
            tag: 7,
            bytes: 4,
            is_synchronous: true,
            kind: MessageKind::Ordinary,
        }];
    });
    let receiver = with(recv_state(2, 7), |state| state.communicators.push(halo()));
    let mut ranks = vec![in_finalize(); 7];
    ranks[0] = receiver;
    ranks[2] = sender;
    assert_eq!(
        reasons(ranks.clone()),
        [
            "rank 2 waits in MPI_Ssend until rank 0 receives tag 7 on \"halo\"; rank 0 waits in \
             MPI_Recv for rank 2, tag 7: the communicators differ"
        ]
    );
    assert_eq!(
        lines(ranks)[1],
        "  nearly fits: the message from rank 2 (1 in \"halo\") is on \"halo\", not on \
         MPI_COMM_WORLD"
    );
}

#[test]
fn groups_without_a_common_member_may_use_the_same_context() {
    let half = |first: u32, begun| CommunicatorState {
        context: HALO,
        name: String::new(),
        made: "MPI_Comm_split on MPI_COMM_WORLD".into(),
        size: 2,
        first,
        members: Run::of([first, first + 2]),
        begun,
        begun_nonblocking: 0,
    };
    let barrier = |first| {
        let operation = Operation::Collective {
            context: HALO,
            name: "MPI_Barrier".into(),
            root: None,
            number: 1,
            is_blocking: true,
        };
        with(
            state(vec![thread("MPI_Barrier", vec![operation])]),
            |state| {
                state.communicators.push(half(first, 1));
            },
        )
    };
    let late = with(state(vec![]), |state| {
        state.communicators.push(half(1, 0));
        state.last_call.clear();
    });
    let ranks = vec![barrier(0), barrier(1), in_finalize(), late];
    assert_eq!(
        report(&snapshot(ranks))[1..],
        [
            "rank 0: MPI_Barrier() for 12 s",
            "  has come: rank 0; has not come: rank 2",
            "  communicator 5: made by MPI_Comm_split on MPI_COMM_WORLD, 2 ranks: 0, 2",
            "rank 1: MPI_Barrier() for 12 s",
            "  has come: rank 1; has not come: rank 3",
            "  communicator 5: made by MPI_Comm_split on MPI_COMM_WORLD, 2 ranks: 1, 3",
            "rank 2: in MPI_Finalize for 12 s",
            "rank 3: computes",
            "reason: rank 2 is in MPI_Finalize; rank 0 waits for it in MPI_Barrier on \
             communicator 5",
            "reason: rank 3 computes; rank 1 waits for it in MPI_Barrier on communicator 5",
        ]
    );
}

#[test]
fn a_persistent_collective_has_those_that_wait_in_it() {
    let start = || meets(3, "MPI_Wait", collective("MPI_Ibarrier", None, 0), (0, 0));
    let ranks = vec![start(), start(), in_finalize()];
    assert_eq!(
        report(&snapshot(ranks))[1..],
        [
            "ranks 0-1: MPI_Wait() for 12 s",
            "  waits for MPI_Ibarrier on MPI_COMM_WORLD: ranks 0-1 have begun it, rank 2 has not",
            "rank 2: in MPI_Finalize for 12 s",
            "reason: rank 2 is in MPI_Finalize; ranks 0-1 wait for it in MPI_Wait (MPI_Ibarrier)",
        ]
    );
}

#[test]
fn init_and_finalize_wait_for_all_ranks() {
    let init = || waits("MPI_Init", vec![Operation::Job]);
    let ranks = vec![init(), init(), Doing::BeforeInit];
    assert_eq!(lines(ranks.clone())[0], "ranks 0-1: in MPI_Init for 12 s");
    assert_eq!(
        reasons(ranks),
        ["rank 2 has not called MPI_Init; ranks 0-1 wait for it in MPI_Init"]
    );
    assert_eq!(
        reasons(vec![in_finalize(), in_finalize(), computes()]),
        ["rank 2 computes; ranks 0-1 wait for it in MPI_Finalize"]
    );
    let why = "the network holds it up, or mpi-lite has an error";
    assert_eq!(
        reasons(vec![in_finalize(), in_finalize()]),
        [format!(
            "all ranks have come to MPI_Finalize, and it does not end: {why}"
        )]
    );
}

#[test]
fn a_rank_that_does_not_answer_may_have_come() {
    assert_eq!(
        lines(vec![barrier(3), silent('S', 0), computes()])[1],
        "  has come: rank 0; has not come: rank 2; not known: rank 1"
    );
}

#[test]
fn the_lines_of_a_thread_stand_together() {
    let threads = vec![
        thread("MPI_Wait", vec![receive(1, 7)]),
        thread("MPI_Wait", vec![receive(1, 8)]),
    ];
    let rank = with(state(threads), |state| {
        state.threads_left_out = 3;
        state.may_go_on = true;
    });
    let ranks = vec![rank, recv(0, 1)];
    assert_eq!(
        lines(ranks.clone())[..6],
        [
            "rank 0, thread 1 of 5: MPI_Wait() for 12 s",
            "  waits for a message from rank 1, tag 7",
            "rank 0, thread 2 of 5: MPI_Wait() for 12 s",
            "  waits for a message from rank 1, tag 8",
            "  and 3 more threads that wait",
            "  another thread computes",
        ]
    );
    assert_eq!(
        reasons(ranks),
        ["rank 0 computes in another thread; rank 1 waits for it in MPI_Recv, tag 1"]
    );
}

#[test]
fn a_report_has_four_reasons_at_most() {
    let pairs = (0..20).map(|rank| recv(rank ^ 1, 0));
    let reasons = reasons(pairs.collect());
    assert_eq!(reasons.len(), 4);
    assert!(reasons[3].starts_with("rank 6 waits in MPI_Recv for rank 7"));
}

#[test]
fn a_message_for_later_does_not_hide_why_its_sender_waits() {
    let receiver = with(recv_state(1, 7), |state| {
        state.unexpected = vec![held(1, 8)];
    });
    assert_eq!(
        reasons(vec![receiver, recv(2, 1), in_finalize()]),
        [
            "rank 2 is in MPI_Finalize; rank 1 waits for it in MPI_Recv, tag 1; rank 0 waits for \
             rank 1 in MPI_Recv, tag 7"
        ]
    );
}

fn partitioned(ready: u32, all: u32) -> MessageKind {
    MessageKind::Partitioned(Partitions { ready, all })
}

/// A partitioned send of rank 0 to rank 1 with so many of 8 partitions ready.
fn partitioned_send(ready: u32) -> Doing {
    let mut operation = send(1, 1);
    if let Operation::Send { kind, .. } = &mut operation {
        *kind = partitioned(ready, 8);
    }
    waits("MPI_Wait", vec![operation])
}

#[test]
fn a_receive_never_meets_a_message_of_another_kind() {
    let held_as = |tag, kind| HeldMessage {
        kind,
        ..held(0, tag)
    };
    let receiver = |receive: MessageKind, held: HeldMessage| {
        let wanted = Wanted {
            kind: receive,
            ..wanted(0, 1)
        };
        let call = match receive {
            MessageKind::Ordinary => "MPI_Recv",
            _ => "MPI_Wait",
        };
        let thread = thread(call, vec![Operation::Receive(wanted)]);
        with(state(vec![thread]), |state| state.unexpected = vec![held])
    };
    let plain = receiver(MessageKind::Ordinary, held_as(1, partitioned(8, 8)));
    let lines = report(&snapshot(vec![barrier(2), plain])).join("\n");
    for words in [
        "holds a partitioned message from rank 0, tag 1, 8 of 8 partitions, 4 bytes, that nobody",
        "nearly fits: the message from rank 0 is partitioned, the receive is not",
        "reason: rank 1 waits in MPI_Recv for rank 0, tag 1; rank 0 has sent it a partitioned \
         message with tag 1: an ordinary receive never meets a partitioned send",
    ] {
        assert!(lines.contains(words), "{words}: {lines}");
    }
    let split = receiver(partitioned(0, 0), held_as(1, MessageKind::Ordinary));
    let lines = report(&snapshot(vec![barrier(2), split])).join("\n");
    for words in [
        "waits for a partitioned message from rank 0, tag 1\n",
        "nearly fits: the message from rank 0 is not partitioned, the receive is",
        "reason: rank 1 waits in MPI_Wait for a partitioned message from rank 0, tag 1; rank 0 \
         has sent it a message with tag 1: a partitioned receive never meets an ordinary send",
    ] {
        assert!(lines.contains(words), "{words}: {lines}");
    }
    let reason = reasons(vec![partitioned_send(8), recv(0, 1)]);
    assert_eq!(
        reason,
        [
            "rank 0 waits in MPI_Wait until rank 1 receives the partitioned tag 1; rank 1 waits in \
          MPI_Recv for rank 0, tag 1: an ordinary receive never meets a partitioned send"
        ]
    );
}

#[test]
fn a_partitioned_send_waits_for_its_own_partitions() {
    let incoming = HeldMessage {
        kind: partitioned(3, 8),
        ..held(0, 1)
    };
    let receiver = || waits("MPI_Wait", vec![Operation::Incoming(incoming.clone())]);
    let own = "rank 0 waits in MPI_Wait for its own partitioned message to rank 1, tag 1, of which \
               3 of 8 partitions are ready: call MPI_Pready for the others";
    assert_eq!(reasons(vec![partitioned_send(3), receiver()]), [own]);
    let finalized = reasons(vec![in_finalize(), receiver()]);
    assert_eq!(
        finalized,
        ["rank 0 is in MPI_Finalize; rank 1 waits for it in MPI_Wait, tag 1"]
    );
    let on_its_way = reasons(vec![partitioned_send(8), receiver()]);
    assert!(on_its_way[0].contains("is on its way"), "{on_its_way:?}");
}

#[test]
fn a_sender_in_a_communicator_that_the_receiver_does_not_have_has_no_number() {
    let early = HeldMessage {
        context: 200,
        source: Peer {
            rank: Some(3),
            world: None,
        },
        collective: "the creation of a communicator".into(),
        ..held(0, 1)
    };
    let receiver = with(recv_state(1, 7), |state| state.unexpected = vec![early]);
    let lines = report(&snapshot(vec![receiver, in_finalize()])).join("\n");
    let words = "holds a message of the creation of a communicator from rank 3 of communicator \
                 200, which the receiver does not have, 4 bytes, that nobody received";
    assert!(lines.contains(words), "{lines}");
    assert!(!lines.contains(&u32::MAX.to_string()), "{lines}");
}
