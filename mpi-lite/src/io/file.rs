//! An open file.
//!
//! Source: MPI 5.0, chapter 14.

use core::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use super::access::Manner;
use super::errors::{number, refused, wrong};
use super::hints::{Hints, aggregators};
use super::mode::Mode;
use super::pointer::SharedPointer;
use super::represent::Representation;
use super::storage::{Held, LockKind, Storage};
use super::view::{Order, View};
use super::viewed::{Parties, Viewed};
use crate::coll::Told;
use crate::comm::{Communicator, Operation};
use crate::data::Datatype;
use crate::error::{Cause, Class, Result};

/// A file that several processes have opened together. Clones are the same file.
#[derive(Clone, Debug)]
pub struct File {
    pub(super) inner: Arc<Inner>,
}

/// What a file has from open to close.
pub(super) struct Inner {
    pub(super) communicator: Communicator,
    /// Its name, for messages.
    pub(super) name: Box<str>,
    pub(super) path: Box<std::path::Path>,
    pub(super) mode: Mode,
    /// The system lets it be read, whatever the mode says.
    pub(super) can_read: bool,
    pub(super) storage: Arc<dyn Storage>,
    pub(super) pointer: SharedPointer,
    pub(super) state: Mutex<FileState>,
}

/// What calls change.
pub(super) struct FileState {
    pub(super) seen: Arc<Viewed>,
    /// The individual pointer, in etypes.
    pub(super) pointer: u64,
    pub(super) is_atomic: bool,
    pub(super) split: Option<Split>,
    pub(super) hints: Hints,
}

/// A split collective access that has begun.
pub(super) struct Split {
    pub(super) operation: Operation,
    pub(super) ended: Result<u64>,
}

/// From where a pointer is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whence {
    /// From the start of the view.
    Start,
    /// From where it is.
    Here,
    /// From the end of the file.
    End,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("File");
        shown.field("name", &self.name).finish_non_exhaustive()
    }
}

/// Questions.
impl File {
    /// Its communicator, which is its own.
    #[must_use]
    pub fn communicator(&self) -> &Communicator {
        &self.inner.communicator
    }

    /// Its name, as it was opened.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// What the program may do with it.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.inner.mode
    }

    /// The hints in use.
    #[must_use]
    pub fn hints(&self) -> Vec<(&'static str, String)> {
        let communicator = &self.inner.communicator;
        let most = aggregators(communicator.size() as usize, communicator.nodes(), 0).len();
        let hints = &self.inner.state.lock().hints;
        hints.in_use(communicator.size(), most as u64)
    }

    /// The displacement in bytes, the etype, the filetype and the name of the representation.
    #[must_use]
    pub fn view(&self) -> (u64, Datatype, Datatype, String) {
        let seen = self.seen();
        let name = seen.representation.name().into();
        let (etype, filetype) = (seen.etype.clone(), seen.filetype.clone());
        (seen.displacement, etype, filetype, name)
    }

    /// Returns true if accesses are atomic.
    #[must_use]
    pub fn is_atomic(&self) -> bool {
        self.inner.state.lock().is_atomic
    }

    /// Where the individual pointer is, in etypes.
    ///
    /// # Errors
    /// `UnsupportedOperation`: the file is sequential.
    pub fn position(&self) -> Result<u64> {
        self.check_random("MPI_File_get_position")?;
        Ok(self.inner.state.lock().pointer)
    }

    /// Where the shared pointer is, in etypes.
    ///
    /// # Errors
    /// `Lost`: who has it is gone.
    pub fn shared_position(&self) -> Result<u64> {
        self.inner.pointer.get()
    }

    /// The byte of the file at which the etype `offset` of the view begins.
    ///
    /// # Errors
    /// `Argument`: it lies beyond what a file may have.
    pub fn byte_offset(&self, offset: u64) -> Result<u64> {
        let seen = self.seen();
        let data = data_bytes(&seen, offset)?;
        if seen.view.is_empty() {
            return Ok(seen.displacement);
        }
        Ok(seen.view.locate(data)?.at)
    }

    /// The extent that a datatype has in the file.
    ///
    /// # Errors
    /// What a function of the program returns.
    pub fn extent(&self, datatype: &Datatype) -> Result<i64> {
        Ok(self.seen().representation.in_file(datatype)?.extent())
    }

    /// Bytes in the file.
    ///
    /// # Errors
    /// What the system says.
    pub fn size(&self) -> Result<u64> {
        let size = self.inner.storage.size();
        size.map_err(|error| self.refused("asking for the size of", &error))
    }

    pub(super) fn seen(&self) -> Arc<Viewed> {
        Arc::clone(&self.inner.state.lock().seen)
    }

    pub(super) fn refused(&self, doing: &str, error: &std::io::Error) -> crate::error::Error {
        refused(doing, &self.inner.name, number(error))
    }

    /// Refuses what a sequential file does not have.
    pub(super) fn check_random(&self, what: &str) -> Result<()> {
        match self.inner.mode.is_sequential {
            true => Err(wrong(
                Class::UnsupportedOperation,
                format!(
                    "{} was opened with MPI_MODE_SEQUENTIAL: {what} is not allowed, only accesses \
                     through the shared file pointer",
                    self.inner.name
                ),
            )),
            false => Ok(()),
        }
    }

    /// Refuses a file that may only be read.
    pub(super) fn check_writes(&self) -> Result<()> {
        match self.inner.mode.writes() {
            true => Ok(()),
            false => Err(wrong(
                Class::ReadOnly,
                format!(
                    "{} was opened with MPI_MODE_RDONLY: open it with MPI_MODE_RDWR or \
                     MPI_MODE_WRONLY to change it",
                    self.inner.name
                ),
            )),
        }
    }
}

