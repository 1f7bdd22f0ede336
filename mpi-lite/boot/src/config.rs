//! Every setting, in one table: the environment, the documentation and the code read it.
//!
//! `docs/settings.md` is generated from this table; a test keeps the two equal.

mod limits;
mod network;

use std::fmt::{self, Write as _};
use std::path::PathBuf;

use rmpp_core::Caps;
use serde::{Deserialize, Serialize};

pub use limits::Limits;
pub use network::{Network, Share};

macro_rules! settings {
    ($(
        $(#[doc = $doc:literal])*
        $field:ident: $kind:ident as $type:ty = $default:expr $(=> $text:literal)?,
            $variable:literal;
    )*) => {
        /// The settings of one process, in the units that their names end with.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct Settings {
            $( $(#[doc = $doc])* pub $field: $type, )*
        }

        impl Default for Settings {
            fn default() -> Self {
                Self { $( $field: $default, )* }
            }
        }

        /// The rows of `docs/settings.md`.
        const ROWS: &[Row] = &[$( Row {
            variable: $variable,
            default: settings!(@text $default $(, $text)?),
            doc: concat!($($doc),*),
        }, )*];

        impl Settings {
            /// Reads the settings through `lookup`, which answers the value of a variable.
            ///
            /// # Errors
            /// A line that names the variable, its value and what it may be.
            pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
                let mut settings = Self::default();
                $( if let Some(text) = lookup($variable) {
                    settings.$field = $kind($variable, &text)?.into();
                } )*
                Ok(settings)
            }

            /// The settings with their values, in the order of the table.
            #[must_use]
            pub fn rows(&self) -> Vec<Setting> {
                vec![$( Setting {
                    variable: $variable,
                    doc: concat!($($doc),*).trim(),
                    value: settings!(@show $kind self.$field),
                }, )*]
            }
        }
    };
    (@text $default:expr) => { stringify!($default) };
    (@text $default:expr, $text:literal) => { $text };
    (@show number $value:expr) => { Value::Number($value) };
    (@show optional $value:expr) => {
        Value::Text($value.map_or_else(String::new, |number| number.to_string()))
    };
    (@show switch $value:expr) => { Value::Text(if $value { "on" } else { "off" }.into()) };
    (@show acks $value:expr) => { Value::Text(format!("{:?}", $value).to_lowercase()) };
    (@show wait $value:expr) => { Value::Text(format!("{:?}", $value).to_lowercase()) };
    (@show across $value:expr) => { Value::Text(format!("{:?}", $value).to_lowercase()) };
    (@show secure $value:expr) => {
        Value::Text($value.map_or_else(String::new, |secure| secure.to_string()))
    };
    (@show ports $value:expr) => {
        Value::Text($value.map_or_else(String::new, |ports| ports.to_string()))
    };
    (@show net $value:expr) => {
        Value::Text($value.map_or_else(String::new, |network| network.to_string()))
    };
    (@show limits $value:expr) => { Value::Text($value.to_string()) };
    (@show profile $value:expr) => { Value::Text($value.to_string()) };
    (@show path $value:expr) => {
        Value::Text($value.as_ref().map_or_else(String::new, |it| it.display().to_string()))
    };
}

/// When a receiver acknowledges what it has accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acks {
    /// With the next packet that goes the same way, or after a while.
    Lazy,
    /// At once, with a packet for each message.
    Eager,
}

/// When a long message is copied straight from the memory of one process to that of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyAcross {
    /// Where that was measured to take less time than other ways.
    Measured,
    /// Wherever the system allows it.
    Always,
    /// Never.
    Off,
}

/// How a rank waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// By ranks and cores of the node: a rank with a core of its own spins for a while, others give
    /// theirs away; then all sleep.
    Auto,
    /// It keeps its core for ever.
    Spin,
    /// It offers its core at each look, and never sleeps.
    Yield,
    /// It sleeps at once.
    Block,
}

/// How a datagram shows that it belongs to the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Secure {
    /// Eight secret bytes: enough against accidents and attackers that cannot read the network.
    Cookie,
    /// A tag over all headers: an attacker that reads the network cannot make or change them.
    Tag,
    /// All is encrypted and authentic, and nothing comes twice.
    Encrypt,
}

