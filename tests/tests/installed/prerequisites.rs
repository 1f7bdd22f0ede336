//! `make prerequisites`: another user than root gets a list; root reads what is installed before it
//! is. All programs are stubs here, and one is missing.

use std::fs::{self, File};
use std::process::Command;

use mpi_lite_tests::{Scratch, source_root};

fn stub(folder: &Scratch, name: &str, body: &str) {
    folder.program(name, format!("#!/bin/sh\n{body}\n"));
}

/// Runs the script as this user, without `cmake`. Returns what it prints, and in between the calls
/// of `apt-get`, which makes `cmake` if `can_install`.
fn run(user: u32, can_install: bool) -> Vec<String> {
    run_without("cmake", &[], (user, can_install))
}

/// The same with these arguments, without another program.
fn run_without(missing: &str, arguments: &[&str], (user, can_install): (u32, bool)) -> Vec<String> {
    let scratch = Scratch::new("prerequisites");
    let (folder, log) = (Scratch::new("bin"), scratch.path().join("log"));
    let script = source_root().join("tests/prerequisites.sh");
    let text = fs::read_to_string(&script).expect("the script");
    let needed = text
        .lines()
        .filter_map(|line| line.strip_prefix("    need "));
    for name in needed.filter_map(|line| line.split(' ').next()) {
        if name != missing {
            stub(&folder, name, "exit 0");
        }
    }
    stub(&folder, "id", &format!("echo {user}"));
    let installed = folder.path().join(missing);
    let install = format!(
        "echo \"apt-get $*\" >>'{}'\nif {can_install}; then\n    : >'{installed}'\n    \
         /bin/chmod 755 '{installed}'\nfi",
        log.display(),
        installed = installed.display()
    );
    stub(&folder, "apt-get", &install);
    let output = File::options().create(true).append(true).open(&log);
    let mut command = Command::new("/bin/sh");
    command
        .arg(script)
        .args(arguments)
        .env("PATH", folder.path());
    let status = command.stdout(output.expect("a log")).status();
    assert!(status.expect("a shell").success());
    let log = fs::read_to_string(log).expect("the log");
    log.lines().map(str::to_owned).collect()
}

#[test]
fn another_user_than_root_gets_a_list_and_nothing_is_installed() {
    let lines = run(1000, true);
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].contains("missing"), "{lines:?}");
    assert!(lines[1].contains("cmake (package cmake):"), "{lines:?}");
}

#[test]
fn root_reads_what_is_installed_before_it_is() {
    let lines = run(0, true);
    assert!(lines[0].contains("as root: cmake "), "{lines:?}");
    let calls: Vec<_> = lines[1..]
        .iter()
        .map(|line| line.split(' ').nth(2))
        .collect();
    assert_eq!(calls, [Some("update"), Some("install")], "{lines:?}");
    assert!(lines[2].ends_with(" cmake"), "{lines:?}");
}

#[test]
fn root_reads_what_could_not_be_installed() {
    let lines = run(0, false);
    let last = lines.last().expect("a line");
    assert!(last.contains("cmake (package cmake):"), "{lines:?}");
}

#[test]
fn what_the_tests_of_schedulers_need_is_asked_for_by_their_name_only() {
    let has_srun = |lines: &[String]| {
        let line = "srun (package slurm-client):";
        lines.iter().any(|it| it.contains(line))
    };
    let lines = run_without("srun", &["schedulers"], (1000, false));
    assert!(has_srun(&lines), "{lines:?}");
    let lines = run_without("srun", &[], (1000, false));
    assert_eq!(lines, [""; 0], "{lines:?}");
    let lines = run_without("cmake", &["schedulers"], (1000, false));
    let text = lines.join("\n");
    assert!(!has_srun(&lines) && !text.contains("cmake"), "{lines:?}");
}
