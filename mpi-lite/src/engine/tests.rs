//! What the engine does at the edges: a peer that dies, the end of a program, arrays of requests.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::time::Duration;

use rmpp_core::Config;
use rmpp_sim::Faults;

use super::inbox::matching::Pattern;
use super::ports::Port;
use super::report::Subject;
use super::*;
use crate::boot::state::{HeldMessage, MessageKind, Operation, Peer, ThreadState, Wanted};
use crate::clock::{Clock, Instant};
use crate::config::Settings;
use crate::counters::Messages;
use crate::data::{Area, Buffer};
use crate::error::{Cause, Error};
use crate::ids::{Context, Mode, Source, TagSelector};
use crate::transport::shm::tests::oversubscribed;
use crate::transport::sim::Air;
use crate::transport::{Link, Links, Loopback, PeerId, Progress};

/// Two processes whose peers are lost after ten seconds of silence.
struct Pair {
    air: Air,
    lanes: [Lane; 2],
}

impl Pair {
    fn new(settings: Settings) -> Self {
        let air = Air::new(2, 1, Faults::none());
        let lane = |me| {
            let mut config = Config::classic(2, 100);
            config.lost_after = Some(Duration::from_secs(10));
            let own = Link::Loopback(Loopback::new(PeerId(me)));
            let other = Link::from(air.join(PeerId(me), config));
            let hosts = vec!["left".into(), "right".into()];
            Lane::new(
                PeerId(me),
                Links::new(own, None, Some(other)),
                settings.clone(),
                hosts,
            )
        };
        let lanes = [lane(0), lane(1)];
        Self { air, lanes }
    }

    /// Takes turns until `done`.
    fn run(&mut self, mut done: impl FnMut(&mut [Lane; 2]) -> bool) {
        for _ in 0..100_000 {
            if done(&mut self.lanes) {
                return;
            }
            let now = self.air.now();
            let mut lanes = self.lanes.iter_mut();
            if !lanes.any(|lane| lane.turn(now) == Progress::Delivered) {
                let wake_at = self
                    .lanes
                    .iter()
                    .filter_map(|lane| lane.links().wake_at())
                    .min();
                assert!(self.air.advance(wake_at), "nothing happens any more");
            }
        }
        panic!("it does not end");
    }

    /// Process 0 goes silent.
    fn cut(&mut self) {
        let never = Instant(u64::MAX);
        self.air.cut(PeerId(0), PeerId(1), never);
        self.air.cut(PeerId(1), PeerId(0), never);
    }

    fn send(&mut self, from: usize, body: &mut [u8], mode: Mode) -> Request {
        let plan = SendPlan {
            to: Some(PeerId(1 - from as u32)),
            context: Context::WORLD,
            source: from as u32,
            tag: 7,
            mode,
            area: Buffer::of_bytes(body).area().unwrap(),
        };
        self.lanes[from].send(&plan).unwrap()
    }

    /// Process 1 hears of the death of process 0: it has sent something.
    fn bury(&mut self) {
        self.cut();
        let mut body = [0; 8];
        let sent = self.send(1, &mut body, Mode::Synchronous);
        self.run(|lanes| lanes[1].peek(Some(sent)).unwrap().is_some());
        let ended = self.lanes[1].take(Some(sent)).unwrap().unwrap();
        assert_eq!(ended.error, Some(lost()));
        assert_eq!(self.lanes[1].peers().first_loss(), Some(lost()));
    }
}

fn lost() -> Error {
    Cause::Lost {
        rank: 0,
        host: "left".into(),
        address: None,
        reason: "it has given no answer for too long (MPILITE_LOST_S); is its host up, and does a \
                 firewall between the hosts keep UDP away?"
            .into(),
    }
    .into()
}

fn anything() -> Pattern {
    Pattern {
        context: Context::WORLD,
        source: None,
        tag: None,
    }
}

