//! The facade: one node's end of the protocol.

mod messages;
#[cfg(feature = "simulated")]
mod survey;
mod validate;

pub use messages::{IncomingMessages, OutgoingMessages};
#[cfg(feature = "simulated")]
pub use survey::Survey;

use crate::bits::Bits;
use crate::caps::Caps;
use crate::common::Common;
use crate::config::{Bug, Config};
use crate::counters::Counters;
use crate::error::{Dropped, SendError};
use crate::event::{Event, Message, Placed, Placement, Transmit};
use crate::ids::{NodeId, OutgoingId};
use crate::incoming::Receiver;
use crate::outgoing::Sender;
use crate::packet::{FAST_HEADER_BYTES, Header, Kind, Packet, bits_of};
use crate::time::{Instant, nanoseconds};

/// One node's end of the protocol. See the [crate] for how to drive it.
///
/// The layer above keeps an `Out` with each message that it sends and an `In` with each one that it
/// receives, for example the places of their bytes. The endpoint does not look at them.
#[cfg_attr(feature = "simulated", derive(Clone, Hash))]
pub struct Endpoint<Out = (), In = ()> {
    lost_after_ns: u64,
    /// A node that looks at its timers later than this after they were due has slept.
    pause_ns: u64,
    sender: Sender<(Out, In)>,
    receiver: Receiver<(Out, In)>,
    common: Common<(Out, In)>,
}

/// The work that waits at an endpoint, and its counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State<'a> {
    /// [`poll_event`](Endpoint::poll_event) returns an event. It may return one even if this is
    /// false: it is the call that finds the messages that an acknowledgement has completed.
    pub has_events: bool,
    /// [`poll_transmit`](Endpoint::poll_transmit) has something that should not wait: data, an
    /// answer, a grant, an acknowledgement that was asked for.
    pub is_pressed: bool,
    /// No outgoing message is unfinished, no answer waits to be transmitted and no acknowledgement
    /// is owed.
    pub is_quiet: bool,
    /// When [`handle_timeout`](Endpoint::handle_timeout) is to be called; `None`: no need. May be
    /// earlier than anything is due, never later.
    pub next_timeout: Option<Instant>,
    /// The counters since the endpoint was made.
    pub counters: &'a Counters,
}

impl<Out, In> Endpoint<Out, In> {
    /// The end of node `me` in the system that `config` describes.
    ///
    /// # Panics
    /// When the configuration makes no sense, or `me` is not one of its nodes.
    #[must_use]
    pub fn new(me: NodeId, config: Config) -> Self {
        config.check();
        assert!(
            me.0 < config.nodes,
            "{me} is not one of {} nodes",
            config.nodes
        );
        let lost_after_ns = config.lost_after.map_or(u64::MAX, nanoseconds);
        Self {
            lost_after_ns,
            pause_ns: (lost_after_ns / 2).min(nanoseconds(config.max_timeout)),
            sender: Sender::new(&config),
            receiver: Receiver::new(&config),
            common: Common::new(me, config),
        }
    }

    /// Begins a message to node `to`; it is number next in the order of this pair. The payload
    /// stays with the caller and must not change until the message's last event. Completes by
    /// [`Event::Sent`], [`Event::Refused`] or [`Event::Cancelled`].
    ///
    /// Source: paper §3.4, §3.8.
    ///
    /// # Errors
    /// The message is longer than the profile's lengths reach, or `to` is no node, this node, or
    /// lost.
    pub fn send(
        &mut self,
        to: NodeId,
        message: Message<Out>,
        now: Instant,
    ) -> Result<OutgoingId, SendError> {
        self.observe(now);
        let nodes = self.common.config().nodes;
        let len = message.len;
        // Rule L.
        if len > self.common.config().longest() {
            return Err(SendError::TooLong { len });
        }
        if to.0 >= nodes {
            return Err(SendError::NoSuchNode { to, nodes });
        }
        if to.0 == self.common.me() {
            return Err(SendError::ToSelf { to });
        }
        if self.sender.is_lost(to.0) {
            return Err(SendError::PeerLost { to });
        }
        Ok(self.sender.begin(&mut self.common, to.0, message))
    }

