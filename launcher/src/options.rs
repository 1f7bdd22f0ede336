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
    SearchPath,
    App,
    Env,
    EnvAll,
    EnvNone,
    EnvList,
    GlobalEnv,
    GlobalEnvAll,
    GlobalEnvNone,
    GlobalEnvList,
    Transport,
    Interface,
    PortRange,
    Launcher,
    LaunchFanout,
    LaunchTimeout,
    SshArguments,
    Network,
    TagOutput,
    TimestampOutput,
    MergeErrors,
    OutputDirectory,
    Stdin,
    Prefix,
    Preload,
    Stats,
    Secure,
    Timeout,
    Grace,
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
    RankBy,
    ReportBindings,
    DisplayMap,
    Display,
    /// A parameter of Open MPI.
    Mca,
    /// Accepted for the sake of scripts.
    Ignored,
    Help,
    Version,
    Info,
    Verbose,
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
            Meaning::Host
                | Meaning::Export
                | Meaning::Env
                | Meaning::GlobalEnv
                | Meaning::Mca
                | Meaning::Ignored
        );
        adds || self.words() == 0
    }

    /// Returns true if each of several programs may have its own.
    pub(crate) fn is_of_program(&self) -> bool {
        matches!(
            self.meaning,
            Meaning::Ranks
                | Meaning::Host
                | Meaning::Export
                | Meaning::Directory
                | Meaning::SearchPath
                | Meaning::Env
                | Meaning::EnvAll
                | Meaning::EnvNone
                | Meaning::EnvList
        )
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
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !word.is_empty() && word.chars().all(is_plain)
}

