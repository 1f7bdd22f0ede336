//! The reasons of a report, one sentence each.

use mpi_boot::state::{FailedCall, HeldMessage, MessageKind, Operation};

use super::analysis::{Finding, Link, Reason};
use super::collectives::{Meeting, Mixed};
use super::facts::states;
use super::near::{Difference, Near};
use super::ranks::in_words;
use super::waits::{Nature, Wait, ranks_of};
use super::words::{
    collective, does, in_plural, never_meet, noun, own_partitions, partitions, tag,
};
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
            Reason::AnySource(wait, over) => {
                let why = over.as_ref().map_or_else(
                    || "all other ranks wait too, and nobody sends".into(),
                    |(nature, ranks)| format!("{} (all others)", is_over(*nature, ranks)),
                );
                format!("{}; {why}", self.clause(*wait))
            }
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
            let is_in = |wait: &&Wait<'_>| self.is_in_failed(**wait, rank, call);
            let mut others = waits.iter().filter(is_in).peekable();
            others.peek().is_some() && others.all(|wait| wait.rank != rank)
        };
        let mut states = states(self.facts.snapshot);
        let (rank, state) = states.find(|(rank, state)| has_left(*rank, &state.failed_call))?;
        let FailedCall { name, why, .. } = &state.failed_call;
        let (name, why) = (printable(name), printable(why));
        Some(format!("{name} has failed on rank {rank}: {why}"))
    }

    /// Returns true if a thread waits in the collective that has failed on another rank. One that
    /// was refused has not been counted there, one that failed later has.
    fn is_in_failed(&self, wait: Wait<'_>, other: u32, call: &FailedCall) -> bool {
        let Operation::Collective {
            name,
            number,
            is_blocking,
            ..
        } = wait.operation
        else {
            return false;
        };
        let id = call.context.map(|context| self.facts.id(other, context));
        let begun = match *is_blocking {
            true => call.begun,
            false => call.begun_nonblocking,
        };
        // A persistent one has no number.
        let is_then = *number == 0 || [begun, begun.saturating_add(1)].contains(number);
        *name == call.name && id == wait.id && is_then
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
        let end = if links.iter().all(|link| link.wait.is_for_message()) {
            "nobody sends"
        } else if links.iter().all(|link| link.wait.is_send()) {
            "nobody receives"
        } else {
            "they wait for each other"
        };
        let clauses = links.iter().map(|link| self.link_clause(link));
        format!("{}: {end}", joined(clauses, "; "))
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
        let rank = wait.rank;
        let waits = format!("rank {rank} waits in {}", self.call(wait));
        let Some(mail) = wait.mail() else {
            return waits;
        };
        let (tag, on) = (tag(mail.tag), self.facts.on(mail.id));
        let is_own = mail.peer.is_some_and(|peer| peer.world == Some(rank));
        let peer = match is_own && wait.is_for_message() {
            true => "itself".into(),
            false => self.facts.peer_or_any(mail.peer, mail.id),
        };
        if let Some(partitions) = own_partitions(wait) {
            return format!(
                "{waits} for its own partitioned message to {peer}, {tag}{on}, of which \
                 {partitions} are ready"
            );
        }
        if let Operation::Incoming(_) = wait.operation {
            let here = partitions(mail.kind);
            let here = here.map_or_else(String::new, |here| format!(" ({here} have come)"));
            return format!("{waits} for the rest of the message from {peer}, {tag}{on}{here}");
        }
        match (mail.kind, wait.is_send()) {
            // The call says the rest.
            (MessageKind::Creation, _) => format!("{waits} for {peer}{on}"),
            (MessageKind::Ordinary, false) => format!("{waits} for {peer}, {tag}{on}"),
            (MessageKind::Ordinary, true) => format!("{waits} until {peer} receives {tag}{on}"),
            (MessageKind::Partitioned(_), false) => {
                format!("{waits} for a partitioned message from {peer}, {tag}{on}")
            }
            (MessageKind::Partitioned(_), true) => {
                format!("{waits} until {peer} receives the partitioned {tag}{on}")
            }
        }
    }

    /// The call that the program made, with the collective if it waits for one:
    /// `MPI_Bcast(root 0)`, `MPI_Barrier on "halo"` or `MPI_Wait (MPI_Ibarrier)`.
    fn call(&self, wait: Wait<'_>) -> String {
        let call = match wait.thread.call.as_str() {
            "" => "mpi-lite".into(),
            call => printable(call),
        };
        let (Operation::Collective { is_blocking, .. }, Some(id)) = (wait.operation, wait.id)
        else {
            return call;
        };
        let (collective, on) = (collective(wait), self.facts.on(id));
        match *is_blocking {
            true => format!("{collective}{on}"),
            false => format!("{call} ({collective}{on})"),
        }
    }

    fn with_itself(&self, wait: Wait<'_>) -> String {
        let clause = self.clause(wait);
        match wait.operation {
            Operation::Send { kind, .. } if !kind.is_ready() => {
                format!("{clause}: call MPI_Pready for the others")
            }
            Operation::Send { tag, .. } => {
                let (rank, call) = (wait.rank, self.call(wait));
                let on = wait.id.map_or_else(String::new, |id| self.facts.on(id));
                format!("rank {rank} waits in {call} until it receives tag {tag}{on} itself")
            }
            Operation::Receive(_) | Operation::Probe(_) => {
                format!("{clause}: it has not sent that")
            }
            _ => format!("{clause} for itself"),
        }
    }

    fn near_sentence(&self, wait: Wait<'_>, (near, difference): &Near<'_>) -> String {
        let (clause, mail) = (self.clause(wait), near.mail);
        let never_meet = || never_meet(wait.operation, mail.kind);
        if let Some(sender) = near.sender.filter(|sender| sender.rank != wait.rank) {
            let differ = match difference {
                Difference::Communicator => "the communicators differ".into(),
                Difference::Kind => never_meet(),
                Difference::Tag | Difference::Room => "the tags differ".to_owned(),
            };
            return format!("{}; {clause}: {differ}", self.clause(sender));
        }
        let who = match mail.world() == Some(wait.rank) {
            true => "it has sent itself".into(),
            false => format!("{} has sent it", self.facts.peer_or_any(mail.peer, mail.id)),
        };
        let tag = tag(mail.tag);
        let sent = match difference {
            Difference::Kind => format!("{} with {tag}: {}", noun(mail.kind), never_meet()),
            Difference::Communicator => {
                format!(
                    "{tag} on {}, which nobody received",
                    self.facts.name(mail.id)
                )
            }
            Difference::Tag | Difference::Room => format!("{tag}, which nobody received"),
        };
        format!("{clause}; {who} {sent}")
    }

    fn mixed(&self, mixed: &Mixed<'_>, failed: Option<&str>) -> String {
        let parties = mixed.parties.iter().filter_map(|party| {
            let name = collective(*party.first()?);
            Some((ranks_of(party.iter().copied()), format!("in {name}")))
        });
        let parties = wait_each(parties);
        match failed {
            Some(failed) => format!("{parties}: {failed}"),
            None => {
                let on = self.facts.name(mixed.communicator);
                format!("{parties}: all ranks of {on} must call the same")
            }
        }
    }

    fn other_collective(&self, wait: Wait<'_>, held: &HeldMessage) -> String {
        let id = self.facts.id(wait.rank, held.context);
        let (clause, on) = (self.clause(wait), self.facts.name(id));
        let (source, other) = (
            self.facts.peer(held.source, id),
            printable(&held.collective),
        );
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
        let tag = match &grouped[..] {
            [(_, _, links)] => tag_of(links),
            _ => String::new(),
        };
        let direct = grouped.iter().enumerate().map(|(n, (call, _, links))| {
            let what = match n {
                0 => format!("for {them} in {call}{tag}"),
                _ => format!("in {call}"),
            };
            (ranks_of(links.iter().map(|link| link.wait)), what)
        });
        let rest = self
            .grouped(&rest, false)
            .into_iter()
            .map(|(call, on, links)| {
                let ranks = wait_s(&ranks_of(links.iter().map(|link| link.wait)));
                format!("{ranks} for rank {on} in {call}{}", tag_of(&links))
            });
        let clauses = [is_over(nature, ranks), wait_each(direct)];
        joined(clauses.into_iter().chain(rest), "; ")
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

    fn on_its_way(&self, wait: Wait<'_>) -> String {
        const WHY: &str = "the network holds it up, or mpi-lite has an error";
        if let Some(mail) = wait.mail() {
            let mut ends = [
                self.facts.peer_or_any(mail.peer, mail.id),
                format!("rank {}", wait.rank),
            ];
            if wait.is_send() {
                ends.reverse();
            }
            let ([from, to], tag, on) = (ends, tag(mail.tag), self.facts.on(mail.id));
            return format!("a message from {from} to {to}, {tag}{on}, is on its way: {WHY}");
        }
        let what = match Meeting::of(wait) {
            Some(meeting) => {
                let on = self.facts.name(meeting.communicator);
                format!("{} on {on}", collective(wait))
            }
            None => self.call(wait),
        };
        format!("all ranks have come to {what}, and it does not end: {WHY}")
    }
}

