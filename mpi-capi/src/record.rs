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

use crate::abi::Handle;
use crate::args::{Count, show_number};
use crate::chapters;
use crate::entry::{Arg, Small, Symbol, is_in};
use crate::objects::Datatype;
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

/// What a message is made of.
#[derive(Debug, Clone, Copy)]
pub struct What {
    count: i64,
    datatype: Handle,
}

impl What {
    /// So many elements of this datatype.
    #[inline(always)]
    pub fn of(count: Count, datatype: &Datatype) -> Self {
        Self {
            count: count.0,
            datatype: datatype.handle,
        }
    }
}

/// The record of a blocking send. It is kept only when the call may wait: most calls do not, and
/// what a send writes before its message delays the message.
#[derive(Debug, Clone, Copy)]
pub struct Transfer {
    what: What,
    dest: i32,
    tag: i32,
}

impl Transfer {
    /// The record of a transfer.
    pub fn new(what: What, dest: i32, tag: i32) -> Self {
        Self { what, dest, tag }
    }

    fn show(&self, line: &mut String) {
        let What { count, datatype } = self.what;
        show_number(count, "count", line);
        <Datatype as Arg<Small>>::show(datatype, "datatype", line);
        show_number(self.dest.into(), "dest", line);
        show_number(self.tag.into(), "tag", line);
    }
}

/// The functions that keep a record from their beginning: those that may wait, and that have more
/// arguments than addresses and a communicator. Sends keep a [`Transfer`].
const RECORDED: &[&str] = &[
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

/// The blocking sends, which keep a [`Transfer`].
const TRANSFERS: &[&str] = &["MPI_Send", "MPI_Ssend", "MPI_Bsend", "MPI_Rsend"];

/// Returns true if calls of this function, or of its large-count twin, show their arguments.
pub fn shows_arguments(name: &str) -> bool {
    is_recorded(name) || TRANSFERS.contains(&plain(name))
}

/// Returns true if calls of this function, or of its large-count twin, keep a record from their
/// beginning.
pub const fn is_recorded(name: &str) -> bool {
    is_in(RECORDED, plain(name))
}

/// The functions that keep a record and call operators of the program.
const REDUCTIONS: &[&str] = &[
    "MPI_Reduce",
    "MPI_Allreduce",
    "MPI_Reduce_scatter",
    "MPI_Reduce_scatter_block",
    "MPI_Scan",
    "MPI_Exscan",
];

/// Returns true if calls of this function, or of its large-count twin, call operators.
pub const fn is_reduction(name: &str) -> bool {
    is_in(REDUCTIONS, plain(name))
}

/// The name without the end of a large-count twin.
const fn plain(name: &str) -> &str {
    if let [plain @ .., b'_', b'c'] = name.as_bytes()
        && let Ok(plain) = core::str::from_utf8(plain)
    {
        return plain;
    }
    name
}

/// What was entered last by any thread: a static symbol, or a record, with bits of its kind.
#[derive(Debug)]
pub struct Last(AtomicPtr<u8>);

/// Bits of the word that name a record, and the record of a transfer. Records and symbols lie at
/// addresses that are multiples of four.
const RECORD: usize = 1;
const TRANSFER: usize = 2;
const BITS: usize = RECORD | TRANSFER;

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

    /// Notes the record of a transfer that is about to wait.
    pub fn set_transfer(&self, transfer: &Transfer) {
        let record: *mut u8 = core::ptr::from_ref(transfer).cast_mut().cast();
        self.0
            .store(record.wrapping_add(TRANSFER), Ordering::Relaxed);
    }

    /// The symbol that was entered last, if it keeps no records.
    pub fn called(&self) -> Option<&'static Symbol> {
        let word = self.0.load(Ordering::Relaxed);
        if word.addr() & BITS != 0 {
            return None;
        }
        // SAFETY: it is null or the address of a static symbol, stored by `set`.
        unsafe { word.cast::<Symbol>().as_ref() }
    }

    /// Shows the arguments of the function that runs in this thread, if they were kept and no other
    /// call was entered since.
    pub fn arguments(&self, running: &Running) -> Option<String> {
        let word = self.0.load(Ordering::Relaxed);
        let kind = word.addr() & BITS;
        let record = word.wrapping_sub(kind).cast_const();
        if kind == 0 || !running.frame.contains(&record.addr()) {
            return None;
        }
        let name = &*running.name;
        let mut line = String::from("(");
        if kind == TRANSFER {
            // SAFETY: the record is in the frame of this function, which runs in this thread. The
            // function has written the word: what it calls has its frames elsewhere, and what ran
            // before it was entered earlier.
            unsafe { &*record.cast::<Transfer>() }.show(&mut line);
        } else {
            let entry = chapters::entry(name).filter(|_| is_recorded(name))?;
            // SAFETY: as above, and the record is one of this function.
            unsafe { (entry.show)(record, &mut line) };
        }
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twins_with_large_counts_keep_records_as_well() {
        assert!(is_recorded("MPI_Recv") && is_recorded("MPI_Recv_c"));
        assert!(shows_arguments("MPI_Send") && shows_arguments("MPI_Send_c"));
        for name in ["MPI_Irecv", "MPI_Wait", "MPI_c"] {
            assert!(!shows_arguments(name), "{name}");
        }
        assert!(
            !is_recorded("MPI_Send"),
            "it keeps a transfer when it may wait"
        );
    }
}
