//! `make plots`: draws `docs/plots` again from the figures that `make compare` kept beside them.

use std::process::ExitCode;

use mpi_lite_benches::{plots_folder, redraw};

fn main() -> ExitCode {
    let folder = plots_folder();
    match redraw(&folder) {
        Ok(count) => {
            println!("{count} pictures drawn in {}", folder.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("plots: {}: {error}", folder.display());
            ExitCode::FAILURE
        }
    }
}