impl fmt::Display for Secure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cookie => "cookie",
            Self::Tag => "tag",
            Self::Encrypt => "encrypt",
        })
    }
}

/// Ports of UDP or TCP, from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRange {
    /// The first one, at least 1.
    pub first: u16,
    /// The last one.
    pub last: u16,
}

impl PortRange {
    /// Reads `LOW-HIGH`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (first, last) = text.trim().split_once('-')?;
        let (first, last) = (first.parse().ok()?, last.parse().ok()?);
        (0 < first && first <= last).then_some(Self { first, last })
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

/// A setting with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The environment variable that sets it.
    pub variable: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// What it is.
    pub value: Value,
}

/// The value of a setting as tools read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number, in the unit that the setting's name ends with.
    Number(u64),
    /// As in the environment; nothing where the library finds the value itself.
    Text(String),
}

/// Which part of a node's memory messages may take that no receive is there for.
const SHARED_PART: u64 = 8;

/// Bounds of one rank's share in it: a window of messages always fits; and a program that leaves
/// more than the upper bound unreceived has probably forgotten to receive.
const SHARE_LEAST_BYTES: u64 = 1 << 20;
const SHARE_MOST_BYTES: u64 = 4 << 30;

struct Row {
    variable: &'static str,
    default: &'static str,
    doc: &'static str,
}

