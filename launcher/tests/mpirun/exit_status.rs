//! The exit status of `mpirun`, and the one line that goes with it.

use crate::common::{Outcome, boot_rank, mpirun, mpirun_after, wait_until};

#[track_caller]
fn boot(ranks: &str, arguments: &[&str]) -> Outcome {
    let program = boot_rank();
    let mut line = vec!["-n", ranks, &program];
    line.extend(arguments);
    mpirun(&line).run()
}

#[test]
fn success_is_0_without_a_word() {
    mpirun(&["-n", "3", "true"]).run().succeeds();
    boot("3", &["exchange"]).succeeds();
    boot("1", &["exchange"]).succeeds();
}

#[test]
fn the_status_of_a_failing_rank_is_passed_on() {
    let script = "if [ $MPILITE_RANK = 2 ]; then exit 3; fi; exec sleep 100";
    mpirun(&["-n", "3", "sh", "-c", script]).run().fails_with(
        3,
        &[
            "rank 2 (pid ",
            " on host localhost) exited with status 3; ending the job",
        ],
    );
}

#[test]
fn a_signal_is_128_and_its_number() {
    for (signal, code, words) in [
        ("KILL", 137, "(Killed)"),
        ("SEGV", 139, "(Segmentation fault)"),
    ] {
        let script =
            format!("if [ $MPILITE_RANK = 1 ]; then kill -{signal} $$; fi; exec sleep 100");
        let part = format!(
            "was killed by signal {} {words}; ending the job",
            code - 128
        );
        mpirun(&["-n", "3", "sh", "-c", &script])
            .run()
            .fails_with(code, &["rank 1 (pid ", &part]);
    }
}

#[test]
fn exit_0_without_finalize_is_1() {
    boot("3", &["exit", "1", "0"])
        .fails_with(1, &["rank 1 (pid ", "exited without calling MPI_Finalize"]);
}

#[test]
fn the_first_status_counts_also_between_init_and_finalize() {
    boot("3", &["exit", "2", "3"]).fails_with(3, &["rank 2", "status 3"]);
}

#[test]
fn a_status_after_finalize_is_passed_on() {
    boot("2", &["exit-after-finalize", "0"]).fails_with(5, &["rank 0", "after MPI_Finalize"]);
}

#[test]
fn an_abort_gives_its_code_and_its_message() {
    boot("3", &["abort", "1", "42", "MPI error on rank 1: no"])
        .fails_with(42, &["MPI error on rank 1: no"]);
    boot("3", &["abort", "1", "7", ""]).fails_with(7, &["rank 1 (pid ", "aborted the job"]);
    boot("2", &["abort", "0", "0", "zero"]).fails_with(1, &["zero"]);
}

#[test]
fn a_rank_that_leaves_before_init_ends_those_that_wait() {
    boot("3", &["leave-before-init", "1"])
        .fails_with(1, &["rank 1 (pid ", "exited without calling MPI_Init"]);
}

#[test]
fn a_rank_that_is_killed_is_named_wherever_it_was() {
    for mode in ["die-before-init", "die-in-init", "die", "die-in-finalize"] {
        boot("3", &[mode, "2"])
            .fails_with(137, &["rank 2 (pid ", "was killed by signal 9 (Killed)"]);
    }
}

#[test]
fn garbage_from_a_rank_ends_the_job() {
    boot("2", &["garbage", "1"]).fails_with(1, &["rank 1", "sent a frame of"]);
}

#[test]
fn a_long_card_ends_the_job_in_words_here_and_behind_ssh() {
    for (bytes, says) in [
        ("1025", "gave a card of 1025 bytes (1024 at most)"),
        (
            "2000000",
            "sent a frame of 2000004 bytes (1 to 1048576 are possible)",
        ),
        (
            "16777200",
            "sent a frame of 16777205 bytes (1 to 1048576 are possible)",
        ),
    ] {
        let program = boot_rank();
        let line = [&program, "long-card", "1", bytes];
        let here = mpirun(&[&["-n", "2"][..], &line].concat()).run();
        let there = mpirun(&[&["-n", "2", "--host", "n1:2"][..], &line].concat());
        for outcome in [here, there.over_fake_ssh().run()] {
            outcome.fails_with(1, &["rank 1 (pid ", says]);
        }
    }
}

