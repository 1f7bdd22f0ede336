//! What the queue prints: each program when it ends, and at last the failures once more.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::run::Ended;

/// So many of the programs that took the longest are named at the end.
const LONGEST: usize = 10;

pub(crate) struct Report {
    programs: usize,
    ended: Mutex<BTreeMap<String, Ended>>,
}

impl Report {
    pub(crate) fn new(programs: usize) -> Report {
        Report {
            programs,
            ended: Mutex::default(),
        }
    }

    fn ended(&self) -> MutexGuard<'_, BTreeMap<String, Ended>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn begin(&self, name: &str) {
        let _one_prints_at_a_time = self.ended();
        println!("     Running {name}");
    }

    pub(crate) fn end(&self, name: &str, ended: Ended) {
        let mut all = self.ended();
        let how = match &ended.failure {
            None => "ok",
            Some(_) => "FAILED",
        };
        let number = all.len() + 1;
        let seconds = ended.time.as_secs_f64();
        println!(
            "       Ended {name}: {how} in {seconds:.1} s ({number} of {})",
            self.programs
        );
        println!("{}", ended.output.trim_end());
        all.insert(name.into(), ended);
    }

    /// Prints the failures once more and the longest programs; returns true if all have passed.
    pub(crate) fn finish(&self, time: Duration) -> bool {
        let all = self.ended();
        let mut longest: Vec<_> = all.iter().map(|(name, it)| (it.time, name)).collect();
        longest.sort_by(|one, other| other.cmp(one));
        println!("The longest programs:");
        for (time, name) in longest.into_iter().take(LONGEST) {
            println!("{:8.1} s  {name}", time.as_secs_f64());
        }
        let mut failed = 0;
        for (name, ended) in all.iter() {
            if let Some(failure) = &ended.failure {
                failed += 1;
                println!("\n---- {name} failed: {failure}");
                // Marked, so that nobody counts its results twice.
                ended.output.lines().for_each(|line| println!("| {line}"));
            }
        }
        let seconds = time.as_secs_f64();
        println!(
            "\n{} programs in {seconds:.0} s, {failed} failed",
            self.programs
        );
        failed == 0
    }
}
