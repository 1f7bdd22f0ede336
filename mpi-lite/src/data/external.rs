//! The representation "external32": big-endian, with the sizes of one table on all machines.
//!
//! The table gives `MPI_LONG` and `MPI_UNSIGNED_LONG` 4 bytes and `MPI_WCHAR` 2; a value that does
//! not fit is an error. `long double` becomes binary128. A pair of value and index, of which the
//! table has none, is its two halves.
//!
//! Source: MPI 5.0, 14.5.2.

use super::basic::{Basic, Machine};
use super::buffer::Buffer;
use super::datatype::{Block, Datatype, Limits};
use super::layout::{self, List, Shape};
use crate::error::Result;
use crate::memory::{Bytes, Room};

/// A value that its type cannot hold on the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a value of {0} does not fit: external32 and this machine give it different sizes")]
pub struct Unfit(pub &'static str);

/// How a scalar is changed on its way out and back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    /// Its bytes change their order.
    Swap,
    /// A signed integer changes its size.
    Signed,
    /// An unsigned integer changes its size.
    Unsigned,
    /// `long double` of x87 and binary128.
    Extended,
}

/// A scalar of a predefined datatype: where it stands, bytes in memory, bytes outside.
#[derive(Clone, Copy)]
struct Scalar {
    at: usize,
    native: usize,
    external: usize,
    change: Change,
}

/// The long double of x86 has 80 bits, which lie in 16 bytes.
const HAS_X87: bool = cfg!(target_arch = "x86_64");

/// No predefined datatype has more bytes in external32.
const EXTERNAL_MOST: usize = 32;

/// The one or two scalars of a predefined datatype.
fn scalars(basic: Basic) -> impl Iterator<Item = Scalar> {
    let scalar = |machine: Machine, at: u64| {
        let native = machine.size() as usize;
        let (external, change) = match (basic, machine) {
            (Basic::Long | Basic::LongInt, Machine::I64) => (4, Change::Signed),
            (Basic::UnsignedLong, _) => (4, Change::Unsigned),
            (Basic::Wchar, _) => (2, Change::Unsigned),
            (_, Machine::Long) if HAS_X87 => (16, Change::Extended),
            _ => (native, Change::Swap),
        };
        Scalar {
            at: at as usize,
            native,
            external,
            change,
        }
    };
    let machine = basic.machine();
    let halves = match machine {
        Machine::ComplexF16 => Some((Machine::F16, Machine::F16, 2)),
        Machine::ComplexF32 => Some((Machine::F32, Machine::F32, 4)),
        Machine::ComplexF64 => Some((Machine::F64, Machine::F64, 8)),
        Machine::ComplexLong => Some((Machine::Long, Machine::Long, 16)),
        other => other.pair(),
    };
    let (first, second) = match halves {
        Some((first, second, at)) => (scalar(first, 0), Some(scalar(second, at))),
        None => (scalar(machine, 0), None),
    };
    core::iter::once(first).chain(second)
}

impl Basic {
    /// Bytes of an element in external32.
    #[must_use]
    pub fn external_size(self) -> u64 {
        scalars(self).map(|scalar| scalar.external as u64).sum()
    }
}

impl Datatype {
    /// Bytes of `count` elements in external32.
    ///
    /// # Errors
    /// [`Cause::Count`](crate::error::Cause::Count) if they are more than memory can hold.
    pub fn external_bytes(&self, count: u64) -> Result<u64> {
        // No scalar is longer outside than in memory: so the product does not overflow.
        self.bytes(count)?;
        Ok(self.external_size() * count)
    }

    /// Bytes of an element in external32.
    fn external_size(&self) -> u64 {
        let derived = match self {
            Self::Basic(basic) => return basic.external_size(),
            Self::Derived(derived) => derived,
        };
        match &derived.shape {
            Shape::Strided {
                count,
                blocklength,
                item,
                ..
            } => count * blocklength * item.external_size(),
            Shape::Listed(list) => {
                let blocks = list.blocks().iter();
                blocks
                    .map(|block| block.count * block.datatype.external_size())
                    .sum()
            }
        }
    }
}

