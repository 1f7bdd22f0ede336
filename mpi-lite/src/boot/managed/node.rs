//! How the ranks of a node meet that another process manager started.
//!
//! The first rank of a node gets a connection to each other one ([`Hatch`]). Over these it hands
//! out the memory of the node ([`Shared`]) and the cards of all ranks. A connection that ends early
//! shows that a rank has died.
//!
//! ```text
//!    rank of the node              first rank of the node
//!     | one end of a stream ---------> |   through the hatch
//!     | <-------------------- Welcome  |   with the descriptors of the node's memory
//!     | Card ------------------------> |   (waits for the card of every rank)
//!     | <---------------------- Cards  |
//!     | Finalized, or Ending --------> |
//!     | <-------- Finalized, or Ending |
//! ```

use std::collections::BinaryHeap;
use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::process::getpid;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use super::hatch::{Hatch, NodeSecret, Passed, Side};
use crate::boot::Shared;
use crate::boot::beside::{Beside, send_beside};
use crate::boot::protocol::{Frames, PROTOCOL, encode};
use crate::boot::waiting::{await_first, is_readable};

/// What the other ranks of a node send to its first one, and back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum NodeMessage {
    /// The first message of the first rank.
    Welcome {
        /// Shows that it comes from the first rank.
        proof: ByteBuf,
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

/// What an error on the way to `rank`, whose process is `pid`, shows.
fn lost_by(error: &io::Error, rank: u32, pid: i32) -> Loss {
    match error.kind() {
        ErrorKind::ConnectionRefused
        | ErrorKind::ConnectionReset
        | ErrorKind::NotConnected
        | ErrorKind::BrokenPipe => Loss::Ended { rank, pid },
        _ => broken(&format!("cannot speak to rank {rank} of this host"), error),
    }
}

/// Cards, one of a rank or those of all.
pub(super) type Cards = Vec<Vec<u8>>;

/// What the first rank welcomes another one with.
#[derive(Debug)]
struct Welcome {
    proof: ByteBuf,
    ranks: Vec<u32>,
    shares_memory: bool,
}

/// A connection to another rank of the node.
#[derive(Debug)]
struct NodePeer {
    rank: u32,
    pid: i32,
    stream: UnixStream,
    frames: Frames,
    beside: Beside,
    welcome: Option<Welcome>,
    /// The cards that have come.
    cards: Option<Cards>,
    has_left: bool,
}

impl NodePeer {
    fn new(rank: u32, pid: i32, stream: UnixStream) -> Self {
        Self {
            rank,
            pid,
            stream,
            frames: Frames::default(),
            beside: Beside::default(),
            welcome: None,
            cards: None,
            has_left: false,
        }
    }

    fn lost(&self) -> Loss {
        Loss::Ended {
            rank: self.rank,
            pid: self.pid,
        }
    }

    fn lost_by(&self, error: &io::Error) -> Loss {
        lost_by(error, self.rank, self.pid)
    }

    fn send(&mut self, message: &NodeMessage, shared: Option<&Shared>) -> Result<(), Loss> {
        let frame = encode(message).map_err(|error| Loss::Broken(error.to_string()))?;
        let sent = match shared {
            Some(shared) => send_beside(shared, &frame, &self.stream),
            None => self.stream.write_all(&frame),
        };
        sent.map_err(|error| self.lost_by(&error))
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
            Err(error) => Err(self.lost_by(&error)),
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

    fn take(&mut self, message: NodeMessage) -> Result<(), Loss> {
        match message {
            NodeMessage::Card(card) => self.cards = Some(vec![card.into_vec()]),
            NodeMessage::Cards(cards) => {
                self.cards = Some(cards.into_iter().map(ByteBuf::into_vec).collect());
            }
            NodeMessage::Finalized => self.has_left = true,
            NodeMessage::Ending => {
                self.has_left = true;
                return Err(Loss::Aborted);
            }
            NodeMessage::Welcome {
                proof,
                ranks,
                shares_memory,
            } => {
                self.welcome = Some(Welcome {
                    proof,
                    ranks,
                    shares_memory,
                });
            }
        }
        Ok(())
    }
}

/// The connections between the ranks of a node: the first one has one to each other, each other has
/// one to the first.
#[derive(Debug)]
pub(super) struct Neighbours {
    /// The hatches whose streams have not come, or the one hatch of a rank that is not the first.
    hatches: Vec<Hatch>,
    /// Nobody else knows it. The first rank of a node has it from the start.
    secret: Option<NodeSecret>,
    peers: Vec<NodePeer>,
    /// Readable if a connection is.
    watch: OwnedFd,
}

impl Neighbours {
    /// Without neighbours.
    pub(super) fn none() -> Result<Self, Loss> {
        let watch = epoll::create(epoll::CreateFlags::CLOEXEC);
        Ok(Self {
            hatches: Vec::new(),
            secret: None,
            peers: Vec::new(),
            watch: watch.map_err(|errno| broken("epoll", errno))?,
        })
    }

    /// Opens the hatches of the first rank for the other ranks of its node. Returns the text by
    /// which these find them and prove that they are ranks.
    pub(super) fn open_for(others: &[u32]) -> Result<(Self, String), Loss> {
        let (secret, text) = NodeSecret::new().map_err(no_socket)?;
        let hatches = others.iter().map(|rank| Hatch::open_for(*rank, &secret));
        let mut neighbours = Self::none()?;
        neighbours.hatches = hatches.collect::<Result<_, _>>().map_err(no_socket)?;
        neighbours.secret = Some(secret);
        let pid = getpid().as_raw_nonzero();
        Ok((neighbours, format!("{pid}:{text}")))
    }

    /// Opens the hatch of another rank. Returns its name.
    pub(super) fn open(me: u32) -> Result<(Self, String), Loss> {
        let (hatch, name) = Hatch::open(me).map_err(no_socket)?;
        let mut neighbours = Self::none()?;
        neighbours.hatches.push(hatch);
        Ok((neighbours, name))
    }

    /// The ranks that the hatches of the first rank are for.
    pub(super) fn expected(&self) -> Vec<u32> {
        self.hatches.iter().map(Hatch::rank).collect()
    }

    /// Lets each hatch of the first rank face that of its rank, by their names, and takes what has
    /// come. A rank whose hatch is not to be found is on another host, or in another container.
    pub(super) fn face(&mut self, names: &[String]) -> Result<(), Loss> {
        let mut facing = Vec::new();
        for (hatch, name) in std::mem::take(&mut self.hatches).into_iter().zip(names) {
            if hatch.face(name).map_err(no_socket)? {
                facing.push(hatch);
            }
        }
        self.hatches = facing;
        self.take_passed()
    }

    /// Connects to `first`, the first rank of the node, which has published `text`. Stays without
    /// neighbours if it cannot be reached: one of both is on another host, or in another container.
    pub(super) fn connect(&mut self, first: u32, text: &str) -> Result<(), Loss> {
        let Some((pid, text)) = text.split_once(':') else {
            return Err(Loss::Broken(format!("rank {first} gave no secret")));
        };
        let (pid, secret) = (pid.parse().unwrap_or(0), NodeSecret::of(text));
        let me = getpid().as_raw_nonzero().get();
        // It stays open until the fence: the first rank connects its own one to it.
        for hatch in std::mem::take(&mut self.hatches) {
            if hatch.face_first(&secret).map_err(no_socket)? {
                let passed = hatch.pass(&secret, me);
                let stream = passed.map_err(|error| lost_by(&error, first, pid))?;
                self.add(NodePeer::new(first, pid, stream))?;
                self.hatches.push(hatch);
            }
        }
        self.secret = Some(secret);
        Ok(())
    }

    fn add(&mut self, peer: NodePeer) -> Result<(), Loss> {
        let place = EventData::new_u64(self.peers.len() as u64);
        epoll::add(&self.watch, &peer.stream, place, EventFlags::IN)
            .map_err(|errno| broken("epoll", errno))?;
        self.peers.push(peer);
        Ok(())
    }

    /// Takes the streams that have come. Their hatches are closed.
    fn take_passed(&mut self) -> Result<(), Loss> {
        for hatch in std::mem::take(&mut self.hatches) {
            let rank = hatch.rank();
            match hatch.take().map_err(no_socket)? {
                None => self.hatches.push(hatch),
                Some(passed) if passed.protocol == PROTOCOL => {
                    let Passed { stream, pid, .. } = passed;
                    self.add(NodePeer::new(rank, pid, stream))?;
                }
                Some(_) => {
                    return Err(Loss::Broken(format!(
                        "rank {rank} uses another version of mpi-lite than the first rank of its \
                         host"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Admits all that have connected to the first rank. `me` is that rank. Returns the ranks of
    /// the node, ascending.
    pub(super) fn admit(&mut self, me: u32) -> Result<Vec<u32>, Loss> {
        self.take_passed()?;
        self.hatches.clear();
        let others = self.peers.iter().map(|peer| peer.rank);
        let ranks: BinaryHeap<u32> = std::iter::once(me).chain(others).collect();
        Ok(ranks.into_sorted_vec())
    }

    /// Sends the ranks of the node to all that were admitted, and what they share.
    pub(super) fn welcome(&mut self, ranks: &[u32], shared: Option<&Shared>) -> Result<(), Loss> {
        let Some(secret) = self.secret.take() else {
            return Ok(());
        };
        self.peers.iter_mut().try_for_each(|peer| {
            let message = NodeMessage::Welcome {
                proof: ByteBuf::from(secret.proof(Side::First, peer.rank)),
                ranks: ranks.to_vec(),
                shares_memory: shared.is_some(),
            };
            peer.send(&message, shared)
        })
    }

    /// Waits for the ranks of the node and what they share. They may come before the fence ends
    /// that this rank is in. `me` is this rank.
    pub(super) fn await_welcome(&mut self, me: u32) -> Result<(Vec<u32>, Option<Shared>), Loss> {
        self.hatches.clear();
        loop {
            let first = self.peers.first_mut();
            let first = first.ok_or_else(|| Loss::Broken("there is no first rank".into()))?;
            if let Some(welcome) = first.welcome.take() {
                let secret = self.secret.take();
                if !secret.is_some_and(|it| it.has_proven(Side::First, me, &welcome.proof)) {
                    // Its name was free, and a stranger has taken it.
                    return Err(first.lost());
                }
                let needed = match welcome.shares_memory {
                    true => welcome.ranks.len() + 1,
                    false => 0,
                };
                let beside = std::mem::take(&mut first.beside);
                let shared = beside.sort_for(needed);
                let shared = shared.map_err(|error| Loss::Broken(error.to_string()))?;
                return Ok((welcome.ranks, shared));
            }
            self.wait();
            self.look()?;
        }
    }

    /// Sends this rank's card to the first rank of the node.
    pub(super) fn give_card(&mut self, card: &[u8]) -> Result<(), Loss> {
        self.send_all(&NodeMessage::Card(ByteBuf::from(card)))
    }

    /// Sends the cards of all ranks of the job to the ranks of the node.
    pub(super) fn send_cards(&mut self, cards: &[Vec<u8>]) -> Result<(), Loss> {
        let cards = cards.iter().cloned().map(ByteBuf::from).collect();
        self.send_all(&NodeMessage::Cards(cards))
    }

    fn send_all(&mut self, message: &NodeMessage) -> Result<(), Loss> {
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
            Some((peer.rank, cards))
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
        let _ = self.send_all(&NodeMessage::Finalized);
    }

    /// Reports to the neighbours that this rank ends the job.
    pub(super) fn end(&mut self) {
        for peer in &mut self.peers {
            let _ = peer.send(&NodeMessage::Ending, None);
        }
    }
}

fn no_socket(error: impl Display) -> Loss {
    broken("cannot open a socket for the ranks of this host", error)
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;

    /// A stranger has taken the name of the first rank's hatch when that rank died.
    #[test]
    fn a_welcome_without_a_proof_is_the_end_of_the_first_rank() {
        for is_proven in [true, false] {
            let (secret, text) = NodeSecret::new().unwrap();
            let there = Hatch::open_for(1, &secret).unwrap();
            let (mut rank, _) = Neighbours::open(1).unwrap();
            rank.connect(0, &format!("77:{text}")).unwrap();
            let passed = there.take().unwrap().unwrap();
            let side = if is_proven { Side::First } else { Side::Other };
            let welcome = NodeMessage::Welcome {
                proof: ByteBuf::from(secret.proof(side, 1)),
                ranks: vec![0, 1],
                shares_memory: false,
            };
            let mut first = NodePeer::new(0, passed.pid, passed.stream);
            first.send(&welcome, None).unwrap();
            match rank.await_welcome(1) {
                Ok((ranks, None)) => assert!(is_proven && ranks == [0, 1]),
                Err(Loss::Ended { rank: 0, pid: 77 }) => assert!(!is_proven),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn only_an_error_of_the_other_side_is_the_end_of_a_rank() {
        let ended = Loss::Ended { rank: 0, pid: 77 };
        for errno in [Errno::CONNREFUSED, Errno::CONNRESET, Errno::PIPE] {
            assert_eq!(lost_by(&errno.into(), 0, 77), ended);
        }
        let limit = io::Error::from(Errno::MFILE);
        let text = format!("cannot speak to rank 0 of this host: {limit}");
        assert_eq!(lost_by(&limit, 0, 77), Loss::Broken(text));
    }

    #[test]
    fn the_end_of_the_first_rank_is_seen_before_it_has_welcomed_anybody() {
        let (first, text) = Neighbours::open_for(&[1]).unwrap();
        let (mut rank, _) = Neighbours::open(1).unwrap();
        rank.connect(0, &text).unwrap();
        drop(first);
        let lost = rank.await_welcome(1).unwrap_err();
        let pid = getpid().as_raw_nonzero().get();
        assert_eq!(lost, Loss::Ended { rank: 0, pid });
    }
}
