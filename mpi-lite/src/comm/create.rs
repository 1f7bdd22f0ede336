//! New communicators from old ones. Source: MPI 5.0, 7.4.2.

use std::sync::Arc;

use super::context::Agreement;
use super::members::GroupPeers;
use super::{Basis, Call, Communicator, Group, Peers, Sides, TaskPeers, drive};
use crate::engine::Request;
use crate::error::{Cause, Result};
use crate::ids::Context;
use crate::topology::Topology;
use crate::transport::PeerId;

/// The color of processes that do not take part.
pub(super) const NO_COLOR: u32 = u32::MAX;

impl Communicator {
    /// Makes a communicator of these processes with a new context and the same topology.
    /// Collective.
    ///
    /// # Errors
    /// A process of the group is lost.
    ///
    /// Source: MPI 5.0, 7.4.2.
    pub fn dup(&self) -> Result<Self> {
        if let Some(local) = self.local() {
            return self.dup_between(local);
        }
        drive(self.dup_among(&self.within(Call::CREATE)))
    }

    /// Starts what [`Communicator::dup`] does. `made` gets the communicator, in whatever thread
    /// makes progress, before the request completes. Collective.
    ///
    /// No outcome: the program's variable must hold the new handle as soon as any call, in any
    /// thread, finds the request complete, and nobody takes an outcome before.
    ///
    /// Source: MPI 5.0, 7.4.2.
    pub fn idup(&self, made: impl FnOnce(Self) + Send + 'static) -> Request {
        let parent = self.clone();
        self.start_call(Call::CREATE, false, |peers| {
            Box::pin(async move {
                made(parent.dup_beside(peers).await?);
                Ok(0)
            })
        })
    }

    /// Splits the processes by `color`. Within a part they are ordered by `key`, then by their rank
    /// here. A process with `None` is in no part and gets `None`. Collective.
    ///
    /// # Errors
    /// A process of the group is lost.
    ///
    /// Source: MPI 5.0, 7.4.2.
    pub fn split(&self, color: Option<u32>, key: i32) -> Result<Option<Self>> {
        if let Some(local) = self.local() {
            return self.split_between(local, color, key);
        }
        drive(self.split_among(&self.within(Call::CREATE), color, key))
    }

    /// Makes a communicator of `group`, a subset of this one's. Processes outside of it get `None`.
    /// Collective over all processes of this communicator.
    ///
    /// # Errors
    /// A process of `group` is not in this communicator; the caller takes part all the same. A
    /// process of this communicator is lost.
    ///
    /// Source: MPI 5.0, 7.4.2.
    pub fn create(&self, group: &Group) -> Result<Option<Self>> {
        if let Some(local) = self.local() {
            return self.create_between(local, group);
        }
        drive(self.create_among(&self.within(Call::CREATE), group))
    }

    /// Makes a communicator of `group`, a subset of this one's. Collective over `group` only; a
    /// process outside of it gets `None` at once. Several may be made at once, by groups without a
    /// common member or with different tags.
    ///
    /// # Errors
    /// The tag is negative, or a process of `group` is not in this communicator: nothing is sent
    /// then. A process of `group` is lost.
    ///
    /// Source: MPI 5.0, 7.4.2.
    pub fn create_group(&self, group: &Group, tag: i32) -> Result<Option<Self>> {
        self.require_intra()?;
        let Some(members) = GroupPeers::of(self, group, tag)? else {
            return Ok(None);
        };
        let words = [0, tag.cast_unsigned()];
        let group = self.group().with_members(group.shared_members());
        drive(self.create_among_members(&members, &group, words)).map(Some)
    }

    /// Makes a communicator of `group`, in its session. This communicator is the one of all
    /// processes of the job.
    /// Collective over `group` only; a process outside of it gets `None` at once. Several may be
    /// made at once, by groups without a common member or with different names.
    ///
    /// # Errors
    /// `Argument`: the other processes have given another name. A process of `group` is lost.
    ///
    /// Source: MPI 5.0, 7.4.2.
    pub fn create_from_group(&self, group: &Group, name: &[u8]) -> Result<Option<Self>> {
        let ([high, low], tag) = hash(name);
        let Some(members) = GroupPeers::of(self, group, tag)? else {
            return Ok(None);
        };
        drive(self.create_among_members(&members, group, [high, low])).map(Some)
    }

