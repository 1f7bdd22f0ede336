//! The only file that starts a thread.
//!
//! While the program computes, nobody takes turns; yet peers wait for acknowledgements and lost
//! packets must be repeated. One thread per process sees to that. It never competes with a
//! program that is inside MPI: it looks whether turns were taken since it last looked, and takes
//! the lane only if it is free.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use super::Engine;
use crate::clock::Instant;

/// The thread that keeps the protocol alive while the program computes.
#[derive(Debug)]
pub struct Ticker {
    engine: Arc<Engine>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Starts it; it looks every `tick`.
    ///
    /// # Errors
    /// The system has no more threads.
    #[expect(clippy::disallowed_methods, reason = "this file starts the one thread")]
    pub fn start(engine: Arc<Engine>, tick: Duration) -> std::io::Result<Self> {
        if engine.doorbells.is_empty() {
            return Ok(Self {
                engine,
                thread: None,
            });
        }
        let shared = Arc::clone(&engine);
        let thread = std::thread::Builder::new()
            .name("mpi-lite ticker".into())
            .spawn(move || run(&shared, tick))?;
        Ok(Self {
            engine,
            thread: Some(thread),
        })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.engine.is_closed.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = rustix::io::write(&self.engine.bell, &1u64.to_ne_bytes());
            let _ = thread.join();
        }
    }
}

/// Turns in a row without a look at what the program does.
const TURNS_IN_A_ROW: u32 = 64;

fn run(engine: &Engine, tick: Duration) {
    let mut seen = u64::MAX;
    // So many turns may still follow at once: there is more to do.
    let mut more = 0;
    while !engine.is_closed.load(Ordering::SeqCst) {
        let turns = engine.turns.load(Ordering::Relaxed);
        let is_served = turns != seen || engine.sleepers.load(Ordering::SeqCst) > 0;
        seen = turns;
        if is_served {
            std::thread::park_timeout(tick);
            continue;
        }
        if more > 0 {
            std::thread::yield_now();
        } else {
            engine.doze(Some(engine.clock.now().plus(tick)));
            more = TURNS_IN_A_ROW;
        }
        let Some(mut lane) = engine.lane.visit() else {
            more = 0;
            continue;
        };
        if engine.sleepers.load(Ordering::SeqCst) == 0 {
            // A bell that was rung too late for a sleeper must not wake us again and again.
            lane.end_rest();
        }
        let worked = lane.turn(engine.clock.now());
        let has_more = worked || lane.wake_at() == Some(Instant::ZERO);
        more = if has_more { more - 1 } else { 0 };
        drop(lane);
        if worked {
            engine.ring();
        }
    }
}
