//! Arguments, variables and the directory reach the ranks byte for byte, on every host; open files
//! and their limit on this one.

mod common;

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use common::{Outcome, Scratch, boot_rank, mpirun, mpirun_after, mpirun_blocking, mpirun_ignoring};

/// Words that shells, frames and terminals like to spoil.
fn words() -> Vec<OsString> {
    let mut words: Vec<OsString> = [
        "",
        " ",
        "a b",
        "'",
        "\"",
        "\\",
        "$(touch Z)",
        "`x`",
        ";",
        "-n",
    ]
    .into_iter()
    .chain([
        "a\nb", "\t", "*", "~", "$HOME", "!", "--", "é", "{a,b}", "#",
    ])
    .map(OsString::from)
    .collect();
    words.push(OsString::from_vec(vec![0xff, 0xfe, 0x80]));
    words.push(OsString::from_vec(vec![b'x'; 120_000]));
    words
}

/// Runs one rank on each kind of host.
fn on_every_host(arguments: &[OsString], check: impl Fn(&str, Outcome)) {
    for host in ["localhost", "n1"] {
        let mut run = mpirun(&["-n", "1", "--host", host]).over_fake_ssh();
        run.command().args(arguments);
        check(host, run.run().succeeds());
    }
}

#[test]
fn arguments_are_byte_exact() {
    // Not `printf %s\0 "$@"`: a shell may have its own limits.
    let mut line: Vec<OsString> = vec!["cat".into(), "/proc/self/cmdline".into()];
    let script = "tr '\\0' '\\001' < /proc/$$/cmdline; exit 0";
    line.splice(.., ["sh", "-c", script, "name"].map(OsString::from));
    line.extend(words());
    let mut expected = Vec::new();
    for word in &line {
        expected.extend_from_slice(word.as_bytes());
        expected.push(1);
    }
    on_every_host(&line, |host, outcome| {
        assert!(outcome.stdout == expected, "{host}: arguments differ");
    });
}

#[test]
fn variables_are_byte_exact() {
    for (number, value) in words().into_iter().enumerate() {
        let name = format!("MY_{number}");
        let line = ["sh", "-c", "tr '\\0' '\\001' < /proc/$$/environ"].map(OsString::from);
        for host in ["localhost", "n1"] {
            let mut run = mpirun(&["-n", "1", "--host", host]).over_fake_ssh();
            run.command().args(&line).env(&name, &value);
            let outcome = run.run().succeeds();
            let mut expected = format!("{name}=").into_bytes();
            expected.extend_from_slice(value.as_bytes());
            let found = outcome
                .stdout
                .split(|byte| *byte == 1)
                .any(|entry| entry == expected);
            assert!(found, "{host}: {name} is missing or differs");
        }
    }
}

#[test]
fn an_exported_variable_is_set_on_every_host() {
    for host in ["localhost", "n1"] {
        let line = [
            "-n",
            "1",
            "--host",
            host,
            "-x",
            "NEW=a=b c;$(touch Z)`id`'\"\\\t*?",
            "-x",
            "HOSTNAME",
        ];
        let script = "printf '%s:' \"$NEW\" $HOSTNAME $PATH";
        let outcome = mpirun(&[&line[..], &["sh", "-c", script]].concat())
            .over_fake_ssh()
            .env("HOSTNAME", "mine")
            .env("PATH", "/odd:/usr/bin:/bin")
            .run()
            .succeeds();
        let expected = "a=b c;$(touch Z)`id`'\"\\\t*?:mine:/odd:/usr/bin:/bin:";
        assert_eq!(outcome.out(), expected);
    }
}

