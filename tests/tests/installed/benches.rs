//! The programs of `benches/c` do what the comparisons take from them. No figure is judged here:
//! only that there is one.

use std::path::PathBuf;

use mpi_lite_tests::{Job, Outcome, Scratch, c_source, compile, source_root, tool};

/// Each measuring program with its ranks, its words, and how many figures stand in a line.
const MEASURING: &[(&str, usize, &[&str], usize)] = &[
    ("latency", 2, &["0", "8"], 4),
    ("vectors", 2, &["both", "65536"], 1),
    ("pack", 1, &["structure", "65536"], 2),
    ("bandwidth", 2, &["1024"], 1),
    ("rate", 2, &["8"], 1),
    ("roundtrips", 2, &["8", "0.05"], 3),
    ("packets", 2, &["8"], 2),
    ("incast", 9, &["4096", "3"], 3),
    ("incast", 2, &["4096", "3"], 3),
];

/// Programs for one machine with their ranks and words, and what stands before each figure.
const ON_ONE_MACHINE: &[(&str, usize, &[&str], &[&str])] = &[
    ("collective", 3, &[], &["barrier: ", "allreduce: "]),
    (
        "collective",
        3,
        &[
            "64",
            "bcast",
            "reduce",
            "allgather",
            "alltoall",
            "scan",
            "gather",
            "scatter",
            "split",
        ],
        &[
            "bcast: ",
            "reduce: ",
            "allgather: ",
            "alltoall: ",
            "scan: ",
            "gather: ",
            "scatter: ",
            "split: ",
        ],
    ),
    ("idle", 2, &["0.1"], &["cpu: ", "woken: "]),
    (
        "flood",
        2,
        &["20000", "1024", "0.1", "probe"],
        &["sender: ", "receiver: ", "drained: "],
    ),
    ("start", 5, &[], &["ranks: 5"]),
    ("depth", 1, &["100"], DEEP),
    ("depth", 2, &["100"], DEEP),
];

const DEEP: &[&str] = &[
    "posted_exact 100 ",
    "posted_any 100 ",
    "unexpected_exact 100 ",
    "unexpected_any 100 ",
];

/// Each probe with its words, and how many of them are settings; it prints a figure for each of the
/// others.
const PROBES: &[(&str, &[&str], usize)] = &[
    ("udp_probe", &["1472", "0", "8", "70000"], 1),
    ("tcp_probe", &["0", "70000"], 0),
    ("udp_blast", &["8192"], 0),
    ("tcp_blast", &["65536"], 0),
];

fn build(name: &str, scratch: &Scratch) -> PathBuf {
    mpi_lite_tests::build(&format!("benches/c/{name}.c"), scratch)
}

/// The lines that begin with a number, as numbers.
fn figures(output: &str) -> Vec<Vec<f64>> {
    let numbers = |line: &str| {
        let words = line.split_whitespace();
        words
            .map(|word| word.parse().ok())
            .collect::<Option<Vec<f64>>>()
    };
    output.lines().filter_map(numbers).collect()
}

#[test]
fn every_program_compiles_without_a_warning() {
    let scratch = Scratch::new("benches-compile");
    let folder = source_root().join("benches/c");
    let entries = std::fs::read_dir(&folder).expect("the folder of the programs");
    let names = entries.flatten().map(|entry| entry.path());
    let mut count = 0;
    for source in names.filter(|path| path.extension().is_some_and(|ending| ending == "c")) {
        compile(&source, &scratch).unwrap_or_else(|why| panic!("{why}"));
        count += 1;
    }
    assert!(count >= 19, "only {count} programs in {}", folder.display());
}

#[test]
fn measuring_programs_print_their_figures() {
    let scratch = Scratch::new("benches-measure");
    for (name, ranks, words, count) in MEASURING {
        let job = Job::mpirun(*ranks).args(["--transport", "rmpp"]);
        let outcome = job
            .arg(build(name, &scratch))
            .args(*words)
            .run()
            .expect_code(0);
        let lines = figures(&outcome.stdout);
        assert!(!lines.is_empty(), "{name}: {}", outcome.report());
        for line in lines {
            assert_eq!(line.len(), count + 1, "{name}: {line:?}");
            assert!(line.iter().all(|figure| *figure >= 0.0), "{name}: {line:?}");
        }
    }
}

