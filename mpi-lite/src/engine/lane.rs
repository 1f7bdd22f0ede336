//! One lock's worth of the engine: links, and where they deliver. Everything here runs under the
//! lock.

use std::sync::Arc;

use super::budget::widest;
use super::delivery::{Delivery, Inlet, Target};
use super::matching::Pattern;
use super::matching::{Body, Inbound};
use super::operation::{Request, Status};
use super::ports::{OpenPort, Port};
use super::sends::Burst;
use super::wait_policy::WaitHistory;
use super::waiters::{Lead, Waiters};
use crate::clock::Instant;
use crate::config::Settings;
use crate::counters::{Messages, Rows};
use crate::data::Area;
use crate::ids::Context;
use crate::node::Node;
use crate::peers::PeerTable;
use crate::slab::Beside;
use crate::transport::{Capabilities, Landing, Link, PeerId, Progress, Sink, Tallies, Transport};

/// How much a lane holds; all zero once everything is received and told to the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Requests that the program has not completed, and inactive persistent ones.
    pub requests: usize,
    /// Receives without a message.
    pub posted: usize,
    /// Messages without a receive.
    pub unexpected: usize,
    /// Messages taken by matched probes and not yet received.
    pub messages: usize,
    /// Messages announced and not yet complete.
    pub arriving: usize,
    /// Sends that the transport has not finished.
    pub sends: usize,
    /// Bytes of copies of these.
    pub kept_bytes: u64,
    /// Bytes of unexpected messages taken in.
    pub taken_in_bytes: u64,
    /// Bytes of the attached buffer in use.
    pub buffered_bytes: u64,
}

/// What a process has counted.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// The engine's part.
    pub messages: Messages,
    /// The transports' part.
    pub transports: Tallies,
}

impl Counters {
    /// All counters, always as many and in the same order; `Counters::default()` tells their names.
    #[must_use]
    pub fn rows(&self) -> Rows {
        let mut rows = self.messages.rows();
        rows.extend(self.transports.rows());
        rows
    }
}

/// Links and delivery of one process.
#[derive(Debug)]
pub struct Lane {
    /// The first leads to this process.
    pub(super) links: Vec<Link>,
    /// What each of them can do.
    pub(super) capabilities: Vec<Capabilities>,
    /// The link through memory, if there is one: see [`Capabilities::is_memory`].
    pub(super) memory_link: Option<usize>,
    /// The ranks that it leads to, and what they share.
    pub(super) node: Option<Arc<Node>>,
    pub(super) delivery: Delivery,
    pub(super) burst: Burst,
    /// The number of the last send that may be taken back.
    pub(super) serial: u32,
    pub(super) history: WaitHistory,
    /// When a sleeper wants to look again, though nothing has come.
    pub(super) look_again_at: Option<Instant>,
    /// The link to this process may have something to do: nobody else gives it anything.
    pub(super) own_is_busy: bool,
    /// The threads that wait, if several may.
    pub(super) waiters: Waiters,
    pub(super) lead: Lead,
    /// The links were told to keep bodies away.
    pushes_back: bool,
}

/// What a link did, of which [`Lane::pass`] tells.
struct Pass {
    progress: Progress,
    /// Operations have finished.
    has_finished: bool,
    /// The link has more to tell in this turn.
    has_more: bool,
    /// Things that it has told in this turn.
    told: u32,
}

impl Lane {
    /// The lane of process `me`, one host name per process. The first of `links` leads to the
    /// process itself, the last to all others.
    #[must_use]
    pub fn new(me: PeerId, links: Vec<Link>, settings: Settings, hosts: Vec<String>) -> Self {
        assert!(!links.is_empty(), "a process reaches at least itself");
        let last = u8::try_from(links.len() - 1).expect("a handful of links");
        let peers = PeerTable::of_world(me, hosts, last);
        let capabilities: Vec<_> = links.iter().map(Transport::capabilities).collect();
        Self {
            memory_link: capabilities.iter().position(|link| link.is_memory),
            node: None,
            capabilities,
            delivery: Delivery::new(links.len(), settings, peers),
            links,
            burst: Burst::default(),
            serial: 1,
            history: WaitHistory::default(),
            look_again_at: None,
            own_is_busy: false,
            waiters: Waiters::default(),
            lead: Lead::default(),
            pushes_back: false,
        }
    }