#[test]
fn marks_of_other_launchers_are_removed() {
    for host in ["localhost", "n1"] {
        let line = ["-n", "1", "--host", host, "env"];
        let outcome = mpirun(&line)
            .over_fake_ssh()
            .env("OMPI_COMM_WORLD_SIZE", "4")
            .env("PMI_SIZE", "4")
            .env("PMI_PORT", "n1:4711")
            .env("PMIX_RANK", "3")
            .env("SLURM_PROCID", "1")
            .env("SLURM_JOB_ID", "77")
            .run()
            .succeeds();
        let text = outcome.out();
        assert!(text.contains("SLURM_JOB_ID=77\n"), "{text}");
        for gone in ["OMPI_COMM_WORLD_SIZE", "PMI_PORT", "PMIX_", "SLURM_PROCID"] {
            assert!(!text.contains(gone), "{gone}: {text}");
        }
        // Its own, for a program of MPICH.
        assert!(text.contains("PMI_SIZE=1\n"), "{text}");
    }
}

#[test]
fn the_key_of_the_job_is_in_no_environment_and_on_no_command_line() {
    let program = boot_rank();
    let script = format!(
        "{program} print; tr '\\0' '\\n' < /proc/$$/environ; ps -ef; tr '\\0' '\\n' < \
         /proc/$PPID/environ"
    );
    let outcome = mpirun(&["-n", "1", "--host", "n1", "sh", "-c", &script])
        .over_fake_ssh()
        .run()
        .succeeds();
    let text = outcome.out();
    let key = text.split(" key ").nth(1).unwrap().lines().next().unwrap();
    assert_eq!((key.len(), text.matches(key).count()), (64, 1));
}

#[test]
fn the_working_directory_is_ours_or_the_named_one() {
    let scratch = Scratch::new();
    let here = scratch.path().canonicalize().unwrap();
    std::fs::create_dir(here.join("sub dir")).unwrap();
    for host in ["localhost", "n1"] {
        let pwd = |options: &[&str]| {
            let line = [&["-n", "1", "--host", host], options, &["pwd", "-P"]].concat();
            mpirun(&line)
                .over_fake_ssh()
                .directory(&here)
                .run()
                .succeeds()
                .out()
        };
        assert_eq!(pwd(&[]), format!("{}\n", here.display()));
        assert_eq!(
            pwd(&["--wdir", "sub dir"]),
            format!("{}\n", here.join("sub dir").display())
        );
        assert_eq!(pwd(&["-wdir", "/"]), "/\n");
    }
}

#[test]
fn a_program_is_found_as_a_shell_finds_it() {
    let scratch = Scratch::new();
    scratch.write("prog", "#!/bin/sh\necho here\n", 0o755);
    let run = |name: &str, path: &str| {
        mpirun(&["-n", "1", name])
            .directory(scratch.path())
            .env("PATH", path)
            .run()
    };
    assert_eq!(run("./prog", "/usr/bin:/bin").succeeds().out(), "here\n");
    let own = format!("/usr/bin:/bin:{}", scratch.path().display());
    assert_eq!(run("prog", &own).succeeds().out(), "here\n");
    // Forgetting the "./" is forgiven.
    assert_eq!(run("prog", "/usr/bin:/bin").succeeds().out(), "here\n");
}

#[test]
fn an_open_file_of_the_user_reaches_each_rank_whatever_its_number() {
    let scratch = Scratch::new();
    let path = scratch.write("text", "here\n", 0o644);
    for number in [3, 31, 32, 400] {
        let opens = format!("exec {number}< '{}'", path.display());
        let reads = format!("/dev/fd/{number}");
        let outcome = mpirun_after(&opens, &["-n", "2", "cat", &reads]).run();
        assert_eq!(outcome.succeeds().out(), "here\nhere\n", "{number}");
    }
}

#[test]
fn a_rank_has_no_descriptor_of_mpirun_or_of_another_rank() {
    let counts = "n=0; for one in /proc/$$/fd/*; do n=$((n + 1)); done; echo $n";
    let of_ranks = |ranks: &str| mpirun(&["-n", ranks, "sh", "-c", counts]).run().succeeds();
    let alone = of_ranks("1").out();
    assert_eq!(of_ranks("20").out(), alone.repeat(20));
}

