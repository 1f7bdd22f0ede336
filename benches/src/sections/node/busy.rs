//! Two ranks on cores that others use too: beside processes that compute on the same two cores, and
//! both ranks on one core. No MPI binds a rank to a core of its own. On one core each gets its
//! words for more threads than cores: there it does best if it yields. Beside others it does not,
//! since a rank that yields gives its time away to them.

use std::process::{Child, Command, Stdio};

use super::{AUTO, RMPP, gather, peers, program};
use crate::bench::{Bench, Program};
use crate::contender::Contender;
use crate::goal::{Goal, Limit};
use crate::machine;
use crate::measurements::{Better, Measurements, Round};
use crate::report::Report;
use crate::sections::subject::{Subject, WAYS, bytes};
use crate::sections::{figure_after, in_rounds, medians, ratios};

const LATENCY: Subject = Subject {
    program: "latency",
    unit: "half round trip, us",
    better: Better::Smaller,
    sizes: &[8, 65_536, 1_048_576],
    ways: WAYS,
};
/// A buffer for sending and one for receiving, as in most programs.
const WAY: &str = WAYS[1];
const OPERATIONS: [&str; 3] = ["barrier", "bcast", "allreduce"];
const BYTES: &str = "8";
/// The word for this way alone: beside others, each takes seconds.
const WAY_WORD: &str = "separate";
/// What the program of each measurement may take: ranks that spin lose whole slices of time. Who
/// takes longer is not measured again.
const LIMIT_S: u64 = 15;

/// Sets the variables by which the MPIs that bind ranks to cores leave it.
const UNBOUND: [&str; 4] = [
    "env",
    "OMPI_MCA_hwloc_base_binding_policy=none",
    "PRTE_MCA_hwloc_default_binding_policy=none",
    "I_MPI_PIN=0",
];

/// Who else uses the cores of the ranks.
#[derive(Debug)]
struct Case {
    about: &'static str,
    cores: usize,
    others: usize,
}

const CASES: [Case; 3] = [
    Case {
        about: "beside 1 other process",
        cores: 2,
        others: 1,
    },
    Case {
        about: "beside 8 other processes",
        cores: 2,
        others: 8,
    },
    Case {
        about: "both ranks on one core",
        cores: 1,
        others: 0,
    },
];

/// Processes that compute on these cores until they are dropped.
#[derive(Debug)]
struct Others(Vec<Child>);

impl Others {
    fn start(count: usize, cores: &str) -> Result<Self, String> {
        // They end with us, however we end.
        let words = ["--pdeathsig", "KILL", "taskset", "-c", cores, "sh", "-c"];
        let mut others = Self(Vec::new());
        for _ in 0..count {
            let child = Command::new("setpriv")
                .args(words)
                .arg("while :; do :; done")
                .stdin(Stdio::null())
                .spawn()
                .map_err(|error| format!("setpriv: {error}"))?;
            others.0.push(child);
        }
        Ok(others)
    }
}

