//! Balanced grids. Source: MPI 5.0, 8.5.2.

use std::collections::BinaryHeap;

use crate::error::{Cause, Result};

/// Chooses the dimensions of a grid of `processes`. Dimensions that are positive in `given` stay;
/// those that are 0 are chosen: non-increasing, and the difference of the greatest and the least is
/// as small as it can be. Of several such choices the one with the least first dimension counts,
/// then the one with the least second, and so on.
///
/// # Errors
/// `Cause::Argument` if `processes` is not positive. `Cause::Dims` if a dimension is negative, or
/// if no choice gives a grid of `processes`.
///
/// Source: MPI 5.0, 8.5.2.
pub fn dims_create(processes: i32, given: &[i32]) -> Result<Vec<u32>> {
    let mut rest = match u32::try_from(processes) {
        Ok(processes @ 1..) => processes,
        _ => return Err(Cause::Argument("nnodes is not positive").into()),
    };
    let mut free = 0;
    for (index, &size) in given.iter().enumerate() {
        match u32::try_from(size) {
            Ok(0) => free += 1,
            Ok(size) if rest.is_multiple_of(size) => rest /= size,
            Ok(_) => return Err(does_not_fit(processes)),
            Err(_) => {
                let why = format!("dims[{index}] is {size}, which is negative");
                return Err(Cause::Dims(why.into()).into());
            }
        }
    }
    if free == 0 && rest > 1 {
        return Err(does_not_fit(processes));
    }
    let mut chosen = balanced(rest, free).into_iter();
    let fill = |&size: &i32| match u32::try_from(size) {
        Ok(size @ 1..) => size,
        _ => chosen.next().expect("one for each free dimension"),
    };
    Ok(given.iter().map(fill).collect())
}

fn does_not_fit(processes: i32) -> crate::error::Error {
    let why = format!("no grid with the dimensions given has {processes} processes");
    Cause::Dims(why.into()).into()
}

/// The most balanced `parts` factors of `number`, non-increasing.
fn balanced(number: u32, parts: usize) -> Vec<u32> {
    let mut primes = prime_factors(number);
    if parts >= primes.len() {
        // The greatest factor is at least the greatest prime; and if two primes were in one factor,
        // another factor would be 1.
        primes.resize(parts, 1);
        return primes;
    }
    let mut search = Search {
        divisors: divisors(number),
        factors: Vec::new(),
        best: Vec::new(),
        spread: u32::MAX,
    };
    search.extend(number, parts);
    search.best
}

/// A search for the factors with the least spread: the greatest minus the least.
struct Search {
    /// All that the number has, ascending.
    divisors: Vec<u32>,
    /// The factors so far, non-increasing.
    factors: Vec<u32>,
    best: Vec<u32>,
    spread: u32,
}

impl Search {
    /// Tries all ways to split `rest` into `parts` more factors, the least ones first. Leaves out
    /// those that cannot be better than the best one.
    fn extend(&mut self, rest: u32, parts: usize) {
        let most = self.factors.last().copied().unwrap_or(rest);
        let from = self
            .divisors
            .partition_point(|&it| is_less(it, parts, rest));
        let to = self.divisors.partition_point(|&it| it <= most);
        for at in from..to {
            let factor = self.divisors[at];
            let first = self.factors.first().copied().unwrap_or(factor);
            let least = root(rest / factor, parts - 1).min(factor);
            if first - least >= self.spread {
                return;
            }
            if !rest.is_multiple_of(factor) {
                continue;
            }
            self.factors.push(factor);
            if parts == 1 {
                self.spread = first - factor;
                self.best.clone_from(&self.factors);
            } else {
                self.extend(rest / factor, parts - 1);
            }
            self.factors.pop();
        }
    }
}

/// Returns true if `factor` to the power of `parts` is less than `number`.
fn is_less(factor: u32, parts: usize, number: u32) -> bool {
    let parts = u32::try_from(parts).expect("fewer parts than prime factors");
    u64::from(factor).saturating_pow(parts) < u64::from(number)
}

/// The greatest number whose power of `parts` is at most `number`, which is positive; `number` to
/// the power of 0 is the greatest of all.
fn root(number: u32, parts: usize) -> u32 {
    if parts == 0 {
        return u32::MAX;
    }
    let guess = f64::from(number).powf(1.0 / parts as f64) as u32;
    let mut root = guess + 1;
    while is_less(root, parts, number) {
        root += 1;
    }
    while u64::from(root).saturating_pow(parts as u32) > u64::from(number) {
        root -= 1;
    }
    root
}

