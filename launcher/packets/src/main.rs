//! `mpi-packets`: the packets that ranks have recorded, as files to look at.

use std::process::ExitCode;

fn main() -> ExitCode {
    packets::run(std::env::args_os().skip(1))
}
