//! How two ranks of a node get a connection to each other that no other process can hinder.
//!
//! Sockets without a file have names, and everybody on the host can read and use these. A socket
//! that listens has one queue for friends and strangers: who fills it shuts the others out. So
//! nothing listens here. Each pair of ranks has two datagram sockets, the *hatches*, one of each
//! rank. As soon as a hatch faces another one (`connect`), the system takes datagrams for it from
//! that one alone. One rank makes a connected pair of streams, and passes one end through.
//!
//! Before that a [`Filter`] keeps strangers out: what lacks the proof never comes into the queue.
//! It could not be thrown away safely, since to close a descriptor in it may take as long as a
//! stranger likes (`SO_LINGER`). The secret behind the proofs went through the process manager, as
//! the key of the job did.
//!
//! ```text
//!    rank of the node                      first rank of the node
//!    publishes the name of its hatch       publishes the secret; its hatches' names come from it
//!     | ------------------------- fence ------------------------- |
//!    faces the first rank's hatch          each of its hatches faces that of a rank
//!     | Note, one end of a stream -------> |
//!     | ------------------------- fence ------------------------- |
//!                                          takes what has come
//! ```

use std::fmt;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};

use crate::boot::beside::send_once;
use crate::boot::hex;
use crate::boot::protocol::PROTOCOL;
use crate::node::datagrams::{Came, bind, receive};
use crate::node::filter::Filter;
use ring::hmac::{self, HMAC_SHA256};
use ring::rand::{SecureRandom, SystemRandom};

/// Bytes of a secret: as strong as the key of the job's cheapest seal needs.
const SECRET_BYTES: usize = 16;

/// Bytes of a proof: HMAC-SHA-256, RFC 2104.
const PROOF_BYTES: usize = 32;

/// Random bytes in the name of a hatch.
const NAME_BYTES: usize = 12;

/// The proof; protocol and pid, 4 bytes each.
const NOTE_BYTES: usize = PROOF_BYTES + 8;

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

    /// The name of the hatch that the first rank has for `rank`.
    fn name_for(&self, rank: u32) -> String {
        let tag = hmac::sign(&self.0, &about(b"name", rank));
        name(&hex(&tag.as_ref()[..NAME_BYTES]))
    }

    /// The proof that `side` gives in the conversation of `rank` with the first rank.
    pub(super) fn proof(&self, side: Side, rank: u32) -> Vec<u8> {
        hmac::sign(&self.0, &side.about(rank)).as_ref().to_vec()
    }

    /// Returns true if `proof` is that of `side`.
    pub(super) fn has_proven(&self, side: Side, rank: u32, proof: &[u8]) -> bool {
        hmac::verify(&self.0, &side.about(rank), proof).is_ok()
    }
}

/// Who proves that it is a rank of the job.
#[derive(Clone, Copy, Debug)]
pub(super) enum Side {
    /// The first rank of the node.
    First,
    /// Another rank of the node.
    Other,
}

impl Side {
    fn about(self, rank: u32) -> Vec<u8> {
        let side: &[u8] = match self {
            Self::First => b"first",
            Self::Other => b"other",
        };
        about(side, rank)
    }
}

fn about(purpose: &[u8], rank: u32) -> Vec<u8> {
    [purpose, &rank.to_le_bytes()].concat()
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
}

impl Hatch {
    /// Opens the hatch of `rank`. Returns it, and its name.
    pub(super) fn open(rank: u32) -> io::Result<(Self, String)> {
        let name = name(&random_digits(NAME_BYTES)?);
        Ok((Self::bind(&name, rank, Filter::nothing())?, name))
    }

    /// Opens the hatch that the first rank has for `rank`.
    pub(super) fn open_for(rank: u32, secret: &NodeSecret) -> io::Result<Self> {
        let proof = secret.proof(Side::Other, rank);
        let filter = Filter::only(NOTE_BYTES, &proof);
        Self::bind(&secret.name_for(rank), rank, filter)
    }

    fn bind(name: &str, rank: u32, filter: Filter) -> io::Result<Self> {
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        bind(&socket, name, filter)?;
        Ok(Self { socket, rank })
    }

    /// The rank that is not the first one of the node.
    pub(super) fn rank(&self) -> u32 {
        self.rank
    }

    /// From now on only the hatch of this name can send to this one. Returns false if there is none
    /// here, as it is on another host or in another container, or if rules of the system (AppArmor,
    /// Landlock) keep them apart.
    pub(super) fn face(&self, name: &str) -> io::Result<bool> {
        let there = SocketAddr::from_abstract_name(name)?;
        match self.socket.connect_addr(&there) {
            Ok(()) => Ok(true),
            Err(error) => match error.kind() {
                ErrorKind::ConnectionRefused | ErrorKind::PermissionDenied => Ok(false),
                _ => Err(error),
            },
        }
    }

    /// Faces the hatch that the first rank has for this one.
    pub(super) fn face_first(&self, secret: &NodeSecret) -> io::Result<bool> {
        self.face(&secret.name_for(self.rank))
    }