    /// The packet that a datagram begins with, or what is left of one: `bytes` bytes, of which
    /// `head` are the first ones, all if they are fewer than a header may have. The payload is not
    /// looked at. With [`Caps::COALESCE`](crate::Caps::COALESCE) another packet may follow.
    // Rule J.
    // Rule S.
    #[inline]
    #[must_use]
    pub fn cut<'a>(&self, head: &'a [u8], bytes: usize) -> Packet<'a> {
        let packet_bytes = self.common.config().packet_bytes;
        let coalesces = self.common.caps().has(Caps::COALESCE);
        let payload_bytes = |header: &Header| validate::payload_bytes(header, packet_bytes);
        let packet = Packet::cut((head, bytes), coalesces, payload_bytes);
        let packet = packet.unwrap_or_else(|| Packet::none(head, bytes));
        if packet.header_bytes() > FAST_HEADER_BYTES && self.common.has(Bug::CutBeforeWords) {
            let head = &head[..FAST_HEADER_BYTES];
            return Packet { head, ..packet };
        }
        packet
    }

    /// Handles what [`cut`](Self::cut) has found, or a [`Run`](crate::Run) of data packets: as many
    /// of them as can be placed one behind the other, see [`Placement::Data`]; else the first one.
    /// `from` is the node that sent the packet, which the layer below finds by its source address;
    /// that layer has also checked the job's cookie and the packet's integrity.
    ///
    /// # Errors
    /// Returns why the packet was dropped. A packet that fails rule S has changed nothing but a
    /// counter; one that no state machine has an arrow for (rule P14) is a sign of life of its
    /// sender, and what it acknowledges counts.
    // The cookie belongs to the layer below; a packet of another job never gets here (rule E).
    #[inline]
    pub fn handle(
        &mut self,
        from: NodeId,
        packet: &Packet<'_>,
        now: Instant,
    ) -> Result<Placement, Dropped> {
        let checked = if packet.is_any() {
            self.validate(from, &packet.header)
        } else {
            Err(self.what_is_wrong(from, packet))
        };
        let mut outcome = checked.and_then(|()| self.take_in(from.0, packet, now));
        match &mut outcome {
            Ok(Placement::Data {
                message, packets, ..
            }) if packet.packets > 1 => {
                *packets += self.receiver.take_more(&mut self.common, *message, packet)
            }
            Ok(_) => {}
            Err(reason) => self.common.counts().dropped[*reason as usize] += 1,
        }
        outcome
    }

    /// Takes in a packet that has passed the checks.
    fn take_in(&mut self, from: u32, packet: &Packet<'_>, now: Instant) -> Placed {
        self.observe(now);
        self.sender.settle(&mut self.common);
        let Packet { header, head, .. } = packet;
        self.sender.note_heard(from, now);
        self.common.counts().received[header.kind.index()] += 1;
        let outcome = self.dispatch(from, (header, head));
        if self.common.caps().has(Caps::LAZY) {
            self.sender.hear_ack(&mut self.common, from, (header, head));
        }
        outcome
    }

    fn dispatch(&mut self, from: u32, (header, bytes): (&Header, &[u8])) -> Placed {
        let Self {
            sender,
            receiver,
            common,
            ..
        } = self;
        let answer = match header.kind {
            Kind::Rts | Kind::LastRts => return receiver.hear_opener(common, header),
            Kind::Data | Kind::StopData | Kind::LastData => {
                return receiver.hear_data(common, header);
            }
            Kind::Null => receiver.hear_null(common, header),
            Kind::Gch if header.src == from => receiver.hear_gch(common, header),
            Kind::Gch => sender.hear_gch(common, from, header),
            Kind::Cts if common.caps().has(Caps::SNAK) => {
                sender.hear_selective_cts(common, from, (header, bits_of(bytes)))
            }
            Kind::Cts => sender.hear_cts(common, from, header),
            Kind::MsgEnd | Kind::MsgDrop => sender.hear_end(common, from, header),
        };
        answer.map(|()| Placement::None)
    }

    /// The next packet to send, or up to `most` of them if they are data of one message that differ
    /// in their numbers alone: see [`Transmit::packets`]. Call until it returns `None`, after each
    /// other call; or stop earlier when the layer below has no room, and go on when it has.
    #[must_use]
    pub fn poll_transmit(&mut self, now: Instant, most: u32) -> Option<Transmit> {
        self.observe(now);
        let mut transmit = self.transmit_next()?;
        if most > 1 && transmit.offset > 0 {
            transmit.packets += self.sender.send_more(&mut self.common, &transmit, most - 1);
        }
        Some(transmit)
    }

    fn transmit_next(&mut self) -> Option<Transmit> {
        if let Some((to, header)) = self.common.next_answer() {
            return Some(self.seal(to, header, Bits::NONE));
        }
        if let Some((to, header, bits)) = self.receiver.next_cts(&mut self.common) {
            return Some(self.seal(to, header, bits));
        }
        if let Some(transmit) = self.transmit_ready() {
            return Some(transmit);
        }
        if self.sender.settle(&mut self.common)
            && let Some(transmit) = self.transmit_ready()
        {
            return Some(transmit);
        }
        // Last, so that it goes alone only if nothing else could carry it.
        let (to, header, bits) = self.receiver.next_ack(&self.common)?;
        self.common.counts().acks_alone += 1;
        Some(self.seal(to, header, bits))
    }

    /// The next thing that has become of a message or a peer.
    #[must_use]
    pub fn poll_event(&mut self) -> Option<Event<Out, In>> {
        if !self.common.has_events() {
            self.sender.settle(&mut self.common);
            self.give_back_queues();
        }
        self.common.next_event()
    }

    /// Gives the memory of long queues back that have been drained.
    fn give_back_queues(&mut self) {
        self.common.give_back();
        self.receiver.give_back();
        self.sender.give_back();
        if self.sender.is_idle() {
            self.common.alarms_mut().give_back();
        }
    }

    /// Returns [`State::next_timeout`].
    #[inline]
    fn next_timeout(&self) -> Option<Instant> {
        // The timers may be left over from ended messages.
        let is_timed = !self.sender.is_idle() || self.receiver.is_timed();
        let wake = self.common.alarms().wake();
        (wake != Instant::NEVER && is_timed).then_some(wake)
    }

    /// Does what is due; harmless at any time.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.observe(now);
        self.sender.settle(&mut self.common);
        if now >= self.common.alarms().wake() {
            self.do_what_is_due(now);
        }
    }

    /// Returns the work that waits, and the counters.
    // A caller that reads one field pays for that one alone: the compiler drops the others, because
    // they have no effect, not even a panic.
    #[inline(always)]
    #[must_use]
    pub fn state(&self) -> State<'_> {
        State {
            has_events: self.common.has_events(),
            is_pressed: self.common.has_answers()
                || self.sender.is_pressed()
                || self.receiver.is_pressed(&self.common),
            is_quiet: self.sender.is_idle() && !self.common.has_answers() && !self.receiver.owes(),
            next_timeout: self.next_timeout(),
            counters: self.common.counters(),
        }
    }

    /// The messages that this node sends, by their ids.
    #[inline]
    #[must_use]
    pub fn outgoing(&mut self) -> OutgoingMessages<'_, Out, In> {
        OutgoingMessages::of(self)
    }

    /// The messages that this node receives, by their ids.
    #[inline]
    #[must_use]
    pub fn incoming(&mut self) -> IncomingMessages<'_, Out, In> {
        IncomingMessages::of(self)
    }

    /// Notices that this node slept: longer than until its next timer.
    // Rule T.
    #[inline]
    fn observe(&mut self, now: Instant) {
        self.receiver.keep_fresh(&mut self.common);
        let before = self.common.now();
        if now > before {
            let due = self.common.alarms().wake().clamp(before, now);
            let slept_ns = now.0 - due.0;
            self.common.set_now(now);
            if slept_ns > self.pause_ns && self.next_timeout().is_some() {
                self.note_pause(slept_ns, now);
            }
        }
    }

    /// After a long pause the peers are forgiven their silence.
    // Rule T.
    #[cold]
    fn note_pause(&mut self, slept_ns: u64, now: Instant) {
        self.common.timeouts_mut().note_wake(now);
        if slept_ns > self.lost_after_ns / 2 && !self.common.has(Bug::BlamePeersForPause) {
            self.common.counts().own_pauses += 1;
            self.sender.start_timers_anew(&mut self.common);
        }
    }

    /// A packet as it leaves: with the acknowledgement, and counted.
    #[inline]
    fn seal(&mut self, to: u32, mut header: Header, bits: Bits) -> Transmit {
        header.ack = self.receiver.acknowledge(&self.common, to);
        self.common.seal(to, header, bits)
    }

    /// The next packet of an outgoing message.
    fn transmit_ready(&mut self) -> Option<Transmit> {
        let (index, to) = self.sender.next_ready(&mut self.common)?;
        let ack = self.receiver.acknowledge(&self.common, to);
        Some(self.sender.transmit(&mut self.common, index, ack))
    }

    /// Looks at the timers that are due, and at no others. There are two schedules, one of paths
    /// and one of messages in `sending`. A timer is lowered when something is due earlier, and
    /// never raised: one that rings too early is set anew.
    fn do_what_is_due(&mut self, now: Instant) {
        self.common.timeouts_mut().spread_anew();
        self.receiver.forget_expired(&mut self.common);
        while let Some(to) = self.common.alarms_mut().next_path(now) {
            self.tick_path(to, now);
        }
        while let Some(index) = self.common.alarms_mut().next_message(now) {
            if let Some(lost) = self.sender.tick_sending(&mut self.common, index) {
                self.lose(lost);
            }
        }
        let expiry = self.receiver.forget_expired(&mut self.common);
        self.common.alarms_mut().begin_anew(expiry);
    }

    fn tick_path(&mut self, to: u32, now: Instant) {
        if self.sender.is_lost_by_silence(&mut self.common, to) {
            self.lose(to);
            return;
        }
        self.receiver.tick_ack(to, now);
        self.sender.tick_pending(&mut self.common, to);
        self.sender.tick_held(&mut self.common, to);
        let silent = self.sender.silence_ends(to);
        let due = self.path_due(to);
        debug_assert!(due > now, "what is due has been done");
        // The layer below may have no room for what is to go again.
        self.common.alarms_mut().time_path(to, due.min(silent));
    }

    /// The first thing due on a path: its oldest first packet, its held messages, or the
    /// acknowledgement that is owed there.
    fn path_due(&self, to: u32) -> Instant {
        let due = self.sender.path_due(self.common.config(), to);
        due.min(self.receiver.ack_due(&self.common, to))
    }

    /// Frees everything that has to do with a peer that is gone.
    #[cold]
    fn lose(&mut self, peer: u32) {
        let unsent = self.sender.lose(peer);
        let unfinished = self.receiver.lose(peer);
        self.common.drop_answers(peer);
        self.common.raise(Event::Lost {
            node: NodeId(peer),
            unsent,
            unfinished,
        });
    }
}
