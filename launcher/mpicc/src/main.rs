//! `mpicc`, under their names the wrappers for the other languages, and `mpi-packets`: the most of
//! a small program is Rust's standard library, so an installation has one program for both.
//! `--called-as=NAME` in front of all words does what a link of this name does, where there are no
//! links: in a wheel.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words = named(std::env::args_os().collect());
    let name = words.first().and_then(|word| Path::new(word).file_name());
    match name.is_some_and(|name| name == "mpi-packets") {
        true => packets::run(words.into_iter().skip(1)),
        false => wrappers::run(words),
    }
}

/// The words of the command line, the first one as `--called-as` says.
fn named(mut words: Vec<OsString>) -> Vec<OsString> {
    let name = words
        .get(1)
        .and_then(|word| word.to_str()?.strip_prefix("--called-as="));
    if let Some(name) = name.map(OsString::from) {
        words.splice(..2, [name]);
    }
    words
}
