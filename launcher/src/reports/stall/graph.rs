//! What the ranks wait for: a graph of nodes that need all or one of others. It shows who can still
//! come back.

use std::collections::{BTreeMap, BTreeSet};

use mpi_boot::state::{EndsWith, MessageKind, Operation, ThreadState};

use super::collectives::{Form, Meeting, Mixed};
use super::facts::{Facts, states};
use super::near::Messages;
use super::waits::{Id, Nature, Wait};

/// The most members of all the sets of ranks that are waited for together.
const MEMBERS_MAX: usize = 2_000_000;

/// What a node stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Meaning {
    /// The rank with the number of the node.
    Rank,
    /// A thread of a rank that waits: the place of its first wait among those of all ranks. Its
    /// children are its operations, in their order.
    Thread(usize),
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
pub(super) struct Node {
    pub(super) meaning: Meaning,
    /// It needs one of its children; otherwise all.
    is_any: bool,
    /// It comes back, or does not, whatever its children do.
    fixed: Option<bool>,
    pub(super) children: Vec<usize>,
}

impl Node {
    /// How many of its children must come back first.
    fn needed(&self) -> usize {
        match self.fixed {
            Some(true) => 0,
            Some(false) => usize::MAX,
            None if self.is_any => 1,
            None => self.children.len(),
        }
    }

    /// Its children, as far as they are ranks.
    pub(super) fn ranks(&self) -> Vec<u32> {
        let ranks = self.children.iter();
        ranks.filter_map(|rank| u32::try_from(*rank).ok()).collect()
    }
}

/// Nodes, by number. The first ones are the ranks.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    /// By node: those that need it.
    pub(super) parents: Vec<Vec<usize>>,
    /// By wait: the node that it is for.
    pub(super) targets: Vec<usize>,
}

impl Graph {
    /// The graph of a snapshot, and by collective the ranks that have not come.
    pub(super) fn new<'a>(
        facts: &Facts<'a>,
        messages: &Messages<'a>,
        mixed: &[Mixed<'a>],
    ) -> (Graph, BTreeMap<Meeting<'a>, Vec<u32>>) {
        let mut graph = Graph::default();
        for nature in &facts.natures {
            let rank = graph.add(Meaning::Rank, Vec::new());
            graph.nodes[rank].fixed = match nature {
                Nature::Waits => None,
                nature => Some(!nature.is_over()),
            };
        }
        let mut persistent: BTreeMap<Meeting<'a>, BTreeSet<u32>> = BTreeMap::new();
        for &wait in &facts.waits {
            let meeting = Meeting::of(wait);
            let meeting = meeting.filter(|it| matches!(it.form, Form::Persistent(..)));
            if let Some(meeting) = meeting {
                persistent.entry(meeting).or_default().insert(wait.rank);
            }
        }
        let mixed = mixed.iter().flat_map(Mixed::waits);
        let mut builder = Builder {
            facts,
            messages,
            mixed: mixed.filter_map(Meeting::of).collect(),
            persistent,
            settled: graph.add(Meaning::Settled, Vec::new()),
            never: graph.add(Meaning::Never, Vec::new()),
            graph,
            shared: BTreeMap::new(),
            members: 0,
        };
        for (rank, state) in states(facts.snapshot) {
            let threads = state.threads.iter();
            let mut children: Vec<usize> = threads.map(|it| builder.thread(rank, it)).collect();
            // In a stall those that are not listed do not go on either.
            if state.threads_left_out > 0 && !facts.is_stall() {
                children.push(builder.settled);
            }
            builder.graph.nodes[rank as usize].children = children;
        }
        let Builder {
            mut graph, shared, ..
        } = builder;
        graph.find_parents();
        let missing = shared.iter().filter_map(|(shared, node)| match shared {
            Shared::Meeting(meeting) => Some((*meeting, graph.nodes[*node].ranks())),
            _ => None,
        });
        let missing = missing.collect();
        (graph, missing)
    }

    fn add(&mut self, meaning: Meaning, children: Vec<usize>) -> usize {
        self.nodes.push(Node {
            meaning,
            is_any: matches!(meaning, Meaning::Rank | Meaning::Anybody | Meaning::Never),
            fixed: None,
            children,
        });
        self.nodes.len() - 1
    }

