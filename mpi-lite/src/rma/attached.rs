//! What memory a process has attached to a dynamic window. Source: MPI 5.0, 12.2.4.

use core::ops::Range;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::errors::wrong;
use super::operation::Target;
use crate::data::{Datatype, each_run_of};
use crate::error::{Class, Error, Result};
use crate::memory::{Origin, Span};

/// What is attached.
#[derive(Debug, Default)]
pub(super) struct Attached {
    /// By address. They do not overlap.
    regions: BTreeMap<u64, Span>,
    /// The addresses at which no bytes are attached, as a rank does that has no data.
    empty: Vec<u64>,
}

impl Attached {
    /// The region in which the `len` bytes at `address` begin, and where they do. All of them lie
    /// in it and in those that follow without a gap.
    fn find(&self, address: u64, len: u64) -> Option<(Span, i64)> {
        let (first, span) = self.regions.range(..=address).next_back()?;
        let end = address.checked_add(len)?;
        let mut reached = *first;
        for (start, span) in self.regions.range(first..) {
            if *start != reached || reached >= end {
                break;
            }
            reached = start + span.len() as u64;
        }
        (reached >= end).then_some((*span, (address - first).cast_signed()))
    }

    /// Takes the region at this address away, and returns its addresses.
    pub(super) fn detach(&mut self, address: u64) -> Option<Range<u64>> {
        if let Some(span) = self.regions.remove(&address) {
            return Some(address..address + span.len() as u64);
        }
        let place = self.empty.iter().position(|it| *it == address)?;
        self.empty.swap_remove(place);
        Some(address..address)
    }

    /// Checks that the data of a target is attached.
    ///
    /// # Errors
    /// `RmaRange`, `Count`.
    pub(super) fn check(&self, target: &Target) -> Result<()> {
        self.place((target.displacement, target.count), &target.datatype)
            .map(drop)
    }

    /// Where elements lie whose displacement 0 is an address.
    ///
    /// # Errors
    /// As [`Attached::check`].
    pub(super) fn place(&self, (at, count): (i64, u64), datatype: &Datatype) -> Result<Origin> {
        let (first, len) = datatype.occupied(count)?;
        let start = at.wrapping_add(first).cast_unsigned();
        if len == 0 {
            return Ok(Span::EMPTY.origin(0));
        }
        let whole = self.find(start, len as u64);
        let found = whole.map(|(span, within)| (span, within - first));
        // What lies in gaps need not be attached.
        let found = found.or_else(|| {
            let mut first = None;
            let all = each_run_of(datatype, count, |place, bytes| {
                let address = at.wrapping_add(place).cast_unsigned();
                let run = self.find(address, bytes);
                first = first.or(run.map(|(span, within)| (span, within - place)));
                run.is_some()
            });
            first.filter(|_| all)
        });
        let (span, to_zero) = found.ok_or_else(|| not_attached(len, start))?;
        Ok(span.origin(0).moved(to_zero))
    }

    /// Attaches memory at address `start`.
    ///
    /// # Errors
    /// `RmaAttach`: some of it is attached.
    pub(super) fn attach(&mut self, start: u64, memory: Span) -> Result<()> {
        let len = memory.len() as u64;
        if len == 0 {
            self.empty.push(start);
            return Ok(());
        }
        let end = start.saturating_add(len);
        let before = self.regions.range(..end).next_back();
        let overlap = before.filter(|(at, span)| **at + span.len() as u64 > start);
        match overlap {
            None => {
                self.regions.insert(start, memory);
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

/// The regions of a window, for its port.
pub(super) type SharedAttached = Arc<parking_lot::Mutex<Attached>>;
