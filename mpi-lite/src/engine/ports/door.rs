//! The way of a message to its port: heads that have come, bodies that they have announced.
//!
//! A link delivers into the door, and calls no port: the bytes of a head are here only when the
//! link has returned. Ports are served later, in the order in which things came. If a body comes
//! before its head is complete, it stays with its sender until then.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::head::{HEAD_MOST, Head, HeadName, is_body};
use crate::data::Area;
use crate::engine::envelope::Envelope;
use crate::engine::inbox::matching::Inbound;
use crate::ids::Context;
use crate::transport::PeerId;

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
    /// A part of its head is still to come: it stays with its sender.
    Early,
    /// It is no message that a port has asked for.
    Nonsense,
}

/// What is to be served next.
#[derive(Debug)]
pub(super) enum Visit {
    Head(Head),
    Landed(HeadName, u64),
    Sent(HeadName),
    Lost(PeerId),
}

/// Messages on their way to ports.
#[derive(Debug, Default)]
pub(super) struct Door {
    visits: VecDeque<Visit>,
    /// Heads of which a part is still to come.
    announced: BTreeSet<HeadName>,
    /// Where bodies land whose heads have been served.
    awaited: BTreeMap<HeadName, Area>,
    /// Bodies that came before their heads were complete.
    early: BTreeMap<HeadName, (Inbound, u64)>,
}

/// A body that stayed with its sender until its head was served.
pub(super) struct EarlyBody {
    pub(super) inbound: Inbound,
    /// Where it lands; `None` if its head has announced none.
    pub(super) place: Option<(Announced, Area)>,
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
        if !is_body(envelope) {
            // No body follows a word.
            let is_named = name.context != Context::SERVICE;
            if len > HEAD_MOST || (is_named && !self.announced.insert(name)) {
                return Comer::Nonsense;
            }
            return Comer::Head(Head::new(from, *envelope, vec![0; len as usize]));
        }
        let body = Announced { name, len };
        if let Some(area) = self.awaited.remove(&name) {
            return Comer::Body(body, area);
        }
        if self.announced.contains(&name) && !self.early.contains_key(&name) {
            self.early.insert(name, (inbound, len));
            return Comer::Early;
        }
        Comer::Nonsense
    }

    /// A head is complete.
    pub(super) fn note_head(&mut self, head: Head) {
        self.announced.remove(&head.name());
        self.visits.push_back(Visit::Head(head));
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
        if let Some((inbound, len)) = self.early.remove(&name) {
            let place = area.map(|area| (Announced { name, len }, area));
            return Some(EarlyBody { inbound, place });
        }
        if let Some(area) = area {
            self.awaited.insert(name, area);
        }
        None
    }

    /// Nothing more comes of a peer. What has come of it is still served.
    pub(super) fn lose(&mut self, peer: PeerId) {
        let is_other = |name: &HeadName| name.peer != peer;
        self.announced.retain(is_other);
        self.awaited.retain(|name, _| is_other(name));
        self.early.retain(|name, _| is_other(name));
        self.visits.push_back(Visit::Lost(peer));
    }

    #[cfg(all(test, feature = "sim"))]
    pub(super) fn awaits_nothing(&self) -> bool {
        self.is_idle()
            && self.announced.is_empty()
            && self.awaited.is_empty()
            && self.early.is_empty()
    }

    /// Forgets what is on its way to a port that is gone.
    pub(super) fn forget(&mut self, context: Context) {
        self.awaited.retain(|name, _| name.context != context);
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