#[test]
fn an_unknown_case_of_gaps_is_a_usage_error() {
    let scratch = Scratch::new("benches-case");
    for (name, ranks) in [("vectors", 2), ("pack", 1)] {
        let job = Job::mpirun(ranks).arg(build(name, &scratch));
        let outcome = job.args(["middle", "65536"]).run().expect_code(1);
        let outcome = outcome.expect_stderr("not 'middle'");
        assert!(figures(&outcome.stdout).is_empty(), "{}", outcome.report());
    }
}

#[test]
fn threads_have_a_rate_each_way() {
    let scratch = Scratch::new("benches-threads");
    let job = Job::mpirun(2).arg(build("threads", &scratch));
    let outcome = job.args(["8", "2"]).run().expect_code(0);
    for name in ["one pair: ", "tags: ", "communicators: "] {
        let mut rates = outcome
            .stdout
            .lines()
            .filter_map(|line| line.strip_prefix(name));
        let rate = rates.next().and_then(|rate| rate.parse::<f64>().ok());
        assert!(rate.is_some_and(|rate| rate > 0.0), "{}", outcome.report());
    }
}

#[test]
fn probes_print_a_figure_for_each_size() {
    let scratch = Scratch::new("benches-probes");
    for (name, words, settings) in PROBES {
        let outcome = Job::new(build(name, &scratch))
            .args(*words)
            .run()
            .expect_code(0);
        let lines = figures(&outcome.stdout);
        let expected = words.len() - settings;
        assert_eq!(lines.len(), expected, "{name}: {}", outcome.report());
        assert!(
            lines.iter().all(|line| line[1] > 0.0),
            "{name}: {}",
            outcome.report()
        );
    }
}

#[test]
fn files_without_mpi_are_timed_and_gone_at_the_end() {
    let scratch = Scratch::new("benches-files-probe");
    let file = scratch.path().join("file");
    let job = Job::new(build("files_probe", &scratch)).arg(&file);
    let outcome = job.run().expect_code(0).expect_stdout("contiguous: ");
    drop(outcome.expect_stdout("calls: "));
    assert!(!file.exists());
}

#[test]
fn every_row_of_files_has_a_figure_and_right_data() {
    let scratch = Scratch::new("benches-files");
    let file = scratch.path().join("file");
    let job = Job::mpirun(3).arg(build("files", &scratch)).arg(&file);
    let mut outcome = job.run().expect_code(0);
    for row in [
        "memory",
        "contiguous",
        "write_at_all",
        "read_at_all",
        "write_at",
        "read_at",
        "calls",
        "write_shared",
        "write_ordered",
        "atomic",
        "open_close",
    ] {
        outcome = outcome.expect_stdout(&format!("{row}: "));
    }
    let is_figure = |line: &str| {
        let figure = line.split_once(": ").map(|(_, figure)| figure);
        figure.is_some_and(|figure| figure.parse::<f64>().is_ok())
    };
    let report = outcome.report();
    assert!(outcome.stdout.lines().all(is_figure), "{report}");
    assert!(!file.exists());
}

#[test]
fn every_row_of_windows_has_a_figure_and_right_data() {
    let scratch = Scratch::new("benches-windows");
    let windows = build("windows", &scratch);
    for flavour in ["allocate", "shared", "create"] {
        let job = Job::mpirun(2).arg(&windows).arg(flavour);
        let outcome = job.run().expect_code(0);
        let is_figure = |line: &str| {
            let figure = line.split_once(": ").map(|(_, figure)| figure);
            figure.is_some_and(|figure| figure.parse::<f64>().is_ok())
        };
        let (lines, report) = (outcome.stdout.lines(), outcome.report());
        assert_eq!(lines.clone().count(), 14, "{flavour}: {report}");
        assert!(lines.into_iter().all(is_figure), "{flavour}: {report}");
    }
}

