//! Several processes in one thread, over the loopback interface.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use super::proof::{CLAIM_BYTES, Challenge, Claim};
use super::*;
use crate::config::PortRange;
use crate::memory::Span;

const KEY: [u8; KEY_BYTES] = [77; KEY_BYTES];

/// A process that listens on `port`; 0: the system chooses.
fn bound(sharing: Sharing, port: u16) -> Result<Bound, String> {
    let range = PortRange {
        first: port,
        last: port,
    };
    let settings = Settings {
        port_range: (port > 0).then_some(range),
        ..Settings::default()
    };
    Bound::new(Ipv4Addr::LOCALHOST.into(), sharing, &settings)
}

/// `ranks` processes that know each other.
pub(in crate::transport) fn network(ranks: u32, sharing: Sharing) -> Vec<Tcp> {
    network_at(&vec![0; ranks as usize], sharing)
}

/// A process at each of the ports.
fn network_at(ports: &[u16], sharing: Sharing) -> Vec<Tcp> {
    let clock = Clock::start();
    let bound: Vec<_> = ports
        .iter()
        .map(|&port| bound(sharing, port).unwrap())
        .collect();
    let cards: Vec<_> = bound.iter().map(|bound| bound.card().clone()).collect();
    let context = (&Settings::default(), clock);
    let connect = |(bound, me): (Bound, u32)| bound.connect(PeerId(me), &cards, &KEY, context);
    bound.into_iter().zip(0..).map(connect).collect()
}

/// What one process has heard. All messages land in buffers at once.
#[derive(Default)]
struct Ear {
    arriving: Vec<(Arrival, PeerId, u8, Vec<u8>)>,
    /// Sender, number and body of complete messages.
    arrived: Vec<(PeerId, u8, Vec<u8>)>,
    sent: Vec<Token>,
    lost: Vec<Lost>,
}

impl Sink for Ear {
    fn arriving(&mut self, message: Incoming) -> Landing {
        let mut body = vec![0; message.len as usize];
        let area = Span::of(&mut body).into();
        let number = message.envelope[0];
        if message.is_whole {
            // Its body is here when the link returns.
            self.arrived.push((message.from, number, body));
        } else {
            self.arriving
                .push((message.arrival, message.from, number, body));
        }
        Landing::Into(area)
    }

    fn arrived(&mut self, arrival: Arrival) {
        let place = self.arriving.iter().position(|it| it.0 == arrival);
        let (_, from, number, body) = self.arriving.remove(place.unwrap());
        self.arrived.push((from, number, body));
    }

    fn sent(&mut self, token: Token) {
        self.sent.push(token);
    }

    fn lost(&mut self, lost: Lost) {
        self.lost.push(lost);
    }

    fn wants_more(&self) -> bool {
        true
    }
}

/// The processes of a test, and what they hear.
struct World {
    links: Vec<Tcp>,
    ears: Vec<Ear>,
}

impl World {
    fn of(links: Vec<Tcp>) -> Self {
        let ears = links.iter().map(|_| Ear::default()).collect();
        Self { links, ears }
    }

    fn send(&mut self, from: usize, to: u32, number: u8, body: &mut [u8]) {
        let envelope = [number; super::super::ENVELOPE_BYTES];
        let message = Outbound {
            envelope: &envelope,
            body: Span::of(body).into(),
            token: Token(number.into()),
            is_awaited: false,
            needs_match: false,
        };
        self.links[from].send(PeerId(to), message).unwrap();
    }

    fn turn(&mut self) {
        for (link, ear) in self.links.iter_mut().zip(&mut self.ears) {
            link.progress(link.clock.now(), ear);
        }
    }

    /// Takes turns until `enough`.
    fn run(&mut self, enough: impl Fn(&Self) -> bool) {
        let deadline = std::time::Instant::now() + Duration::from_secs(60);
        while !enough(self) {
            assert!(std::time::Instant::now() < deadline, "nothing happens");
            self.turn();
        }
    }