/// The data bytes before etype `offset` of a view.
pub(super) fn data_bytes(seen: &Viewed, offset: u64) -> Result<u64> {
    let data = offset.checked_mul(seen.view.unit());
    let too_far = || Cause::Argument("the offset is beyond the end of any file");
    Ok(data
        .filter(|data| *data <= i64::MAX as u64)
        .ok_or_else(too_far)?)
}

/// Changes. Those marked collective are called by all processes of the file.
impl File {
    /// Tells all processes some words.
    pub(super) fn tell(&self, operation: Operation, words: Vec<u64>) -> Result<Vec<Vec<u64>>> {
        self.inner.communicator.run(&Told { operation, words })
    }

    /// Checks that all processes came with the same words.
    fn agree(&self, operation: Operation, words: Vec<u64>, what: &str) -> Result<()> {
        let mine = words.clone();
        let all = self.tell(operation, words)?;
        match all.iter().position(|theirs| *theirs != mine) {
            None => Ok(()),
            Some(other) => Err(wrong(
                Class::NotSame,
                format!(
                    "{}: {what} differs between rank {} and rank {other} of the file: all \
                     processes must pass the same",
                    self.inner.name,
                    self.inner.communicator.rank()
                ),
            )),
        }
    }

    /// Lets process 0 do something to the file for all, and tells all how it ended. Collective.
    fn let_first(
        &self,
        (operation, doing): (Operation, &str),
        call: impl FnOnce() -> std::io::Result<()>,
    ) -> Result<()> {
        let Inner {
            communicator, name, ..
        } = &*self.inner;
        let_first((communicator, name), (operation, doing), call)
    }

    /// Makes the file `size` bytes long. Collective.
    ///
    /// # Errors
    /// `NotSame`, `ReadOnly`, and what the system says, in all processes.
    ///
    /// Source: MPI 5.0, 14.2.4.
    pub fn set_size(&self, size: u64) -> Result<()> {
        let operation = Operation::FileSetSize;
        self.agree(operation, vec![size], "the size")?;
        self.check_writes()?;
        let doing = (operation, "setting the size of");
        self.let_first(doing, || self.inner.storage.set_size(size))
    }

    /// Gives the first `size` bytes of the file a place on the device; makes it so long if it is
    /// shorter. Collective.
    ///
    /// # Errors
    /// `NotSame`, `ReadOnly`, and what the system says, in all processes.
    ///
    /// Source: MPI 5.0, 14.2.5.
    pub fn preallocate(&self, size: u64) -> Result<()> {
        let operation = Operation::FilePreallocate;
        self.agree(operation, vec![size], "the size")?;
        self.check_writes()?;
        let doing = (operation, "allocating");
        self.let_first(doing, || self.inner.storage.allocate(size))
    }

    /// Makes accesses atomic, or no more so. Collective.
    ///
    /// # Errors
    /// `NotSame`.
    ///
    /// Source: MPI 5.0, 14.6.1.
    pub fn set_atomic(&self, is_atomic: bool) -> Result<()> {
        let words = vec![is_atomic.into()];
        self.agree(Operation::FileSetAtomicity, words, "the flag")?;
        self.inner.state.lock().is_atomic = is_atomic;
        Ok(())
    }

