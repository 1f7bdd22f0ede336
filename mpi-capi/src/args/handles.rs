//! Arguments that are handles of MPI objects.
#![expect(
    unsafe_code,
    reason = "reading an argument is unsafe in general; handles are checked"
)]

use core::ffi::c_int;
use core::ops::Deref;
use std::sync::Arc;

use mpi_lite::engine::BufferOwner;
use mpi_lite::{comm, data, rma};

use crate::abi::{self, Handle};
use crate::args::numbers::{Out, Slot, Stored, append};
use crate::declaration::Declarator;
use crate::entry::{Arg, Large, Read, Small, Value};
use crate::objects::comm::{CommObject, CommRef};
use crate::objects::errhandler::{Attached, OF_NO_FILE};
pub use crate::objects::types::Datatype;

use crate::error::{Error, Result};
use crate::handle::Unusable;
use crate::objects::file::FileObject;
use crate::objects::info::InfoObject;
use crate::objects::recipe::Recipe;
use crate::objects::reduce;
use crate::objects::session::SessionObject;
use crate::objects::types::{self, Made};
use crate::objects::win::{self, WinObject, WinRef};
use crate::raise::Call;
use crate::registry::{self, Registered};

/// A communicator that exists.
#[derive(Debug, Clone)]
pub struct Comm(pub CommRef);

/// A communicator, or `MPI_COMM_NULL` where that is something of its own.
#[derive(Debug, Clone, Copy)]
pub struct LateComm {
    /// The handle that the program gave.
    pub handle: Handle,
    name: &'static str,
}

/// A communicator that matters only on some processes: looked at where it does. Errors of the call
/// belong to another one.
#[derive(Debug, Clone, Copy)]
pub struct PeerComm(LateComm);

/// A datatype that matters only on some processes: looked at where it does.
#[derive(Debug, Clone, Copy)]
pub struct LateDatatype {
    /// The handle that the program gave.
    pub handle: Handle,
    name: &'static str,
}

/// An error handler; the body checks what it serves.
#[derive(Debug, Clone, Copy)]
pub struct Errhandler(pub Handle);

/// A file that exists, or `MPI_FILE_NULL`.
#[derive(Debug, Clone)]
pub struct File {
    /// The handle in the program.
    pub handle: Handle,
    object: Option<Arc<FileObject>>,
}

/// A group that exists.
#[derive(Debug, Clone)]
pub struct Group {
    /// The handle in the program.
    pub handle: Handle,
    /// Its members.
    pub lite: comm::Group,
}

/// A group that matters only on some processes: looked at where it does.
#[derive(Debug, Clone, Copy)]
pub struct LateGroup {
    handle: Handle,
    name: &'static str,
}

/// An info object that exists, or `MPI_INFO_NULL`.
#[derive(Debug, Clone, Copy)]
pub struct Info(pub Handle);

/// A matched message.
#[derive(Debug, Clone, Copy)]
pub struct Message(pub Handle);

/// A reduction operator that exists.
#[derive(Debug, Clone)]
pub struct Op {
    /// The handle in the program.
    pub handle: Handle,
    /// What it does.
    pub lite: data::Op,
}

/// A request.
#[derive(Debug, Clone, Copy)]
pub struct Request(pub Handle);

/// An error handler for what the call makes. It is in charge of the call too.
#[derive(Debug, Clone, Copy)]
pub struct FirstErrhandler(pub Handle);

/// A session that was not finalized.
#[derive(Debug, Clone)]
pub struct Session {
    /// The handle in the program.
    pub handle: Handle,
    object: Arc<SessionObject>,
}

/// A window that exists, or `MPI_WIN_NULL`.
#[derive(Debug)]
pub struct Win {
    /// The handle in the program.
    pub handle: Handle,
    object: Option<WinRef>,
}

/// A window in a call that calls no function of the program: found in less time.
#[derive(Debug)]
pub struct QuickWin(Win);

