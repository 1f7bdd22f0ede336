//! `mpicc`, under their names the wrappers for the other languages, and `mpi-packets`: the most of
//! a small program is Rust's standard library, so an installation has one program for both.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    let name = words.first().and_then(|word| Path::new(word).file_name());
    match name.is_some_and(|name| name == "mpi-packets") {
        true => packets::run(words.into_iter().skip(1)),
        false => wrappers::run(words),
    }
}
