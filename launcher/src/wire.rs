//! What `mpirun` and the part of it on each node say to each other.
//!
//! On this machine these are plain values. For another machine they are frames (the framing of
//! [`mpi_boot::protocol`]) inside the ssh connection. The agent's first bytes are the
//! [`MAGIC`] line: whatever the remote shell prints before it is noise and is skipped.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use mpi_boot::protocol::Counted;
use mpi_boot::protocol::{FRAME_MAX, RANK_FRAME_MAX, Secure};
use mpi_boot::state::RankState;
use nix::libc::{SIGKILL, SIGSEGV};
use nix::sys::wait::WaitStatus;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use crate::failure::printable;
use crate::node::binding;
use crate::pmi;

/// The line that starts the frames of the agent.
pub const MAGIC: &[u8] = b"\x01mpi-lite agent 9\n";

/// How [`MAGIC`] begins in every version; the number of the version and the end of the line follow.
pub const MAGIC_START: &[u8] = b"\x01mpi-lite agent ";

/// The longest version in a line like [`MAGIC`], in bytes.
pub const MAGIC_VERSION_MAX: usize = 16;

/// How much a remote shell may print before [`MAGIC`], in bytes.
pub const NOISE_MAX: usize = 64 << 10;

/// How many bytes of output a node may have sent that are not yet written to where `mpirun`'s
/// output goes. A slow reader thus stops the ranks instead of filling memory.
pub const OUTPUT_WINDOW: usize = 256 << 10;

/// The longest frame of another host, in bytes without its length field: what a rank sends, and
/// which rank it was.
pub const REPORT_FRAME_MAX: usize = RANK_FRAME_MAX + 64;

/// The most orders, in bytes, that wait for another host to read them: all that a right one can
/// leave unread is less than two of the longest frames.
pub const ORDERS_WAITING_MAX: usize = 2 * FRAME_MAX;

/// How many bytes of input may be on the way to the ranks of a node.
pub const INPUT_WINDOW: usize = 64 << 10;

/// How many bytes may be on the way to a host below that its ssh has not taken. A host that does
/// not read holds no more memory of the agent above it, and delays no other host.
pub const PASSAGE_WINDOW: usize = 256 << 10;

/// The most bytes of one frame.
pub const PASSAGE_CHUNK: usize = 64 << 10;

/// Which of a rank's two streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

/// Where the ranks of a node read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Input {
    /// No rank of the node reads.
    Nothing,
    /// This rank has the very standard input of `mpirun`.
    Inherited(u32),
    /// This rank gets [`Order::Input`].
    Forwarded(u32),
    /// Every rank of the node gets [`Order::Input`].
    ForwardedToAll,
}

impl Input {
    /// Returns true if this rank gets [`Order::Input`].
    pub fn is_forwarded_to(self, rank: u32) -> bool {
        self == Input::ForwardedToAll || self == Input::Forwarded(rank)
    }

    /// Returns true if some rank gets [`Order::Input`].
    pub fn is_forwarded(self) -> bool {
        matches!(self, Input::ForwardedToAll | Input::Forwarded(_))
    }
}

/// A value that the user gave, and where: an error names what was typed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// `--interface ` or `MPILITE_INTERFACE=`: what stands before the value.
    pub by: String,
    /// The value.
    pub value: String,
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", printable(&self.by), printable(&self.value))
    }
}

/// Everything a node must know to start its ranks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// Number of this node.
    pub node: u32,
    /// A random number, which distinguishes the job from others. It is no secret.
    pub job: u64,
    /// The ranks to start here, ascending.
    pub ranks: Vec<u32>,
    /// The host of every rank of the job.
    pub hosts: Vec<String>,
    /// The secret of the job.
    pub key: JobKey,
    /// How the ranks guard their datagrams at least.
    pub secure: Secure,
    /// Which transport the ranks take.
    pub transport: String,
    /// The address for the ranks' sockets, if the user or `mpirun` chose it.
    pub interface: Option<Asked>,
    /// True if ranks of other nodes must reach this one.
    pub has_other_nodes: bool,
    /// The address of this node as another node sees it, if that is known.
    pub address: Option<IpAddr>,
    /// The programs that ranks of this node run.
    pub programs: Vec<Program>,
    /// For each of `ranks` the place of its program in `programs`.
    pub program_of: Vec<u32>,
    /// The environments that the programs name.
    pub environments: Vec<Environment>,
    /// The directory whose libraries come before all others.
    pub libraries: Option<ByteBuf>,
    /// Where the ranks read from.
    pub input: Input,
    /// True if the ranks shall report their counters.
    pub wants_counters: bool,
    /// After how long the ranks report that they are blocked, in milliseconds.
    pub blocked_after_ms: u32,
    /// After how much silence another host and `mpirun` count each other as lost; `None`: never.
    pub silent_for: Option<Duration>,
    /// How the ranks are bound to the processors of the node, if they are.
    pub binding: Option<binding::Wish>,
    /// True if the node shall report what each rank is bound to.
    pub reports_bindings: bool,
}

