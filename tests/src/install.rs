//! The installation under test.

use std::path::{Path, PathBuf};

/// The directory given to `make install PREFIX=...`.
///
/// # Panics
/// If `MPILITE_PREFIX` is not set or holds no installation.
#[must_use]
pub fn prefix() -> PathBuf {
    let Some(prefix) = std::env::var_os("MPILITE_PREFIX") else {
        panic!(
            "MPILITE_PREFIX is not set: these tests run against an installation; run `make test`, \
             or `make install PREFIX=/some/where` and MPILITE_PREFIX=/some/where cargo test"
        );
    };
    let prefix = PathBuf::from(prefix);
    for needed in [
        "bin/mpirun",
        "bin/mpicc",
        "lib/libmpi_abi.so.1",
        "include/mpi.h",
    ] {
        assert!(
            prefix.join(needed).exists(),
            "MPILITE_PREFIX={} holds no {needed}; `make install PREFIX={}` puts it there",
            prefix.display(),
            prefix.display()
        );
    }
    prefix
}

/// An installed program, such as `mpirun`.
#[must_use]
pub fn tool(name: &str) -> PathBuf {
    prefix().join("bin").join(name)
}

/// The root of the source tree.
#[must_use]
pub fn source_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the tests are a member of the workspace")
        .to_path_buf()
}

/// A C program of the source tree, named from its root.
#[must_use]
pub fn c_source(path: &str) -> PathBuf {
    source_root().join(path)
}
