//! The part of the engine under one lock: links, and the delivery of their messages.

pub(crate) mod buffering;
pub(crate) mod delivery;
pub(crate) mod engine_messages;
pub(crate) mod loss;
#[cfg(all(test, feature = "sim"))]
mod loss_tests;
pub(crate) mod receive;
pub(crate) mod send;
pub(crate) mod shortcut;
pub(crate) mod taken;
pub(crate) mod withdraw;

use std::sync::Arc;

use crate::clock::Instant;
use crate::config::Settings;
use crate::counters::{Messages, Rows};
use crate::data::Area;
use crate::engine::inbox::budget::widest;
use crate::engine::inbox::matching::Pattern;
use crate::engine::inbox::matching::{Body, Inbound};
use crate::engine::lane::delivery::{Delivery, Inlet, Target};
use crate::engine::lane::engine_messages::QUESTION;
use crate::engine::outbox::attached::BufferOwner;
use crate::engine::outbox::sends::Burst;
use crate::engine::ports::{OpenPort, Port};
use crate::engine::report::observer::{Observer, Watch};
use crate::engine::requests::request::{Request, Status};
use crate::engine::waiting::policy::WaitHistory;
use crate::engine::waiting::waiters::{Lead, Waiters};
use crate::hosts::Hosts;
use crate::ids::Context;
use crate::node::Node;
use crate::peers::PeerTable;
use crate::slab::SlotMap;
use crate::transport::{Capabilities, Landing, Links, PeerId, Progress, Sink, Tallies, Transport};

