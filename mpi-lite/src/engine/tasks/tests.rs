//! Which thread polls a task and when, and what becomes of the task's submissions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

use crate::config::Settings;
use crate::data::{Area, Basic, Buffer, Datatype};
use crate::engine::inbox::matching::Pattern;
use crate::engine::*;
use crate::error::{Cause, Result};
use crate::ids::{Context, Mode};
use crate::transport::{Link, Links, Loopback, PeerId};

fn engine() -> Arc<Engine> {
    engine_with(WaitPolicy::of(1, 1))
}

fn engine_with(policy: WaitPolicy) -> Arc<Engine> {
    let own = Link::Loopback(Loopback::new(PeerId(0)));
    let lane = Lane::new(
        PeerId(0),
        Links::new(own, None, None),
        Settings::default(),
        vec!["here".into()],
    );
    Engine::new(lane, Clock::start(), policy).unwrap()
}

fn job(
    calls_program: bool,
    submissions: Submissions,
    work: impl Future<Output = Result<()>> + Send + 'static,
) -> Job {
    let work = async { work.await.map(|()| 0) };
    Job {
        context: Context::WORLD,
        calls_program,
        purpose: Purpose::Collective { tag: 1, number: 1 },
        submissions,
        work: Box::pin(work),
    }
}

fn send(body: &mut [u8]) -> Plan {
    Plan::Send(SendPlan {
        to: Some(PeerId(0)),
        context: Context::WORLD.nonblocking(),
        source: 0,
        tag: 1,
        mode: Mode::Standard,
        area: Buffer::of_bytes(body).area().unwrap(),
    })
}

fn receive(room: &mut [u8]) -> Plan {
    Plan::Receive(ReceivePlan {
        pattern: Some(Pattern {
            context: Context::WORLD.nonblocking(),
            source: Some(0),
            tag: None,
        }),
        area: Buffer::of_bytes(room).area().unwrap(),
    })
}

