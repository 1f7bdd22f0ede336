//! Events of the tool interface: what a tool may watch, and how its callbacks are called. Source:
//! MPI 5.0, 15.3.8.
//!
//! Events are put into one queue as they happen, perhaps with the lane locked. A call of the
//! program delivers them before it returns, when nothing is locked: each callback may call MPI.
//! One thread at a time delivers, so callbacks get the events in the order of their times.
//!
//! A call costs nothing more while no tool watches. Each call looks at the library's stage; if it
//! is `Watched`, the call leaves its short way as a failed one does, and is made again by
//! [`observe`].
#![expect(unsafe_code, reason = "the program's callbacks are called")]

use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::VecDeque;

use mpi_lite::comm::Call;
use mpi_lite::engine::{self, MessageEvent, MessageStep, Observer};
use mpi_lite::ids::Context;
use parking_lot::Mutex;

use crate::abi::{self, Handle};
use crate::callback::{Callback, call_program};
use crate::error::{Cause, Error, Result};
use crate::event_types::{BEGIN, END, OPERATIONS, ROOM, TYPES, size_of_element};
use crate::global::{LIBRARY, Thread};
use crate::handle::Kind;
use crate::object::Object;
use crate::objects::comm;
use crate::variables::{Tools, tools};

/// Something that happened.
#[derive(Debug, Clone, Copy)]
pub struct Event {
    kind: usize,
    /// Nanoseconds of the source's clock.
    pub time: i64,
    bytes: [u8; ROOM],
}

impl Object for Event {
    const KIND: Kind = Kind::EventInstance;
}

impl Object for Registration {
    const KIND: Kind = Kind::EventRegistration;
}

impl Event {
    /// All elements, as the program gets them.
    pub fn bytes(&self) -> &[u8] {
        let last = TYPES[self.kind].elements.last();
        let len = last.map_or(0, |(datatype, at)| at + size_of_element(*datatype));
        &self.bytes[..len]
    }

    /// The bytes of one element.
    ///
    /// # Errors
    /// `MPI_T_ERR_INVALID_INDEX`.
    pub fn element(&self, index: c_int) -> Result<&[u8]> {
        let elements = TYPES[self.kind].elements;
        let (datatype, at) = elements[crate::variables::index(index, elements.len())?];
        Ok(&self.bytes[at..at + size_of_element(datatype)])
    }
}

/// Nanoseconds of the source's clock.
pub fn now() -> i64 {
    (LIBRARY.seconds() * 1e9) as i64
}

/// A callback of the program.
#[derive(Debug, Clone, Copy)]
struct Handler {
    function: usize,
    user_data: usize,
}

/// Safety levels, from the callbacks that may do most.
const LEVELS: [c_int; 4] = [
    abi::MPI_T_CB_REQUIRE_NONE,
    abi::MPI_T_CB_REQUIRE_MPI_RESTRICTED,
    abi::MPI_T_CB_REQUIRE_THREAD_SAFE,
    abi::MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE,
];

/// The place of a safety level.
///
/// # Errors
/// `MPI_T_ERR_INVALID`: it is none.
pub fn level(safety: c_int) -> Result<usize> {
    let place = LEVELS.iter().position(|level| *level == safety);
    place.ok_or_else(|| Error::new(abi::MPI_T_ERR_INVALID, "this is no safety level"))
}

/// A handle that a tool has for a kind of event.
#[derive(Debug, Clone, Copy)]
pub struct Registration {
    kind: usize,
    /// Events before this time are not for it.
    since: i64,
    /// By safety level.
    handlers: [Option<Handler>; LEVELS.len()],
    dropped: Option<usize>,
}

impl Registration {
    /// For events of a kind, from now on.
    pub fn new(kind: usize) -> Self {
        Self {
            kind,
            since: now(),
            handlers: [None; LEVELS.len()],
            dropped: None,
        }
    }

    /// Sets or removes the callback of a safety level.
    pub fn set_handler(&mut self, level: usize, function: *const c_void, user_data: *mut c_void) {
        self.handlers[level] = (!function.is_null()).then(|| Handler {
            function: function.expose_provenance(),
            user_data: user_data.expose_provenance(),
        });
    }

    /// Sets or removes the callback for lost events.
    pub fn set_dropped(&mut self, function: *const c_void) {
        self.dropped = (!function.is_null()).then(|| function.expose_provenance());
    }

