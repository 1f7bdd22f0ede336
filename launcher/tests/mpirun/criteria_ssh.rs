//! What a user of ssh meets: refusals of every kind, and hosts that cannot reach each other.

use crate::common::{Scratch, boot_rank, mpirun};

/// The first line of a stand-in for ssh that has skipped the options.
const SKIP: &str = "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nhost=$2; shift 2\n";

#[test]
fn each_refusal_is_one_line_with_the_host_and_the_reason_and_ends_the_other_hosts() {
    let key = "Host key verification failed.";
    let denied = "root@n2: Permission denied (publickey).";
    let closed = "ssh_exchange_identification: read: Bad file descriptor";
    let no_program = "install mpi-lite at the same path on every host";
    let (accept, copy) = ("accept its key", "ssh-copy-id");
    for (action, words, remedy) in [
        (format!("echo '{key}' >&2; exit 255"), key, accept),
        (format!("echo '{denied}' >&2; exit 255"), denied, copy),
        (format!("echo '{closed}' >&2; exit 255"), closed, ""),
        ("exec sh -c /nowhere/mpirun".to_owned(), no_program, ""),
        ("exec sh -c /dev/null".to_owned(), no_program, ""),
        ("exit 1".to_owned(), "exited with status 1", ""),
    ] {
        let scratch = Scratch::new();
        let script = format!("{SKIP}[ $host = n1 ] || {{ {action}; }}\nexec sh -c \"$*\"\n");
        let mark = crate::common::unique_sleep();
        let line = ["-n", "2", "--host", "n1,n2", "sleep", &mark];
        let run = mpirun(&line).env("MPILITE_SSH", scratch.write("ssh", script, 0o755));
        let start = std::time::Instant::now();
        run.run().fails_with(125, &["host n2", words, remedy]);
        assert!(start.elapsed().as_secs() < 15, "{words}");
        crate::common::wait_for_sleepers(&mark, 0);
    }
}

/// The only host that logs in elsewhere is that of `mpirun`.
#[test]
fn hosts_need_no_ssh_to_each_other() {
    let scratch = Scratch::new();
    let only_here =
        "[ -z \"$IS_THERE\" ] || { echo 'Permission denied (publickey).' >&2; exit 255; }";
    let script = format!("{SKIP}{only_here}\nexport IS_THERE=$host\nexec sh -c \"$*\"\n");
    let hosts = (1..=20).map(|number| format!("n{number}"));
    let hosts = hosts.collect::<Vec<_>>().join(",");
    let program = boot_rank();
    mpirun(&["-n", "20", "--host", &hosts, &program, "exchange"])
        .env("MPILITE_SSH", scratch.write("ssh", script, 0o755))
        .run()
        .succeeds();
}
