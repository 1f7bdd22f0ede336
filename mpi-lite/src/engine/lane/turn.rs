//! A turn: each link makes progress; then what it has left to be done is done.

use super::Lane;
use super::arrive::Inlet;
use crate::clock::Instant;
use crate::data::Area;
use crate::engine::inbox::Target;
use crate::engine::inbox::matching::Inbound;
use crate::engine::outbox::Deferred;
use crate::engine::ports::Errand;
use crate::transport::{Landing, Links, Outbound, Progress, Sink as _, Transport as _};

/// What a link did in a [`Lane::pass`].
struct Pass {
    progress: Progress,
    /// Operations have finished.
    has_finished: bool,
    /// The link has more to report in this turn.
    has_more: bool,
    /// Calls of the sink in this turn.
    told: u32,
}

impl Lane {
    /// Takes a turn: each link makes progress.
    pub fn turn(&mut self, now: Instant) -> Progress {
        self.turn_until(now, &mut |_: &mut Self| None::<()>).0
    }

    /// Takes a turn, and returns what `ready` returns after it.
    #[inline(always)]
    pub(crate) fn turn_whole<T>(
        &mut self,
        now: Instant,
        ready: &mut impl FnMut(&mut Self) -> Option<T>,
    ) -> (Progress, Option<T>) {
        let progress = self.turn(now);
        (progress, ready(self))
    }

    /// Takes a turn that ends as soon as `ready` returns something. `ready` is called each time
    /// that an operation has finished, and at the end. The rest is left for the next turn: a thread
    /// that waits for a message should answer it first.
    #[inline(always)]
    pub(crate) fn turn_until<T>(
        &mut self,
        now: Instant,
        ready: &mut impl FnMut(&mut Self) -> Option<T>,
    ) -> (Progress, Option<T>) {
        self.flush();
        let mut progress = Progress::Idle;
        let first = usize::from(!self.links.own_is_busy());
        for link in first..self.links.count() {
            let mut told = 0;
            loop {
                let pass = self.pass(link, now, told);
                progress = progress.max(pass.progress);
                if pass.has_finished
                    && let Some(answer) = ready(self)
                {
                    return (Progress::Delivered, Some(answer));
                }
                if !pass.has_more {
                    break;
                }
                told = pass.told;
            }
            if link == Links::OWN {
                self.links.note_own_turn();
            }
        }
        (progress, ready(self))
    }

    /// Lets one link make progress, until an operation has finished that somebody may wait for.
    #[inline(never)]
    fn pass(&mut self, link: usize, now: Instant, told: u32) -> Pass {
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

    /// Lets the links make progress that a turn does not reach if it ends early, with the awaited
    /// message. The link through memory is left out: what arrives there is most likely for the
    /// receive that is about to look.
    pub(crate) fn look_around(&mut self, now: Instant) {
        self.shrink();
        for link in 0..self.links.count() {
            if Some(link) != self.links.memory() {
                self.pass(link, now, 0);
            }
        }
    }

    /// Prepares the links for a sleep of the program. Returns true if nothing has come meanwhile.
    pub(crate) fn begin_sleep(&mut self) -> bool {
        self.shrink();
        self.links.set_asleep(true)
    }

    /// Ends the sleep of the program.
    pub(crate) fn end_sleep(&mut self) {
        self.links.set_asleep(false);
    }

    /// Frees the memory of long queues that are empty. Called now and then: to call it for each
    /// message would cost too much.
    pub fn shrink(&mut self) {
        self.parts.requests.shrink();
        self.parts.inbox.shrink();
        self.parts.outbox.shrink();
    }

    /// Does what deliveries have left to be done: serves ports, sends answers, sets back pressure.
    #[inline(always)]
    pub(crate) fn run_errands(&mut self) {
        if self.parts.has_errands {
            self.run_all_errands();
        }
        if self.parts.requests.has_landing() {
            self.note_landings();
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
            if let Some(is_full) = self.parts.inbox.turn() {
                self.links.push_back(is_full);
            }
        }
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
        let link = self.route(to);
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
