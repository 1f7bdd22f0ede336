//! Which ranks read the standard input, and where the output goes.

use std::fs;

use crate::common::{Outcome, Scratch, mpirun};

/// More than all pipes and windows together, and no two pieces of it alike.
fn ten_megabytes() -> Vec<u8> {
    (0..1_250_000u64)
        .flat_map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes())
        .collect()
}

/// A rank that says which bytes it got; `first` is done before.
fn summing(first: &str) -> String {
    format!("{first}; echo \"$MPILITE_RANK $(cksum | cut -d' ' -f2)\"")
}

fn fed(options: &[&str], script: &str) -> Outcome {
    let line = [options, &["sh", "-c", script]].concat();
    let run = mpirun(&line).over_fake_ssh().input(ten_megabytes());
    run.run().succeeds()
}

#[test]
fn one_rank_reads_everything_wherever_it_is() {
    for hosts in ["localhost:3", "n1:1,n2:2", "localhost:1,n2:2"] {
        let line = ["-n", "3", "--host", hosts, "--stdin", "1"];
        let script = summing("[ $MPILITE_RANK = 1 ] && sleep 0.2");
        let sorted = fed(&line, &script).sorted();
        assert_eq!(sorted, ["0 0", "1 10000000", "2 0"], "{hosts}");
    }
}

#[test]
fn all_ranks_get_a_copy_at_the_pace_of_the_slowest() {
    for hosts in ["localhost:4", "n1:2,n2:2", "localhost:2,n2:2"] {
        let line = ["-n", "4", "--host", hosts, "--stdin", "all"];
        let script = "case $MPILITE_RANK in 0) sleep 0.3; cksum;; 1) cksum;; 2) exit 0;; \
             3) exec <&-; sleep 0.1; echo closed;; esac";
        let sorted = fed(&line, script).sorted();
        assert_eq!(sorted.len(), 3, "{hosts}: {sorted:?}");
        assert_eq!(sorted[0], sorted[1], "{hosts}");
        assert!(sorted[0].ends_with(" 10000000"), "{hosts}: {sorted:?}");
        assert_eq!(sorted[2], "closed");
    }
}

#[test]
fn a_copy_is_the_input_byte_for_byte() {
    let scratch = Scratch::new();
    let line = [
        "-n",
        "2",
        "--host",
        "localhost,n1",
        "--stdin",
        "all",
        "sh",
        "-c",
    ];
    let run = mpirun(&[&line[..], &["cat > copy.$MPILITE_RANK"]].concat())
        .over_fake_ssh()
        .directory(scratch.path())
        .input(ten_megabytes());
    run.run().succeeds();
    for rank in 0..2 {
        let copy = fs::read(scratch.path().join(format!("copy.{rank}"))).unwrap();
        assert!(copy == ten_megabytes(), "rank {rank} has another copy");
    }
}

#[test]
fn nobody_reads_when_asked_so() {
    for hosts in ["localhost:2", "n1:2"] {
        let line = ["-n", "2", "--host", hosts, "--stdin", "none"];
        assert_eq!(fed(&line, &summing(":")).sorted(), ["0 0", "1 0"]);
    }
}

#[test]
fn a_reader_that_the_job_does_not_have_is_refused() {
    let outcome = mpirun(&["-n", "2", "--stdin", "2", "true"]).run();
    outcome.fails_with(2, &["--stdin 2: the job has no such rank, but 0 to 1"]);
}

/// Each rank prints a line to either stream.
const BOTH: &str = "echo out $MPILITE_RANK; echo err $MPILITE_RANK >&2";

#[test]
fn each_rank_has_a_file_for_each_stream() {
    let scratch = Scratch::new();
    scratch.write("keep", "", 0o644);
    for option in ["--output", "--output-filename"] {
        let line = [
            "-n",
            "2",
            "--host",
            "localhost,n1",
            option,
            "a/b",
            "sh",
            "-c",
            BOTH,
        ];
        let run = mpirun(&line).over_fake_ssh().directory(scratch.path());
        assert_eq!(run.run().succeeds().out(), "");
        for rank in 0..2 {
            for (end, word) in [("out", "out"), ("err", "err")] {
                let path = scratch.path().join(format!("a/b/rank.{rank}.{end}"));
                let text = fs::read_to_string(path).unwrap();
                assert_eq!(text, format!("{word} {rank}\n"));
            }
        }
    }
}

