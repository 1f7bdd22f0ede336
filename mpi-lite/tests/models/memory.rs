//! Bytes of the models. Loom sees when two threads touch the same ones with nothing between that
//! orders them.
#![expect(unsafe_code, reason = "the models see all accesses to the cells")]

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;

use loom::cell::UnsafeCell;

use crate::sync::interrupt;

/// Memory of a process, in pieces of which each has one value.
#[derive(Debug)]
pub(crate) struct Memory {
    address: usize,
    bytes_of_piece: usize,
    pieces: Vec<Piece>,
}

#[derive(Debug)]
struct Piece {
    value: UnsafeCell<u64>,
    writes: Cell<u32>,
}

thread_local! {
    /// All that there is; the newest of an address counts.
    static MEMORIES: RefCell<Vec<&'static Memory>> = const { RefCell::new(Vec::new()) };
}

impl Memory {
    /// `bytes` bytes at `address`.
    pub(crate) fn at(address: usize, bytes: usize, bytes_of_piece: usize) -> &'static Self {
        let piece = |_| Piece {
            value: UnsafeCell::new(0),
            writes: Cell::new(0),
        };
        let this: &'static Self = Box::leak(Box::new(Self {
            address,
            bytes_of_piece,
            pieces: (0..bytes / bytes_of_piece).map(piece).collect(),
        }));
        MEMORIES.with_borrow_mut(|memories| {
            memories.retain(|memory| memory.address != address);
            memories.push(this);
        });
        this
    }

    fn of(address: usize) -> &'static Self {
        let has = |memory: &&&Self| {
            let bytes = memory.pieces.len() * memory.bytes_of_piece;
            (memory.address..memory.address + bytes).contains(&address)
        };
        MEMORIES.with_borrow(|memories| *memories.iter().find(has).expect("memory of the model"))
    }

    /// All of it.
    pub(crate) fn span(&self) -> Span {
        Span {
            address: self.address,
            len: self.pieces.len() * self.bytes_of_piece,
        }
    }

    /// How often each piece was written.
    pub(crate) fn writes(&self) -> Vec<u32> {
        let pieces = self.pieces.iter();
        pieces.map(|piece| piece.writes.get()).collect()
    }
}

/// A range of it, as the library knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    address: usize,
    len: usize,
}

impl Span {
    /// No bytes.
    pub(crate) const EMPTY: Self = Self { address: 0, len: 0 };

    /// What the models never do: they say nothing of single bytes.
    pub(crate) fn update(&self, _: impl FnOnce(&mut [u8])) {
        unreachable!("the models know no bytes")
    }

    /// As above.
    pub(crate) fn append_to(&self, _: &mut Vec<u8>) {
        unreachable!("the models know no bytes")
    }

    /// # Safety
    /// None: only the address is used.
    pub(crate) unsafe fn new(address: *mut u8, len: usize) -> Self {
        let address = address.addr();
        Self { address, len }
    }

    pub(crate) fn at(address: u64, len: usize) -> Self {
        let address = usize::try_from(address).expect("an address");
        Self { address, len }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn address(&self) -> u64 {
        self.address as u64
    }

    pub(crate) fn part(&self, offset: usize, len: usize) -> Self {
        let offset = offset.min(self.len);
        Self {
            address: self.address + offset,
            len: len.min(self.len - offset),
        }
    }

    fn pieces(&self) -> &'static [Piece] {
        interrupt();
        let memory = Memory::of(self.address);
        let first = (self.address - memory.address) / memory.bytes_of_piece;
        let end = (self.address + self.len - memory.address).div_ceil(memory.bytes_of_piece);
        &memory.pieces[first..end]
    }

    /// Gives all of it one value.
    pub(crate) fn fill(&self, value: u64) {
        for piece in self.pieces() {
            // SAFETY: loom ends the model if somebody else may be there.
            piece.value.with_mut(|place| unsafe { *place = value });
            piece.writes.set(piece.writes.get() + 1);
        }
    }

    /// Whether all of it has this value.
    pub(crate) fn is(&self, value: u64) -> bool {
        // SAFETY: as above.
        let has = |piece: &Piece| piece.value.with(|place| unsafe { *place == value });
        self.pieces().iter().all(has)
    }

    pub(crate) fn copy_from(&self, from: Self) {
        for (to, from) in self.pieces().iter().zip(from.pieces()) {
            // SAFETY: as above.
            let value = from.value.with(|place| unsafe { *place });
            // SAFETY: as above.
            to.value.with_mut(|place| unsafe { *place = value });
            to.writes.set(to.writes.get() + 1);
        }
    }
}

/// What a copy within a call reads.
pub(crate) struct Bytes<'a>(Span, PhantomData<&'a [u8]>);

/// What it writes.
pub(crate) struct Room<'a>(Span, PhantomData<&'a mut [u8]>);

impl From<Span> for Bytes<'_> {
    fn from(span: Span) -> Self {
        Self(span, PhantomData)
    }
}

impl From<Span> for Room<'_> {
    fn from(span: Span) -> Self {
        Self(span, PhantomData)
    }
}

impl From<&[u8]> for Bytes<'_> {
    fn from(_: &[u8]) -> Self {
        unreachable!("the models know no bytes")
    }
}

impl Room<'_> {
    pub(crate) fn len(&self) -> usize {
        self.0.len
    }

    pub(crate) fn copy_from<'a>(&mut self, from: impl Into<Bytes<'a>>) {
        self.0.copy_from(from.into().0);
    }
}
