//! The wheel that `make wheel` makes of an installation, in an environment of its own.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use mpi_lite_tests::{Job, Scratch, c_source, prefix, source_root};

const HELLO: &str = "tests/c/tools/hello.c";
const HELLO_CXX: &str = "tests/c/tools/hello.cpp";

/// Runs a command that must succeed. Returns what it printed.
fn run(program: impl AsRef<Path>, words: &[&str]) -> String {
    let program = program.as_ref();
    let output = Command::new(program).args(words).output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    let what = program.display();
    assert!(
        output.status.success(),
        "{what} {words:?} failed: {stdout}{stderr}"
    );
    stdout
}

fn words(paths: &[&Path]) -> Vec<String> {
    paths
        .iter()
        .map(|path| path.to_str().expect("a path of text").to_owned())
        .collect()
}

/// Makes the wheel of the installation.
fn make(folder: &Path) -> PathBuf {
    let script = source_root().join("launcher/dist/wheel.py");
    let words = words(&[&script, &prefix(), folder]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    PathBuf::from(run("python3", &words).trim_end())
}

/// All files below a folder, but what Python keeps of its modules.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.is_dir() && !path.is_symlink() {
                true if path.ends_with("__pycache__") => {}
                true => folders.push(path),
                false => _ = found.insert(path),
            }
        }
    }
    found
}

#[test]
fn a_wheel_is_the_same_each_time() {
    let scratch = Scratch::new("wheel-twice");
    let [one, other] = ["one", "other"].map(|name| make(&scratch.path().join(name)));
    assert_eq!(one.file_name(), other.file_name());
    assert!(std::fs::read(one).expect("a wheel") == std::fs::read(other).expect("a wheel"));
}

#[test]
fn pip_puts_a_wheel_into_an_environment_and_takes_all_of_it_away() {
    let scratch = Scratch::new("wheel");
    let wheel = make(scratch.path());
    let environment = scratch.path().join("an environment");
    let shown = environment.to_str().expect("a path of text");
    run("python3", &["-m", "venv", shown]);
    let before = files(&environment);
    let tool = |name: &str| environment.join("bin").join(name);
    let pip = |words: &[&str]| {
        let all = [&["-m", "pip", "--disable-pip-version-check"], words].concat();
        run(tool("python"), &all)
    };
    pip(&[
        "install",
        "--no-index",
        "--no-deps",
        wheel.to_str().expect("a path of text"),
    ]);
    // PyPI's mpi4py looks for these.
    for name in ["libmpi.so.12", "libmpich.so.12"] {
        assert!(environment.join("lib").join(name).is_file(), "{name}");
    }
    for (compiler, source, abi) in [
        ("mpicc", HELLO, "standard"),
        ("mpicxx", HELLO_CXX, "standard"),
        ("mpicc", HELLO, "mpich"),
        ("mpicxx", HELLO_CXX, "mpich"),
    ] {
        let binary = scratch.path().join(format!("{compiler}-{abi}"));
        let source = c_source(source);
        let option = format!("--abi={abi}");
        let words = words(&[&source, Path::new("-o"), &binary]);
        let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
        // Build systems that know other libraries name this one.
        words.extend(["-lmpi", &option]);
        run(tool(compiler), &words);
        for launcher in ["mpirun", "mpiexec"] {
            let job = Job::new(tool(launcher)).args(["-n", "2"]).arg(&binary);
            let outcome = job.run().expect_code(0);
            let _ = outcome
                .expect_stdout("hello from 0 of 2")
                .expect_stdout("hello from 1 of 2");
        }
    }
    pip(&["uninstall", "-y", "mpi-lite"]);
    let left: Vec<_> = files(&environment).difference(&before).cloned().collect();
    assert!(left.is_empty(), "{left:?}");
}
