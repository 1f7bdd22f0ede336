//! The simulator bites: each planted bug is found, and without one nothing is.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rmpp_core::Bug;
use rmpp_core::sim::{Plan, World};

/// How many seeds a bug may hide from.
const SEEDS: u64 = 1_000;

fn find(seed: u64, planted: Option<Bug>) -> Option<String> {
    let mut plan = Plan::of(seed);
    plan.config.planted = planted;
    // The core's own assertions count as well.
    match catch_unwind(AssertUnwindSafe(|| World::new(plan, false).run())) {
        Ok(Ok(_)) => None,
        Ok(Err(violation)) => Some(violation),
        Err(_) => Some(format!("seed {seed}: an assertion of the core failed")),
    }
}

#[test]
fn each_planted_bug_is_found_and_nothing_else() {
    std::panic::set_hook(Box::new(|_| {}));
    let hidden: Vec<Bug> = Bug::ALL
        .into_iter()
        .filter(|&bug| {
            let found = (0..SEEDS).find_map(|seed| find(seed, Some(bug)));
            println!("{bug:?}: {}", found.as_deref().unwrap_or("not found"));
            found.is_none()
        })
        .collect();
    let _ = std::panic::take_hook();
    assert!(
        hidden.is_empty(),
        "not found within {SEEDS} seeds: {hidden:?}"
    );
    for seed in 0..200 {
        assert_eq!(find(seed, None), None, "a violation without a bug");
    }
}
