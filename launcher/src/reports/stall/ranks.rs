//! Ranks in words.

/// The most items of a list.
pub(super) const ITEMS_MAX: usize = 8;

/// "no rank", "rank 3", "ranks 1-7, 9", "ranks 0, 2, 4, 6, 8, 10, 12, 14 and 3 more". The ranks are
/// sorted.
pub(super) fn in_words(ranks: &[u32]) -> String {
    match ranks {
        [] => "no rank".into(),
        [rank] => format!("rank {rank}"),
        ranks => format!("ranks {}", list(ranks.iter().copied())),
    }
}

/// "1-7, 9": numbers in their order, those that follow each other with a dash.
pub(super) fn list(numbers: impl Iterator<Item = u32>) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    let mut more = 0_u64;
    for number in numbers {
        let is_full = runs.len() == ITEMS_MAX;
        match runs.last_mut() {
            Some((_, last)) if more == 0 && last.checked_add(1) == Some(number) => *last = number,
            _ if is_full => more += 1,
            _ => runs.push((number, number)),
        }
    }
    let words = runs.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    let mut words = words.collect::<Vec<_>>().join(", ");
    if more > 0 {
        words.push_str(&format!(" and {more} more"));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_follow_each_other_share_a_dash() {
        assert_eq!(in_words(&[]), "no rank");
        assert_eq!(in_words(&[3]), "rank 3");
        assert_eq!(in_words(&[0, 1]), "ranks 0-1");
        assert_eq!(in_words(&[1, 2, 3, 7, 9, 10]), "ranks 1-3, 7, 9-10");
        assert_eq!(
            in_words(&[u32::MAX - 1, u32::MAX]),
            "ranks 4294967294-4294967295"
        );
    }

    #[test]
    fn a_long_list_ends_with_a_count() {
        let even: Vec<u32> = (0..12).map(|place| 2 * place).collect();
        assert_eq!(
            in_words(&even),
            "ranks 0, 2, 4, 6, 8, 10, 12, 14 and 4 more"
        );
    }

    #[test]
    fn a_list_keeps_its_order() {
        assert_eq!(list([3, 2, 0, 1].into_iter()), "3, 2, 0-1");
    }
}
