//! Grids. Source: MPI 5.0, 8.5.1 and 8.5.5 to 8.5.7.

use super::{Neighbours, checksum};
use crate::error::{Cause, Result};

/// A grid. Ranks are in row-major order: the last coordinate counts fastest. A grid without
/// dimensions has one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cartesian {
    dimensions: Vec<Dimension>,
    size: u32,
}

/// A dimension of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dimension {
    size: u32,
    is_periodic: bool,
}

impl Cartesian {
    /// A grid for a communicator of `processes`: sizes of its dimensions, and for each whether it
    /// is periodic. `dims` and `periods` have the same length.
    ///
    /// # Errors
    /// `Cause::Dims` if a size is not positive or the grid has more places than `processes`.
    ///
    /// Source: MPI 5.0, 8.5.1.
    pub fn new(dims: &[i32], periods: &[bool], processes: u32) -> Result<Self> {
        let mut size = 1_u32;
        let mut dimensions = Vec::with_capacity(dims.len());
        for (index, (&given, &is_periodic)) in dims.iter().zip(periods).enumerate() {
            let Ok(dimension @ 1..) = u32::try_from(given) else {
                let why = format!("dims[{index}] is {given}, which is not positive");
                return Err(Cause::Dims(why.into()).into());
            };
            let places = size.checked_mul(dimension).filter(|it| *it <= processes);
            size = places.ok_or_else(|| too_large(processes))?;
            dimensions.push(Dimension {
                size: dimension,
                is_periodic,
            });
        }
        Ok(Self { dimensions, size })
    }

    /// The number of its processes.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The number of its dimensions.
    #[must_use]
    pub fn ndims(&self) -> usize {
        self.dimensions.len()
    }

    /// The sizes of its dimensions.
    pub fn dims(&self) -> impl Iterator<Item = u32> {
        self.dimensions.iter().map(|it| it.size)
    }

    /// For each dimension whether it is periodic.
    pub fn periods(&self) -> impl Iterator<Item = bool> {
        self.dimensions.iter().map(|it| it.is_periodic)
    }

    /// The rank at `coords`, one for each dimension. A coordinate of a periodic dimension may be
    /// any number: it counts around.
    ///
    /// # Errors
    /// `Cause::Argument` if a coordinate is outside of a dimension that is not periodic.
    ///
    /// Source: MPI 5.0, 8.5.5.
    pub fn rank(&self, coords: &[i32]) -> Result<u32> {
        let mut rank = 0;
        for (dimension, &coordinate) in self.dimensions.iter().zip(coords) {
            let outside = Cause::Argument(
                "a coordinate is outside of the grid, and its dimension is not periodic",
            );
            let place = dimension.place(i64::from(coordinate)).ok_or(outside)?;
            rank = rank * dimension.size + place;
        }
        Ok(rank)
    }

    /// The coordinates of `rank`.
    ///
    /// # Errors
    /// `Cause::Rank` if it is not in the grid.
    ///
    /// Source: MPI 5.0, 8.5.5.
    pub fn coords(&self, rank: i32) -> Result<Vec<u32>> {
        let size = self.size;
        let outside = || Cause::Rank {
            what: "rank",
            rank,
            size,
        };
        let inside = u32::try_from(rank).ok().filter(|it| *it < size);
        Ok(self.place_of(inside.ok_or_else(outside)?))
    }

    /// The coordinates of a rank of the grid.
    fn place_of(&self, rank: u32) -> Vec<u32> {
        let mut rest = rank;
        let backwards = self.dimensions.iter().rev().map(|it| {
            let coordinate = rest % it.size;
            rest /= it.size;
            coordinate
        });
        let mut coords: Vec<u32> = backwards.collect();
        coords.reverse();
        coords
    }

    /// The processes from which and to which `rank`, a rank of the grid, shifts data by
    /// `displacement` along a dimension. `None` is `MPI_PROC_NULL`: beyond the border.
    ///
    /// # Errors
    /// `Cause::Dims` if there is no such dimension.
    ///
    /// Source: MPI 5.0, 8.5.6.
    pub fn shift(
        &self,
        rank: u32,
        direction: i32,
        displacement: i32,
    ) -> Result<(Option<u32>, Option<u32>)> {
        let at = usize::try_from(direction)
            .ok()
            .filter(|&it| it < self.ndims());
        let at = at.ok_or_else(|| {
            let ndims = self.ndims();
            let why =
                format!("direction {direction} is not a dimension of the grid, which has {ndims}");
            Cause::Dims(why.into())
        })?;
        let displacement = i64::from(displacement);
        let (source, destination) = (-displacement, displacement);
        Ok((
            self.step(rank, at, source),
            self.step(rank, at, destination),
        ))
    }

