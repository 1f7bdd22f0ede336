//! Bells that ring inside a model: a sleeper that nobody wakes is a deadlock, which loom finds.

use std::os::fd::BorrowedFd;

use loom::sync::{Condvar, Mutex};

/// An eventfd: how often it was rung since somebody read it.
#[derive(Debug)]
pub(crate) struct Bell {
    rings: Mutex<u32>,
    rung: Condvar,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Bells {
    bells: &'static [Bell],
    me: usize,
}

impl Bells {
    /// The bells of two ranks, as each of them sees them.
    pub(crate) fn of_two() -> [Self; 2] {
        let bell = || Bell {
            rings: Mutex::new(0),
            rung: Condvar::new(),
        };
        let bells = Box::leak(Box::new([bell(), bell()]));
        [0, 1].map(|me| Self { bells, me })
    }

    pub(crate) fn mine(&self) -> BorrowedFd<'_> {
        unreachable!("the models wait for the bell by `wait`")
    }

    pub(crate) fn silence(&self) {
        *self.bells[self.me].rings.lock().expect("no panic") = 0;
    }

    pub(crate) fn ring(&self, neighbour: u32) {
        let bell = &self.bells[neighbour as usize];
        *bell.rings.lock().expect("no panic") += 1;
        bell.rung.notify_one();
    }

    /// poll(2): sleeps until the bell has been rung.
    pub(crate) fn wait(&self) {
        let bell = &self.bells[self.me];
        let mut rings = bell.rings.lock().expect("no panic");
        while *rings == 0 {
            rings = bell.rung.wait(rings).expect("no panic");
        }
    }
}
