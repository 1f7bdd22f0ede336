//! Some processes of a communicator as a communicator of their own: those of a node, and one of
//! each node. So an operation on several nodes is a step within each, one between their leaders,
//! and another one within each, by the same algorithms as on any processes.

use std::borrow::Cow;

use crate::comm::{Nodes, Peers};
use crate::data::Buffer;
use crate::error::Result;

/// Some processes of `P`, this one among them. They have ranks of their own.
pub(super) struct Subset<'a, P> {
    peers: &'a P,
    /// The ranks among all, by the rank in the subset.
    ranks: Cow<'a, [usize]>,
    here: usize,
}

impl<'a, P: Peers> Subset<'a, P> {
    /// The processes of these ranks, in this order. `None` if this process is not one of them.
    pub(super) fn of(peers: &'a P, ranks: impl Into<Cow<'a, [usize]>>) -> Option<Self> {
        let ranks = ranks.into();
        let here = ranks.iter().position(|&rank| rank == peers.here())?;
        Some(Self { peers, ranks, here })
    }

    /// The buffers of all processes that belong to those of the subset.
    pub(super) fn select(&self, all: &[Buffer]) -> Vec<Buffer> {
        select(all, &self.ranks)
    }

    fn in_whole(&self, messages: &[(usize, Buffer)]) -> Vec<(usize, Buffer)> {
        let messages = messages.iter();
        messages
            .map(|(rank, buffer)| (self.ranks[*rank], buffer.clone()))
            .collect()
    }
}

/// The buffers of these ranks.
pub(super) fn select(all: &[Buffer], ranks: &[usize]) -> Vec<Buffer> {
    ranks.iter().map(|&rank| all[rank].clone()).collect()
}

impl<P: Peers> Peers for Subset<'_, P> {
    fn here(&self) -> usize {
        self.here
    }

    fn all(&self) -> usize {
        self.ranks.len()
    }

    async fn send(&self, to: usize, buffer: &Buffer) -> Result<()> {
        self.peers.send(self.ranks[to], buffer).await
    }

    async fn receive(&self, from: usize, buffer: &Buffer) -> Result<()> {
        self.peers.receive(self.ranks[from], buffer).await
    }

    async fn exchange(
        &self,
        (to, outgoing): (usize, &Buffer),
        (from, incoming): (usize, &Buffer),
    ) -> Result<()> {
        let (send, receive) = ((self.ranks[to], outgoing), (self.ranks[from], incoming));
        self.peers.exchange(send, receive).await
    }

    async fn exchange_all(
        &self,
        sends: &[(usize, Buffer)],
        receives: &[(usize, Buffer)],
    ) -> Result<()> {
        let (sends, receives) = (self.in_whole(sends), self.in_whole(receives));
        self.peers.exchange_all(&sends, &receives).await
    }
}

/// The processes of this node, and the leaders of all nodes.
pub(super) struct Levels<'a, P> {
    node: Subset<'a, P>,
    leader: usize,
    leaders: Option<Subset<'a, P>>,
}

impl<'a, P: Peers> Levels<'a, P> {
    /// Those where `root` leads its node, and the process of the lowest rank any other one.
    pub(super) fn led_by(root: usize, peers: &'a P, nodes: &'a Nodes) -> Self {
        let leads = |members: &Vec<usize>| match members.binary_search(&root) {
            Ok(at) => members[at],
            Err(_) => members[0],
        };
        let leaders: Vec<usize> = nodes.all().iter().map(leads).collect();
        let number = nodes.number(peers.here());
        let members = nodes.members(number);
        let leader = members.binary_search(&leaders[number]);
        Self {
            node: Subset::of(peers, members).expect("a process is on its node"),
            leader: leader.expect("the leader of a node is on it"),
            leaders: Subset::of(peers, leaders),
        }
    }

    /// The processes of this node, by their rank.
    pub(super) fn node(&self) -> &Subset<'a, P> {
        &self.node
    }

    /// The leader's rank on this node.
    pub(super) fn leader(&self) -> usize {
        self.leader
    }

    /// If this process leads its node: the leaders by the numbers of their nodes.
    pub(super) fn leaders(&self) -> Option<&Subset<'a, P>> {
        self.leaders.as_ref()
    }
}

/// The processes that have this one's rank on their nodes, by the numbers of these. All nodes have
/// as many processes.
pub(super) fn column<'a, P: Peers>(peers: &'a P, nodes: &Nodes) -> Subset<'a, P> {
    let members = nodes.members(nodes.number(peers.here()));
    let at = members.binary_search(&peers.here());
    let at = at.expect("a process is on its node");
    let ranks: Vec<usize> = nodes.all().iter().map(|members| members[at]).collect();
    Subset::of(peers, ranks).expect("this process has its own rank")
}
