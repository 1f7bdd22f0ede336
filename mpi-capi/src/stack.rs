//! The stack of the calling thread: who called, and in which MPI function it is.
#![expect(
    unsafe_code,
    reason = "the unwinder and the dynamic linker are C functions"
)]

use core::ffi::{CStr, c_int, c_void};
use core::mem::MaybeUninit;
use core::ops::Range;
use std::fs;
use std::path::Path;

use mpi_lite::boot::state::{Address, FRAMES_MAX};

/// The most frames that are looked at, those of this library included.
const DEPTH_MAX: usize = 128;

/// The state of the unwinder at a frame: known to the unwinder alone.
#[repr(C)]
struct UnwindContext {
    _private: [u8; 0],
}

type Visit = extern "C" fn(*mut UnwindContext, *mut c_void) -> c_int;

unsafe extern "C" {
    /// Calls `visit` for each frame, the innermost first, until it returns another value than 0.
    /// Source: Itanium C++ ABI, exception handling, level I.
    fn _Unwind_Backtrace(visit: Visit, data: *mut c_void) -> c_int;
    /// The address at which the frame goes on.
    fn _Unwind_GetIP(context: *mut UnwindContext) -> usize;
    /// The stack pointer of the frame, at its last call.
    fn _Unwind_GetCFA(context: *mut UnwindContext) -> usize;
}

/// Return addresses and stack pointers, the innermost first.
struct Trace {
    frames: [(usize, usize); DEPTH_MAX],
    len: usize,
}

extern "C" fn visit(context: *mut UnwindContext, trace: *mut c_void) -> c_int {
    // SAFETY: `trace` passes a trace, and the unwinder a context that is valid for this call.
    let (trace, address, stack) = unsafe {
        let trace = &mut *trace.cast::<Trace>();
        (trace, _Unwind_GetIP(context), _Unwind_GetCFA(context))
    };
    if trace.len == DEPTH_MAX || address == 0 {
        return 1;
    }
    trace.frames[trace.len] = (address, stack);
    trace.len += 1;
    0
}

fn trace() -> Trace {
    let mut trace = Trace {
        frames: [(0, 0); DEPTH_MAX],
        len: 0,
    };
    // SAFETY: `visit` takes what is passed here, and returns.
    unsafe { _Unwind_Backtrace(visit, (&raw mut trace).cast()) };
    trace
}

/// Code that was loaded from a file, and the symbol at an address in it.
struct Located {
    /// The name of the file as the dynamic linker has it.
    file: String,
    /// Where the file begins in memory.
    base: usize,
    /// The exported function at the address, and where it begins.
    function: Option<(String, usize)>,
}

/// What the dynamic linker says about an address.
fn place(address: usize) -> Option<Located> {
    let mut info = MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: `dladdr` takes any address and writes `info` if it returns another value than 0. The
    // strings belong to loaded files, which stay: code of them is on this stack.
    unsafe {
        if libc::dladdr(core::ptr::without_provenance(address), info.as_mut_ptr()) == 0 {
            return None;
        }
        let info = info.assume_init();
        let text = |text: *const libc::c_char| CStr::from_ptr(text).to_string_lossy().into_owned();
        let has_function = !info.dli_sname.is_null() && !info.dli_saddr.is_null();
        Some(Located {
            file: text(info.dli_fname),
            base: info.dli_fbase.addr(),
            function: has_function.then(|| (text(info.dli_sname), info.dli_saddr.addr())),
        })
    }
}

/// An MPI function that runs.
#[derive(Debug, PartialEq, Eq)]
pub struct Running {
    /// `MPI_Recv`.
    pub name: String,
    /// The addresses of its frame on the stack.
    pub frame: Range<usize>,
}

/// Who called, as far as the stack shows it.
pub struct Callers {
    /// The MPI function in which the calling thread is.
    pub running: Option<Running>,
    /// The frames of the program that called it, the innermost first.
    pub frames: Vec<Address>,
    /// The program is linked with the static library, so the first frames may be the library's.
    pub begin_inside: bool,
}

