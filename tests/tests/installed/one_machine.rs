//! What ranks of one machine need: each other's memory, and nothing else.

use std::net::UdpSocket;
use std::path::Path;
use std::time::Duration;

use mpi_lite_tests::{Job, Outcome, Process, Scratch, build, tool};

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

/// Runs the farm after a script, in namespaces of its own, with nothing on standard error but what
/// the farm prints.
fn farm_behind(unshare: &[&str], script: &str, scratch: &Scratch, ranks: usize) -> Outcome {
    let binary = build("benches/c/farm.c", scratch);
    let job = Job::new("unshare").args(unshare);
    let job = job.args(["sh", "-c", &format!("set -e\n{script}\nexec \"$@\""), "sh"]);
    let job = job.arg(tool("mpirun")).args(["-n", &ranks.to_string()]);
    let outcome = job.arg(&binary).arg("200").run();
    let outcome = outcome.expect_code(0).expect_stdout("(right)");
    let is_quiet = outcome
        .stderr
        .lines()
        .all(|line| line.starts_with("farm: "));
    assert!(is_quiet, "mpirun has nothing to say: {}", outcome.report());
    outcome
}

/// A name server of the test's own sees every question.
#[test]
fn no_name_is_looked_up_not_even_that_of_the_machine() {
    let scratch = Scratch::new("names");
    let server = UdpSocket::bind("127.8.9.53:53").expect("the port of a name server (root)");
    server.set_nonblocking(true).expect("a socket");
    let is_asked = || server.recv(&mut [0; 512]).is_ok();
    let resolver = "nameserver 127.8.9.53\noptions timeout:1 attempts:1\n";
    let resolver = scratch.write("resolv.conf", resolver);
    let script = |resolver: &Path| {
        let file = resolver.display();
        format!(
            "hostname nobody-knows-this\nmount -t tmpfs tmpfs /etc\ncat {file} > /etc/resolv.conf"
        )
    };
    let namespaces = ["--mount", "--uts"];
    drop(farm_behind(&namespaces, &script(&resolver), &scratch, 4));
    assert!(!is_asked(), "a job on one machine asks for no name");
    // So that the line above can fail.
    let question = format!("{}\ngetent hosts nobody-knows-this", script(&resolver));
    let job = Job::new("unshare").args(namespaces);
    drop(job.args(["sh", "-c", &question]).run());
    assert!(
        is_asked(),
        "the resolver of this system asks the name server"
    );
}

#[test]
fn a_shared_memory_file_system_of_1_mib_is_enough() {
    let scratch = Scratch::new("small_shm");
    let script = "mount -t tmpfs -o size=1m tmpfs /dev/shm";
    drop(farm_behind(&["--mount"], script, &scratch, 4));
}

/// The name of a socket has 108 bytes.
#[test]
fn a_temporary_directory_with_a_long_name_is_enough() {
    let scratch = Scratch::new("long_name");
    let folder = scratch.path().join("x".repeat(150));
    std::fs::create_dir(&folder).expect("a directory");
    let folder = folder.display();
    let script = format!("export TMPDIR={folder} XDG_RUNTIME_DIR={folder}");
    drop(farm_behind(&["--mount"], &script, &scratch, 4));
}

#[test]
fn open_files_as_few_as_256_are_enough_for_64_ranks() {
    let scratch = Scratch::new("few_files");
    drop(farm_behind(&["--mount"], "ulimit -n 256", &scratch, 64));
}

/// Also as root, as in a container.
#[test]
fn more_ranks_than_cores_need_no_option() {
    let scratch = Scratch::new("many_ranks");
    let script = "test $(id -u) = 0";
    drop(farm_behind(&["--map-root-user"], script, &scratch, 16));
}
