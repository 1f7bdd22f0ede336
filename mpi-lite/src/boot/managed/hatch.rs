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

use std::fmt;
use std::io::{self, ErrorKind};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};

use ring::hmac::{self, HMAC_SHA256};
use ring::rand::{SecureRandom, SystemRandom};
use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recv, recvmsg};

use crate::boot::hex;
use crate::boot::protocol::PROTOCOL;
use crate::boot::shared::send_once;
use crate::boot::waiting::await_room;

/// Bytes of a secret: as strong as the key of the job's cheapest seal needs.
const SECRET_BYTES: usize = 16;

/// Bytes of a proof: HMAC-SHA-256, RFC 2104.
const PROOF_BYTES: usize = 32;

/// Random bytes in the name of a hatch.
const NAME_BYTES: usize = 12;

/// Protocol and pid, 4 bytes each, and the proof.
const NOTE_BYTES: usize = 8 + PROOF_BYTES;

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
        Ok((Self::bind(&name, rank)?, name))
    }

    /// Opens the hatch that the first rank has for `rank`.
    pub(super) fn open_for(rank: u32, secret: &NodeSecret) -> io::Result<Self> {
        Self::bind(&secret.name_for(rank), rank)
    }

    fn bind(name: &str, rank: u32) -> io::Result<Self> {
        let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
        socket.set_nonblocking(true)?;
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
    /// other end.
    ///
    /// Blocks while datagrams of strangers fill the queue there: until the first rank has left the
    /// fence, or has ended.
    pub(super) fn pass(&self, secret: &NodeSecret, pid: i32) -> io::Result<UnixStream> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut note = [0; NOTE_BYTES];
        note[..4].copy_from_slice(&PROTOCOL.to_le_bytes());
        note[4..8].copy_from_slice(&pid.to_le_bytes());
        note[8..].copy_from_slice(&secret.proof(Side::Other, self.rank));
        loop {
            match send_once(&note, &[theirs.as_fd()], &self.socket) {
                Ok(_) => return Ok(ours),
                // A blocking call would stand in line behind strangers, who are not all woken.
                Err(error) if error.kind() == ErrorKind::WouldBlock => await_room(&self.socket)?,
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes the stream that the rank has passed, if it has come. Never blocks.
    ///
    /// Throws away all else. A hatch that faces another one gets no more of it, so the number is
    /// bounded by the length of the queue.
    pub(super) fn take(&self, secret: &NodeSecret) -> io::Result<Option<Passed>> {
        let mut note = [0; NOTE_BYTES + 1];
        while let Some(length) = self.look(&mut note, RecvFlags::PEEK)? {
            let is_note = length == NOTE_BYTES
                && secret.has_proven(Side::Other, self.rank, &note[8..NOTE_BYTES]);
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
        }
        Ok(None)
    }

    /// Reads the next datagram, without waiting. Returns its length.
    fn look(&self, into: &mut [u8], flags: RecvFlags) -> io::Result<Option<usize>> {
        loop {
            match recv(&self.socket, &mut *into, flags) {
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
        recvmsg(&self.socket, &mut [], &mut control, RecvFlags::CMSG_CLOEXEC)?;
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
    Ok(hex(&bytes))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "ranks are threads")]
mod tests {
    use std::io::{Read, Write};
    use std::thread;

    use super::*;

    const RANK: u32 = 3;

    /// Sends to the hatch of this name, with a descriptor. Returns what the system answers.
    fn knock(name: &str, note: &[u8]) -> io::Result<()> {
        let stranger = UnixDatagram::unbound()?;
        stranger.set_nonblocking(true)?;
        stranger.connect_addr(&SocketAddr::from_abstract_name(name)?)?;
        send_once(note, &[stranger.as_fd()], &stranger).map(drop)
    }

    fn fill(name: &str) {
        while knock(name, &[0; NOTE_BYTES]).is_ok() {}
        let refused = knock(name, b"").unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::WouldBlock, "{name}");
    }

    /// Lets a stranger wait for room in the full queue of the hatch of this name, for ever.
    fn stand_in_line(name: &str) {
        let address = SocketAddr::from_abstract_name(name).unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        thread::spawn(move || {
            let stranger = UnixDatagram::unbound().unwrap();
            stranger.connect_addr(&address).unwrap();
            sender.send(rustix::thread::gettid()).unwrap();
            stranger.send(b"")
        });
        let thread = receiver.recv().unwrap().as_raw_nonzero();
        let status = format!("/proc/self/task/{thread}/stat");
        while !std::fs::read_to_string(&status).unwrap().contains(") S ") {
            thread::yield_now();
        }
    }

    #[test]
    fn a_stream_passes_though_strangers_have_filled_the_queues_of_both() {
        let (secret, text) = NodeSecret::new().unwrap();
        let first = Hatch::open_for(RANK, &secret).unwrap();
        let (other, name) = Hatch::open(RANK).unwrap();
        fill(&secret.name_for(RANK));
        fill(&name);
        // More than those that the system wakes when the queue is emptied.
        for _ in 0..30 {
            stand_in_line(&secret.name_for(RANK));
        }
        let rank = thread::spawn(move || {
            let secret = NodeSecret::of(&text);
            assert!(other.face_first(&secret).unwrap());
            // Blocks until the first rank has thrown away what is there.
            let mut ours = other.pass(&secret, 42).unwrap();
            ours.write_all(b"x").unwrap();
            other
        });
        assert!(first.face(&name).unwrap());
        let passed = std::iter::repeat_with(|| {
            thread::yield_now();
            first.take(&secret).unwrap()
        });
        let mut passed = passed.flatten().next().unwrap();
        assert_eq!((passed.protocol, passed.pid), (PROTOCOL, 42));
        let mut byte = [0];
        passed.stream.read_exact(&mut byte).unwrap();
        assert_eq!(byte, *b"x");
        drop(rank.join().unwrap());
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
        assert!(first.take(&secret).unwrap().is_none());
    }

    #[test]
    fn only_a_proof_of_this_rank_lets_a_stream_through() {
        let secret = NodeSecret::new().unwrap().0;
        let first = Hatch::open_for(RANK, &secret).unwrap();
        let mut note = [0; NOTE_BYTES];
        let proofs = [
            NodeSecret::new().unwrap().0.proof(Side::Other, RANK),
            secret.proof(Side::Other, RANK + 1),
            secret.proof(Side::First, RANK),
        ];
        for proof in proofs {
            note[8..].copy_from_slice(&proof);
            knock(&secret.name_for(RANK), &note).unwrap();
            assert!(first.take(&secret).unwrap().is_none());
        }
        note[8..].copy_from_slice(&secret.proof(Side::Other, RANK));
        knock(&secret.name_for(RANK), &note[1..]).unwrap();
        assert!(first.take(&secret).unwrap().is_none());
        knock(&secret.name_for(RANK), &note).unwrap();
        assert!(first.take(&secret).unwrap().is_some());
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
