//! The experiments: which programs run, and what is shown of them.

use std::time::Duration;

use super::kept::{Aim, Panel};
use super::panels::{bars, counts, over, over_loss};
use super::simulated;
use super::transport::{Transport, profiles};
use crate::bench::Program;
use crate::measurements::Better;
use crate::place::{ETHERNET, LOOPBACK, Network, Place};

/// Percentages of packets that are lost. Source: the thesis on MPI over SCTP and its tests.
const LOSSES: [f64; 3] = [0.0, 1.0, 2.0];
/// What a second of work of a full run is in a quick one.
const QUICK: f64 = 0.3;
/// A quick run has this part of the time of a full one.
const QUICK_SHARE: f64 = 0.25;
/// What a program may need beyond its own time: to start, and to end after a loss.
const GRACE_S: f64 = 4.0;
/// The long path: its shape in both directions, with a queue for all that is under way; its rate in
/// MB/s, and the goal in percent of it.
const PATH: &str = "delay=50ms,rate=1gbit,queue=8333";
const PATH_RATE: f64 = 125.0;
const PATH_GOAL: f64 = 80.0;

/// What is measured, of whom, and how it is shown.
#[derive(Debug)]
pub(super) struct Experiment {
    /// Its name in the template.
    pub name: &'static str,
    /// Its part of the time.
    pub share: Duration,
    /// Whom it measures; the first is fast RMPP.
    pub contenders: Vec<Transport>,
    /// How.
    pub measure: Measure,
    /// What is shown.
    pub panels: Vec<Panel>,
    /// What a reader must know beside the figures.
    pub notes: Vec<String>,
    /// A figure that it should reach.
    pub goal: Option<Aim>,
}

/// Where figures come from.
#[derive(Debug)]
pub(super) enum Measure {
    /// Programs under `mpirun`.
    Jobs(Vec<Run>),
    /// The simulator, with systems of so many nodes.
    Simulated(Vec<u32>),
}

/// A program, and the figures that are read from what it prints.
#[derive(Debug)]
pub(super) struct Run {
    /// The program with its network.
    pub program: Program,
    /// What `mpirun --net` makes of the network.
    pub net: Option<&'static str>,
    /// Under which name each figure is kept, and where it stands.
    pub figures: Vec<(String, Figure)>,
}