/// A task that counts how often it has been polled for the first time.
fn counting(count: &Arc<AtomicUsize>) -> impl Future<Output = Result<()>> + Send + 'static {
    let count = Arc::clone(count);
    async move {
        count.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

fn advance_as_ticker(engine: &Engine) -> bool {
    let lane = engine.visit().unwrap();
    engine.waiting.advance_as_ticker(lane, || engine.visit())
}

#[test]
fn the_ticker_polls_no_task_that_calls_the_program() {
    let (engine, count) = (engine(), Arc::new(AtomicUsize::new(0)));
    let enter = |calls_program| {
        let job = job(calls_program, Submissions::default(), counting(&count));
        engine.enter_task(job, None).0
    };
    let (theirs, ours) = (enter(true), enter(false));
    let tick = || advance_as_ticker(&engine);
    assert!(tick());
    assert!(!tick());
    let is_over = |request| {
        engine
            .with(|lane| lane.peek(Some(request)))
            .unwrap()
            .is_some()
    };
    assert!(is_over(ours) && !is_over(theirs));
    assert_eq!(count.load(Ordering::SeqCst), 1);
    engine.run_tasks();
    assert!(is_over(theirs));
}

#[test]
fn a_task_that_comes_after_another_one_begins_when_that_has_ended() {
    let (engine, count, submissions) = (
        engine(),
        Arc::new(AtomicUsize::new(0)),
        Submissions::default(),
    );
    let mut room = vec![0; 4];
    let plan = receive(&mut room);
    let waiting = {
        let submissions = submissions.clone();
        async move { submissions.submit(plan).await?.into_result().map(drop) }
    };
    let (first, id) = engine.enter_task(job(false, submissions, waiting), None);
    let then = job(false, Submissions::default(), counting(&count));
    let (second, _) = engine.enter_task(then, Some(id));
    engine.run_tasks();
    assert_eq!(count.load(Ordering::SeqCst), 0);
    let Plan::Send(message) = send(&mut [1, 2, 3, 4]) else {
        unreachable!("it is a send");
    };
    engine.with(|lane| lane.send(&message)).unwrap();
    assert!(engine.wait(Some(second)).unwrap().error.is_none());
    assert!(engine.wait(Some(first)).unwrap().error.is_none());
    assert_eq!(room, [1, 2, 3, 4]);
    // A name that is stale keeps nobody waiting.
    let late = job(false, Submissions::default(), counting(&count));
    let (third, _) = engine.enter_task(late, Some(id));
    engine.run_tasks();
    assert!(engine.wait(Some(third)).unwrap().error.is_none());
    assert_eq!(count.load(Ordering::SeqCst), 2);
}

#[test]
fn a_receive_is_taken_back_whether_it_has_begun_or_not() {
    for begins in [false, true] {
        let (engine, submissions) = (engine(), Submissions::default());
        let (mut room, mut other, mut body) = (vec![0; 4], vec![0; 4], vec![1; 4]);
        let (wanted, second, message) = (receive(&mut room), receive(&mut other), send(&mut body));
        let work = {
            let submissions = submissions.clone();
            async move {
                let unwanted = submissions.submit(wanted);
                if begins {
                    // Submitted together, so the receive is posted before this is over; it is not
                    // matched, since its message is for the other communicator.
                    let Plan::Send(mut message) = message.clone() else {
                        unreachable!("it is a send");
                    };
                    message.context = Context::WORLD;
                    submissions.submit(Plan::Send(message)).await?;
                }
                unwanted.withdraw();
                let ended = unwanted.await?;
                assert_eq!(ended.status.cancelled, begins);
                let (received, sent) = (submissions.submit(second), submissions.submit(message));
                received.await?;
                sent.await.map(drop)
            }
        };
        let (request, _) = engine.enter_task(job(false, submissions, work), None);
        engine.run_tasks();
        assert_eq!(engine.wait(Some(request)).unwrap().error, None);
        assert_eq!((room, other), (vec![0; 4], vec![1; 4]));
    }
}

#[test]
fn the_error_of_a_task_is_the_error_of_its_request() {
    let engine = engine();
    let work = async { Err(Cause::NullBuffer.into()) };
    let (request, _) = engine.enter_task(job(false, Submissions::default(), work), None);
    engine.run_tasks();
    let ended = engine.wait(Some(request)).unwrap();
    assert_eq!(ended.error, Some(Cause::NullBuffer.into()));
    assert_eq!(ended.context, Some(Context::WORLD));
    assert!(ended.is_gone);
}

#[test]
fn a_task_is_polled_by_a_call_that_tests() {
    let (engine, submissions) = (engine(), Submissions::default());
    let (mut room, mut body) = (vec![0; 2], vec![7; 2]);
    let (plan, message) = (receive(&mut room), send(&mut body));
    let work = {
        let submissions = submissions.clone();
        async move { submissions.submit(plan).await.map(drop) }
    };
    let (request, _) = engine.enter_task(job(false, submissions, work), None);
    engine.run_tasks();
    assert_eq!(engine.test(Some(request)), Ok(None));
    let Plan::Send(message) = message else {
        unreachable!("it is a send");
    };
    engine.with(|lane| lane.send(&message)).unwrap();
    let done = engine.test(Some(request)).unwrap();
    assert!(done.is_some_and(|done| done.error.is_none()));
    assert_eq!(room, [7, 7]);
    assert_eq!(engine.with(|lane| lane.survey().requests), 0);
}

#[test]
fn a_task_that_is_dropped_while_its_receive_is_posted_leaves_its_memory_to_the_message() {
    for (len, has_gaps) in [(4, false), (100_000, false), (4, true), (100_000, true)] {
        let (engine, submissions) = (engine(), Submissions::default());
        let gaps = Datatype::Basic(Basic::Byte).vector(len / 2, 1, 2).unwrap();
        let room = match has_gaps {
            true => Buffer::scratch(2, &gaps).unwrap(),
            false => Buffer::zeroed(len as usize).unwrap(),
        };
        let (mut wanted, mut body) = (receive(&mut []), vec![7; len as usize]);
        let (Plan::Receive(wanted_plan), message) = (&mut wanted, send(&mut body)) else {
            unreachable!("it is a receive");
        };
        wanted_plan.area = room.area().unwrap();
        let Plan::Send(message) = message else {
            unreachable!("it is a send");
        };
        let other = SendPlan {
            context: Context::WORLD,
            ..message.clone()
        };
        // The task owns the memory, as a collective owns that of its partial results.
        let task = {
            let submissions = submissions.clone();
            async move {
                // Submitted together: it is posted when the send for the other communicator ends.
                let _unawaited = submissions.submit(wanted);
                submissions.submit(Plan::Send(other)).await?;
                drop(room);
                Ok(())
            }
        };
        let elsewhere = ReceivePlan {
            pattern: Some(Pattern {
                context: Context::WORLD,
                source: None,
                tag: None,
            }),
            area: Area::EMPTY,
        };
        let _ = engine.with(|lane| lane.receive(elsewhere));
        let (request, _) = engine.enter_task(job(false, submissions, task), None);
        assert_eq!(engine.wait(Some(request)).unwrap().error, None);
        // Miri sees a write into memory that is gone.
        let sent = engine.with(|lane| lane.send(&message)).unwrap();
        assert_eq!(engine.wait(Some(sent)).unwrap().error, None);
        assert_eq!(engine.with(|lane| lane.survey().unexpected), 0, "{len}");
    }
}

/// The program waits in MPI, and never sleeps, while the ticker polls a task that needs the lane: a
/// new communicator opens its port. `is_more_due`: another task is due, for which the program stays
/// awake.
fn ticker_needs_the_lane(policy: WaitPolicy, is_more_due: bool) {
    let own = Link::Loopback(Loopback::new(PeerId(0)));
    let links = Links::new(own, None, None);
    let lane = Lane::new(PeerId(0), links, Settings::default(), vec!["here".into()]);
    let engine = Engine::new(lane, Clock::start(), policy).unwrap();
    let (begins, begun) = mpsc::channel();
    let in_task = Arc::clone(&engine);
    let work = async move {
        begins.send(()).unwrap();
        while in_task.waiting.turns() < 3 {
            std::thread::yield_now();
        }
        in_task.with(|lane| lane.survey());
        Ok(())
    };
    let (request, _) = engine.enter_task(job(false, Submissions::default(), work), None);
    std::thread::scope(|scope| {
        scope.spawn(|| advance_as_ticker(&engine));
        begun.recv().unwrap();
        if is_more_due {
            let count = Arc::default();
            let other = job(false, Submissions::default(), counting(&count));
            engine.enter_task(other, None);
        }
        assert!(engine.wait(Some(request)).unwrap().error.is_none());
    });
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a thread that may never end must not hold up the test"
)]
fn the_ticker_gets_the_lane_for_its_task_while_the_program_waits() {
    for (policy, is_more_due) in [
        (WaitPolicy::SPINNING, false),
        (WaitPolicy::BLOCKING, true),
        (WaitPolicy::of(4, 2), true),
    ] {
        let (ends, end) = mpsc::channel();
        std::thread::spawn(move || {
            ticker_needs_the_lane(policy, is_more_due);
            ends.send(()).unwrap();
        });
        let ended = end.recv_timeout(std::time::Duration::from_secs(60));
        assert!(ended.is_ok(), "{policy:?}: the wait does not end");
    }
}