#[test]
fn a_low_limit_for_open_files_suffices_for_two_ranks_and_reaches_them() {
    for limit in ["34", "40", "100"] {
        let line = ["-n", "2", "sh", "-c", "ulimit -n"];
        let outcome = mpirun_after(&format!("ulimit -n {limit}"), &line).run();
        assert_eq!(outcome.succeeds().out(), format!("{limit}\n").repeat(2));
    }
}

/// The signals in a line of `/proc/PID/status`, without the real-time ones, which are the C
/// library's.
fn signals_of(run: common::Mpirun, line: &str) -> u64 {
    let text = run.run().succeeds().out();
    let mask = text.lines().find_map(|it| it.strip_prefix(line));
    let mask = u64::from_str_radix(mask.expect("the line is there").trim(), 16);
    mask.expect("a mask") & 0x7fff_ffff
}

/// nohup(1) ignores HUP for what it starts. Ranks hear INT, which a shell in the background ignores
/// but mpirun passes on, and PIPE, of which mpirun cannot know the setting.
#[test]
fn a_rank_ignores_and_blocks_what_it_would_without_mpirun() {
    let line = ["-n", "1", "cat", "/proc/self/status"];
    let bits = |signals: &[i32]| signals.iter().map(|it| 1_u64 << (it - 1)).sum::<u64>();
    let all = "CHLD,INT,TERM,QUIT,USR1,USR2,TSTP,CONT,HUP,PIPE,XFSZ";
    let ignored = bits(&[17, 15, 3, 10, 12, 20, 18, 1, 25]);
    assert_eq!(signals_of(mpirun_ignoring(all, &line), "SigIgn:"), ignored);
    let blocked = ignored | bits(&[2, 13]);
    assert_eq!(signals_of(mpirun_blocking(all, &line), "SigBlk:"), blocked);
    let none = mpirun_blocking("USR1", &line);
    assert_eq!(signals_of(none, "SigBlk:"), bits(&[10]));
    for host in ["localhost", "n1"] {
        let line = [&["--host", host], &line[..]].concat();
        assert_eq!(signals_of(mpirun(&line).over_fake_ssh(), "SigIgn:"), 0);
    }
}

/// What ssh is started with, it obeys: mpirun ends it by a signal.
#[test]
fn a_program_that_reaches_hosts_blocks_and_ignores_nothing() {
    let scratch = Scratch::new();
    let seen = scratch.path().join("seen");
    let script = format!("cat /proc/self/status > {}; exit 1", seen.display());
    let ssh = scratch.write("ssh", format!("#!/bin/sh\n{script}\n"), 0o755);
    let line = ["-n", "1", "--host", "n1", "true"];
    for start in [mpirun_ignoring, mpirun_blocking] {
        let run = start("CHLD,INT,TERM,PIPE,XFSZ", &line).env("MPILITE_SSH", &ssh);
        assert_eq!(run.run().code, 125);
        for mask in ["SigBlk:", "SigIgn:"] {
            let line = ["-n", "1", "cat", &seen.to_string_lossy()];
            assert_eq!(signals_of(mpirun(&line), mask), 0, "{mask}");
        }
    }
}

#[test]
fn closed_streams_and_a_folder_that_is_gone_hinder_no_job() {
    let scratch = Scratch::new();
    let file = scratch.path().join("file");
    let writes = format!("echo x > {}", file.display());
    let run = mpirun_after("exec <&- >&- 2>&-", &["-n", "2", "sh", "-c", &writes]).run();
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "x\n");
    let gone = scratch.path().join("gone");
    let leaves = format!("mkdir {0}; cd {0}; rmdir {0}", gone.display());
    let outcome = mpirun_after(&leaves, &["-n", "1", "true"]).run();
    outcome.fails_with(125, &["the current directory is gone"]);
}

