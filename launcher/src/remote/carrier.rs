//! What carries the frames to an agent and back: `Streams` of ours, or a [`Tunnel`] through the
//! agent of another host.

use std::collections::VecDeque;
use std::fmt::Debug;

use nix::unistd::Pid;

use super::fate::Fate;
use super::settings::Settings;
use super::tunnel::Tunnel;
use crate::poll::{Interests, Token};
use crate::wire::Ended;

/// The way to an agent.
pub(super) trait Carrier: Debug {
    /// What became of the program that reaches the agent.
    fn fate(&self) -> &Fate;

    /// A child process ended. Returns true if it is the program.
    fn end(&mut self, _pid: Pid, _ended: Ended) -> bool {
        false
    }

    /// Names the descriptors to wait for. A tunnel has none: the connection of the other host is
    /// waited for.
    fn interests<'a>(&'a self, _: bool, _: Token, _: &mut Interests<'a>) {}

    /// Writes as much as there is room for. Returns false if the other end takes nothing any more.
    fn write(&mut self, outgoing: &mut VecDeque<u8>) -> bool;

    /// Ends the agent's input: there will be no more orders.
    fn close_input(&mut self);

    /// Reads what there is.
    fn read(&mut self) -> Vec<u8>;

    /// Returns true if there is nothing more to read.
    fn is_at_end(&self) -> bool;

    /// Returns true if nothing of it is left to wait for.
    fn is_gone(&self) -> bool {
        self.is_at_end() && self.fate().has_ended()
    }

    /// Returns true if it is a tunnel.
    fn is_tunnel(&self) -> bool {
        false
    }

    /// The tunnel, if it is one.
    fn tunnel(&mut self) -> Option<&mut Tunnel> {
        None
    }

    /// What became of it, in words.
    fn how_it_ended(&self, settings: &Settings) -> String {
        self.fate().how_it_ended(&settings.shown_program())
    }
}
