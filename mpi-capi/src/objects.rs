//! Arguments that are handles of MPI objects.
#![expect(
    unsafe_code,
    reason = "reading an argument is unsafe in general; handles are checked"
)]

use core::ops::Deref;
use std::sync::Arc;

use crate::abi::{self, Handle};
use crate::args::{Slot, Stored, append};
use crate::comm::CommObject;
use crate::entry::{Arg, Declarator, Read, Value};
use crate::error::{Error, Result};
use crate::global::LIBRARY;
use crate::handle::Unusable;
use crate::info::InfoObject;
use crate::raise::Call;

/// A communicator that exists.
#[derive(Debug, Clone)]
pub struct Comm(pub Arc<CommObject>);

/// A datatype.
#[derive(Debug, Clone, Copy)]
pub struct Datatype(pub Handle);

/// An error handler; the body checks what it serves.
#[derive(Debug, Clone, Copy)]
pub struct Errhandler(pub Handle);

/// A file.
#[derive(Debug, Clone, Copy)]
pub struct File(pub Handle);

/// A group.
#[derive(Debug, Clone, Copy)]
pub struct Group(pub Handle);

/// An info object that exists, or `MPI_INFO_NULL`.
#[derive(Debug, Clone, Copy)]
pub struct Info(pub Handle);

/// A matched message.
#[derive(Debug, Clone, Copy)]
pub struct Message(pub Handle);

/// A reduction operator.
#[derive(Debug, Clone, Copy)]
pub struct Op(pub Handle);

/// A request.
#[derive(Debug, Clone, Copy)]
pub struct Request(pub Handle);

/// A session.
#[derive(Debug, Clone, Copy)]
pub struct Session(pub Handle);

/// A window.
#[derive(Debug, Clone, Copy)]
pub struct Win(pub Handle);

macro_rules! objects {
    ($($name:ident = $spelling:literal, $note:expr;)*) => {$(
        impl<W> Arg<W> for $name {
            type C = Handle;
            const DECLARATION: Declarator = Declarator::value($spelling);

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
    Comm = "MPI_Comm", |handle, call| call.note_comm(handle);
    Datatype = "MPI_Datatype", |_, _| {};
    Errhandler = "MPI_Errhandler", |_, _| {};
    File = "MPI_File", |_, _| {};
    Group = "MPI_Group", |_, _| {};
    Info = "MPI_Info", |_, _| {};
    Message = "MPI_Message", |_, _| {};
    Op = "MPI_Op", |_, _| {};
    Request = "MPI_Request", |_, _| {};
    Session = "MPI_Session", |_, _| {};
    Win = "MPI_Win", |_, _| {};
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
        let refuse = |what| Error::Handle {
            name,
            what,
            class: abi::MPI_ERR_COMM,
        };
        LIBRARY.comm(c).map(Self).map_err(refuse)
    }
}

impl Deref for Comm {
    type Target = CommObject;

    fn deref(&self) -> &CommObject {
        &self.0
    }
}

impl<W> Read<W> for Errhandler {
    unsafe fn read(c: Handle, _name: &'static str, _call: &Call) -> Result<Self> {
        Ok(Self(c))
    }
}

impl<W> Read<W> for Info {
    unsafe fn read(c: Handle, name: &'static str, _call: &Call) -> Result<Self> {
        if c == abi::MPI_INFO_NULL || c == abi::MPI_INFO_ENV {
            return Ok(Self(c));
        }
        let refuse = |what| Error::Handle {
            name,
            what,
            class: abi::MPI_ERR_INFO,
        };
        LIBRARY.infos.lock().get(c).map(|_| Self(c)).map_err(refuse)
    }
}

impl Info {
    /// A copy of the object, which is empty for `MPI_INFO_NULL`.
    pub fn to_object(self) -> InfoObject {
        if self.0 == abi::MPI_INFO_ENV {
            return InfoObject::environment();
        }
        LIBRARY
            .infos
            .lock()
            .get(self.0)
            .cloned()
            .unwrap_or_default()
    }

    /// Reads the object.
    ///
    /// # Errors
    /// `MPI_ERR_INFO` for `MPI_INFO_NULL`.
    pub fn read<R>(self, read: impl FnOnce(&InfoObject) -> Result<R>) -> Result<R> {
        if self.0 == abi::MPI_INFO_ENV {
            return read(&InfoObject::environment());
        }
        let infos = LIBRARY.infos.lock();
        read(infos.get(self.0).map_err(|_| self.null())?)
    }

    /// Changes the object.
    ///
    /// # Errors
    /// `MPI_ERR_INFO` for `MPI_INFO_NULL` and for `MPI_INFO_ENV`, which cannot be changed.
    pub fn change<R>(self, change: impl FnOnce(&mut InfoObject) -> Result<R>) -> Result<R> {
        let mut infos = LIBRARY.infos.lock();
        change(infos.get_mut(self.0).map_err(|_| self.null())?)
    }

    fn null(self) -> Error {
        let name = abi::name_of(self.0).unwrap_or("not an info object");
        Error::Handle {
            name: "info",
            what: Unusable::Null(name),
            class: abi::MPI_ERR_INFO,
        }
    }
}
