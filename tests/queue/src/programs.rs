//! The test programs, as cargo names them after their build.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// The name of the tests in the documentation.
const DOCUMENTATION: &str = "documentation";

/// A program that runs tests.
pub(crate) struct Program {
    /// The package's folder and the target, such as `launcher/stall`; `launcher/lib` has the tests
    /// in the library, `launcher/bin/mpirun` those in a program.
    pub(crate) name: String,
    /// The program and its arguments.
    pub(crate) command: Vec<OsString>,
    /// The package's folder: the working directory.
    pub(crate) folder: PathBuf,
}

fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Builds the tests and returns their programs.
pub(crate) fn build(arguments: &[String]) -> Result<Vec<Program>, String> {
    let output = Command::new(cargo())
        .args([
            "test",
            "--no-run",
            "--message-format=json-render-diagnostics",
        ])
        .args(arguments)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo cannot be started: {error}"))?;
    if !output.status.success() {
        return Err(format!("the tests cannot be built: {}", output.status));
    }
    let root = std::env::current_dir().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text
        .lines()
        .filter_map(|line| program(&root, line))
        .collect())
}

/// The tests in the documentation, of which rustdoc makes programs.
pub(crate) fn documentation(arguments: &[String]) -> Program {
    let mut command = vec![cargo(), "test".into(), "--doc".into()];
    command.extend(arguments.iter().map(OsString::from));
    Program {
        name: DOCUMENTATION.into(),
        command,
        folder: ".".into(),
    }
}

/// The program that a line of cargo's messages is about, if it is about one with tests.
fn program(root: &Path, line: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(line).ok()?;
    if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
        return None;
    }
    let executable = message["executable"].as_str()?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    let kinds = message["target"]["kind"].as_array()?;
    let name = message["target"]["name"].as_str()?;
    let target = match kinds.first()?.as_str()? {
        "test" => name.into(),
        "bin" => format!("bin/{name}"),
        _ => "lib".into(),
    };
    let package = folder.strip_prefix(root).unwrap_or(folder);
    Some(Program {
        name: format!("{}/{target}", package.display()),
        command: vec![executable.into()],
        folder: folder.into(),
    })
}