macro_rules! objects {
    ($(
        $name:ident = $spelling:literal or $null:ident, $note:expr $(, $is_kept:literal)?;
    )*) => {$(
        impl<W> Arg<W> for $name {
            type C = Handle;
            const DECLARATION: Declarator = Declarator::value($spelling);
            $(const IS_KEPT: bool = $is_kept;)?

            fn show(c: Handle, name: &str, line: &mut String) {
                show_handle(c, name, line);
            }

            #[inline]
            fn note(c: Handle, call: &Call) {
                let note: fn(Handle, &Call) = $note;
                note(c, call);
            }
        }

        impl Stored for $name {
            type Value = Handle;
        }

        impl<W> Slot<W> for $name {
            type Raw = Handle;
            const NAME: &'static str = $spelling;
            const NULL: Option<Handle> = Some(abi::$null);

            fn raw(value: Handle) -> Result<Handle> {
                Ok(value)
            }
        }

        impl Value for $name {
            type C = Handle;
            const NAME: &'static str = $spelling;
        }
    )*};
}

objects! {
    Comm = "MPI_Comm" or MPI_COMM_NULL, |handle, call| call.note_object(handle), false;
    LateComm = "MPI_Comm" or MPI_COMM_NULL, |handle, call| call.note_object(handle), false;
    Datatype = "MPI_Datatype" or MPI_DATATYPE_NULL, |_, _| {};
    LateDatatype = "MPI_Datatype" or MPI_DATATYPE_NULL, |_, _| {};
    Errhandler = "MPI_Errhandler" or MPI_ERRHANDLER_NULL, |_, _| {};
    File = "MPI_File" or MPI_FILE_NULL, |handle, call| call.note_file(handle);
    Group = "MPI_Group" or MPI_GROUP_NULL, |_, _| {};
    LateGroup = "MPI_Group" or MPI_GROUP_NULL, |_, _| {};
    PeerComm = "MPI_Comm" or MPI_COMM_NULL, |_, _| {}, false;
    Info = "MPI_Info" or MPI_INFO_NULL, |_, _| {};
    Message = "MPI_Message" or MPI_MESSAGE_NULL, |_, _| {};
    Op = "MPI_Op" or MPI_OP_NULL, |_, _| {};
    Request = "MPI_Request" or MPI_REQUEST_NULL, |_, _| {};
    FirstErrhandler = "MPI_Errhandler" or MPI_ERRHANDLER_NULL,
        |handle, call| call.note_handler(handle);
    Session = "MPI_Session" or MPI_SESSION_NULL, |handle, call| call.note_object(handle);
    Win = "MPI_Win" or MPI_WIN_NULL, |handle, call| call.note_object(handle), false;
    QuickWin = "MPI_Win" or MPI_WIN_NULL, |handle, call| call.note_object(handle), false;
}

/// Reads handles that are looked up later, if at all.
macro_rules! unread {
    ($($name:ident $fields:tt;)*) => {$(
        impl<W> Read<W> for $name {
            #[inline]
            unsafe fn read(c: Handle, name: &'static str, _call: &Call) -> Result<Self> {
                Ok(unread!(@make c name $fields))
            }
        }
    )*};
    (@make $c:ident $name:ident (handle)) => {{ let _ = $name; Self($c) }};
    (@make $c:ident $name:ident (handle, name)) => { Self { handle: $c, name: $name } };
}

unread! {
    Errhandler (handle);
    FirstErrhandler (handle);
    LateComm (handle, name);
    LateDatatype (handle, name);
    LateGroup (handle, name);
    Message (handle);
    Request (handle);
}

/// Appends the name of a predefined object, or `name=handle`.
fn show_handle(handle: Handle, name: &str, line: &mut String) {
    match abi::name_of(handle) {
        Some(constant) => append(line, format_args!("{constant}")),
        None => append(line, format_args!("{name}={:#x}", handle.0)),
    }
}

impl<W> Read<W> for Comm {
    #[inline]
    unsafe fn read(c: Handle, name: &'static str, _call: &Call) -> Result<Self> {
        let refuse = |what| Error::of_handle(name, what, abi::MPI_ERR_COMM);
        crate::objects::comm::find(c).map(Self).map_err(refuse)
    }
}

impl<W> Read<W> for PeerComm {
    unsafe fn read(c: Handle, name: &'static str, _call: &Call) -> Result<Self> {
        Ok(Self(LateComm { handle: c, name }))
    }
}

