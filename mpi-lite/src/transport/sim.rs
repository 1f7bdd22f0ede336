//! RMPP over a simulated network: a whole job in one thread, in virtual time, from one seed.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use parking_lot::Mutex;
use rmpp_core::{Caps, Config, FAST_HEADER_BYTES, NodeId};
use rmpp_sim::{Faults, Network};

use super::laboratory::Piped;
use super::laboratory::pipe::{Pipe, Setup};
use super::udp::Rmpp;
use super::udp::protocol::{Expected, OutgoingHeader, Parcel, Protocol, Route, Run};
use super::{
    Arrival, Capabilities, Landing, Outbound, PeerId, Progress, Refusal, Sink, Tallies, Transport,
};
use crate::clock::Instant;
use crate::memory::Span;

/// A packet protocol for a simulated process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guest {
    /// The Reliable Message Passing Protocol.
    Rmpp,
    /// The protocol of `ParaStation2`.
    GoBackN,
    /// The protocol of MPI over U-Net.
    Unet,
    /// SCTP.
    Sctp,
}

/// The network between the processes of a simulated job, and its clock.
#[derive(Clone, Debug)]
pub struct Air {
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    network: Network,
    now: Instant,
    mail: Vec<VecDeque<(NodeId, Vec<u8>)>>,
    /// Datagrams that a process has room for, and the processes that had not enough.
    room: usize,
    overflowed: Vec<bool>,
    tally: Tally,
}

/// What a simulated network has counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Payloads that came straight to their places.
    pub placed: u64,
    /// Datagrams for which a process had no room.
    pub overflowed: u64,
}

impl core::fmt::Debug for Shared {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Shared")
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

impl Air {
    /// A network of `nodes` processes.
    #[must_use]
    pub fn new(nodes: usize, seed: u64, faults: Faults) -> Self {
        let network = Network::new(seed, faults);
        let mail = vec![VecDeque::new(); nodes];
        Self {
            shared: Arc::new(Mutex::new(Shared {
                network,
                now: Instant::ZERO,
                mail,
                room: usize::MAX,
                overflowed: vec![false; nodes],
                tally: Tally::default(),
            })),
        }
    }

    /// The end of process `me`.
    #[must_use]
    pub fn join(&self, me: PeerId, config: Config) -> Sim {
        let shared_bytes = if config.caps.has(Caps::COALESCE) {
            FAST_HEADER_BYTES + config.packet_bytes
        } else {
            0
        };
        let guest = Rmpp::with_config(NodeId(me.0), config);
        self.host(me, guest, shared_bytes)
    }

    /// The end of process `me`, with a protocol that carries streams. Of `config` it takes what is
    /// not RMPP's alone.
    pub(super) fn join_piped<P: Pipe>(&self, me: PeerId, config: &Config) -> Sim<Piped<P>> {
        let guest = Piped::with_setup(&Setup {
            me,
            nodes: config.nodes,
            packet_bytes: P::HEADER_BYTES + config.packet_bytes,
            buffer_bytes: config.max_rcv_buf as usize * config.packet_bytes,
            lost_after: config.lost_after,
            unheard_after: config.unheard_after.unwrap_or(config.max_timeout),
            min_timeout: config.min_timeout,
            max_timeout: config.max_timeout,
            acks_eagerly: config.ack_every == 1,
        });
        self.host(me, guest, 0)
    }

    /// The end of process `me`, with a protocol whose packets share datagrams of up to
    /// `shared_bytes` bytes; 0: they do not.
    pub(super) fn host<P: Protocol>(&self, me: PeerId, guest: P, shared_bytes: usize) -> Sim<P> {
        Sim {
            guest,
            me,
            air: self.clone(),
            outbox: Outbox {
                me: NodeId(me.0),
                shared_bytes,
                open: None,
            },
            in_hand: (NodeId(0), Vec::new(), 0),
            is_in_place: false,
            begun: Vec::new(),
            has_unflushed: false,
        }
    }

    /// Changes what goes wrong from now on.
    pub fn set_faults(&self, faults: Faults) {
        self.shared.lock().network.set_faults(faults);
    }

    /// Gives each process room for so many datagrams from now on: what comes beyond them is lost.
    pub fn set_room(&self, datagrams: usize) {
        self.shared.lock().room = datagrams;
    }

    /// Cuts the link `from` -> `to` (this direction only) until `until`.
    pub fn cut(&self, from: PeerId, to: PeerId, until: Instant) {
        let (from, to) = (NodeId(from.0), NodeId(to.0));
        self.shared.lock().network.cut(from, to, until);
    }

    /// What was counted so far.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.shared.lock().tally
    }