/// The prime factors of a positive number, non-increasing, each as often as it divides it.
fn prime_factors(mut number: u32) -> Vec<u32> {
    let mut primes = Vec::new();
    let mut candidate = 2;
    while u64::from(candidate) * u64::from(candidate) <= u64::from(number) {
        while number.is_multiple_of(candidate) {
            primes.push(candidate);
            number /= candidate;
        }
        candidate += 1;
    }
    if number > 1 {
        primes.push(number);
    }
    primes.reverse();
    primes
}

/// The divisors of a positive number, ascending.
fn divisors(number: u32) -> Vec<u32> {
    let small = (1..=root(number, 2)).filter(|&it| number.is_multiple_of(it));
    let divisors: BinaryHeap<u32> = small.flat_map(|it| [it, number / it]).collect();
    let mut divisors = divisors.into_sorted_vec();
    divisors.dedup();
    divisors
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All non-increasing `parts` factors of `number`, each at most `most`.
    fn all_factors(number: u32, parts: usize, most: u32) -> Vec<Vec<u32>> {
        if parts == 0 {
            return if number == 1 { vec![vec![]] } else { vec![] };
        }
        let firsts = (1..=most.min(number)).filter(|&it| number.is_multiple_of(it));
        let with = |first: u32| {
            let rest = all_factors(number / first, parts - 1, first);
            rest.into_iter()
                .map(move |rest| [&[first], &rest[..]].concat())
        };
        firsts.flat_map(with).collect()
    }

    fn spread(factors: &[u32]) -> u32 {
        factors.first().unwrap() - factors.last().unwrap()
    }

    #[test]
    fn a_grid_has_as_many_places_as_processes_and_its_dimensions_do_not_increase() {
        for processes in 1..=2000 {
            for parts in 1..=4 {
                let dims = dims_create(processes, &vec![0; parts]).unwrap();
                assert_eq!(dims.len(), parts);
                assert_eq!(dims.iter().product::<u32>(), processes.cast_unsigned());
                assert!(dims.is_sorted_by(|a, b| a >= b), "{processes}: {dims:?}");
            }
        }
    }

    #[test]
    fn no_other_grid_is_more_balanced() {
        for processes in 1..=400 {
            for parts in 1..=5 {
                let dims = dims_create(processes, &vec![0; parts]).unwrap();
                let all = all_factors(processes.cast_unsigned(), parts, u32::MAX);
                let best = all.into_iter().min_by_key(|it| (spread(it), it.clone()));
                assert_eq!(Some(dims), best, "{processes} in {parts}");
            }
        }
    }

    #[test]
    fn dimensions_that_are_given_stay() {
        for (processes, given, dims) in [
            (6, &[0, 0][..], Some(&[3, 2][..])),
            (7, &[0, 0], Some(&[7, 1])),
            (6, &[0, 3, 0], Some(&[2, 3, 1])),
            (7, &[0, 3, 0], None),
            (12, &[0, 0, 0], Some(&[3, 2, 2])),
            (12, &[3, 4], Some(&[3, 4])),
            (12, &[3, 2], None),
            (12, &[-1, 0], None),
            (1, &[], Some(&[])),
            (2, &[], None),
            (1, &[0, 0, 0], Some(&[1, 1, 1])),
            (0, &[0], None),
            (-4, &[0], None),
        ] {
            let chosen = dims_create(processes, given).ok();
            assert_eq!(chosen.as_deref(), dims, "{processes} {given:?}");
        }
    }

    /// The numbers with the most divisors, a great prime, and great powers.
    #[test]
    fn great_numbers_are_split_without_trying_everything() {
        for number in [
            2_095_133_040,
            1_396_755_360,
            735_134_400,
            i32::MAX,
            1 << 30,
            1_058_013_184,
            1_162_261_467,
            1_219_784_832,
        ] {
            for parts in 1..=40 {
                let dims = dims_create(number, &vec![0; parts]).unwrap();
                let product: u64 = dims.iter().map(|&it| u64::from(it)).product();
                assert_eq!(product, u64::from(number.cast_unsigned()));
                assert!(dims.is_sorted_by(|a, b| a >= b));
            }
        }
    }
}