    /// Passes one end of a new stream to the first rank, whose hatch this one faces. Returns the
    /// other end. Never blocks: nothing else is in the queue there.
    pub(super) fn pass(&self, secret: &NodeSecret, pid: i32) -> io::Result<UnixStream> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut note = secret.proof(Side::Other, self.rank);
        note.extend(PROTOCOL.to_le_bytes());
        note.extend(pid.to_le_bytes());
        send_once(&note, &[theirs.as_fd()], &self.socket)?;
        Ok(ours)
    }

    /// Takes the stream that the rank has passed, if it has come. Never blocks.
    pub(super) fn take(&self) -> io::Result<Option<Passed>> {
        let mut note = [0; NOTE_BYTES];
        let descriptor = match receive(&self.socket, &mut note)? {
            Came::Datagram(Some(descriptor)) => descriptor,
            _ => return Ok(None),
        };
        let word = |at: usize| [note[at], note[at + 1], note[at + 2], note[at + 3]];
        Ok(Some(Passed {
            stream: descriptor.into(),
            protocol: u32::from_le_bytes(word(PROOF_BYTES)),
            pid: i32::from_le_bytes(word(PROOF_BYTES + 4)),
        }))
    }
}

fn name(digits: &str) -> String {
    format!("mpi-lite-{digits}")
}

fn random_digits(count: usize) -> io::Result<String> {
    let mut bytes = vec![0; count];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| io::Error::other("the system has no random numbers"))?;
    Ok(hex(&bytes))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    const RANK: u32 = 3;

    /// Sends to the hatch of this name, with one end of a stream. Returns the other end.
    fn knock(name: &str, note: &[u8]) -> io::Result<UnixStream> {
        let (ours, theirs) = UnixStream::pair()?;
        let stranger = UnixDatagram::unbound()?;
        stranger.set_nonblocking(true)?;
        stranger.connect_addr(&SocketAddr::from_abstract_name(name)?)?;
        send_once(note, &[theirs.as_fd()], &stranger)?;
        Ok(ours)
    }

    /// Returns true if nobody has the other end any more.
    fn is_closed(mut stream: UnixStream) -> bool {
        stream.set_nonblocking(true).unwrap();
        matches!(stream.read(&mut [0]), Ok(0))
    }

    #[test]
    fn a_stream_passes_and_what_strangers_send_never_comes_into_a_queue() {
        let (secret, text) = NodeSecret::new().unwrap();
        let first = Hatch::open_for(RANK, &secret).unwrap();
        let (other, name) = Hatch::open(RANK).unwrap();
        // More than the longest queue.
        for _ in 0..1000 {
            for name in [&name, &secret.name_for(RANK)] {
                assert!(is_closed(knock(name, &[0; NOTE_BYTES]).unwrap()), "{name}");
            }
        }
        assert!(first.take().unwrap().is_none());
        let secret = NodeSecret::of(&text);
        assert!(other.face_first(&secret).unwrap());
        let mut ours = other.pass(&secret, 42).unwrap();
        ours.write_all(b"x").unwrap();
        assert!(first.face(&name).unwrap());
        let mut passed = first.take().unwrap().unwrap();
        assert_eq!((passed.protocol, passed.pid), (PROTOCOL, 42));
        let mut byte = [0];
        passed.stream.read_exact(&mut byte).unwrap();
        assert_eq!(byte, *b"x");
    }

    #[test]
    fn a_hatch_that_faces_another_one_is_shut_to_everybody_else() {
        let secret = NodeSecret::new().unwrap().0;
        let first = Hatch::open_for(RANK, &secret).unwrap();
        let (other, name) = Hatch::open(RANK).unwrap();
        assert!(first.face(&name).unwrap());
        assert!(other.face_first(&secret).unwrap());
        for name in [&name, &secret.name_for(RANK)] {
            let refused = knock(name, b"").unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
            let (third, _) = Hatch::open(RANK + 1).unwrap();
            assert!(!third.face(name).unwrap());
        }
        assert!(first.take().unwrap().is_none());
    }

    #[test]
    fn only_a_proof_of_this_rank_lets_a_stream_through() {
        let secret = NodeSecret::new().unwrap().0;
        let first = Hatch::open_for(RANK, &secret).unwrap();
        let name = secret.name_for(RANK);
        let right = secret.proof(Side::Other, RANK);
        let mut proofs = vec![
            NodeSecret::new().unwrap().0.proof(Side::Other, RANK),
            secret.proof(Side::Other, RANK + 1),
            secret.proof(Side::First, RANK),
        ];
        for bit in 0..PROOF_BYTES * 8 {
            let mut proof = right.clone();
            proof[bit / 8] ^= 1 << (bit % 8);
            proofs.push(proof);
        }
        let pid_and_protocol = [0; 8];
        for proof in proofs {
            drop(knock(&name, &[&proof[..], &pid_and_protocol].concat()).unwrap());
            assert!(first.take().unwrap().is_none());
        }
        for wrong in [&pid_and_protocol[1..], &[0; 9]] {
            drop(knock(&name, &[&right[..], wrong].concat()).unwrap());
            assert!(first.take().unwrap().is_none());
        }
        drop(knock(&name, &[&right[..], &pid_and_protocol].concat()).unwrap());
        assert!(first.take().unwrap().is_some());
    }

    #[test]
    fn nobody_is_faced_where_no_hatch_is() {
        let (hatch, name) = Hatch::open(RANK).unwrap();
        drop(hatch);
        let secret = NodeSecret::new().unwrap().0;
        let first = Hatch::open_for(RANK, &secret).unwrap();
        assert!(!first.face(&name).unwrap());
    }

    #[test]
    fn a_secret_does_not_show_in_debug_output() {
        let (secret, text) = NodeSecret::new().unwrap();
        assert!(!format!("{secret:?}").contains(&text));
    }
}