    /// The rank that is `displacement` further along dimension `at`.
    fn step(&self, rank: u32, at: usize, displacement: i64) -> Option<u32> {
        let stride: u32 = self.dimensions[at + 1..].iter().map(|it| it.size).product();
        let dimension = self.dimensions[at];
        let here = rank / stride % dimension.size;
        let there = dimension.place(i64::from(here) + displacement)?;
        Some(rank - here * stride + there * stride)
    }

    /// The dimensions to `keep`, as a grid. `keep` has one element for each dimension.
    ///
    /// Source: MPI 5.0, 8.5.7.
    #[must_use]
    pub fn sub(&self, keep: &[bool]) -> Self {
        let pairs = self.dimensions.iter().zip(keep);
        let kept = pairs.filter(|&(_, keep)| *keep);
        let dimensions: Vec<Dimension> = kept.map(|(dimension, _)| *dimension).collect();
        let size = dimensions.iter().map(|it| it.size).product();
        Self { dimensions, size }
    }

    /// In which of the grids of `sub` a rank of the grid is, and its rank there.
    #[must_use]
    pub fn part(&self, rank: u32, keep: &[bool]) -> (u32, u32) {
        let (mut part, mut within) = (0, 0);
        let coords = self.place_of(rank);
        for ((dimension, coordinate), keep) in self.dimensions.iter().zip(coords).zip(keep) {
            let number = if *keep { &mut within } else { &mut part };
            *number = *number * dimension.size + coordinate;
        }
        (part, within)
    }

    /// For each dimension first the neighbour in the negative direction, then in the positive one.
    pub(super) fn neighbours(&self, rank: u32) -> Neighbours {
        let both = |at| [self.step(rank, at, -1), self.step(rank, at, 1)];
        let all: Vec<_> = (0..self.ndims()).flat_map(both).collect();
        Neighbours {
            receive_order: (0..all.len()).map(|at| at ^ 1).collect(),
            sources: all.clone(),
            destinations: all,
        }
    }

    pub(super) fn checksum(&self) -> u32 {
        let numbers = |it: &Dimension| [it.size, it.is_periodic.into()];
        checksum(self.dimensions.iter().flat_map(numbers))
    }
}

impl Dimension {
    /// The coordinate that `coordinate` means, if there is one.
    fn place(self, coordinate: i64) -> Option<u32> {
        let size = i64::from(self.size);
        let place = match self.is_periodic {
            true => coordinate.rem_euclid(size),
            false => coordinate,
        };
        u32::try_from(place).ok().filter(|it| *it < self.size)
    }
}

