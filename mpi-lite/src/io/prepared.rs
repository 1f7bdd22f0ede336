//! Accesses to data: their arguments, checked, and how they end.
//!
//! Source: MPI 5.0, 14.4.

use std::sync::Arc;

use super::access::{Broken, Ended};
use super::errors::{number, refused, wrong};
use super::file::{File, data_bytes};
use super::viewed::Viewed;
use crate::comm::Operation;
use crate::data::Buffer;
use crate::error::{Class, Error, Result};

/// Which way data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the file into memory.
    Read,
    /// From memory into the file.
    Write,
}

/// Where in the view an access begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pointer {
    /// At this etype.
    Explicit(u64),
    /// Where the individual pointer is, which moves behind the data.
    Individual,
    /// Where the shared pointer is, which moves behind the data; of all processes in the order of
    /// their ranks.
    Shared,
}

/// An access to data.
#[derive(Clone, Debug)]
pub struct Access {
    /// Which way.
    pub direction: Direction,
    /// Where it begins.
    pub pointer: Pointer,
    /// The memory of the program. It stays valid, and is left alone, until the access is over.
    pub memory: Buffer,
}

/// An access whose arguments are checked.
#[derive(Clone)]
pub(super) struct Prepared {
    pub(super) file: File,
    pub(super) seen: Arc<Viewed>,
    pub(super) is_atomic: bool,
    pub(super) direction: Direction,
    /// The memory of the program.
    memory: Buffer,
    /// The data as in the file: the same memory, if that is so in memory.
    pub(super) data: Buffer,
    /// Bytes of it.
    pub(super) len: u64,
    /// The data byte of the view at which it begins.
    pub(super) from: u64,
    /// The individual pointer as it was, if the access has moved it.
    pub(super) pointer: Option<u64>,
}

impl Access {
    /// The collective operation that it is if all processes make it.
    pub(super) fn operation(&self) -> Operation {
        match (self.direction, self.pointer) {
            (Direction::Read, Pointer::Explicit(_)) => Operation::FileReadAtAll,
            (Direction::Write, Pointer::Explicit(_)) => Operation::FileWriteAtAll,
            (Direction::Read, Pointer::Individual) => Operation::FileReadAll,
            (Direction::Write, Pointer::Individual) => Operation::FileWriteAll,
            (Direction::Read, Pointer::Shared) => Operation::FileReadOrdered,
            (Direction::Write, Pointer::Shared) => Operation::FileWriteOrdered,
        }
    }
}

impl File {
    /// Checks the arguments of an access, and moves the individual pointer behind it.
    pub(super) fn prepare(&self, access: &Access) -> Result<Prepared> {
        let mode = self.inner.mode;
        match access.direction {
            Direction::Read if !mode.reads() => {
                return Err(wrong(
                    Class::Access,
                    format!(
                        "{} was opened with MPI_MODE_WRONLY: open it with MPI_MODE_RDWR or \
                         MPI_MODE_RDONLY to read it",
                        self.inner.name
                    ),
                ));
            }
            Direction::Write => self.check_writes()?,
            Direction::Read => {}
        }
        if access.pointer != Pointer::Shared {
            self.check_random("an access at an offset or through the individual pointer")?;
        }
        access.memory.check()?;
        let (seen, is_atomic) = {
            let state = self.inner.state.lock();
            (Arc::clone(&state.seen), state.is_atomic)
        };
        let representation = &seen.representation;
        let data = match access.direction {
            Direction::Write => representation.outgoing(&access.memory)?,
            Direction::Read => representation.room(&access.memory)?,
        };
        let len = data.bytes()?;
        let unit = seen.view.unit();
        if !len.is_multiple_of(unit) {
            return Err(wrong(
                Class::Arg,
                format!(
                    "{}: the {len} bytes of the access are not a whole number of etypes of {unit} \
                     bytes: MPI_File_set_view says what an etype is",
                    self.inner.name
                ),
            ));
        }
        let mut state = self.inner.state.lock();
        let pointer = (access.pointer == Pointer::Individual).then_some(state.pointer);
        let first = match access.pointer {
            Pointer::Explicit(offset) => offset,
            Pointer::Individual => state.pointer,
            Pointer::Shared => 0,
        };
        let from = data_bytes(&seen, first)?;
        if let Some(last) = len.checked_sub(1)
            && access.direction == Direction::Write
        {
            seen.view.locate(from.saturating_add(last))?;
        }
        if pointer.is_some() {
            state.pointer = first.saturating_add(len / unit);
        }
        drop(state);
        Ok(Prepared {
            file: self.clone(),
            is_atomic,
            direction: access.direction,
            memory: access.memory.clone(),
            data,
            len,
            from,
            pointer,
            seen,
        })
    }
}

impl Prepared {
    /// Etypes.
    pub(super) fn units(&self) -> u64 {
        self.len / self.seen.view.unit()
    }

    /// Carries it out without help. Returns the bytes of the program's memory that were moved.
    pub(super) fn carry_out(&self) -> Result<u64> {
        let manner = self.file.inner.manner(&self.seen, self.is_atomic);
        let ended = match self.direction {
            Direction::Read => manner.read(self.from, &self.data)?,
            Direction::Write => manner.write(self.from, &self.data)?,
        };
        self.finish(ended)
    }

    /// What the caller learns of an access that has ended so.
    pub(super) fn finish(&self, ended: Ended) -> Result<u64> {
        match ended {
            Ok(moved) => self.settle(moved),
            Err(broken) => {
                let _ = self.settle(broken.moved);
                Err(self.broken(&broken))
            }
        }
    }

    /// `moved` bytes were moved: lays what was read into the program's memory, and sets the
    /// individual pointer back to the end of what there was.
    fn settle(&self, moved: u64) -> Result<u64> {
        let (moved, bytes) = match self.direction {
            Direction::Read => {
                let representation = &self.seen.representation;
                representation.incoming(&self.data, moved, &self.memory)?
            }
            Direction::Write if moved == self.len => (moved, self.memory.bytes()?),
            Direction::Write => (moved, moved),
        };
        if let Some(before) = self.pointer
            && moved < self.len
        {
            let behind = before.saturating_add(self.units());
            let mut state = self.file.inner.state.lock();
            if state.pointer == behind {
                state.pointer = before + moved.div_ceil(self.seen.view.unit());
            }
        }
        Ok(bytes)
    }

    fn broken(&self, broken: &Broken) -> Error {
        let (doing, way) = match self.direction {
            Direction::Read => ("reading", "from"),
            Direction::Write => ("writing", "to"),
        };
        let doing = format!(
            "{doing} at byte {} of the file, after {} of {} bytes of data, {way}",
            broken.at, broken.moved, self.len
        );
        refused(&doing, &self.file.inner.name, number(&broken.error))
    }
}