settings! {
    /// Profile of the protocol: `classic` or `fast`, with changes such as `fast,-snak`. The ranks
    /// use the extensions that all of their profiles have.
    rmpp: profile as Caps = Caps::FAST, "MPILITE_RMPP";
    /// When the fast profile acknowledges messages: `lazy`, with the next packet in that direction,
    /// or `eager`, at once.
    rmpp_ack: acks as Acks = Acks::Lazy => "lazy", "MPILITE_RMPP_ACK";
    /// Protection of datagrams: `cookie`, `tag` (headers cannot be forged) or `encrypt` (all is
    /// secret and authentic). `mpirun --secure` sets it for all ranks. A rank whose own environment
    /// has a weaker value ends the job.
    secure: secure as Option<Secure> = None => "that of `mpirun`, else cookie", "MPILITE_SECURE";
    /// `off`: never hand several packets to the system as one burst (UDP_SEGMENT).
    gso: switch as bool = true => "on", "MPILITE_GSO";
    /// `off`: never take several packets from the system as one train (UDP_GRO).
    gro: switch as bool = true => "on", "MPILITE_GRO";
    /// Copies of long messages between ranks of a node straight from one memory to the other
    /// (process_vm_readv). `measured`: where that takes less time than copies through shared
    /// memory. `always`: wherever the system allows it. `off`: never.
    copy_across: across as CopyAcross = CopyAcross::Measured => "measured", "MPILITE_COPY_ACROSS";
    /// Payload bytes of one RMPP packet, at most what the path carries without fragments.
    packet_bytes: optional as Option<u64> = None => "what the MTU of the interface allows",
        "MPILITE_PACKET_BYTES";
    /// Ports of UDP, or of TCP with `--transport tcp`, such as `40000-40100`: each rank binds a
    /// free one, so a host needs at least one for each of its ranks. `mpirun --port-range` sets it.
    port_range: ports as Option<PortRange> = None => "any free port", "MPILITE_PORT_RANGE";
    /// Simulates a bad network for outgoing datagrams, such as
    /// `loss=1%,burst=4,delay=5ms,jitter=1ms,rate=1gbit,queue=200,reorder=1%,duplicate=1%,seed=7`,
    /// or a part of this. `loss`: this share is lost, `burst` datagrams in a row on average.
    /// `duplicate`: this share is sent twice. `rate`: the speed of the network; up to `queue`
    /// datagrams wait for it, more are lost. `delay`, `jitter`: each then waits for `delay` and a
    /// random time below `jitter`. `reorder`: this share skips `delay` and `jitter`. `mpirun --net`
    /// sets it.
    network: net as Option<Network> = None => "the network as it is", "MPILITE_NET";
    /// Bytes that a socket requests for its receive buffer, and again for its send buffer.
    socket_buffer_bytes: number as u64 = 4_194_304, "MPILITE_SOCKET_BUFFER_BYTES";
    /// Standard sends of up to this many bytes are copied and complete at once.
    eager_copy_bytes: number as u64 = 16_384, "MPILITE_EAGER_COPY_BYTES";
    /// Sends of up to this many bytes are copied if the call waits for the send alone, over a
    /// network: there a copy costs less than the wait for an acknowledgement. The greater of this
    /// and MPILITE_EAGER_COPY_BYTES counts.
    waited_copy_bytes: number as u64 = 65_536, "MPILITE_WAITED_COPY_BYTES";
    /// Bytes that all copies of sends may take while they wait for their receivers; each copy
    /// counts 320 more.
    eager_budget_bytes: number as u64 = 2_097_152
        => "2097152; half of a rank's share, if that is less",
        "MPILITE_EAGER_BUDGET_BYTES";
    /// Unexpected messages of up to this many bytes are buffered at once. Longer ones stay with
    /// their senders until a receive asks for them (rendezvous).
    unexpected_bytes: number as u64 = 65_536, "MPILITE_UNEXPECTED_BYTES";
    /// Bytes that all buffered unexpected messages may take; each counts 160 more. Beyond it,
    /// unexpected messages stay with their senders.
    unexpected_budget_bytes: number as u64 = 16_777_216
        => "16777216; a rank's share, if that is less",
        "MPILITE_UNEXPECTED_BUDGET_BYTES";
    /// Bytes of unexpected messages that a rank takes in once it has waited in one call for 20 ms:
    /// it cannot receive them, and its senders would wait for ever. A rank's share is an eighth of
    /// the memory of its machine or control group, divided by the ranks there, at least 1 MiB and
    /// at most 4 GiB.
    waiting_budget_bytes: number as u64 = 16_777_216 => "a rank's share of the memory",
        "MPILITE_WAITING_BUDGET_BYTES";
    /// How a rank waits: `auto` decides by ranks and cores; `spin` keeps the core; `yield` offers
    /// the core at each look; `block` sleeps at once.
    wait: wait as Wait = Wait::Auto => "auto", "MPILITE_WAIT";
    /// Microseconds that a waiting rank stays awake before it sleeps; 0: it sleeps at once.
    spin_us: optional as Option<u64> = None => "10000; 1000 where ranks share cores",
        "MPILITE_SPIN_US";
    /// Seconds without any answer after which a peer counts as lost; 0: never.
    lost_s: number as u64 = 120, "MPILITE_LOST_S";
    /// `on` or `1`: in `MPI_Finalize` each rank writes a line to standard error with the number of
    /// messages that it never received (source and tag of the first too) and of requests that it
    /// still has: active ones, and persistent ones that were not freed. A short send that completes
    /// at once keeps no request and is not counted.
    check: switch as bool = false => "off", "MPILITE_CHECK";
    /// Up to how many bytes collectives by messages take the first of two algorithms, such as
    /// `bcast-tree=65536,alltoall-hops=0`; the same for all ranks. There are `gather-tree`,
    /// `allgather-doubling`, `allreduce-whole`, `bcast-tree`, `reduce-tree` and `alltoall-hops`.
    limits: limits as Limits = Limits::MEASURED => "those that `make tune` has measured",
        "MPILITE_LIMITS";
    /// Milliseconds between the looks of the thread that acknowledges messages while the program
    /// computes; at least 0.3 for each rank on a core.
    tick_ms: number as u64 = 10, "MPILITE_TICK_MS";
    /// Each rank records its datagrams in a file whose name begins so, and goes on with `.`, the
    /// rank, `.` and a number. `mpirun --packets` and `--sequence` set it for the ranks of their
    /// host, and read the files.
    packets: path as Option<PathBuf> = None => "no records", "MPILITE_PACKETS";
    /// Version of PMI, 1 or 2, in which a rank speaks to a process manager of others. If version 1
    /// is refused the rank takes version 2.
    pmi: number as u64 = 1, "MPILITE_PMI";
}

fn number(variable: &str, text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| {
        format!(
            "{variable}={:?} is not a whole number from 0 up",
            text.trim()
        )
    })
}

fn optional(variable: &str, text: &str) -> Result<u64, String> {
    number(variable, text)
}

