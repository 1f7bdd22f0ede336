//! What a program leaves behind when it finalizes.

use crate::engine::envelope::Envelope;
use crate::engine::requests::is_partition;
use crate::ids::Context;

/// What a program left behind when it finalized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Messages that nobody received, without those of collectives. A partitioned one is counted
    /// once.
    pub messages: u64,
    /// The first of them.
    pub first: Option<MessageLeft>,
    /// Partitions that nobody received: of messages that are counted, and of those whose receive
    /// was not started or was freed.
    pub partitions: u64,
    /// The first message of a collective that nobody received.
    pub collective: Option<CollectiveLeft>,
    /// Requests that were neither completed nor freed.
    pub requests: u64,
}

/// A message that nobody received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageLeft {
    /// Its sender's rank in the communicator.
    pub source: u32,
    /// Its tag.
    pub tag: i32,
    /// It is a partitioned one.
    pub is_partitioned: bool,
}

/// A message of a collective that nobody received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectiveLeft {
    /// Its sender's rank in the communicator.
    pub source: u32,
    /// Its tag, which contains the operation.
    pub tag: i32,
    /// The communicator.
    pub context: Context,
    /// This process has begun a collective of the communicator and has not completed it.
    pub is_unwaited: bool,
}

impl Leftovers {
    /// Notes how many requests were neither completed nor freed.
    pub(crate) fn note_requests(&mut self, requests: usize) {
        self.requests = requests as u64;
    }

    /// Counts a message that nobody will receive. `unwaited` are the communicators of the
    /// collectives that this process has begun and not completed.
    #[cold]
    pub(crate) fn note(&mut self, envelope: &Envelope, unwaited: &[Context]) {
        let context = envelope.context.point_to_point();
        if envelope.context.is_collective() {
            self.collective.get_or_insert_with(|| CollectiveLeft {
                source: envelope.rank(),
                tag: envelope.tag,
                context,
                is_unwaited: envelope.context == context.nonblocking()
                    && unwaited.contains(&context),
            });
        } else if is_partition(envelope) {
            self.partitions += 1;
        } else {
            self.messages += 1;
            self.first.get_or_insert(MessageLeft {
                source: envelope.rank(),
                tag: envelope.tag,
                is_partitioned: envelope.context.is_partitioned(),
            });
        }
    }
}
