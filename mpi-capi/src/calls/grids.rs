//! The arguments of subarrays and distributed arrays, checked.
//!
//! Source: MPI 5.0, 5.1.3, 5.1.4.

use core::ffi::c_int;

use mpi_lite::data::Axis;

use crate::abi;
use crate::args::{Int, Order};
use crate::error::{Error, Result};

/// The number of dimensions.
///
/// # Errors
/// `MPI_ERR_DIMS` if there is none.
pub fn dimensions(ndims: Int) -> Result<usize> {
    usize::try_from(ndims.0)
        .ok()
        .filter(|&ndims| ndims > 0)
        .ok_or_else(|| Error::new(abi::MPI_ERR_DIMS, "ndims is not positive"))
}

/// The dimensions of a box of an array: sizes of the array, sizes of the box, its first indices.
/// The axes are returned outermost first.
///
/// # Errors
/// `MPI_ERR_ARG` if the box is empty or leaves the array, or `order` is none.
pub fn subarray(
    sizes: &[i64],
    subsizes: &[i64],
    starts: &[i64],
    order: Order,
) -> Result<Vec<Axis>> {
    let dimensions = sizes.iter().zip(subsizes).zip(starts);
    let axes = dimensions.map(|((&size, &subsize), &start)| {
        if subsize < 1 || subsize > size {
            return refuse("a subsize is not between 1 and the size of the array");
        }
        if start < 0 || start > size - subsize {
            return refuse("a start is not between 0 and size - subsize");
        }
        let [size, start, subsize] = [size, start, subsize].map(i64::cast_unsigned);
        Ok(Axis::range(size, start, subsize))
    });
    in_order(axes.collect::<Result<_>>()?, order)
}

/// How an array is distributed over a grid of processes, one element of each list per dimension.
pub struct Distribution {
    /// Processes of the grid, and which of them the datatype is for.
    pub size: c_int,
    /// Its rank.
    pub rank: c_int,
    /// Indices of the array.
    pub gsizes: Vec<i64>,
    /// `MPI_DISTRIBUTE_...`
    pub distribs: Vec<c_int>,
    /// Indices of a block, or `MPI_DISTRIBUTE_DFLT_DARG`.
    pub dargs: Vec<c_int>,
    /// Processes of the grid.
    pub psizes: Vec<c_int>,
}

impl Distribution {
    /// The dimensions of the part of the process, outermost first. The ranks of the grid are in
    /// row-major order, whatever the order of the array.
    ///
    /// # Errors
    /// `MPI_ERR_RANK` if the rank is not in the grid; `MPI_ERR_ARG` for anything else.
    pub fn axes(&self, order: Order) -> Result<Vec<Axis>> {
        let grid = self.psizes.iter().try_fold(1, |product: i64, &processes| {
            product
                .checked_mul(processes.into())
                .filter(|_| processes > 0)
        });
        if grid != Some(self.size.into()) {
            return refuse("the product of array_of_psizes is not size");
        }
        if !(0..self.size).contains(&self.rank) {
            return Err(Error::new(
                abi::MPI_ERR_RANK,
                "rank is not between 0 and size - 1",
            ));
        }
        let mut left = self.rank;
        let mut axes = Vec::with_capacity(self.psizes.len());
        for dimension in (0..self.psizes.len()).rev() {
            let processes = self.psizes[dimension];
            axes.push(self.axis(dimension, left % processes)?);
            left /= processes;
        }
        axes.reverse();
        in_order(axes, order)
    }

    /// The indices of the process with this coordinate of the grid.
    fn axis(&self, dimension: usize, place: c_int) -> Result<Axis> {
        let (size, darg) = (self.gsizes[dimension], self.dargs[dimension]);
        let processes = i64::from(self.psizes[dimension]);
        if size < 1 {
            return refuse("an element of array_of_gsizes is not positive");
        }
        let is_default = darg == abi::MPI_DISTRIBUTE_DFLT_DARG;
        let block = match self.distribs[dimension] {
            abi::MPI_DISTRIBUTE_NONE if processes != 1 => {
                return refuse("a dimension that is not distributed has more than one process");
            }
            abi::MPI_DISTRIBUTE_NONE => size,
            abi::MPI_DISTRIBUTE_BLOCK if is_default => (size - 1) / processes + 1,
            abi::MPI_DISTRIBUTE_CYCLIC if is_default => 1,
            abi::MPI_DISTRIBUTE_BLOCK if i64::from(darg).saturating_mul(processes) < size => {
                return refuse("blocks of array_of_dargs do not cover the dimension");
            }
            abi::MPI_DISTRIBUTE_BLOCK | abi::MPI_DISTRIBUTE_CYCLIC if darg > 0 => darg.into(),
            abi::MPI_DISTRIBUTE_BLOCK | abi::MPI_DISTRIBUTE_CYCLIC => {
                return refuse("an element of array_of_dargs is not positive");
            }
            _ => return refuse("an element of array_of_distribs is no kind of distribution"),
        };
        let [size, block, processes] = [size, block, processes].map(i64::cast_unsigned);
        let place = place.cast_unsigned().into();
        Ok(Axis::dealt(size, block, (place, processes)))
    }
}

/// The axes outermost first.
fn in_order(mut axes: Vec<Axis>, order: Order) -> Result<Vec<Axis>> {
    match order.0 {
        abi::MPI_ORDER_C => {}
        abi::MPI_ORDER_FORTRAN => axes.reverse(),
        _ => return refuse("order is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN"),
    }
    Ok(axes)
}

fn refuse<T>(text: &'static str) -> Result<T> {
    Err(Error::new(abi::MPI_ERR_ARG, text))
}
