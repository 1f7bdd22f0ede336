//! The arguments of calls on files, in mpi-lite's terms and back.

use core::ffi::c_int;
use std::sync::Arc;

use mpi_lite::data::Buffer;
use mpi_lite::io::{self, Access, Direction, Mode, Pointer, Whence};

use crate::abi::{self, Handle};
use crate::args::status::Status;
use crate::args::{Datatype, File, Info, Offset, OutStatus, Text};
use crate::error::{Error, Result};
use crate::objects::datareps;
use crate::objects::file::FileObject;
use crate::registry;

/// A bit of `amode`, and the field that it is.
type ModeBit = (c_int, fn(&mut Mode) -> &mut bool);

/// The bits of a mode.
const MODES: [ModeBit; 9] = [
    (abi::MPI_MODE_RDONLY, |mode| &mut mode.reads_only),
    (abi::MPI_MODE_RDWR, |mode| &mut mode.reads_and_writes),
    (abi::MPI_MODE_WRONLY, |mode| &mut mode.writes_only),
    (abi::MPI_MODE_CREATE, |mode| &mut mode.creates),
    (abi::MPI_MODE_EXCL, |mode| &mut mode.must_be_new),
    (abi::MPI_MODE_DELETE_ON_CLOSE, |mode| {
        &mut mode.deletes_on_close
    }),
    (abi::MPI_MODE_UNIQUE_OPEN, |mode| &mut mode.is_unique),
    (abi::MPI_MODE_SEQUENTIAL, |mode| &mut mode.is_sequential),
    (abi::MPI_MODE_APPEND, |mode| &mut mode.appends),
];

/// The modes of `amode`. Whether they go together, the processes find out together.
pub fn mode_of(amode: c_int) -> Mode {
    let known = MODES.iter().fold(0, |known, (bit, _)| known | bit);
    let mut mode = Mode {
        is_unknown: amode & !known != 0,
        ..Mode::default()
    };
    for (bit, field) in MODES {
        *field(&mut mode) = amode & bit != 0;
    }
    mode
}

/// The bits of modes.
pub fn amode_of(mut mode: Mode) -> c_int {
    let bits = MODES.iter().filter(|(_, field)| *field(&mut mode));
    bits.fold(0, |amode, (bit, _)| amode | bit)
}

/// From where a file pointer is moved.
///
/// # Errors
/// `MPI_ERR_ARG`: it is none of the three.
pub fn whence_of(whence: c_int) -> Result<Whence> {
    match whence {
        abi::MPI_SEEK_SET => Ok(Whence::Start),
        abi::MPI_SEEK_CUR => Ok(Whence::Here),
        abi::MPI_SEEK_END => Ok(Whence::End),
        _ => Err(Error::new(
            abi::MPI_ERR_ARG,
            "whence is none of MPI_SEEK_SET, MPI_SEEK_CUR and MPI_SEEK_END",
        )),
    }
}

fn not_negative(value: i64, why: &'static str) -> Result<u64> {
    u64::try_from(value).map_err(|_| Error::new(abi::MPI_ERR_ARG, why))
}

/// A number of etypes.
///
/// # Errors
/// `MPI_ERR_ARG`: it is negative.
pub fn etypes(offset: Offset) -> Result<u64> {
    not_negative(offset.0, "offset is negative")
}

/// A size in bytes.
///
/// # Errors
/// `MPI_ERR_ARG`: it is negative.
pub fn bytes(size: Offset) -> Result<u64> {
    not_negative(size.0, "size is negative")
}

/// A place at an explicit offset.
///
/// # Errors
/// `MPI_ERR_ARG`: it is negative.
pub fn at(offset: Offset) -> Result<Pointer> {
    etypes(offset).map(Pointer::Explicit)
}

/// An access that reads into `memory`.
pub fn read(pointer: Pointer, memory: Buffer) -> Access {
    Access {
        direction: Direction::Read,
        pointer,
        memory,
    }
}

/// An access that writes `memory`.
pub fn write(pointer: Pointer, memory: Buffer) -> Access {
    Access {
        direction: Direction::Write,
        ..read(pointer, memory)
    }
}

/// Lays down the status of an access that has moved `bytes` bytes.
///
/// # Errors
/// None.
pub fn done(bytes: u64, status: OutStatus) -> Result<()> {
    status.set(Status::of_message(
        abi::MPI_ANY_SOURCE,
        abi::MPI_ANY_TAG,
        bytes,
    ));
    Ok(())
}

/// Gives a handle to an open file.
pub fn register(lite: io::File) -> Handle {
    registry::insert(Arc::new(FileObject::new(lite)))
}

/// The hints of `info` beside those known.
pub fn hints(mut known: io::Hints, info: Info) -> io::Hints {
    info.each(|key, value| known.set(key, value));
    known
}

/// Sets the view of a file.
///
/// # Errors
/// `MPI_ERR_TYPE`, `MPI_ERR_ARG`, `MPI_ERR_UNSUPPORTED_DATAREP`, `MPI_ERR_NOT_SAME`.
pub fn set_view(
    fh: &File,
    displacement: i64,
    (etype, filetype): (&Datatype, &Datatype),
    (datarep, info): (Text<'_>, Info),
) -> Result<()> {
    let (object, lite) = (fh.object()?, fh.lite()?);
    let displacement = match displacement {
        abi::MPI_DISPLACEMENT_CURRENT => None,
        displacement => Some(not_negative(displacement, "disp is negative")?),
    };
    let representation = datareps::find(datarep.bytes())?;
    let types = (etype.committed()?, filetype.committed()?);
    lite.set_view(displacement, types, representation)?;
    object.set_types(etype, filetype);
    // Collective, as this call is: all hints are those of all processes.
    Ok(lite.set_hints(|known| *known = hints(known.clone(), info))?)
}
