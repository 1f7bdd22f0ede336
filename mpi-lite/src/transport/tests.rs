//! One conformance suite over every transport: what the engine relies on.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use rmpp_core::Caps;

use super::udp::protocol::Protocol;
use super::udp::{Bound, Card};
use super::*;
use crate::clock::{Clock, Instant};
use crate::config::{Secure, Settings};
use crate::data::{Area, Basic, Datatype};
use crate::memory::Span;

/// Two ends of one transport, and how time passes there.
pub(crate) struct Rig {
    pub(crate) links: Vec<Link>,
    pub(crate) clock: Clock,
    #[cfg(feature = "sim")]
    pub(crate) air: Option<sim::Air>,
}

/// The envelope of a message, and its body if it landed in a buffer.
type Message = (EnvelopeBytes, Option<Vec<u8>>);

/// What the ends learned.
#[derive(Default)]
struct Heard {
    /// Messages that are complete.
    arrived: Vec<Message>,
    sent: Vec<Token>,
    /// Messages that are not, by end and name.
    coming: BTreeMap<(usize, u32), Message>,
    /// A message that was complete when it landed; its body is there when the link has returned.
    whole: Vec<Message>,
    /// Some progress only moved bytes.
    moved: bool,
}

/// Where a test lands a message.
enum Place {
    Into(Area),
    Buffer,
    Later,
}

/// One end of a link, which listens.
struct Listener<'a, F> {
    heard: &'a mut Heard,
    end: usize,
    place: &'a mut F,
}

impl<F: FnMut(Arrival, u64) -> Place> Sink for Listener<'_, F> {
    fn arriving(&mut self, message: Incoming) -> Landing {
        let Incoming {
            arrival,
            envelope,
            len,
            is_whole,
            ..
        } = message;
        let (landing, buffer) = match (self.place)(arrival, len) {
            Place::Into(area) => (Landing::Into(area), None),
            Place::Buffer => {
                let mut buffer = vec![0; len as usize];
                (Landing::Into(Area::of_bytes(&mut buffer)), Some(buffer))
            }
            Place::Later => (Landing::Later, None),
        };
        if is_whole && matches!(landing, Landing::Into(_)) {
            self.heard.whole.push((envelope, buffer));
        } else {
            let name = (self.end, arrival.0);
            let before = self.heard.coming.insert(name, (envelope, buffer));
            assert!(before.is_none(), "{arrival:?} is the name of another one");
        }
        landing
    }

    fn arrived(&mut self, arrival: Arrival) {
        let message = self.heard.coming.remove(&(self.end, arrival.0));
        self.heard.arrived.push(message.expect("it was announced"));
    }

    fn sent(&mut self, token: Token) {
        self.heard.sent.push(token);
    }

    fn lost(&mut self, lost: Lost) {
        panic!("{:?} is lost", lost.peer);
    }

    fn wants_more(&self) -> bool {
        // One thing at a time.
        self.heard.whole.is_empty()
    }
}

fn loopback() -> Rig {
    let links = vec![Link::Loopback(Loopback::new(PeerId(0)))];
    Rig {
        links,
        clock: Clock::start(),
        #[cfg(feature = "sim")]
        air: None,
    }
}

fn udp(change: impl Fn(&mut Settings)) -> Rig {
    udp_of::<udp::Rmpp>(2, change).0
}

/// How the settings of a rig differ from those by default.
type Change<'a> = &'a dyn Fn(&mut Settings);

