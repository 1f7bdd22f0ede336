//! Memory of another process of the node, which is not mapped here.

use crate::data::{Area, Basic, Buffer, each_run_of};
use crate::error::{Cause, Result};
use crate::memory::Span;
use crate::node::peer_memory::{PeerMemory, Unreachable};
use crate::rma::combine;
use crate::rma::operation::{Target, WindowAction};

/// The memory of a rank.
#[derive(Clone, Copy, Debug)]
pub(in crate::rma) struct There {
    pub(super) memory: PeerMemory,
    /// The address of its first byte in that process.
    pub(super) base: u64,
}

fn refused(error: Unreachable) -> crate::error::Error {
    Cause::System(format!("the target's memory cannot be used: {error}").into()).into()
}

/// A copy of data in one stretch.
fn staged(data: &Area) -> Result<(Buffer, Span)> {
    let copy = Buffer::zeroed(data.len() as usize)?;
    copy.area()?.copy_from(data);
    let span = copy.occupied()?;
    Ok((copy, span))
}

impl There {
    /// Writes `data` there.
    pub(super) fn write(&self, data: &Area, target: &Target, at: i64) -> Result<()> {
        match data.span() {
            Some(span) => self.put(span, target, at),
            None => {
                let (_copy, span) = staged(data)?;
                self.put(span, target, at)
            }
        }
    }

    /// Reads what is there to `data`.
    pub(super) fn read(&self, data: &Area, target: &Target, at: i64) -> Result<()> {
        if let Some(span) = data.span() {
            return self.get(span, target, at);
        }
        let copy = Buffer::zeroed(data.len() as usize)?;
        self.get(copy.occupied()?, target, at)?;
        data.copy_from(&copy.area()?);
        Ok(())
    }

    /// Carries an atomic operation out. The lock of the target is held.
    pub(super) fn change(
        &self,
        (action, base): (&WindowAction, Basic),
        target: &Target,
        at: i64,
    ) -> Result<()> {
        let bytes = target.datatype.bytes(target.count)?;
        let copy = Buffer::zeroed(bytes as usize)?;
        let (area, span) = (copy.area()?, copy.occupied()?);
        let is_read = !matches!(
            action,
            WindowAction::Accumulate {
                op: crate::data::Op::Replace,
                ..
            }
        );
        if is_read {
            self.get(span, target, at)?;
        }
        combine::carry_out(action, base, &area)?;
        match action {
            WindowAction::GetAccumulate {
                op: crate::data::Op::NoOp,
                ..
            } => Ok(()),
            _ => self.put(span, target, at),
        }
    }

    fn put(&self, from: Span, target: &Target, at: i64) -> Result<()> {
        let written = match self.single(target, at) {
            Some(address) => self.memory.write(address, from),
            None => self.memory.scatter(&self.ranges(target, at), from),
        };
        written.map_err(refused)
    }

    fn get(&self, to: Span, target: &Target, at: i64) -> Result<()> {
        let read = match self.single(target, at) {
            Some(address) => self.memory.read(address, to),
            None => self.memory.gather(&self.ranges(target, at), to),
        };
        read.map_err(refused)
    }

    fn address(&self, at: i64) -> u64 {
        self.base.wrapping_add_signed(at)
    }

    /// The address of the data, if it is one range.
    fn single(&self, target: &Target, at: i64) -> Option<u64> {
        target.datatype.has_no_gaps().then(|| self.address(at))
    }

    /// The ranges of the data, in the order of the type map.
    fn ranges(&self, target: &Target, at: i64) -> Vec<(u64, usize)> {
        let mut ranges: Vec<(u64, usize)> = Vec::new();
        each_run_of(&target.datatype, target.count, |place, len| {
            let address = self.address(at + place);
            match ranges.last_mut() {
                Some((start, bytes)) if *start + *bytes as u64 == address => *bytes += len as usize,
                _ => ranges.push((address, len as usize)),
            }
            true
        });
        ranges
    }
}
