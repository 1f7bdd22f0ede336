//! What a user can get wrong: one line says what, and nothing has been started.

use std::os::unix::fs::symlink;

use crate::common::{Scratch, link_with, mpirun};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

/// Command lines, and a part of what is said of them.
const WRONG: &[(&[&str], &str)] = &[
    (&[], "no program is named"),
    (&["-n", "2"], "no program is named"),
    (
        &["-n", "0", "true"],
        "-n needs a whole number from 1 to 1000000, not '0'",
    ),
    (&["-n", "-3", "true"], "not '-3'"),
    (&["-np", "abc", "true"], "-np needs a whole number"),
    (&["-n", "1000001", "true"], "not '1000001'"),
    (&["-n", "99999999999", "true"], "not '99999999999'"),
    (&["-n", "1.5", "true"], "not '1.5'"),
    (&["-n", "", "true"], "not ''"),
    (&["-n"], "-n needs a whole number"),
    (&["-n", "1", "-n", "2", "true"], "option -n is given twice"),
    (&["--frob", "true"], "unknown option --frob"),
    (&["--hostfiel", "x", "true"], "did you mean --hostfile?"),
    (&["-n2", "true"], "unknown option -n2; did you mean -n 2?"),
    (&["-np16", "true"], "did you mean -np 16?"),
    (&["--ppn4", "true"], "did you mean -ppn 4?"),
    (
        &["--transport", "udp", "true"],
        "expected auto, shm, rmpp, gobackn, unet, sctp, tcp, tcp-trc or loopback",
    ),
    (
        &["--timeout", "0", "true"],
        "--timeout needs a number of seconds",
    ),
    (&["--host", "", "true"], "a host name is empty"),
    (&["--host", "-oProxyCommand=touch Z", "true"], "contains"),
    (&["--host", "-x", "true"], "is not a host name"),
    (&["--host", "$(touch Z)", "true"], "contains '$'"),
    (&["--host", "a;b", "true"], "contains ';'"),
    (&["--host", "a b", "true"], "contains ' '"),
    (&["--host", "a\nb", "true"], "contains '\\n'"),
    (&["--host", "hôte", "true"], "contains 'ô'"),
    (&["--host", "a:0", "true"], "'0' is not a number of slots"),
    (
        &["--hostfile", "/no/such/file", "true"],
        "host file /no/such/file: No such file",
    ),
    (
        &["--hostfile", "/", "true"],
        "host file /: it is a directory",
    ),
    (&["--hostfile", "/dev/null", "true"], "it names no host"),
    (
        &["--hostfile", "/dev/zero", "true"],
        "it is longer than 16 MiB",
    ),
    (
        &["-n", "2", "true", ":", "true"],
        "part 2 of the command line",
    ),
    (
        &["--rankfile", "x", "true"],
        "there is no --rankfile here; use --hostfile FILE",
    ),
    (
        &["-n", "2", "--transport", "loopback", "true"],
        "--transport loopback serves a single rank, but the job has 2",
    ),
    (
        &["-n", "2", "--secure=tag", "--transport", "tcp", "true"],
        "--secure=tag protects datagrams, and --transport tcp sends none",
    ),
    (
        &[
            "-n",
            "3",
            "--transport",
            "rmpp",
            "--port-range",
            "41000-41001",
            "true",
        ],
        "41000-41001 has 2 ports, but host localhost has 3 ranks",
    ),
    (
        &["-n", "2", "-x", "MPILITE_WAIT=soon", "true"],
        "MPILITE_WAIT=\"soon\" is not auto, spin, yield or block",
    ),
    (
        &["--oversubscribe", "--nooversubscribe", "true"],
        "not both",
    ),
];

#[test]
fn a_wrong_command_line_is_2_before_anything_is_started() {
    let scratch = Scratch::new();
    for (line, part) in WRONG {
        let outcome = mpirun(line).directory(scratch.path()).run();
        outcome.fails_with(2, &[part]);
        assert!(outcome.stdout.is_empty());
    }
    assert_eq!(
        std::fs::read_dir(scratch.path()).unwrap().count(),
        0,
        "something was executed"
    );
}

#[test]
fn a_long_host_name_is_refused() {
    mpirun(&["--host", &"x".repeat(300), "true"])
        .run()
        .fails_with(2, &["longer than 255 bytes"]);
}

