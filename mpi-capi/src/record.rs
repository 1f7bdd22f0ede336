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

use crate::chapters;
use crate::entry::{Arg, Symbol, is_in};
use crate::stack::Running;

/// Appends the arguments of a record to a line.
///
/// # Safety
/// The record is one of the symbol that has this function, and its call runs.
pub type ShowRecord = unsafe fn(*const u8, &mut String);

/// An argument in a record. What the engine knows as well is left out, and addresses.
pub type Kept<C> = MaybeUninit<C>;

/// Keeps an argument in a record.
#[inline(always)]
pub fn keep<T: Arg<W>, W>(argument: T::C) -> Kept<T::C> {
    if T::IS_KEPT {
        MaybeUninit::new(argument)
    } else {
        MaybeUninit::uninit()
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
    pub const fn nothing() -> Self {
        Self(AtomicPtr::new(core::ptr::null_mut()))
    }

    /// Notes a symbol.
    #[inline]
    pub fn set(&self, symbol: &'static Symbol) {
        let symbol = core::ptr::from_ref(symbol).cast_mut().cast();
        self.0.store(symbol, Ordering::Relaxed);
    }

    /// Notes a record. Its call ends without a word: nobody but its thread reads it, inside.
    #[inline]
    pub fn set_record<A>(&self, record: &A) {
        let record: *mut u8 = core::ptr::from_ref(record).cast_mut().cast();
        self.0.store(record.wrapping_add(RECORD), Ordering::Relaxed);
    }

    /// The symbol that was entered last, if it keeps no records.
    pub fn called(&self) -> Option<&'static Symbol> {
        let word = self.0.load(Ordering::Relaxed);
        if word.addr() & RECORD != 0 {
            return None;
        }
        // SAFETY: it is null or the address of a static symbol, stored by `set`.
        unsafe { word.cast::<Symbol>().as_ref() }
    }

    /// Shows the arguments of the function that runs in this thread, if they were kept and no other
    /// call was entered since.
    pub fn arguments(&self, running: &Running) -> Option<String> {
        let word = self.0.load(Ordering::Relaxed);
        let record = word.wrapping_sub(RECORD).cast_const();
        let is_ours = word.addr() & RECORD != 0 && running.frame.contains(&record.addr());
        let name = &*running.name;
        let entry = chapters::entry(name).filter(|_| is_ours && is_recorded(name))?;
        let mut line = String::from("(");
        // SAFETY: the record is in the frame of this function, which runs in this thread. The word
        // was written by the function: what it calls has its frames elsewhere, and what ran before
        // it was entered earlier.
        unsafe { (entry.show)(record, &mut line) };
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