/// Two ranks with a packet protocol over UDP between them.
fn two<P: Protocol>(change: Change<'_>) -> Rig
where
    Link: From<Udp<P>>,
{
    udp_of::<P>(2, change).0
}

/// What makes two ranks.
type Make = fn(Change<'_>) -> Rig;

/// The packet protocols of the laboratory, by name, if it is built.
const LABORATORY: &[&[(&str, Make)]] = &[
    #[cfg(feature = "laboratory")]
    {
        use super::laboratory::{GoBackN, Piped, Sctp, Unet};
        &[
            ("gobackn", two::<Piped<GoBackN>>),
            ("unet", two::<Piped<Unet>>),
            ("sctp", two::<Piped<Sctp>>),
        ]
    },
];

/// Each packet protocol, by name, with these settings.
fn packet_protocols(change: Change<'_>) -> Vec<(&'static str, Rig)> {
    let others = LABORATORY.iter().copied().flatten();
    let others = others.map(|(name, make)| (*name, make(change)));
    [("rmpp", two::<udp::Rmpp>(change))]
        .into_iter()
        .chain(others)
        .collect()
}

/// `ranks` ends, and what they tell of themselves.
fn udp_of<P: Protocol>(ranks: usize, change: impl Fn(&mut Settings)) -> (Rig, Vec<Card>)
where
    Link: From<Udp<P>>,
{
    let mut settings = Settings::default();
    change(&mut settings);
    let clock = Clock::start();
    let bound: Vec<Bound<P>> = (0..ranks)
        .map(|_| Bound::new(Ipv4Addr::LOCALHOST.into(), 1, &settings).unwrap())
        .collect();
    let cards: Vec<Card> = bound.iter().map(|bound| bound.card().clone()).collect();
    let connect = |(bound, me): (Bound<P>, u32)| {
        Link::from(bound.connect(PeerId(me), &cards, &[77; 32], (&settings, clock)))
    };
    let links = bound.into_iter().zip(0..).map(connect).collect();
    let rig = Rig {
        links,
        clock,
        #[cfg(feature = "sim")]
        air: None,
    };
    (rig, cards)
}

/// Two ranks with connections between them.
fn tcp(sharing: tcp::Sharing) -> Rig {
    let links = tcp::tests::network(2, sharing).into_iter().map(Link::from);
    Rig {
        links: links.collect(),
        clock: Clock::start(),
        #[cfg(feature = "sim")]
        air: None,
    }
}

/// Two ranks that share memory, though both are this process.
fn shared(copies_across: bool) -> Rig {
    let links = shm::tests::local_peers(2, copies_across)
        .into_iter()
        .map(Link::Shm);
    Rig {
        links: links.collect(),
        clock: Clock::start(),
        #[cfg(feature = "sim")]
        air: None,
    }
}

#[cfg(feature = "sim")]
fn simulated_as(guest: sim::Guest, packet_bytes: usize, loss_ppm: u32) -> Rig {
    let air = sim::Air::new(2, 4711, rmpp_sim::Faults::lossy(loss_ppm));
    let config = rmpp_core::Config::classic(2, packet_bytes);
    let links = (0..2).map(|me| Link::simulated(guest, &air, PeerId(me), &config));
    Rig {
        links: links.collect(),
        clock: Clock::start(),
        air: Some(air),
    }
}

/// Each protocol of streams, by name.
fn rigs_of_streams() -> Vec<(&'static str, Rig)> {
    let small = |settings: &mut Settings| settings.packet_bytes = Some(1000);
    let bad = on_a_bad_network(small);
    let ways: [(&str, Change<'_>); 5] = [
        ("as by default", &|_| {}),
        ("packets of 1000 bytes", &small),
        ("tagged", &|settings| settings.secure = Some(Secure::Tag)),
        ("encrypted", &|settings| {
            settings.secure = Some(Secure::Encrypt)
        }),
        ("a bad network", &bad),
    ];
    let mut rigs = Vec::new();
    for (protocol, make) in LABORATORY.iter().copied().flatten() {
        for (way, change) in ways {
            rigs.push((&*format!("{protocol}, {way}").leak(), make(change)));
        }
    }
    #[cfg(feature = "sim")]
    for (name, guest) in [
        ("gobackn, simulated", sim::Guest::GoBackN),
        ("unet, simulated", sim::Guest::Unet),
        ("sctp, simulated", sim::Guest::Sctp),
    ] {
        rigs.push((name, simulated_as(guest, 1000, 0)));
        rigs.push((name, simulated_as(guest, 1000, 30_000)));
    }
    rigs
}

#[cfg(feature = "sim")]
fn simulated(packet_bytes: usize, loss_ppm: u32, profile: &str) -> Rig {
    use rmpp_core::Config;
    use rmpp_sim::Faults;
    let air = sim::Air::new(2, 4711, Faults::lossy(loss_ppm));
    let config = Config::with_caps(2, packet_bytes, caps(profile));
    let links = (0..2)
        .map(|me| Link::from(air.join(PeerId(me), config.clone())))
        .collect();
    Rig {
        links,
        clock: Clock::start(),
        air: Some(air),
    }
}

fn caps(profile: &str) -> Caps {
    Caps::parse(profile).unwrap()
}

/// Every transport, by its name, and in which way.
pub(crate) fn rigs() -> Vec<(&'static str, Rig)> {
    let small = |settings: &mut Settings| settings.packet_bytes = Some(1000);
    let mut rigs = vec![
        ("loopback", loopback()),
        ("shm", shared(true)),
        ("shm, all through the ring", shared(false)),
        ("tcp", tcp(tcp::Sharing::Pair)),
        ("tcp-trc", tcp(tcp::Sharing::Channel)),
        ("rmpp", udp(|_| {})),
        ("rmpp, packets of 1000 bytes", udp(small)),
        (
            "rmpp, packets of 1000 bytes one by one",
            udp(|settings| {
                small(settings);
                (settings.gso, settings.gro) = (false, false);
            }),
        ),
        (
            "rmpp, bursts to who takes no trains",
            udp(|settings| {
                small(settings);
                settings.gro = false;
            }),
        ),
    ];
    rigs.extend(rigs_of_streams());
    rigs.push(("rmpp, a bad network", udp(on_a_bad_network(small))));
    for (name, secure) in SEALS {
        rigs.push((name, udp(|settings| settings.secure = Some(secure))));
        let with_small = |settings: &mut Settings| {
            small(settings);
            settings.secure = Some(secure);
        };
        rigs.push((name, udp(with_small)));
        rigs.push((name, udp(on_a_bad_network(with_small))));
        let one_by_one = |settings: &mut Settings| {
            with_small(settings);
            settings.rmpp = Caps::CLASSIC;
            (settings.gso, settings.gro) = (false, false);
        };
        rigs.push((name, udp(one_by_one)));
    }
    for (name, profile) in PROFILES {
        let with_profile = |settings: &mut Settings| {
            small(settings);
            settings.rmpp = caps(profile);
        };
        rigs.push((name, udp(with_profile)));
        #[cfg(feature = "sim")]
        rigs.push((name, simulated(1000, 0, profile)));
        // Classic repeats a whole message: it must be short in packets.
        #[cfg(feature = "sim")]
        rigs.push((name, simulated(20_000, 30_000, profile)));
    }
    rigs
}

/// An engine runs over each of these, too: see `engine/lane/port_tests.rs`.
#[test]
fn each_transport_that_a_user_can_name_has_a_rig() {
    let rigs = rigs();
    for transport in TRANSPORTS {
        let is_built = !LABORATORY.is_empty() || !transport.is_of_laboratory;
        // It chooses one of the others.
        let is_choice = transport.name == "auto";
        let has_rig = || {
            let mut words = rigs.iter().map(|(name, _)| name.split(',').next());
            words.any(|word| word == Some(transport.name))
        };
        assert!(is_choice || !is_built || has_rig(), "{}", transport.name);
    }
}

/// With losses, duplicates and datagrams that overtake others.
fn on_a_bad_network(change: impl Fn(&mut Settings)) -> impl Fn(&mut Settings) {
    let network = "loss=3%,delay=100us,jitter=50us,reorder=3%,duplicate=3%,seed=1";
    move |settings| {
        change(settings);
        settings.network = Some(network.parse().unwrap());
    }
}

/// Seals of datagrams beside the default.
const SEALS: [(&str, Secure); 2] = [
    ("rmpp, tagged", Secure::Tag),
    ("rmpp, encrypted", Secure::Encrypt),
];

/// Profiles of the protocol that all transports are tried with.
const PROFILES: [(&str, &str); 3] = [
    ("classic", "classic"),
    ("packets share datagrams", "classic,+coalesce"),
    ("fast", "fast"),
];

impl Rig {
    fn now(&self) -> Instant {
        #[cfg(feature = "sim")]
        if let Some(air) = &self.air {
            return air.now();
        }
        self.clock.now()
    }

    fn receiver(&self) -> usize {
        self.links.len() - 1
    }

    fn peer(&self) -> PeerId {
        PeerId(self.receiver() as u32)
    }

    /// Each end makes progress once; what arrives lands as `place` says. Returns true if anything
    /// was told.
    fn turn(
        &mut self,
        heard: &mut Heard,
        mut place: impl FnMut(Arrival, u64) -> Place,
    ) -> Progress {
        let mut done = Progress::Idle;
        for end in 0..self.links.len() {
            loop {
                let now = self.now();
                let mut listener = Listener {
                    heard,
                    end,
                    place: &mut place,
                };
                let progress = self.links[end].progress(now, &mut listener);
                heard.moved |= progress == Progress::Moved;
                done = done.max(progress);
                heard.arrived.append(&mut heard.whole);
                if progress != Progress::Delivered {
                    break;
                }
            }
        }
        #[cfg(feature = "sim")]
        if let (true, Some(air)) = (done != Progress::Delivered, &self.air) {
            let wake_at = self.links.iter().filter_map(Transport::wake_at).min();
            let _ = air.advance(wake_at);
        }
        done
    }

    /// Takes turns until `enough`.
    fn run(
        &mut self,
        heard: &mut Heard,
        mut place: impl FnMut(Arrival, u64) -> Place,
        enough: impl Fn(&Heard) -> bool,
    ) {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while !enough(heard) {
            assert!(
                std::time::Instant::now() < deadline,
                "nothing happens any more"
            );
            self.turn(heard, &mut place);
        }
    }

    /// Takes turns until all that was sent is with its receivers. The system of a TCP connection
    /// says so a moment later.
    fn run_until_quiet(&mut self, heard: &mut Heard) {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while !self.links.iter().all(Transport::is_quiet) {
            assert!(std::time::Instant::now() < deadline, "it is never quiet");
            self.turn(heard, no_more);
        }
    }

    /// A message lands that was held.
    fn land(&mut self, heard: &mut Heard, arrival: Arrival, area: Area) {
        let end = self.receiver();
        if self.links[end].land(arrival, Landing::Into(area)) {
            let message = heard.coming.remove(&(end, arrival.0));
            heard.arrived.push(message.expect("it was announced"));
        }
    }
}

fn envelope(number: u8) -> EnvelopeBytes {
    [number; ENVELOPE_BYTES]
}

fn outbound(envelope: &EnvelopeBytes, body: Span, token: Token) -> Outbound<'_> {
    Outbound {
        envelope,
        body: body.into(),
        token,
        is_awaited: true,
        needs_match: false,
    }
}

fn body(number: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 31 + number) as u8).collect()
}

