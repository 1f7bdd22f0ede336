//! What the channel promises beyond the contract of all transports.
#![expect(
    clippy::disallowed_methods,
    reason = "looks whether a doorbell was rung; blocks nobody"
)]

use super::body::Room;
use super::limits::{EAGER_BYTES, EAGER_PIECE_BYTES, LOOKS_PER_KNOCK};
use core::sync::atomic::Ordering::Relaxed;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::{MemfdFlags, fstat, ftruncate, memfd_create};

use super::super::told::{self, Told};
use super::super::{Arrival, ENVELOPE_BYTES, Landing, Outbound, PeerId, Token, Transport};
use super::Shm;
use super::choice::CHOICE_BYTES;
use super::header::SlotKind;
use super::ring::{REGISTERED_BYTES, reach};
use super::transfer::Cut;
use crate::clock::Instant;
use crate::config::CopyAcross;
use crate::memory::Span;
use crate::node::segment::{Area, BODIES, PARKED, Pair, Reply, SLOTS, Segment};
use crate::node::site::{About, SiteId};
use crate::node::{Access, Cores, Node};

/// More short messages than a ring has room for.
const MORE_THAN_FIT: usize = SLOTS + 40;

/// `count` ranks that share memory, though all are this process.
pub(in super::super) fn local_peers(count: u32, copies_across: bool) -> Vec<Shm> {
    oversubscribed(count, copies_across, false)
}

/// `count` ranks that share memory, and cores if `is_oversubscribed`.
pub(crate) fn oversubscribed(count: u32, copies_across: bool, is_oversubscribed: bool) -> Vec<Shm> {
    let copy_across = if copies_across {
        CopyAcross::Always
    } else {
        CopyAcross::Off
    };
    local_peers_in(&memory(count), count, (copy_across, is_oversubscribed))
}

/// Memory for `count` ranks.
fn memory(count: u32) -> OwnedFd {
    if cfg!(miri) {
        // It has neither memfds nor process_vm_readv: ranks share a heap, and copy within it.
        return eventfd(0, EventfdFlags::NONBLOCK).unwrap();
    }
    let memory = memfd_create("test", MemfdFlags::CLOEXEC).unwrap();
    ftruncate(&memory, mpi_boot::node_memory::bytes_of(count)).unwrap();
    memory
}

fn local_peers_in(
    memory: &OwnedFd,
    count: u32,
    (copy_across, is_oversubscribed): (CopyAcross, bool),
) -> Vec<Shm> {
    let segment = cfg!(miri).then(|| Segment::alone(count));
    let doorbells: Vec<_> = (0..count)
        .map(|_| eventfd(0, EventfdFlags::NONBLOCK).unwrap())
        .collect();
    let access = |me| Access {
        memory: memory.try_clone().unwrap(),
        doorbells: doorbells
            .iter()
            .map(|doorbell| doorbell.try_clone().unwrap())
            .collect(),
        ranks: (0..count).collect(),
        me,
        cores: Cores {
            allowed: core::array::from_fn(|word| if word == 1 { 1 << (me % 64) } else { 0 }),
            most: 3,
        },
        copy_across,
    };
    let link = |me| {
        let mut node = match segment {
            Some(segment) => Node::on(segment, access(me), count),
            None => Node::join(access(me), count).unwrap(),
        };
        node.settle(is_oversubscribed);
        Shm::new(Arc::new(node))
    };
    (0..count).map(link).collect()
}

/// Numbers that look random: the same for the same seed.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// A number in `0..below`.
    pub(crate) fn roll(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % below
    }

    fn len(&mut self) -> usize {
        let most = [1, 41, 200, 5000, 16_385, 100_000][self.roll(6) as usize];
        self.roll(most) as usize
    }
}

fn body(number: u64, len: usize) -> Vec<u8> {
    (0..len)
        .map(|at| (at as u64 * 31 + number * 7) as u8)
        .collect()
}

fn send(link: &mut Shm, to: u32, number: u64, body: &mut [u8]) {
    let envelope = [number as u8; ENVELOPE_BYTES];
    if link.offer(PeerId(to), &envelope, Span::of(body)) {
        return;
    }
    let message = Outbound {
        envelope: &envelope,
        body: Span::of(body).into(),
        token: Token(number as u32),
        is_awaited: false,
        needs_match: number.is_multiple_of(5),
    };
    let _ = link.send(PeerId(to), message);
}

/// A rank, and what comes to it.
struct End {
    link: Shm,
    /// Bodies of messages that are not complete, by name.
    coming: BTreeMap<u32, Vec<u8>>,
}

impl core::ops::Deref for End {
    type Target = Shm;

    fn deref(&self) -> &Shm {
        &self.link
    }
}

impl core::ops::DerefMut for End {
    fn deref_mut(&mut self) -> &mut Shm {
        &mut self.link
    }
}

/// `count` ranks that share memory, and what comes to them.
fn ends(count: u32, copies_across: bool) -> Vec<End> {
    listening(local_peers(count, copies_across))
}

