//! Ranks of a node whose collectives do not fit each other: an error, and nobody hangs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use super::tests::{allgather, allreduce, alltoall, bcast, on_one_node, reduce};
use super::*;
use crate::data::{Buffer, Op};
use crate::engine::Engine;
use crate::error::{Cause, Error};

#[test]
fn a_longer_broadcast_than_the_buffer_is_an_error() {
    on_one_node(2, false, &|world| {
        let mut room = vec![1; if world.rank() == 0 { 100 } else { 10 }];
        let outcome = world.run(&bcast(&Buffer::of_bytes(&mut room), 0));
        if world.rank() == 1 {
            let error = outcome.unwrap_err();
            assert!(matches!(
                error.cause(),
                Cause::Truncate { len: 100, room: 10 }
            ));
        }
    });
}

#[test]
fn a_long_broadcast_of_another_length_is_an_error_and_the_next_one_is_right() {
    for room in [100, 100_000, 200_000] {
        on_one_node(2, false, &|world| {
            let is_root = world.rank() == 0;
            let mut bytes = vec![1; if is_root { 150_000 } else { room }];
            let outcome = world.run(&bcast(&Buffer::of_bytes(&mut bytes), 0));
            if is_root {
                outcome.unwrap();
            } else {
                let error = outcome.unwrap_err();
                let is_longer = matches!(error.cause(), Cause::Truncate { len: 150_000, .. });
                assert_eq!(is_longer, room < 150_000, "{error}");
            }
            let mut word = [world.rank() as u8];
            world.run(&bcast(&Buffer::of_bytes(&mut word), 0)).unwrap();
            assert_eq!(word, [0]);
        });
    }
}

#[test]
fn longer_blocks_than_their_places_are_an_error_everywhere() {
    for is_oversubscribed in [false, true] {
        on_one_node(3, is_oversubscribed, &|world| {
            let (mut own, mut room) = ([1; 30], [0; 27]);
            let send = Input::Buffer(Buffer::of_bytes(&mut own).part(0, 10));
            let place = Buffer::of_bytes(&mut room).part(0, 9);
            let error = world.run(&alltoall(send.clone(), &place)).unwrap_err();
            let expected = Cause::Truncate { len: 10, room: 9 };
            assert_eq!(
                error.cause(),
                &expected,
                "oversubscribed: {is_oversubscribed}"
            );
            world.run(&Barrier).unwrap();
        });
    }
}

#[test]
fn different_collectives_at_a_time_are_an_error() {
    for is_oversubscribed in [false, true] {
        let wrong = AtomicUsize::new(0);
        on_one_node(2, is_oversubscribed, &|world| {
            let mut room = [0; 8];
            let len = if world.rank() == 0 { 8 } else { 4 };
            let part = Buffer::of_bytes(&mut room[..len]);
            let outcome = world.run(&allreduce(Input::InPlace, &part, &Op::Bor));
            wrong.fetch_add(usize::from(outcome.is_err()), Ordering::SeqCst);
        });
        assert_eq!(wrong.load(Ordering::SeqCst), 2, "somebody did not notice");
    }
}

/// Otherwise the last member to come would find that all have come before it, or be counted twice.
#[test]
fn members_that_have_failed_come_no_more_and_stand_for_nobody() {
    const SIZE: usize = 3;
    for is_oversubscribed in [false, true] {
        let (over, last) = channel();
        let last = Mutex::new(last);
        on_one_node(SIZE, is_oversubscribed, &|world| {
            let at_site = world.at_site().unwrap();
            let first = Error::from(Cause::Collective("the first reason".into()));
            match world.rank() {
                0 => at_site.give_up(&first, "the first reason"),
                1 => {}
                _ => (1..SIZE).for_each(|_| last.lock().unwrap().recv().unwrap()),
            }
            let outcomes = [(); 2 * SIZE].map(|()| world.run(&Barrier));
            over.send(()).unwrap();
            for outcome in outcomes {
                let error = outcome.unwrap_err().to_string();
                assert!(error.contains("the first reason"), "{error}");
            }
            let come = at_site.site().site_id().last;
            assert!(come <= 1, "rank {} has come {come} times", world.rank());
        });
    }
}

