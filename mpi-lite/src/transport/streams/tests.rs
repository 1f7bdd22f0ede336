//! Two ends with streams between them that a test carries.

use super::*;
use crate::transport::{ENVELOPE_BYTES, EnvelopeBytes, Incoming, Landing};

/// A sink that lands what arrives in memory of its own, or later.
#[derive(Default)]
struct Heard {
    /// Messages in their order: envelope, and where they landed.
    arrived: Vec<(u8, Arrival)>,
    bodies: Vec<(u8, Box<[u8]>)>,
    complete: Vec<Arrival>,
    sent: Vec<Token>,
    lost: Vec<Lost>,
    later: bool,
    /// Tags whose receives name them.
    overtakers: Vec<u8>,
    full: bool,
}

impl Sink for Heard {
    fn arriving(&mut self, message: Incoming) -> Landing {
        let tag = message.envelope[0];
        self.arrived.push((tag, message.arrival));
        if self.later {
            return Landing::Later;
        }
        let mut body = vec![0; message.len as usize].into_boxed_slice();
        let area = Area::of_bytes(&mut body);
        self.bodies.push((tag, body));
        if message.is_whole {
            self.complete.push(message.arrival);
        }
        Landing::Into(area)
    }

    fn arrived(&mut self, arrival: Arrival) {
        self.complete.push(arrival);
    }

    fn sent(&mut self, token: Token) {
        self.sent.push(token);
    }

    fn lost(&mut self, lost: Lost) {
        self.lost.push(lost);
    }

    fn may_overtake(&self, _from: PeerId, envelope: &EnvelopeBytes) -> bool {
        self.overtakers.contains(&envelope[0])
    }

    fn wants_more(&self) -> bool {
        !self.full
    }
}

/// Two processes with `lanes` streams between them.
struct Pair {
    ends: [Streams; 2],
    sinks: [Heard; 2],
    channels: Vec<ChannelId>,
    /// Bytes on their way, by direction and stream.
    air: [Vec<Vec<u8>>; 2],
}

fn pair(lanes: usize, short_most: u64) -> Pair {
    let mut ends = [Streams::new(2, short_most), Streams::new(2, short_most)];
    let channels = (0..lanes as u32).map(|key| {
        ends[1].channel_to(PeerId(0), key);
        ends[0].channel_to(PeerId(1), key)
    });
    let channels = channels.collect();
    Pair {
        ends,
        sinks: Default::default(),
        channels,
        air: [vec![Vec::new(); lanes], vec![Vec::new(); lanes]],
    }
}

impl Pair {
    fn send(&mut self, lane: usize, tag: u8, body: &mut [u8], needs_match: bool) {
        let mut envelope = [0; ENVELOPE_BYTES];
        envelope[0] = tag;
        let message = Outbound {
            envelope: &envelope,
            body: Area::of_bytes(body),
            token: Token(tag.into()),
            is_awaited: false,
            needs_match,
        };
        self.ends[0].send(self.channels[lane], message).unwrap();
    }

    /// Moves at most `most` bytes of each stream from `from` to the other end.
    fn carry(&mut self, from: usize, lane: usize, most: usize) -> bool {
        let on = self.channels[lane];
        let air = &mut self.air[from][lane];
        let before = air.len();
        if most.is_multiple_of(2) {
            self.ends[from].take(on, most, air);
        } else {
            let mut vectors = Vec::with_capacity(3);
            self.ends[from].gather(on, most, &mut vectors);
            let bytes: Vec<u8> = vectors.iter().flat_map(|it| it.to_vec()).collect();
            air.extend_from_slice(&bytes);
            self.ends[from].wrote(on, bytes.len());
        }
        let has_moved = air.len() > before;
        let to = 1 - from;
        let taken = self.ends[to].feed(on, air, &mut self.sinks[to]).unwrap();
        air.drain(..taken);
        self.ends[to].tell(&mut self.sinks[to]);
        has_moved || taken > 0
    }