fn receive(lane: &mut Lane, room: &mut [u8]) -> Request {
    let plan = ReceivePlan {
        pattern: Some(anything()),
        area: Buffer::of_bytes(room).area().unwrap(),
    };
    lane.receive(plan)
}

/// A message of process 0 is announced, but not whole: taken in, or held at its sender.
fn interrupted(mode: Mode, body: &mut [u8]) -> Pair {
    let mut pair = Pair::new(Settings::default());
    let _ = pair.send(0, body, mode);
    pair.run(|lanes| lanes[1].survey().unexpected == 1);
    assert_eq!(pair.lanes[1].survey().arriving, 1);
    pair
}

const MODES: [Mode; 2] = [Mode::Standard, Mode::Synchronous];

#[test]
fn a_receive_of_a_message_that_died_on_its_way_fails_and_its_budget_is_free_again() {
    for mode in MODES {
        let (mut body, mut room) = ([5; 3000], [0; 3000]);
        let mut pair = interrupted(mode, &mut body);
        pair.bury();
        assert_eq!(pair.lanes[1].survey().taken_in_bytes, 0, "{mode:?}");
        let request = receive(&mut pair.lanes[1], &mut room);
        let ended = pair.lanes[1].take(Some(request)).unwrap().unwrap();
        assert_eq!(ended.error, Some(lost()), "{mode:?}");
        assert_eq!(pair.lanes[1].survey(), Survey::default(), "{mode:?}");
    }
}

#[test]
fn a_probed_message_that_died_on_its_way_fails_when_it_is_received() {
    for mode in MODES {
        let (mut body, mut room) = ([5; 3000], [0; 3000]);
        let mut pair = interrupted(mode, &mut body);
        let (message, _) = pair.lanes[1].matched_probe(&anything()).unwrap();
        pair.bury();
        let area = Buffer::of_bytes(&mut room).area().unwrap();
        let request = pair.lanes[1].matched_receive(message, area).unwrap();
        let ended = pair.lanes[1].take(Some(request)).unwrap().unwrap();
        assert_eq!(ended.error, Some(lost()), "{mode:?}");
        assert_eq!(pair.lanes[1].survey(), Survey::default(), "{mode:?}");
    }
}

#[test]
fn a_matched_receive_of_a_message_that_dies_on_its_way_fails() {
    for mode in MODES {
        let (mut body, mut room) = ([5; 3000], [0; 3000]);
        let mut pair = interrupted(mode, &mut body);
        let request = receive(&mut pair.lanes[1], &mut room);
        pair.bury();
        let ended = pair.lanes[1].take(Some(request)).unwrap().unwrap();
        assert_eq!(ended.error, Some(lost()), "{mode:?}");
        assert_eq!(pair.lanes[1].survey(), Survey::default(), "{mode:?}");
    }
}

#[test]
fn a_message_that_came_whole_before_its_sender_died_is_received() {
    let (mut body, mut room) = ([5; 300], [0; 300]);
    let mut pair = interrupted(Mode::Standard, &mut body);
    pair.run(|lanes| lanes[1].survey().arriving == 0);
    pair.bury();
    let request = receive(&mut pair.lanes[1], &mut room);
    let ended = pair.lanes[1].take(Some(request)).unwrap().unwrap();
    assert_eq!((ended.error, ended.status.bytes), (None, 300));
    assert!(room == body);
    assert_eq!(pair.lanes[1].survey(), Survey::default());
}

#[test]
fn finalize_cancels_posted_receives_and_leaves_their_buffers_unwritten() {
    let (mut body, mut room) = ([5; 300], [0; 300]);
    let mut pair = Pair::new(Settings::default());
    let request = receive(&mut pair.lanes[1], &mut room);
    pair.lanes[1].close();
    let sent = pair.send(0, &mut body, Mode::Synchronous);
    pair.run(|lanes| lanes[0].take(Some(sent)).unwrap().is_some());
    let ended = pair.lanes[1].take(Some(request)).unwrap().unwrap();
    assert!(ended.status.cancelled);
    assert!(room.iter().all(|&byte| byte == 0));
}