/// Lengths around what fits one packet of 1000 bytes with the envelope, and longer ones.
const LENGTHS: [usize; 9] = [0, 1, 983, 984, 985, 1000, 1984, 65_536, 300_000];

#[test]
fn every_length_lands_whole_in_place() {
    for (name, mut rig) in rigs() {
        for (number, len) in LENGTHS.into_iter().enumerate() {
            let (mut out, mut room) = (body(number, len), vec![0; len]);
            let (from, to) = (Span::of(&mut out), Span::of(&mut room));
            let peer = rig.peer();
            rig.links[0]
                .send(peer, outbound(&envelope(number as u8), from, Token(9)))
                .unwrap();
            let mut heard = Heard::default();
            rig.run(
                &mut heard,
                |_, announced| {
                    assert_eq!(announced, len as u64, "{name}");
                    Place::Into(to.into())
                },
                |heard| !heard.arrived.is_empty() && !heard.sent.is_empty(),
            );
            assert_eq!(heard.arrived, [(envelope(number as u8), None)], "{name}");
            assert_eq!(heard.sent, [Token(9)], "{name}");
            assert!(room == out, "{name}: {len} bytes differ");
        }
    }
}

/// Bytes of a block, and from the start of one to that of the next.
type Blocks = (usize, usize);

