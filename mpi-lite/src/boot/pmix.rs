//! A server of PMIx, as Open MPI's `mpirun`, `prterun` and `srun --mpi=pmix` are.
//!
//! Its protocol is that of a library, `libpmix.so.2`, which is loaded at run time: only these jobs
//! need it. The layouts below are those of PMIx 3 to 6 on machines of 64 bits.
#![expect(unsafe_code, reason = "calls a C library that is loaded at run time")]

use std::ffi::{CStr, CString, OsString, c_char, c_int, c_void};
use std::fmt;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use libloading::Library;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::write;

use super::BootError;
use super::managed::Interface;
use super::waiting::{ANSWER_PATIENCE, await_first, patiently};

/// The library's name: its interface has kept this number from version 2 on.
const LIBRARY: &str = "libpmix.so.2";

/// The end of an error about a server that cannot be used.
const ALONE: &str = " (to run the program alone, unset PMIX_NAMESPACE)";

const NAMESPACE_BYTES: usize = 256;
const KEY_BYTES: usize = 512;
const SUCCESS: c_int = 0;
/// There is no server: nobody else was started.
const UNREACHABLE: c_int = -25;
const WILDCARD: u32 = 0xFFFF_FFFE;
const GLOBAL: u8 = 3;

const TYPE_BOOL: u16 = 1;
const TYPE_STRING: u16 = 3;

/// `pmix_proc_t`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Proc {
    namespace: [c_char; NAMESPACE_BYTES],
    rank: u32,
}

/// `pmix_value_t`: a type, and a union of which the longest member has 24 bytes.
#[repr(C)]
struct Value {
    kind: u16,
    data: [u64; 3],
}

/// `pmix_info_t`.
#[repr(C)]
struct Info {
    key: [c_char; KEY_BYTES],
    flags: u32,
    value: Value,
}

type Init = unsafe extern "C" fn(*mut Proc, *const Info, usize) -> c_int;
type Finalize = unsafe extern "C" fn(*const Info, usize) -> c_int;
type Get =
    unsafe extern "C" fn(*const Proc, *const c_char, *const Info, usize, *mut *mut Value) -> c_int;
type Put = unsafe extern "C" fn(u8, *const c_char, *mut Value) -> c_int;
type Commit = unsafe extern "C" fn() -> c_int;
type Done = unsafe extern "C" fn(c_int, *mut c_void);
type Fence =
    unsafe extern "C" fn(*const Proc, usize, *const Info, usize, Done, *mut c_void) -> c_int;
type Abort = unsafe extern "C" fn(c_int, *const c_char, *const Proc, usize) -> c_int;
type Describe = unsafe extern "C" fn(c_int) -> *const c_char;

/// The functions of the library.
struct Functions {
    init: Init,
    finalize: Finalize,
    get: Get,
    put: Put,
    commit: Commit,
    fence: Fence,
    abort: Abort,
    describe: Describe,
}

impl Functions {
    /// Loads the library; its path or name is `file`.
    fn load(file: &OsString) -> Result<Self, String> {
        let because = |error: libloading::Error| error.to_string();
        // SAFETY: the library's initialisers have no conditions; it is never unloaded, since its
        // threads may run to the end of this process.
        let library = unsafe { Library::new(file) }.map_err(because)?;
        let library: &'static Library = Box::leak(Box::new(library));
        // SAFETY: the types are those of PMIx's interface (pmix.h).
        unsafe {
            Ok(Self {
                init: *library.get(b"PMIx_Init\0").map_err(because)?,
                finalize: *library.get(b"PMIx_Finalize\0").map_err(because)?,
                get: *library.get(b"PMIx_Get\0").map_err(because)?,
                put: *library.get(b"PMIx_Put\0").map_err(because)?,
                commit: *library.get(b"PMIx_Commit\0").map_err(because)?,
                fence: *library.get(b"PMIx_Fence_nb\0").map_err(because)?,
                abort: *library.get(b"PMIx_Abort\0").map_err(because)?,
                describe: *library.get(b"PMIx_Error_string\0").map_err(because)?,
            })
        }
    }
}

/// What the library's thread reports when a fence ends.
struct Ended {
    status: AtomicI32,
    bell: OwnedFd,
}

/// Called by the library's thread.
unsafe extern "C" fn note_end(status: c_int, ended: *mut c_void) {
    // SAFETY: `enter_fence` passes a pointer to what is never freed.
    let ended = unsafe { &*ended.cast::<Ended>() };
    ended.status.store(status, Ordering::Release);
    let _ = write(&ended.bell, &1_u64.to_ne_bytes());
}

