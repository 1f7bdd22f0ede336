//! What a partitioned send or receive is made of, and the header by which they match. Source:
//! MPI 5.0, 4.

use crate::data::{Area, Buffer};
use crate::engine::envelope::Envelope;
use crate::ids::{Context, PeerId};

/// The bit that tells the tags of partitions from those of headers.
const PARTITION: u32 = 1 << 31;

/// Bytes of a header.
pub(crate) const HEADER_BYTES: usize = 16;

/// A partitioned send, ready to be made. `to: None` is `MPI_PROC_NULL`.
#[derive(Debug)]
pub struct PartitionedSend {
    /// The receiver.
    pub to: Option<PeerId>,
    /// Of the partitioned messages of the communicator.
    pub context: Context,
    /// The sender's rank in it.
    pub source: u32,
    /// The tag, checked.
    pub tag: i32,
    /// The first partition.
    pub first: Buffer,
    /// Their number.
    pub partitions: u32,
}

/// A partitioned receive, ready to be made. `source: None` is `MPI_PROC_NULL`.
#[derive(Debug)]
pub struct PartitionedReceive {
    /// The sender's rank.
    pub source: Option<u32>,
    /// Of the partitioned messages of the communicator.
    pub context: Context,
    /// The tag, checked.
    pub tag: i32,
    /// All partitions.
    pub area: Area,
    /// Their number.
    pub partitions: u32,
}

/// How a sender splits its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// The number of the first partition among all of the sender.
    pub(crate) first: u32,
    pub(crate) partitions: u32,
    /// Bytes of each.
    pub(crate) bytes: u64,
}

impl Header {
    pub(crate) fn encode(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        bytes.extend(self.first.to_le_bytes());
        bytes.extend(self.partitions.to_le_bytes());
        bytes.extend(self.bytes.to_le_bytes());
        bytes
    }

    /// Returns the header in these bytes, unless they are nonsense.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (first, rest) = bytes.split_first_chunk()?;
        let (partitions, rest) = rest.split_first_chunk()?;
        let header = Self {
            first: u32::from_le_bytes(*first),
            partitions: u32::from_le_bytes(*partitions),
            bytes: u64::from_le_bytes(*rest.first_chunk()?),
        };
        let is_sound = i32::try_from(header.partitions).is_ok() && header.all().is_some();
        is_sound.then_some(header)
    }

    /// Bytes of all partitions.
    pub(crate) fn all(&self) -> Option<u64> {
        self.bytes.checked_mul(u64::from(self.partitions))
    }

    /// The tag of a partition.
    pub(crate) fn tag(&self, number: u32) -> i32 {
        (self.number(number) | PARTITION).cast_signed()
    }

    /// The number of a partition among all of the sender.
    pub(crate) fn number(&self, number: u32) -> u32 {
        self.first.wrapping_add(number) & !PARTITION
    }

    /// The number of the partition with this tag among all of the sender.
    pub(crate) fn number_in(tag: i32) -> u32 {
        tag.cast_unsigned() & !PARTITION
    }
}

/// Returns true if the message with this envelope is a partition.
pub(crate) fn is_partition(envelope: &Envelope) -> bool {
    envelope.context.is_partitioned() && envelope.tag < 0
}
