//! `mpirun`, also installed as `mpiexec`.

use std::io::Write as _;
use std::process::ExitCode;

use launcher::args::{HELP, Request, parse};
use launcher::{agent, server};

fn main() -> ExitCode {
    let answer = match parse(std::env::args_os().skip(1)) {
        Ok(Request::Run(options)) => server::run(&options),
        Ok(Request::Agent) => agent::serve().map(|()| 0),
        Ok(Request::Help) => {
            say(HELP);
            Ok(0)
        }
        Ok(Request::Version) => {
            say(concat!(
                "mpirun (mpi-lite) ",
                env!("CARGO_PKG_VERSION"),
                "\n"
            ));
            Ok(0)
        }
        Err(failure) => Err(failure),
    };
    match answer {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            // Nothing can be done if nobody listens.
            let _ = writeln!(std::io::stderr(), "mpirun: {failure}");
            ExitCode::from(failure.code)
        }
    }
}

/// Who reads only the beginning (`mpirun --help | head -1`) is served.
fn say(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}
