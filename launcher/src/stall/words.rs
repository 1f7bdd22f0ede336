//! Words that the lines and the reasons share.

use mpi_boot::state::{
    Address, CommunicatorState, HeldMessage, MessageKind, Operation, Partitions, Peer, RankState,
    ThreadState, Wanted,
};

use super::analysis::Finding;
use super::communicators::Id;
use super::waits::{Nature, Wait, is_in_finalize};
use super::{Occasion, ProcessSeen};
use crate::failure::printable;

/// The names of the communicators that need no explanation.
const WORLD: &str = "MPI_COMM_WORLD";
const SELF: &str = "MPI_COMM_SELF";

/// The first line of a report.
pub(super) fn title(occasion: &Occasion) -> String {
    match occasion {
        Occasion::Stall { seconds } => {
            let seconds = match seconds {
                0 => "less than 1".into(),
                seconds => seconds.to_string(),
            };
            format!("the job hangs: no rank has gone on for {seconds} s (--stall-after)")
        }
        Occasion::Asked => "what the ranks do (SIGQUIT)".into(),
        Occasion::Timeout => "what the ranks do at the end of --timeout".into(),
    }
}

impl Finding<'_> {
    /// `a message from rank 1, tag 7, on "halo" (...)`.
    pub(super) fn wanted(&self, rank: u32, wanted: &Wanted) -> String {
        let id = self.communicators.id(rank, wanted.context);
        let source = wanted
            .source
            .map_or("any rank".into(), |source| self.peer(source, id));
        let (what, tag) = (noun(wanted.kind), tag(wanted.tag));
        format!("{what} from {source}, {tag}{}", self.on_described(id))
    }

    /// `a message from rank 1, tag 8, 4 bytes, on "halo"`.
    pub(super) fn message(&self, rank: u32, held: &HeldMessage, is_described: bool) -> String {
        let id = self.communicators.id(rank, held.context);
        let source = self.peer(held.source, id);
        let on = match is_described {
            // The source names the communicator.
            _ if held.source.world.is_none() => String::new(),
            true => self.on_described(id),
            false => self.on(id).replacen(" on", ", on", 1),
        };
        let bytes = held.bytes;
        if !held.collective.is_empty() {
            let collective = printable(&held.collective);
            return format!("a message of {collective} from {source}, {bytes} bytes{on}");
        }
        let what = noun(held.kind);
        match (held.tag, partitions(held.kind)) {
            (None, _) => {
                format!("partitions from {source}, whose receive was freed, {bytes} bytes{on}")
            }
            (Some(tag), Some(partitions)) => {
                format!("{what} from {source}, tag {tag}, {partitions}, {bytes} bytes{on}")
            }
            (Some(tag), None) => format!("{what} from {source}, tag {tag}, {bytes} bytes{on}"),
        }
    }

    /// `rank 6`, or `rank 6 (3 in "halo")` if the communicator numbers it otherwise; `rank 3 of
    /// communicator 200` if the rank that names it has not made that communicator (yet).
    pub(super) fn peer(&self, peer: Peer, id: Id) -> String {
        match (peer.world, peer.rank) {
            (Some(world), Some(rank)) if rank != world => {
                format!("rank {world} ({rank} in {})", self.name(id))
            }
            (Some(world), _) => format!("rank {world}"),
            (None, Some(rank)) => {
                let name = self.name(id);
                format!("rank {rank} of {name}, which the receiver does not have")
            }
            (None, None) => "a rank that is not known".into(),
        }
    }

    /// `MPI_COMM_WORLD`, `"halo"`, or `communicator 5` if it has no name.
    pub(super) fn name(&self, id: Id) -> String {
        let described = self.communicators.described(id);
        match described.map(|described| described.name.as_str()) {
            None | Some("") => format!("communicator {}", id.context),
            Some(name) if is_plain(name) => name.into(),
            Some(name) => format!("\"{}\"", printable(name)),
        }
    }

    /// ` on "halo"`, and nothing for `MPI_COMM_WORLD`.
    pub(super) fn on(&self, id: Id) -> String {
        match self.name(id).as_str() {
            WORLD => String::new(),
            name => format!(" on {name}"),
        }
    }

    /// `, on "halo" (MPI_Comm_split on MPI_COMM_WORLD, 4 ranks)`.
    pub(super) fn on_described(&self, id: Id) -> String {
        let described = self.communicators.described(id);
        let on = self.on(id).replacen(" on", ", on", 1);
        match described.filter(|described| !is_plain(&described.name)) {
            None => on,
            Some(CommunicatorState { made, size, .. }) if made.is_empty() => {
                format!("{on} ({size} ranks)")
            }
            Some(CommunicatorState { made, size, .. }) => {
                format!("{on} ({}, {size} ranks)", printable(made))
            }
        }
    }
}

