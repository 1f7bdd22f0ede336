//! The way of a message to its port: heads that have come, bodies that they have announced.
//!
//! A link delivers into the door, and calls no port: the bytes of a head are here only when the
//! link has returned. Ports are served later: the heads of a peer in the order in which they were
//! sent, though a part of one may come later than all of the next. If a body comes before its head
//! was served, it stays with its sender until then.

use std::collections::{BTreeMap, VecDeque};

use super::head::{HEAD_MOST, Head, HeadName, is_body};
use crate::data::Area;
use crate::engine::envelope::Envelope;
use crate::engine::inbox::matching::Inbound;
use crate::ids::Context;
use crate::transport::PeerId;

/// So many heads of a peer are taken in before the first of them is complete: a mebibyte of memory
/// at most. Others stay with their sender. RMPP has no more messages of a peer under way. In unit
/// tests they are few, so that some stay there.
const HEADS_MOST: usize = if cfg!(test) { 4 } else { 256 };

/// So many bodies of a peer are awaited. A body follows its head at once in the same channel, and
/// the link with the most channels has 65,535 of them (RFC 9260, 3.3.2). What is beyond is dropped.
const BODIES_MOST: usize = 1 << 16;

/// A body whose length is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Announced {
    name: HeadName,
    len: u64,
}

/// What a message is that comes to the door.
#[derive(Debug)]
pub(in crate::engine) enum Comer {
    /// It is written into the room of this head.
    Head(Head),
    /// It lands here.
    Body(Announced, Area),
    /// It stays with its sender: a head is to be served before it.
    Early,
    /// It is no message that a port has asked for.
    Nonsense,
}

/// What is to be served next.
#[derive(Debug)]
pub(super) enum Visit {
    Head(Head),
    /// A head that has stayed with its sender may come.
    Room(Inbound, Head),
    Landed(HeadName, u64),
    Sent(HeadName),
    Lost(PeerId),
}

/// A head of a peer that is not served yet.
#[derive(Debug)]
enum Coming {
    /// A part of it is still to come.
    Partial(u64),
    /// An earlier one is to be served before it.
    Complete(Head),
    /// It is with its sender, and has so many bytes.
    Held(Inbound, Envelope, u64),
}

/// A peer, and what it has sent.
#[derive(Debug, Default)]
struct Visitor {
    /// Heads in the order in which they were sent. The first one is not complete.
    coming: VecDeque<(HeadName, Coming)>,
    /// Where bodies land whose heads have been served.
    awaited: BTreeMap<HeadName, Area>,
    /// Bodies that came before their heads were served.
    early: BTreeMap<HeadName, (Inbound, u64)>,
}

/// Messages on their way to ports.
#[derive(Debug, Default)]
pub(super) struct Door {
    visits: VecDeque<Visit>,
    visitors: BTreeMap<PeerId, Visitor>,
    /// The number of the last head.
    serial: u64,
    /// Bodies that were refused, since their sender had announced too many.
    refused: u64,
}

/// A body that stayed with its sender until its head was served.
pub(super) struct EarlyBody {
    pub(super) inbound: Inbound,
    /// Where it lands; `None` if its head has announced none.
    pub(super) place: Option<(Announced, Area)>,
}

impl Visitor {
    /// The next head that is to be served.
    fn next(&mut self) -> Option<Head> {
        match self.coming.pop_front()? {
            (_, Coming::Complete(head)) => Some(head),
            first => {
                self.coming.push_front(first);
                None
            }
        }
    }

    fn announces(&self, name: &HeadName) -> bool {
        self.coming.iter().any(|(known, _)| known == name)
    }

    fn body(&mut self, name: HeadName, inbound: Inbound, len: u64) -> Comer {
        if let Some(area) = self.awaited.remove(&name) {
            return Comer::Body(Announced { name, len }, area);
        }
        if self.announces(&name) && !self.early.contains_key(&name) {
            self.early.insert(name, (inbound, len));
            return Comer::Early;
        }
        Comer::Nonsense
    }
}