/// A task that waits until `is_open`, and counts how often that is looked at.
fn looking(engine: &Engine, is_open: &Arc<AtomicBool>, looks: &Arc<AtomicUsize>) -> Request {
    let submissions = Submissions::default();
    let (is_open, looks) = (Arc::clone(is_open), Arc::clone(looks));
    let look = move || {
        looks.fetch_add(1, Ordering::SeqCst);
        is_open.load(Ordering::SeqCst)
    };
    let work = {
        let submissions = submissions.clone();
        async move { submissions.look(look).await.map(drop) }
    };
    engine.enter_task(job(false, submissions, work), None).0
}

#[test]
fn a_thread_sleeps_until_another_one_makes_the_condition_of_a_task_true() {
    let engine = engine_with(WaitPolicy::BLOCKING);
    let (is_open, looks) = (Arc::default(), Arc::default());
    let request = looking(&engine, &is_open, &looks);
    let sleeps = || engine.with(|lane| lane.counters().messages.sleeps);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while sleeps() == 0 {
                std::thread::yield_now();
            }
            is_open.store(true, Ordering::SeqCst);
            engine.ring();
        });
        assert_eq!(engine.wait(Some(request)).unwrap().error, None);
    });
    assert!(looks.load(Ordering::SeqCst) < 100, "{looks:?}");
    assert!(!engine.waiting.tasks().needs_look());
}

#[test]
fn a_message_makes_the_condition_of_a_task_true() {
    let (engine, is_open, looks) = (engine(), Arc::default(), Arc::default());
    let request = looking(&engine, &is_open, &looks);
    let submissions = Submissions::default();
    let (mut room, mut body) = (vec![0; 2], vec![7; 2]);
    let plan = receive(&mut room);
    let opening = {
        let submissions = submissions.clone();
        async move {
            let received = submissions.submit(plan).await.map(drop);
            is_open.store(true, Ordering::SeqCst);
            received
        }
    };
    let (opening, _) = engine.enter_task(job(false, submissions, opening), None);
    engine.run_tasks();
    assert_eq!(engine.test(Some(request)), Ok(None));
    let Plan::Send(message) = send(&mut body) else {
        unreachable!("it is a send");
    };
    engine.with(|lane| lane.send(&message)).unwrap();
    assert_eq!(engine.wait(Some(request)).unwrap().error, None);
    assert_eq!(engine.wait(Some(opening)).unwrap().error, None);
    assert!(looks.load(Ordering::SeqCst) >= 2);
}

