//! Arrays of MPICH's interface.
#![expect(
    unsafe_code,
    reason = "arrays are read and written through the caller's pointers"
)]

use core::ffi::{c_int, c_void};

use super::constants::{
    DISTRIBUTION_ARGS, DISTRIBUTIONS, ORDERS, number_of as number, rank_of, room_of,
    standard_distribution_arg, standard_number, standard_rank,
};
use super::handles::{null_number, number_of, request, standard_handle};
use super::{Extent, Foreign};
use crate::abi::{self, Handle, MPI_REQUEST_NULL};
use crate::args::*;
use crate::entry::Read;
use crate::error::Result;
use crate::handle::Kind;
use crate::objects::recipe::Recipe;
use crate::raise::Call;

/// Elements that lie on the stack.
const FEW: usize = 16;

/// The elements of an array while the call runs. It allocates for long arrays only.
pub struct HeldArray<T> {
    few: [T; FEW],
    many: Vec<T>,
    len: usize,
}

impl<T: Copy> HeldArray<T> {
    /// `len` elements.
    pub fn new(len: usize, blank: T, make: impl Fn(usize) -> T) -> Self {
        let mut room = Self {
            few: [blank; FEW],
            many: Vec::new(),
            len,
        };
        if len > FEW {
            room.many = (0..len).map(make).collect();
        } else {
            for (index, element) in room.few[..len].iter_mut().enumerate() {
                *element = make(index);
            }
        }
        room
    }

    /// The elements.
    pub fn elements(&mut self) -> &mut [T] {
        if self.len > FEW {
            &mut self.many
        } else {
            &mut self.few[..self.len]
        }
    }
}

/// An array of handles, and where it came from.
pub struct HeldHandles {
    array: *mut c_int,
    room: HeldArray<Handle>,
}

impl<W> Foreign<W> for Requests {
    type Raw = *mut c_int;
    type Held = HeldHandles;

    unsafe fn hold(array: *mut c_int, extent: Extent) -> HeldHandles {
        let len = if array.is_null() { 0 } else { extent.length };
        let room = HeldArray::new(len, MPI_REQUEST_NULL, |index| {
            // SAFETY: not null, and the caller passed as many elements as the call names.
            let number = unsafe { array.add(index).read_unaligned() };
            request(Kind::Request, number)
        });
        HeldHandles { array, room }
    }

    fn standard(held: &mut HeldHandles) -> *mut Handle {
        if held.array.is_null() {
            return core::ptr::null_mut();
        }
        held.room.elements().as_mut_ptr()
    }

    /// Writes the handles that have changed.
    unsafe fn release(held: &mut HeldHandles) {
        for (index, handle) in held.room.elements().iter().enumerate() {
            // SAFETY: not null if there are elements, and the caller passed as many.
            unsafe {
                let place = held.array.add(index);
                if *handle == MPI_REQUEST_NULL {
                    place.write_unaligned(null_number(Kind::Request));
                } else if standard_handle(Kind::Request, place.read_unaligned()) != *handle {
                    place.write_unaligned(number_of(Kind::Request, *handle));
                }
            }
        }
    }
}

/// Makes arguments that are addresses in both interfaces and are read in another way here.
macro_rules! pointers {
    ($($name:ident($raw:ty) $read:expr;)*) => {$(
        impl<W> Foreign<W> for $name {
            type Raw = $raw;
            type Held = $raw;
            const IS_PLAIN: bool = false;

            #[inline(always)]
            unsafe fn hold(raw: $raw, _extent: Extent) -> $raw {
                raw
            }

            fn standard(held: &mut $raw) -> <Self as crate::entry::Arg<W>>::C {
                held.cast()
            }

            unsafe fn read(held: &mut $raw, name: &'static str, call: &Call) -> Result<Self> {
                let read: fn($raw, &'static str, &Call) -> Result<Self> = $read;
                read(*held, name, call)
            }
        }
    )*};
}

pointers! {
    ConstRequests(*const c_int) |array, _, _| {
        // SAFETY: the caller of the C function passed as many elements as the call names.
        Ok(unsafe { Self::numbers(array, |number| standard_handle(Kind::Request, number)) })
    };
    Datatypes(*const c_int) |array, _, _| {
        // SAFETY: the caller of the C function passed as many elements as the call names.
        Ok(unsafe { Self::numbers(array, |number| standard_handle(Kind::Datatype, number)) })
    };
    Infos(*const c_int) |array, _, _| {
        // SAFETY: the caller of the C function passed as many elements as the call names.
        Ok(unsafe { Self::numbers(array, |number| standard_handle(Kind::Info, number)) })
    };
    OutDatatypes(*mut c_int) |array, _, _| {
        // SAFETY: the caller of the C function passed as many elements as the call names.
        Ok(unsafe { Self::numbers(array, |handle| number_of(Kind::Datatype, handle)) })
    };
    DistributionArgs(*const c_int) |array, _, _| {
        Ok(Self::mapped(Ints(array), standard_distribution_arg))
    };
    Distributions(*const c_int) |array, _, _| {
        Ok(Self::mapped(Ints(array), |it| standard_number(DISTRIBUTIONS, it)))
    };
    OutIntegers(*mut c_int) |array, _, _| Ok(Self::at(OutInts(array), integers_of));
    OutRanks(*mut c_int) |array, _, _| Ok(Self::mapped(OutInts(array), rank_of));
    Ranks(*const c_int) |array, _, _| Ok(Self::mapped(Ints(array), standard_rank));
    OutBufferAddress(*mut c_void) |place, name, call| {
        Ok(Self::at(out_address(place, name, call)?, room_of))
    };
    OutAttribute(*mut c_void) |place, name, call| {
        Ok(Self::at(out_address(place, name, call)?, super::data::place_of_attribute))
    };
    OutWeights(*mut c_int) |array, _, _| Ok(Self(array.map_addr(super::data::standard_weights)));
    Weights(*const c_int) |array, _, _| Ok(Self(array.map_addr(super::data::standard_weights)));
}

fn out_address(place: *mut c_void, name: &'static str, call: &Call) -> Result<OutAddress> {
    // SAFETY: the caller of the C function keeps MPI's rules for this argument.
    unsafe { <OutAddress as Read<crate::entry::Small>>::read(place, name, call) }
}

/// The integers of a recipe as MPICH has them.
fn integers_of(recipe: &Recipe) -> Vec<c_int> {
    let mut integers = recipe.integers.clone();
    let has_order = [abi::MPI_COMBINER_SUBARRAY, abi::MPI_COMBINER_DARRAY];
    if !has_order.contains(&recipe.combiner) {
        return integers;
    }
    let mut map = |from_end: usize, numbers| {
        let place = integers.len().checked_sub(from_end);
        if let Some(integer) = place.and_then(|place| integers.get_mut(place)) {
            *integer = number(numbers, *integer);
        }
    };
    map(1, ORDERS);
    if recipe.combiner == abi::MPI_COMBINER_DARRAY {
        // size, rank, dimensions, perhaps sizes; distributions, their arguments, processes, order.
        let dimensions = recipe.integers.get(2).map_or(0, |len| *len as usize);
        for at in 2..dimensions + 2 {
            map(dimensions + at, DISTRIBUTION_ARGS);
            map(2 * dimensions + at, DISTRIBUTIONS);
        }
    }
    integers
}
