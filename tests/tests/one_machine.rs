//! What ranks of one machine need: each other's memory, and nothing else.

use std::time::Duration;

use mpi_lite_tests::{Job, Process, Scratch, build, tool};

const RANKS: usize = 3;

/// Runs `check` on the processes of a job that exchanges messages all the time.
fn in_the_midst(words: &[&str], check: impl FnOnce(&[Process])) {
    let scratch = Scratch::new("one_machine");
    let binary = build("tests/c/faults/steady.c", &scratch);
    let stop = scratch.path().join("stop");
    let job = Job::mpirun(RANKS).args(words).arg(&binary).arg(&stop);
    let mut job = job.start();
    job.wait_for("ready", RANKS);
    let mut processes = job.process().running(&binary);
    assert_eq!(processes.len(), RANKS, "the ranks run the program itself");
    processes.push(job.process());
    check(&processes);
    std::fs::write(&stop, "").expect("the file that ends the job");
    drop(job.finish().expect_code(0).expect_stdout("all right"));
}

fn network_sockets(processes: &[Process]) -> usize {
    let of_one = |process: &Process| process.udp_ports().len() + process.listening_tcp().len();
    processes.iter().map(of_one).sum()
}

#[test]
fn a_job_on_one_machine_opens_no_network_socket() {
    for words in [&[][..], &["--transport", "shm"]] {
        in_the_midst(words, |processes| {
            assert_eq!(network_sockets(processes), 0, "{words:?}");
        });
    }
    // So that the line above can fail.
    in_the_midst(&["--transport", "rmpp"], |processes| {
        assert_eq!(network_sockets(processes), RANKS);
    });
}

#[test]
fn a_job_on_one_machine_leaves_no_name_behind() {
    let names = || {
        let names = std::fs::read_dir("/dev/shm").map(|entries| {
            let name = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
            entries.flatten().map(name).collect::<Vec<_>>()
        });
        names.unwrap_or_default()
    };
    let before = names();
    in_the_midst(&[], |_| {
        let ours = |name: &String| !before.contains(name) && name.contains("mpi-lite");
        assert!(!names().iter().any(ours), "{:?}", names());
    });
}

#[test]
fn a_machine_without_a_network_is_enough() {
    let scratch = Scratch::new("no_network");
    let binary = build("benches/c/farm.c", &scratch);
    // A new network namespace has nothing but a loopback interface that is down.
    let outcome = Job::new("unshare")
        .args(["--map-root-user", "--net"])
        .arg(tool("mpirun"))
        .args(["-n", "3"])
        .arg(&binary)
        .deadline(Duration::from_secs(60))
        .run();
    drop(outcome.expect_code(0).expect_stdout("(right)"));
}

#[test]
fn long_messages_are_right_whichever_way_they_travel() {
    let programs = [
        "point_to_point/sizes",
        "point_to_point/page_ends",
        "datatype/long_gaps",
    ];
    for program in programs {
        let scratch = Scratch::new("ways");
        let binary = build(&format!("tests/c/{program}.c"), &scratch);
        for way in ["measured", "always", "off"] {
            let job = Job::mpirun(2).env("MPILITE_COPY_ACROSS", way);
            drop(job.arg(&binary).run().expect_code(0));
        }
    }
}
