//! How two ranks of a node get a connection to each other that no other process can hinder.
//!
//! Sockets without a file have names, and everybody on the host can read and use these. A socket
//! that listens has one queue for friends and strangers: who fills it shuts the others out. So
//! nothing listens here. Each pair of ranks has two datagram sockets, the *hatches*, one of each
//! rank. As soon as a hatch faces another one (`connect`), the system takes datagrams for it from
//! that one alone. One rank makes a connected pair of streams, and passes one end through.
//!
//! What strangers sent before is thrown away: it lacks the proof. The secret behind the proofs went
//! through the process manager, as the key of the job did.
//!
//! ```text
//!    rank of the node                      first rank of the node
//!    publishes the name of its hatch       publishes the secret; its hatches' names come from it
//!     | ------------------------- fence ------------------------- |
//!    faces the first rank's hatch          each of its hatches faces that of a rank
//!     | Note, one end of a stream -------> |   throws away what strangers sent
//!     | ------------------------- fence ------------------------- |
//!                                          takes what has come
//! ```

use std::fmt::{self, Write as _};
use std::io::{self, ErrorKind};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};

use ring::hmac::{self, HMAC_SHA256};
use ring::rand::{SecureRandom, SystemRandom};
use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recv, recvmsg};

use crate::boot::protocol::PROTOCOL;
use crate::boot::shared::send_once;

/// Bytes of a secret: as strong as the key of the job's cheapest seal needs.
const SECRET_BYTES: usize = 16;

/// Bytes of a proof: HMAC-SHA-256, RFC 2104.
pub(super) const PROOF_BYTES: usize = 32;

/// Random bytes in the name of a hatch.
const NAME_BYTES: usize = 12;

/// Protocol and pid, 4 bytes each, and the proof.
const NOTE_BYTES: usize = 8 + PROOF_BYTES;

/// Shows that its sender is a rank of the job.
pub(super) type Proof = [u8; PROOF_BYTES];

/// What the first rank of a node and the others know, and no other process. Debug output leaves its
/// bytes out.
pub(super) struct NodeSecret(hmac::Key);

impl fmt::Debug for NodeSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NodeSecret(..)")
    }
}

impl NodeSecret {
    /// Draws a new one. Returns it, and its text for the others.
    pub(super) fn new() -> io::Result<(Self, String)> {
        let text = random_digits(SECRET_BYTES)?;
        let secret = Self::of(&text);
        Ok((secret, text))
    }

    /// The secret with this text.
    pub(super) fn of(text: &str) -> Self {
        Self(hmac::Key::new(HMAC_SHA256, text.as_bytes()))
    }

    fn tag(&self, purpose: &[u8], rank: u32) -> Proof {
        let tag = hmac::sign(&self.0, &[purpose, &rank.to_le_bytes()].concat());
        tag.as_ref().try_into().unwrap_or([0; PROOF_BYTES])
    }

    /// The name of the hatch that the first rank has for `rank`.
    fn name_for(&self, rank: u32) -> String {
        name(&digits(&self.tag(b"name", rank)[..NAME_BYTES]))
    }

    /// The proof of `rank` to the first rank.
    fn proof_of(&self, rank: u32) -> Proof {
        self.tag(b"rank", rank)
    }

    /// The proof of the first rank to `rank`.
    pub(super) fn proof_for(&self, rank: u32) -> Proof {
        self.tag(b"first", rank)
    }

    /// Returns true if `proof` is that of the first rank to `rank`.
    pub(super) fn has_proven(&self, proof: &[u8], rank: u32) -> bool {
        let message = [b"first".as_slice(), &rank.to_le_bytes()].concat();
        hmac::verify(&self.0, &message, proof).is_ok()
    }
}

/// A stream that came through a hatch.
#[derive(Debug)]
pub(super) struct Passed {
    /// One end; the rank has the other one.
    pub(super) stream: UnixStream,
    /// [`PROTOCOL`] of the rank's library.
    pub(super) protocol: u32,
    /// The rank's process, as it sees itself.
    pub(super) pid: i32,
}

/// A datagram socket with a name and without a file, between two ranks of a node.
#[derive(Debug)]
pub(super) struct Hatch {
    socket: UnixDatagram,
    /// The rank that is not the first one of the node.
    rank: u32,
    /// Datagrams of strangers.
    strays: u64,
}

