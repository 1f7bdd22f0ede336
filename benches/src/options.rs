//! What the environment asks of a comparison.

use std::env;
use std::path::PathBuf;

/// How much is measured, and what.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether a few minutes must do.
    pub is_quick: bool,
    /// Where another mpi-lite is installed, which is measured in the place of the other MPIs.
    pub before: Option<PathBuf>,
    rounds: Option<usize>,
    only: Vec<String>,
}

impl Options {
    /// `COMPARE=quick`, `ONLY=section,section`, `MPILITE_BENCH_ROUNDS=n`, `BEFORE=prefix`.
    #[must_use]
    pub fn from_environment() -> Self {
        let read = |name| env::var(name).unwrap_or_default();
        let before = read("BEFORE");
        Self {
            before: (!before.is_empty()).then(|| before.into()),
            ..Self::new(
                &read("COMPARE"),
                &read("ONLY"),
                &read("MPILITE_BENCH_ROUNDS"),
            )
        }
    }

    fn new(compare: &str, only: &str, rounds: &str) -> Self {
        let names = only.split([',', ' ']).filter(|name| !name.is_empty());
        Self {
            is_quick: compare == "quick",
            before: None,
            rounds: rounds.parse().ok().filter(|rounds| *rounds > 0),
            only: names.map(str::to_owned).collect(),
        }
    }

    /// The number of rounds, where a full comparison takes `full` of them and a quick one `quick`.
    #[must_use]
    pub fn rounds(&self, full: usize, quick: usize) -> usize {
        self.rounds.unwrap_or(self.choose(full, quick))
    }

    /// What is right for this comparison: full or quick.
    #[must_use]
    pub fn choose<T>(&self, full: T, quick: T) -> T {
        if self.is_quick { quick } else { full }
    }

    /// Whether something is asked for that has these names.
    #[must_use]
    pub fn wants(&self, names: &[String]) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| names.contains(name))
    }

    /// What was asked for and is none of these.
    #[must_use]
    pub fn unknown(&self, known: &[String]) -> Vec<&str> {
        let unknown = self.only.iter().filter(|name| !known.contains(name));
        unknown.map(String::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn nothing_asked_for_is_a_full_comparison_of_everything() {
        let options = Options::new("", "", "");
        assert!(options.wants(&names(&["loss"])) && !options.is_quick);
        assert_eq!(options.rounds(7, 2), 7);
    }

    #[test]
    fn sections_can_be_chosen_and_wrong_ones_are_found() {
        let options = Options::new("quick", "loss,incast hope", "");
        assert!(options.wants(&names(&["incast-1500", "incast"])));
        assert!(!options.wants(&names(&["speed-1500", "speed"])));
        assert_eq!(options.unknown(&names(&["loss", "incast"])), ["hope"]);
        assert_eq!(options.rounds(7, 2), 2);
    }

    #[test]
    fn a_number_of_rounds_wins_and_a_wrong_one_does_not() {
        assert_eq!(Options::new("quick", "", "11").rounds(7, 2), 11);
        assert_eq!(Options::new("", "", "0").rounds(7, 2), 7);
    }
}
