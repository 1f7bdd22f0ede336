//! Connections that are made: handshakes, retries, strangers, losses.

use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use super::door::{Door, Pass, Step};
use super::doors::PROOF_TIME;
use super::line::{Connection, Line, LineState, Opening, Rest};
use super::poller::{Interest, Source};
use super::proof::{Claim, Verdict, draw};
use super::{Tcp, socket, words};
use crate::clock::Instant;
use crate::transport::{Hindrance, PeerId, Sink, Unheard};

/// How often a peer may close a new connection before it has proved itself.
const TRIES_MOST: u32 = 10;

impl Tcp {
    /// The line of a channel to a peer; a new one begins to connect.
    #[inline]
    pub(super) fn line_to(&mut self, peer: PeerId, key: u32) -> u32 {
        match self.by_name.get(&(peer, key)) {
            Some(&index) => index,
            None => {
                let now = self.clock.now();
                let index = self.new_line(peer, key, now);
                self.opening.push(index);
                self.begin(index, now);
                index
            }
        }
    }

    fn new_line(&mut self, peer: PeerId, key: u32, now: Instant) -> u32 {
        let index = u32::try_from(self.lines.len()).expect("fewer than descriptors");
        self.lines.push(Line {
            peer,
            key,
            stream: self.streams.channel_to(peer, key),
            state: LineState::Opening(Opening::new(now)),
            rest: Rest::default(),
            is_listed: false,
            is_held: false,
        });
        debug_assert_eq!(self.lines[index as usize].stream.0, index);
        self.by_name.insert((peer, key), index);
        index
    }

    fn opening_of(&mut self, index: u32) -> Option<&mut Opening> {
        match &mut self.lines[index as usize].state {
            LineState::Opening(opening) => Some(opening),
            LineState::Open(_) | LineState::Closed(_) | LineState::Broken(..) => None,
        }
    }

    /// Begins the connection of a line.
    fn begin(&mut self, index: u32, now: Instant) {
        let address = self.addresses[self.lines[index as usize].peer.0 as usize];
        let Some(opening) = self.opening_of(index) else {
            return;
        };
        opening.again_at = None;
        opening.tries += 1;
        let door = socket::connect(address, self.lost_after)
            .map(|socket| Door::begun(socket, index))
            .and_then(|door| self.doors.add(&self.poller, door));
        match (door, self.opening_of(index)) {
            (Ok(door), Some(opening)) => opening.door = Some(door),
            (Err(error), _) => self.fail(index, &error, now),
            (Ok(_), None) => {}
        }
    }

    /// The attempt to connect a line has failed.
    fn fail(&mut self, index: u32, error: &io::Error, now: Instant) {
        let (open, is_per_channel) = (self.open_lines, self.is_per_channel);
        let Some(opening) = self.opening_of(index) else {
            return;
        };
        opening.fail(now);
        let is_ended = matches!(
            error.kind(),
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset
        );
        if socket::is_full(error) {
            // Not at once: the message whose connection this is must be known as unsent.
            let reason = words::of_full(error, open, is_per_channel).into();
            self.interrupt_for(Duration::ZERO, index, reason);
        } else if error.kind() == io::ErrorKind::ConnectionRefused {
            self.interrupt(index, words::NOBODY.into());
        } else if is_ended && opening.tries >= TRIES_MOST {
            self.interrupt(index, words::UNWANTED.into());
        } else if words::is_of_network(error) {
            opening.refusal = Some(words::of_network(error));
        }
    }

    /// Accepts what has come, a few at a time.
    pub(super) fn accept(&mut self, now: Instant) {
        let warn = |error: &io::Error| {
            let why = words::of_full(error, self.open_lines, self.is_per_channel);
            eprintln!(
                "mpi-lite: process {}: cannot accept a connection: {why}",
                self.me.0
            );
        };
        let context = (now, self.lost_after);
        self.doors.accept(&self.poller, context, warn);
    }

    /// Reads what has come on a connection in its handshake.
    pub(super) fn step(&mut self, index: u32, now: Instant) {
        let Some(door) = self.doors.get_mut(index) else {
            return;
        };
        let line = door.line();
        let (me, lines) = (self.me, &self.lines);
        let pass = || {
            let line = &lines[line? as usize];
            Some(Pass {
                me,
                peer: line.peer,
                key: line.key,
                nonce: draw().ok()?,
            })
        };
        let step = door.step(&self.prover, me, pass);
        match (step, line) {
            (Step::Waits, _) => {}
            (Step::Claim(claim), _) => self.judge(index, &claim),
            (step, Some(line)) => self.conclude(index, line, step, now),
            (_, None) => self.doors.refuse(&self.poller, index),
        }
    }

    /// Decides about a connection whose connector has proved itself.
    ///
    /// If both sides connect at once, the connection of the lower rank is the one that stays: its
    /// side refuses the other, whose side takes it. Neither has sent anything before.
    fn judge(&mut self, index: u32, claim: &Claim) {
        let (peer, key) = (claim.connector, claim.key);
        let is_expected = (peer.0 as usize) < self.addresses.len()
            && peer != self.me
            && (self.is_per_channel || key == 0);
        if !is_expected || self.streams.is_lost(peer) {
            return self.doors.refuse(&self.poller, index);
        }
        let line = self.by_name.get(&(peer, key)).copied();
        let verdict = match line.map(|line| &self.lines[line as usize].state) {
            None => Verdict::Accepted,
            Some(LineState::Opening(opening)) if self.me < peer && opening.door.is_some() => {
                Verdict::Crossed
            }
            Some(LineState::Opening(_)) => Verdict::Accepted,
            // Its own connection was taken before this one came.
            Some(LineState::Open(_)) => Verdict::Crossed,
            Some(LineState::Closed(_) | LineState::Broken(..)) => {
                return self.doors.refuse(&self.poller, index);
            }
        };
        let Some(door) = self.doors.remove(&self.poller, index) else {
            return;
        };
        let told = door.decide(&self.prover, claim, verdict);
        if verdict == Verdict::Crossed || told.is_err() {
            // Without an answer the connector tries again.
            return;
        }
        self.counters.accepted += 1;
        let line = line.unwrap_or_else(|| self.new_line(peer, key, self.now));
        self.open(line, door);
    }

