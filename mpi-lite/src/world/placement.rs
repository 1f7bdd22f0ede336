//! Where ranks begin.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Puts this thread on a core of its own, if each of the node's `ranks` ranks can have one, and
/// leaves it to the system to move it from there. Nothing is bound: other jobs, and threads of the
/// program, find the machine as they would without us. But two ranks that wake up on the same core
/// wait for each other until the system notices, which takes milliseconds.
pub(super) fn begin_apart(rank: u32, ranks: u32) {
    let Ok(allowed) = sched_getaffinity(None) else {
        return;
    };
    if ranks > allowed.count() {
        return;
    }
    let mut cores = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core));
    let Some(core) = cores.nth(rank as usize) else {
        return;
    };
    let mut own = CpuSet::new();
    own.set(core);
    // Moving is all it is for; where it is forbidden the system's choice is as good.
    let _ = sched_setaffinity(None, &own);
    let _ = sched_setaffinity(None, &allowed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_rank_stays_bound() {
        let before = sched_getaffinity(None).unwrap();
        for rank in 0..4 {
            begin_apart(rank, 1);
            begin_apart(rank, u32::MAX);
        }
        assert!(sched_getaffinity(None).unwrap() == before);
    }
}
