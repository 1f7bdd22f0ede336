//! The only file that opens a socket: one UDP socket per rank, and its counters.
//!
//! A datagram is: the job's cookie or another seal (8 bytes), the sender's rank (4 bytes), its own
//! length (2 bytes), 2 bytes for the seal, then one packet or more. What does not begin so, or does
//! not come from the address that its rank published, is counted and dropped, unanswered (rules
//! E and S).

use super::ends::{Ends, has_batches};
use super::wrap::{MARK_BYTES, WRAP_BYTES};
use core::ops::Range;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use socket2::{Domain, Protocol, SockAddr, Type};

use super::inbox::Inbox;
use super::options::{enlarge_buffers, forbid_fragments, overflowed, set};
use super::outbox::{Outbox, Stuck, send_plain};
use super::protocol::{Expected, OutgoingHeader, Parcel, Route};
use super::recorder::Recorder;
use super::refusals::{Refusals, is_of_network};
use super::seal::Seal;
use super::shaper::Shaper;
use crate::clock::Instant;
use crate::config::{Network, Settings};
use crate::counters::Datagrams;
use crate::data::AreaPart;
use crate::memory::Span;
use crate::memory::faults::{self, Access, is_fault};
use crate::packets::Preamble;
use crate::transport::Hindrance;
use crate::transport::ports::take_port;

/// One UDP socket with what waits to go out and what came in.
pub(super) struct Socket {
    /// This rank.
    me: u32,
    /// Bytes of the header that most packets have.
    header_bytes: usize,
    ends: Ends,
    is_ipv4: bool,
    /// A path was narrower than its interface: the system may cut datagrams into fragments.
    may_fragment: bool,
    seal: Seal,
    outbox: Outbox,
    /// What goes out goes through it, if the user asks for a bad network.
    shaper: Option<Box<Shaper>>,
    inbox: Inbox,
    refusals: Refusals,
    counters: Datagrams,
    recorder: Option<Box<Recorder>>,
}

impl core::fmt::Debug for Socket {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Socket")
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}

/// The parameters of a socket's job.
pub(super) struct Job {
    /// This rank.
    pub(super) me: u32,
    pub(super) seal: Seal,
    /// The addresses, by rank.
    pub(super) peers: Vec<SocketAddr>,
    /// Bytes of the longest datagram.
    pub(super) longest_bytes: usize,
    /// Bytes of the header that most packets have.
    pub(super) header_bytes: usize,
    /// True if packets share datagrams.
    pub(super) coalesces: bool,
}

impl Socket {
    /// Opens a socket on `address`, with port and options by `settings`.
    ///
    /// # Errors
    /// The system's.
    #[expect(clippy::disallowed_methods, reason = "this file opens sockets")]
    pub(super) fn bind(address: IpAddr, settings: &Settings) -> io::Result<Self> {
        let domain = Domain::for_address(SocketAddr::new(address, 0));
        let socket = socket2::Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
        enlarge_buffers(&socket, settings.socket_buffer_bytes);
        let is_ipv4 = address.is_ipv4();
        forbid_fragments(&socket, is_ipv4, true)?;
        let may_burst = settings.gso && set(&socket, libc::SOL_UDP, libc::UDP_SEGMENT, 0).is_ok();
        if settings.gro {
            // Where the system has no trains, datagrams come one by one.
            let _ = set(&socket, libc::SOL_UDP, libc::UDP_GRO, 1);
        }
        take_port(settings.port_range, |port| {
            socket.bind(&SocketAddr::new(address, port).into())
        })?;
        Ok(Self {
            me: 0,
            header_bytes: 0,
            ends: Ends {
                may_batch: has_batches(&socket),
                socket,
                peers: Vec::new(),
                is_connected: false,
                may_burst,
            },
            is_ipv4,
            may_fragment: false,
            seal: Seal::Cookie([0; MARK_BYTES]),
            outbox: Outbox::new(),
            shaper: None,
            inbox: Inbox::new(),
            refusals: Refusals::default(),
            counters: Datagrams::default(),
            recorder: None,
        })
    }