/// How much a lane holds. All are zero once everything is received and completed.
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
    /// All counters, always as many and in the same order. `Counters::default()` has their names.
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
    pub(crate) links: Links,
    /// What each of them can do.
    pub(crate) capabilities: Vec<Capabilities>,
    /// The ranks that it leads to, and what they share.
    pub(crate) node: Option<Arc<Node>>,
    pub(crate) delivery: Delivery,
    pub(crate) burst: Burst,
    /// The number of the last send that may be taken back.
    pub(crate) serial: u32,
    pub(crate) history: WaitHistory,
    /// When a sleeper must look again, though nothing has come.
    pub(crate) look_again_at: Option<Instant>,
    /// The link to this process may have something to do. Only this process sends over it.
    pub(crate) own_is_busy: bool,
    /// The threads that wait, if several may.
    pub(crate) waiters: Waiters,
    pub(crate) lead: Lead,
    /// Back pressure is set on the links.
    pushes_back: bool,
}

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
    /// Sets what is called for events of messages and of collectives beside the program.
    pub fn observe(&mut self, observer: Option<Observer>) {
        self.delivery.watch = Watch(observer);
        self.delivery.is_special = observer.is_some() || self.delivery.has_failures;
    }

    /// The tool that watches.
    pub(crate) fn watch(&self) -> Watch {
        self.delivery.watch
    }

    /// The lane of process `me`, one host name per process.
    #[must_use]
    pub fn new(me: PeerId, links: Links, settings: Settings, hosts: impl Into<Hosts>) -> Self {
        let others = u8::try_from(links.others()).expect("a handful of links");
        let peers = PeerTable::of_world(me, &hosts.into(), others);
        let capabilities: Vec<_> = links.iter().map(Transport::capabilities).collect();
        Self {
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

    /// Joins `node`: this process shares memory with its other ranks, and the link through memory
    /// leads to them.
    ///
    /// # Panics
    /// When there is no such link.
    pub fn join(&mut self, node: Arc<Node>) {
        let link = self.links.memory().expect("there is a link through memory");
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

    /// Returns the index of the link that leads to `peer`.
    #[inline]
    pub(crate) fn route(&self, peer: PeerId) -> usize {
        self.delivery.peers.link(peer)
    }

    /// Prepares the links for a sleep of the program. Returns true if nothing has come meanwhile.
    pub(crate) fn begin_sleep(&mut self) -> bool {
        self.shrink();
        let mut is_quiet = true;
        for link in self.links.iter_mut() {
            is_quiet &= link.set_asleep(true);
        }
        is_quiet
    }

    /// Frees the memory of long queues that are empty. Called now and then: to call it for each
    /// message would cost too much.
    pub fn shrink(&mut self) {
        self.delivery.shrink();
    }

    /// Ends the sleep of the program.
    pub(crate) fn end_sleep(&mut self) {
        for link in self.links.iter_mut() {
            link.set_asleep(false);
        }
    }

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
            if link == Links::OWN {
                self.own_is_busy = self.links[Links::OWN].wake_at().is_some();
            }
        }
        (progress, ready(self))
    }

    /// Lets one link make progress, until an operation has finished that somebody may wait for.
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
        self.send_deferred();
        pass
    }

    /// Sends what the deliveries have deferred: answers, notices, back pressure.
    #[inline(always)]
    pub(crate) fn send_deferred(&mut self) {
        if self.delivery.has_deferred {
            self.send_all_deferred();
        }
        if !self.delivery.requests.landing.is_empty() {
            self.note_landings();
        }
    }

    #[cold]
    #[inline(never)]
    fn send_all_deferred(&mut self) {
        self.delivery.has_deferred = false;
        for letter in core::mem::take(&mut self.delivery.letters) {
            match letter.says {
                QUESTION => self.answer(&letter),
                _ => self.delivery.note_given_up(&letter),
            }
        }
        for notice in core::mem::take(&mut self.delivery.notices) {
            self.give_notice(notice);
        }
        let is_full = self.delivery.taken.is_full();
        if core::mem::replace(&mut self.pushes_back, is_full) != is_full {
            for link in self.links.iter_mut() {
                link.push_back(is_full);
            }
        }
    }

    /// Lets the links make progress that a turn does not reach if it ends early, with the awaited
    /// message. The link through memory is left out: what arrives there is most likely for the
    /// receive that is about to look.
    pub(crate) fn look_around(&mut self, now: Instant) {
        self.shrink();
        for link in 0..self.links.len() {
            if Some(link) != self.links.memory() {
                self.pass(link, now, 0);
            }
        }
    }

    /// Returns when a turn is due even if nothing arrives.
    #[must_use]
    pub fn wake_at(&self) -> Option<Instant> {
        self.links.iter().filter_map(Transport::wake_at).min()
    }

    /// Returns how much the lane holds.
    #[must_use]
    pub fn survey(&self) -> Survey {
        let delivery = &self.delivery;
        Survey {
            requests: delivery.requests.len(),
            posted: delivery.posted.len(),
            unexpected: delivery.unexpected.len(),
            messages: delivery.messages.len(),
            arriving: delivery.targets.iter().map(SlotMap::len).sum(),
            sends: delivery.sends.len(),
            kept_bytes: delivery.kept_bytes,
            taken_in_bytes: delivery.taken.bytes(),
            buffered_bytes: delivery.buffers.used(),
        }
    }

    /// Returns what was counted so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let mut messages = self.delivery.counters.clone();
        if messages.unexpected > 0 {
            messages.unexpected_room_bytes = widest(&self.delivery.settings);
        }
        Counters {
            messages,
            transports: self.links.tallies(),
        }
    }

    /// The settings of this process.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.delivery.settings
    }

    /// Returns true if all sent messages are with their receivers.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        // A message to itself that was not received keeps no other process from ending.
        self.links.iter().skip(1).all(Transport::is_quiet)
    }

    /// Closes the lane. From now on messages that nobody receives are dropped, so that their
    /// senders can finish; except those by which processes make a communicator for a session, which
    /// may begin after the end of the world. Receives that nothing has matched are cancelled, so
    /// that nothing is written after the program's end.
    pub fn close(&mut self) {
        for link in self.links.iter_mut() {
            link.close();
        }
        let delivery = &mut self.delivery;
        delivery.is_closing = true;
        delivery.unwaited = delivery.requests.collectives();
        delivery.leftovers.requests = delivery.requests.len() as u64;
        let envelopes = delivery.unexpected.envelopes();
        let left = envelopes.filter(|envelope| !envelope.context.is_of_all());
        let left: Vec<_> = left.copied().collect();
        for envelope in &left {
            delivery.note_leftover(envelope);
        }
        for request in delivery.posted.extract(|_| true) {
            delivery.requests.finish(request, Status::CANCELLED, None);
        }
        for place in delivery.unexpected.held() {
            self.drop_held(place);
        }
    }

    /// Takes messages in again after `close`: the program goes on.
    pub fn reopen(&mut self) {
        self.delivery.is_closing = false;
        self.delivery.unwaited.clear();
        self.delivery.leftovers = Default::default();
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

    /// Lands a message that was left with its sender, in `area` and for `target`.
    #[inline(never)]
    pub(crate) fn land(&mut self, inbound: Inbound, target: Target, area: Area) {
        self.delivery.take_target(inbound);
        let Inbound { link, arrival } = inbound;
        self.own_is_busy |= link == Links::OWN;
        let is_whole = self.links[link].land(arrival, Landing::Into(area));
        self.delivery.aim(inbound, target, is_whole);
    }

    /// Gives the unexpected message at `place`, already out of its queue, to `request`.
    pub(crate) fn claim(&mut self, place: u32, request: Request) {
        if let Some((inbound, target, area)) = self.delivery.claim(place, request) {
            self.land(inbound, target, area);
        }
        self.send_deferred();
    }
}

impl Lane {
    /// Opens `port` for `context` and the other contexts of its communicator.
    pub fn open_port(&mut self, context: Context, port: Port) -> OpenPort {
        let Delivery {
            buffers,
            posted,
            ports,
            ..
        } = &mut self.delivery;
        let is_used = |context: Context| {
            let is_its = |it: &Pattern| it.context.point_to_point() == context;
            posted.any(is_its) || !buffers.is_flushed(BufferOwner::Communicator(context))
        };
        let mut gone = Vec::new();
        let _ = ports.sweep(|context| {
            let is_used = is_used(context);
            if !is_used {
                gone.push(context);
            }
            is_used
        });
        for context in gone {
            buffers.forget(context);
        }
        ports.open(context, port)
    }
}
