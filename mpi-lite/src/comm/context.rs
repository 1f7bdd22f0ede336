//! How processes agree on a new communicator: on its context, and on its site. Decision 0053.
//!
//! Each process of the job has numbers of its own: of `n` processes, process `p` has `p`, `p + n`,
//! `p + 2n` and so on. Each process that takes part proposes its least number that is not proposed
//! elsewhere and was never taken. All exchange their proposals, and the least one is the context.
//! The others keep their numbers for the next time.
//!
//! A number is proposed to one group at a time and taken once. So no two groups take the same
//! number, whichever members they have in common, and however many agreements a process is in. One
//! exchange is enough: nobody waits for another agreement, and nobody tries again.
//!
//! A freed context is not used again: messages and receives of its communicator may still be under
//! way. The `n` processes have `2^29 / n` numbers each, and a group uses up the numbers of all of
//! its members. If they are used up, that is an error at all members.

use std::cell::Cell;
use std::collections::BinaryHeap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::places::{Offer, Places};
use super::{Communicator, Group, Inner, Operation, Peers, in_words};
use crate::data::Buffer;
use crate::engine::{AtSite, Engine, Lane};
use crate::error::{Cause, Result};
use crate::ids::Context;
use crate::node::site::{About, Site, SiteId};

/// What the members of a communicator come for when they agree on a new one.
const AGREEMENT: About = About::new(Operation::Create as u8, 0, WORD_BYTES as u32);

/// The contexts and places that this process may use.
#[derive(Debug)]
pub(super) struct Contexts {
    engine: Arc<Engine>,
    numbers: Mutex<Numbers>,
    places: Mutex<Places>,
    /// The communicators with sites, some of them freed.
    with_sites: Mutex<Vec<Weak<Inner>>>,
}

/// The contexts of which this process may propose each to one group.
#[derive(Debug)]
struct Numbers {
    /// The least one that was never proposed.
    next: u64,
    /// From one to the next.
    step: u64,
    /// Those that were proposed and not taken.
    kept: Vec<Context>,
}

impl Numbers {
    /// Those of process `me` of `all`.
    fn new(me: u32, all: u32) -> Self {
        let each = u64::from(Context::EACH);
        Self {
            next: u64::from(Context::FIRST_FREE.0) + u64::from(me) * each,
            step: u64::from(all) * each,
            kept: Vec::new(),
        }
    }

    /// Takes the least one out. Returns `NONE_LEFT` if there is none.
    fn propose(&mut self) -> Context {
        let least = (0..self.kept.len()).min_by_key(|&at| self.kept[at]);
        if let Some(at) = least {
            return self.kept.swap_remove(at);
        }
        match u32::try_from(self.next) {
            Ok(number) if number < NONE_LEFT.0 => {
                self.next += self.step;
                Context(number)
            }
            _ => NONE_LEFT,
        }
    }

    /// Puts one back that was proposed and not taken.
    fn keep(&mut self, context: Context) {
        if context != NONE_LEFT {
            self.kept.push(context);
        }
    }
}

/// The proposal of a process that has no number left. Greater than all others.
pub(super) const NONE_LEFT: Context = Context(u32::MAX).point_to_point();

impl Contexts {
    /// Those of a process that has made no communicator.
    pub(super) fn new(engine: &Arc<Engine>) -> Self {
        let place = |lane: &mut Lane| {
            (
                lane.peers().rank(lane.peers().me()),
                lane.peers().all().count(),
            )
        };
        let (me, all) = engine.with(place);
        Self {
            engine: Arc::clone(engine),
            numbers: Mutex::new(Numbers::new(me, all as u32)),
            places: Mutex::default(),
            with_sites: Mutex::default(),
        }
    }

    /// Notes a communicator, if it has a site.
    pub(super) fn note(&self, communicator: &Communicator) {
        if communicator.inner.site.is_none() {
            return;
        }
        let with_sites = &mut *self.with_sites.lock();
        with_sites.retain(|it| it.strong_count() > 0);
        with_sites.push(Arc::downgrade(&communicator.inner));
    }