fn listening(links: Vec<Shm>) -> Vec<End> {
    let end = |link| End {
        link,
        coming: BTreeMap::new(),
    };
    links.into_iter().map(end).collect()
}

impl End {
    /// The next thing that it is told; what arrives lands in a buffer. Adds the body of a message
    /// that is complete to `whole`.
    fn next(&mut self, whole: &mut Vec<Vec<u8>>) -> Option<Told> {
        let mut buffer = None;
        let told = told::next(&mut self.link, Instant::ZERO, |message| {
            if message.len > 1 << 20 {
                return Landing::NOWHERE;
            }
            let room = buffer.insert(vec![0; message.len as usize]);
            Landing::Into(Span::of(room).into())
        })?;
        match &told {
            Told::Arriving(message) if message.is_whole => whole.extend(buffer),
            Told::Arriving(message) => {
                self.coming
                    .extend(buffer.map(|room| (message.arrival.0, room)));
            }
            Told::Arrived(arrival) => whole.extend(self.coming.remove(&arrival.0)),
            Told::Sent(_) | Told::Lost => {}
        }
        Some(told)
    }

    /// Takes in what is there. Some messages are held, and some that were held land.
    fn take_turn(&mut self, dice: &mut Dice, held: &mut Vec<(Arrival, usize)>) -> Vec<Vec<u8>> {
        let mut whole = Vec::new();
        if dice.roll(2) == 0 {
            for (arrival, len) in core::mem::take(held) {
                self.land(arrival, len, &mut whole);
            }
        }
        while dice.roll(50) > 0 {
            let mut buffer = None;
            let told = told::next(&mut self.link, Instant::ZERO, |message| {
                let len = message.len as usize;
                if dice.roll(4) == 0 {
                    held.push((message.arrival, len));
                    return Landing::Later;
                }
                let room = buffer.insert(vec![0; len]);
                Landing::Into(Span::of(room).into())
            });
            match told {
                Some(Told::Arriving(message)) if message.is_whole => whole.extend(buffer),
                Some(Told::Arriving(message)) => {
                    let coming = buffer.map(|room| (message.arrival.0, room));
                    self.coming.extend(coming);
                }
                Some(Told::Arrived(arrival)) => whole.extend(self.coming.remove(&arrival.0)),
                Some(Told::Sent(_)) => {}
                Some(Told::Lost) => panic!("a local peer is lost"),
                None => break,
            }
        }
        whole
    }

    /// Returns true if it sleeps now, since there is nothing that it could do.
    fn sleeps(&mut self) -> bool {
        let sleeps = self.link.wake_at().is_none() && self.link.set_asleep(true);
        if !sleeps {
            self.link.set_asleep(false);
        }
        sleeps
    }

    /// A message lands that was held.
    fn land(&mut self, arrival: Arrival, len: usize, whole: &mut Vec<Vec<u8>>) {
        let mut room = vec![0; len];
        let landing = Landing::Into(Span::of(&mut room).into());
        if self.link.land(arrival, landing) {
            whole.push(room);
        } else {
            self.coming.insert(arrival.0, room);
        }
    }
}

/// What is told next; what arrives is held.
fn held(link: &mut Shm) -> Option<Told> {
    told::next(link, Instant::ZERO, |_| Landing::Later)
}

/// Takes in what is there. Returns the bodies that are whole, and whether the sender is lost.
fn receive(end: &mut End) -> (Vec<Vec<u8>>, bool) {
    let mut whole = Vec::new();
    while let Some(told) = end.next(&mut whole) {
        if matches!(told, Told::Lost) {
            return (whole, true);
        }
    }
    (whole, false)
}

#[test]
#[cfg_attr(miri, ignore = "it counts the pages of a memfd")]
fn a_channel_with_little_on_it_touches_little_more_than_its_reach() {
    for ranks in [2, 16, 40] {
        let memory = memory(ranks);
        let access = (CopyAcross::Off, false);
        let mut links = listening(local_peers_in(&memory, ranks, access));
        let touched = || fstat(&memory).unwrap().st_blocks * 512;
        let before = touched();
        for number in 0..1000 {
            let mut body = body(number, 1 + number as usize * 7 % EAGER_BYTES);
            send(&mut links[0], 1, number * 5 + 1, &mut body);
            let mut come = Vec::new();
            while come.is_empty() {
                come = receive(&mut links[1]).0;
            }
            assert!(come == [body], "message {number}");
        }
        let one_more = EAGER_BYTES + size_of::<Pair>() - BODIES;
        let most = reach(ranks) as usize + one_more;
        assert!(touched() - before <= most as i64, "{ranks} ranks");
    }
}

