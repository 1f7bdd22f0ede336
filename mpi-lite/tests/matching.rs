//! The two queues of the matcher against plain lists: who is first of those that fit.
//!
//! Source: MPI 5.0, 3.2.4 (what fits), 3.5 (order).

use mpi_lite::engine::Request;
use mpi_lite::engine::envelope::Envelope;
use mpi_lite::engine::matching::{Body, Pattern, Posted, Unexpected, UnexpectedMessage};
use mpi_lite::ids::Context;
use mpi_lite::slab::Key;
use proptest::prelude::*;
use proptest::sample::Index;

/// So few that most patterns fit something, and so many that most envelopes differ.
const WORDS: u32 = 3;

#[derive(Clone, Debug)]
enum Act {
    Post(Pattern),
    Arrive(Envelope),
    Withdraw(Index),
    Extract(Pattern),
    Find(Pattern),
    Remove(Index),
    Discard(Index),
    FailAll(Option<u32>),
}

fn patterns() -> impl Strategy<Value = Pattern> {
    let source = proptest::option::of(0..WORDS);
    let tag = proptest::option::of(0..WORDS as i32);
    (0..WORDS, source, tag).prop_map(|(context, source, tag)| Pattern {
        context: Context(context),
        source,
        tag,
    })
}

fn envelopes() -> impl Strategy<Value = Envelope> {
    let words = (0..WORDS, 0..WORDS, 0..WORDS as i32, any::<bool>());
    words.prop_map(|(context, source, tag, synchronous)| Envelope {
        context: Context(context),
        source,
        tag,
        synchronous,
    })
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        6 => patterns().prop_map(Act::Post),
        6 => envelopes().prop_map(Act::Arrive),
        1 => any::<Index>().prop_map(Act::Withdraw),
        3 => patterns().prop_map(Act::Extract),
        2 => patterns().prop_map(Act::Find),
        2 => any::<Index>().prop_map(Act::Remove),
        1 => any::<Index>().prop_map(Act::Discard),
        1 => proptest::option::of(0..WORDS).prop_map(Act::FailAll),
    ];
    proptest::collection::vec(act, 0..200)
}

/// The same as plain lists; messages are known by their length, which is a running number.
#[derive(Default)]
struct Lists {
    posted: Vec<(Pattern, Request)>,
    queued: Vec<(Envelope, u64)>,
    /// Taken out of the queue, not yet received.
    extracted: Vec<u64>,
}

fn fits(pattern: &Pattern, envelope: &Envelope) -> bool {
    let source = pattern.source.unwrap_or(envelope.source);
    let tag = pattern.tag.unwrap_or(envelope.tag);
    (pattern.context, source, tag) == (envelope.context, envelope.source, envelope.tag)
}

#[derive(Default)]
struct Both {
    posted: Posted,
    unexpected: Unexpected,
    lists: Lists,
    /// Where each message, by its length, has its place.
    places: Vec<u32>,
}

impl Both {
    fn act(&mut self, number: u32, act: Act) {
        match act {
            Act::Post(pattern) => self.post(number, pattern),
            Act::Arrive(envelope) => self.arrive(envelope),
            Act::Withdraw(index) => self.withdraw(index),
            Act::Extract(pattern) => self.extract(&pattern),
            Act::Find(pattern) => self.find(&pattern),
            Act::Remove(index) => self.remove(index),
            Act::Discard(index) => self.discard(index),
            Act::FailAll(source) => self.fail_all(source),
        }
        assert_eq!(self.posted.len(), self.lists.posted.len());
        assert_eq!(self.posted.is_empty(), self.lists.posted.is_empty());
        assert_eq!(self.unexpected.len(), self.lists.queued.len());
        assert_eq!(self.unexpected.is_empty(), self.lists.queued.is_empty());
    }

    fn post(&mut self, number: u32, pattern: Pattern) {
        let (index, generation) = (number, 0);
        let request = Request(Key { index, generation });
        self.posted.push(pattern, request);
        self.lists.posted.push((pattern, request));
    }

