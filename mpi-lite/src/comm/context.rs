//! How the processes of a communicator agree on a new one: on its context, and on its site.
//!
//! Every process counts the contexts it has used. The new context is the greatest of these counts.
//! So it is new for all, and groups without a common member may use the same one.
//!
//! Two threads of a process may agree at once, with the members of different parents. Then both
//! could get the same greatest count. So a process with several threads counts for one parent at a
//! time, and sends the members of the second parent that it is busy. They all try again together.
//! It sends so in the first round already, in which nothing is held yet. When that round is over
//! all members have come, so a process that holds the count later waits only for members that have
//! come. Of several parents the one with the least context comes first, so that one of them always
//! proceeds.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;

use super::places::{Offer, Places};
use super::{Communicator, Group, Operation, Peers, in_words};
use crate::data::Buffer;
use crate::engine::AtSite;
use crate::error::Result;
use crate::ids::Context;
use crate::node::site::{About, Site, SiteId};

/// What the members of a communicator come for when they agree on a new one.
const AGREEMENT: About = About::new(Operation::Create as u8, 0, WORD_BYTES as u32);

/// The contexts and places that this process has used.
#[derive(Debug)]
pub(super) struct Contexts {
    next: AtomicU32,
    places: Mutex<Places>,
    queue: Mutex<Queue>,
}

/// The agreements of a process with several threads.
#[derive(Debug, Default)]
struct Queue {
    /// The parents' contexts.
    all: Vec<Context>,
    /// The one for which this process counts now.
    turn: Option<Context>,
}

/// A place in the queue, until it is dropped.
#[derive(Debug)]
struct Queued<'a> {
    contexts: &'a Contexts,
    parent: Context,
}

impl<'a> Queued<'a> {
    fn enter(contexts: &'a Contexts, parent: Context) -> Self {
        contexts.queue.lock().all.push(parent);
        Self { contexts, parent }
    }

    /// Returns true if this process counts for this parent now, until `give_up`.
    fn take_turn(&self) -> bool {
        let queue = &mut *self.contexts.queue.lock();
        let is_first = queue.all.iter().all(|other| self.parent <= *other);
        if queue.turn.is_none() && is_first {
            queue.turn = Some(self.parent);
        }
        queue.turn == Some(self.parent)
    }

    fn give_up(&self) {
        let queue = &mut *self.contexts.queue.lock();
        queue.turn = queue.turn.filter(|turn| *turn != self.parent);
    }
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.give_up();
        let all = &mut self.contexts.queue.lock().all;
        let place = all.iter().position(|parent| *parent == self.parent);
        all.swap_remove(place.expect("it was entered"));
    }
}

impl Default for Contexts {
    fn default() -> Self {
        Self {
            next: AtomicU32::new(Context::FIRST_FREE.0),
            places: Mutex::default(),
            queue: Mutex::default(),
        }
    }
}

impl Contexts {
    /// Notes that the communicator of `site` is freed.
    pub(super) fn leave(&self, site: Site) {
        self.places.lock().leave(site);
    }
}

/// What each process sends to the others: its count, the places that it can use, and two words of
/// the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Word {
    next: u32,
    offer: Offer,
    words: [u32; 2],
}

const WORD_BYTES: usize = 28;

/// Bit of a count that does not hold, since another thread of the process counts for another
/// parent. Counts are multiples of `Context::EACH`.
const BUSY: u32 = 1;

/// What the processes of a communicator have agreed on. A process that is no member of the new one
/// drops it.
#[derive(Debug)]
pub(super) struct Agreement<'a> {
    parent: &'a Communicator,
    context: Context,
    /// By rank in the parent.
    all: Vec<Word>,
    offered: Offer,
    taken: Cell<Option<SiteId>>,
    /// Left when the places that were taken are settled.
    queued: Option<Queued<'a>>,
}

impl Drop for Agreement<'_> {
    fn drop(&mut self) {
        let places = &self.parent.inner.contexts.places;
        places.lock().settle(self.offered, self.taken.get());
    }
}

impl Agreement<'_> {
    /// A context that no process of the parent has used.
    pub(super) fn context(&self) -> Context {
        self.context
    }

    /// The callers' words, by rank in the parent.
    pub(super) fn words(&self) -> impl Iterator<Item = [u32; 2]> {
        self.all.iter().map(|word| word.words)
    }

    /// The site of the members of `group`, which `open` makes of a place that is free for all of
    /// them.
    pub(super) fn meet(
        &self,
        open: impl FnOnce(SiteId) -> Option<Site>,
        group: &Group,
    ) -> Option<Site> {
        let mut chosen = group.members().to_vec();
        chosen.sort_unstable();
        let members = self.parent.group().members().iter().zip(&self.all);
        let mine = members.filter(|&(member, _)| chosen.binary_search(member).is_ok());
        let common = mine.fold(Offer::ANY, |common, (_, word)| common.and(word.offer));
        let mut site = open(common.site_id()?)?;
        if self.queued.is_some() {
            site.leave_exchange_buffers();
        }
        self.taken.set(common.site_id());
        Some(site)
    }
}

