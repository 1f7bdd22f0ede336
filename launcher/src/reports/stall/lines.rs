//! The lines of a report about the ranks.

use std::collections::{BTreeMap, HashMap};

use mpi_boot::state::{HeldMessage, MessageKind, Operation, RankState, ThreadState};

use super::Doing;
use super::analysis::Finding;
use super::collectives::{Form, Meeting};
use super::facts::Facts;
use super::near::{Difference, Messages, Near};
use super::ranks::{ITEMS_MAX, in_words, list};
use super::waits::Wait;
use super::words::{
    at, call, collective, computes, does, duration, in_plural, is_plain, noun, own_partitions,
    silent,
};
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
    let Finding {
        facts,
        messages,
        missing,
        ..
    } = finding;
    let attendance = missing.iter();
    let attendance = attendance.map(|(it, missing)| (*it, Attendance::new(facts, it, missing)));
    let lines = Lines {
        facts,
        messages,
        attendance: attendance.collect(),
    };
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for rank in (0..).take(facts.natures.len()) {
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
    fn new(facts: &Facts<'_>, meeting: &Meeting<'_>, missing: &[u32]) -> Attendance {
        let mut come = facts.members(meeting.communicator);
        come.retain(|rank| missing.binary_search(rank).is_err());
        let (unknown, missing): (Vec<u32>, Vec<u32>) = missing.iter().partition(|rank| {
            let seen = facts.snapshot.ranks.get(**rank as usize);
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
        let not_known = |ranks: &String| format!("not known: {ranks}");
        let parts = [
            self.come
                .as_ref()
                .map(|ranks| format!("{ranks} {} begun it", have(ranks))),
            self.missing
                .as_ref()
                .map(|ranks| format!("{ranks} {} not", have(ranks))),
            self.unknown.as_ref().map(not_known),
        ];
        Vec::from_iter(parts.into_iter().flatten()).join(", ")
    }
}

/// Makes the lines of ranks.
struct Lines<'f, 'a> {
    facts: &'f Facts<'a>,
    messages: &'f Messages<'a>,
    attendance: BTreeMap<Meeting<'a>, Attendance>,
}

impl<'a> Lines<'_, 'a> {
    /// The group of one rank.
    fn rank(&self, rank: u32) -> Group {
        let seen = &self.facts.snapshot.ranks[rank as usize];
        let nature = self.facts.natures[rank as usize];
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
            Doing::Silent(process) => vec![Head {
                ms: process.stopped_ms,
                ..Head::new(silent(nature, process))
            }],
            Doing::Unknown => {
                let host = printable(&seen.host);
                vec![Head::new(format!("unknown: host {host} did not answer"))]
            }
            Doing::BeforeInit | Doing::OtherMpi | Doing::Finalized | Doing::Ended => {
                vec![Head::new(does(nature))]
            }
        };
        Group {
            ranks: vec![rank],
            heads,
            below,
        }
    }

    /// A line for each thread.
    fn heads(&self, rank: u32, state: &'a RankState) -> Vec<Head> {
        let count = waiting(state);
        let threads = state.threads.iter().take(ITEMS_MAX).zip(1..);
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
    fn below(&self, rank: u32, state: &'a RankState) -> Vec<String> {
        let mut lines = Vec::new();
        match waiting(state) - state.threads.len().min(ITEMS_MAX) as u64 {
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
    fn operations(&self, rank: u32, thread: &'a ThreadState) -> Vec<String> {
        let is_direct = is_in_its_call(thread);
        let mut lines = Vec::new();
        for wait in self.facts.of_thread(rank, thread) {
            lines.extend(self.operation(wait, is_direct));
            if is_direct {
                lines.extend(self.communicator(wait));
            }
        }
        lines.extend(and_more(thread.left_out));
        lines
    }

    /// What an operation waits for, unless the line of its call names it.
    fn operation(&self, wait: Wait<'a>, is_direct: bool) -> Option<String> {
        let (facts, rank) = (self.facts, wait.rank);
        let what = match wait.operation {
            Operation::Receive(_) | Operation::Probe(_) | Operation::Send { .. } if is_direct => {
                return None;
            }
            Operation::Receive(wanted) | Operation::Probe(wanted) => facts.wanted(rank, wanted),
            Operation::Incoming(held) => {
                format!("the rest of {}", facts.message(rank, held, true))
            }
            Operation::Send {
                dest,
                tag,
                bytes,
                kind,
                ..
            } => {
                let id = wait.id?;
                let (dest, on) = (facts.peer(*dest, id), facts.on_described(id));
                let what = noun(*kind);
                match own_partitions(wait) {
                    Some(partitions) => format!(
                        "its own partitions of {what} to {dest}, tag {tag}{on}: {partitions} are \
                         ready"
                    ),
                    None => format!("{dest} to receive {what} with tag {tag}, {bytes} bytes{on}"),
                }
            }
            Operation::Collective { name, .. } => {
                let meeting = Meeting::of(wait)?;
                let attendance = self.attendance.get(&meeting);
                if meeting.form == Form::Blocking {
                    return attendance.map(Attendance::of_blocking);
                }
                let on = facts.name(meeting.communicator);
                let ranks = attendance.map(|ranks| format!(": {}", ranks.of_request()));
                format!("{} on {on}{}", printable(name), ranks.unwrap_or_default())
            }
            Operation::Job => return None,
            Operation::Other(what) => printable(what),
        };
        Some(format!("waits for {what}"))
    }

    /// Explains the communicator that the line of a call names.
    fn communicator(&self, wait: Wait<'_>) -> Option<String> {
        let id = wait.id?;
        let described = self.facts.described_by(wait.rank, id)?;
        if is_plain(&described.name) {
            return None;
        }
        let name = self.facts.name(id);
        let what = match described.name.is_empty() {
            true => "",
            false => "communicator ",
        };
        let made = match described.made.is_empty() {
            true => String::new(),
            false => format!("made by {}, ", printable(&described.made)),
        };
        let members = list(self.facts.in_order(id));
        let to = if members.is_empty() { "" } else { ": " };
        Some(format!(
            "{what}{name}: {made}{} ranks{to}{members}",
            described.size
        ))
    }

    /// Messages that nobody received.
    fn held(&self, rank: u32, state: &RankState) -> Vec<String> {
        let held = state.unexpected.iter();
        let held = held.filter(|held| !self.is_of_a_wait(rank, held));
        let lines = held.map(|held| {
            let message = self.facts.message(rank, held, false);
            format!("holds {message}, that nobody received")
        });
        lines.chain(and_more(state.unexpected_left_out)).collect()
    }

    /// Returns true if a message that a rank holds belongs to a collective in which its sender
    /// still waits for other members to come. Once all have come, the message may be what shows why
    /// it does not end.
    fn is_of_a_wait(&self, rank: u32, held: &HeldMessage) -> bool {
        let id = self.facts.id(rank, held.context);
        let waits = held
            .source
            .world
            .map_or(&[][..], |it| self.facts.of_rank(it));
        waits.iter().any(|&wait| {
            let meeting = Meeting::of(wait).filter(|it| it.communicator == id);
            meeting.is_some_and(|meeting| {
                collective(wait) == held.collective && !meeting.missing(self.facts).is_empty()
            })
        })
    }

    /// What the collectives beside the program lack, if the rank waits for one that all have come
    /// to: then it is not a rank that is missing, but a message.
    fn awaited(&self, rank: u32, state: &RankState) -> Vec<String> {
        let waits = self.facts.of_rank(rank).iter();
        let mut meetings = waits.filter_map(|wait| Meeting::of(*wait));
        let is_complete = meetings.any(|meeting| {
            meeting.form == Form::Nonblocking && meeting.missing(self.facts).is_empty()
        });
        let awaited = state.awaited.iter().filter(|_| is_complete);
        awaited
            .map(|wanted| format!("lacks {}", self.facts.wanted(rank, wanted)))
            .collect()
    }

    /// Messages that receives of a rank nearly take.
    fn near(&self, rank: u32, state: &'a RankState) -> Vec<String> {
        let threads = state.threads.iter().take(ITEMS_MAX);
        let mut lines: Vec<String> = Vec::new();
        for wait in threads.flat_map(|thread| self.facts.of_thread(rank, thread)) {
            for near in self.messages.near(wait, self.facts) {
                let line = self.nearly_fits(wait, near);
                if let Some(line) = line
                    && lines.len() < ITEMS_MAX
                    && !lines.contains(&line)
                {
                    lines.push(line);
                }
            }
        }
        lines
    }

    fn nearly_fits(&self, wait: Wait<'_>, (near, difference): Near<'_>) -> Option<String> {
        let wanted = wait.mail()?;
        let source = self.facts.peer(near.source, near.communicator);
        let difference = match difference {
            Difference::Tag => {
                let tag = wanted.tag.map_or("any".into(), |tag| tag.to_string());
                format!("has tag {}, not {tag}", near.tag)
            }
            Difference::Communicator => {
                let (is, not) = (
                    self.facts.name(near.communicator),
                    self.facts.name(wanted.id),
                );
                format!("is on {is}, not on {not}")
            }
            Difference::Room => {
                let room = wanted.bytes.unwrap_or_default();
                format!("has {} bytes, the receive has room for {room}", near.bytes)
            }
            Difference::Kind => match near.kind {
                MessageKind::Partitioned(_) => "is partitioned, the receive is not".into(),
                _ => "is not partitioned, the receive is".into(),
            },
        };
        Some(format!(
            "nearly fits: the message from {source} {difference}"
        ))
    }
}

/// The line about what a list leaves out.
fn and_more(left_out: u64) -> Option<String> {
    (left_out > 0).then(|| format!("and {left_out} more"))
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
