//! What happens when a call fails: the error handler in charge, and the line for humans.

use core::cell::Cell;
use core::ffi::c_int;
use std::collections::BTreeSet;
use std::sync::Arc;

use mpi_lite::boot::state::FailedCall;
use parking_lot::Mutex;

use crate::abi::{self, Handle};
use crate::codes;
use crate::error::{Cause, Error, Result};
use crate::events;
use crate::global::{LIBRARY, Stage, Thread};
use crate::handle::{Key, Kind};
use crate::objects::comm::{self, CommObject};
use crate::objects::errhandler;
use crate::objects::session::SessionObject;
use crate::objects::{file::FileObject, win::WinObject};
use crate::registry::Registered;
use crate::symbol::Symbol;

/// One running call of a C function.
#[derive(Debug)]
pub struct Call {
    symbol: &'static Symbol,
    /// The object that the call is made on, or the handler of what it makes.
    object: Cell<Option<Handle>>,
}

/// The error handler that applies, and the object that it gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct InCharge {
    handler: Handle,
    object: Handle,
}

impl Call {
    /// Notes that `symbol` is entered.
    #[inline]
    pub fn enter(symbol: &'static Symbol) -> Self {
        LIBRARY.enter(symbol);
        Self {
            symbol,
            object: Cell::new(None),
        }
    }

    /// Notes that `symbol` is entered, whose arguments are in `record`.
    #[inline]
    pub fn enter_recorded<A>(symbol: &'static Symbol, record: &A) -> Self {
        LIBRARY.enter_recorded(record);
        Self {
            symbol,
            object: Cell::new(None),
        }
    }