#[test]
fn a_held_message_does_not_keep_its_sender_when_the_receiver_finalizes() {
    for probed in [false, true] {
        let mut body = [5; 3000];
        let mut pair = interrupted(Mode::Synchronous, &mut body);
        if probed {
            let _ = pair.lanes[1].matched_probe(&anything()).unwrap();
        }
        pair.lanes[1].close();
        pair.run(|lanes| lanes[0].links().are_quiet() && lanes[1].survey().arriving == 0);
        assert_eq!(pair.lanes[1].survey().unexpected, 0);
    }
}

/// A send to `MPI_PROC_NULL`.
fn nowhere() -> SendPlan {
    SendPlan {
        to: None,
        context: Context::WORLD,
        source: 0,
        tag: 0,
        mode: Mode::Standard,
        area: Area::EMPTY,
    }
}

/// Requests of one process: one finished, one not, null, an inactive persistent one.
fn assorted(lane: &mut Lane, room: &mut [u8]) -> [Option<Request>; 4] {
    let done = lane.receive(ReceivePlan {
        pattern: None,
        area: Area::EMPTY,
    });
    let inactive = lane.plan(Plan::Send(nowhere()));
    let open = receive(lane, room);
    [Some(open), None, Some(inactive), Some(done)]
}

#[test]
fn a_send_that_is_complete_at_once_leaves_nothing_behind() {
    let engine = engine();
    engine.with(|lane| {
        let [.., inactive, _] = assorted(lane, &mut [0; 8]);
        let requests = lane.survey().requests;
        let nowhere = lane.send(&nowhere()).unwrap();
        assert_eq!(lane.survey().requests, requests);
        assert!(lane.is_active(Some(nowhere)).unwrap() && !lane.is_active(inactive).unwrap());
        assert_eq!(
            lane.start(nowhere).unwrap_err().cause(),
            &Cause::NotStartable
        );
        lane.cancel(nowhere).unwrap();
        lane.free(nowhere).unwrap();
        let ended = lane.take(Some(nowhere)).unwrap().unwrap();
        assert!(ended.is_gone && !ended.status.cancelled);
    });
}

fn engine() -> Arc<Engine> {
    let own = Link::Loopback(Loopback::new(PeerId(0)));
    let lane = Lane::new(
        PeerId(0),
        Links::new(own, None, None),
        Settings::default(),
        vec!["here".into()],
    );
    Engine::new(lane, Clock::start(), WaitPolicy::of(1, 1)).unwrap()
}

#[test]
fn any_of_several_is_the_first_finished_one_that_is_active() {
    let (engine, mut room) = (engine(), [0; 8]);
    let [open, null, inactive, done] = engine.with(|lane| assorted(lane, &mut room));
    assert_eq!(engine.test_any(&[open, null][..]).unwrap(), Any::NotYet);
    assert_eq!(
        engine.test_any(&[null, inactive][..]).unwrap(),
        Any::NoneActive
    );
    assert_eq!(engine.wait_any(&[null, inactive][..]).unwrap(), None);
    let found = engine.wait_any(&[open, null, inactive, done][..]).unwrap();
    assert_eq!(
        found.map(|(index, done)| (index, done.is_gone)),
        Some((3, true))
    );
    assert_eq!(
        engine.test_any(&[done][..]).unwrap_err(),
        Cause::Request.into()
    );
}

#[test]
fn some_of_several_are_all_finished_ones_that_are_active() {
    let (engine, mut room) = (engine(), [0; 8]);
    let [open, null, inactive, done] = engine.with(|lane| assorted(lane, &mut room));
    let mut indices = Vec::new();
    let mut tell = |index, _, _| indices.push(index);
    let nothing = &[null, inactive][..];
    assert_eq!(engine.test_some(nothing, &mut tell), Ok(None));
    assert_eq!(engine.wait_some(nothing, &mut tell), Ok(None));
    let pending = &[open, inactive][..];
    assert_eq!(engine.test_some(pending, &mut tell), Ok(Some(0)));
    let all = &[open, null, inactive, done][..];
    assert_eq!(engine.wait_some(all, &mut tell), Ok(Some(1)));
    assert_eq!(indices, [3]);
}

