//! What can be wrong with a call, and the class that MPI gives it.

use core::ffi::c_int;

use mpi_lite::error::Class;

use crate::abi::{self, Handle};
use crate::handle::Unusable;

/// The result of reading an argument or of a body.
pub type Result<T> = core::result::Result<T, Error>;

/// An error of one call, in terms of the caller's arguments. One word, so that what goes well pays
/// nothing for it.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<Cause>);

impl From<Cause> for Error {
    #[cold]
    fn from(cause: Cause) -> Self {
        Self(Box::new(cause))
    }
}

impl From<mpi_lite::error::Error> for Error {
    #[cold]
    fn from(error: mpi_lite::error::Error) -> Self {
        Cause::Lite(error).into()
    }
}

impl From<mpi_lite::error::Cause> for Error {
    fn from(cause: mpi_lite::error::Cause) -> Self {
        mpi_lite::error::Error::from(cause).into()
    }
}

/// What can be wrong with a call.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// Too early.
    #[error("called before MPI_Init")]
    BeforeInit,
    /// Too late.
    #[error("called after MPI_Finalize")]
    AfterFinalize,
    /// In the wrong process.
    #[error("called in a forked child of the rank: only the rank itself may call MPI")]
    InForkedChild,
    /// It is no error: a tool watches events, and the call is to be made under observation.
    #[error("to be made again under observation")]
    Watched,
    /// There is no body yet.
    #[error(
        "not implemented in mpi-lite {}; share/doc/mpilite/coverage.md of the installation lists \
         what is",
        env!("CARGO_PKG_VERSION")
    )]
    Unsupported {
        /// The error code that names the function.
        code: c_int,
    },
    /// An argument through which we should read or write is null.
    #[error("{name} is a null pointer")]
    NullPointer {
        /// The argument.
        name: &'static str,
    },
    /// A number of things is negative.
    #[error("{name} is {value}, which is negative")]
    Negative {
        /// The argument.
        name: &'static str,
        /// What was passed.
        value: i64,
        /// The class of this kind of number.
        class: c_int,
    },
    /// A result does not fit the caller's type.
    #[error("the result {value} does not fit into an int; call the function with suffix _c")]
    TooLarge {
        /// The result.
        value: i64,
    },
    /// A handle that is not one of ours, or is no more.
    #[error("{name} is {what}")]
    Handle {
        /// The argument.
        name: &'static str,
        /// What the handle is.
        what: Unusable,
        /// The class of this kind of handle.
        class: c_int,
    },
    /// Packed elements do not fit behind the position.
    #[error(
        "outbuf is too short: the elements take {need} bytes when packed, but {room} of its {size} \
         bytes are left at position {position}; MPI_Pack_size returns the most that they take"
    )]
    NoRoomToPack {
        /// Bytes that the elements take.
        need: u64,
        /// Bytes left.
        room: u64,
        /// Bytes of the buffer.
        size: u64,
        /// Where the elements were to go.
        position: u64,
    },
    /// There are fewer packed bytes than the elements take.
    #[error(
        "inbuf is too short: the elements to unpack take {need} bytes, but {room} of its {size} \
         bytes are left at position {position}; unpack no more than was packed"
    )]
    NothingToUnpack {
        /// Bytes that the elements take.
        need: u64,
        /// Bytes left.
        room: u64,
        /// Bytes of the buffer.
        size: u64,
        /// Where the elements were to come from.
        position: u64,
    },
    /// A function of the program failed.
    #[error("the {what} of the program returned {code}")]
    Callback {
        /// Which function.
        what: &'static str,
        /// What it returned, which the call returns.
        code: c_int,
    },
    /// The program called the error handler itself.
    #[error("the program raised error code {code}: {text}")]
    Raised {
        /// The code it gave.
        code: c_int,
        /// The class of the code.
        class: c_int,
        /// The text of the code.
        text: String,
    },
    /// An error of mpi-lite.
    #[error(transparent)]
    Lite(mpi_lite::error::Error),
    /// A nonblocking operation failed; the handler of its communicator is in charge.
    #[error("{error}")]
    Operation {
        /// What is wrong.
        error: mpi_lite::error::Error,
        /// The communicator.
        comm: Handle,
    },
    /// Of several operations at least one failed.
    #[error("array_of_requests[{index}] failed: {error}")]
    InStatus {
        /// The first that failed.
        index: usize,
        /// What is wrong with it.
        error: Error,
    },
    /// Anything else, with its class.
    #[error("{text}")]
    Other {
        /// The class.
        class: c_int,
        /// What is wrong.
        text: &'static str,
    },
}

impl Error {
    /// An error of `class` with the message `text`.
    #[cold]
    pub fn new(class: c_int, text: &'static str) -> Self {
        Cause::Other { class, text }.into()
    }

    /// An error of `class`: the argument `name` is a handle that cannot be used.
    #[cold]
    pub fn of_handle(name: &'static str, what: Unusable, class: c_int) -> Self {
        Cause::Handle { name, what, class }.into()
    }

    /// The communicator of the operation that failed, if the error belongs to one.
    pub fn comm(&self) -> Option<Handle> {
        match &*self.0 {
            Cause::Operation { comm, .. } => Some(*comm),
            Cause::InStatus { error, .. } => error.comm(),
            _ => None,
        }
    }

    /// Returns true if the call comes at the wrong time or in the wrong process, where no handler
    /// counts.
    pub fn is_of_stage(&self) -> bool {
        matches!(
            *self.0,
            Cause::BeforeInit | Cause::AfterFinalize | Cause::InForkedChild
        )
    }

