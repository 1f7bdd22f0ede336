//! What mpirun makes of its command line, of host files, of programs that are no MPI programs, of
//! streams and of small limits: an answer in one line, never a hang.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use mpi_lite_tests::{Job, Outcome, Scratch, tool};

fn mpirun(words: &[&str]) -> Job {
    Job::new(tool("mpirun"))
        .args(words)
        .deadline(Duration::from_secs(20))
}

/// Refused with this code before anything starts, in one line that holds these words.
fn refused(words: &[&str], code: i32, expected: &str) {
    let outcome = mpirun(words)
        .run()
        .expect_code(code)
        .expect_stderr(expected);
    assert_eq!(
        outcome.stderr.lines().count(),
        1,
        "one line, not more: {}",
        outcome.report()
    );
    assert!(
        outcome.stderr.starts_with("mpirun: "),
        "{}",
        outcome.report()
    );
    assert!(
        outcome.stdout.is_empty(),
        "something ran: {}",
        outcome.report()
    );
}

fn sh(ranks: &str, script: &str) -> Outcome {
    mpirun(&["-n", ranks, "sh", "-c", script]).run()
}

#[test]
fn a_number_of_ranks_that_is_none_is_a_usage_error() {
    for wrong in ["0", "-3", "abc", "99999999999", "1.5", ""] {
        refused(&["-n", wrong, "echo", "ran"], 2, "-n");
    }
    refused(&["-n"], 2, "-n");
}

#[test]
fn an_unknown_option_is_named_with_the_nearest_known_one() {
    refused(&["--hostfle", "x", "echo", "ran"], 2, "--hostfile");
    refused(&["--timeuot", "3", "echo", "ran"], 2, "--timeout");
    refused(&["-n", "1", "-n", "2", "echo", "ran"], 2, "twice");
    refused(
        &["--transport", "pigeon", "-n", "1", "echo", "ran"],
        2,
        "pigeon",
    );
}

#[test]
fn a_program_that_cannot_run_is_named_with_the_reason() {
    let scratch = Scratch::new("programs");
    let plain = scratch.write("plain", "echo ran\n").display().to_string();
    let shebang = scratch.write("shebang", "#!/no/such/interpreter\n");
    fs::set_permissions(&shebang, fs::Permissions::from_mode(0o755)).expect("our own file");
    let shebang = shebang.display().to_string();
    refused(
        &["-n", "3", "no-such-program-anywhere"],
        127,
        "no-such-program-anywhere",
    );
    refused(&["-n", "3", "/no/such/program"], 127, "/no/such/program");
    refused(&["-n", "3", &plain], 126, "plain");
    refused(
        &["-n", "3", &scratch.path().display().to_string()],
        126,
        "directory",
    );
    refused(&["-n", "3", &shebang], 126, "/no/such/interpreter");
    refused(&["-n", "2"], 2, "program");
}

#[test]
fn a_wrong_line_of_a_host_file_is_named_with_its_number() {
    let scratch = Scratch::new("hostfiles");
    for (text, expected) in [
        ("n1:2\nn2 slots=x\n", ":2"),
        ("n1 slots=-1\n", ":1"),
        ("n1\na;b\n", ":2"),
        ("-oProxyCommand=x\n", ":1"),
        ("", "hosts"),
        ("a\0b\n", ":1"),
    ] {
        let file = scratch.write("hosts", text).display().to_string();
        refused(
            &["--hostfile", &file, "-n", "1", "echo", "ran"],
            2,
            expected,
        );
    }
    refused(
        &["--hostfile", "/no/such/file", "-n", "1", "echo", "ran"],
        2,
        "/no/such/file",
    );
}

#[test]
fn a_host_that_is_no_host_name_is_refused() {
    let long = "h".repeat(300);
    for wrong in [
        "-oProxyCommand=x",
        "$(touch Z)",
        "a;b",
        "a b",
        "a\nb",
        "\u{e9}",
        long.as_str(),
    ] {
        let outcome = mpirun(&["--host", wrong, "-n", "1", "echo", "ran"])
            .run()
            .expect_code(2);
        assert!(outcome.stdout.is_empty(), "{}", outcome.report());
    }
}

#[test]
fn a_working_directory_that_is_not_there_is_named() {
    let outcome = mpirun(&["--wdir", "/no/such/directory", "-n", "2", "pwd"]).run();
    let outcome = outcome.expect_failure().expect_stderr("/no/such/directory");
    assert_eq!(
        outcome.stderr.matches("/no/such/directory").count(),
        1,
        "{}",
        outcome.report()
    );
}