#[test]
fn none_of_several_is_taken_before_all_are_finished() {
    let (engine, mut room) = (engine(), [0; 8]);
    let [open, null, inactive, done] = engine.with(|lane| assorted(lane, &mut room));
    let mut gone = Vec::new();
    let requests = &[done, open][..];
    let all = engine.test_all(requests, |_, it: Completion, _| gone.push(it.is_gone));
    assert_eq!((all, gone.len()), (Ok(false), 0));
    let requests = &[null, inactive, done][..];
    let all = engine.wait_all(requests, |_, it: Completion, _| gone.push(it.is_gone));
    assert_eq!(all, Ok(()));
    assert_eq!(gone, [false, false, true]);
    engine.with(|lane| lane.cancel(open.unwrap())).unwrap();
    assert!(engine.wait(open).unwrap().status.cancelled);
}

#[test]
fn all_of_several_are_taken_by_a_test_once_they_are_finished() {
    let (engine, mut room) = (engine(), [0; 8]);
    let [open, null, inactive, done] = engine.with(|lane| assorted(lane, &mut room));
    let mut gone = Vec::new();
    let finished = &[null, inactive, done][..];
    let all = engine.test_all(finished, |_, it: Completion, _| gone.push(it.is_gone));
    assert_eq!((all, &gone[..]), (Ok(true), &[false, false, true][..]));
    let again = engine.test_all(finished, |_, _: Completion, _| {});
    assert_eq!(again.unwrap_err(), Cause::Request.into());
    engine.with(|lane| lane.cancel(open.unwrap())).unwrap();
    assert!(engine.wait(open).unwrap().status.cancelled);
}

#[test]
fn a_wait_for_more_requests_is_not_due_before_they_finish() {
    engine().with(|lane| {
        let finished = lane.requests().finished();
        assert!(lane.requests().is_due());
        assert_eq!(lane.requests_mut().await_more(2), finished + 2);
        assert!(!lane.requests().is_due());
    });
}

/// The transport keeps the sends of a burst; a call that waits or tests sends them on.
#[test]
fn sends_kept_of_a_burst_go_when_the_program_waits_or_tests() {
    /// What has come at process 1, though process 0 takes no turn.
    fn come(pair: &mut Pair) -> usize {
        while pair.air.advance(None) {
            while pair.lanes[1].turn(pair.air.now()) == Progress::Delivered {}
        }
        pair.lanes[1].survey().unexpected
    }
    let mut pair = Pair::new(Settings::default());
    let mut bodies = [[1; 40]; 3];
    for body in &mut bodies {
        pair.send(0, body, Mode::Standard);
    }
    assert!(!pair.lanes[0].ends_burst(), "nothing was kept");
    assert_eq!(come(&mut pair), 3);
    // Of the next burst a third one is expected: the second is kept.
    for body in &mut bodies[..2] {
        pair.send(0, body, Mode::Standard);
    }
    assert_eq!(come(&mut pair), 4);
    pair.lanes[0].flush();
    assert_eq!(come(&mut pair), 5);
}

/// Source: MPI 5.0, 3.10.
#[test]
fn a_receive_from_nobody_has_nothing_and_says_from_whom() {
    let (engine, mut room) = (engine(), [0; 8]);
    let [open, .., done] = engine.with(|lane| assorted(lane, &mut room));
    let status = engine.wait(done).unwrap().status;
    assert_eq!((status.source, status.bytes), (Source::Null, 0));
    assert_eq!((status.tag, status.cancelled), (TagSelector::Any, false));
    engine.with(|lane| lane.cancel(open.unwrap())).unwrap();
    assert!(engine.wait(open).unwrap().status.cancelled);
}

