//! A directory of a test's own that goes away with it.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A fresh directory under the system's place for temporary files.
#[derive(Debug)]
pub struct Scratch(TempDir);

impl Scratch {
    /// Makes the directory; `name` tells the reader of a listing which test it belongs to.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let folder = TempDir::with_prefix(format!("mpi-lite-{name}-"));
        Self(folder.unwrap_or_else(|error| panic!("cannot make a directory: {error}")))
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file into it and returns its path.
    pub fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, content)
            .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
        path
    }

    /// Writes a program into it, such as a script, and returns its path.
    pub fn program(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        write_program(&path, content.as_ref());
        path
    }
}

/// `install` writes it: a child that another thread starts meanwhile has the files of this process
/// until it runs its own program, and what somebody has open for writing cannot be executed.
fn write_program(path: &Path, content: &[u8]) {
    let mut install = install("/dev/stdin", path);
    let mut child = install.stdin(Stdio::piped()).spawn().expect("`install`");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(content).expect("it reads");
    drop(input);
    let status = child.wait().expect("our own child");
    assert!(status.success(), "cannot write {}", path.display());
}

/// Copies a program, which can be executed at once.
pub(crate) fn copy_program(from: &Path, to: &Path) {
    let status = install(from, to).status().expect("`install`");
    assert!(status.success(), "cannot write {}", to.display());
}

fn install(from: impl AsRef<OsStr>, to: &Path) -> Command {
    let mut install = Command::new("install");
    install.args(["-m", "755"]).arg(from).arg(to);
    install
}