    /// Where the socket listens.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        let address = self.ends.socket.local_addr()?;
        address
            .as_socket()
            .ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
    }

    /// What is known of the way to rank `peer`.
    #[cold]
    pub(super) fn route_to(&self, peer: u32) -> Route {
        let address = self.ends.peers.get(peer as usize);
        let address = address.and_then(SockAddr::as_socket);
        let refusal = self.refusals.in_words(peer, address);
        let network = self.shaper.as_ref().map(|shaper| shaper.network());
        let network = network.filter(Network::may_silence);
        let hindrance = refusal
            .map(Hindrance::Refusal)
            .or_else(|| network.map(Hindrance::BadNetwork));
        Route { address, hindrance }
    }

    /// Bytes of the receive buffer as the kernel counts them.
    #[must_use]
    pub(super) fn receive_buffer(&self) -> usize {
        self.ends.socket.recv_buffer_size().unwrap_or(212_992)
    }

    /// Sets the job of the socket.
    pub(super) fn know(&mut self, job: Job) {
        self.me = job.me;
        self.header_bytes = job.header_bytes;
        self.seal = job.seal;
        self.outbox.tail_bytes = self.seal.tail_bytes();
        let wrap = &mut self.outbox.wrap;
        wrap[..MARK_BYTES].copy_from_slice(&self.seal.mark());
        wrap[8..12].copy_from_slice(&job.me.to_be_bytes());
        if job.coalesces {
            self.outbox.shared_bytes = self.seal.shared_bytes(job.longest_bytes);
        }
        self.ends.peers = job.peers.into_iter().map(SockAddr::from).collect();
        if let [first, second] = &self.ends.peers[..] {
            // The only other rank: the system then need not find the route for each datagram.
            let other = if job.me == 0 { second } else { first };
            self.ends.is_connected = self.ends.socket.connect(other).is_ok();
        }
        self.inbox.know(job.longest_bytes);
    }

    /// From now on what is sent goes through `shaper`.
    pub(super) fn shape(&mut self, shaper: Shaper) {
        self.shaper = Some(Box::new(shaper));
    }

    /// Records all datagrams from now on in a file whose name begins with `prefix`.
    #[cold]
    pub(super) fn record(&mut self, prefix: &Path, (protocol, packet_bytes): (u8, usize)) {
        let addresses = self.ends.peers.iter().filter_map(SockAddr::as_socket);
        let preamble = Preamble {
            has_loss: false,
            rank: self.me,
            packet_bytes: u32::try_from(packet_bytes).unwrap_or(u32::MAX),
            addresses: addresses.collect(),
        };
        match Recorder::create(prefix, protocol, &preamble) {
            Ok(recorder) => self.recorder = Some(Box::new(recorder)),
            Err(error) => {
                let (name, path) = (self.name(), prefix.display());
                eprintln!("{name}: the packets cannot be recorded at {path}: {error}");
            }
        }
    }

    /// Notes for the recorder, if there is one, a datagram that has come.
    #[inline]
    pub(super) fn note_arrival(&mut self, from: u32, place: Range<usize>) {
        if let Some(recorder) = &mut self.recorder {
            let datagram = self.inbox.bytes(place);
            if self.inbox.is_in_place() {
                recorder.received_in_place(from, datagram);
            } else {
                recorder.received(from, datagram);
            }
        }
    }

    /// Writes what was recorded, if anything is.
    #[inline]
    pub(super) fn write_records(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.write();
        }
    }

    /// Notes for the recorder a run of `count` datagrams that begin `apart` bytes from each other,
    /// but for the `first`, which was noted when it came in hand.
    #[inline]
    pub(super) fn note_run(
        &mut self,
        from: u32,
        first: &Range<usize>,
        (count, apart): (u32, usize),
    ) {
        if self.recorder.is_some() {
            for number in 1..count as usize {
                let behind = number * apart;
                self.note_arrival(from, first.start + behind..first.end + behind);
            }
        }
    }

    /// How this rank names itself in lines for humans.
    #[cold]
    fn name(&self) -> String {
        let address = self.address().map(|address| address.ip().to_string());
        let host = address.unwrap_or_else(|error| format!("an unknown address ({error})"));
        format!("mpi-lite: rank {} at {host}", self.me)
    }

    /// What was counted, here and by the system.
    #[must_use]
    pub(super) fn counters(&self) -> Datagrams {
        Datagrams {
            overflowed: overflowed(&self.ends.socket),
            ..self.counters.clone()
        }
    }

    /// Returns true if the system has dropped datagrams since the last time because there was no
    /// room.
    pub(super) fn has_overflowed(&mut self) -> bool {
        let overflowed = overflowed(&self.ends.socket);
        core::mem::replace(&mut self.counters.overflowed, overflowed) < overflowed
    }

    /// Queues one packet; the body stays in the user's memory until `flush`.
    #[inline]
    pub(super) fn push(&mut self, to: u32, header: &[u8], envelope: &[u8], body: AreaPart<'_>) {
        if self.outbox.is_full() {
            self.flush();
        }
        self.outbox.push(to, header, envelope, body);
    }

    /// Queues a packet, or a run of no more than there is room for. Returns how many more there is
    /// room for before what was queued is to be sent.
    #[inline]
    pub(super) fn push_parcel<H: OutgoingHeader + ?Sized>(
        &mut self,
        parcel: &Parcel<'_, H>,
    ) -> u32 {
        if let AreaPart::Scattered { .. } = parcel.body {
            return self.push_scattered(parcel);
        }
        if parcel.packets == 1 {
            // Short messages have no time for a division.
            self.push(
                parcel.to.0,
                parcel.header.bytes(),
                parcel.envelope,
                parcel.body,
            );
        } else {
            let (header, body) = parcel.packet(0);
            self.push(parcel.to.0, &header, parcel.envelope, body);
            self.outbox.push_followers(parcel);
        }
        self.room()
    }

    /// Pushes packets of data with gaps. Each takes more room than one without gaps, and time to be
    /// packed: no room is left, so that the timers of later packets begin later.
    #[cold]
    fn push_scattered<H: OutgoingHeader + ?Sized>(&mut self, parcel: &Parcel<'_, H>) -> u32 {
        for number in 0..parcel.packets {
            let (header, body) = parcel.packet(number);
            self.push(parcel.to.0, &header, parcel.envelope, body);
        }
        0
    }

    /// How many packets there is room for before what was queued is to be sent.
    #[inline]
    pub(super) fn room(&self) -> u32 {
        self.outbox.room(self.inbox.longest_bytes())
    }

    /// Sends what was queued. A datagram that the system refuses counts as lost on the way: the
    /// protocol repeats it.
    #[inline]
    pub(super) fn flush(&mut self) {
        if !self.outbox.is_empty() {
            self.send_all();
        }
    }

    fn send_all(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            self.outbox.show_to(recorder);
            recorder.write();
        }
        self.outbox.seal(&mut self.seal);
        if self.shaper.is_some() {
            self.shape_all();
            return;
        }
        let mut done = 0;
        while done < self.outbox.len() {
            self.counters.send_calls += 1;
            match self.outbox.send(done, &self.ends) {
                Ok(went) => {
                    self.counters.datagrams_sent += went.datagrams as u64;
                    self.counters.bursts_sent += went.bursts as u64;
                    if !self.refusals.is_empty() {
                        self.note_taken(done..done + went.datagrams);
                    }
                    done += went.datagrams.max(1);
                }
                Err(stuck) if is_fault(&stuck.error) => {
                    self.send_copied(done);
                    done += 1;
                }
                Err(stuck) if self.helps_itself(&stuck) => {}
                Err(stuck) => {
                    // A refused datagram is the first of the rest: skip it.
                    self.refusals.note(self.outbox.peer(done), &stuck.error);
                    self.counters.refused += 1;
                    done += 1;
                }
            }
        }
        self.outbox.clear();
    }

    /// Hands what was queued to the shaper, and sends what is due.
    #[cold]
    fn shape_all(&mut self) {
        if let Some(shaper) = &mut self.shaper {
            let now = shaper.now();
            for number in 0..self.outbox.len() {
                shaper.take(self.outbox.copy(number), now, &mut self.counters);
            }
        }
        self.outbox.clear();
        self.release();
    }

    /// Sends what the shaper has held until now.
    #[cold]
    fn release(&mut self) {
        let Some(now) = self.shaper.as_ref().map(|shaper| shaper.now()) else {
            return;
        };
        while let Some((to, datagram)) = self.shaper.as_mut().and_then(|it| it.release(now)) {
            self.send_alone(to, &datagram);
        }
    }

    /// Sends a datagram whose body the system cannot read where it is.
    #[cold]
    fn send_copied(&mut self, number: usize) {
        faults::explain(Access::SendTo(self.outbox.peer(number)), &self.name());
        let (to, datagram) = self.outbox.copy(number);
        self.send_alone(to, &datagram);
    }

    /// Sends one datagram. As in `send_all`, one that is refused counts as lost on the way.
    fn send_alone(&mut self, to: u32, datagram: &[u8]) {
        loop {
            self.counters.send_calls += 1;
            match send_plain(datagram, to, &self.ends) {
                Ok(went) => {
                    self.counters.datagrams_sent += went.datagrams as u64;
                    self.refusals.note_taken(to);
                    return;
                }
                Err(stuck) if self.helps_itself(&stuck) => {}
                Err(stuck) => {
                    self.refusals.note(to, &stuck.error);
                    self.counters.refused += 1;
                    return;
                }
            }
        }
    }

    /// When the shaper has something to send.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.shaper.as_ref()?.next_due()
    }

    /// The system has taken these datagrams.
    #[cold]
    fn note_taken(&mut self, datagrams: Range<usize>) {
        for datagram in datagrams {
            self.refusals.note_taken(self.outbox.peer(datagram));
        }
    }

    /// Returns true if the same is to be sent once more, in another way than the one that got
    /// stuck.
    #[cold]
    fn helps_itself(&mut self, stuck: &Stuck) -> bool {
        if is_of_network(&stuck.error) {
            return false;
        }
        if stuck.was_burst {
            // The way out has no checksums for bursts (EIO), or a packet is too long for it
            // (EINVAL, EMSGSIZE). From now on each datagram goes alone.
            self.ends.may_burst = false;
            self.counters.bursts_refused += 1;
            return true;
        }
        self.allow_fragments(&stuck.error)
    }

    /// Allows fragments, and returns true, if `error` is that a path is narrower than its
    /// interface, as tunnels are, and fragments were forbidden: the whole datagram would never get
    /// through.
    fn allow_fragments(&mut self, error: &io::Error) -> bool {
        let is_too_long = error.raw_os_error() == Some(libc::EMSGSIZE);
        if !is_too_long || self.may_fragment {
            return false;
        }
        self.may_fragment = true;
        self.counters.narrow_paths += 1;
        let bytes = self.inbox.longest_bytes();
        eprintln!(
            "{}: datagrams of {bytes} bytes are too long for a path of this job, whose MTU is \
             smaller than that of the interface; they are sent as IP fragments (set \
             MPILITE_PACKET_BYTES to the MTU of the path less {} bytes of headers)",
            self.name(),
            28 + WRAP_BYTES + self.header_bytes
        );
        forbid_fragments(&self.ends.socket, self.is_ipv4, false).is_ok()
    }

    /// The next datagram in hand of a known sender: its rank, and where its packets are.
    #[inline]
    pub(super) fn next(&mut self) -> Option<(u32, Range<usize>)> {
        let (from, place) = self
            .inbox
            .next(&self.ends, &mut self.seal, &mut self.counters)?;
        self.note_arrival(from, place.clone());
        Some((from, place))
    }

    /// The next datagram, if it came in one stretch with the one before.
    #[inline]
    pub(super) fn next_in_stretch(&mut self) -> Option<(u32, Range<usize>)> {
        self.inbox
            .next_in_stretch(&self.ends, &mut self.seal, &mut self.counters)
    }

    /// Returns true if `next_in_stretch` may return more.
    #[inline]
    #[must_use]
    pub(super) fn has_more_in_stretch(&self) -> bool {
        self.inbox.has_more_in_stretch()
    }

    /// The bytes at a place that `next` answered; they stay until `fetch`.
    #[inline]
    #[must_use]
    pub(super) fn bytes(&self, place: Range<usize>) -> &[u8] {
        self.inbox.bytes(place)
    }

    /// Returns true if `next` may return more.
    #[inline]
    #[must_use]
    pub(super) fn has_more(&self) -> bool {
        self.inbox.has_more()
    }

    /// Returns true if all is done that came in one stretch, and more is in hand.
    #[inline]
    #[must_use]
    pub(super) fn is_at_end_of_stretch(&self) -> bool {
        self.inbox.is_at_end_of_stretch()
    }

    /// Asks the system for datagrams; returns true if there were any. What was in hand is gone.
    /// What the shaper has held until now is sent before. The payload of the packet that is
    /// `expected` goes to its place, unless it must be deciphered.
    #[inline]
    pub(super) fn fetch(&mut self, expected: Option<(impl Expected, Span)>) -> bool {
        if self.shaper.is_some() {
            self.release();
        }
        self.counters.receive_calls += 1;
        let expected = expected.filter(|_| !matches!(self.seal, Seal::Encrypt(_)));
        let has_any = self.inbox.fetch(&self.ends, expected);
        if !has_any {
            self.look_for_failure();
        }
        has_any
    }

    /// Looks why the last call has found no datagram. On a connected socket it returns a refusal of
    /// the network for an earlier datagram.
    fn look_for_failure(&mut self) {
        let error = io::Error::last_os_error();
        if is_fault(&error) {
            faults::explain(Access::ReceiveFrom(None), &self.name());
        } else if self.ends.is_connected && is_of_network(&error) {
            self.refusals.note(1 - self.me, &error);
        }
    }

    /// Returns true if the packet in hand is the one that was expected at the last `fetch`, and its
    /// payload is at its place already.
    #[inline]
    pub(super) fn is_in_place(&self) -> bool {
        self.inbox.is_in_place()
    }

    /// Returns true if datagrams may wait in the system that were not asked for yet.
    #[inline]
    pub(super) fn may_have_more(&self) -> bool {
        self.inbox.was_full()
    }

    /// What becomes readable when a datagram comes.
    #[must_use]
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.ends.socket.as_fd()
    }
}

