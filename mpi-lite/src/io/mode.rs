//! What a program may do with a file. Source: MPI 5.0, 14.2.1.

use super::errors::wrong;
use crate::error::{Class, Result};

/// A set of modes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "MPI's modes are independent of each other"
)]
pub struct Mode {
    /// `MPI_MODE_RDONLY`.
    pub reads_only: bool,
    /// `MPI_MODE_RDWR`.
    pub reads_and_writes: bool,
    /// `MPI_MODE_WRONLY`.
    pub writes_only: bool,
    /// `MPI_MODE_CREATE`.
    pub creates: bool,
    /// `MPI_MODE_EXCL`.
    pub must_be_new: bool,
    /// `MPI_MODE_DELETE_ON_CLOSE`.
    pub deletes_on_close: bool,
    /// `MPI_MODE_UNIQUE_OPEN`.
    pub is_unique: bool,
    /// `MPI_MODE_SEQUENTIAL`.
    pub is_sequential: bool,
    /// `MPI_MODE_APPEND`.
    pub appends: bool,
    /// Something that is no mode.
    pub is_unknown: bool,
}

impl Mode {
    /// Checks that the modes go together.
    ///
    /// # Errors
    /// `Amode`: they do not.
    pub fn check(self) -> Result<()> {
        if self.is_unknown {
            return Err(wrong(
                Class::Amode,
                "amode has a bit that is none of MPI_MODE_...",
            ));
        }
        let ways = [self.reads_only, self.reads_and_writes, self.writes_only];
        let why = match ways.iter().filter(|way| **way).count() {
            0 => "amode has none of MPI_MODE_RDONLY, MPI_MODE_RDWR and MPI_MODE_WRONLY: pass one",
            1 if self.reads_only && (self.creates || self.must_be_new) => {
                "amode has MPI_MODE_RDONLY with MPI_MODE_CREATE or MPI_MODE_EXCL: a file that is \
                 made has to be written"
            }
            1 if self.reads_and_writes && self.is_sequential => {
                "amode has MPI_MODE_SEQUENTIAL with MPI_MODE_RDWR: a sequential file is either \
                 read or written"
            }
            1 => return Ok(()),
            _ => {
                "amode has several of MPI_MODE_RDONLY, MPI_MODE_RDWR and MPI_MODE_WRONLY: pass one"
            }
        };
        Err(wrong(Class::Amode, why))
    }

    /// Returns true if the file may be written.
    #[must_use]
    pub fn writes(self) -> bool {
        !self.reads_only
    }

    /// Returns true if the file may be read.
    #[must_use]
    pub fn reads(self) -> bool {
        !self.writes_only
    }

    /// A word that tells sets apart.
    pub(super) fn word(self) -> u64 {
        let Self {
            reads_only,
            reads_and_writes,
            writes_only,
            creates,
            must_be_new,
            deletes_on_close,
            is_unique,
            is_sequential,
            appends,
            is_unknown,
        } = self;
        let all = [
            reads_only,
            reads_and_writes,
            writes_only,
            creates,
            must_be_new,
            deletes_on_close,
            is_unique,
            is_sequential,
            appends,
            is_unknown,
        ];
        all.iter()
            .fold(0, |word, is_set| word << 1 | u64::from(*is_set))
    }
}