fn path(variable: &str, text: &str) -> Result<PathBuf, String> {
    match text {
        "" => Err(format!(
            "{variable} is empty: it is the beginning of file names"
        )),
        _ => Ok(PathBuf::from(text)),
    }
}

fn switch(variable: &str, text: &str) -> Result<bool, String> {
    match text.trim() {
        "on" | "1" => Ok(true),
        "off" | "0" => Ok(false),
        other => Err(format!("{variable}={other:?} is neither on nor off")),
    }
}

fn across(variable: &str, text: &str) -> Result<CopyAcross, String> {
    match text.trim() {
        "measured" | "on" | "1" => Ok(CopyAcross::Measured),
        "always" => Ok(CopyAcross::Always),
        "off" | "0" => Ok(CopyAcross::Off),
        other => Err(format!(
            "{variable}={other:?} is not measured, always or off"
        )),
    }
}

fn wait(variable: &str, text: &str) -> Result<Wait, String> {
    match text.trim() {
        "auto" => Ok(Wait::Auto),
        "spin" => Ok(Wait::Spin),
        "yield" => Ok(Wait::Yield),
        "block" => Ok(Wait::Block),
        _ => Err(format!(
            "{variable}={text:?} is not auto, spin, yield or block"
        )),
    }
}

fn acks(variable: &str, text: &str) -> Result<Acks, String> {
    match text.trim() {
        "lazy" => Ok(Acks::Lazy),
        "eager" => Ok(Acks::Eager),
        other => Err(format!("{variable}={other:?} is neither lazy nor eager")),
    }
}

fn secure(variable: &str, text: &str) -> Result<Secure, String> {
    let all = [Secure::Cookie, Secure::Tag, Secure::Encrypt];
    let text = text.trim();
    let found = all.into_iter().find(|secure| secure.to_string() == text);
    found.ok_or_else(|| format!("{variable}={text:?} is none of cookie, tag and encrypt"))
}

fn ports(variable: &str, text: &str) -> Result<PortRange, String> {
    PortRange::parse(text).ok_or_else(|| {
        format!("{variable}={text:?} is not LOW-HIGH with ports from 1 to 65535, as 40000-40100")
    })
}

fn net(variable: &str, text: &str) -> Result<Network, String> {
    let network = text.parse();
    network.map_err(|error| format!("{variable}={:?}: {error}", text.trim()))
}

fn limits(variable: &str, text: &str) -> Result<Limits, String> {
    let limits = text.parse();
    limits.map_err(|error| format!("{variable}={:?}: {error}", text.trim()))
}

fn profile(variable: &str, text: &str) -> Result<Caps, String> {
    Caps::parse(text.trim()).map_err(|error| format!("{variable}={:?}: {error}", text.trim()))
}

impl Settings {
    /// Settles the seal of this rank's datagrams: what the job's launcher has `assigned`, or
    /// something stronger.
    ///
    /// # Errors
    /// A line for humans if the environment asks for something weaker: what the job was promised is
    /// not taken back by a variable.
    pub fn settle_secure(&mut self, assigned: Secure) -> Result<(), String> {
        let own = self.secure.unwrap_or(assigned);
        if own < assigned {
            return Err(format!(
                "MPILITE_SECURE={own} in the environment of this rank is weaker than the job's \
                 --secure={assigned}: unset the variable, or run mpirun with --secure={own}"
            ));
        }
        self.secure = Some(own);
        Ok(())
    }

    /// Settles the budgets that the environment says nothing of: for one of `ranks` on a machine of
    /// `memory_bytes`, as far as it is known. Source: decision 0034.
    pub fn settle_budgets(&mut self, memory_bytes: Option<u64>, ranks: u32) {
        self.share_out(memory_bytes, ranks, |name| std::env::var_os(name).is_some());
    }