#[cfg(test)]
#[expect(unsafe_code, reason = "what a system call has written is initialised")]
mod tests {
    use std::net::Ipv4Addr;

    use rmpp_core::{Awaited, Flags, Header, Kind};

    use super::super::round::Round;
    use super::super::round::tests::cards;
    use super::*;
    use crate::config::PortRange;
    use crate::config::Secure;
    use crate::data::{Area, Basic, Datatype};
    use crate::transport::PeerId;

    const LONGEST_BYTES: usize = 1000;
    /// No packet is expected.
    const NOTHING: Option<(Awaited, Span)> = None;
    const SECURE: [Secure; 3] = [Secure::Cookie, Secure::Tag, Secure::Encrypt];

    fn seal(secure: Secure, me: u32) -> Seal {
        Seal::new(secure, &Round::new(&[7; 32], &cards(3, 0)), me)
    }

    fn pair(settings: &Settings, coalesces: bool) -> [Socket; 2] {
        let mut sockets =
            [0, 1].map(|_| Socket::bind(Ipv4Addr::LOCALHOST.into(), settings).unwrap());
        let peers: Vec<_> = sockets.iter().map(|end| end.address().unwrap()).collect();
        for (end, me) in sockets.iter_mut().zip(0..) {
            let seal = seal(settings.secure.unwrap_or(Secure::Cookie), me);
            let longest_bytes = LONGEST_BYTES + seal.tail_bytes();
            end.know(Job {
                me,
                seal,
                peers: peers.clone(),
                longest_bytes,
                header_bytes: 36,
                coalesces,
            });
        }
        sockets
    }