    /// A connection of this process has come to an end of its handshake.
    fn conclude(&mut self, index: u32, line: u32, step: Step, now: Instant) {
        let Some(door) = self.doors.remove(&self.poller, index) else {
            return;
        };
        let opening = self.opening_of(line);
        let Some(opening) = opening.filter(|opening| opening.door == Some(index)) else {
            // The peer's own connection came meanwhile.
            return;
        };
        match step {
            Step::Verdict(Verdict::Accepted) => {
                self.counters.made += 1;
                self.open(line, door);
            }
            Step::Verdict(Verdict::Crossed) => opening.cross(now),
            Step::Full => self.lose_by(line, words::FULL.into()),
            Step::Failed(error) => self.fail(line, &error, now),
            Step::Foreign => self.lose_by(line, words::FOREIGN.into()),
            Step::Waits | Step::Claim(_) => {}
        }
    }

    /// A line carries messages from now on, over this connection.
    fn open(&mut self, index: u32, door: Door) {
        if let Some(own) = self.opening_of(index).and_then(|opening| opening.door)
            && let Some(own) = self.doors.get_mut(own)
        {
            // It comes to its end by itself, so that the peer counts no stranger.
            own.deadline = Some(self.now.plus(PROOF_TIME));
        }
        self.opening.retain(|&opening| opening != index);
        let added = self
            .poller
            .add(&door.socket, Source::Line(index), Interest::READS);
        self.lines[index as usize].state = LineState::Open(Connection {
            socket: door.socket,
            is_blocked: false,
            interest: Interest::READS,
        });
        self.open_lines += 1;
        self.list(index);
        if let Err(error) = added {
            self.lose_by(index, words::of_end(&error));
        }
    }

    /// Does what is due by the time.
    pub(super) fn handle_time(&mut self, now: Instant, sink: &mut impl Sink) {
        self.doors.handle_time(&self.poller, now);
        for index in self.opening.clone() {
            self.handle_opening(index, now, sink);
        }
        for index in core::mem::take(&mut self.broken) {
            match &self.lines[index as usize].state {
                LineState::Broken(lost_at, reason) if *lost_at <= now => {
                    let reason = reason.clone();
                    self.lose_by(index, reason);
                }
                LineState::Broken(..) => self.broken.push(index),
                _ => {}
            }
        }
    }

    fn handle_opening(&mut self, index: u32, now: Instant, sink: &mut impl Sink) {
        let (peer, lost_after) = (self.lines[index as usize].peer, self.lost_after);
        let address = self.addresses.get(peer.0 as usize).copied();
        let Some(opening) = self.opening_of(index) else {
            return;
        };
        if opening.is_lost(now, lost_after) {
            return self.lose_by(index, words::SILENT.into());
        }
        if let Some(waited) = opening.is_unheard(now) {
            let hindrance = opening.refusal.clone().map(Hindrance::Refusal);
            sink.unheard(Unheard {
                peer,
                address,
                carrier: "TCP",
                waited,
                hindrance,
            });
        }
        if opening.again_at.is_some_and(|at| at <= now) {
            self.begin(index, now);
        }
    }

    /// Returns true if `handle_time` may have something to do some time.
    pub(super) fn has_timers(&self) -> bool {
        let is_without = self.opening.is_empty() && self.broken.is_empty();
        !is_without || !self.doors.has_no_timers()
    }

    /// When `handle_time` has something to do.
    pub(super) fn next_time(&self) -> Option<Instant> {
        let opening =
            self.opening
                .iter()
                .filter_map(|&index| match &self.lines[index as usize].state {
                    LineState::Opening(opening) => Some(opening.wake_at(self.lost_after)),
                    LineState::Open(_) | LineState::Closed(_) | LineState::Broken(..) => None,
                });
        let broken =
            self.broken
                .iter()
                .filter_map(|&index| match self.lines[index as usize].state {
                    LineState::Broken(lost_at, _) => Some(lost_at),
                    _ => None,
                });
        opening.chain(broken).chain(self.doors.wake_at()).min()
    }

    /// The peer of a line is lost.
    #[cold]
    pub(super) fn lose_by(&mut self, index: u32, reason: Cow<'static, str>) {
        let peer = self.lines[index as usize].peer;
        let address: Option<SocketAddr> = self.addresses.get(peer.0 as usize).copied();
        self.streams.lose(peer, address, reason.clone());
        for index in 0..self.lines.len() as u32 {
            if self.lines[index as usize].peer != peer {
                continue;
            }
            if let Some(door) = self.opening_of(index).and_then(|opening| opening.door) {
                self.doors.remove(&self.poller, door);
            }
            self.close(index, reason.clone());
        }
        let lines = &self.lines;
        self.opening
            .retain(|&index| lines[index as usize].peer != peer);
    }
}
