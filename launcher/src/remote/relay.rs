//! The hosts below an agent: an ssh for each, and the bytes that go through it.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use nix::sys::wait::WaitStatus;
use nix::unistd::Pid;
use serde_bytes::ByteBuf;

use super::carrier::Carrier;
use super::ssh;
use super::streams::Streams;
use crate::node::Inherited;
use crate::poll::{Interests, Token};
use crate::wire::{Down, Ended, PASSAGE_CHUNK, Report, Up};

/// How long the hosts below may take to end when `mpirun` is gone.
const FAREWELL: Duration = Duration::from_secs(3);

/// The way to one host.
#[derive(Debug)]
struct Channel {
    process: Streams,
    outgoing: VecDeque<u8>,
    has_more_orders: bool,
    is_end_reported: bool,
}

impl Channel {
    /// Writes as much as ssh takes. Returns how much that is.
    fn write(&mut self) -> Option<Up> {
        let before = self.outgoing.len();
        self.process.write(&mut self.outgoing);
        let taken = before - self.outgoing.len();
        if !self.has_more_orders && self.outgoing.is_empty() {
            self.process.close_input();
        }
        (taken > 0).then_some(Up::Taken(taken as u64))
    }

    /// Reads what there is.
    fn read(&mut self) -> Vec<Up> {
        let received = self.process.read();
        let pieces = received.chunks(PASSAGE_CHUNK);
        let mut ups: Vec<Up> = pieces.map(|it| Up::Bytes(ByteBuf::from(it))).collect();
        if self.process.is_at_end() && !std::mem::replace(&mut self.is_end_reported, true) {
            ups.push(Up::End);
        }
        ups
    }
}

/// The hosts below an agent.
#[derive(Debug)]
pub(crate) struct Relay {
    inherited: Inherited,
    channels: BTreeMap<u32, Channel>,
    reports: VecDeque<Report>,
    /// When what is left is ended.
    leaves_at: Option<Instant>,
}

impl Relay {
    /// No hosts yet.
    pub(crate) fn new(inherited: Inherited) -> Relay {
        Relay {
            inherited,
            channels: BTreeMap::new(),
            reports: VecDeque::new(),
            leaves_at: None,
        }
    }

    /// Returns true if no host hangs on this one.
    pub(crate) fn is_empty(&self) -> bool {
        self.channels.is_empty()
    }

    /// Carries out an order about a host.
    pub(crate) fn obey(&mut self, node: u32, down: Down) {
        match (down, self.channels.get_mut(&node)) {
            (Down::Reach(words), None) => self.reach(node, &words),
            (Down::Bytes(bytes), Some(channel)) => {
                channel.outgoing.extend(bytes.iter());
                let taken = channel.write();
                self.report(node, taken);
            }
            (Down::End, Some(channel)) => {
                channel.has_more_orders = false;
                let taken = channel.write();
                self.report(node, taken);
            }
            (Down::Drop, _) => drop(self.channels.remove(&node)),
            // What comes late for a host that is gone.
            _ => {}
        }
    }

    fn reach(&mut self, node: u32, words: &[String]) {
        match ssh::connect(words, self.inherited) {
            Ok(process) => {
                let channel = Channel {
                    process,
                    outgoing: VecDeque::new(),
                    has_more_orders: true,
                    is_end_reported: false,
                };
                self.channels.insert(node, channel);
            }
            Err(error) => self.report(node, [Up::NotExecuted(error.to_string())]),
        }
    }

    /// The next report.
    pub(crate) fn next_report(&mut self) -> Option<Report> {
        self.reports.pop_front()
    }

    fn report(&mut self, node: u32, ups: impl IntoIterator<Item = Up>) {
        let reports = ups.into_iter().map(|up| Report::Below { node, up });
        self.reports.extend(reports);
    }

    /// Names the descriptors to wait for. Nothing is read from the hosts while `has_room` is false:
    /// what waits for `mpirun` is bounded.
    pub(crate) fn interests<'a>(&'a self, has_room: bool, interests: &mut Interests<'a>) {
        for (node, channel) in &self.channels {
            let has_outgoing = !channel.outgoing.is_empty();
            let token = Token::Below(*node);
            if has_room {
                channel.process.interests(has_outgoing, token, interests);
            } else if has_outgoing {
                channel.process.input_interest(token, interests);
            }
        }
    }

    /// Something can be read or written.
    pub(crate) fn ready(&mut self, node: u32, has_room: bool) {
        if let Some(channel) = self.channels.get_mut(&node) {
            let mut ups = Vec::from_iter(channel.write());
            if has_room {
                ups.extend(channel.read());
            }
            self.report(node, ups);
        }
    }

    /// A child process changed. Returns true if it is an ssh to a host below.
    pub(crate) fn child(&mut self, pid: Pid, status: WaitStatus) -> bool {
        let Some(ended) = Ended::of(status) else {
            return false;
        };
        let mut channels = self.channels.iter_mut();
        let ours =
            channels.find_map(|(node, it)| it.process.end(pid, ended).then_some((*node, it)));
        let Some((node, channel)) = ours else {
            return false;
        };
        let mut ups = channel.read();
        ups.push(Up::Ended(ended, channel.process.fate().complaints()));
        if self.leaves_at.is_some() {
            self.channels.remove(&node);
        }
        self.report(node, ups);
        true
    }

    /// `mpirun` is gone: ends what is below.
    pub(crate) fn leave(&mut self, now: Instant) {
        self.leaves_at.get_or_insert(now + FAREWELL);
        self.reports.clear();
        self.channels.retain(|_, it| !it.process.fate().has_ended());
        for channel in self.channels.values_mut() {
            channel.process.close_input();
        }
    }

    /// When [`Relay::tick`] must be called.
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        self.leaves_at.filter(|_| !self.is_empty())
    }

    /// Does what is due.
    pub(crate) fn tick(&mut self, now: Instant) {
        if self.leaves_at.is_some_and(|at| at <= now) {
            self.channels.clear();
        }
    }
}
