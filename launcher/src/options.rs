//! The options of `mpirun`: one table for the command line, the help, the manual page and the
//! completions of shells.

/// What an option is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    Ranks,
    PerNode,
    Host,
    HostFile,
    Export,
    Directory,
    Transport,
    Interface,
    PortRange,
    Launcher,
    LaunchTimeout,
    SshArguments,
    Network,
    TagOutput,
    Stats,
    Secure,
    Timeout,
    Stall,
    StallAfter,
    StallJson,
    Packets,
    Sequence,
    SequencePackets,
    Oversubscribe,
    NoOversubscribe,
    MapBy,
    ByNode,
    BySlot,
    BindTo,
    /// A parameter of Open MPI.
    Mca,
    /// Accepted for the sake of scripts.
    Ignored,
    Help,
    Version,
    Agent,
}

/// What stands behind an option. Words in lower case between bars are the values themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// Nothing.
    Nothing,
    /// The next word, or what stands behind `=`.
    Word(&'static str),
    /// The next two words.
    TwoWords(&'static str),
    /// What stands behind `=`, if there is a `=`.
    Optional(&'static str),
}

/// One option.
#[derive(Debug)]
pub struct Entry {
    /// Its spellings without dashes, the recommended one first.
    pub names: &'static [&'static str],
    pub(crate) meaning: Meaning,
    /// What stands behind it.
    pub value: Value,
    /// What it does. Empty for an option that changes nothing or is for the launcher itself.
    pub text: &'static str,
}

impl Entry {
    /// The number of words behind the option.
    pub(crate) fn words(&self) -> usize {
        match self.value {
            Value::Nothing | Value::Optional(_) => 0,
            Value::Word(_) => 1,
            Value::TwoWords(_) => 2,
        }
    }

    /// Returns true if the option may come several times without a contradiction.
    pub(crate) fn repeats(&self) -> bool {
        let adds = matches!(
            self.meaning,
            Meaning::Host | Meaning::Export | Meaning::Mca | Meaning::Ignored
        );
        adds || self.words() == 0
    }

    /// Returns true for an option that other launchers have, and that changes nothing here.
    #[must_use]
    pub fn is_ignored(&self) -> bool {
        self.meaning == Meaning::Ignored
    }

    /// All spellings with their dashes.
    pub fn spellings(&self) -> impl Iterator<Item = String> {
        self.names.iter().copied().map(dashed)
    }

    /// The values that the table names: `slot` and `node` of `slot|node|ppr:N:node`.
    pub fn choices(&self) -> impl Iterator<Item = &'static str> {
        let (Value::Word(text) | Value::Optional(text)) = self.value else {
            return "".split('|').filter(is_choice);
        };
        text.split('|').filter(is_choice)
    }

    /// The option as the help and the manual page name it: `--secure[=encrypt|tag|cookie]`.
    #[must_use]
    pub fn heading(&self) -> String {
        let names: Vec<String> = self.spellings().collect();
        let value = match self.value {
            Value::Nothing => String::new(),
            Value::Word(text) | Value::TwoWords(text) => format!(" {text}"),
            Value::Optional(text) => format!("[={text}]"),
        };
        names.join(", ") + &value
    }
}

fn is_choice(word: &&str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '-')
}

/// An option with two dashes if its name is a word, and with one if it is shorter than that.
pub(crate) fn dashed(name: &str) -> String {
    let dashes = match name {
        "np" | "ppn" => "-",
        _ if name.len() == 1 => "-",
        _ => "--",
    };
    format!("{dashes}{name}")
}

