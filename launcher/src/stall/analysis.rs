//! Why the ranks of a snapshot wait.
//!
//! A rank that cannot come back needs a reason: it calls what does not fit, or others that do not
//! come back keep it. A rank whose wait ends in one that has a reason needs none of its own.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use mpi_boot::state::{HeldMessage, Operation, ThreadState};

use super::collectives::{Meeting, Mixed, is_long, mixed};
use super::communicators::Communicators;
use super::graph::{Graph, Meaning};
use super::near::{Difference, Messages, Near};
use super::waits::{Builder, Nature, Wait, all, operations};
use super::{Occasion, Snapshot};

/// The most reasons of a report.
const REASONS_MAX: usize = 4;

/// How many messages that nearly fit are looked into.
const NEAR_MAX: usize = 64;

/// How many edges the search for cycles follows.
const SEARCH_MAX: usize = 4_000_000;

/// Why ranks wait.
#[derive(Debug)]
pub(super) enum Reason<'a> {
    /// Ranks wait for each other, each for the next and the last for the first.
    Cycle(Vec<Link<'a>>),
    /// A message that is there, and that a receive does not take.
    Near(Wait<'a>, Near<'a>),
    /// Members of a communicator call different collectives.
    Mixed(Mixed<'a>),
    /// A rank waits in a collective to which all have come, and holds a message of another one.
    OtherCollective(Wait<'a>, &'a HeldMessage),
    /// Ranks that do not come back, and the ranks that wait for them.
    End(Nature, Vec<u32>, Vec<Link<'a>>),
    /// A rank waits for any message. All others wait too, or all are over.
    AnySource(Wait<'a>, Option<(Nature, Vec<u32>)>),
    /// What a rank waits for is there, and does not arrive.
    OnItsWay(Wait<'a>),
    NotFound,
}

/// A rank that waits for another one.
#[derive(Clone, Debug)]
pub(super) struct Link<'a> {
    pub(super) wait: Wait<'a>,
    /// The rank that it waits for.
    pub(super) on: u32,
    /// All ranks that wait for the same set of ranks, and that set, if there is one.
    pub(super) set: Option<(Vec<u32>, Vec<u32>)>,
}

impl<'a> Link<'a> {
    /// The operation of a rank's thread waits for the rank `on`.
    fn new(
        (rank, thread, operation): (u32, &'a ThreadState, &'a Operation),
        on: usize,
    ) -> Link<'a> {
        Link {
            wait: Wait {
                rank,
                thread,
                operation,
            },
            on: u32::try_from(on).unwrap_or(u32::MAX),
            set: None,
        }
    }
}

/// What a snapshot shows.
pub(super) struct Finding<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) communicators: Communicators<'a>,
    pub(super) messages: Messages<'a>,
    /// By collective: the ranks that have not come.
    pub(super) missing: HashMap<Meeting, Vec<u32>>,
    pub(super) reasons: Vec<Reason<'a>>,
}

impl<'a> Reason<'a> {
    /// The waits that it is made of.
    pub(super) fn waits(&self) -> Vec<Wait<'a>> {
        match self {
            Reason::Cycle(links) | Reason::End(_, _, links) => {
                links.iter().map(|link| link.wait).collect()
            }
            Reason::Near(wait, near) => std::iter::once(*wait).chain(near.sender).collect(),
            Reason::Mixed(mixed) => mixed.parties.iter().flatten().copied().collect(),
            Reason::AnySource(wait, _)
            | Reason::OtherCollective(wait, _)
            | Reason::OnItsWay(wait) => vec![*wait],
            Reason::NotFound => Vec::new(),
        }
    }
}