/// Where a figure stands in the output of a program.
#[derive(Debug, Clone, Copy)]
pub(super) enum Figure {
    /// Behind these words.
    After(&'static str),
    /// Behind these words, and in percent of this whole.
    Part(&'static str, f64),
    /// In this column of the first line that begins with a number; that number does not count.
    Column(usize),
}

impl Run {
    /// The command line, as a reader would type it.
    pub(super) fn command(&self) -> String {
        let program = &self.program;
        let net = self
            .net
            .map_or_else(String::new, |net| format!("--net \"{net}\" "));
        let words = program.arguments.join(" ");
        let place = match program.place {
            Place::Own(network) if network.loss_percent > 0.0 => {
                format!("   # {} % of the packets lost", network.loss_percent)
            }
            _ => String::new(),
        };
        let (ranks, name) = (program.ranks, program.name);
        let line = format!("mpirun -n {ranks} --transport rmpp {net}./{name} {words}{place}");
        line.trim_end().to_owned()
    }
}

/// How long things take: quick or full.
#[derive(Debug, Clone, Copy)]
struct Pace {
    is_quick: bool,
}

impl Pace {
    fn share(self, seconds: f64) -> Duration {
        let part = if self.is_quick { QUICK_SHARE } else { 1.0 };
        Duration::from_secs_f64(seconds * part)
    }

    /// The budget of a program, in seconds.
    fn budget(self, seconds: f64) -> f64 {
        let part = if self.is_quick { QUICK } else { 1.0 };
        seconds * part
    }

    /// The losses of the thesis; a quick run leaves out the middle one.
    fn losses(self) -> &'static [f64] {
        self.choose(&LOSSES, &[0.0, 2.0])
    }

    fn choose<T>(self, full: T, quick: T) -> T {
        if self.is_quick { quick } else { full }
    }
}

/// The longest that all experiments together may take.
pub(super) fn most_time(is_quick: bool) -> Duration {
    Duration::from_secs(if is_quick { 280 } else { 1700 })
}

/// All experiments, in the order of the page.
pub(super) fn all(is_quick: bool, whom: &[Transport]) -> Vec<Experiment> {
    let pace = Pace { is_quick };
    vec![
        ping_pong(pace, whom),
        farm(pace, whom),
        streams(pace, whom),
        scale(pace, whom),
        memory(pace, whom),
        incast(pace, whom),
        extensions(pace),
        flood(pace, whom),
        path(pace, whom),
    ]
}

/// Packets of an Ethernet, one by one, of which so many percent are lost. Loss befalls the
/// loopback of a network namespace, so that it is the same for all transports.
fn losing(percent: f64) -> Network {
    ETHERNET.like_a_wire().losing(percent)
}

/// A program that means to run for `budget_s`.
fn program(
    (name, ranks): (&'static str, usize),
    words: &[String],
    (network, budget_s): (Network, f64),
) -> Program {
    Program {
        ranks,
        place: Place::Own(network),
        limit: Duration::from_secs_f64(budget_s + GRACE_S),
        ..Program::new(name, words)
    }
}

fn strings(words: &[&dyn ToString]) -> Vec<String> {
    words.iter().map(|word| word.to_string()).collect()
}

/// What the loss is called on an axis.
fn loss_name(percent: f64) -> String {
    format!("{percent} %")
}

fn ping_pong(pace: Pace, whom: &[Transport]) -> Experiment {
    let sizes = pace.choose(
        &[
            (8, "8 B"),
            (1024, "1 KiB"),
            (32_768, "32 KiB"),
            (1_048_576, "1 MiB"),
        ][..],
        &[(8, "8 B"), (32_768, "32 KiB")][..],
    );
    let budget_s = pace.budget(0.4);
    let mut runs = Vec::new();
    let mut panels = Vec::new();
    for (bytes, name) in sizes {
        let title = format!("Half a round trip of {name}");
        let panel_name = format!("ping-pong-{bytes}");
        let panel = over_loss(
            pace.losses(),
            (&panel_name, &title),
            ("us", Better::Smaller),
        );
        for &loss in pace.losses() {
            let words = strings(&[bytes, &budget_s]);
            runs.push(Run {
                program: program(("roundtrips", 2), &words, (losing(loss), budget_s)),
                net: None,
                figures: vec![(panel.what(&loss_name(loss)), Figure::Column(0))],
            });
        }
        panels.push(panel);
    }
    experiment("ping-pong", (pace.share(140.0), whom), (runs, panels))
}

/// An experiment of jobs without notes and goal.
fn experiment(
    name: &'static str,
    (share, whom): (Duration, &[Transport]),
    (runs, panels): (Vec<Run>, Vec<Panel>),
) -> Experiment {
    Experiment {
        name,
        share,
        contenders: whom.to_vec(),
        measure: Measure::Jobs(runs),
        panels,
        notes: Vec::new(),
        goal: None,
    }
}

fn farm(pace: Pace, whom: &[Transport]) -> Experiment {
    let budget_s = pace.budget(0.8);
    let mut runs = Vec::new();
    let mut panels = Vec::new();
    for (bytes, length) in [(30_720, "short (30 KiB)"), (307_200, "long (300 KiB)")] {
        for (tags, tag_words) in [(1, "1 tag"), (10, "10 tags")] {
            let title = format!("Farm with {length} tasks, {tag_words}");
            let name = format!("farm-{}-{tags}", bytes / 1024);
            let panel = over_loss(pace.losses(), (&name, &title), ("tasks/s", Better::Larger));
            for &loss in pace.losses() {
                let words = strings(&[&bytes, &tags, &budget_s]);
                runs.push(Run {
                    // Many tasks are still under way when the time is over.
                    program: program(("farm_tags", 3), &words, (losing(loss), budget_s + 2.0)),
                    net: None,
                    figures: vec![(panel.what(&loss_name(loss)), Figure::After(" tasks, "))],
                });
            }
            panels.push(panel);
        }
    }
    experiment("farm", (pace.share(230.0), whom), (runs, panels))
}

fn streams(pace: Pace, whom: &[Transport]) -> Experiment {
    const HIT: &str = "first message, hit by a loss";
    const BESIDE: &str = "second message beside it";
    const OTHERWISE: &str = "second message otherwise";
    let budget_s = pace.budget(2.0);
    let panel = bars(
        "streams",
        "From the send of two messages to their arrival",
        ("us", Better::Smaller),
        &[HIT, BESIDE, OTHERWISE],
    );
    let hits = bars(
        "streams-hits",
        "Pairs whose first message was hit",
        ("%", Better::Smaller),
        &["pairs"],
    );
    let figures = [
        (HIT, "first hit: "),
        (BESIDE, "second beside it: "),
        (OTHERWISE, "second otherwise: "),
    ];
    let words = strings(&[&30_720, &budget_s]);
    let run = Run {
        program: program(("streams", 2), &words, (losing(1.0), budget_s)),
        net: None,
        figures: figures
            .map(|(what, words)| (panel.what(what), Figure::After(words)))
            .into_iter()
            .chain([(hits.what("pairs"), Figure::After("\nhit: "))])
            .collect(),
    };
    Experiment {
        notes: vec![
            "Fast RMPP, sctp and tcp send the 30 KiB at once, in front of the second message; \
             gobackn and unet announce them (more than 16 KiB), so that the second message \
             leaves first. A pair is hit if its first message takes more than three times the \
             median. A transport that repairs most losses sooner than that has few such \
             pairs, and among them more of those whose very first packet was lost: the \
             envelopes of a pair of ranks keep their order, so then the second message waits \
             too."
                .to_owned(),
        ],
        ..experiment(
            "streams",
            (pace.share(60.0), whom),
            (vec![run], vec![panel, hits]),
        )
    }
}

fn scale(pace: Pace, whom: &[Transport]) -> Experiment {
    let is_simulated = |it: &&Transport| it.protocol == "udp";
    let simulated: Vec<_> = whom.iter().filter(is_simulated).cloned().collect();
    let sizes = pace.choose(&[2, 8, 64, 512, 2048, 10_000][..], &[2, 8, 64, 512][..]);
    let ticks = || counts("nodes", sizes);
    let better = Better::Smaller;
    let panels = vec![
        over(
            simulated::PACKETS,
            "Packets per message of 8 bytes",
            ("packets", better),
            ticks(),
        ),
        over(
            simulated::PER_PEER,
            "State of an endpoint per peer",
            ("bytes", better),
            ticks(),
        ),
        over(
            simulated::PER_NODE,
            "State of the largest endpoint beside its peers",
            ("KiB", better),
            ticks(),
        ),
    ];
    Experiment {
        measure: Measure::Simulated(sizes.to_vec()),
        notes: vec![
            "The state of RMPP is what an endpoint says of itself. That of the other protocols is \
             the growth of the simulating process, divided by all pairs of nodes, of which each \
             node talks to 64 others: an upper bound. Their messages are empty, but for the 16 \
             bytes of an envelope. TCP lies in the kernel; what it takes is in the experiment on \
             memory."
                .to_owned(),
        ],
        ..experiment(
            "scale",
            (pace.share(130.0), &simulated),
            (Vec::new(), panels),
        )
    }
}

fn memory(pace: Pace, whom: &[Transport]) -> Experiment {
    let sizes = pace.choose(&[2_u32, 8, 32, 64][..], &[2, 8, 32][..]);
    let panel =
        |name, title, unit| over(name, title, (unit, Better::Smaller), counts("ranks", sizes));
    let panels = vec![
        panel("memory-resident", "Resident memory of rank 0", "KiB"),
        panel("memory-peer", "Growth of resident memory per peer", "KiB"),
        panel(
            "memory-descriptors",
            "Open descriptors of rank 0",
            "descriptors",
        ),
    ];
    let words = ["resident: ", "grown: ", "descriptors: "];
    let run = |ranks: &u32| {
        let figures = panels.iter().zip(words);
        Run {
            program: program(
                ("connections", *ranks as usize),
                &[],
                (LOOPBACK, if *ranks > 16 { 16.0 } else { 4.0 }),
            ),
            net: None,
            figures: figures
                .map(|(panel, words)| (panel.what(&ranks.to_string()), Figure::After(words)))
                .collect(),
        }
    };
    let runs = sizes.iter().map(run).collect();
    Experiment {
        notes: vec![
            "What the kernel keeps for its sockets is not in these figures: its buffers can be \
             many times as large, above all those of a TCP connection."
                .to_owned(),
        ],
        ..experiment("memory", (pace.share(60.0), whom), (runs, panels))
    }
}

fn incast(pace: Pace, whom: &[Transport]) -> Experiment {
    let senders = pace.choose(&[1_u32, 2, 4, 8][..], &[1, 8][..]);
    let ticks = || counts("senders", senders);
    let rate = over(
        "incast-rate",
        "Many to one: messages of 256 KiB at the receiver",
        ("MB/s", Better::Larger),
        ticks(),
    );
    let drops = over(
        "incast-drops",
        "Datagrams for which the receiver's socket had no room",
        ("datagrams", Better::Smaller),
        ticks(),
    );
    let run = |count: &u32| {
        let words = strings(&[&262_144, &pace.choose(6, 3)]);
        let name = count.to_string();
        Run {
            program: program(("incast", *count as usize + 1), &words, (losing(0.0), 8.0)),
            net: None,
            figures: vec![
                (rate.what(&name), Figure::Column(0)),
                (drops.what(&name), Figure::Column(2)),
            ],
        }
    };
    let runs = senders.iter().map(run).collect();
    Experiment {
        notes: vec![
            "Drops are those after the first round of messages. TCP has no datagrams: its figure \
             is always 0."
                .to_owned(),
        ],
        ..experiment(
            "incast",
            (pace.share(70.0), whom),
            (runs, vec![rate, drops]),
        )
    }
}

/// A program of one figure, which is the only one of its panel.
fn alone(panel: &Panel, program: Program, figure: Figure) -> Run {
    Run {
        program,
        net: None,
        figures: vec![(panel.what(&panel.subjects[0]), figure)],
    }
}

fn extensions(pace: Pace) -> Experiment {
    let budget_s = pace.budget(0.5);
    let time = ("us", Better::Smaller);
    let panels = vec![
        bars("extensions-8", "Half a round trip of 8 B", time, &["8 B"]),
        bars(
            "extensions-32768",
            "Half a round trip of 32 KiB",
            time,
            &["32 KiB"],
        ),
        bars(
            "extensions-bandwidth",
            "A stream of 1 MiB messages",
            ("MB/s", Better::Larger),
            &["1 MiB"],
        ),
        bars(
            "extensions-loss",
            "Half a round trip of 32 KiB at 1 % loss",
            time,
            &["32 KiB, 1 % lost"],
        ),
        bars(
            "extensions-farm",
            "Farm of short tasks, 10 tags, at 1 % loss",
            ("tasks/s", Better::Larger),
            &["farm, 1 % lost"],
        ),
    ];
    let trip = |bytes: u32, loss: f64| {
        let words = strings(&[&bytes, &budget_s]);
        program(("roundtrips", 2), &words, (losing(loss), budget_s))
    };
    let farm = strings(&[&30_720, &10, &budget_s]);
    let stream = strings(&[&1_048_576]);
    let runs = vec![
        alone(&panels[0], trip(8, 0.0), Figure::Column(0)),
        alone(&panels[1], trip(32_768, 0.0), Figure::Column(0)),
        alone(
            &panels[2],
            program(("bandwidth", 2), &stream, (losing(0.0), 4.0)),
            Figure::Column(0),
        ),
        alone(&panels[3], trip(32_768, 1.0), Figure::Column(0)),
        alone(
            &panels[4],
            program(("farm_tags", 3), &farm, (losing(1.0), budget_s + 2.0)),
            Figure::After(" tasks, "),
        ),
    ];
    experiment(
        "extensions",
        (pace.share(120.0), &profiles()),
        (runs, panels),
    )
}

fn flood(pace: Pace, whom: &[Transport]) -> Experiment {
    let ways = ["sleep", "probe"];
    let panel = |name, title| bars(name, title, ("MiB", Better::Smaller), &ways);
    let panels = vec![
        panel("flood-receiver", "Growth of the receiver's memory"),
        panel("flood-sender", "Growth of the sender's memory"),
    ];
    let seconds = pace.choose(1.0, 0.5);
    let run = |way: &&str| Run {
        program: program(
            ("flood", 2),
            &strings(&[&pace.choose(100_000, 30_000), &1024, &seconds, way]),
            (losing(0.0), 12.0),
        ),
        net: None,
        figures: vec![
            (panels[0].what(way), Figure::After("receiver: ")),
            (panels[1].what(way), Figure::After("sender: ")),
        ],
    };
    let runs = ways.iter().map(run).collect();
    experiment("flood", (pace.share(60.0), whom), (runs, panels))
}

fn path(pace: Pace, whom: &[Transport]) -> Experiment {
    const LONG: &str = "64 messages of 4 MiB at a time";
    const SHORT: &str = "16 messages of 16 KiB at a time";
    let share = bars(
        "path",
        "Share of the rate that is filled",
        ("%", Better::Larger),
        &[SHORT, LONG],
    );
    let first = bars(
        "path-first",
        "From a barrier to the end of the first message of 16 KiB",
        ("s", Better::Smaller),
        &["first message"],
    );
    let run = |words: [f64; 3], figures: Vec<(String, Figure)>| Run {
        program: program(
            ("path", 2),
            &words.map(|word| word.to_string()),
            (LOOPBACK_AS_WIRE, words[2] + 5.0),
        ),
        net: Some(PATH),
        figures,
    };
    let filled = |what| (share.what(what), Figure::Part("rate: ", PATH_RATE));
    let since = (first.what("first message"), Figure::After("first: "));
    let runs = vec![
        run(
            [16_384.0, 16.0, pace.choose(3.0, 1.0)],
            vec![filled(SHORT), since],
        ),
        run(
            [4_194_304.0, 64.0, pace.choose(8.0, 5.0)],
            vec![filled(LONG)],
        ),
    ];
    Experiment {
        goal: Some(Aim {
            what: share.what(LONG),
            least: PATH_GOAL,
        }),
        ..experiment(
            "path",
            (pace.share(150.0), whom),
            (runs, vec![share, first]),
        )
    }
}

/// Packets of an Ethernet, one by one, none lost.
const LOOPBACK_AS_WIRE: Network = Network {
    is_like_a_wire: true,
    ..ETHERNET
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_figure_that_is_shown_is_measured_and_every_one_measured_is_shown() {
        let whom = [Transport::rmpp("rmpp", "fast")];
        for experiment in [true, false].iter().flat_map(|quick| all(*quick, &whom)) {
            let Measure::Jobs(runs) = &experiment.measure else {
                continue;
            };
            let measured: BTreeSet<_> = runs
                .iter()
                .flat_map(|run| &run.figures)
                .map(|it| it.0.clone())
                .collect();
            let panels = experiment.panels.iter();
            let shown: BTreeSet<_> = panels
                .flat_map(|panel| panel.subjects.iter().map(|it| panel.what(it)))
                .collect();
            assert_eq!(measured, shown, "{}", experiment.name);
        }
    }

    #[test]
    fn no_two_pictures_have_the_same_name() {
        let experiments = all(false, &[Transport::rmpp("rmpp", "fast")]);
        let names = experiments
            .iter()
            .flat_map(|it| &it.panels)
            .map(|it| &it.name);
        let names: Vec<_> = names.collect();
        assert_eq!(names.len(), names.iter().collect::<BTreeSet<_>>().len());
    }

    #[test]
    fn a_whole_run_fits_into_half_an_hour_and_a_quick_one_into_five_minutes() {
        for (is_quick, most) in [(false, 1800), (true, 300)] {
            assert!(most_time(is_quick) < Duration::from_secs(most));
            let experiments = all(is_quick, &[Transport::rmpp("rmpp", "fast")]);
            let sum: Duration = experiments.iter().map(|it| it.share).sum();
            assert!(sum < most_time(is_quick), "{sum:?}");
        }
    }
}
