//! Doorbells that ring inside a model: a sleeper that nobody wakes is a deadlock, which loom finds.

use std::os::fd::BorrowedFd;

use loom::sync::{Condvar, Mutex};

/// An eventfd: how often it was rung since somebody read it.
#[derive(Debug)]
pub(crate) struct Doorbell {
    rings: Mutex<u32>,
    rung: Condvar,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Doorbells {
    doorbells: &'static [Doorbell],
    me: usize,
}

impl Doorbells {
    /// The doorbells of two ranks, as each of them sees them.
    pub(crate) fn of_two() -> [Self; 2] {
        let doorbell = || Doorbell {
            rings: Mutex::new(0),
            rung: Condvar::new(),
        };
        let doorbells = Box::leak(Box::new([doorbell(), doorbell()]));
        [0, 1].map(|me| Self { doorbells, me })
    }

    pub(crate) fn mine(&self) -> BorrowedFd<'_> {
        unreachable!("the models wait for the doorbell by `wait`")
    }

    pub(crate) fn silence(&self) {
        *self.doorbells[self.me].rings.lock().expect("no panic") = 0;
    }

    pub(crate) fn ring(&self, local_peer: u32) {
        let doorbell = &self.doorbells[local_peer as usize];
        *doorbell.rings.lock().expect("no panic") += 1;
        doorbell.rung.notify_one();
    }

    /// poll(2): sleeps until the doorbell has been rung.
    pub(crate) fn wait(&self) {
        let doorbell = &self.doorbells[self.me];
        let mut rings = doorbell.rings.lock().expect("no panic");
        while *rings == 0 {
            rings = doorbell.rung.wait(rings).expect("no panic");
        }
    }
}
