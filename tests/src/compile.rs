//! C programs of the source tree, compiled by the installed `mpicc`. What was compiled is kept
//! below the folder of the build, as long as neither the program nor the installation changes: most
//! programs serve many tests.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::install::{c_source, prefix, tool};
use crate::scratch::{Scratch, copy_program};

/// Warnings are errors.
const STRICT: &[&str] = &["-std=c99", "-Wall", "-Wextra", "-Werror"];

/// What of the installation makes a program another one; its static library is none of them.
const PARTS: [&str; 4] = [
    "bin/mpicc",
    "include/mpi.h",
    "include/mpich/mpi.h",
    "lib/libmpi_abi.so.1",
];

/// With this flag a program has the library in itself, and is not kept.
const STATIC: &str = "-static-mpi";

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
    let parts: Vec<_> = source.iter().map(|part| part.to_string_lossy()).collect();
    let name = parts[parts.len().saturating_sub(2)..].join(".");
    let name = name.strip_suffix(".c").unwrap_or(&name);
    let binary = scratch.path().join(name);
    if flags.contains(&STATIC) {
        call_compiler(source, &binary, flags)?;
        return Ok(binary);
    }
    let kept = kept_folder().join(format!("{name}-{:016x}", key(source, flags)));
    if !kept.exists() {
        // Others may do the same now: the first one wins, since somebody may copy it already.
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let own = format!("{}-{number}", std::process::id());
        let beside = kept.with_extension(own);
        call_compiler(source, &beside, flags)?;
        match fs::hard_link(&beside, &kept) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(format!("{}: {error}", kept.display()));
            }
            _ => _ = fs::remove_file(&beside),
        }
    }
    copy_program(&kept, &binary);
    Ok(binary)
}

fn call_compiler(source: &Path, binary: &Path, flags: &[&str]) -> Result<(), String> {
    let output = Command::new(tool("mpicc"))
        .args(flags)
        .args(["-O2", "-pthread", "-o"])
        .arg(binary)
        .arg(source)
        .output()
        .map_err(|error| format!("cannot run {}: {error}", tool("mpicc").display()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "mpicc {} failed:\n{}",
        source.display(),
        String::from_utf8_lossy(&output.stderr)
    ))
}

/// What the program is made of, but for the installation.
fn key(source: &Path, flags: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (source, flags).hash(&mut hasher);
    hash_file(source, &mut hasher);
    for folder in source.ancestors().skip(1).take(2) {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut headers: Vec<_> = entries.map(|entry| entry.path()).collect();
        headers.retain(|path| path.extension().is_some_and(|ending| ending == "h"));
        headers.sort();
        for header in headers {
            hash_file(&header, &mut hasher);
        }
    }
    hasher.finish()
}

fn hash_file(path: &Path, hasher: &mut DefaultHasher) {
    let content = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    content.hash(hasher);
}

/// Where what was compiled with this installation is kept; programs of an older one go.
fn kept_folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let own = std::env::current_exe().expect("a program knows its file");
        let build = own.ancestors().nth(2).expect("target/debug/deps/own");
        let all = build.join("c-programs");
        let mut hasher = DefaultHasher::new();
        prefix().hash(&mut hasher);
        for part in PARTS {
            hash_file(&prefix().join(part), &mut hasher);
        }
        let folder = all.join(format!("{:016x}", hasher.finish()));
        fs::create_dir_all(&folder).expect("the build's folder is ours");
        let others = fs::read_dir(&all).into_iter().flatten().flatten();
        for other in others.map(|entry| entry.path()).filter(|it| *it != folder) {
            // Another process may do the same.
            let _ = fs::remove_dir_all(other);
        }
        folder
    })
}
