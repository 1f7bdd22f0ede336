//! The only file that starts a thread.
//!
//! While the program computes, it takes no turns. But peers wait for acknowledgements, and lost
//! packets must be repeated. One thread per process, the ticker, does that. It never competes with
//! a program that is inside MPI: it takes the lane only if the lane is free and no turn was taken
//! since its last tick. It lets collective operations go on that have begun, unless they call
//! functions of the program. Local peers wake it for long messages (`node::wakeup`). It also speaks
//! to the launcher when the program hangs (`inquiry`).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::clock::Instant;
use crate::engine::Engine;
use crate::engine::report::inquiry::{Inquiry, LOOK, Launcher, PACE};
use crate::engine::waiting::policy::sharers;
use crate::transport::Progress;

/// A tick while the program sleeps in MPI costs its core some 10 us: a switch to a process that is
/// no longer in the caches, and one back. So all tickers that share a core together take a
/// thirtieth of it (docs/decisions/0038).
const TICK_PER_SHARER: Duration = Duration::from_micros(300);

/// Returns how long the tickers of `local` ranks on `cores` cores rest between two ticks: `least`,
/// or longer if so many share a core that their ticks would keep working ranks from it.
#[must_use]
pub fn tick(least: Duration, local: usize, cores: usize) -> Duration {
    let all = TICK_PER_SHARER.saturating_mul(sharers(local, cores));
    least.max(all)
}

/// The thread that keeps the protocol alive while the program computes.
#[derive(Debug)]
pub struct Ticker {
    engine: Arc<Engine>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Starts the ticker with a period of `tick`. It answers `launcher`, if there is one.
    ///
    /// # Errors
    /// The system has no more threads.
    #[expect(clippy::disallowed_methods, reason = "this file starts the one thread")]
    pub fn start(
        engine: Arc<Engine>,
        tick: Duration,
        launcher: Option<Box<dyn Launcher>>,
    ) -> std::io::Result<Self> {
        engine.is_closed.store(false, Ordering::SeqCst);
        if engine.doorbells.is_empty() && launcher.is_none() {
            return Ok(Self {
                engine,
                thread: None,
            });
        }
        let shared = Arc::clone(&engine);
        let inquiry = launcher.map(Inquiry::new);
        let thread = std::thread::Builder::new()
            .name("mpi-lite ticker".into())
            .spawn(move || match shared.doorbells.is_empty() {
                true => run_alone(&shared, inquiry),
                false => run(&shared, tick, inquiry),
            })?;
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
            if let Some(watch) = self.engine.watch {
                watch.unpark();
            }
            let _ = rustix::io::write(&self.engine.end, &1u64.to_ne_bytes());
            let _ = thread.join();
        }
    }
}

/// A program that waits in MPI takes turns more often than this.
const A_TURN: Duration = Duration::from_micros(20);

/// How long the ticker of a process without peers rests.
const ALONE: Duration = Duration::from_secs(1);

/// Turns in a row that move nothing, though something is due.
const VAIN_TURNS: u32 = 64;

fn run(engine: &Engine, tick: Duration, mut inquiry: Option<Inquiry>) {
    let mut seen = u64::MAX;
    let mut vain = 0;
    let mut rests = Rests::new(tick);
    while !engine.is_closed.load(Ordering::SeqCst) {
        if let Some(inquiry) = &mut inquiry {
            inquiry.step(engine);
        }
        let turns = engine.turns.load(Ordering::Relaxed);
        let is_served = turns != seen || engine.sleepers.load(Ordering::SeqCst) > 0;
        seen = turns;
        let next = if is_served {
            Next::Park
        } else {
            take_turn(engine)
        };
        vain = match next {
            Next::Turn => 0,
            Next::Due if vain < VAIN_TURNS => vain + 1,
            Next::Due | Next::Nothing => {
                doze(engine, rests.time(inquiry.as_ref()), inquiry.as_mut());
                engine.watch.inspect(|watch| watch.end());
                vain = 0;
                continue;
            }
            Next::Park => {
                let time = rests.time(inquiry.as_ref());
                if rests.is_to_look() {
                    look(engine, time, inquiry.as_mut());
                } else if park(engine, time) {
                    // A peer has knocked. A program that is in MPI takes a turn soon.
                    seen = engine.turns.load(Ordering::Relaxed);
                    park(engine, A_TURN);
                }
                continue;
            }
        };
        std::thread::yield_now();
    }
}

