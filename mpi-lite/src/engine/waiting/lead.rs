//! How one of several waiting threads leads (`waiters`). It takes turns as a single thread would
//! (`wait`). Only the leader sleeps on the links' descriptors and on the doorbell.
//!
//! Programs without `MPI_THREAD_MULTIPLE` have no leader and no followers. Decision 0046.

use std::cell::Cell;

use crate::clock::Instant;
use crate::engine::lane::Lane;
use crate::engine::report::{Blockage, Describe};
use crate::engine::waiting::lock::Guard;
use crate::engine::waiting::wait::{Role, Waiting};
use crate::engine::waiting::waiters::{self, Ready, Until};
use crate::transport::Progress;

/// How the leader takes a turn.
type Turn<T> = fn(&mut Lane, Instant, &mut Ready<'_, Lane, T>) -> (Progress, Option<T>);

/// A thread that leads, and what it waits for.
struct Leader<'a>(&'a dyn Fn(&Lane) -> Until);

impl Role for Leader<'_> {
    const LEADS: bool = true;

    fn awaits(&self, lane: &Lane) -> Until {
        self.0(lane)
    }
}

impl Waiting {
    /// Waits as one of several threads, after a check in vain: leads, or follows.
    #[inline(never)]
    pub(crate) fn wait_with_others<T>(
        &self,
        mut lane: Guard<'_, Lane>,
        (until, subject): (&dyn Fn(&Lane) -> Until, Describe<'_>),
        ready: Ready<'_, Lane, T>,
        turn: Turn<T>,
    ) -> T {
        let begin = self.now();
        let blockage = Cell::new(Blockage::default());
        let park = |latest: Option<Instant>| match latest {
            None => std::thread::park(),
            Some(at) => std::thread::park_timeout(at.since(self.now())),
        };
        let until = |lane: &Lane| {
            let mut so_far = blockage.get();
            self.describe_if_asked((lane, subject), &mut so_far, begin);
            blockage.set(so_far);
            until(lane)
        };
        waiters::wait(&mut lane, &until, ready, &park, |lane, mut ready| {
            let role = Leader(&until);
            self.take_turns(role, (lane, &subject), &mut ready, turn)
        })
    }
}
