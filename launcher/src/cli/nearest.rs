//! The known word that is nearest to a mistyped one.

use strsim::osa_distance;

/// Returns the candidate with the smallest edit distance (characters that are inserted, deleted,
/// changed or swapped with their neighbour), if it is near enough to be meant.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let limit = 1 + word.chars().count() / 4;
    candidates
        .map(|candidate| (osa_distance(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= limit && *distance < candidate.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_near_word_is_suggested() {
        let words = ["host", "hostfile", "timeout", "n"];
        assert_eq!(nearest("hostfil", words.into_iter()), Some("hostfile"));
        assert_eq!(nearest("tiemout", words.into_iter()), Some("timeout"));
        assert_eq!(nearest("hots", words.into_iter()), Some("host"));
        assert_eq!(nearest("frobnicate", words.into_iter()), None);
        assert_eq!(nearest("z", words.into_iter()), None);
    }
}