/// The signal of a limit for files would end mpirun; an error has words.
#[test]
fn a_limit_for_the_size_of_files_is_an_error_with_a_line() {
    let scratch = Scratch::new();
    let line = ["-n", "1", "--output", "d", "sh", "-c", "trap '' XFSZ; yes"];
    let run = mpirun_after("ulimit -f 8", &line).directory(scratch.path());
    run.run().fails_with(1, &["d/rank.0.out", "File too large"]);
}

/// The sockets of a process, by the numbers that the lists in `/proc/net` use.
fn sockets_of(pid: u32) -> Vec<String> {
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("it lives");
    let targets = descriptors
        .flatten()
        .filter_map(|entry| std::fs::read_link(entry.path()).ok());
    let number = |target: std::path::PathBuf| {
        let text = target.to_string_lossy().into_owned();
        Some(
            text.strip_prefix("socket:[")?
                .strip_suffix(']')?
                .to_string(),
        )
    };
    targets.filter_map(number).collect()
}

#[test]
fn the_launcher_has_no_network_socket() {
    let mark = common::unique_sleep();
    let running = mpirun(&["-n", "4", "--host", "localhost:2,n2:2", "sleep", &mark])
        .over_fake_ssh()
        .start();
    common::wait_for_sleepers(&mark, 4);
    let sockets = sockets_of(running.pid());
    assert!(
        sockets.len() >= 2,
        "the channels to the ranks are sockets: {sockets:?}"
    );
    for list in ["tcp", "tcp6", "udp", "udp6"] {
        let text = std::fs::read_to_string(format!("/proc/net/{list}")).unwrap_or_default();
        let mut numbers = text
            .lines()
            .filter_map(|line| line.split_ascii_whitespace().nth(9));
        let of_network = numbers.find(|number| sockets.iter().any(|socket| socket == number));
        assert_eq!(of_network, None, "{list}");
    }
    running.signal("TERM");
    running.finish();
}

#[test]
fn the_hosts_of_a_scheduler_are_used_unless_the_user_names_some() {
    let scratch = Scratch::new();
    let lines = scratch.write("lines", "n1\nn1\nn2\n", 0o644);
    let queues = scratch.write("queues", "n1 2 q\nn2 1 q\n", 0o644);
    let [lines, queues] = [&lines, &queues].map(|path| path.to_str().expect("a plain path"));
    let program = boot_rank();
    for (variable, value) in [
        ("PBS_NODEFILE", lines),
        ("LSB_DJOB_HOSTFILE", lines),
        ("LSB_HOSTS", "n1 n2 n1"),
        ("LSB_MCPU_HOSTS", "n1 2 n2 1"),
        ("PE_HOSTFILE", queues),
        ("OMPI_MCA_orte_default_hostfile", lines),
    ] {
        let run = |hosts: &[&str]| {
            let line = [hosts, &[&program, "print"]].concat();
            let job = mpirun(&line).env(variable, value).over_fake_ssh();
            job.run().succeeds().sorted()
        };
        let used = run(&[]);
        assert_eq!(used.len(), 3, "{variable}");
        let has_hosts = |line: &String| line.contains(" hosts n1,n1,n2 ");
        assert!(used.iter().all(has_hosts), "{variable}: {used:?}");
        assert_eq!(run(&["--host", "localhost"]).len(), 1, "{variable}");
    }
}

#[test]
fn several_nodes_of_flux_that_are_not_used_are_noted_in_one_line() {
    let with = |hosts: &[&str], value| {
        let line = [&["-n", "1"], hosts, &["true"]].concat();
        mpirun(&line).env("FLUX_JOB_NNODES", value).run()
    };
    let words = ["2 nodes", "FLUX_JOB_NNODES", "flux resource list"];
    with(&[], "2").fails_with(0, &words);
    with(&[], "1").succeeds();
    with(&["--host", "localhost"], "2").succeeds();
}