#[test]
fn files_hold_all_that_many_ranks_print() {
    let scratch = Scratch::new();
    let script = "i=0; while [ $i -lt 2000 ]; do echo \"$MPILITE_RANK $i\"; i=$((i+1)); done";
    let line = ["-n", "6", "--output", "d", "sh", "-c", script];
    mpirun(&line).directory(scratch.path()).run().succeeds();
    for rank in 0..6 {
        let path = scratch.path().join(format!("d/rank.{rank}.out"));
        let expected: String = (0..2000).map(|i| format!("{rank} {i}\n")).collect();
        assert_eq!(fs::read_to_string(path).unwrap(), expected);
    }
}

#[test]
fn a_directory_that_cannot_be_made_is_named_and_nothing_starts() {
    let scratch = Scratch::new();
    scratch.write("file", "", 0o644);
    let line = ["-n", "1", "--output", "file/d", "touch", "started"];
    let outcome = mpirun(&line).directory(scratch.path()).run();
    outcome.fails_with(125, &["--output: file/d cannot be created"]);
    assert!(!scratch.path().join("started").exists());
}

#[test]
fn a_full_disk_ends_the_job_with_the_name_of_the_file() {
    let scratch = Scratch::new();
    let directory = scratch.path().join("d");
    fs::create_dir(&directory).unwrap();
    std::os::unix::fs::symlink("/dev/full", directory.join("rank.0.out")).unwrap();
    let line = ["-n", "1", "--output", "d", "sh", "-c", "echo x; sleep 100"];
    let outcome = mpirun(&line).directory(scratch.path()).run();
    outcome.fails_with(1, &["cannot write the output: d/rank.0.out: "]);
}

#[test]
fn errors_go_to_standard_output_when_asked_so() {
    for option in [
        "--merge-stderr",
        "--merge-stderr-to-stdout",
        "--output=merge",
    ] {
        let line = ["-n", "2", "-l", option, "sh", "-c", BOTH];
        let sorted = mpirun(&line).run().succeeds().sorted();
        assert_eq!(sorted, ["[0] err 0", "[0] out 0", "[1] err 1", "[1] out 1"]);
    }
    let scratch = Scratch::new();
    let line = [
        "-n",
        "1",
        "--merge-stderr",
        "--output",
        "d",
        "sh",
        "-c",
        BOTH,
    ];
    mpirun(&line).directory(scratch.path()).run().succeeds();
    let directory = scratch.path().join("d");
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
    let text = fs::read_to_string(directory.join("rank.0.out")).unwrap();
    assert!(
        text.contains("out 0\n") && text.contains("err 0\n"),
        "{text}"
    );
}

#[test]
fn each_line_has_its_time_when_asked_so() {
    let scratch = Scratch::new();
    let script = "printf 'a'; sleep 0.2; echo b; echo c";
    let is_stamped = |line: &str, rest: &str| {
        let (stamp, end) = line.split_once(' ').unwrap();
        let is_time = stamp.len() == 24 && stamp.ends_with('Z') && &stamp[10..11] == "T";
        is_time && end == rest
    };
    let line = [
        "-n",
        "1",
        "--timestamp-output",
        "--tag-output",
        "sh",
        "-c",
        script,
    ];
    let out = mpirun(&line).run().succeeds().out();
    let lines: Vec<&str> = out.lines().collect();
    assert!(
        is_stamped(lines[0], "[0] ab") && is_stamped(lines[1], "[0] c"),
        "{out}"
    );
    let line = [
        "-n",
        "1",
        "--timestamp-output",
        "--output",
        "d",
        "sh",
        "-c",
        script,
    ];
    mpirun(&line).directory(scratch.path()).run().succeeds();
    let text = fs::read_to_string(scratch.path().join("d/rank.0.out")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        is_stamped(lines[0], "ab") && is_stamped(lines[1], "c"),
        "{text}"
    );
}