/// How a datatype lies where its members have other sizes than in memory: each predefined one takes
/// the bytes that `size` gives. Displacements that count elements count them still; others stay as
/// they are.
///
/// # Errors
/// [`Cause::Datatype`](crate::error::Cause::Datatype): it would be too large; those of `size`.
///
/// Source: MPI 5.0, 14.5.1 (portable datatypes are scaled).
pub(crate) fn with_sizes(
    datatype: &Datatype,
    size: &dyn Fn(Basic) -> Result<u64>,
) -> Result<Datatype> {
    let derived = match datatype {
        Datatype::Basic(basic) => return Datatype::from(Basic::Byte).contiguous(size(*basic)?),
        Datatype::Derived(derived) => derived,
    };
    let mut ratio = (1, 1);
    let mut resize = |item: &Datatype| {
        let sized = with_sizes(item, size)?;
        ratio = (item.extent(), sized.extent());
        Ok::<_, crate::error::Error>((sized, ratio))
    };
    let shape = match &derived.shape {
        Shape::Strided {
            count,
            stride,
            blocklength,
            item,
        } => {
            let (item, ratio) = resize(item)?;
            Shape::Strided {
                count: *count,
                stride: scaled(*stride, ratio),
                blocklength: *blocklength,
                item,
            }
        }
        Shape::Listed(list) => {
            let block = |block: &Block| {
                let (datatype, ratio) = resize(&block.datatype)?;
                Ok(Block {
                    displacement: scaled(block.displacement, ratio),
                    count: block.count,
                    datatype,
                })
            };
            let blocks = list.blocks().iter().map(block);
            Shape::Listed(List::new(blocks.collect::<Result<_>>()?))
        }
    };
    let limits = match derived.limits {
        Limits::Given((lower, upper)) => {
            Limits::Given((scaled(lower, ratio), scaled(upper, ratio)))
        }
        limits => limits,
    };
    Datatype::limited(shape, limits)
}

/// A displacement of so many extents, as many of the other one.
fn scaled(displacement: i64, (before, after): (i64, i64)) -> i64 {
    if before == 0 || displacement % before != 0 {
        return displacement;
    }
    (displacement / before).saturating_mul(after)
}

