//! The reasons of a report, one sentence each.

use mpi_boot::state::{FailedCall, HeldMessage, MessageKind, Operation};

use super::analysis::{Finding, Link, Reason};
use super::collectives::Mixed;
use super::communicators::{Id, states};
use super::near::{Difference, Near};
use super::ranks::in_words;
use super::waits::{Nature, Wait};
use super::words::{collective, never_meet, noun, partitions, tag};
use crate::failure::{printable, printable_line};

/// The most clauses of a sentence, and how many are left of more.
const CLAUSES_MAX: usize = 6;

impl Finding<'_> {
    /// A reason as a sentence, without "reason: ".
    pub(super) fn sentence(&self, reason: &Reason<'_>) -> String {
        let failed = self.failed_call(reason);
        let sentence = match reason {
            Reason::Cycle(links) => self.cycle(links),
            Reason::Near(wait, near) => self.near_sentence(*wait, near),
            Reason::Mixed(mixed) => self.mixed(mixed, failed.as_deref()),
            Reason::End(nature, ranks, links) => self.end(*nature, ranks, links),
            Reason::AnySource(wait, over) => self.any_source(*wait, over.as_ref()),
            Reason::OtherCollective(wait, held) => self.other_collective(*wait, held),
            Reason::OnItsWay(wait) => self.on_its_way(*wait),
            Reason::NotFound => "no reason found: see the lines above".into(),
        };
        let sentence = match (reason, failed) {
            (Reason::Mixed(_), _) | (_, None) => sentence,
            (_, Some(failed)) => format!("{sentence}; {failed}"),
        };
        printable_line(&sentence)
    }

    /// `MPI_Bcast has failed on rank 0: the error`, if ranks wait in a collective that has returned
    /// an error on another rank.
    fn failed_call(&self, reason: &Reason<'_>) -> Option<String> {
        let waits = reason.waits();
        let has_left = |rank: u32, call: &FailedCall| {
            let is_in = |wait: &&Wait<'_>| self.is_in_failed(wait.rank, wait.operation, rank, call);
            let mut others = waits.iter().filter(is_in).peekable();
            others.peek().is_some() && others.all(|wait| wait.rank != rank)
        };
        let mut failed = states(self.snapshot).map(|(rank, state)| (rank, &state.failed_call));
        let (rank, call) = failed.find(|(rank, call)| has_left(*rank, call))?;
        Some(format!(
            "{} has failed on rank {rank}: {}",
            printable(&call.name),
            printable(&call.why)
        ))
    }

    /// Returns true if an operation of a rank is the collective that has failed on another rank.
    /// One that was refused has not been counted there, one that failed later has.
    fn is_in_failed(
        &self,
        rank: u32,
        operation: &Operation,
        other: u32,
        call: &FailedCall,
    ) -> bool {
        let Operation::Collective {
            context,
            name,
            number,
            is_blocking,
            ..
        } = operation
        else {
            return false;
        };
        let id = |rank, context| self.communicators.id(rank, context);
        let is_there = call.context.map(|context| id(other, context)) == Some(id(rank, *context));
        let begun = match *is_blocking {
            true => call.begun,
            false => call.begun_nonblocking,
        };
        // A persistent one has no number.
        let is_then = *number == 0 || [begun, begun.saturating_add(1)].contains(number);
        *name == call.name && is_there && is_then
    }

    fn cycle(&self, links: &[Link<'_>]) -> String {
        if let [link] = links {
            return self.with_itself(link.wait);
        }
        let mut links: Vec<&Link<'_>> = links.iter().collect();
        // The one that keeps all others from a collective comes first.
        if links.iter().filter(|link| is_set(link)).count() == 1
            && let Some(place) = links.iter().position(is_set)
        {
            let next = (place + 1) % links.len();
            links.rotate_left(next);
        }
        let are_all = |is: fn(&Operation) -> bool| links.iter().all(|l| is(l.wait.operation));
        let end = if are_all(|o| matches!(o, Operation::Receive(_) | Operation::Probe(_))) {
            "nobody sends"
        } else if are_all(|o| matches!(o, Operation::Send { .. })) {
            "nobody receives"
        } else {
            "they wait for each other"
        };
        let clauses = links.iter().map(|link| self.link_clause(link));
        format!("{}: {end}", joined(clauses.collect()))
    }

    fn link_clause(&self, link: &Link<'_>) -> String {
        match &link.set {
            Some((ranks, missing)) => {
                let call = self.call(link.wait);
                format!("{} in {call} for {}", wait_s(ranks), in_words(missing))
            }
            None => self.clause(link.wait),
        }
    }

    /// `rank 0 waits in MPI_Recv for rank 1, tag 7`.
    fn clause(&self, wait: Wait<'_>) -> String {
        let (rank, call) = (wait.rank, self.call(wait));
        let on = |context| self.on(self.communicators.id(rank, context));
        let id = |context| self.communicators.id(rank, context);
        let waits = format!("rank {rank} waits in {call}");
        match wait.operation {
            Operation::Receive(wanted) | Operation::Probe(wanted) => {
                let source = match wanted.source {
                    None => "any rank".into(),
                    Some(source) if source.world == Some(rank) => "itself".into(),
                    Some(source) => self.peer(source, id(wanted.context)),
                };
                let (tag, on) = (tag(wanted.tag), on(wanted.context));
                match wanted.kind {
                    MessageKind::Ordinary => format!("{waits} for {source}, {tag}{on}"),
                    // The call says the rest.
                    MessageKind::Creation => format!("{waits} for {source}{on}"),
                    MessageKind::Partitioned(_) => {
                        format!("{waits} for a partitioned message from {source}, {tag}{on}")
                    }
                }
            }
            Operation::Send {
                context,
                dest,
                tag,
                kind,
                ..
            } => {
                let (dest, on) = (self.peer(*dest, id(*context)), on(*context));
                match (kind, partitions(*kind)) {
                    (MessageKind::Creation, _) => format!("{waits} for {dest}{on}"),
                    (kind, Some(partitions)) if !kind.is_ready() => format!(
                        "{waits} for its own partitioned message to {dest}, tag {tag}{on}, of \
                         which {partitions} are ready"
                    ),
                    (MessageKind::Partitioned(_), _) => {
                        format!("{waits} until {dest} receives the partitioned tag {tag}{on}")
                    }
                    (MessageKind::Ordinary, _) => {
                        format!("{waits} until {dest} receives tag {tag}{on}")
                    }
                }
            }
            Operation::Incoming(held) => {
                let (source, on) = (self.peer(held.source, id(held.context)), on(held.context));
                let (tag, here) = (tag(held.tag), partitions(held.kind));
                let here = here.map_or_else(String::new, |here| format!(" ({here} have come)"));
                format!("{waits} for the rest of the message from {source}, {tag}{on}{here}")
            }
            _ => waits,
        }
    }

    /// The call that the program made, with the collective if it waits for one:
    /// `MPI_Bcast(root 0)`, `MPI_Barrier on "halo"` or `MPI_Wait (MPI_Ibarrier)`.
    fn call(&self, wait: Wait<'_>) -> String {
        let call = match wait.thread.call.as_str() {
            "" => "mpi-lite".into(),
            call => printable(call),
        };
        let Operation::Collective {
            context,
            is_blocking,
            ..
        } = wait.operation
        else {
            return call;
        };
        let on = self.on(self.communicators.id(wait.rank, *context));
        let collective = collective(wait);
        match *is_blocking {
            true => format!("{collective}{on}"),
            false => format!("{call} ({collective}{on})"),
        }
    }

    fn with_itself(&self, wait: Wait<'_>) -> String {
        let rank = wait.rank;
        match wait.operation {
            Operation::Send { kind, .. } if !kind.is_ready() => {
                format!("{}: call MPI_Pready for the others", self.clause(wait))
            }
            Operation::Send { context, tag, .. } => {
                let call = self.call(wait);
                let on = self.on(self.communicators.id(rank, *context));
                format!("rank {rank} waits in {call} until it receives tag {tag}{on} itself")
            }
            Operation::Receive(_) | Operation::Probe(_) => {
                format!("{}: it has not sent that", self.clause(wait))
            }
            _ => format!("{} for itself", self.clause(wait)),
        }
    }

    fn near_sentence(&self, wait: Wait<'_>, near: &Near<'_>) -> String {
        let clause = self.clause(wait);
        if let Some(sender) = near.sender.filter(|sender| sender.rank != wait.rank) {
            let differ = match near.difference {
                Difference::Communicator => "the communicators differ".into(),
                Difference::Kind => never_meet(wait.operation, near.kind),
                Difference::Tag | Difference::Room => "the tags differ".to_owned(),
            };
            return format!("{}; {clause}: {differ}", self.clause(sender));
        }
        let on = match near.difference {
            Difference::Communicator => format!(" on {}", self.name(near.communicator)),
            _ => String::new(),
        };
        let who = match near.source.world == Some(wait.rank) {
            true => "it has sent itself".into(),
            false => format!("{} has sent it", self.peer(near.source, near.communicator)),
        };
        if near.difference == Difference::Kind {
            let why = never_meet(wait.operation, near.kind);
            let what = noun(near.kind);
            return format!("{clause}; {who} {what} with tag {}: {why}", near.tag);
        }
        format!(
            "{clause}; {who} tag {}{on}, which nobody received",
            near.tag
        )
    }

    fn mixed(&self, mixed: &Mixed<'_>, failed: Option<&str>) -> String {
        let parties = mixed.parties.iter().enumerate().filter_map(|(n, party)| {
            let ranks = ranks_of(party.iter().copied());
            let name = collective(*party.first()?);
            Some(match n {
                0 => format!("{} in {name}", wait_s(&ranks)),
                _ => format!("{} in {name}", in_words(&ranks)),
            })
        });
        let mut parties: Vec<String> = parties.collect();
        if parties.len() > CLAUSES_MAX {
            parties.truncate(CLAUSES_MAX - 1);
            parties.push("...".into());
        }
        let on = self.name(mixed.communicator);
        let parties = parties.join(", ");
        match failed {
            Some(failed) => format!("{parties}: {failed}"),
            None => format!("{parties}: all ranks of {on} must call the same"),
        }
    }

    fn other_collective(&self, wait: Wait<'_>, held: &HeldMessage) -> String {
        let id = self.communicators.id(wait.rank, held.context);
        let (clause, on) = (self.clause(wait), self.name(id));
        let source = self.peer(held.source, id);
        let other = printable(&held.collective);
        format!(
            "{clause}; {source} has sent it a message of {other}: all ranks of {on} must call the \
             same"
        )
    }

    fn end(&self, nature: Nature, ranks: &[u32], links: &[Link<'_>]) -> String {
        let (first, rest): (Vec<&Link<'_>>, Vec<&Link<'_>>) = links
            .iter()
            .partition(|link| ranks.binary_search(&link.on).is_ok());
        let them = if ranks.len() == 1 { "it" } else { "them" };
        let grouped = self.grouped(&first, true);
        let with_tag = grouped.len() == 1;
        let direct = grouped.iter().enumerate().map(|(n, (call, _, links))| {
            let ranks = ranks_of(links.iter().map(|link| link.wait));
            let tag = tag_of(links).filter(|_| with_tag).unwrap_or_default();
            match n {
                0 => format!("{} for {them} in {call}{tag}", wait_s(&ranks)),
                _ => format!("{} in {call}", in_words(&ranks)),
            }
        });
        let mut clauses: Vec<String> = direct.collect();
        if clauses.len() > CLAUSES_MAX {
            clauses.truncate(CLAUSES_MAX - 1);
            clauses.push("...".into());
        }
        let mut clauses = vec![is_over(nature, ranks), clauses.join(", ")];
        clauses.extend(self.grouped(&rest, false).iter().map(|(call, on, links)| {
            let ranks = ranks_of(links.iter().map(|link| link.wait));
            let tag = tag_of(links).unwrap_or_default();
            format!("{} for rank {on} in {call}{tag}", wait_s(&ranks))
        }));
        joined(clauses)
    }

    /// Links with the same call, and to the same rank unless they lead to the same end.
    fn grouped<'l, 'a>(
        &self,
        links: &[&'l Link<'a>],
        is_end: bool,
    ) -> Vec<(String, u32, Vec<&'l Link<'a>>)> {
        let mut groups: Vec<(String, u32, Vec<&'l Link<'a>>)> = Vec::new();
        for link in links {
            let call = self.call(link.wait);
            let on = if is_end { u32::MAX } else { link.on };
            let is_full = groups.len() > CLAUSES_MAX;
            let known = groups
                .iter_mut()
                .find(|known| known.0 == call && known.1 == on);
            match known {
                Some((_, _, links)) => links.push(link),
                // More are not shown.
                None if is_full => (),
                None => groups.push((call, on, vec![link])),
            }
        }
        if is_end {
            groups.sort_by_key(|(_, _, links)| links.iter().map(|link| link.wait.rank).min());
        }
        groups
    }

    fn any_source(&self, wait: Wait<'_>, over: Option<&(Nature, Vec<u32>)>) -> String {
        let clause = self.clause(wait);
        match over {
            Some((nature, ranks)) => {
                format!("{clause}; {} (all others)", is_over(*nature, ranks))
            }
            None => format!("{clause}; all other ranks wait too, and nobody sends"),
        }
    }

    fn on_its_way(&self, wait: Wait<'_>) -> String {
        const WHY: &str = "the network holds it up, or mpi-lite has an error";
        let rank = wait.rank;
        let message = |from: String, to: String, tag: String, id: Id| {
            let on = self.on(id);
            format!("a message from {from} to {to}, {tag}{on}, is on its way: {WHY}")
        };
        let own = || format!("rank {rank}");
        let id = |context| self.communicators.id(rank, context);
        match wait.operation {
            Operation::Receive(wanted) | Operation::Probe(wanted) => {
                let id = id(wanted.context);
                let any = || "any rank".to_string();
                let from = wanted.source.map_or_else(any, |peer| self.peer(peer, id));
                message(from, own(), tag(wanted.tag), id)
            }
            Operation::Incoming(held) => {
                let id = id(held.context);
                message(self.peer(held.source, id), own(), tag(held.tag), id)
            }
            Operation::Send {
                context,
                dest,
                tag: number,
                ..
            } => {
                let id = id(*context);
                message(own(), self.peer(*dest, id), tag(Some(*number)), id)
            }
            Operation::Collective { context, .. } => {
                let (name, on) = (collective(wait), self.name(id(*context)));
                format!("all ranks have come to {name} on {on}, and it does not end: {WHY}")
            }
            Operation::Job | Operation::Other(_) => {
                let call = self.call(wait);
                format!("all ranks have come to {call}, and it does not end: {WHY}")
            }
        }
    }
}

fn is_set(link: &&Link<'_>) -> bool {
    link.set.is_some()
}

/// `, tag 7`, if all these wait for the same tag.
fn tag_of(links: &[&Link<'_>]) -> Option<String> {
    let mut tags = links.iter().map(|link| match link.wait.operation {
        Operation::Receive(wanted) | Operation::Probe(wanted) => Some(tag(wanted.tag)),
        Operation::Send { tag: number, .. } => Some(tag(Some(*number))),
        Operation::Incoming(held) => Some(tag(held.tag)),
        _ => None,
    });
    let first = tags.next()??;
    tags.all(|tag| tag.as_ref() == Some(&first))
        .then(|| format!(", {first}"))
}

fn ranks_of<'a>(waits: impl Iterator<Item = Wait<'a>>) -> Vec<u32> {
    let mut ranks: Vec<u32> = waits.map(|wait| wait.rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

/// `rank 0 waits` or `ranks 0-2 wait`.
fn wait_s(ranks: &[u32]) -> String {
    let wait = if ranks.len() == 1 { "waits" } else { "wait" };
    format!("{} {wait}", in_words(ranks))
}

/// What ranks do that do not come back.
fn is_over(nature: Nature, ranks: &[u32]) -> String {
    let words = |one: &str, many: &str| {
        let words = if ranks.len() == 1 { one } else { many };
        format!("{} {words}", in_words(ranks))
    };
    match nature {
        Nature::Waits => words("waits", "wait"),
        Nature::InFinalize => words("is in MPI_Finalize", "are in MPI_Finalize"),
        Nature::Finalized => words("has finalized", "have finalized"),
        Nature::Ended => words("has ended", "have ended"),
        Nature::BeforeInit => words("has not called MPI_Init", "have not called MPI_Init"),
        Nature::OtherMpi => words(
            "runs a program of another MPI",
            "run a program of another MPI",
        ),
        Nature::Computes => words("computes", "compute"),
        Nature::ComputesBeside => words("computes in another thread", "compute in another thread"),
        Nature::Stopped(state) => {
            let state = format!("stopped (state {})", printable(&state.to_string()));
            words(&format!("is {state}"), &format!("are {state}"))
        }
        Nature::Runs => words("does not wait in MPI", "do not wait in MPI"),
        Nature::Silent => words("does not answer", "do not answer"),
        Nature::Unknown => words(
            "is on a host that did not answer",
            "are on hosts that did not answer",
        ),
    }
}

/// The clauses of a sentence; of many only the first ones.
fn joined(mut clauses: Vec<String>) -> String {
    if clauses.len() > CLAUSES_MAX {
        clauses.truncate(CLAUSES_MAX - 1);
        clauses.push("...".into());
    }
    clauses.join("; ")
}