/// Every option, in the order of the help.
pub const OPTIONS: &[Entry] = &[
    Entry {
        names: &["n", "np", "c"],
        meaning: Meaning::Ranks,
        value: Value::Word("N"),
        text: "number of ranks (default: one per slot, else one per CPU)",
    },
    Entry {
        names: &["host", "H", "hosts"],
        meaning: Meaning::Host,
        value: Value::Word("A:2,B:2"),
        text: "hosts, each with its number of slots",
    },
    Entry {
        names: &["hostfile", "f", "machinefile"],
        meaning: Meaning::HostFile,
        value: Value::Word("FILE"),
        text: "hosts from a file with lines 'host slots=N' or 'host:N'",
    },
    Entry {
        names: &["ppn", "N", "npernode", "perhost"],
        meaning: Meaning::PerNode,
        value: Value::Word("N"),
        text: "ranks per host",
    },
    Entry {
        names: &["map-by"],
        meaning: Meaning::MapBy,
        value: Value::Word("slot|node|ppr:N:node"),
        text: "fill host after host (default), deal the ranks to the hosts in turn, or start N \
               ranks per host",
    },
    Entry {
        names: &["byslot"],
        meaning: Meaning::BySlot,
        value: Value::Nothing,
        text: "as --map-by slot",
    },
    Entry {
        names: &["bynode"],
        meaning: Meaning::ByNode,
        value: Value::Nothing,
        text: "as --map-by node",
    },
    Entry {
        names: &["oversubscribe"],
        meaning: Meaning::Oversubscribe,
        value: Value::Nothing,
        text: "start more ranks than slots without a note",
    },
    Entry {
        names: &["nooversubscribe"],
        meaning: Meaning::NoOversubscribe,
        value: Value::Nothing,
        text: "refuse to start more ranks than slots",
    },
    Entry {
        names: &["x"],
        meaning: Meaning::Export,
        value: Value::Word("NAME[=VALUE]"),
        text: "set a variable for all ranks (all others are forwarded anyway)",
    },
    Entry {
        names: &["wdir", "wd"],
        meaning: Meaning::Directory,
        value: Value::Word("DIR"),
        text: "working directory of the ranks (default: the current one)",
    },
    Entry {
        names: &["transport"],
        meaning: Meaning::Transport,
        value: Value::Word("auto|shm|rmpp|gobackn|unet|sctp|tcp|tcp-trc|loopback"),
        text: "how messages go: auto (default) chooses, shm is the shared memory of one host, \
               rmpp is the network; gobackn, unet, sctp, tcp and tcp-trc are other protocols to \
               compare it with (docs/transports.md); loopback serves a single rank",
    },
    Entry {
        names: &["interface", "iface"],
        meaning: Meaning::Interface,
        value: Value::Word("NAME"),
        text: "interface, network (10.1.0.0/16) or address for the ranks' traffic",
    },
    Entry {
        names: &["port-range"],
        meaning: Meaning::PortRange,
        value: Value::Word("LOW-HIGH"),
        text: "UDP (or TCP) ports for the ranks' traffic between hosts, one for each rank",
    },
    Entry {
        names: &["launcher", "bootstrap"],
        meaning: Meaning::Launcher,
        value: Value::Word("ssh|srun"),
        text: "what starts mpirun's agents on other hosts: an ssh to each, or one srun for all \
               (default in an allocation of Slurm)",
    },
    Entry {
        names: &["launch-timeout"],
        meaning: Meaning::LaunchTimeout,
        value: Value::Word("SECONDS"),
        text: "how long other hosts may take to start (default: 60 if they come from an \
               allocation, else 10 for one that accepts no connection and 30 for its answer)",
    },
    Entry {
        names: &["ssh-args"],
        meaning: Meaning::SshArguments,
        value: Value::Word("'ARG ARG'"),
        text: "more arguments for ssh, separated by blanks",
    },
    Entry {
        names: &["net"],
        meaning: Meaning::Network,
        value: Value::Word("loss=1%,delay=5ms"),
        text: "send as over a bad network: a list of loss=1%, burst=4 (losses in a row, on the \
               average), delay=5ms, jitter=1ms, rate=1gbit, queue=200 (datagrams that wait for \
               the rate), reorder=1%, duplicate=1%, seed=7",
    },
    Entry {
        names: &["tag-output", "l", "prepend-rank"],
        meaning: Meaning::TagOutput,
        value: Value::Nothing,
        text: "print '[rank] ' in front of each line",
    },
    Entry {
        names: &["stats"],
        meaning: Meaning::Stats,
        value: Value::Optional("json|FILE"),
        text: "print counters at the end: messages, packets, losses",
    },
    Entry {
        names: &["secure"],
        meaning: Meaning::Secure,
        value: Value::Optional("encrypt|tag|cookie"),
        text: "encrypt and authenticate the ranks' traffic; tag: protect only the headers of \
               packets from forgery; cookie: only keep strangers' packets out (as without \
               --secure)",
    },
    Entry {
        names: &["timeout"],
        meaning: Meaning::Timeout,
        value: Value::Word("SECONDS"),
        text: "end the job after this time, with exit status 124; what the ranks do is printed \
               before",
    },
    Entry {
        names: &["stall"],
        meaning: Meaning::Stall,
        value: Value::Word("report|abort|off"),
        text: "when no rank goes on: report (default) prints what each waits for, abort ends the \
               job as well, with exit status 123, off does nothing",
    },
    Entry {
        names: &["stall-after"],
        meaning: Meaning::StallAfter,
        value: Value::Word("SECONDS"),
        text: "how long no rank has gone on for that (default: 10, at least 3)",
    },
    Entry {
        names: &["stall-json"],
        meaning: Meaning::StallJson,
        value: Value::Word("FILE"),
        text: "append each report of what the ranks do to this file, as one line of JSON",
    },
    Entry {
        names: &["packets"],
        meaning: Meaning::Packets,
        value: Value::Word("FILE"),
        text: "write all packets of the ranks of this host to this file (pcapng), for Wireshark; \
               takes the transport rmpp",
    },
    Entry {
        names: &["sequence"],
        meaning: Meaning::Sequence,
        value: Value::Word("FILE"),
        text: "draw the first packets between the ranks to this file (SVG), an arrow each; takes \
               the transport rmpp",
    },
    Entry {
        names: &["sequence-packets"],
        meaning: Meaning::SequencePackets,
        value: Value::Word("N"),
        text: "how many packets --sequence draws (default: 200)",
    },
    Entry {
        names: &["bind-to"],
        meaning: Meaning::BindTo,
        value: Value::Word("WHAT"),
        text: "changes nothing: ranks are not bound to CPUs; a note is printed unless WHAT is none",
    },
    Entry {
        names: &["mca", "gmca", "omca", "prtemca", "pmixmca"],
        meaning: Meaning::Mca,
        value: Value::TwoWords("KEY VALUE"),
        text: "a parameter of Open MPI: btl_tcp_if_include or oob_tcp_if_include sets the \
               interface unless --interface does; btl, pml and mtl are ignored with a note, all \
               others without one",
    },
    Entry {
        names: &["help", "h"],
        meaning: Meaning::Help,
        value: Value::Nothing,
        text: "print this text",
    },
    Entry {
        names: &["version", "V"],
        meaning: Meaning::Version,
        value: Value::Nothing,
        text: "print the version",
    },
    Entry {
        names: &[
            "allow-run-as-root",
            "use-hwthread-cpus",
            "disable-hostname-propagation",
            "quiet",
            "q",
        ],
        meaning: Meaning::Ignored,
        value: Value::Nothing,
        text: "",
    },
    Entry {
        names: &["agent"],
        meaning: Meaning::Agent,
        value: Value::Nothing,
        text: "",
    },
];

/// The entry with this spelling, which is without dashes.
pub(crate) fn find(name: &str) -> Option<&'static Entry> {
    OPTIONS.iter().find(|entry| entry.names.contains(&name))
}