/// An option with two dashes if its name is a word, and with one if it is shorter than that.
pub fn dashed(name: &str) -> String {
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
        value: Value::Word("slot|node|seq|core|l3cache|numa|socket|package|ppr:N:WHAT"),
        text: "fill host after host (slot, the default), deal the ranks to the hosts in turn \
               (node), start one rank per line of the host file (seq) or N ranks per host or \
               part of it (ppr:N:node, ppr:N:socket); core to package (also hwthread, l2cache) \
               deal the ranks of each host to these parts of it in turn, and bind them there \
               unless --bind-to says otherwise; behind that, :pe=N gives each rank N cores, \
               :span deals over the hosts in turn, :oversubscribe and :nooversubscribe are as \
               the options, :hwtcpus counts hardware threads as cores",
    },
    Entry {
        names: &["rank-by"],
        meaning: Meaning::RankBy,
        value: Value::Word("slot|node|fill|span"),
        text: "number the ranks host after host (slot), so that those of one part of a host \
               follow each other as well (fill), or over the hosts in turn (node, span)",
    },
    Entry {
        names: &["bind-to"],
        meaning: Meaning::BindTo,
        value: Value::Word("none|hwthread|core|l2cache|l3cache|numa|socket|package|board"),
        text: "bind each rank to a part of its host, or to N of them (core:2); none is the \
               default; more ranks than cores are an error unless they may share them \
               (core:overload-allowed, --oversubscribe)",
    },
    Entry {
        names: &["report-bindings"],
        meaning: Meaning::ReportBindings,
        value: Value::Nothing,
        text: "print which CPUs each rank is bound to before it runs",
    },
    Entry {
        names: &["display-map"],
        meaning: Meaning::DisplayMap,
        value: Value::Nothing,
        text: "print the hosts with their ranks before the job starts",
    },
    Entry {
        names: &["display"],
        meaning: Meaning::Display,
        value: Value::Word("map|allocation|bind"),
        text: "as --display-map (map, allocation) or --report-bindings (bind); a list is possible",
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
        text: "set a variable for the ranks of the program (all others are forwarded anyway); a \
               name may end with *, as 'OMPI_*'",
    },
    Entry {
        names: &["env"],
        meaning: Meaning::Env,
        value: Value::TwoWords("NAME VALUE"),
        text: "as -x NAME=VALUE",
    },
    Entry {
        names: &["envall"],
        meaning: Meaning::EnvAll,
        value: Value::Nothing,
        text: "forward all variables to the ranks of the program (default)",
    },
    Entry {
        names: &["envnone"],
        meaning: Meaning::EnvNone,
        value: Value::Nothing,
        text: "forward no variable to the ranks of the program but those that options set",
    },
    Entry {
        names: &["envlist"],
        meaning: Meaning::EnvList,
        value: Value::Word("A,B"),
        text: "forward only these variables, and those that options set",
    },
    Entry {
        names: &["genv"],
        meaning: Meaning::GlobalEnv,
        value: Value::TwoWords("NAME VALUE"),
        text: "as --env, for all programs of the job",
    },
    Entry {
        names: &["genvall"],
        meaning: Meaning::GlobalEnvAll,
        value: Value::Nothing,
        text: "as --envall, for all programs of the job",
    },
    Entry {
        names: &["genvnone"],
        meaning: Meaning::GlobalEnvNone,
        value: Value::Nothing,
        text: "as --envnone, for all programs of the job",
    },
    Entry {
        names: &["genvlist"],
        meaning: Meaning::GlobalEnvList,
        value: Value::Word("A,B"),
        text: "as --envlist, for all programs of the job",
    },
    Entry {
        names: &["wdir", "wd"],
        meaning: Meaning::Directory,
        value: Value::Word("DIR"),
        text: "working directory of the ranks (default: the current one)",
    },
    Entry {
        names: &["path"],
        meaning: Meaning::SearchPath,
        value: Value::Word("DIR"),
        text: "look for the program here before PATH; several directories are separated by ':'",
    },
    Entry {
        names: &["prefix"],
        meaning: Meaning::Prefix,
        value: Value::Word("DIR"),
        text: "mpi-lite is installed at DIR on the other hosts: DIR/bin/mpirun is started there, \
               and DIR/lib comes before other libraries (default: where it is on this host)",
    },
    Entry {
        names: &["preload", "preload-binary"],
        meaning: Meaning::Preload,
        value: Value::Nothing,
        text: "send the programs to the other hosts; a host that lacks one runs it from memory, \
               and nothing is left there",
    },
    Entry {
        names: &["app", "configfile"],
        meaning: Meaning::App,
        value: Value::Word("FILE"),
        text: "start the programs of this file: a line for each with its options and arguments, \
               quoted as for a shell; # begins a comment",
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
        names: &["launch-fanout"],
        meaning: Meaning::LaunchFanout,
        value: Value::Word("N"),
        text: "hosts that an agent reaches by ssh for mpirun, where more than N hosts are to be \
               reached; 0: mpirun reaches all itself (default: 32 for more than 64 hosts)",
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
        names: &["timestamp-output"],
        meaning: Meaning::TimestampOutput,
        value: Value::Nothing,
        text: "print the time (UTC) in front of each line",
    },
    Entry {
        names: &["merge-stderr", "merge-stderr-to-stdout"],
        meaning: Meaning::MergeErrors,
        value: Value::Nothing,
        text: "print standard error of the ranks to standard output",
    },
    Entry {
        names: &["output", "output-filename"],
        meaning: Meaning::OutputDirectory,
        value: Value::Word("DIR"),
        text: "write what each rank prints to files DIR/rank.N.out and DIR/rank.N.err of this \
               host, and not to the terminal; a list of tag, timestamp, merge and dir=DIR is \
               understood as well",
    },
    Entry {
        names: &["stdin"],
        meaning: Meaning::Stdin,
        value: Value::Word("N|all|none"),
        text: "which rank reads the standard input: rank N (default: 0), all, each of which gets \
               a copy, or none",
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
        names: &["grace"],
        meaning: Meaning::Grace,
        value: Value::Word("SECONDS"),
        text: "how long the ranks have to save and end after a signal to mpirun (INT, TERM, HUP) \
               or --timeout, before they are killed (default: 10, in an allocation 60; 0: at \
               once); a second signal kills them at once",
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
        text: "how long no rank has gone on for that (default: 10, at least 0.5)",
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
        names: &["info"],
        meaning: Meaning::Info,
        value: Value::Nothing,
        text: "print how mpi-lite was built, its transports, what this machine allows, paths, and \
               all settings with their present values",
    },
    Entry {
        names: &["verbose", "v"],
        meaning: Meaning::Verbose,
        value: Value::Nothing,
        text: "print what mpirun does: where the hosts come from, the command line of ssh or srun, \
               agents that connect, the start and the end of each rank",
    },
    Entry {
        names: &[
            "allow-run-as-root",
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
