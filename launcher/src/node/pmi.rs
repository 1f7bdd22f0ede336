//! The channels of ranks that speak PMI: sockets around a [`Server`].
//!
//! A rank gets such a channel unless its program is one of ours: a script may run a program of
//! MPICH. Where descriptors are scarce only a program of MPICH gets it.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, send};
use nix::unistd::read;

use super::Node;
use super::spawn::{high, variable};
use crate::job::environment::Variable;
use crate::node::elf::Mpi;
use crate::pmi::server::{Action, Server};
use crate::pmi::{Command, Event};
use crate::poll::{Interests, Token};
use crate::wire::{Answer, Report, Start};

/// How much is read at a time. The answers to it wait until the rank reads them.
const CHUNK: usize = 4096;

/// Our end of the channel to a rank.
#[derive(Debug)]
struct Socket {
    stream: UnixStream,
    outgoing: VecDeque<u8>,
}

impl Socket {
    /// Reads once. Returns `None` at the end, and no bytes if there are none yet.
    fn read(&mut self) -> Option<Vec<u8>> {
        let mut bytes = vec![0; CHUNK];
        let length = match read(&self.stream, &mut bytes) {
            Ok(length) if length > 0 => length,
            Err(Errno::EAGAIN | Errno::EINTR) => 0,
            Ok(_) | Err(_) => return None,
        };
        bytes.truncate(length);
        Some(bytes)
    }

    /// Writes as much as there is room for.
    fn flush(&mut self) {
        while !self.outgoing.is_empty() {
            let (front, _) = self.outgoing.as_slices();
            match send(self.stream.as_raw_fd(), front, MsgFlags::MSG_NOSIGNAL) {
                Ok(length) => drop(self.outgoing.drain(..length)),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return,
                // The rank takes nothing more. What it has sent is still to be read.
                Err(_) => self.outgoing.clear(),
            }
        }
    }
}

/// The channels to the ranks of a node, and their server.
#[derive(Debug)]
pub(super) struct Sockets {
    server: Server,
    /// The name of the job.
    name: String,
    /// By place.
    sockets: Vec<Option<Socket>>,
}

impl Sockets {
    fn new(start: &Start) -> Sockets {
        let name = format!("kvs_{:016x}", start.job);
        Sockets {
            server: Server::new(&name, &start.ranks, &start.hosts),
            name,
            sockets: Vec::new(),
        }
    }

    /// Makes the channel to the next rank. Returns its end; `variables` get what the rank must be
    /// told.
    pub(super) fn open(
        &mut self,
        rank: u32,
        start: &Start,
        variables: &mut Vec<Variable>,
    ) -> io::Result<UnixStream> {
        let (ours, theirs) = UnixStream::pair()?;
        let ours = UnixStream::from(high(ours.into()));
        ours.set_nonblocking(true)?;
        self.sockets.push(Some(Socket {
            stream: ours,
            outgoing: VecDeque::new(),
        }));
        variables.extend([
            variable("PMI_FD", theirs.as_raw_fd()),
            variable("PMI_RANK", rank),
            variable("PMI_SIZE", start.hosts.len()),
            variable("PMI_JOBID", &self.name),
            variable("PMI_HOSTNAME", &start.hosts[rank as usize]),
        ]);
        Ok(theirs)
    }

    /// Names the descriptors to wait for.
    pub(super) fn interests<'a>(&'a self, interests: &mut Interests<'a>) {
        let sockets = self.sockets.iter().enumerate();
        for (place, socket) in sockets.filter_map(|(place, it)| Some((place, it.as_ref()?))) {
            let descriptor = socket.stream.as_fd();
            match socket.outgoing.is_empty() {
                true => interests.readable(descriptor, Token::Pmi(place)),
                false => interests.writable(descriptor, Token::Pmi(place)),
            }
        }
    }

    /// What is known of a rank that uses PMI, or has used it.
    pub(super) fn answer(&self, place: usize) -> Option<Answer> {
        match place {
            place if self.server.is_in_mpi(place) => Some(Answer::OtherMpi),
            place if self.server.has_finalized(place) => Some(Answer::Finalized),
            _ => None,
        }
    }

    /// Reads what the rank has sent, as far as its answers find room. Returns true if there may be
    /// more.
    fn hear(&mut self, place: usize) -> bool {
        let Some(socket) = self.sockets.get_mut(place).and_then(Option::as_mut) else {
            return false;
        };
        socket.flush();
        if !socket.outgoing.is_empty() {
            return false;
        }
        let Some(bytes) = socket.read() else {
            self.sockets[place] = None;
            return false;
        };
        self.server.hear(place, &bytes);
        !bytes.is_empty()
    }
}

impl Node {
    /// Gives the ranks channels for PMI if one of their programs, which are of these MPIs, may need
    /// it and the limit for open files leaves room.
    pub(super) fn offer_pmi(&mut self, start: &Start, owners: &[Option<Mpi>]) {
        let is_ours = owners.iter().all(|owner| *owner == Some(Mpi::Own));
        let per_rank = super::start::DESCRIPTORS_PER_RANK + 1;
        if is_ours || self.check_descriptors(start, per_rank).is_err() {
            return;
        }
        self.pmi = Some(Sockets::new(start));
        self.strangers.have_pmi = true;
    }

    /// Serves a rank that speaks PMI, as far as it has asked.
    pub(super) fn hear_pmi(&mut self, place: usize) {
        while self.pmi.as_mut().is_some_and(|pmi| pmi.hear(place)) {
            self.act_for_pmi();
        }
        self.act_for_pmi();
    }

    /// Carries out a command for the ranks that speak PMI.
    pub(super) fn obey_pmi(&mut self, command: Command) {
        if let Some(pmi) = &mut self.pmi {
            pmi.server.obey(command);
            self.act_for_pmi();
        }
    }

    /// Does what the server wants.
    fn act_for_pmi(&mut self) {
        let Some(pmi) = &mut self.pmi else { return };
        while let Some(action) = pmi.server.action() {
            match action {
                Action::Send(place, bytes) => {
                    if let Some(socket) = &mut pmi.sockets[place] {
                        socket.outgoing.extend(bytes);
                        socket.flush();
                    }
                }
                Action::Report(place, event) => {
                    let rank = &mut self.ranks[place];
                    rank.aborts |= matches!(event, Event::Abort { .. });
                    self.strangers.clear(place);
                    let rank = rank.rank;
                    self.reports.push_back(Report::Pmi { rank, event });
                }
                Action::Break(place, reason) => {
                    pmi.sockets[place] = None;
                    let rank = self.ranks[place].rank;
                    self.reports.push_back(Report::Broken { rank, reason });
                }
            }
        }
    }
}