impl Door {
    /// Returns true if nothing is to be served.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.visits.is_empty()
    }

    /// A message comes. All that came before it is served.
    pub(super) fn come(
        &mut self,
        (from, envelope): (PeerId, &Envelope),
        inbound: Inbound,
        len: u64,
    ) -> Comer {
        let name = HeadName::of(from, envelope);
        let visitor = self.visitors.entry(from).or_default();
        if is_body(envelope) {
            return visitor.body(name, inbound, len);
        }
        // No body follows a word.
        let is_named = name.context != Context::SERVICE;
        if len > HEAD_MOST || (is_named && visitor.announces(&name)) {
            return Comer::Nonsense;
        }
        if visitor.coming.len() >= HEADS_MOST {
            let held = Coming::Held(inbound, *envelope, len);
            visitor.coming.push_back((name, held));
            return Comer::Early;
        }
        self.serial += 1;
        visitor
            .coming
            .push_back((name, Coming::Partial(self.serial)));
        Comer::Head(Head::with_room((from, *envelope), len, self.serial))
    }

    /// A head is complete. It is served when those before it are.
    pub(super) fn note_head(&mut self, head: Head) {
        let Some(visitor) = self.visitors.get_mut(&head.from()) else {
            return;
        };
        let serial = head.serial();
        let is_partial = |it: &Coming| matches!(it, Coming::Partial(known) if *known == serial);
        let mut coming = visitor.coming.iter_mut().map(|(_, coming)| coming);
        if let Some(coming) = coming.find(|it| is_partial(it)) {
            *coming = Coming::Complete(head);
        }
        while let Some(head) = visitor.next() {
            let from = head.from();
            self.visits.push_back(Visit::Head(head));
            // One more may come.
            if let Some((_, coming)) = visitor.coming.get_mut(HEADS_MOST - 1)
                && let Coming::Held(inbound, envelope, len) = *coming
            {
                self.serial += 1;
                *coming = Coming::Partial(self.serial);
                let head = Head::with_room((from, envelope), len, self.serial);
                self.visits.push_back(Visit::Room(inbound, head));
            }
        }
    }

    /// A body has landed.
    pub(super) fn note_body(&mut self, body: Announced) {
        self.visits.push_back(Visit::Landed(body.name, body.len));
    }

    /// A body has been sent.
    pub(super) fn note_sent(&mut self, name: HeadName) {
        self.visits.push_back(Visit::Sent(name));
    }

    /// What is to be served next.
    pub(super) fn next(&mut self) -> Option<Visit> {
        self.visits.pop_front()
    }

    /// A head was served: its body lands in `area`, if it announces one. Returns the body that has
    /// waited for that.
    pub(super) fn note_served(&mut self, head: &Head, area: Option<Area>) -> Option<EarlyBody> {
        let name = head.name();
        let visitor = self.visitors.get_mut(&head.from())?;
        if let Some((inbound, len)) = visitor.early.remove(&name) {
            let place = area.map(|area| (Announced { name, len }, area));
            return Some(EarlyBody { inbound, place });
        }
        match area {
            Some(area) if visitor.awaited.len() < BODIES_MOST => {
                _ = visitor.awaited.insert(name, area)
            }
            Some(_) => self.refused += 1,
            None => {}
        }
        None
    }

    /// Bodies that were refused so far.
    pub(super) fn refused(&self) -> u64 {
        self.refused
    }

    /// Nothing more comes of a peer. What has come of it is still served.
    pub(super) fn lose(&mut self, peer: PeerId) {
        self.visitors.remove(&peer);
        let is_in_vain =
            |visit: &Visit| matches!(visit, Visit::Room(_, head) if head.from() == peer);
        self.visits.retain(|visit| !is_in_vain(visit));
        self.visits.push_back(Visit::Lost(peer));
    }

    /// Forgets what is on its way to a port that is gone.
    pub(super) fn forget(&mut self, context: Context) {
        for visitor in self.visitors.values_mut() {
            visitor.awaited.retain(|name, _| name.context != context);
        }
    }

    #[cfg(all(test, feature = "sim"))]
    pub(super) fn awaits_nothing(&self) -> bool {
        let is_empty = |visitor: &Visitor| {
            visitor.coming.is_empty() && visitor.awaited.is_empty() && visitor.early.is_empty()
        };
        self.is_idle() && self.visitors.values().all(is_empty)
    }
}