/// The ticker of a process that has no peers: it only answers the launcher.
fn run_alone(engine: &Engine, mut inquiry: Option<Inquiry>) {
    let rests = Rests::new(ALONE);
    while !engine.is_closed.load(Ordering::SeqCst) {
        if let Some(inquiry) = &mut inquiry {
            inquiry.step(engine);
        }
        look(engine, rests.time(inquiry.as_ref()), inquiry.as_mut());
    }
}

/// How long the ticker rests, and when it looks for a question of the launcher instead.
struct Rests {
    tick: Duration,
    /// Every so many rests it looks for a question.
    every: u32,
    rests: u32,
}

impl Rests {
    fn new(tick: Duration) -> Self {
        let every = LOOK.as_millis() / tick.as_millis().max(1);
        Self {
            tick,
            every: u32::try_from(every).unwrap_or(1).max(1),
            rests: 0,
        }
    }

    fn time(&self, inquiry: Option<&Inquiry>) -> Duration {
        match inquiry.is_some_and(Inquiry::is_open) {
            true => self.tick.min(PACE),
            false => self.tick,
        }
    }

    /// Returns true if the next rest is a look. A look costs as much as any other rest.
    fn is_to_look(&mut self) -> bool {
        self.rests = self.rests.wrapping_add(1);
        self.rests.is_multiple_of(self.every)
    }
}

/// Sleeps for `time`, or until a link has something or the launcher asks.
fn doze(engine: &Engine, time: Duration, inquiry: Option<&mut Inquiry>) {
    let until = engine.clock.now().plus(time);
    let asks = inquiry.as_ref().and_then(|inquiry| inquiry.descriptor());
    let woken = engine.doze(Some(until), &engine.end, asks);
    if let (true, Some(inquiry)) = (woken.has_question, inquiry) {
        inquiry.note_readable();
    }
}

/// Rests while the program takes turns itself, until the launcher asks.
fn look(engine: &Engine, time: Duration, inquiry: Option<&mut Inquiry>) {
    let Some(inquiry) = inquiry else {
        park(engine, time);
        return;
    };
    if engine.await_question(time, inquiry.descriptor()) {
        inquiry.note_readable();
    }
}

/// Parks the ticker for `time`, while the program takes turns itself. Returns true if a peer has
/// knocked, since it assumes that the program computes.
fn park(engine: &Engine, time: Duration) -> bool {
    match engine.watch {
        Some(watch) => watch.park(time, || engine.is_closed.load(Ordering::SeqCst)),
        None => {
            std::thread::park_timeout(time);
            false
        }
    }
}

/// What follows a turn.
enum Next {
    /// Another one: this one has moved something.
    Turn,
    /// Another one, though this one has not.
    Due,
    /// Nothing.
    Nothing,
    /// There was none: the program is inside MPI and takes turns itself.
    Park,
}

fn take_turn(engine: &Engine) -> Next {
    let Some(mut lane) = engine.lane.visit() else {
        return Next::Park;
    };
    if engine.sleepers.load(Ordering::SeqCst) == 0 {
        // A doorbell that was rung too late for a sleeper must not wake us again and again.
        lane.end_sleep();
    }
    // From now on a peer that sends a long message rings the doorbell, and nobody silences it
    // before the ticker has noticed. This turn finds what came before.
    engine.watch.inspect(|watch| watch.begin());
    let progress = lane.turn(engine.clock.now());
    let next = if progress > Progress::Idle {
        Next::Turn
    } else if lane.wake_at() == Some(Instant::ZERO) {
        Next::Due
    } else {
        Next::Nothing
    };
    if engine.advance_as_ticker(lane) {
        return Next::Turn;
    }
    if progress == Progress::Delivered {
        engine.ring();
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tickers_on_a_core_take_a_thirtieth_of_it_however_many_they_are() {
        const LOOK: Duration = Duration::from_micros(10);
        let least = Duration::from_millis(10);
        // Ranks, cores, and the ranks of the fullest core.
        for (local, cores, sharers) in [
            (1, 2, 1),
            (64, 2, 32),
            (65, 2, 33),
            (256, 2, 128),
            (1000, 2, 500),
            (1024, 1, 1024),
            (5, 0, 5),
        ] {
            let tick = tick(least, local, cores);
            assert!(tick >= least);
            let looks = LOOK.saturating_mul(sharers);
            assert!(looks.saturating_mul(30) <= tick, "{local} on {cores}");
        }
        assert_eq!(
            tick(least, 64, 2),
            least,
            "few look as often as they are told"
        );
    }
}
