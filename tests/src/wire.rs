//! The loopback interface as an attacker on the path has it: what travels is captured, and sent
//! again with any address. Needs root or `CAP_NET_RAW`.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::fd::OwnedFd;
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto,
    socket_with, sockopt::set_socket_recv_buffer_size_force,
};

/// Bytes in front of the IP header in a packet captured on the loopback.
const ETHERNET: usize = 14;
/// Bytes of an IP header without options and of a UDP header.
const IP: usize = 20;
const UDP: usize = 8;
/// Where in the wrap of a datagram its sender's rank is.
const RANK_AT: usize = 8;
/// Packets that a tap keeps, and how long it waits for the next one before it looks up.
const KEPT: usize = 20_000;
const PAUSE: Duration = Duration::from_millis(1);
/// How long packets may fail to come.
const LONGEST: Duration = Duration::from_secs(60);

/// An IP packet with a UDP datagram between two ports of 127.0.0.1, as it was on the wire.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Captured(Vec<u8>);

impl Captured {
    fn read(frame: &[u8]) -> Option<Self> {
        let ip = frame.get(ETHERNET..)?;
        let is_udp = ip.len() > IP + UDP && ip[0] == 0x45 && ip[9] == 17;
        // Jobs behind an sshd of the tests have other addresses, where a port may be another's.
        let is_local = |at: usize| ip[at..at + 4] == Ipv4Addr::LOCALHOST.octets();
        (is_udp && is_local(12) && is_local(16)).then(|| Self(ip.to_vec()))
    }

    /// A UDP packet on the loopback with this payload.
    #[must_use]
    pub fn new(from: u16, to: u16, payload: &[u8]) -> Self {
        let mut ip = vec![0; IP + UDP];
        (ip[0], ip[8], ip[9]) = (0x45, 64, 17);
        ip[12..16].copy_from_slice(&Ipv4Addr::LOCALHOST.octets());
        ip[16..20].copy_from_slice(&Ipv4Addr::LOCALHOST.octets());
        ip[IP..IP + 2].copy_from_slice(&from.to_be_bytes());
        ip[IP + 2..IP + 4].copy_from_slice(&to.to_be_bytes());
        ip.extend_from_slice(payload);
        Self(ip)
    }

    /// The port it comes from.
    #[must_use]
    pub fn from(&self) -> u16 {
        u16::from_be_bytes([self.0[IP], self.0[IP + 1]])
    }

    /// The port it goes to.
    #[must_use]
    pub fn to(&self) -> u16 {
        u16::from_be_bytes([self.0[IP + 2], self.0[IP + 3]])
    }

    /// What it carries.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        &self.0[IP + UDP..]
    }

    /// The same packet with one bit of its payload turned over.
    #[must_use]
    pub fn turned(&self, bit: usize) -> Self {
        let mut turned = self.clone();
        turned.0[IP + UDP + bit / 8] ^= 1 << (bit % 8);
        turned
    }

    /// The rank that the wrap of the datagram names as its sender.
    #[must_use]
    pub fn sender(&self) -> Option<u32> {
        let rank = self.payload().get(RANK_AT..)?.first_chunk()?;
        Some(u32::from_be_bytes(*rank))
    }
}

fn open(family: AddressFamily, protocol: u32) -> OwnedFd {
    let protocol = core::num::NonZeroU32::new(protocol).map(Protocol::from_raw);
    socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC, protocol)
        .unwrap_or_else(|error| panic!("raw sockets are needed (root or CAP_NET_RAW): {error}"))
}

fn listen() -> OwnedFd {
    const ALL_PROTOCOLS: u32 = 0x0003_u16.to_be() as u32;
    // Others may flood the loopback at the same time: what does not fit is not heard.
    const BUFFER_BYTES: usize = 128 << 20;
    let wire = open(AddressFamily::PACKET, ALL_PROTOCOLS);
    set_socket_recv_buffer_size_force(&wire, BUFFER_BYTES).expect("root or CAP_NET_ADMIN");
    wire
}

