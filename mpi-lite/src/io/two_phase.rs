//! Some processes move the data of all.
//!
//! The range of the file in which the processes have data is cut into domains. Each aggregator has
//! one at a time, and those of all aggregators follow each other. To write, each process sends its
//! data of a domain to its aggregator, which lays it down in memory as in the file, and writes the
//! whole at once. To read, the other way. All know all views, so messages are nothing but data.
//! What lies between the data of all is read first, under a lock, and written back. (Thakur, Gropp,
//! Lusk: Optimizing Noncontiguous Accesses in MPI-IO, 2002.)

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::access::{Broken, Manner, between, has_no_locks, into};
use super::errors::{number, refused};
use super::prepared::{Direction, Prepared};
use super::storage::{self, Held, LockKind, Moved, Storage};
use super::view::Region;
use super::viewed::Parties;
use crate::coll::tell_all;
use crate::comm::{Everyone, Operation};
use crate::data::Buffer;
use crate::error::{Error, Result};

/// Who wants what, and who helps.
pub(super) struct Plan {
    /// The data bytes of each process in its view: the first one, and how many.
    pub(super) spans: Vec<(u64, u64)>,
    pub(super) parties: Arc<Parties>,
    /// Ranks.
    pub(super) aggregators: Vec<usize>,
    /// Bytes of a domain.
    pub(super) domain: u64,
    /// The first byte of the file, and the one behind the last.
    pub(super) at: u64,
    pub(super) end: u64,
}

/// What went wrong at an aggregator.
#[derive(Debug)]
pub(super) enum Failed {
    /// Messages did.
    Here(Error),
    /// The system refused this aggregator: its rank, the place in the file, and the number.
    At(usize, u64, i32),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Here(error)
    }
}

impl Failed {
    pub(super) fn in_words(self, name: &str, direction: Direction) -> Error {
        let (rank, at, number) = match self {
            Self::Here(error) => return error,
            Self::At(rank, at, number) => (rank, at, number),
        };
        let doing = match direction {
            Direction::Read => "reading for all processes from",
            Direction::Write => "writing for all processes to",
        };
        refused(
            &format!("rank {rank} of the file, {doing} byte {at} on of"),
            name,
            number,
        )
    }
}

impl Plan {
    /// The domain of an aggregator in a round; `None` if there is nothing left for it.
    fn domain_of(&self, round: u64, aggregator: usize) -> Option<Region> {
        let index = round * self.aggregators.len() as u64 + aggregator as u64;
        // Domains begin at multiples of their size, so that no two aggregators share a page.
        let first = self.at - self.at % self.domain;
        let at = first + index * self.domain;
        let range = at.max(self.at)..(at + self.domain).min(self.end);
        (range.start < range.end).then(|| Region {
            at: range.start,
            len: range.end - range.start,
        })
    }

    fn rounds(&self) -> u64 {
        let first = self.at - self.at % self.domain;
        (self.end - first).div_ceil(self.domain * self.aggregators.len() as u64)
    }

    /// The data bytes of a process in a domain.
    fn share(&self, rank: usize, domain: Region) -> Region {
        self.parties.views[rank].within(self.spans[rank], domain)
    }

    /// The shares of all processes that have one.
    fn shares(&self, domain: Region) -> Vec<(usize, Region)> {
        let ranks = 0..self.spans.len();
        let shares = ranks.map(|rank| (rank, self.share(rank, domain)));
        shares.filter(|(_, share)| share.len > 0).collect()
    }
}

/// Carries the plan out: the part of this process. Returns the bytes of its own data that were
/// moved.
pub(super) async fn carry_out<P: Everyone>(
    plan: &Plan,
    (storage, own): (Arc<dyn Storage>, Option<&Prepared>),
    (operation, direction): (Operation, Direction),
    peers: &P,
) -> core::result::Result<u64, Failed> {
    let mut broken: Option<Broken> = None;
    for round in 0..plan.rounds() {
        let result = match direction {
            Direction::Write => write_round(plan, (&storage, own), round, peers).await,
            Direction::Read => read_round(plan, (&storage, own), round, peers).await,
        };
        // The others count on this process until the end.
        broken = broken.or(result?);
    }
    let word = match &broken {
        None => [0, 0],
        Some(broken) => [number(&broken.error) as u64, broken.at],
    };
    let told = tell_all(operation, &word, peers).await?;
    match told.iter().position(|words| words[0] != 0) {
        None => Ok(plan.spans[peers.here()].1),
        Some(rank) => Err(Failed::At(rank, told[rank][1], told[rank][0] as i32)),
    }
}