    fn settle(&mut self, most: usize) {
        let lanes = self.channels.len();
        let carry = |pair: &mut Self| {
            let each = (0..2).flat_map(|from| (0..lanes).map(move |lane| (from, lane)));
            let moved: Vec<_> = each
                .map(|(from, lane)| pair.carry(from, lane, most))
                .collect();
            moved.contains(&true)
        };
        while carry(self) {}
        for (end, sink) in self.ends.iter_mut().zip(&mut self.sinks) {
            end.tell(sink);
        }
    }
}

fn body(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7 + at / 251) as u8).collect()
}

#[test]
fn messages_of_all_lengths_arrive_in_order_however_the_stream_is_cut() {
    for most in [1, 2, 3, 39, 40, 41, 97, 1000, 100_000] {
        let mut pair = pair(1, 100);
        let mut bodies: Vec<_> = [0, 1, 99, 100, 101, 5000, 2, 70_000]
            .map(body)
            .into_iter()
            .collect();
        for (tag, body) in (0..).zip(&mut bodies) {
            pair.send(0, tag, body, tag % 3 == 1);
        }
        pair.settle(most);
        let tags: Vec<_> = pair.sinks[1].arrived.iter().map(|it| it.0).collect();
        assert_eq!(tags, [0, 1, 2, 3, 4, 5, 6, 7], "{most}");
        for (tag, landed) in &pair.sinks[1].bodies {
            assert!(**landed == *bodies[usize::from(*tag)], "{tag}, {most}");
        }
        assert_eq!(pair.sinks[1].complete.len(), 8, "{most}");
        assert_eq!(pair.sinks[0].sent.len(), 8, "{most}");
        assert!(pair.ends[0].is_quiet() && pair.ends[1].is_quiet());
        assert!(pair.ends[1].arrivals.is_empty());
    }
}

#[test]
fn a_message_that_lands_later_keeps_its_bytes_and_is_matched_then() {
    let mut pair = pair(1, 100);
    let mut bodies = [body(50), body(500)];
    pair.sinks[1].later = true;
    for (tag, body) in (0..).zip(&mut bodies) {
        pair.send(0, tag, body, true);
    }
    pair.settle(64);
    assert!(pair.sinks[0].sent.is_empty(), "nothing was matched");
    assert!(!pair.ends[0].is_quiet());
    let mut landed = [vec![0; 50], vec![0; 500]];
    let names: Vec<_> = pair.sinks[1].arrived.iter().map(|it| it.1).collect();
    let whole: Vec<_> = names
        .iter()
        .zip(&mut landed)
        .map(|(name, memory)| pair.ends[1].land(*name, Landing::Into(Area::of_bytes(memory))))
        .collect();
    assert_eq!(whole, [true, false]);
    pair.settle(64);
    assert_eq!(landed, bodies);
    assert_eq!(pair.sinks[0].sent.len(), 2);
    assert_eq!(pair.sinks[1].complete, [names[1]]);
}

#[test]
fn a_matched_message_is_not_sent_before_its_last_byte() {
    let mut pair = pair(1, 1000);
    let mut body = body(500);
    pair.send(0, 1, &mut body, true);
    pair.carry(0, 0, 100);
    assert_eq!(pair.sinks[1].bodies.len(), 1, "it is matched");
    while pair.carry(1, 0, 100) {}
    pair.ends[0].tell(&mut pair.sinks[0]);
    assert!(
        pair.sinks[0].sent.is_empty(),
        "the rest is still to be read"
    );
    pair.settle(100);
    assert_eq!(pair.sinks[0].sent, [Token(1)]);
}

#[test]
fn a_receiver_under_pressure_is_asked_before_each_body() {
    let mut pair = pair(1, 100);
    pair.ends[1].push_back(true);
    pair.settle(64);
    pair.sinks[1].later = true;
    let mut first = body(50);
    pair.send(0, 1, &mut first, false);
    pair.settle(64);
    assert!(pair.sinks[0].sent.is_empty(), "the body is with its sender");
    pair.ends[1].push_back(false);
    pair.settle(64);
    let mut second = body(50);
    pair.send(0, 2, &mut second, false);
    pair.settle(64);
    assert_eq!(pair.sinks[0].sent, [Token(2)]);
}

