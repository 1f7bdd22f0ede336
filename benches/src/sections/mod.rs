//! What is compared, a section each; every one can be run alone.

mod cut;
mod extensions;
mod incast;
mod loss;
mod packets;
mod speed;
mod strays;

pub use speed::alone;

use crate::bench::Bench;
use crate::contender::Contender;
use crate::measurements::{Better, Measurements};
use crate::report::Report;
use crate::table::{Table, short};

/// A part of the comparison.
#[derive(Debug)]
pub struct Section {
    /// The name by which it is chosen.
    pub name: &'static str,
    /// What it is about.
    pub about: &'static str,
    /// Measures, and tells.
    ///
    /// # Errors
    /// What this machine lacks for it.
    pub run: fn(&Bench, &mut Report) -> Result<(), String>,
}

/// Everything that is compared, in the order of the report.
pub const SECTIONS: &[Section] = &[
    Section {
        name: "speed",
        about: "latency, bandwidth, message rate, farm on a network that loses nothing",
        run: speed::run,
    },
    Section {
        name: "packets",
        about: "packets that a message of 8 bytes needs",
        run: packets::run,
    },
    Section {
        name: "loss",
        about: "farm and ping-pong on an Ethernet that loses packets",
        run: loss::run,
    },
    Section {
        name: "extensions",
        about: "what each extension of the fast profile is worth",
        run: extensions::run,
    },
    Section {
        name: "incast",
        about: "eight ranks send to one",
        run: incast::run,
    },
    Section {
        name: "strays",
        about: "ten thousand stray packets a second",
        run: strays::run,
    },
    Section {
        name: "cut",
        about: "the network is cut and healed",
        run: cut::run,
    },
];

/// Everybody once in each round, each round beginning with another, so that nobody always runs
/// after the same one.
fn in_rounds(
    count: usize,
    contenders: &[Contender],
    mut measure: impl FnMut(&Contender, &mut Measurements),
) -> Measurements {
    let mut all = Measurements::default();
    let mut order: Vec<_> = contenders.iter().collect();
    for _ in 0..count {
        all.begin_round();
        for who in &order {
            measure(who, &mut all);
        }
        order.rotate_left(1);
    }
    all
}

/// A figure as a table shows it; who is not installed is said to be so.
fn cell(who: &Contender, figure: Option<f64>) -> String {
    match figure {
        _ if !who.is_installed => "not installed".to_owned(),
        // A probe that has no such size.
        None if who.is_kernel() => "-".to_owned(),
        figure => short(figure),
    }
}

/// Rows of a table: what is written, and the name under which it was noted.
type Rows<'a> = &'a [(String, String)];

fn heading(first: &str, contenders: &[Contender]) -> Vec<String> {
    let names = contenders.iter().map(|who| who.name.clone());
    std::iter::once(first.to_owned()).chain(names).collect()
}

/// The medians of all contenders.
fn medians(
    title: &str,
    first: &str,
    (rows, contenders): (Rows<'_>, &[Contender]),
    all: &Measurements,
) -> Table {
    let mut table = Table::new(title, heading(first, contenders));
    for (name, what) in rows {
        let figure = |who: &Contender| cell(who, all.median(&who.name, what));
        table.row(name.as_str(), contenders.iter().map(figure).collect());
    }
    table
}

/// The first contender divided by each other one, within each round.
fn ratios(
    title: &str,
    first: &str,
    (rows, contenders): (Rows<'_>, &[Contender]),
    all: &Measurements,
) -> Table {
    let (ours, others) = contenders.split_first().expect("we are always there");
    let title = format!(
        "{title}: {} divided by each, medians of the rounds",
        ours.name
    );
    let mut table = Table::new(title, heading(first, others));
    for (name, what) in rows {
        let ratio = |who: &Contender| {
            // One other: which way is better does not matter.
            let spread = all.ratio(&ours.name, &[&who.name], what, Better::Larger);
            cell(who, spread.map(|spread| spread.median))
        };
        table.row(name.as_str(), others.iter().map(ratio).collect());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::kernel;

    #[test]
    fn each_round_begins_with_another() {
        let contenders = ["a", "b"].map(|name| kernel(name, "udp"));
        let mut order = String::new();
        drop(in_rounds(3, &contenders, |who, _| order += &who.name));
        assert_eq!(order, "abbaab");
    }

    #[test]
    fn who_is_not_installed_is_said_to_be_so() {
        let mut contenders = ["fast", "other", "absent"].map(|name| kernel(name, "udp"));
        contenders[2].is_installed = false;
        let all = in_rounds(1, &contenders[..2], |who, all| {
            all.note(&who.name, "8", if who.name == "fast" { 3.0 } else { 6.0 });
        });
        let rows = [("8".to_owned(), "8".to_owned())];
        let text = ratios("t", "bytes", (&rows, &contenders), &all).to_string();
        assert!(
            text.contains("0.500") && text.contains("not installed"),
            "{text}"
        );
        let text = medians("t", "bytes", (&rows, &contenders), &all).to_string();
        assert!(text.contains("6.00"), "{text}");
    }

    #[test]
    fn sections_have_names_of_their_own() {
        let mut names: Vec<_> = SECTIONS.iter().map(|section| section.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), SECTIONS.len());
    }
}
