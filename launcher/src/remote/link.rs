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
    fn of<'a, T>(
        &'a self,
        here: impl FnOnce(&'a Node) -> T,
        there: impl FnOnce(&'a Remote) -> T,
    ) -> T {
        match self {
            Link::Here(node) => here(node),
            Link::There(remote) => there(remote),
        }
    }

    fn of_mut<'a, T>(
        &'a mut self,
        here: impl FnOnce(&'a mut Node) -> T,
        there: impl FnOnce(&'a mut Remote) -> T,
    ) -> T {
        match self {
            Link::Here(node) => here(node),
            Link::There(remote) => there(remote),
        }
    }

    /// The results of the job are written.
    pub fn dismiss_guard(&mut self) {
        self.of_mut(Node::dismiss_guard, |_| ());
    }

    /// Returns true if the node can be told to start.
    pub fn is_ready(&self) -> bool {
        self.of(|_| true, Remote::is_ready)
    }

    /// Returns true if nothing will come from this node any more.
    pub fn is_over(&self) -> bool {
        self.of(Node::is_quiet, Remote::is_over)
    }

    /// Gives an order; `frame` is its encoding, if that is known.
    pub fn obey(&mut self, order: &Order, frame: Option<&[u8]>, now: Instant) {
        self.of_mut(
            |it| it.obey(order.clone(), now),
            |it| it.obey(order, frame, now),
        );
    }

    /// The next report.
    pub fn report(&mut self) -> Option<Report> {
        self.of_mut(Node::report, Remote::report)
    }

    /// The node, if it is on another host.
    pub fn remote(&self) -> Option<&Remote> {
        self.of(|_| None, Some)
    }

    /// The node, if it is on another host.
    pub fn remote_mut(&mut self) -> Option<&mut Remote> {
        self.of_mut(|_| None, Some)
    }

    /// Names the descriptors to wait for; `number` is the node's.
    pub fn interests<'a>(&'a self, number: usize, interests: &mut Interests<'a>) {
        match self {
            Link::Here(node) => node.interests(interests),
            Link::There(remote) => remote.way.interests(number, interests),
        }
    }

    /// A descriptor of this node is ready.
    pub fn ready(&mut self, token: Token, now: Instant) {
        self.of_mut(|it| it.ready(token, now), |it| it.ready(now));
    }

    /// When [`Link::tick`] must be called.
    pub fn wake_at(&self) -> Option<Instant> {
        self.of(Node::wake_at, Remote::wake_at)
    }

    /// Does what is due.
    pub fn tick(&mut self, now: Instant) {
        self.of_mut(|it| it.tick(now), |it| it.tick(now));
    }

    /// There are no child processes.
    pub fn lose_children(&mut self, now: Instant) {
        self.of_mut(|it| it.lose_children(now), |_| ());
    }

    /// A child process changed. Returns true if it belongs to this node.
    pub fn child(&mut self, pid: Pid, status: WaitStatus, now: Instant) -> bool {
        self.of_mut(
            |it| it.child(pid, status, now),
            |it| it.child(pid, status, now),
        )
    }
}
