//! What a context leads to: receives, a window, or a service.
//!
//! Messages that receives match pass by: matching goes by the envelope alone. All others come to
//! the door. A port of a communicator is looked at when a peer is lost, to find out which receives
//! may never be matched now. Decisions 0047 and 0076.

mod door;
mod errand;
mod handler;
mod head;
mod port;
mod table;
mod word;

use std::sync::Arc;

pub(super) use door::{Announced, Comer};
use door::{Door, Visit};
pub(super) use errand::Errand;
pub use handler::{Effects, Handler};
use head::HeadName;
pub use head::{HEAD_MOST, Head};
pub(super) use head::{body_envelope, head_envelope};
pub use port::Port;
pub(super) use table::GivenUp;
pub use table::{Calls, OpenPort};
use table::{Desertion, PortTable};
pub(super) use word::{Notice, Word};

use super::envelope::Envelope;
use super::inbox::matching::{Inbound, Pattern};
use crate::error::Error;
use crate::ids::{Context, PeerId};
use crate::peers::PeerTable;

/// The ports of a process, what is on its way to them, and what has failed.
#[derive(Debug, Default)]
pub(super) struct Ports {
    table: Arc<PortTable>,
    door: Door,
    /// The losses that other processes have reported of peers that are not lost here.
    desertions: Vec<Desertion>,
    /// A peer is lost, or the collectives of a communicator have failed: some receives and sends
    /// may never be matched.
    has_failures: bool,
}

impl Ports {
    /// Opens `port` for `context`; one of a communicator for all of its contexts.
    pub(super) fn open(&mut self, context: Context, port: Port) -> OpenPort {
        self.door.forget(context);
        self.table.open(context, port)
    }

    /// Forgets the closed ports that nothing `uses` any more. Returns them.
    pub(super) fn sweep(&self, uses: impl Fn(Context) -> bool) -> Vec<Context> {
        let mut gone = Vec::new();
        self.table.sweep(|context| {
            let is_used = uses(context);
            if !is_used {
                gone.push(context);
            }
            is_used
        });
        gone
    }

    /// The number of the last collective of this context that has begun here; 0 of persistent ones.
    pub(super) fn calls(&self, context: Context) -> u32 {
        self.table.calls(context)
    }

    /// The members of the communicator of this context, by rank.
    pub(super) fn members(&self, context: Context) -> Option<Arc<[PeerId]>> {
        self.table.members(context)
    }

    /// Bodies that were dropped, since their sender had announced too many.
    pub(super) fn refused_bodies(&self) -> u64 {
        self.door.refused()
    }

    /// The contexts of at most `most` communicators, the oldest first.
    pub(super) fn contexts(&self, most: usize) -> Vec<Context> {
        self.table.contexts(most)
    }

    #[cfg(all(test, feature = "sim"))]
    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    #[cfg(all(test, feature = "sim"))]
    pub(super) fn await_nothing(&self) -> bool {
        self.door.awaits_nothing()
    }
}

/// Failures.
impl Ports {
    /// Returns true if some receives and sends may never be matched.
    #[inline]
    pub(super) fn has_failures(&self) -> bool {
        self.has_failures
    }

    /// A peer is lost.
    pub(super) fn lose(&mut self, peer: PeerId) {
        self.has_failures = true;
        self.desertions.retain(|it| it.lost != peer);
        self.door.lose(peer);
    }

    /// Returns true if nothing may ever fit `pattern` without this peer.
    pub(super) fn needs(&self, pattern: &Pattern, peer: PeerId) -> bool {
        self.table.lost_member(pattern, &[peer]).is_some()
    }

    /// The process `by` reports that it has lost `lost`. Returns false if that is known.
    pub(super) fn note_desertion(&mut self, by: PeerId, lost: PeerId) -> bool {
        let desertion = Desertion { by, lost };
        let is_new = !self.desertions.contains(&desertion);
        if is_new {
            self.desertions.push(desertion);
            self.has_failures = true;
        }
        is_new
    }

    /// Returns true if no collective of this context can be completed since `by` has lost `lost`.
    pub(super) fn is_deserted(&self, context: Context, by: PeerId, lost: PeerId) -> bool {
        let desertion = Desertion { by, lost };
        self.table.desertion(context, &[desertion]).is_some()
    }

