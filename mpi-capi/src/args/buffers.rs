//! Arguments that are addresses of the program's memory.
#![expect(
    unsafe_code,
    reason = "results are written through the caller's pointers"
)]

use core::ffi::{c_int, c_void};
use core::ops::Deref;

use mpi_lite::coll::Input;
use mpi_lite::data::{self, Area, Basic, Buffer};
use mpi_lite::memory::{Origin, Span};

use crate::abi::{self, Handle};
use crate::args::arrays::{Aints, Counts, Datatypes, Displs};
use crate::args::handles::{Datatype, LateDatatype};
use crate::args::numbers::{Count, LateCount, append, show_address};
use crate::declaration::Declarator;
use crate::entry::{Arg, Read};
use crate::error::{Cause, Error, Result};
use crate::objects::types;
use crate::raise::Call;

/// A buffer that is only read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendPtr(pub *const c_void);

/// A buffer that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecvPtr(pub *mut c_void);

/// An address that is kept or compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address(pub *mut c_void);

/// The room for buffered sends that the program gives, or `MPI_BUFFER_AUTOMATIC`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferAddress(pub *mut c_void);

/// A place for the address of the room that the program gets back.
#[derive(Debug, Clone, Copy)]
pub struct OutBufferAddress {
    place: OutAddress,
    /// The address as the program's binary interface has it.
    of: fn(usize) -> usize,
}

/// A place for the value of an attribute.
#[derive(Debug, Clone, Copy)]
pub struct OutAttribute {
    place: OutAddress,
    of_library: PlaceOfAttribute,
}

/// Where the program's binary interface has the value of one of MPI's own attributes, given its key
/// and where the standard's interface has it.
pub type PlaceOfAttribute = fn(c_int, *mut c_int) -> *mut c_int;

impl OutBufferAddress {
    /// A place in which `of` maps the address.
    pub fn at(place: OutAddress, of: fn(usize) -> usize) -> Self {
        Self { place, of }
    }

    /// Lays down the address.
    pub fn set(self, address: *mut c_void) {
        self.place.set(address.map_addr(self.of));
    }
}

impl OutAttribute {
    /// A place in which values of MPI's own attributes lie where `of_library` says.
    pub fn at(place: OutAddress, of_library: PlaceOfAttribute) -> Self {
        Self { place, of_library }
    }

    /// Lays down the value.
    pub fn set(self, value: *mut c_void) {
        self.place.set(value);
    }

    /// The value of the library's own attribute `key`, which lies in `place`.
    pub fn of_library(self, key: c_int, place: *mut c_int) -> *mut c_void {
        (self.of_library)(key, place).cast()
    }
}

/// An address of memory that is not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConstAddress(pub *const c_void);

/// A place for an address; C declares it as `void *` so that any pointer's address fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutAddress(*mut c_void);

impl OutAddress {
    /// Lays down the address.
    #[expect(
        clippy::not_unsafe_ptr_arg_deref,
        reason = "the address is stored, not followed"
    )]
    pub fn set(self, address: *mut c_void) {
        // SAFETY: not null, and the caller passed the address of a pointer variable.
        unsafe { self.0.cast::<*mut c_void>().write_unaligned(address) };
    }
}

impl SendPtr {
    #[inline(always)]
    fn address(self) -> *mut c_void {
        self.0.cast_mut()
    }

    /// `count` elements to send from here.
    ///
    /// # Errors
    /// `MPI_ERR_BUFFER`, `MPI_ERR_COUNT`, `MPI_ERR_TYPE`: there cannot be so many here.
    #[inline]
    pub fn of(self, count: Count, datatype: &Datatype) -> Result<Buffer> {
        buffer(self.0.cast_mut(), count, datatype)
    }

    /// The buffer as a message's body.
    ///
    /// # Errors
    /// As `of`.
    #[inline(always)]
    pub fn area(self, count: Count, datatype: &Datatype) -> Result<Area> {
        area(self.0.cast_mut(), count, datatype)
    }
}

impl RecvPtr {
    #[inline(always)]
    fn address(self) -> *mut c_void {
        self.0
    }

    /// Room for `count` elements here.
    ///
    /// # Errors
    /// `MPI_ERR_BUFFER`, `MPI_ERR_COUNT`, `MPI_ERR_TYPE`: there cannot be so many here.
    #[inline]
    pub fn of(self, count: Count, datatype: &Datatype) -> Result<Buffer> {
        buffer(self.0, count, datatype)
    }

    /// The buffer as a message's body.
    ///
    /// # Errors
    /// As `of`.
    #[inline(always)]
    pub fn area(self, count: Count, datatype: &Datatype) -> Result<Area> {
        area(self.0, count, datatype)
    }
}

