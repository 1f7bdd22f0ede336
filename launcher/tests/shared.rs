//! The memory that the ranks of a node share: new for each round of Init, for them alone, and
//! gone with them.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;

use mpi_boot::node_memory::bytes_of;

use common::{boot_rank, mpirun, signal_process, unique_sleep, wait_until};

/// How many ranks said the same. Each memory has its own number, so ranks with the same line
/// shared one.
fn groups(lines: &[String]) -> Vec<usize> {
    let mut groups = BTreeMap::new();
    for line in lines {
        *groups.entry(line.as_str()).or_default() += 1;
    }
    groups.into_values().collect()
}

#[track_caller]
fn are_shared_by(lines: &[String], ranks: u32) {
    let about = format!(" of {} bytes, {ranks} doorbells", bytes_of(ranks));
    for line in lines {
        assert!(
            line.starts_with("memory ") && line.ends_with(&about),
            "{line}"
        );
    }
}

#[test]
fn ranks_of_a_node_share_memory_and_doorbells_that_no_child_gets() {
    let program = boot_rank();
    for transport in ["auto", "shm"] {
        let line = ["-n", "5", "--transport", transport, &program, "share"];
        let lines = mpirun(&line).run().succeeds().sorted();
        assert_eq!(groups(&lines), [5]);
        are_shared_by(&lines, 5);
    }
}

#[test]
fn each_program_of_a_script_shares_a_memory_of_its_own() {
    let program = boot_rank();
    let script = format!("{program} share && {program} exchange && {program} share");
    let lines = mpirun(&["-n", "3", "sh", "-c", &script])
        .run()
        .succeeds()
        .sorted();
    assert_eq!(groups(&lines), [3, 3], "{lines:?}");
    are_shared_by(&lines, 3);
}

#[test]
fn each_node_shares_a_memory_of_its_own() {
    let program = boot_rank();
    for hosts in ["n1:2,n2:2", "localhost:2,n2:2"] {
        let line = ["-n", "4", "--host", hosts, &program, "share"];
        let lines = mpirun(&line).over_fake_ssh().run().succeeds().sorted();
        assert_eq!(groups(&lines), [2, 2], "{lines:?}");
        are_shared_by(&lines, 2);
    }
}

#[test]
fn a_rank_without_others_on_its_host_shares_no_memory() {
    let program = boot_rank();
    let lines: [&[&str]; 4] = [
        &["-n", "1"],
        &["-n", "1", "--transport", "shm"],
        &["-n", "2", "--transport", "rmpp"],
        &["-n", "2", "--host", "n1,n2"],
    ];
    for line in lines {
        let line = [line, &[&program, "share"]].concat();
        let outcome = mpirun(&line).over_fake_ssh().run().succeeds();
        assert!(outcome.out().lines().all(|line| line == "nothing to share"));
    }
}

#[test]
fn a_full_node_of_256_ranks_shares_memory() {
    let program = boot_rank();
    let lines = mpirun(&["-n", "256", &program, "share"])
        .run()
        .succeeds()
        .sorted();
    assert_eq!(groups(&lines), [256]);
    are_shared_by(&lines, 256);
}

#[test]
fn shared_memory_over_two_hosts_is_refused_before_anything_starts() {
    for hosts in ["n1,n2", "localhost,n2"] {
        let line = [
            "--host",
            hosts,
            "--transport",
            "shm",
            "touch",
            "/dev/null/x",
        ];
        let parts = ["--transport shm", "2 hosts (", "n2"];
        mpirun(&line).run().fails_with(2, &parts);
    }
    mpirun(&["--host", "n1,n2", "true"])
        .env("MPILITE_TRANSPORT", "shm")
        .run()
        .fails_with(2, &["MPILITE_TRANSPORT=shm: ", "2 hosts ("]);
}

/// Runs two ranks under limits of a shell.
fn limited(limits: &str, transport: &str) -> (Option<i32>, String) {
    let (mpirun, program) = (env!("CARGO_BIN_EXE_mpirun"), boot_rank());
    let script = format!("{limits}; exec {mpirun} -n 2 --transport {transport} {program} share");
    let output = Command::new("sh")
        .args(["-c", &script])
        .output()
        .expect("sh runs");
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8(text).expect("it is text"),
    )
}

#[test]
fn a_system_that_refuses_shared_memory_is_an_error_only_for_transport_shm() {
    for (limits, reason) in [
        ("ulimit -f 1", "(ulimit -f)"),
        ("ulimit -Sn 34", "(ulimit -n)"),
    ] {
        let expected = "nothing to share\n".repeat(2);
        assert_eq!(limited(limits, "auto"), (Some(0), expected));
        let (code, text) = limited(limits, "shm");
        assert_eq!((code, text.lines().count()), (Some(125), 1), "{text}");
        for part in ["on host localhost", "--transport shm", reason] {
            assert!(text.contains(part), "{text}");
        }
    }
}

/// All open files: process, and file of a descriptor.
fn descriptors() -> Vec<(u32, PathBuf)> {
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").expect("proc is mounted").flatten() {
        let Ok(pid) = process.file_name().to_string_lossy().parse() else {
            continue;
        };
        // A process may end while we look.
        let descriptors = fs::read_dir(process.path().join("fd"))
            .into_iter()
            .flatten();
        found.extend(descriptors.flatten().map(|it| (pid, it.path())));
    }
    found
}

/// The processes that have shared memory open, with its number.
fn holders() -> Vec<(u32, u64)> {
    let is_ours = |path: &PathBuf| {
        fs::read_link(path).is_ok_and(|name| name.starts_with("/memfd:mpi-lite (deleted)"))
    };
    let all = descriptors().into_iter().filter(|(_, path)| is_ours(path));
    all.filter_map(|(pid, path)| Some((pid, fs::metadata(path).ok()?.ino())))
        .collect()
}

fn is_marked(pid: u32, mark: &str) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0)
        .any(|word| word == mark.as_bytes())
}

/// A job of two ranks on each host that hold their memories; kills one of its processes.
fn leaves_nothing_after(hosts: &str, victim: impl Fn(u32, &[u32]) -> u32) {
    let (program, mark) = (boot_rank(), unique_sleep());
    let line = ["-n", "4", "--host", hosts, &program, "hold", "9", &mark];
    let running = mpirun(&line).over_fake_ssh().start();
    let held = wait_until("all ranks, and nobody else, have their memory", || {
        let all = holders();
        let ranks: Vec<_> = all
            .iter()
            .filter(|(pid, _)| is_marked(*pid, &mark))
            .collect();
        let numbers: Vec<u64> = ranks.iter().map(|(_, number)| *number).collect();
        let having = all.iter().filter(|(_, number)| numbers.contains(number));
        (ranks.len() == 4 && having.count() == 4)
            .then(|| ranks.into_iter().copied().collect::<Vec<_>>())
    });
    let ranks: Vec<u32> = held.iter().map(|(pid, _)| *pid).collect();
    signal_process(victim(running.pid(), &ranks), "KILL");
    wait_until("nobody has it any more", || {
        let numbers = holders().into_iter().map(|(_, number)| number);
        let left = numbers.filter(|number| held.iter().any(|(_, ours)| ours == number));
        (left.count() == 0).then_some(())
    });
    running.finish();
}

#[test]
fn no_shared_memory_is_left_after_a_rank_or_mpirun_was_killed() {
    for hosts in ["localhost:4", "n1:2,n2:2"] {
        leaves_nothing_after(hosts, |mpirun, _| mpirun);
        leaves_nothing_after(hosts, |_, ranks| ranks[1]);
    }
}
