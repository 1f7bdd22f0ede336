//! The lines of a report about the ranks.

use std::collections::{BTreeMap, HashMap};

use mpi_boot::state::{HeldMessage, MessageKind, Operation, RankState, ThreadState};

use super::Doing;
use super::analysis::Finding;
use super::collectives::{Form, Meeting};
use super::facts::Facts;
use super::near::{Difference, Messages, Near};
use super::ranks::{ITEMS_MAX, in_words, list};
use super::waits::{Mail, Wait};
use super::words::{
    at, call, collective, computes, does, duration, in_plural, is_plain, noun, own_partitions,
    silent, tag,
};
use crate::failure::{printable, printable_line};

/// Ranks in the same state.
pub(super) struct Group {
    /// Sorted.
    pub(super) ranks: Vec<u32>,
    lines: Vec<Line>,
}

/// A line of a rank.
#[derive(Default)]
struct Line {
    /// What follows the rank: `, thread 1 of 2`, if there are several; `None` in a line that stands
    /// below another one.
    thread: Option<String>,
    what: String,
    /// For how long, in milliseconds: the least of the group.
    ms: Option<u64>,
    /// `, at solver.c:41 in exchange`.
    place: String,
}

impl Group {
    pub(super) fn lines(&self) -> Vec<String> {
        let ranks = in_words(&self.ranks);
        let lines = self.lines.iter().map(|line| {
            let Some(thread) = &line.thread else {
                return printable_line(&format!("  {}", line.what));
            };
            let what = match self.ranks.len() {
                1 => line.what.clone(),
                _ => in_plural(&line.what),
            };
            let time = line.ms.map_or_else(String::new, duration);
            printable_line(&format!("{ranks}{thread}: {what}{time}{}", line.place))
        });
        lines.collect()
    }
}

impl Line {
    fn new(what: String) -> Line {
        let thread = Some(String::new());
        Line {
            thread,
            what,
            ..Line::default()
        }
    }

