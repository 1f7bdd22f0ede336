//! Arguments that are handles of MPI objects.

use crate::abi::{self, Handle};
use crate::args::{Slot, Stored, append};
use crate::entry::{Arg, Declarator, Value};
use crate::error::Result;
use crate::raise::Call;

macro_rules! objects {
    ($($(#[$doc:meta])* $name:ident = $spelling:literal, $note:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone)]
        pub struct $name(pub Handle);

        impl<W> Arg<W> for $name {
            type C = Handle;
            const DECLARATION: Declarator = Declarator::value($spelling);

            fn show(c: Handle, name: &str, line: &mut String) {
                show_handle(c, name, line);
            }

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
    /// A communicator.
    Comm = "MPI_Comm", |handle, call| call.note_comm(handle);
    /// A datatype.
    Datatype = "MPI_Datatype", |_, _| {};
    /// An error handler.
    Errhandler = "MPI_Errhandler", |_, _| {};
    /// A file.
    File = "MPI_File", |_, _| {};
    /// A group.
    Group = "MPI_Group", |_, _| {};
    /// An info object.
    Info = "MPI_Info", |_, _| {};
    /// A matched message.
    Message = "MPI_Message", |_, _| {};
    /// A reduction operator.
    Op = "MPI_Op", |_, _| {};
    /// A request.
    Request = "MPI_Request", |_, _| {};
    /// A session.
    Session = "MPI_Session", |_, _| {};
    /// A window.
    Win = "MPI_Win", |_, _| {};
}

/// Appends the name of a predefined object, or `name=handle`.
fn show_handle(handle: Handle, name: &str, line: &mut String) {
    match abi::name_of(handle) {
        Some(constant) => append(line, format_args!("{constant}")),
        None => append(line, format_args!("{name}={:#x}", handle.0)),
    }
}
