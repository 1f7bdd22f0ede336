//! Scripts: a text drives endpoints, a line for each thing that happens.
//!
//! Nodes 0 and 1 may get false packets in each other's name. No other two nodes do: their packets
//! may only be lost, late or repeated. Whatever happens, all that they send to each other must get
//! through, and after each line the invariants of [`Rig`] hold.
//!
//! ```text
//! profile fast,-snak      first lines, if any: what the endpoints are like
//! plant TrustSource       a bug, to see that it is found
//! nodes 4                 how many they are; 3 otherwise
//! lost 2000               a node without an answer for 2 s is lost; never otherwise
//! first 4294967294        number and name of the first messages; 0 otherwise
//!
//! send 0 1 300            node 0 sends 300 bytes to node 1; it waits for it if the length is odd
//! post 0 1 30             the same, and its first packet arrives, if it may go at once
//! abort 0                 node 0 gives its last send up
//! landing 1 later         what is announced to node 1 from now on: accept, drop, later
//! land 1 accept           node 1 lands what waits
//! wait 20                 20 ms pass: packets under way arrive, then timers are looked at
//! run 20                  20 ms pass in which all nodes do what they can
//! delay 50                each packet takes 50 ms from now on
//! give 0, give-all 0      the next packet of node 0 sets out, or all
//! hand 0                  the same, and nobody looks yet what it has acknowledged
//! lose 0                  the next packet of node 0 is lost
//! replay 3                a packet seen before comes again
//! turn 3                  the same, the other way round
//! lie 3 seq=0 info1+1     the same with other fields, set or added to
//! flip 3 17               the same with bit 17 of its header flipped
//! cut 3 27                the same with 27 bytes of its header
//! raw 9 1 0002… 100       any bytes from any node (-: none), with 100 bytes of payload
//! names 0 2               the name that node 0 gives out next is the last but one once more: it
//!                         has sent 2^32 - 2 messages meanwhile
//! overflow 1              node 1 is told that its receive buffer was full
//! kill 2                  node 2 does nothing any more
//! # a comment
//! ```

mod arriving;
mod checks;
mod draw;
mod rig;
mod tables;

use std::fmt;
use std::time::Duration;

use rmpp_core::{Caps, Config, Landing};

pub use draw::Choices;
pub use rig::Rig;
pub use tables::Played;

/// Payload bytes of a packet.
const PACKET: usize = 100;
/// Most nodes of a script.
const MOST_NODES: u32 = 8;

/// Fields of a header: name, first byte, bytes.
const FIELDS: [(&str, usize, usize); 12] = [
    ("kind", 0, 2),
    ("version", 2, 2),
    ("src", 4, 4),
    ("msg_id", 8, 4),
    ("len", 12, 4),
    ("seq", 16, 4),
    ("info2", 20, 2),
    ("info1", 22, 2),
    ("msg_num", 24, 4),
    ("ack", 28, 4),
    ("flags", 32, 2),
    ("high", 34, 2),
];

/// A field set to a value, or a value added to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    /// Place in [`FIELDS`]; `None`: the length of the payload, which is no field.
    field: Option<usize>,
    adds: bool,
    value: u64,
}

/// Something that happens.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Line {
    Send {
        from: u32,
        to: u32,
        len: u64,
        posted: bool,
    },
    Abort(u32),
    Landing(u32, Landing),
    Land(u32, Landing),
    Wait(u64),
    Run(u64),
    Delay(u64),
    Give(u32),
    GiveAll(u32),
    Hand(u32),
    Lose(u32),
    Replay(u64),
    Turn(u64),
    Lie(u64, Vec<Change>),
    Flip(u64, u64),
    Cut(u64, u64),
    Raw {
        from: u32,
        to: u32,
        bytes: Vec<u8>,
        len: u64,
    },
    Names(u32, u64),
    Overflow(u32),
    Kill(u32),
    Comment(String),
}

/// A sequence of events at a few endpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    profile: String,
    plant: Option<String>,
    nodes: u32,
    lost_ms: u64,
    first: u32,
    lines: Vec<Line>,
}

fn number(word: Option<&str>) -> u64 {
    word.and_then(|word| word.parse().ok()).unwrap_or(0)
}