impl PeerComm {
    /// The communicator.
    ///
    /// # Errors
    /// `MPI_ERR_COMM` if it is null, foreign or freed.
    pub fn get(self) -> Result<Comm> {
        self.0.get()
    }
}

impl LateComm {
    /// The communicator.
    ///
    /// # Errors
    /// `MPI_ERR_COMM` if it is null, foreign or freed.
    pub fn get(self) -> Result<Comm> {
        let Self { handle, name } = self;
        let refuse = |what| Error::of_handle(name, what, abi::MPI_ERR_COMM);
        crate::objects::comm::find(handle).map(Comm).map_err(refuse)
    }
}

impl Deref for Comm {
    type Target = CommObject;

    #[inline]
    fn deref(&self) -> &CommObject {
        &self.0
    }
}

impl<W> Read<W> for Datatype {
    #[inline]
    unsafe fn read(c: Handle, name: &'static str, _call: &Call) -> Result<Self> {
        let refuse = |what| Error::of_handle(name, what, abi::MPI_ERR_TYPE);
        Self::of(c).map_err(refuse)
    }
}

impl LateDatatype {
    /// An element of an array of datatypes.
    pub fn of_array(handle: Handle) -> Self {
        Self {
            handle,
            name: "a datatype of the array",
        }
    }

    /// The datatype.
    ///
    /// # Errors
    /// `MPI_ERR_TYPE` if it is null, foreign or freed.
    #[inline(always)]
    pub fn get(self) -> Result<Datatype> {
        let Self { handle, name } = self;
        let refuse = |what| Error::of_handle(name, what, abi::MPI_ERR_TYPE);
        Datatype::of(handle).map_err(refuse)
    }
}

/// A place for a datatype that the call makes.
pub struct NewDatatype {
    out: Out<Datatype>,
    is_large: bool,
}

impl NewDatatype {
    /// The place `out`; `is_large` is true for a `_c` function.
    pub fn of(out: Out<Datatype>, is_large: bool) -> Self {
        Self { out, is_large }
    }

    /// A recipe of the call, still without arguments.
    pub fn recipe(&self, combiner: c_int) -> Recipe {
        Recipe::new(combiner, self.is_large)
    }

    /// Lays down a new handle to `lite`, which the call with this recipe has made.
    ///
    /// # Errors
    /// None.
    pub fn set(&self, lite: data::Datatype, recipe: Recipe) -> Result<()> {
        let recipe = Some(recipe);
        self.out
            .set(types::register(Arc::new(Made { lite, recipe })))
    }
}

macro_rules! new_datatypes {
    ($($width:ident $is_large:literal;)*) => {$(
        impl Arg<$width> for NewDatatype {
            type C = *mut Handle;
            const DECLARATION: Declarator = <Out<Datatype> as Arg<$width>>::DECLARATION;
            const IS_KEPT: bool = false;

            fn show(c: *mut Handle, name: &str, line: &mut String) {
                <Out<Datatype> as Arg<$width>>::show(c, name, line);
            }

            unsafe fn void(c: *mut Handle) {
                // SAFETY: passed on.
                unsafe { <Out<Datatype> as Arg<$width>>::void(c) };
            }
        }

        impl Read<$width> for NewDatatype {
            unsafe fn read(c: *mut Handle, name: &'static str, call: &Call) -> Result<Self> {
                // SAFETY: passed on.
                let out = unsafe { <Out<Datatype> as Read<$width>>::read(c, name, call)? };
                Ok(Self::of(out, $is_large))
            }
        }
    )*};
}

new_datatypes! {
    Small false;
    Large true;
}

impl<W> Read<W> for Op {
    unsafe fn read(c: Handle, name: &'static str, _call: &Call) -> Result<Self> {
        let refuse = |what| Error::of_handle(name, what, abi::MPI_ERR_OP);
        let lite = match c {
            abi::MPI_OP_NULL => return Err(refuse(Unusable::Null("MPI_OP_NULL"))),
            _ => match reduce::predefined(c) {
                Some(lite) => lite,
                None => registry::get(c).map_err(refuse)?,
            },
        };
        Ok(Self { handle: c, lite })
    }
}