/// The data of this process with which each aggregator deals in a round: its number, and the data.
fn parts(plan: &Plan, round: u64, here: usize) -> Vec<(usize, Region)> {
    let mut parts = Vec::new();
    for (aggregator, &rank) in plan.aggregators.iter().enumerate() {
        if let Some(domain) = plan.domain_of(round, aggregator) {
            let share = plan.share(here, domain);
            if share.len > 0 {
                parts.push((rank, share));
            }
        }
    }
    parts
}

/// The domain of this process in a round, if it is an aggregator and has one.
fn own_domain(plan: &Plan, round: u64, here: usize) -> Option<Region> {
    let aggregator = plan.aggregators.iter().position(|rank| *rank == here)?;
    plan.domain_of(round, aggregator)
}

/// The bytes of a share of the program's data: the same memory if they lie in one stretch.
fn piece(prepared: &Prepared, share: Region) -> Result<(Buffer, bool)> {
    let done = share.at - prepared.from;
    match prepared.data.as_bytes() {
        Some(bytes) => Ok((bytes.moved(done.cast_signed(), share.len), true)),
        None => Ok((Buffer::zeroed(share.len as usize)?, false)),
    }
}

async fn write_round<P: Everyone>(
    plan: &Plan,
    (storage, own): (&Arc<dyn Storage>, Option<&Prepared>),
    round: u64,
    peers: &P,
) -> Result<Option<Broken>> {
    let here = peers.here();
    let (mut sends, mut pieces) = (Vec::new(), Vec::new());
    if let Some(own) = own {
        for (rank, share) in parts(plan, round, here) {
            let (bytes, is_in_place) = piece(own, share)?;
            if !is_in_place {
                let span = bytes.contiguous().expect("bytes have no gaps");
                own.data.copy_out(share.at - own.from, span);
            }
            match rank == here {
                true => pieces.push((here, share, bytes)),
                false => sends.push((rank, bytes)),
            }
        }
    }
    let domain = own_domain(plan, round, here);
    let mut receives = Vec::new();
    if let Some(domain) = domain {
        for (rank, share) in plan.shares(domain) {
            if rank != here {
                let bytes = Buffer::zeroed(share.len as usize)?;
                receives.push((rank, bytes.clone()));
                pieces.push((rank, share, bytes));
            }
        }
    }
    peers.exchange_all(&sends, &receives).await?;
    let Some(domain) = domain.filter(|_| !pieces.is_empty()) else {
        return Ok(None);
    };
    let (storage, parties) = (Arc::clone(storage), Arc::clone(&plan.parties));
    let write = move || write_domain(&*storage, &parties, domain, &pieces);
    peers.aside(write).await
}

/// Writes the data of all processes in a domain.
fn write_domain(
    storage: &dyn Storage,
    parties: &Parties,
    domain: Region,
    pieces: &[(usize, Region, Buffer)],
) -> Result<Option<Broken>> {
    let shares = pieces.iter().map(|(rank, share, _)| (*rank, *share));
    let (hull, is_full) = covered(parties, &shares.collect::<Vec<_>>())?;
    debug_assert!(domain.at <= hull.at && hull.end() <= domain.end());
    let failed = |at: u64, error: std::io::Error| {
        let moved = 0;
        Ok(Some(Broken { moved, at, error }))
    };
    let memory = Buffer::zeroed(hull.len as usize)?;
    let span = memory.contiguous().expect("bytes have no gaps");
    // A process that sieves meanwhile must not write old bytes back.
    let kind = match is_full && !storage.is_remote() {
        true => LockKind::Shared,
        false => LockKind::Exclusive,
    };
    let _held = match Held::take(storage, hull.at..hull.end(), kind) {
        Ok(held) => Some(held),
        Err(error) if storage.is_remote() || !has_no_locks(&error) => {
            return failed(hull.at, error);
        }
        Err(_) if is_full => None,
        Err(_) => return write_each(storage, parties, pieces),
    };
    if !is_full && let Some(error) = storage::read(storage, hull.at, span.into()).error {
        return failed(hull.at, error);
    }
    for (rank, share, bytes) in pieces {
        let view = &parties.views[*rank];
        let place = view.in_memory(span, hull.at, share.end());
        into(&place, share.at, (bytes, 0), share.len)?;
    }
    let Moved { bytes, error } = storage::write(storage, hull.at, span.into());
    match error {
        Some(error) => failed(hull.at + bytes, error),
        None => Ok(None),
    }
}