impl Hatch {
    /// Opens the hatch of `rank`. Returns it, and its name.
    pub(super) fn open(rank: u32) -> io::Result<(Self, String)> {
        let name = name(&random_digits(NAME_BYTES)?);
        Ok((Self::bind(&name, rank)?, name))
    }

    /// Opens the hatch that the first rank has for `rank`.
    pub(super) fn open_for(rank: u32, secret: &NodeSecret) -> io::Result<Self> {
        Self::bind(&secret.name_for(rank), rank)
    }

    fn bind(name: &str, rank: u32) -> io::Result<Self> {
        let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
        Ok(Self {
            socket,
            rank,
            strays: 0,
        })
    }

    /// The rank that is not the first one of the node.
    pub(super) fn rank(&self) -> u32 {
        self.rank
    }

    /// Datagrams of strangers that were thrown away.
    pub(super) fn strays(&self) -> u64 {
        self.strays
    }

    /// From now on only the hatch of this name can send to this one. Returns false if there is none
    /// here: it is on another host, or in another container.
    pub(super) fn face(&self, name: &str) -> io::Result<bool> {
        let there = SocketAddr::from_abstract_name(name)?;
        match self.socket.connect_addr(&there) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Faces the hatch that the first rank has for this one.
    pub(super) fn face_first(&self, secret: &NodeSecret) -> io::Result<bool> {
        self.face(&secret.name_for(self.rank))
    }

    /// Passes one end of a new stream to the first rank, whose hatch this one faces. Returns the
    /// other end.
    ///
    /// Blocks while datagrams of strangers fill the queue there: until the first rank has left the
    /// fence, or has ended.
    pub(super) fn pass(&self, secret: &NodeSecret, pid: i32) -> io::Result<UnixStream> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut note = [0; NOTE_BYTES];
        note[..4].copy_from_slice(&PROTOCOL.to_le_bytes());
        note[4..8].copy_from_slice(&pid.to_le_bytes());
        note[8..].copy_from_slice(&secret.proof_of(self.rank));
        send_once(&note, &[theirs.as_fd()], &self.socket)?;
        Ok(ours)
    }

    /// Takes the stream that the rank has passed, if it has come. Never blocks.
    ///
    /// Throws away all else. A hatch that faces another one gets no more of it, so the number is
    /// bounded by the length of the queue.
    pub(super) fn take(&mut self, secret: &NodeSecret) -> io::Result<Option<Passed>> {
        let message = [b"rank".as_slice(), &self.rank.to_le_bytes()].concat();
        let mut note = [0; NOTE_BYTES + 1];
        while let Some(length) = self.look(&mut note, RecvFlags::PEEK)? {
            let is_note = length == NOTE_BYTES
                && hmac::verify(&secret.0, &message, &note[8..NOTE_BYTES]).is_ok();
            if is_note {
                let word = |at: usize| [note[at], note[at + 1], note[at + 2], note[at + 3]];
                return Ok(Some(Passed {
                    stream: self.receive()?.into(),
                    protocol: u32::from_le_bytes(word(0)),
                    pid: i32::from_le_bytes(word(4)),
                }));
            }
            // Without room for descriptors the system takes none out of the datagram: it can take
            // long to close one that a stranger has chosen.
            self.look(&mut note, RecvFlags::empty())?;
            self.strays += 1;
        }
        Ok(None)
    }

    /// Reads the next datagram, without waiting. Returns its length.
    fn look(&self, into: &mut [u8], flags: RecvFlags) -> io::Result<Option<usize>> {
        loop {
            match recv(&self.socket, &mut *into, flags | RecvFlags::DONTWAIT) {
                Ok((_, length)) => return Ok(Some(length)),
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Takes the next datagram. Returns the descriptor in it.
    fn receive(&self) -> io::Result<OwnedFd> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
        recvmsg(&self.socket, &mut [], &mut control, flags)?;
        let came = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
            _ => None,
        });
        // It is lost if this process may not open more files.
        came.ok_or_else(|| Errno::MFILE.into())
    }
}

fn name(digits: &str) -> String {
    format!("mpi-lite-{digits}")
}

fn random_digits(count: usize) -> io::Result<String> {
    let mut bytes = vec![0; count];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| io::Error::other("the system has no random numbers"))?;
    Ok(digits(&bytes))
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