impl<'a> Finding<'a> {
    pub(super) fn new(snapshot: &'a Snapshot) -> Finding<'a> {
        let communicators = Communicators::new(snapshot);
        let messages = Messages::new(snapshot, &communicators);
        let natures: Vec<Nature> = snapshot.ranks.iter().map(Nature::of).collect();
        let mixed = mixed(snapshot, &communicators);
        let meetings = mixed.iter().flat_map(|mixed| mixed.meetings.clone());
        let builder = Builder {
            snapshot,
            communicators: &communicators,
            messages: &messages,
            natures: &natures,
            mixed: &meetings.collect(),
        };
        let (graph, missing) = builder.graph();
        let mut search = Search {
            back: graph.come_back(),
            explained: vec![false; natures.len()],
            natures: &natures,
            communicators: &communicators,
            messages: &messages,
            graph,
            reasons: Vec::new(),
        };
        search.run(snapshot, mixed);
        let mut reasons = search.reasons;
        reasons.truncate(REASONS_MAX);
        Finding {
            snapshot,
            reasons,
            missing,
            communicators,
            messages,
        }
    }
}

/// The search for reasons.
struct Search<'s, 'a> {
    graph: Graph<'a>,
    /// By node: it comes back.
    back: Vec<bool>,
    /// By rank: its wait ends in a reason that was found.
    explained: Vec<bool>,
    natures: &'s [Nature],
    communicators: &'s Communicators<'a>,
    messages: &'s Messages<'a>,
    reasons: Vec<Reason<'a>>,
}

impl<'a> Search<'_, 'a> {
    /// Finds the reasons, the most telling ones first.
    fn run(&mut self, snapshot: &'a Snapshot, mixed: Vec<Mixed<'a>>) {
        for mixed in mixed {
            let ranks = mixed.parties.iter().flatten().map(|wait| wait.rank);
            self.explain(ranks.collect());
            self.reasons.push(Reason::Mixed(mixed));
        }
        self.near(snapshot, true);
        self.ends(Nature::is_over, false);
        self.cycles();
        self.near(snapshot, false);
        self.any_source(snapshot);
        self.ends(|nature| nature != Nature::Waits && !nature.is_over(), true);
        self.on_its_way(snapshot);
        let waits = |nature: &Nature| matches!(nature, Nature::Waits | Nature::InFinalize);
        let is_stall = matches!(snapshot.occasion, Occasion::Stall { .. });
        if self.reasons.is_empty() && (is_stall || self.natures.iter().any(waits)) {
            self.reasons.push(Reason::NotFound);
        }
    }

    fn is_full(&self) -> bool {
        self.reasons.len() >= REASONS_MAX
    }

    /// All waits, each with the node that it is for.
    fn waits(&self) -> Vec<(Wait<'a>, usize)> {
        let nodes = self.graph.nodes.iter();
        let waits = nodes.filter_map(|node| match node.meaning {
            Meaning::Thread(rank, thread) => Some((rank, thread, &node.children)),
            _ => None,
        });
        let waits = waits.flat_map(|(rank, thread, children)| {
            let operations = operations(thread).iter().zip(children);
            operations.map(move |(operation, node)| {
                let wait = Wait {
                    rank,
                    thread,
                    operation,
                };
                (wait, *node)
            })
        });
        waits.collect()
    }

    /// Returns true if a rank cannot come back, and no reason is known.
    fn is_stuck(&self, rank: u32) -> bool {
        let rank = rank as usize;
        !self.back[rank] && !self.explained[rank] && self.natures[rank] == Nature::Waits
    }

    /// Marks these ranks, and all that wait for them.
    fn explain(&mut self, ranks: Vec<u32>) {
        for rank in &ranks {
            self.explained[*rank as usize] = true;
        }
        let starts = ranks.into_iter().map(|rank| rank as usize).collect();
        self.follow(starts, true);
    }