#[test]
fn messages_of_all_lengths_come_whole_however_the_sides_take_turns() {
    const SEEDS: u64 = if cfg!(miri) { 2 } else { 20 };
    const MESSAGES: u64 = if cfg!(miri) { 12 } else { 300 };
    for seed in 1..=SEEDS {
        let mut dice = Dice(seed);
        let copies = [CopyAcross::Always, CopyAcross::Off, CopyAcross::Measured];
        let copies = copies[seed as usize % 3];
        let mut links = listening(local_peers_in(&memory(2), 2, (copies, false)));
        let mut bodies: Vec<_> = (0..MESSAGES)
            .map(|number| body(number, dice.len()))
            .collect();
        let (mut sent, mut come) = (0, Vec::new());
        let mut turns = 0;
        while come.len() < bodies.len() {
            turns += 1;
            assert!(turns < 1_000_000, "seed {seed}: nothing moves any more");
            for _ in 0..dice.roll(20) {
                if sent < bodies.len() {
                    send(&mut links[0], 1, sent as u64, &mut bodies[sent]);
                    sent += 1;
                }
            }
            if dice.roll(3) == 0 {
                assert!(!receive(&mut links[0]).1, "seed {seed}");
            }
            if dice.roll(3) == 0 {
                let (whole, is_lost) = receive(&mut links[1]);
                assert!(!is_lost, "seed {seed}");
                come.extend(whole);
            }
        }
        // Long ones are overtaken by short ones while they are copied.
        let sorted = |mut bodies: Vec<Vec<u8>>| {
            bodies.sort();
            bodies
        };
        assert!(
            sorted(come) == sorted(bodies.clone()),
            "seed {seed}: bytes differ"
        );
        while !links[0].is_quiet() {
            links.iter_mut().for_each(|link| drop(receive(link)));
        }
    }
}

/// A rank that sends, receives and sleeps at random.
struct Talker {
    end: End,
    /// What it sends, and to which rank.
    bodies: Vec<(u32, Vec<u8>)>,
    sent: usize,
    come: Vec<Vec<u8>>,
    held: Vec<(Arrival, usize)>,
    is_asleep: bool,
}

impl Talker {
    fn is_stuck(&self) -> bool {
        self.is_asleep && !is_rung(&self.end)
    }

    fn take_turn(&mut self, dice: &mut Dice) {
        if self.is_stuck() {
            return;
        }
        if core::mem::take(&mut self.is_asleep) {
            self.end.set_asleep(false);
        }
        for _ in 0..dice.roll(6) {
            if let Some((to, body)) = self.bodies.get_mut(self.sent) {
                send(&mut self.end, *to, self.sent as u64, body);
                self.sent += 1;
            }
        }
        if dice.roll(8) == 0 {
            self.end.push_back(dice.roll(3) == 0);
        }
        if dice.roll(2) == 0 {
            let whole = self.end.take_turn(dice, &mut self.held);
            self.come.extend(whole);
        }
        if self.sent == self.bodies.len() && self.held.is_empty() {
            self.is_asleep = self.end.sleeps();
        }
    }
}

/// Ranks that have something for each other. Of many ranks, three talk: the reply buffer is short
/// between many.
fn talkers(seed: u64, dice: &mut Dice) -> Vec<Talker> {
    const MESSAGES: u64 = 60;
    let copies = [CopyAcross::Always, CopyAcross::Off, CopyAcross::Measured];
    let access = (copies[seed as usize % 3], seed.is_multiple_of(4));
    let count = [2, 3, 64][dice.roll(3) as usize];
    let links = local_peers_in(&memory(count), count, access);
    let talking = u64::from(count.min(3));
    let talker = |(me, end)| Talker {
        end,
        bodies: (0..MESSAGES)
            .map(|number| {
                let to = (me + 1 + dice.roll(talking - 1)) % talking;
                (to as u32, body(number * 3 + me, dice.len()))
            })
            .collect(),
        sent: 0,
        come: Vec::new(),
        held: Vec::new(),
        is_asleep: false,
    };
    (0..talking).zip(listening(links)).map(talker).collect()
}

#[test]
#[cfg_attr(miri, ignore = "it has no poll")]
fn nobody_sleeps_for_ever_while_messages_go_all_ways() {
    for seed in 1..=60 {
        let mut dice = Dice(seed);
        let mut talkers = talkers(seed, &mut dice);
        let count = |talkers: &[Talker], of: fn(&Talker) -> usize| -> usize {
            talkers.iter().map(of).sum()
        };
        let all = count(&talkers, |talker| talker.bodies.len());
        let mut turns = 0;
        while count(&talkers, |talker| talker.come.len()) < all {
            turns += 1;
            assert!(turns < 1_000_000, "seed {seed}: nothing moves any more");
            assert!(
                !talkers.iter().all(Talker::is_stuck),
                "seed {seed}: all sleep"
            );
            let next = dice.roll(talkers.len() as u64) as usize;
            talkers[next].take_turn(&mut dice);
        }
        let mut sent = vec![Vec::new(); talkers.len()];
        for (to, body) in talkers.iter_mut().flat_map(|talker| &mut talker.bodies) {
            sent[*to as usize].push(core::mem::take(body));
        }
        for (mut sent, talker) in sent.into_iter().zip(&mut talkers) {
            sent.sort();
            talker.come.sort();
            assert!(sent == talker.come, "seed {seed}: bytes differ");
        }
    }
}

