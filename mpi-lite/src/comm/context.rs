//! How the processes of a communicator agree on the context of a new one.
//!
//! Every process counts the contexts it has used; the new one is the greatest of these counts.
//! So it is new for everybody, and groups without a common member may use the same.

use std::sync::atomic::{AtomicU32, Ordering};

use super::Communicator;
use crate::data::Buffer;
use crate::error::Result;
use crate::ids::Context;

/// The tag of these messages in the collectives' context.
const TAG: i32 = 0;

/// What this process has used.
#[derive(Debug)]
pub(super) struct Contexts {
    next: AtomicU32,
}

impl Default for Contexts {
    fn default() -> Self {
        Self {
            next: AtomicU32::new(Context::FIRST_FREE.0),
        }
    }
}

/// What each process tells the others: its count, and two words of the caller.
pub(super) type Word = [u32; 3];

const WORD_BYTES: usize = size_of::<Word>();

impl Communicator {
    /// A context that no process of this communicator has used; and the `words` of all, by rank.
    pub(super) fn agree(&self, words: [u32; 2]) -> Result<(Context, Vec<Word>)> {
        let next = &self.inner.contexts.next;
        let [first, second] = words;
        let all = self.gather_words([next.load(Ordering::SeqCst), first, second])?;
        let context = all
            .iter()
            .map(|word| word[0])
            .max()
            .expect("a communicator has a member");
        next.store(context + 2, Ordering::SeqCst);
        Ok((Context(context), all))
    }

    /// All-gather of one word per process, by the algorithm of Bruck: in round k each has the
    /// words of 2^k processes from itself on, and gets as many more from 2^k further on.
    fn gather_words(&self, mine: Word) -> Result<Vec<Word>> {
        let (rank, size) = (self.rank() as usize, self.size() as usize);
        let mut known = encode(mine);
        while known.len() < size * WORD_BYTES {
            let have = known.len() / WORD_BYTES;
            let more = have.min(size - have);
            let mut out = known[..more * WORD_BYTES].to_vec();
            let mut room = vec![0; more * WORD_BYTES];
            let to = (rank + size - have) % size;
            let from = (rank + have) % size;
            self.exchange_in_collective(
                (Buffer::of_bytes(&mut out), to),
                (Buffer::of_bytes(&mut room), from),
                TAG,
            )?;
            known.extend_from_slice(&room);
        }
        // The first word is this process's, so turn the list until rank 0 is first.
        let mut words: Vec<Word> = known.chunks_exact(WORD_BYTES).map(decode).collect();
        words.rotate_right(rank);
        Ok(words)
    }
}

fn encode(word: Word) -> Vec<u8> {
    word.iter().flat_map(|part| part.to_be_bytes()).collect()
}

fn decode(bytes: &[u8]) -> Word {
    let part = |at: usize| {
        u32::from_be_bytes(
            bytes[at * 4..][..4]
                .try_into()
                .expect("four bytes of twelve"),
        )
    };
    [part(0), part(1), part(2)]
}
