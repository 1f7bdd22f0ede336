//! The two queues of the matcher against plain lists: which entry is the first that fits.
//!
//! Source: MPI 5.0, 3.2.4 (what fits), 3.5 (order).

use mpi_lite::engine::Request;
use mpi_lite::engine::envelope::{Envelope, Flags};
use mpi_lite::engine::matching::{Body, Buffered, Pattern, Posted, Unexpected, UnexpectedMessage};
use mpi_lite::ids::Context;
use mpi_lite::slab::{Key, Table};
use proptest::prelude::*;
use proptest::sample::Index;

/// So few that most patterns fit something, and so many that most envelopes differ.
const WORDS: u32 = 3;

/// This many at once make a short queue deep, or a deep one short again.
const MANY: usize = 100;

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
    PostMany(Vec<Pattern>),
    ArriveMany(Vec<Envelope>),
    WithdrawMany(Vec<Index>),
    ExtractMany(Vec<Pattern>),
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
        flags: Flags::new(synchronous),
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
        1 => many(patterns()).prop_map(Act::PostMany),
        1 => many(envelopes()).prop_map(Act::ArriveMany),
        1 => many(any::<Index>()).prop_map(Act::WithdrawMany),
        1 => many(patterns()).prop_map(Act::ExtractMany),
    ];
    proptest::collection::vec(act, 0..200)
}

fn many<T: std::fmt::Debug>(of: impl Strategy<Value = T>) -> impl Strategy<Value = Vec<T>> {
    proptest::collection::vec(of, 0..MANY)
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
    /// Names of requests: an index is used again.
    requests: Table<()>,
    /// Where each message, by its length, has its place.
    places: Vec<u32>,
}

impl Both {
    fn act(&mut self, act: Act) {
        match act {
            Act::Post(pattern) => self.post(pattern),
            Act::Arrive(envelope) => self.arrive(envelope),
            Act::Withdraw(index) => self.withdraw(index),
            Act::Extract(pattern) => self.extract(&pattern),
            Act::Find(pattern) => self.find(&pattern),
            Act::Remove(index) => self.remove(index),
            Act::Discard(index) => self.discard(index),
            Act::FailAll(source) => self.fail_all(source),
            Act::PostMany(patterns) => each(patterns, |pattern| self.post(pattern)),
            Act::ArriveMany(envelopes) => each(envelopes, |envelope| self.arrive(envelope)),
            Act::WithdrawMany(indices) => each(indices, |index| self.withdraw(index)),
            Act::ExtractMany(patterns) => each(patterns, |pattern| self.extract(&pattern)),
        }
        assert_eq!(self.posted.len(), self.lists.posted.len());
        assert_eq!(self.posted.is_empty(), self.lists.posted.is_empty());
        assert_eq!(self.unexpected.len(), self.lists.queued.len());
        assert_eq!(self.unexpected.is_empty(), self.lists.queued.is_empty());
    }

    fn post(&mut self, pattern: Pattern) {
        let request = Request(self.requests.insert(()));
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
        let taken = self.take(&envelope, expected);
        assert_eq!(taken, expected);
        if let Some(Request(key)) = taken {
            self.requests.discard(key);
        } else {
            let len = self.places.len() as u64;
            let body = Body::Whole(Buffered::Buffer(Vec::new()));
            let message = UnexpectedMessage {
                envelope,
                len,
                body,
            };
            self.places.push(self.unexpected.push(message));
            self.lists.queued.push((envelope, len));
        }
    }

    /// Takes a receive, in some cases by `take_if`: that is for a receive whose area is quickly
    /// found.
    fn take(&mut self, envelope: &Envelope, expected: Option<Request>) -> Option<Request> {
        let mut offered = None;
        let refused = self.posted.take_if(envelope, |request| {
            offered = Some(request);
            None::<()>
        });
        assert_eq!(refused, None);
        assert!(offered.is_none() || offered == expected, "{offered:?}");
        if envelope.flags.is_synchronous()
            && let Some((taken, ())) = self.posted.take_if(envelope, |_| Some(()))
        {
            assert_eq!(offered, Some(taken));
            return Some(taken);
        }
        self.posted.take(envelope)
    }

    fn withdraw(&mut self, index: Index) {
        // One more than there are: a request that nobody posted.
        let at = index.index(self.lists.posted.len() + 1);
        let stranger = Request(Key {
            index: 0,
            generation: u32::MAX,
        });
        let request = self
            .lists
            .posted
            .get(at)
            .map_or(stranger, |&(_, request)| request);
        assert_eq!(self.posted.withdraw(request), at < self.lists.posted.len());
        assert!(!self.posted.withdraw(request), "withdrawn twice");
        self.lists.posted.retain(|&(_, posted)| posted != request);
        self.requests.discard(request.0);
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
        each(failed, |Request(key)| self.requests.discard(key));
    }
}