#[test]
fn a_wrong_setting_is_2() {
    mpirun(&["true"])
        .env("MPILITE_TRANSPORT", "x")
        .run()
        .fails_with(2, &["rmpp"]);
    let line = ["--host", "n1", "true"];
    mpirun(&line)
        .env("MPILITE_SSH", " ")
        .run()
        .fails_with(2, &["MPILITE_SSH is empty"]);
    mpirun(&line)
        .env("MPILITE_LAUNCH_TIMEOUT", "soon")
        .run()
        .fails_with(
            2,
            &["MPILITE_LAUNCH_TIMEOUT=soon is not a number of seconds"],
        );
}

/// What was never typed on the command line is not told as an option.
#[test]
fn a_wrong_value_of_a_variable_is_told_with_the_variable() {
    let cases = [
        (
            "MPILITE_TRANSPORT",
            "foo",
            2,
            "expected auto, shm, rmpp, gobackn, unet, sctp, tcp, tcp-trc or loopback",
        ),
        (
            "MPILITE_SECURE",
            "foo",
            2,
            "expected cookie, tag or encrypt",
        ),
        (
            "MPILITE_INTERFACE",
            "nope",
            125,
            "is not an address of this host",
        ),
        ("MPILITE_INTERFACE", "a/b", 2, "is not a network"),
    ];
    for (variable, value, code, part) in cases {
        let outcome = mpirun(&["true"]).env(variable, value).run();
        outcome.fails_with(code, &[&format!("{variable}={value}"), part]);
        assert!(!outcome.stderr.contains("--"), "{outcome:?}");
    }
    mpirun(&["-x", "MPILITE_SECURE=foo", "true"])
        .run()
        .fails_with(
            2,
            &["-x MPILITE_SECURE=foo: expected cookie, tag or encrypt"],
        );
    mpirun(&["-n", "2", "-x", "MPILITE_TRANSPORT=loopback", "true"])
        .run()
        .fails_with(2, &["-x MPILITE_TRANSPORT=loopback serves a single rank"]);
    let outcome = mpirun(&["--host", "n1,n2", "true"])
        .env("MPILITE_TRANSPORT", "shm")
        .run();
    outcome.fails_with(
        2,
        &["MPILITE_TRANSPORT=shm: shared memory ends at one host"],
    );
}

#[test]
fn a_variable_that_nobody_reads_is_warned_of_with_the_nearest_name() {
    let warned = |name: &str| {
        let outcome = mpirun(&["-n", "2", "true"]).env(name, "1").run();
        assert_eq!(outcome.code, 0, "{outcome:?}");
        outcome.stderr
    };
    assert_eq!(
        warned("MPILITE_CHEK"),
        "mpirun: note: MPILITE_CHEK is not a setting of mpi-lite; did you mean MPILITE_CHECK?\n"
    );
    assert_eq!(
        warned("MPILITE_SLIENT_S"),
        "mpirun: note: MPILITE_SLIENT_S is not a setting of mpi-lite; did you mean \
         MPILITE_SILENT_S?\n"
    );
    let unlike = warned("MPILITE_FROBNICATION");
    assert_eq!(
        unlike,
        "mpirun: note: MPILITE_FROBNICATION is not a setting of mpi-lite\n"
    );
    // Those that exist, and those that mpirun itself gives to a rank.
    for name in ["MPILITE_LOST_S", "MPILITE_LAUNCH_TIMEOUT", "MPI_OTHER"] {
        assert_eq!(warned(name), "", "{name}");
    }
    let inner = format!("{} -n 1 true", env!("CARGO_BIN_EXE_mpirun"));
    mpirun(&["-n", "2", "sh", "-c", &inner]).run().succeeds();
}

