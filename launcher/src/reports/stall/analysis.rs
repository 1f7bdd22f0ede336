//! Why the ranks of a snapshot wait.
//!
//! A rank that cannot come back needs a reason: it calls what does not fit, or others that do not
//! come back keep it. A rank whose wait ends in one that has a reason needs none of its own.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use mpi_boot::state::{HeldMessage, Operation};

use super::Snapshot;
use super::collectives::{Meeting, Mixed, mixed};
use super::facts::Facts;
use super::graph::{Graph, Meaning};
use super::near::{Difference, Messages, Near};
use super::waits::{Nature, Wait, ranks_of};
use super::words::collective;

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
    /// A wait for the rank `on`.
    fn new(wait: Wait<'a>, on: usize) -> Link<'a> {
        Link {
            wait,
            on: u32::try_from(on).unwrap_or(u32::MAX),
            set: None,
        }
    }
}

/// What a snapshot shows, and why its ranks wait.
pub(super) struct Finding<'a> {
    pub(super) facts: Facts<'a>,
    pub(super) messages: Messages<'a>,
    /// By collective: the ranks that have not come.
    pub(super) missing: BTreeMap<Meeting<'a>, Vec<u32>>,
    pub(super) reasons: Vec<Reason<'a>>,
}

impl<'a> Reason<'a> {
    /// The waits that it is made of.
    pub(super) fn waits(&self) -> Vec<Wait<'a>> {
        match self {
            Reason::Cycle(links) | Reason::End(_, _, links) => {
                links.iter().map(|link| link.wait).collect()
            }
            Reason::Near(wait, (near, _)) => std::iter::once(*wait).chain(near.sender).collect(),
            Reason::Mixed(mixed) => mixed.waits().collect(),
            Reason::AnySource(wait, _)
            | Reason::OtherCollective(wait, _)
            | Reason::OnItsWay(wait) => vec![*wait],
            Reason::NotFound => Vec::new(),
        }
    }
}

impl<'a> Finding<'a> {
    pub(super) fn new(snapshot: &'a Snapshot) -> Finding<'a> {
        let facts = Facts::new(snapshot);
        let messages = Messages::new(&facts);
        let mixed = mixed(&facts);
        let (graph, missing) = Graph::new(&facts, &messages, &mixed);
        let mut search = Search {
            back: graph.come_back(),
            explained: vec![false; facts.natures.len()],
            facts: &facts,
            messages: &messages,
            graph,
            reasons: Vec::new(),
        };
        search.run(mixed);
        let mut reasons = search.reasons;
        reasons.truncate(REASONS_MAX);
        Finding {
            reasons,
            missing,
            facts,
            messages,
        }
    }
}

/// The search for reasons.
struct Search<'s, 'a> {
    facts: &'s Facts<'a>,
    messages: &'s Messages<'a>,
    graph: Graph,
    /// By node: it comes back.
    back: Vec<bool>,
    /// By rank: its wait ends in a reason that was found.
    explained: Vec<bool>,
    reasons: Vec<Reason<'a>>,
}

impl<'a> Search<'_, 'a> {
    /// Finds the reasons, the most telling ones first.
    fn run(&mut self, mixed: Vec<Mixed<'a>>) {
        for mixed in mixed {
            self.add(ranks_of(mixed.waits()), Reason::Mixed(mixed));
        }
        self.near(true);
        self.ends(Nature::is_over, false);
        self.cycles();
        self.near(false);
        self.any_source();
        self.ends(|nature| nature != Nature::Waits && !nature.is_over(), true);
        self.on_its_way();
        let mut natures = self.facts.natures.iter();
        let is_any = self.facts.is_stall() || natures.any(|nature| nature.is_in_mpi());
        if self.reasons.is_empty() && is_any {
            self.reasons.push(Reason::NotFound);
        }
    }

    /// Adds a reason for these ranks, and all that wait for them.
    fn add(&mut self, ranks: Vec<u32>, reason: Reason<'a>) {
        for rank in &ranks {
            self.explained[*rank as usize] = true;
        }
        self.follow(&ranks, true);
        self.reasons.push(reason);
    }

