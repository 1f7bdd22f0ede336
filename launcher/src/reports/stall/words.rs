//! Words that the lines and the reasons share.

use mpi_boot::state::{
    Address, CommunicatorState, HeldMessage, MessageKind, Operation, Partitions, Peer, RankState,
    ThreadState,
};

use super::facts::Facts;
use super::waits::{Id, Mail, Nature, Wait, is_in_finalize};
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

impl Facts<'_> {
    /// `a message from rank 1, tag 7, on "halo" (...)`.
    pub(super) fn wanted(&self, wanted: Mail) -> String {
        let (what, tag) = (noun(wanted.kind), tag(wanted.tag));
        let source = self.peer_or_any(wanted.peer, wanted.id);
        format!(
            "{what} from {source}, {tag}{}",
            self.on_described(wanted.id)
        )
    }

    /// `a message from rank 1, tag 8, 4 bytes, on "halo"`.
    pub(super) fn message(&self, rank: u32, held: &HeldMessage, is_described: bool) -> String {
        let id = self.id(rank, held.context);
        let source = self.peer(held.source, id);
        let on = match is_described {
            // The source names the communicator.
            _ if held.source.world.is_none() => String::new(),
            true => self.on_described(id),
            false => self.on(id).replacen(" on", ", on", 1),
        };
        let end = format!("{} bytes{on}", held.bytes);
        if !held.collective.is_empty() {
            let collective = printable(&held.collective);
            return format!("a message of {collective} from {source}, {end}");
        }
        let Some(tag) = held.tag else {
            return format!("partitions from {source}, whose receive was freed, {end}");
        };
        let partitions = partitions(held.kind);
        let partitions = partitions.map_or_else(String::new, |it| format!("{it}, "));
        format!(
            "{} from {source}, tag {tag}, {partitions}{end}",
            noun(held.kind)
        )
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

    pub(super) fn peer_or_any(&self, peer: Option<Peer>, id: Id) -> String {
        peer.map_or_else(|| "any rank".into(), |peer| self.peer(peer, id))
    }

    /// `MPI_COMM_WORLD`, `"halo"`, or `communicator 5` if it has no name.
    pub(super) fn name(&self, id: Id) -> String {
        let described = self.described(id);
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
        let on = self.on(id).replacen(" on", ", on", 1);
        match self.described(id).filter(|it| !is_plain(&it.name)) {
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

/// How many partitions are ready of a send that waits for the others.
pub(super) fn own_partitions(wait: Wait<'_>) -> Option<String> {
    match wait.operation {
        Operation::Send { kind, .. } if !kind.is_ready() => partitions(*kind),
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
    format!("{call}({})", Vec::from_iter(arguments).join(", "))
}

/// Where the program called: `solver.c:41 in exchange`.
pub(super) fn at(thread: &ThreadState) -> Option<String> {
    if !thread.python.is_empty() {
        return Some(printable(&thread.python));
    }
    let first = thread.frames.first()?;
    let at = address(first);
    let mut frames = thread.frames.iter();
    match frames.find(|frame| !is_library(frame)) {
        Some(caller) if is_library(first) => Some(format!("{at}, called at {}", address(caller))),
        _ => Some(at),
    }
}

/// `solver.c:41 in exchange`, `exchange+0x1f in solver`, or `solver+0x1234`.
fn address(address: &Address) -> String {
    let (module, function) = (printable(file(address)), printable(&address.function));
    match (address.line.is_empty(), function.is_empty()) {
        (false, false) => format!("{} in {function}", printable(&address.line)),
        (false, true) => printable(&address.line),
        (true, false) => format!("{function}+{:#x} in {module}", address.into_function),
        (true, true) => format!("{module}+{:#x}", address.offset),
    }
}

/// The name of the file that holds the code.
fn file(address: &Address) -> &str {
    address.module.rsplit('/').next().unwrap_or_default()
}

/// Returns true for an address in a shared library, `libx.so` or `libx.so.3`.
fn is_library(address: &Address) -> bool {
    file(address).ends_with(".so") || file(address).contains(".so.")
}

/// What a rank does of which no thread waits.
pub(super) fn computes(state: &RankState) -> String {
    match state.last_call.is_empty() {
        true => "computes".into(),
        false => format!(
            "computes; its last MPI call was {}",
            printable(&state.last_call)
        ),
    }
}

/// What a rank does that does not answer.
pub(super) fn silent(nature: Nature, process: &ProcessSeen) -> String {
    match nature {
        Nature::Silent => format!(
            "does not answer (state {}, {} ms of processor time in {} ms)",
            shown(process.state),
            process.used_ms,
            process.waited_ms
        ),
        nature => does(nature),
    }
}

/// What a rank of this nature does.
pub(super) fn does(nature: Nature) -> String {
    let (_, words) = nature.words();
    match nature {
        Nature::Stopped(state) => format!("{words} (state {})", shown(state)),
        _ => words.into(),
    }
}

/// The state of a process.
pub(super) fn shown(state: char) -> String {
    printable(&state.to_string())
}

/// What several ranks do, from the words for one.
pub(super) fn in_plural(what: &str) -> String {
    const WORDS: [(&str, &str); 4] = [
        ("has ", "have "),
        ("is ", "are "),
        ("does ", "do "),
        ("computes", "compute"),
    ];
    let mut found = WORDS.iter().filter_map(|(one, several)| {
        let rest = what.strip_prefix(one)?;
        Some(format!("{several}{}", rest.replace("; its ", "; their ")))
    });
    found.next().unwrap_or_else(|| what.to_owned())
}