/// `len` bytes in such blocks in `memory`.
fn in_blocks(memory: &mut [u8], len: usize, (block, step): Blocks) -> Area {
    let count = (len / block) as u64;
    let vector = Datatype::Basic(Basic::Byte).vector(count, block as u64, step as i64);
    let origin = Span::of(memory).origin(0);
    Area::at(origin, 1, &vector.unwrap()).unwrap()
}

/// The bytes of the blocks in `memory`, one behind the other, and those between them.
fn apart(memory: &[u8], (block, step): Blocks) -> (Vec<u8>, Vec<u8>) {
    let (mut data, mut gaps) = (Vec::new(), Vec::new());
    for chunk in memory.chunks(step) {
        data.extend_from_slice(&chunk[..block]);
        gaps.extend_from_slice(&chunk[block..]);
    }
    (data, gaps)
}

/// Sends `len` bytes from blocks into other blocks, which hold `room` bytes; first they are held,
/// if `waits`.
fn send_blocks(
    (name, rig): (&str, &mut Rig),
    blocks: [Blocks; 2],
    lens: (usize, usize),
    waits: bool,
) {
    let ([out, place], (len, room)) = (blocks, lens);
    let mut from = body(len, len / out.0 * out.1);
    let mut to = vec![0xee; room / place.0 * place.1];
    let area = in_blocks(&mut to, room, place);
    let (peer, envelope) = (rig.peer(), envelope(1));
    let message = Outbound {
        body: in_blocks(&mut from, len, out),
        ..outbound(&envelope, Span::EMPTY, Token(9))
    };
    rig.links[0].send(peer, message).unwrap();
    let held = core::cell::Cell::new(None);
    let land = |arrival, _| {
        held.set(waits.then_some(arrival));
        if waits {
            Place::Later
        } else {
            Place::Into(area.clone())
        }
    };
    let is_over = |heard: &Heard| heard.sent.len() == 1 && heard.arrived.len() == 1;
    let mut heard = Heard::default();
    rig.run(&mut heard, land, |heard| {
        held.get().is_some() || is_over(heard)
    });
    if let Some(arrival) = held.get() {
        rig.land(&mut heard, arrival, area.clone());
        rig.run(&mut heard, no_more, is_over);
    }
    let ((sent, _), (data, gaps)) = (apart(&from, out), apart(&to, place));
    assert!(
        data == sent[..room],
        "{name}: {len} bytes of {blocks:?} differ"
    );
    assert!(
        gaps.iter().all(|&byte| byte == 0xee),
        "{name}: {len} bytes of {blocks:?}"
    );
}