#[test]
fn a_message_overtakes_only_where_its_receive_names_its_tag() {
    let mut pair = pair(2, 100);
    let mut bodies = [body(10), body(20), body(30)];
    let [first, second, third] = &mut bodies;
    pair.send(0, 1, first, false);
    pair.send(1, 2, second, false);
    pair.send(1, 3, third, false);
    // The first stream is held up.
    let tags = |pair: &Pair| {
        pair.sinks[1]
            .arrived
            .iter()
            .map(|it| it.0)
            .collect::<Vec<_>>()
    };
    while pair.carry(0, 1, 64) {}
    assert!(tags(&pair).is_empty());
    pair.sinks[1].overtakers.push(2);
    while pair.carry(0, 1, 64) {}
    assert_eq!(tags(&pair), [2]);
    pair.settle(64);
    assert_eq!(tags(&pair), [2, 1, 3]);
}

#[test]
fn a_sink_that_wants_no_more_loses_nothing() {
    let mut pair = pair(1, 100);
    let mut bodies = [body(10), body(20)];
    for (tag, body) in (0..).zip(&mut bodies) {
        pair.send(0, tag, body, false);
    }
    pair.sinks[1].full = true;
    pair.settle(64);
    assert!(pair.sinks[1].arrived.is_empty());
    pair.sinks[1].full = false;
    pair.settle(64);
    assert_eq!(pair.sinks[1].arrived.len(), 2);
}

#[test]
fn a_lost_peer_ends_all_that_is_unfinished_once() {
    let mut pair = pair(2, 100);
    let mut bodies = [body(500), body(90), body(90)];
    let [long, cut, whole] = &mut bodies;
    pair.sinks[1].later = true;
    pair.send(0, 1, long, false);
    pair.send(0, 2, whole, false);
    pair.settle(1000);
    pair.send(1, 3, cut, false);
    pair.carry(0, 1, 60);
    for (end, other) in [(0, 1), (1, 0)] {
        pair.ends[end].lose(PeerId(other), None, "gone".into());
        pair.ends[end].lose(PeerId(other), None, "gone again".into());
        pair.ends[end].tell(&mut pair.sinks[end]);
    }
    let [sender, receiver] = &pair.sinks;
    assert_eq!(sender.lost.len(), 1);
    assert_eq!(sender.lost[0].unsent, [Token(3), Token(1)]);
    assert_eq!(receiver.lost.len(), 1);
    let name = |number: usize| receiver.arrived[number].1;
    assert_eq!(receiver.lost[0].unfinished, [name(0), name(2)]);
    // What was here as a whole can still land.
    let mut landed = vec![0; 90];
    let (whole, gone) = (name(1), name(0));
    assert!(pair.ends[1].land(whole, Landing::Into(Area::of_bytes(&mut landed))));
    assert_eq!(landed, bodies[2]);
    assert!(!pair.ends[1].land(gone, Landing::NOWHERE));
    assert!(pair.ends[0].is_quiet());
}

#[test]
fn nonsense_is_refused() {
    let mut pair = pair(1, 100);
    let on = pair.channels[0];
    let headers = [
        RecordHeader::bare(RecordKind::Clear, 0, 5),
        RecordHeader::bare(RecordKind::Matched, 0, 5),
        RecordHeader::bare(RecordKind::Long, 0, 5),
    ];
    for header in headers {
        let fed = pair.ends[0].feed(on, &header.encode(), &mut pair.sinks[0]);
        assert_eq!(fed, Err(Garbled), "{header:?}");
    }
    let mut bytes = headers[0].encode();
    bytes[0] = 200;
    assert_eq!(
        pair.ends[0].feed(on, &bytes, &mut pair.sinks[0]),
        Err(Garbled)
    );
}
