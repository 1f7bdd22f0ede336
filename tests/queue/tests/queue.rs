//! The queue with programs that are scripts, and a cargo that is one.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A workspace whose package `waits` has these test programs.
struct Workspace(TempDir);

const PASSED: &str = "echo 'test result: ok. 3 passed'";

impl Workspace {
    fn new(programs: &[(&str, &str)]) -> Workspace {
        let folder = TempDir::new().expect("a folder can be made");
        let root = folder.path().canonicalize().expect("it is there");
        fs::create_dir(root.join("waits")).expect("it is new");
        let mut messages = String::new();
        for (name, script) in programs {
            let path = root.join(name);
            write_script(&path, script);
            let root = root.display();
            messages += r#"{"reason":"compiler-artifact","profile":{"test":true},"#;
            messages += &format!(r#""manifest_path":"{root}/waits/Cargo.toml","#);
            messages += &format!(r#""target":{{"kind":["test"],"name":"{name}"}},"#);
            messages += &format!("\"executable\":\"{}\"}}\n", path.display());
        }
        fs::write(root.join("messages"), messages).expect("it can be written");
        let cargo = format!(
            "if [ \"$2\" = --doc ]; then {PASSED}; else cat '{}/messages'; fi",
            root.display()
        );
        write_script(&root.join("cargo"), &cargo);
        let workspace = Workspace(folder);
        workspace.write_table("waits/* waiting 1\n");
        workspace
    }

    fn write_table(&self, text: &str) {
        fs::write(self.0.path().join("table"), text).expect("it can be written");
    }

    fn run(&self, options: &[&str]) -> (Output, String) {
        let root = self.0.path();
        let output = Command::new(env!("CARGO_BIN_EXE_queue"))
            .args(["--table", "table", "--logs", "logs"])
            .args(options)
            .args(["--", "--workspace"])
            .current_dir(root)
            .env("CARGO", root.join("cargo"))
            .output()
            .expect("the queue runs");
        let text = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into();
        (output, text)
    }
}

fn write_script(path: &Path, script: &str) {
    fs::write(path, format!("#!/bin/sh\n{script}\n")).expect("it can be written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
}

#[test]
fn all_programs_run_and_one_failure_is_the_result() {
    let fails = "echo 'it broke' >&2; echo 'test result: FAILED. 1 failed'; exit 101";
    let workspace = Workspace::new(&[("bad", fails), ("good", PASSED), ("late", PASSED)]);
    let (output, text) = workspace.run(&[]);
    assert_eq!(output.status.code(), Some(1), "{text}");
    for passed in ["waits/good", "waits/late", "documentation"] {
        assert!(text.contains(&format!("Ended {passed}: ok")), "{text}");
    }
    let (_, end) = text
        .split_once("---- waits/bad failed: exit status: 101")
        .expect(&text);
    assert!(end.contains("\n| it broke\n"), "{text}");
    let results = text.lines().filter(|line| line.starts_with("test result:"));
    assert_eq!(results.count(), 4, "each program's is counted once: {text}");
    assert!(end.contains("\n4 programs in "), "{text}");
    assert!(end.ends_with(" s, 1 failed\n"), "{text}");
}

#[test]
fn the_result_is_0_if_all_pass() {
    let (output, text) = Workspace::new(&[("good", PASSED)]).run(&[]);
    assert_eq!(output.status.code(), Some(0), "{text}");
}

/// A process that is killed may still need a turn to die, and nobody may ask how it died.
fn wait_until_gone(process: &str) {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        if !stat.contains("(sleep)") || stat.contains("(sleep) Z") {
            return;
        }
        assert!(Instant::now() < end, "still there: {stat}");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_program_that_hangs_is_killed_with_what_it_started() {
    let hangs = "echo 'my last words'; sleep 987654 & sleep 987655";
    let workspace = Workspace::new(&[("hangs", hangs)]);
    // Long enough for the first words of a program on a busy machine.
    let (output, text) = workspace.run(&["--silence", "10"]);
    assert_eq!(output.status.code(), Some(1), "{text}");
    let (_, end) = text
        .split_once("---- waits/hangs failed: killed")
        .expect(&text);
    assert!(end.contains("| my last words"), "{text}");
    for child in ["sleep 987654", "sleep 987655"] {
        let line = end.lines().find(|line| line.ends_with(child)).expect(end);
        let process = line.split_whitespace().next().expect("its number");
        wait_until_gone(process);
    }
}

#[test]
fn a_program_that_ends_in_the_middle_has_failed() {
    let (output, text) = Workspace::new(&[("leaves", "exit 0")]).run(&[]);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("waits/leaves failed: it has no result"),
        "{text}"
    );
}

#[test]
fn a_program_runs_in_the_folder_of_its_package_as_under_cargo() {
    let script = format!("echo \"here $PWD, there $CARGO_MANIFEST_DIR.\"; {PASSED}");
    let workspace = Workspace::new(&[("place", &script)]);
    let folder = workspace.0.path().canonicalize().expect("it is there");
    let folder = folder.join("waits");
    let (_, text) = workspace.run(&[]);
    let expected = format!("here {0}, there {0}.", folder.display());
    assert!(text.contains(&expected), "{text}");
}

#[test]
fn a_computing_program_has_low_priority_and_a_waiting_one_has_not() {
    let script = format!("echo \"nice $(nice)\"; {PASSED}");
    let workspace = Workspace::new(&[("computes", &script), ("other", &script)]);
    workspace.write_table("waits/computes computing 1\n");
    let (_, text) = workspace.run(&[]);
    let nice = |name: &str| -> i32 {
        let (_, rest) = text
            .split_once(&format!("Ended waits/{name}"))
            .expect(&text);
        let line = rest.lines().nth(1).expect(&text);
        let value = line.strip_prefix("nice ").expect(line);
        value.parse().expect("a number")
    };
    assert!(
        nice("computes") > nice("other") || nice("other") == 19,
        "{text}"
    );
}

#[test]
fn words_choose_programs() {
    let workspace = Workspace::new(&[("good", PASSED), ("bad", "exit 1")]);
    let (output, text) = workspace.run(&["--only", "goo"]);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("1 programs"), "{text}");
    let (output, text) = workspace.run(&["--only", "nothing"]);
    assert_eq!(output.status.code(), Some(2), "{text}");
}

#[test]
fn a_row_may_say_how_many_tests_run_at_once() {
    let script = format!("echo \"arguments: $*.\"; {PASSED}");
    let workspace = Workspace::new(&[("four", &script)]);
    workspace.write_table("waits/four waiting 1 4\n");
    let (_, text) = workspace.run(&[]);
    assert!(text.contains("arguments: --test-threads=4."), "{text}");
}

#[test]
fn a_row_without_a_program_is_refused() {
    let workspace = Workspace::new(&[("good", PASSED)]);
    workspace.write_table("waits/gone waiting 1\n");
    let (output, text) = workspace.run(&[]);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("waits/gone, which is no program"), "{text}");
}
