//! What the ranks write arrives whole, complete and on the right stream; input reaches rank 0.

use std::io::{Read, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::{Scratch, boot_rank, mpirun, wait_until};

#[test]
fn lines_are_never_torn_nor_lost() {
    // Each line is written in two pieces with no flush of ours between: 4 ranks, 2000 lines.
    let script = "i=0; while [ $i -lt 500 ]; do \
                  printf \"$MPILITE_RANK:$i:%0200d\" 0; printf ':%0100d:end\\n' 1; \
                  i=$((i+1)); done";
    for hosts in ["localhost:4", "n1:2,n2:2"] {
        let line = ["-n", "4", "--host", hosts, "sh", "-c", script];
        let outcome = mpirun(&line).over_fake_ssh().run().succeeds();
        let text = outcome.out();
        let mut next = [0; 4];
        for line in text.lines() {
            let parts: Vec<&str> = line.split(':').collect();
            let is_whole =
                parts.len() == 5 && (parts[2].len(), parts[3].len(), parts[4]) == (200, 100, "end");
            assert!(is_whole, "torn: {line}");
            let rank: usize = parts[0].parse().unwrap();
            assert_eq!(parts[1], next[rank].to_string(), "out of order: {line}");
            next[rank] += 1;
        }
        assert_eq!(next, [500; 4]);
    }
}

#[test]
fn a_line_cut_by_a_buffer_is_not_torn_by_a_pause() {
    // What the C library does when a full buffer ends in the middle of a line.
    let script = "printf '%04096d' 0; sleep 0.2; echo end-of-$MPILITE_RANK";
    let outcome = mpirun(&["-n", "3", "sh", "-c", script]).run().succeeds();
    let lines = outcome.out();
    assert!(
        lines.lines().all(|line| line.len() == 4096 + 8),
        "{:?}",
        lines.len()
    );
    assert_eq!(lines.lines().count(), 3);
}

#[test]
fn a_prompt_without_newline_is_shown_soon() {
    let mut run = mpirun(&["-n", "1", "sh", "-c", "printf 'name? '; exec sleep 100"]);
    let mut child = run.command().stdout(Stdio::piped()).spawn().unwrap();
    let mut prompt = [0; 6];
    child
        .stdout
        .take()
        .unwrap()
        .read_exact(&mut prompt)
        .unwrap();
    assert_eq!(&prompt, b"name? ");
    assert_eq!(child.try_wait().unwrap(), None, "the job goes on");
    crate::common::signal_process(child.id(), "TERM");
    wait_until("mpirun ends", || child.try_wait().unwrap());
}

#[test]
fn the_last_words_of_a_rank_that_aborts_are_shown() {
    let script = format!("printf 'last words'; exec {} abort 0 3 gone", boot_rank());
    let outcome = mpirun(&["-n", "1", "sh", "-c", &script]).run();
    assert_eq!(
        (outcome.out().as_str(), outcome.code),
        ("last words", 3),
        "{outcome:?}"
    );
}

#[test]
fn the_two_streams_stay_apart() {
    let outcome = mpirun(&["-n", "2", "sh", "-c", "echo out; echo err >&2"]).run();
    assert_eq!(
        (outcome.out().as_str(), outcome.stderr.as_str()),
        ("out\nout\n", "err\nerr\n")
    );
}

#[test]
fn tagged_lines_have_the_exact_form() {
    for option in ["--tag-output", "-l", "-tag-output"] {
        let script = "echo a $MPILITE_RANK; echo; printf end; echo b >&2";
        let outcome = mpirun(&["-n", "2", option, "sh", "-c", script]).run();
        let expected = ["[0] ", "[0] a 0", "[0] end", "[1] ", "[1] a 1", "[1] end"];
        assert_eq!(outcome.sorted(), expected, "{option}");
        let mut errors: Vec<&str> = outcome.stderr.lines().collect();
        errors.sort_unstable();
        assert_eq!(errors, ["[0] b", "[1] b"]);
    }
}

#[test]
fn no_tagged_line_of_many_is_lost() {
    let script = "exec seq 1 200000";
    let outcome = mpirun(&["-n", "2", "-l", "sh", "-c", script])
        .run()
        .succeeds();
    let mut next = [1; 2];
    for line in outcome.out().lines() {
        let (rank, number) = line[1..].split_once("] ").unwrap();
        let rank: usize = rank.parse().unwrap();
        assert_eq!(number, next[rank].to_string());
        next[rank] += 1;
    }
    assert_eq!(next, [200_001; 2]);
}

#[test]
fn a_slow_reader_stops_the_ranks_instead_of_filling_memory() {
    for hosts in ["localhost:2", "n1,n2"] {
        let mut run = mpirun(&["-n", "2", "--host", hosts, "yes"]).over_fake_ssh();
        let mut child = run
            .command()
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let memory = || {
            let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
            let line = status
                .lines()
                .find(|line| line.starts_with("VmRSS"))
                .unwrap();
            line.split_ascii_whitespace()
                .nth(1)
                .unwrap()
                .parse::<u64>()
                .unwrap()
        };
        // Until it has its program it is shown with the memory of this one: the system lets a
        // parent go on a moment before.
        wait_until("mpirun has its program", || {
            let program = std::fs::read_link(format!("/proc/{}/exe", child.id()));
            program.is_ok_and(|it| it.ends_with("mpirun")).then_some(())
        });
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(700) {
            assert!(memory() < 40_000, "{hosts}: {} KiB", memory());
        }
        // A request to stop is obeyed although the output is stuck.
        crate::common::signal_process(child.id(), "TERM");
        drop(child.stdout.take());
        let status = wait_until("mpirun ends", || child.try_wait().unwrap());
        assert_eq!(status.code(), Some(143));
    }
}

/// Bytes of every value, different at each place.
fn much_input() -> Vec<u8> {
    (0..12_000_000_u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect()
}

#[test]
fn input_of_12_mb_reaches_rank_0_unchanged() {
    let scratch = Scratch::new();
    let bytes = much_input();
    for hosts in ["localhost:2", "n1,n2"] {
        let copy = scratch.path().join("copy");
        let script = format!(
            "if [ $MPILITE_RANK = 0 ]; then cat > {}; fi",
            copy.display()
        );
        let line = ["-n", "2", "--host", hosts, "sh", "-c", &script];
        mpirun(&line)
            .over_fake_ssh()
            .input(bytes.clone())
            .run()
            .succeeds();
        assert!(
            std::fs::read(&copy).unwrap() == bytes,
            "{hosts}: the copy differs"
        );
    }
}

#[test]
fn a_rank_that_begins_to_read_late_gets_all_its_input() {
    let bytes = much_input();
    for hosts in ["localhost:1", "n1"] {
        let line = [
            "-n",
            "1",
            "--host",
            hosts,
            "sh",
            "-c",
            "sleep 0.5; exec cat",
        ];
        let job = mpirun(&line).over_fake_ssh().input(bytes.clone());
        let outcome = job.run();
        assert_eq!((outcome.code, &*outcome.stderr), (0, ""), "{hosts}");
        assert!(outcome.stdout == bytes, "{hosts}: the output differs");
    }
}

#[test]
fn only_rank_0_reads_input() {
    let script = "if read line; then echo $MPILITE_RANK got $line; else echo $MPILITE_RANK; fi";
    for hosts in ["localhost:3", "n1:2,n2"] {
        let line = ["-n", "3", "--host", hosts, "sh", "-c", script];
        let outcome = mpirun(&line)
            .over_fake_ssh()
            .input("hello\n")
            .run()
            .succeeds();
        assert_eq!(outcome.sorted(), ["0 got hello", "1", "2"], "{hosts}");
    }
}

#[test]
fn a_job_that_reads_no_input_leaves_it_to_the_shell() {
    let script = format!(
        "{} -n 2 true; read line; echo \"$line\"",
        env!("CARGO_BIN_EXE_mpirun")
    );
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"for the shell\n")
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "for the shell\n");
}

#[test]
fn a_remote_rank_that_reads_no_input_does_not_hang() {
    mpirun(&["-n", "1", "--host", "n1", "true"])
        .over_fake_ssh()
        .input(much_input())
        .run()
        .succeeds();
}