    fn below(what: String) -> Line {
        Line {
            what,
            ..Line::default()
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
    let attendance = attendance.map(|(it, missing)| (*it, attendance_of(facts, it, missing)));
    let all = Lines {
        facts,
        messages,
        attendance: attendance.collect(),
    };
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for rank in (0..).take(facts.natures.len()) {
        let lines = all.rank(rank);
        // Ranks in the same state have all words in common but the time.
        let words = lines.iter().flat_map(|line| {
            let thread = line.thread.as_deref().unwrap_or_default();
            [thread, &line.what, &line.place]
        });
        let state = Vec::from_iter(words).join("\n");
        let place = *places.entry(state).or_insert(groups.len());
        let Some(known) = groups.get_mut(place) else {
            let ranks = vec![rank];
            groups.push(Group { ranks, lines });
            continue;
        };
        known.ranks.push(rank);
        for (line, other) in known.lines.iter_mut().zip(lines) {
            line.ms = line.ms.min(other.ms);
        }
    }
    groups
}

/// In words: the ranks that have come to a collective, those that have not, and those that did not
/// answer.
type Attendance = [Option<String>; 3];

fn attendance_of(facts: &Facts<'_>, meeting: &Meeting<'_>, missing: &[u32]) -> Attendance {
    let mut come = facts.members(meeting.communicator);
    come.retain(|rank| missing.binary_search(rank).is_err());
    let (unknown, missing): (Vec<u32>, Vec<u32>) = missing.iter().partition(|rank| {
        let nature = facts.natures.get(**rank as usize);
        nature.is_some_and(|nature| nature.is_unheard())
    });
    [come, missing, unknown].map(|ranks| (!ranks.is_empty()).then(|| in_words(&ranks)))
}

/// `has come: ranks 0-2; has not come: rank 3`.
fn at_blocking(attendance: &Attendance) -> String {
    let names = ["has come", "has not come", "not known"].iter();
    let parts = names.zip(attendance).filter_map(|(what, ranks)| {
        let ranks = ranks.as_ref()?;
        Some(format!("{what}: {ranks}"))
    });
    Vec::from_iter(parts).join("; ")
}

/// `ranks 0-2 have begun it, rank 3 has not`.
fn at_request([come, missing, unknown]: &Attendance) -> String {
    let have = |ranks: &String, what: &str| match ranks.starts_with("ranks") {
        true => format!("{ranks} have {what}"),
        false => format!("{ranks} has {what}"),
    };
    let come = come.iter().map(|ranks| have(ranks, "begun it"));
    let missing = missing.iter().map(|ranks| have(ranks, "not"));
    let unknown = unknown.iter().map(|ranks| format!("not known: {ranks}"));
    Vec::from_iter(come.chain(missing).chain(unknown)).join(", ")
}

/// Makes the lines of ranks.
struct Lines<'f, 'a> {
    facts: &'f Facts<'a>,
    messages: &'f Messages<'a>,
    attendance: BTreeMap<Meeting<'a>, Attendance>,
}

impl<'a> Lines<'_, 'a> {
    fn rank(&self, rank: u32) -> Vec<Line> {
        let seen = &self.facts.snapshot.ranks[rank as usize];
        let nature = self.facts.natures[rank as usize];
        vec![match &seen.doing {
            Doing::State(state) if !state.threads.is_empty() => return self.threads(rank, state),
            Doing::State(state) => {
                let mut lines = vec![Line::new(computes(state))];
                lines.extend(self.held(rank, state).into_iter().map(Line::below));
                return lines;
            }
            Doing::Silent(process) => Line {
                ms: process.stopped_ms,
                ..Line::new(silent(nature, process))
            },
            Doing::Unknown => {
                let host = printable(&seen.host);
                Line::new(format!("unknown: host {host} did not answer"))
            }
            Doing::BeforeInit | Doing::OtherMpi | Doing::Finalized | Doing::Ended => {
                Line::new(does(nature))
            }
        }]
    }

    /// A line for each thread, and what stands below.
    fn threads(&self, rank: u32, state: &'a RankState) -> Vec<Line> {
        let count = (state.threads.len() as u64).saturating_add(state.threads_left_out.into());
        let mut lines = Vec::new();
        for (thread, number) in state.threads.iter().take(ITEMS_MAX).zip(1_u64..) {
            lines.push(Line {
                thread: Some(match count {
                    1 => String::new(),
                    count => format!(", thread {number} of {count}"),
                }),
                what: call(thread),
                ms: Some(thread.blocked_ms),
                place: at(thread).map_or_else(String::new, |at| format!(", at {at}")),
            });
            lines.extend(self.operations(rank, thread).into_iter().map(Line::below));
        }
        let more = match count - state.threads.len().min(ITEMS_MAX) as u64 {
            0 => None,
            1 => Some("and 1 more thread that waits".into()),
            more => Some(format!("and {more} more threads that wait")),
        };
        let other = state.may_go_on.then(|| "another thread computes".into());
        let below = more.into_iter().chain(other);
        let below = below.chain(self.held(rank, state));
        let below = below.chain(self.awaited(rank, state));
        lines.extend(below.chain(self.near(rank, state)).map(Line::below));
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
            Operation::Receive(_) | Operation::Probe(_) => facts.wanted(wait.mail()?),
            Operation::Incoming(held) => {
                format!("the rest of {}", facts.message(rank, held, true))
            }
            Operation::Send { bytes, .. } => {
                let mail = wait.mail()?;
                let (what, tag, on) = (noun(mail.kind), tag(mail.tag), facts.on_described(mail.id));
                let dest = facts.peer_or_any(mail.peer, mail.id);
                match own_partitions(wait) {
                    Some(partitions) => format!(
                        "its own partitions of {what} to {dest}, {tag}{on}: {partitions} are ready"
                    ),
                    None => format!("{dest} to receive {what} with {tag}, {bytes} bytes{on}"),
                }
            }
            Operation::Collective { name, .. } => {
                let meeting = Meeting::of(wait)?;
                let attendance = self.attendance.get(&meeting);
                if meeting.form == Form::Blocking {
                    return attendance.map(at_blocking);
                }
                let on = facts.name(meeting.communicator);
                let ranks = attendance.map(|ranks| format!(": {}", at_request(ranks)));
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
                collective(wait) == held.collective && !meeting.is_complete(self.facts)
            })
        })
    }

    /// What the collectives beside the program lack, if the rank waits for one that all have come
    /// to: then it is not a rank that is missing, but a message.
    fn awaited(&self, rank: u32, state: &RankState) -> Vec<String> {
        let waits = self.facts.of_rank(rank).iter();
        let mut meetings = waits.filter_map(|wait| Meeting::of(*wait));
        let is_complete = meetings
            .any(|meeting| meeting.form == Form::Nonblocking && meeting.is_complete(self.facts));
        let awaited = state.awaited.iter().filter(|_| is_complete);
        let awaited = awaited.map(|wanted| {
            let id = self.facts.id(rank, wanted.context);
            format!("lacks {}", self.facts.wanted(Mail::wanted(id, wanted)))
        });
        awaited.collect()
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
        let (mail, facts) = (near.mail, self.facts);
        let source = facts.peer_or_any(mail.peer, mail.id);
        let difference = match difference {
            Difference::Tag => {
                let number = |tag: Option<i32>| tag.map_or("any".into(), |tag| tag.to_string());
                format!("has tag {}, not {}", number(mail.tag), number(wanted.tag))
            }
            Difference::Communicator => {
                let (is, not) = (facts.name(mail.id), facts.name(wanted.id));
                format!("is on {is}, not on {not}")
            }
            Difference::Room => {
                let [bytes, room] = [mail.bytes, wanted.bytes].map(Option::unwrap_or_default);
                format!("has {bytes} bytes, the receive has room for {room}")
            }
            Difference::Kind => match mail.kind {
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

/// Returns true if the arguments of the call are those of its only operation.
fn is_in_its_call(thread: &ThreadState) -> bool {
    let calls = ["MPI_Wait", "MPI_Start", "MPI_Finalize"];
    let is_on_requests =
        thread.call.contains("endrecv") || calls.iter().any(|call| thread.call.starts_with(call));
    let is_alone = thread.operations.len() == 1 && thread.left_out == 0;
    is_alone && !is_on_requests && !thread.call.is_empty()
}
