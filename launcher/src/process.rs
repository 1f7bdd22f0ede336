//! What a process of the launcher does to itself at its start.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::failure::Failure;
use crate::node::{DESCRIPTORS_OF_NODE, Inherited, inherited_descriptors};
use crate::signals::{Children, Signals};

/// What a process of the launcher has of itself.
pub(crate) struct Prepared {
    pub(crate) signals: Signals,
    pub(crate) children: Children,
    /// What was changed, and the ranks shall have as it was.
    pub(crate) inherited: Inherited,
}

/// Sets what we depend on, whoever has started us: the signals we watch, and the limit for open
/// files. Adopts orphans of the ranks. docs/mpirun.md lists all that is inherited.
pub(crate) fn prepare_process() -> Result<Prepared, Failure> {
    let children = Children::before_the_first();
    let descriptors = inherited_descriptors();
    let no_resources = |error| Failure::launch(format!("cannot start: {error}"));
    let files = getrlimit(Resource::RLIMIT_NOFILE).map_err(no_resources)?;
    if files.1 < DESCRIPTORS_OF_NODE {
        return Err(Failure::launch(format!(
            "mpirun needs {DESCRIPTORS_OF_NODE} open files and some for each rank, but the limit \
             is {} (ulimit -Hn): raise it with ulimit -n 1024, which may need root",
            files.1
        )));
    }
    let signals = Signals::watch().map_err(no_resources)?;
    // Where it cannot be raised the old limit stays, and is checked before ranks are started.
    setrlimit(Resource::RLIMIT_NOFILE, files.1, files.1).ok();
    nix::sys::prctl::set_child_subreaper(true).map_err(no_resources)?;
    // We have the job's key to the end: no core file of ours shall hold it. What we start writes
    // core files again (prctl(2): exec).
    nix::sys::prctl::set_dumpable(false).map_err(no_resources)?;
    let inherited = Inherited {
        signals: signals.inherited(),
        files,
        descriptors,
    };
    Ok(Prepared {
        signals,
        children,
        inherited,
    })
}
