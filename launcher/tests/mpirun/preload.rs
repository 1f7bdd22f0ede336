//! Programs and installations that are elsewhere on the other hosts, or not there at all.

use std::fs;
use std::path::PathBuf;

use crate::common::{
    Mpirun, Scratch, boot_rank, fake_ssh, link_with, mpirun, sleepers, unique_sleep,
    wait_for_sleepers,
};

/// A way to hosts that lack the files below `lost`: they are moved away while a host is connected,
/// which is after `mpirun` has opened its own.
fn over_lossy_ssh(run: Mpirun, scratch: &Scratch) -> Mpirun {
    let script = format!(
        "#!/bin/sh\nmv '{0}/lost' '{0}/gone' 2>/dev/null\nexec '{1}' \"$@\"\n",
        scratch.path().display(),
        fake_ssh().display()
    );
    let ssh = scratch.write("lossy_ssh", script, 0o755);
    run.over_fake_ssh().env("MPILITE_SSH", ssh)
}

/// The path of a program that the hosts lack.
fn lost(scratch: &Scratch, name: &str, content: &[u8]) -> PathBuf {
    fs::create_dir_all(scratch.path().join("lost")).expect("it is ours");
    scratch.write(&format!("lost/{name}"), content, 0o755)
}

#[test]
fn a_host_runs_a_program_that_it_lacks_from_memory() {
    let scratch = Scratch::new();
    let rank = fs::read(boot_rank()).unwrap();
    let program = lost(&scratch, "only-here", &rank);
    let name = program.to_str().unwrap();
    let line = ["-n", "3", "--host", "n1:2,n2", "--preload", name, "appnum"];
    let outcome = over_lossy_ssh(mpirun(&line), &scratch).run().succeeds();
    let expected = [0, 1, 2].map(|rank| format!("rank {rank} of 3 program Some(0)"));
    assert_eq!(outcome.sorted(), expected);
}

#[test]
fn each_host_gets_the_programs_of_its_ranks() {
    let scratch = Scratch::new();
    let first = lost(&scratch, "first", b"#!/bin/sh\necho first $1 $0\n");
    let second = lost(&scratch, "second", b"#!/bin/sh\necho second $1\n");
    let line = [
        "--preload",
        "-n",
        "1",
        "--host",
        "n1",
        first.to_str().unwrap(),
        "a",
        ":",
        "-n",
        "2",
        "--host",
        "n2:2",
        second.to_str().unwrap(),
        "b",
    ];
    let outcome = over_lossy_ssh(mpirun(&line), &scratch).run().succeeds();
    let sorted = outcome.sorted();
    assert!(
        sorted[0].starts_with("first a /proc/self/fd/"),
        "{sorted:?}"
    );
    assert_eq!(sorted[1..], ["second b", "second b"]);
}

#[test]
fn without_preload_the_host_says_that_it_lacks_the_program() {
    let scratch = Scratch::new();
    let program = lost(&scratch, "only-here", b"#!/bin/sh\n");
    let line = ["-n", "1", "--host", "n1", program.to_str().unwrap()];
    let outcome = over_lossy_ssh(mpirun(&line), &scratch).run();
    outcome.fails_with(127, &["host n1", "only-here"]);
}

/// Every host has a `sum` in its PATH.
#[test]
fn a_program_that_was_named_with_its_place_is_nowhere_else() {
    let content = b"#!/bin/sh\necho ours\n";
    for options in [&[][..], &["--preload"]] {
        let scratch = Scratch::new();
        lost(&scratch, "sum", content);
        let line = [options, &["-n", "1", "--host", "n1", "lost/sum"]].concat();
        let run = mpirun(&line).directory(scratch.path());
        let outcome = over_lossy_ssh(run, &scratch).run();
        match options {
            [] => outcome.fails_with(127, &["host n1: program '", "lost/sum' does not exist"]),
            _ => assert_eq!(outcome.succeeds().out(), "ours\n"),
        }
    }
}

/// It may be elsewhere than on the host of `mpirun`.
#[test]
fn a_program_that_was_found_in_path_is_looked_for_in_that_of_the_host() {
    let scratch = Scratch::new();
    let directory = lost(&scratch, "sum", b"#!/bin/sh\nexit 1\n");
    let directory = directory.parent().expect("it is in one");
    let path = std::env::var("PATH").expect("there is one");
    let line = ["-n", "1", "--host", "n1", "sum", "/dev/null"];
    let run = mpirun(&line).env("PATH", format!("{}:{path}", directory.display()));
    let outcome = over_lossy_ssh(run, &scratch).run().succeeds();
    assert_eq!(outcome.out(), "00000     0 /dev/null\n");
}

#[test]
fn a_text_without_an_interpreter_is_for_the_shell_from_memory_too() {
    let scratch = Scratch::new();
    let program = lost(&scratch, "text", b"echo \"of the shell: $1\"\n");
    let name = program.to_str().unwrap();
    let line = ["-n", "2", "--host", "n1:2", "--preload", name, "x"];
    let outcome = over_lossy_ssh(mpirun(&line), &scratch).run().succeeds();
    assert_eq!(outcome.sorted(), ["of the shell: x", "of the shell: x"]);
}

