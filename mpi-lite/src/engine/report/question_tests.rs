//! What threads and lanes say of themselves when they are asked, and what a ticker tells its
//! launcher.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use crate::boot::Asked;
use crate::boot::state::{
    EndsWith, HeldMessage, MessageKind, Operation, Peer, RankState, ThreadState, Wanted,
};
use crate::clock::Clock;
use crate::config::Settings;
use crate::data::Area;
use crate::engine::inbox::matching::Pattern;
use crate::engine::ports::Port;
use crate::engine::report::inquiry::Launcher;
use crate::engine::report::waits::Subject;
use crate::engine::waiting::Ticker;
use crate::engine::waiting::doorbell;
use crate::engine::{
    Engine, Job, Lane, OpenPort, Purpose, ReceivePlan, SendPlan, Submissions, WaitPolicy,
};
use crate::error::Cause;
use crate::ids::{Context, Mode, PeerId};
use crate::transport::{Link, Links, Loopback};

/// Far longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// This process, as every communicator here numbers it.
const ME: Peer = Peer {
    rank: Some(0),
    world: Some(0),
};

fn engine_with(policy: WaitPolicy) -> (Arc<Engine>, OpenPort) {
    let own = Link::Loopback(Loopback::new(PeerId(0)));
    let hosts = vec!["here".into()];
    let mut lane = Lane::new(
        PeerId(0),
        Links::new(own, None, None),
        Settings::default(),
        hosts,
    );
    let members = [PeerId(0)].into();
    let port = lane.open_port(Context::WORLD, Port::among(members));
    let engine = Engine::new(lane, Clock::start(), policy).expect("descriptors");
    engine.allow_threads().expect("descriptors");
    (engine, port)
}

fn receive(engine: &Engine, tag: i32) {
    let mut bytes = [0; 4];
    let pattern = Some(Pattern {
        context: Context::WORLD,
        source: None,
        tag: Some(tag),
    });
    let area = Area::of_bytes(&mut bytes);
    let received = engine.receive(ReceivePlan { pattern, area });
    assert!(received.is_ok_and(|ended| ended.error.is_none()));
}

fn send(engine: &Engine, tag: i32, mode: Mode) {
    let mut bytes = [0; 4];
    let plan = SendPlan {
        to: Some(PeerId(0)),
        context: Context::WORLD,
        source: 0,
        tag,
        mode,
        area: Area::of_bytes(&mut bytes),
    };
    let sent = engine.with(|lane| lane.send(&plan));
    assert!(sent.is_ok());
    engine.waiting.ring();
}

fn waits_for(tag: i32) -> Operation {
    Operation::Receive(Wanted {
        context: Context::WORLD.0,
        source: None,
        tag: Some(tag),
        room: Some(4),
        kind: MessageKind::Ordinary,
    })
}

/// Asks until `threads` threads have answered in one question.
fn answers_of(engine: &Engine, threads: usize) -> RankState {
    let clock = Clock::start();
    for question in 1.. {
        engine.report().ask(question);
        let begin = clock.now();
        while clock.now().since(begin) < Duration::from_millis(50) {
            engine.report().call_followers();
            thread::yield_now();
        }
        let state = engine.report().close_question();
        if state.threads.len() == threads {
            return state;
        }
        assert!(Duration::from_nanos(clock.now().0) < PATIENCE, "{state:?}");
    }
    unreachable!("it returns before")
}

#[test]
fn each_thread_that_waits_describes_itself_and_waits_on() {
    const THREADS: i32 = 4;
    let (engine, _port) = engine_with(WaitPolicy::BLOCKING);
    thread::scope(|scope| {
        for tag in 0..THREADS {
            let engine = &engine;
            scope.spawn(move || receive(engine, tag));
        }
        let state = answers_of(&engine, THREADS as usize);
        let mut wanted: Vec<_> = (0..THREADS).map(waits_for).collect();
        for thread in &state.threads {
            assert_eq!(thread.ends_with, EndsWith::All);
            let [operation] = &thread.operations[..] else {
                panic!("{thread:?}");
            };
            wanted.retain(|other| other != operation);
        }
        assert_eq!(wanted, []);
        for tag in 0..THREADS {
            send(&engine, tag, Mode::Standard);
        }
    });
    assert_eq!(engine.waiting.waits().since(), None);
}