    fn is_quiet(&self) -> bool {
        self.links.iter().all(Transport::is_quiet)
    }

    fn unproven(&self) -> usize {
        self.links[0].doors.unproven()
    }

    fn refused(&self) -> u64 {
        self.links[0].counters().refused
    }

    /// A message passes from process 1 to process 0.
    fn check_passage(&mut self) {
        let before = self.ears[0].arrived.len();
        let mut out = body(200, 1000);
        self.send(1, 0, 200, &mut out);
        self.run(|world| world.ears[0].arrived.len() > before);
        assert_eq!(self.ears[0].arrived[before].2, body(200, 1000));
    }
}

fn body(number: u8, len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 31) as u8 ^ number).collect()
}

const LENGTHS: [usize; 8] = [0, 1, 40, 4096, 65_536, 65_537, 1_000_000, 10_000_000];

#[test]
fn messages_of_all_lengths_arrive_intact_both_ways_and_all_is_quiet_then() {
    for sharing in [Sharing::Pair, Sharing::Channel] {
        let mut world = World::of(network(3, sharing));
        let mut bodies = Vec::new();
        for (from, to) in [(0, 1), (1, 0), (2, 0), (0, 2), (1, 2), (2, 1)] {
            for (number, len) in (0..).zip(LENGTHS) {
                let mut out = body(number + 10 * from as u8, len);
                world.send(from, to, number, &mut out);
                // The memory stays where it is.
                bodies.push((from, to, number, out));
            }
        }
        let count = 2 * LENGTHS.len();
        world.run(|world| world.ears.iter().all(|ear| ear.arrived.len() == count));
        world.run(|world| world.ears.iter().all(|ear| ear.sent.len() == count));
        for (from, to, number, out) in bodies {
            let of_it = |it: &&(PeerId, u8, Vec<u8>)| (it.0.0 as usize, it.1) == (from, number);
            let arrived = world.ears[to as usize].arrived.iter().find(of_it);
            assert!(
                arrived.unwrap().2 == out,
                "{sharing:?}: {from} to {to}, {number}"
            );
        }
        world.run(World::is_quiet);
        assert!(world.ears.iter().all(|ear| ear.lost.is_empty()));
        let sum = |count: fn(&Connections) -> u64| -> u64 {
            world.links.iter().map(|link| count(&link.counters())).sum()
        };
        let channels = match sharing {
            Sharing::Pair => 1,
            Sharing::Channel => LENGTHS.len() as u64,
        };
        assert_eq!(sum(|it| it.made), 3 * channels);
        assert_eq!(sum(|it| it.accepted), 3 * channels);
        assert_eq!(sum(|it| it.refused), 0);
    }
}

#[test]
fn of_two_connections_made_at_once_one_stays_and_the_order_too() {
    // The sides take turns in different ways, so that each step of a handshake meets each other.
    for pattern in 0_u32..256 {
        let mut world = World::of(network(2, Sharing::Pair));
        let mut bodies = Vec::new();
        for number in 0..6 {
            for from in 0..2 {
                bodies.push(body(number, 100));
                let out = bodies.last_mut().unwrap();
                world.send(from, 1 - from as u32, number, out);
            }
            let turns = (pattern >> number) & 3;
            for end in 0..2 {
                if turns & 1 << end != 0 {
                    let World { links, ears } = &mut world;
                    let now = links[end].clock.now();
                    links[end].progress(now, &mut ears[end]);
                }
            }
        }
        world.run(|world| world.ears.iter().all(|ear| ear.arrived.len() == 6));
        for ear in &world.ears {
            let numbers: Vec<_> = ear.arrived.iter().map(|it| it.1).collect();
            assert_eq!(numbers, [0, 1, 2, 3, 4, 5], "pattern {pattern}");
        }
        world.run(|world| world.links.iter().all(|link| link.doors.is_empty()));
        let made: u64 = world.links.iter().map(|link| link.counters.made).sum();
        assert_eq!(made, 1, "pattern {pattern}");
        assert_eq!(world.refused() + world.links[1].counters().refused, 0);
    }
}

