//! The socket that listens, and the connections that have not proved themselves.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use socket2::Socket;

use super::door::{Door, turn_away};
use super::poller::{Interest, Poller, Source};
use super::proof::draw;
use super::socket;
use crate::clock::Instant;
use crate::slab::Slab;

/// How long a connection may take to prove itself.
pub(super) const PROOF_TIME: Duration = Duration::from_secs(5);

/// The most connections that have not proved themselves.
const UNPROVEN_MOST: usize = 64;

/// The most connections that are accepted in one turn.
const ACCEPTS_MOST: usize = 16;

/// How long this process does not listen after it had no descriptor left.
const FULL_PAUSE: Duration = Duration::from_millis(100);

/// Connections in their handshakes, of both ends.
#[derive(Debug)]
pub(super) struct Doors {
    listener: Socket,
    doors: Slab<Door>,
    /// New connections are accepted.
    listens: bool,
    /// When they are accepted again.
    listen_at: Option<Instant>,
    /// The user knows that there is no descriptor left.
    has_warned: bool,
    /// A descriptor for the moment when there is no other.
    spare: Option<OwnedFd>,
    /// Connections that were closed since they did not prove themselves.
    refused: u64,
}

impl Doors {
    /// No connection yet. The poller reports `listener`.
    pub(super) fn new(listener: Socket) -> Self {
        Self {
            listener,
            doors: Slab::default(),
            listens: true,
            listen_at: None,
            has_warned: false,
            spare: socket::spare().ok(),
            refused: 0,
        }
    }

    /// Connections that were closed since they did not prove themselves.
    pub(super) fn refused(&self) -> u64 {
        self.refused
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.doors.is_empty()
    }

    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut Door> {
        self.doors.get_mut(index)
    }

    /// Adds a connection, and has it reported. Returns its number.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn add(&mut self, poller: &Poller, door: Door) -> io::Result<u32> {
        let index = self.doors.insert(door);
        let door = self.doors.get(index).expect("it was just put there");
        let source = Source::Door(index);
        let added = poller.add(&door.socket, source, Interest::READS);
        if let Err(error) = added {
            self.doors.discard(index);
            return Err(error);
        }
        Ok(index)
    }

    /// Takes a connection out: its handshake is over.
    pub(super) fn remove(&mut self, poller: &Poller, index: u32) -> Option<Door> {
        let door = self.doors.remove(index)?;
        poller.remove(&door.socket);
        Some(door)
    }

    /// Closes a connection that has not proved itself.
    pub(super) fn refuse(&mut self, poller: &Poller, index: u32) {
        self.refused += 1;
        self.remove(poller, index);
    }

    /// Accepts what has come, a few at a time. `warn` tells the user that no descriptor is left.
    pub(super) fn accept(
        &mut self,
        poller: &Poller,
        (now, lost_after): (Instant, Option<Duration>),
        warn: impl Fn(&io::Error),
    ) {
        for _ in 0..ACCEPTS_MOST {
            if self.unproven() >= UNPROVEN_MOST {
                self.listen(poller, false);
                return;
            }
            match socket::accept(&self.listener, lost_after) {
                Ok(socket) => {
                    let deadline = now.plus(PROOF_TIME);
                    let door = draw()
                        .map_err(io::Error::other)
                        .and_then(|nonce| Door::accepted(socket, nonce, deadline))
                        .and_then(|door| self.add(poller, door));
                    self.refused += u64::from(door.is_err());
                }
                Err(error) if socket::is_full(&error) => {
                    if !core::mem::replace(&mut self.has_warned, true) {
                        warn(&error);
                    }
                    return self.turn_away(poller, now);
                }
                // One that has ended already; anything else passes, too.
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    }

    /// Connections that have not proved themselves.
    pub(super) fn unproven(&self) -> usize {
        self.doors
            .iter()
            .filter(|(_, door)| door.line().is_none())
            .count()
    }

    /// Turns a connector away with the descriptor that is kept for that.
    #[cold]
    fn turn_away(&mut self, poller: &Poller, now: Instant) {
        drop(self.spare.take());
        if let Ok(socket) = socket::accept(&self.listener, None) {
            turn_away(&socket);
            self.refused += 1;
        }
        self.spare = socket::spare().ok();
        self.listen(poller, false);
        self.listen_at = Some(now.plus(FULL_PAUSE));
    }

    /// Watches the socket that listens, or leaves new connections to the system for a while.
    fn listen(&mut self, poller: &Poller, listens: bool) {
        if core::mem::replace(&mut self.listens, listens) != listens {
            let interest = if listens {
                Interest::READS
            } else {
                Interest::NONE
            };
            poller.change(&self.listener, Source::Listener, interest);
        }
    }

    /// Returns true if `handle_time` has nothing to do, ever.
    pub(super) fn has_no_timers(&self) -> bool {
        self.doors.is_empty() && self.listens
    }

    /// When `handle_time` has something to do.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        let deadlines = self.doors.iter().filter_map(|(_, door)| door.deadline);
        deadlines.chain(self.listen_at).min()
    }

    /// Closes connections that took too long, and accepts new ones again.
    pub(super) fn handle_time(&mut self, poller: &Poller, now: Instant) {
        if self.listen_at.is_some_and(|at| at <= now) {
            self.listen_at = None;
        }
        let is_late = |door: &Door| door.deadline.is_some_and(|deadline| deadline <= now);
        let late = self.doors.iter().filter(|(_, door)| is_late(door));
        let late: Vec<_> = late.map(|(index, door)| (index, door.line())).collect();
        for (index, line) in late {
            match line {
                None => self.refuse(poller, index),
                Some(_) => _ = self.remove(poller, index),
            }
        }
        if !self.listens && self.listen_at.is_none() && self.unproven() < UNPROVEN_MOST {
            self.listen(poller, true);
        }
    }
}
