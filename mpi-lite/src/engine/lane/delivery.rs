//! Where messages go that links deliver: matching, requests, what is taken in. It calls no link.

use core::mem::replace;
use std::sync::Arc;

use crate::config::Settings;
use crate::counters::Messages;
use crate::data::Area;
use crate::engine::envelope::Envelope;
use crate::engine::inbox::budget::Taken;
use crate::engine::inbox::matching::{Body, Buffered, Inbound, Posted, Unexpected};
use crate::engine::lane::engine_messages::{Letter, Notice, Withdrawal};
use crate::engine::outbox::attached::Buffers;
use crate::engine::outbox::sends::{Sending, SpareBuffers};
use crate::engine::ports::{Desertion, Ports};
use crate::engine::report::leftovers::Leftovers;
use crate::engine::report::observer::{MessageStep, Watch};
use crate::engine::report::unheard::UnheardPeers;
use crate::engine::requests::operation::Requests;
use crate::engine::requests::request::Request;
use crate::ids::Context;
use crate::peers::PeerTable;
use crate::pool::Pool;
use crate::slab::{Slab, SlotMap, Table};
use crate::transport::{
    Arrival, EnvelopeBytes, Incoming, Landing, Lost, PeerId, Sink, Token, Unheard,
};

/// What a message on its way in is for.
#[derive(Debug)]
pub(crate) enum Target {
    /// It fills this receive.
    Receive {
        request: Request,
        envelope: Envelope,
        len: u64,
    },
    /// It is unexpected and has this place.
    Unexpected(u32),
    /// The engine of a peer asks for something, or reports it.
    Letter(Letter),
    /// Nobody wants it.
    Nothing,
}

/// Matching, requests and what they need.
#[derive(Debug)]
pub(crate) struct Delivery {
    /// By link.
    pub(crate) targets: Vec<SlotMap<Target>>,
    pub(crate) requests: Requests,
    pub(crate) posted: Posted,
    pub(crate) unexpected: Unexpected,
    /// Messages taken by matched probes: their places.
    pub(crate) messages: Table<u32>,
    pub(crate) sends: Slab<Sending>,
    pub(crate) spare: SpareBuffers,
    /// Buffers of unexpected messages that were received, for the next ones.
    pub(crate) pool: Pool,
    pub(crate) kept_bytes: u64,
    pub(crate) taken: Taken,
    /// Sends that the program asks for again.
    pub(crate) withdrawals: Vec<Withdrawal>,
    pub(crate) buffers: Buffers,
    pub(crate) peers: PeerTable,
    pub(crate) ports: Arc<Ports>,
    /// A peer is lost, or the collectives of a communicator have failed: some receives and sends
    /// may never be matched (`loss`).
    pub(crate) has_failures: bool,
    /// There are failures, or a tool watches: calls leave their short ways.
    pub(crate) is_special: bool,
    /// The losses that other processes have reported of peers that are not lost here.
    pub(crate) desertions: Vec<Desertion>,
    /// From `MPI_Finalize` on, what nobody receives is dropped.
    pub(crate) is_closing: bool,
    pub(crate) leftovers: Leftovers,
    /// The contexts of the collectives that were not complete when `MPI_Finalize` began.
    pub(crate) unwaited: Vec<Context>,
    pub(crate) settings: Settings,
    pub(crate) counters: Messages,
    /// Messages of other engines that have come.
    pub(crate) letters: Vec<Letter>,
    /// What is to be told or asked because peers are lost.
    pub(crate) notices: Vec<Notice>,
    pub(crate) unheard: UnheardPeers,
    /// The lane has something to send because of what was delivered: answers, notices, or back
    /// pressure.
    pub(crate) has_deferred: bool,
    /// A tool that watches the messages of the program.
    pub(crate) watch: Watch,
}

impl Delivery {
    pub(crate) fn new(links: usize, settings: Settings, peers: PeerTable) -> Self {
        Self {
            targets: (0..links).map(|_| SlotMap::default()).collect(),
            requests: Requests::default(),
            posted: Posted::default(),
            unexpected: Unexpected::default(),
            messages: Table::default(),
            sends: Slab::default(),
            spare: SpareBuffers::default(),
            pool: Pool::default(),
            kept_bytes: 0,
            taken: Taken::default(),
            withdrawals: Vec::new(),
            buffers: Buffers::default(),
            peers,
            ports: Arc::default(),
            has_failures: false,
            is_special: false,
            desertions: Vec::new(),
            is_closing: false,
            leftovers: Leftovers::default(),
            unwaited: Vec::new(),
            unheard: UnheardPeers::new(settings.lost_s),
            settings,
            counters: Messages::default(),
            letters: Vec::new(),
            notices: Vec::new(),
            has_deferred: false,
            watch: Watch::default(),
        }
    }

    /// Gives the memory of long queues back that have been drained.
    pub(crate) fn shrink(&mut self) {
        self.requests.shrink();
        self.unexpected.shrink();
        self.messages.shrink();
        self.sends.shrink();
        for targets in &mut self.targets {
            targets.shrink();
        }
    }

    /// A message is here. Matching is decided in this function: the receive that was posted first
    /// of those that fit gets it (MPI 5.0, 3.5).
    #[inline(always)]
    pub(crate) fn arriving(&mut self, link: usize, message: &Incoming) -> Landing {
        let envelope = Envelope::decode(&message.envelope);
        let requests = &self.requests;
        if message.is_whole
            && !self.is_special
            && let Some((request, span)) = self
                .posted
                .take_if(&envelope, |request| requests.run(request))
        {
            self.finish_with(request, (&envelope, message.len), span.len() as u64);
            return Landing::Into(Area::Run(span));
        }
        self.arriving_otherwise(link, message, envelope)
    }