fn each<T>(things: Vec<T>, act: impl FnMut(T)) {
    things.into_iter().for_each(act);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_queues_give_what_plain_lists_give(acts in acts()) {
        let mut both = Both::default();
        for act in acts {
            both.act(act);
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

/// Depths of a queue that is scanned, of one that is not, and about where it changes.
const DEPTHS: [i32; 6] = [0, 1, 60, 64, 70, 1000];

fn envelope(source: u32, tag: i32) -> Envelope {
    Envelope {
        context: Context::WORLD,
        source,
        tag,
        flags: Flags::default(),
    }
}

fn pattern(source: Option<u32>, tag: Option<i32>) -> Pattern {
    Pattern {
        context: Context::WORLD,
        source,
        tag,
    }
}

/// All that fit a message of source 1 and tag 7.
const SHAPES: [(Option<u32>, Option<i32>); 4] = [
    (Some(1), Some(7)),
    (None, Some(7)),
    (Some(1), None),
    (None, None),
];

/// The shapes from `first` on, up or down.
fn shapes_in_turn(first: usize, is_up: bool) -> impl Iterator<Item = Pattern> {
    (0..4).map(move |i| {
        let at = if is_up { first + i } else { first + 4 - i };
        let (source, tag) = SHAPES[at % 4];
        pattern(source, tag)
    })
}

/// As many receives as `depth` that nothing in these tests fits.
fn filled(depth: i32, requests: &mut Table<()>) -> Posted {
    let mut posted = Posted::default();
    for tag in 0..depth {
        posted.push(pattern(Some(9), Some(tag)), Request(requests.insert(())));
    }
    posted
}

/// Quickly found is the first of a short queue, and any of a deep one.
#[test]
fn a_receive_that_is_quickly_found_is_taken_if_there_is_a_place_for_its_message() {
    for depth in [0, 1000] {
        let mut requests = Table::default();
        let mut posted = filled(depth, &mut requests);
        let request = Request(requests.insert(()));
        posted.push(pattern(Some(1), Some(7)), request);
        let mut take = |place: Option<()>| posted.take_if(&envelope(1, 7), |_| place);
        assert_eq!(take(None), None);
        assert_eq!(take(Some(())), Some((request, ())), "{depth} before it");
        assert_eq!(take(Some(())), None);
    }
}

#[test]
fn a_message_takes_the_receive_that_was_posted_first_whatever_they_leave_open() {
    for depth in DEPTHS {
        for (first, is_up) in (0..4).flat_map(|first| [(first, false), (first, true)]) {
            let mut requests = Table::default();
            let mut posted = filled(depth, &mut requests);
            let mut in_turn = Vec::new();
            for pattern in shapes_in_turn(first, is_up) {
                let request = Request(requests.insert(()));
                posted.push(pattern, request);
                in_turn.push(request);
            }
            for request in in_turn {
                assert_eq!(
                    posted.take(&envelope(1, 7)),
                    Some(request),
                    "{depth} before"
                );
            }
            assert_eq!(posted.take(&envelope(1, 7)), None);
            assert_eq!(posted.len(), depth as usize);
        }
    }
}

#[test]
fn a_receive_takes_the_message_that_came_first_whatever_it_leaves_open() {
    for depth in DEPTHS {
        for (first, is_up) in (0..4).flat_map(|first| [(first, false), (first, true)]) {
            let mut unexpected = Unexpected::default();
            let mut arrive = |envelope, len| {
                let body = Body::Whole(Buffered::Buffer(Vec::new()));
                unexpected.push(UnexpectedMessage {
                    envelope,
                    len,
                    body,
                })
            };
            let elsewhere = Context(9);
            for tag in 0..depth {
                let context = elsewhere;
                arrive(
                    Envelope {
                        context,
                        ..envelope(1, tag)
                    },
                    0,
                );
            }
            let places: Vec<u32> = (0..4).map(|len| arrive(envelope(1, 7), len)).collect();
            for (pattern, place) in shapes_in_turn(first, is_up).zip(places) {
                let len = unexpected.get(place).map(|message| message.len);
                assert_eq!(unexpected.find(&pattern).map(|message| message.len), len);
                assert_eq!(unexpected.extract(&pattern), Some(place), "{depth} before");
            }
            assert_eq!(unexpected.extract(&pattern(None, None)), None);
            assert_eq!(unexpected.len(), depth as usize);
        }
    }
}

#[test]
fn receives_keep_their_order_when_a_deep_queue_becomes_short() {
    let mut requests = Table::default();
    let mut posted = filled(1000, &mut requests);
    let in_turn: Vec<Request> = (0..20)
        .map(|_| {
            let request = Request(requests.insert(()));
            posted.push(pattern(None, Some(7)), request);
            request
        })
        .collect();
    for tag in (0..1000).rev() {
        assert!(posted.take(&envelope(9, tag)).is_some());
    }
    assert_eq!(posted.len(), in_turn.len());
    for request in in_turn {
        assert_eq!(posted.take(&envelope(1, 7)), Some(request));
    }
}

#[test]
fn a_withdrawn_receive_matches_nothing_and_the_others_keep_their_order() {
    for depth in DEPTHS {
        let mut requests = Table::default();
        let mut posted = filled(depth, &mut requests);
        let [first, second, third] = [(); 3].map(|()| Request(requests.insert(())));
        for request in [first, second, third] {
            posted.push(pattern(Some(1), Some(7)), request);
        }
        assert_eq!(posted.take(&envelope(1, 8)), None);
        assert!(posted.withdraw(second));
        assert!(!posted.withdraw(second));
        assert_eq!(posted.take(&envelope(1, 7)), Some(first));
        assert_eq!(posted.take(&envelope(1, 7)), Some(third));
        assert_eq!(posted.take(&envelope(1, 7)), None);
    }
}
