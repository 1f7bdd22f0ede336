//! Bounds that only go down.
//!
//! `PRINT=1 cargo test -p mpi-lite --test structure` shows the whole tables on standard error:
//! methods and open fields of types, the members of circles with the edges among them and what
//! makes each, names with several definitions. A test's name after it shows that table alone, for
//! example `PRINT=1 cargo test -p mpi-lite --test structure methods::`.

use std::collections::BTreeMap;
use std::env;
use std::io::{self, Write};

/// How many of something there are, and where.
pub(crate) type Counts = BTreeMap<String, BTreeMap<String, usize>>;

pub(crate) fn total(places: &BTreeMap<String, usize>) -> usize {
    places.values().sum()
}

fn shown(places: &BTreeMap<String, usize>) -> String {
    if places.len() > 1 && places.values().all(|number| *number == 1) {
        return places.keys().cloned().collect::<Vec<_>>().join(", ");
    }
    let mut places: Vec<_> = places.iter().collect();
    places.sort_by_key(|(_, number)| usize::MAX - **number);
    let places = places
        .iter()
        .map(|(file, number)| format!("{file} {number}"));
    places.collect::<Vec<_>>().join(", ")
}

/// What is counted, the number that it shall have, and those that are above it today.
pub(crate) struct Bounds<'a> {
    pub(crate) what: &'a str,
    pub(crate) goal: usize,
    /// These numbers only go down.
    pub(crate) above: &'a [(&'a str, usize)],
    /// What to do about one that is too great.
    pub(crate) advice: &'a str,
}

impl Bounds<'_> {
    /// A line for each number that is not as the table says.
    pub(crate) fn complaints(&self, counts: &Counts) -> Vec<String> {
        let mut complaints = Vec::new();
        let Self {
            what, goal, advice, ..
        } = self;
        for (name, places) in counts {
            let number = total(places);
            let bound = self.above.iter().find(|it| it.0 == name);
            let most = bound.map_or(*goal, |it| it.1);
            if number > most {
                complaints.push(format!(
                    "{name}: {number} {what}, at most {most}. {advice} It has them in: {}",
                    shown(places)
                ));
            } else if bound.is_some() && number <= *goal {
                complaints.push(format!(
                    "{name}: {number} {what}, which is no more than the goal of {goal}. Strike it \
                     out of the table."
                ));
            } else if number < most && bound.is_some() {
                complaints.push(format!(
                    "{name}: {number} {what}, less than its bound of {most}. Write {number} in \
                     the table."
                ));
            }
        }
        let gone = self.above.iter().filter(|it| !counts.contains_key(it.0));
        complaints.extend(gone.map(|(name, _)| {
            format!("{name}: there is no such name with {what}. Strike it out of the table.")
        }));
        complaints
    }

    /// Fails with all complaints.
    pub(crate) fn check(&self, counts: &Counts) {
        let complaints = self.complaints(counts);
        assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
    }
}

/// Shows a table if `PRINT` is set: to standard error itself, which no test harness holds back.
pub(crate) fn print(title: &str, lines: impl IntoIterator<Item = String>) {
    if env::var_os("PRINT").is_some() {
        let lines: Vec<_> = lines.into_iter().map(|it| format!("  {it}\n")).collect();
        let text = format!("{title}\n{}\n", lines.concat());
        io::stderr().write_all(text.as_bytes()).expect("a terminal");
    }
}

/// The greatest numbers first.
pub(crate) fn print_counts(title: &str, counts: &Counts, most: usize) {
    let mut greatest: Vec<_> = counts.iter().collect();
    greatest.sort_by_key(|(_, places)| usize::MAX - total(places));
    let line = |(name, places): &(&String, &BTreeMap<String, usize>)| {
        format!("{:4} {name}: {}", total(places), shown(places))
    };
    print(title, greatest.iter().take(most).map(line));
}

#[test]
fn a_number_above_and_a_number_below_its_bound_are_told() {
    let bounds = Bounds {
        what: "legs",
        goal: 4,
        above: &[("Ant", 6), ("Spider", 8), ("Mule", 5), ("Crab", 10)],
        advice: "Sit down.",
    };
    let counts = |numbers: &[(&str, usize)]| -> Counts {
        let count = |&(name, number): &(&str, usize)| {
            let places = BTreeMap::from([("a.rs".to_owned(), number - 1), ("b.rs".to_owned(), 1)]);
            (name.to_owned(), places)
        };
        numbers.iter().map(count).collect()
    };
    let as_written = [
        ("Ant", 6),
        ("Spider", 8),
        ("Mule", 5),
        ("Crab", 10),
        ("Cat", 4),
    ];
    assert_eq!(bounds.complaints(&counts(&as_written)), [""; 0]);
    let others = [
        ("Ant", 7),
        ("Spider", 7),
        ("Mule", 4),
        ("Cat", 5),
        ("Man", 2),
    ];
    let expected = [
        "Ant: 7 legs, at most 6. Sit down. It has them in: a.rs 6, b.rs 1",
        "Cat: 5 legs, at most 4. Sit down. It has them in: a.rs 4, b.rs 1",
        "Mule: 4 legs, which is no more than the goal of 4. Strike it out of the table.",
        "Spider: 7 legs, less than its bound of 8. Write 7 in the table.",
        "Crab: there is no such name with legs. Strike it out of the table.",
    ];
    assert_eq!(bounds.complaints(&counts(&others)), expected);
}