/// The server that has started this rank.
pub(super) struct Pmix {
    functions: Functions,
    me: Proc,
    size: u32,
    appnum: Option<u32>,
    name: &'static str,
    ended: &'static Ended,
}

impl fmt::Debug for Pmix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pmix")
            .field("rank", &self.me.rank)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

/// Returns true if the environment names a server of PMIx.
pub(super) fn is_there(variable: &impl Fn(&str) -> Option<OsString>) -> bool {
    variable("PMIX_NAMESPACE").is_some() && variable("PMIX_RANK").is_some()
}

/// Connects to the server. Returns `None` if there is none and this process was started alone.
///
/// # Errors
/// The library is missing, or the server does not do what it must.
pub(super) fn connect(
    variable: &impl Fn(&str) -> Option<OsString>,
) -> Result<Option<Box<dyn Interface>>, BootError> {
    let (name, is_alone) = (name(variable), is_alone(variable));
    let wrong = |what| BootError::Manager {
        manager: name,
        what,
    };
    match load(variable) {
        Ok(functions) => match join(functions, name, ANSWER_PATIENCE)? {
            Some(pmix) => Ok(Some(Box::new(pmix))),
            None if is_alone => Ok(None),
            None => Err(wrong(format!(
                "speaks PMIx, but does not answer here: a container or a wrapper between them must \
                 let its address (PMIX_SERVER_URI...) through{ALONE}"
            ))),
        },
        // A process that is alone needs no server.
        Err(_) if is_alone => Ok(None),
        Err(reason) => Err(wrong(format!(
            "speaks PMIx, but {LIBRARY} cannot be loaded ({reason}): install it (Debian: \
             libpmix2), set LD_LIBRARY_PATH to its folder, or use mpi-lite's mpirun{ALONE}"
        ))),
    }
}

/// Joins the job. Returns `None` if no server answers.
fn join(
    functions: Functions,
    name: &'static str,
    patience: Duration,
) -> Result<Option<Pmix>, BootError> {
    let Some((status, me)) = initialize(functions.init, patience)? else {
        return Ok(None);
    };
    if status == UNREACHABLE {
        return Ok(None);
    }
    let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
    let bell = bell.map_err(|errno| BootError::System(format!("eventfd: {errno}")))?;
    let mut pmix = Pmix {
        functions,
        me,
        size: 0,
        appnum: None,
        name,
        ended: Box::leak(Box::new(Ended {
            status: AtomicI32::new(SUCCESS),
            bell,
        })),
    };
    pmix.check(status, "PMIx_Init")?;
    let Some(size) = pmix.number(WILDCARD, "pmix.job.size") else {
        return Err(pmix.wrong("gave no size of the job".into()));
    };
    pmix.size = size;
    pmix.appnum = pmix.number(me.rank, "pmix.appnum");
    Ok(Some(pmix))
}

/// Calls `PMIx_Init` in a thread of its own. With an address where nobody answers it takes more
/// than half a minute. Returns `None` if it takes longer than `patience`; the thread is left
/// behind.
#[expect(
    clippy::disallowed_methods,
    reason = "the library has no call that gives up"
)]
fn initialize(init: Init, patience: Duration) -> Result<Option<(c_int, Proc)>, BootError> {
    let (sender, receiver) = channel();
    let call = move || {
        let mut me = Proc {
            namespace: [0; NAMESPACE_BYTES],
            rank: 0,
        };
        // SAFETY: the library writes a process to `me`, and reads no infos.
        let status = unsafe { init(&raw mut me, std::ptr::null(), 0) };
        // Nobody takes it if it comes too late.
        let _ = sender.send((status, me));
    };
    let thread = std::thread::Builder::new().spawn(call);
    thread.map_err(|error| BootError::System(format!("a thread for PMIx_Init: {error}")))?;
    Ok(patiently(patience, |time| receiver.recv_timeout(time).ok()))
}

/// The server, by what else it leaves in the environment.
fn name(variable: &impl Fn(&str) -> Option<OsString>) -> &'static str {
    const NAMES: [(&str, &str); 4] = [
        ("SLURM_STEP_ID", "Slurm's srun"),
        ("JSM_NAMESPACE_RANK", "IBM's jsrun"),
        ("OMPI_COMM_WORLD_SIZE", "Open MPI's mpirun"),
        ("PRTE_LAUNCHED", "prterun"),
    ];
    let found = NAMES.iter().find(|(mark, _)| variable(mark).is_some());
    found.map_or("a server of PMIx", |(_, name)| name)
}