/// Returns who called the library in this thread.
pub fn callers() -> Callers {
    let trace = trace();
    let base = |address| place(address).map(|place| place.base);
    let own = base((callers as fn() -> _ as *const c_void).addr());
    // SAFETY: `getauxval` has no conditions.
    let program = base(unsafe { libc::getauxval(libc::AT_ENTRY) } as usize);
    let begin_inside = own.is_some() && own == program;
    let places: Vec<_> = trace.frames[..trace.len]
        .iter()
        // The call is before the address to which it returns.
        .map(|(address, stack)| (*address, *stack, place(address - 1)))
        .collect();
    let is_own = |place: &Option<Located>| place.as_ref().map(|place| place.base) == own;
    let inner = match begin_inside {
        true => 0,
        false => places
            .iter()
            .take_while(|(.., place)| is_own(place))
            .count(),
    };
    let functions = places[..inner].iter().enumerate().filter_map(|(at, it)| {
        let (_, begin, place) = it;
        let (name, _) = place.as_ref()?.function.as_ref()?;
        let (_, end, _) = places.get(at + 1)?;
        Some(Running {
            name: mpi_name(name)?,
            frame: *begin..*end,
        })
    });
    // The entry of a second binary interface calls that of the standard: one function, two frames.
    let running = functions.reduce(|inner, outer| Running {
        frame: inner.frame.start..outer.frame.end,
        ..outer
    });
    let frames = places[inner..].iter().take(FRAMES_MAX);
    let frames = frames.filter_map(|(address, _, place)| Some(frame(*address, place.as_ref()?)));
    Callers {
        running,
        frames: frames.collect(),
        begin_inside,
    }
}

/// The name of an MPI function without what its second names begin with.
fn mpi_name(symbol: &str) -> Option<String> {
    let begins = ["P", "mpilite_mpich_"];
    let name = begins.iter().find_map(|begin| symbol.strip_prefix(begin));
    let name = name.unwrap_or(symbol);
    name.starts_with("MPI_").then(|| name.to_owned())
}

fn frame(address: usize, place: &Located) -> Address {
    let (function, start) = place.function.clone().unwrap_or_default();
    Address {
        module: path(&place.file),
        offset: (address - bias(place.base)) as u64,
        into_function: match function.is_empty() {
            true => 0,
            false => (address - start) as u64,
        },
        function,
        line: String::new(),
    }
}

/// The absolute path of a loaded file. The program itself has the name by which it was started.
fn path(file: &str) -> String {
    let own = || fs::read_link("/proc/self/exe");
    let path = match Path::new(file).is_absolute() {
        true => Ok(file.into()),
        false => own(),
    };
    path.map_or_else(
        |_| file.to_owned(),
        |path| path.to_string_lossy().into_owned(),
    )
}

/// What addresses in memory are greater by than those in the file that is loaded at `base`.
fn bias(base: usize) -> usize {
    /// Where an ELF header has its type, and the type of a program that is not moved.
    const TYPE_AT: usize = 16;
    const FIXED: u16 = 2;
    let header: *const u8 = core::ptr::with_exposed_provenance(base);
    // SAFETY: the dynamic linker has loaded a file there, which begins with an ELF header.
    let kind = unsafe { header.add(TYPE_AT).cast::<u16>().read_unaligned() };
    if kind == FIXED { 0 } else { base }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outside_of_mpi_no_function_runs() {
        assert_eq!(callers().running, None);
    }

    #[test]
    fn a_function_has_one_name_by_whatever_symbol_it_was_called() {
        for symbol in ["PMPI_Recv", "MPI_Recv", "mpilite_mpich_MPI_Recv"] {
            assert_eq!(mpi_name(symbol).as_deref(), Some("MPI_Recv"));
        }
        assert_eq!(mpi_name("Process"), None);
    }
}
