//! The end of the program, and what it leaves behind; how much an unexpected message may take.

use super::{Lane, Parts, Traffic};
use crate::data::Area;
use crate::engine::inbox::{Target, widest};
use crate::engine::report::Leftovers;
use crate::engine::requests::Status;

impl Lane {
    /// Closes the lane. From now on messages that nobody receives are dropped, so that their
    /// senders can finish; except those by which processes make a communicator for a session, which
    /// may begin after the end of the world. Receives that nothing has matched are cancelled, so
    /// that nothing is written after the program's end.
    pub fn close(&mut self) {
        self.links.close();
        let parts = &mut self.traffic.parts;
        parts.is_closing = true;
        parts.unwaited = parts.requests.collectives();
        parts.leftovers.note_requests(parts.requests.len());
        let envelopes = parts.inbox.unexpected().envelopes();
        let left = envelopes.filter(|envelope| !envelope.context.is_of_all());
        let left: Vec<_> = left.copied().collect();
        for envelope in &left {
            parts.note_leftover(envelope);
        }
        for request in parts.inbox.withdraw_all(|_| true) {
            parts.requests.finish(request, Status::CANCELLED, None);
        }
        for inbound in self.parts.inbox.drop_held() {
            self.land(inbound, Target::Nothing, Area::EMPTY);
        }
    }

    /// Takes messages in again after `close`: the program goes on.
    pub fn reopen(&mut self) {
        self.parts.is_closing = false;
        self.parts.unwaited.clear();
        self.parts.leftovers = Leftovers::default();
    }

    /// What the program has left behind, once it finalizes.
    #[must_use]
    pub fn leftovers(&self) -> Leftovers {
        self.parts.leftovers
    }
}

impl Traffic {
    /// Takes in the messages left with their senders by the larger budget, for a program that has
    /// waited in a call for long. Prints a warning, once, if that is used up.
    #[cold]
    pub(crate) fn take_in_more(&mut self) {
        match self.parts.inbox.widen() {
            Ok(taken) => {
                for (inbound, target, area) in taken {
                    self.land(inbound, target, area);
                }
                self.parts.has_errands |= self.parts.inbox.has_turned();
                self.run_errands();
            }
            Err(None) => {}
            Err(Some(bytes)) => eprintln!("{}", self.parts.no_room(bytes)),
        }
    }
}

impl Parts {
    /// Returns the warning about a budget that is used up.
    fn no_room(&self, bytes: u64) -> String {
        let Self {
            peers, settings, ..
        } = self;
        let (rank, host) = (peers.rank(peers.me()), peers.host(peers.me()));
        format!(
            "mpi-lite: rank {rank} on host {host}: waits in a call and has buffered {bytes} bytes \
             of messages without a receive; further ones stay with their senders, which may wait \
             for ever: post the receives, or raise MPILITE_WAITING_BUDGET_BYTES={}",
            widest(settings),
        )
    }
}
