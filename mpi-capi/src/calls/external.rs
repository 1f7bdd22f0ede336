//! The arguments of packing in "external32", checked.
//!
//! Source: MPI 5.0, 5.3.

use mpi_lite::data::Unfit;

use crate::abi;
use crate::args::{Displacement, Text};
use crate::error::{Error, Result};

/// Checks the name of a data representation.
///
/// # Errors
/// `MPI_ERR_UNSUPPORTED_DATAREP` if it is not "external32", the only one that is defined.
pub fn check(datarep: Text) -> Result<()> {
    if datarep.bytes() == b"external32" {
        return Ok(());
    }
    Err(Error::new(
        abi::MPI_ERR_UNSUPPORTED_DATAREP,
        "datarep is not \"external32\", the only representation that can be packed",
    ))
}

/// A buffer of packed elements.
pub struct Window {
    /// Bytes of the buffer.
    pub size: u64,
    /// The first byte that is not used yet.
    pub position: u64,
}

/// The size of a buffer, and the position in it, behind which there are at least `need` bytes.
///
/// # Errors
/// `MPI_ERR_ARG` if one is negative; `MPI_ERR_TRUNCATE` if there are too few bytes.
pub fn window(size: Displacement, position: &Displacement, need: u64) -> Result<Window> {
    let [Ok(size), Ok(position)] = [size.0, position.0].map(u64::try_from) else {
        let text = "the size of the buffer or the position is negative";
        return Err(Error::new(abi::MPI_ERR_ARG, text));
    };
    if need > size.saturating_sub(position) {
        return Err(Error::new(
            abi::MPI_ERR_TRUNCATE,
            "the elements take more bytes than the buffer has behind the position: \
             MPI_Pack_external_size returns how many",
        ));
    }
    Ok(Window { size, position })
}

/// The error of a value that cannot be converted.
pub fn refuse(unfit: Unfit) -> Error {
    let text = match unfit {
        Unfit("MPI_WCHAR") => "an MPI_WCHAR does not fit into the 2 bytes of external32",
        _ => "an integer does not fit into the 4 bytes that external32 gives to MPI_LONG",
    };
    Error::new(abi::MPI_ERR_CONVERSION, text)
}
