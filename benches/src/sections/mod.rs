//! What is compared, a section each; every one can be run alone.

mod cut;
mod extensions;
mod incast;
mod loss;
mod node;
mod packets;
mod picture;
mod speed;
mod strays;
mod subject;

pub use node::{tune, ways};
pub use speed::alone;

use crate::bench::{Bench, Missing};
use crate::contender::Contender;
use crate::measurements::{Better, Measurements, number_after};
use crate::place::{LOOPBACK, NETWORKS, Network};
use crate::report::Report;
use crate::table::{Table, short};

/// A part of the comparison.
#[derive(Debug)]
pub struct Section {
    name: &'static str,
    about: &'static str,
    measure: Measure,
}

/// Measures, and tells; the error is what this machine lacks for it.
#[derive(Debug)]
enum Measure {
    /// Ranks that reach each other over a network, measured on each of [`NETWORKS`].
    Network(fn(&Bench, &mut Report, Network) -> Result<(), String>),
    /// Ranks on one machine, each MPI by the transport that it chooses.
    Node(fn(&Bench, &mut Report) -> Result<(), String>),
}

/// The parts of the comparison, by which their sections can be chosen.
const NETWORK: &str = "network";
const NODE: &str = "node";

/// Everything that is compared, in the order of the report.
const SECTIONS: &[Section] = &[
    Section {
        name: "speed",
        about: "latency, bandwidth, message rate, farm on a network that loses nothing",
        measure: Measure::Network(speed::run),
    },
    Section {
        name: "packets",
        about: "packets that a message needs",
        measure: Measure::Network(packets::run),
    },
    Section {
        name: "loss",
        about: "farm and ping-pong on a network that loses packets",
        measure: Measure::Network(loss::run),
    },
    Section {
        name: "extensions",
        about: "what each extension of the fast profile is worth",
        measure: Measure::Network(extensions::run),
    },
    Section {
        name: "incast",
        about: "eight ranks send to one",
        measure: Measure::Network(incast::run),
    },
    Section {
        name: "strays",
        about: "ten thousand stray packets a second",
        measure: Measure::Network(strays::run),
    },
    Section {
        name: "cut",
        about: "the network is cut and healed",
        measure: Measure::Network(cut::run),
    },
    Section {
        name: "far-collectives",
        about: "collective operations of 2, 4 and 8 ranks that a network connects",
        measure: Measure::Network(node::over_network),
    },
    Section {
        name: "far-windows",
        about: "one-sided communication of two ranks that a network connects",
        measure: Measure::Network(node::far_windows),
    },
    Section {
        name: "two-ranks",
        about: "latency, bandwidth, message rate of two ranks on one machine",
        measure: Measure::Node(node::two_ranks),
    },
    Section {
        name: "busy",
        about: "two ranks on cores that others use too",
        measure: Measure::Node(node::busy),
    },
    Section {
        name: "oversubscribed",
        about: "barrier, allreduce and farm, up to more ranks than cores",
        measure: Measure::Node(node::oversubscribed),
    },
    Section {
        name: "collectives",
        about: "collective operations of 2, 4, 8 and 64 ranks",
        measure: Measure::Node(node::collectives),
    },
    Section {
        name: "idle",
        about: "what a rank uses that waits, and how soon it wakes up",
        measure: Measure::Node(node::idle),
    },
    Section {
        name: "start",
        about: "jobs that start, meet and end",
        measure: Measure::Node(node::start),
    },
    Section {
        name: "depth",
        about: "matching with many receives posted, or many messages unexpected",
        measure: Measure::Node(node::depth),
    },
    Section {
        name: "flood",
        about: "memory under messages that nobody receives for a while",
        measure: Measure::Node(node::flood),
    },
    Section {
        name: "threads",
        about: "message rate of ranks whose threads all call MPI",
        measure: Measure::Node(node::threads),
    },
    Section {
        name: "files",
        about: "ranks that write and read a file together, on a disk's file system and in memory",
        measure: Measure::Node(node::files),
    },
    Section {
        name: "windows",
        about: "one-sided communication of two ranks on one machine, also while one computes",
        measure: Measure::Node(node::windows),
    },
];

/// A section, on one network if it is about networks.
#[derive(Debug)]
pub struct Variant {
    section: &'static Section,
    network: Option<Network>,
}

/// All sections, those about networks on each of [`NETWORKS`].
pub fn variants() -> impl Iterator<Item = Variant> {
    SECTIONS.iter().flat_map(|section| {
        let networks = match section.measure {
            Measure::Network(_) => NETWORKS.map(Some).to_vec(),
            Measure::Node(_) => vec![None],
        };
        networks
            .into_iter()
            .map(move |network| Variant { section, network })
    })
}