#[cfg(test)]
mod tests {
    use super::super::head::{body_envelope, head_envelope};
    use super::*;
    use crate::transport::Arrival;

    const PORT: Context = Context(29);
    const PEER: PeerId = PeerId(3);

    fn inbound(arrival: u32) -> Inbound {
        Inbound {
            link: 1,
            arrival: Arrival(arrival),
        }
    }

    fn head(door: &mut Door, number: u32) -> Head {
        match door.come((PEER, &head_envelope(PORT, number)), inbound(0), 8) {
            Comer::Head(head) => head,
            other => panic!("{other:?}"),
        }
    }

    fn body(door: &mut Door, number: u32) -> Comer {
        door.come((PEER, &body_envelope(PORT, number)), inbound(number), 100)
    }

    fn serve(door: &mut Door, area: Option<Area>) -> Option<EarlyBody> {
        match door.next() {
            Some(Visit::Head(head)) => door.note_served(&head, area),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_body_lands_where_its_head_says() {
        let mut door = Door::default();
        let mut memory = [0; 100];
        let came = head(&mut door, 7);
        door.note_head(came);
        assert!(serve(&mut door, Some(Area::of_bytes(&mut memory))).is_none());
        let Comer::Body(body, area) = body(&mut door, 7) else {
            panic!("it is awaited");
        };
        assert_eq!(area.len(), 100);
        assert!(door.is_idle());
        door.note_body(body);
        assert!(matches!(door.next(), Some(Visit::Landed(name, 100)) if name.number == 7));
    }

    #[test]
    fn a_body_that_comes_before_the_end_of_its_head_waits() {
        let mut door = Door::default();
        let mut memory = [0; 100];
        let came = head(&mut door, 7);
        assert!(matches!(body(&mut door, 7), Comer::Early));
        assert!(
            matches!(body(&mut door, 7), Comer::Nonsense),
            "there is one body"
        );
        door.note_head(came);
        let landing = serve(&mut door, Some(Area::of_bytes(&mut memory))).expect("it waits");
        assert_eq!(landing.inbound, inbound(7));
        assert_eq!(landing.place.map(|(_, area)| area.len()), Some(100));
    }

    #[test]
    fn what_no_head_has_announced_is_nonsense() {
        let mut door = Door::default();
        assert!(matches!(body(&mut door, 7), Comer::Nonsense));
        let long = door.come((PEER, &head_envelope(PORT, 1)), inbound(0), HEAD_MOST + 1);
        assert!(matches!(long, Comer::Nonsense));
        let came = head(&mut door, 7);
        let again = door.come((PEER, &head_envelope(PORT, 7)), inbound(0), 8);
        assert!(matches!(again, Comer::Nonsense), "the number is taken");
        door.note_head(came);
        assert!(serve(&mut door, None).is_none());
        assert!(
            matches!(body(&mut door, 7), Comer::Nonsense),
            "it announced none"
        );
    }

    #[test]
    fn a_head_is_served_after_those_that_were_sent_before() {
        let mut door = Door::default();
        let (first, second) = (head(&mut door, 7), head(&mut door, 8));
        let other = door.come((PeerId(4), &head_envelope(PORT, 9)), inbound(0), 8);
        let Comer::Head(other) = other else {
            panic!("{other:?}");
        };
        for head in [second, other, first] {
            door.note_head(head);
        }
        for number in [9, 7, 8] {
            let next = door.next();
            assert!(matches!(next, Some(Visit::Head(head)) if head.number() == number));
        }
        assert!(door.is_idle());
    }

    #[test]
    fn a_peer_that_completes_no_head_gets_little_memory() {
        const MORE: u32 = 3;
        let most = HEADS_MOST as u32;
        let mut door = Door::default();
        let heads: Vec<Head> = (0..most).map(|number| head(&mut door, number)).collect();
        for number in most..most + MORE {
            let late = door.come((PEER, &head_envelope(PORT, number)), inbound(number), 8);
            assert!(matches!(late, Comer::Early));
        }
        // Bodies of heads that stay with their sender do, too.
        assert!(matches!(body(&mut door, most), Comer::Early));
        for head in heads.into_iter().take(MORE as usize) {
            door.note_head(head);
        }
        for number in 0..MORE {
            let next = door.next();
            assert!(matches!(next, Some(Visit::Head(head)) if head.number() == number));
            let Some(Visit::Room(late, head)) = door.next() else {
                panic!("one more may come");
            };
            assert_eq!(late, inbound(most + number));
            assert_eq!(head.number(), most + number);
        }
        door.lose(PEER);
        assert!(matches!(door.next(), Some(Visit::Lost(PEER))));
        assert!(door.is_idle());
    }

    #[test]
    fn a_peer_that_sends_no_body_gets_little_memory() {
        let mut door = Door::default();
        let most = BODIES_MOST as u32;
        for number in 0..most + 1 {
            let came = head(&mut door, number);
            door.note_head(came);
            assert!(serve(&mut door, Some(Area::EMPTY)).is_none());
        }
        assert_eq!(door.refused(), 1);
        assert!(matches!(body(&mut door, most), Comer::Nonsense));
        assert!(matches!(body(&mut door, 0), Comer::Body(..)));
    }

    /// Nothing that comes makes the door panic, and what it holds stays small.
    #[test]
    fn a_door_survives_any_messages() {
        let mut rng = rmpp_core::Rng::new(1);
        let (mut door, mut partial) = (Door::default(), Vec::new());
        for _ in 0..100_000 {
            let number = rng.below(300) as u32;
            let context = [PORT, Context::SERVICE][rng.below(2) as usize];
            let from = PeerId(rng.below(2) as u32);
            let mut envelope = head_envelope(context, number);
            envelope.source = rng.below(3) as u32;
            if rng.below(10_000) == 0 {
                door.lose(from);
            }
            match door.come((from, &envelope), inbound(number), rng.below(HEAD_MOST + 9)) {
                Comer::Head(head) => partial.push(head),
                Comer::Body(body, _) => door.note_body(body),
                Comer::Early | Comer::Nonsense => {}
            }
            if !partial.is_empty() && rng.below(2) == 0 {
                let at = rng.below(partial.len() as u64) as usize;
                door.note_head(partial.swap_remove(at));
            }
            while let Some(visit) = door.next() {
                match visit {
                    Visit::Head(head) => {
                        let area = (rng.below(2) == 0).then_some(Area::EMPTY);
                        door.note_served(&head, area);
                    }
                    Visit::Room(_, head) => partial.push(head),
                    Visit::Landed(..) | Visit::Sent(_) | Visit::Lost(_) => {}
                }
            }
            for visitor in door.visitors.values() {
                let has_room = |it: &&(HeadName, Coming)| !matches!(it.1, Coming::Held(..));
                assert!(visitor.coming.iter().filter(has_room).count() <= HEADS_MOST);
                assert!(visitor.early.len() <= visitor.coming.len());
            }
        }
    }

    #[test]
    fn nothing_of_a_lost_peer_is_awaited() {
        let mut door = Door::default();
        let mut memory = [0; 100];
        let came = head(&mut door, 7);
        door.note_head(came);
        serve(&mut door, Some(Area::of_bytes(&mut memory)));
        let _ = head(&mut door, 8);
        body(&mut door, 8);
        door.lose(PEER);
        assert!(matches!(door.next(), Some(Visit::Lost(PEER))));
        assert!(door.is_idle());
        assert!(matches!(body(&mut door, 7), Comer::Nonsense));
        assert!(matches!(body(&mut door, 8), Comer::Nonsense));
    }
}
