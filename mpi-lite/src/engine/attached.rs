//! The buffer that the program attached for buffered sends. Source: MPI 5.0, 3.6.

use super::delivery::Delivery;
use super::lane::Lane;
use crate::error::{Cause, Result};
use crate::ids::Mode;

/// What a buffered send takes of the attached buffer beside its bytes: a cache line, so that empty
/// messages are bounded too. The standard ABI gives 512 to `MPI_BSEND_OVERHEAD`, the most that it
/// may be; widely used programs count with less, which other libraries let them. Source: MPI 5.0,
/// 3.6.
pub const BUFFERED_OVERHEAD_BYTES: u64 = 64;

/// The buffer that the program attached for buffered sends. Source: MPI 5.0, 3.6.
#[derive(Clone, Copy, Debug)]
pub struct Attached {
    /// The program's address, given back at detach.
    pub address: usize,
    /// Bytes.
    pub bytes: u64,
    pub(super) used: u64,
}

impl Delivery {
    /// How much of the attached buffer a send takes.
    #[inline]
    pub(super) fn reserve(&self, mode: Mode, len: u64) -> Result<u64> {
        if mode != Mode::Buffered {
            return Ok(0);
        }
        let need = len.saturating_add(BUFFERED_OVERHEAD_BYTES);
        let room = self
            .attached
            .map_or(0, |attached| attached.bytes - attached.used);
        if need > room {
            Err(Cause::BufferFull { need, room }.into())
        } else {
            Ok(need)
        }
    }
}

impl Lane {
    /// Attaches the program's buffer of `bytes` bytes. Source: MPI 5.0, 3.6.
    ///
    /// # Errors
    /// One is attached already.
    pub fn attach(&mut self, address: usize, bytes: u64) -> Result<()> {
        let attached = &mut self.delivery.attached;
        if attached.is_some() {
            let why = "a buffer is already attached: detach it first";
            return Err(Cause::BufferAttach(why).into());
        }
        *attached = Some(Attached {
            address,
            bytes,
            used: 0,
        });
        Ok(())
    }

    /// Takes the attached buffer back if no message waits in it.
    ///
    /// # Errors
    /// None is attached.
    pub fn detach(&mut self) -> Result<Option<Attached>> {
        let attached = &mut self.delivery.attached;
        match attached {
            None => Err(Cause::BufferAttach("no buffer is attached").into()),
            Some(buffer) if buffer.used > 0 => Ok(None),
            Some(_) => Ok(attached.take()),
        }
    }

    /// Returns true if no buffered message waits. Source: MPI 5.0, 3.6 (`MPI_Buffer_flush`).
    #[must_use]
    pub fn is_flushed(&self) -> bool {
        let attached = &self.delivery.attached;
        attached.is_none_or(|attached| attached.used == 0)
    }
}
