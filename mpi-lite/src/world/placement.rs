//! Where ranks begin, and what they may use.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::node::{CORES_MAX, Cores};

/// The cores that this process may use.
pub(super) fn cores() -> Cores {
    let mut cores = Cores {
        allowed: Default::default(),
        most: u32::MAX,
    };
    let allowed = sched_getaffinity(None).unwrap_or_default();
    let all = 0..CpuSet::MAX_CPU.min(CORES_MAX);
    for core in all.filter(|&core| allowed.is_set(core)) {
        cores.allowed[core / 64] |= 1 << (core % 64);
    }
    let usable = std::thread::available_parallelism().map_or(1, usize::from);
    if usable < allowed.count() as usize {
        // The processor time that the control group may use is worth this many cores.
        cores.most = u32::try_from(usable).unwrap_or(u32::MAX);
    }
    cores
}

/// Puts this thread on a core of its own, if each of the node's `ranks` ranks can have one, and
/// leaves it to the system to move it from there. Nothing is bound: other jobs, and threads of the
/// program, find the machine as they would without us. But two ranks that wake up on the same core
/// wait for each other until the system notices, which takes milliseconds.
///
/// `job` is a number of the job, the same for all its ranks: two jobs do not begin on the same
/// cores, if there are more.
pub(super) fn begin_apart(rank: u32, ranks: u32, job: u32) {
    let Ok(allowed) = sched_getaffinity(None) else {
        return;
    };
    let all = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core));
    let Some(core) = choose(&all.collect::<Vec<_>>(), (rank, ranks), job) else {
        return;
    };
    let mut own = CpuSet::new();
    own.set(core);
    // Moving is all it is for; where it is forbidden the system's choice is as good.
    let _ = sched_setaffinity(None, &own);
    let _ = sched_setaffinity(None, &allowed);
}

fn choose(allowed: &[usize], (rank, ranks): (u32, u32), job: u32) -> Option<usize> {
    let has_enough = ranks as usize <= allowed.len();
    let first = job as usize % allowed.len().max(1);
    let core = allowed.iter().cycle().nth(first + rank as usize);
    core.copied().filter(|_| has_enough)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_rank_stays_bound() {
        let before = sched_getaffinity(None).unwrap();
        for rank in 0..4 {
            begin_apart(rank, 1, 7);
            begin_apart(rank, u32::MAX, 7);
        }
        assert!(sched_getaffinity(None).unwrap() == before);
    }

    /// The launcher binds a rank by its mask.
    #[test]
    fn a_bound_rank_stays_where_it_is_bound() {
        let before = sched_getaffinity(None).unwrap();
        let all = (0..CpuSet::MAX_CPU).filter(|&core| before.is_set(core));
        for core in all {
            let mut bound = CpuSet::new();
            bound.set(core);
            sched_setaffinity(None, &bound).unwrap();
            for rank in 0..3 {
                begin_apart(rank, 1, 7);
                begin_apart(rank, 3, 7);
            }
            assert!(sched_getaffinity(None).unwrap() == bound);
        }
        sched_setaffinity(None, &before).unwrap();
    }

    #[test]
    fn ranks_of_a_job_begin_on_different_cores() {
        let allowed = [2, 3, 5, 7];
        for job in 0..10 {
            let mut cores: Vec<_> = (0..4)
                .filter_map(|rank| choose(&allowed, (rank, 4), job))
                .collect();
            cores.sort_unstable();
            assert_eq!(cores, allowed, "job {job}");
        }
        assert_eq!(choose(&allowed, (0, 5), 0), None);
        assert_eq!(choose(&[], (0, 0), 3), None);
    }

    #[test]
    fn different_jobs_begin_on_different_cores() {
        let allowed: Vec<_> = (0..8).collect();
        let first = |job| choose(&allowed, (0, 2), job);
        assert!((1..8).all(|job| first(job) != first(0)));
    }
}