#[test]
fn a_requested_message_goes_through_the_reply_buffer_from_its_first_byte_on() {
    const BYTES: usize = 100_000;
    let mut links = ends(2, false);
    for round in 0..4 {
        let from = round % 2;
        let mut sent = body(round as u64, BYTES);
        send(&mut links[from], 1 - from as u32, 1, &mut sent);
        let mut come = Vec::new();
        while come.is_empty() {
            come = receive(&mut links[1 - from]).0;
            assert!(!receive(&mut links[from]).1);
        }
        assert!(come == [sent], "round {round}");
        let pair = links[from].sending.channel(1 - from as u32).pair;
        let relayed = pair.taken.relayed.load(Relaxed);
        assert_eq!(relayed, (BYTES * (round / 2 + 1)) as u64, "round {round}");
    }
}

/// Sends as many messages that need not be requested, one by one. Returns how many were announced.
fn announced_of(links: &mut [End], count: u64) -> u64 {
    let before = links[0].counters().long_sent;
    for number in 0..count {
        let mut body = body(number, CHOICE_BYTES + 1);
        send(&mut links[0], 1, number * 5 + 1, &mut body);
        let mut come = Vec::new();
        while come.is_empty() {
            come = receive(&mut links[1]).0;
            assert!(!receive(&mut links[0]).1);
        }
        assert!(come == [body], "message {number}");
        // The reply buffer goes back.
        send(&mut links[1], 0, 1, &mut [1]);
        while receive(&mut links[0]).0.is_empty() {}
    }
    links[0].counters().long_sent - before
}

#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn nothing_is_announced_to_be_measured_where_copies_across_are_impossible() {
    let mut links = listening(local_peers_in(&memory(2), 2, (CopyAcross::Measured, false)));
    links[0].segment.area(0).process.store(0, Relaxed);
    let announced = announced_of(&mut links, 300);
    assert!(announced <= 2, "{announced} of 300");
}