#[test]
fn the_completion_of_a_persistent_request_differs_from_that_of_an_inactive_one() {
    let (engine, mut room) = (engine(), [0; 8]);
    let [open, null, inactive, done] = engine.with(|lane| assorted(lane, &mut room));
    let take = |request| engine.with(|lane| lane.take(request)).unwrap();
    for nothing in [null, inactive] {
        assert!(take(nothing).unwrap().is_of_nothing());
    }
    engine.with(|lane| lane.start(inactive.unwrap())).unwrap();
    let sent = take(inactive).unwrap();
    assert!(!sent.is_of_nothing() && !sent.is_gone, "{sent:?}");
    assert!(take(inactive).unwrap().is_of_nothing());
    assert!(!take(done).unwrap().is_of_nothing());
    engine.with(|lane| lane.cancel(open.unwrap())).unwrap();
    assert!(!engine.wait(open).unwrap().is_of_nothing());
}

#[test]
fn one_process_counts_as_sent_as_much_as_the_other_counts_as_received() {
    let mut pair = Pair::new(Settings::default());
    let mut bodies = [[1; 40]; 3];
    for body in &mut bodies {
        pair.send(0, body, Mode::Standard);
    }
    pair.run(|lanes| lanes[1].survey().unexpected == 3);
    let mut room = [0; 64];
    for _ in 0..3 {
        let request = receive(&mut pair.lanes[1], &mut room);
        pair.run(|lanes| lanes[1].peek(Some(request)).unwrap().is_some());
    }
    pair.run(|lanes| lanes[0].links().are_quiet());
    let [left, right] = [0, 1].map(|of: usize| pair.lanes[of].counters());
    assert_eq!(left.messages.messages_sent, 3);
    assert_eq!(left.messages.bytes_sent, 120);
    assert_eq!(right.messages.messages_received, 3);
    assert_eq!(right.messages.bytes_received, 120);
    let Messages {
        unexpected,
        unexpected_peak,
        unexpected_peak_bytes,
        ..
    } = right.messages;
    assert_eq!(
        (unexpected, unexpected_peak, unexpected_peak_bytes),
        (3, 3, 3 * protocol::kept_unexpected(40))
    );
    let row = |counters: &Counters, name: &str| {
        let rows = counters.rows();
        let row = rows.iter().find(|row| row.name() == name);
        row.expect("a counter of this name").value
    };
    assert_eq!(row(&left, "rmpp_messages_sent"), 3);
    assert_eq!(row(&left, "rmpp_sent_last_rts"), 3);
    assert_eq!(row(&right, "rmpp_received_last_rts"), 3);
    assert_eq!(row(&left, "udp_datagrams_sent"), 0, "there is no socket");
}

/// Receives any message at rank 0, while `flooder` always has another one under way. Returns
/// whether the message of rank 2, sent after the first of those, is among the first `ENOUGH`.
fn hears_of_another(receive: impl Fn(&Engine, ReceivePlan) -> Status) -> bool {
    const ENOUGH: usize = 2000;
    let mut engines = oversubscribed(3, false, false)
        .into_iter()
        .zip(0..)
        .map(|(link, me)| {
            let node = Arc::clone(link.node());
            let links = Links::new(
                Link::Loopback(Loopback::new(PeerId(me))),
                Some(Link::Shm(link)),
                None,
            );
            let hosts = vec!["here".into(); 3];
            let mut lane = Lane::new(PeerId(me), links, Settings::default(), hosts);
            lane.join(node);
            Engine::new(lane, Clock::start(), WaitPolicy::of(3, 3)).unwrap()
        });
    let [receiver, flooder, other] = [(); 3].map(|()| engines.next().unwrap());
    let send = |engine: &Engine, source| {
        let plan = SendPlan {
            to: Some(PeerId(0)),
            context: Context::WORLD,
            source,
            tag: 1,
            mode: Mode::Standard,
            area: Area::EMPTY,
        };
        engine.send(&plan).unwrap();
    };
    (0..50).for_each(|_| send(&flooder, 1));
    (0..ENOUGH).any(|number| {
        if number == 10 {
            send(&other, 2);
        }
        send(&flooder, 1);
        let pattern = Some(Pattern {
            context: Context::WORLD,
            source: None,
            tag: Some(1),
        });
        let area = Area::EMPTY;
        receive(&receiver, ReceivePlan { pattern, area }).source == Source::Rank(2)
    })
}