#[test]
fn words_and_variables_reach_the_ranks_byte_for_byte() {
    let nasty = "a b;$(touch Z)`id`'\"\\\t*?";
    let export = format!("MPILITE_TEST_WORDS={nasty}");
    let script = "printf '%s|%s|%s\\n' \"$1\" \"$2\" \"$MPILITE_TEST_WORDS\"";
    let words = [
        "-n", "1", "-x", &export, "sh", "-c", script, "sh", nasty, "",
    ];
    drop(
        mpirun(&words)
            .run()
            .expect_code(0)
            .expect_stdout(&format!("{nasty}||{nasty}\n")),
    );
}

#[test]
fn a_program_that_is_no_mpi_program_runs_on_every_rank() {
    let outcome = sh("4", "echo here").expect_code(0);
    assert_eq!(outcome.stdout, "here\n".repeat(4));
}

#[test]
fn the_first_failure_gives_the_exit_code() {
    drop(sh("1", "exit 7").expect_code(7).expect_stderr("rank 0"));
    drop(
        sh("1", "kill -9 $$")
            .expect_code(137)
            .expect_stderr("signal 9"),
    );
}

#[test]
fn lines_of_many_ranks_are_never_torn() {
    let script =
        "i=0; while [ $i -lt 2000 ]; do echo a-line-of-some-length-$i-end; i=$((i+1)); done";
    let outcome = sh("4", script).expect_code(0);
    let whole = |line: &str| line.starts_with("a-line-of-some-length-") && line.ends_with("-end");
    let torn: Vec<_> = outcome
        .stdout
        .lines()
        .filter(|line| !whole(line))
        .take(3)
        .collect();
    assert!(torn.is_empty(), "{torn:?}");
    assert_eq!(outcome.stdout.lines().count(), 8000);
}

#[test]
fn tagged_output_names_the_rank_in_front_of_each_line() {
    let outcome = mpirun(&["-n", "2", "--tag-output", "echo", "here"])
        .run()
        .expect_code(0);
    drop(
        outcome
            .expect_stdout("[0] here\n")
            .expect_stdout("[1] here\n"),
    );
}

#[test]
fn standard_input_reaches_rank_0_alone() {
    let launcher = tool("mpirun").display().to_string();
    let script = format!("printf 'one\\ntwo\\n' | '{launcher}' -n 3 sh -c 'cat | wc -l'");
    let outcome = Job::new("sh").args(["-c", &script]).run().expect_code(0);
    let mut counts: Vec<_> = outcome.stdout.lines().map(str::trim).collect();
    counts.sort_unstable();
    assert_eq!(counts, ["0", "0", "2"], "{}", outcome.report());
}

#[test]
fn a_reader_that_leaves_ends_the_job_quietly() {
    let launcher = tool("mpirun").display().to_string();
    let script = format!("'{launcher}' -n 2 yes | head -1");
    let outcome = Job::new("sh")
        .args(["-c", &script])
        .deadline(Duration::from_secs(20))
        .run();
    drop(outcome.expect_code(0).expect_stdout("y\n"));
}

#[test]
fn a_job_that_takes_too_long_is_ended() {
    let outcome = mpirun(&["--timeout", "1", "-n", "2", "sleep", "60"])
        .run()
        .expect_code(124);
    assert!(
        outcome.took < Duration::from_secs(10),
        "{}",
        outcome.report()
    );
    drop(outcome.expect_stderr("timeout"));
}

/// A grandchild that keeps the output open must not keep the job.
#[test]
fn a_grandchild_left_behind_does_not_keep_the_job() {
    let outcome = sh("2", "sleep 30 & echo here").expect_code(0);
    assert!(
        outcome.took < Duration::from_secs(15),
        "{}",
        outcome.report()
    );
}

#[test]
fn small_limits_give_a_result_or_a_reason() {
    let launcher = tool("mpirun").display().to_string();
    for files in [8, 12, 16, 24, 32, 64] {
        let script = format!("ulimit -n {files}; exec '{launcher}' -n 4 true");
        let job = Job::new("sh")
            .args(["-c", &script])
            .deadline(Duration::from_secs(20));
        let outcome = job.run();
        let code = outcome
            .code
            .unwrap_or_else(|| panic!("it hangs: {}", outcome.report()));
        assert!(
            code == 0 || !outcome.stderr.is_empty(),
            "no reason: {}",
            outcome.report()
        );
        assert!(code < 128, "it crashes: {}", outcome.report());
    }
}

#[test]
fn help_and_version_go_to_standard_output() {
    drop(
        mpirun(&["--help"])
            .run()
            .expect_code(0)
            .expect_stdout("--hostfile"),
    );
    drop(
        mpirun(&["--version"])
            .run()
            .expect_code(0)
            .expect_stdout("mpi-lite"),
    );
}

#[test]
fn jobs_beside_each_other_do_not_disturb_each_other() {
    let start = |_| mpirun(&["-n", "2", "sh", "-c", "echo here"]).start();
    let running: Vec<_> = (0..6).map(start).collect();
    for job in running {
        assert_eq!(job.finish().expect_code(0).stdout, "here\nhere\n");
    }
}
