//! The simulator bites: each planted bug is found, and without one nothing is. `RMPP_BUG=name`
//! plants one alone.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rmpp_core::{Bug, Caps, Config};

use crate::silence::silently;
use rmpp_sim::{Faults, Plan, Traffic, Wires, World};

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

/// The cost of the traffic with a bug or without: packets, and virtual nanoseconds.
fn cost(planted: Option<Bug>, (len, loss_ppm, landing_ns): (u64, u32, u64)) -> (u64, u64) {
    let mut config = Config::with_caps(2, 1_444, Caps::FAST);
    config.planted = planted;
    let traffic = Traffic {
        config,
        wires: Wires {
            bytes_per_us: 1_250,
            port_bytes: 1 << 20,
        },
        faults: Faults {
            loss_ppm,
            ..Faults::none()
        },
        seed: 3,
        sends: vec![vec![(1, len); 16]],
        landing_ns,
        window: 1,
        limit_ns: 10_000_000_000,
    };
    let outcome = traffic.run();
    (outcome.packets, outcome.virtual_ns)
}

/// Bugs that break no rule but cost packets or time, each with the traffic that shows it: length of
/// a message, loss, and how late it lands.
fn found_by_cost(bug: Bug) -> bool {
    let traffic = match bug {
        Bug::NakOnOldData => (4 << 20, 50_000, 0),
        Bug::ForgetUnscheduled => (65_536, 0, 100_000),
        _ => return false,
    };
    let ((packets, ns), (usual_packets, usual_ns)) =
        (cost(Some(bug), traffic), cost(None, traffic));
    println!("{bug:?}: {packets} packets for {usual_packets}, {ns} ns for {usual_ns}");
    packets * 100 > usual_packets * 104 || ns > usual_ns * 2
}

#[test]
fn each_planted_bug_is_found_and_nothing_else() {
    let named = std::env::var("RMPP_BUG");
    let is_asked = |bug: &Bug| named.as_ref().is_err() || named == Ok(format!("{bug:?}"));
    let is_hidden = |&bug: &Bug| {
        if found_by_cost(bug) {
            return false;
        }
        let found = (0..SEEDS).find_map(|seed| find(seed, Some(bug)));
        println!("{bug:?}: {}", found.as_deref().unwrap_or("not found"));
        found.is_none()
    };
    let asked = Bug::ALL.into_iter().filter(is_asked);
    let hidden: Vec<Bug> = silently(|| asked.filter(is_hidden).collect());
    assert!(
        hidden.is_empty(),
        "not found within {SEEDS} seeds: {hidden:?}"
    );
    for seed in 0..200 {
        assert_eq!(find(seed, None), None, "a violation without a bug");
    }
}
