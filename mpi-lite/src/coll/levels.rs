//! The processes of a node, and one of each node, as [parts](Everyone) of a communicator. So an
//! operation on several nodes is a step within each, one between their leaders, and another one
//! within each, by the same algorithms as on any processes.

use crate::comm::{Everyone, Nodes, Peers};
use crate::data::Buffer;

/// The buffers of these ranks.
pub(super) fn select(all: &[Buffer], ranks: &[usize]) -> Vec<Buffer> {
    ranks.iter().map(|&rank| all[rank].clone()).collect()
}

/// The processes of this node, and the leaders of all nodes.
pub(super) struct Levels<'a, P: Everyone + 'a> {
    node: P::Part<'a>,
    leader: usize,
    leaders: Option<P::Part<'a>>,
}

impl<'a, P: Everyone> Levels<'a, P> {
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
            node: peers.part(members).expect("a process is on its node"),
            leader: leader.expect("the leader of a node is on it"),
            leaders: peers.part(leaders),
        }
    }

    /// The processes of this node, by their rank.
    pub(super) fn node(&self) -> &P::Part<'a> {
        &self.node
    }

    /// The leader's rank on this node.
    pub(super) fn leader(&self) -> usize {
        self.leader
    }

    /// If this process leads its node: the leaders by the numbers of their nodes.
    pub(super) fn leaders(&self) -> Option<&P::Part<'a>> {
        self.leaders.as_ref()
    }
}

/// The ranks of the processes that have this one's place on their nodes, by the numbers of these.
/// All nodes have as many processes.
pub(super) fn column(peers: &impl Peers, nodes: &Nodes) -> Vec<usize> {
    let members = nodes.members(nodes.number(peers.here()));
    let at = members.binary_search(&peers.here());
    let at = at.expect("a process is on its node");
    nodes.all().iter().map(|members| members[at]).collect()
}
