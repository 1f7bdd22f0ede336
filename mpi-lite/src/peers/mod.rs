//! The table of peers: one row for each process that this one can reach.
//!
//! A process is named by its [`PeerId`], the place of its row. Its rank in `MPI_COMM_WORLD` is one
//! of the columns. A job begins with one row for each of its processes, in the order of their
//! ranks; rows that are added later need not have that order. Decision 0047.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::Arc;

use crate::error::{Cause, Error};
use crate::hosts::Hosts;
use crate::ids::PeerId;

/// The record of a process. The link to it is kept apart, since each send reads that.
#[derive(Debug)]
struct Row {
    /// Its rank in `MPI_COMM_WORLD`.
    rank: u32,
    host: Arc<str>,
    /// The address of its socket, if a link has reported it.
    address: Option<SocketAddr>,
    /// Why it answers no more, in words.
    loss: Option<Cow<'static, str>>,
    /// Another process has reported that it answers no more.
    is_doubted: bool,
}

/// The processes that this one can reach, itself included. Rows are added, never removed.
#[derive(Debug)]
pub struct PeerTable {
    me: PeerId,
    /// The index of the link that leads to a process, by [`PeerId`]. Each send reads it.
    links: Vec<u8>,
    /// By [`PeerId`].
    rows: Vec<Row>,
    /// Those that answer no more, in the order in which they were lost.
    lost: Vec<PeerId>,
}

impl PeerTable {
    /// The table of process `me` in a job with one host name for each process, by rank in
    /// `MPI_COMM_WORLD`. `link` is the index of the link that leads to the others; link 0 leads to
    /// the process itself.
    ///
    /// # Panics
    /// When `me` is not one of them.
    #[must_use]
    pub fn of_world(me: PeerId, hosts: &Hosts, link: u8) -> Self {
        let mut table = Self {
            me,
            links: Vec::with_capacity(hosts.count()),
            rows: Vec::with_capacity(hosts.count()),
            lost: Vec::new(),
        };
        for (host, rank) in hosts.all().zip(0..) {
            table.add(rank, Arc::clone(host), link);
        }
        table.set_link(me, 0);
        table
    }

    /// Adds a process: its rank in `MPI_COMM_WORLD`, the name of its host, and the index of the
    /// link that leads to it.
    pub fn add(&mut self, rank: u32, host: Arc<str>, link: u8) -> PeerId {
        let peer = PeerId(u32::try_from(self.rows.len()).expect("peers have 32 bits"));
        self.links.push(link);
        self.rows.push(Row {
            rank,
            host,
            address: None,
            loss: None,
            is_doubted: false,
        });
        peer
    }

    /// Makes the link with this index lead to `peer`.
    pub fn set_link(&mut self, peer: PeerId, link: u8) {
        self.links[peer.0 as usize] = link;
    }

    /// The index of the link that leads to `peer`.
    #[inline]
    #[must_use]
    pub fn link(&self, peer: PeerId) -> usize {
        usize::from(self.links[peer.0 as usize])
    }

    /// This process.
    #[must_use]
    pub fn me(&self) -> PeerId {
        self.me
    }

    /// All processes, this one included.
    pub fn all(&self) -> impl Iterator<Item = PeerId> + use<> {
        (0..self.rows.len() as u32).map(PeerId)
    }

    /// The rank of `peer` in `MPI_COMM_WORLD`.
    #[must_use]
    pub fn rank(&self, peer: PeerId) -> u32 {
        self.rows[peer.0 as usize].rank
    }

    /// The process with this rank in `MPI_COMM_WORLD`, if there is one.
    #[must_use]
    pub fn at_rank(&self, rank: u32) -> Option<PeerId> {
        self.all().find(|&peer| self.rank(peer) == rank)
    }

    /// The name of the host of `peer`.
    #[must_use]
    pub fn host(&self, peer: PeerId) -> &str {
        &self.rows[peer.0 as usize].host
    }

    /// Notes that `peer` answers no more: its socket has `address`, and `reason` is why it is lost,
    /// in words. The first reason stays.
    pub fn lose(
        &mut self,
        peer: PeerId,
        address: Option<SocketAddr>,
        reason: impl Into<Cow<'static, str>>,
    ) {
        let row = &mut self.rows[peer.0 as usize];
        if row.loss.is_none() {
            row.loss = Some(reason.into());
            row.address = address;
            self.lost.push(peer);
        }
    }

    /// Returns true if `peer` answers no more.
    #[must_use]
    pub fn is_lost(&self, peer: PeerId) -> bool {
        self.rows[peer.0 as usize].loss.is_some()
    }