/// Returns true if the environment says that one process was started. Where it does not say how
/// many there are (`prterun`), each of several ones would take itself for rank 0 of 1.
fn is_alone(variable: &impl Fn(&str) -> Option<OsString>) -> bool {
    const SIZES: [&str; 3] = [
        "OMPI_COMM_WORLD_SIZE",
        "SLURM_STEP_NUM_TASKS",
        "JSM_NAMESPACE_SIZE",
    ];
    let known = SIZES.iter().find_map(|size| variable(size));
    known.is_some_and(|size| size == "1")
}

fn load(variable: &impl Fn(&str) -> Option<OsString>) -> Result<Functions, String> {
    let beside = variable("PMIX_INSTALL_PREFIX").map(|mut prefix| {
        prefix.push("/lib/");
        prefix.push(LIBRARY);
        prefix
    });
    let files = beside.into_iter().chain([LIBRARY.into()]);
    let mut reason = String::new();
    for file in files {
        match Functions::load(&file) {
            Ok(functions) => return Ok(functions),
            Err(error) => reason = error,
        }
    }
    Err(reason)
}

/// Copies a text into a field of fixed length, which begins as zeros and keeps one at its end.
fn copy_into(field: &mut [c_char], text: &str) {
    let room = field.len() - 1;
    for (place, byte) in field[..room].iter_mut().zip(text.bytes()) {
        *place = byte.cast_signed();
    }
}

fn c_string(text: &str) -> CString {
    let plain: Vec<u8> = text.bytes().filter(|byte| *byte != 0).collect();
    CString::new(plain).unwrap_or_default()
}

impl Pmix {
    fn wrong(&self, what: String) -> BootError {
        BootError::Manager {
            manager: self.name,
            what,
        }
    }

    fn check(&self, status: c_int, call: &str) -> Result<(), BootError> {
        if status == SUCCESS {
            return Ok(());
        }
        // SAFETY: the library returns a text for each status, which is never freed.
        let text = unsafe {
            let text = (self.functions.describe)(status);
            match text.is_null() {
                true => String::new(),
                false => CStr::from_ptr(text).to_string_lossy().into_owned(),
            }
        };
        Err(self.wrong(format!("failed in {call}: {text} ({status})")))
    }

    fn of_rank(&self, rank: u32) -> Proc {
        Proc { rank, ..self.me }
    }

    /// A value of a rank. The caller reads it before it is freed: `read` gets type and data.
    fn fetch<T>(&self, rank: u32, key: &str, read: impl FnOnce(&Value) -> Option<T>) -> Option<T> {
        let (of, key) = (self.of_rank(rank), c_string(key));
        let mut found: *mut Value = std::ptr::null_mut();
        // SAFETY: all pointers lead to live values; the library makes the value that it returns.
        let status = unsafe {
            (self.functions.get)(
                &raw const of,
                key.as_ptr(),
                std::ptr::null(),
                0,
                &raw mut found,
            )
        };
        // SAFETY: a value that was returned is valid. It is not freed: which function does that
        // differs between versions, and it is small.
        let value = unsafe { found.as_ref() };
        value.filter(|_| status == SUCCESS).and_then(read)
    }

    /// An integer: versions differ in its type.
    fn number(&self, rank: u32, key: &str) -> Option<u32> {
        self.fetch(rank, key, |value| {
            let word = value.data[0];
            let bytes = word.to_le_bytes();
            let wide = match value.kind {
                // size_t, uint64_t, int64_t
                4 | 10 | 15 => word,
                // uint8_t, int8_t, and so on: the low bytes
                7 | 12 => u64::from(bytes[0]),
                8 | 13 => u64::from(u16::from_le_bytes([bytes[0], bytes[1]])),
                // int, int32_t, uint_t, uint32_t, rank
                6 | 9 | 11 | 14 | 40 => word & 0xFFFF_FFFF,
                _ => return None,
            };
            u32::try_from(wide).ok()
        })
    }
}

