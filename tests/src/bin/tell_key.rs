//! A rank that shows the job's key, which no program should, and is done: a test then looks for
//! these bytes where they must not be.

use std::process::ExitCode;

use mpi_lite::boot::state::RankState;
use mpi_lite::boot::{Boot, BootError};

fn tell() -> Result<(), BootError> {
    let mut boot = Boot::from_environment()?;
    let key = boot.assignment().key.bytes().iter();
    println!(
        "key {}",
        key.map(|byte| format!("{byte:02x}")).collect::<String>()
    );
    boot.exchange(&[], &RankState::default)?;
    boot.finalized()
}

fn main() -> ExitCode {
    match tell() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