impl SendPtr {
    /// Returns the `len` bytes at `position` of the `size` bytes here, and where they end.
    ///
    /// # Errors
    /// `MPI_ERR_BUFFER` if it is null, `MPI_ERR_ARG` if there are not `len` bytes.
    pub fn packed(self, size: u64, position: u64, len: u64) -> Result<(Span, i64)> {
        within(self.0.cast_mut(), (size, position), len, |room| {
            Cause::NothingToUnpack {
                need: len,
                room,
                size,
                position,
            }
        })
    }
}

impl RecvPtr {
    /// Returns the room for `len` bytes at `position` of the `size` bytes here, and where it ends.
    ///
    /// # Errors
    /// `MPI_ERR_BUFFER` if it is null, `MPI_ERR_ARG` if they do not fit.
    pub fn room(self, size: u64, position: u64, len: u64) -> Result<(Span, i64)> {
        within(self.0, (size, position), len, |room| Cause::NoRoomToPack {
            need: len,
            room,
            size,
            position,
        })
    }
}

/// The `len` bytes at `position` of the `size` bytes at `address`, and where they end; `short` is
/// the error for so few bytes left.
fn within(
    address: *mut c_void,
    (size, position): (u64, u64),
    len: u64,
    short: impl Fn(u64) -> Cause,
) -> Result<(Span, i64)> {
    if address.is_null() && len > 0 {
        return Err(mpi_lite::error::Cause::NullBuffer.into());
    }
    let room = size.saturating_sub(position);
    if len > room {
        return Err(short(room).into());
    }
    let first = address.cast::<u8>().wrapping_add(position as usize);
    // SAFETY: the caller passed `size` bytes, of which these are a part.
    let span = unsafe { Span::new(first, len as usize) };
    Ok((span, (position + len).cast_signed()))
}

/// The datatype of a message. That of a message without elements may be `MPI_DATATYPE_NULL`: the
/// standard does not ask for it, and programs that were written for other libraries use it.
#[derive(Debug, Clone)]
pub struct MessageType(Datatype);

impl Deref for MessageType {
    type Target = Datatype;

    #[inline(always)]
    fn deref(&self) -> &Datatype {
        &self.0
    }
}

impl<W> Arg<W> for MessageType {
    type C = Handle;
    const DECLARATION: Declarator = <Datatype as Arg<W>>::DECLARATION;

    fn show(c: Handle, name: &str, line: &mut String) {
        <Datatype as Arg<W>>::show(c, name, line);
    }
}

impl<W> Read<W> for MessageType {
    #[inline(always)]
    unsafe fn read(c: Handle, name: &'static str, _call: &Call) -> Result<Self> {
        match Datatype::of(c) {
            Ok(datatype) => Ok(Self(datatype)),
            Err(_) if c == abi::MPI_DATATYPE_NULL => Ok(Self(Datatype::null())),
            Err(what) => Err(Error::of_handle(name, what, abi::MPI_ERR_TYPE)),
        }
    }
}

/// Blocks of one memory, one per process or per edge of a topology.
#[derive(Debug, Clone, Copy)]
pub struct Blocks<D = Displs> {
    /// Elements of each.
    pub counts: Counts,
    /// Where each begins.
    pub displs: D,
    /// How many there are.
    pub processes: u32,
}

/// An array of displacements in bytes.
pub trait Distances: Copy {
    /// The displacement at `index`.
    ///
    /// # Errors
    /// `MPI_ERR_ARG`: the array is null.
    fn at(self, index: usize) -> Result<i64>;
}

impl Distances for Displs {
    fn at(self, index: usize) -> Result<i64> {
        self.get(index)
    }
}

impl Distances for Aints {
    fn at(self, index: usize) -> Result<i64> {
        self.get(index)
    }
}