fn landing(word: Option<&str>) -> Landing {
    match word {
        Some("drop") => Landing::Drop,
        Some("later") => Landing::Later,
        _ => Landing::Accept,
    }
}

fn change(text: &str) -> Option<Change> {
    let at = text.find(['=', '+'])?;
    let (name, value) = (&text[..at], number(Some(&text[at + 1..])));
    let field = FIELDS.iter().position(|field| field.0 == name);
    (field.is_some() || name == "payload").then_some(Change {
        field,
        adds: text.as_bytes()[at] == b'+',
        value,
    })
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    hex.as_bytes().chunks(2).filter_map(byte).collect()
}

impl Line {
    fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let word = |at: usize| words.get(at).copied();
        let first = number(word(1));
        let node = first as u32;
        Some(match word(0).unwrap_or("#") {
            name @ ("send" | "post") => Self::Send {
                from: node,
                to: number(word(2)) as u32,
                len: number(word(3)),
                posted: name == "post",
            },
            "abort" => Self::Abort(node),
            "landing" => Self::Landing(node, landing(word(2))),
            "land" => Self::Land(node, landing(word(2))),
            "wait" => Self::Wait(first),
            "run" => Self::Run(first),
            "delay" => Self::Delay(first),
            "give" => Self::Give(node),
            "give-all" => Self::GiveAll(node),
            "hand" => Self::Hand(node),
            "lose" => Self::Lose(node),
            "replay" => Self::Replay(first),
            "turn" => Self::Turn(first),
            "lie" => Self::Lie(first, words[2..].iter().filter_map(|c| change(c)).collect()),
            "flip" => Self::Flip(first, number(word(2))),
            "cut" => Self::Cut(first, number(word(2))),
            "raw" => Self::Raw {
                from: node,
                to: number(word(2)) as u32,
                bytes: bytes_of(word(3).unwrap_or("")),
                len: number(word(4)),
            },
            "names" => Self::Names(node, number(word(2))),
            "overflow" => Self::Overflow(node),
            "kill" => Self::Kill(node),
            comment if comment.starts_with('#') => Self::Comment(text.to_owned()),
            _ => return None,
        })
    }
}

fn name_of(landing: Landing) -> &'static str {
    match landing {
        Landing::Accept => "accept",
        Landing::Drop => "drop",
        Landing::Later => "later",
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send {
                from,
                to,
                len,
                posted,
            } => {
                let name = if *posted { "post" } else { "send" };
                write!(f, "{name} {from} {to} {len}")
            }
            Self::Abort(node) => write!(f, "abort {node}"),
            Self::Landing(node, landing) => write!(f, "landing {node} {}", name_of(*landing)),
            Self::Land(node, landing) => write!(f, "land {node} {}", name_of(*landing)),
            Self::Wait(ms) => write!(f, "wait {ms}"),
            Self::Run(ms) => write!(f, "run {ms}"),
            Self::Delay(ms) => write!(f, "delay {ms}"),
            Self::Give(node) => write!(f, "give {node}"),
            Self::GiveAll(node) => write!(f, "give-all {node}"),
            Self::Hand(node) => write!(f, "hand {node}"),
            Self::Lose(node) => write!(f, "lose {node}"),
            Self::Replay(seen) => write!(f, "replay {seen}"),
            Self::Turn(seen) => write!(f, "turn {seen}"),
            Self::Lie(seen, changes) => {
                write!(f, "lie {seen}")?;
                changes.iter().try_for_each(|change| {
                    let name = change.field.map_or("payload", |field| FIELDS[field].0);
                    write!(
                        f,
                        " {name}{}{}",
                        if change.adds { '+' } else { '=' },
                        change.value
                    )
                })
            }
            Self::Flip(seen, bit) => write!(f, "flip {seen} {bit}"),
            Self::Cut(seen, bytes) => write!(f, "cut {seen} {bytes}"),
            Self::Raw {
                from,
                to,
                bytes,
                len,
            } => {
                write!(f, "raw {from} {to} ")?;
                if bytes.is_empty() {
                    f.write_str("-")?;
                }
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                write!(f, " {len}")
            }
            Self::Names(node, back) => write!(f, "names {node} {back}"),
            Self::Overflow(node) => write!(f, "overflow {node}"),
            Self::Kill(node) => write!(f, "kill {node}"),
            Self::Comment(text) => f.write_str(text),
        }
    }
}