impl Variant {
    /// Its own name: `speed-1500`, `two-ranks`.
    #[must_use]
    pub fn name(&self) -> String {
        named(self.section.name, self.network)
    }

    /// The names by which it is chosen: its own, those of its section and of its part.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let part = match self.section.measure {
            Measure::Network(_) => NETWORK,
            Measure::Node(_) => NODE,
        };
        let own = [self.section.name, part].map(|name| named(name, self.network));
        let all = [self.section.name, part].map(str::to_owned);
        [own, all].concat()
    }

    /// What it is about.
    #[must_use]
    pub fn about(&self) -> String {
        let on = |network: Network| format!("{}, MTU {}", self.section.about, network.mtu_bytes);
        self.network
            .map_or_else(|| self.section.about.to_owned(), on)
    }

    /// Measures, and tells.
    ///
    /// # Errors
    /// What this machine lacks for it.
    pub fn run(&self, bench: &Bench, report: &mut Report) -> Result<(), String> {
        match self.section.measure {
            Measure::Network(run) => run(bench, report, self.network.unwrap_or(LOOPBACK)),
            Measure::Node(run) => run(bench, report),
        }
    }
}

fn named(name: &str, network: Option<Network>) -> String {
    network.map_or_else(
        || name.to_owned(),
        |network| format!("{name}-{}", network.mtu_bytes),
    )
}

/// The name of a picture of this network.
fn plot_name(name: &str, network: Network) -> String {
    named(name, Some(network))
}

/// Everybody once in each round, each round beginning with another and going on in steps of another
/// length, so that nobody always runs after the same one: memory that one leaves to the system in a
/// bad state makes the next one slow.
fn order(round: usize, contenders: &[Contender]) -> impl Iterator<Item = &Contender> {
    let count = contenders.len();
    let visits_all = |step: &usize| (1..count).all(|turns| !(turns * step).is_multiple_of(count));
    let steps: Vec<usize> = (1..count.max(2)).filter(visits_all).collect();
    let step = steps[round % steps.len()];
    (0..count).map(move |turn| &contenders[(round + turn * step) % count])
}

/// Measures everybody in each round.
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
    for round in 0..count {
        all.begin_round();
        for task in tasks {
            for who in order(round, contenders) {
                measure(task, who, &mut all);
            }
        }
    }
    all
}

/// A figure as a table shows it, or that the contender is not installed.
fn cell(who: &Contender, figure: Option<f64>) -> String {
    match figure {
        _ if !who.is_installed => "not installed".to_owned(),
        // A probe that has no such size.
        None if who.is_kernel() => "-".to_owned(),
        figure => short(figure),
    }
}

/// The figure behind these words of what a program printed, or why there is none.
fn figure_after(output: &Result<String, Missing>, words: &str) -> Result<f64, Missing> {
    let output = output.as_ref().map_err(Missing::clone)?;
    number_after(output, words).ok_or_else(Missing::figure)
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
    for who in contenders {
        for note in picture::notes(who, rows, all) {
            table.note(format!("{}: {note}", who.name));
        }
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
    fn nobody_always_runs_after_the_same_one() {
        let contenders = ["a", "b", "c", "d", "e"].map(|name| kernel(name, "udp"));
        let mut order = String::new();
        drop(in_rounds(4, &contenders, |who, _| order += &who.name));
        assert_eq!(order, "abcdebdacecadbedcbae");
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
    fn variants_have_names_of_their_own_and_parts_too() {
        let mut names: Vec<_> = SECTIONS.iter().map(|it| it.name.to_owned()).collect();
        names.extend([NETWORK, NODE].map(str::to_owned));
        let of_networks = variants().filter(|it| it.network.is_some());
        names.extend(of_networks.map(|it| it.name()));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn every_section_of_the_network_is_measured_at_three_packet_sizes() {
        let chosen = |name: &str| {
            let chosen = variants().filter(|it| it.names().contains(&name.to_owned()));
            chosen.map(|it| it.name()).collect::<Vec<_>>()
        };
        assert_eq!(chosen("loss"), ["loss-65536", "loss-9000", "loss-1500"]);
        assert_eq!(chosen("incast-1500"), ["incast-1500"]);
        assert_eq!(chosen("network").len(), 3 * chosen("network-1500").len());
        assert_eq!(chosen("two-ranks"), ["two-ranks"]);
    }
}