impl Communicator {
    /// Agrees with all processes of this communicator, which are `peers`. Exchanges the `words` of
    /// all.
    pub(super) async fn agree(&self, peers: &impl Peers, words: [u32; 2]) -> Result<Agreement<'_>> {
        let contexts = &self.inner.contexts;
        let mut queued = None;
        let mut counts = !self.engine().is_threaded();
        loop {
            let mut agreement = self.propose(counts);
            let mine = Word {
                next: agreement.context.0 | if counts { 0 } else { BUSY },
                offer: agreement.offered,
                words,
            };
            agreement.all = gather_words(peers, mine).await?;
            let greatest = agreement.all.iter().map(|word| word.next & !BUSY).max();
            let context = greatest.expect("a communicator has a member");
            if agreement.all.iter().all(|word| word.next & BUSY == 0) {
                let next = context + Context::EACH;
                contexts.next.fetch_max(next, Ordering::SeqCst);
                agreement.context = Context(context);
                agreement.queued = queued;
                return Ok(agreement);
            }
            drop(agreement);
            let place = queued.get_or_insert_with(|| Queued::enter(contexts, self.context()));
            place.give_up();
            std::thread::yield_now();
            counts = place.take_turn();
        }
    }

    /// What this process proposes. It offers no place unless it `counts` for this parent.
    fn propose(&self, counts: bool) -> Agreement<'_> {
        let contexts = &self.inner.contexts;
        let next = contexts.next.load(Ordering::SeqCst);
        Agreement {
            parent: self,
            context: Context(next),
            all: Vec::new(),
            offered: match counts {
                true => contexts.places.lock().offer(),
                false => Offer::NONE,
            },
            taken: Cell::new(None),
            queued: None,
        }
    }
}

/// All-gather of one word per process, without messages if the processes have a site.
async fn gather_words(peers: &impl Peers, mine: Word) -> Result<Vec<Word>> {
    if let Some(at_site) = peers.at_site()
        && at_site.site().has_exchange_buffers()
    {
        return gather_words_together(at_site, mine);
    }
    gather_words_by_messages(peers, mine).await
}

fn gather_words_together(at_site: AtSite<'_>, mine: Word) -> Result<Vec<Word>> {
    let mut all = vec![0; at_site.site().size() * WORD_BYTES];
    let mut mine = mine.encode();
    let own = Buffer::of_bytes(&mut mine);
    let done = at_site.concatenate(
        AGREEMENT,
        |rank| rank * WORD_BYTES,
        &own,
        |from, piece| {
            piece.read_into(&mut all[from..]);
        },
    );
    done.map_err(|error| in_words(at_site, error))?;
    Ok(all.as_chunks().0.iter().map(Word::decode).collect())
}

/// All-gather by the algorithm of Bruck: in round k each has the words of 2^k processes from itself
/// on, and receives as many more from the process 2^k further on.
async fn gather_words_by_messages(peers: &impl Peers, mine: Word) -> Result<Vec<Word>> {
    let size = peers.all();
    let mut known = mine.encode().to_vec();
    while known.len() < size * WORD_BYTES {
        let have = known.len() / WORD_BYTES;
        let more = have.min(size - have);
        let mut out = known[..more * WORD_BYTES].to_vec();
        let mut room = vec![0; more * WORD_BYTES];
        let (outgoing, incoming) = (Buffer::of_bytes(&mut out), Buffer::of_bytes(&mut room));
        let (to, from) = (peers.before(have), peers.after(have));
        peers.exchange((to, &outgoing), (from, &incoming)).await?;
        known.extend_from_slice(&room);
    }
    // The first word is this process's: rotate the list until rank 0 is first.
    let (words, _) = known.as_chunks();
    let mut words: Vec<Word> = words.iter().map(Word::decode).collect();
    words.rotate_right(peers.here());
    Ok(words)
}

impl Word {
    fn encode(self) -> [u8; WORD_BYTES] {
        let Offer { free, last } = self.offer;
        let mut bytes = [0; WORD_BYTES];
        bytes[..4].copy_from_slice(&self.next.to_be_bytes());
        bytes[4..12].copy_from_slice(&free.to_be_bytes());
        bytes[12..20].copy_from_slice(&last.to_be_bytes());
        for (place, word) in bytes[20..].chunks_exact_mut(4).zip(self.words) {
            place.copy_from_slice(&word.to_be_bytes());
        }
        bytes
    }

    fn decode(bytes: &[u8; WORD_BYTES]) -> Self {
        let part = |at: usize| {
            let part = bytes[at..][..4].try_into();
            u32::from_be_bytes(part.expect("four bytes of a word"))
        };
        let long = |at: usize| u64::from(part(at)) << 32 | u64::from(part(at + 4));
        Self {
            next: part(0),
            offer: Offer {
                free: long(4),
                last: long(12),
            },
            words: [part(20), part(24)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_comes_back_as_it_was() {
        let word = Word {
            next: 7,
            offer: Offer {
                free: 0x0123_4567_89ab_cdef,
                last: u64::MAX - 2,
            },
            words: [u32::MAX, 3],
        };
        assert_eq!(Word::decode(&word.encode()), word);
    }
}