    /// This process shares memory with the other ranks of `node`: the link through memory leads to
    /// them.
    ///
    /// # Panics
    /// When there is no such link.
    pub fn join(&mut self, node: Arc<Node>) {
        let link = self.memory_link.expect("there is a link through memory");
        let link = u8::try_from(link).expect("a handful of links");
        for &peer in node.peers() {
            if peer != self.delivery.peers.me() {
                self.delivery.peers.set_link(peer, link);
            }
        }
        self.node = Some(node);
    }

    /// This process.
    #[must_use]
    pub fn me(&self) -> PeerId {
        self.delivery.peers.me()
    }

    /// The processes that this one can reach, itself included.
    #[must_use]
    pub fn peers(&self) -> Arc<[PeerId]> {
        self.delivery.peers.all().collect()
    }

    /// The rank of `peer` in `MPI_COMM_WORLD`.
    #[must_use]
    pub fn world_rank(&self, peer: PeerId) -> u32 {
        self.delivery.peers.rank(peer)
    }

    /// Which link leads to `peer`.
    #[inline]
    pub(super) fn route(&self, peer: PeerId) -> usize {
        self.delivery.peers.link(peer)
    }

    /// The program is about to sleep. Returns true if nothing has come meanwhile.
    pub(super) fn begin_sleep(&mut self) -> bool {
        self.shrink();
        let mut is_quiet = true;
        for link in &mut self.links {
            is_quiet &= link.begin_sleep();
        }
        is_quiet
    }

    /// Gives the memory of long queues back that have been drained. Now and then, and not with each
    /// message, which would pay for it.
    pub fn shrink(&mut self) {
        self.delivery.shrink();
    }

    /// It sleeps no more.
    pub(super) fn end_sleep(&mut self) {
        for link in &mut self.links {
            link.end_sleep();
        }
    }

    /// One turn: the links make progress.
    pub fn turn(&mut self, now: Instant) -> Progress {
        self.turn_until(now, &mut |_: &mut Self| None::<()>).0
    }

    /// A turn, and what `ready` returns after it.
    #[inline(always)]
    pub(super) fn turn_whole<T>(
        &mut self,
        now: Instant,
        ready: &mut impl FnMut(&mut Self) -> Option<T>,
    ) -> (Progress, Option<T>) {
        let progress = self.turn(now);
        (progress, ready(self))
    }

    /// A turn that ends as soon as `ready` returns something: it is asked each time that an
    /// operation has finished, and at the end. What is left is for the next turn: a thread that
    /// waits for a message wants to answer it, and tidying up can wait.
    #[inline(always)]
    pub(super) fn turn_until<T>(
        &mut self,
        now: Instant,
        ready: &mut impl FnMut(&mut Self) -> Option<T>,
    ) -> (Progress, Option<T>) {
        self.flush();
        let mut progress = Progress::Idle;
        let first = usize::from(!self.own_is_busy);
        for link in first..self.links.len() {
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
            if link == 0 {
                self.own_is_busy = self.links[0].wake_at().is_some();
            }
        }
        (progress, ready(self))
    }

    /// One link makes progress, until something has finished that somebody may wait for.
    #[inline(never)]
    fn pass(&mut self, link: usize, now: Instant, told: u32) -> Pass {
        let mut inlet = Inlet::new(&mut self.delivery, link, told);
        let progress = self.links[link].progress(now, &mut inlet);
        let is_over = progress != Progress::Delivered || inlet.wants_more();
        let pass = Pass {
            progress,
            has_finished: inlet.has_finished(),
            has_more: !is_over && !inlet.is_full(),
            told: inlet.told,
        };
        self.run_errands();
        pass
    }

    /// Sends what follows from what was delivered.
    #[inline(always)]
    pub(super) fn run_errands(&mut self) {
        if self.delivery.has_errands {
            self.run_all_errands();
        }
    }

    #[cold]
    #[inline(never)]
    fn run_all_errands(&mut self) {
        self.delivery.has_errands = false;
        for question in core::mem::take(&mut self.delivery.questions) {
            self.answer(&question);
        }
        for notice in core::mem::take(&mut self.delivery.notices) {
            self.give_notice(notice);
        }
        let is_full = self.delivery.taken.is_full();
        if core::mem::replace(&mut self.pushes_back, is_full) != is_full {
            for link in &mut self.links {
                link.push_back(is_full);
            }
        }
    }