    /// The virtual time.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.shared.lock().now
    }

    /// Returns true if datagrams wait for process `me`.
    #[must_use]
    pub fn has_mail(&self, me: PeerId) -> bool {
        !self.shared.lock().mail[me.0 as usize].is_empty()
    }

    /// Returns true if process `me` had no room for a datagram since this was last called.
    fn has_overflowed(&self, me: PeerId) -> bool {
        core::mem::take(&mut self.shared.lock().overflowed[me.0 as usize])
    }

    /// Lets time pass until the next datagram arrives or `wake_at`, whichever is first. Answers
    /// whether there was anything to wait for.
    pub fn advance(&self, wake_at: Option<Instant>) -> bool {
        let shared = &mut *self.shared.lock();
        let next = shared.network.next_delivery();
        let Some(until) = next.into_iter().chain(wake_at).min() else {
            return false;
        };
        shared.now = shared.now.max(until);
        while let Some((from, to, datagram)) = shared.network.deliver(shared.now) {
            let to = to.0 as usize;
            if shared.mail[to].len() < shared.room {
                shared.mail[to].push_back((from, datagram));
            } else {
                shared.overflowed[to] = true;
                shared.tally.overflowed += 1;
            }
        }
        true
    }
}

/// The datagram that is open for more packets to the same process.
#[derive(Debug)]
struct Outbox {
    me: NodeId,
    /// Bytes up to which packets share a datagram; 0: they do not.
    shared_bytes: usize,
    open: Option<(NodeId, Vec<u8>)>,
}

impl Outbox {
    fn push<H: OutgoingHeader + ?Sized>(&mut self, shared: &mut Shared, parcel: &Parcel<'_, H>) {
        let to = NodeId(parcel.to.0);
        for number in 0..parcel.packets {
            let (header, body) = parcel.packet(number);
            let bytes = header.len() + parcel.envelope.len() + body.len();
            let (open, most) = (&self.open, self.shared_bytes);
            let fits = |it: &(NodeId, Vec<u8>)| it.0 == to && it.1.len() + bytes <= most;
            if !open.as_ref().is_some_and(fits) {
                self.flush(shared);
            }
            let new = || (to, Vec::with_capacity(bytes));
            let (_, datagram) = self.open.get_or_insert_with(new);
            datagram.extend_from_slice(&header);
            datagram.extend_from_slice(parcel.envelope);
            body.append_to(datagram);
        }
    }

    fn flush(&mut self, shared: &mut Shared) {
        if let Some((to, datagram)) = self.open.take() {
            shared.network.send(shared.now, self.me, to, datagram);
        }
    }
}

/// One process's end of the simulated network. It drives its protocol as [`Udp`](super::udp::Udp)
/// does.
#[expect(private_bounds, reason = "the protocols are ours alone")]
#[derive(Debug)]
pub struct Sim<P: Protocol = Rmpp> {
    guest: P,
    me: PeerId,
    air: Air,
    outbox: Outbox,
    /// A datagram: its sender, its bytes, and how much of it was handled.
    in_hand: (NodeId, Vec<u8>, usize),
    /// It is the expected packet, and its payload is in its place already.
    is_in_place: bool,
    /// Messages that were handed to the outbox since the last `flush`.
    begun: Vec<P::Message>,
    /// Something was sent that is not with the network yet.
    has_unflushed: bool,
}

/// Writes the payload of `datagram` to `place`, as the system does that is told of it. Returns true
/// if it is the one that is `expected`: then nobody may read its payload elsewhere.
fn scatter(from: PeerId, datagram: &mut [u8], expected: &impl Expected, place: Span) -> bool {
    let Some((head, payload)) = datagram.split_at_mut_checked(expected.header_bytes()) else {
        return false;
    };
    place.write(0, payload);
    let is_expected = payload.len() == expected.payload_bytes() && expected.is(from, head);
    if is_expected {
        payload.fill(0);
    }
    is_expected
}

/// Short enough that jobs have messages that are packed and messages that are not.
const PACKED_MOST: u64 = 64;

/// How many packets are handed out at once.
const ROOM: u32 = 64;

#[expect(private_bounds, reason = "the protocols are ours alone")]
impl<P: Protocol> Sim<P> {
    fn pump(&mut self) {
        self.has_unflushed = false;
        let shared = &mut *self.air.shared.lock();
        let outbox = &mut self.outbox;
        self.guest.transmit(shared.now, ROOM, |parcel| {
            outbox.push(shared, parcel);
            ROOM
        });
        outbox.flush(shared);
    }

    /// Handles the datagram in hand and those that wait behind it, if they are a run of packets.
    fn take_run(&mut self, now: Instant) -> bool {
        let (from, first, at) = &mut self.in_hand;
        let run = self.guest.run_of(first);
        let run = run.filter(|_| *at == 0 && !self.is_in_place);
        let Some(mut run) = run else {
            return false;
        };
        let mut datagrams = vec![core::mem::take(first)];
        *at = 0;
        let mail = &mut self.air.shared.lock().mail[self.me.0 as usize];
        while mail
            .front()
            .is_some_and(|(sender, next)| sender == from && run.add(next))
        {
            datagrams.extend(mail.pop_front().map(|(_, next)| next));
        }
        let header_bytes = run.header_bytes();
        let payload = |number: u32| &datagrams[number as usize][header_bytes..];
        self.guest.take_run(PeerId(from.0), run, payload, now);
        self.has_unflushed = true;
        true
    }