#[test]
fn a_wrong_line_of_a_host_file_is_named_by_its_number() {
    let scratch = Scratch::new();
    let cases: [(&[u8], &str); 8] = [
        (
            b"\xef\xbb\xbflocalhost 2\r\n",
            ":1: '2' is not KEY=VALUE; did you mean slots=2?",
        ),
        (
            b"a slots=2\nb slots=-1\n",
            ":2: '-1' is not a number of slots",
        ),
        (b"a slots=x\r\n", ":1: 'x' is not a number of slots"),
        (b"a\0b\n", ":1: host name 'a\\u{0}b' contains '\\0'"),
        (b"ok\na;b\n", ":2: host name 'a;b' contains ';'"),
        (b"-oProxyCommand=x\n", ":1: "),
        (b"ok\n\xff\xfe\n", ":2: it is not text"),
        (b"# nothing\n", ": it names no host"),
    ];
    for (text, part) in cases {
        let file = scratch.write("hosts", text, 0o644);
        mpirun(&["--hostfile", file.to_str().unwrap(), "true"])
            .run()
            .fails_with(2, &[part]);
    }
}

#[test]
fn a_host_file_gives_hosts_and_slots() {
    let scratch = Scratch::new();
    let file = scratch.write("hosts", "localhost slots=2\r\n# more\n127.0.0.1:1", 0o644);
    let file = file.to_str().unwrap();
    for option in ["--hostfile", "-hostfile", "--machinefile", "-f"] {
        let line = [
            option,
            file,
            "sh",
            "-c",
            "echo $MPILITE_RANK of $MPILITE_SIZE",
        ];
        let outcome = mpirun(&line).run().succeeds();
        assert_eq!(outcome.sorted(), ["0 of 3", "1 of 3", "2 of 3"]);
    }
}

#[test]
fn a_program_that_cannot_be_run_is_127_or_126_once() {
    let scratch = Scratch::new();
    let path = |name: &str| scratch.path().join(name).to_str().unwrap().to_string();
    scratch.write("plain", "echo hi\n", 0o644);
    scratch.write("empty", "", 0o755);
    scratch.write("shebang", "#!/no/such/interpreter\n", 0o755);
    scratch.write("crlf", "#!/bin/sh\r\necho hi\r\n", 0o755);
    let mut foreign = vec![0; 64];
    foreign[..20].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\xf3\0");
    scratch.write("foreign", &foreign, 0o755);
    scratch.write("cut", "\x7fELF", 0o755);
    let own = std::fs::read("/bin/true").unwrap();
    scratch.write("truncated", &own[..own.len() / 4], 0o755);
    symlink("nowhere", scratch.path().join("dangling")).unwrap();
    symlink("circle", scratch.path().join("circle")).unwrap();
    mkfifo(&scratch.path().join("pipe"), Mode::S_IRWXU).unwrap();
    let cases = [
        (
            "no-such-program",
            127,
            "program 'no-such-program' is not in PATH",
        ),
        ("./no-such-program", 127, "does not exist"),
        (
            &path("dangling"),
            127,
            "does not exist: it is a link to 'nowhere'",
        ),
        (&path("circle"), 126, "links lead in a circle"),
        (&path("pipe"), 126, "is a named pipe, not a program"),
        ("/dev/null", 126, "is a device, not a program"),
        ("/", 126, "is a directory"),
        (
            &path("plain"),
            126,
            "is not executable (chmod +x makes it so)",
        ),
        (&path("cut"), 126, "is cut off"),
        (&path("truncated"), 126, "is cut off"),
        (&path("empty"), 126, "is an empty file"),
        (
            &path("shebang"),
            126,
            "its interpreter '/no/such/interpreter' does not exist",
        ),
        (&path("crlf"), 126, "(the file has CRLF line ends)"),
        (
            &path("foreign"),
            126,
            "is built for another kind of machine (riscv) than this one",
        ),
    ];
    for (program, code, part) in cases {
        mpirun(&["-n", "4", program])
            .run()
            .fails_with(code, &[part]);
    }
}

#[test]
fn a_program_of_another_mpi_is_refused_with_both_names() {
    let scratch = Scratch::new();
    link_with(&scratch, "libmpi.so.40");
    let outcome = mpirun(&["-n", "2", "./program"])
        .directory(scratch.path())
        .run();
    let names = [
        "is linked with Open MPI (libmpi.so.40)",
        "the binary interfaces of MPI 5.0 and of MPICH",
        "the mpicc of mpi-lite",
    ];
    outcome.fails_with(126, &names);
}