    #[test]
    fn each_socket_has_a_port_of_the_range_until_none_is_free() {
        // The system chooses a port that is free; the other end of the range may be taken.
        let any = Socket::bind(Ipv4Addr::LOCALHOST.into(), &Settings::default()).unwrap();
        let taken = any.address().unwrap().port();
        let within = |first, last| {
            let settings = Settings {
                port_range: Some(PortRange { first, last }),
                ..Settings::default()
            };
            Socket::bind(Ipv4Addr::LOCALHOST.into(), &settings)
        };
        let error = within(taken, taken).unwrap_err().to_string();
        assert!(
            error.contains(&format!("no port of {taken}-{taken} is free")),
            "{error}"
        );
        drop(any);
        let socket = within(taken, taken).unwrap();
        assert_eq!(socket.address().unwrap().port(), taken);
    }

    fn packet(number: usize, len: usize) -> Vec<u8> {
        (0..len).map(|at| (at * 7 + number) as u8).collect()
    }

    /// Sends `packets`, half of each from elsewhere; answers what each datagram brought.
    fn exchange([left, right]: &mut [Socket; 2], packets: &mut [Vec<u8>]) -> Vec<Vec<u8>> {
        for packet in packets.iter_mut() {
            let middle = packet.len().min(40) / 2;
            let (head, body) = packet.split_at_mut(middle);
            left.push(1, head, &[], AreaPart::Run(Span::of(body)));
        }
        left.flush();
        let mut got = Vec::new();
        let bytes = |got: &[Vec<u8>]| got.iter().map(Vec::len).sum::<usize>();
        let all = bytes(packets);
        while bytes(&got) < all {
            right.fetch(NOTHING);
            while let Some((from, place)) = right.next() {
                assert_eq!(from, 0);
                got.push(right.bytes(place).to_vec());
            }
        }
        got
    }