impl Interface for Pmix {
    fn name(&self) -> &'static str {
        self.name
    }

    fn rank(&self) -> u32 {
        self.me.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn appnum(&self) -> Option<u32> {
        self.appnum
    }

    fn is_private(&self) -> bool {
        false
    }

    fn address(&self) -> Option<IpAddr> {
        None
    }

    fn value_max(&self) -> usize {
        // A value is text of any length; a server on another host gets it in one message.
        64 << 10
    }

    fn nodes(&mut self) -> Result<Option<Vec<u32>>, BootError> {
        // What servers say about nodes differs, so the machine decides.
        Ok(None)
    }

    fn put(&mut self, key: &str, value: &str) -> Result<(), BootError> {
        let (key, text) = (c_string(&format!("mpilite.{key}")), c_string(value));
        let mut value = Value {
            kind: TYPE_STRING,
            data: [text.as_ptr().addr() as u64, 0, 0],
        };
        // SAFETY: the value leads to a text that lives beyond the call, which copies it.
        let status = unsafe { (self.functions.put)(GLOBAL, key.as_ptr(), &raw mut value) };
        self.check(status, "PMIx_Put")
    }

    fn get(&mut self, rank: u32, key: &str) -> Result<Option<String>, BootError> {
        Ok(self.fetch(rank, &format!("mpilite.{key}"), |value| {
            let text = value.data[0] as usize as *const c_char;
            let is_text = value.kind == TYPE_STRING && !text.is_null();
            // SAFETY: a value of this type leads to a text that ends with a zero.
            let text = is_text.then(|| unsafe { CStr::from_ptr(text) });
            Some(text?.to_string_lossy().into_owned())
        }))
    }

    fn enter_fence(&mut self) -> Result<(), BootError> {
        // SAFETY: the call has no conditions.
        let committed = unsafe { (self.functions.commit)() };
        self.check(committed, "PMIx_Commit")?;
        let all = self.of_rank(WILDCARD);
        let mut collect = Info {
            key: [0; KEY_BYTES],
            flags: 0,
            value: Value {
                kind: TYPE_BOOL,
                data: [1, 0, 0],
            },
        };
        copy_into(&mut collect.key, "pmix.collect");
        let ended = std::ptr::from_ref(self.ended).cast_mut().cast();
        // SAFETY: the library copies what it needs before it returns, but for `ended`, which is
        // never freed.
        let status = unsafe {
            (self.functions.fence)(&raw const all, 1, &raw const collect, 1, note_end, ended)
        };
        self.check(status, "PMIx_Fence")
    }

    fn leave_fence(&mut self, watch: Option<BorrowedFd<'_>>) -> Result<bool, BootError> {
        let bell = &self.ended.bell;
        let awaited = await_first(bell.as_fd(), watch);
        if !awaited.map_err(|error| BootError::System(format!("poll: {error}")))? {
            return Ok(false);
        }
        let _ = rustix::io::read(bell, &mut [0; 8]);
        let status = self.ended.status.load(Ordering::Acquire);
        self.check(status, "PMIx_Fence").map(|()| true)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn abort(&mut self, code: i32, line: &str) {
        let line = c_string(line);
        // SAFETY: the text lives beyond the call; no process means all.
        unsafe { (self.functions.abort)(code, line.as_ptr(), std::ptr::null(), 0) };
    }

    fn finalize(&mut self) -> Result<(), BootError> {
        // SAFETY: the library reads no infos.
        let status = unsafe { (self.functions.finalize)(std::ptr::null(), 0) };
        self.check(status, "PMIx_Finalize")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(20);

    unsafe extern "C" fn refuse(_: *mut Proc, _: *const Info, _: usize) -> c_int {
        UNREACHABLE
    }

    unsafe extern "C" fn stay(_: *mut Proc, _: *const Info, _: usize) -> c_int {
        loop {
            std::thread::park();
        }
    }

    unsafe extern "C" fn succeed(me: *mut Proc, _: *const Info, _: usize) -> c_int {
        // SAFETY: `initialize` passes a process.
        unsafe { (*me).rank = 5 };
        SUCCESS
    }

    #[test]
    fn a_server_that_stays_silent_ends_the_wait_and_one_that_answers_is_taken() {
        assert!(initialize(stay, SHORT).unwrap().is_none());
        let long = Duration::from_secs(60);
        let (status, _) = initialize(refuse, long).unwrap().unwrap();
        assert_eq!(status, UNREACHABLE);
        let (status, me) = initialize(succeed, long).unwrap().unwrap();
        assert_eq!((status, me.rank), (SUCCESS, 5));
    }

    #[test]
    fn a_process_is_alone_only_if_the_environment_says_so() {
        for (set, expected) in [
            (&[][..], false),
            (&[("PMIX_RANK", "0")][..], false),
            (&[("PMIX_RANK", "1")][..], false),
            (&[("PRTE_LAUNCHED", "1")][..], false),
            (&[("OMPI_COMM_WORLD_SIZE", "1")][..], true),
            (&[("OMPI_COMM_WORLD_SIZE", "2")][..], false),
            (&[("SLURM_STEP_NUM_TASKS", "1")][..], true),
        ] {
            let variable = |name: &str| {
                let found = set.iter().find(|(other, _)| *other == name);
                found.map(|(_, value)| OsString::from(value))
            };
            assert_eq!(is_alone(&variable), expected, "{set:?}");
        }
    }
}