#[test]
fn messages_on_different_connections_are_announced_in_the_order_of_sending() {
    let mut world = World::of(network(2, Sharing::Channel));
    let mut bodies: Vec<_> = (0..40).map(|number| body(number, 10)).collect();
    for (number, out) in (0..).zip(&mut bodies) {
        world.send(0, 1, number, out);
        world.turn();
    }
    world.run(|world| world.ears[1].arrived.len() == 40);
    let numbers = world.ears[1].arrived.iter().map(|it| it.1);
    assert!(numbers.eq(0..40));
    assert_eq!(world.links[0].open_lines, 40);
    world.run(World::is_quiet);
}

#[test]
fn strangers_are_dropped_and_counted_and_disturb_nobody() {
    let mut world = World::of(network(2, Sharing::Pair));
    let address = world.links[0].addresses[0];
    // A scan: connect and close.
    drop(TcpStream::connect(address).unwrap());
    world.run(|world| world.refused() == 1);
    // Garbage, at most as long as a claim, and longer.
    for (number, len) in [(2, CLAIM_BYTES), (3, 100_000)] {
        let mut garbage = TcpStream::connect(address).unwrap();
        garbage.set_nonblocking(true).unwrap();
        let _ = garbage.write(&body(9, len));
        world.run(|world| world.refused() == number);
        world.check_passage();
    }
    // Silence. It ends after a while.
    let mut silent = TcpStream::connect(address).unwrap();
    world.run(|world| world.unproven() == 1);
    world.check_passage();
    let late = world.links[0].clock.now().plus(Duration::from_secs(6));
    let World { links, ears } = &mut world;
    links[0].progress(late, &mut ears[0]);
    assert_eq!((world.unproven(), world.refused()), (0, 4));
    let mut challenge = Vec::new();
    silent.read_to_end(&mut challenge).unwrap();
    assert!(matches!(
        Challenge::decode(&challenge),
        Some(Challenge::Nonce(_))
    ));
    world.check_passage();
    assert!(world.ears.iter().all(|ear| ear.lost.is_empty()));
}

/// Ports for those who ask for them by number. The sockets hold them while they live, so that the
/// system gives them to nobody else; they do not listen, so others may (`socket::open`).
struct Reserved(Vec<Socket>);

impl Reserved {
    fn new(count: usize) -> Self {
        let bind = || {
            let socket = socket::open(Ipv4Addr::LOCALHOST.into()).unwrap();
            let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
            socket.bind(&any.into()).unwrap();
            socket
        };
        Self((0..count).map(|_| bind()).collect())
    }

    fn ports(&self) -> Vec<u16> {
        let port = |it: &Socket| socket::address(it).unwrap().port();
        self.0.iter().map(port).collect()
    }
}

#[test]
fn the_ports_of_a_job_are_free_for_the_next_one_whoever_has_connected_to_them() {
    let reserved = Reserved::new(2);
    for sharing in [Sharing::Pair, Sharing::Channel, Sharing::Pair] {
        let mut world = World::of(network_at(&reserved.ports(), sharing));
        world.check_passage();
        // The side that closes first keeps the port for a minute: here it is the job's.
        let mut stranger = TcpStream::connect(world.links[0].addresses[0]).unwrap();
        world.run(|world| world.unproven() == 1);
        drop(world);
        stranger.read_to_end(&mut Vec::new()).unwrap();
    }
}