    fn is_full(&self) -> bool {
        self.reasons.len() >= REASONS_MAX
    }

    /// Returns true if a rank cannot come back, and no reason is known.
    fn is_stuck(&self, rank: u32) -> bool {
        let rank = rank as usize;
        !self.back[rank] && !self.explained[rank] && self.facts.natures[rank] == Nature::Waits
    }

    /// Returns true for a receive or a probe that needs a reason, if there is room for one.
    fn lacks_message(&self, wait: Wait<'_>) -> bool {
        wait.is_for_message() && !self.is_full() && self.is_stuck(wait.rank)
    }

    /// Finds and marks the ranks without a reason whose waits end in these ranks, the nearest first.
    fn follow(&mut self, ends: &[u32], with_any: bool) -> Vec<Link<'a>> {
        let mut links = Vec::new();
        let mut seen = vec![false; self.graph.nodes.len()];
        // The node, the rank that it stands for, and whether a receive from any source counts.
        let ends = ends.iter().map(|rank| *rank as usize);
        let mut queue = VecDeque::from_iter(ends.map(|node| (node, node, with_any)));
        while let Some((node, on, with_any)) = queue.pop_front() {
            for &parent in &self.graph.parents[node] {
                match self.graph.nodes[parent].meaning {
                    Meaning::Anybody if !with_any => (),
                    Meaning::Anybody | Meaning::Missing if !seen[parent] => {
                        seen[parent] = true;
                        queue.push_front((parent, on, true));
                    }
                    Meaning::Thread(first) if self.counts(first, on) => {
                        let mut targets = self.graph.targets[first..].iter();
                        let Some(place) = targets.position(|target| *target == node) else {
                            continue;
                        };
                        let wait = self.facts.waits[first + place];
                        let rank = wait.rank as usize;
                        self.explained[rank] = true;
                        queue.push_back((rank, rank, true));
                        links.push(Link::new(wait, on));
                    }
                    _ => (),
                }
            }
        }
        links
    }

    /// Returns true if the rank of a wait needs a reason, and has one in its wait for another. A rank
    /// in Finalize waits for all, so it is named for those alone that keep the job from its end.
    fn counts(&self, first: usize, on: usize) -> bool {
        let rank = self.facts.waits[first].rank as usize;
        let natures = (self.facts.natures[rank], self.facts.natures[on]);
        !self.explained[rank] && natures != (Nature::InFinalize, Nature::Waits)
    }

    /// Messages that stuck receives nearly take. With `is_strict` their senders send no more unless
    /// the receivers go on.
    fn near(&mut self, is_strict: bool) {
        let facts = self.facts;
        let mut budget = NEAR_MAX;
        for &wait in &facts.waits {
            if budget == 0 || !self.lacks_message(wait) {
                continue;
            }
            let mut near = self.messages.near(wait, facts).into_iter();
            let Some(near) = near.find(|(_, difference)| *difference != Difference::Room) else {
                continue;
            };
            budget -= 1;
            let (message, _) = near;
            let depends = |source| self.depends(source, wait.rank);
            if !is_strict || message.mail.world().is_some_and(depends) {
                let ranks = ranks_of(std::iter::once(wait).chain(message.sender));
                self.add(ranks, Reason::Near(wait, near));
            }
        }
    }

    /// Returns true if a rank is over, or waits for another one, maybe through others.
    fn depends(&self, rank: u32, on: u32) -> bool {
        let rank = rank as usize;
        let is_over = |node: usize| {
            let nature = self.facts.natures.get(node);
            nature.is_some_and(|nature| nature.is_over())
        };
        if rank >= self.facts.natures.len() || is_over(rank) {
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
        for (rank, nature) in self.facts.natures.iter().enumerate() {
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
            let mut links = self.follow(&ranks, with_any);
            links.retain(|link| ranks.binary_search(&link.wait.rank).is_err());
            if !links.is_empty() {
                for rank in &ranks {
                    self.explained[*rank as usize] = true;
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
            for rank in (0..).take(self.facts.natures.len()) {
                let most = best.as_ref().map_or(usize::MAX, |best| best.len() - 1);
                best = self.cycle(rank, most, &mut budget).or(best);
            }
            let Some(mut best) = best else {
                return;
            };
            for link in &mut best {
                self.complete(link);
            }
            let ranks = ranks_of(best.iter().map(|link| link.wait));
            self.add(ranks, Reason::Cycle(best));
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
        for _ in 0..most.min(self.facts.natures.len()) {
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
        let nodes = &self.graph.nodes;
        let first = self.facts.waits.partition_point(|wait| wait.rank < rank);
        let waits = self.facts.of_rank(rank).iter();
        for (&wait, &target) in waits.zip(&self.graph.targets[first..]) {
            let ons = match nodes[target].meaning {
                Meaning::Rank => &[target][..],
                Meaning::Missing if sets.insert(target) => &nodes[target].children,
                _ => &[],
            };
            links.extend(ons.iter().map(|on| Link::new(wait, *on)));
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
            let is_set = matches!(self.graph.nodes[**parent].meaning, Meaning::Missing);
            is_set && self.waiting(**parent).contains(&link.wait.rank)
        });
        link.set = set.map(|set| (self.waiting(*set), self.graph.nodes[*set].ranks()));
    }

    /// The ranks whose threads wait for a node, sorted.
    fn waiting(&self, node: usize) -> Vec<u32> {
        let parents = self.graph.parents[node].iter();
        let waits = parents.filter_map(|parent| match self.graph.nodes[*parent].meaning {
            Meaning::Thread(first) => Some(self.facts.waits[first]),
            _ => None,
        });
        ranks_of(waits)
    }

    /// Ranks that wait for any message while nobody can send one.
    fn any_source(&mut self) {
        let facts = self.facts;
        for &wait in &facts.waits {
            let id = wait.mail().filter(|mail| mail.peer.is_none());
            let Some(id) = id.filter(|_| self.lacks_message(wait)).map(|mail| mail.id) else {
                continue;
            };
            let mut others = facts.members(id);
            others.retain(|other| *other != wait.rank);
            let mut natures = others.iter().map(|other| facts.natures[*other as usize]);
            let first = natures.next().filter(|first| first.is_over());
            let over = first.filter(|first| natures.all(|other| other == *first));
            let over = over.map(|nature| (nature, others));
            self.add(vec![wait.rank], Reason::AnySource(wait, over));
        }
    }

    /// Waits for what is there and does not arrive.
    fn on_its_way(&mut self) {
        let facts = self.facts;
        let targets = self.graph.targets.iter().copied();
        let mut waits: Vec<(Wait<'a>, usize)> = facts.waits.iter().copied().zip(targets).collect();
        // The sender reports more than a receiver that takes any message.
        waits.sort_by_key(|(wait, _)| !wait.is_send());
        for (wait, target) in waits {
            let rank = wait.rank as usize;
            let is_known = self.explained[rank] || !facts.is_long(wait);
            if self.is_full() || is_known || !facts.natures[rank].is_in_mpi() {
                continue;
            }
            let node = &self.graph.nodes[target];
            let ranks = if matches!(node.meaning, Meaning::Missing) && node.children.is_empty() {
                self.waiting(target)
            } else if self.messages.have_met(wait) {
                let dest = wait.mail().filter(|_| wait.is_send());
                let dest = dest.and_then(|mail| mail.world());
                let dest = dest.filter(|dest| (*dest as usize) < facts.natures.len());
                Vec::from_iter([Some(wait.rank), dest].into_iter().flatten())
            } else {
                continue;
            };
            let reason = match self.other_collective(wait) {
                Some(held) => Reason::OtherCollective(wait, held),
                None => Reason::OnItsWay(wait),
            };
            self.add(ranks, reason);
        }
    }

    /// A message that a rank in a collective holds, and that belongs to another one.
    fn other_collective(&self, wait: Wait<'a>) -> Option<&'a HeldMessage> {
        let Operation::Collective {
            is_blocking: true, ..
        } = wait.operation
        else {
            return None;
        };
        let own = collective(wait);
        self.facts.state(wait.rank)?.unexpected.iter().find(|held| {
            let is_other = !held.collective.is_empty() && held.collective != own;
            is_other && Some(self.facts.id(wait.rank, held.context)) == wait.id
        })
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