#[test]
fn a_body_in_blocks_lands_in_other_blocks() {
    // Short blocks, and blocks that are worth a vector each, of which there are many or few; the
    // last message of each kind is longer than what its receiver has room for.
    let short = ([(7, 10), (12, 16)], [(42_000, 42_000), (294_000, 84_000)]);
    let many = (
        [(300, 400), (260, 300)],
        [(78_000, 78_000), (312_000, 78_000)],
    );
    let long = (
        [(5_000, 7_000), (3_500, 3_600)],
        [(70_000, 70_000), (280_000, 70_000)],
    );
    for (name, mut rig) in rigs() {
        let packed_most = rig.links[0].capabilities().packed_most;
        for (blocks, lens) in [short, many, long] {
            for lens in lens {
                assert!(lens.0 as u64 > packed_most, "{name}");
                for waits in [false, true] {
                    send_blocks((name, &mut rig), blocks, lens, waits);
                }
            }
        }
    }
}

#[test]
fn messages_of_a_pair_are_announced_in_the_order_in_which_they_were_sent() {
    for (name, mut rig) in rigs() {
        let mut bodies: Vec<_> = (0..60).map(|n| body(n, LENGTHS[n % 6])).collect();
        let peer = rig.peer();
        for (number, out) in bodies.iter_mut().enumerate() {
            let token = Token(number as u32);
            rig.links[0]
                .send(
                    peer,
                    outbound(&envelope(number as u8), Span::of(out), token),
                )
                .unwrap();
        }
        let mut announced = Vec::new();
        let mut heard = Heard::default();
        rig.run(
            &mut heard,
            |arrival, len| {
                announced.push((arrival, len));
                Place::Buffer
            },
            |heard| heard.arrived.len() == 60 && heard.sent.len() == 60,
        );
        let lens: Vec<u64> = announced.iter().map(|&(_, len)| len).collect();
        let expected: Vec<u64> = bodies.iter().map(|body| body.len() as u64).collect();
        assert_eq!(lens, expected, "{name}");
        for (envelope, bounced) in &heard.arrived {
            let number = envelope[0] as usize;
            assert!(
                bounced.as_ref() == Some(&bodies[number]),
                "{name}: message {number}"
            );
        }
    }
}

