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
    known(
        "auto",
        "chooses: shared memory on a host, rmpp between hosts",
    )
    .sharing()
    .sending(),
    known("shm", "the shared memory of one host").sharing(),
    known("rmpp", "the Reliable Message Passing Protocol over UDP").sending(),
    known("gobackn", "ParaStation2's protocol over UDP")
        .sending()
        .of_laboratory(),
    known("unet", "the protocol of MPI over U-Net, over UDP")
        .sending()
        .of_laboratory(),
    known("sctp", "SCTP over UDP, a stream for each tag and context")
        .sending()
        .of_laboratory(),
    known("tcp", "TCP, one connection for each pair of ranks"),
    known(
        "tcp-trc",
        "TCP, one connection for each tag, rank and context",
    )
    .of_laboratory(),
    known("loopback", "serves a single rank"),
];

const fn known(name: &'static str, meaning: &'static str) -> Named {
    Named {
        name,
        meaning,
        shares_memory: false,
        sends_datagrams: false,
        is_of_laboratory: false,
    }
}

impl Named {
    const fn sharing(mut self) -> Self {
        self.shares_memory = true;
        self
    }

    const fn sending(mut self) -> Self {
        self.sends_datagrams = true;
        self
    }

    const fn of_laboratory(mut self) -> Self {
        self.is_of_laboratory = true;
        self
    }
}

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