impl Buffer {
    /// Writes the data to `room` in external32; `room` is as long as `external_bytes` says.
    ///
    /// # Errors
    /// [`Unfit`] if a value does not fit; `room` holds those before it then.
    pub fn pack_external<'a>(&self, room: impl Into<Room<'a>>) -> core::result::Result<(), Unfit> {
        let change = |scalar: Scalar, native: &mut [u8], external: &mut [u8]| match scalar.change {
            Change::Swap => {
                copy_swapped(native, external);
                true
            }
            Change::Extended => {
                external.copy_from_slice(&quad_of_x87(first(native)).to_be_bytes());
                true
            }
            change => {
                let mut ordered = [0; 8];
                let ordered = &mut ordered[..scalar.native];
                copy_swapped(native, ordered);
                resize(change, ordered, external)
            }
        };
        let mut room = room.into();
        self.convert(|basic, native, (at, size)| {
            room.part(at, size)
                .update(|external| element(basic, native, external, change))
        })
    }

    /// Fills the elements with the data of `packed`, which is as long as `external_bytes` says.
    ///
    /// # Errors
    /// [`Unfit`] if a value does not fit; the elements before it are filled then.
    pub fn unpack_external<'a>(
        &self,
        packed: impl Into<Bytes<'a>>,
    ) -> core::result::Result<(), Unfit> {
        let change = |scalar: Scalar, native: &mut [u8], external: &mut [u8]| match scalar.change {
            Change::Swap => {
                copy_swapped(external, native);
                true
            }
            Change::Extended => {
                let value = x87_of_quad(u128::from_be_bytes(first(external)));
                native.copy_from_slice(&value.to_le_bytes());
                true
            }
            change => {
                let fits = resize(change, external, native);
                if cfg!(target_endian = "little") {
                    native.reverse();
                }
                fits
            }
        };
        let packed = packed.into();
        self.convert(|basic, native, (at, size)| {
            let mut external = [0; EXTERNAL_MOST];
            packed.part(at, size).read_into(&mut external);
            element(basic, native, &mut external[..size], change)
        })
    }

    /// Fills the elements with the data of `packed`, as far as it goes. Returns the bytes of it
    /// that were used, and the bytes of data in the elements.
    ///
    /// # Errors
    /// [`Unfit`] if a value does not fit; the elements before it are filled then.
    pub(crate) fn unpack_external_start<'a>(
        &self,
        packed: impl Into<Bytes<'a>>,
    ) -> core::result::Result<(u64, u64), Unfit> {
        let packed = packed.into();
        let (mut used, mut filled, there) = (0, 0, packed.len() as u64);
        layout::basics(
            self.datatype(),
            (0, self.count()),
            &mut |basic, (_, count)| {
                let whole = count.min((there - used) / basic.external_size());
                used += whole * basic.external_size();
                filled += whole * basic.size();
                whole == count
            },
        );
        match self.datatype().external_bytes(self.count()) {
            Ok(all) if all == used => self.unpack_external(packed)?,
            // Through a copy as long as all, of which the start alone is laid down.
            _ => {
                let mut bytes = Vec::new();
                packed.append_to(&mut bytes);
                bytes.truncate(used as usize);
                bytes.resize(
                    self.datatype().external_bytes(self.count()).unwrap_or(0) as usize,
                    0,
                );
                if let Ok(whole) = Self::scratch(self.count(), self.datatype()) {
                    whole.unpack_external(&bytes[..])?;
                    let mut native = whole.pack();
                    native.truncate(filled as usize);
                    self.unpack(&native);
                }
            }
        }
        Ok((used, filled))
    }

    /// Calls `change` with each element, its bytes in memory, and where its bytes are outside and
    /// how many, until one does not fit.
    fn convert(
        &self,
        mut change: impl FnMut(Basic, &mut [u8], (usize, usize)) -> bool,
    ) -> core::result::Result<(), Unfit> {
        let mut done = 0;
        let mut unfit = None;
        layout::basics(
            self.datatype(),
            (0, self.count()),
            &mut |basic, (at, count)| {
                let size = basic.external_size() as usize;
                let extent = basic.extent();
                let end = basic.data_end() as usize;
                let fits = (0..count).all(|index| {
                    let native = self.origin().at(at + index as i64 * extent, end);
                    let place = (done, size);
                    done += size;
                    native.update(|native| change(basic, native, place))
                });
                unfit = (!fits).then_some(Unfit(basic.name()));
                fits
            },
        );
        unfit.map_or(Ok(()), Err)
    }
}

/// Calls `change` with each scalar of an element. Returns true if all fit.
fn element(
    basic: Basic,
    native: &mut [u8],
    mut external: &mut [u8],
    change: impl Fn(Scalar, &mut [u8], &mut [u8]) -> bool,
) -> bool {
    scalars(basic).all(|scalar| {
        let (here, rest) = core::mem::take(&mut external).split_at_mut(scalar.external);
        external = rest;
        change(scalar, &mut native[scalar.at..][..scalar.native], here)
    })
}

/// Copies a scalar and makes it big-endian, or back.
fn copy_swapped(from: &[u8], to: &mut [u8]) {
    to.copy_from_slice(from);
    if cfg!(target_endian = "little") {
        to.reverse();
    }
}