#[test]
fn of_many_that_want_a_port_at_once_exactly_one_gets_it() {
    let reserved = Reserved::new(1);
    let port = reserved.ports()[0];
    for _ in 0..20 {
        let start = std::sync::Barrier::new(8);
        let listen = || {
            start.wait();
            bound(Sharing::Pair, port)
        };
        let all: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(listen)).collect();
            threads.into_iter().map(|it| it.join().unwrap()).collect()
        });
        let count = all.iter().filter(|it| it.is_ok()).count();
        assert_eq!(count, 1);
        let is_taken = |line: &String| line.contains("is free, and each rank");
        assert!(all.iter().filter_map(|it| it.as_ref().err()).all(is_taken));
    }
}

#[test]
fn a_claim_without_the_key_is_refused() {
    let mut world = World::of(network(2, Sharing::Pair));
    let card = |&address| Card {
        address,
        salt: [0; 32],
    };
    let cards: Vec<_> = world.links[0].addresses.iter().map(card).collect();
    let other = Prover::new(&KEY, &cards);
    let mut stranger = TcpStream::connect(world.links[0].addresses[0]).unwrap();
    world.run(|world| world.unproven() == 1);
    let mut challenge = [0; proof::CHALLENGE_BYTES];
    stranger.read_exact(&mut challenge).unwrap();
    let Some(Challenge::Nonce(challenge)) = Challenge::decode(&challenge) else {
        panic!("no challenge");
    };
    let claim = Claim {
        connector: PeerId(1),
        acceptor: PeerId(0),
        key: 0,
        challenge,
        answer: [1; 32],
    };
    stranger.write_all(&other.claim(&claim)).unwrap();
    world.run(|world| world.refused() == 1);
    world.check_passage();
}

#[test]
fn more_strangers_than_are_looked_at_at_once_delay_others_only_until_they_are_late() {
    let mut world = World::of(network(2, Sharing::Pair));
    let address = world.links[0].addresses[0];
    let silent: Vec<_> = (0..100)
        .map(|_| TcpStream::connect(address).unwrap())
        .collect();
    world.run(|world| world.unproven() == 64);
    (0..100).for_each(|_| world.turn());
    assert_eq!(world.unproven(), 64);
    drop(silent);
    world.run(|world| world.refused() == 100);
    world.check_passage();
}

#[test]
fn a_peer_that_dies_with_messages_on_their_way_is_lost_with_a_reason() {
    let mut world = World::of(network(2, Sharing::Pair));
    world.check_passage();
    let mut long = body(1, 10_000_000);
    world.send(1, 0, 1, &mut long);
    world.run(|world| !world.ears[0].arriving.is_empty());
    // It dies.
    drop(world.links.pop());
    world.run(|world| !world.ears[0].lost.is_empty());
    let lost = &world.ears[0].lost[0];
    assert_eq!(lost.peer, PeerId(1));
    assert_eq!(lost.address, Some(world.links[0].addresses[1]));
    assert_eq!(lost.unfinished.len(), 1);
    assert!(lost.reason.contains("connection"), "{}", lost.reason);
}

#[test]
fn a_peer_that_leaves_in_order_is_lost_only_for_later_messages() {
    let mut world = World::of(network(2, Sharing::Pair));
    world.check_passage();
    world.run(World::is_quiet);
    drop(world.links.pop());
    world.run(|world| world.links[0].open_lines == 0);
    assert!(world.ears[0].lost.is_empty());
    assert!(world.is_quiet());
    // Nothing stays behind that would never be sent.
    world.links[0].push_back(true);
    world.run(World::is_quiet);
    let envelope = [0; super::super::ENVELOPE_BYTES];
    let message = Outbound {
        envelope: &envelope,
        body: Span::EMPTY.into(),
        token: Token(7),
        is_awaited: false,
        needs_match: false,
    };
    assert_eq!(world.links[0].send(PeerId(1), message.clone()), Ok(()));
    world.turn();
    assert!(
        world.ears[0].lost.is_empty(),
        "a launcher has the first word"
    );
    world.run(|world| !world.ears[0].lost.is_empty());
    assert!(world.ears[0].lost[0].reason.contains("closed"));
    assert_eq!(world.ears[0].lost[0].unsent, [Token(7)]);
    assert_eq!(world.links[0].send(PeerId(1), message), Err(Refusal::Lost));
}