#[test]
fn a_program_of_another_mpi_that_the_host_has_alone_is_refused_there() {
    let scratch = Scratch::new();
    link_with(&scratch, "libmpi.so.40");
    let program = fs::read(scratch.path().join("program")).unwrap();
    lost(&scratch, "program", &program);
    // Its folder has this name once the host is connected.
    let line = ["-n", "2", "--host", "n1:2", "gone/program"];
    let run = mpirun(&line).directory(scratch.path());
    let outcome = over_lossy_ssh(run, &scratch).run();
    let part = "is linked with Open MPI";
    outcome.fails_with(126, &["host n1: program '", "gone/program'", part]);
}

#[test]
fn a_program_that_is_not_here_cannot_be_sent() {
    let line = ["-n", "1", "--host", "n1", "--preload", "/nowhere/p"];
    let outcome = mpirun(&line).over_fake_ssh().run();
    outcome.fails_with(127, &["program '/nowhere/p' does not exist"]);
}

#[test]
fn a_program_that_is_too_long_is_refused_with_the_limit() {
    let scratch = Scratch::new();
    let program = scratch.write("long", "#!/bin/sh\n", 0o755);
    let file = fs::OpenOptions::new().write(true).open(&program).unwrap();
    // A hole: it takes no room.
    file.set_len(600 << 20).unwrap();
    let line = [
        "-n",
        "1",
        "--host",
        "n1",
        "--preload",
        program.to_str().unwrap(),
    ];
    let outcome = mpirun(&line).over_fake_ssh().run();
    outcome.fails_with(125, &["long' has 600 MiB, but at most 512 MiB are sent"]);
}

#[test]
fn nothing_of_a_program_in_memory_is_left_after_a_kill() {
    let scratch = Scratch::new();
    let mark = unique_sleep();
    let sleep = fs::read("/bin/sleep").unwrap();
    let program = lost(&scratch, "sleep", &sleep);
    // So that the host does not find another one.
    let name = scratch.path().join("lost/sleep-of-test");
    fs::rename(program, &name).unwrap();
    let script = lost(
        &scratch,
        "script-of-test",
        format!("#!/bin/sh\nexec sleep {mark}\n").as_bytes(),
    );
    let line = [
        "--preload",
        "--host",
        "n1",
        "-n",
        "1",
        name.to_str().unwrap(),
        &mark,
        ":",
        "-n",
        "1",
        script.to_str().unwrap(),
    ];
    let run = over_lossy_ssh(mpirun(&line), &scratch).start();
    wait_for_sleepers(&mark, 1);
    let of_memory = || {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let lines = entries.filter_map(|entry| {
            let line = fs::read(entry.path().join("cmdline")).ok()?;
            let exe = fs::read_link(entry.path().join("exe")).ok()?;
            let is_it = String::from_utf8_lossy(&line).contains(&format!("sleep-of-test\0{mark}"));
            (is_it && exe.to_string_lossy().starts_with("/memfd:")).then_some(())
        });
        lines.count()
    };
    crate::common::wait_until("the program runs from memory", || {
        (of_memory() == 1).then_some(())
    });
    run.signal("KILL");
    assert_eq!(run.finish().code, 137);
    wait_for_sleepers(&mark, 0);
    crate::common::wait_until("the program ends", || (of_memory() == 0).then_some(()));
    assert_eq!(sleepers(&mark), [0; 0]);
}

#[test]
fn the_installation_of_the_other_hosts_is_where_prefix_says() {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.path().join("bin")).unwrap();
    let launcher = format!(
        "#!/bin/sh\necho \"$0\" >> '{}/started'\nexec '{}' \"$@\"\n",
        scratch.path().display(),
        env!("CARGO_BIN_EXE_mpirun")
    );
    let launcher = scratch.write("bin/mpirun", launcher, 0o755);
    let prefix = scratch.path().to_str().unwrap();
    let script = "echo ${LD_LIBRARY_PATH%%:*}";
    let line = [
        "-n", "1", "--host", "n1", "--prefix", prefix, "sh", "-c", script,
    ];
    let run = mpirun(&line)
        .over_fake_ssh()
        .env("LD_LIBRARY_PATH", "/mine");
    assert_eq!(run.run().succeeds().out(), format!("{prefix}/lib\n"));
    let started = fs::read_to_string(scratch.path().join("started")).unwrap();
    assert_eq!(started, format!("{}\n", launcher.display()));
    // This host has its own installation.
    let line = ["-n", "1", "--prefix", prefix, "sh", "-c", script];
    let run = mpirun(&line).env("LD_LIBRARY_PATH", "/mine");
    assert_eq!(run.run().succeeds().out(), "/mine\n");
}

#[test]
fn a_prefix_without_an_installation_is_named() {
    let line = ["-n", "1", "--host", "n1", "--prefix", "/nowhere", "true"];
    let outcome = mpirun(&line).over_fake_ssh().run();
    outcome.fails_with(
        125,
        &["host n1: /nowhere/bin/mpirun cannot be executed there"],
    );
    let outcome = mpirun(&["-n", "1", "--prefix", "opt", "true"]).run();
    outcome.fails_with(2, &["--prefix needs a path from the root"]);
}