impl Script {
    const EMPTY: Self = Self {
        profile: String::new(),
        plant: None,
        nodes: 3,
        lost_ms: 0,
        first: 0,
        lines: Vec::new(),
    };

    /// Reads a script.
    ///
    /// # Errors
    /// The first line that is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut script = Self::EMPTY;
        for line in text.lines() {
            match line.split_once(' ') {
                Some(("profile", profile)) => {
                    Caps::parse(profile).map_err(|error| format!("{line}: {error}"))?;
                    profile.clone_into(&mut script.profile);
                }
                Some(("plant", bug)) => script.plant = Some(bug.to_owned()),
                Some(("nodes", word)) => {
                    script.nodes = (number(Some(word)) as u32).clamp(3, MOST_NODES);
                }
                Some(("lost", word)) => script.lost_ms = number(Some(word)),
                Some(("first", word)) => script.first = number(Some(word)) as u32,
                _ => {
                    let line = Line::parse(line).ok_or_else(|| format!("no such line: {line}"))?;
                    script.lines.push(line);
                }
            }
        }
        Ok(script)
    }

    /// Returns this script with another profile.
    #[must_use]
    pub fn with_profile(mut self, profile: &str) -> Self {
        profile.clone_into(&mut self.profile);
        self
    }

    /// Returns this script with a bug planted, by its name. It has an effect only where bugs can be
    /// planted.
    #[must_use]
    pub fn with_bug(mut self, bug: &str) -> Self {
        self.plant = Some(bug.to_owned());
        self
    }

    /// How many things happen.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Returns true if nothing happens.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Returns a short script for which `fails` still returns true: each line that it does not need
    /// is left out.
    #[must_use]
    pub fn shortest(&self, fails: impl Fn(&Self) -> bool) -> Self {
        let mut script = self.clone();
        let mut step = script.lines.len().div_ceil(2).max(1);
        loop {
            let mut at = script.lines.len();
            while at > 0 {
                let from = at.saturating_sub(step);
                let mut fewer = script.clone();
                fewer.lines.drain(from..at);
                if fails(&fewer) {
                    script = fewer;
                }
                at = from.min(script.lines.len());
            }
            if step == 1 {
                return script;
            }
            step = step.div_ceil(2);
        }
    }

    /// The parameters of the endpoints.
    fn config(&self) -> Config {
        let caps = if self.profile.is_empty() {
            Caps::CLASSIC
        } else {
            Caps::parse(&self.profile).expect("a script has a profile that there is")
        };
        let config = Config {
            unscheduled_bytes: 3 * PACKET,
            lost_after: (self.lost_ms > 0).then(|| Duration::from_millis(self.lost_ms)),
            // Names come back after 2^32 messages; nobody sends so many in this time.
            done_state_lifetime: Duration::from_secs(1),
            first_msg_num: self.first,
            first_msg_id: self.first,
            ..Config::with_caps(self.nodes, PACKET, caps)
        };
        plant(config, self.plant.as_deref())
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.profile.is_empty() {
            writeln!(f, "profile {}", self.profile)?;
        }
        if let Some(bug) = &self.plant {
            writeln!(f, "plant {bug}")?;
        }
        if self.nodes != 3 {
            writeln!(f, "nodes {}", self.nodes)?;
        }
        if self.lost_ms > 0 {
            writeln!(f, "lost {}", self.lost_ms)?;
        }
        if self.first > 0 {
            writeln!(f, "first {}", self.first)?;
        }
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

#[cfg(feature = "planted")]
fn plant(mut config: Config, bug: Option<&str>) -> Config {
    let named = |bug: &rmpp_core::Bug, name: &str| format!("{bug:?}") == name;
    config.planted =
        bug.and_then(|name| rmpp_core::Bug::ALL.into_iter().find(|bug| named(bug, name)));
    config
}

#[cfg(not(feature = "planted"))]
fn plant(config: Config, _: Option<&str>) -> Config {
    config
}