    /// The callback that is called: nothing is required of it, so any level will do.
    fn handler(&self) -> Option<Handler> {
        self.handlers.iter().flatten().next().copied()
    }
}

/// How many events wait at most. More are lost.
const LIMIT: usize = 4096;

#[derive(Debug)]
struct Feed {
    queue: VecDeque<Event>,
    /// How many events of each kind are lost.
    lost: [i64; TYPES.len()],
    /// How many registrations each kind has.
    wanted: [u32; TYPES.len()],
    /// The thread that delivers, and where it does so on its stack.
    deliverer: Option<(Thread, usize)>,
    /// The registration whose callback is called.
    called: Option<Handle>,
    /// Registrations that another thread has freed while their callback was called: user data and
    /// function, to be called after that.
    freed: Vec<(Handle, usize, usize)>,
}

impl Feed {
    fn push(&mut self, kind: usize, bytes: [u8; ROOM]) {
        if self.wanted[kind] == 0 {
            return;
        }
        if self.queue.len() == LIMIT {
            self.lost[kind] += 1;
            return;
        }
        let time = now();
        self.queue.push_back(Event { kind, time, bytes });
    }

    /// Makes this thread deliver, unless another one does, or this one below its callbacks. A place
    /// on the stack that lies below `here` belongs to a callback that left by `longjmp`.
    fn begin(&mut self, here: usize) -> bool {
        let me = Thread::current();
        let is_other = |(thread, place): (Thread, usize)| thread != me || place > here;
        if self.deliverer.is_some_and(is_other) {
            return false;
        }
        self.deliverer = Some((me, here));
        true
    }

    /// What is to be delivered next. If there is nothing the thread delivers no more.
    fn next(&mut self) -> Option<Due> {
        if let Some(event) = self.queue.pop_front() {
            return Some(Due::Event(event));
        }
        let kind = self.lost.iter().position(|lost| *lost > 0);
        if kind.is_none() {
            self.deliverer = None;
        }
        kind.map(|kind| Due::Lost(kind, core::mem::take(&mut self.lost[kind])))
    }
}

enum Due {
    Event(Event),
    /// This kind, and how many.
    Lost(usize, i64),
}

/// The events that wait for their delivery.
#[derive(Debug)]
pub struct Events {
    /// A tool has a handle of a kind of event.
    is_on: AtomicBool,
    feed: Mutex<Feed>,
}

/// What tools watch.
pub static EVENTS: Events = Events::unwatched();

impl Events {
    /// Nobody watches.
    pub const fn unwatched() -> Self {
        Self {
            is_on: AtomicBool::new(false),
            feed: Mutex::new(Feed {
                queue: VecDeque::new(),
                lost: [0; TYPES.len()],
                wanted: [0; TYPES.len()],
                deliverer: None,
                called: None,
                freed: Vec::new(),
            }),
        }
    }

    /// Returns true if a tool has a handle of a kind of event.
    pub fn is_on(&self) -> bool {
        self.is_on.load(Ordering::SeqCst)
    }

    /// Counts the registrations of each kind, and begins or ends to watch.
    pub fn settle(&self, registrations: impl Iterator<Item = Registration>) {
        let mut feed = self.feed.lock();
        feed.wanted = [0; TYPES.len()];
        registrations.for_each(|it| feed.wanted[it.kind] += 1);
        let is_on = feed.wanted.iter().any(|wanted| *wanted > 0);
        if !is_on {
            feed.queue.clear();
            feed.lost = [0; TYPES.len()];
        }
        self.is_on.store(is_on, Ordering::SeqCst);
        LIBRARY.watch(is_on);
        drop(feed);
        if let Some(process) = LIBRARY.own_process() {
            let observer: Option<Observer> = if is_on { Some(note) } else { None };
            process.engine().with(|lane| lane.observe(observer));
        }
    }
}

/// Begins to watch in a process that has just begun.
pub fn attach() {
    // A tool may begin or end to watch now: what it sets and what is set here must agree.
    let feed = EVENTS.feed.lock();
    let is_on = EVENTS.is_on();
    if is_on {
        LIBRARY.watch(true);
    }
    drop(feed);
    if is_on {
        let engine = LIBRARY.process().engine();
        engine.with(|lane| lane.observe(Some(note)));
    }
}

