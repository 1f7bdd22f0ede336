//! `make laboratory`: the experiments of the papers, for all transports of mpi-lite.
//!
//! Writes `docs/laboratory.md` and `docs/laboratory/`; `QUICK=1` and `ONLY=ping-pong,path` write to
//! `target/laboratory`. `AGAIN=1` measures nothing and writes the page of the figures that are
//! kept.

use std::process::ExitCode;

use mpi_lite_benches::laboratory::Laboratory;

fn run() -> Result<(), String> {
    let laboratory = Laboratory::from_environment();
    let again = std::env::var("AGAIN").is_ok_and(|it| !matches!(&*it, "" | "0"));
    let kept = if again {
        laboratory
            .kept()
            .map_err(|error| format!("no figures to draw: {error}"))?
    } else {
        laboratory.measure()?
    };
    let page = laboratory.write(&kept).map_err(|error| error.to_string())?;
    println!(
        "laboratory: {:.0} s, written to {}",
        kept.took_s,
        page.display()
    );
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("laboratory: {why}");
            ExitCode::FAILURE
        }
    }
}