fn too_large(processes: u32) -> Cause {
    let why = format!("the grid has more places than the communicator has processes: {processes}");
    Cause::Dims(why.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(dims: &[i32], periods: &[bool]) -> Cartesian {
        Cartesian::new(dims, periods, 1 << 20).unwrap()
    }

    const SHAPES: &[&[i32]] = &[&[], &[1], &[2], &[7], &[3, 4], &[1, 5, 1], &[4, 3, 2, 2]];

    /// Each shape with each choice of periodic dimensions.
    fn grids() -> impl Iterator<Item = Cartesian> {
        SHAPES.iter().flat_map(|dims| {
            (0..1 << dims.len()).map(|bits| {
                let periods: Vec<bool> = (0..dims.len()).map(|at| bits >> at & 1 == 1).collect();
                grid(dims, &periods)
            })
        })
    }

    fn signed(coords: &[u32]) -> Vec<i32> {
        coords.iter().map(|it| it.cast_signed()).collect()
    }

    #[test]
    fn a_rank_comes_back_from_its_coordinates_and_the_last_one_counts_fastest() {
        for grid in grids() {
            let mut before = None;
            for rank in 0..grid.size() {
                let coords = grid.coords(rank.cast_signed()).unwrap();
                assert!(coords.iter().zip(grid.dims()).all(|(it, size)| *it < size));
                assert_eq!(grid.rank(&signed(&coords)).unwrap(), rank);
                assert!(before < Some(coords.clone()), "row-major order");
                before = Some(coords);
            }
            assert!(grid.coords(-1).is_err());
            assert!(grid.coords(grid.size().cast_signed()).is_err());
        }
    }

    #[test]
    fn coordinates_count_around_in_periodic_dimensions_only() {
        let grid = grid(&[3, 4], &[true, false]);
        assert_eq!(grid.rank(&[-1, 3]).unwrap(), 11);
        assert_eq!(grid.rank(&[i32::MIN, 0]).unwrap(), 4);
        assert_eq!(grid.rank(&[300, 1]).unwrap(), 1);
        assert!(grid.rank(&[0, 4]).is_err());
        assert!(grid.rank(&[0, -1]).is_err());
    }

    /// Shifts by their definition: through the coordinates.
    #[test]
    fn a_shift_leads_where_the_coordinates_lead() {
        for grid in grids() {
            let periods: Vec<bool> = grid.periods().collect();
            let dims: Vec<u32> = grid.dims().collect();
            for (rank, at) in (0..grid.size()).flat_map(|r| (0..dims.len()).map(move |at| (r, at)))
            {
                for displacement in [0, 1, -1, 2, -3, 5, 1000, i32::MAX, i32::MIN] {
                    let lead = |by: i64| {
                        let mut coords = signed(&grid.place_of(rank));
                        let size = i64::from(dims[at]);
                        let mut there = i64::from(coords[at]) + by;
                        if periods[at] {
                            there = (there % size + size) % size;
                        }
                        coords[at] = i32::try_from(there).unwrap_or(-1);
                        grid.rank(&coords).ok()
                    };
                    let by = i64::from(displacement);
                    let shifted = grid.shift(rank, at as i32, displacement).unwrap();
                    assert_eq!(shifted, (lead(-by), lead(by)));
                }
            }
            assert!(grid.shift(0, dims.len() as i32, 1).is_err());
            assert!(grid.shift(0, -1, 1).is_err());
        }
    }

    #[test]
    fn the_parts_of_a_grid_have_each_place_once() {
        for grid in grids() {
            for bits in 0..1 << grid.ndims() {
                let keep: Vec<bool> = (0..grid.ndims()).map(|at| bits >> at & 1 == 1).collect();
                let sub = grid.sub(&keep);
                let mut places: Vec<_> = (0..grid.size()).map(|it| grid.part(it, &keep)).collect();
                places.sort_unstable();
                let parts = grid.size() / sub.size();
                let all = (0..parts).flat_map(|part| (0..sub.size()).map(move |it| (part, it)));
                assert_eq!(places, all.collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_neighbour_in_one_direction_has_this_process_in_the_other() {
        for grid in grids() {
            for rank in 0..grid.size() {
                let mine = grid.neighbours(rank);
                assert_eq!(mine.destinations.len(), 2 * grid.ndims());
                for (slot, there) in mine.destinations.iter().enumerate() {
                    let Some(there) = *there else { continue };
                    let theirs = grid.neighbours(there);
                    assert_eq!(theirs.sources[slot ^ 1], Some(rank));
                    // The k-th send to it belongs to its k-th receive from here.
                    let sends = mine.destinations[..slot].iter();
                    let nth = sends.filter(|it| **it == Some(there)).count();
                    let mut receives = theirs.receive_order.iter();
                    let mut from_here = receives
                        .by_ref()
                        .filter(|at| theirs.sources[**at] == Some(rank));
                    assert_eq!(from_here.nth(nth), Some(&(slot ^ 1)));
                }
            }
        }
    }

    #[test]
    fn a_grid_that_is_too_large_or_has_no_extent_is_an_error() {
        assert_eq!(Cartesian::new(&[], &[], 1).unwrap().size(), 1);
        assert!(Cartesian::new(&[2, 2], &[false; 2], 4).is_ok());
        assert!(Cartesian::new(&[2, 2], &[false; 2], 3).is_err());
        assert!(Cartesian::new(&[i32::MAX; 3], &[false; 3], 8).is_err());
        assert!(Cartesian::new(&[0], &[false], 8).is_err());
        assert!(Cartesian::new(&[1, -1], &[false; 2], 8).is_err());
    }
}