    /// A message that is not the short one of a receive without gaps that is found at once.
    #[inline(never)]
    fn arriving_otherwise(
        &mut self,
        link: usize,
        message: &Incoming,
        envelope: Envelope,
    ) -> Landing {
        let (len, arrival) = (message.len, message.arrival);
        let inbound = Inbound { link, arrival };
        if let Some(request) = self.posted.take(&envelope) {
            self.watch
                .note_message(MessageStep::Matched, &envelope, len);
            let area = self.requests.take_area(request);
            let target = Target::Receive {
                request,
                envelope,
                len,
            };
            self.aim(inbound, target, message.is_whole);
            return Landing::Into(area);
        }
        // No receive is for these, so those that wait are not asked for them.
        if envelope.context == Context::ENGINES {
            return self.hear(inbound, message, &envelope);
        }
        // A peer that begins a session already asks for this process's part in it.
        if self.is_closing && !envelope.context.is_of_all() {
            self.note_leftover(&envelope);
            self.aim(inbound, Target::Nothing, message.is_whole);
            return Landing::NOWHERE;
        }
        self.unexpected(inbound, message, envelope)
    }

    /// Notes what a message is for; if all of it is here it is complete.
    #[inline]
    pub(crate) fn aim(&mut self, inbound: Inbound, target: Target, is_whole: bool) {
        if is_whole {
            self.complete(target);
        } else {
            self.set_target(inbound, target);
        }
    }

    /// A message is complete.
    #[inline]
    pub(crate) fn complete(&mut self, target: Target) {
        match target {
            Target::Receive {
                request,
                envelope,
                len,
            } => self.finish_receive(request, &envelope, len),
            Target::Unexpected(place) => self.complete_unexpected(place),
            Target::Letter(letter) => {
                self.letters.push(letter);
                self.has_deferred = true;
            }
            Target::Nothing => {}
        }
    }

    fn complete_unexpected(&mut self, place: u32) {
        let message = self.unexpected.get_mut(place);
        let message = message.expect("an unexpected message has its place");
        match replace(&mut message.body, Body::Dropped(Vec::new())) {
            Body::Coming(buffer) => message.body = Body::Whole(Buffered::Buffer(buffer)),
            Body::Claimed(request, buffer) => {
                let (envelope, len) = (message.envelope, message.len);
                self.unexpected.remove(place);
                self.requests.fill(request, &buffer);
                self.finish_receive(request, &envelope, len);
                self.pool.keep(buffer);
            }
            Body::Dropped(buffer) => {
                self.unexpected.remove(place);
                self.pool.keep(buffer);
            }
            other => message.body = other,
        }
    }

    pub(crate) fn set_target(&mut self, inbound: Inbound, target: Target) {
        self.targets[inbound.link].put(inbound.arrival.0 as usize, target);
    }

    pub(crate) fn take_target(&mut self, inbound: Inbound) -> Target {
        self.targets[inbound.link]
            .take(inbound.arrival.0 as usize)
            .expect("a link completes what it announced")
    }
}

/// How many things one link tells in one turn, so that no link starves the others.
const TOLD_PER_TURN: u32 = 64;

/// At most this many operations finish before the waiter looks whether they are the awaited ones.
const AT_ONCE: u64 = 8;

/// What one link delivers in one turn.
pub(crate) struct Inlet<'a> {
    pub(crate) delivery: &'a mut Delivery,
    pub(crate) link: usize,
    /// Things told in this turn.
    pub(crate) told: u32,
    /// Operations that had finished when it was made.
    finished: u64,
}

impl<'a> Inlet<'a> {
    /// For link `link`, which has told `told` things in this turn.
    #[inline(always)]
    pub(crate) fn new(delivery: &'a mut Delivery, link: usize, told: u32) -> Self {
        let finished = delivery.requests.finished();
        Self {
            delivery,
            link,
            told,
            finished,
        }
    }

    /// Returns true if operations have finished.
    #[inline]
    pub(crate) fn has_finished(&self) -> bool {
        self.finished != self.delivery.requests.finished()
    }

    /// Returns true if the link may not tell more in this turn.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.told >= TOLD_PER_TURN
    }
}

impl Delivery {
    /// Returns true if the receive that takes a message with this envelope names its tag.
    fn names_its_tag(&self, envelope: &Envelope) -> bool {
        let first = self.posted.first(envelope);
        first.is_some_and(|pattern| pattern.tag.is_some())
    }
}

impl Sink for Inlet<'_> {
    #[inline(always)]
    fn arriving(&mut self, message: Incoming) -> Landing {
        self.told += 1;
        self.delivery.arriving(self.link, &message)
    }

    #[inline]
    fn arrived(&mut self, arrival: Arrival) {
        self.told += 1;
        let link = self.link;
        let target = self.delivery.take_target(Inbound { link, arrival });
        self.delivery.complete(target);
    }

    /// Not counted: there are no more of them than this process has sent.
    #[inline]
    fn sent(&mut self, token: Token) {
        self.delivery.sent(token);
    }

    fn lost(&mut self, lost: Lost) {
        self.told += 1;
        self.delivery.lose(self.link, &lost);
    }

    fn unheard(&mut self, peer: Unheard) {
        self.delivery.warn_of(&peer);
    }

    fn may_overtake(&self, _from: PeerId, envelope: &EnvelopeBytes) -> bool {
        self.delivery.names_its_tag(&Envelope::decode(envelope))
    }

    /// Until operations have finished that somebody waits for.
    #[inline(always)]
    fn wants_more(&self) -> bool {
        let requests = &self.delivery.requests;
        let finished = requests.finished() - self.finished;
        let is_content = finished > 0 && (requests.is_due() || finished >= AT_ONCE);
        !is_content && !self.is_full()
    }
}
