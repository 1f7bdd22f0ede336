//! The memory that a process has attached to a dynamic window. Source: MPI 5.0, 12.2.4.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::errors::wrong;
use super::operation::Target;
use super::way::Way;
use super::window::{Flavor, Window};
use crate::error::{Class, Error, Result};
use crate::memory::Span;

/// What is attached, by address. Regions do not overlap.
#[derive(Debug, Default)]
pub(super) struct Attached(BTreeMap<u64, Span>);

impl Attached {
    /// The region that has all of the `len` bytes at `address`, and where they begin in it.
    pub(super) fn find(&self, address: u64, len: u64) -> Option<(Span, i64)> {
        let (start, span) = self.0.range(..=address).next_back()?;
        let at = address - start;
        let is_within = at.checked_add(len)? <= span.len() as u64;
        is_within.then_some((*span, at.cast_signed()))
    }

    /// Checks that the data of a target lies in one region.
    ///
    /// # Errors
    /// `RmaRange`, `Count`.
    pub(super) fn check(&self, target: &Target) -> Result<()> {
        let (first, len) = target.datatype.occupied(target.count)?;
        let start = target.displacement.wrapping_add(first).cast_unsigned();
        match len == 0 || self.find(start, len as u64).is_some() {
            true => Ok(()),
            false => Err(not_attached(len, start)),
        }
    }

    fn attach(&mut self, memory: Span) -> Result<()> {
        let (start, len) = (memory.address(), memory.len() as u64);
        let end = start.saturating_add(len);
        let before = self.0.range(..end).next_back();
        let overlap = before.filter(|(at, span)| **at + span.len() as u64 > start);
        match overlap {
            None => {
                self.0.insert(start, memory);
                Ok(())
            }
            Some((at, span)) => Err(wrong(
                Class::RmaAttach,
                format!(
                    "the {len} bytes at {start:#x} overlap the {} bytes at {at:#x}, which are \
                     attached already",
                    span.len()
                ),
            )),
        }
    }
}

/// The error of an access to memory that is not attached.
#[cold]
pub(super) fn not_attached(len: usize, start: u64) -> Error {
    let why = format!(
        "the {len} bytes at {start:#x} are not attached to the window at its target \
         (MPI_Win_attach)"
    );
    wrong(Class::RmaRange, why)
}

impl Window {
    /// Attaches memory to a dynamic window. Local. No memory at all is no error.
    ///
    /// # Errors
    /// `RmaFlavor`: the window is not dynamic. `RmaAttach`: some of it is attached.
    ///
    /// Source: MPI 5.0, 12.2.4.
    pub fn attach(&self, memory: Span) -> Result<()> {
        self.check_dynamic("MPI_Win_attach")?;
        match memory.is_empty() {
            true => Ok(()),
            false => self.inner.attached.lock().attach(memory),
        }
    }

    /// Detaches the memory that was attached at this address. Local.
    ///
    /// # Errors
    /// `RmaFlavor`: the window is not dynamic. `RmaAttach`: none was.
    ///
    /// Source: MPI 5.0, 12.2.4.
    pub fn detach(&self, address: u64) -> Result<()> {
        self.check_dynamic("MPI_Win_detach")?;
        let found = self.inner.attached.lock().0.remove(&address);
        if found.is_none() {
            let why = format!("no memory was attached at {address:#x}");
            return Err(wrong(Class::RmaAttach, why));
        }
        // A link may still read it for an answer that another process has.
        match &self.inner.way {
            Way::Far(far) => far.end_answers(),
            Way::Near(_) => {}
        }
        Ok(())
    }

    fn check_dynamic(&self, call: &str) -> Result<()> {
        match self.inner.flavor {
            Flavor::Dynamic => Ok(()),
            _ => Err(wrong(
                Class::RmaFlavor,
                format!("{call} is for windows of MPI_Win_create_dynamic"),
            )),
        }
    }
}

/// The regions of a window, for its port.
pub(super) type SharedAttached = Arc<parking_lot::Mutex<Attached>>;
