//! `make install` and `make uninstall`: where they write, what they leave, how large it is. They
//! install what `make stage` built.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use mpi_lite_tests::{Job, Scratch, c_source, source_root};

/// Runs `make`. The variables of a `make` that runs the tests do not reach it.
fn make(target: &str, variables: &[&str]) -> Output {
    let mut command = Command::new("make");
    command.args(["--no-print-directory", "-C"]);
    command.arg(source_root()).arg(target).args(variables);
    for name in ["MAKEFLAGS", "MFLAGS", "MAKELEVEL", "DESTDIR", "DEBUG"] {
        command.env_remove(name);
    }
    output(&mut command)
}

fn output(command: &mut Command) -> Output {
    let output = command.env("LC_ALL", "C").output();
    output.unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

fn text(command: &mut Command) -> String {
    let output = output(command);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed: {stderr}");
    assert_eq!(stderr, "", "{command:?} complains");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What `make` printed on standard error, without its own line about the failed recipe.
fn complaint(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let ours = stderr.lines().filter(|line| !line.starts_with("make: ***"));
    ours.collect::<Vec<_>>().join("\n")
}

/// Installs what is built.
fn install(prefix: &Path, more: &[&str]) {
    let prefix = format!("PREFIX={}", prefix.display());
    let output = make("install-built", &[&[&*prefix], more].concat());
    assert!(output.status.success(), "{}", complaint(&output));
    assert_eq!(complaint(&output), "");
}

/// Uninstalls and returns what was said about it.
fn uninstall(prefix: &Path, more: &[&str]) -> String {
    let prefix = format!("PREFIX={}", prefix.display());
    let output = make("uninstall", &[&[&*prefix], more].concat());
    assert!(output.status.success(), "{}", complaint(&output));
    complaint(&output)
}

/// Every file, link and folder below this folder.
fn tree(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{folder:?}: {e}"));
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() && !path.is_symlink() {
                open.push(path.clone());
            }
            found.insert(path);
        }
    }
    found
}

fn names_in(folder: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    entries.flatten().map(|entry| entry.path()).collect()
}

/// Compiles a program with this installation's `mpicc` and runs it with its `mpirun`.
fn say_hello(prefix: &Path, scratch: &Scratch, flags: &[&str]) {
    let binary = scratch.path().join("hello");
    let mut compiler = Command::new(prefix.join("bin/mpicc"));
    compiler.arg(c_source("tests/c/tools/hello.c"));
    text(compiler.args(flags).arg("-o").arg(&binary));
    let job = Job::new(prefix.join("bin/mpirun")).args(["-n", "2"]);
    let outcome = job.arg(binary).run().expect_code(0);
    drop(outcome.expect_stdout("hello from 1 of 2"));
}

#[test]
fn the_source_folder_is_refused_in_one_line_and_nothing_is_written() {
    let scratch = Scratch::new("refused");
    let root = source_root().canonicalize().expect("the source folder");
    let link = scratch.path().join("link");
    symlink(&root, &link).expect("a link");
    let plain = root.display().to_string();
    let spellings = [
        plain.clone(),
        format!("{plain}/"),
        format!("{plain}/launcher/.."),
        format!("{plain}/none/.."),
        link.display().to_string(),
        ".".into(),
        String::new(),
    ];
    let before = names_in(&root);
    for spelling in spellings {
        for target in ["install", "install-built", "uninstall"] {
            let output = make(target, &[&format!("PREFIX={spelling}")]);
            let complaint = complaint(&output);
            assert!(!output.status.success(), "{target} PREFIX={spelling}");
            assert_eq!(complaint.lines().count(), 1, "{complaint}");
            assert!(complaint.contains("is the source folder"), "{complaint}");
            assert_eq!(String::from_utf8_lossy(&output.stdout), "");
        }
    }
    assert_eq!(names_in(&root), before);
}

#[test]
fn a_program_runs_from_a_prefix_with_a_blank() {
    let scratch = Scratch::new("blank");
    let prefix = scratch.path().join("my mpi");
    install(&prefix, &[]);
    say_hello(&prefix, &scratch, &[]);
    say_hello(&prefix, &scratch, &["-static-mpi"]);
    assert_eq!(uninstall(&prefix, &[]), "");
    assert!(!prefix.exists());
}

#[test]
fn everything_goes_below_destdir_also_with_a_blank() {
    let scratch = Scratch::new("destdir");
    let stage = scratch.path().join("a package");
    let prefix = scratch.path().join("opt/mpi");
    let variable = format!("DESTDIR={}", stage.display());
    install(&prefix, &[&variable]);
    assert!(!prefix.exists());
    let inside = stage.join(prefix.strip_prefix("/").expect("an absolute path"));
    say_hello(&inside, &scratch, &[]);
    assert_eq!(uninstall(&prefix, &[&variable]), "");
    assert!(!inside.exists());
}