#[test]
fn a_local_peer_that_never_stops_does_not_keep_others_from_a_rank_that_receives() {
    let status = |completion: Completion| completion.into_result().unwrap();
    assert!(
        hears_of_another(|engine, plan| status(engine.receive(plan).unwrap())),
        "blocking receives"
    );
    assert!(
        hears_of_another(|engine, plan| {
            let request = engine.start_receive(plan);
            status(engine.wait(Some(request)).unwrap())
        }),
        "waits"
    );
    assert!(
        hears_of_another(|engine, plan| {
            let request = engine.start_receive(plan);
            loop {
                if let Some(end) = engine.test(Some(request)).unwrap() {
                    return status(end);
                }
            }
        }),
        "tests"
    );
}

/// Two processes of which one sends `COUNT` messages, each of which the other keeps or holds.
const COUNT: usize = 40;

fn flooded(settings: Settings, bodies: &mut [[u8; 100]; COUNT]) -> (Pair, Vec<Request>) {
    let mut pair = Pair::new(settings);
    let mut send = |body| pair.send(0, body, Mode::Standard);
    let sent: Vec<_> = bodies.iter_mut().map(|body| send(&mut body[..])).collect();
    pair.run(|lanes| lanes[1].survey().unexpected == COUNT);
    (pair, sent)
}

#[test]
fn a_long_wait_takes_in_more_until_little_of_it_is_left() {
    let (little, more) = (1000, COUNT as u64 * protocol::kept_unexpected(100));
    let settings = Settings {
        eager_budget_bytes: 0,
        unexpected_budget_bytes: little,
        waiting_budget_bytes: more,
        ..Settings::default()
    };
    let (mut bodies, mut room) = ([[3; 100]; COUNT], [0; 100]);
    let (mut pair, sent) = flooded(settings, &mut bodies);
    let taken = |pair: &Pair| pair.lanes[1].survey().taken_in_bytes;
    assert!(taken(&pair) <= little && pair.lanes[1].view().wants_room());
    pair.lanes[1].take_in_more();
    assert_eq!(taken(&pair), more);
    pair.run(|lanes| {
        let mut all = sent
            .iter()
            .map(|&request| lanes[0].peek(Some(request)).unwrap());
        all.all(|done| done.is_some())
    });
    for _ in 0..COUNT {
        let request = receive(&mut pair.lanes[1], &mut room);
        pair.run(|lanes| lanes[1].peek(Some(request)).unwrap().is_some());
        pair.lanes[1].take(Some(request)).unwrap().unwrap();
        assert_eq!(core::mem::replace(&mut room, [0; 100]), [3; 100]);
    }
    assert_eq!(pair.lanes[1].survey(), Survey::default());
    let mut again = [[4; 100]; COUNT];
    let before = COUNT;
    for body in &mut again {
        pair.send(0, body, Mode::Standard);
    }
    pair.run(|lanes| lanes[1].survey().unexpected == before);
    assert!(
        taken(&pair) <= little,
        "what was drained gives no right to more"
    );
}