    fn share_out(&mut self, memory: Option<u64>, ranks: u32, is_set: impl Fn(&str) -> bool) {
        let Some(memory) = memory else { return };
        let share = memory / SHARED_PART / u64::from(ranks.max(1));
        let share = share.clamp(SHARE_LEAST_BYTES, SHARE_MOST_BYTES);
        let settle = |budget: &mut u64, name: &str, bytes: u64| {
            if !is_set(name) {
                *budget = bytes;
            }
        };
        let Self {
            eager_budget_bytes: copies,
            unexpected_budget_bytes: unexpected,
            waiting_budget_bytes: waiting,
            ..
        } = self;
        settle(
            copies,
            "MPILITE_EAGER_BUDGET_BYTES",
            (*copies).min(share / 2),
        );
        settle(
            unexpected,
            "MPILITE_UNEXPECTED_BUDGET_BYTES",
            (*unexpected).min(share),
        );
        settle(waiting, "MPILITE_WAITING_BUDGET_BYTES", share);
    }

    /// Reads the settings from the environment.
    ///
    /// # Errors
    /// As [`Settings::read`].
    pub fn from_environment() -> Result<Self, String> {
        Self::read(|name| std::env::var(name).ok())
    }
}

/// The environment variables of the table.
pub fn variables() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.variable)
}

/// The default of a variable of the table, and the first sentence of its meaning.
#[must_use]
pub fn summary(variable: &str) -> Option<(String, &'static str)> {
    let row = ROWS.iter().find(|row| row.variable == variable)?;
    let meaning = row.doc.trim().trim_end_matches('.');
    let first = meaning.split_once(". ").map_or(meaning, |(first, _)| first);
    Some((shown(row.default), first))
}

/// A default as its user writes it.
fn shown(default: &str) -> String {
    match default {
        "Caps::CLASSIC" => "classic".into(),
        "Caps::FAST" => "fast".into(),
        number => number.replace('_', ""),
    }
}