#[test]
fn uninstall_removes_what_was_installed_and_nothing_else() {
    let scratch = Scratch::new("uninstall");
    let prefix = scratch.path().join("mpi");
    install(&prefix, &[]);
    let added = [
        prefix.join("bin/another"),
        prefix.join("lib/pkgconfig/another.pc"),
    ];
    let replaced = [prefix.join("bin/mpirun"), prefix.join("bin/mpif77")];
    for file in &added {
        fs::write(file, "foreign").expect("a file");
    }
    fs::remove_file(&replaced[0]).expect("our mpirun");
    fs::write(&replaced[0], "foreign").expect("a file");
    fs::remove_file(&replaced[1]).expect("our mpif77");
    symlink("another", &replaced[1]).expect("a link");

    let notes = uninstall(&prefix, &[]);
    assert_eq!(notes.lines().count(), replaced.len(), "{notes}");
    for file in &replaced {
        let note = format!("{} is no longer what was installed", file.display());
        assert!(notes.contains(&note), "{notes}");
    }
    let folders = ["bin", "lib", "lib/pkgconfig"].map(|folder| prefix.join(folder));
    let expected: BTreeSet<_> = added.into_iter().chain(replaced).chain(folders).collect();
    assert_eq!(tree(&prefix), expected);

    let again = make("uninstall", &[&format!("PREFIX={}", prefix.display())]);
    assert!(!again.status.success(), "nothing is left to uninstall");
    let complaint = complaint(&again);
    assert!(
        complaint.contains("no mpi-lite is installed"),
        "{complaint}"
    );
    assert_eq!(tree(&prefix), expected);
}

#[test]
fn a_second_installation_leaves_nothing_of_the_first() {
    let scratch = Scratch::new("twice");
    let [twice, once] = ["twice", "once"].map(|name| scratch.path().join(name));
    install(&twice, &[]);
    install(&twice, &["DEBUG=no"]);
    install(&once, &["DEBUG=no"]);
    let relative = |prefix: &Path| -> BTreeSet<PathBuf> {
        let inside = |path: PathBuf| path.strip_prefix(prefix).expect("below").to_path_buf();
        tree(prefix).into_iter().map(inside).collect()
    };
    assert_eq!(relative(&twice), relative(&once));
    assert_eq!(uninstall(&twice, &[]), "");
    assert!(!twice.exists());
}

/// The bound is for the profile of `Cargo.toml`; a build that variables have changed is larger.
#[test]
fn an_installation_without_debug_information_has_at_most_16_megabytes() {
    let scratch = Scratch::new("size");
    let prefix = scratch.path().join("mpi");
    install(&prefix, &["DEBUG=no"]);
    let size = |path: &PathBuf| path.symlink_metadata().expect("it is there").len();
    let total: u64 = tree(&prefix).iter().map(size).sum();
    let mut variables = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
    let changes = ["CARGO_PROFILE_", "CARGO_INCREMENTAL"];
    let is_changed = variables.any(|name| changes.iter().any(|start| name.starts_with(start)));
    let bound = if is_changed { 20_000_000 } else { 16_000_000 };
    assert!(
        total <= bound,
        "{total} bytes; what was set for the build must be set here as well: {changes:?}"
    );
}

/// The file and line of a function, as tools find them.
fn place_of_send(library: &Path) -> String {
    let names = text(Command::new("nm").arg("-D").arg(library));
    let line = names.lines().find(|line| line.ends_with(" PMPI_Send"));
    let address = line.and_then(|line| line.split(' ').next());
    let mut command = Command::new("addr2line");
    text(command.arg("-e").arg(library).args(address))
}

#[test]
fn debug_information_lies_beside_the_library_and_belongs_to_it() {
    let scratch = Scratch::new("debug");
    let prefix = scratch.path().join("mpi");
    let library = prefix.join("lib/libmpi_abi.so");
    install(&prefix, &[]);
    for file in ["bin/mpirun", "bin/mpicc", "lib/libmpi_abi.so"] {
        let sections = text(Command::new("readelf").arg("-SW").arg(prefix.join(file)));
        assert!(!sections.contains(" .debug_info "), "{file}: {sections}");
    }
    let found = place_of_send(&library);
    assert!(found.contains(".rs:"), "{found}");
    install(&prefix, &["DEBUG=no"]);
    let found = place_of_send(&library);
    assert!(!found.contains(".rs:"), "{found}");
}

#[test]
fn man_finds_the_pages_beside_the_programs_and_renders_them() {
    let scratch = Scratch::new("man");
    let prefix = scratch.path().join("mpi");
    install(&prefix, &["DEBUG=no"]);
    let path = std::env::var("PATH").expect("a PATH");
    let path = format!("{}:{path}", prefix.join("bin").display());
    for (name, word) in [
        ("mpirun", "--transport"),
        ("mpiexec", "--transport"),
        ("mpicc", "-static-mpi"),
        ("mpicxx", "-static-mpi"),
    ] {
        let mut man = Command::new("man");
        man.args(["--warnings", "-P", "cat", name]);
        let page = text(man.env("PATH", &path).env("MANWIDTH", "80"));
        assert!(page.contains(word), "man {name}: {page}");
    }
}

#[test]
fn the_completions_are_scripts_of_bash() {
    let scratch = Scratch::new("completion");
    let prefix = scratch.path().join("mpi");
    install(&prefix, &["DEBUG=no"]);
    for name in ["mpirun", "mpiexec"] {
        let file = prefix.join("share/bash-completion/completions").join(name);
        text(Command::new("bash").arg("-n").arg(file));
    }
}
