//! What is compared, a section each; every one can be run alone.

mod cut;
mod extensions;
mod incast;
mod loss;
mod node;
mod packets;
mod speed;
mod strays;
mod subject;

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
    /// The part of the comparison to which it belongs; a part can be chosen too.
    pub part: &'static str,
    /// What it is about.
    pub about: &'static str,
    /// Measures, and tells.
    ///
    /// # Errors
    /// What this machine lacks for it.
    pub run: fn(&Bench, &mut Report) -> Result<(), String>,
}

/// Ranks that reach each other over a network.
const NETWORK: &str = "network";
/// Ranks on one machine, each MPI by the road that it chooses.
const NODE: &str = "node";

/// Everything that is compared, in the order of the report.
pub const SECTIONS: &[Section] = &[
    Section {
        name: "speed",
        part: NETWORK,
        about: "latency, bandwidth, message rate, farm on a network that loses nothing",
        run: speed::run,
    },
    Section {
        name: "packets",
        part: NETWORK,
        about: "packets that a message of 8 bytes needs",
        run: packets::run,
    },
    Section {
        name: "loss",
        part: NETWORK,
        about: "farm and ping-pong on an Ethernet that loses packets",
        run: loss::run,
    },
    Section {
        name: "extensions",
        part: NETWORK,
        about: "what each extension of the fast profile is worth",
        run: extensions::run,
    },
    Section {
        name: "incast",
        part: NETWORK,
        about: "eight ranks send to one",
        run: incast::run,
    },
    Section {
        name: "strays",
        part: NETWORK,
        about: "ten thousand stray packets a second",
        run: strays::run,
    },
    Section {
        name: "cut",
        part: NETWORK,
        about: "the network is cut and healed",
        run: cut::run,
    },
    Section {
        name: "near",
        part: NODE,
        about: "latency, bandwidth, message rate of two ranks on one machine",
        run: node::near,
    },
    Section {
        name: "crowd",
        part: NODE,
        about: "barrier, allreduce and farm, up to more ranks than cores",
        run: node::crowd,
    },
    Section {
        name: "idle",
        part: NODE,
        about: "what a rank uses that waits, and how soon it wakes up",
        run: node::idle,
    },
    Section {
        name: "start",
        part: NODE,
        about: "jobs that start, meet and end",
        run: node::start,
    },
    Section {
        name: "depth",
        part: NODE,
        about: "matching with many receives posted, or many messages unexpected",
        run: node::depth,
    },
    Section {
        name: "flood",
        part: NODE,
        about: "memory under messages that nobody receives for a while",
        run: node::flood,
    },
];

/// Everybody once in each round, each round beginning with another, so that nobody always runs
/// after the same one.
fn in_rounds(
    count: usize,
    contenders: &[Contender],
    mut measure: impl FnMut(&Contender, &mut Measurements),
) -> Measurements {
    in_rounds_of(count, (&[()], contenders), |(), who, all| measure(who, all))
}

/// The same with several tasks: in each round everybody is back to back at each of them.
fn in_rounds_of<T>(
    count: usize,
    (tasks, contenders): (&[T], &[Contender]),
    mut measure: impl FnMut(&T, &Contender, &mut Measurements),
) -> Measurements {
    let mut all = Measurements::default();
    let mut order: Vec<_> = contenders.iter().collect();
    for _ in 0..count {
        all.begin_round();
        for task in tasks {
            for who in &order {
                measure(task, who, &mut all);
            }
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
    fn everybody_is_back_to_back_at_each_task() {
        let contenders = ["a", "b"].map(|name| kernel(name, "udp"));
        let mut order = String::new();
        drop(in_rounds_of(
            2,
            (&["1", "2"], &contenders),
            |task, who, _| {
                order += &format!("{task}{} ", who.name);
            },
        ));
        assert_eq!(order, "1a 1b 2a 2b 1b 1a 2b 2a ");
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
    fn sections_have_names_of_their_own_and_parts_too() {
        let mut names: Vec<_> = SECTIONS.iter().map(|section| section.name).collect();
        names.extend([NETWORK, NODE]);
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), SECTIONS.len() + 2);
        assert!(SECTIONS.iter().all(|it| [NETWORK, NODE].contains(&it.part)));
    }
}