/// The UDP packet that travels next, if one is there; its beginning, if the buffer is short.
fn hear(wire: &OwnedFd, buffer: &mut [u8]) -> Option<Captured> {
    loop {
        let (got, _) = recv(wire, &mut *buffer, RecvFlags::DONTWAIT).ok()?;
        let packet = Captured::read(&buffer[..got]);
        if packet.is_some() {
            return packet;
        }
    }
}

/// Captures `count` packets that travel to these ports from now on.
///
/// # Panics
/// If they do not come within a minute.
#[must_use]
pub fn capture(ports: &[u16], count: usize) -> Vec<Captured> {
    let wire = listen();
    let deadline = Instant::now() + LONGEST;
    let mut packets = Vec::new();
    let mut buffer = vec![0; 70_000];
    while packets.len() < count {
        let got = packets.len();
        assert!(Instant::now() < deadline, "only {got} packets on the wire");
        packets.extend(hear(&wire, &mut buffer).filter(|packet| ports.contains(&packet.to())));
    }
    packets
}

/// Waits until `count` packets have travelled from the first of two ports to the second.
///
/// # Panics
/// If none comes for a minute.
pub fn wait_until_passed(way: (u16, u16), count: usize) {
    let wire = listen();
    let (mut passed, mut last) = (0, Instant::now());
    let mut buffer = [0; ETHERNET + IP + UDP + 1];
    // On the loopback each packet is heard twice: when it goes out and when it comes in.
    while passed < 2 * count {
        let heard = hear(&wire, &mut buffer);
        if heard.is_some_and(|packet| (packet.from(), packet.to()) == way) {
            (passed, last) = (passed + 1, Instant::now());
        }
        let is_quiet = last.elapsed() > LONGEST;
        assert!(!is_quiet, "only {passed} packets passed");
    }
}

/// Sends packets with the addresses that they say, which may be anybody's.
pub fn forge<'a>(packets: impl IntoIterator<Item = &'a Captured>) {
    const RAW: u32 = 255;
    let wire = open(AddressFamily::INET, RAW);
    for Captured(ip) in packets {
        let mut ip = ip.clone();
        let bytes = u16::try_from(ip.len() - IP).unwrap_or(u16::MAX);
        ip[IP + 4..IP + 6].copy_from_slice(&bytes.to_be_bytes());
        // On the loopback nobody computes the checksum; zero says that there is none.
        ip[IP + 6..IP + 8].fill(0);
        let to = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
        // A full queue refuses a packet now and then; the next one is as good.
        let _ = sendto(&wire, &ip, SendFlags::empty(), &to);
    }
}

/// Listens in the background, from before a job begins.
#[derive(Debug)]
pub struct Tap {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Captured>>,
}

impl Tap {
    /// Begins to keep those UDP packets of the loopback that are `wanted`, the first bytes of each.
    #[must_use]
    pub fn new(wanted: fn(&Captured) -> bool) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let (wire, told) = (listen(), Arc::clone(&is_over));
        let thread = std::thread::spawn(move || {
            let (mut packets, mut buffer) = (Vec::new(), [0; 256]);
            let mut end = None;
            // What has travelled until the end is heard, however late; what follows need not be.
            while end.is_none_or(|end| Instant::now() < end) {
                if end.is_none() && told.load(Ordering::Relaxed) {
                    end = Some(Instant::now() + LONGEST);
                }
                match hear(&wire, &mut buffer) {
                    Some(packet) if packets.len() < KEPT && wanted(&packet) => packets.push(packet),
                    Some(_) => {}
                    None if end.is_some() => break,
                    None => std::thread::sleep(PAUSE),
                }
            }
            packets
        });
        Self { is_over, thread }
    }

    /// Ends it; what went to these ports.
    ///
    /// # Panics
    /// If the listener has panicked.
    #[must_use]
    pub fn heard(self, ports: &[u16]) -> Vec<Captured> {
        self.is_over.store(true, Ordering::Relaxed);
        let mut packets = self.thread.join().expect("the listener does not panic");
        packets.retain(|packet| ports.contains(&packet.to()));
        packets
    }
}