#[test]
fn bytes_that_do_not_fit_are_dropped_and_the_message_still_arrives() {
    for (name, mut rig) in rigs() {
        let (mut out, mut room) = (body(1, 5000), vec![0; 5000]);
        let (from, short) = (Span::of(&mut out), Span::of(&mut room).part(0, 1500));
        let peer = rig.peer();
        rig.links[0]
            .send(peer, outbound(&envelope(1), from, Token(1)))
            .unwrap();
        let mut heard = Heard::default();
        let enough = |heard: &Heard| heard.arrived.len() == 1 && heard.sent.len() == 1;
        rig.run(&mut heard, |_, _| Place::Into(short.into()), enough);
        assert!(room[..1500] == out[..1500], "{name}");
        assert!(room[1500..].iter().all(|&byte| byte == 0), "{name}");
    }
}

#[test]
fn a_message_that_lands_later_is_not_sent_before_and_lets_others_pass() {
    for (name, mut rig) in rigs() {
        for len in [0, 8, 5000] {
            let (mut first, mut second) = (body(1, len), body(2, 100));
            let mut room = vec![0; len];
            let peer = rig.peer();
            let (kept, passing) = (envelope(1), envelope(2));
            let matched = Outbound {
                needs_match: true,
                ..outbound(&kept, Span::of(&mut first), Token(1))
            };
            rig.links[0].send(peer, matched).unwrap();
            rig.links[0]
                .send(peer, outbound(&passing, Span::of(&mut second), Token(2)))
                .unwrap();
            let mut held = None;
            let mut heard = Heard::default();
            rig.run(
                &mut heard,
                |arrival, _| {
                    if held.is_none() {
                        held = Some(arrival);
                        return Place::Later;
                    }
                    Place::Buffer
                },
                |heard| !heard.sent.is_empty() && !heard.arrived.is_empty(),
            );
            assert_eq!(heard.sent, [Token(2)], "{name}");
            heard.sent.clear();
            rig.land(&mut heard, held.unwrap(), Span::of(&mut room).into());
            rig.run(&mut heard, no_more, |heard| {
                heard.sent.len() == 1 && heard.arrived.len() == 2
            });
            assert_eq!(heard.sent, [Token(1)], "{name}");
            assert!(room == first, "{name}: {len} bytes differ");
            rig.run_until_quiet(&mut heard);
        }
    }
}

/// All messages have been announced.
fn no_more(_: Arrival, _: u64) -> Place {
    panic!("nothing else was sent");
}