#[test]
fn a_program_of_mpichs_binary_interface_is_started() {
    let scratch = Scratch::new();
    link_with(&scratch, "libmpi.so.12");
    for option in ["--secure", "--secure=cookie"] {
        let line = ["-n", "2", option, "./program"];
        // There is no such library here.
        assert_eq!(mpirun(&line).directory(scratch.path()).run().code, 127);
    }
}

/// The program is looked for in the directory, and is not to blame for it.
#[test]
fn a_missing_directory_is_named() {
    for program in ["true", "./true"] {
        mpirun(&["-n", "2", "--wdir", "/no/such/place", program])
            .run()
            .fails_with(125, &["--wdir: directory '/no/such/place' does not exist"]);
        mpirun(&["-n", "2", "--wdir", "/etc/passwd", program])
            .run()
            .fails_with(125, &["--wdir: '/etc/passwd' is not a directory"]);
    }
}

#[test]
fn help_and_version_are_0() {
    for option in ["--help", "-help", "-h"] {
        let outcome = mpirun(&[option]).run().succeeds();
        assert!(outcome.out().starts_with("usage: mpirun"));
    }
    let outcome = mpirun(&["--version"]).run().succeeds();
    let version = outcome.out();
    assert!(version.starts_with("mpirun (mpi-lite) "), "{version}");
    for library in ["libmpi_abi.so.1", "libmpi.so.12"] {
        assert!(version.contains(library), "{version}");
    }
}

#[test]
fn help_that_cannot_be_written_is_no_success() {
    for option in ["--help", "--version"] {
        let output = limited("exec >/dev/full", option);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(
            stderr.starts_with("mpirun: cannot write the output: "),
            "{stderr}"
        );
    }
    // A reader that takes only the beginning causes no error.
    let output = limited("exec 2>&1", "--help | head -c 1");
    assert_eq!(&*output.stdout, b"u");
}

/// Runs `mpirun` under a shell's limits.
fn limited(limits: &str, line: &str) -> std::process::Output {
    let script = format!("{limits}; exec {} {line}", env!("CARGO_BIN_EXE_mpirun"));
    std::process::Command::new("sh")
        .args(["-c", &script])
        .output()
        .expect("sh runs")
}

#[test]
fn few_file_descriptors_are_enough_or_named() {
    let output = limited("ulimit -n 64", "-n 64 true");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(125), "{stderr}");
    assert!(stderr.contains("64 ranks on one host need 216 open files, but the limit is 64"));
    assert!(stderr.contains("raise it with ulimit -n 216"), "{stderr}");
    assert!(
        stderr.contains("or spread the ranks over more hosts"),
        "{stderr}"
    );
    let output = limited("ulimit -n 256", "-n 64 true");
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
    for limit in 8..24 {
        let output = limited(&format!("ulimit -n {limit}"), "-n 2 true");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(125), "{limit}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{limit}: {stderr}");
        assert!(
            stderr.contains("raise it with ulimit -n "),
            "{limit}: {stderr}"
        );
    }
}

#[test]
fn a_raised_soft_limit_is_not_passed_to_the_ranks() {
    let output = limited("ulimit -Sn 300", "-n 1 sh -c 'ulimit -Sn'");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "300\n");
}

#[test]
fn a_poor_environment_is_enough() {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_mpirun"));
    command.args(["-n", "2", "echo", "hi"]).env_clear();
    let output = command.output().unwrap();
    assert_eq!(
        (output.status.code(), &*output.stdout),
        (Some(0), &b"hi\nhi\n"[..])
    );
    let closed = limited("exec <&- 2>&-", "-n 2 echo hi");
    assert_eq!(
        (closed.status.code(), &*closed.stdout),
        (Some(0), &b"hi\nhi\n"[..])
    );
}

#[test]
fn a_hundred_jobs_in_a_row_and_two_at_once_all_work() {
    for _ in 0..50 {
        let other = mpirun(&["-n", "2", "true"]).start();
        mpirun(&["-n", "2", "true"]).run().succeeds();
        other.finish().succeeds();
    }
}

#[test]
fn a_job_in_a_rank_is_a_job_of_its_own() {
    let program = crate::common::boot_rank();
    let script = format!("{} -n 2 {program} exchange", env!("CARGO_BIN_EXE_mpirun"));
    mpirun(&["-n", "2", "sh", "-c", &script]).run().succeeds();
}