/// Writes nonsense somewhere into a channel, or into what the rank at its end says of itself.
fn corrupt((pair, reply): (&Pair, &Reply), area: &Area, dice: &mut Dice) {
    let word = match dice.roll(3) {
        0 => dice.roll(u64::MAX),
        1 => dice.roll(70),
        _ => 1 << dice.roll(64),
    };
    let slot = match dice.roll(25) {
        24 => &reply.slot,
        number => &pair.slots[number as usize],
    };
    let transfer = &pair.transfers[dice.roll(3) as usize];
    match dice.roll(20) {
        0 => pair.taken.slots.store(word, Relaxed),
        1 => pair.taken.bytes.store(word, Relaxed),
        2 => transfer.claims.store(word, Relaxed),
        3 => transfer.copied.store(word as u32, Relaxed),
        4 => transfer.failed.store(word as u32, Relaxed),
        5 => area.attention.store(word as u32, Relaxed),
        6 => area.callers[dice.roll(16) as usize].store(word, Relaxed),
        7 => area.needs_fence.store(word, Relaxed),
        8 => area.process.store(word, Relaxed),
        9 => area.witness_at.store(word, Relaxed),
        18 => pair.taken.relayed.store(word, Relaxed),
        19 => pair.taken.announced.store(word, Relaxed),
        // The kind or the length of a slot whose turn it may be.
        10..=12 => {
            slot.sequence.fetch_xor(word & u64::from(u32::MAX), Relaxed);
        }
        _ => slot.words[dice.roll(7) as usize].store(word, Relaxed),
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn nonsense_in_the_memory_ends_in_a_lost_local_peer_or_in_wrong_bytes_never_out_of_bounds() {
    const SEEDS: u64 = 2000;
    let mut lost = 0;
    for seed in 1..=SEEDS {
        let mut dice = Dice(seed);
        // Without copies straight from one to the other: both ranks are this process, and the one
        // that has gone mad would write into it.
        let mut links = if seed % 2 == 0 {
            ends(2, false)
        } else {
            let measured = (CopyAcross::Measured, false);
            let mut links = listening(local_peers_in(&memory(2), 2, measured));
            for (me, end) in links.iter_mut().enumerate() {
                end.sending.channel(1 - me as u32).reach_nothing();
            }
            links
        };
        let mut bodies: Vec<_> = (0..24).map(|number| body(number, dice.len())).collect();
        for (number, body) in bodies.iter_mut().enumerate() {
            send(&mut links[0], 1, number as u64, body);
            if dice.roll(2) == 0 {
                let to = dice.roll(2) as u32;
                let segment = links[0].segment;
                let channel = (segment.pair(1 - to, to), segment.reply(0, 1));
                corrupt(channel, segment.area(to), &mut dice);
            }
            if dice.roll(4) == 0 {
                lost += u64::from(receive(&mut links[1]).1);
            }
        }
        for turn in 0..60 {
            lost += u64::from(receive(&mut links[turn % 2]).1);
        }
    }
    assert!(lost > SEEDS / 20, "only {lost} of {SEEDS} were noticed");
}

fn is_rung(link: &Shm) -> bool {
    let doorbell = link.wake_on().unwrap();
    let none = Timespec::default();
    poll(&mut [PollFd::new(&doorbell, PollFlags::IN)], Some(&none)).unwrap() > 0
}

#[test]
#[cfg_attr(miri, ignore = "it has no poll")]
fn a_sleeping_rank_is_woken_by_a_message_and_by_room() {
    let mut links = ends(2, true);
    assert!(links[1].set_asleep(true));
    send(&mut links[0], 1, 1, &mut [1, 2, 3]);
    assert!(is_rung(&links[1]));
    links[1].set_asleep(false);
    assert!(!is_rung(&links[1]));
    // Something is there: no sleep.
    assert!(!links[1].set_asleep(true));
    links[1].set_asleep(false);
    assert_eq!(receive(&mut links[1]).0, [[1, 2, 3]]);
    let mut many = vec![[7; 3]; MORE_THAN_FIT];
    for (number, body) in many.iter_mut().enumerate() {
        send(&mut links[0], 1, number as u64 * 5 + 1, body);
    }
    assert!(!links[0].is_quiet() && links[0].set_asleep(true));
    let first = receive(&mut links[1]).0.len();
    assert!(is_rung(&links[0]), "{first} were taken");
    links[0].set_asleep(false);
    assert!(receive(&mut links[0]).0.is_empty());
    assert_eq!(first + receive(&mut links[1]).0.len(), MORE_THAN_FIT);
}

#[test]
#[cfg_attr(miri, ignore = "it has no poll")]
fn a_long_message_rings_for_a_rank_that_computes_and_a_short_one_does_not() {
    for copies_across in [true, false] {
        let mut links = ends(2, copies_across);
        links[1].node().watch().begin();
        let (mut short, mut middle, mut long) = ([1], body(1, 5000), body(2, 100_000));
        send(&mut links[0], 1, 1, &mut short);
        send(&mut links[0], 1, 1, &mut middle);
        assert!(!is_rung(&links[1]));
        send(&mut links[0], 1, 1, &mut long);
        assert!(is_rung(&links[1]));
        links[1].set_asleep(false);
        // Now it is the sender that computes, and the pieces of the message that ring.
        let mut rung = [false; 2];
        let mut come = Vec::new();
        while come.len() < 3 {
            for (rank, is_rung_once) in rung.iter_mut().enumerate() {
                links[rank].node().watch().begin();
                let (whole, is_lost) = receive(&mut links[1 - rank]);
                assert!(!is_lost);
                come.extend(whole);
                *is_rung_once |= is_rung(&links[rank]);
                links[rank].set_asleep(false);
            }
        }
        assert_eq!(rung, [!copies_across; 2]);
    }
}

#[test]
#[cfg_attr(miri, ignore = "it has no futex")]
fn a_wait_in_vain_wakes_a_parked_ticker() {
    for copies_across in [true, false] {
        let mut links = ends(2, copies_across);
        let mut long = body(2, 100_000);
        // The sender waits for the place of a message, the receiver for what it asked for.
        send(&mut links[0], 1, 1, &mut long);
        for (waits, computes) in [(0, 1), (1, 0)] {
            let attention = &links[computes].segment.area(computes as u32).attention;
            attention.fetch_or(PARKED, Relaxed);
            assert!(receive(&mut links[waits]).0.is_empty() || copies_across);
            assert_ne!(attention.load(Relaxed) & PARKED, 0, "at once");
            for _ in 0..LOOKS_PER_KNOCK + 20 {
                receive(&mut links[waits]);
            }
            let is_parked = attention.load(Relaxed) & PARKED != 0;
            assert_eq!(is_parked, copies_across && waits == 1);
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn many_local_peers_hear_each_other() {
    const RANKS: u32 = 70;
    let mut links = ends(RANKS, true);
    for from in 0..RANKS {
        for to in (0..RANKS).filter(|&to| to != from) {
            send(
                &mut links[from as usize],
                to,
                1,
                &mut [from as u8, to as u8],
            );
        }
    }
    for (me, link) in links.iter_mut().enumerate() {
        let mut come = Vec::new();
        for _ in 0..100 {
            come.extend(receive(link).0);
        }
        come.sort();
        let others = (0..RANKS as u8).filter(|&from| usize::from(from) != me);
        let expected: Vec<_> = others.map(|from| vec![from, me as u8]).collect();
        assert_eq!(come, expected);
    }
}

#[test]
fn bodies_stay_with_their_senders_while_the_receiver_is_full() {
    const MANY: u64 = if cfg!(miri) { 20 } else { 500 };
    for copies_across in [true, false] {
        let mut links = ends(2, copies_across);
        links[1].push_back(true);
        let mut bodies: Vec<_> = (0..MANY).map(|number| body(number, 100)).collect();
        for (number, body) in bodies.iter_mut().enumerate() {
            send(&mut links[0], 1, number as u64, body);
        }
        let mut waiting = Vec::new();
        for _ in 0..200 {
            assert!(!receive(&mut links[0]).1);
            while let Some(told) = held(&mut links[1]) {
                let Told::Arriving(message) = told else {
                    panic!("nothing has landed: {told:?}");
                };
                waiting.push(message.arrival);
            }
        }
        assert_eq!(waiting.len(), bodies.len());
        let is_kept = |room: &Room| matches!(room, Room::Kept(bytes) if !bytes.is_empty());
        let kept = links[1].incoming.iter();
        let kept = kept.filter(|(_, message)| is_kept(&message.room)).count();
        assert_eq!(kept, 0, "bodies came all the same");
        links[1].push_back(false);
        let mut come = Vec::new();
        for arrival in waiting {
            links[1].land(arrival, 100, &mut come);
        }
        while come.len() < bodies.len() {
            come.extend(receive(&mut links[1]).0);
            assert!(!receive(&mut links[0]).1);
        }
        come.sort();
        bodies.sort();
        assert!(come == bodies, "bytes differ");
    }
}

/// The sends that a channel has finished.
fn finished(link: &mut Shm) -> Vec<Token> {
    // It does not look for new callers each time.
    let told = (0..20).filter_map(|_| held(link));
    let sent = told.map(|told| match told {
        Told::Sent(token) => token,
        other => panic!("nothing was sent here: {other:?}"),
    });
    sent.collect()
}

#[test]
fn a_short_body_waits_with_its_envelope_and_its_sender_for_the_match() {
    for len in 0..=REGISTERED_BYTES {
        let mut links = ends(2, true);
        let mut body = body(1, len);
        let message = Outbound {
            envelope: &[3; ENVELOPE_BYTES],
            body: Span::of(&mut body).into(),
            token: Token(7),
            is_awaited: true,
            needs_match: true,
        };
        links[0].send(PeerId(1), message).unwrap();
        let (arrival, announced_len) = announced(&mut links[1]);
        assert_eq!(announced_len, len as u64);
        assert!(held(&mut links[1]).is_none());
        assert_eq!(finished(&mut links[0]), []);
        // The receive has room for one byte less, or for more.
        let room = if len % 2 == 0 { len + 9 } else { len - 1 };
        let mut place = vec![0xee; room];
        let landing = Landing::Into(Span::of(&mut place).into());
        assert!(links[1].link.land(arrival, landing), "it is complete");
        let come = len.min(room);
        assert_eq!(place[..come], body[..come]);
        assert!(place[come..].iter().all(|&byte| byte == 0xee), "{place:?}");
        assert_eq!(finished(&mut links[0]), [Token(7)]);
        assert_eq!(links[1].counters().bytes_read, 0, "it was not fetched");
        assert!(links[0].is_quiet() && links[1].incoming.is_empty());
    }
}

#[test]
fn an_answer_to_a_message_that_was_not_announced_is_nonsense() {
    for kind in [SlotKind::Done, SlotKind::Ask] {
        let mut links = ends(3, true);
        let mut bodies = vec![[7; 3]; MORE_THAN_FIT];
        for (number, body) in bodies.iter_mut().enumerate() {
            send(&mut links[0], 1, number as u64 * 5 + 1, body);
        }
        assert!(!links[0].is_quiet(), "some wait for room");
        links[1].answer(0, kind, [0, 0]);
        let is_lost = (0..20).any(|_| receive(&mut links[0]).1);
        assert!(is_lost, "{kind:?}");
        // And nothing is sent there as if nothing had happened.
        assert!(!links[0].offer(PeerId(1), &[0; ENVELOPE_BYTES], Span::EMPTY));
        send(&mut links[0], 2, 1, &mut [1]);
        let heard: Vec<_> = (0..20).flat_map(|_| receive(&mut links[2]).0).collect();
        assert_eq!(heard, [[1]]);
    }
}

/// The message that is announced next, and held.
fn announced(link: &mut Shm) -> (Arrival, u64) {
    let announced = (0..20).find_map(|_| held(link));
    let Some(Told::Arriving(message)) = announced else {
        panic!("a message is announced, not {announced:?}");
    };
    (message.arrival, message.len)
}

/// A long message that both sides may copy, and where it goes.
struct LongMessage {
    links: Vec<End>,
    body: Vec<u8>,
    place: Vec<u8>,
}

impl LongMessage {
    /// The receiver knows where it goes, and has copied nothing.
    fn landed(bytes: usize) -> Self {
        let (body, place) = (body(1, bytes), vec![0; bytes]);
        let links = ends(2, true);
        let mut this = Self { links, body, place };
        send(&mut this.links[0], 1, 1, &mut this.body);
        let arrival = announced(&mut this.links[1]).0;
        let landing = Landing::Into(Span::of(&mut this.place).into());
        assert!(!this.links[1].link.land(arrival, landing));
        this
    }
}

#[test]
#[cfg_attr(miri, ignore = "it cannot reach into another process")]
fn a_turn_copies_a_part_of_a_long_message_and_reports_how_much() {
    let mut message = LongMessage::landed(16 << 20);
    for rank in [0, 1] {
        let before = message.links[rank].moved();
        assert!(held(&mut message.links[rank]).is_none());
        let copied = message.links[rank].moved() - before;
        assert!((1..=1 << 20).contains(&copied), "{copied} bytes");
    }
}

#[test]
#[cfg_attr(miri, ignore = "it cannot reach into another process")]
fn a_receiver_sleeps_until_the_sender_has_copied() {
    let mut message = LongMessage::landed(1 << 20);
    let transfer = &message.links[0].sending.channel(1).pair.transfers[0];
    // The sender has taken all, and was stopped before it had copied anything.
    let chunks = Cut::of(1 << 20).chunks();
    let claims = transfer.claims.swap(u64::from(chunks) << 32, Relaxed);
    assert_eq!(claims, 0, "nobody has begun");
    let [sender, receiver] = &mut message.links[..] else {
        unreachable!("two links");
    };
    assert!(held(receiver).is_none());
    assert_eq!(receiver.wake_at(), None);
    assert!(receiver.set_asleep(true));
    assert!(!is_rung(receiver));
    transfer.copied.store(chunks, Relaxed);
    assert!(held(sender).is_none());
    assert!(is_rung(receiver), "its sender is done");
    assert_eq!(receiver.wake_at(), Some(Instant::ZERO));
    receiver.set_asleep(false);
    assert!(matches!(held(receiver), Some(Told::Arrived(_))));
}

#[test]
#[cfg_attr(miri, ignore = "it cannot reach into another process")]
fn a_sender_writes_nothing_to_a_place_for_something_shorter() {
    const BYTES: usize = 1 << 20;
    let mut message = LongMessage::landed(BYTES);
    let transfer = &message.links[0].sending.channel(1).pair.transfers[0];
    // As if its receiver had taken it for another one.
    assert_eq!(transfer.bytes.swap(1000, Relaxed), BYTES as u64);
    assert!(held(&mut message.links[0]).is_none());
    assert_eq!(message.links[0].moved(), 0);
    transfer.bytes.store(BYTES as u64, Relaxed);
    assert!(held(&mut message.links[0]).is_none());
    assert_ne!(message.links[0].moved(), 0);
}

#[test]
fn cores_are_counted_together_and_as_far_as_one_may_use_them() {
    // Each rank may use a core of its own, all together three.
    for (ranks, cores) in [(1, 1), (2, 2), (5, 3)] {
        let links = ends(ranks, true);
        assert!(
            links.iter().all(|link| link.node().cores() == cores),
            "{ranks}"
        );
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn uneven_traffic_stays_in_order_while_the_numbers_of_a_sequence_word_wrap() {
    // Passes of the reply slot and slots of the ring are told by 16 bits each.
    const ROUNDS: u64 = (1 << 16) + 100;
    let mut links = ends(2, true);
    let mut numbers = [0_u64; 2];
    let mut say = |links: &mut [End], from: usize| {
        let number = numbers[from].to_ne_bytes();
        let mut envelope = [0; ENVELOPE_BYTES];
        envelope[..8].copy_from_slice(&number);
        assert!(links[from].offer(PeerId(1 - from as u32), &envelope, Span::EMPTY));
        let link = &mut links[1 - from].link;
        let next = |_| told::next(link, Instant::ZERO, |_| Landing::NOWHERE);
        let arriving = (0..20).find_map(next);
        let Some(Told::Arriving(heard)) = arriving else {
            panic!("message {} of {from}: {arriving:?}", numbers[from]);
        };
        let expected = (envelope, true);
        let heard = (heard.envelope, heard.is_whole);
        assert_eq!(heard, expected, "message {} of {from}", numbers[from]);
        numbers[from] += 1;
    };
    for round in 0..ROUNDS {
        (0..=round % 5).for_each(|_| say(&mut links, 0));
        say(&mut links, 1);
    }
}

/// The length of the next message, which lands in `place` and is there whole; `None` if it is not,
/// or nothing comes.
fn taken(link: &mut Shm, place: &mut [u8]) -> Option<usize> {
    let span = Span::of(place);
    let next = |_| told::next(link, Instant::ZERO, |_| Landing::Into(span.into()));
    // New local peers are looked for now and then.
    match (0..20).find_map(next) {
        Some(Told::Arriving(message)) if message.is_whole => Some(message.len as usize),
        _ => None,
    }
}

#[test]
fn a_message_that_is_there_whole_is_taken_at_once_however_long_it_is() {
    let mut links = ends(2, true);
    for round in 0..3 {
        for len in [0, 1, 40, 41, 64, 2048, 2049, EAGER_PIECE_BYTES] {
            let mut sent = body(round, len);
            send(&mut links[0], 1, 1, &mut sent);
            let mut place = vec![0; len + 1];
            assert_eq!(taken(&mut links[1], &mut place), Some(len));
            assert_eq!((&place[..len], place[len]), (&sent[..], 0));
            // Back, so that it comes both with the reply slot and without.
            if round > 0 {
                send(&mut links[1], 0, 1, &mut sent);
                assert_eq!(taken(&mut links[0], &mut place), Some(len));
            }
        }
    }
    let mut sent = body(1, 64);
    send(&mut links[0], 1, 1, &mut sent);
    let mut short = [0; 7];
    assert_eq!(
        taken(&mut links[1], &mut short),
        Some(64),
        "its rest is left out"
    );
    assert_eq!(short, sent[..7]);
}

#[test]
fn nonsense_is_not_taken_at_once() {
    for (bytes, says) in [
        (0, 0),
        (64, 65),
        (64, 63),
        (EAGER_BYTES + 8, EAGER_BYTES + 8),
    ] {
        let mut links = ends(2, true);
        let mut first = [1];
        send(&mut links[0], 1, 1, &mut first);
        assert_eq!(taken(&mut links[1], &mut [0]), Some(1));
        let words = [0, 0, says as u64];
        assert!(
            links[0]
                .sending
                .channel(1)
                .push_slot(SlotKind::Body.header(bytes), words)
        );
        let mut place = vec![0; 2 * EAGER_BYTES];
        assert_eq!(taken(&mut links[1], &mut place), None, "{bytes} of {says}");
        assert!(place.iter().all(|&byte| byte == 0));
    }
}

#[test]
fn a_claim_to_have_taken_more_than_was_sent_is_ignored() {
    const BODY: usize = 10_000;
    let (short, long) = (vec![7; 3], vec![7; BODY]);
    for (body, count) in [(short, MORE_THAN_FIT), (long, BODIES / BODY + 1)] {
        let is_short = body.len() < BODY;
        let mut bodies = vec![body; count];
        let mut links = ends(2, false);
        for (number, body) in bodies.iter_mut().enumerate() {
            send(&mut links[0], 1, number as u64 * 5 + 1, body);
        }
        assert!(!links[0].is_quiet(), "some wait for room");
        let taken = &links[0].segment.pair(0, 1).taken;
        let claimed = if is_short { &taken.slots } else { &taken.bytes };
        claimed.store(1 << 40, Relaxed);
        assert!(receive(&mut links[0]).0.is_empty());
        assert!(
            !links[0].is_quiet(),
            "short {is_short}: they went all the same"
        );
    }
}

#[test]
#[cfg_attr(miri, ignore = "it has no poll")]
fn wakeups_and_epochs_are_counted() {
    let mut links = ends(2, true);
    assert!(links[1].set_asleep(true));
    send(&mut links[0], 1, 1, &mut [1, 2, 3]);
    links[1].set_asleep(false);
    assert_eq!(
        (links[0].counters().woken, links[1].counters().woken),
        (1, 0)
    );
    let site_id = SiteId { place: 0, last: 0 };
    let site = links[0]
        .node()
        .site(site_id, &[0, 1].map(PeerId), 0)
        .unwrap();
    for _ in 0..3 {
        let _ = site.begin_epoch(About::new(1, 0, 0), false);
    }
    assert_eq!(links[0].counters().collectives, 3);
}

/// Sends so many messages that some wait for room, and takes those that came.
fn overfill(links: &mut [End], bodies: &mut [Vec<u8>]) -> Vec<Vec<u8>> {
    for (number, body) in bodies.iter_mut().enumerate() {
        send(&mut links[0], 1, number as u64 * 5 + 1, body);
    }
    let mut come = Vec::new();
    while come.is_empty() {
        come = receive(&mut links[1]).0;
    }
    assert!(come.len() < bodies.len(), "none waits for room");
    come
}

#[test]
fn a_message_does_not_overtake_those_that_wait_for_room() {
    let mut links = ends(2, true);
    let mut bodies: Vec<_> = (0..=MORE_THAN_FIT as u64).map(|n| body(n, 8)).collect();
    let (last, others) = bodies.split_last_mut().unwrap();
    let mut come = overfill(&mut links, others);
    send(&mut links[0], 1, 1, last);
    while come.len() < bodies.len() {
        come.extend(receive(&mut links[1]).0);
        assert!(!receive(&mut links[0]).1);
    }
    assert!(come == bodies, "the last one came before others");
}

#[test]
#[cfg_attr(miri, ignore = "it has no poll")]
fn a_rank_with_room_for_waiting_messages_does_not_sleep() {
    let mut links = ends(2, true);
    let _ = overfill(&mut links, &mut vec![vec![7; 3]; MORE_THAN_FIT]);
    assert!(!links[0].set_asleep(true));
    links[0].set_asleep(false);
}
