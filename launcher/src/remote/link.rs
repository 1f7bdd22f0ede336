//! A node of the job, wherever it is.

use std::time::Instant;

use nix::sys::wait::WaitStatus;
use nix::unistd::Pid;

use crate::node::Node;
use crate::poll::{Interests, Token};
use crate::remote::Remote;
use crate::wire::{Order, Report};

/// One node: the same orders and reports for both kinds.
pub enum Link {
    /// The ranks are our own children.
    Here(Box<Node>),
    /// The ranks are children of an agent behind ssh, or started by srun.
    There(Box<Remote>),
}

impl Link {
    /// The results of the job are written.
    pub fn dismiss_guard(&mut self) {
        if let Link::Here(node) = self {
            node.dismiss_guard();
        }
    }

    /// Returns true if the node can be told to start.
    pub fn is_ready(&self) -> bool {
        self.remote().is_none_or(Remote::is_ready)
    }

    /// Returns true if nothing will come from this node any more.
    pub fn is_over(&self) -> bool {
        match self {
            Link::Here(node) => node.is_quiet(),
            Link::There(remote) => remote.is_over(),
        }
    }

    /// Gives an order; `frame` is its encoding, if that is known.
    pub fn obey(&mut self, order: &Order, frame: Option<&[u8]>, now: Instant) {
        match self {
            Link::Here(node) => node.obey(order.clone(), now),
            Link::There(remote) => remote.obey(order, frame, now),
        }
    }

    /// The next report.
    pub fn report(&mut self) -> Option<Report> {
        match self {
            Link::Here(node) => node.report(),
            Link::There(remote) => remote.report(),
        }
    }

    /// The node, if it is on another host.
    pub fn remote(&self) -> Option<&Remote> {
        match self {
            Link::Here(_) => None,
            Link::There(remote) => Some(remote),
        }
    }

    /// The node, if it is on another host.
    pub fn remote_mut(&mut self) -> Option<&mut Remote> {
        match self {
            Link::Here(_) => None,
            Link::There(remote) => Some(remote),
        }
    }

    /// Names the descriptors to wait for; `number` is the node's.
    pub fn interests<'a>(&'a self, number: usize, interests: &mut Interests<'a>) {
        match self {
            Link::Here(node) => node.interests(interests),
            Link::There(remote) => remote.interests(number, interests),
        }
    }

    /// A descriptor of this node is ready.
    pub fn ready(&mut self, token: Token, now: Instant) {
        match self {
            Link::Here(node) => node.ready(token, now),
            Link::There(remote) => remote.ready(now),
        }
    }

    /// When [`Link::tick`] must be called.
    pub fn wake_at(&self) -> Option<Instant> {
        match self {
            Link::Here(node) => node.wake_at(),
            Link::There(remote) => remote.wake_at(),
        }
    }

    /// Does what is due.
    pub fn tick(&mut self, now: Instant) {
        match self {
            Link::Here(node) => node.tick(now),
            Link::There(remote) => remote.tick(now),
        }
    }

    /// There are no child processes.
    pub fn lose_children(&mut self, now: Instant) {
        if let Link::Here(node) = self {
            node.lose_children(now);
        }
    }

    /// A child process changed. Returns true if it belongs to this node.
    pub fn child(&mut self, pid: Pid, status: WaitStatus, now: Instant) -> bool {
        match self {
            Link::Here(node) => node.child(pid, status, now),
            Link::There(remote) => remote.child(pid, status, now),
        }
    }
}