    /// The communicators with sites that are not freed, in the order in which they were made.
    pub(super) fn with_sites(&self) -> Vec<Communicator> {
        let with_sites = self.with_sites.lock();
        let open = with_sites.iter().filter_map(Weak::upgrade);
        open.map(|inner| Communicator { inner }).collect()
    }

    /// Notes that the communicator of `site` is freed.
    pub(super) fn leave(&self, site: Site) {
        self.places.lock().leave(site);
    }

    /// Proposes a context to another process, for a communicator of both. `Contexts::settle` ends
    /// it; if that is not called, the number is lost.
    pub(super) fn propose(&self) -> Context {
        self.numbers.lock().propose()
    }

    /// Returns the context that this process and the other take of their proposals: `NONE_LEFT` if
    /// neither had one.
    pub(super) fn settle(&self, proposed: Context, theirs: Context) -> Context {
        let least = proposed.min(theirs);
        if least != proposed {
            self.numbers.lock().keep(proposed);
        }
        least
    }

    /// Agrees with the processes of `group`, which are `peers`. Exchanges the `words` of all.
    ///
    /// `hint` is the same at all of them. Agreements that go on at once have different ones, if
    /// possible: see `Places::offer`.
    ///
    /// # Errors
    /// `Lost`: a process of the group is lost. `NoContext`: all contexts are used up.
    pub(super) async fn agree(
        &self,
        (group, peers): (&Group, &impl Peers),
        hint: u32,
        words: [u32; 2],
    ) -> Result<Agreement<'_>> {
        let is_threaded = self.engine.is_threaded();
        let hint = is_threaded.then_some(hint);
        let mut agreement = Agreement {
            contexts: self,
            group: group.clone(),
            context: None,
            proposed: self.numbers.lock().propose(),
            all: Vec::new(),
            offered: self.places.lock().offer(hint),
            taken: Cell::new(None),
        };
        let mine = Word {
            context: agreement.proposed,
            is_threaded,
            offer: agreement.offered,
            words,
        };
        agreement.all = gather_words(peers, mine).await?;
        let least = agreement.all.iter().map(|word| word.context).min();
        let context = least.expect("a group has a member");
        agreement.context = Some(context);
        match context {
            NONE_LEFT => Err(Cause::NoContext.into()),
            _ => Ok(agreement),
        }
    }
}

/// What each process sends to the others: the context and the places that it proposes, and two
/// words of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Word {
    context: Context,
    /// Several of its threads may call at once.
    is_threaded: bool,
    offer: Offer,
    words: [u32; 2],
}

const WORD_BYTES: usize = 28;

/// Bit of `is_threaded` in the word of the context, which is a multiple of `Context::EACH`.
const THREADED: u32 = 1;

/// What the processes of a group have agreed on. A process that is no member of the new
/// communicator drops it.
#[derive(Debug)]
pub(super) struct Agreement<'a> {
    contexts: &'a Contexts,
    group: Group,
    /// None if this process does not know what the others have taken, since the exchange failed.
    context: Option<Context>,
    proposed: Context,
    /// By rank in the group.
    all: Vec<Word>,
    offered: Offer,
    taken: Cell<Option<SiteId>>,
}

impl Drop for Agreement<'_> {
    fn drop(&mut self) {
        let Contexts {
            numbers, places, ..
        } = self.contexts;
        if self.context.is_some_and(|context| context != self.proposed) {
            numbers.lock().keep(self.proposed);
        }
        places.lock().settle(self.offered, self.taken.get());
    }
}

