//! Random MPI programs over a simulated network that loses, copies and reorders, against an oracle
//! of MPI's matching rules.
//!
//! The oracle hears in which order each process's links announced messages; from there on all is
//! determined: which receive gets which message, what probes see, which cancels take effect.
//! `MPILITE_SEED=n` replays program n, a line per event; `MPILITE_PROGRAMS=n` runs n programs.

#![expect(clippy::unwrap_used, reason = "a test")]

mod acts;
mod ending;
mod job;
mod oracle;
mod plan;
mod rng;
mod room;

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use job::{Job, Report};
use mpi_lite::transport::sim::Guest;
use plan::Plan;

/// Programs of one run.
const PROGRAMS: u64 = 20_000;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    let wrong = |_| panic!("{variable}={text} is not a number");
    Some(text.parse().unwrap_or_else(wrong))
}

/// Tells the seed when its program fails.
struct Named(u64, Guest);

impl Drop for Named {
    fn drop(&mut self) {
        if thread::panicking() {
            let Self(seed, guest) = self;
            eprintln!("{guest:?}: replay it with MPILITE_SEED={seed}");
        }
    }
}

fn run(plan: Plan, is_loud: bool) -> Report {
    let _named = Named(plan.seed, plan.guest);
    Job::new(plan, is_loud).run()
}

fn run_all(programs: u64, plan: impl Fn(u64) -> Plan + Sync) -> Vec<Report> {
    let next = AtomicU64::new(0);
    let work = || {
        let mut reports = Vec::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= programs {
                return reports;
            }
            reports.push(run(plan(seed), false));
        }
    };
    thread::scope(|scope| {
        let threads = [scope.spawn(work), scope.spawn(work)];
        let join = |thread: thread::ScopedJoinHandle<'_, Vec<Report>>| thread.join();
        threads
            .into_iter()
            .flat_map(|thread| join(thread).expect("a program failed"))
            .collect()
    })
}

#[test]
fn random_programs_match_as_mpi_says() {
    if let Some(seed) = number("MPILITE_SEED") {
        println!("{:#?}", Plan::of(seed));
        println!("{:?}", run(Plan::of(seed), true));
        return;
    }
    let programs = number("MPILITE_PROGRAMS").unwrap_or(PROGRAMS);
    let reports = run_all(programs, Plan::of);
    let sum = |of: fn(&Report) -> u64| reports.iter().map(of).sum::<u64>();
    let (sends, receives) = (sum(|r| r.sends), sum(|r| r.receives));
    let (truncated, cancelled) = (sum(|r| r.truncated), sum(|r| r.cancelled));
    let (probed, advances) = (sum(|r| r.probed), sum(|r| r.advances));
    let withdrawn = sum(|r| r.withdrawn);
    assert!(withdrawn > 0, "no send was taken back");
    let (placed, overflowed) = (sum(|r| r.placed), sum(|r| r.overflowed));
    assert!(placed > 0, "no payload came straight to its place");
    assert!(overflowed > 0, "no process was short of room");
    println!(
        "{programs} programs: {sends} messages, {receives} received, {truncated} truncated, \
         {cancelled} cancelled, {withdrawn} sends too, {probed} probed; {placed} payloads straight \
         to their places, {overflowed} datagrams without room; {advances} moments"
    );
    for (what, least) in [(receives, 20), (truncated, 1), (cancelled, 5), (probed, 1)] {
        assert!(what >= least * programs, "too few to mean anything");
    }
}

#[test]
fn random_programs_match_as_mpi_says_over_each_protocol() {
    const GUESTS: [Guest; 3] = [Guest::Unet, Guest::Sctp, Guest::GoBackN];
    for guest in GUESTS {
        if let Some(seed) = number("MPILITE_SEED") {
            println!("{:?}", run(Plan::over(guest, seed), true));
            continue;
        }
        let programs = number("MPILITE_PROGRAMS").unwrap_or(PROGRAMS) / 20;
        let reports = run_all(programs, |seed| Plan::over(guest, seed));
        let receives: u64 = reports.iter().map(|report| report.receives).sum();
        println!("{guest:?}: {programs} programs, {receives} messages received");
        assert!(receives >= 20 * programs, "too few to mean anything");
    }
}

#[test]
fn the_same_seed_gives_the_same_program() {
    for seed in 0..30 {
        let report = || run(Plan::of(seed), false);
        assert_eq!(report(), report(), "seed {seed}");
    }
}
