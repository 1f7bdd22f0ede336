//! How the ranks of a node meet that another process manager started.
//!
//! The first rank of a node opens a Unix socket without a file, whose name it publishes over the
//! process manager; the others connect. The system vouches that they belong to the same user. Over
//! these connections the first rank hands out the memory of the node ([`Shared`]) and the cards of
//! all ranks. A connection that ends early shows that a rank has died.
//!
//! ```text
//!    rank of the node              first rank of the node
//!     | Here ------------------------> |
//!     | <-------------------- Welcome  |   with the descriptors of the node's memory
//!     | Card ------------------------> |   (waits for the card of every rank)
//!     | <---------------------- Cards  |
//!     | Finalized, or Ending --------> |
//!     | <-------- Finalized, or Ending |
//! ```

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use crate::boot::protocol::{Frames, PROTOCOL, encode};
use crate::boot::shared::{Beside, Shared};
use crate::boot::waiting::{await_first, is_readable};

/// How long a rank that has connected may take for its first message.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the other ranks of a node send to its first one, and back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Message {
    /// A rank of this node.
    Here {
        /// [`PROTOCOL`] of the library.
        protocol: u32,
        /// Its rank in the job.
        rank: u32,
    },
    /// Answer to `Here`.
    Welcome {
        /// The ranks that are on the node, ascending.
        ranks: Vec<u32>,
        /// Descriptors come beside this frame.
        shares_memory: bool,
    },
    /// The card of a rank.
    Card(ByteBuf),
    /// The cards of all ranks of the job, by rank.
    Cards(Vec<ByteBuf>),
    /// The rank leaves the job in order.
    Finalized,
    /// The rank ends the job.
    Ending,
}

/// A rank of this node is gone, or cannot be talked to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    /// It ended without `MPI_Finalize`.
    Ended {
        /// Which.
        rank: u32,
        /// Its process.
        pid: i32,
    },
    /// It ends the job, and has said why.
    Aborted,
    /// Something else, in words.
    Broken(String),
}

fn broken(what: &str, error: impl Display) -> Loss {
    Loss::Broken(format!("{what}: {error}"))
}

/// Cards, one of a rank or those of all.
pub(super) type Cards = Vec<Vec<u8>>;

/// A connection to another rank of the node.
#[derive(Debug)]
struct Peer {
    /// Unknown until it has said so.
    rank: Option<u32>,
    pid: i32,
    stream: UnixStream,
    frames: Frames,
    beside: Beside,
    /// The ranks of the node, and whether descriptors came with them.
    welcome: Option<(Vec<u32>, bool)>,
    /// The cards that have come.
    cards: Option<Cards>,
    has_left: bool,
}

impl Peer {
    fn new(rank: Option<u32>, stream: UnixStream) -> Result<Self, Loss> {
        let because = |error: io::Error| broken("cannot talk to the ranks of this host", error);
        let owner = socket_peercred(&stream).map_err(|errno| because(errno.into()))?;
        let pid = owner.pid.as_raw_nonzero().get();
        if owner.uid != geteuid() {
            return Err(Loss::Broken(format!(
                "process {pid} of another user connects to the ranks of this host"
            )));
        }
        stream.set_read_timeout(Some(PATIENCE)).map_err(because)?;
        Ok(Self {
            rank,
            pid,
            stream,
            frames: Frames::default(),
            beside: Beside::default(),
            welcome: None,
            cards: None,
            has_left: false,
        })
    }

    fn lost(&self) -> Loss {
        match self.rank {
            Some(rank) => Loss::Ended {
                rank,
                pid: self.pid,
            },
            None => Loss::Broken(format!("process {} ended in MPI_Init", self.pid)),
        }
    }

    fn send(&mut self, message: &Message, shared: Option<&Shared>) -> Result<(), Loss> {
        let frame = encode(message).map_err(|error| Loss::Broken(error.to_string()))?;
        let sent = match shared {
            Some(shared) => shared.send_beside(&frame, &self.stream),
            None => self.stream.write_all(&frame),
        };
        sent.map_err(|_| self.lost())
    }

    /// Waits for the next message.
    fn receive(&mut self) -> Result<Message, Loss> {
        loop {
            let pid = self.pid;
            let nonsense = |error| broken(&format!("process {pid} sent"), error);
            if let Some(message) = self.frames.pop().map_err(nonsense)? {
                return Ok(message);
            }
            self.read()?;
        }
    }