fn note(event: &engine::Event) {
    match event {
        engine::Event::Message(event) => note_message(event),
        engine::Event::Collective(event) => {
            let name = Call::operation_name(event.tag);
            if let Some(operation) = name.and_then(operation_of) {
                let kind = if event.is_end { END } else { BEGIN };
                note_collective(kind, operation, event.context);
            }
        }
    }
}

fn note_message(event: &MessageEvent) {
    let kind = match event.step {
        MessageStep::Posted => 0,
        MessageStep::Matched => 1,
        MessageStep::Unexpected => 2,
    };
    let source = event.source.map_or(abi::MPI_ANY_SOURCE, u32::cast_signed);
    let tag = event.tag.unwrap_or(abi::MPI_ANY_TAG);
    let mut bytes = [0; ROOM];
    bytes[..4].copy_from_slice(&source.to_ne_bytes());
    bytes[4..8].copy_from_slice(&tag.to_ne_bytes());
    bytes[8..16].copy_from_slice(&event.bytes.to_ne_bytes());
    bytes[16..].copy_from_slice(&u64::from(event.context.0).to_ne_bytes());
    EVENTS.feed.lock().push(kind, bytes);
}

fn note_collective(kind: usize, operation: c_int, context: Context) {
    let mut bytes = [0; ROOM];
    bytes[..4].copy_from_slice(&operation.to_ne_bytes());
    bytes[8..16].copy_from_slice(&u64::from(context.0).to_ne_bytes());
    EVENTS.feed.lock().push(kind, bytes);
}

thread_local! {
    /// The place on this thread's stack of the call that is observed; 0 if there is none.
    static OBSERVED_AT: Cell<usize> = const { Cell::new(0) };
}

/// A call that is observed.
struct Observation {
    /// The place of the one in whose callback this one is made.
    outer: usize,
}

impl Observation {
    fn begin(here: usize) -> Self {
        let outer = OBSERVED_AT.replace(here);
        Self { outer }
    }
}

impl Drop for Observation {
    fn drop(&mut self) {
        OBSERVED_AT.set(self.outer);
    }
}

/// A place on the stack below that of the caller. A stack grows downwards on every known machine.
#[inline(always)]
fn place_on_stack() -> usize {
    let here = 0_u8;
    (&raw const here).addr()
}

/// Lets a call go on that is observed. No other one goes on while a tool watches.
///
/// # Errors
/// `Cause::Watched`: [`observe`] is to make the call again.
#[cold]
pub fn check_observed() -> Result<()> {
    // What lies below belongs to a call that was left by `longjmp`.
    match OBSERVED_AT.get() > place_on_stack() {
        true => Ok(()),
        false => Err(Cause::Watched.into()),
    }
}

/// Makes a call of the function `name`, and delivers what happens in it. A blocking collective is
/// an event at its begin and at its end; `object` is what it is made on. Returns what the call
/// returns.
#[cold]
pub fn observe(name: &str, object: Option<Handle>, call: &dyn Fn() -> c_int) -> c_int {
    let _observation = Observation::begin(place_on_stack());
    let operation = operation_of(name.strip_suffix("_c").unwrap_or(name));
    let comm = operation.and_then(|_| comm::find(object?).ok());
    let note = |kind| {
        if let (Some(operation), Some(comm)) = (operation, &comm) {
            note_collective(kind, operation, comm.lite.context());
        }
    };
    note(BEGIN);
    deliver();
    let code = call();
    note(END);
    deliver();
    code
}

/// The place of a blocking collective among the operations.
fn operation_of(name: &str) -> Option<c_int> {
    let place = OPERATIONS.iter().position(|known| *known == name);
    place.map(crate::variables::number)
}

/// Calls the callbacks of all events that wait, unless a thread does so already. No lock is held.
#[cold]
#[inline(never)]
pub fn deliver() {
    if !EVENTS.feed.lock().begin(place_on_stack()) {
        return;
    }
    loop {
        let due = EVENTS.feed.lock().next();
        match due {
            Some(Due::Event(event)) => deliver_one(event),
            Some(Due::Lost(kind, count)) => tell_lost(kind, count),
            None => return,
        }
    }
}

/// The registrations of a kind.
fn registered(tools: &Tools, kind: usize) -> Vec<Handle> {
    let of_kind = tools.registrations.iter().filter(|(_, it)| it.kind == kind);
    of_kind.map(|(handle, _)| handle).collect()
}

fn deliver_one(event: Event) {
    let Ok(handles) = tools().map(|tools| registered(&tools, event.kind)) else {
        return;
    };
    for handle in handles {
        call_for(handle, || deliver_to(handle, event));
    }
}

