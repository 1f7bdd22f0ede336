//! Communicators: a group of processes, and a context in which only their messages match.
//!
//! Source: MPI 5.0, chapters 3 and 7.

mod arrange;
mod call;
mod context;
mod create;
mod group;
mod inter;
mod members;
mod nodes;
mod partitioned;
mod peers;
mod persistent;
mod places;
mod point;
mod probe;
mod tasks;

use core::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

pub use call::Call;
pub(crate) use call::{
    Form, Operation, give_up_at, in_words, mismatch, mismatch_at_site, missed_at_site,
};
pub(crate) use create::number_of;
pub use group::Group;
pub use inter::{Bridge, Sides};
pub use nodes::Nodes;
pub(crate) use peers::drive;
pub use peers::{Everyone, Members, Peers};
pub use point::{ReceiveFrom, SendTo};
pub(crate) use point::{check_length, length_differs};
pub use probe::Matched;
pub use tasks::TaskPeers;

use crate::engine::{AtSite, Engine, OpenPort, Port};
use crate::error::{Cause, Result};
use crate::ids::Context;
use crate::node::site::Site;
use crate::topology::Topology;

/// A communicator. Clones name the same communicator.
///
/// An intra-communicator has one group of processes. An inter-communicator has two, the sides: a
/// process sends to and receives from those of the other side. Source: MPI 5.0, 7.6.
#[derive(Clone, Debug)]
pub struct Communicator {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    engine: Arc<Engine>,
    contexts: Arc<context::Contexts>,
    context: Context,
    /// The processes that ranks name.
    group: Group,
    /// This process's rank, and the number of processes; in an inter-communicator, of this side.
    rank: u32,
    size: u32,
    /// Of an inter-communicator: this side, in contexts of its own.
    local: Option<Communicator>,
    /// The site of its members, if they share memory.
    site: Option<Site>,
    /// Registers with the engine the processes that may send messages with its contexts.
    port: OpenPort,
    /// How its processes are arranged, if they are.
    topology: Option<Arc<Topology>>,
    /// The nodes of the processes that ranks name, once an operation has asked for them.
    nodes: OnceLock<Option<Nodes>>,
    /// Its nonblocking collectives.
    numbers: Mutex<tasks::CallNumbers>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(site) = self.site.take() {
            self.contexts.leave(site);
        }
    }
}

/// Makes the contexts of this communicator lead to the processes of `group`.
fn open_port(engine: &Engine, context: Context, group: &Group) -> OpenPort {
    let port = Port::among(group.shared_members());
    engine.with(|lane| {
        let port = lane.open_port(context, port);
        lane.buffers().note_session(context, group.session());
        port
    })
}

/// What distinguishes a communicator from the others of a process.
struct Basis {
    context: Context,
    /// The processes that ranks name.
    group: Group,
    rank: u32,
    /// This side, if it is an inter-communicator.
    local: Option<Communicator>,
    site: Option<Site>,
    topology: Option<Arc<Topology>>,
}

impl Basis {
    /// An intra-communicator of `group` without a site.
    fn of(context: Context, group: Group, rank: u32) -> Self {
        Self {
            context,
            group,
            rank,
            local: None,
            site: None,
            topology: None,
        }
    }
}

/// How two communicators relate. Source: MPI 5.0, 7.4.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Both are one communicator.
    Identical,
    /// The groups have the same members in the same order; the contexts differ.
    Congruent,
    /// The groups have the same members in another order.
    Similar,
    /// Anything else.
    Unequal,
}

impl Communicator {
    /// The communicators that every process has: of all processes of the job, of itself, and one
    /// of all processes of the job without a site, from which `create_from_group` makes others.
    #[must_use]
    pub fn predefined(engine: &Arc<Engine>) -> (Self, Self, Self) {
        engine.report().name_collectives_by(Call::in_parts);
        let contexts = Arc::new(context::Contexts::new(engine));
        let make = |context, group, rank, site| {
            let basis = Basis::of(context, group, rank);
            Self::new(engine, &contexts, Basis { site, ..basis })
        };
        let (me, all) = engine.with(|lane| {
            (
                lane.peers().me(),
                Group::from_members(lane.peers().all().collect()),
            )
        });
        let rank = all.rank_of(me).expect("a process is in its world");
        let site = engine.site(places::WORLD, all.members(), rank);
        let world = make(Context::WORLD, all.clone(), rank, site);
        contexts.note(&world);
        let own = make(Context::OWN, Group::from_members([me].into()), 0, None);
        (world, own, make(Context::ALL, all, rank, None))
    }

