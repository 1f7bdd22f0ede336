//! The installation under test and its compiler wrapper.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::scratch::Scratch;

/// Warnings are errors.
const STRICT: &[&str] = &["-std=c99", "-Wall", "-Wextra", "-Werror"];

/// The directory given to `make install PREFIX=...`.
///
/// # Panics
/// If `MPILITE_PREFIX` is not set or holds no installation.
#[must_use]
pub fn prefix() -> PathBuf {
    let Some(prefix) = std::env::var_os("MPILITE_PREFIX") else {
        panic!(
            "MPILITE_PREFIX is not set: these tests run against an installation; run `make test`, \
             or `make install PREFIX=/some/where` and MPILITE_PREFIX=/some/where cargo test"
        );
    };
    let prefix = PathBuf::from(prefix);
    for needed in [
        "bin/mpirun",
        "bin/mpicc",
        "lib/libmpi_abi.so.1",
        "include/mpi.h",
    ] {
        assert!(
            prefix.join(needed).exists(),
            "MPILITE_PREFIX={} holds no {needed}; `make install PREFIX={}` puts it there",
            prefix.display(),
            prefix.display()
        );
    }
    prefix
}

/// An installed program, such as `mpirun`.
#[must_use]
pub fn tool(name: &str) -> PathBuf {
    prefix().join("bin").join(name)
}

/// The root of the source tree.
#[must_use]
pub fn source_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the tests are a member of the workspace")
        .to_path_buf()
}

/// A C program of the source tree, named from its root.
#[must_use]
pub fn c_source(path: &str) -> PathBuf {
    source_root().join(path)
}

/// Compiles one C file with the installed `mpicc`, warnings being errors.
///
/// # Errors
/// What the compiler said.
pub fn compile(source: &Path, scratch: &Scratch) -> Result<PathBuf, String> {
    compile_with(source, scratch, STRICT)
}

/// Compiles the C file at this path of the source tree.
///
/// # Panics
/// If it cannot be compiled; says what the compiler said.
#[must_use]
pub fn build(path: &str, scratch: &Scratch) -> PathBuf {
    build_with(path, scratch, &[])
}

/// Compiles the C file at this path of the source tree with more flags.
///
/// # Panics
/// If it cannot be compiled; says what the compiler said.
#[must_use]
pub fn build_with(path: &str, scratch: &Scratch, flags: &[&str]) -> PathBuf {
    let flags = [STRICT, flags].concat();
    compile_with(&c_source(path), scratch, &flags).unwrap_or_else(|why| panic!("{why}"))
}

fn compile_with(source: &Path, scratch: &Scratch, flags: &[&str]) -> Result<PathBuf, String> {
    let name: Vec<_> = source
        .with_extension("")
        .iter()
        .rev()
        .take(2)
        .map(lossy)
        .collect();
    let binary = scratch
        .path()
        .join(name.into_iter().rev().collect::<Vec<_>>().join("."));
    let output = Command::new(tool("mpicc"))
        .args(flags)
        .args(["-O2", "-pthread", "-o"])
        .arg(&binary)
        .arg(source)
        .output()
        .map_err(|error| format!("cannot run {}: {error}", tool("mpicc").display()))?;
    if output.status.success() {
        return Ok(binary);
    }
    Err(format!(
        "mpicc {} failed:\n{}",
        source.display(),
        String::from_utf8_lossy(&output.stderr)
    ))
}

fn lossy(part: &std::ffi::OsStr) -> String {
    part.to_string_lossy().into_owned()
}
