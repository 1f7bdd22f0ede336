//! Who can still come back: a graph of nodes that need all or one of others.

use mpi_boot::state::ThreadState;

/// What a node stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Meaning<'a> {
    /// The rank with the number of the node.
    Rank,
    /// A thread of a rank that waits. Its children are its operations, in their order.
    Thread(u32, &'a ThreadState),
    /// All that have not come to a collective, or to Init or Finalize.
    Missing,
    /// Any member of a communicator.
    Anybody,
    /// Nothing that a rank could do is missing.
    Settled,
    /// Nothing that a rank could do helps.
    Never,
}

/// Something that may come back.
#[derive(Debug)]
pub(super) struct Node<'a> {
    pub(super) meaning: Meaning<'a>,
    /// It needs one of its children; otherwise all.
    pub(super) is_any: bool,
    /// It comes back, or does not, whatever its children do.
    pub(super) fixed: Option<bool>,
    pub(super) children: Vec<usize>,
}

/// Nodes, by number. The first ones are the ranks.
#[derive(Debug, Default)]
pub(super) struct Graph<'a> {
    pub(super) nodes: Vec<Node<'a>>,
    /// By node: those that need it.
    pub(super) parents: Vec<Vec<usize>>,
}

impl<'a> Graph<'a> {
    pub(super) fn add(&mut self, meaning: Meaning<'a>, children: Vec<usize>) -> usize {
        self.nodes.push(Node {
            meaning,
            is_any: matches!(meaning, Meaning::Rank | Meaning::Anybody | Meaning::Never),
            fixed: None,
            children,
        });
        self.nodes.len() - 1
    }

    /// Finds the parents. To be called once all nodes have their children.
    pub(super) fn close(&mut self) {
        self.parents = vec![Vec::new(); self.nodes.len()];
        for (number, node) in self.nodes.iter().enumerate() {
            for child in &node.children {
                self.parents[*child].push(number);
            }
        }
    }

    /// By node: it comes back if all that may go on by themselves do what they can.
    pub(super) fn come_back(&self) -> Vec<bool> {
        let mut needed: Vec<usize> = self.nodes.iter().map(Node::needed).collect();
        let mut back = vec![false; self.nodes.len()];
        let all = 0..self.nodes.len();
        let mut ready: Vec<usize> = all.filter(|node| needed[*node] == 0).collect();
        while let Some(node) = ready.pop() {
            back[node] = true;
            for &parent in &self.parents[node] {
                if needed[parent] == 0 || needed[parent] == usize::MAX {
                    continue;
                }
                needed[parent] -= 1;
                if needed[parent] == 0 {
                    ready.push(parent);
                }
            }
        }
        back
    }
}

impl Node<'_> {
    /// How many of its children must come back first.
    fn needed(&self) -> usize {
        match self.fixed {
            Some(true) => 0,
            Some(false) => usize::MAX,
            None if self.is_any => 1,
            None => self.children.len(),
        }
    }
}
