//! The lines of a report about the ranks. The reasons are in [`super::sentences`].

use std::collections::HashMap;

use mpi_lite::boot::state::{
    Address, CommunicatorState, HeldMessage, LISTED_MAX, Operation, Peer, RankState, ThreadState,
    Wanted,
};

use super::analysis::Finding;
use super::collectives::{Form, Meeting};
use super::communicators::Id;
use super::near::{Difference, Near};
use super::ranks::{ITEMS_MAX, in_words, list};
use super::waits::{Nature, Wait, is_in_finalize, left_out, operations, threads};
use super::{Doing, Occasion, ProcessSeen};
use crate::failure::{printable, printable_line};

/// The names of the communicators that need no explanation.
const WORLD: &str = "MPI_COMM_WORLD";
const SELF: &str = "MPI_COMM_SELF";

/// Ranks in the same state.
pub(super) struct Group {
    /// Sorted.
    pub(super) ranks: Vec<u32>,
    /// Without the ranks.
    heads: Vec<Head>,
    /// What stands below them.
    below: Vec<String>,
}

/// The line of a thread, but for the time that it waits.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Head {
    /// `, thread 1 of 2`, if there are several.
    thread: String,
    before: String,
    after: String,
}

/// A line for a group: its text and how long it lasts, in milliseconds.
type Timed = (Head, Option<u64>);

impl Group {
    /// The lines of the group.
    pub(super) fn lines(&self, times: &[Option<u64>]) -> Vec<String> {
        let ranks = in_words(&self.ranks);
        let heads = self.heads.iter().zip(times).map(|(head, time)| {
            let time = time.map_or_else(String::new, duration);
            let Head {
                thread,
                before,
                after,
            } = head;
            format!("{ranks}{thread}: {before}{time}{after}")
        });
        let below = self.below.iter().map(|line| format!("  {line}"));
        heads
            .chain(below)
            .map(|line| printable_line(&line))
            .collect()
    }
}

fn duration(ms: u64) -> String {
    match ms {
        0..1000 => " for less than 1 s".into(),
        ms => format!(" for {} s", ms / 1000),
    }
}

/// The first line of a report.
pub(super) fn title(occasion: &Occasion) -> String {
    match occasion {
        Occasion::Stall { seconds } => {
            format!("the job hangs: no rank has gone on for {seconds} s (--stall-after)")
        }
        Occasion::Asked => "what the ranks do (SIGQUIT)".into(),
        Occasion::Timeout => "what the ranks do at the end of --timeout".into(),
    }
}

/// The groups of ranks in the same state by their lowest ranks, each with its lines.
pub(super) fn groups(finding: &Finding<'_>) -> Vec<(Group, Vec<String>)> {
    let mut places: HashMap<(Vec<Head>, Vec<String>), usize> = HashMap::new();
    let mut groups: Vec<(Group, Vec<Option<u64>>)> = Vec::new();
    for rank in (0..).take(finding.snapshot.ranks.len()) {
        let (timed, below) = finding.rank(rank);
        let (heads, times): (Vec<Head>, Vec<Option<u64>>) = timed.into_iter().unzip();
        let next = groups.len();
        let place = *places.entry((heads.clone(), below.clone())).or_insert(next);
        if let Some((group, least)) = groups.get_mut(place) {
            group.ranks.push(rank);
            for (least, time) in least.iter_mut().zip(times) {
                *least = (*least).min(time);
            }
        } else {
            let ranks = vec![rank];
            let group = Group {
                ranks,
                heads,
                below,
            };
            groups.push((group, times));
        }
    }
    let groups = groups.into_iter().map(|(group, times)| {
        let lines = group.lines(&times);
        (group, lines)
    });
    groups.collect()
}

