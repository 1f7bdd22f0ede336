//! Arrays of handles of the second interface.
#![expect(
    unsafe_code,
    reason = "arrays are read and written through the caller's pointers"
)]

use core::ffi::c_int;

use super::handles::{number_of, standard_handle};
use super::{Extent, Foreign};
use crate::abi::{Handle, MPI_REQUEST_NULL};
use crate::args::Requests;
use crate::handle::Kind;

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
            standard_handle(Kind::Request, number)
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
                if standard_handle(Kind::Request, place.read_unaligned()) != *handle {
                    place.write_unaligned(number_of(Kind::Request, *handle));
                }
            }
        }
    }
}