impl<W> Read<W> for Group {
    unsafe fn read(c: Handle, name: &'static str, _call: &Call) -> Result<Self> {
        LateGroup { handle: c, name }.get()
    }
}

impl LateGroup {
    /// The group.
    ///
    /// # Errors
    /// `MPI_ERR_GROUP` if it is null, foreign or freed.
    pub fn get(self) -> Result<Group> {
        let Self { handle, name } = self;
        let refuse = |what| Error::of_handle(name, what, abi::MPI_ERR_GROUP);
        let lite = match handle {
            abi::MPI_GROUP_NULL => return Err(refuse(Unusable::Null("MPI_GROUP_NULL"))),
            abi::MPI_GROUP_EMPTY => comm::Group::from_members([].into()),
            _ => registry::get(handle).map_err(refuse)?,
        };
        Ok(Group { handle, lite })
    }
}

impl<W> Read<W> for File {
    unsafe fn read(c: Handle, name: &'static str, _call: &Call) -> Result<Self> {
        let refuse = |what| Error::of_handle(name, what, abi::MPI_ERR_FILE);
        let object = match c {
            abi::MPI_FILE_NULL => None,
            _ => Some(registry::get(c).map_err(refuse)?),
        };
        Ok(Self { handle: c, object })
    }
}

impl File {
    /// The file.
    ///
    /// # Errors
    /// `MPI_ERR_FILE` if it is `MPI_FILE_NULL`.
    pub fn object(&self) -> Result<&FileObject> {
        let null = || Error::of_handle("fh", Unusable::Null("MPI_FILE_NULL"), abi::MPI_ERR_FILE);
        self.object.as_deref().ok_or_else(null)
    }

    /// What the file does.
    ///
    /// # Errors
    /// `MPI_ERR_FILE` if it is `MPI_FILE_NULL`, or is being closed.
    pub fn lite(&self) -> Result<mpi_lite::io::File> {
        self.object()?.lite()
    }

    /// The error handler in charge.
    pub fn errhandler(&self) -> &Attached {
        let object = self.object.as_deref();
        object.map_or(&OF_NO_FILE, |object| &object.errhandler)
    }
}

impl<W> Read<W> for Win {
    #[inline]
    unsafe fn read(c: Handle, name: &'static str, _call: &Call) -> Result<Self> {
        let refuse = |what| Error::of_handle(name, what, abi::MPI_ERR_WIN);
        let object = match c {
            abi::MPI_WIN_NULL => None,
            _ => Some(win::find(c).map_err(refuse)?),
        };
        Ok(Self { handle: c, object })
    }
}

impl<W> Read<W> for QuickWin {
    #[inline(always)]
    unsafe fn read(c: Handle, name: &'static str, _call: &Call) -> Result<Self> {
        let refuse = |what| Error::of_handle(name, what, abi::MPI_ERR_WIN);
        let object = match c {
            abi::MPI_WIN_NULL => None,
            _ => Some(win::find_quickly(c).map_err(refuse)?),
        };
        Ok(Self(Win { handle: c, object }))
    }
}

impl Deref for QuickWin {
    type Target = Win;

    #[inline(always)]
    fn deref(&self) -> &Win {
        &self.0
    }
}

impl Win {
    /// The window.
    ///
    /// # Errors
    /// `MPI_ERR_WIN` if it is `MPI_WIN_NULL`.
    #[inline]
    pub fn get(&self) -> Result<&WinObject> {
        let null = || Error::of_handle("win", Unusable::Null("MPI_WIN_NULL"), abi::MPI_ERR_WIN);
        self.object.as_deref().ok_or_else(null)
    }

    /// What the window does.
    ///
    /// # Errors
    /// `MPI_ERR_WIN` if it is `MPI_WIN_NULL`, or is gone.
    #[inline]
    pub fn lite(&self) -> Result<&rma::Window> {
        self.get()?.lite()
    }
}

impl<W> Read<W> for Session {
    unsafe fn read(c: Handle, name: &'static str, _call: &Call) -> Result<Self> {
        let refuse = |what| Error::of_handle(name, what, abi::MPI_ERR_SESSION);
        let object = crate::objects::session::find(c).map_err(refuse)?;
        Ok(Self { handle: c, object })
    }
}

