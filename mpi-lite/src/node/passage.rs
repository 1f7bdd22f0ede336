//! How a rank gives descriptors to other ranks of its node, at any time after Init.
//!
//! One rank offers a descriptor under a number, others ask for it. Both are polled; no call blocks.
//! A rank that neither offers nor asks has no descriptor and no thread for it. No launcher takes
//! part: all that the two sides need lies in the memory of the node.
//!
//! ```text
//!    rank that asks                        rank that offers
//!                                          draws a secret, once; stores it in its area
//!                                          binds a datagram socket, whose name comes from it
//!     | proof, who asks; one end of a connection ---> |
//!     | <---------------- proof, and the descriptor   |   over that connection
//!                                          closes the socket when all have it
//! ```
//!
//! Only the ranks of the node can read the secret. So nobody else can take the name before, and a
//! filter keeps all that lacks a proof out of both queues. A rank that dies closes its end, which
//! the other one sees; a rank that never comes is an error when time is over. Decision 0074.

use core::fmt;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixDatagram;

use parking_lot::Mutex;
use ring::hmac::{self, HMAC_SHA256};
use ring::rand::{SecureRandom, SystemRandom};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socketpair};

use super::datagrams::{Came, bind, receive, send};
use super::filter::Filter;
use super::segment::{Area, Segment};
use crate::clock::Instant;

/// Bytes of a proof: HMAC-SHA-256, RFC 2104.
const PROOF_BYTES: usize = 32;

/// The proof, and the local rank that asks.
const ASK_BYTES: usize = PROOF_BYTES + 4;

/// The proof, and a word that is 1 with a descriptor and 0 without.
const ANSWER_BYTES: usize = PROOF_BYTES + 4;

/// Bytes of the proof that are in a name.
const NAME_BYTES: usize = 12;

/// Why no descriptor passes. Ranks are local ranks of the node.
#[derive(Debug, thiserror::Error)]
pub enum PassageError {
    /// A rank did not come for what was offered.
    #[error("rank {rank} of this host did not ask for descriptor {number} in time")]
    NotAsked {
        /// The rank.
        rank: u32,
        /// The number of the offer.
        number: u64,
    },
    /// A rank did not offer what was asked for, or did not answer.
    #[error("rank {rank} of this host did not hand out descriptor {number} in time")]
    NotOffered {
        /// The rank.
        rank: u32,
        /// The number of the offer.
        number: u64,
    },
    /// The descriptor is for others.
    #[error(
        "rank {rank} of this host offers descriptor {number} to others, or has given it before"
    )]
    Refused {
        /// The rank that offers.
        rank: u32,
        /// The number of the offer.
        number: u64,
    },
    /// The other side is gone.
    #[error("rank {rank} of this host ended, or withdrew, before descriptor {number} had passed")]
    Ended {
        /// The rank.
        rank: u32,
        /// The number of the offer.
        number: u64,
    },
    /// This rank offers something else under this number.
    #[error("descriptor {0} is offered already")]
    Twice(u64),
    /// The limit of open files.
    #[error("this process may not open more files (raise ulimit -n)")]
    Files,
    /// What else the system says.
    #[error("the ranks of this host cannot exchange descriptors: {0}")]
    System(io::Error),
}

impl From<io::Error> for PassageError {
    fn from(error: io::Error) -> Self {
        match Errno::from_io_error(&error) {
            Some(Errno::MFILE | Errno::NFILE) => Self::Files,
            _ => Self::System(error),
        }
    }
}

impl From<Errno> for PassageError {
    fn from(errno: Errno) -> Self {
        io::Error::from(errno).into()
    }
}

/// What proves that somebody can read the memory of the node. Debug output leaves its bytes out.
#[derive(Clone)]
struct Secret(hmac::Key);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl Secret {
    fn of(words: [u64; 2]) -> Self {
        let bytes = words.map(u64::to_le_bytes).concat();
        Self(hmac::Key::new(HMAC_SHA256, &bytes))
    }

    /// The secret of the rank with this area, if it has drawn one.
    fn read(area: &Area) -> Option<Self> {
        let [first, second] = &area.passage;
        let first = first.load(Acquire);
        (first != 0).then(|| Self::of([first, second.load(Relaxed)]))
    }

    /// Draws a secret, and stores it in the area of this rank.
    fn draw(area: &Area) -> io::Result<Self> {
        let mut bytes = [[0; 8]; 2];
        let filled = SystemRandom::new().fill(bytes.as_flattened_mut());
        filled.map_err(|_| io::Error::other("the system has no random numbers"))?;
        let [first, second] = bytes.map(u64::from_le_bytes);
        let words = [first | 1, second];
        area.passage[1].store(words[1], Relaxed);
        area.passage[0].store(words[0], Release);
        Ok(Self::of(words))
    }