    /// Runs of equal packets, the last of some shorter, between odd ones.
    fn mixed() -> Vec<Vec<u8>> {
        let lens = [
            1, 36, 900, 900, 900, 900, 900, 37, 984, 984, 984, 984, 5, 400, 399, 398,
        ];
        let mut packets: Vec<_> = lens
            .iter()
            .enumerate()
            .map(|(n, &len)| packet(n, len))
            .collect();
        packets.extend((0..200).map(|n| packet(n, 984)));
        packets
    }

    #[test]
    fn packets_of_all_sizes_pass_bursts_and_trains_unchanged() {
        let switches = [(true, true), (true, false), (false, true), (false, false)];
        for (secure, (gso, gro)) in SECURE.iter().flat_map(|s| switches.map(|both| (*s, both))) {
            let settings = Settings {
                gso,
                gro,
                secure: Some(secure),
                ..Settings::default()
            };
            let mut ends = pair(&settings, false);
            let mut packets = mixed();
            let got = exchange(&mut ends, &mut packets);
            assert!(got == packets, "gso {gso}, gro {gro}, {secure}");
            let [left, right] = ends.map(|end| end.counters());
            assert_eq!(left.bursts_sent > 0, gso, "this kernel has bursts");
            assert_eq!(right.trains_received > 0, gso && gro);
            assert_eq!(left.datagrams_sent, packets.len() as u64);
            assert_eq!(right.datagrams_received, packets.len() as u64);
        }
    }