impl Session {
    /// Its number, not 0. Another session that is open has another one.
    pub fn number(&self) -> u64 {
        self.handle.0 as u64
    }

    /// Names the buffer that the program attaches to the session.
    pub fn buffers(&self) -> BufferOwner {
        BufferOwner::Session(self.number())
    }
}

impl Deref for Session {
    type Target = SessionObject;

    fn deref(&self) -> &SessionObject {
        &self.object
    }
}

impl<W> Read<W> for Info {
    unsafe fn read(c: Handle, name: &'static str, _call: &Call) -> Result<Self> {
        if c == abi::MPI_INFO_NULL || c == abi::MPI_INFO_ENV {
            return Ok(Self(c));
        }
        let refuse = |what| Error::of_handle(name, what, abi::MPI_ERR_INFO);
        InfoObject::table()
            .lock()
            .get(c)
            .map(|_| Self(c))
            .map_err(refuse)
    }
}

impl Info {
    /// Calls `tell` with each key and its value, as far as they are text.
    pub fn each(self, mut tell: impl FnMut(&str, &str)) {
        let object = self.to_object();
        for key in object.keys() {
            if let (Ok(name), Ok(Some(value))) = (core::str::from_utf8(key), object.get(key)) {
                tell(name, &String::from_utf8_lossy(value));
            }
        }
    }