#[test]
fn messages_beyond_the_larger_budget_stay_with_their_sender() {
    let most = 2000;
    let settings = Settings {
        eager_budget_bytes: 0,
        unexpected_budget_bytes: 0,
        waiting_budget_bytes: most,
        ..Settings::default()
    };
    let mut bodies = [[3; 100]; COUNT];
    let (mut pair, _) = flooded(settings, &mut bodies);
    let lane = &mut pair.lanes[1];
    for _ in 0..3 {
        lane.take_in_more();
        assert_eq!(
            lane.survey().taken_in_bytes,
            most / protocol::kept_unexpected(100) * protocol::kept_unexpected(100)
        );
    }
    assert!(!lane.view().wants_room(), "it was told");
}

#[test]
fn who_drains_a_flood_asks_for_many_bodies_at_a_time() {
    let each = protocol::kept_unexpected(100);
    let settings = Settings {
        eager_budget_bytes: 0,
        unexpected_budget_bytes: 16 * each,
        ..Settings::default()
    };
    let mut bodies: [[u8; 100]; COUNT] = core::array::from_fn(|i| [i as u8; 100]);
    let (mut pair, _) = flooded(settings, &mut bodies);
    let taken = |pair: &Pair| pair.lanes[1].survey().taken_in_bytes / each;
    let mut least = taken(&pair);
    for i in 0..COUNT {
        let mut room = [0; 100];
        let request = receive(&mut pair.lanes[1], &mut room);
        pair.run(|lanes| lanes[1].peek(Some(request)).unwrap().is_some());
        pair.lanes[1].take(Some(request)).unwrap().unwrap();
        assert_eq!(room, [i as u8; 100], "they come in order");
        assert!(taken(&pair) <= 16, "the budget holds");
        if pair.lanes[1].survey().unexpected > 8 {
            least = least.min(taken(&pair));
        }
    }
    assert!(least >= 4, "a quarter of the budget is always in use");
    assert_eq!(pair.lanes[1].survey(), Survey::default());
}

#[test]
fn over_the_simulator_too_each_process_describes_what_it_waits_for() {
    let mut pair = Pair::new(Settings::default());
    let members: Arc<[_]> = [PeerId(0), PeerId(1)].into();
    let ports = pair.lanes.each_mut().map(|lane| {
        let members = Arc::clone(&members);
        lane.open_port(Context::WORLD, Port::among(members))
    });
    let (mut body, mut room) = ([5; 3000], [0; 100]);
    let sent = pair.send(0, &mut body, Mode::Synchronous);
    let pattern = Pattern {
        tag: Some(8),
        source: Some(0),
        ..anything()
    };
    let received = pair.lanes[1].receive(ReceivePlan {
        pattern: Some(pattern),
        area: Buffer::of_bytes(&mut room).area().unwrap(),
    });
    pair.run(|lanes| lanes[1].survey().unexpected == 1);
    let waits = [sent, received].map(|request| Subject::one(Some(request)));
    let described = pair.lanes.into_iter().zip(&waits).map(|(lane, subject)| {
        let engine = Engine::new(lane, Clock::start(), WaitPolicy::BLOCKING).unwrap();
        let mut thread = ThreadState::default();
        let held = engine.with(|lane| {
            let description = engine.waiting.describe(lane);
            description.enter(subject, &mut thread);
            description.unreceived().unexpected
        });
        engine.with(Lane::close);
        (thread.operations, held)
    });
    let peer = |rank| Peer {
        rank: Some(rank),
        world: Some(rank),
    };
    let context = Context::WORLD.0;
    let send = Operation::Send {
        context,
        dest: peer(1),
        tag: 7,
        bytes: 3000,
        is_synchronous: true,
        kind: MessageKind::Ordinary,
    };
    let receive = Operation::Receive(Wanted {
        context,
        source: Some(peer(0)),
        tag: Some(8),
        room: Some(100),
        kind: MessageKind::Ordinary,
    });
    let held = HeldMessage {
        context,
        source: peer(0),
        tag: Some(7),
        bytes: 3000,
        is_with_sender: true,
        collective: String::new(),
        kind: MessageKind::Ordinary,
    };
    let expected = [(vec![send], vec![]), (vec![receive], vec![held])];
    assert!(described.eq(expected));
    drop(ports);
}
