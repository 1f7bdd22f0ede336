//! How far each rank of a job has come.

use std::collections::BTreeMap;

use serde_bytes::ByteBuf;

use crate::failure::{printable, printable_line};

/// How far a rank has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// It has not called Init.
    #[default]
    Silent,
    /// It is in Init, or between Init and Finalize.
    InMpi,
    /// It has finalized.
    Finalized,
    /// It ended.
    Gone,
}

#[derive(Debug, Default)]
pub(super) struct Rank {
    pub(super) host: String,
    pub(super) pid: Option<i32>,
    pub(super) phase: Phase,
    /// Its process ended. What it left in the background may go on as this rank.
    pub(super) has_ended: bool,
    card: Option<ByteBuf>,
    /// A rank has finalized without it, as it no longer answers.
    pub(super) is_lost: bool,
    /// The peers that it has lost, until it gives its card in Finalize, and how it noticed.
    losses: BTreeMap<u32, String>,
    /// Its Finalize has failed.
    pub(super) has_failed: bool,
}

/// The ranks of a job, by number.
#[derive(Debug, Default)]
pub(super) struct Ranks(Vec<Rank>);

impl Ranks {
    /// One rank on each of these hosts.
    pub(super) fn new(hosts: &[String]) -> Ranks {
        let rank = |host: &String| Rank {
            host: printable(host),
            ..Rank::default()
        };
        Ranks(hosts.iter().map(rank).collect())
    }

    /// How many there are.
    pub(super) fn size(&self) -> usize {
        self.0.len()
    }

    /// One of them.
    pub(super) fn get(&mut self, rank: u32) -> &mut Rank {
        &mut self.0[rank as usize]
    }

    /// The numbers of all such ranks.
    pub(super) fn which(&self, is: impl Fn(&Rank) -> bool) -> impl Iterator<Item = u32> {
        let ranks = (0..).zip(&self.0);
        ranks.filter(move |(_, it)| is(it)).map(|(rank, _)| rank)
    }

    /// The first rank in this phase.
    pub(super) fn first_in(&self, phase: Phase) -> Option<u32> {
        self.which(|rank| rank.phase == phase).next()
    }

    /// "rank 2 (pid 4711 on host n1)"
    pub(super) fn who(&self, rank: u32) -> String {
        let Rank { host, pid, .. } = &self.0[rank as usize];
        match pid {
            Some(pid) => format!("rank {rank} (pid {pid} on host {host})"),
            None => format!("rank {rank} (on host {host})"),
        }
    }

    /// Enters the card of a rank. Returns all cards once the last has come. Nobody waits for a rank
    /// that is lost, and its survivors may come one after the other.
    pub(super) fn collect(&mut self, rank: u32, card: ByteBuf) -> Option<Vec<ByteBuf>> {
        self.get(rank).card = Some(card);
        let has_lost = self.0.iter().any(|rank| rank.is_lost);
        let has_left = |rank: &Rank| matches!(rank.phase, Phase::Finalized | Phase::Gone);
        let is_awaited = |rank: &Rank| !(rank.is_lost || has_lost && has_left(rank));
        let mut awaited = self.0.iter().filter(|rank| is_awaited(rank));
        let is_complete = awaited.all(|rank| rank.card.is_some());
        let cards = self
            .0
            .iter_mut()
            .map(|rank| rank.card.take().unwrap_or_default());
        is_complete.then(|| cards.collect())
    }

    /// Enters that a rank has lost a peer. Returns false if there is no such peer.
    pub(super) fn note_loss(&mut self, rank: u32, lost: u32, reason: &str) -> bool {
        let exists = (lost as usize) < self.size();
        if exists {
            let losses = &mut self.get(rank).losses;
            losses.entry(lost).or_insert_with(|| printable_line(reason));
        }
        exists
    }

    /// A rank has reported all its losses. If they are most of the job, it is the rank itself that
    /// the others do not reach. What a lost rank reports counts for nothing: it was cut off.
    /// Returns a line about each rank that is lost from now on.
    pub(super) fn settle_losses(&mut self, rank: u32) -> Vec<String> {
        let losses = std::mem::take(&mut self.get(rank).losses);
        if losses.is_empty() || self.get(rank).is_lost {
            return Vec::new();
        }
        let who = self.who(rank);
        if 2 * losses.len() > self.size() {
            self.get(rank).is_lost = true;
            let what = format!("it has lost {} of {} ranks", losses.len(), self.size());
            return vec![format!("{who} is cut off: {what}, and finalizes")];
        }
        let line = |(lost, reason)| {
            let is_new = !std::mem::replace(&mut self.get(lost).is_lost, true);
            let lost = self.who(lost);
            is_new.then(|| format!("{lost} is lost: {reason}; {who} has finalized without it"))
        };
        losses.into_iter().filter_map(line).collect()
    }

    /// Returns true if no others are left than ranks that are lost. One that has finalized ends by
    /// itself.
    pub(super) fn are_lost(&self) -> bool {
        let is_left =
            |rank: &Rank| rank.is_lost && !matches!(rank.phase, Phase::Finalized | Phase::Gone);
        let is_over = |rank: &Rank| is_left(rank) || rank.phase == Phase::Gone;
        self.0.iter().all(is_over) && self.0.iter().any(is_left)
    }
}