/// A task whose value is that of a call on another thread.
fn calling<T: Send + 'static>(
    engine: &Engine,
    call: impl FnOnce() -> Result<T> + Send + 'static,
) -> (Request, Outcome<T>) {
    let (submissions, outcome) = (Submissions::default(), Outcome::default());
    let work = {
        let submissions = submissions.clone();
        let work = outcome.of(async move { submissions.call(call).await });
        async { work.await.map(drop) }
    };
    let (request, _) = engine.enter_task(job(false, submissions, work), None);
    engine.run_tasks();
    (request, outcome)
}

#[test]
fn messages_pass_while_a_call_blocks_and_its_value_is_there_at_the_end() {
    for policy in [WaitPolicy::BLOCKING, WaitPolicy::of(1, 1)] {
        let engine = engine_with(policy);
        let (lets_go, held) = mpsc::channel::<u32>();
        let call = move || held.recv().map_err(|_| Cause::Argument("nobody").into());
        let (request, outcome) = calling(&engine, call);
        for number in 0..100 {
            let (mut room, mut body) = ([0], [number]);
            let (Plan::Receive(receive), Plan::Send(message)) =
                (receive(&mut room), send(&mut body))
            else {
                unreachable!("a receive and a send");
            };
            let receiving = engine.with(|lane| lane.receive(receive));
            engine.with(|lane| lane.send(&message)).unwrap();
            assert_eq!(engine.wait(Some(receiving)).unwrap().error, None);
            assert_eq!(room, [number]);
        }
        assert_eq!(engine.test(Some(request)), Ok(None));
        assert_eq!(outcome.take(), None);
        lets_go.send(17).unwrap();
        assert_eq!(engine.wait(Some(request)).unwrap().error, None);
        assert_eq!((outcome.take(), outcome.take()), (Some(17), None));
    }
}

#[test]
fn more_calls_than_threads_all_return() {
    let engine = engine();
    let calls: Vec<_> = (0..20).map(|n| calling(&engine, move || Ok(n))).collect();
    for (number, (request, outcome)) in calls.into_iter().enumerate() {
        assert_eq!(engine.wait(Some(request)).unwrap().error, None);
        assert_eq!(outcome.take(), Some(number));
    }
}

#[test]
fn a_call_that_fails_or_panics_ends_its_task_with_an_error() {
    let engine = engine();
    let (request, outcome) = calling(&engine, || Err::<(), _>(Cause::NullBuffer.into()));
    let ended = engine.wait(Some(request)).unwrap();
    assert_eq!(ended.error, Some(Cause::NullBuffer.into()));
    assert_eq!(outcome.take(), None);
    let (request, _) = calling(&engine, || -> Result<()> { panic!("a call of a test") });
    let error = engine.wait(Some(request)).unwrap().error.unwrap();
    assert!(error.to_string().contains("panicked"), "{error}");
    // Its thread has survived it, or another one takes its place.
    let (request, outcome) = calling(&engine, || Ok(1));
    assert_eq!(engine.wait(Some(request)).unwrap().error, None);
    assert_eq!(outcome.take(), Some(1));
}

#[test]
fn a_call_outlives_its_task_and_is_over_when_the_calls_have_ended() {
    let (engine, submissions) = (engine(), Submissions::default());
    let (lets_go, held) = mpsc::channel::<()>();
    let (has_begun, is_over) = (
        Arc::new(AtomicBool::new(false)),
        Arc::<AtomicBool>::default(),
    );
    let call = {
        let (engine, has_begun) = (Arc::clone(&engine), Arc::clone(&has_begun));
        let is_over = Arc::clone(&is_over);
        move || {
            has_begun.store(true, Ordering::SeqCst);
            engine.ring();
            let _ = held.recv();
            is_over.store(true, Ordering::SeqCst);
            Ok(())
        }
    };
    let work = {
        let submissions = submissions.clone();
        async move {
            let mut calling = Box::pin(submissions.call(call));
            std::future::poll_fn(|context| {
                assert!(calling.as_mut().poll(context).is_pending());
                std::task::Poll::Ready(())
            })
            .await;
            drop(calling);
            let look = move || has_begun.load(Ordering::SeqCst);
            submissions.look(look).await.map(drop)
        }
    };
    let (request, _) = engine.enter_task(job(false, submissions, work), None);
    assert_eq!(engine.wait(Some(request)).unwrap().error, None);
    assert!(!is_over.load(Ordering::SeqCst));
    lets_go.send(()).unwrap();
    engine.end_calls();
    assert!(is_over.load(Ordering::SeqCst));
    let (request, outcome) = calling(&engine, || Ok(1));
    assert_eq!(engine.wait(Some(request)).unwrap().error, None);
    assert_eq!(outcome.take(), Some(1));
}