    /// A message takes the receive that was posted first of those that it fits, or waits.
    fn arrive(&mut self, envelope: Envelope) {
        let fitting = self
            .lists
            .posted
            .iter()
            .position(|(p, _)| fits(p, &envelope));
        let expected = fitting.map(|at| self.lists.posted.remove(at).1);
        let taken = self.posted.take(&envelope);
        assert_eq!(taken, expected);
        if taken.is_none() {
            let len = self.places.len() as u64;
            let body = Body::Whole(Vec::new());
            let message = UnexpectedMessage {
                envelope,
                len,
                body,
            };
            self.places.push(self.unexpected.push(message));
            self.lists.queued.push((envelope, len));
        }
    }

    fn withdraw(&mut self, index: Index) {
        // One more than there are: a request that nobody posted.
        let at = index.index(self.lists.posted.len() + 1);
        let stranger = Request(Key {
            index: 0,
            generation: 1,
        });
        let request = self
            .lists
            .posted
            .get(at)
            .map_or(stranger, |&(_, request)| request);
        assert_eq!(self.posted.withdraw(request), at < self.lists.posted.len());
        assert!(!self.posted.withdraw(request), "withdrawn twice");
        self.lists.posted.retain(|&(_, posted)| posted != request);
    }

    fn first(&self, pattern: &Pattern) -> Option<usize> {
        self.lists.queued.iter().position(|(e, _)| fits(pattern, e))
    }

    /// A receive takes the message that arrived first of those that fit.
    fn extract(&mut self, pattern: &Pattern) {
        let expected = self.first(pattern).map(|at| self.lists.queued.remove(at).1);
        let place = self.unexpected.extract(pattern);
        assert_eq!(place, expected.map(|len| self.places[len as usize]));
        self.lists.extracted.extend(expected);
    }

    fn find(&mut self, pattern: &Pattern) {
        let expected = self.first(pattern).map(|at| self.lists.queued[at].1);
        assert_eq!(self.unexpected.find(pattern).map(|m| m.len), expected);
    }

    /// An extracted message keeps its place until it is received.
    fn remove(&mut self, index: Index) {
        if self.lists.extracted.is_empty() {
            return;
        }
        let len = self
            .lists
            .extracted
            .remove(index.index(self.lists.extracted.len()));
        let place = self.places[len as usize];
        assert_eq!(self.unexpected.get(place).map(|m| m.len), Some(len));
        assert_eq!(self.unexpected.remove(place).map(|m| m.len), Some(len));
    }

    /// A message is dropped wherever it stands.
    fn discard(&mut self, index: Index) {
        let queued = self.lists.queued.iter().map(|&(_, len)| len);
        let all: Vec<u64> = queued.chain(self.lists.extracted.iter().copied()).collect();
        if all.is_empty() {
            return;
        }
        let gone = all[index.index(all.len())];
        self.unexpected.discard(self.places[gone as usize]);
        self.lists.queued.retain(|&(_, len)| len != gone);
        self.lists.extracted.retain(|&len| len != gone);
    }

    fn fail_all(&mut self, source: Option<u32>) {
        let is_hopeless = |pattern: &Pattern| pattern.source == source;
        let failed = self.posted.extract(is_hopeless);
        let posted = self.lists.posted.iter();
        let expected: Vec<Request> = posted
            .filter(|(pattern, _)| is_hopeless(pattern))
            .map(|&(_, request)| request)
            .collect();
        assert_eq!(failed, expected);
        self.lists
            .posted
            .retain(|(pattern, _)| !is_hopeless(pattern));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_queues_give_what_plain_lists_give(acts in acts()) {
        let mut both = Both::default();
        for (number, act) in (0..).zip(acts) {
            both.act(number, act);
        }
    }

    #[test]
    fn a_pattern_fits_exactly_its_context_and_what_it_names(
        pattern in patterns(),
        envelope in envelopes(),
    ) {
        prop_assert_eq!(pattern.fits(&envelope), fits(&pattern, &envelope));
    }
}