    /// The name of the C function.
    pub fn name(&self) -> &'static str {
        self.symbol.name
    }

    /// Notes the object whose error handler is in charge.
    #[inline]
    pub fn note_object(&self, object: Handle) {
        self.object.set(Some(object));
    }

    /// Notes the file whose error handler is in charge: that of `MPI_FILE_NULL` if it is none.
    /// Source: MPI 5.0, 14.7.
    #[inline]
    pub fn note_file(&self, file: Handle) {
        let is_made = Key::kind_of(file) == Some(Kind::File);
        self.note_object(if is_made { file } else { abi::MPI_FILE_NULL });
    }

    /// Notes the error handler that is in charge if the call is made on no object.
    #[inline]
    pub fn note_handler(&self, handler: Handle) {
        self.object.set(self.object.get().or(Some(handler)));
    }

    /// Refuses the call before `MPI_Init`, after `MPI_Finalize` and in a forked child, unless it is
    /// always allowed.
    ///
    /// # Errors
    /// `Cause::BeforeInit`, `Cause::AfterFinalize`, `Cause::InForkedChild`.
    #[inline]
    pub fn check_running(&self) -> Result<()> {
        if Self::may_run(self.symbol) {
            return Ok(());
        }
        check_stage()
    }

    /// Returns true if nothing stands against a call of `symbol`, and nobody watches.
    #[inline]
    pub fn may_run(symbol: &Symbol) -> bool {
        symbol.any_time || LIBRARY.stage() == Stage::Running
    }

    /// The result of a function without a body; `code_of` returns the code that names it.
    ///
    /// # Errors
    /// Always.
    pub fn unsupported(&self, code_of: fn(&str) -> c_int) -> Result<()> {
        let code = code_of(self.symbol.name);
        Err(Cause::Unsupported { code }.into())
    }

    /// Ends a call that may not go on: MPI does not run, or a tool watches and the call is to be
    /// made under observation. `entry` notes the object of this call if it gets it; else it makes
    /// the call once more. Returns what the C function returns.
    #[cold]
    pub fn refuse(self, error: Error, entry: &dyn Fn(Option<&Self>) -> c_int) -> c_int {
        if !error.is_of_watch() {
            return self.raise(error, &|_| {});
        }
        entry(Some(&self));
        let code = events::observe(self.symbol.name, self.object.get(), &|| entry(None));
        // Callbacks may have called MPI.
        LIBRARY.enter(self.symbol);
        code
    }

    /// Hands the error to the handler in charge; returns what the C function returns.
    ///
    /// `show` appends the arguments of the call; it runs only if a line is printed.
    #[cold]
    pub fn raise(self, error: Error, show: &dyn Fn(&mut String)) -> c_int {
        let code = self.code_of(&error);
        if error.is_of_stage() {
            self.stop(&error, &|_| {});
        }
        let in_charge = self.in_charge(&error);
        if in_charge.is_some_and(InCharge::is_fatal) {
            self.stop(&error, show)
        }
        if error.of_missing().is_some() && is_first_of_host() && self.is_first_time() {
            // Programs that get errors back seldom tell which function it was.
            LIBRARY.print(&self.line(&error, show));
        }
        if in_charge.is_some() {
            let failed = self.failed(&error);
            *LIBRARY.failed_call.lock() = Some(failed);
        }
        match in_charge {
            Some(InCharge { handler, object }) if handler != abi::MPI_ERRORS_RETURN => {
                let error = Handling::of(handler, self.symbol, code);
                if let Some(_handling) = HANDLING.begin(error) {
                    errhandler::call(handler, object, code);
                }
            }
            _ => {}
        }
        code
    }

    /// Returns true if no line was printed of the function, which is missing.
    fn is_first_time(&self) -> bool {
        MISSING.lock().insert(self.symbol.name)
    }

    /// The code that the C function returns: the class of the error, what the tool interface has
    /// instead of it (MPI 5.0, 15.3.10), or the code that names a function without a body.
    fn code_of(&self, error: &Error) -> c_int {
        let class = error.class();
        match class {
            _ if !self.symbol.is_of_tools => error.of_missing().unwrap_or(class),
            abi::MPI_ERR_ARG | abi::MPI_ERR_BUFFER | abi::MPI_ERR_COUNT => abi::MPI_T_ERR_INVALID,
            abi::MPI_ERR_UNSUPPORTED_OPERATION => abi::MPI_T_ERR_NOT_SUPPORTED,
            _ => class,
        }
    }

    /// The handler in charge; none where errors are only returned.
    fn in_charge(&self, error: &Error) -> Option<InCharge> {
        if self.symbol.is_of_tools {
            // MPI 5.0, 15.3.10: the tool interface returns codes and calls no handler.
            return None;
        }
        let noted = error.comm().or_else(|| self.object.get());
        let noted = noted.and_then(InCharge::of);
        Some(noted.unwrap_or_else(handler_of_no_object))
    }

    /// This call, for the report of a job that hangs.
    fn failed(&self, error: &Error) -> FailedCall {
        let noted = error.comm().or_else(|| self.object.get());
        let comm = noted.and_then(|noted| comm::find(noted).ok());
        let comm = comm.map(|comm| (comm.lite.context(), Arc::clone(comm.lite.engine())));
        let (begun, begun_nonblocking) = comm
            .as_ref()
            .map_or((0, 0), |(context, engine)| engine.report().begun(*context));
        FailedCall {
            name: self.symbol.name.into(),
            why: error.to_string(),
            context: comm.map(|(context, _)| context.0),
            begun,
            begun_nonblocking,
        }
    }

    /// Prints the one line and ends the job.
    fn stop(&self, error: &Error, show: &dyn Fn(&mut String)) -> ! {
        LIBRARY.abort(1, &self.line(error, show))
    }

    /// The one line of an error.
    fn line(&self, error: &Error, show: &dyn Fn(&mut String)) -> String {
        let head = format!(
            "MPI error {} in {}",
            LIBRARY.whereabouts(),
            self.symbol.name
        );
        let mut arguments = String::from("(");
        show(&mut arguments);
        let name = codes::class_name(error.class());
        let tail = format!("): {error} [{name}]");
        one_line(&head, arguments, &tail)
    }
}

/// Returns true in one rank of each host, which prints what it would print as well as others.
fn is_first_of_host() -> bool {
    let process = LIBRARY.process.get();
    process.is_none_or(|process| process.assignment().local_rank == 0)
}