/// The text of `docs/settings.md`.
#[must_use]
pub fn documentation() -> String {
    let mut text = String::from(
        "# Settings\n\nEnvironment variables that a rank reads in `MPI_Init`; `mpirun` passes them \
         to all ranks.\nGenerated from `mpi-lite/boot/src/config.rs`.\n\n\
         | variable | default | meaning |\n|---|---|---|\n",
    );
    for row in ROWS {
        let (variable, default, doc) = (row.variable, shown(row.default), row.doc.trim());
        let _ = writeln!(text, "| `{variable}` | {default} | {doc} |");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_is_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md");
        let read = || std::fs::read_to_string(path).unwrap_or_default();
        // Behind this table stands the launcher's, under a heading of its own.
        let split = |text: &str| text.find("\n## ").unwrap_or(text.len());
        if std::env::var_os("UPDATE").is_some() {
            let behind = read().split_off(split(&read()));
            std::fs::write(path, documentation() + &behind).unwrap();
        }
        let text = read();
        assert_eq!(
            text[..split(&text)],
            documentation(),
            "run this test with UPDATE=1"
        );
    }

    #[test]
    fn a_wrong_value_is_named_with_its_variable() {
        let read = |text: &'static str| {
            Settings::read(|name| (name == "MPILITE_LOST_S").then(|| text.to_owned()))
        };
        assert_eq!(read("5").unwrap().lost_s, 5);
        for wrong in ["", "-1", "x", "1s"] {
            assert!(read(wrong).unwrap_err().contains("MPILITE_LOST_S"));
        }
    }

    #[test]
    fn a_wrong_choice_is_an_error_that_lists_the_choices() {
        let read = |variable: &'static str, text: &'static str| {
            Settings::read(|name| (name == variable).then(|| text.to_owned()))
        };
        let caps = read("MPILITE_RMPP", "fast,-snak").unwrap().rmpp;
        assert!(caps.has(Caps::LAZY) && !caps.has(Caps::SNAK));
        assert_eq!(
            read("MPILITE_RMPP_ACK", "eager").unwrap().rmpp_ack,
            Acks::Eager
        );
        assert!(!read("MPILITE_GSO", "off").unwrap().gso);
        for (variable, wrong, allowed) in [
            ("MPILITE_RMPP", "quick", "classic or fast"),
            ("MPILITE_RMPP", "fast,-snack", "snak"),
            ("MPILITE_RMPP_ACK", "never", "lazy nor eager"),
            ("MPILITE_GSO", "maybe", "on nor off"),
            ("MPILITE_SECURE", "mac", "cookie, tag and encrypt"),
            ("MPILITE_NET", "loss=2", "as 1% or 0.01"),
        ] {
            let error = read(variable, wrong).unwrap_err();
            let says = |word| error.contains(word);
            assert!(says(variable) && says(wrong) && says(allowed), "{error}");
            assert_eq!(error.lines().count(), 1);
        }
    }

    #[test]
    fn the_environment_never_lowers_the_seal_of_a_job() {
        let all = [Secure::Cookie, Secure::Tag, Secure::Encrypt];
        for assigned in all {
            for own in all.map(Some).into_iter().chain([None]) {
                let mut settings = Settings {
                    secure: own,
                    ..Settings::default()
                };
                let answer = settings.settle_secure(assigned);
                if let Some(own) = own.filter(|own| *own < assigned) {
                    let error = answer.unwrap_err();
                    let says = |word: &str| error.contains(word);
                    assert!(says(&format!("MPILITE_SECURE={own}")), "{error}");
                    assert!(says(&format!("--secure={assigned}")), "{error}");
                    assert_eq!(error.lines().count(), 1);
                } else {
                    assert_eq!(answer, Ok(()));
                    assert_eq!(settings.secure, Some(own.unwrap_or(assigned)));
                }
            }
        }
    }

    #[test]
    fn budgets_follow_the_memory_and_the_ranks_on_it_unless_the_environment_says_them() {
        let settled = |memory: u64, ranks, set: &'static str| {
            let mut settings = Settings::default();
            settings.share_out(Some(memory), ranks, |name| name == set);
            let Settings {
                eager_budget_bytes: copies,
                unexpected_budget_bytes: unexpected,
                waiting_budget_bytes: waiting,
                ..
            } = settings;
            [copies, unexpected, waiting]
        };
        let (mib, gib) = (1 << 20, 1 << 30);
        assert_eq!(settled(16 * gib, 2, ""), [2 * mib, 16 * mib, gib]);
        assert_eq!(settled(16 * gib, 1024, ""), [mib, 2 * mib, 2 * mib]);
        assert_eq!(settled(64 * mib, 1024, ""), [mib / 2, mib, mib]);
        assert_eq!(settled(1 << 50, 1, "")[2], 4 * gib);
        let unexpected = "MPILITE_UNEXPECTED_BUDGET_BYTES";
        assert_eq!(settled(16 * gib, 1024, unexpected)[1], 16 * mib);
        let mut unknown = Settings::default();
        unknown.share_out(None, 7, |_| false);
        assert_eq!(unknown, Settings::default());
    }

    #[test]
    fn a_budget_that_is_no_number_is_named_with_its_variable() {
        for name in ["EAGER_BUDGET", "UNEXPECTED_BUDGET", "WAITING_BUDGET"] {
            let name = format!("MPILITE_{name}_BYTES");
            let wrong = |asked: &str| (asked == name).then(|| "1G".to_owned());
            let error = Settings::read(wrong).unwrap_err();
            assert_eq!(
                error,
                format!("{name}=\"1G\" is not a whole number from 0 up")
            );
        }
    }

    #[test]
    fn a_range_of_ports_has_two_ends_in_their_order() {
        let range = |text: &str| PortRange::parse(text).map(|range| (range.first, range.last));
        assert_eq!(range("40000-40100"), Some((40_000, 40_100)));
        assert_eq!(range("7-7"), Some((7, 7)));
        for wrong in [
            "", "-", "40000", "2-1", "0-5", "1-65536", "a-b", "1-2-3", "1:2",
        ] {
            assert_eq!(range(wrong), None, "{wrong}");
            let read = |name: &str| (name == "MPILITE_PORT_RANGE").then(|| wrong.to_owned());
            let error = Settings::read(read).unwrap_err();
            assert!(error.starts_with("MPILITE_PORT_RANGE="), "{error}");
        }
    }

    #[test]
    fn the_values_that_are_shown_can_be_read_again() {
        let settings = Settings::default();
        let again = Settings::read(|variable| {
            let rows = settings.rows();
            let row = rows.into_iter().find(|row| row.variable == variable)?;
            match row.value {
                Value::Number(number) => Some(number.to_string()),
                Value::Text(text) => (!text.is_empty()).then_some(text),
            }
        });
        assert_eq!(again, Ok(settings));
    }
}