/// Writes the runs of each process: the file system has no locks.
fn write_each(
    storage: &dyn Storage,
    parties: &Parties,
    pieces: &[(usize, Region, Buffer)],
) -> Result<Option<Broken>> {
    for (rank, share, bytes) in pieces {
        let manner = Manner {
            storage,
            view: &parties.views[*rank],
            is_atomic: false,
            can_sieve: false,
        };
        if let Err(broken) = manner.write(share.at, bytes)? {
            return Ok(Some(broken));
        }
    }
    Ok(None)
}

/// From the first byte of these shares to the last one, and whether there is no gap between.
fn covered(parties: &Parties, shares: &[(usize, Region)]) -> Result<(Region, bool)> {
    let (mut first, mut end) = (u64::MAX, 0);
    let mut next = BinaryHeap::new();
    for (number, (rank, share)) in shares.iter().enumerate() {
        let hull = parties.views[*rank].hull(share.at, share.len)?;
        (first, end) = (first.min(hull.at), end.max(hull.end()));
        next.push(Reverse((hull.at, number, 0)));
    }
    let (mut reached, mut is_full) = (first, true);
    while let Some(Reverse((at, number, done))) = next.pop() {
        if at > reached {
            is_full = false;
            break;
        }
        let (rank, share) = shares[number];
        let view = &parties.views[rank];
        let run = view.locate(share.at + done)?;
        let len = run.len.min(share.len - done);
        reached = reached.max(run.at + len);
        if done + len < share.len {
            let following = view.locate(share.at + done + len)?;
            next.push(Reverse((following.at, number, done + len)));
        }
    }
    let hull = Region {
        at: first,
        len: end - first,
    };
    Ok((hull, is_full))
}

async fn read_round<P: Everyone>(
    plan: &Plan,
    (storage, own): (&Arc<dyn Storage>, Option<&Prepared>),
    round: u64,
    peers: &P,
) -> Result<Option<Broken>> {
    let here = peers.here();
    let mut broken = None;
    let mut pieces = Vec::new();
    if let Some(domain) = own_domain(plan, round, here) {
        let shares = plan.shares(domain);
        if !shares.is_empty() {
            let (storage, parties) = (Arc::clone(storage), Arc::clone(&plan.parties));
            let read = move || read_domain(&*storage, &parties, &shares);
            (pieces, broken) = peers.aside(read).await?;
        }
    }
    let mut receives = Vec::new();
    let mut packed = Vec::new();
    if let Some(own) = own {
        for (rank, share) in parts(plan, round, here) {
            let (bytes, is_in_place) = piece(own, share)?;
            if rank != here {
                receives.push((rank, bytes.clone()));
            } else if let Some((_, found)) = pieces.iter().find(|(rank, _)| *rank == here) {
                bytes.copy_from(found)?;
            }
            if !is_in_place {
                packed.push((share, bytes));
            }
        }
    }
    pieces.retain(|(rank, _)| *rank != here);
    peers.exchange_all(&pieces, &receives).await?;
    if let Some(own) = own {
        for (share, bytes) in packed {
            let span = bytes.contiguous().expect("bytes have no gaps");
            own.data.copy_in(share.at - own.from, span);
        }
    }
    Ok(broken)
}

/// What an aggregator has read: for each rank its bytes; and what went wrong.
type Found = (Vec<(usize, Buffer)>, Option<Broken>);

/// Reads the shares of all processes in a domain.
fn read_domain(
    storage: &dyn Storage,
    parties: &Parties,
    shares: &[(usize, Region)],
) -> Result<Found> {
    let (hull, _) = covered(parties, shares)?;
    let memory = Buffer::zeroed(hull.len as usize)?;
    let span = memory.contiguous().expect("bytes have no gaps");
    let needs_lock = storage.is_remote();
    let held = needs_lock.then(|| Held::take(storage, hull.at..hull.end(), LockKind::Shared));
    // The others wait for their data whatever happens here.
    let Moved { bytes, error } = match held.transpose() {
        Ok(_held) => storage::read(storage, hull.at, span.into()),
        Err(error) => Moved::until(0, error),
    };
    let broken = error.map(|error| Broken {
        moved: 0,
        at: hull.at + bytes,
        error,
    });
    let found = shares.iter().map(|&(rank, share)| {
        let source = parties.views[rank].in_memory(span, hull.at, share.end());
        let piece = Buffer::zeroed(share.len as usize)?;
        between(&source, share.at, (&piece, 0), share.len)?;
        Ok((rank, piece))
    });
    Ok((found.collect::<Result<_>>()?, broken))
}