/// Roots wait for nobody, so nothing but the next epoch can tell.
#[test]
fn two_roots_of_a_broadcast_are_named_at_the_next_epoch() {
    for is_oversubscribed in [false, true] {
        for next in ["barrier", "allreduce", "reduce", "bcast", "allgather"] {
            let named = AtomicUsize::new(0);
            on_one_node(2, is_oversubscribed, &|world| {
                let me = world.rank() as i32;
                let mut room = [0; 8];
                let all = Buffer::of_bytes(&mut room);
                world.run(&bcast(&all, me)).unwrap();
                let mut wide = [0; 16];
                let part = Buffer::of_bytes(&mut wide).part(0, 8);
                let outcome = match next {
                    "barrier" => world.run(&Barrier),
                    "allreduce" => world.run(&allreduce(Input::InPlace, &all, &Op::Bor)),
                    "reduce" => {
                        let receive = (me == 0).then_some(&part);
                        let own = Input::Buffer(all.clone());
                        world.run(&reduce(own, receive, &Op::Bor, 0))
                    }
                    "bcast" => world.run(&bcast(&all, 0)),
                    _ => world.run(&allgather(Input::Buffer(all.clone()), &part)),
                };
                if let Err(error) = outcome {
                    let text = error.to_string();
                    // The last one to come may only have said that it failed: no more is known.
                    let is_named = next == "allgather" || text.contains("MPI_Bcast(root ");
                    named.fetch_add(usize::from(is_named), Ordering::SeqCst);
                }
            });
            let named = named.load(Ordering::SeqCst);
            assert!(
                named > 0,
                "{next}, oversubscribed {is_oversubscribed}: nobody noticed"
            );
        }
    }
}

/// The root does not send, so the others would wait for ever.
/// However seldom a waiter looks before it sleeps: it is woken once, and then must see it.
#[test]
fn a_sleeping_member_notices_that_the_root_of_a_long_broadcast_sends_nothing() {
    for is_oversubscribed in [false, true] {
        let (sleeper, awaited) = channel();
        let awaited = Mutex::new(awaited);
        on_one_node(2, is_oversubscribed, &|world| {
            let is_root = world.rank() == 0;
            if is_root {
                let engine: Arc<Engine> = awaited.lock().unwrap().recv().unwrap();
                while engine.with(|lane| lane.counters().messages.sleeps) == 0 {
                    std::thread::yield_now();
                }
            } else {
                sleeper.send(Arc::clone(world.engine())).unwrap();
            }
            let mut room = vec![0; if is_root { 100 } else { 100_000 }];
            let outcome = world.run(&bcast(&Buffer::of_bytes(&mut room), 0));
            assert_eq!(outcome.is_ok(), is_root);
        });
    }
}

#[test]
fn a_broadcast_that_is_short_at_its_root_and_long_elsewhere_ends() {
    for is_oversubscribed in [false, true] {
        for size in [2, 3, 5] {
            let wrong = AtomicUsize::new(0);
            on_one_node(size, is_oversubscribed, &|world| {
                let is_root = world.rank() == 0;
                let mut room = vec![0; if is_root { 100 } else { 100_000 }];
                // One of them finds it out, which ends a job; here the others are told one by one.
                let is_last = world.rank() as usize == size - 1;
                if is_root || is_last || size == 2 {
                    let outcome = world.run(&bcast(&Buffer::of_bytes(&mut room), 0));
                    if let Err(error) = outcome {
                        let text = error.to_string();
                        assert!(text.contains("MPI_Bcast(root 0)"), "{text}");
                        wrong.fetch_add(1, Ordering::SeqCst);
                    }
                }
            });
            assert_eq!(wrong.load(Ordering::SeqCst), 1, "nobody noticed");
        }
    }
}
