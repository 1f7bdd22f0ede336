//! Files of jobs that are killed: each byte is an old or a new one, and nothing else is left.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use mpi_lite_tests::{Job, Running, Scratch, build, wait_until_gone};
use rustix::process::Signal;

const RANKS: usize = 3;
/// What each rank writes in a round.
const EACH: usize = 512 * 4096;

/// A job that writes a file, and the folder in which the file lies alone.
fn writing(scratch: &Scratch, transport: &str) -> (Running, std::path::PathBuf) {
    let binary = build("tests/c/faults/file_writer.c", scratch);
    let folder = scratch.path().join(transport);
    fs::create_dir(&folder).expect("a new folder");
    let mut job = Job::mpirun(RANKS)
        .args(["--transport", transport])
        .arg(&binary)
        .arg(folder.join("data"))
        .start();
    job.wait_for("ready", RANKS);
    (job, folder)
}

/// All bytes are of two rounds that follow each other, there is no other file, and nobody holds a
/// lock.
fn check_what_is_left(folder: &Path) {
    let names: Vec<_> = fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("it can be read").file_name())
        .collect();
    assert_eq!(names, ["data"], "files that are left");
    let data = folder.join("data");
    let bytes = fs::read(&data).expect("the file is there");
    assert_eq!(bytes.len(), RANKS * EACH);
    let rounds: BTreeSet<u8> = bytes.into_iter().collect();
    let rounds: Vec<u8> = rounds.into_iter().collect();
    let is_right = match rounds[..] {
        [_] => true,
        [old, new] => new == old + 1 || (old, new) == (1, 200),
        _ => false,
    };
    assert!(is_right, "bytes of rounds {rounds:?}");
    let number = fs::metadata(&data).expect("the file is there").ino();
    let locks = fs::read_to_string("/proc/locks").expect("the system lists locks");
    let mark = format!(":{number} ");
    let held: Vec<_> = locks.lines().filter(|line| line.contains(&mark)).collect();
    assert!(held.is_empty(), "locks that are left: {held:?}");
}

#[test]
fn a_rank_killed_in_a_collective_write_leaves_old_or_new_bytes() {
    let scratch = Scratch::new("file-writer");
    for transport in ["shm", "rmpp"] {
        let (job, folder) = writing(&scratch, transport);
        let everybody = job.process().descendants();
        job.process_of("1").signal(Signal::KILL);
        let _ = job
            .finish()
            .expect_code(137)
            .expect_stderr("rank 1")
            .expect_stderr("signal 9");
        wait_until_gone(&everybody);
        check_what_is_left(&folder);
    }
}

#[test]
fn a_whole_job_killed_in_a_collective_write_leaves_old_or_new_bytes() {
    let scratch = Scratch::new("file-writers");
    let (job, folder) = writing(&scratch, "shm");
    let everybody = job.process().descendants();
    for rank in 0..RANKS {
        job.process_of(&rank.to_string()).signal(Signal::KILL);
    }
    job.signal(Signal::KILL);
    drop(job);
    wait_until_gone(&everybody);
    check_what_is_left(&folder);
}
