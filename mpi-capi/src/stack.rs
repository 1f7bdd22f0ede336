//! The stack of the calling thread: its bounds, and who called.
#![expect(
    unsafe_code,
    reason = "the unwinder and the dynamic linker are C functions"
)]

use core::ffi::{CStr, c_int, c_void};
use core::mem::MaybeUninit;
use std::fs;
use std::path::Path;

use mpi_lite::boot::state::{Address, FRAMES_MAX};

/// The most frames that are looked at, those of this library included.
const DEPTH_MAX: usize = 128;

/// Returns true if the address is in a frame of this thread that called the calling one, directly
/// or not.
pub fn is_above(address: usize) -> bool {
    let here = 0_u8;
    let here = (&raw const here).addr();
    address > here && bounds().is_some_and(|(start, bytes)| address.wrapping_sub(start) < bytes)
}

/// Start and bytes of this thread's stack.
fn bounds() -> Option<(usize, usize)> {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut start, mut bytes) = (core::ptr::null_mut(), 0);
    // SAFETY: the attributes are written by the first call if it returns 0, read by the second and
    // released by the third.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return None;
        }
        let read = libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut start, &raw mut bytes);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        (read == 0).then_some((start.addr(), bytes))
    }
}

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
}

/// Return addresses, the innermost first.
struct Trace {
    addresses: [usize; DEPTH_MAX],
    len: usize,
}

extern "C" fn visit(context: *mut UnwindContext, trace: *mut c_void) -> c_int {
    // SAFETY: `addresses` passes a trace, and the unwinder a context that is valid for this call.
    let (trace, address) = unsafe { (&mut *trace.cast::<Trace>(), _Unwind_GetIP(context)) };
    if trace.len == DEPTH_MAX || address == 0 {
        return 1;
    }
    trace.addresses[trace.len] = address;
    trace.len += 1;
    0
}

fn trace() -> Trace {
    let mut trace = Trace {
        addresses: [0; DEPTH_MAX],
        len: 0,
    };
    // SAFETY: `visit` takes what is passed here, and returns.
    unsafe { _Unwind_Backtrace(visit, (&raw mut trace).cast()) };
    trace
}

/// Code that was loaded from a file, and the symbol at an address in it.
struct Place {
    /// The name of the file as the dynamic linker has it.
    file: String,
    /// Where the file begins in memory.
    base: usize,
    /// The exported function at the address, and where it begins.
    function: Option<(String, usize)>,
}

/// What the dynamic linker says about an address.
fn place(address: usize) -> Option<Place> {
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
        Some(Place {
            file: text(info.dli_fname),
            base: info.dli_fbase.addr(),
            function: has_function.then(|| (text(info.dli_sname), info.dli_saddr.addr())),
        })
    }
}

/// Who called, as far as the stack shows it.
pub struct Callers {
    /// The MPI function in which the calling thread is.
    pub call: Option<String>,
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
    let places: Vec<_> = trace.addresses[..trace.len]
        .iter()
        // The call is before the address to which it returns.
        .map(|address| (*address, place(address - 1)))
        .collect();
    let is_own = |place: &Option<Place>| place.as_ref().map(|place| place.base) == own;
    let inner = match begin_inside {
        true => 0,
        false => places.iter().take_while(|(_, place)| is_own(place)).count(),
    };
    let call = places[..inner].iter().rev().find_map(|(_, place)| {
        let (name, _) = place.as_ref()?.function.as_ref()?;
        mpi_name(name)
    });
    let frames = places[inner..].iter().take(FRAMES_MAX);
    let frames = frames.filter_map(|(address, place)| Some(frame(*address, place.as_ref()?)));
    Callers {
        call,
        frames: frames.collect(),
        begin_inside,
    }
}

/// The name of an MPI function without the letter of its second name.
fn mpi_name(symbol: &str) -> Option<String> {
    let name = symbol.strip_prefix('P').unwrap_or(symbol);
    name.starts_with("MPI_").then(|| name.to_owned())
}

fn frame(address: usize, place: &Place) -> Address {
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
    fn only_frames_of_callers_are_above() {
        let here = 0_u8;
        let outer = (&raw const here).addr();
        assert!(is_above(outer));
        let boxed = Box::new(0_u8);
        assert!(!is_above((&raw const *boxed).addr()));
        assert!(!is_above(0));
    }

    #[test]
    fn a_function_has_its_name_without_the_letter_for_profiling() {
        assert_eq!(mpi_name("PMPI_Recv").as_deref(), Some("MPI_Recv"));
        assert_eq!(mpi_name("MPI_Recv").as_deref(), Some("MPI_Recv"));
        assert_eq!(mpi_name("Process"), None);
    }
}
