//! What the loss of one of three processes does to the other two.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::time::Duration;

use rmpp_core::Config;
use rmpp_sim::Faults;

use crate::clock::Instant;
use crate::config::Settings;
use crate::data::Buffer;
use crate::engine::inbox::matching::Pattern;
use crate::engine::ports::{Notice, Word};
use crate::engine::*;
use crate::error::Cause;
use crate::ids::{Context, Mode, PeerId};
use crate::transport::sim::Air;
use crate::transport::{Link, Links, Loopback, Progress};

/// A communicator of processes 0 and 1.
const PAIR: Context = Context(24);

/// One of processes 2 and 0, in this order.
const TURNED: Context = Context(32);

/// A context of no communicator.
const NOWHERE: Context = Context(400);

/// Three processes, which find out after ten seconds of silence that a peer is lost.
struct Trio {
    air: Air,
    lanes: [Lane; 3],
    ports: Vec<OpenPort>,
}

fn port(members: &[u32]) -> Port {
    let members = members.iter().copied().map(PeerId).collect();
    Port::among(members)
}

impl Trio {
    fn new() -> Self {
        let air = Air::new(3, 1, Faults::none());
        let lanes = [0, 1, 2].map(|me| {
            let mut config = Config::classic(3, 100);
            config.lost_after = Some(Duration::from_secs(10));
            let own = Link::Loopback(Loopback::new(PeerId(me)));
            let others = Link::from(air.join(PeerId(me), config));
            let hosts = ["a", "b", "c"].map(str::to_owned);
            Lane::new(
                PeerId(me),
                Links::new(own, None, Some(others)),
                Settings::default(),
                Vec::from(hosts),
            )
        });
        let ports = Vec::new();
        let mut trio = Self { air, lanes, ports };
        for lane in &mut trio.lanes {
            trio.ports
                .push(lane.open_port(Context::WORLD, port(&[0, 1, 2])));
            trio.ports.push(lane.open_port(PAIR, port(&[0, 1])));
            trio.ports.push(lane.open_port(TURNED, port(&[2, 0])));
        }
        trio
    }

    /// Takes turns until `done`, or until nothing happens any more. Returns true if it is done.
    fn run(&mut self, mut done: impl FnMut(&mut [Lane; 3]) -> bool) -> bool {
        for _ in 0..100_000 {
            if done(&mut self.lanes) {
                return true;
            }
            let now = self.air.now();
            let mut lanes = self.lanes.iter_mut();
            if !lanes.any(|lane| lane.turn(now) == Progress::Delivered) {
                let wake_at = self
                    .lanes
                    .iter()
                    .filter_map(|lane| lane.links().wake_at())
                    .min();
                if !self.air.advance(wake_at) {
                    return done(&mut self.lanes);
                }
            }
        }
        panic!("it does not end");
    }

    /// Nothing goes from process 2 to `other` or back any more.
    fn cut(&mut self, other: u32) {
        let never = Instant(u64::MAX);
        self.air.cut(PeerId(2), PeerId(other), never);
        self.air.cut(PeerId(other), PeerId(2), never);
    }

    fn send(&mut self, (from, to): (usize, u32), context: Context, body: &mut [u8]) -> Request {
        let plan = SendPlan {
            to: Some(PeerId(to)),
            context,
            source: from as u32,
            tag: 7,
            mode: Mode::Synchronous,
            area: Buffer::of_bytes(body).area().unwrap(),
        };
        self.lanes[from].send(&plan).unwrap()
    }

    fn is_over(&mut self, at: usize, request: Request) -> bool {
        self.lanes[at].peek(Some(request)).unwrap().is_some()
    }

    /// Process 2 dies, and process 0 finds it out: it has sent something.
    fn bury(&mut self) {
        self.cut(0);
        self.cut(1);
        let mut body = [0; 8];
        let sent = self.send((0, 2), Context::WORLD, &mut body);
        assert!(self.run(|lanes| lanes[0].peek(Some(sent)).unwrap().is_some()));
        assert!(fails(&mut self.lanes[0], sent));
        assert!(self.lanes[0].peers().first_loss().is_some());
    }
}

/// Takes a request that is over. Returns true if it failed because process 2 is lost.
fn fails(lane: &mut Lane, request: Request) -> bool {
    let ended = lane.take(Some(request)).unwrap().unwrap();
    match ended.error.as_ref().map(|error| error.cause()) {
        None => false,
        Some(Cause::Lost { rank: 2, host, .. }) if &**host == "c" => true,
        Some(other) => panic!("{other:?}"),
    }
}