    /// Takes hints over. Collective.
    ///
    /// # Errors
    /// Those of messages.
    ///
    /// Source: MPI 5.0, 14.2.8.
    pub fn set_hints(&self, set: impl FnOnce(&mut Hints)) -> Result<()> {
        let mut hints = self.inner.state.lock().hints.clone();
        set(&mut hints);
        let words = hints.common().to_vec();
        let all = self.tell(Operation::FileSetInfo, words)?;
        // What processes must have in common is as the first one says.
        hints.set_common(&all[0]);
        self.inner.state.lock().hints = hints;
        Ok(())
    }

    /// Brings what was written to the device, and makes it visible to all. Collective.
    ///
    /// # Errors
    /// What the system says, in all processes.
    ///
    /// Source: MPI 5.0, 14.6.1.
    pub fn sync(&self) -> Result<()> {
        let outcome = match self.inner.mode.writes() {
            true => self.inner.storage.sync(),
            false => Ok(()),
        };
        let outcome = outcome.map_or_else(|error| number(&error), |()| 0);
        let told = self.tell(Operation::FileSync, vec![outcome as u64])?;
        if self.inner.storage.is_remote() {
            // A lock makes this host forget what it has cached.
            let kind = match self.inner.mode.writes() {
                true => LockKind::Exclusive,
                false => LockKind::Shared,
            };
            let all = Held::take(&*self.inner.storage, 0..1 << 62, kind);
            all.map_err(|error| self.refused("locking", &error))?;
        }
        match told.iter().find(|words| words[0] != 0) {
            None => Ok(()),
            Some(words) => Err(refused(
                "bringing to the device",
                &self.inner.name,
                words[0] as i32,
            )),
        }
    }

    /// Moves the individual pointer by `offset` etypes.
    ///
    /// # Errors
    /// `Argument`: before the start; `UnsupportedOperation`: the file is sequential; what the
    /// system says.
    ///
    /// Source: MPI 5.0, 14.4.3.
    pub fn seek(&self, offset: i64, whence: Whence) -> Result<()> {
        self.check_random("MPI_File_seek")?;
        let base = match whence {
            Whence::Start => 0,
            Whence::Here => self.inner.state.lock().pointer,
            Whence::End => self.end()?,
        };
        let target = moved(base, offset)?;
        self.inner.state.lock().pointer = target;
        Ok(())
    }

    /// Moves the shared pointer by `offset` etypes. Collective.
    ///
    /// # Errors
    /// `NotSame`, `Argument`, and what the system says.
    ///
    /// Source: MPI 5.0, 14.4.4.
    pub fn seek_shared(&self, offset: i64, whence: Whence) -> Result<()> {
        let operation = Operation::FileSeekShared;
        let asked = vec![offset.cast_unsigned(), whence as u64];
        self.agree(operation, asked, "the offset or whence")?;
        let base = match (whence, self.inner.communicator.rank()) {
            (Whence::Start, _) => Ok(0),
            (Whence::Here, 0) => self.inner.pointer.get(),
            (Whence::End, 0) => self.end(),
            _ => Ok(0),
        };
        let target = base.and_then(|base| moved(base, offset));
        let word = match &target {
            Ok(target) => [1, *target],
            Err(_) => [0, 0],
        };
        let all = self.tell(operation, word.to_vec())?;
        if all[0][0] == 0 {
            return Err(target
                .err()
                .unwrap_or_else(|| Cause::Argument(BEFORE_START).into()));
        }
        self.inner.pointer.put(all[0][1]);
        self.tell(operation, vec![0, 0]).map(drop)
    }

    /// Where the shared pointer is when all have come.
    fn agreed_position(&self) -> Result<u64> {
        let operation = Operation::FileSetView;
        self.tell(operation, vec![0])?;
        let position = match self.inner.communicator.rank() {
            0 => self.inner.pointer.get()?,
            _ => 0,
        };
        Ok(self.tell(operation, vec![position])?[0][0])
    }

    /// The first etype of the view that lies wholly behind the end of the file.
    fn end(&self) -> Result<u64> {
        let (seen, size) = (self.seen(), self.size()?);
        if seen.view.is_empty() {
            return Ok(0);
        }
        if seen.view.order() == Order::Mixed {
            let why = "the tiles of the view reach into each other, so it has no end: seek from \
                       the start";
            return Err(wrong(Class::UnsupportedOperation, why));
        }
        Ok(seen.view.data_before(size).div_ceil(seen.view.unit()))
    }