#[test]
fn a_peer_that_has_ended_before_the_first_message_is_lost() {
    let mut world = World::of(network(2, Sharing::Pair));
    drop(world.links.pop());
    world.send(0, 1, 5, &mut []);
    world.run(|world| !world.ears[0].lost.is_empty());
    let lost = &world.ears[0].lost[0];
    assert_eq!(lost.unsent, [Token(5)]);
    assert!(lost.reason.contains("nothing listens"), "{}", lost.reason);
}

#[test]
fn something_else_at_the_address_of_a_peer_is_noticed() {
    let mut world = World::of(network(2, Sharing::Pair));
    let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    world.links[0].addresses[1] = other.local_addr().unwrap();
    world.send(0, 1, 5, &mut []);
    let (mut connection, _) = other.accept().unwrap();
    connection.write_all(&[b'x'; 100]).unwrap();
    world.run(|world| !world.ears[0].lost.is_empty());
    assert!(world.ears[0].lost[0].reason.contains("key of this job"));
}

#[test]
fn a_peer_without_descriptors_says_so() {
    let mut world = World::of(network(2, Sharing::Pair));
    let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    world.links[0].addresses[1] = other.local_addr().unwrap();
    world.send(0, 1, 5, &mut []);
    let (mut connection, _) = other.accept().unwrap();
    connection.write_all(&Challenge::Full.encode()).unwrap();
    world.run(|world| !world.ears[0].lost.is_empty());
    assert!(world.ears[0].lost[0].reason.contains("ulimit -n"));
}

#[test]
fn a_peer_that_never_answers_is_reported_and_then_lost() {
    /// A sink that hears of peers that never answered.
    #[derive(Default)]
    struct Patient(Vec<Duration>, Vec<Lost>);
    impl Sink for Patient {
        fn arriving(&mut self, _message: Incoming) -> Landing {
            Landing::NOWHERE
        }
        fn arrived(&mut self, _arrival: Arrival) {}
        fn sent(&mut self, _token: Token) {}
        fn lost(&mut self, lost: Lost) {
            self.1.push(lost);
        }
        fn unheard(&mut self, peer: Unheard) {
            self.0.push(peer.waited);
        }
        fn wants_more(&self) -> bool {
            true
        }
    }
    let mut world = World::of(network(2, Sharing::Pair));
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut link = world.links.swap_remove(0);
    link.addresses[1] = silent.local_addr().unwrap();
    world.links = vec![link];
    let begin = world.links[0].clock.now();
    world.send(0, 1, 5, &mut []);
    let mut sink = Patient::default();
    // The time of the link is what the test says.
    let mut now = begin;
    while sink.1.is_empty() {
        now = now
            .max(world.links[0].wake_at().unwrap())
            .plus(Duration::from_millis(1));
        world.links[0].progress(now, &mut sink);
        assert!(now.since(begin) < Duration::from_secs(130));
    }
    let first = sink.0[0];
    assert!(first >= Duration::from_secs(3) && first < Duration::from_secs(4));
    assert!(now.since(begin) >= Duration::from_secs(120));
    assert_eq!(sink.1[0].unsent, [Token(5)]);
    assert!(sink.1[0].reason.contains("no answer"));
}

#[test]
fn protection_of_bytes_is_refused_in_one_line() {
    for secure in [Secure::Tag, Secure::Encrypt] {
        let settings = Settings {
            secure: Some(secure),
            ..Settings::default()
        };
        let address = Ipv4Addr::LOCALHOST.into();
        let error = Bound::new(address, Sharing::Pair, &settings).unwrap_err();
        let says = |word: &str| error.contains(word);
        assert!(
            says(&secure.to_string()) && says("--transport rmpp"),
            "{error}"
        );
        assert_eq!(error.lines().count(), 1);
    }
}
