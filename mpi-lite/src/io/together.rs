//! Accesses of all processes of a file.
//!
//! All tell each other which range of the file they want. If the ranges lie apart, or the runs in
//! them are long, each process goes alone. If short runs of several processes lie between each
//! other, some processes move the data of all: see `two_phase`.
//!
//! Source: MPI 5.0, 14.4.

use std::sync::Arc;

use super::file::{File, data_bytes};
use super::hints::{Hints, aggregators};
use super::prepared::{Direction, Prepared};
use super::two_phase::{self, Plan};
use super::viewed::Viewed;
use crate::coll::{Collective, tell_all};
use crate::comm::{Call, Everyone, Members, Operation};
use crate::error::{Cause, Result};

/// Domains pay if at least one byte in so many is wanted.
const SPARSE: u64 = 8;

/// A process whose runs are so long gains nothing by the help of others.
const LONG: u64 = 1 << 16;

/// A collective access.
pub(super) struct Together {
    operation: Operation,
    file: File,
    seen: Arc<Viewed>,
    is_atomic: bool,
    hints: Hints,
    /// What this process wants, or why it may not.
    prepared: Result<Prepared>,
}

/// What a process wants, as it tells the others.
#[derive(Clone, Copy, Debug)]
struct Wish {
    /// It may read what lies between runs.
    can_sieve: bool,
    /// Bytes, and etypes.
    len: u64,
    units: u64,
    from: u64,
    /// The first byte of the file, and the one behind the last.
    at: u64,
    end: u64,
    /// Bytes of a run, about.
    run: u64,
    /// Bytes in the file.
    size: u64,
}

impl Wish {
    fn to_words(self) -> Vec<u64> {
        let Self {
            can_sieve,
            len,
            units,
            from,
            at,
            end,
            run,
            size,
        } = self;
        vec![can_sieve.into(), len, units, from, at, end, run, size]
    }

    fn of_words(words: &[u64]) -> Result<Self> {
        let &[can_sieve, len, units, from, at, end, run, size] = words else {
            return Err(Cause::System("a process has told no access".into()).into());
        };
        Ok(Self {
            can_sieve: can_sieve != 0,
            len,
            units,
            from,
            at,
            end,
            run,
            size,
        })
    }
}

impl Together {
    pub(super) fn new(operation: Operation, file: &File, prepared: Result<Prepared>) -> Self {
        let state = file.inner.state.lock();
        Self {
            operation,
            file: file.clone(),
            seen: Arc::clone(&state.seen),
            is_atomic: state.is_atomic,
            hints: state.hints.clone(),
            prepared,
        }
    }

    fn is_ordered(&self) -> bool {
        matches!(
            self.operation,
            Operation::FileReadOrdered | Operation::FileWriteOrdered
        )
    }

    fn direction(&self) -> Direction {
        match self.operation {
            Operation::FileReadOrdered | Operation::FileReadAtAll | Operation::FileReadAll => {
                Direction::Read
            }
            _ => Direction::Write,
        }
    }

    fn wish(&self) -> Wish {
        let inner = &self.file.inner;
        let mut wish = Wish {
            can_sieve: inner.can_read,
            len: 0,
            units: 0,
            from: 0,
            at: 0,
            end: 0,
            run: 0,
            size: 0,
        };
        if self.direction() == Direction::Read {
            wish.size = inner.storage.size().unwrap_or(0);
        }
        let Ok(prepared) = &self.prepared else {
            return wish;
        };
        (wish.len, wish.units, wish.from) = (prepared.len, prepared.units(), prepared.from);
        if prepared.len > 0 && !self.is_ordered() {
            match self.seen.view.hull(prepared.from, prepared.len) {
                Ok(hull) => (wish.at, wish.end) = (hull.at, hull.end()),
                // A read that goes beyond any file, which ends before that.
                Err(_) => wish.can_sieve = false,
            }
            wish.run = self.seen.view.run_length();
        }
        wish
    }

