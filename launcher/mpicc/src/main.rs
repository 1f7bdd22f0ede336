//! `mpicc` and, under their names, the wrappers for the other languages.

use std::process::ExitCode;

fn main() -> ExitCode {
    wrappers::run(std::env::args_os().collect())
}