impl Agreement<'_> {
    /// A context that no process of the group has used.
    pub(super) fn context(&self) -> Context {
        self.context.expect("the exchange did not fail")
    }

    /// The callers' words, by rank in the group.
    pub(super) fn words(&self) -> impl Iterator<Item = [u32; 2]> {
        self.all.iter().map(|word| word.words)
    }

    /// The site of the members of `part`, which `open` makes of a place that is free for all of
    /// them.
    pub(super) fn meet(
        &self,
        open: impl FnOnce(SiteId) -> Option<Site>,
        part: &Group,
    ) -> Option<Site> {
        let chosen = BinaryHeap::from(part.members().to_vec()).into_sorted_vec();
        let members = self.group.members().iter().zip(&self.all);
        let mine = members.filter(|&(member, _)| chosen.binary_search(member).is_ok());
        let common = mine.fold(Offer::ANY, |common, (_, word)| common.and(word.offer));
        let mut site = open(common.site_id()?)?;
        if self.all.iter().any(|word| word.is_threaded) {
            site.leave_exchange_buffers();
        }
        self.taken.set(common.site_id());
        Some(site)
    }
}

impl Communicator {
    /// Agrees with all processes of this communicator, which are `peers`. Exchanges the `words` of
    /// all.
    ///
    /// # Errors
    /// As [`Contexts::agree`].
    pub(super) async fn agree(&self, peers: &impl Peers, words: [u32; 2]) -> Result<Agreement<'_>> {
        let hint = self.context().0 / Context::EACH;
        let contexts = &self.inner.contexts;
        contexts.agree((self.group(), peers), hint, words).await
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
    let own = Buffer::holding(&mine.encode())?;
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
        let outgoing = Buffer::holding(&known[..more * WORD_BYTES])?;
        let incoming = Buffer::zeroed(more * WORD_BYTES)?;
        let (to, from) = (peers.before(have), peers.after(have));
        peers.exchange((to, &outgoing), (from, &incoming)).await?;
        incoming.append_to(&mut known);
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
        let context = self.context.0 | if self.is_threaded { THREADED } else { 0 };
        bytes[..4].copy_from_slice(&context.to_be_bytes());
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
            context: Context(part(0) & !THREADED),
            is_threaded: part(0) & THREADED != 0,
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
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_word_comes_back_as_it_was() {
        let word = Word {
            context: Context(8),
            is_threaded: true,
            offer: Offer {
                free: 0x0123_4567_89ab_cdef,
                last: u64::MAX - 2,
            },
            words: [u32::MAX, 3],
        };
        assert_eq!(Word::decode(&word.encode()), word);
    }

    /// Agreements of random groups begin and end in any order, several at a time.
    #[test]
    fn no_two_agreements_take_the_same_context() {
        const PROCESSES: u32 = 5;
        let mut all: Vec<_> = (0..PROCESSES)
            .map(|me| Numbers::new(me, PROCESSES))
            .collect();
        let mut random = 7_u32;
        let mut next = || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            random >> 8
        };
        let mut active: Vec<Vec<(usize, Context)>> = Vec::new();
        let mut taken = BTreeSet::new();
        for _ in 0..2000 {
            let members = next() % ((1 << PROCESSES) - 1) + 1;
            let members = (0..PROCESSES as usize).filter(|member| members >> member & 1 == 1);
            active.push(
                members
                    .map(|member| (member, all[member].propose()))
                    .collect(),
            );
            if active.len() > next() as usize % 8 {
                let ended = active.swap_remove(next() as usize % active.len());
                let least = ended.iter().map(|&(_, proposed)| proposed).min().unwrap();
                assert!(taken.insert(least), "{least:?} is taken twice");
                for (member, proposed) in ended.into_iter().filter(|it| it.1 != least) {
                    all[member].keep(proposed);
                }
            }
        }
        // What was not taken is proposed again: no number is wasted.
        let most = taken.last().unwrap().0 / Context::EACH;
        assert!(most < 2000 + 16 * PROCESSES * 8, "{most}");
    }

    #[test]
    fn numbers_that_are_used_up_are_not_used_again() {
        let mut numbers = Numbers::new(0, 1 << 28);
        let first = numbers.propose();
        assert_eq!(first, Context::FIRST_FREE);
        assert_ne!(numbers.propose(), NONE_LEFT);
        assert_eq!(numbers.propose(), NONE_LEFT);
        numbers.keep(NONE_LEFT);
        numbers.keep(first);
        assert_eq!(numbers.propose(), first);
        assert_eq!(numbers.propose(), NONE_LEFT);
    }
}