/// Runs `call`, which may call callbacks of a registration. If another thread frees the
/// registration meanwhile, its free function is called after that.
fn call_for(handle: Handle, call: impl FnOnce()) {
    EVENTS.feed.lock().called = Some(handle);
    call();
    let mut feed = EVENTS.feed.lock();
    feed.called = None;
    let freed = core::mem::take(&mut feed.freed);
    drop(feed);
    for (handle, user_data, address) in freed {
        call_free(handle, user_data, address);
    }
}

fn deliver_to(handle: Handle, event: Event) {
    let Ok(mut tools) = tools() else { return };
    // A callback may have freed it.
    let Ok(registration) = tools.registrations.get(handle).copied() else {
        return;
    };
    if event.time < registration.since {
        return;
    }
    let Some(handler) = registration.handler() else {
        drop(tools);
        return tell_lost_to(handle, &registration, 1);
    };
    let instance = tools.instances.insert(event);
    drop(tools);
    call_event(handler, instance, handle);
    if let Ok(mut tools) = crate::variables::tools() {
        let _ = tools.instances.remove(instance);
    }
}

fn tell_lost(kind: usize, count: i64) {
    let Ok(handles) = tools().map(|tools| registered(&tools, kind)) else {
        return;
    };
    for handle in handles {
        call_for(handle, || {
            let found = tools().map(|tools| tools.registrations.get(handle).copied());
            if let Ok(Ok(registration)) = found {
                tell_lost_to(handle, &registration, count);
            }
        });
    }
}

fn tell_lost_to(handle: Handle, registration: &Registration, count: i64) {
    type Function = unsafe extern "C-unwind" fn(i64, Handle, c_int, c_int, *mut c_void);

    let Some(address) = registration.dropped else {
        return;
    };
    let data = registration.handler().map_or(0, |it| it.user_data);
    let data = core::ptr::with_exposed_provenance_mut(data);
    let pointer = core::ptr::with_exposed_provenance::<c_void>(address);
    // SAFETY: the program passed this address as such a function, not null.
    let function = unsafe { core::mem::transmute::<*const c_void, Function>(pointer) };
    // SAFETY: the arguments are those that MPI gives to it.
    call_program(Callback::Event, || unsafe {
        function(count, handle, 0, abi::MPI_T_CB_REQUIRE_NONE, data);
    });
}

fn call_event(handler: Handler, instance: Handle, registration: Handle) {
    type Function = unsafe extern "C-unwind" fn(Handle, Handle, c_int, *mut c_void);

    let data = core::ptr::with_exposed_provenance_mut(handler.user_data);
    let pointer = core::ptr::with_exposed_provenance::<c_void>(handler.function);
    // SAFETY: the program passed this address as such a function, not null.
    let function = unsafe { core::mem::transmute::<*const c_void, Function>(pointer) };
    // SAFETY: the arguments are those that MPI gives to it.
    call_program(Callback::Event, || unsafe {
        function(instance, registration, abi::MPI_T_CB_REQUIRE_NONE, data);
    });
}

/// Tells the program that a registration is gone: at once, or when another thread has ended the
/// callback that it calls.
pub fn tell_freed(registration: Handle, user_data: usize, address: usize) {
    let mut feed = EVENTS.feed.lock();
    let me = Thread::current();
    let is_elsewhere = feed.deliverer.is_some_and(|(thread, _)| thread != me);
    if is_elsewhere && feed.called == Some(registration) {
        feed.freed.push((registration, user_data, address));
        return;
    }
    drop(feed);
    call_free(registration, user_data, address);
}

/// Calls the function at an address that is not 0.
fn call_free(registration: Handle, user_data: usize, address: usize) {
    type Function = unsafe extern "C-unwind" fn(Handle, c_int, *mut c_void);

    if address == 0 {
        return;
    }
    let data = core::ptr::with_exposed_provenance_mut(user_data);
    let pointer = core::ptr::with_exposed_provenance::<c_void>(address);
    // SAFETY: the program passed this address as such a function, not null.
    let function = unsafe { core::mem::transmute::<*const c_void, Function>(pointer) };
    // SAFETY: the arguments are those that MPI gives to it.
    call_program(Callback::Event, || unsafe {
        function(registration, abi::MPI_T_CB_REQUIRE_NONE, data);
    });
}