    /// Reads once.
    fn read(&mut self) -> Result<(), Loss> {
        let mut bytes = [0; 16 << 10];
        match self.beside.receive(&self.stream, &mut bytes) {
            Ok(0) => Err(self.lost()),
            Ok(length) => {
                self.frames.push(&bytes[..length]);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(_) => Err(self.lost()),
        }
    }

    /// Takes what has come, without waiting.
    fn look(&mut self) -> Result<(), Loss> {
        while !self.has_left && self.has_news()? {
            self.read()?;
            while let Some(message) = self
                .frames
                .pop()
                .map_err(|error| broken("a frame", error))?
            {
                self.take(message)?;
            }
        }
        Ok(())
    }

    fn has_news(&self) -> Result<bool, Loss> {
        is_readable(&self.stream).map_err(|error| broken("poll", error))
    }

    fn take(&mut self, message: Message) -> Result<(), Loss> {
        match message {
            Message::Card(card) => self.cards = Some(vec![card.into_vec()]),
            Message::Cards(cards) => {
                self.cards = Some(cards.into_iter().map(ByteBuf::into_vec).collect());
            }
            Message::Finalized => self.has_left = true,
            Message::Ending => {
                self.has_left = true;
                return Err(Loss::Aborted);
            }
            Message::Welcome {
                ranks,
                shares_memory,
            } => self.welcome = Some((ranks, shares_memory)),
            Message::Here { .. } => {
                let pid = self.pid;
                return Err(Loss::Broken(format!("process {pid} sent a wrong message")));
            }
        }
        Ok(())
    }
}

/// The connections between the ranks of a node: the first one has one to each other, each other has
/// one to the first.
#[derive(Debug)]
pub(super) struct Neighbours {
    listener: Option<UnixListener>,
    peers: Vec<Peer>,
    /// Readable if a connection is.
    watch: OwnedFd,
}

impl Neighbours {
    fn new(listener: Option<UnixListener>) -> Result<Self, Loss> {
        let watch = epoll::create(epoll::CreateFlags::CLOEXEC);
        Ok(Self {
            listener,
            peers: Vec::new(),
            watch: watch.map_err(|errno| broken("epoll", errno))?,
        })
    }

    /// Without neighbours.
    pub(super) fn none() -> Result<Self, Loss> {
        Self::new(None)
    }

    /// Opens the socket of the first rank. Returns its name, in letters and digits.
    pub(super) fn open() -> Result<(Self, String), Loss> {
        let because = |error| broken("cannot open a socket for the ranks of this host", error);
        let name = random_name()?;
        let address = SocketAddr::from_abstract_name(&name).map_err(because)?;
        let listener = UnixListener::bind_addr(&address).map_err(because)?;
        listener.set_nonblocking(true).map_err(because)?;
        Ok((Self::new(Some(listener))?, name))
    }

    /// Connects to the first rank of the node. Returns `None` if no socket of this name can be
    /// reached: the process is on another host, or in another container.
    pub(super) fn connect(name: &str, first: u32, me: u32) -> Result<Option<Self>, Loss> {
        let because = |error| broken("cannot connect to the ranks of this host", error);
        let address = SocketAddr::from_abstract_name(name).map_err(because)?;
        let Ok(stream) = UnixStream::connect_addr(&address) else {
            return Ok(None);
        };
        let mut peer = Peer::new(Some(first), stream)?;
        let here = Message::Here {
            protocol: PROTOCOL,
            rank: me,
        };
        peer.send(&here, None)?;
        let mut neighbours = Self::new(None)?;
        neighbours.add(peer)?;
        Ok(Some(neighbours))
    }

    fn add(&mut self, peer: Peer) -> Result<(), Loss> {
        let place = EventData::new_u64(self.peers.len() as u64);
        epoll::add(&self.watch, &peer.stream, place, EventFlags::IN)
            .map_err(|errno| broken("epoll", errno))?;
        self.peers.push(peer);
        Ok(())
    }

    /// Admits all that have connected to the first rank. `me` is that rank. Returns the ranks of
    /// the node, ascending.
    pub(super) fn admit(&mut self, me: u32) -> Result<Vec<u32>, Loss> {
        let mut ranks = vec![me];
        while let Some(stream) = self.accept()? {
            let mut peer = Peer::new(None, stream)?;
            let rank = match peer.receive()? {
                Message::Here { protocol, rank } if protocol == PROTOCOL => rank,
                Message::Here { rank, .. } => {
                    return Err(Loss::Broken(format!(
                        "rank {rank} uses another version of mpi-lite than rank {me}"
                    )));
                }
                _ => return Err(peer.lost()),
            };
            peer.rank = Some(rank);
            ranks.push(rank);
            self.add(peer)?;
        }
        ranks.sort_unstable();
        self.listener = None;
        Ok(ranks)
    }