    fn find_parents(&mut self) {
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

/// What several threads wait for, and what has one node.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Shared<'a> {
    Meeting(Meeting<'a>),
    Anybody(Id),
    Init,
    Finalize,
}

/// Makes the graph of a snapshot.
struct Builder<'s, 'a> {
    facts: &'s Facts<'a>,
    messages: &'s Messages<'a>,
    /// The collectives that the ranks call differently.
    mixed: BTreeSet<Meeting<'a>>,
    /// Those that wait in a persistent collective.
    persistent: BTreeMap<Meeting<'a>, BTreeSet<u32>>,
    graph: Graph,
    shared: BTreeMap<Shared<'a>, usize>,
    settled: usize,
    never: usize,
    /// How many members of sets have been looked at.
    members: usize,
}

impl<'a> Builder<'_, 'a> {
    fn thread(&mut self, rank: u32, thread: &'a ThreadState) -> usize {
        let first = self.graph.targets.len();
        for wait in self.facts.of_thread(rank, thread) {
            let target = self.target(wait);
            self.graph.targets.push(target);
        }
        let mut children = self.graph.targets[first..].to_vec();
        let is_any = thread.ends_with == EndsWith::Any && !children.is_empty();
        if is_any && thread.left_out > 0 {
            children.push(self.settled);
        }
        let node = self.graph.add(Meaning::Thread(first), children);
        self.graph.nodes[node].is_any = is_any;
        node
    }

    /// The node that an operation waits for.
    fn target(&mut self, wait: Wait<'a>) -> usize {
        let other = wait.mail().and_then(|mail| mail.world());
        if self.messages.have_met(wait) {
            // A rank that waits in MPI moves messages.
            let other = other.filter(|other| {
                let nature = self.facts.natures.get(*other as usize);
                !wait.is_for_message() && !nature.is_some_and(|nature| nature.is_in_mpi())
            });
            return self.rank(other);
        }
        match wait.operation {
            Operation::Receive(wanted) | Operation::Probe(wanted) if wanted.source.is_none() => {
                self.anybody(wait)
            }
            // It must mark its own partitions ready.
            Operation::Send { kind, .. } if !kind.is_ready() => self.rank(Some(wait.rank)),
            Operation::Receive(_) | Operation::Probe(_) | Operation::Send { .. } => {
                self.rank(other)
            }
            Operation::Incoming(held) if matches!(held.kind, MessageKind::Partitioned(_)) => {
                self.rank(other)
            }
            Operation::Collective { .. } => self.meeting(wait),
            Operation::Job => self.job(wait.thread),
            Operation::Incoming(_) | Operation::Other(_) => self.settled,
        }
    }

    fn rank(&self, rank: Option<u32>) -> usize {
        let rank = rank.map(|rank| rank as usize);
        let known = rank.filter(|rank| *rank < self.facts.natures.len());
        known.unwrap_or(self.settled)
    }

    fn anybody(&mut self, wait: Wait<'a>) -> usize {
        let Some(id) = wait.id else {
            return self.settled;
        };
        self.shared(Shared::Anybody(id), Meaning::Anybody, |it| it.members(id))
    }

    fn meeting(&mut self, wait: Wait<'a>) -> usize {
        let Some(meeting) = Meeting::of(wait) else {
            return self.settled;
        };
        let node = self.shared(Shared::Meeting(meeting), Meaning::Missing, |it| {
            let mut missing = it.members(meeting.communicator)?;
            match it.persistent.get(&meeting) {
                Some(waiting) => missing.retain(|member| !waiting.contains(member)),
                None => missing.retain(|member| !meeting.has(*member, it.facts)),
            }
            Some(missing)
        });
        match self.mixed.contains(&meeting) {
            true => self.never,
            false => node,
        }
    }

    /// The node for Init or Finalize.
    fn job(&mut self, thread: &ThreadState) -> usize {
        let (shared, is_finalize) = match thread.call == "MPI_Finalize" {
            true => (Shared::Finalize, true),
            false => (Shared::Init, false),
        };
        let is_missing = |nature: Nature| match nature {
            Nature::InFinalize | Nature::Finalized => false,
            Nature::Waits | Nature::Computes | Nature::ComputesBeside => is_finalize,
            _ => true,
        };
        self.shared(shared, Meaning::Missing, |it| {
            let natures = (0..).zip(&it.facts.natures);
            let missing = natures.filter(|(_, nature)| is_missing(**nature));
            Some(missing.map(|(rank, _)| rank).collect())
        })
    }

    /// The node for some ranks, a new one if it is new. What lacks nothing to wait for is settled.
    fn shared(
        &mut self,
        shared: Shared<'a>,
        meaning: Meaning,
        ranks: impl FnOnce(&mut Self) -> Option<Vec<u32>>,
    ) -> usize {
        if let Some(node) = self.shared.get(&shared) {
            return *node;
        }
        let Some(ranks) = ranks(self) else {
            return self.settled;
        };
        let ranks = ranks.into_iter().map(|rank| rank as usize).collect();
        let node = self.graph.add(meaning, ranks);
        self.shared.insert(shared, node);
        node
    }

    /// The members of a communicator, unless it has none or too many have been looked at.
    fn members(&mut self, id: Id) -> Option<Vec<u32>> {
        if self.members > MEMBERS_MAX {
            return None;
        }
        let members = self.facts.members(id);
        self.members += members.len().max(1);
        (!members.is_empty()).then_some(members)
    }
}
