//! Figures by size, read from what a program printed, and the arithmetic of comparisons.

use std::collections::BTreeMap;

use crate::suite::Better;

/// The figure of each size; programs without sizes have one figure, at 0.
pub type Figures = BTreeMap<u32, f64>;

/// Reads lines of `bytes figure`, and the farm's `N tasks in S s: R tasks/s`.
#[must_use]
pub(crate) fn parse(output: &str) -> Figures {
    let plain = |line: &str| {
        let (bytes, figure) = line.split_once(' ')?;
        Some((bytes.parse().ok()?, figure.trim().parse().ok()?))
    };
    let farm = |line: &str| {
        let rate = line.strip_suffix(" tasks/s")?.rsplit_once(' ')?.1;
        Some((0, rate.parse().ok()?))
    };
    output
        .lines()
        .filter_map(|line| plain(line).or_else(|| farm(line)))
        .collect()
}

/// The middle of the values.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    assert!(!values.is_empty(), "the median of nothing");
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// How many times as good as `theirs` is `ours`, size by size, each round on its own, then the
/// median over the rounds: above 1 is better, whichever way the figure improves.
#[must_use]
pub fn ratios(ours: &[Figures], theirs: &[Figures], better: Better) -> Figures {
    let mut by_size: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (ours, theirs) in ours.iter().zip(theirs) {
        for (size, own) in ours {
            if let Some(other) = theirs.get(size) {
                let ratio = if better == Better::Larger {
                    own / other
                } else {
                    other / own
                };
                by_size.entry(*size).or_default().push(ratio);
            }
        }
    }
    by_size
        .into_iter()
        .map(|(size, values)| (size, median(&values)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_from_plain_lines_and_from_the_farm() {
        assert_eq!(
            parse("8 1.5\n1024 2\nnoise here\n"),
            Figures::from([(8, 1.5), (1024, 2.0)])
        );
        let farm = "farm: 10 tasks in 0.1 s: 100 tasks/s\nfarm: sum = 5 (right)\n";
        assert_eq!(parse(farm), Figures::from([(0, 100.0)]));
    }

    #[test]
    fn a_ratio_is_taken_within_a_round_and_the_median_over_rounds() {
        let rounds = |values: [f64; 3]| values.map(|value| Figures::from([(8, value)]));
        let (ours, theirs) = (rounds([1.0, 10.0, 100.0]), rounds([2.0, 20.0, 100.0]));
        assert_eq!(ratios(&ours, &theirs, Better::Smaller)[&8], 2.0);
        assert_eq!(ratios(&ours, &theirs, Better::Larger)[&8], 0.5);
    }
}