/// Copies a big-endian integer to one of another size. Returns false if it does not fit.
fn resize(change: Change, from: &[u8], to: &mut [u8]) -> bool {
    let is_negative = change == Change::Signed && from.first().is_some_and(|byte| *byte >= 0x80);
    let filling = if is_negative { 0xff } else { 0 };
    let longer = from.len().saturating_sub(to.len());
    let shorter = to.len().saturating_sub(from.len());
    to[..shorter].fill(filling);
    to[shorter..].copy_from_slice(&from[longer..]);
    let keeps_sign = change == Change::Unsigned || (to[0] >= 0x80) == is_negative;
    keeps_sign && from[..longer].iter().all(|byte| *byte == filling)
}

fn first(bytes: &[u8]) -> [u8; 16] {
    *bytes.first_chunk().expect("a long double has 16 bytes")
}

const EXPONENT: u128 = 0x7fff;
/// Bits of the fraction of binary128, and how many of them x87 has not.
const FRACTION: u32 = 112;
const DROPPED: u32 = FRACTION - 63;

/// The binary128 of an x87 number in memory, its sign and exponent behind 64 bits of mantissa.
fn quad_of_x87(bytes: [u8; 16]) -> u128 {
    let bits = u128::from_le_bytes(bytes);
    let (mantissa, high) = (bits & u128::from(u64::MAX), bits >> 64 & 0xffff);
    let is_whole = mantissa >> 63 == 1;
    let fraction = (mantissa & ((1 << 63) - 1)) << DROPPED;
    let (sign, exponent) = (high >> 15, high & EXPONENT);
    let exponent = match exponent {
        // What x87 calls a pseudo-denormal is the least normal number.
        0 if is_whole => 1,
        exponent => exponent,
    };
    (sign << 15 | exponent) << FRACTION | fraction
}

