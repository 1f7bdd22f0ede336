//! The frames between a rank and the launcher, and the framing itself.
//!
//! A frame is a length (4 bytes, little endian, 1 to [`FRAME_MAX`]) and that many bytes of one
//! message in postcard's encoding. The launcher uses the same framing inside its ssh connections.

use std::net::{IpAddr, Ipv4Addr};

use rmpp_core::Row;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

pub use crate::config::Secure;
use crate::hidden::wipe;
use crate::hosts::Hosts;
use crate::secret::{SECRET_BYTES, Secret};
use crate::state::RankState;

/// The version of these messages; both sides refuse another one.
pub const PROTOCOL: u32 = 10;

/// The longest frame, in bytes without its length field.
pub const FRAME_MAX: usize = 16 << 20;

/// The longest frame of a rank, in bytes without its length field: far more than all its counters
/// and the text of an abort take. The launcher's frame for it is short enough as well.
pub const RANK_FRAME_MAX: usize = 1 << 20;

/// The longest card of a rank in bytes. Cards with an address have about 80.
pub const CARD_MAX: usize = 1024;

/// The longest text of an abort in bytes; a longer one is cut.
pub const ABORT_TEXT_MAX: usize = 64 << 10;

/// After how long a rank reports that it is blocked, unless its launcher wants it sooner.
pub const BLOCKED_AFTER_MS: u32 = 2000;

/// The environment variable that names the rank's end of the socket pair.
pub const BOOT_FD: &str = "MPILITE_BOOT_FD";

const LENGTH_BYTES: usize = 4;

/// What the launcher assigns to a rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    /// Rank in `MPI_COMM_WORLD`, 0 to `size - 1`.
    pub rank: u32,
    /// Number of ranks in the job.
    pub size: u32,
    /// Rank among the ranks of the same node.
    pub local_rank: u32,
    /// Number of ranks on the same node.
    pub local_size: u32,
    /// Number of the node, 0 for the first.
    pub node: u32,
    /// The ranks in `MPI_COMM_WORLD` of all ranks on the same node, by local rank; ascending.
    pub local_peers: Vec<u32>,
    /// True if descriptors come beside this frame, see [`crate::shared::Shared`]: all ranks of the
    /// node get them, or none.
    pub shares_memory: bool,
    /// This rank's host as the user named it.
    pub host: String,
    /// The address to bind the data socket to.
    pub bind: IpAddr,
    /// The secret of the job: every rank has it, nobody else. Never log it.
    pub key: Secret,
    /// How datagrams are guarded at least, whatever the rank's environment says.
    pub secure: Secure,
    /// Which transport to take: a name that `--transport` takes.
    pub transport: String,
    /// The host of each rank, by rank, as the user named it.
    pub hosts: Hosts,
    /// True if the launcher asks for what this rank has counted.
    pub reports_counters: bool,
    /// After how long without anything for its threads this rank reports that it is blocked, in
    /// milliseconds.
    pub blocked_after_ms: u32,
    /// Number of the rank's program among those of the job, from 0; `None` if nobody counts them.
    pub appnum: Option<u32>,
}

/// A counter of one rank with its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// The name in `docs/counters.md`.
    pub name: String,
    /// The array that it is one of, with its part (`rmpp_sent`), or nothing.
    pub array: String,
    /// What the number means.
    pub measure: Measure,
    /// The number.
    pub value: u64,
}

/// What the number of a counter means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Measure {
    /// How often something happened.
    Count,
    /// How many packets were sent again.
    Repeats,
    /// Bytes that add up.
    Bytes,
    /// The greatest amount at a time.
    Peak,
}

impl From<&Row> for Counted {
    fn from(row: &Row) -> Self {
        let array = match row.group {
            "" => String::new(),
            group => format!("{}_{group}", row.part),
        };
        Self {
            name: row.name(),
            array,
            measure: match row.measure {
                rmpp_core::Measure::Count => Measure::Count,
                rmpp_core::Measure::Repeats => Measure::Repeats,
                rmpp_core::Measure::Bytes => Measure::Bytes,
                rmpp_core::Measure::Peak => Measure::Peak,
            },
            value: row.value,
        }
    }
}