    /// Finds and marks the ranks without a reason whose waits end in these nodes, the nearest
    /// first.
    fn follow(&mut self, starts: Vec<usize>, with_any: bool) -> Vec<Link<'a>> {
        let mut links = Vec::new();
        let mut seen = vec![false; self.graph.nodes.len()];
        // The node, the rank that it stands for, and whether a receive from any source counts.
        let starts = starts.into_iter().map(|node| (node, node, with_any));
        let mut queue: VecDeque<(usize, usize, bool)> = starts.collect();
        while let Some((node, on, with_any)) = queue.pop_front() {
            for &parent in &self.graph.parents[node] {
                match self.graph.nodes[parent].meaning {
                    Meaning::Anybody if !with_any => (),
                    Meaning::Anybody | Meaning::Missing if !seen[parent] => {
                        seen[parent] = true;
                        queue.push_front((parent, on, true));
                    }
                    Meaning::Thread(rank, thread) if self.counts(rank, on) => {
                        let children = &self.graph.nodes[parent].children;
                        let place = children.iter().position(|child| *child == node);
                        let Some(operation) = place.and_then(|at| operations(thread).get(at))
                        else {
                            continue;
                        };
                        self.explained[rank as usize] = true;
                        queue.push_back((rank as usize, rank as usize, true));
                        links.push(Link::new((rank, thread, operation), on));
                    }
                    _ => (),
                }
            }
        }
        links
    }

    /// Returns true if a rank needs a reason, and has one in its wait for another. A rank in
    /// Finalize waits for all, so it is named for those alone that keep the job from its end.
    fn counts(&self, rank: u32, on: usize) -> bool {
        let natures = (self.natures[rank as usize], self.natures[on]);
        !self.explained[rank as usize] && natures != (Nature::InFinalize, Nature::Waits)
    }

    /// Messages that stuck receives nearly take. With `is_strict` their senders send no more unless
    /// the receivers go on.
    fn near(&mut self, snapshot: &'a Snapshot, is_strict: bool) {
        let mut budget = NEAR_MAX;
        for wait in all(snapshot) {
            let (Operation::Receive(wanted) | Operation::Probe(wanted)) = wait.operation else {
                continue;
            };
            if self.is_full() || budget == 0 || !self.is_stuck(wait.rank) {
                continue;
            }
            let near = self.messages.near(wait.rank, wanted, self.communicators);
            let mut near = near.into_iter();
            let Some(near) = near.find(|near| near.difference != Difference::Room) else {
                continue;
            };
            budget -= 1;
            let depends = |source| self.depends(source, wait.rank);
            if is_strict && !near.source.world.is_some_and(depends) {
                continue;
            }
            let sender = near.sender.map(|sender| sender.rank);
            self.explain(std::iter::once(wait.rank).chain(sender).collect());
            self.reasons.push(Reason::Near(wait, near));
        }
    }

    /// Returns true if a rank is over, or waits for another one, maybe through others.
    fn depends(&self, rank: u32, on: u32) -> bool {
        let rank = rank as usize;
        let is_over = |node: usize| {
            self.natures
                .get(node)
                .is_some_and(|nature| nature.is_over())
        };
        if rank >= self.natures.len() || is_over(rank) {
            return true;
        }
        let mut seen = vec![false; self.graph.nodes.len()];
        let mut nodes = vec![on as usize];
        while let Some(node) = nodes.pop() {
            if node == rank {
                return true;
            }
            if !std::mem::replace(&mut seen[node], true) && !is_over(node) {
                nodes.extend(&self.graph.parents[node]);
            }
        }
        false
    }

    /// Waits that end in ranks of some natures.
    fn ends(&mut self, is_end: impl Fn(Nature) -> bool, with_any: bool) {
        // Those that the same threads wait for belong together.
        let mut groups: BTreeMap<(Nature, &[usize]), Vec<u32>> = BTreeMap::new();
        for (rank, nature) in self.natures.iter().enumerate() {
            let parents = self.graph.parents[rank].as_slice();
            if is_end(*nature) && !parents.is_empty() {
                let rank = u32::try_from(rank).unwrap_or(u32::MAX);
                groups.entry((*nature, parents)).or_default().push(rank);
            }
        }
        let groups = groups.into_iter();
        let mut groups: Vec<_> = groups.map(|((nature, _), ranks)| (ranks, nature)).collect();
        groups.sort();
        for (ranks, nature) in groups {
            if self.is_full() {
                break;
            }
            let starts: Vec<usize> = ranks.iter().map(|rank| *rank as usize).collect();
            let mut links = self.follow(starts.clone(), with_any);
            links.retain(|link| ranks.binary_search(&link.wait.rank).is_err());
            if !links.is_empty() {
                for rank in starts {
                    self.explained[rank] = true;
                }
                self.reasons.push(Reason::End(nature, ranks, links));
            }
        }
    }

    /// Ranks that wait for each other, the shortest cycle first.
    fn cycles(&mut self) {
        let mut budget = SEARCH_MAX;
        while !self.is_full() {
            let mut best: Option<Vec<Link<'a>>> = None;
            for rank in (0..).take(self.natures.len()) {
                let most = best.as_ref().map_or(usize::MAX, |best| best.len() - 1);
                if let Some(found) = self.cycle(rank, most, &mut budget) {
                    best = Some(found);
                }
            }
            let Some(mut best) = best else {
                return;
            };
            for link in &mut best {
                self.complete(link);
            }
            let ranks = best.iter().map(|link| link.wait.rank);
            self.explain(ranks.collect());
            self.reasons.push(Reason::Cycle(best));
        }
    }

    /// The shortest cycle through a rank, if it has at most so many ranks.
    fn cycle(&self, start: u32, most: usize, budget: &mut usize) -> Option<Vec<Link<'a>>> {
        if !self.is_stuck(start) {
            return None;
        }
        let mut before: HashMap<u32, Link<'a>> = HashMap::new();
        let mut sets = HashSet::new();
        let mut level = vec![start];
        for _ in 0..most.min(self.natures.len()) {
            let mut next = Vec::new();
            for link in level.iter().flat_map(|rank| self.links(*rank, &mut sets)) {
                *budget = budget.checked_sub(1)?;
                if link.on == start {
                    return Some(path(link, &before, start));
                }
                if self.is_stuck(link.on) && !before.contains_key(&link.on) {
                    next.push(link.on);
                    before.insert(link.on, link);
                }
            }
            if next.is_empty() {
                return None;
            }
            level = next;
        }
        None
    }

    /// What a rank waits for and what cannot come; sets of ranks that were seen are left out.
    fn links(&self, rank: u32, sets: &mut HashSet<usize>) -> Vec<Link<'a>> {
        let mut links = Vec::new();
        for thread_node in &self.graph.nodes[rank as usize].children {
            let node = &self.graph.nodes[*thread_node];
            let Meaning::Thread(_, thread) = node.meaning else {
                continue;
            };
            for (child, operation) in node.children.iter().zip(operations(thread)) {
                let mut add = |on: usize| {
                    links.push(Link::new((rank, thread, operation), on));
                };
                match self.graph.nodes[*child].meaning {
                    Meaning::Rank => add(*child),
                    Meaning::Missing if sets.insert(*child) => {
                        self.graph.nodes[*child]
                            .children
                            .iter()
                            .copied()
                            .for_each(add);
                    }
                    _ => (),
                }
            }
        }
        links
    }

    /// Adds the other ranks that wait in the same collective.
    fn complete(&self, link: &mut Link<'a>) {
        let Operation::Collective { .. } = link.wait.operation else {
            return;
        };
        let parents = &self.graph.parents[link.on as usize];
        let set = parents.iter().find(|parent| {
            let node = &self.graph.nodes[**parent];
            matches!(node.meaning, Meaning::Missing)
                && self.waiting(**parent).contains(&link.wait.rank)
        });
        link.set = set.map(|set| {
            let missing = self.graph.nodes[*set].children.iter();
            let missing = missing.filter_map(|rank| u32::try_from(*rank).ok());
            (self.waiting(*set), missing.collect())
        });
    }

    /// The ranks whose threads wait for a node, sorted.
    fn waiting(&self, node: usize) -> Vec<u32> {
        let parents = self.graph.parents[node].iter();
        let ranks = parents.filter_map(|parent| match self.graph.nodes[*parent].meaning {
            Meaning::Thread(rank, _) => Some(rank),
            _ => None,
        });
        let mut ranks: Vec<u32> = ranks.collect();
        ranks.sort_unstable();
        ranks.dedup();
        ranks
    }

    /// Ranks that wait for any message while nobody can send one.
    fn any_source(&mut self, snapshot: &'a Snapshot) {
        for wait in all(snapshot) {
            let (Operation::Receive(wanted) | Operation::Probe(wanted)) = wait.operation else {
                continue;
            };
            if wanted.source.is_some() || self.is_full() || !self.is_stuck(wait.rank) {
                continue;
            }
            let id = self.communicators.id(wait.rank, wanted.context);
            let mut others = self.communicators.members(id);
            others.retain(|other| *other != wait.rank);
            let nature = others.first().map(|first| self.natures[*first as usize]);
            let over = nature.filter(|nature| {
                let mut natures = others.iter().map(|other| self.natures[*other as usize]);
                nature.is_over() && natures.all(|other| other == *nature)
            });
            self.explain(vec![wait.rank]);
            let over = over.map(|nature| (nature, others));
            self.reasons.push(Reason::AnySource(wait, over));
        }
    }

    /// Waits for what is there and does not arrive.
    fn on_its_way(&mut self, snapshot: &'a Snapshot) {
        let mut waits = self.waits();
        // The sender reports more than a receiver that takes any message.
        waits.sort_by_key(|(wait, _)| !matches!(wait.operation, Operation::Send { .. }));
        for (wait, number) in waits {
            let rank = wait.rank as usize;
            let nature = self.natures[rank];
            let is_waiting = matches!(nature, Nature::Waits | Nature::InFinalize);
            let is_known = self.explained[rank] || !is_long(wait, snapshot);
            if self.is_full() || is_known || !is_waiting {
                continue;
            }
            let node = &self.graph.nodes[number];
            let have_come = matches!(node.meaning, Meaning::Missing) && node.children.is_empty();
            let mut ranks = vec![wait.rank];
            if have_come {
                ranks = self.waiting(number);
            } else if !self.messages.have_met(wait, self.communicators) {
                continue;
            } else if let Operation::Send { dest, .. } = wait.operation
                && let Some(dest) = dest.world
                && (dest as usize) < self.natures.len()
            {
                ranks.push(dest);
            }
            self.explain(ranks);
            let other = self.messages.other_collective(wait, self.communicators);
            self.reasons.push(match other {
                Some(held) => Reason::OtherCollective(wait, held),
                None => Reason::OnItsWay(wait),
            });
        }
    }
}

/// The links of a cycle from its first rank on; `last` leads back to it.
fn path<'a>(last: Link<'a>, before: &HashMap<u32, Link<'a>>, start: u32) -> Vec<Link<'a>> {
    let mut links = vec![last];
    while let Some(link) = links.last()
        && link.wait.rank != start
        && let Some(previous) = before.get(&link.wait.rank)
    {
        links.push(previous.clone());
    }
    links.reverse();
    links
}
