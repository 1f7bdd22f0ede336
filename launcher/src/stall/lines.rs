//! The lines of a report about the ranks.

use std::collections::HashMap;

use mpi_boot::state::{
    HeldMessage, LISTED_MAX, MessageKind, Operation, RankState, ThreadState, Wanted,
};

use super::Doing;
use super::analysis::Finding;
use super::collectives::{Form, Meeting};
use super::near::{Difference, Near};
use super::ranks::{ITEMS_MAX, in_words, list};
use super::waits::{Nature, Wait, left_out, operations, threads};
use super::words::{at, call, computes, duration, is_plain, noun, partitions, silent};
use crate::failure::{printable, printable_line};

/// Ranks in the same state.
pub(super) struct Group {
    /// Sorted.
    pub(super) ranks: Vec<u32>,
    heads: Vec<Head>,
    /// What stands below them all.
    below: Vec<String>,
}

/// A line that begins with the ranks of a group.
struct Head {
    /// What follows the ranks: `, thread 1 of 2`, if there are several.
    thread: String,
    what: String,
    /// For how long, in milliseconds: the least of the group.
    ms: Option<u64>,
    /// `, at solver.c:41 in exchange`.
    place: String,
    /// What stands below it.
    below: Vec<String>,
}

impl Group {
    pub(super) fn lines(&self) -> Vec<String> {
        let ranks = in_words(&self.ranks);
        let mut lines = Vec::new();
        for head in &self.heads {
            let Head { thread, what, .. } = head;
            let what = match self.ranks.len() {
                1 => what.clone(),
                _ => in_plural(what),
            };
            let time = head.ms.map_or_else(String::new, duration);
            lines.push(format!("{ranks}{thread}: {what}{time}{}", head.place));
            lines.extend(head.below.iter().map(|line| format!("  {line}")));
        }
        lines.extend(self.below.iter().map(|line| format!("  {line}")));
        lines.iter().map(|line| printable_line(line)).collect()
    }

    /// What ranks in the same state have in common: all words but the time.
    fn state(&self) -> String {
        let heads = self.heads.iter().flat_map(|head| {
            let own = [&head.thread, &head.what, &head.place];
            own.into_iter().chain(&head.below)
        });
        let parts = heads.chain(&self.below).map(String::as_str);
        parts.collect::<Vec<_>>().join("\n")
    }

    fn join(&mut self, other: Group) {
        self.ranks.extend(other.ranks);
        for (head, other) in self.heads.iter_mut().zip(other.heads) {
            head.ms = head.ms.min(other.ms);
        }
    }
}

/// What several ranks do, from the words for one.
fn in_plural(what: &str) -> String {
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

impl Head {
    fn new(what: String) -> Head {
        Head {
            thread: String::new(),
            what,
            ms: None,
            place: String::new(),
            below: Vec::new(),
        }
    }
}

/// Groups of ranks in the same state, by their lowest ranks.
pub(super) fn groups(finding: &Finding<'_>) -> Vec<Group> {
    let meetings = finding.missing.iter();
    let lines = Lines {
        finding,
        attendance: meetings
            .map(|(meeting, missing)| (meeting, Attendance::new(finding, meeting, missing)))
            .collect(),
    };
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for rank in (0..).take(finding.snapshot.ranks.len()) {
        let group = lines.rank(rank);
        let place = *places.entry(group.state()).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(known) => known.join(group),
            None => groups.push(group),
        }
    }
    groups
}

/// Which ranks have come to a collective, in words.
struct Attendance {
    come: Option<String>,
    missing: Option<String>,
    /// Ranks that did not answer.
    unknown: Option<String>,
}

impl Attendance {
    fn new(finding: &Finding<'_>, meeting: &Meeting, missing: &[u32]) -> Attendance {
        let mut come = finding.communicators.members(meeting.communicator);
        come.retain(|rank| missing.binary_search(rank).is_err());
        let (unknown, missing): (Vec<u32>, Vec<u32>) = missing.iter().partition(|rank| {
            let seen = finding.snapshot.ranks.get(**rank as usize);
            seen.is_some_and(|seen| matches!(seen.doing, Doing::Silent(_) | Doing::Unknown))
        });
        let words = |ranks: &[u32]| (!ranks.is_empty()).then(|| in_words(ranks));
        Attendance {
            come: words(&come),
            missing: words(&missing),
            unknown: words(&unknown),
        }
    }

    /// `has come: ranks 0-2; has not come: rank 3`.
    fn of_blocking(&self) -> String {
        let parts = [
            ("has come", &self.come),
            ("has not come", &self.missing),
            ("not known", &self.unknown),
        ];
        let parts = parts.into_iter().filter_map(|(what, ranks)| {
            let ranks = ranks.as_ref()?;
            Some(format!("{what}: {ranks}"))
        });
        parts.collect::<Vec<_>>().join("; ")
    }