    /// These collectives are over: `by` completes none any more from a call on. Returns the members
    /// of the communicator; `None` if that is no news.
    pub(super) fn give_up(
        &mut self,
        calls: Calls,
        by: PeerId,
        what: &GivenUp,
    ) -> Option<Arc<[PeerId]>> {
        let members = self.table.give_up(calls, by, what)?;
        self.has_failures = true;
        Some(members)
    }

    /// The call `from` begins, with the number of an earlier one that may have failed.
    pub(super) fn renew(&self, calls: Calls, from: u32) {
        if self.has_failures {
            self.table.renew(calls, from);
        }
    }

    /// Why nothing may ever fit `pattern`, if that is so.
    #[cold]
    pub(super) fn failure(&self, pattern: &Pattern, peers: &PeerTable) -> Option<Error> {
        if let Some(lost) = self.table.lost_member(pattern, peers.lost()) {
            return Some(peers.error(lost));
        }
        if !pattern.context.is_collective() {
            return None;
        }
        let calls = Calls::of(pattern.context, pattern.source);
        if let Some(why) = self.table.given_up(calls) {
            return Some(why);
        }
        let desertion = self.table.desertion(pattern.context, &self.desertions)?;
        Some(peers.error(desertion.lost))
    }
}

/// The door.
impl Ports {
    /// Returns true if a port is to be served.
    #[inline]
    pub(super) fn has_visits(&self) -> bool {
        !self.door.is_idle()
    }

    /// A message comes that no receive matches. All that came before it is served.
    pub(super) fn come(
        &mut self,
        (from, envelope): (PeerId, &Envelope),
        inbound: Inbound,
        len: u64,
    ) -> Comer {
        let comer = self.door.come((from, envelope), inbound, len);
        let is_body = matches!(comer, Comer::Body(..));
        // The memory of a port that has closed meanwhile may be gone.
        if is_body && !self.table.has_handler(envelope.context) {
            return Comer::Nonsense;
        }
        comer
    }

    /// A head is complete.
    pub(super) fn note_head(&mut self, head: Head) {
        self.door.note_head(head);
    }

    /// A body has landed.
    pub(super) fn note_body(&mut self, body: Announced) {
        self.door.note_body(body);
    }

    /// The body with this envelope is with its receiver.
    #[cold]
    pub(super) fn note_sent(&mut self, to: PeerId, envelope: &Envelope) {
        self.door.note_sent(HeadName::of(to, envelope));
    }

    /// Serves what has come, in this order. Appends what is to be done then to `errands`.
    #[cold]
    pub(super) fn serve(&mut self, errands: &mut Vec<Errand>) {
        while let Some(visit) = self.door.next() {
            match visit {
                Visit::Head(head) => self.serve_head(&head, errands),
                Visit::Room(inbound, head) => errands.push(Errand::Admit(inbound, head)),
                Visit::Landed(
                    HeadName {
                        context,
                        peer,
                        number,
                    },
                    len,
                ) => {
                    self.call(context, errands, |it, effects| {
                        it.landed(peer, number, len, effects);
                    });
                }
                Visit::Sent(HeadName {
                    context,
                    peer,
                    number,
                }) => {
                    self.call(context, errands, |it, effects| {
                        it.sent(peer, number, effects)
                    });
                }
                Visit::Lost(peer) => {
                    for context in self.table.of_handlers() {
                        self.call(context, errands, |it, effects| it.lost(peer, effects));
                    }
                }
            }
        }
    }

    /// Calls what takes the messages of this context, if a port of it is open, and appends what is
    /// to be done then to `errands`.
    fn call<T>(
        &self,
        context: Context,
        errands: &mut Vec<Errand>,
        call: impl FnOnce(&mut dyn Handler, &mut Effects) -> T,
    ) -> Option<T> {
        let mut effects = Effects::new(context);
        let called = self
            .table
            .with_handler(context, |handler| call(handler, &mut effects));
        effects.append_to(errands);
        called
    }

    fn serve_head(&mut self, head: &Head, errands: &mut Vec<Errand>) {
        let context = head.envelope().context;
        if context == Context::SERVICE {
            // What is no word is nonsense from the network.
            let word = Word::decode(head);
            errands.extend(word.map(|word| Errand::Word(head.from(), word)));
            return;
        }
        let mut effects = Effects::new(context);
        let serve = |handler: &mut dyn Handler| handler.head(head, &mut effects);
        let area = self.table.with_handler(context, serve).flatten();
        if let Some(landing) = self.door.note_served(head, area) {
            errands.push(Errand::Land(landing.inbound, landing.place));
        }
        effects.append_to(errands);
    }
}