impl Assignment {
    /// The assignment of a program that runs alone: rank 0 of 1. It asks nobody: no name is looked
    /// up.
    #[must_use]
    pub fn alone() -> Self {
        let host = "localhost".to_string();
        Self {
            rank: 0,
            size: 1,
            local_rank: 0,
            local_size: 1,
            node: 0,
            local_peers: vec![0],
            shares_memory: false,
            hosts: Hosts::of(&[&host]),
            host,
            bind: IpAddr::V4(Ipv4Addr::LOCALHOST),
            // Nobody else is in this job, so there is nobody to share a secret with.
            key: Secret::new(&[0; SECRET_BYTES]),
            secure: Secure::Cookie,
            reports_counters: false,
            blocked_after_ms: BLOCKED_AFTER_MS,
            appnum: None,
            transport: std::env::var("MPILITE_TRANSPORT").unwrap_or_else(|_| "auto".into()),
        }
    }

    /// Returns true if the numbers fit together. The launcher is our own, but a mix of versions
    /// must end in an error message, not in a panic later.
    pub fn is_possible(&self) -> bool {
        let local_peers = &self.local_peers;
        self.rank < self.size
            && self.local_size <= self.size
            && self.hosts.count() == self.size as usize
            && local_peers.len() == self.local_size as usize
            && local_peers.get(self.local_rank as usize) == Some(&self.rank)
            && local_peers.is_sorted_by(|a, b| a < b)
            && local_peers.last().is_some_and(|last| *last < self.size)
            && (self.local_size > 1 || !self.shares_memory)
    }
}

/// The messages of a rank to the launcher.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromRank {
    /// First frame: the rank is in Init and asks for its assignment.
    Hello {
        /// [`PROTOCOL`] of the library.
        protocol: u32,
        /// Version of the library, for the error message of a mismatch.
        version: String,
    },
    /// The rank's card for the all-gather.
    Card(ByteBuf),
    /// What the rank counted since Init; a later one takes the place of an earlier.
    Counters(Vec<Counted>),
    /// Finalize is complete.
    Finalized,
    /// End the job.
    Abort {
        /// The exit status that `mpirun` shall have.
        code: i32,
        /// What to print once; empty for the launcher's own text.
        message: String,
    },
    /// A peer no longer answers, and this rank finalizes without it.
    Loss {
        /// The peer's rank in `MPI_COMM_WORLD`.
        rank: u32,
        /// How this rank noticed, in words.
        reason: String,
    },
    /// Finalize returns this error to the program, which goes on; `Finalized` follows.
    Failure(String),
    /// The rank waits in MPI calls and nothing has come for this long, in milliseconds. It says so
    /// once, after seconds.
    Blocked(u64),
    /// Something has come, or the calls have ended, since it was blocked.
    Resumed,
    /// Answer to `Describe`.
    State {
        /// Its number.
        question: u32,
        /// What the rank does.
        state: Box<RankState>,
    },
}

/// The messages of the launcher to a rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToRank {
    /// Answer to `Hello`.
    Assigned(Box<Assignment>),
    /// Answer to `Card`: the cards of all ranks, by rank.
    Cards(Vec<ByteBuf>),
    /// The rank is not served, for this reason.
    Refused(String),
    /// Asks what the rank does. It answers with this number, from `Assigned` to `Finalized`.
    Describe(u32),
}

/// A frame that cannot be sent, or a stream of bytes that is not made of frames.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The length field is 0 or more than is possible.
    #[error("a frame of {length} bytes (1 to {longest} are possible)")]
    Length {
        /// The value of the field.
        length: usize,
        /// The most that this side takes.
        longest: usize,
    },
    /// The bytes of the frame are not a message.
    #[error("a frame of {0} bytes that is not a message")]
    Content(usize),
}

/// Encodes one message as a frame.
///
/// # Errors
///
/// [`FrameError::Length`] if the message is longer than [`FRAME_MAX`].
pub fn encode<T: Serialize>(message: &T) -> Result<Vec<u8>, FrameError> {
    let mut frame = postcard::to_extend(message, vec![0; LENGTH_BYTES])
        .expect("our messages consist of types that postcard can encode");
    let length = frame.len() - LENGTH_BYTES;
    if length == 0 || length > FRAME_MAX {
        let longest = FRAME_MAX;
        return Err(FrameError::Length { length, longest });
    }
    let field = u32::try_from(length).expect("FRAME_MAX fits in 32 bits");
    frame[..LENGTH_BYTES].copy_from_slice(&field.to_le_bytes());
    Ok(frame)
}

/// Cuts a stream of bytes into frames.
#[derive(Debug)]
pub struct Frames {
    bytes: Vec<u8>,
    /// How much of `bytes` has been handed out already.
    taken: usize,
    /// The longest frame in bytes.
    longest: usize,
}

impl Default for Frames {
    fn default() -> Self {
        Self::up_to(FRAME_MAX)
    }
}

impl Frames {
    /// Takes frames of up to `longest` bytes.
    pub fn up_to(longest: usize) -> Self {
        Self {
            bytes: Vec::new(),
            taken: 0,
            longest,
        }
    }

