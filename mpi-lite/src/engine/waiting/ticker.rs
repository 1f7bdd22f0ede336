//! The thread that takes turns while the program computes. `tasks/calls.rs` alone starts others.
//!
//! While the program computes, it takes no turns. But peers wait for acknowledgements, and lost
//! packets must be repeated. One thread per process, the ticker, does that. It never competes with
//! a program that is inside MPI: it takes the lane only if the lane is free and no turn was taken
//! since its last tick. It lets collective operations go on that have begun, unless they call
//! functions of the program. Local peers wake it for long messages (`node::wakeup`). It also speaks
//! to the launcher when the program hangs (`inquiry`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::clock::Instant;
use crate::engine::Engine;
use crate::engine::report::{Inquiry, LOOK, Launcher, PACE};
use crate::engine::waiting::doorbells::Sleeper;
use crate::engine::waiting::policy::sharers;
use crate::engine::waiting::wait::Waiting;
use crate::node::Node;
use crate::node::wakeup::Watch;
use crate::sync::NoSignals;
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
    ticking: Arc<Ticking>,
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
        let ticking = Arc::new(Ticking {
            watch: engine.node.as_deref().map(Node::watch),
            engine,
            is_closed: AtomicBool::new(false),
        });
        let are_silent = ticking.waiting().doorbells().are_silent();
        if are_silent && launcher.is_none() {
            return Ok(Self {
                ticking,
                thread: None,
            });
        }
        let shared = Arc::clone(&ticking);
        let inquiry = launcher.map(Inquiry::new);
        let thread = std::thread::Builder::new()
            .name("mpi-lite ticker".into())
            .spawn(move || {
                // Handlers of the program run in its own threads.
                let _none = NoSignals::begin();
                match are_silent {
                    true => shared.run_alone(inquiry),
                    false => shared.run(tick, inquiry),
                }
            })?;
        Ok(Self {
            ticking,
            thread: Some(thread),
        })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.ticking.is_closed.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            if let Some(watch) = self.ticking.watch {
                watch.unpark();
            }
            self.ticking.waiting().doorbells().ring(Sleeper::Ticker);
            let _ = thread.join();
        }
    }
}

/// What the ticker and its thread share.
#[derive(Debug)]
struct Ticking {
    engine: Arc<Engine>,
    /// How it sleeps, if there are local peers that may wake it.
    watch: Option<Watch<'static>>,
    is_closed: AtomicBool,
}

/// A program that waits in MPI takes turns more often than this.
const A_TURN: Duration = Duration::from_micros(20);

/// How long the ticker of a process without peers rests.
const ALONE: Duration = Duration::from_secs(1);

/// Turns in a row that move nothing, though something is due.
const VAIN_TURNS: u32 = 64;

impl Ticking {
    fn waiting(&self) -> &Waiting {
        &self.engine.waiting
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    fn run(&self, tick: Duration, mut inquiry: Option<Inquiry>) {
        let _ticks = self.waiting().stillness().begin();
        let mut seen = u64::MAX;
        let mut vain = 0;
        let mut rests = Rests::new(tick);
        while !self.is_closed() {
            self.stand_still_if_asked();
            if let Some(inquiry) = &mut inquiry {
                inquiry.step(self.engine.report());
            }
            let turns = self.waiting().turns();
            let is_served = turns != seen || self.waiting().is_about_to_sleep();
            seen = turns;
            let next = if is_served {
                Next::Park
            } else {
                self.take_turn()
            };
            vain = match next {
                Next::Turn => 0,
                Next::Due if vain < VAIN_TURNS => vain + 1,
                Next::Due | Next::Nothing => {
                    self.doze(rests.time(inquiry.as_ref()), inquiry.as_mut());
                    self.watch.inspect(|watch| watch.end());
                    vain = 0;
                    continue;
                }
                Next::Park => {
                    let time = rests.time(inquiry.as_ref());
                    if rests.is_to_look() {
                        self.look(time, inquiry.as_mut());
                    } else if self.park(time) {
                        // A peer has knocked. A program that is in MPI takes a turn soon.
                        seen = self.waiting().turns();
                        self.park(A_TURN);
                    }
                    continue;
                }
            };
            std::thread::yield_now();
        }
    }

    /// Waits while a thread of the program wants to be alone.
    fn stand_still_if_asked(&self) {
        self.waiting().stillness().stand_still_if_asked();
    }

    /// The ticker of a process that has no peers: it only answers the launcher.
    fn run_alone(&self, mut inquiry: Option<Inquiry>) {
        let rests = Rests::new(ALONE);
        while !self.is_closed() {
            if let Some(inquiry) = &mut inquiry {
                inquiry.step(self.engine.report());
            }
            self.look(rests.time(inquiry.as_ref()), inquiry.as_mut());
        }
    }

    /// Sleeps for `time`, or until a link has something or the launcher asks.
    fn doze(&self, time: Duration, inquiry: Option<&mut Inquiry>) {
        let until = self.waiting().now().plus(time);
        let asks = inquiry.as_ref().and_then(|inquiry| inquiry.descriptor());
        let is_asked = self.waiting().doze(Some(until), Sleeper::Ticker, asks);
        if let (true, Some(inquiry)) = (is_asked, inquiry) {
            inquiry.note_readable();
        }
    }

    /// Rests while the program takes turns itself, until the launcher asks.
    fn look(&self, time: Duration, inquiry: Option<&mut Inquiry>) {
        let Some(inquiry) = inquiry else {
            self.park(time);
            return;
        };
        if self
            .waiting()
            .doorbells()
            .await_question(time, inquiry.descriptor())
        {
            inquiry.note_readable();
        }
    }

    /// Parks the ticker for `time`, while the program takes turns itself. Returns true if a peer
    /// has knocked, since it assumes that the program computes.
    fn park(&self, time: Duration) -> bool {
        match self.watch {
            Some(watch) => watch.park(time, || {
                self.is_closed() || self.waiting().stillness().is_asked()
            }),
            None => {
                std::thread::park_timeout(time);
                false
            }
        }
    }

    fn take_turn(&self) -> Next {
        let Some(mut lane) = self.engine.visit() else {
            return Next::Park;
        };
        if !self.waiting().is_about_to_sleep() {
            // A doorbell that was rung too late for a sleeper must not wake us again and again.
            lane.end_sleep();
        }
        // From now on a peer that sends a long message rings the doorbell, and nobody silences it
        // before the ticker has noticed. This turn finds what came before.
        self.watch.inspect(|watch| watch.begin());
        let progress = lane.turn(self.waiting().now());
        let next = if progress > Progress::Idle {
            Next::Turn
        } else if lane.links().wake_at() == Some(Instant::ZERO) {
            Next::Due
        } else {
            Next::Nothing
        };
        let waiting = self.waiting();
        if waiting.advance_as_ticker(lane, || self.engine.visit()) {
            return Next::Turn;
        }
        if progress == Progress::Delivered {
            waiting.ring();
        }
        next
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
