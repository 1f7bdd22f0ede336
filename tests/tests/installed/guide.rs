//! Each page of `docs/guide` is run by a test: its commands succeed and print what it shows.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use mpi_lite_tests::guide::{Page, pages};
use mpi_lite_tests::{Job, Scratch, SshServer, prefix, source_root, tool};

/// Each page, and the file of the test that runs it.
const RUN_BY: [(&str, &str); 7] = [
    ("first-program.md", "tests/tests/installed/guide.rs"),
    ("files.md", "tests/tests/installed/guide.rs"),
    ("windows.md", "tests/tests/installed/guide.rs"),
    ("several-machines.md", "tests/tests/installed/guide.rs"),
    ("slurm.md", "tests/tests/schedulers.rs"),
    ("python.md", "tests/tests/schedulers.rs"),
    ("kubernetes.md", "launcher/tests/mpirun/kubernetes.rs"),
];

/// The index has no commands.
const INDEX: &str = "README.md";

/// What the stand-in for two machines makes mpirun say.
const ONE_MACHINE: &str = "mpirun: hosts n1 and n2 are the same machine";

#[test]
fn each_page_of_the_guide_has_commands_and_a_test_that_runs_them() {
    let known = RUN_BY.map(|(page, _)| page.to_owned());
    let known: BTreeSet<_> = known.into_iter().chain([INDEX.to_owned()]).collect();
    assert_eq!(pages(), known);
    for (page, test) in RUN_BY {
        assert!(!Page::read(page).is_empty(), "{page} has no commands");
        let text = fs::read_to_string(source_root().join(test)).expect(test);
        let reads = [format!("Page::read(\"{page}\")"), format!("guide/{page}")];
        assert!(reads.iter().any(|it| text.contains(it)), "{test}: {page}");
        let index = fs::read_to_string(source_root().join("docs/guide").join(INDEX));
        assert!(
            index.expect(INDEX).contains(&format!("]({page})")),
            "{page}"
        );
    }
    assert!(Page::read(INDEX).is_empty());
}

/// These folders, then those of the test itself.
fn path(folders: &[&Path]) -> OsString {
    let own = std::env::var_os("PATH").unwrap_or_default();
    let folders = folders.iter().map(|folder| folder.to_path_buf());
    std::env::join_paths(folders.chain(std::env::split_paths(&own))).expect("plain folders")
}

#[test]
fn the_page_of_the_first_program_is_right() {
    let (home, scratch) = (Scratch::new("home"), Scratch::new("guide"));
    fs::create_dir(home.path().join(".local")).expect("a folder");
    symlink(prefix(), home.path().join(".local/mpi-lite")).expect("a link");
    let shell = |script: &Path| Job::new("sh").arg(script).env("HOME", home.path());
    Page::read("first-program.md").run(scratch.path(), shell, "");
}

/// Runs a page with the installed tools on the path.
fn run_with_tools(page: &Page) {
    let scratch = Scratch::new("guide");
    let tools = tool("mpirun");
    let path = path(&[tools.parent().expect("bin")]);
    let shell = |script: &Path| Job::new("sh").arg(script).env("PATH", &path);
    page.run(scratch.path(), shell, "");
}

#[test]
fn the_page_of_files_is_right() {
    run_with_tools(&Page::read("files.md"));
}

#[test]
fn the_page_of_windows_is_right() {
    run_with_tools(&Page::read("windows.md"));
}

#[test]
fn the_page_of_several_machines_is_right() {
    let server = SshServer::start();
    let scratch = Scratch::new("guide");
    let folder = scratch.path();
    let bin = Scratch::new("bin");
    let client = server.files.client();
    let own = std::env::var("PATH").expect("text");
    let text = format!(
        "#!/bin/sh\nPATH='{own}' exec '{}' \"$@\"\n",
        client.display()
    );
    bin.program("ssh", text);
    let tools = tool("mpirun");
    let path = path(&[bin.path(), tools.parent().expect("bin")]);
    let shell = |script: &Path| Job::new("sh").arg(script).env("PATH", &path);
    // The program of the first page.
    Page::read("first-program.md").run(folder, shell, "");
    Page::read("several-machines.md").run(folder, shell, ONE_MACHINE);
    let calls = server.files.calls().expect("ssh was called");
    assert!(calls.contains("n2"), "{calls}");
}
