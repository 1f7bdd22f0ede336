//! Opening and deleting files.
//!
//! Process 0 makes a file that is not there, and only it: so all open the same one, and each of
//! them learns what went wrong anywhere.
//!
//! Source: MPI 5.0, 14.2.1 and 14.2.3.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;

use nix::errno::Errno;
use parking_lot::Mutex;

use super::errors::{number, refused, wrong};
use super::file::{File, FileState, Inner};
use super::hints::Hints;
use super::mode::Mode;
use super::pointer::SharedPointer;
use super::storage::Disk;
#[cfg(test)]
use super::storage::Storage;
use super::viewed::Viewed;
use crate::coll::Told;
use crate::comm::{Communicator, Operation, number_of};
use crate::error::{Cause, Class, Result};

/// An open file of the system.
struct Opened {
    file: fs::File,
    can_read: bool,
    size: u64,
    /// This call has made it.
    is_new: bool,
    /// Its device, and its number there.
    identity: [u64; 2],
}

impl File {
    /// Opens a file for all processes of an intra-communicator, which is duplicated. Collective.
    ///
    /// # Errors
    /// `Amode`; `NotSame` if names or modes differ; what the system says to any process, in all of
    /// them.
    ///
    /// Source: MPI 5.0, 14.2.1.
    pub fn open(
        communicator: &Communicator,
        path: &Path,
        (mode, hints): (Mode, Hints),
    ) -> Result<Self> {
        if communicator.is_inter() {
            let why = "a file is not opened with an intercommunicator";
            return Err(Cause::Communicator(why).into());
        }
        let communicator = communicator.dup()?;
        let name: Box<str> = path.to_string_lossy().into();
        agree(&communicator, &name, (mode, &hints))?;
        mode.check()?;
        let opened = open_in_turn(&communicator, (path, &name), (mode, &hints))?;
        let pointer = SharedPointer::of(&communicator);
        let first = if mode.appends { opened.size } else { 0 };
        pointer.put(first);
        check_same(&communicator, (path, &name), opened.identity)?;
        let inner = Inner {
            communicator,
            name,
            path: std::path::absolute(path)
                .unwrap_or_else(|_| path.into())
                .into(),
            mode,
            can_read: opened.can_read,
            storage: Arc::new(Disk::new(opened.file, opened.can_read)),
            pointer,
            state: Mutex::new(FileState {
                seen: Arc::new(Viewed::bytes()),
                pointer: first,
                is_atomic: false,
                split: None,
                hints,
            }),
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }
}

fn tell(communicator: &Communicator, words: Vec<u64>) -> Result<Vec<Vec<u64>>> {
    let operation = Operation::FileOpen;
    communicator.run(&Told { operation, words })
}

/// Checks that all processes want the same.
fn agree(communicator: &Communicator, name: &str, (mode, hints): (Mode, &Hints)) -> Result<()> {
    let [domain, aggregators, is_collective] = hints.common();
    let mine = vec![mode.word(), domain, aggregators, is_collective];
    let all = tell(communicator, mine.clone())?;
    for (place, what) in [(0, "amode"), (1, "info"), (2, "info"), (3, "info")] {
        if let Some(rank) = all.iter().position(|theirs| theirs[place] != mine[place]) {
            let why = format!(
                "opening {name}: {what} differs between rank {} and rank {rank} of the \
                 communicator: all processes must pass the same",
                communicator.rank()
            );
            return Err(wrong(Class::NotSame, why));
        }
    }
    Ok(())
}

/// Checks that all processes have opened the same file. Names may differ that lead to it, and hosts
/// may give one file different numbers.
fn check_same(
    communicator: &Communicator,
    (path, name): (&Path, &str),
    identity: [u64; 2],
) -> Result<()> {
    let hash = number_of(path.as_os_str().as_encoded_bytes());
    let [device, number] = identity;
    let all = tell(communicator, vec![hash, device, number])?;
    let differs = |theirs: &Vec<u64>| theirs[0] != hash && theirs[1..] != identity;
    match all.iter().position(differs) {
        None => Ok(()),
        Some(rank) => Err(wrong(
            Class::NotSame,
            format!(
                "opening {name}: rank {rank} of the communicator has opened another file than \
                 rank {}: all processes must name the same one",
                communicator.rank()
            ),
        )),
    }
}

/// Opens the file in process 0, if it makes it, and then in all others.
fn open_in_turn(
    communicator: &Communicator,
    (path, name): (&Path, &str),
    (mode, hints): (Mode, &Hints),
) -> Result<Opened> {
    let is_first = communicator.rank() == 0;
    let mut opened = None;
    if mode.creates {
        if is_first {
            opened = Some(open_here(path, (mode, hints), true));
        }
        check(communicator, name, opened.as_ref())?;
    }
    let has_made = matches!(&opened, Some(Ok(opened)) if opened.is_new);
    let opened = opened.unwrap_or_else(|| open_here(path, (mode, hints), false));
    if let Err(error) = check(communicator, name, Some(&opened)) {
        if has_made {
            // The call fails, so it leaves no file. If that fails too, the first error counts.
            let _ = fs::remove_file(path);
        }
        return Err(error);
    }
    opened.map_err(|error| refused("opening", name, number(&error)))
}

/// Tells all processes how far this one is, and returns the error that any of them has.
fn check(
    communicator: &Communicator,
    name: &str,
    opened: Option<&io::Result<Opened>>,
) -> Result<()> {
    let words = match opened {
        Some(Err(error)) => vec![number(error) as u64],
        _ => vec![0],
    };
    let all = tell(communicator, words)?;
    let Some(rank) = all.iter().position(|words| words[0] != 0) else {
        return Ok(());
    };
    let errno = all[rank][0] as i32;
    let is_elsewhere = all[0][0] == 0 && errno == Errno::ENOENT as i32;
    let advice = match is_elsewhere {
        true => " (rank 0 has opened it: is it on a file system that all hosts share?)",
        false => "",
    };
    let doing = match all.len() {
        1 => "opening".into(),
        _ => format!("rank {rank} opening"),
    };
    let error = refused(&doing, name, errno);
    Err(wrong(error.class(), format!("{error}{advice}")))
}

/// Opens the file in this process.
fn open_here(path: &Path, (mode, hints): (Mode, &Hints), creates: bool) -> io::Result<Opened> {
    let open_as = |reads: bool, is_new: bool| {
        let mut options = OpenOptions::new();
        options.read(reads).write(mode.writes());
        if creates {
            options.mode(hints.permissions);
            match is_new {
                true => options.create_new(true),
                false => options.create(true),
            };
        }
        options.open(path)
    };
    let mut is_new = creates;
    let mut open = |reads: bool| match open_as(reads, is_new) {
        Err(error) if is_new && !mode.must_be_new && is_there(&error) => {
            is_new = false;
            open_as(reads, false)
        }
        opened => opened,
    };
    // Sieving reads what it writes back, so a file that is only written is opened for both.
    let (file, can_read) = match open(true) {
        Err(error) if mode.writes_only && is_forbidden(&error) => (open(false)?, false),
        opened => (opened?, true),
    };
    let about = file.metadata()?;
    if about.is_dir() {
        return Err(Errno::EISDIR.into());
    }
    let size = about.size();
    Ok(Opened {
        file,
        can_read,
        size,
        is_new,
        identity: [about.dev(), about.ino()],
    })
}

fn is_there(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AlreadyExists
}

fn is_forbidden(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

/// Deletes a file.
///
/// # Errors
/// What the system says.
///
/// Source: MPI 5.0, 14.2.3.
pub fn delete(path: &Path) -> Result<()> {
    fs::remove_file(path).map_err(|error| {
        let name = path.to_string_lossy();
        refused("deleting", &name, number(&error))
    })
}

/// For tests: a file of one process on any storage.
#[cfg(test)]
impl File {
    pub(super) fn on(communicator: &Communicator, storage: Arc<dyn Storage>, mode: Mode) -> Self {
        let communicator = communicator.dup().expect("a communicator of one process");
        let pointer = SharedPointer::of(&communicator);
        pointer.put(0);
        let inner = Inner {
            communicator,
            name: "memory".into(),
            path: Path::new("memory").into(),
            mode,
            can_read: true,
            storage,
            pointer,
            state: Mutex::new(FileState {
                seen: Arc::new(Viewed::bytes()),
                pointer: 0,
                is_atomic: false,
                split: None,
                hints: Hints::default(),
            }),
        };
        Self {
            inner: Arc::new(inner),
        }
    }
}
