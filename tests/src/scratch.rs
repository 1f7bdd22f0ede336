//! A directory of a test's own that goes away with it.

use std::path::{Path, PathBuf};

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
}