    /// Returns true if the call is only to be made again, since a tool watches it.
    pub fn is_of_watch(&self) -> bool {
        matches!(*self.0, Cause::Watched)
    }

    /// The code that names the function, which has no body; `None` for other errors.
    pub fn of_missing(&self) -> Option<c_int> {
        match *self.0 {
            Cause::Unsupported { code } => Some(code),
            _ => None,
        }
    }

    /// Of several operations the one at `index` failed with `error`.
    pub fn in_status(index: usize, error: Self) -> Self {
        Cause::InStatus { index, error }.into()
    }

    /// The error class of MPI.
    pub fn class(&self) -> c_int {
        match &*self.0 {
            Cause::BeforeInit | Cause::AfterFinalize | Cause::InForkedChild | Cause::Watched => {
                abi::MPI_ERR_OTHER
            }
            Cause::Unsupported { .. } => abi::MPI_ERR_UNSUPPORTED_OPERATION,
            Cause::NullPointer { .. }
            | Cause::NoRoomToPack { .. }
            | Cause::NothingToUnpack { .. } => abi::MPI_ERR_ARG,
            Cause::TooLarge { .. } => abi::MPI_ERR_VALUE_TOO_LARGE,
            Cause::InStatus { .. } => abi::MPI_ERR_IN_STATUS,
            Cause::Lite(error) | Cause::Operation { error, .. } => number(error.class()),
            Cause::Callback { code, .. } => *code,
            Cause::Handle { class, .. }
            | Cause::Raised { class, .. }
            | Cause::Negative { class, .. }
            | Cause::Other { class, .. } => *class,
        }
    }
}

/// The number of mpi-lite's class in the standard ABI.
fn number(class: Class) -> c_int {
    match class {
        Class::Buffer => abi::MPI_ERR_BUFFER,
        Class::Count => abi::MPI_ERR_COUNT,
        Class::Type => abi::MPI_ERR_TYPE,
        Class::Tag => abi::MPI_ERR_TAG,
        Class::Rank => abi::MPI_ERR_RANK,
        Class::Request => abi::MPI_ERR_REQUEST,
        Class::Root => abi::MPI_ERR_ROOT,
        Class::Group => abi::MPI_ERR_GROUP,
        Class::Op => abi::MPI_ERR_OP,
        Class::Topology => abi::MPI_ERR_TOPOLOGY,
        Class::Dims => abi::MPI_ERR_DIMS,
        Class::Arg => abi::MPI_ERR_ARG,
        Class::Comm => abi::MPI_ERR_COMM,
        Class::Truncate => abi::MPI_ERR_TRUNCATE,
        Class::ProcAborted => abi::MPI_ERR_PROC_ABORTED,
        Class::NoMem => abi::MPI_ERR_NO_MEM,
        Class::File => abi::MPI_ERR_FILE,
        Class::NotSame => abi::MPI_ERR_NOT_SAME,
        Class::Amode => abi::MPI_ERR_AMODE,
        Class::UnsupportedDatarep => abi::MPI_ERR_UNSUPPORTED_DATAREP,
        Class::UnsupportedOperation => abi::MPI_ERR_UNSUPPORTED_OPERATION,
        Class::NoSuchFile => abi::MPI_ERR_NO_SUCH_FILE,
        Class::FileExists => abi::MPI_ERR_FILE_EXISTS,
        Class::BadFile => abi::MPI_ERR_BAD_FILE,
        Class::Access => abi::MPI_ERR_ACCESS,
        Class::NoSpace => abi::MPI_ERR_NO_SPACE,
        Class::Quota => abi::MPI_ERR_QUOTA,
        Class::ReadOnly => abi::MPI_ERR_READ_ONLY,
        Class::FileInUse => abi::MPI_ERR_FILE_IN_USE,
        Class::Conversion => abi::MPI_ERR_CONVERSION,
        Class::Io => abi::MPI_ERR_IO,
        Class::Win => abi::MPI_ERR_WIN,
        Class::Base => abi::MPI_ERR_BASE,
        Class::Size => abi::MPI_ERR_SIZE,
        Class::Disp => abi::MPI_ERR_DISP,
        Class::LockType => abi::MPI_ERR_LOCKTYPE,
        Class::Assert => abi::MPI_ERR_ASSERT,
        Class::RmaSync => abi::MPI_ERR_RMA_SYNC,
        Class::RmaRange => abi::MPI_ERR_RMA_RANGE,
        Class::RmaConflict => abi::MPI_ERR_RMA_CONFLICT,
        Class::RmaShared => abi::MPI_ERR_RMA_SHARED,
        Class::RmaAttach => abi::MPI_ERR_RMA_ATTACH,
        Class::RmaFlavor => abi::MPI_ERR_RMA_FLAVOR,
        Class::Other => abi::MPI_ERR_OTHER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_operations_the_line_tells_which_failed_and_why() {
        let error = mpi_lite::error::Cause::Truncate { len: 40, room: 4 }.into();
        let comm = abi::MPI_COMM_SELF;
        let error = Error::in_status(3, Cause::Operation { error, comm }.into());
        assert_eq!(error.class(), abi::MPI_ERR_IN_STATUS);
        assert_eq!(error.comm(), Some(comm));
        let line = error.to_string();
        assert!(line.starts_with("array_of_requests[3] failed: "), "{line}");
        assert!(line.contains("40 bytes"), "{line}");
    }
}