#[test]
fn a_thread_that_never_sleeps_describes_itself_and_what_the_lane_holds() {
    let (engine, _port) = engine_with(WaitPolicy::SPINNING);
    send(&engine, 8, Mode::Synchronous);
    thread::scope(|scope| {
        scope.spawn(|| receive(&engine, 7));
        let state = answers_of(&engine, 1);
        assert_eq!(state.threads[0].operations, [waits_for(7)]);
        let held = HeldMessage {
            context: Context::WORLD.0,
            source: ME,
            tag: Some(8),
            bytes: 4,
            is_with_sender: true,
            collective: String::new(),
            kind: MessageKind::Ordinary,
        };
        assert_eq!(state.unexpected, [held]);
        assert_eq!(state.communicators[0].size, 1);
        send(&engine, 7, Mode::Standard);
    });
}

#[test]
fn a_send_that_nobody_receives_is_what_its_thread_waits_for() {
    let (engine, _port) = engine_with(WaitPolicy::BLOCKING);
    send(&engine, 5, Mode::Synchronous);
    let mut thread = ThreadState::default();
    engine.with(|lane| {
        let description = engine.waiting.describe(lane);
        description.enter(&Subject::AllSent, &mut thread);
    });
    let sent = Operation::Send {
        context: Context::WORLD.0,
        dest: ME,
        tag: 5,
        bytes: 4,
        is_synchronous: true,
        kind: MessageKind::Ordinary,
    };
    assert_eq!(thread.operations, [sent]);
}

/// Nobody else has to do anything for it, so the job does not hang.
#[test]
fn a_rank_that_waits_for_the_call_of_a_task_says_so_and_is_not_blocked() {
    let (engine, _port) = engine_with(WaitPolicy::BLOCKING);
    let (lets_go, held) = channel::<()>();
    let submissions = Submissions::default();
    let its = submissions.clone();
    let call = move || held.recv().map_err(|_| Cause::Argument("nobody").into());
    let job = Job {
        context: Context::WORLD,
        calls_program: false,
        purpose: Purpose::Other("the read of a file"),
        submissions,
        work: Box::pin(async move { its.call(call).await.map(|()| 0) }),
    };
    let (request, _) = engine.enter_task(job, None);
    engine.run_tasks();
    thread::scope(|scope| {
        scope.spawn(|| {
            let ended = engine.wait(Some(request));
            assert!(ended.is_ok_and(|ended| ended.error.is_none()));
        });
        let state = answers_of(&engine, 1);
        let words = Operation::Other("the read of a file".into());
        assert_eq!(state.threads[0].operations, [words]);
        assert!(engine.waiting.waits().since().is_some());
        assert_eq!(engine.report().blocked_since(), None);
        assert!(lets_go.send(()).is_ok());
    });
}

