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
use super::udp::protocol::{Protocol, Route, Run};
use super::{
    Arrival, Capabilities, Landing, Outbound, PeerId, Progress, Refusal, Sink, Tallies, Transport,
};
use crate::clock::Instant;

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
            shared_bytes,
            air: self.clone(),
            in_hand: (NodeId(0), Vec::new(), 0),
            has_unflushed: false,
        }
    }

    /// Changes what goes wrong from now on.
    pub fn set_faults(&self, faults: Faults) {
        self.shared.lock().network.set_faults(faults);
    }

    /// Cuts the link `from` -> `to` (this direction only) until `until`.
    pub fn cut(&self, from: PeerId, to: PeerId, until: Instant) {
        let (from, to) = (NodeId(from.0), NodeId(to.0));
        self.shared.lock().network.cut(from, to, until);
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
            shared.mail[to.0 as usize].push_back((from, datagram));
        }
        true
    }
}

/// One process's end of the simulated network.
#[expect(private_bounds, reason = "the protocols are ours alone")]
#[derive(Debug)]
pub struct Sim<P: Protocol = Rmpp> {
    guest: P,
    me: PeerId,
    air: Air,
    /// Bytes up to which packets share a datagram; 0: they do not.
    shared_bytes: usize,
    /// A datagram: its sender, its bytes, and how much of it was handled.
    in_hand: (NodeId, Vec<u8>, usize),
    /// Something was sent that is not with the network yet.
    has_unflushed: bool,
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
        let me = NodeId(self.me.0);
        let limit = self.shared_bytes;
        let mut last: Option<(NodeId, Vec<u8>)> = None;
        self.guest.transmit(shared.now, ROOM, |parcel| {
            let to = NodeId(parcel.to.0);
            for number in 0..parcel.packets {
                let (header, body) = parcel.packet(number);
                let bytes = header.len() + parcel.envelope.len() + body.len();
                let is_open =
                    |last: &(NodeId, Vec<u8>)| last.0 == to && last.1.len() + bytes <= limit;
                if let Some((to, full)) = last.take_if(|last| !is_open(last)) {
                    shared.network.send(shared.now, me, to, full);
                }
                let (_, datagram) = last.get_or_insert_with(|| (to, Vec::with_capacity(bytes)));
                datagram.extend_from_slice(&header);
                datagram.extend_from_slice(parcel.envelope);
                body.append_to(datagram);
            }
            ROOM
        });
        if let Some((to, datagram)) = last {
            shared.network.send(shared.now, me, to, datagram);
        }
    }

    /// Handles the datagram in hand and those that wait behind it, if they are a run of packets.
    fn take_run(&mut self, now: Instant) -> bool {
        let (from, first, at) = &mut self.in_hand;
        let run = self.guest.run_of(first).filter(|_| *at == 0);
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
        true
    }

    /// Handles the next packet of the datagram in hand. Returns true if `sink` was told of a
    /// message.
    fn take_packet(&mut self, now: Instant, sink: &mut impl Sink) -> bool {
        let (from, datagram, at) = &mut self.in_hand;
        let (bytes, is_told) = self
            .guest
            .take_packet(PeerId(from.0), &datagram[*at..], now, sink);
        *at += bytes;
        is_told
    }

    fn tell(&mut self, now: Instant, sink: &mut impl Sink) -> bool {
        self.guest.tell(now, sink, |_| Route::default())
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
                self.pump();
                continue;
            }
            let mail = self.air.shared.lock().mail[self.me.0 as usize].pop_front();
            let Some((from, datagram)) = mail else {
                return has_told;
            };
            self.in_hand = (from, datagram, 0);
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
        self.guest.send(to, message, self.air.now())?;
        self.has_unflushed = true;
        Ok(())
    }

    fn flush(&mut self) {
        self.pump();
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
        let mut has_told = self.take_in(now, sink);
        if sink.wants_more() {
            self.guest.handle_timeout(now);
            self.pump();
            has_told |= self.tell(now, sink);
        } else {
            self.pump();
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
