//! How data is represented in a file.
//!
//! An access in another representation than the machine's goes through memory of its own, which
//! holds the data as the file does.
//!
//! Source: MPI 5.0, 14.5.

use std::fmt;
use std::sync::Arc;

use crate::data::{Basic, Buffer, Datatype, with_sizes};
use crate::error::{Cause, Class, Result};
use crate::memory::Span;

/// How data is represented in a file.
#[derive(Clone, Debug)]
pub enum Representation {
    /// As in memory; the name is "native" or "internal".
    Native(&'static str),
    /// Big-endian, with the sizes of one table.
    External32,
    /// As functions of the program make it.
    Own(Arc<str>, Arc<dyn Conversion>),
}

/// Functions of the program that convert data. Source: MPI 5.0, 14.5.3.
pub trait Conversion: fmt::Debug + Send + Sync {
    /// Bytes of a predefined datatype in the file.
    ///
    /// # Errors
    /// What the function returns.
    fn extent(&self, basic: Basic) -> Result<u64>;

    /// Fills `memory` with the data of `file`.
    ///
    /// # Errors
    /// What the function returns.
    fn read(&self, memory: &Buffer, file: &mut [u8]) -> Result<()>;

    /// Fills `file` with the data of `memory`.
    ///
    /// # Errors
    /// What the function returns.
    fn write(&self, memory: &Buffer, file: &mut [u8]) -> Result<()>;
}

impl Representation {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Native(name) => name,
            Self::External32 => "external32",
            Self::Own(name, _) => name,
        }
    }

    /// Returns true if functions of the program are called.
    #[must_use]
    pub fn calls_program(&self) -> bool {
        matches!(self, Self::Own(..))
    }

    /// The datatype with the sizes and displacements that it has in the file.
    ///
    /// # Errors
    /// `Datatype`: it would be too large; what the extent function returns.
    pub fn in_file(&self, datatype: &Datatype) -> Result<Datatype> {
        match self {
            Self::Native(_) => Ok(datatype.clone()),
            Self::External32 => with_sizes(datatype, &|basic| Ok(basic.external_size())),
            Self::Own(_, conversion) => with_sizes(datatype, &|basic| conversion.extent(basic)),
        }
    }

    /// What is written for `memory`: itself, or memory of its own with the data as in the file.
    ///
    /// # Errors
    /// A value does not fit; what a function of the program returns.
    pub fn outgoing(&self, memory: &Buffer) -> Result<Buffer> {
        let file = self.room(memory)?;
        match (self, file.contiguous()) {
            (Self::External32, Some(span)) => {
                let packed = memory.pack_external(span);
                packed.map_err(|unfit| Cause::File(Class::Conversion, unfit.to_string().into()))?;
            }
            (Self::Own(_, conversion), Some(span)) if memory.count() > 0 => {
                span.update(|bytes| conversion.write(memory, bytes))?;
            }
            _ => {}
        }
        Ok(file)
    }

    /// Where data is read to that goes to `memory`: itself, or memory of its own.
    ///
    /// # Errors
    /// `Count`, `NoMemory`.
    pub fn room(&self, memory: &Buffer) -> Result<Buffer> {
        match self {
            Self::Native(_) => Ok(memory.clone()),
            _ => {
                let bytes = self.in_file(memory.datatype())?.bytes(memory.count())?;
                Buffer::zeroed(bytes as usize)
            }
        }
    }

    /// Lays the first `bytes` bytes of `file`, which [`Representation::room`] has made, into
    /// `memory`. Returns how many of them were used, and the bytes there: what is not whole is left
    /// out, an element of a predefined datatype, or one of the datatype where the program converts.
    ///
    /// # Errors
    /// A value does not fit; what a function of the program returns.
    pub fn incoming(&self, file: &Buffer, bytes: u64, memory: &Buffer) -> Result<(u64, u64)> {
        let span = file.contiguous();
        let read = |span: Option<Span>| span.expect("bytes have no gaps").part(0, bytes as usize);
        match self {
            Self::Native(_) => Ok((bytes, bytes)),
            Self::External32 => {
                let unpacked = memory.unpack_external_start(read(span));
                unpacked.map_err(|unfit| {
                    Cause::File(Class::Conversion, unfit.to_string().into()).into()
                })
            }
            Self::Own(_, conversion) => {
                let each = self.in_file(memory.datatype())?.size();
                let count = bytes.checked_div(each).unwrap_or(0).min(memory.count());
                let (memory, used) = (memory.moved(0, count), count * each);
                if count > 0 {
                    let span = read(span).part(0, used as usize);
                    span.update(|bytes| conversion.read(&memory, bytes))?;
                }
                Ok((used, memory.bytes()?))
            }
        }
    }
}