    /// Handles the next packet of the datagram in hand. Returns true if `sink` was told of a
    /// message.
    fn take_packet(&mut self, now: Instant, sink: &mut impl Sink) -> bool {
        if core::mem::take(&mut self.is_in_place) {
            self.guest.note_in_place();
        }
        let (from, datagram, at) = &mut self.in_hand;
        let (bytes, is_told) = self
            .guest
            .take_packet(PeerId(from.0), &datagram[*at..], now, sink);
        *at += bytes;
        self.has_unflushed = true;
        is_told
    }

    fn tell(&mut self, now: Instant, sink: &mut impl Sink) -> bool {
        self.guest.tell(now, sink, |_| Route::default())
    }

    /// Takes the next datagram in hand; returns true if there was one.
    fn take_datagram(&mut self) -> bool {
        let awaited = self.guest.awaited();
        let shared = &mut *self.air.shared.lock();
        let mail = &mut shared.mail[self.me.0 as usize];
        let Some((from, mut datagram)) = mail.pop_front() else {
            return false;
        };
        // Of several at once the payloads stay apart, as runs need them.
        let awaited = awaited.filter(|_| mail.is_empty());
        self.is_in_place = awaited.is_some_and(|(expected, place)| {
            scatter(PeerId(from.0), &mut datagram, &expected, place)
        });
        shared.tally.placed += u64::from(self.is_in_place);
        self.in_hand = (from, datagram, 0);
        true
    }

    /// Takes in what has come until `wants_more` returns false. Returns true if the sink was told
    /// anything.
    fn take_in(&mut self, now: Instant, sink: &mut impl Sink) -> bool {
        let mut has_told = false;
        loop {
            has_told |= self.tell(now, sink);
            if !sink.wants_more() {
                return has_told;
            }
            if self.in_hand.2 < self.in_hand.1.len() {
                if !self.take_run(now) {
                    has_told |= self.take_packet(now, sink);
                }
                continue;
            }
            if self.has_unflushed && self.air.has_mail(self.me) {
                // No peer should wait for its answer until all are handled.
                self.pump();
            }
            if !self.take_datagram() {
                return has_told;
            }
        }
    }

    /// Adds to `tallies` what the protocol has counted.
    pub(super) fn count(&self, tallies: &mut Tallies) {
        self.guest.count(tallies);
    }
}

impl<P: Protocol> Transport for Sim<P> {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            body_limit: self.guest.body_limit(),
            packed_most: PACKED_MOST,
            acknowledges: false,
            is_memory: false,
        }
    }

    fn send(&mut self, to: PeerId, message: Outbound<'_>) -> Result<(), Refusal> {
        let id = self.guest.send(to, message, self.air.now())?;
        let (outbox, shared) = (&mut self.outbox, &mut *self.air.shared.lock());
        let went = self
            .guest
            .transmit_first(id, |parcel| outbox.push(shared, parcel));
        if went {
            self.begun.push(id);
        } else {
            self.has_unflushed = true;
        }
        Ok(())
    }

    fn flush(&mut self) {
        let now = {
            let shared = &mut *self.air.shared.lock();
            self.outbox.flush(shared);
            shared.now
        };
        for id in self.begun.drain(..) {
            self.guest.note_sent(id, now);
        }
        if self.has_unflushed {
            self.pump();
        }
    }

    fn land(&mut self, arrival: Arrival, landing: Landing) -> bool {
        let Landing::Into(area) = landing else {
            return false;
        };
        let is_complete = self.guest.land(arrival, area, self.air.now());
        self.pump();
        is_complete
    }

    fn progress(&mut self, now: Instant, sink: &mut impl Sink) -> Progress {
        if !self.begun.is_empty() {
            self.flush();
        }
        let mut has_told = self.take_in(now, sink);
        if !sink.wants_more() {
            if self.guest.is_pressed() {
                self.pump();
            }
            return Progress::Delivered;
        }
        let was_due = self.guest.handle_timeout(now);
        if was_due && self.air.has_overflowed(self.me) {
            self.guest.note_overflow();
        }
        if was_due || self.has_unflushed || self.guest.is_pressed() {
            self.pump();
            has_told |= self.tell(now, sink);
        }
        match self.guest.has_moved() {
            _ if has_told => Progress::Delivered,
            true => Progress::Moved,
            false => Progress::Idle,
        }
    }

    fn wake_at(&self) -> Option<Instant> {
        let has_mail = self.in_hand.2 < self.in_hand.1.len() || self.air.has_mail(self.me);
        if self.guest.has_news() || self.has_unflushed || has_mail {
            return Some(Instant::ZERO);
        }
        self.guest.next_timeout()
    }

    fn wake_on(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn push_back(&mut self, away: bool) {
        self.guest.push_back(away);
        self.has_unflushed = true;
    }

    fn close(&mut self) {
        self.guest.close(self.air.now());
        self.has_unflushed = true;
    }

    fn is_quiet(&self) -> bool {
        self.guest.is_quiet()
    }
}
