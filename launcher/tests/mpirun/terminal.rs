//! `mpirun` on a terminal, made by `script`.

use std::fs;
use std::io::Write;
use std::process::{Child, Command, Stdio};

use crate::common::{Scratch, mpirun, unique_sleep, wait_for_sleepers, wait_until};

/// Starts a command line of `mpirun` on a terminal of its own.
fn on_a_terminal(arguments: &[&str]) -> Child {
    let quoted = |word: &&str| format!("'{}'", word.replace('\'', r"'\''"));
    let words: Vec<String> = arguments.iter().map(quoted).collect();
    // The shell makes way: dash would end of the quit signal that mpirun answers.
    let line = format!("exec {} {}", env!("CARGO_BIN_EXE_mpirun"), words.join(" "));
    let mut script = Command::new("script");
    script.args(["-q", "-e", "-c", &line, "/dev/null"]);
    script.env("MPILITE_SSH", crate::common::fake_ssh());
    script.stdin(Stdio::piped()).stdout(Stdio::piped());
    script.spawn().expect("script can be started")
}

fn finish(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().expect("it ends");
    (
        output.status.code(),
        String::from_utf8_lossy(&output.stdout).into_owned(),
    )
}

#[test]
fn rank_0_reads_the_terminal_here_and_elsewhere() {
    let script = "if [ $MPILITE_RANK = 0 ]; then read line; echo \"got $line\"; fi";
    for hosts in ["localhost:2", "n1,n2"] {
        let mut child = on_a_terminal(&["-n", "2", "--host", hosts, "sh", "-c", script]);
        child.stdin.as_mut().unwrap().write_all(b"hello\n").unwrap();
        let (code, text) = finish(child);
        assert_eq!(code, Some(0), "{hosts}: {text}");
        assert!(text.contains("got hello\r\n"), "{hosts}: {text}");
    }
}

#[test]
fn an_interrupt_of_the_terminal_reaches_each_rank_once() {
    let mark = unique_sleep();
    let script = format!("trap 'echo interrupted' INT; sleep {mark} & wait; kill $!; wait");
    let mut child = on_a_terminal(&["-n", "3", "sh", "-c", &script]);
    wait_for_sleepers(&mark, 3);
    child.stdin.as_mut().unwrap().write_all(b"\x03").unwrap();
    let (code, text) = finish(child);
    assert_eq!(
        (code, text.matches("interrupted").count()),
        (Some(130), 3),
        "{text}"
    );
    wait_for_sleepers(&mark, 0);
}

#[test]
fn a_quit_of_the_terminal_is_a_report_and_ends_no_rank() {
    let (mark, scratch) = (unique_sleep(), Scratch::new());
    let file = scratch.path().join("reports");
    let to_file = format!("--stall-json={}", file.display());
    let mut child = on_a_terminal(&["-n", "2", &to_file, "sleep", &mark]);
    wait_for_sleepers(&mark, 2);
    child.stdin.as_mut().unwrap().write_all(b"\x1c").unwrap();
    wait_until("there is a report", || {
        let text = fs::read_to_string(&file).ok()?;
        text.ends_with('\n').then_some(())
    });
    wait_for_sleepers(&mark, 2);
    child.stdin.as_mut().unwrap().write_all(b"\x03").unwrap();
    let (code, text) = finish(child);
    assert_eq!(code, Some(130), "{text}");
    assert!(
        text.contains("mpirun: what the ranks do (SIGQUIT)\r\n"),
        "{text}"
    );
}

#[test]
fn without_a_terminal_nothing_waits_for_one() {
    mpirun(&["-n", "2", "cat"]).run().succeeds();
}

/// A process in the background that reads the terminal is stopped by it.
#[test]
fn a_job_in_the_background_of_a_shell_is_not_stopped() {
    for hosts in ["localhost:2", "n1,n2"] {
        let scratch = Scratch::new();
        let done = scratch.path().join("done");
        let mut script = Command::new("script");
        script.args(["-q", "-e", "-c", "bash --norc -i", "/dev/null"]);
        script.env("MPILITE_SSH", crate::common::fake_ssh());
        script.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = script.spawn().expect("script can be started");
        let line = format!(
            "{} -n 2 --host {hosts} sh -c 'sleep 0.2' && touch {} &\n",
            env!("CARGO_BIN_EXE_mpirun"),
            done.display()
        );
        child
            .stdin
            .as_mut()
            .unwrap()
            .write_all(line.as_bytes())
            .unwrap();
        wait_until("the job in the background has ended", || {
            done.exists().then_some(())
        });
        child.stdin.as_mut().unwrap().write_all(b"exit\n").unwrap();
        let (code, text) = finish(child);
        assert_eq!(code, Some(0), "{hosts}: {text}");
        assert!(!text.contains("Stopped"), "{hosts}: {text}");
    }
}