/// What a message of this kind is called.
pub(super) fn noun(kind: MessageKind) -> &'static str {
    match kind {
        MessageKind::Ordinary => "a message",
        MessageKind::Partitioned(_) => "a partitioned message",
        MessageKind::Creation => "a message of the creation of a communicator",
    }
}

/// `3 of 8 partitions`, of a partitioned message whose sender has said how many there are.
pub(super) fn partitions(kind: MessageKind) -> Option<String> {
    match kind {
        MessageKind::Partitioned(Partitions { ready, all }) if all > 0 => {
            Some(format!("{ready} of {all} partitions"))
        }
        _ => None,
    }
}

/// Why a receive (or a probe) and a message of different kinds never meet.
pub(super) fn never_meet(receive: &Operation, message: MessageKind) -> String {
    let adjective = |kind| match kind {
        MessageKind::Partitioned(_) => "a partitioned",
        MessageKind::Ordinary | MessageKind::Creation => "an ordinary",
    };
    let (receive, call) = match receive {
        Operation::Probe(wanted) => (wanted.kind, "probe"),
        Operation::Receive(wanted) => (wanted.kind, "receive"),
        _ => (MessageKind::Ordinary, "receive"),
    };
    let (receive, message) = (adjective(receive), adjective(message));
    format!("{receive} {call} never meets {message} send")
}

/// Returns true for a name that needs no explanation.
pub(super) fn is_plain(name: &str) -> bool {
    [WORLD, SELF].contains(&name)
}

/// `MPI_Bcast(root 0)`.
pub(super) fn collective(wait: Wait<'_>) -> String {
    let Operation::Collective { name, root, .. } = wait.operation else {
        return printable(&wait.thread.call);
    };
    let name = match name.is_empty() {
        true => "a collective".into(),
        false => printable(name),
    };
    match root {
        Some(root) => format!("{name}(root {root})"),
        None => name,
    }
}

/// ` for 12 s`.
pub(super) fn duration(ms: u64) -> String {
    match ms {
        0..1000 => " for less than 1 s".into(),
        ms => format!(" for {} s", ms / 1000),
    }
}

/// `tag 7` or `any tag`.
pub(super) fn tag(tag: Option<i32>) -> String {
    tag.map_or("any tag".into(), |tag| format!("tag {tag}"))
}

/// The call as the program made it.
pub(super) fn call(thread: &ThreadState) -> String {
    let call = printable(&thread.call);
    if is_in_finalize(thread) || (call.starts_with("MPI_Init") && thread.arguments.is_empty()) {
        return format!("in {call}");
    }
    if call.is_empty() {
        return "waits in mpi-lite, outside an MPI call".into();
    }
    let arguments = thread.arguments.iter().map(|words| printable(words));
    let arguments = arguments.collect::<Vec<_>>().join(", ");
    format!("{call}({arguments})")
}

/// Where the program called: `solver.c:41 in exchange`.
pub(super) fn at(thread: &ThreadState) -> Option<String> {
    if !thread.python.is_empty() {
        return Some(printable(&thread.python));
    }
    let first = thread.frames.first()?;
    let at = address(first);
    let mut frames = thread.frames.iter();
    match frames.find(|frame| !is_library(&frame.module)) {
        Some(caller) if is_library(&first.module) => {
            Some(format!("{at}, called at {}", address(caller)))
        }
        _ => Some(at),
    }
}

/// `solver.c:41 in exchange`, `exchange+0x1f in solver`, or `solver+0x1234`.
fn address(address: &Address) -> String {
    let module = address.module.rsplit('/').next().unwrap_or_default();
    let (module, function) = (printable(module), printable(&address.function));
    match (address.line.is_empty(), function.is_empty()) {
        (false, false) => format!("{} in {function}", printable(&address.line)),
        (false, true) => printable(&address.line),
        (true, false) => format!("{function}+{:#x} in {module}", address.into_function),
        (true, true) => format!("{module}+{:#x}", address.offset),
    }
}

/// Returns true for the file of a shared library, `libx.so` or `libx.so.3`.
fn is_library(module: &str) -> bool {
    let name = module.rsplit('/').next().unwrap_or_default();
    name.ends_with(".so") || name.contains(".so.")
}

/// What a rank does of which no thread waits.
pub(super) fn computes(state: &RankState) -> String {
    match state.last_call.is_empty() {
        true => "computes".into(),
        false => {
            let call = printable(&state.last_call);
            format!("computes; its last MPI call was {call}")
        }
    }
}

/// What a rank does that does not answer.
pub(super) fn silent(nature: Nature, process: &ProcessSeen) -> String {
    let state = printable(&process.state.to_string());
    match nature {
        Nature::Stopped(_) => format!("is stopped (state {state})"),
        Nature::Runs => "does not wait in MPI".into(),
        _ => format!(
            "does not answer (state {state}, {} ms of processor time in {} ms)",
            process.used_ms, process.waited_ms
        ),
    }
}