/// A program of the job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Its number in the job.
    pub number: u32,
    /// An absolute path, or a name for the node's own PATH.
    pub file: ByteBuf,
    /// True if `file` was found in PATH: where it is missing, the node looks for its name in its
    /// own. A program that was named with its place is nowhere else.
    pub is_from_path: bool,
    /// Its arguments, the name (`argv[0]`) first.
    pub arguments: Vec<ByteBuf>,
    /// The place of its environment in the list of them.
    pub environment: u32,
    /// The directory to start in.
    pub directory: ByteBuf,
    /// Where to look for it before PATH.
    pub path: Option<ByteBuf>,
}

/// Variables of ranks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// Variables to set.
    pub variables: Vec<(ByteBuf, ByteBuf)>,
    /// True if `variables` is the whole environment, or is added to the node's own.
    pub is_whole: bool,
}

/// The secret of a job; its bytes never show in debug output.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobKey(pub [u8; 32]);

impl fmt::Debug for JobKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JobKey(..)")
    }
}

/// What `mpirun` tells a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields of an order, its own text says")]
pub enum Order {
    /// The next bytes of a program, by its number in the job, that the node may lack. All come
    /// before [`Order::Start`].
    Piece { program: u32, bytes: ByteBuf },
    /// Start the ranks.
    Start(Box<Start>),
    /// The cards of all ranks, for every rank of this node.
    Cards(Vec<ByteBuf>),
    /// For ranks that speak PMI.
    Pmi(pmi::Command),
    /// Bytes for the standard input of the ranks that read.
    Input(ByteBuf),
    /// The standard input ends.
    InputEnd,
    /// This many bytes of output have found their way.
    OutputTaken(u64),
    /// Send the signal with this number to the ranks. If it is from the terminal, its foreground
    /// group has got it already.
    Signal { signal: i32, is_from_terminal: bool },
    /// End all ranks and what they started, politely at first.
    End,
    /// Kill all ranks and what they started.
    Kill,
    /// Say something, so that it is seen that the node lives.
    Ping,
    /// Report what each rank does: the question with this number. The first one is 1, and each has
    /// a greater one.
    Describe { question: u32 },
    /// For a host that is reached through this one, by the number of its node.
    Below { node: u32, down: Down },
}

/// What a node answers about a rank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// The rank's own answer.
    State(Box<RankState>),
    /// It has not called `MPI_Init`.
    BeforeInit,
    /// It has finalized, and its process runs on.
    Finalized,
    /// Its program is of another MPI, which is asked nothing.
    OtherMpi,
    /// Its process has ended.
    Ended,
    /// It has not answered in time.
    Silent(ProcessSeen),
    /// Its host did not answer in time, or sent an answer that makes no sense. No node says this.
    Unknown,
}

/// What the system says about the process of a rank that does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessSeen {
    /// The state as in `/proc/PID/stat`: `R`, `S`, `D`, `T`, `t`, `Z`; a blank if it is not known.
    pub state: char,
    /// For how long it has been stopped, if it is, in milliseconds.
    pub stopped_ms: Option<u64>,
    /// Processor time that it used while it was waited for, in milliseconds.
    pub used_ms: u64,
    /// How long it was waited for, in milliseconds.
    pub waited_ms: u64,
}

/// How a rank ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// It returned this status.
    Exited(i32),
    /// This signal killed it.
    Killed(i32),
    /// It went beyond its memory (SIGSEGV), and its stack may take only so much.
    LittleStack {
        /// The limit in bytes.
        limit: u64,
    },
    /// The system killed it with SIGKILL since memory was short.
    OutOfMemory {
        /// The limit for the processes of its group, in bytes, if there is one and it is visible.
        limit: Option<u64>,
    },
}

impl Ended {
    /// How a process ended that has this status, if it has ended.
    pub fn of(status: WaitStatus) -> Option<Ended> {
        match status {
            WaitStatus::Exited(_, code) => Some(Ended::Exited(code)),
            WaitStatus::Signaled(_, signal, _) => Some(Ended::Killed(signal as i32)),
            _ => None,
        }
    }

    /// The signal that ended it, if one did.
    pub fn signal(self) -> Option<i32> {
        match self {
            Ended::Exited(_) => None,
            Ended::Killed(signal) => Some(signal),
            Ended::LittleStack { .. } => Some(SIGSEGV),
            Ended::OutOfMemory { .. } => Some(SIGKILL),
        }
    }
}

/// What an agent knows about its host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// The node's own address as `mpirun`'s host reached it.
    pub server: Option<IpAddr>,
    /// The address of `mpirun`'s host as the node sees it.
    pub client: Option<IpAddr>,
    /// The machine, the same for two names of it. Only known behind sshd.
    pub machine: Option<String>,
}