fn is_set(link: &&Link<'_>) -> bool {
    link.set.is_some()
}

/// `, tag 7`, if all these wait for the same tag.
fn tag_of(links: &[&Link<'_>]) -> String {
    let mut tags = links.iter().map(|link| Some(link.wait.mail()?.tag));
    match tags.next().flatten() {
        Some(first) if tags.all(|tag| tag == Some(first)) => format!(", {}", tag(first)),
        _ => String::new(),
    }
}

/// `rank 0 waits` or `ranks 0-2 wait`.
fn wait_s(ranks: &[u32]) -> String {
    let wait = if ranks.len() == 1 { "waits" } else { "wait" };
    format!("{} {wait}", in_words(ranks))
}

/// `rank 0 waits in MPI_Bcast, ranks 1-2 in MPI_Barrier`.
fn wait_each(parties: impl Iterator<Item = (Vec<u32>, String)>) -> String {
    let clauses = parties.enumerate().map(|(n, (ranks, what))| match n {
        0 => format!("{} {what}", wait_s(&ranks)),
        _ => format!("{} {what}", in_words(&ranks)),
    });
    joined(clauses, ", ")
}

/// What ranks do that do not come back.
fn is_over(nature: Nature, ranks: &[u32]) -> String {
    let words = match nature {
        nature if ranks.len() == 1 => does(nature),
        Nature::OtherMpi => "run a program of another MPI".into(),
        Nature::Unknown => "are on hosts that did not answer".into(),
        nature => in_plural(&does(nature)),
    };
    format!("{} {words}", in_words(ranks))
}

/// The clauses of a sentence; of many only the first ones.
fn joined(clauses: impl Iterator<Item = String>, between: &str) -> String {
    let mut clauses = Vec::from_iter(clauses);
    if clauses.len() > CLAUSES_MAX {
        clauses.truncate(CLAUSES_MAX - 1);
        clauses.push("...".into());
    }
    clauses.join(between)
}