fn from(context: Context, source: impl Into<Option<u32>>) -> Pattern {
    Pattern {
        context,
        source: source.into(),
        tag: None,
    }
}

fn receive(lane: &mut Lane, pattern: Pattern, room: &mut [u8]) -> Request {
    lane.receive(ReceivePlan {
        pattern: Some(pattern),
        area: Buffer::of_bytes(room).area().unwrap(),
    })
}

/// What process 0 may wait for, and whether that is in vain when process 2 is lost.
fn waits() -> [(Pattern, bool); 14] {
    let number = 3 << envelope::RANK_BITS;
    [
        (from(Context::WORLD, 1), false),
        (from(Context::WORLD, 0), false),
        (from(Context::WORLD, 2), true),
        (from(Context::WORLD, None), true),
        (from(PAIR, 1), false),
        (from(PAIR, None), false),
        // Rank 0 there is process 2.
        (from(TURNED, 0), true),
        (from(TURNED, 1), false),
        // A collective operation is one of all.
        (from(Context::WORLD.collective(), 1), true),
        (from(Context::WORLD.nonblocking(), number | 1), true),
        (from(PAIR.collective(), 1), false),
        (from(PAIR.nonblocking(), number | 1), false),
        // Nothing is known of it.
        (from(NOWHERE, 1), true),
        (from(NOWHERE, None), true),
    ]
}

#[test]
fn a_lost_peer_fails_the_posted_receives_that_it_could_have_answered_and_no_others() {
    let mut trio = Trio::new();
    let mut room = [0; 8];
    let posted = waits().map(|(pattern, _)| receive(&mut trio.lanes[0], pattern, &mut room));
    trio.bury();
    for (request, (pattern, is_in_vain)) in posted.into_iter().zip(waits()) {
        assert_eq!(trio.is_over(0, request), is_in_vain, "{pattern:?}");
        assert!(!is_in_vain || fails(&mut trio.lanes[0], request));
    }
}

#[test]
fn a_receive_that_is_posted_after_the_loss_fails_by_the_same_rule() {
    let mut trio = Trio::new();
    let mut room = [0; 8];
    trio.bury();
    for (pattern, is_in_vain) in waits() {
        let request = receive(&mut trio.lanes[0], pattern, &mut room);
        assert_eq!(trio.is_over(0, request), is_in_vain, "{pattern:?}");
        assert!(!is_in_vain || fails(&mut trio.lanes[0], request));
    }
}

#[test]
fn a_probe_that_may_wait_for_the_lost_peer_ends() {
    let mut trio = Trio::new();
    for (pattern, _) in waits() {
        assert_eq!(trio.lanes[0].failure_behind(&pattern), None);
    }
    trio.bury();
    for (pattern, is_in_vain) in waits() {
        let loss = trio.lanes[0].failure_behind(&pattern);
        assert_eq!(loss.is_some(), is_in_vain, "{pattern:?}");
    }
}

#[test]
fn survivors_go_on_with_each_other() {
    let (mut body, mut rooms) = ([5; 300], [[0; 300]; 3]);
    let mut trio = Trio::new();
    let [first, second, third] = &mut rooms;
    let early = receive(&mut trio.lanes[0], from(Context::WORLD, 1), first);
    trio.bury();
    let mut requests = vec![early];
    requests.push(receive(&mut trio.lanes[0], from(Context::WORLD, 1), second));
    requests.push(receive(&mut trio.lanes[0], from(PAIR, None), third));
    for context in [Context::WORLD, Context::WORLD, PAIR] {
        let sent = trio.send((1, 0), context, &mut body);
        assert!(trio.run(|lanes| lanes[1].take(Some(sent)).unwrap().is_some()));
    }
    for request in requests {
        assert!(trio.is_over(0, request));
        assert!(!fails(&mut trio.lanes[0], request));
    }
    assert_eq!(rooms, [body; 3]);
}

/// Process 1 waits for process 0, which gives up: nothing else would tell it why.
#[test]
fn a_member_that_gives_up_makes_the_waiting_members_look_for_the_lost_one() {
    let mut trio = Trio::new();
    let mut room = [0; 8];
    let collective = from(Context::WORLD.collective(), 0);
    let waiting = receive(&mut trio.lanes[1], collective, &mut room);
    trio.bury();
    assert!(trio.run(|lanes| lanes[1].peek(Some(waiting)).unwrap().is_some()));
    assert!(fails(&mut trio.lanes[1], waiting));
}

