//! Which ranks have come to a collective, and whether they call the same one.

use std::collections::BTreeMap;

use mpi_boot::state::Operation;

use super::facts::Facts;
use super::waits::{Id, Wait};

/// How a collective is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Form<'a> {
    Blocking,
    Nonblocking,
    /// A persistent one has no number. Name and root tell it from others.
    Persistent(&'a str, Option<u32>),
}

/// A collective that the members of a communicator must come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Meeting<'a> {
    pub(super) communicator: Id,
    pub(super) form: Form<'a>,
    pub(super) number: u32,
}

impl<'a> Meeting<'a> {
    /// The collective that a thread waits for, if it waits for one.
    pub(super) fn of(wait: Wait<'a>) -> Option<Meeting<'a>> {
        let Operation::Collective {
            name,
            root,
            number,
            is_blocking,
            ..
        } = wait.operation
        else {
            return None;
        };
        let form = match (*number, *is_blocking) {
            (0, _) => Form::Persistent(name, *root),
            (_, true) => Form::Blocking,
            (_, false) => Form::Nonblocking,
        };
        Some(Meeting {
            communicator: wait.id?,
            form,
            number: *number,
        })
    }

    /// Returns true if a rank has come, as far as it reports that.
    pub(super) fn has(&self, rank: u32, facts: &Facts<'_>) -> bool {
        let described = facts.described_by(rank, self.communicator);
        let begun = described.map_or(0, |described| match self.form {
            Form::Blocking => described.begun,
            Form::Nonblocking => described.begun_nonblocking,
            Form::Persistent(..) => 0,
        });
        begun >= self.number && self.number > 0
    }

    /// Returns true if all members have come.
    pub(super) fn is_complete(&self, facts: &Facts<'_>) -> bool {
        let has = |member| self.has(member, facts);
        let mut listed = facts.in_order(self.communicator).peekable();
        match listed.peek() {
            Some(_) => listed.all(has),
            None => facts.members(self.communicator).into_iter().all(has),
        }
    }
}

/// Members of a communicator that call different collectives.
#[derive(Debug)]
pub(super) struct Mixed<'a> {
    pub(super) communicator: Id,
    /// The waits of those that call the same, by rank. The parties are by their lowest ranks.
    pub(super) parties: Vec<Vec<Wait<'a>>>,
}

impl<'a> Mixed<'a> {
    pub(super) fn waits(&self) -> impl Iterator<Item = Wait<'a>> {
        self.parties.iter().flatten().copied()
    }
}

/// The waits for collectives with numbers.
type Numbered<'a> = BTreeMap<u32, Vec<Wait<'a>>>;

/// Finds the communicators whose members wait in different collectives.
pub(super) fn mixed<'a>(facts: &Facts<'a>) -> Vec<Mixed<'a>> {
    // Those for blocking and for nonblocking collectives.
    let mut by_communicator: BTreeMap<Id, [Numbered<'a>; 2]> = BTreeMap::new();
    for &wait in &facts.waits {
        let Some(meeting) = Meeting::of(wait) else {
            continue;
        };
        let form = match meeting.form {
            Form::Blocking => 0,
            Form::Nonblocking => 1,
            Form::Persistent(..) => continue,
        };
        let forms = by_communicator.entry(meeting.communicator).or_default();
        forms[form].entry(meeting.number).or_default().push(wait);
    }
    let found = by_communicator.iter().filter_map(|(id, forms)| {
        let [blocking, nonblocking] = forms;
        let waits = different_in_one(blocking)
            .or_else(|| different_in_one(nonblocking))
            .or_else(|| gone_on(blocking, facts))
            .or_else(|| crossed(forms, facts))?;
        Some(Mixed {
            communicator: *id,
            parties: parties(waits),
        })
    });
    found.collect()
}

/// The waits for the first collective that is not the same for all.
fn different_in_one<'a>(numbered: &Numbered<'a>) -> Option<Vec<Wait<'a>>> {
    let mut numbers = numbered.values();
    numbers.find(|waits| are_different(waits)).cloned()
}

/// All waits, if some have gone on to another collective than one that all have come to, and that
/// does not end.
fn gone_on<'a>(numbered: &Numbered<'a>, facts: &Facts<'_>) -> Option<Vec<Wait<'a>>> {
    let waits: Vec<Wait<'a>> = numbered.values().flatten().copied().collect();
    let are_long = waits.iter().all(|wait| facts.is_long(*wait));
    let is_it =
        are_long && are_different(&waits) && Meeting::of(*waits.first()?)?.is_complete(facts);
    is_it.then_some(waits)
}

/// The waits for a blocking and a nonblocking collective that wait for each other.
fn crossed<'a>(
    [blocking, nonblocking]: &[Numbered<'a>; 2],
    facts: &Facts<'_>,
) -> Option<Vec<Wait<'a>>> {
    let blocking = blocking.values().next()?;
    let one = Meeting::of(*blocking.first()?)?;
    let other = nonblocking.values().find(|waits| {
        let first = waits.first();
        let other = first.and_then(|first| Some((first.rank, Meeting::of(*first)?)));
        other.is_some_and(|(rank, other)| {
            let mut ranks = blocking.iter().map(|wait| wait.rank);
            !one.has(rank, facts) && ranks.any(|rank| !other.has(rank, facts))
        })
    })?;
    Some(blocking.iter().chain(other).copied().collect())
}

fn are_different(waits: &[Wait<'_>]) -> bool {
    let first = waits.first().map(|wait| called(*wait));
    waits.iter().any(|wait| Some(called(*wait)) != first)
}

/// Name and root of the collective that a thread waits for.
fn called(wait: Wait<'_>) -> (&str, Option<u32>) {
    match wait.operation {
        Operation::Collective { name, root, .. } => (name, *root),
        _ => ("", None),
    }
}

fn parties(mut waits: Vec<Wait<'_>>) -> Vec<Vec<Wait<'_>>> {
    waits.sort_by_key(|wait| wait.rank);
    let mut parties: BTreeMap<(&str, Option<u32>), Vec<Wait<'_>>> = BTreeMap::new();
    for wait in waits {
        parties.entry(called(wait)).or_default().push(wait);
    }
    let mut parties = Vec::from_iter(parties.into_values());
    parties.sort_by_key(|party| party.first().map(|wait| wait.rank));
    parties
}