    fn tag(&self, purpose: &[u8], number: u64, rank: u32) -> hmac::Tag {
        let about = [purpose, &number.to_le_bytes(), &rank.to_le_bytes()].concat();
        hmac::sign(&self.0, &about)
    }

    /// The name of the socket that takes what ranks ask for.
    fn name(&self, number: u64) -> String {
        let tag = self.tag(b"name", number, 0);
        format!("mpi-lite-{}", mpi_boot::hex(&tag.as_ref()[..NAME_BYTES]))
    }

    /// What every rank shows that asks for `number`.
    fn ask(&self, number: u64) -> hmac::Tag {
        self.tag(b"ask", number, 0)
    }

    /// What the rank that offers `number` shows to `taker`.
    fn answer(&self, number: u64, taker: u32) -> hmac::Tag {
        self.tag(b"answer", number, taker)
    }
}

/// The passage of a rank: by it the ranks of its node give each other descriptors.
#[derive(Debug)]
pub struct Passage {
    segment: Segment,
    me: u32,
    /// Drawn at the first offer.
    secret: Mutex<Option<Secret>>,
}

impl Passage {
    /// The passage of local rank `me`.
    pub(super) fn new(segment: Segment, me: u32) -> Self {
        let secret = Mutex::default();
        Self {
            segment,
            me,
            secret,
        }
    }

    /// The local rank of this process.
    #[must_use]
    pub fn me(&self) -> u32 {
        self.me
    }

    /// Offers `descriptor` under `number` to the local ranks `takers`, each of which may take it
    /// once. [`Offer::poll`] hands it out, until `deadline`. To drop the offer withdraws it.
    ///
    /// The two sides agree on numbers; a rank has one offer of a number at a time.
    ///
    /// # Errors
    /// `Twice`, `Files`, `System`.
    ///
    /// # Panics
    /// A taker is no other rank of the node.
    pub fn offer(
        &self,
        number: u64,
        descriptor: OwnedFd,
        takers: &[u32],
        deadline: Instant,
    ) -> Result<Offer, PassageError> {
        let is_other = |rank: &u32| *rank < self.segment.ranks() && *rank != self.me;
        assert!(takers.iter().all(is_other), "other ranks of this node");
        let secret = self.secret()?;
        let socket = UnixDatagram::unbound()?;
        let filter = Filter::only(ASK_BYTES, secret.ask(number).as_ref());
        bind(&socket, &secret.name(number), filter).map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => PassageError::Twice(number),
            _ => error.into(),
        })?;
        Ok(Offer {
            number,
            deadline,
            secret,
            descriptor,
            socket,
            takers: takers.to_vec(),
            asked: Vec::new(),
            lost: None,
        })
    }

    fn secret(&self) -> io::Result<Secret> {
        let mut secret = self.secret.lock();
        let known = match secret.take() {
            Some(secret) => secret,
            None => Secret::draw(self.segment.area(self.me))?,
        };
        Ok(secret.insert(known).clone())
    }

    /// Asks local rank `from` for what it offers under `number`, now or later. [`Ask::poll`] takes
    /// it, until `deadline`. To drop the value gives up.
    ///
    /// # Panics
    /// `from` is no other rank of the node.
    #[must_use]
    pub fn ask(&self, from: u32, number: u64, deadline: Instant) -> Ask {
        let is_other = from < self.segment.ranks() && from != self.me;
        assert!(is_other, "another rank of this node");
        Ask {
            me: self.me,
            from,
            number,
            deadline,
            area: self.segment.area(from),
            step: Asking::Begun,
        }
    }
}

/// A descriptor that other ranks of the node may take.
#[derive(Debug)]
pub struct Offer {
    number: u64,
    deadline: Instant,
    secret: Secret,
    descriptor: OwnedFd,
    socket: UnixDatagram,
    /// The ranks that do not have it yet.
    takers: Vec<u32>,
    /// Those that have asked, each with its connection.
    asked: Vec<(u32, OwnedFd)>,
    /// One that has ended before.
    lost: Option<u32>,
}

impl Offer {
    /// Gives the descriptor to all that have asked. Returns true when all takers have it.
    ///
    /// # Errors
    /// `NotAsked` when the deadline is over; `Ended` if a taker is gone, once all others have the
    /// descriptor; `Files`, `System`.
    pub fn poll(&mut self, now: Instant) -> Result<bool, PassageError> {
        self.take_questions()?;
        self.answer();
        let number = self.number;
        match (self.takers.first(), self.lost) {
            (None, None) => Ok(true),
            (None, Some(rank)) => Err(PassageError::Ended { rank, number }),
            (Some(&rank), _) if now >= self.deadline => {
                Err(PassageError::NotAsked { rank, number })
            }
            _ => Ok(false),
        }
    }