/// What the buffers of collectives have in common, whether they are read or written.
macro_rules! collective_buffers {
    ($($name:ident)*) => {$(
        impl $name {
            /// Returns true if it is `MPI_IN_PLACE`.
            #[inline]
            pub fn is_in_place(self) -> bool {
                self.0.addr() == abi::MPI_IN_PLACE
            }

            /// `count` elements here, if they are one run of bytes of a predefined datatype.
            #[inline(always)]
            pub fn run(self, count: Count, datatype: &Datatype) -> Option<(Basic, Span)> {
                let (basic, len) = datatype.run_of(count.get())?;
                let address = self.address();
                // One of MPI's constants is no address.
                let is_memory = address.addr() > abi::MPI_IN_PLACE && len > 0;
                // SAFETY: the caller keeps MPI's rules for its buffer.
                is_memory.then(|| (basic, unsafe { Span::new(address.cast(), len) }))
            }

            /// `count` elements here. The operation that takes them checks whether they can be.
            ///
            /// # Errors
            /// `MPI_ERR_BUFFER` if it is `MPI_IN_PLACE`; `MPI_ERR_TYPE`.
            #[inline(always)]
            pub fn all(self, count: Count, datatype: &Datatype) -> Result<Buffer> {
                let datatype = datatype.committed()?.clone();
                Ok(Buffer::at(origin(self.address())?, count.get(), datatype))
            }

            /// What this process gives; in place, count and datatype are not looked at.
            ///
            /// # Errors
            /// `MPI_ERR_BUFFER`, `MPI_ERR_COUNT`, `MPI_ERR_TYPE`.
            pub fn input(self, count: LateCount, datatype: LateDatatype) -> Result<Input> {
                self.input_at(true, count, datatype)
            }

            /// The input of a call in which only the root may be in place.
            ///
            /// # Errors
            /// As `input`.
            pub fn input_at(
                self,
                is_root: bool,
                count: LateCount,
                datatype: LateDatatype,
            ) -> Result<Input> {
                if self.is_in_place() && is_root {
                    return Ok(Input::InPlace);
                }
                Ok(Input::Buffer(self.all(count.get()?, &datatype.get()?)?))
            }

            /// The blocks of one datatype, displaced by its extent.
            ///
            /// # Errors
            /// `MPI_ERR_BUFFER`, `MPI_ERR_COUNT`, `MPI_ERR_TYPE`, `MPI_ERR_ARG`.
            pub fn blocks(self, blocks: Blocks, datatype: &Datatype) -> Result<Vec<Buffer>> {
                let block = |place: usize| {
                    let count = LateCount(blocks.counts.get(place)?).get()?;
                    let first = self.all(count, datatype)?;
                    Ok(first.part(blocks.displs.get(place)?, count.get()))
                };
                (0..blocks.processes as usize).map(block).collect()
            }

            /// The blocks of different datatypes, displaced in bytes.
            ///
            /// # Errors
            /// As `blocks`.
            pub fn blocks_of(
                self,
                blocks: Blocks<impl Distances>,
                datatypes: Datatypes,
            ) -> Result<Vec<Buffer>> {
                let block = |place: usize| {
                    let count = LateCount(blocks.counts.get(place)?).get()?;
                    let datatype = LateDatatype::of_array(datatypes.get(place)?).get()?;
                    let first = self.all(count, &datatype)?;
                    Ok(first.moved(blocks.displs.at(place)?, count.get()))
                };
                (0..blocks.processes as usize).map(block).collect()
            }
        }
    )*};
}

collective_buffers! { SendPtr RecvPtr }

fn buffer(address: *mut c_void, count: Count, datatype: &Datatype) -> Result<Buffer> {
    let datatype = of_message(count, datatype)?.clone();
    let buffer = Buffer::at(origin(address)?, count.get(), datatype);
    buffer.check()?;
    Ok(buffer)
}

#[inline(always)]
fn area(address: *mut c_void, count: Count, datatype: &Datatype) -> Result<Area> {
    let datatype = of_message(count, datatype)?;
    Ok(Area::at(origin(address)?, count.get(), datatype)?)
}

/// The datatype of a message of `count` elements.
#[inline(always)]
fn of_message(count: Count, datatype: &Datatype) -> Result<&data::Datatype> {
    match datatype.committed() {
        Err(error) => of_nothing(count, datatype).ok_or(error),
        known => known,
    }
}

/// Any datatype, if the message has no elements and names none.
#[cold]
fn of_nothing(count: Count, datatype: &Datatype) -> Option<&'static data::Datatype> {
    let is_nothing = datatype.handle == abi::MPI_DATATYPE_NULL && count.get() == 0;
    let any = types::basic(abi::MPI_BYTE).ok().flatten();
    any.filter(|_| is_nothing)
}

#[inline(always)]
fn origin(address: *mut c_void) -> Result<Origin> {
    if address.addr() == abi::MPI_IN_PLACE {
        return Err(Error::new(
            abi::MPI_ERR_BUFFER,
            "MPI_IN_PLACE is not allowed here",
        ));
    }
    // SAFETY: the caller of the C function vouches for the memory until the operation completes.
    Ok(unsafe { Origin::new(address.cast()) })
}

impl Address {
    /// The `len` bytes at the address, for a window.
    pub fn memory(self, len: usize) -> Span {
        // SAFETY: the caller of the C function vouches for the memory until it frees the window or
        // detaches the memory.
        unsafe { Span::new(self.0.cast(), len) }
    }

