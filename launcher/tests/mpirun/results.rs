//! The files that options name for results: opened before the start, and whole or with a line.

use std::fs;
use std::process::Command;

use crate::common::{Scratch, mpirun, mpirun_after, unique_sleep, wait_for_sleepers, wait_until};

fn make_fifo(scratch: &Scratch, name: &str) -> std::path::PathBuf {
    let path = scratch.path().join(name);
    let made = Command::new("mkfifo").arg(&path).status();
    assert!(made.expect("mkfifo runs").success());
    path
}

#[test]
fn a_result_that_cannot_be_written_is_not_status_0() {
    for option in [
        &["--packets", "/dev/full"][..],
        &["--sequence", "/dev/full"],
        &["--stats=/dev/full"],
    ] {
        let outcome = mpirun(&[&["-n", "1"], option, &["true"]].concat()).run();
        outcome.fails_with(1, &[&option.join(" "), "No space left"]);
        let failing = mpirun(&[&["-n", "1"], option, &["sh", "-c", "exit 7"]].concat()).run();
        assert_eq!(failing.code, 7, "{failing:?}");
        assert!(failing.stderr.contains("No space left"), "{failing:?}");
    }
}

#[test]
fn a_report_that_cannot_be_written_is_not_status_0() {
    let (scratch, mark) = (Scratch::new(), unique_sleep());
    let errors = scratch.path().join("errors");
    let script = format!("trap 'exit 0' USR1; sleep {mark} & wait; kill $!");
    let line = ["-n", "1", "--stall-json", "/dev/full", "sh", "-c", &script];
    let mut run = mpirun(&line);
    let command = run.command().stderr(fs::File::create(&errors).unwrap());
    let mut child = command.spawn().unwrap();
    wait_for_sleepers(&mark, 1);
    crate::common::signal_process(child.id(), "QUIT");
    wait_until("the loss is reported", || {
        let text = fs::read_to_string(&errors).ok()?;
        text.contains("--stall-json /dev/full: No space")
            .then_some(())
    });
    crate::common::signal_process(child.id(), "USR1");
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn a_fifo_that_nobody_reads_is_refused_and_nothing_starts() {
    let scratch = Scratch::new();
    make_fifo(&scratch, "f");
    let options = [
        &["--packets", "f"][..],
        &["--sequence", "f"],
        &["--stats=f"],
        &["--stall-json", "f"],
    ];
    let runs = options.map(|option| {
        let line = [&["-n", "1"], option, &["touch", "started"]].concat();
        mpirun(&line).directory(scratch.path()).start()
    });
    for running in runs {
        running.finish().fails_with(2, &["nobody reads this fifo"]);
    }
    assert!(!scratch.path().join("started").exists());
}

/// Their files are opened again and again: a reader would see an end each time.
#[test]
fn a_fifo_among_the_files_of_ranks_is_refused_though_it_is_read() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path().join("d")).unwrap();
    let path = make_fifo(&scratch, "d/rank.0.out");
    // Neither side waits for the other.
    let reader = fs::File::options().read(true).write(true).open(&path);
    let line = ["-n", "1", "--output", "d", "touch", "started"];
    let outcome = mpirun(&line).directory(scratch.path()).run();
    outcome.fails_with(2, &["--output: d/rank.0.out is a fifo"]);
    assert!(reader.is_ok() && !scratch.path().join("started").exists());
}

/// A shell starts the reader and mpirun at the same time.
#[test]
fn a_fifo_whose_reader_comes_later_gets_the_whole_result() {
    let scratch = Scratch::new();
    let path = make_fifo(&scratch, "f");
    let line = ["-n", "1", "--stats=f", "true"];
    let running = mpirun(&line).directory(scratch.path()).start();
    let text = fs::read_to_string(path).unwrap();
    running.finish().succeeds();
    assert!(!text.is_empty());
}

#[test]
fn two_results_in_one_file_are_refused_and_nothing_starts() {
    let scratch = Scratch::new();
    scratch.write("f", "", 0o644);
    fs::hard_link(scratch.path().join("f"), scratch.path().join("same")).unwrap();
    fs::create_dir(scratch.path().join("d")).unwrap();
    for options in [
        &["--packets", "f", "--sequence", "./f"][..],
        &["--stats=same", "--stall-json", "f"],
        &["--packets", "f", "--stats=f"],
        &["--output", "d", "--stats=d/rank.0.out"],
    ] {
        let line = [&["-n", "1"], options, &["touch", "started"]].concat();
        let outcome = mpirun(&line).directory(scratch.path()).run();
        outcome.fails_with(2, &["also the file of --", "give each its own"]);
    }
    assert!(!scratch.path().join("started").exists());
    let devices = [
        "-n",
        "1",
        "--packets",
        "/dev/null",
        "--stats=/dev/null",
        "true",
    ];
    mpirun(&devices).run().succeeds();
}

