//! Windows whose processes share memory: each one does alone what it wants.
//!
//! Memory of the library's own is mapped by all. Memory of the program is copied by the system from
//! process to process. What must be atomic is done under the lock of its target, one for all
//! datatypes and operators, so that nothing tears. Source: MPI 5.0, 12.7.

mod across;
mod control;

use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::SeqCst;
use std::sync::Arc;

use self::across::There;
pub(super) use self::control::bytes_of;
use self::control::{Control, Held, Waiter};
use super::combine;
use super::epochs::LockKind;
use super::operation::{AccessKind, Target, WindowAction};
use super::title::Title;
use crate::comm::Communicator;
use crate::data::Area;
use crate::error::Result;
use crate::memory::{Origin, Span};
use crate::node::{Arena, Node};

/// Processes that share memory.
#[derive(Debug)]
pub(in crate::rma) struct Near {
    control: Control,
    /// By rank.
    places: Box<[RankMemory]>,
    /// Nobody looks at it: it is written to order what was written before.
    flushed: AtomicBool,
}

/// The memory of a rank.
#[derive(Clone, Copy, Debug)]
pub(in crate::rma) enum RankMemory {
    /// It is mapped here.
    Here(Origin),
    /// It is reached through the system.
    There(There),
}

/// The local ranks of the members of a communicator, all of this node.
pub(super) fn locals(communicator: &Communicator, node: &Node) -> Vec<u32> {
    let members = communicator.group().members().iter();
    members.filter_map(|&peer| node.local_of(peer)).collect()
}

impl RankMemory {
    /// Memory of this process, or mapped by it.
    pub(in crate::rma) fn here(span: Span) -> Self {
        Self::Here(span.origin(0))
    }

    /// Memory of another process of this node, from this address on. `None`: the system does not
    /// allow it.
    pub(in crate::rma) fn there(node: &Node, local: u32, base: u64) -> Option<Self> {
        let memory = node.memory_of(local)?;
        Some(Self::There(There { memory, base }))
    }
}

impl Near {
    pub(in crate::rma) fn new(
        communicator: &Communicator,
        node: &Arc<Node>,
        arena: Arc<Arena>,
        places: Vec<RankMemory>,
        title: &Title,
    ) -> Self {
        Self {
            control: Control::new(communicator, node, arena, title),
            places: places.into(),
            flushed: AtomicBool::new(false),
        }
    }

    /// The memory of a rank, if it is mapped here.
    #[inline(always)]
    pub(in crate::rma) fn mapped(&self, rank: u32) -> Option<&Origin> {
        match &self.places[rank as usize] {
            RankMemory::Here(origin) => Some(origin),
            RankMemory::There(_) => None,
        }
    }

    /// The right to combine with the memory of a rank, if nobody has it now.
    #[inline(always)]
    pub(in crate::rma) fn try_hold(&self, rank: u32) -> Option<Held<'_>> {
        self.control.try_hold(rank)
    }

    /// Carries an operation out; `at` is where displacement 0 of the target's datatype lies.
    #[inline]
    pub(in crate::rma) fn perform(
        &self,
        (action, access): (&WindowAction, AccessKind),
        target: &Target,
        at: i64,
    ) -> Result<()> {
        match &self.places[target.rank as usize] {
            RankMemory::Here(origin) => {
                let there = Area::at(origin.moved(at), target.count, &target.datatype)?;
                self.perform_here((action, access), target.rank, &there)
            }
            RankMemory::There(memory) => self.perform_there((action, access), target, (memory, at)),
        }
    }

    #[inline]
    fn perform_here(
        &self,
        (action, access): (&WindowAction, AccessKind),
        rank: u32,
        there: &Area,
    ) -> Result<()> {
        match (action, access) {
            (WindowAction::Put(origin), _) => there.copy_from(&origin.area()?),
            (WindowAction::Get(origin), _) => origin.area()?.copy_from(there),
            (_, AccessKind::Atomic(base)) => {
                let _held = self.control.hold(rank)?;
                combine::carry_out(action, base, there)?;
            }
            _ => {}
        }
        Ok(())
    }

    #[cold]
    fn perform_there(
        &self,
        (action, access): (&WindowAction, AccessKind),
        target: &Target,
        (memory, at): (&There, i64),
    ) -> Result<()> {
        match (action, access) {
            (WindowAction::Put(origin), _) => memory.write(&origin.area()?, target, at),
            (WindowAction::Get(origin), _) => memory.read(&origin.area()?, target, at),
            (_, AccessKind::Atomic(base)) => {
                let _held = self.control.hold(target.rank)?;
                memory.change((action, base), target, at)
            }
            _ => Ok(()),
        }
    }

    /// All that this process has written, also by stores of the program, is seen by those that look
    /// after this.
    #[inline(always)]
    pub(in crate::rma) fn flush(&self) {
        // As good as a fence, and sooner over.
        self.flushed.swap(true, SeqCst);
    }

    #[inline]
    pub(in crate::rma) fn lock(&self, rank: u32, kind: LockKind) -> Result<()> {
        match self.control.try_lock(rank, kind) {
            true => Ok(()),
            false => self.control.await_lock(rank, kind),
        }
    }

    #[inline]
    pub(in crate::rma) fn unlock(&self, rank: u32, kind: LockKind) {
        self.control.unlock(rank, kind);
    }

    pub(in crate::rma) fn post(&self, ranks: &[u32]) {
        self.control.post(ranks);
    }

    pub(in crate::rma) fn await_post(&self, rank: u32) -> Result<()> {
        self.control.await_post(rank)
    }

    pub(in crate::rma) fn complete(&self, ranks: &[u32]) {
        self.flush();
        self.control.complete(ranks);
    }

    pub(in crate::rma) fn wait(&self, ranks: &[u32]) -> Result<()> {
        self.control.wait(ranks, Waiter::Waits).map(drop)
    }

    pub(in crate::rma) fn test(&self, ranks: &[u32]) -> Result<bool> {
        self.control.wait(ranks, Waiter::Tests)
    }
}
