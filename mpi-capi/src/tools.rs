//! Arguments of the tool information interface: handles that are opaque to us so far.

use core::ffi::c_int;

use crate::abi::Handle;
use crate::args::{Slot, Stored, show_address};
use crate::entry::{Arg, Declarator};
use crate::error::Result;

macro_rules! tool_types {
    ($($(#[$doc:meta])* $name:ident: $c:ty = $spelling:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name(pub $c);

        impl<W> Arg<W> for $name {
            type C = $c;
            const DECLARATION: Declarator = Declarator::value($spelling);

            fn show(c: $c, name: &str, line: &mut String) {
                show_address(c.address(), name, line);
            }
        }

        impl Stored for $name {
            type Value = $c;
        }

        impl<W> Slot<W> for $name {
            type Raw = $c;
            const NAME: &'static str = $spelling;

            fn raw(value: $c) -> Result<$c> {
                Ok(value)
            }
        }
    )*};
}

tool_types! {
    /// An enumeration of a variable's values.
    ToolEnum: Handle = "MPI_T_enum";
    /// A control variable bound to an object.
    CvarHandle: Handle = "MPI_T_cvar_handle";
    /// A performance variable bound to an object.
    PvarHandle: Handle = "MPI_T_pvar_handle";
    /// A session in which performance variables run.
    PvarSession: Handle = "MPI_T_pvar_session";
    /// An event registered with a callback.
    EventRegistration: Handle = "MPI_T_event_registration";
    /// An event that happened.
    EventInstance: Handle = "MPI_T_event_instance";
    /// What a callback promises; an enumeration in C.
    CallbackSafety: c_int = "MPI_T_cb_safety";
    /// Whether a source orders its events; an enumeration in C.
    SourceOrder: c_int = "MPI_T_source_order";
}

trait Shown {
    fn address(self) -> usize;
}

impl Shown for Handle {
    fn address(self) -> usize {
        self.0
    }
}

impl Shown for c_int {
    fn address(self) -> usize {
        self.cast_unsigned() as usize
    }
}
