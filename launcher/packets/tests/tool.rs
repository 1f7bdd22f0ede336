//! `mpi-packets` as a user runs it: records of ranks go in, files, lines and a status come out.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use mpi_boot::packets::{Preamble, Record, Way};
use tempfile::TempDir;

/// Writes the record of a rank: what it sent to the other one at these times, and the limit.
fn record(folder: &Path, rank: u32, has_loss: bool, times: &[u64]) -> PathBuf {
    let preamble = Preamble {
        has_loss,
        rank,
        packet_bytes: 1000,
        addresses: vec!["10.0.0.1:7".parse().expect("an address"); 2],
    };
    let mut bytes = preamble.encode();
    let mut append = |time, way| {
        let record = Record {
            time,
            way,
            protocol: 1,
            peer: 1 - rank,
            bytes: 4,
            kept: vec![7; 4],
        };
        record.append_to(&mut bytes);
    };
    times.iter().for_each(|time| append(*time, Way::Sent));
    append(u64::MAX, Way::Limit);
    let path = folder.join(format!("it.{rank}.0"));
    fs::write(&path, bytes).expect("the folder is ours");
    path
}

/// Runs it in a folder. Returns its exit status and what it says.
fn run(folder: &TempDir, line: &str) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mpi-packets"));
    let output = command.args(line.split(' ')).current_dir(folder).output();
    let output = output.expect("it can be started");
    let said = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8_lossy(&said).into_owned(),
    )
}

fn limits(ranks: &[u32]) -> String {
    let line = |rank| {
        format!(
            "mpi-packets: note: rank {rank} had more datagrams than are recorded of a rank: \
             1000000, or 256 MiB\n"
        )
    };
    ranks.iter().map(line).collect()
}

#[test]
fn records_that_are_named_become_both_files_in_order_of_time() {
    let folder = TempDir::new().unwrap();
    record(folder.path(), 0, false, &[1, 3]);
    record(folder.path(), 1, false, &[2, 4]);
    let said = run(&folder, "--packets p --sequence s it.1.0 it.0.0");
    assert_eq!(said, (Some(0), limits(&[0, 1])));
    let file = fs::read(folder.path().join("p")).unwrap();
    assert!(file.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]));
    let svg = fs::read_to_string(folder.path().join("s")).unwrap();
    let senders = svg.split("data-from=\"").skip(1);
    let senders: String = senders.map(|it| &it[..1]).collect();
    assert_eq!(senders, "0101");
    let said = run(&folder, "--sequence - --sequence-packets 3 it.0.0 it.1.0").1;
    assert!(said.contains("the first 3"), "{said}");
}

#[test]
fn records_that_lack_something_are_status_3() {
    let folder = TempDir::new().unwrap();
    let records = folder.path().join("records");
    fs::create_dir(&records).unwrap();
    record(&records, 0, true, &[1]);
    let words = "could not record all packets\n";
    let said = run(&folder, "--sequence s records");
    assert_eq!(said, (Some(3), format!("mpi-packets: rank 0 {words}")));
    record(&records, 1, true, &[1]);
    let line = format!("{}mpi-packets: ranks 0, 1 {words}", limits(&[0, 1]));
    assert_eq!(run(&folder, "--packets p records"), (Some(3), line));
}

#[test]
fn what_else_lies_in_a_folder_is_passed_over_and_refused_by_name() {
    let folder = TempDir::new().unwrap();
    let records = folder.path().join("records");
    fs::create_dir_all(records.join("folder")).unwrap();
    record(&records, 0, false, &[1]);
    fs::write(records.join("text"), "no record of ours").unwrap();
    std::os::unix::fs::symlink("it.0.0", records.join("link")).unwrap();
    // Opening it would wait for a writer.
    let made = Command::new("mkfifo").arg(records.join("fifo")).status();
    assert!(made.unwrap().success());
    let said = run(&folder, "--packets p records");
    assert_eq!(said, (Some(0), limits(&[0])));
    let line = "mpi-packets: records/text: this is no record of packets\n";
    let said = run(&folder, "--packets p records/it.0.0 records/text");
    assert_eq!(said, (Some(1), line.into()));
}

#[test]
fn a_command_line_or_file_that_is_wrong_is_one_line() {
    let folder = TempDir::new().unwrap();
    record(folder.path(), 0, false, &[1]);
    for (line, status, words) in [
        ("it.0.0", 2, "no file to write is named"),
        ("--packets p", 2, "no record is named"),
        ("--packets", 2, "--packets needs a value"),
        (
            "--sequence-packets x",
            2,
            "--sequence-packets needs a number",
        ),
        ("--net p it.0.0", 2, "--net is not known"),
        ("--packets p it.7.0", 1, "it.7.0: No such file"),
        ("--packets /dev/full it.0.0", 1, "/dev/full: No space left"),
        ("--sequence /dev/full it.0.0", 1, "/dev/full: No space left"),
    ] {
        let (code, said) = run(&folder, line);
        assert_eq!(code, Some(status), "{line}: {said}");
        assert!(said.starts_with(&format!("mpi-packets: {words}")), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    let (code, said) = run(&folder, "--help");
    assert!(
        code == Some(0) && said.contains("--sequence-packets N"),
        "{said}"
    );
}
