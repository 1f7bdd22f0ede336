//! What a link delivers, and what is done once it has returned.

use super::Traffic;
use super::arrive::Inlet;
use crate::clock::Instant;
use crate::data::Area;
use crate::engine::inbox::Target;
use crate::engine::inbox::matching::Inbound;
use crate::engine::outbox::Deferred;
use crate::engine::ports::Errand;
use crate::transport::{Landing, Outbound, Progress, Sink as _, Transport as _};

/// What a link did in a [`Traffic::pass`].
pub(super) struct Pass {
    pub(super) progress: Progress,
    /// Operations have finished.
    pub(super) has_finished: bool,
    /// The link has more to report in this turn.
    pub(super) has_more: bool,
    /// Calls of the sink in this turn.
    pub(super) told: u32,
}

impl Traffic {
    /// Lets one link make progress, until an operation has finished that somebody may wait for.
    #[inline(never)]
    pub(super) fn pass(&mut self, link: usize, now: Instant, told: u32) -> Pass {
        let mut inlet = Inlet::new(&mut self.parts, link, told);
        let progress = self.links.progress(link, now, &mut inlet);
        let is_over = progress != Progress::Delivered || inlet.wants_more();
        let pass = Pass {
            progress,
            has_finished: inlet.has_finished(),
            has_more: !is_over && !inlet.is_full(),
            told: inlet.told(),
        };
        self.run_errands();
        pass
    }

    /// Does what deliveries have left to be done: serves ports, sends answers, sets back pressure.
    #[inline(always)]
    pub(crate) fn run_errands(&mut self) {
        if self.parts.has_errands | self.parts.requests.has_landing() {
            self.run_all_errands();
        }
    }

    #[cold]
    #[inline(never)]
    fn run_all_errands(&mut self) {
        while core::mem::take(&mut self.parts.has_errands) {
            self.parts.serve_ports();
            for errand in core::mem::take(&mut self.parts.errands) {
                self.run_errand(errand);
            }
            for message in self.parts.outbox.take_deferred() {
                self.send_deferred(message);
            }
            for (inbound, target, area) in self.parts.inbox.refill() {
                self.land(inbound, target, area);
            }
            if let Some(is_full) = self.parts.inbox.turn() {
                self.links.push_back(is_full);
            }
        }
        self.note_landings();
    }

    fn run_errand(&mut self, errand: Errand) {
        match errand {
            Errand::Word(from, word) => {
                if let Some(inbound) = self.parts.hear(from, word) {
                    self.land(inbound, Target::Nothing, Area::EMPTY);
                }
            }
            Errand::Admit(inbound, mut head) => {
                let area = head.area();
                self.land(inbound, Target::Head(head), area);
            }
            Errand::Land(inbound, None) => self.land(inbound, Target::Nothing, Area::EMPTY),
            Errand::Land(inbound, Some((body, area))) => {
                self.land(inbound, Target::Body(body), area);
            }
            Errand::Send(message) => self.send_deferred(message),
            Errand::Finish(request, error) => self.parts.finish(request, error),
        }
    }

    fn send_deferred(&mut self, message: Deferred) {
        let Deferred { to, envelope, body } = message;
        let (token, body) = self.parts.outbox.enter_deferred(to, &envelope, body);
        let message = Outbound {
            envelope: &envelope.encode(),
            body,
            token,
            is_awaited: false,
            needs_match: false,
        };
        let link = self.parts.peers.link(to);
        // A peer that is lost need not be told anything.
        if self.links.send(link, to, message).is_err() {
            self.parts.outbox.drop_deferred(token);
        }
        self.links.at(link).flush();
    }

    /// Lands a message that was left with its sender, in `area` and for `target`.
    #[inline(never)]
    pub(super) fn land(&mut self, inbound: Inbound, target: Target, area: Area) {
        self.parts.inbox.take_target(inbound);
        let Inbound { link, arrival } = inbound;
        let is_whole = self.links.land(link, arrival, Landing::Into(area));
        self.parts.aim(inbound, target, is_whole);
    }
}