    /// `ranks 0-2 have begun it, rank 3 has not`.
    fn of_request(&self) -> String {
        let have = |ranks: &str| match ranks.starts_with("ranks") {
            true => "have",
            false => "has",
        };
        let come = self.come.as_ref();
        let missing = self.missing.as_ref();
        let unknown = self.unknown.as_ref();
        let parts = [
            come.map(|ranks| format!("{ranks} {} begun it", have(ranks))),
            missing.map(|ranks| format!("{ranks} {} not", have(ranks))),
            unknown.map(|ranks| format!("not known: {ranks}")),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// Makes the lines of ranks.
struct Lines<'f, 'a> {
    finding: &'f Finding<'a>,
    attendance: HashMap<&'f Meeting, Attendance>,
}

impl Lines<'_, '_> {
    /// The group of one rank.
    fn rank(&self, rank: u32) -> Group {
        let seen = &self.finding.snapshot.ranks[rank as usize];
        let mut below = Vec::new();
        let heads = match &seen.doing {
            Doing::Answered(state) if state.threads.is_empty() => {
                below = self.held(rank, state);
                vec![Head::new(computes(state))]
            }
            Doing::Answered(state) => {
                below = self.below(rank, state);
                self.heads(rank, state)
            }
            Doing::BeforeInit => vec![Head::new("has not called MPI_Init".into())],
            Doing::OtherMpi => vec![Head::new("runs a program of another MPI".into())],
            Doing::Finalized => vec![Head::new("has finalized".into())],
            Doing::Ended => vec![Head::new("has ended".into())],
            Doing::Silent(process) => vec![Head {
                ms: process.stopped_ms,
                ..Head::new(silent(Nature::of(seen), process))
            }],
            Doing::Unknown => {
                let host = printable(&seen.host);
                vec![Head::new(format!("unknown: host {host} did not answer"))]
            }
        };
        Group {
            ranks: vec![rank],
            heads,
            below,
        }
    }

    /// A line for each thread.
    fn heads(&self, rank: u32, state: &RankState) -> Vec<Head> {
        let count = waiting(state);
        let threads = threads(state).iter().take(ITEMS_MAX).zip(1..);
        let heads = threads.map(|(thread, number)| Head {
            thread: match count {
                1 => String::new(),
                count => format!(", thread {number} of {count}"),
            },
            what: call(thread),
            ms: Some(thread.blocked_ms),
            place: at(thread).map_or_else(String::new, |at| format!(", at {at}")),
            below: self.operations(rank, thread),
        });
        heads.collect()
    }

    /// What stands below the lines of the threads of a rank.
    fn below(&self, rank: u32, state: &RankState) -> Vec<String> {
        let mut lines = Vec::new();
        match waiting(state) - threads(state).len().min(ITEMS_MAX) as u64 {
            0 => (),
            1 => lines.push("and 1 more thread that waits".into()),
            more => lines.push(format!("and {more} more threads that wait")),
        }
        if state.may_go_on {
            lines.push("another thread computes".into());
        }
        lines.extend(self.held(rank, state));
        lines.extend(self.awaited(rank, state));
        lines.extend(self.near(rank, state));
        lines
    }

    /// What a thread waits for.
    fn operations(&self, rank: u32, thread: &ThreadState) -> Vec<String> {
        let mut lines = Vec::new();
        let is_direct = is_in_its_call(thread);
        for operation in operations(thread) {
            let wait = Wait {
                rank,
                thread,
                operation,
            };
            lines.extend(self.operation(wait, is_direct));
            if is_direct {
                lines.extend(self.communicator(wait));
            }
        }
        match left_out(thread) {
            0 => (),
            more => lines.push(format!("and {more} more")),
        }
        lines
    }

    /// What an operation waits for, unless the line of its call names it.
    fn operation(&self, wait: Wait<'_>, is_direct: bool) -> Option<String> {
        let rank = wait.rank;
        match wait.operation {
            Operation::Receive(_) | Operation::Probe(_) | Operation::Send { .. } if is_direct => {
                None
            }
            Operation::Receive(wanted) | Operation::Probe(wanted) => {
                Some(format!("waits for {}", self.finding.wanted(rank, wanted)))
            }
            Operation::Incoming(held) => Some(format!(
                "waits for the rest of {}",
                self.finding.message(rank, held, true)
            )),
            Operation::Send {
                context,
                dest,
                tag,
                bytes,
                kind,
                ..
            } => {
                let id = self.finding.communicators.id(rank, *context);
                let dest = self.finding.peer(*dest, id);
                let on = self.finding.on_described(id);
                let what = noun(*kind);
                Some(match partitions(*kind).filter(|_| !kind.is_ready()) {
                    Some(partitions) => format!(
                        "waits for its own partitions of {what} to {dest}, tag {tag}{on}: \
                         {partitions} are ready"
                    ),
                    None => format!(
                        "waits for {dest} to receive {what} with tag {tag}, {bytes} bytes{on}"
                    ),
                })
            }
            Operation::Collective { .. } => self.collective(wait),
            Operation::Job => None,
            Operation::Other(what) => Some(format!("waits for {}", printable(what))),
        }
    }

    /// Which ranks have come to a collective, and which have not, as far as that is known.
    fn collective(&self, wait: Wait<'_>) -> Option<String> {
        let Operation::Collective { name, .. } = wait.operation else {
            return None;
        };
        let meeting = Meeting::of(wait, &self.finding.communicators)?;
        let attendance = self.attendance.get(&meeting);
        if meeting.form == Form::Blocking {
            return attendance.map(Attendance::of_blocking);
        }
        let on = self.finding.name(meeting.communicator);
        let ranks = attendance.map(|ranks| format!(": {}", ranks.of_request()));
        let ranks = ranks.unwrap_or_default();
        Some(format!("waits for {} on {on}{ranks}", printable(name)))
    }

    /// Explains the communicator that the line of a call names.
    fn communicator(&self, wait: Wait<'_>) -> Option<String> {
        let context = match wait.operation {
            Operation::Receive(wanted) | Operation::Probe(wanted) => wanted.context,
            Operation::Incoming(held) => held.context,
            Operation::Send { context, .. } | Operation::Collective { context, .. } => *context,
            Operation::Job | Operation::Other(_) => return None,
        };
        let id = self.finding.communicators.id(wait.rank, context);
        let described = self.finding.communicators.of_rank(wait.rank, id)?;
        if is_plain(&described.name) {
            return None;
        }
        let name = self.finding.name(id);
        let name = match described.name.is_empty() {
            true => name,
            false => format!("communicator {name}"),
        };
        let made = match described.made.is_empty() {
            true => String::new(),
            false => format!("made by {}, ", printable(&described.made)),
        };
        let size = described.size;
        let members = list(self.finding.communicators.in_order(id));
        let members = match members.is_empty() {
            true => String::new(),
            false => format!(": {members}"),
        };
        Some(format!("{name}: {made}{size} ranks{members}"))
    }

    /// Returns true if a message belongs to a collective in which its sender still waits.
    fn is_of_a_wait(&self, rank: u32, held: &HeldMessage) -> bool {
        let Finding {
            messages,
            communicators,
            ..
        } = self.finding;
        messages.is_of_a_wait(rank, held, communicators)
    }

    /// Messages that nobody received.
    fn held(&self, rank: u32, state: &RankState) -> Vec<String> {
        let listed = state.unexpected.iter().take(LISTED_MAX);
        let mut lines: Vec<String> = listed
            .filter(|held| !self.is_of_a_wait(rank, held))
            .map(|held| {
                let message = self.finding.message(rank, held, false);
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

    /// What the collectives beside the program lack, if the rank waits for one that all have come
    /// to: then it is not a rank that is missing, but a message.
    fn awaited(&self, rank: u32, state: &RankState) -> Vec<String> {
        let communicators = &self.finding.communicators;
        let waits = threads(state).iter().flat_map(|thread| {
            let operations = operations(thread).iter();
            operations.map(move |operation| Wait {
                rank,
                thread,
                operation,
            })
        });
        let mut meetings = waits.filter_map(|wait| Meeting::of(wait, communicators));
        let is_complete = meetings.any(|meeting| {
            meeting.form == Form::Nonblocking && meeting.missing(communicators).is_empty()
        });
        let awaited = state.awaited.iter().take(LISTED_MAX);
        let lines = awaited
            .filter(|_| is_complete)
            .map(|wanted| format!("lacks {}", self.finding.wanted(rank, wanted)));
        lines.collect()
    }

    /// Messages that receives of a rank nearly take.
    fn near(&self, rank: u32, state: &RankState) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for thread in threads(state).iter().take(ITEMS_MAX) {
            for operation in operations(thread) {
                let (Operation::Receive(wanted) | Operation::Probe(wanted)) = operation else {
                    continue;
                };
                let near = self
                    .finding
                    .messages
                    .near(rank, wanted, &self.finding.communicators);
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
        let source = self.finding.peer(near.source, near.communicator);
        let difference = match near.difference {
            Difference::Tag => {
                let tag = wanted.tag.map_or("any".into(), |tag| tag.to_string());
                format!("has tag {}, not {tag}", near.tag)
            }
            Difference::Communicator => {
                let id = self.finding.communicators.id(rank, wanted.context);
                let (is, not) = (self.finding.name(near.communicator), self.finding.name(id));
                format!("is on {is}, not on {not}")
            }
            Difference::Room => {
                let room = wanted.room.unwrap_or_default();
                format!("has {} bytes, the receive has room for {room}", near.bytes)
            }
            Difference::Kind => match near.kind {
                MessageKind::Partitioned(_) => "is partitioned, the receive is not".into(),
                _ => "is not partitioned, the receive is".into(),
            },
        };
        format!("nearly fits: the message from {source} {difference}")
    }
}

/// How many threads of a rank wait.
fn waiting(state: &RankState) -> u64 {
    (state.threads.len() as u64).saturating_add(state.threads_left_out.into())
}

/// Returns true if the arguments of the call are those of its only operation.
fn is_in_its_call(thread: &ThreadState) -> bool {
    let calls = ["MPI_Wait", "MPI_Start", "MPI_Finalize"];
    let is_on_requests =
        thread.call.contains("endrecv") || calls.iter().any(|call| thread.call.starts_with(call));
    let is_alone = thread.operations.len() == 1 && thread.left_out == 0;
    is_alone && !is_on_requests && !thread.call.is_empty()
}