/// Process 0 reports the loss of process 2, which answers process 1. Process 0 completes no
/// collective with process 2 any more, so those of process 1 with both fail; all else goes on.
#[test]
fn a_peer_that_another_process_has_lost_is_lost_to_the_collectives_of_both_alone() {
    let mut trio = Trio::new();
    let mut rooms = [[0; 8]; 3];
    let apart = Context(16);
    for me in [1, 2] {
        let port = trio.lanes[me].open_port(apart, port(&[1, 2]));
        trio.ports.push(port);
    }
    let contexts = [Context::WORLD, apart.collective()];
    let [in_vain, others @ ..] = &mut rooms;
    let lane = &mut trio.lanes[1];
    let in_vain = receive(lane, from(Context::WORLD.collective(), 2), in_vain);
    let waiting: Vec<_> = contexts
        .into_iter()
        .zip(others)
        .map(|(context, room)| receive(lane, from(context, 2), room))
        .collect();
    trio.cut(0);
    let mut body = [0; 8];
    trio.send((0, 2), Context::WORLD, &mut body);
    assert!(trio.run(|lanes| lanes[1].peek(Some(in_vain)).unwrap().is_some()));
    assert!(fails(&mut trio.lanes[1], in_vain));
    assert!(trio.run(|lanes| lanes[1].links().are_quiet()));
    for (context, request) in contexts.into_iter().zip(waiting) {
        assert!(!trio.is_over(1, request));
        let mut body = [0; 8];
        trio.send((2, 1), context, &mut body);
        assert!(trio.run(|lanes| lanes[1].peek(Some(request)).unwrap().is_some()));
        assert!(!fails(&mut trio.lanes[1], request));
    }
    assert_eq!(trio.lanes[1].peers().first_loss(), None);
    let mut room = [0; 8];
    let collective = from(Context::WORLD.collective(), 2);
    let late = receive(&mut trio.lanes[1], collective, &mut room);
    assert!(fails(&mut trio.lanes[1], late));
}

/// The network may say anything.
#[test]
fn the_loss_of_a_process_that_nobody_knows_is_no_news() {
    let mut trio = Trio::new();
    for rank in [3, u32::MAX, 0] {
        trio.lanes[0].parts.note_desertion(PeerId(1), rank);
    }
    assert!(trio.lanes[0].parts.outbox.take_deferred().is_empty());
    assert!(!trio.lanes[0].parts.ports.has_failures());
}

#[test]
fn a_message_that_waits_is_received_after_the_loss_but_no_part_of_a_collective() {
    let (mut body, mut room) = ([5; 30], [0; 30]);
    let contexts = [Context::WORLD, Context::WORLD.collective()];
    let mut trio = Trio::new();
    for context in contexts {
        trio.send((1, 0), context, &mut body);
    }
    assert!(trio.run(|lanes| lanes[0].survey().unexpected == 2));
    trio.bury();
    let request = receive(&mut trio.lanes[0], from(contexts[0], None), &mut room);
    assert!(trio.run(|lanes| lanes[0].peek(Some(request)).unwrap().is_some()));
    assert!(!fails(&mut trio.lanes[0], request));
    assert_eq!(room, body);
    // It may be left over from an operation that has failed.
    let request = receive(&mut trio.lanes[0], from(contexts[1], 1), &mut room);
    assert!(fails(&mut trio.lanes[0], request));
}

#[test]
fn a_port_that_is_closed_is_known_as_long_as_receives_wait_there() {
    let mut trio = Trio::new();
    let mut room = [0; 8];
    let pattern = from(PAIR, 1);
    let request = receive(&mut trio.lanes[0], pattern, &mut room);
    let ports = trio.lanes[0].parts.ports.len();
    trio.ports.clear();
    let open = |lane: &mut Lane| lane.open_port(Context(16), port(&[0, 2]));
    let _other = open(&mut trio.lanes[0]);
    assert_eq!(trio.lanes[0].parts.ports.len(), ports + 1 - 2);
    trio.bury();
    assert!(!trio.is_over(0, request));
    trio.lanes[0].cancel(request).unwrap();
    let _another = open(&mut trio.lanes[0]);
    assert_eq!(trio.lanes[0].parts.ports.len(), 1);
}

/// Process 0 may have given up and receives it never. Without this, process 1 would wait for ever.
#[test]
fn a_send_of_a_collective_that_nobody_receives_fails_with_the_loss_of_a_member() {
    let mut body = [5; 8];
    let mut trio = Trio::new();
    let in_vain = trio.send((1, 0), Context::WORLD.collective(), &mut body);
    let beside = trio.send((1, 0), Context::WORLD.nonblocking(), &mut body);
    let others = [
        trio.send((1, 0), PAIR.collective(), &mut body),
        trio.send((1, 0), Context::WORLD, &mut body),
    ];
    trio.bury();
    for request in [in_vain, beside] {
        assert!(trio.run(|lanes| lanes[1].peek(Some(request)).unwrap().is_some()));
        assert!(fails(&mut trio.lanes[1], request));
    }
    assert_eq!(trio.lanes[0].survey().unexpected, others.len());
    for request in others {
        assert!(!trio.is_over(1, request));
    }
}

