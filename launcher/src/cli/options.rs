//! The options of `mpirun`: one table for the command line, the help, the manual page and the
//! completions of shells.

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

/// Makes [`Meaning`] and [`OPTIONS`] of rows: what an option is for, its spellings without dashes
/// (the recommended one first), what stands behind it, and what it does.
macro_rules! options {
    ($(
        $meaning:ident $($name:literal)+: $value:ident $(($shape:literal))?, $text:literal;
    )*) => {
        /// What an option is for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Meaning {
            $( $meaning, )*
        }

        /// Every option, in the order of the help.
        pub const OPTIONS: &[Entry] = &[$( Entry {
            names: &[$($name),+],
            meaning: Meaning::$meaning,
            value: Value::$value $(($shape))?,
            text: $text,
        }, )*];
    };
}

options! {
    Ranks "n" "np" "c": Word("N"), "number of ranks (default: one per slot, else one per CPU)";
    Host "host" "H" "hosts": Word("A:2,B:2"), "hosts, each with its number of slots";
    HostFile "hostfile" "f" "machinefile": Word("FILE"),
        "hosts from a file with lines 'host slots=N' or 'host:N'";
    PerNode "ppn" "N" "npernode" "perhost": Word("N"), "ranks per host";
    MapBy "map-by": Word("slot|node|seq|core|l3cache|numa|socket|package|ppr:N:WHAT"),
        "fill host after host (slot, the default), deal the ranks to the hosts in turn (node), \
         start one rank per line of the host file (seq) or N ranks per host or part of it \
         (ppr:N:node, ppr:N:socket); core to package (also hwthread, l2cache) deal the ranks of \
         each host to these parts of it in turn, and bind them there unless --bind-to says \
         otherwise; behind that, :pe=N gives each rank N cores, :span deals over the hosts in \
         turn, :oversubscribe and :nooversubscribe are as the options, :hwtcpus counts hardware \
         threads as cores";
    RankBy "rank-by": Word("slot|node|fill|span"),
        "number the ranks host after host (slot), so that those of one part of a host follow each \
         other as well (fill), or over the hosts in turn (node, span)";
    BindTo "bind-to": Word("none|hwthread|core|l2cache|l3cache|numa|socket|package|board"),
        "bind each rank to a part of its host, or to N of them (core:2); none is the default; \
         more ranks than cores are an error unless they may share them (core:overload-allowed, \
         --oversubscribe)";
    ReportBindings "report-bindings": Nothing,
        "print which CPUs each rank is bound to before it runs";
    DisplayMap "display-map": Nothing, "print the hosts with their ranks before the job starts";
    Display "display": Word("map|allocation|bind"),
        "as --display-map (map, allocation) or --report-bindings (bind); a list is possible";
    BySlot "byslot": Nothing, "as --map-by slot";
    ByNode "bynode": Nothing, "as --map-by node";
    Oversubscribe "oversubscribe": Nothing, "start more ranks than slots without a note";
    NoOversubscribe "nooversubscribe": Nothing, "refuse to start more ranks than slots";
    Export "x": Word("NAME[=VALUE]"),
        "set a variable for the ranks of the program (all others are forwarded anyway); a name \
         may end with *, as 'OMPI_*'";
    Env "env": TwoWords("NAME VALUE"), "as -x NAME=VALUE";
    EnvAll "envall": Nothing, "forward all variables to the ranks of the program (default)";
    EnvNone "envnone": Nothing,
        "forward no variable to the ranks of the program but those that options set";
    EnvList "envlist": Word("A,B"), "forward only these variables, and those that options set";
    GlobalEnv "genv": TwoWords("NAME VALUE"), "as --env, for all programs of the job";
    GlobalEnvAll "genvall": Nothing, "as --envall, for all programs of the job";
    GlobalEnvNone "genvnone": Nothing, "as --envnone, for all programs of the job";
    GlobalEnvList "genvlist": Word("A,B"), "as --envlist, for all programs of the job";
    Directory "wdir" "wd": Word("DIR"), "working directory of the ranks (default: the current one)";
    SearchPath "path": Word("DIR"),
        "look for the program here before PATH; several directories are separated by ':'";
    Prefix "prefix": Word("DIR"),
        "mpi-lite is installed at DIR on the other hosts: DIR/bin/mpirun is started there, and \
         DIR/lib comes before other libraries (default: where it is on this host)";
    Preload "preload" "preload-binary": Nothing,
        "send the programs to the other hosts; a host that lacks one runs it from memory, and \
         nothing is left there";
    App "app" "configfile": Word("FILE"),
        "start the programs of this file: a line for each with its options and arguments, quoted \
         as for a shell; # begins a comment";
    Transport "transport": Word("auto|shm|rmpp|gobackn|unet|sctp|tcp|tcp-trc|loopback"),
        "how messages go: auto (default) chooses, shm is the shared memory of one host, rmpp is \
         the network; gobackn, unet, sctp, tcp and tcp-trc are other protocols to compare it with \
         (docs/transports.md); loopback serves a single rank";
    Interface "interface" "iface": Word("NAME"),
        "interface, network (10.1.0.0/16) or address for the ranks' traffic";
    PortRange "port-range": Word("LOW-HIGH"),
        "UDP (or TCP) ports for the ranks' traffic between hosts, one for each rank";
    Launcher "launcher" "bootstrap": Word("ssh|srun"),
        "what starts mpirun's agents on other hosts: an ssh to each, or one srun for all (default \
         in an allocation of Slurm)";
    LaunchTimeout "launch-timeout": Word("SECONDS"),
        "how long other hosts may take to start (default: 60 if they come from an allocation, \
         else 10 for one that accepts no connection and 30 for its answer)";
    LaunchFanout "launch-fanout": Word("N"),
        "hosts that an agent reaches by ssh for mpirun, where more than N hosts are to be \
         reached; 0: mpirun reaches all itself (default: 32 for more than 64 hosts)";
    SshArguments "ssh-args": Word("'ARG ARG'"), "more arguments for ssh, separated by blanks";
    Network "net": Word("loss=1%,delay=5ms"),
        "send as over a bad network: a list of loss=1%, burst=4 (losses in a row, on the \
         average), delay=5ms, jitter=1ms, rate=1gbit, queue=200 (datagrams that wait for the \
         rate), reorder=1%, duplicate=1%, seed=7";
    TagOutput "tag-output" "l" "prepend-rank": Nothing, "print '[rank] ' in front of each line";
    TimestampOutput "timestamp-output": Nothing, "print the time (UTC) in front of each line";
    MergeErrors "merge-stderr" "merge-stderr-to-stdout": Nothing,
        "print standard error of the ranks to standard output";
    OutputDirectory "output" "output-filename": Word("DIR"),
        "write what each rank prints to files DIR/rank.N.out and DIR/rank.N.err of this host, and \
         not to the terminal; a list of tag, timestamp, merge and dir=DIR is understood as well";
    Stdin "stdin": Word("N|all|none"),
        "which rank reads the standard input: rank N (default: 0), all, each of which gets a \
         copy, or none";
    Stats "stats": Optional("json|FILE"), "print counters at the end: messages, packets, losses";
    Secure "secure": Optional("encrypt|tag|cookie"),
        "encrypt and authenticate the ranks' traffic; tag: protect only the headers of packets \
         from forgery; cookie: only keep strangers' packets out (as without --secure)";
    Timeout "timeout": Word("SECONDS"),
        "end the job after this time, with exit status 124; what the ranks do is printed before";
    Grace "grace": Word("SECONDS"),
        "how long the ranks have to save and end after a signal to mpirun (INT, TERM, HUP) or \
         --timeout, before they are killed (default: 10, in an allocation 60; 0: at once); a \
         second signal kills them at once";
    Stall "stall": Word("report|abort|off"),
        "when no rank goes on: report (default) prints what each waits for, abort ends the job as \
         well, with exit status 123, off does nothing";
    StallAfter "stall-after": Word("SECONDS"),
        "how long no rank has gone on for that (default: 10, at least 0.5)";
    StallJson "stall-json": Word("FILE"),
        "append each report of what the ranks do to this file, as one line of JSON";
    Packets "packets": Word("FILE"),
        "write all packets of the ranks of this host to this file (pcapng), for Wireshark; takes \
         the transport rmpp";
    Sequence "sequence": Word("FILE"),
        "draw the first packets between the ranks to this file (SVG), an arrow each; takes the \
         transport rmpp";
    SequencePackets "sequence-packets": Word("N"),
        "how many packets --sequence draws (default: 200)";
    Mca "mca" "gmca" "omca" "prtemca" "pmixmca": TwoWords("KEY VALUE"),
        "a parameter of Open MPI: btl_tcp_if_include or oob_tcp_if_include sets the interface \
         unless --interface does; btl, pml and mtl are ignored with a note, all others without \
         one";
    Help "help" "h": Nothing, "print this text";
    Version "version" "V": Nothing, "print the version";
    Info "info": Nothing,
        "print how mpi-lite was built, its transports, what this machine allows, paths, and all \
         settings with their present values";
    Verbose "verbose" "v": Nothing,
        "print what mpirun does: where the hosts come from, the command line of ssh or srun, \
         agents that connect, the start and the end of each rank";
    Ignored "allow-run-as-root" "disable-hostname-propagation" "quiet" "q": Nothing, "";
    Agent "agent": Nothing, "";
}

/// The entry with this spelling, which is without dashes.
pub(crate) fn find(name: &str) -> Option<&'static Entry> {
    OPTIONS.iter().find(|entry| entry.names.contains(&name))
}
