//! The newest MPIs, as wheels from the Python Package Index, each in a virtual environment of its
//! own below `target/compare`. They stay there for the next comparison.

use std::path::PathBuf;
use std::process::Command;

use mpi_lite_tests::c_source;

/// Words: the seconds that it may take, the folder, the name of the wheel.
const SCRIPT: &str = r#"set -e
timeout "$1" python3 -m venv "$2"
timeout "$1" "$2/bin/python" -m pip install --quiet --disable-pip-version-check "$3""#;
const PATIENCE_S: &str = "120";

/// The folder in which the wheel of this name is installed.
///
/// # Errors
/// Why it cannot be had, in a line for humans.
pub(crate) fn install(name: &str) -> Result<PathBuf, String> {
    let folder = c_source("target/compare/wheels").join(name);
    if folder.join("bin/mpirun").exists() {
        return Ok(folder);
    }
    eprintln!("compare: looking for the newest {name} on PyPI");
    let output = Command::new("sh")
        .args(["-c", SCRIPT, "wheels", PATIENCE_S])
        .arg(&folder)
        .arg(name)
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() && folder.join("bin/mpirun").exists() {
        return Ok(folder);
    }
    // Half an installation would be taken for a whole one.
    let _ = std::fs::remove_dir_all(&folder);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let last = said.lines().rfind(|line| !line.trim().is_empty());
    Err(last.unwrap_or("no python3, or no network").to_owned())
}
