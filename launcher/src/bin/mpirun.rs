//! `mpirun`, also installed as `mpiexec`.

use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;

use launcher::cli::args::parse;
use launcher::cli::help;
use launcher::cli::info::{self, Build};
use launcher::cli::request::Request;
use launcher::failure::{Failure, OUTPUT_LOST};
use launcher::remote::agent;
use launcher::server;

/// As `make build` knows it. It is here, so that a commit makes nothing else be built again.
const BUILD: Build = Build {
    commit: option_env!("MPILITE_BUILD_COMMIT"),
    compiler: option_env!("MPILITE_BUILD_COMPILER"),
};

fn main() -> ExitCode {
    let answer = match parse(std::env::args_os().skip(1)) {
        Ok(Request::Run(options)) => server::run(&options),
        Ok(Request::Agent) => agent::serve().map(|()| 0),
        Ok(Request::Help) => say(&help::text()),
        Ok(Request::Version) => say(&info::version()),
        Ok(Request::Info) => say(&info::text(BUILD)),
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

/// Writes to standard output. A reader that takes only the beginning (`mpirun --help | head -1`)
/// causes no error.
fn say(text: &str) -> Result<u8, Failure> {
    let mut stdout = std::io::stdout();
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure {
            code: OUTPUT_LOST,
            text: format!("cannot write the output: {error}"),
        }),
        _ => Ok(0),
    }
}