    #[test]
    fn packing_takes_time_so_what_follows_goes_by_a_later_clock() {
        let mut memory = vec![7; 8000];
        let blocks = Datatype::Basic(Basic::Byte).vector(1000, 4, 8).unwrap();
        let gaps = Area::at(Span::of(&mut memory).origin(0), 1, &blocks).unwrap();
        let run = Area::Run(Span::of(&mut memory[..4000]));
        let header = Header {
            kind: Kind::Data,
            version: rmpp_core::VERSION,
            src: 0,
            msg_id: 1,
            len: 4000,
            seq: 1,
            info1: 0,
            info2: 0,
            msg_num: 1,
            ack: 0,
            flags: Flags::default(),
        };
        let [mut end, _other] = pair(&Settings::default(), false);
        for (area, leaves_room) in [(run, true), (gaps, false)] {
            let parcel = Parcel {
                to: PeerId(1),
                header: &header.encode(),
                packets: 4,
                envelope: &[],
                body: area.part(0, 4000),
            };
            assert_eq!(end.push_parcel(&parcel) > 0, leaves_room);
        }
    }

    #[test]
    fn datagrams_go_alone_if_bursts_are_refused() {
        const SO_NO_CHECK: libc::c_int = 11;
        let mut ends = pair(&Settings::default(), false);
        // The system makes no bursts of datagrams without a checksum.
        set(&ends[0].ends.socket, libc::SOL_SOCKET, SO_NO_CHECK, 1).unwrap();
        let mut packets = mixed();
        assert!(exchange(&mut ends, &mut packets) == packets);
        let counters = ends[0].counters();
        assert_eq!((counters.bursts_refused, counters.bursts_sent), (1, 0));
        assert_eq!(counters.refused, 0);
    }

