//! Compiling and running C programs against the header and the library of this tree.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

/// The C of the header's promise.
pub(crate) const C99: &[&str] = &["cc", "-std=c99", "-x", "c"];

/// What links a program with the library that cargo built beside this test.
pub(crate) fn library() -> [String; 2] {
    static LINKED: OnceLock<[String; 2]> = OnceLock::new();
    let link = || {
        let test = std::env::current_exe().expect("a running program has a path");
        let built = test.with_file_name("libmpi_abi.so");
        // Programs look for the soname.
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let _ = std::fs::remove_file(dir.join("libmpi_abi.so.1"));
        std::os::unix::fs::symlink(&built, dir.join("libmpi_abi.so.1"))
            .expect("the target directory is writable");
        [
            built.display().to_string(),
            format!("-Wl,-rpath,{}", dir.display()),
        ]
    };
    LINKED.get_or_init(link).clone()
}

/// Compiles `source` without a warning and with `extra` arguments; returns the program.
pub(crate) fn compile(name: &str, compiler: &[&str], source: &str, extra: &[String]) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let input = dir.join(format!("{name}.c"));
    let output = dir.join(name);
    std::fs::write(&input, source).expect("the target directory is writable");
    let result = Command::new(compiler[0])
        .args(&compiler[1..])
        .args(["-Wall", "-Wextra", "-pedantic", "-Werror", "-O0", "-I"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../include"))
        .arg(&input)
        .args(["-x", "none"])
        .args(extra)
        .arg("-o")
        .arg(&output)
        .stderr(Stdio::piped())
        .output()
        .unwrap_or_else(|error| panic!("the tests need {}: {error}", compiler[0]));
    assert!(
        result.status.success(),
        "{}",
        String::from_utf8_lossy(&result.stderr)
    );
    output
}

/// Checks that a compiler has nothing to say of `source`; makes no program.
pub(crate) fn check(compiler: &[&str], source: &str) {
    let mut check = Command::new(compiler[0])
        .args(&compiler[1..])
        .args([
            "-Wall",
            "-Wextra",
            "-pedantic",
            "-Werror",
            "-fsyntax-only",
            "-I",
        ])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../include"))
        .arg("-")
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("the tests need {}: {error}", compiler[0]));
    let mut input = check.stdin.take().expect("it is a pipe");
    input.write_all(source.as_bytes()).expect("it reads all");
    drop(input);
    let output = check.wait_with_output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{compiler:?}: {said}");
}

/// Runs `program`.
pub(crate) fn run(program: &Path, args: &[&str]) -> Output {
    Command::new(program)
        .args(args)
        .output()
        .expect("the program was just built")
}