/// Returns the error of a call at this stage.
#[cold]
#[inline(never)]
fn check_stage() -> Result<()> {
    match LIBRARY.stage() {
        Stage::Running => Ok(()),
        Stage::Watched => events::check_observed(),
        Stage::Before => Err(Cause::BeforeInit.into()),
        Stage::After => Err(Cause::AfterFinalize.into()),
        Stage::Forked => Err(Cause::InForkedChild.into()),
        Stage::Ending => LIBRARY.end(),
    }
}

impl InCharge {
    /// Returns true if the handler ends the job.
    fn is_fatal(self) -> bool {
        matches!(
            self.handler,
            abi::MPI_ERRORS_ARE_FATAL | abi::MPI_ERRORS_ABORT
        )
    }

    /// The handler of an object of any kind, or a handler itself. `None` if it is neither.
    fn of(noted: Handle) -> Option<Self> {
        match Key::kind_of(noted) {
            Some(Kind::Comm) => Self::of_object::<Arc<CommObject>>(noted),
            Some(Kind::Session) => Self::of_object::<Arc<SessionObject>>(noted),
            Some(Kind::Win) => Self::of_object::<Arc<WinObject>>(noted),
            Some(Kind::File) => {
                let of_file = Self::of_object::<Arc<FileObject>>(noted);
                Some(of_file.unwrap_or_else(Self::of_no_file))
            }
            None if noted == abi::MPI_FILE_NULL => Some(Self::of_no_file()),
            _ => Self::of_predefined(noted).or_else(|| Self::itself(noted)),
        }
    }

    /// The handler of an object that the program made.
    fn of_object<T: Registered>(object: Handle) -> Option<Self> {
        let handler = T::table().lock().get(object).ok()?.handler()?;
        Some(Self { handler, object })
    }

    /// The handler of a communicator that every process has.
    fn of_predefined(object: Handle) -> Option<Self> {
        let handler = comm::find(object).ok()?.errhandler.get();
        Some(Self { handler, object })
    }

    /// The handler of calls that belong to files but to no file that exists.
    fn of_no_file() -> Self {
        let (handler, object) = (errhandler::OF_NO_FILE.get(), abi::MPI_FILE_NULL);
        Self { handler, object }
    }

    /// A handler, for what the call makes.
    fn itself(handler: Handle) -> Option<Self> {
        let object = errhandler::null_object(handler)?;
        Some(Self { handler, object })
    }
}

/// The line of an error, of at most `MPI_MAX_ERROR_STRING` bytes with its end, as far as leaving
/// out arguments can achieve that: what is wrong, what to do and the class are never cut.
fn one_line(head: &str, arguments: String, tail: &str) -> String {
    let most = abi::MPI_MAX_ERROR_STRING as usize - 1;
    let room = most.saturating_sub(head.len() + tail.len());
    let arguments = if arguments.len() <= room {
        arguments
    } else {
        without_middle(&arguments, room)
    };
    format!("{head}{arguments}{tail}")
}

/// As many of the first and of the last arguments as fit `room` bytes, with `…` between them.
/// `arguments` begins with the parenthesis, which stays.
fn without_middle(arguments: &str, room: usize) -> String {
    const GAP: &str = "…";
    let parts: Vec<&str> = arguments[1..].split(", ").collect();
    let (mut first, mut last) = (String::from("("), String::new());
    for number in 0..parts.len() {
        let is_front = number % 2 == 0;
        let part = if is_front {
            parts[number / 2]
        } else {
            parts[parts.len() - 1 - number / 2]
        };
        if first.len() + part.len() + ", ".len() + GAP.len() + last.len() > room {
            break;
        }
        if is_front {
            first = format!("{first}{part}, ");
        } else {
            last = format!(", {part}{last}");
        }
    }
    format!("{first}{GAP}{last}")
}

/// An error that a handler of the program is handling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handling {
    thread: Thread,
    handler: Handle,
    symbol: &'static str,
    code: c_int,
}

impl Handling {
    fn of(handler: Handle, symbol: &'static Symbol, code: c_int) -> Self {
        Self {
            thread: Thread::current(),
            handler,
            symbol: symbol.name,
            code,
        }
    }
}

