//! Structures with `MPI_LB` and `MPI_UB`, which MPI 3.0 removed and MPICH still has: they say where
//! a datatype begins and ends, as `MPI_Type_create_resized` does.
#![expect(
    unsafe_code,
    reason = "arrays are read through the caller's pointers, and functions of C are called"
)]

use core::ffi::c_int;

use crate::abi;

/// The numbers of both.
const LOWER: c_int = 0x4c00_0010;
const UPPER: c_int = 0x4c00_0011;

unsafe extern "C" {
    fn mpilite_mpich_MPI_Type_create_struct(
        count: c_int,
        lengths: *const c_int,
        places: *const i64,
        types: *const c_int,
        made: *mut c_int,
    ) -> c_int;
    fn mpilite_mpich_MPI_Type_get_extent(
        datatype: c_int,
        lower: *mut i64,
        extent: *mut i64,
    ) -> c_int;
    fn mpilite_mpich_MPI_Type_create_resized(
        datatype: c_int,
        lower: i64,
        extent: i64,
        made: *mut c_int,
    ) -> c_int;
    fn mpilite_mpich_MPI_Type_free(datatype: *mut c_int) -> c_int;
}

/// The members of a structure that are datatypes, and what the others say of its bounds.
#[derive(Debug, Default)]
struct Members {
    lengths: Vec<c_int>,
    places: Vec<i64>,
    types: Vec<c_int>,
    lower: Option<i64>,
    upper: Option<i64>,
}

impl Members {
    fn of(members: impl Iterator<Item = (c_int, i64, c_int)>) -> Self {
        let mut all = Self::default();
        for (length, place, datatype) in members {
            match datatype {
                LOWER => all.lower = Some(all.lower.map_or(place, |known| known.min(place))),
                UPPER => all.upper = Some(all.upper.map_or(place, |known| known.max(place))),
                _ => {
                    all.lengths.push(length);
                    all.places.push(place);
                    all.types.push(datatype);
                }
            }
        }
        all
    }

    /// Makes the structure without the bounds, and of this one with them.
    fn make(&self) -> Result<c_int, c_int> {
        let count = c_int::try_from(self.types.len()).unwrap_or(c_int::MAX);
        let (mut natural, mut made) = (0, 0);
        let (mut lower, mut extent) = (0, 0);
        // SAFETY: the arrays have `count` elements; all places are there.
        unsafe {
            done(mpilite_mpich_MPI_Type_create_struct(
                count,
                self.lengths.as_ptr(),
                self.places.as_ptr(),
                self.types.as_ptr(),
                &raw mut natural,
            ))?;
            let resized = done(mpilite_mpich_MPI_Type_get_extent(
                natural,
                &raw mut lower,
                &raw mut extent,
            ))
            .and_then(|()| {
                let upper = self.upper.unwrap_or(lower.wrapping_add(extent));
                let lower = self.lower.unwrap_or(lower);
                done(mpilite_mpich_MPI_Type_create_resized(
                    natural,
                    lower,
                    upper.wrapping_sub(lower),
                    &raw mut made,
                ))
            });
            done(mpilite_mpich_MPI_Type_free(&raw mut natural))?;
            resized.map(|()| made)
        }
    }
}

fn done(code: c_int) -> Result<(), c_int> {
    match code {
        abi::MPI_SUCCESS => Ok(()),
        code => Err(code),
    }
}

/// `MPI_Type_create_struct`, in which members may be bounds.
#[unsafe(no_mangle)]
unsafe extern "C" fn mpilite_mpich_structure(
    count: c_int,
    lengths: *const c_int,
    places: *const i64,
    types: *const c_int,
    made: *mut c_int,
) -> c_int {
    let is_there = !lengths.is_null() && !places.is_null() && !types.is_null() && !made.is_null();
    let count_there = if is_there { count } else { 0 };
    let all = 0..usize::try_from(count_there).unwrap_or(0);
    // SAFETY: the caller passed arrays of `count` elements.
    let datatype = |at: usize| unsafe { types.add(at).read_unaligned() };
    if !all.clone().any(|at| [LOWER, UPPER].contains(&datatype(at))) {
        // SAFETY: the caller's arguments are passed on as they are.
        return unsafe {
            mpilite_mpich_MPI_Type_create_struct(count, lengths, places, types, made)
        };
    }
    let members = Members::of(all.map(|at| {
        // SAFETY: as above.
        let (length, place) = unsafe {
            (
                lengths.add(at).read_unaligned(),
                places.add(at).read_unaligned(),
            )
        };
        (length, place, datatype(at))
    }));
    match members.make() {
        Ok(datatype) => {
            // SAFETY: the caller passed a place.
            unsafe { made.write_unaligned(datatype) };
            abi::MPI_SUCCESS
        }
        Err(code) => code,
    }
}