/// The x87 number, in 16 bytes, that is nearest to a binary128.
fn x87_of_quad(quad: u128) -> u128 {
    let (high, fraction) = (quad >> FRACTION, quad & ((1 << FRACTION) - 1));
    let (sign, exponent) = (high >> 15, high & EXPONENT);
    if exponent == EXPONENT {
        // Infinity, or a quiet NaN.
        let quiet = if fraction == 0 { 0b10 } else { 0b11 };
        return (sign << 15 | EXPONENT) << 64 | quiet << 62 | fraction >> DROPPED;
    }
    let (kept, rest) = (fraction >> DROPPED, fraction & ((1 << DROPPED) - 1));
    let half = 1 << (DROPPED - 1);
    let up = u128::from(rest > half || (rest == half && kept & 1 == 1));
    // A carry out of the fraction makes the exponent one more.
    let rounded = (exponent << 63 | kept) + up;
    let (exponent, kept) = (rounded >> 63, rounded & ((1 << 63) - 1));
    let whole = u128::from(exponent != 0) << 63;
    (sign << 15 | exponent) << 64 | whole | kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Span;

    fn packed(native: &mut [u8], count: u64, datatype: &Datatype) -> Option<Vec<u8>> {
        let mut room = vec![0; datatype.external_bytes(count).unwrap() as usize];
        let buffer = Buffer::at(Span::of(native).origin(0), count, datatype.clone());
        let fits = buffer.pack_external(&mut room[..]);
        fits.is_ok().then_some(room)
    }

    fn unpacked(external: &mut [u8], count: u64, datatype: &Datatype) -> Option<Vec<u8>> {
        let mut native = vec![0; datatype.occupied(count).unwrap().1];
        let buffer = Buffer::at(Span::of(&mut native).origin(0), count, datatype.clone());
        let fits = buffer.unpack_external(&external[..]);
        fits.is_ok().then_some(native)
    }

    #[test]
    fn every_predefined_datatype_comes_back() {
        for &basic in Basic::ALL {
            let datatype = Datatype::from(basic);
            let mut external: Vec<u8> = (0..3 * basic.external_size()).map(|n| n as u8).collect();
            let mut native = unpacked(&mut external, 3, &datatype).unwrap();
            if !matches!(
                basic.machine(),
                Machine::Long | Machine::ComplexLong | Machine::LongI32
            ) {
                assert_eq!(
                    packed(&mut native, 3, &datatype),
                    Some(external),
                    "{basic:?}"
                );
            }
        }
    }

    #[test]
    fn sizes_are_those_of_the_table() {
        for (basic, size) in [
            (Basic::Long, 4),
            (Basic::UnsignedLong, 4),
            (Basic::LongLong, 8),
            (Basic::Wchar, 2),
            (Basic::LongDouble, 16),
            (Basic::Aint, 8),
            (Basic::Real2, 2),
            (Basic::Complex4, 4),
            (Basic::CFloatComplex, 8),
            (Basic::CLongDoubleComplex, 32),
            (Basic::LongInt, 8),
            (Basic::ShortInt, 6),
        ] {
            assert_eq!(basic.external_size(), size, "{basic:?}");
        }
    }

    #[test]
    fn a_value_that_does_not_fit_is_refused() {
        for (value, signed, unsigned) in [
            (0x7fff_ffff_i64, true, true),
            (0x8000_0000, false, true),
            (-0x8000_0000, true, false),
            (-0x8000_0001, false, false),
            (0x1_0000_0000, false, false),
        ] {
            let mut bytes = value.to_ne_bytes();
            let fits = packed(&mut bytes, 1, &Basic::Long.into());
            assert_eq!(
                fits,
                signed.then(|| (value as i32).to_be_bytes().to_vec()),
                "{value:#x}"
            );
            let fits = packed(&mut bytes, 1, &Basic::UnsignedLong.into());
            assert_eq!(fits.is_some(), unsigned, "{value:#x}");
        }
        let mut negative = (-5_i32).to_be_bytes();
        let back = unpacked(&mut negative, 1, &Basic::Long.into());
        assert_eq!(back, Some((-5_i64).to_ne_bytes().to_vec()));
    }

    #[test]
    fn long_double_becomes_binary128_and_back() {
        let x87 = |high: u128, mantissa: u128| high << 64 | mantissa;
        for (number, quad) in [
            (x87(0, 0), 0),
            (x87(0x3fff, 1 << 63), 0x3fff << 112),
            (x87(0xc000, 3 << 62), (0xc000 << 112) + (1 << 111)),
            (x87(0x7fff, 1 << 63), 0x7fff << 112),
            (x87(0, 1), 1 << 49),
            (x87(0x7ffe, u64::MAX.into()), (0x7fff << 112) - (1 << 49)),
        ] {
            assert_eq!(quad_of_x87(number.to_le_bytes()), quad, "{number:#x}");
            assert_eq!(x87_of_quad(quad), number, "{quad:#x}");
        }
        // Half a unit goes to the even neighbour; all ones go up to the next power, or to infinity.
        let one = 0x3fff << 112;
        assert_eq!(x87_of_quad(one + (1 << 48)), x87(0x3fff, 1 << 63));
        assert_eq!(x87_of_quad(one + (3 << 48)), x87(0x3fff, (1 << 63) + 2));
        assert_eq!(x87_of_quad((0x4000 << 112) - 1), x87(0x4000, 1 << 63));
        assert_eq!(x87_of_quad((0x7fff << 112) - 1), x87(0x7fff, 1 << 63));
    }

    #[test]
    fn the_order_is_that_of_the_type_map() {
        let parts = [
            (4, 1, Basic::Short),
            (0, 2, Basic::Char),
            (8, 1, Basic::Int),
        ];
        let block = |&(displacement, count, basic): &(i64, u64, Basic)| Block {
            displacement,
            count,
            datatype: basic.into(),
        };
        let datatype = Datatype::structure(parts.iter().map(block).collect()).unwrap();
        let mut memory = [1, 2, 0, 0, 3, 4, 0, 0, 5, 6, 7, 8];
        let swapped = packed(&mut memory, 1, &datatype).unwrap();
        assert_eq!(swapped, [4, 3, 1, 2, 8, 7, 6, 5]);
        assert_eq!(
            unpacked(&mut swapped.clone(), 1, &datatype).unwrap(),
            memory
        );
    }
}