    /// A new object with these keys and values.
    ///
    /// # Errors
    /// A key or a value is longer than MPI allows.
    pub fn make(pairs: Vec<(&'static str, String)>) -> Result<Handle> {
        let mut object = InfoObject::default();
        for (key, value) in pairs {
            object.set(key.as_bytes(), value.as_bytes())?;
        }
        Ok(registry::insert(object))
    }

    /// A copy of the object, which is empty for `MPI_INFO_NULL`.
    pub fn to_object(self) -> InfoObject {
        if self.0 == abi::MPI_INFO_ENV {
            return InfoObject::environment();
        }
        registry::get(self.0).unwrap_or_default()
    }

    /// Reads the object.
    ///
    /// # Errors
    /// `MPI_ERR_INFO` for `MPI_INFO_NULL`.
    pub fn read<R>(self, read: impl FnOnce(&InfoObject) -> Result<R>) -> Result<R> {
        if self.0 == abi::MPI_INFO_ENV {
            return read(&InfoObject::environment());
        }
        let infos = InfoObject::table().lock();
        read(infos.get(self.0).map_err(|_| self.null())?)
    }

    /// Changes the object.
    ///
    /// # Errors
    /// `MPI_ERR_INFO` for `MPI_INFO_NULL` and for `MPI_INFO_ENV`, which cannot be changed.
    pub fn change<R>(self, change: impl FnOnce(&mut InfoObject) -> Result<R>) -> Result<R> {
        let mut infos = InfoObject::table().lock();
        change(infos.get_mut(self.0).map_err(|_| self.null())?)
    }

    /// Sets the value of `key`, unless the program gave no object of its own to change.
    ///
    /// # Errors
    /// As [`InfoObject::set`].
    pub fn tell(self, key: &[u8], value: &str) -> Result<()> {
        match self.0 {
            abi::MPI_INFO_NULL | abi::MPI_INFO_ENV => Ok(()),
            _ => self.change(|object| object.set(key, value.as_bytes())),
        }
    }

    fn null(self) -> Error {
        let name = abi::name_of(self.0).unwrap_or("not an info object");
        Error::of_handle("info", Unusable::Null(name), abi::MPI_ERR_INFO)
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

    use super::*;
    use crate::args::numbers::InOut;
    use crate::args::text::FileName;
    use crate::handle::Kind;
    use crate::objects::errhandler;
    use crate::symbol::Symbol;

    static SYMBOL: Symbol = Symbol::new("MPI_Anything");

    /// What the handler was given last.
    static OBJECT: AtomicUsize = AtomicUsize::new(0);
    static CODE: AtomicI32 = AtomicI32::new(0);

    unsafe extern "C-unwind" fn keep(object: *mut Handle, code: *mut c_int) {
        // SAFETY: both are there while a handler runs.
        let (object, code) = unsafe { (*object, *code) };
        OBJECT.store(object.0, Ordering::Relaxed);
        CODE.store(code, Ordering::Relaxed);
    }

    fn handler(serves: Kind) -> Handle {
        errhandler::create(keep as *const core::ffi::c_void, serves).expect("it is not null")
    }

    /// Fails a call with these notes; returns its code, and the object that the handler got.
    fn fail(class: c_int, note: impl FnOnce(&Call)) -> (c_int, Handle) {
        OBJECT.store(0, Ordering::Relaxed);
        CODE.store(class, Ordering::Relaxed);
        let call = Call::enter(&SYMBOL);
        note(&call);
        let code = call.raise(Error::new(class, "it failed"), &|_| {});
        assert_eq!(CODE.load(Ordering::Relaxed), code);
        (code, Handle(OBJECT.load(Ordering::Relaxed)))
    }

    #[test]
    fn a_call_on_a_window_or_file_goes_to_its_handler() {
        let comm = |call: &Call| <Comm as Arg<Small>>::note(abi::MPI_COMM_WORLD, call);
        let note_win = |win| move |call: &Call| <Win as Arg<Small>>::note(win, call);
        let note_file = |file| move |call: &Call| <File as Arg<Small>>::note(file, call);

        let win = registry::insert(Arc::new(WinObject::default()));
        let call = Call::enter(&SYMBOL);
        // SAFETY: a handle is no pointer.
        let object = unsafe { <Win as Read<Small>>::read(win, "win", &call) }.expect("it exists");
        let object = object.get().expect("it is not null");
        assert_eq!(object.errhandler.get(), abi::MPI_ERRORS_ARE_FATAL);
        object.errhandler.set(handler(Kind::Win));
        let failed = fail(abi::MPI_ERR_RMA_SYNC, note_win(win));
        assert_eq!(failed, (abi::MPI_ERR_RMA_SYNC, win));

        // A file begins with the handler of MPI_FILE_NULL, which returns errors at first.
        let file = registry::insert(Arc::new(FileObject::default()));
        let none = Handle(0);
        assert_eq!(
            fail(abi::MPI_ERR_IO, note_file(file)),
            (abi::MPI_ERR_IO, none)
        );
        // SAFETY: a handle is no pointer.
        let object = unsafe { <File as Read<Small>>::read(file, "fh", &call) }.expect("it exists");
        object.errhandler().set(handler(Kind::File));
        assert_eq!(
            fail(abi::MPI_ERR_IO, note_file(file)),
            (abi::MPI_ERR_IO, file)
        );

        // Without a file, or with one that is gone, it is that of MPI_FILE_NULL; also of a call
        // that opens one by a communicator.
        OF_NO_FILE.set(handler(Kind::File));
        let expected = (abi::MPI_ERR_AMODE, abi::MPI_FILE_NULL);
        let later = registry::insert(Arc::new(FileObject::default()));
        assert_eq!(
            fail(abi::MPI_ERR_IO, note_file(later)),
            (abi::MPI_ERR_IO, later)
        );
        registry::remove::<Arc<FileObject>>(file).expect("it exists");
        for gone in [file, abi::MPI_FILE_NULL, win, Handle(0xdead_beef)] {
            assert_eq!(fail(expected.0, note_file(gone)), expected);
        }
        let name = core::ptr::null();
        let open = |call: &Call| {
            comm(call);
            <FileName<'_> as Arg<Small>>::note(name, call);
        };
        assert_eq!(fail(expected.0, open), expected);
        let close = |call: &Call| <InOut<File> as Arg<Small>>::note(core::ptr::null_mut(), call);
        assert_eq!(fail(expected.0, close), expected);
        OF_NO_FILE.set(abi::MPI_ERRORS_RETURN);
    }

    #[test]
    fn each_function_of_files_names_a_file() {
        let functions = crate::chapters::CHAPTERS.iter().flat_map(|it| it.entries());
        let of_files = functions.filter(|it| it.name.starts_with("MPI_File_"));
        for function in of_files.filter(|it| it.returns == "int") {
            let marks = ["MPI_File ", "filename", "MPI_File_errhandler_function"];
            let is_marked = marks.iter().any(|mark| function.parameters.contains(mark));
            assert!(is_marked, "{}", function.name);
        }
    }
}