#[test]
fn turns_that_only_move_a_long_message_differ_from_idle_turns() {
    /// A late copy of a packet may still come.
    const QUIET_TURNS: u32 = 100;
    for (name, mut rig) in rigs().into_iter().filter(|(name, _)| *name != "loopback") {
        // More than shared memory moves in one turn; what is lost is sent anew by some others.
        let len = if name.starts_with("shm") {
            4 << 20
        } else {
            300_000
        };
        let (mut out, mut room) = (body(1, len), vec![0; len]);
        let (bytes, to) = (envelope(1), rig.peer());
        let message = outbound(&bytes, Span::of(&mut out), Token(1));
        rig.links[0].send(to, message).unwrap();
        let mut heard = Heard::default();
        let place = Span::of(&mut room);
        rig.run(
            &mut heard,
            |_, _| Place::Into(place.into()),
            |heard| heard.arrived.len() + heard.sent.len() == 2,
        );
        assert!(heard.moved, "{name}");
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        let mut quiet = 0;
        while quiet < QUIET_TURNS {
            assert!(std::time::Instant::now() < deadline, "{name}: it moves on");
            quiet = match rig.turn(&mut heard, no_more) {
                Progress::Idle => quiet + 1,
                Progress::Moved => 0,
                Progress::Delivered => panic!("{name}: all is told"),
            };
        }
    }
}

#[test]
fn both_ends_send_at_once() {
    for (name, mut rig) in rigs().into_iter().filter(|(_, rig)| rig.links.len() == 2) {
        let (mut left, mut right) = (body(1, 200_000), body(2, 200_000));
        rig.links[0]
            .send(
                PeerId(1),
                outbound(&envelope(1), Span::of(&mut left), Token(1)),
            )
            .unwrap();
        rig.links[1]
            .send(
                PeerId(0),
                outbound(&envelope(2), Span::of(&mut right), Token(2)),
            )
            .unwrap();
        let mut heard = Heard::default();
        let enough = |heard: &Heard| heard.arrived.len() == 2 && heard.sent.len() == 2;
        rig.run(&mut heard, |_, _| Place::Buffer, enough);
        for (envelope, bounced) in heard.arrived {
            let expected = if envelope[0] == 1 { &left } else { &right };
            assert!(bounced.as_ref() == Some(expected), "{name}");
        }
    }
}

/// Sends a message that fills packets, and some whose last packet has the lengths between one that
/// is nearly empty and one that is nearly full.
fn fill_packets(name: &str, mut rig: Rig) {
    let mut bodies: Vec<_> = [200_000, 3000, 4000, 4100, 5000, 9000]
        .into_iter()
        .enumerate()
        .map(|(number, len)| body(number, len))
        .collect();
    let count = bodies.len();
    for (number, out) in bodies.iter_mut().enumerate() {
        let (envelope, token) = (envelope(number as u8), Token(number as u32));
        let message = outbound(&envelope, Span::of(out), token);
        rig.links[0].send(PeerId(1), message).unwrap();
    }
    let mut heard = Heard::default();
    let enough = |heard: &Heard| heard.arrived.len() == count && heard.sent.len() == count;
    rig.run(&mut heard, |_, _| Place::Buffer, enough);
    for (envelope, arrived) in heard.arrived {
        let sent = &bodies[usize::from(envelope[0])];
        assert!(
            arrived.as_ref() == Some(sent),
            "{name}: {} bytes",
            sent.len()
        );
    }
}

#[test]
fn full_packets_of_any_length_pass_under_every_seal() {
    // The greatest is what the path carries. Around 4096 bytes: what a fragment of a stream has,
    // and what the number of covered bytes in a wrap ends at.
    let lengths = [
        Some(200),
        Some(1000),
        Some(4064),
        Some(4096),
        Some(9000),
        None,
    ];
    for secure in [Secure::Cookie, Secure::Tag, Secure::Encrypt] {
        for packet_bytes in lengths {
            let change = |settings: &mut Settings| {
                (settings.secure, settings.packet_bytes) = (Some(secure), packet_bytes);
            };
            for (transport, rig) in packet_protocols(&change) {
                let name = format!("{transport}, {secure}, packets of {packet_bytes:?} bytes");
                fill_packets(&name, rig);
            }
        }
    }
}

