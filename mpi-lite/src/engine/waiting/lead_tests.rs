//! Threads that wait at once: none is forgotten, whichever leads and in whichever order they end.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::Clock;
use crate::config::Settings;
use crate::data::Area;
use crate::engine::inbox::matching::Pattern;
use crate::engine::waiting::waiters::Shared as _;
use crate::engine::{Engine, Lane, ReceivePlan, SendPlan, Survey, WaitPolicy};
use crate::ids::{Context, Mode, PeerId};
use crate::transport::{Link, Links, Loopback};

const THREADS: i32 = 6;
const ROUNDS: u64 = 20;

fn engine() -> Arc<Engine> {
    let own = Link::Loopback(Loopback::new(PeerId(0)));
    let lane = Lane::new(
        PeerId(0),
        Links::new(own, None, None),
        Settings::default(),
        vec!["here".into()],
    );
    let engine = Engine::new(lane, Clock::start(), WaitPolicy::BLOCKING).unwrap();
    engine.allow_threads().unwrap();
    engine
}

fn receive(engine: &Engine, tag: i32) -> u8 {
    let mut byte = [0];
    let pattern = Pattern {
        context: Context::WORLD,
        source: None,
        tag: Some(tag),
    };
    let plan = ReceivePlan {
        pattern: Some(pattern),
        area: Area::of_bytes(&mut byte),
    };
    engine.receive(plan).unwrap().into_result().unwrap();
    byte[0]
}

fn send(engine: &Engine, tag: i32) {
    let mut byte = [tag as u8];
    let plan = SendPlan {
        to: Some(PeerId(0)),
        context: Context::WORLD,
        source: 0,
        tag,
        mode: Mode::Standard,
        area: Area::of_bytes(&mut byte),
    };
    engine.with(|lane| lane.send(&plan)).unwrap();
}

/// Waits until as many threads sleep: one leads, the others follow.
fn await_sleepers(engine: &Engine, threads: i32) {
    let clock = Clock::start();
    let deadline = clock.now().plus(Duration::from_secs(60));
    let sleep = |lane: &mut Lane| {
        let waiters = lane.waiters();
        waiters.is_leader_asleep() && waiters.followers() as i32 == threads - 1
    };
    while !engine.with(sleep) {
        assert!(clock.now() < deadline, "not all of them sleep");
        std::thread::yield_now();
    }
}

#[test]
fn a_send_wakes_the_leader_and_the_leader_calls_the_threads_it_completes() {
    let engine = engine();
    for round in 0..ROUNDS {
        std::thread::scope(|scope| {
            for tag in 0..THREADS {
                let engine = &engine;
                scope.spawn(move || assert_eq!(receive(engine, tag), tag as u8));
            }
            await_sleepers(&engine, THREADS);
            // The leader is the first to end, the last, or one between.
            for tag in 0..THREADS {
                send(&engine, (tag + round as i32) % THREADS);
            }
        });
        engine.with(|lane| {
            assert!(!lane.waiters().is_led() && lane.waiters().followers() == 0);
            assert_eq!(lane.survey(), Survey::default());
        });
    }
}

/// Threads wait for a receive each, one leads. Returns when all that another thread has cancelled
/// have woken.
#[test]
fn an_operation_wakes_the_thread_that_waits_for_it_whichever_thread_cancels_it() {
    let engine = engine();
    for first in 0..THREADS {
        let mut bytes = [[0]; THREADS as usize];
        let start = |(tag, byte): (i32, &mut [u8; 1])| {
            let pattern = Pattern {
                context: Context::WORLD,
                source: None,
                tag: Some(tag),
            };
            engine.start_receive(ReceivePlan {
                pattern: Some(pattern),
                area: Area::of_bytes(byte),
            })
        };
        let requests: Vec<_> = (0..).zip(&mut bytes).map(start).collect();
        std::thread::scope(|scope| {
            for &request in &requests {
                let engine = &engine;
                scope.spawn(move || {
                    let ended = engine.wait(Some(request)).unwrap();
                    assert!(ended.status.cancelled);
                });
            }
            await_sleepers(&engine, THREADS);
            for tag in 0..THREADS {
                engine
                    .cancel(requests[((first + tag) % THREADS) as usize])
                    .unwrap();
                if tag < THREADS - 1 {
                    await_sleepers(&engine, THREADS - 1 - tag);
                }
            }
        });
        engine.with(|lane| assert_eq!(lane.survey(), Survey::default()));
    }
}

#[test]
fn a_lane_that_is_not_shared_has_no_followers() {
    let own = Link::Loopback(Loopback::new(PeerId(0)));
    let settings = Settings::default();
    let lane = Lane::new(
        PeerId(0),
        Links::new(own, None, None),
        settings,
        vec!["here".into()],
    );
    let engine = Engine::new(lane, Clock::start(), WaitPolicy::BLOCKING).unwrap();
    send(&engine, 1);
    assert_eq!(receive(&engine, 1), 1);
    assert!(!engine.is_threaded());
    assert!(engine.with(|lane| !lane.waiters().is_led() && !lane.waiters().may_be_several()));
}