    /// The `len` bytes at the address.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` if it is null.
    pub fn to_vec(self, len: usize) -> Result<Vec<u8>> {
        if self.0.is_null() {
            return Err(Error::new(abi::MPI_ERR_ARG, "a value is a null pointer"));
        }
        // SAFETY: not null, and the caller requires that `len` bytes can be read.
        Ok(unsafe { core::slice::from_raw_parts(self.0.cast::<u8>(), len) }.to_vec())
    }

    /// Writes `bytes` to the address.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` if it is null.
    pub fn write(self, bytes: &[u8]) -> Result<()> {
        if self.0.is_null() {
            return Err(Error::new(abi::MPI_ERR_ARG, "a value is a null pointer"));
        }
        // SAFETY: not null, and the caller requires that as many bytes can be written.
        unsafe {
            self.0
                .cast::<u8>()
                .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len())
        };
        Ok(())
    }
}

macro_rules! addresses {
    ($($name:ident $c:ty, $base:literal;)*) => {$(
        impl<W> Arg<W> for $name {
            type C = $c;
            const DECLARATION: Declarator = Declarator::pointer($base);
            const IS_KEPT: bool = false;

            fn show(c: $c, name: &str, line: &mut String) {
                show_buffer(c.addr(), name, line);
            }
        }
    )*};
}

addresses! {
    SendPtr *const c_void, "const void";
    RecvPtr *mut c_void, "void";
    Address *mut c_void, "void";
    BufferAddress *mut c_void, "void";
    OutAttribute *mut c_void, "void";
    OutBufferAddress *mut c_void, "void";
    ConstAddress *const c_void, "const void";
    OutAddress *mut c_void, "void";
}

impl<W> Read<W> for SendPtr {
    unsafe fn read(c: *const c_void, _name: &'static str, _call: &Call) -> Result<Self> {
        Ok(Self(c))
    }
}

impl<W> Read<W> for RecvPtr {
    unsafe fn read(c: *mut c_void, _name: &'static str, _call: &Call) -> Result<Self> {
        Ok(Self(c))
    }
}

impl<W> Read<W> for Address {
    unsafe fn read(c: *mut c_void, _name: &'static str, _call: &Call) -> Result<Self> {
        Ok(Self(c))
    }
}

impl<W> Read<W> for BufferAddress {
    unsafe fn read(c: *mut c_void, _name: &'static str, _call: &Call) -> Result<Self> {
        Ok(Self(c))
    }
}

impl<W> Read<W> for OutBufferAddress {
    unsafe fn read(c: *mut c_void, name: &'static str, call: &Call) -> Result<Self> {
        // SAFETY: passed on.
        let place = unsafe { <OutAddress as Read<W>>::read(c, name, call)? };
        Ok(Self::at(place, |address| address))
    }
}

impl<W> Read<W> for OutAttribute {
    unsafe fn read(c: *mut c_void, name: &'static str, call: &Call) -> Result<Self> {
        // SAFETY: passed on.
        let place = unsafe { <OutAddress as Read<W>>::read(c, name, call)? };
        Ok(Self::at(place, |_, place| place))
    }
}

impl<W> Read<W> for ConstAddress {
    unsafe fn read(c: *const c_void, _name: &'static str, _call: &Call) -> Result<Self> {
        Ok(Self(c))
    }
}

impl<W> Read<W> for OutAddress {
    unsafe fn read(c: *mut c_void, name: &'static str, _call: &Call) -> Result<Self> {
        if c.is_null() {
            Err(Cause::NullPointer { name }.into())
        } else {
            Ok(Self(c))
        }
    }
}

fn show_buffer(address: usize, name: &str, line: &mut String) {
    match address {
        abi::MPI_IN_PLACE => append(line, format_args!("{name}=MPI_IN_PLACE")),
        abi::MPI_BUFFER_AUTOMATIC => append(line, format_args!("{name}=MPI_BUFFER_AUTOMATIC")),
        _ => show_address(address, name, line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No message is anywhere near: `MPI_Pack` and `MPI_Unpack` work in one process.
    #[test]
    fn packed_bytes_that_do_not_fit_are_told_without_a_message() {
        let mut room = [0_u8; 6];
        let packing = RecvPtr((&raw mut room).cast()).room(6, 2, 8);
        let unpacking = SendPtr((&raw const room).cast()).packed(6, 2, 8);
        let errors = [
            (packing.unwrap_err(), "outbuf is too short"),
            (unpacking.unwrap_err(), "inbuf is too short"),
        ];
        for (error, words) in errors {
            let line = error.to_string();
            assert!(line.starts_with(words), "{line}");
            assert!(
                line.contains("take 8 bytes") && line.contains("4 of its 6"),
                "{line}"
            );
            assert!(!line.contains("message"), "{line}");
            assert_eq!(error.class(), abi::MPI_ERR_ARG);
        }
    }
}