    /// Looks after the links that a turn does not come to if it ends with the message that was
    /// waited for. The one through memory is left out: what comes there most likely is for the
    /// receive that is about to look.
    pub(super) fn look_around(&mut self, now: Instant) {
        self.shrink();
        for link in 0..self.links.len() {
            if Some(link) != self.memory_link {
                self.pass(link, now, 0);
            }
        }
    }

    /// When a turn is due even if nothing arrives.
    #[must_use]
    pub fn wake_at(&self) -> Option<Instant> {
        self.links.iter().filter_map(Transport::wake_at).min()
    }

    /// How much it holds.
    #[must_use]
    pub fn survey(&self) -> Survey {
        let delivery = &self.delivery;
        Survey {
            requests: delivery.requests.len(),
            posted: delivery.posted.len(),
            unexpected: delivery.unexpected.len(),
            messages: delivery.messages.len(),
            arriving: delivery.targets.iter().map(Beside::len).sum(),
            sends: delivery.sends.len(),
            kept_bytes: delivery.kept_bytes,
            taken_in_bytes: delivery.taken.bytes(),
            buffered_bytes: delivery.attached.map_or(0, |attached| attached.used),
        }
    }

    /// What was counted so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let mut messages = self.delivery.counters.clone();
        if messages.unexpected > 0 {
            messages.unexpected_room_bytes = widest(&self.delivery.settings);
        }
        Counters {
            messages,
            transports: Tallies::of(&self.links),
        }
    }

    /// The settings that it goes by.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.delivery.settings
    }

    /// Whether all that was sent is with its receivers.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        // What one sent to oneself and did not receive keeps nobody else from ending.
        self.links.iter().skip(1).all(Transport::is_quiet)
    }

    /// From now on what nobody receives is dropped, so that its senders can finish; receives that
    /// nothing has matched are cancelled, so that nothing is written after the program's end.
    pub fn close(&mut self) {
        let delivery = &mut self.delivery;
        delivery.is_closing = true;
        delivery.leftovers.requests = delivery.requests.len() as u64;
        for envelope in delivery.unexpected.envelopes() {
            delivery.leftovers.note(envelope, &delivery.requests);
        }
        for request in delivery.posted.extract(|_| true) {
            delivery.requests.finish(request, Status::CANCELLED, None);
        }
        for place in delivery.unexpected.held() {
            self.drop_held(place);
        }
    }

    /// Drops an unexpected message whose body is with its sender.
    fn drop_held(&mut self, place: u32) {
        let message = self.delivery.unexpected.get(place);
        let message = message.expect("a held message has its place");
        if let Body::Held(inbound) = message.body {
            self.delivery.unexpected.discard(place);
            self.land(inbound, Target::Nothing, Area::EMPTY);
        }
    }

    /// Says where a message lands that was left with its sender, and what for.
    #[inline(never)]
    pub(super) fn land(&mut self, inbound: Inbound, target: Target, area: Area) {
        self.delivery.take_target(inbound);
        let Inbound { link, arrival } = inbound;
        self.own_is_busy |= link == 0;
        let is_whole = self.links[link].land(arrival, Landing::Into(area));
        self.delivery.aim(inbound, target, is_whole);
    }

    /// Gives the unexpected message at `place`, already out of its queue, to `request`.
    pub(super) fn claim(&mut self, place: u32, request: Request) {
        if let Some((inbound, target, area)) = self.delivery.claim(place, request) {
            self.land(inbound, target, area);
        }
        self.run_errands();
    }
}

impl Lane {
    /// From now on `context`, and those that belong to the same communicator, lead to `port`.
    pub fn open_port(&mut self, context: Context, port: Port) -> OpenPort {
        let delivery = &self.delivery;
        let is_posted = |context: Context| {
            let is_its = |it: &Pattern| it.context.point_to_point() == context;
            delivery.posted.any(is_its)
        };
        let _ = delivery.ports.sweep(is_posted);
        delivery.ports.open(context, port)
    }
}