    fn take_questions(&mut self) -> Result<(), PassageError> {
        // A rank that asks for ever keeps nobody here for ever.
        for _ in 0..=self.takers.len() {
            let mut question = [0; ASK_BYTES];
            let descriptor = match receive(&self.socket, &mut question)? {
                Came::Datagram(Some(descriptor)) => descriptor,
                Came::Datagram(None) => continue,
                Came::Nothing | Came::End => break,
            };
            let [.., a, b, c, d] = question;
            let taker = u32::from_le_bytes([a, b, c, d]);
            let has_asked = self.asked.iter().any(|(rank, _)| *rank == taker);
            if self.takers.contains(&taker) && !has_asked {
                self.asked.push((taker, descriptor));
            } else {
                // It may be gone, or have no room: then it sees that its connection ends.
                let refusal = self.text(taker, false);
                let _ = send(&descriptor, None, &refusal, None);
            }
        }
        Ok(())
    }

    fn answer(&mut self) {
        for (taker, connection) in std::mem::take(&mut self.asked) {
            let answer = self.text(taker, true);
            match send(&connection, None, &answer, Some(self.descriptor.as_fd())) {
                Ok(true) => self.takers.retain(|rank| *rank != taker),
                Ok(false) => self.asked.push((taker, connection)),
                Err(_) => {
                    self.takers.retain(|rank| *rank != taker);
                    self.lost = Some(taker);
                }
            }
        }
    }

    fn text(&self, taker: u32, is_given: bool) -> [u8; ANSWER_BYTES] {
        let proof = self.secret.answer(self.number, taker);
        text(&proof, u32::from(is_given))
    }
}

/// A proof and a word. Both kinds of datagrams have this form.
fn text(proof: &hmac::Tag, word: u32) -> [u8; PROOF_BYTES + 4] {
    let mut text = [0; PROOF_BYTES + 4];
    text[..PROOF_BYTES].copy_from_slice(proof.as_ref());
    text[PROOF_BYTES..].copy_from_slice(&word.to_le_bytes());
    text
}

/// A question for a descriptor of another rank of the node.
#[derive(Debug)]
pub struct Ask {
    me: u32,
    from: u32,
    number: u64,
    deadline: Instant,
    /// Of the rank that is asked.
    area: &'static Area,
    step: Asking,
}

#[derive(Debug)]
enum Asking {
    /// The rank may not have offered anything yet.
    Begun,
    /// The question is ready; the rank may not have offered this yet.
    Ready(Box<Question>),
    /// The question is with the rank; here comes the answer.
    Asked(OwnedFd),
}

#[derive(Debug)]
struct Question {
    socket: UnixDatagram,
    name: SocketAddrUnix,
    text: [u8; ASK_BYTES],
    ours: OwnedFd,
    theirs: OwnedFd,
}

impl Ask {
    /// Asks, and takes what has come. Returns the descriptor once; it is closed by exec.
    ///
    /// # Errors
    /// `NotOffered` when the deadline is over; `Refused` if this rank is none of the takers;
    /// `Ended` if the rank is gone after it was asked; `Files`, `System`.
    pub fn poll(&mut self, now: Instant) -> Result<Option<OwnedFd>, PassageError> {
        if matches!(self.step, Asking::Begun)
            && let Some(secret) = Secret::read(self.area)
        {
            self.step = Asking::Ready(Box::new(self.question(&secret)?));
        }
        if let Asking::Ready(question) = &self.step
            && question.is_sent()?
            && let Asking::Ready(question) = std::mem::replace(&mut self.step, Asking::Begun)
        {
            self.step = Asking::Asked(question.ours);
        }
        let (rank, number) = (self.from, self.number);
        if let Asking::Asked(connection) = &self.step {
            match receive(connection, &mut [0; ANSWER_BYTES])? {
                Came::Nothing => {}
                Came::End => return Err(PassageError::Ended { rank, number }),
                Came::Datagram(None) => return Err(PassageError::Refused { rank, number }),
                Came::Datagram(descriptor) => return Ok(descriptor),
            }
        }
        match now >= self.deadline {
            true => Err(PassageError::NotOffered { rank, number }),
            false => Ok(None),
        }
    }

    fn question(&self, secret: &Secret) -> Result<Question, PassageError> {
        let (ours, theirs) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        // Before the other end leaves this process: who has taken the name of a rank that has ended
        // can send nothing.
        let proof = secret.answer(self.number, self.me);
        Filter::only(ANSWER_BYTES, proof.as_ref()).attach(&ours)?;
        let name = secret.name(self.number);
        Ok(Question {
            socket: UnixDatagram::unbound()?,
            name: SocketAddrUnix::new_abstract_name(name.as_bytes())?,
            text: text(&secret.ask(self.number), self.me),
            ours,
            theirs,
        })
    }
}

impl Question {
    /// Sends it, unless there is nobody or no room there now.
    fn is_sent(&self) -> Result<bool, PassageError> {
        let beside = Some(self.theirs.as_fd());
        match send(&self.socket, Some(&self.name), &self.text, beside) {
            Err(Errno::CONNREFUSED) => Ok(false),
            sent => Ok(sent?),
        }
    }
}