/// Hears of a peer that does not answer.
#[derive(Default)]
struct Silence {
    unheard: Vec<Unheard>,
    lost: Vec<Lost>,
}

impl Sink for Silence {
    fn arriving(&mut self, _message: Incoming) -> Landing {
        panic!("nothing gets through");
    }

    fn arrived(&mut self, _arrival: Arrival) {}

    fn sent(&mut self, _token: Token) {}

    fn lost(&mut self, lost: Lost) {
        self.lost.push(lost);
    }

    fn unheard(&mut self, peer: Unheard) {
        self.unheard.push(peer);
    }

    fn wants_more(&self) -> bool {
        true
    }
}

#[test]
fn a_network_to_order_is_named_only_if_it_lets_nothing_through_and_else_a_firewall() {
    const NETWORKS: [(&str, bool); 3] = [
        ("loss=100%,seed=1", true),
        ("rate=1bit", true),
        ("delay=1ms", false),
    ];
    const LOST_S: u64 = 20;
    for (text, is_to_blame) in NETWORKS {
        let network = text.parse().unwrap();
        let change = |settings: &mut Settings| {
            (settings.network, settings.lost_s) = (Some(network), LOST_S);
        };
        for (_, mut rig) in packet_protocols(&change) {
            let envelope = envelope(1);
            let message = outbound(&envelope, Span::EMPTY, Token(1));
            rig.links[0].send(PeerId(1), message).unwrap();
            let mut heard = Silence::default();
            let mut now = rig.clock.now();
            // The other process does nothing.
            for _ in 0..20 * LOST_S {
                rig.links[0].flush();
                rig.links[0].progress(now, &mut heard);
                now = now.plus(core::time::Duration::from_millis(500));
            }
            assert!(!heard.unheard.is_empty(), "{text}");
            let hindrance = is_to_blame.then_some(Hindrance::BadNetwork(network));
            for unheard in heard.unheard {
                assert_eq!(unheard.hindrance, hindrance);
            }
            let [lost] = &heard.lost[..] else {
                panic!("{text}: {:?}", heard.lost);
            };
            let names_it = lost.reason.contains(&format!("--net {network}"));
            let names_firewall = lost.reason.contains("firewall");
            assert_eq!(
                (names_it, names_firewall),
                (is_to_blame, !is_to_blame),
                "{}",
                lost.reason
            );
        }
    }
}

#[test]
fn packets_of_others_in_the_place_of_awaited_ones_do_no_harm() {
    const LEN: usize = 300_000;
    for secure in [Secure::Cookie, Secure::Tag, Secure::Encrypt] {
        let (mut rig, cards) = udp_of::<udp::Rmpp>(3, |settings| settings.secure = Some(secure));
        let stray = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut bodies: Vec<_> = (0..20).map(|number| body(number, LEN)).collect();
        let mut rooms = vec![vec![0; LEN]; bodies.len()];
        for (number, out) in bodies.iter_mut().enumerate() {
            // Two senders whose packets mix, and a third one that does not belong here.
            let envelope = envelope(number as u8);
            let message = outbound(&envelope, Span::of(out), Token(number as u32));
            rig.links[number % 2].send(PeerId(2), message).unwrap();
        }
        let mut landed = Vec::new();
        let mut heard = Heard::default();
        let places: Vec<_> = rooms.iter_mut().map(|room| Span::of(room)).collect();
        rig.run(
            &mut heard,
            |arrival, _| {
                for len in [20, 700, 60_000, 65_000] {
                    stray
                        .send_to(&body(landed.len(), len), cards[2].address)
                        .unwrap();
                }
                landed.push(arrival);
                Place::Into(places[landed.len() - 1].into())
            },
            |heard| heard.arrived.len() == 20 && heard.sent.len() == 20,
        );
        for room in &rooms {
            // All of it is of one message.
            let number = usize::from(room[0]);
            assert!(*room == bodies[number], "{secure}: message {number}");
        }
    }
}
