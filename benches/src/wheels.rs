//! The newest MPIs, as wheels from the Python Package Index, each in a virtual environment of its
//! own below `target/compare`. They stay there for the next comparison.

use std::path::PathBuf;
use std::process::Command;

use mpi_lite_tests::c_source;

use crate::contender::LAUNCHER;

/// Words: the seconds that it may take, the folder, then those of `pip install`.
const SCRIPT: &str = r#"set -e
patience=$1 folder=$2
shift 2
timeout "$patience" python3 -m venv "$folder"
timeout "$patience" "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$@""#;
const PATIENCE_S: &str = "120";

/// The folder in which the MPI of this name is, or would be.
pub(crate) fn folder(name: &str) -> PathBuf {
    c_source("target/compare/wheels").join(name)
}

/// The folder in which the MPI of this name is installed, by these words of `pip install`.
///
/// # Errors
/// Why it cannot be had, in a line for humans.
pub(crate) fn install(name: &str, words: &[&str]) -> Result<PathBuf, String> {
    let folder = folder(name);
    if folder.join(LAUNCHER).exists() {
        return Ok(folder);
    }
    eprintln!("compare: looking for the newest {name} on PyPI");
    let output = Command::new("sh")
        .args(["-c", SCRIPT, "wheels", PATIENCE_S])
        .arg(&folder)
        .args(words)
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() && folder.join(LAUNCHER).exists() {
        return Ok(folder);
    }
    // Half an installation would be taken for a whole one.
    let _ = std::fs::remove_dir_all(&folder);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let last = said.lines().rfind(|line| !line.trim().is_empty());
    Err(last.unwrap_or("no python3, or no network").to_owned())
}
