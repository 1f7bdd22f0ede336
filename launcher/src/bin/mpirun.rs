//! `mpirun`, also installed as `mpiexec`.

use std::process::ExitCode;

use launcher::args::{HELP, Request, parse};
use launcher::{agent, server};

fn main() -> ExitCode {
    let answer = match parse(std::env::args_os().skip(1)) {
        Ok(Request::Run(options)) => server::run(&options),
        Ok(Request::Agent) => agent::serve().map(|()| 0),
        Ok(Request::Help) => {
            print!("{HELP}");
            Ok(0)
        }
        Ok(Request::Version) => {
            println!("mpirun (mpi-lite) {}", env!("CARGO_PKG_VERSION"));
            Ok(0)
        }
        Err(failure) => Err(failure),
    };
    match answer {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            eprintln!("mpirun: {failure}");
            ExitCode::from(failure.code)
        }
    }
}