    #[test]
    fn where_batches_are_forbidden_each_call_sends_one_burst_or_one_datagram() {
        let mut ends = pair(&Settings::default(), false);
        assert!(
            ends.iter().all(|end| end.ends.may_batch),
            "this kernel has batches"
        );
        for end in &mut ends {
            end.ends.may_batch = false;
        }
        let mut packets = mixed();
        assert!(exchange(&mut ends, &mut packets) == packets);
        let left = ends[0].counters();
        assert_eq!(left.datagrams_sent, packets.len() as u64);
        assert!(left.bursts_sent > 0, "this kernel has bursts");
        assert!(left.send_calls > left.bursts_sent, "{left:?}");
    }

    #[test]
    fn packets_share_a_datagram_up_to_the_longest() {
        for secure in SECURE {
            let settings = Settings {
                secure: Some(secure),
                ..Settings::default()
            };
            let mut ends = pair(&settings, true);
            let mut packets: Vec<_> = (0..100).map(|number| packet(number, 60)).collect();
            let got = exchange(&mut ends, &mut packets);
            let each = (LONGEST_BYTES - WRAP_BYTES) / 60;
            assert_eq!(got.len(), 100_usize.div_ceil(each));
            assert!(got.concat() == packets.concat(), "{secure}");
        }
    }

    /// Two ends, and a datagram from the first for the second that was caught on its way.
    fn caught(secure: Secure) -> (Socket, Socket, Vec<u8>) {
        let settings = Settings {
            secure: Some(secure),
            ..Settings::default()
        };
        let bind = || Socket::bind(Ipv4Addr::LOCALHOST.into(), &settings).unwrap();
        let (mut left, mut right, tap) = (bind(), bind(), bind());
        let address = |end: &Socket| end.address().unwrap();
        // Three peers: from a pair the system itself keeps strays away.
        let job = |me, second: &Socket| Job {
            me,
            seal: seal(secure, me),
            peers: vec![address(&left), address(second), address(&tap)],
            longest_bytes: LONGEST_BYTES,
            header_bytes: 36,
            coalesces: true,
        };
        let (of_left, of_right) = (job(0, &tap), job(1, &right));
        left.know(of_left);
        right.know(of_right);
        left.push(1, &[5; 36], &[6; 16], AreaPart::EMPTY);
        left.flush();
        let mut bytes = [core::mem::MaybeUninit::uninit(); LONGEST_BYTES];
        let len = tap.ends.socket.recv(&mut bytes).unwrap();
        // SAFETY: the system has written `len` bytes.
        let bytes = bytes[..len]
            .iter()
            .map(|byte| unsafe { byte.assume_init() });
        (left, right, bytes.collect())
    }

