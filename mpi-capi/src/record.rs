//! The arguments of a call that may wait, kept on the stack of its thread as long as it runs.
//!
//! A thread that waits for long names its call with the arguments, if it is asked
//! (docs/decisions/0051-who-waits.md). The library keeps one word: the address of the record, or of
//! the symbol, of the call that was entered last.
#![expect(
    unsafe_code,
    reason = "a word names a record on a stack, or a static symbol"
)]

use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::entry::{Arg, Symbol, is_in};
use crate::stack;

/// Appends the arguments of a record to a line.
///
/// # Safety
/// The record is one of the symbol that has this function, and its call runs.
pub type ShowRecord = unsafe fn(*const Record<()>, &mut String);

/// An argument in a record. Addresses are left out.
pub type Kept<C> = MaybeUninit<C>;

/// A running call and its arguments.
#[derive(Debug)]
#[repr(C)]
pub struct Record<A> {
    symbol: &'static Symbol,
    arguments: A,
}

impl<A> Record<A> {
    /// The record of a call of `symbol`.
    #[inline(always)]
    pub fn new(symbol: &'static Symbol, arguments: A) -> Self {
        Self { symbol, arguments }
    }
}

impl<A: Copy> Record<A> {
    /// The arguments.
    pub fn arguments(&self) -> A {
        self.arguments
    }
}

/// Keeps an argument, unless it is an address.
#[inline(always)]
pub fn keep<T: Arg<W>, W>(argument: T::C) -> Kept<T::C> {
    if T::IS_ADDRESS {
        MaybeUninit::uninit()
    } else {
        MaybeUninit::new(argument)
    }
}

/// The functions that keep a record: those that may wait, and that have more arguments than
/// addresses and a communicator.
const RECORDED: &[&str] = &[
    "MPI_Send",
    "MPI_Ssend",
    "MPI_Bsend",
    "MPI_Rsend",
    "MPI_Recv",
    "MPI_Mrecv",
    "MPI_Sendrecv",
    "MPI_Sendrecv_replace",
    "MPI_Probe",
    "MPI_Mprobe",
    "MPI_Bcast",
    "MPI_Reduce",
    "MPI_Allreduce",
    "MPI_Gather",
    "MPI_Gatherv",
    "MPI_Scatter",
    "MPI_Scatterv",
    "MPI_Allgather",
    "MPI_Allgatherv",
    "MPI_Alltoall",
    "MPI_Reduce_scatter",
    "MPI_Reduce_scatter_block",
    "MPI_Scan",
    "MPI_Exscan",
];

/// Returns true if calls of this function, or of its large-count twin, keep a record.
pub const fn is_recorded(name: &str) -> bool {
    let bytes = name.as_bytes();
    if let [plain @ .., b'_', b'c'] = bytes {
        return match core::str::from_utf8(plain) {
            Ok(plain) => is_in(RECORDED, plain),
            Err(_) => false,
        };
    }
    is_in(RECORDED, name)
}

/// What was entered last by any thread: a static symbol, or a record, whose address is one more.
#[derive(Debug)]
pub struct Last(AtomicPtr<u8>);

/// Bit of the word that names a record. Records and symbols lie at even addresses.
const RECORD: usize = 1;

impl Last {
    /// Nothing was entered.
    pub const fn new() -> Self {
        Self(AtomicPtr::new(core::ptr::null_mut()))
    }

    /// Notes a symbol.
    #[inline]
    pub fn set(&self, symbol: &'static Symbol) {
        let symbol = core::ptr::from_ref(symbol).cast_mut().cast();
        self.0.store(symbol, Ordering::Relaxed);
    }

    /// Notes a record. The call that has it may end without a word: nobody but its thread reads it.
    #[inline]
    pub fn set_record<A>(&self, record: &Record<A>) {
        let record: *mut u8 = core::ptr::from_ref(record).cast_mut().cast();
        self.0.store(record.wrapping_add(RECORD), Ordering::Relaxed);
    }

    /// The word itself, for [`Last::restore`].
    pub fn get(&self) -> *mut u8 {
        self.0.load(Ordering::Relaxed)
    }

    /// Sets the word to what it was.
    pub fn restore(&self, word: *mut u8) {
        self.0.store(word, Ordering::Relaxed);
    }

    /// The symbol that was entered last, if it keeps no records.
    pub fn called(&self) -> Option<&'static Symbol> {
        let word = self.get();
        if word.addr() & RECORD != 0 {
            return None;
        }
        // SAFETY: it is null or the address of a static symbol, stored by `set`.
        unsafe { word.cast::<Symbol>().as_ref() }
    }

    /// The record that was entered last, if this thread has entered it. Called inside of that call.
    fn record(&self) -> Option<*const Record<()>> {
        let word = self.get();
        let is_record = word.addr() & RECORD != 0;
        let record = word.wrapping_sub(RECORD);
        (is_record && stack::is_above(record.addr())).then_some(record.cast_const().cast())
    }

    /// The symbol that was entered last, also that of a record of this thread.
    pub fn symbol(&self) -> Option<&'static Symbol> {
        match self.record() {
            // SAFETY: the record is on the stack of this thread, above this frame. The thread is in
            // the call that it entered last, so the record is whole.
            Some(record) => Some(unsafe { (*record).symbol }),
            None => self.called(),
        }
    }

    /// Shows the arguments of the call of `name` in which this thread is, if they were kept.
    pub fn arguments(&self, name: &str) -> Option<String> {
        let record = self.record()?;
        // SAFETY: as in `symbol`.
        let symbol = unsafe { (*record).symbol };
        if symbol.name != name {
            return None;
        }
        let mut line = String::from("(");
        // SAFETY: the record is one of this symbol, and its call runs.
        unsafe { (symbol.show)(record, &mut line) };
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twins_with_large_counts_keep_records_as_well() {
        assert!(is_recorded("MPI_Recv") && is_recorded("MPI_Recv_c"));
        assert!(!is_recorded("MPI_Irecv") && !is_recorded("MPI_Wait") && !is_recorded("MPI_c"));
    }
}