    /// How the processes help each other, if that pays. All find the same.
    fn plan(&self, wishes: &[Wish], peers: &impl Everyone) -> Option<Plan> {
        let parties = self.seen.parties.as_ref()?;
        let hints = &self.hints;
        if self.is_ordered() || self.is_atomic {
            return None;
        }
        if hints.is_collective == Some(false) || wishes.iter().any(|wish| !wish.can_sieve) {
            return None;
        }
        let mut wanting: Vec<&Wish> = wishes.iter().filter(|wish| wish.len > 0).collect();
        wanting.sort_by_key(|wish| wish.at);
        let interleaves = wanting.windows(2).any(|pair| pair[1].at < pair[0].end);
        let has_short_runs = wanting.iter().any(|wish| wish.run < LONG);
        let (first, last) = (wanting.first()?, wanting.iter().map(|wish| wish.end).max()?);
        if !interleaves || !has_short_runs {
            return None;
        }
        let is_read = self.direction() == Direction::Read;
        // Processes of one node read from the same memory: sieving costs less than a detour.
        if is_read && peers.nodes().is_none() && wanting.len() <= 8 && peers.at_site().is_some() {
            return None;
        }
        // Each process has seen at least what it has written itself.
        let size = wishes.iter().map(|wish| wish.size).max()?;
        let end = if is_read { last.min(size) } else { last };
        let spans = wishes.iter().zip(&parties.views).map(|(wish, view)| {
            let there = match is_read {
                true => view.data_before(size).saturating_sub(wish.from),
                false => wish.len,
            };
            (wish.from, wish.len.min(there))
        });
        let data = wanting
            .iter()
            .map(|wish| wish.len)
            .fold(0, u64::saturating_add);
        if end <= first.at || end - first.at > data.saturating_mul(SPARSE) {
            return None;
        }
        Some(Plan {
            spans: spans.collect(),
            parties: Arc::clone(parties),
            aggregators: aggregators(peers.all(), peers.nodes(), hints.aggregators as usize),
            domain: hints.domain,
            at: first.at,
            end,
        })
    }
}

impl Collective for Together {
    type Output = u64;

    fn call(&self) -> Call {
        Call::of_all(self.operation)
    }

    fn calls_program(&self) -> bool {
        self.seen.representation.calls_program()
    }

    fn check(&self, _: Members) -> Result<()> {
        Ok(())
    }

    async fn by_messages<P: Everyone>(&self, peers: &P) -> Result<u64> {
        let told = tell_all(self.operation, &self.wish().to_words(), peers).await?;
        let wishes: Vec<Wish> = told
            .iter()
            .map(|words| Wish::of_words(words))
            .collect::<Result<_>>()?;
        let mut prepared = self.prepared.clone();
        if self.is_ordered() {
            let units = |wishes: &[Wish]| {
                let units = wishes.iter().map(|wish| wish.units);
                units.fold(0, u64::saturating_add)
            };
            // All have come, so nothing that they did before is missing in the pointer.
            let base = match peers.here() {
                0 => self.file.inner.pointer.take(units(&wishes))?,
                _ => 0,
            };
            let base = tell_all(self.operation, &[base], peers).await?[0][0];
            let own = base.saturating_add(units(&wishes[..peers.here()]));
            if let Ok(prepared) = &mut prepared {
                prepared.from = data_bytes(&prepared.seen, own)?;
            }
        }
        if let Some(plan) = self.plan(&wishes, peers) {
            let storage = Arc::clone(&self.file.inner.storage);
            let own = prepared.as_ref().ok();
            let way = (self.operation, self.direction());
            let ended = two_phase::carry_out(&plan, (storage, own), way, peers).await;
            let ended = ended.map_err(|failed| failed.in_words(self.file.name(), self.direction()));
            let moved = ended?;
            return prepared?.finish(Ok(moved));
        }
        let prepared = prepared?;
        if prepared.seen.representation.calls_program() {
            return prepared.carry_out();
        }
        peers.aside(move || prepared.carry_out()).await
    }
}