    /// Adds bytes that were received.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.taken);
        self.taken = 0;
        let needed = self.bytes.len() + bytes.len();
        if needed > self.bytes.capacity() {
            // By hand, so that no key is left in freed memory.
            let mut more = Vec::with_capacity(needed.max(2 * self.bytes.capacity()));
            more.extend_from_slice(&self.bytes);
            wipe(&mut self.bytes);
            self.bytes = more;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Overwrites the returned frames with zeros, and what they have left in the buffer.
    pub fn wipe(&mut self) {
        let left = self.bytes.split_off(self.taken);
        self.bytes.resize(self.bytes.capacity(), 0);
        wipe(&mut self.bytes);
        *self = Self::up_to(self.longest);
        self.bytes = left;
    }

    /// Returns the next complete message, or `None` if more bytes are needed.
    ///
    /// # Errors
    ///
    /// After an error the stream is of no use: close it.
    pub fn pop<T: DeserializeOwned>(&mut self) -> Result<Option<T>, FrameError> {
        let bytes = &self.bytes[self.taken..];
        let Some((field, rest)) = bytes.split_first_chunk::<LENGTH_BYTES>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*field) as usize;
        if length == 0 || length > self.longest {
            let longest = self.longest;
            return Err(FrameError::Length { length, longest });
        }
        let Some(content) = rest.get(..length) else {
            return Ok(None);
        };
        match postcard::take_from_bytes(content) {
            Ok((message, [])) => {
                self.taken += LENGTH_BYTES + length;
                Ok(Some(message))
            }
            _ => Err(FrameError::Content(length)),
        }
    }

    /// Returns true if bytes of an incomplete frame are left over.
    pub fn is_in_the_middle(&self) -> bool {
        self.taken < self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> FromRank {
        FromRank::Hello {
            protocol: PROTOCOL,
            version: "0.1.0".into(),
        }
    }

    #[test]
    fn a_message_survives_any_cutting_of_the_stream() {
        let card = FromRank::Card(ByteBuf::from(vec![7; 300]));
        let mut stream = encode(&hello()).unwrap();
        stream.extend(encode(&card).unwrap());
        for step in 1..stream.len() {
            let mut frames = Frames::default();
            let mut got = Vec::new();
            for piece in stream.chunks(step) {
                frames.push(piece);
                while let Some(message) = frames.pop::<FromRank>().unwrap() {
                    got.push(message);
                }
            }
            assert_eq!(got, [hello(), card.clone()], "step {step}");
            assert!(!frames.is_in_the_middle());
        }
    }

    #[test]
    fn a_length_of_0_or_above_the_limit_is_refused() {
        for longest in [FRAME_MAX, RANK_FRAME_MAX] {
            for length in [0, longest as u32 + 1, u32::MAX] {
                let mut frames = Frames::up_to(longest);
                frames.push(&length.to_le_bytes());
                let length = length as usize;
                let expected = FrameError::Length { length, longest };
                assert_eq!(frames.pop::<FromRank>(), Err(expected));
            }
        }
    }

    #[test]
    fn an_unknown_kind_is_refused() {
        let mut frames = Frames::default();
        frames.push(&[1, 0, 0, 0, 200]);
        assert_eq!(frames.pop::<FromRank>(), Err(FrameError::Content(1)));
    }

    #[test]
    fn bytes_behind_the_message_are_refused() {
        let mut frame = encode(&FromRank::Finalized).unwrap();
        frame.push(0);
        frame[0] += 1;
        let mut frames = Frames::default();
        frames.push(&frame);
        assert_eq!(frames.pop::<FromRank>(), Err(FrameError::Content(2)));
    }

    #[test]
    fn a_list_that_claims_more_than_the_frame_holds_is_refused() {
        // Cards with 2^32 entries in a frame of a few bytes: refused, and nothing is allocated.
        let mut frames = Frames::default();
        frames.push(&[7, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0x0f, 1]);
        assert_eq!(frames.pop::<ToRank>(), Err(FrameError::Content(7)));
    }

    #[test]
    fn a_message_above_the_limit_is_not_sent() {
        let card = FromRank::Card(ByteBuf::from(vec![0; FRAME_MAX]));
        assert!(matches!(encode(&card), Err(FrameError::Length { .. })));
    }

    #[test]
    fn the_key_does_not_show_in_debug_output() {
        let mut assignment = Assignment::alone();
        assignment.key = Secret::new(&[0xA5; 32]);
        let text = format!("{assignment:?}");
        assert!(!text.contains("165") && !text.contains("a5"), "{text}");
    }
}
