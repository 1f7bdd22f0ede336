//! The binomial tree over the distance from a root.

/// The lowest set bit of a distance from the root; for the root the first power of two that is at
/// least the number of processes.
pub(super) fn lowest_bit(distance: usize, size: usize) -> usize {
    match distance {
        0 => size.next_power_of_two(),
        _ => distance & distance.wrapping_neg(),
    }
}
