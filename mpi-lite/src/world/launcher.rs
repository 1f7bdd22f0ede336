//! The launcher, as the ticker of a process reaches it while no other thread speaks to it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::boot::state::RankState;
use crate::boot::{Asked, Boot};
use crate::engine::Launcher;

/// The channel to the launcher. A thread in Init, Finalize or Abort has it to itself, and answers
/// questions in the ticker's place.
#[derive(Debug)]
pub(super) struct Channel {
    boot: Arc<Mutex<Boot>>,
    descriptor: OwnedFd,
    blocked_after: Duration,
}

impl Channel {
    /// The channel, if this process has a launcher.
    ///
    /// # Errors
    /// The system has no more file descriptors.
    pub(super) fn new(boot: &Arc<Mutex<Boot>>) -> std::io::Result<Option<Self>> {
        let locked = boot.lock();
        let ms = locked.assignment().blocked_after_ms;
        Ok(locked.descriptor()?.map(|descriptor| Self {
            boot: Arc::clone(boot),
            descriptor,
            blocked_after: Duration::from_millis(ms.into()),
        }))
    }
}

impl Launcher for Channel {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    fn blocked_after(&self) -> Duration {
        self.blocked_after
    }

    fn take(&mut self) -> Asked {
        let boot = self.boot.try_lock();
        boot.map_or(Asked::Busy, |mut boot| boot.question())
    }

    fn blocked(&mut self, time: Duration) -> bool {
        // A launcher that is gone ends this process.
        let boot = self.boot.try_lock();
        boot.is_some_and(|mut boot| boot.blocked(time).is_ok())
    }

    fn resumed(&mut self) -> bool {
        let boot = self.boot.try_lock();
        boot.is_some_and(|mut boot| boot.resumed().is_ok())
    }

    fn answer(&mut self, question: u32, state: RankState) {
        if let Some(mut boot) = self.boot.try_lock() {
            let _ = boot.describe(question, state);
        }
    }
}