    /// This process.
    pub(super) fn me(&self) -> PeerId {
        let me = self.local_group().peer(self.rank());
        me.expect("a member has its rank")
    }

    /// Checks that `group` is a part of this communicator's.
    ///
    /// # Errors
    /// `Group`: it is not.
    pub(super) fn check_has(&self, group: &Group) -> Result<()> {
        match group.first_beyond(self.group()) {
            None => Ok(()),
            Some(stranger) => {
                let rank = self.engine().with(|lane| lane.peers().rank(stranger));
                Err(Cause::Group { rank }.into())
            }
        }
    }
}

/// A number of 64 bits for a name (FNV-1a).
pub(crate) fn number_of(name: &[u8]) -> u64 {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    name.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

/// The number of a name in two words, and a tag of 31 bits of it.
pub(super) fn hash(name: &[u8]) -> ([u32; 2], i32) {
    let hash = number_of(name);
    let [high, low] = [(hash >> 32) as u32, hash as u32];
    ([high, low], (low & i32::MAX as u32).cast_signed())
}

/// How communicators are made among `peers`, the processes of this one.
impl Communicator {
    /// [`Communicator::dup`] beside the program, of either kind of communicator.
    async fn dup_beside(&self, peers: TaskPeers) -> Result<Self> {
        let (Some(side), Some(local)) = (self.local(), peers.local_side()) else {
            return self.dup_among(&peers.participant()).await;
        };
        let (local, remote) = (local.participant(), peers.participant());
        let sides = Sides { local, remote };
        let made = self.dup_among_sides(side, &sides).await;
        made.map_err(|error| sides.give_up(error))
    }

    async fn dup_among(&self, peers: &impl Peers) -> Result<Self> {
        let agreement = self.agree(peers, [0, 0]).await?;
        let topology = self.inner.topology.clone();
        Ok(self.derive(&agreement, self.group().clone(), self.rank(), topology))
    }

    pub(crate) async fn split_among(
        &self,
        peers: &impl Peers,
        color: Option<u32>,
        key: i32,
    ) -> Result<Option<Self>> {
        let words = [color.unwrap_or(NO_COLOR), key.cast_unsigned()];
        let agreement = self.agree(peers, words).await?;
        let Some(color) = color else {
            return Ok(None);
        };
        let group = self.group().of_color(agreement.words(), color);
        let rank = group
            .rank_of(self.me())
            .expect("this process has the color");
        Ok(Some(self.derive(&agreement, group, rank, None)))
    }

    pub(crate) async fn create_among(
        &self,
        peers: &impl Peers,
        group: &Group,
    ) -> Result<Option<Self>> {
        let agreement = self.agree(peers, [0, 0]).await?;
        self.check_has(group)?;
        let group = self.local_group().with_members(group.shared_members());
        let rank = group.rank_of(self.me());
        Ok(rank.map(|rank| self.derive(&agreement, group, rank, None)))
    }

    /// Makes one among `members`, the processes of `group`, whose `words` are all the same.
    async fn create_among_members(
        &self,
        members: &GroupPeers<'_>,
        group: &Group,
        words: [u32; 2],
    ) -> Result<Self> {
        let hint = (self.context().0 / Context::EACH).wrapping_add(words[1]);
        let contexts = &self.inner.contexts;
        let agreement = contexts.agree((group, members), hint, words).await?;
        if agreement.words().any(|theirs| theirs != words) {
            return Err(Cause::Argument("the processes of group gave different stringtags").into());
        }
        Ok(self.derive(&agreement, group.clone(), members.rank(), None))
    }

    /// Makes the communicator of `group`, in which this process has `rank`.
    pub(super) fn derive(
        &self,
        agreement: &Agreement<'_>,
        group: Group,
        rank: u32,
        topology: Option<Arc<Topology>>,
    ) -> Self {
        let (engine, contexts) = (&self.inner.engine, &self.inner.contexts);
        let site = agreement.meet(
            |site_id| engine.site(site_id, group.members(), rank),
            &group,
        );
        let basis = Basis {
            site,
            topology,
            ..Basis::of(agreement.context(), group, rank)
        };
        let communicator = Self::new(engine, contexts, basis);
        contexts.note(&communicator);
        communicator
    }
}