    /// Notes that another process has reported that `peer` answers no more. Returns true if that is
    /// new.
    pub fn doubt(&mut self, peer: PeerId) -> bool {
        let row = &mut self.rows[peer.0 as usize];
        let is_news = peer != self.me && row.loss.is_none() && !row.is_doubted;
        row.is_doubted |= is_news;
        is_news
    }

    /// Returns true if another process has reported that `peer` answers no more.
    #[must_use]
    pub fn is_doubted(&self, peer: PeerId) -> bool {
        self.rows[peer.0 as usize].is_doubted
    }

    /// Returns true if any process answers no more.
    #[inline]
    #[must_use]
    pub fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// The processes that answer no more, in the order in which they were lost.
    #[must_use]
    pub fn lost(&self) -> &[PeerId] {
        &self.lost
    }

    /// The error of an operation that the first lost process does not answer, if one is lost.
    #[must_use]
    pub fn first_loss(&self) -> Option<Error> {
        let first = self.lost.first()?;
        Some(self.error(*first))
    }

    /// The ranks in `MPI_COMM_WORLD` of the processes that answer no more, and how each was
    /// noticed.
    #[must_use]
    pub fn losses(&self) -> Vec<(u32, Cow<'static, str>)> {
        let lost = self.lost.iter();
        lost.map(|&peer| (self.rank(peer), self.reason(peer)))
            .collect()
    }

    /// Why `peer` answers no more, in words.
    #[must_use]
    pub fn reason(&self, peer: PeerId) -> Cow<'static, str> {
        let row = &self.rows[peer.0 as usize];
        row.loss.clone().unwrap_or(match row.is_doubted {
            true => "another rank of the job has lost it".into(),
            false => "nothing more is known of it".into(),
        })
    }

    /// The error of an operation that `peer` does not answer: `Cause::Lost`.
    #[must_use]
    pub fn error(&self, peer: PeerId) -> Error {
        let row = &self.rows[peer.0 as usize];
        Cause::Lost {
            rank: row.rank,
            host: (*row.host).into(),
            address: row.address,
            reason: self.reason(peer),
        }
        .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> PeerTable {
        let hosts = Hosts::of(&["a", "b", "c"]);
        PeerTable::of_world(PeerId(1), &hosts, 2)
    }

    #[test]
    fn the_first_link_leads_to_the_process_itself_and_another_one_to_the_others() {
        let mut table = table();
        let links = |table: &PeerTable| table.all().map(|it| table.link(it)).collect::<Vec<_>>();
        assert_eq!(links(&table), [2, 0, 2]);
        table.set_link(PeerId(2), 1);
        assert_eq!(links(&table), [2, 0, 1]);
        assert_eq!(table.me(), PeerId(1));
    }

    #[test]
    fn a_process_that_is_added_later_may_have_any_rank() {
        let mut table = table();
        let peer = table.add(7, "d".into(), 1);
        assert_eq!((table.rank(peer), table.host(peer)), (7, "d"));
        assert_eq!(table.at_rank(7), Some(peer));
        assert_eq!(table.at_rank(3), None);
        table.lose(peer, None, "it left");
        let expected = Cause::Lost {
            rank: 7,
            host: "d".into(),
            address: None,
            reason: "it left".into(),
        };
        assert_eq!(table.error(peer).cause(), &expected);
    }

    #[test]
    fn only_a_peer_that_is_not_lost_can_be_doubted_and_that_once() {
        let mut table = table();
        table.lose(PeerId(0), None, "it left");
        let doubts = [0, 1, 2, 2].map(|peer| table.doubt(PeerId(peer)));
        assert_eq!(doubts, [false, false, true, false]);
        let doubted = table.all().filter(|&peer| table.is_doubted(peer));
        assert_eq!(doubted.collect::<Vec<_>>(), [PeerId(2)]);
    }

    #[test]
    fn the_first_reason_of_a_loss_stays() {
        let mut table = table();
        assert!(!table.has_lost());
        table.lose(PeerId(2), None, "first");
        table.lose(PeerId(0), None, "another");
        table.lose(PeerId(2), None, "second");
        assert_eq!(table.lost(), [PeerId(2), PeerId(0)]);
        assert!(table.is_lost(PeerId(2)) && !table.is_lost(PeerId(1)));
        let Cause::Lost { reason, .. } = table.error(PeerId(2)).cause().clone() else {
            panic!("another error");
        };
        assert_eq!(reason, "first");
    }
}