impl Finding<'_> {
    /// The lines of a rank, and those below them.
    fn rank(&self, rank: u32) -> (Vec<Timed>, Vec<String>) {
        let seen = &self.snapshot.ranks[rank as usize];
        let line = |text: String| {
            let head = Head {
                thread: String::new(),
                before: text,
                after: String::new(),
            };
            (vec![(head, None)], Vec::new())
        };
        match &seen.doing {
            Doing::Answered(state) if state.threads.is_empty() => {
                let (mut heads, _) = line(computes(state));
                heads.truncate(1);
                (heads, self.held(rank, state))
            }
            Doing::Answered(state) => (self.heads(state), self.below(rank, state)),
            Doing::BeforeInit => line("has not called MPI_Init".into()),
            Doing::Finalized => line("has finalized".into()),
            Doing::Ended => line("has ended".into()),
            Doing::Silent(process) => {
                let head = Head {
                    thread: String::new(),
                    before: silent(Nature::of(seen), process),
                    after: String::new(),
                };
                (vec![(head, process.stopped_ms)], Vec::new())
            }
            Doing::Unknown => {
                let host = printable(&seen.host);
                line(format!("unknown: host {host} did not answer"))
            }
        }
    }

    /// A line for each thread.
    fn heads(&self, state: &RankState) -> Vec<Timed> {
        let more = u32::try_from(state.threads.len()).unwrap_or(u32::MAX);
        let count = more.saturating_add(state.threads_left_out);
        let threads = threads(state).iter().take(ITEMS_MAX).enumerate();
        let heads = threads.map(|(number, thread)| {
            let head = Head {
                thread: match count {
                    1 => String::new(),
                    count => format!(", thread {} of {count}", number + 1),
                },
                before: call(thread),
                after: at(thread).map_or_else(String::new, |at| format!(", at {at}")),
            };
            (head, Some(thread.blocked_ms))
        });
        heads.collect()
    }

    /// What stands below the lines of a rank that waits.
    fn below(&self, rank: u32, state: &RankState) -> Vec<String> {
        let mut lines = Vec::new();
        for thread in threads(state).iter().take(ITEMS_MAX) {
            self.operations(rank, thread, &mut lines);
        }
        let count = state.threads.len() as u64 + u64::from(state.threads_left_out);
        if count > ITEMS_MAX as u64 {
            let more = count - ITEMS_MAX as u64;
            lines.push(format!("and {more} more threads that wait"));
        }
        if state.may_go_on {
            lines.push("another thread computes".into());
        }
        lines.extend(self.held(rank, state));
        lines.extend(self.near(rank, state));
        lines
    }

    fn operations(&self, rank: u32, thread: &ThreadState, lines: &mut Vec<String>) {
        let is_direct = is_in_its_call(thread);
        for operation in operations(thread) {
            let wait = Wait {
                rank,
                thread,
                operation,
            };
            if let Some(line) = self.operation(wait, is_direct) {
                lines.push(line);
            }
            if is_direct && let Some(line) = self.communicator(wait) {
                lines.push(line);
            }
        }
        match left_out(thread) {
            0 => (),
            more => lines.push(format!("and {more} more")),
        }
    }

    /// What an operation waits for, unless the line of its call names it.
    fn operation(&self, wait: Wait<'_>, is_direct: bool) -> Option<String> {
        let rank = wait.rank;
        match wait.operation {
            Operation::Receive(_) | Operation::Probe(_) | Operation::Send { .. } if is_direct => {
                None
            }
            Operation::Receive(wanted) | Operation::Probe(wanted) => {
                Some(format!("waits for a message {}", self.wanted(rank, wanted)))
            }
            Operation::Incoming(held) => Some(format!(
                "waits for the rest of {}",
                self.message(rank, held, true)
            )),
            Operation::Send {
                context,
                dest,
                tag,
                bytes,
                ..
            } => {
                let id = self.communicators.id(rank, *context);
                let dest = self.peer(*dest, id);
                let on = self.on_described(id);
                Some(format!(
                    "waits for {dest} to receive a message with tag {tag}, {bytes} bytes{on}"
                ))
            }
            Operation::Collective { .. } => self.collective(wait),
            Operation::Job => None,
            Operation::Other(what) => Some(format!("waits for {}", printable(what))),
        }
    }

    /// Who has come to a collective and who has not.
    fn collective(&self, wait: Wait<'_>) -> Option<String> {
        let Operation::Collective {
            name, is_blocking, ..
        } = wait.operation
        else {
            return None;
        };
        let meeting = Meeting::of(wait, &self.communicators)?;
        let missing = self.missing.get(&meeting)?;
        let mut come = self.communicators.members(meeting.communicator);
        come.retain(|rank| missing.binary_search(rank).is_err());
        let is_silent = |rank: &u32| {
            let seen = self.snapshot.ranks.get(*rank as usize);
            seen.is_some_and(|seen| matches!(seen.doing, Doing::Silent(_) | Doing::Unknown))
        };
        let (unknown, missing): (Vec<u32>, Vec<u32>) = missing.iter().partition(|r| is_silent(r));
        let some = |text: &str, ranks: &[u32]| {
            let words = (!ranks.is_empty()).then(|| in_words(ranks));
            words.map(|ranks| text.replace("RANKS", &ranks))
        };
        if *is_blocking && meeting.form == Form::Blocking {
            let parts = [
                some("has come: RANKS", &come),
                some("has not come: RANKS", &missing),
                some("not known: RANKS", &unknown),
            ];
            return Some(parts.into_iter().flatten().collect::<Vec<_>>().join("; "));
        }
        let parts = [
            some("RANKS has begun it", &come),
            some("RANKS has not", &missing),
            some("not known: RANKS", &unknown),
        ];
        let parts: Vec<String> = parts
            .into_iter()
            .flatten()
            .map(|part| match part.starts_with("ranks") {
                true => part.replacen(" has ", " have ", 1),
                false => part,
            })
            .collect();
        let on = self.name(meeting.communicator);
        let name = printable(name);
        Some(format!("waits for {name} on {on}: {}", parts.join(", ")))
    }

    /// Explains the communicator that the line of a call names.
    fn communicator(&self, wait: Wait<'_>) -> Option<String> {
        let context = match wait.operation {
            Operation::Receive(wanted) | Operation::Probe(wanted) => wanted.context,
            Operation::Incoming(held) => held.context,
            Operation::Send { context, .. } | Operation::Collective { context, .. } => *context,
            Operation::Job | Operation::Other(_) => return None,
        };
        let id = self.communicators.id(wait.rank, context);
        let described = self.communicators.of_rank(wait.rank, id)?;
        if is_plain(&described.name) {
            return None;
        }
        let name = self.name(id);
        let name = match described.name.is_empty() {
            true => name,
            false => format!("communicator {name}"),
        };
        let made = match described.made.is_empty() {
            true => String::new(),
            false => format!("made by {}, ", printable(&described.made)),
        };
        let size = described.size;
        let members = list(self.communicators.in_order(id));
        let members = match members.is_empty() {
            true => String::new(),
            false => format!(": {members}"),
        };
        Some(format!("{name}: {made}{size} ranks{members}"))
    }

    /// Messages that nobody received.
    fn held(&self, rank: u32, state: &RankState) -> Vec<String> {
        let listed = state.unexpected.iter().take(LISTED_MAX);
        let mut lines: Vec<String> = listed
            .map(|held| {
                let message = self.message(rank, held, false);
                format!("holds {message}, that nobody received")
            })
            .collect();
        let beyond = state.unexpected.len().saturating_sub(LISTED_MAX) as u64;
        match state.unexpected_left_out.saturating_add(beyond) {
            0 => (),
            more => lines.push(format!("and {more} more")),
        }
        lines
    }

    /// Messages that receives of a rank nearly take.
    fn near(&self, rank: u32, state: &RankState) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for thread in threads(state).iter().take(ITEMS_MAX) {
            for operation in operations(thread) {
                let (Operation::Receive(wanted) | Operation::Probe(wanted)) = operation else {
                    continue;
                };
                let near = self.messages.near(rank, wanted, &self.communicators);
                let near = near.iter().map(|near| self.nearly_fits(rank, wanted, near));
                for line in near {
                    if lines.len() < ITEMS_MAX && !lines.contains(&line) {
                        lines.push(line);
                    }
                }
            }
        }
        lines
    }

    fn nearly_fits(&self, rank: u32, wanted: &Wanted, near: &Near<'_>) -> String {
        let source = self.peer(near.source, near.communicator);
        let difference = match near.difference {
            Difference::Tag => {
                let tag = wanted.tag.map_or("any".into(), |tag| tag.to_string());
                format!("has tag {}, not {tag}", near.tag)
            }
            Difference::Communicator => {
                let id = self.communicators.id(rank, wanted.context);
                let (is, not) = (self.name(near.communicator), self.name(id));
                format!("is on {is}, not on {not}")
            }
            Difference::Room => {
                let room = wanted.room.unwrap_or_default();
                format!("has {} bytes, the receive has room for {room}", near.bytes)
            }
        };
        format!("nearly fits: the message from {source} {difference}")
    }

    /// `from rank 1, tag 7, on "halo" (...)`.
    fn wanted(&self, rank: u32, wanted: &Wanted) -> String {
        let id = self.communicators.id(rank, wanted.context);
        let source = wanted
            .source
            .map_or("any rank".into(), |source| self.peer(source, id));
        let tag = tag(wanted.tag);
        format!("from {source}, {tag}{}", self.on_described(id))
    }

    /// `a message from rank 1, tag 8, 4 bytes, on "halo"`.
    fn message(&self, rank: u32, held: &HeldMessage, is_described: bool) -> String {
        let id = self.communicators.id(rank, held.context);
        let source = self.peer(held.source, id);
        let on = match is_described {
            true => self.on_described(id),
            false => self.on(id).replacen(" on", ", on", 1),
        };
        let bytes = held.bytes;
        match held.collective.is_empty() {
            true => format!(
                "a message from {source}, tag {}, {bytes} bytes{on}",
                held.tag
            ),
            false => {
                let collective = printable(&held.collective);
                format!("a message of {collective} from {source}, {bytes} bytes{on}")
            }
        }
    }

    /// `rank 6`, or `rank 6 (3 in "halo")` if the communicator numbers it otherwise.
    pub(super) fn peer(&self, peer: Peer, id: Id) -> String {
        match peer.rank == peer.world {
            true => format!("rank {}", peer.world),
            false => format!("rank {} ({} in {})", peer.world, peer.rank, self.name(id)),
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
    fn on_described(&self, id: Id) -> String {
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

fn is_plain(name: &str) -> bool {
    [WORLD, SELF].contains(&name)
}

/// `tag 7` or `any tag`.
pub(super) fn tag(tag: Option<i32>) -> String {
    tag.map_or("any tag".into(), |tag| format!("tag {tag}"))
}

/// Returns true if the arguments of the call are those of its only operation.
fn is_in_its_call(thread: &ThreadState) -> bool {
    let is_on_requests = thread.call.starts_with("MPI_Wait") || thread.call.contains("endrecv");
    let is_alone = thread.operations.len() == 1 && thread.left_out == 0;
    is_alone && !is_on_requests && !thread.call.is_empty()
}

fn computes(state: &RankState) -> String {
    match state.last_call.is_empty() {
        true => "computes".into(),
        false => {
            let call = printable(&state.last_call);
            format!("computes; its last MPI call was {call}")
        }
    }
}

fn silent(nature: Nature, process: &ProcessSeen) -> String {
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

/// The call as the program made it.
fn call(thread: &ThreadState) -> String {
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