#[test]
fn a_send_of_a_collective_is_refused_once_a_member_is_lost() {
    let mut body = [5; 8];
    let mut trio = Trio::new();
    trio.bury();
    let plan = |context: Context, body: &mut [u8]| SendPlan {
        to: Some(PeerId(1)),
        context,
        source: 0,
        tag: 7,
        mode: Mode::Synchronous,
        area: Buffer::of_bytes(body).area().unwrap(),
    };
    let refused = trio.lanes[0].send(&plan(Context::WORLD.collective(), &mut body));
    let refused = refused.unwrap_err();
    assert!(matches!(refused.cause(), Cause::Lost { rank: 2, .. }));
    for context in [PAIR.collective(), Context::WORLD] {
        trio.lanes[0].send(&plan(context, &mut body)).unwrap();
    }
}

/// A send whose message is received in time is complete: it is not in vain.
#[test]
fn a_send_of_a_collective_that_is_received_before_the_loss_is_complete() {
    let (mut body, mut room) = ([5; 300], [0; 300]);
    let collective = Context::WORLD.collective();
    let mut trio = Trio::new();
    let received = receive(&mut trio.lanes[0], from(collective, 1), &mut room);
    let sent = trio.send((1, 0), collective, &mut body);
    assert!(trio.run(|lanes| lanes[0].peek(Some(received)).unwrap().is_some()));
    trio.bury();
    assert!(trio.run(|lanes| lanes[1].peek(Some(sent)).unwrap().is_some()));
    assert!(!fails(&mut trio.lanes[1], sent));
    assert_eq!(room, body);
}

/// The collective of process 1 has failed in its midst. It tells processes 0 and 2.
fn give_up(trio: &mut Trio, calls: Calls, from: u32) {
    let error = Cause::Truncate { len: 40, room: 20 }.into();
    trio.lanes[1].give_up_collectives((calls, from), &error, "rank 1 gave up");
}

/// The blocking collectives of all.
const BLOCKING: Calls = Calls {
    context: Context(1),
    number: 0,
};

fn is_given_up(lane: &mut Lane, request: Request) -> bool {
    let ended = lane.take(Some(request)).unwrap().unwrap();
    match ended.error.as_ref().map(|error| error.cause()) {
        None => false,
        Some(Cause::GivenUp { is_truncated, why }) => *is_truncated && &**why == "rank 1 gave up",
        Some(other) => panic!("{other:?}"),
    }
}

#[test]
fn a_member_that_gives_up_fails_the_collectives_of_this_context_alone_and_for_good() {
    let (mut body, mut room) = ([5; 8], [0; 8]);
    let collective = Context::WORLD.collective();
    let mut trio = Trio::new();
    let posted = receive(&mut trio.lanes[0], from(collective, 2), &mut room);
    let others = [
        Context::WORLD.nonblocking(),
        Context::WORLD,
        PAIR.collective(),
    ]
    .map(|context| receive(&mut trio.lanes[0], from(context, 1), &mut room));
    let sent = trio.send((2, 0), collective, &mut body);
    let sent_late = trio.send((2, 0), collective, &mut body);
    assert!(trio.run(|lanes| lanes[0].peek(Some(posted)).unwrap().is_some()));
    give_up(&mut trio, BLOCKING, 0);
    // The first message was received in time; nobody receives the second one.
    for (request, is_in_vain) in [(sent, false), (sent_late, true)] {
        assert!(trio.run(|lanes| lanes[2].peek(Some(request)).unwrap().is_some()));
        assert_eq!(is_given_up(&mut trio.lanes[2], request), is_in_vain);
    }
    let late = receive(&mut trio.lanes[0], from(collective, 2), &mut room);
    assert!(is_given_up(&mut trio.lanes[0], late));
    for request in others {
        assert!(!trio.is_over(0, request));
    }
}