    /// Sets the view, and both pointers to its start. `displacement`: in bytes, or `None` for where
    /// the shared pointer is. Collective.
    ///
    /// # Errors
    /// Those of [`View::new`]; `NotSame` if the extents of etypes or the representations differ;
    /// `UnsupportedDatarep`.
    ///
    /// Source: MPI 5.0, 14.3.
    pub fn set_view(
        &self,
        displacement: Option<u64>,
        (etype, filetype): (&Datatype, &Datatype),
        representation: Representation,
    ) -> Result<()> {
        let is_current = displacement.is_none();
        let displacement = match (displacement, self.inner.mode.is_sequential) {
            (None, true) => Some(self.byte_offset(self.agreed_position()?)?),
            (given, _) => given,
        };
        let made = self.seen_as(
            (displacement, is_current),
            (etype, filetype),
            representation,
        );
        let (seen, parties) = Parties::meet((&self.inner.communicator, &self.inner.name), made)?;
        let mut state = self.inner.state.lock();
        state.pointer = 0;
        state.seen = Arc::new(Viewed { parties, ..seen });
        drop(state);
        self.inner.pointer.put(0);
        self.tell(Operation::FileSetView, vec![0]).map(drop)
    }

    fn seen_as(
        &self,
        (displacement, is_current): (Option<u64>, bool),
        (etype, filetype): (&Datatype, &Datatype),
        representation: Representation,
    ) -> Result<Viewed> {
        let displacement = match (displacement, self.inner.mode.is_sequential) {
            (Some(displacement), is_sequential) if is_sequential == is_current => displacement,
            (Some(_), _) => {
                let why = "the file was opened with MPI_MODE_SEQUENTIAL: disp must be \
                           MPI_DISPLACEMENT_CURRENT";
                return Err(Cause::Argument(why).into());
            }
            (None, _) => {
                let why = "disp is MPI_DISPLACEMENT_CURRENT, which only files have that were \
                           opened with MPI_MODE_SEQUENTIAL";
                return Err(Cause::Argument(why).into());
            }
        };
        let in_file = |datatype: &Datatype| representation.in_file(datatype);
        let (unit, tile) = (in_file(etype)?, in_file(filetype)?);
        let view = View::new(displacement, &unit, &tile, self.inner.mode.writes())?;
        Ok(Viewed {
            view,
            displacement,
            etype: etype.clone(),
            filetype: filetype.clone(),
            representation,
            parties: None,
        })
    }

    /// Closes the file. No other clone is used any more. Collective.
    ///
    /// # Errors
    /// What the system says about its deletion, in all processes.
    ///
    /// Source: MPI 5.0, 14.2.2.
    pub fn close(self) -> Result<()> {
        let operation = Operation::FileClose;
        let Inner {
            communicator,
            mode,
            path,
            name,
            ..
        } = &*self.inner;
        let (communicator, deletes) = (communicator.clone(), mode.deletes_on_close);
        let (path, name) = (path.clone(), name.clone());
        let tell = |words| communicator.run(&Told { operation, words });
        // Others may still ask this process for the shared pointer until they come here.
        tell(vec![0])?;
        drop(self);
        if !deletes {
            return Ok(());
        }
        tell(vec![0])?;
        let delete = || std::fs::remove_file(&path);
        let_first((&communicator, &name), (operation, "deleting"), delete)
    }
}

/// Lets process 0 do something for all, and tells all how it ended. Collective.
fn let_first(
    (communicator, name): (&Communicator, &str),
    (operation, doing): (Operation, &str),
    call: impl FnOnce() -> std::io::Result<()>,
) -> Result<()> {
    let outcome = match communicator.rank() {
        0 => call().map_or_else(|error| number(&error), |()| 0),
        _ => 0,
    };
    let words = vec![outcome as u64];
    match communicator.run(&Told { operation, words })?[0][0] {
        0 => Ok(()),
        number => Err(refused(doing, name, number as i32)),
    }
}

impl Inner {
    /// How this process uses the file as `seen`.
    pub(super) fn manner<'a>(&'a self, seen: &'a Viewed, is_atomic: bool) -> Manner<'a> {
        Manner {
            storage: &*self.storage,
            view: &seen.view,
            is_atomic,
            can_sieve: self.can_read,
        }
    }
}

const BEFORE_START: &str = "the file pointer would be before the start of the view";

/// A pointer that is moved.
fn moved(base: u64, offset: i64) -> Result<u64> {
    let target = base.checked_add_signed(offset);
    Ok(target
        .filter(|target| *target <= i64::MAX as u64)
        .ok_or(Cause::Argument(BEFORE_START))?)
}