#[test]
fn what_is_refused_leaves_the_files_as_they_were() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path().join("d")).unwrap();
    let files = ["p", "s", "t", "j", "d/rank.0.out"];
    let files = files.map(|name| scratch.write(name, "of before", 0o644));
    let line = "-n 1 --host n2 --packets p --sequence s --stats=t --stall-json j --output d true";
    let line: Vec<_> = line.split(' ').collect();
    let mut runs: Vec<_> = [
        "MPILITE_GRACE",
        "MPIEXEC_TIMEOUT",
        "MPILITE_STALL",
        "MPILITE_SILENT_S",
    ]
    .map(|name| (mpirun(&line).env(name, "perhaps"), name))
    .into();
    runs.push((mpirun_after("ulimit -n 16", &line), "ulimit -Hn"));
    for (run, words) in runs {
        let outcome = run.directory(scratch.path()).run();
        outcome.fails_with(outcome.code, &[words]);
        assert!(outcome.code > 1, "{outcome:?}");
        for file in &files {
            assert_eq!(fs::read_to_string(file).unwrap(), "of before", "{file:?}");
        }
    }
}

#[test]
fn what_else_lies_among_the_records_is_passed_over() {
    let scratch = Scratch::new();
    let script = "mkfifo $MPILITE_PACKETS.9.0; ln -s /dev/zero $MPILITE_PACKETS.8.0; \
                  mkdir -m 700 $MPILITE_PACKETS.7.0; stat -c %a ${MPILITE_PACKETS%/*}";
    let options = ["-n", "1", "--packets", "p", "--sequence", "s"];
    let line = [&options[..], &["sh", "-c", script]].concat();
    // The folder is ours alone, whatever the starter's umask is.
    let run = mpirun_after("umask 0777", &line).env("TMPDIR", scratch.path());
    let outcome = run.directory(scratch.path()).run().succeeds();
    assert_eq!(outcome.out(), "700\n");
    let mut left: Vec<_> = fs::read_dir(scratch.path()).unwrap().flatten().collect();
    left.retain(|it| it.file_name() != "p" && it.file_name() != "s");
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_killed_mpirun_leaves_no_records() {
    let (scratch, mark) = (Scratch::new(), unique_sleep());
    let script = format!("echo x > $MPILITE_PACKETS.0.0; exec sleep {mark}");
    let line = ["-n", "2", "--packets", "/dev/null", "sh", "-c", &script];
    let running = mpirun(&line).env("TMPDIR", scratch.path()).start();
    wait_for_sleepers(&mark, 2);
    let is_empty = || fs::read_dir(scratch.path()).unwrap().next().is_none();
    assert!(!is_empty());
    running.signal("KILL");
    wait_until("no record is left", || is_empty().then_some(()));
    running.finish();
}

#[test]
fn a_missing_folder_for_records_is_named_and_nothing_starts() {
    let scratch = Scratch::new();
    let line = ["-n", "1", "--packets", "p", "touch", "started"];
    let run = mpirun(&line).env("TMPDIR", "/nowhere/at-all");
    let outcome = run.directory(scratch.path()).run();
    outcome.fails_with(125, &["/nowhere/at-all", "TMPDIR"]);
    assert!(!scratch.path().join("started").exists());
}

#[test]
fn a_missing_mpi_packets_is_a_line_and_nothing_starts() {
    let scratch = Scratch::new();
    let alone = scratch.path().join("mpirun");
    fs::copy(env!("CARGO_BIN_EXE_mpirun"), &alone).unwrap();
    scratch.write("p", "of before", 0o644);
    let mut command = Command::new(&alone);
    command.args(["-n", "1", "--packets", "p", "touch", "started"]);
    let output = command.current_dir(scratch.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{said}");
    let words = "mpirun: --packets and --sequence need mpi-packets beside mpirun, but ";
    assert!(said.starts_with(words), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    let kept = fs::read_to_string(scratch.path().join("p"));
    assert_eq!(kept.unwrap(), "of before");
    assert!(!scratch.path().join("started").exists());
}

/// `mpi-packets` stands for one that is killed or cannot be executed.
#[test]
fn an_mpi_packets_that_fails_is_a_line_for_each_file_and_status_1() {
    let scratch = Scratch::new();
    let copy = scratch.path().join("mpirun");
    fs::copy(env!("CARGO_BIN_EXE_mpirun"), &copy).unwrap();
    scratch.write("mpi-packets", "#!/bin/sh\nkill -9 $$\n", 0o755);
    let mut command = Command::new(&copy);
    command.args(["-n", "1", "--packets", "p", "--sequence", "s", "true"]);
    let output = command.current_dir(scratch.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for file in ["--packets p", "--sequence s"] {
        let line = format!("mpirun: {file}: mpi-packets: signal: 9");
        assert!(said.contains(&line), "{said}");
    }
}