    /// Throws `bytes` from the socket `from` at `end`; returns true if they were taken, and what
    /// was counted: foreign, misplaced, forged, replayed.
    fn throw(end: &mut Socket, from: &Socket, bytes: &[u8]) -> (bool, [u64; 4]) {
        let to = end.address().unwrap();
        from.ends.socket.send_to(bytes, &to.into()).unwrap();
        while !end.fetch(NOTHING) {}
        let is_taken = end.next().is_some();
        let Datagrams {
            foreign,
            misplaced,
            forged,
            replayed,
            ..
        } = end.counters;
        (is_taken, [foreign, misplaced, forged, replayed])
    }

    #[test]
    fn strays_are_counted_by_what_is_wrong_with_them() {
        for secure in SECURE {
            let (left, mut right, datagram) = caught(secure);
            let other = Socket::bind(Ipv4Addr::LOCALHOST.into(), &Settings::default()).unwrap();
            let mut throw = |from, bytes: &[u8]| throw(&mut right, from, bytes);
            assert_eq!(throw(&left, &datagram[..9]), (false, [1, 0, 0, 0]));
            let long = [&datagram[..], &[0; 7]].concat();
            assert!(
                throw(&left, &long[..datagram.len() - 1]).1[0] == 2,
                "{secure}"
            );
            assert_eq!(throw(&other, &datagram), (false, [2, 1, 0, 0]), "{secure}");
            let mut turned = datagram.clone();
            turned[WRAP_BYTES + 4] ^= 1;
            let got = throw(&left, &turned);
            if secure == Secure::Cookie {
                // All that a cookie can tell is the job.
                assert_eq!(got, (true, [2, 1, 0, 0]));
                continue;
            }
            assert_eq!(got, (false, [2, 1, 1, 0]), "{secure}");
            assert!(throw(&left, &datagram).0, "{secure}");
            let expected = if secure == Secure::Encrypt {
                (false, [2, 1, 1, 1])
            } else {
                // The protocol's numbers see to it.
                (true, [2, 1, 1, 0])
            };
            assert_eq!(throw(&left, &datagram), expected, "{secure}");
        }
    }

    #[test]
    fn packets_to_one_peer_do_not_overtake_each_other() {
        let settings = Settings::default();
        let mut ends: Vec<_> = (0..3)
            .map(|_| Socket::bind(Ipv4Addr::LOCALHOST.into(), &settings).unwrap())
            .collect();
        let peers: Vec<_> = ends.iter().map(|end| end.address().unwrap()).collect();
        for (end, me) in ends.iter_mut().zip(0..) {
            end.know(Job {
                me,
                seal: seal(settings.secure.unwrap_or(Secure::Cookie), me),
                peers: peers.clone(),
                longest_bytes: LONGEST_BYTES,
                header_bytes: 36,
                coalesces: true,
            });
        }
        let lens = [30, 900, 500, 60, 984, 984, 10, 20];
        for (number, len) in lens.into_iter().cycle().take(90).enumerate() {
            let body = vec![number as u8 / 2; len];
            ends[0].push(1 + number as u32 % 2, &body, &[], AreaPart::EMPTY);
        }
        ends[0].flush();
        for end in &mut ends[1..] {
            let (mut numbers, mut bytes) = (Vec::new(), 0);
            while numbers.last() != Some(&44) || bytes < 45 {
                end.fetch(NOTHING);
                while let Some((_, place)) = end.next() {
                    numbers.extend_from_slice(end.bytes(place));
                    bytes = numbers.len();
                }
            }
            assert!(numbers.is_sorted());
        }
    }
}