#[test]
fn several_programs_in_one_rank_may_each_initialize() {
    let script = format!("{0} exchange && {0} exchange", boot_rank());
    mpirun(&["-n", "3", "sh", "-c", &script]).run().succeeds();
}

#[test]
fn a_time_limit_is_124() {
    let ends_with = |outcome: Outcome, words: &str| {
        assert_eq!(outcome.code, 124, "{outcome:?}");
        let last = outcome.stderr.lines().last();
        assert!(last.is_some_and(|line| line.contains(words)), "{outcome:?}");
    };
    let by_option = mpirun(&["-n", "2", "--timeout", "0.2", "sleep", "100"]);
    ends_with(by_option.run(), "still runs after 0.2 s (--timeout)");
    let by_variable = mpirun(&["-n", "2", "sleep", "100"]).env("MPIEXEC_TIMEOUT", "0.2");
    ends_with(
        by_variable.run(),
        "still runs after 0.2 s (MPIEXEC_TIMEOUT)",
    );
    mpirun(&["-n", "2", "--timeout", "100", "true"])
        .env("MPIEXEC_TIMEOUT", "0.000001")
        .run()
        .succeeds();
    mpirun(&["-n", "2", "true"])
        .env("MPIEXEC_TIMEOUT", "soon")
        .run()
        .fails_with(
            2,
            &["MPIEXEC_TIMEOUT needs a number of seconds, not 'soon'"],
        );
}

#[test]
fn requests_to_stop_are_128_and_their_number() {
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let mark = crate::common::unique_sleep();
        let running = mpirun(&["-n", "2", "sleep", &mark]).start();
        crate::common::wait_for_sleepers(&mark, 2);
        running.signal(signal);
        let outcome = running.finish();
        assert_eq!(
            (outcome.code, outcome.stderr.as_str()),
            (code, ""),
            "{signal}"
        );
    }
}

#[test]
fn a_stopped_rank_does_not_hinder_the_end() {
    let script = "if [ $MPILITE_RANK = 1 ]; then kill -STOP $$; fi; sleep 0.2; exit 3";
    mpirun(&["-n", "2", "sh", "-c", script])
        .run()
        .fails_with(3, &["rank 0"]);
}

#[test]
fn a_closed_output_is_141_without_a_word() {
    use std::io::Read;
    use std::process::Stdio;
    let mut run = mpirun(&["-n", "2", "yes"]);
    let mut child = run
        .command()
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = [0; 2];
    child.stdout.take().unwrap().read_exact(&mut line).unwrap();
    let status = wait_until("mpirun ends", || child.try_wait().unwrap());
    let mut stderr = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut stderr)
        .unwrap();
    assert_eq!((status.code(), stderr.as_str()), (Some(141), ""));
}

#[test]
fn a_full_disk_is_reported_once() {
    use std::process::Stdio;
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut run = mpirun(&["-n", "2", "yes"]);
    let output = run.command().stdout(Stdio::from(full)).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(
        stderr.contains("cannot write the output: No space left"),
        "{stderr}"
    );
}

#[test]
fn two_programs_at_once_in_one_rank_are_named_as_that() {
    let script = "\"$0\" die 9 & \"$0\" die 9; wait";
    let outcome = mpirun(&["-n", "1", "sh", "-c", script, &boot_rank()]).run();
    assert_eq!(outcome.code, 1, "{outcome:?}");
    let line = "is two processes that have called MPI_Init: a rank may run several programs one";
    assert!(outcome.stderr.contains(line), "{outcome:?}");
}

#[test]
fn a_rank_with_a_little_stack_that_crashes_is_told_with_the_limit() {
    let line = ["-n", "1", "sh", "-c", "kill -SEGV $$"];
    let outcome = mpirun_after("ulimit -s 512", &line).run();
    outcome.fails_with(139, &["its stack may take 512 KiB only", "ulimit -s 8192"]);
}
