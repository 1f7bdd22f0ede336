//! The channels of a rank to the others of its node, each made when it is first used: in a node of
//! a thousand ranks a rank meets few of the others.

use std::cell::OnceCell;
use std::ops::{Index, IndexMut};
use std::sync::{Arc, OnceLock};

use super::choice::{CHOICE_BYTES, Choice};
use super::limits::EAGER_BYTES;
use super::link::{Inward, Outward};
use super::reply_slot::ReplySlot;
use crate::node::Node;

/// What channels are made from.
#[derive(Debug)]
pub(super) struct Ground {
    node: Arc<Node>,
    /// The slot that the two channels of a pair share, by rank of the node.
    reply_slots: Box<[OnceLock<Arc<ReplySlot>>]>,
}

impl Ground {
    pub(super) fn new(node: Arc<Node>) -> Arc<Self> {
        let ranks = 0..node.segment().ranks();
        Arc::new(Self {
            node,
            reply_slots: ranks.map(|_| OnceLock::new()).collect(),
        })
    }

    fn reply_slot(&self, other: u32) -> Arc<ReplySlot> {
        let (me, segment) = (self.node.me(), self.node.segment());
        let make = || ReplySlot::new(segment.reply(me, other), me < other);
        Arc::clone(self.reply_slots[other as usize].get_or_init(make))
    }
}

/// A channel in one direction.
pub(super) trait Channel {
    /// Makes the one to or from rank `other` of the node.
    fn make(ground: &Ground, other: u32) -> Self;
}

impl Channel for Outward {
    fn make(ground: &Ground, other: u32) -> Self {
        let (node, segment) = (&ground.node, ground.node.segment());
        // A sender that shares its core with the receiver had better be done with a message. One
        // that has a core of its own can help to copy it.
        let ring_most = match node.is_copy_measured() {
            true => CHOICE_BYTES,
            false => EAGER_BYTES,
        };
        let pair = segment.pair(node.me(), other);
        let reply_slot = ground.reply_slot(other);
        Self::new(
            segment.area(other),
            pair,
            reply_slot,
            (segment.ranks(), ring_most),
        )
    }
}

impl Channel for Inward {
    fn make(ground: &Ground, other: u32) -> Self {
        let (node, segment) = (&ground.node, ground.node.segment());
        let choice = node.is_copy_measured().then(Choice::default);
        let pair = segment.pair(other, node.me());
        let reply_slot = ground.reply_slot(other);
        let peer = node.peers()[other as usize];
        Self::new(peer, pair, reply_slot, (segment.ranks(), choice))
    }
}

/// The channels in one direction, by rank of the node.
#[derive(Debug)]
pub(super) struct Channels<T> {
    ground: Arc<Ground>,
    made: Box<[OnceCell<Box<T>>]>,
}

impl<T: Channel> Channels<T> {
    pub(super) fn new(ground: &Arc<Ground>) -> Self {
        let ranks = 0..ground.node.segment().ranks();
        Self {
            ground: Arc::clone(ground),
            made: ranks.map(|_| OnceCell::new()).collect(),
        }
    }

    #[cold]
    #[inline(never)]
    fn make(&self, other: usize) -> Box<T> {
        let other = u32::try_from(other).expect("a rank of the node");
        Box::new(T::make(&self.ground, other))
    }
}

impl<T: Channel> Index<usize> for Channels<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, other: usize) -> &T {
        self.made[other].get_or_init(|| self.make(other))
    }
}

impl<T: Channel> IndexMut<usize> for Channels<T> {
    #[inline(always)]
    fn index_mut(&mut self, other: usize) -> &mut T {
        if self.made[other].get().is_none() {
            let made = self.make(other);
            self.made[other] = OnceCell::from(made);
        }
        self.made[other].get_mut().expect("made above")
    }
}