#[test]
fn programs_for_one_machine_print_each_figure_behind_its_name() {
    let scratch = Scratch::new("benches-node");
    for (name, ranks, words, expected) in ON_ONE_MACHINE {
        let job = Job::mpirun(*ranks).arg(build(name, &scratch)).args(*words);
        let mut outcome = job.run().expect_code(0);
        for text in *expected {
            outcome = outcome.expect_stdout(text);
        }
    }
}

#[test]
fn a_cache_line_needs_some_time_between_two_cores() {
    let scratch = Scratch::new("benches-line");
    let outcome = Job::new(build("line_probe", &scratch)).run().expect_code(0);
    let lines = figures(&outcome.stdout);
    let [line] = &lines[..] else {
        panic!("one line expected: {}", outcome.report());
    };
    assert!(line[0] == 64.0 && line[1] > 0.0, "{}", outcome.report());
}

#[test]
fn a_program_run_by_took_is_timed_and_its_exit_code_is_passed_on() {
    let scratch = Scratch::new("benches-took");
    let took = build("took", &scratch);
    for code in [0, 7] {
        let words = ["sh", "-c", "exit $0", &code.to_string()];
        let outcome = Job::new(&took).args(words).run().expect_code(code);
        drop(outcome.expect_stdout("took: 0."));
    }
}

#[test]
fn a_farm_that_ends_early_has_the_sum_of_what_it_dealt_out() {
    let scratch = Scratch::new("benches-farm");
    let farm = build("farm", &scratch);
    let words = ["100000000", "1024", "64", "0.05"];
    let outcome = Job::mpirun(3).arg(farm).args(words).run().expect_code(0);
    let outcome = outcome
        .expect_stdout("(right)")
        .expect_stdout("longest time between");
    assert!(
        !outcome.stdout.contains("100000000 tasks"),
        "{}",
        outcome.report()
    );
}

/// The job of two ranks in a network of its own, in which `network.sh` makes things happen.
fn in_network(event: &[(&str, &str)], program: PathBuf, words: &[&str]) -> Outcome {
    let words_of_unshare = "--kill-child -n -p -f -m --mount-proc sh".split(' ');
    let mut job = Job::new("unshare")
        .args(words_of_unshare)
        .arg(c_source("benches/src/network.sh"))
        .env("BENCH_NETWORK", "own")
        .env("BENCH_MTU", "65536")
        .env("BENCH_PROTOCOL", "udp")
        .env("BENCH_LIMIT_S", "50");
    for (name, value) in event {
        job = job.env(name, value);
    }
    let mpirun = tool("mpirun");
    let job = job.arg(mpirun).args(["-n", "2", "--transport", "rmpp"]);
    job.arg(program).args(words).run().expect_code(0)
}

#[test]
fn messages_flow_again_after_a_cut_each_in_its_turn() {
    let scratch = Scratch::new("benches-outage");
    let file = |name| scratch.path().join(name).display().to_string();
    let (ready, stop) = (file("ready"), file("stop"));
    let events = [
        ("BENCH_CUT_S", "0.3"),
        ("BENCH_READY", &ready),
        ("BENCH_STOP", &stop),
    ];
    let outcome = in_network(&events, build("outage", &scratch), &[&ready, &stop]);
    for words in ["healed: ", "resumed: ", "each in its turn"] {
        assert!(outcome.stdout.contains(words), "{}", outcome.report());
    }
}

#[test]
fn stray_packets_are_sent_onto_the_ranks_and_none_is_answered() {
    let scratch = Scratch::new("benches-strays");
    let strays = build("strays", &scratch);
    let words = format!("{} 10000 onto", strays.display());
    let round_trips = build("roundtrips", &scratch);
    let outcome = in_network(&[("BENCH_STRAYS", &words)], round_trips, &["8", "0.3"]);
    let line = outcome
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("strays: "));
    let line = line.unwrap_or_else(|| panic!("{}", outcome.report()));
    let (sent, back) = line.split_once(" sent, ").expect("two counts");
    assert!(sent.parse::<u64>().is_ok_and(|sent| sent > 100), "{line}");
    assert_eq!(back, "0 came back");
}