/// The errors that handlers are handling, of all threads, with the place of each on its thread's
/// stack.
///
/// A handler that calls the function again which failed would be called again, and so on until the
/// stack ends. It need not be its own doing: bindings for other languages ask for the kind of the
/// communicator before they can call a handler. So a handler is not called for the error that it is
/// handling; the inner call only returns the code.
#[derive(Debug, Default)]
pub struct Handlings(Mutex<Vec<(Handling, usize)>>);

/// The errors that handlers of the program are handling.
static HANDLING: Handlings = Handlings::new();

/// The functions without a body that were called: a line was printed of each.
static MISSING: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// Ends the handling, also if the handler leaves by an exception.
#[derive(Debug)]
struct Under<'a>(&'a Handlings, Handling);

impl Handlings {
    /// No handler runs.
    pub const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Notes an error, unless a handler is handling it.
    fn begin(&self, error: Handling) -> Option<Under<'_>> {
        let here = 0_u8;
        let place = (&raw const here).addr();
        let mut known = self.0.lock();
        // A stack grows downwards on every known machine: what lies below belongs to a handler that
        // left by `longjmp`.
        known.retain(|(other, their)| other.thread != error.thread || *their > place);
        if known.iter().any(|(other, _)| *other == error) {
            return None;
        }
        known.push((error, place));
        Some(Under(self, error))
    }
}

impl Drop for Under<'_> {
    fn drop(&mut self) {
        let Self(all, error) = self;
        all.0.lock().retain(|(other, _)| other != error);
    }
}

/// The handler for errors that belong to no communicator.
///
/// Since MPI 4.0 it is that of `MPI_COMM_SELF`; before, it was that of `MPI_COMM_WORLD`. Programs
/// written for either are served: if `MPI_COMM_SELF` still has the handler that it started with,
/// the other decides. Source: MPI 5.0, 9.3.
fn handler_of_no_object() -> InCharge {
    let [own, world] = [abi::MPI_COMM_SELF, abi::MPI_COMM_WORLD].map(|object| {
        let handler = abi::MPI_ERRORS_ARE_FATAL;
        InCharge::of_predefined(object).unwrap_or(InCharge { handler, object })
    });
    if own.handler == abi::MPI_ERRORS_ARE_FATAL {
        world
    } else {
        own
    }
}

/// Returns true if an error of a call without an object ends the job.
pub fn is_fatal_without_object() -> bool {
    handler_of_no_object().is_fatal()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "MPI error on rank 1 (pid 4711, host n1) in MPI_Alltoallv";

    fn arguments(number: usize) -> String {
        let all: Vec<String> = (0..number)
            .map(|it| format!("name_{it}=0x7ffd0000{it}"))
            .collect();
        format!("({}", all.join(", "))
    }

    #[test]
    fn arguments_that_fit_are_all_told() {
        let line = one_line(HEAD, arguments(3), "): wrong [MPI_ERR_ARG]");
        assert_eq!(
            line,
            format!("{HEAD}{}): wrong [MPI_ERR_ARG]", arguments(3))
        );
    }

    #[test]
    fn arguments_make_room_for_what_is_wrong() {
        for reason in 0..450 {
            let tail = format!("): {} [MPI_ERR_ARG]", "x".repeat(reason));
            let line = one_line(HEAD, arguments(9), &tail);
            assert!(line.starts_with(&format!("{HEAD}(")), "{line}");
            assert!(line.ends_with(&tail), "{line}");
            let least = HEAD.len() + "(…".len() + tail.len();
            assert!(
                line.len() < 512 || line.len() == least,
                "{}: {line}",
                line.len()
            );
            // Whole arguments, the first and the last of them.
            let shown = &line[HEAD.len() + 1..line.len() - tail.len()];
            for part in shown.split(", ").filter(|part| *part != "…") {
                assert!(arguments(9).contains(part), "{part} in {line}");
            }
            if shown.contains(", …, ") {
                assert!(shown.starts_with("name_0=") && shown.ends_with("name_8=0x7ffd00008"));
            }
        }
    }
}
