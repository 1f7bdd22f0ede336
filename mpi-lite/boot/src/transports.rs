//! The transports that a user can name.

/// A transport that a user can name: `mpirun --transport`.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// The name.
    pub name: &'static str,
    /// What it is, for a list.
    pub meaning: &'static str,
    /// The ranks of a node share memory, where they can.
    pub shares_memory: bool,
    /// It sends datagrams of ours, so `--net` and `--packets` work.
    pub sends_datagrams: bool,
    /// A library has it only if it was built with the feature `laboratory`.
    pub is_of_laboratory: bool,
}

/// All of them.
pub const TRANSPORTS: &[Named] = &[
    Named {
        name: "auto",
        meaning: "chooses: shared memory on a host, rmpp between hosts",
        shares_memory: true,
        sends_datagrams: true,
        is_of_laboratory: false,
    },
    Named {
        name: "shm",
        meaning: "the shared memory of one host",
        shares_memory: true,
        sends_datagrams: false,
        is_of_laboratory: false,
    },
    Named {
        name: "rmpp",
        meaning: "the Reliable Message Passing Protocol over UDP",
        shares_memory: false,
        sends_datagrams: true,
        is_of_laboratory: false,
    },
    Named {
        name: "gobackn",
        meaning: "ParaStation2's protocol over UDP",
        shares_memory: false,
        sends_datagrams: true,
        is_of_laboratory: true,
    },
    Named {
        name: "unet",
        meaning: "the protocol of MPI over U-Net, over UDP",
        shares_memory: false,
        sends_datagrams: true,
        is_of_laboratory: true,
    },
    Named {
        name: "sctp",
        meaning: "SCTP over UDP, a stream for each tag and context",
        shares_memory: false,
        sends_datagrams: true,
        is_of_laboratory: true,
    },
    Named {
        name: "tcp",
        meaning: "TCP, one connection for each pair of ranks",
        shares_memory: false,
        sends_datagrams: false,
        is_of_laboratory: false,
    },
    Named {
        name: "tcp-trc",
        meaning: "TCP, one connection for each tag, rank and context",
        shares_memory: false,
        sends_datagrams: false,
        is_of_laboratory: true,
    },
    Named {
        name: "loopback",
        meaning: "serves a single rank",
        shares_memory: false,
        sends_datagrams: false,
        is_of_laboratory: false,
    },
];

/// The transport of this name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Named> {
    TRANSPORTS.iter().find(|it| it.name == name)
}

/// The names, as a sentence lists them.
#[must_use]
pub fn possible() -> String {
    let names: Vec<_> = TRANSPORTS.iter().map(|it| it.name).collect();
    let (last, others) = names.split_last().expect("there are transports");
    format!("expected {} or {last}", others.join(", "))
}