impl Drop for Others {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A program of two ranks on these cores.
fn on(cores: &[String], program: Program) -> Program {
    let list = cores.join(",");
    let wrapper = [&UNBOUND[..], &["taskset", "-c", &list]].concat();
    let is_crowded = cores.len() < program.ranks;
    Program {
        // One more than this machine has.
        threads: if is_crowded { machine::cores() + 1 } else { 1 },
        wrapper: wrapper.into_iter().map(Into::into).collect(),
        ..program
    }
}

fn measure(bench: &Bench, (cores, who): (&[String], &Contender), all: &mut Measurements) {
    let sizes = LATENCY.words();
    let words: Vec<&str> = [WAY_WORD]
        .into_iter()
        .chain(sizes.iter().map(String::as_str))
        .collect();
    let latency = on(cores, program(LATENCY.program, 2, &words, LIMIT_S));
    LATENCY.run(bench, (who, &latency), all);
    let words = [&[BYTES], &OPERATIONS[..]].concat();
    let collective = on(cores, program("collective", 2, &words, LIMIT_S));
    let output = bench.run(who, &collective);
    for operation in OPERATIONS {
        let us = figure_after(&output, &format!("{operation}: "));
        all.enter(&who.name, operation, us);
    }
}

/// What is shown: each row's name, and the name under which it was noted.
fn rows() -> Vec<(String, String)> {
    let latency = |size: &u32| {
        let name = format!("half round trip, {}", bytes(*size));
        (name, LATENCY.what_in(size, WAY))
    };
    let operation = |name: &str| (format!("{name}, {BYTES} B"), name.to_owned());
    let latencies = LATENCY.sizes.iter().map(latency);
    latencies.chain(OPERATIONS.map(operation)).collect()
}

pub(in crate::sections) fn run(bench: &Bench, report: &mut Report) -> Result<(), String> {
    let allowed = machine::allowed_cores();
    let mut contenders = gather(bench, report);
    contenders.retain(|who| who.name != RMPP);
    let rounds = bench.options.rounds(3, 1);
    let how = bench.how(rounds);
    for case in &CASES {
        let cores = allowed.get(..case.cores).ok_or("it needs two cores")?;
        let cores = cores.iter().map(ToString::to_string).collect::<Vec<_>>();
        let others = Others::start(case.others, &cores.join(","))?;
        let all = in_rounds(rounds, &contenders, |who, all| {
            measure(bench, (&cores, who), all);
        });
        drop(others);
        tell(report, (case, &contenders, &how), &all);
    }
    Ok(())
}

/// How many peers and rounds stand behind a ratio to the best peer: those that take too long have
/// no value.
fn behind(all: &Measurements, peers: &[&str], what: &str) -> String {
    let with_value = |round: &Round| {
        round.get(AUTO, what)?;
        let has_value = |peer: &&&str| round.get(peer, what).is_some();
        Some(peers.iter().filter(has_value).count()).filter(|count| *count > 0)
    };
    let rounds = all.only(|round| with_value(round).is_some()).rounds();
    let count = match all.spread(|round| with_value(round).map(|count| count as f64)) {
        Some(count) if count.least < count.most => format!("{} to {}", count.least, count.most),
        Some(count) => count.most.to_string(),
        None => "0".to_owned(),
    };
    format!(
        "{count} of {} peers, {rounds} of {} rounds",
        peers.len(),
        all.rounds()
    )
}

fn tell(
    report: &mut Report,
    (case, contenders, how): (&Case, &[Contender], &str),
    all: &Measurements,
) {
    let (about, rows) = (case.about, rows());
    let shown = (&rows[..], contenders);
    let title = format!("two ranks {about}, us, {how}");
    report.table(&medians(&title, "", shown, all));
    let title = format!("two ranks {about} (below 1 is better)");
    report.table(&ratios(&title, "", shown, all));
    let peers = peers(contenders);
    for (name, what) in &rows {
        let ratio = all.ratio(AUTO, &peers, what, Better::Smaller);
        let behind = behind(all, &peers, what);
        let what = format!("{name}, {about} / best of {behind}");
        report.goal(Goal::new(what, Limit::Most(1.0), ratio));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn two_ranks_are_more_than_one_core_and_no_more_than_two() {
        let on = |cores: &[&str]| {
            let cores: Vec<String> = cores.iter().map(ToString::to_string).collect();
            let program = on(&cores, program("latency", 2, &[], LIMIT_S));
            let list = program.wrapper.last().cloned();
            (list, program.ranks * program.threads > machine::cores())
        };
        let is_single = machine::cores() < 2;
        assert_eq!(on(&["3"]), (Some("3".into()), true));
        assert_eq!(on(&["0", "3"]), (Some("0,3".into()), is_single));
    }

    #[test]
    fn a_goal_says_which_peers_and_rounds_stand_behind_it() {
        let mut all = Measurements::default();
        let peers = ["a", "b", "c"];
        for have in [&[AUTO, "a", "b"][..], &[AUTO, "a"], &[AUTO], &["a"]] {
            all.begin_round();
            for who in have {
                all.note(who, "bcast", 1.0);
            }
        }
        let expected = "1 to 2 of 3 peers, 2 of 4 rounds";
        assert_eq!(behind(&all, &peers, "bcast"), expected);
        let expected = "0 of 3 peers, 0 of 4 rounds";
        assert_eq!(behind(&all, &peers, "barrier"), expected);
    }

    #[test]
    fn processes_compute_until_they_are_dropped() {
        let core = machine::allowed_cores()[0].to_string();
        let others = Others::start(2, &core).expect("setpriv");
        let proc = |child: &Child, name: &str| format!("/proc/{}/{name}", child.id());
        let paths: Vec<String> = others.0.iter().map(|it| proc(it, "comm")).collect();
        let deadline = Instant::now() + Duration::from_secs(60);
        let computes = |path: &String| fs::read_to_string(path).is_ok_and(|name| name == "sh\n");
        while !paths.iter().all(computes) {
            assert!(Instant::now() < deadline, "nothing computes");
            std::thread::yield_now();
        }
        drop(others);
        assert!(!paths.iter().any(|path| fs::exists(path).unwrap_or(true)));
    }
}