#[test]
fn of_many_requests_the_first_few_unfinished_ones_are_listed_and_the_rest_is_counted() {
    const REQUESTS: usize = 1000;
    let (engine, _port) = engine_with(WaitPolicy::BLOCKING);
    let mut bytes = vec![[0; 4]; REQUESTS];
    let requests = engine.with(|lane| {
        let post = |(tag, bytes): (i32, &mut [u8; 4])| {
            let pattern = Some(Pattern {
                context: Context::WORLD,
                source: Some(0),
                tag: Some(tag),
            });
            let area = Area::of_bytes(bytes);
            Some(lane.receive(ReceivePlan { pattern, area }))
        };
        (0..).zip(&mut bytes).map(post).collect::<Vec<_>>()
    });
    let mut thread = ThreadState::default();
    engine.with(|lane| {
        let subject = Subject::some_of(lane, &requests[..], EndsWith::Any);
        engine.waiting.describe(lane).enter(&subject, &mut thread);
    });
    assert_eq!(thread.ends_with, EndsWith::Any);
    assert_eq!(thread.operations.len() as u64 + thread.left_out, 1000);
    let tags = thread.operations.iter().map(|operation| match operation {
        Operation::Receive(wanted) => wanted.tag,
        other => panic!("{other:?}"),
    });
    assert!(tags.eq((0..8).map(Some)));
    engine.with(|lane| lane.close());
}

/// After how long a process reports that it is blocked.
const BLOCKED: Duration = Duration::from_millis(400);

/// What a ticker has reported.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    Blocked,
    Resumed,
    Answer(u32, Box<RankState>),
}

/// A launcher that asks what it is told to.
#[derive(Debug)]
struct Tape {
    doorbell: OwnedFd,
    questions: Receiver<u32>,
    said: Sender<Said>,
}

impl Launcher for Tape {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.doorbell.as_fd()
    }

    fn blocked_after(&self) -> Duration {
        BLOCKED
    }

    fn take(&mut self) -> Asked {
        match self.questions.try_recv() {
            Ok(question) => {
                let _ = rustix::io::read(&self.doorbell, &mut [0; 8]);
                Asked::Question(question)
            }
            Err(_) => Asked::Nothing,
        }
    }

    fn blocked(&mut self, time: Duration) -> bool {
        assert!(time >= BLOCKED);
        self.said.send(Said::Blocked).is_ok()
    }

    fn resumed(&mut self) -> bool {
        self.said.send(Said::Resumed).is_ok()
    }

    fn answer(&mut self, question: u32, state: RankState) {
        let _ = self.said.send(Said::Answer(question, Box::new(state)));
    }
}

#[test]
fn a_process_reports_that_it_is_blocked_once_and_that_it_goes_on() {
    for policy in [WaitPolicy::BLOCKING, WaitPolicy::SPINNING] {
        let (engine, _port) = engine_with(policy);
        let doorbell = doorbell().expect("a descriptor");
        let (ask, questions) = channel();
        let (said, heard) = channel();
        let bell = doorbell.try_clone().expect("a descriptor");
        let tape = Tape {
            doorbell,
            questions,
            said,
        };
        let tick = Duration::from_millis(10);
        let ticker = Ticker::start(Arc::clone(&engine), tick, Some(Box::new(tape)));
        let ticker = ticker.expect("a thread");
        let question = |number| {
            ask.send(number).expect("the ticker runs");
            let _ = rustix::io::write(&bell, &1_u64.to_ne_bytes());
        };
        question(1);
        let answer = heard.recv_timeout(PATIENCE).expect("an answer");
        let Said::Answer(1, state) = answer else {
            panic!("{answer:?}");
        };
        assert_eq!(state.threads, [], "it computes");
        // Without a panic inside: the receiver would wait on.
        let (blocked, answer) = thread::scope(|scope| {
            scope.spawn(|| receive(&engine, 7));
            let blocked = heard.recv_timeout(PATIENCE);
            question(2);
            let answer = heard.recv_timeout(PATIENCE);
            send(&engine, 7, Mode::Standard);
            (blocked, answer)
        });
        assert_eq!(blocked, Ok(Said::Blocked), "{policy:?}");
        let Ok(Said::Answer(2, state)) = answer else {
            panic!("{answer:?}");
        };
        assert_eq!(state.threads.len(), 1);
        assert!(state.threads[0].blocked_ms >= 400, "{state:?}");
        assert_eq!(heard.recv_timeout(PATIENCE), Ok(Said::Resumed));
        drop(ticker);
        assert!(heard.try_recv().is_err());
    }
}