#[test]
fn a_member_in_an_earlier_call_than_the_one_that_failed_completes_it() {
    let (mut body, mut room) = ([5; 8], [0; 8]);
    let collective = Context::WORLD.collective();
    let mut trio = Trio::new();
    let world = 0;
    // Processes 0 and 2 are in their first call, process 1 is in its second one.
    for (me, calls) in [(0, 1), (1, 2), (2, 1)] {
        for _ in 0..calls {
            trio.ports[3 * me + world].count_call();
        }
    }
    let earlier = receive(&mut trio.lanes[0], from(collective, 2), &mut room);
    give_up(&mut trio, BLOCKING, 2);
    assert!(trio.run(|lanes| {
        [0, 2]
            .iter()
            .all(|&at| lanes[at].parts.ports.has_failures())
    }));
    let sent = trio.send((2, 0), collective, &mut body);
    for (at, request) in [(0, earlier), (2, sent)] {
        assert!(trio.run(|lanes| lanes[at].peek(Some(request)).unwrap().is_some()));
        assert!(!is_given_up(&mut trio.lanes[at], request));
    }
    trio.ports[world].count_call();
    let next = receive(&mut trio.lanes[0], from(collective, 2), &mut room);
    assert!(is_given_up(&mut trio.lanes[0], next));
}

/// A report has come that a process completes no collective of a context any more.
fn report(lane: &mut Lane, from: u32, context: Context, body: &[u8]) {
    let notice = Notice {
        from: 0,
        number: 0,
        is_truncated: false,
        why: String::new(),
    };
    let (envelope, _) = Word::GivenUp(context, notice).encode();
    let head = Head::new(PeerId(from), envelope, body.into());
    if let Some(word) = Word::decode(&head) {
        lane.parts.hear(PeerId(from), word);
    }
}

/// The network may say anything: another process than a member, another context, half a report.
#[test]
fn a_report_that_a_collective_is_given_up_counts_only_if_it_comes_from_a_member() {
    let mut trio = Trio::new();
    let lane = &mut trio.lanes[0];
    for (from, context, bytes) in [
        (2, PAIR.collective(), 20),
        (1, NOWHERE.collective(), 20),
        (1, PAIR, 20),
        (1, PAIR.collective(), 4),
        (1, PAIR.collective(), 8),
    ] {
        report(lane, from, context, &vec![0; bytes]);
        assert!(
            !lane.parts.ports.has_failures(),
            "{from}, {context:?}, {bytes}"
        );
    }
    let right = [0, 0, 0, 0, 0, 0, 0, 0, 0, b'!', 7, 0xff];
    report(lane, 1, PAIR.collective(), &right);
    let why = lane.failure_behind(&from(PAIR.collective(), 1)).unwrap();
    assert_eq!(why.to_string(), "!\u{fffd}");
}

/// Messages of nonblocking collectives of one communicator have numbers, so one that fails leaves
/// nothing behind for another one.
#[test]
fn a_nonblocking_collective_that_is_given_up_fails_alone_until_its_number_comes_again() {
    let mut room = [0; 8];
    let context = Context::WORLD.nonblocking();
    let number = |call: u32| call << envelope::RANK_BITS;
    let mut trio = Trio::new();
    let world = 0;
    let calls = Calls {
        context,
        number: number(5),
    };
    // The call of number 5 is known to fail before it begins here.
    give_up(&mut trio, calls, 5);
    assert!(trio.run(|lanes| lanes[0].parts.ports.has_failures()));
    trio.lanes[0].renew_call((calls, 5));
    for _ in 0..6 {
        trio.ports[world].count_nonblocking_call();
    }
    let [before, failed, after] = [4, 5, 6].map(|call| {
        let pattern = from(context, number(call) | 2);
        receive(&mut trio.lanes[0], pattern, &mut room)
    });
    assert!(is_given_up(&mut trio.lanes[0], failed));
    for request in [before, after] {
        assert!(!trio.is_over(0, request));
    }
    // Its number comes again, and then a late report of the first one.
    for _ in 0..256 {
        trio.ports[world].count_nonblocking_call();
    }
    trio.lanes[0].renew_call((calls, 5 + 256));
    report(&mut trio.lanes[0], 2, context, &[5, 0, 0, 0, 0, 0, 0, 5, 0]);
    let anew = receive(&mut trio.lanes[0], from(context, number(5) | 1), &mut room);
    assert!(!trio.is_over(0, anew));
}

/// Ranks may give up in different calls.
#[test]
fn of_blocking_collectives_the_first_call_that_a_member_gives_up_counts() {
    let mut room = [0; 8];
    let mut trio = Trio::new();
    for _ in 0..8 {
        trio.ports[0].count_call();
    }
    let waiting = receive(&mut trio.lanes[0], from(BLOCKING.context, 2), &mut room);
    for (call, is_over) in [(10, false), (7, true)] {
        let late = [call, 0, 0, 0, 0, 0, 0, 0, 1];
        report(&mut trio.lanes[0], 1, BLOCKING.context, &late);
        assert_eq!(trio.is_over(0, waiting), is_over);
    }
}