    fn accept(&mut self) -> Result<Option<UnixStream>, Loss> {
        loop {
            match self.listener.as_ref().map(UnixListener::accept) {
                None => return Ok(None),
                Some(Ok((stream, _))) => return Ok(Some(stream)),
                Some(Err(error)) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Some(Err(error)) if error.kind() == ErrorKind::Interrupted => {}
                Some(Err(error)) => return Err(broken("accept", error)),
            }
        }
    }

    /// Sends the ranks of the node to all that were admitted, and what they share.
    pub(super) fn welcome(&mut self, ranks: &[u32], shared: Option<&Shared>) -> Result<(), Loss> {
        let message = Message::Welcome {
            ranks: ranks.to_vec(),
            shares_memory: shared.is_some(),
        };
        self.peers
            .iter_mut()
            .try_for_each(|peer| peer.send(&message, shared))
    }

    /// Waits for the ranks of the node and what they share. They may come before the fence ends
    /// that this rank is in.
    pub(super) fn await_welcome(&mut self) -> Result<(Vec<u32>, Option<Shared>), Loss> {
        loop {
            let first = self.peers.first_mut();
            let first = first.ok_or_else(|| Loss::Broken("there is no first rank".into()))?;
            if let Some((ranks, shares_memory)) = first.welcome.take() {
                let needed = if shares_memory { ranks.len() + 1 } else { 0 };
                let beside = std::mem::take(&mut first.beside);
                let shared = beside.sort_for(needed);
                let shared = shared.map_err(|error| Loss::Broken(error.to_string()))?;
                return Ok((ranks, shared));
            }
            self.wait();
            self.look()?;
        }
    }

    /// Sends this rank's card to the first rank of the node.
    pub(super) fn give_card(&mut self, card: &[u8]) -> Result<(), Loss> {
        self.send_all(&Message::Card(ByteBuf::from(card)))
    }

    /// Sends the cards of all ranks of the job to the ranks of the node.
    pub(super) fn send_cards(&mut self, cards: &[Vec<u8>]) -> Result<(), Loss> {
        let cards = cards.iter().cloned().map(ByteBuf::from).collect();
        self.send_all(&Message::Cards(cards))
    }

    fn send_all(&mut self, message: &Message) -> Result<(), Loss> {
        self.peers
            .iter_mut()
            .try_for_each(|peer| peer.send(message, None))
    }

    /// Waits for the cards of all neighbours. Returns who sent them, and the cards of each.
    pub(super) fn await_cards(&mut self) -> Result<Vec<(u32, Cards)>, Loss> {
        while self.peers.iter().any(|peer| peer.cards.is_none()) {
            self.wait();
            self.look()?;
        }
        let taken = self.peers.iter_mut().filter_map(|peer| {
            let cards = peer.cards.take()?;
            Some((peer.rank?, cards))
        });
        Ok(taken.collect())
    }

    fn wait(&self) {
        // If this fails the next look finds what is wrong.
        let _ = await_first(self.watch.as_fd(), None);
    }

    /// Returns true without neighbours.
    pub(super) fn is_empty(&self) -> bool {
        self.peers.is_empty()
    }

    /// The descriptor to watch while something else is waited for; none without neighbours.
    pub(super) fn watched(&self) -> Option<BorrowedFd<'_>> {
        (!self.peers.is_empty()).then(|| self.watch.as_fd())
    }

    /// Becomes readable if a neighbour has sent something or is gone.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.watch.as_fd()
    }

    /// Takes what has come, without waiting.
    ///
    /// # Errors
    /// A neighbour is gone, or ends the job.
    pub(super) fn look(&mut self) -> Result<(), Loss> {
        let (watch, peers) = (&self.watch, &mut self.peers);
        for peer in peers.iter_mut().filter(|peer| !peer.has_left) {
            let looked = peer.look();
            if peer.has_left || looked.is_err() {
                // It would stay readable for ever.
                let _ = epoll::delete(watch, &peer.stream);
            }
            looked?;
        }
        Ok(())
    }

    /// Reports to the neighbours that this rank leaves the job in order. They may be gone.
    pub(super) fn leave(&mut self) {
        let _ = self.send_all(&Message::Finalized);
    }

    /// Reports to the neighbours that this rank ends the job.
    pub(super) fn end(&mut self) {
        for peer in &mut self.peers {
            let _ = peer.send(&Message::Ending, None);
        }
    }
}

fn random_name() -> Result<String, Loss> {
    let mut bytes = [0; 12];
    let filled = ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut bytes);
    filled.map_err(|_| Loss::Broken("the system has no random numbers".into()))?;
    let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
    Ok(format!("mpi-lite-{}", digits.collect::<String>()))
}
