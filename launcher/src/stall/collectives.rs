//! Which ranks have come to a collective, and whether they call the same one.

use std::collections::{BTreeMap, BTreeSet};

use mpi_boot::state::Operation;

use super::communicators::{Communicators, Id};
use super::waits::{Wait, all};
use super::{Occasion, Snapshot};

/// Returns true if a wait is no accident of the moment.
pub(super) fn is_long(wait: Wait<'_>, snapshot: &Snapshot) -> bool {
    const LONG_MS: u64 = 2000;
    matches!(snapshot.occasion, Occasion::Stall { .. }) || wait.thread.blocked_ms >= LONG_MS
}

/// How a collective is counted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Form {
    Blocking,
    Nonblocking,
    /// A persistent one has no number. Name and root tell it from others.
    Persistent(String, Option<u32>),
}

/// A collective that the members of a communicator must come to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Meeting {
    pub(super) communicator: Id,
    pub(super) form: Form,
    pub(super) number: u32,
}

impl Meeting {
    /// The collective that a thread waits for, if it waits for one.
    pub(super) fn of(wait: Wait<'_>, communicators: &Communicators<'_>) -> Option<Meeting> {
        let Operation::Collective {
            context,
            name,
            root,
            number,
            is_blocking,
        } = wait.operation
        else {
            return None;
        };
        let form = match (*number, *is_blocking) {
            (0, _) => Form::Persistent(name.clone(), *root),
            (_, true) => Form::Blocking,
            (_, false) => Form::Nonblocking,
        };
        Some(Meeting {
            communicator: communicators.id(wait.rank, *context),
            form,
            number: *number,
        })
    }

    /// Returns true if a rank has come, as far as it reports that.
    pub(super) fn has(&self, rank: u32, communicators: &Communicators<'_>) -> bool {
        let described = communicators.of_rank(rank, self.communicator);
        let begun = described.map_or(0, |described| match self.form {
            Form::Blocking => described.begun,
            Form::Nonblocking => described.begun_nonblocking,
            Form::Persistent(..) => 0,
        });
        begun >= self.number && self.number > 0
    }

    /// The members that have not come, sorted.
    pub(super) fn missing(&self, communicators: &Communicators<'_>) -> Vec<u32> {
        let mut members = communicators.members(self.communicator);
        members.retain(|member| !self.has(*member, communicators));
        members
    }
}

/// The waits of those that call the same, by rank.
pub(super) type Party<'a> = Vec<Wait<'a>>;

/// Members of a communicator that call different collectives.
#[derive(Debug)]
pub(super) struct Mixed<'a> {
    pub(super) communicator: Id,
    /// By their lowest ranks.
    pub(super) parties: Vec<Party<'a>>,
    pub(super) meetings: BTreeSet<Meeting>,
}

/// The waits for collectives with numbers.
type Numbered<'a> = BTreeMap<u32, Vec<Wait<'a>>>;

/// Finds the communicators whose members wait in different collectives.
pub(super) fn mixed<'a>(
    snapshot: &'a Snapshot,
    communicators: &Communicators<'a>,
) -> Vec<Mixed<'a>> {
    let mut by_communicator: BTreeMap<Id, [Numbered<'a>; 2]> = BTreeMap::new();
    for wait in all(snapshot) {
        let Some(meeting) = Meeting::of(wait, communicators) else {
            continue;
        };
        let form = match meeting.form {
            Form::Blocking => 0,
            Form::Nonblocking => 1,
            Form::Persistent(..) => continue,
        };
        let forms = by_communicator.entry(meeting.communicator).or_default();
        let waits = forms[form].entry(meeting.number).or_default();
        waits.push(wait);
    }
    let found = by_communicator.iter().filter_map(|(id, forms)| {
        let waits = different_in_one(&forms[0])
            .or_else(|| different_in_one(&forms[1]))
            .or_else(|| {
                let mut waits = forms[0].values().flatten();
                let is_long = waits.all(|wait| is_long(*wait, snapshot));
                is_long.then(|| gone_on(&forms[0], communicators)).flatten()
            })
            .or_else(|| crossed(forms, communicators))?;
        let meetings = waits.iter().map(|wait| Meeting::of(*wait, communicators));
        Some(Mixed {
            communicator: *id,
            meetings: meetings.flatten().collect(),
            parties: parties(&waits),
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
fn gone_on<'a>(
    numbered: &Numbered<'a>,
    communicators: &Communicators<'_>,
) -> Option<Vec<Wait<'a>>> {
    let waits: Vec<Wait<'a>> = numbered.values().flatten().copied().collect();
    if !are_different(&waits) {
        return None;
    }
    let first = Meeting::of(*waits.first()?, communicators)?;
    first.missing(communicators).is_empty().then_some(waits)
}

/// The waits for a blocking and a nonblocking collective that wait for each other.
fn crossed<'a>(
    forms: &[Numbered<'a>; 2],
    communicators: &Communicators<'_>,
) -> Option<Vec<Wait<'a>>> {
    let blocking = forms[0].values().next()?;
    let one = Meeting::of(*blocking.first()?, communicators)?;
    let mut numbers = forms[1].values();
    let other = numbers.find(|waits| {
        let Some(first) = waits.first() else {
            return false;
        };
        let meeting = Meeting::of(*first, communicators);
        let has = |rank| meeting.as_ref().is_none_or(|m| m.has(rank, communicators));
        !one.has(first.rank, communicators) && blocking.iter().any(|wait| !has(wait.rank))
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

fn parties<'a>(waits: &[Wait<'a>]) -> Vec<Party<'a>> {
    let mut parties: BTreeMap<(&str, Option<u32>), Party<'a>> = BTreeMap::new();
    for wait in waits {
        parties.entry(called(*wait)).or_default().push(*wait);
    }
    let mut parties: Vec<Party<'a>> = parties.into_values().collect();
    for party in &mut parties {
        party.sort_by_key(|wait| wait.rank);
    }
    parties.sort_by_key(|party| party.first().map(|wait| wait.rank));
    parties
}
