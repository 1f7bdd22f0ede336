//! `--stats`: one table of what all ranks counted, also if some of them never tell.

use std::fs;

use crate::common::{Outcome, Scratch, boot_rank, mpirun};

/// Each rank of `boot_rank count` reports 100 packets and its rank, which many were sent again.
const TABLE: &str = "\
mpirun: counters of 4 ranks
  counter             sum         least      greatest
  rmpp_sent_data      406  100 (rank 0)  103 (rank 3)
  rmpp_messages_sent  320            80            80
  udp_datagrams_sent  400           100           100
  rmpp_data_repeated    6    0 (rank 0)    3 (rank 3)
  packets: 406 in 400 datagrams, 1.27 per message; sent again: 6 (1.48 %)
";

fn count(options: &[&str]) -> Outcome {
    let program = boot_rank();
    let line = [&["-n", "4"], options, &[&program, "count"]].concat();
    mpirun(&line).over_fake_ssh().run()
}

#[test]
fn the_table_adds_up_what_the_ranks_counted_and_notes_a_lossy_network() {
    let outcome = count(&["--stats"]);
    assert_eq!((outcome.code, outcome.out().as_str()), (0, ""));
    let note = outcome.stderr.strip_prefix(TABLE).expect(&outcome.stderr);
    assert!(
        note.starts_with("  note: more than 1 %") && note.lines().count() == 1,
        "{note}"
    );
}

#[test]
fn counters_come_from_other_hosts_as_well() {
    for hosts in ["n1:2,n2:2", "localhost:1,n2:3"] {
        let outcome = count(&["--host", hosts, "--stats"]);
        assert_eq!(outcome.code, 0);
        assert!(
            outcome.stderr.starts_with(TABLE),
            "{hosts}: {}",
            outcome.stderr
        );
    }
}

#[test]
fn without_the_option_nothing_is_told() {
    count(&[]).succeeds();
}

#[test]
fn a_rank_that_dies_leaves_a_table_of_the_others() {
    let program = boot_rank();
    let outcome = mpirun(&["-n", "3", "--stats", &program, "count", "1"]).run();
    assert_eq!(outcome.code, 137);
    let mut lines = outcome.stderr.lines();
    let blame = lines.next().expect("a line about the rank");
    assert!(
        blame.contains("rank 1") && blame.contains("signal 9"),
        "{blame}"
    );
    let head = "mpirun: counters of 2 of 3 ranks (the others ended without a report)";
    assert_eq!(lines.next(), Some(head), "{outcome:?}");
    assert!(
        outcome.stderr.contains("\n  rmpp_sent_data      202 "),
        "{outcome:?}"
    );
}

#[test]
fn programs_that_never_call_mpi_give_an_empty_table() {
    let outcome = mpirun(&["-n", "2", "--stats", "true"]).run();
    assert_eq!(outcome.code, 0);
    assert_eq!(
        outcome.stderr,
        "mpirun: counters: no rank has reported any\n"
    );
}

/// How much room a rank has for messages is no event.
#[test]
fn a_job_without_messages_has_no_row() {
    let program = boot_rank();
    let outcome = mpirun(&["-n", "2", "--stats", &program, "send-nothing"]).run();
    let words = "mpirun: counters of 2 ranks: all are 0\n";
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, words));
}

#[test]
fn json_goes_to_standard_error_or_into_a_file_whose_name_says_so() {
    let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect(text);
    let outcome = count(&["--stats=json"]);
    let object = read(&outcome.stderr);
    assert_eq!(object["reported"], 4);
    assert_eq!(object["counters"]["rmpp_sent_data"]["sum"], 406);
    let scratch = Scratch::new();
    let path = scratch.path().join("counters.json");
    count(&[&format!("--stats={}", path.display())]).succeeds();
    assert_eq!(read(&fs::read_to_string(path).unwrap()), object);
}

#[test]
fn a_file_takes_the_table_and_leaves_standard_error_alone() {
    let scratch = Scratch::new();
    let path = scratch.path().join("counters.txt");
    count(&[&format!("--stats={}", path.display())]).succeeds();
    assert!(fs::read_to_string(path).unwrap().starts_with(TABLE));
}

#[test]
fn a_file_that_cannot_be_written_is_told_before_anything_starts() {
    let outcome = count(&["--stats=/nowhere/x"]);
    outcome.fails_with(2, &["--stats=/nowhere/x", "No such file"]);
}