/// What a node tells `mpirun`. A `rank` is the one that the report is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields of a report, its own text says")]
pub enum Report {
    /// The first one of a remote node, with the version of the launcher there.
    Ready { version: String, known: Known },
    /// The ranks cannot be started: the exit status of `mpirun`, and one line for the user.
    Refused { code: u8, reason: String },
    /// What a rank that is about to be started is bound to: a sentence without its subject.
    Bound { rank: u32, text: String },
    /// A rank has been started.
    Started { rank: u32, pid: i32 },
    /// A rank is in Init.
    Init { rank: u32 },
    /// What a rank does that speaks PMI.
    Pmi { rank: u32, event: pmi::Event },
    /// A rank has loaded the library of another MPI, which is this file, and has not called Init.
    Stranger { rank: u32, library: String },
    /// A rank has given its card.
    Card { rank: u32, card: ByteBuf },
    /// What a rank has counted since its Init.
    Counters { rank: u32, counters: Vec<Counted> },
    /// A rank has finalized.
    Finalized { rank: u32 },
    /// A rank finalizes without a peer that no longer answers.
    Loss {
        rank: u32,
        lost: u32,
        /// How the rank noticed.
        reason: String,
    },
    /// `MPI_Finalize` of a rank fails with this error, and its program goes on.
    Failure { rank: u32, reason: String },
    /// A rank aborts the job.
    Abort {
        rank: u32,
        /// Exit status.
        code: i32,
        /// What to print, maybe nothing.
        message: String,
    },
    /// A rank has broken the protocol, in this way.
    Broken { rank: u32, reason: String },
    /// Whole lines, or the start of a line that does not go on for a while.
    Output {
        rank: u32,
        stream: Stream,
        bytes: ByteBuf,
    },
    /// All ranks that read have taken this many bytes more of the input.
    InputTaken(u64),
    /// No rank reads any more.
    InputClosed,
    /// A rank has been stopped (state T) for [`STOPPED_FOR`](crate::node::STOPPED_FOR).
    Stopped { rank: u32 },
    /// A rank waits in MPI calls for so long, and nothing comes for it.
    Blocked { rank: u32, blocked_ms: u64 },
    /// Something has come for a rank that was blocked.
    Resumed { rank: u32 },
    /// What a rank does.
    Described {
        rank: u32,
        /// The question that this answers.
        question: u32,
        answer: Answer,
    },
    /// A rank ended; output of it may still come.
    Ended { rank: u32, ended: Ended },
    /// The agent has got a signal that ends programs, or SIGQUIT. A scheduler sends one to all
    /// processes of a job, and it counts as one to `mpirun`. `Reported` says which come.
    Signalled { signal: i32 },
    /// All ranks of the node ended and all their output has been sent.
    Quiet,
    /// Answer to `Ping`.
    Pong,
    /// The node has given no sign of life for so long. `mpirun` makes this report itself.
    Silent(Duration),
    /// The node accepts no connection yet, for the system's reason, and is tried again for so long.
    /// `mpirun` makes this report itself.
    Unreached { reason: String, patience: Duration },
    /// The node is called by this command line. `mpirun` makes this report itself.
    Calling(Vec<String>),
    /// The agent of the node is connected. `mpirun` makes this report itself.
    Connected,
    /// The node is gone, for this reason. `mpirun` makes this report itself.
    Lost { reason: String },
    /// From a host that is reached through this one, by the number of its node.
    Below { node: u32, up: Up },
}

impl Report {
    /// The rank that the report is about, if it is about one.
    pub fn rank(&self) -> Option<u32> {
        match self {
            Report::Bound { rank, .. }
            | Report::Started { rank, .. }
            | Report::Init { rank }
            | Report::Pmi { rank, .. }
            | Report::Stranger { rank, .. }
            | Report::Card { rank, .. }
            | Report::Counters { rank, .. }
            | Report::Finalized { rank }
            | Report::Loss { rank, .. }
            | Report::Failure { rank, .. }
            | Report::Abort { rank, .. }
            | Report::Broken { rank, .. }
            | Report::Output { rank, .. }
            | Report::Stopped { rank }
            | Report::Blocked { rank, .. }
            | Report::Resumed { rank }
            | Report::Described { rank, .. }
            | Report::Ended { rank, .. } => Some(*rank),
            Report::Ready { .. }
            | Report::Refused { .. }
            | Report::InputTaken(_)
            | Report::InputClosed
            | Report::Signalled { .. }
            | Report::Quiet
            | Report::Pong
            | Report::Silent(_)
            | Report::Unreached { .. }
            | Report::Calling(_)
            | Report::Connected
            | Report::Lost { .. }
            | Report::Below { .. } => None,
        }
    }
}

/// What `mpirun` does with a host below an agent: it goes to an ssh that the agent runs. The agent
/// does not look into the bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Down {
    /// Start ssh with this command line.
    Reach(Vec<String>),
    /// The next bytes for it.
    Bytes(ByteBuf),
    /// Its input ends.
    End,
    /// End it; nothing about it matters any more.
    Drop,
}

/// What comes from a host below an agent, by that ssh.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Up {
    /// The next bytes of ssh's output.
    Bytes(ByteBuf),
    /// Its output has ended.
    End,
    /// ssh has taken this many bytes more.
    Taken(u64),
    /// ssh has ended, and this is the end of what it has said on standard error.
    Ended(Ended, String),
    /// ssh cannot be executed there, for this reason.
    NotExecuted(String),
}