    /// Makes a communicator; each one is made here.
    fn new(engine: &Arc<Engine>, contexts: &Arc<context::Contexts>, basis: Basis) -> Self {
        let Basis { context, group, .. } = basis;
        let (port, size) = match &basis.local {
            Some(side) => (side.open_port_between(&group, context), side.size()),
            None => (open_port(engine, context, &group), group.size()),
        };
        Self {
            inner: Arc::new(Inner {
                engine: Arc::clone(engine),
                contexts: Arc::clone(contexts),
                context,
                group,
                rank: basis.rank,
                size,
                local: basis.local,
                site: basis.site,
                port,
                topology: basis.topology,
                nodes: OnceLock::new(),
                numbers: Mutex::default(),
            }),
        }
    }

    /// This process's rank, `0..size`; in an inter-communicator, its rank on this side.
    #[inline]
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.inner.rank
    }

    /// How many processes the communicator has; an inter-communicator, on this side.
    #[inline]
    #[must_use]
    pub fn size(&self) -> u32 {
        self.inner.size
    }

    /// The processes that its ranks name: all of them; of an inter-communicator, those of the other
    /// side.
    #[inline]
    #[must_use]
    pub fn group(&self) -> &Group {
        &self.inner.group
    }

    /// Its processes; of an inter-communicator, those of this side.
    #[must_use]
    pub fn local_group(&self) -> &Group {
        match self.local() {
            Some(local) => local.group(),
            None => self.group(),
        }
    }

    /// Returns true if this is an inter-communicator.
    #[must_use]
    pub fn is_inter(&self) -> bool {
        self.local().is_some()
    }

    /// This side, if this is an inter-communicator.
    #[inline]
    pub(crate) fn local(&self) -> Option<&Self> {
        self.inner.local.as_ref()
    }

    /// Checks that this is an intra-communicator.
    ///
    /// # Errors
    /// `Communicator`: it is an inter-communicator.
    pub(super) fn require_intra(&self) -> Result<()> {
        match self.is_inter() {
            true => Err(Cause::Communicator("an intercommunicator is not allowed here").into()),
            false => Ok(()),
        }
    }

    /// Its context for point-to-point messages.
    #[must_use]
    pub fn context(&self) -> Context {
        self.inner.context
    }

    /// How its processes are arranged, if they are. Source: MPI 5.0, chapter 8.
    #[must_use]
    pub fn topology(&self) -> Option<&Topology> {
        self.inner.topology.as_deref()
    }

    /// The engine that moves its messages.
    #[inline]
    #[must_use]
    pub fn engine(&self) -> &Arc<Engine> {
        &self.inner.engine
    }

    /// The site of its members, if they share memory.
    #[inline]
    pub(crate) fn at_site(&self) -> Option<AtSite<'_>> {
        let site = self.inner.site.as_ref()?;
        let context = self.inner.context.collective();
        Some(AtSite::new(&self.inner.engine, site, context))
    }

    /// A number in memory that its members share, if they do: its use is up to them.
    pub(crate) fn shared_number(&self) -> Option<&AtomicU64> {
        let site = self.inner.site.as_ref()?;
        Some(&site.shared_number().0)
    }

    /// Which of its members share a node, if they are on several nodes and some do.
    pub(crate) fn nodes(&self) -> Option<&Nodes> {
        let find = || {
            self.engine().with(|lane| {
                let members = self.group().members().iter();
                Nodes::of(members.map(|&member| lane.peers().host(member)))
            })
        };
        self.inner.nodes.get_or_init(find).as_ref()
    }

    /// Checks that the members have come to the same operations at their site, this one and all
    /// others that this process has not freed. Nobody comes to any more.
    ///
    /// # Errors
    /// `Cause::Mismatch` if a member was in another operation, had another root, or missed one that
    /// did not wait for it.
    pub(crate) fn check_epochs(&self) -> Result<()> {
        let with_sites = self.inner.contexts.with_sites();
        with_sites.iter().try_for_each(Self::check_own_epochs)
    }

    fn check_own_epochs(&self) -> Result<()> {
        let Some(at_site) = self.at_site() else {
            return Ok(());
        };
        let site = at_site.site();
        if let Some((mine, (other, theirs))) = site.disagreement() {
            let other = (other as u32, theirs);
            return Err(mismatch_at_site((self.rank(), mine), other));
        }
        match site.straggler() {
            // After an error some members have gone on without the others.
            Some(straggler) if !at_site.has_failed() => Err(missed_at_site(straggler)),
            _ => Ok(()),
        }
    }

    /// Returns how this communicator relates to `other`. Source: MPI 5.0, 7.4.1.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Comparison {
        if self.inner.context == other.inner.context {
            return Comparison::Identical;
        }
        if self.is_inter() != other.is_inter() {
            return Comparison::Unequal;
        }
        let of_local = self.local_group().compare(other.local_group());
        match (of_local, self.group().compare(other.group())) {
            (Comparison::Identical, Comparison::Identical) => Comparison::Congruent,
            (Comparison::Unequal, _) | (_, Comparison::Unequal) => Comparison::Unequal,
            _ => Comparison::Similar,
        }
    }
}
