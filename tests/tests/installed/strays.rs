//! Packets from nobody, thrown at the ports of a running job, change nothing.

use std::io::{ErrorKind, Write};
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::time::Duration;

use mpi_lite_tests::wire::{Captured, capture, forge};
use mpi_lite_tests::{Job, Running, Scratch, build, udp_ports};
use serde_json::Value;

const RANKS: usize = 3;
/// Each packet of the table is thrown at each port this often.
const ROUNDS: usize = 40;
/// Sequence of the random packets: `MPILITE_SEED=N` replays one.
const SEED: u64 = 2026;

/// A small generator; its seed is printed by the test.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        self.0 >> 33
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| (self.next() & 0xff) as u8).collect()
    }
}

fn seed() -> u64 {
    let from_outside = std::env::var("MPILITE_SEED")
        .ok()
        .and_then(|text| text.parse().ok());
    let seed = from_outside.unwrap_or(SEED);
    println!("MPILITE_SEED={seed}");
    seed
}

/// Too short for a header, exactly a header, too long for any network, and everything between;
/// all zeros, all ones, counting, random; RMPP headers in the clear with plausible types.
fn table(random: &mut Random) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    for length in (0..=80).chain([100, 255, 256, 1023, 1024, 1400, 1472, 8192, 65_507]) {
        packets.push(vec![0; length]);
        packets.push(vec![0xff; length]);
        packets.push((0..length).map(|i| (i % 251) as u8).collect());
        packets.push(random.bytes(length));
    }
    for kind in 0..=16 {
        for version in 0..4 {
            let mut header = random.bytes(28 + 8 * usize::from(kind));
            header[0] = version;
            header[1] = kind;
            packets.push(header);
        }
    }
    packets
}

/// The seals of datagrams, as `mpirun --secure` names them.
const SEALS: [&str; 3] = ["cookie", "tag", "encrypt"];

fn start(scratch: &Scratch, seal: &str) -> (Running, PathBuf) {
    start_over("rmpp", scratch, &[&format!("--secure={seal}")])
}

fn start_over(transport: &str, scratch: &Scratch, options: &[&str]) -> (Running, PathBuf) {
    let binary = build("tests/c/faults/steady.c", scratch);
    let stop = scratch.path().join("stop");
    let job = Job::mpirun(RANKS)
        .args(["--transport", transport])
        .args(options)
        .arg(format!("--stats={}", statistics(scratch).display()))
        .arg(binary)
        .arg(&stop);
    let mut job = job.deadline(Duration::from_secs(120)).start();
    job.wait_for("ready", RANKS);
    (job, stop)
}

fn statistics(scratch: &Scratch) -> PathBuf {
    scratch.path().join("stats.json")
}

/// Ends the job, which must be unharmed; returns how many datagrams it dropped, by reason.
fn end(job: Running, scratch: &Scratch) -> impl Fn(&str) -> u64 + use<> {
    let counted = end_counted(job, scratch);
    move |reason| counted(&format!("udp_{reason}"))
}

/// Ends the job, which must be unharmed; returns what it counted, by name.
fn end_counted(job: Running, scratch: &Scratch) -> impl Fn(&str) -> u64 + use<> {
    std::fs::write(scratch.path().join("stop"), "").expect("the file that ends the job");
    let outcome = job.finish().expect_code(0).expect_stdout("all right");
    assert!(
        outcome.stderr.is_empty(),
        "a job that is not harmed is silent: {}",
        outcome.report()
    );
    let text = std::fs::read_to_string(statistics(scratch)).expect("mpirun wrote it");
    let counted: Value = serde_json::from_str(&text).expect("an object");
    move |name| counted["counters"][name]["sum"].as_u64().unwrap_or(0)
}

fn throw(packets: &[Vec<u8>], ports: &[u16]) -> usize {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a UDP socket");
    let mut thrown = 0;
    for _ in 0..ROUNDS {
        for packet in packets {
            for port in ports {
                // A full queue refuses a packet now and then; the next one is as good.
                thrown += usize::from(socket.send_to(packet, (Ipv4Addr::LOCALHOST, *port)).is_ok());
            }
        }
    }
    let answer = socket
        .set_nonblocking(true)
        .map(|()| socket.recv(&mut [0; 1]));
    assert!(
        matches!(&answer, Ok(Err(error)) if error.kind() == ErrorKind::WouldBlock),
        "strays are not answered: {answer:?}"
    );
    thrown
}

fn packets_from_nobody(seal: &str) {
    let scratch = Scratch::new(&format!("strays-{seal}"));
    let (job, _) = start(&scratch, seal);
    let ports = udp_ports(&job.process().descendants());
    assert!(
        ports.len() >= RANKS,
        "a UDP port per rank expected, found {ports:?}"
    );
    let packets = table(&mut Random(seed()));
    let thrown = throw(&packets, &ports);
    assert!(thrown > 10_000, "only {thrown} packets left this process");
    let dropped = end(job, &scratch);
    assert!(dropped("foreign") > 0, "{seal}");
    assert!(dropped("misplaced") > 0 || seal == "cookie", "{seal}");
}

#[test]
fn packets_from_nobody_change_nothing() {
    packets_from_nobody("cookie");
}

#[test]
fn packets_from_nobody_change_nothing_in_a_tagged_job() {
    packets_from_nobody("tag");
}

#[test]
fn packets_from_nobody_change_nothing_in_an_encrypted_job() {
    packets_from_nobody("encrypt");
}

#[test]
fn packets_from_nobody_change_nothing_over_any_protocol() {
    for transport in ["gobackn", "unet", "sctp"] {
        let scratch = Scratch::new(&format!("strays-{transport}"));
        let (job, _) = start_over(transport, &scratch, &[]);
        let ports = udp_ports(&job.process().descendants());
        let thrown = throw(&table(&mut Random(seed())), &ports);
        assert!(thrown > 10_000, "only {thrown} packets left this process");
        let dropped = end(job, &scratch);
        assert!(dropped("foreign") > 0, "{transport}");
    }
}

/// A port scan: connections that are closed at once, say nothing, or say anything.
#[test]
fn connections_from_nobody_change_nothing() {
    for transport in ["tcp", "tcp-trc"] {
        let scratch = Scratch::new(&format!("strays-{transport}"));
        let (job, _) = start_over(transport, &scratch, &[]);
        let everybody = job.process().descendants();
        let ports: Vec<u16> = everybody.iter().flat_map(|it| it.listening_tcp()).collect();
        assert!(ports.len() >= RANKS, "a port per rank expected: {ports:?}");
        let mut silent = Vec::new();
        let mut random = Random(seed());
        for packet in table(&mut random) {
            for &port in &ports {
                let connect = || TcpStream::connect((Ipv4Addr::LOCALHOST, port));
                drop(connect().expect("it listens"));
                let mut talks = connect().expect("it listens");
                // The other side may have closed it already.
                let _ = talks.write_all(&packet);
                if silent.len() < 200 {
                    silent.push(connect().expect("it listens"));
                }
            }
        }
        let counted = end_counted(job, &scratch);
        assert!(counted("tcp_refused") > 0, "{transport}");
    }
}

#[test]
fn a_job_of_one_machine_listens_on_no_outside_address() {
    let scratch = Scratch::new("listen");
    let (job, stop) = start(&scratch, "cookie");
    let everybody = job.process().descendants();
    let open: Vec<_> = everybody
        .iter()
        .flat_map(|process| process.listening_tcp())
        .collect();
    let outside: Vec<_> = everybody.iter().flat_map(|p| p.udp_addresses()).collect();
    std::fs::write(&stop, "").expect("the file that ends the job");
    drop(job.finish().expect_code(0));
    assert!(open.is_empty(), "TCP ports that listen: {open:?}");
    let wrong: Vec<_> = outside
        .iter()
        .filter(|address| !address.is_loopback())
        .collect();
    assert!(
        wrong.is_empty(),
        "UDP sockets that others can reach: {wrong:?}"
    );
}

/// Bytes of the wrap, and of a header of the fast profile.
const WRAP: usize = 16;
const HEADER: usize = 36;
/// How many of the job's own packets are captured.
const CAPTURED: usize = 400;

fn captured_of(job: &Running) -> Vec<Captured> {
    capture(&udp_ports(&job.process().descendants()), CAPTURED)
}

/// The payload whole, cut at every length up to 64, and with each bit of its head turned over:
/// all with the right cookie, none from the right address.
fn throw_from_elsewhere(packets: &[Captured]) {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a UDP socket");
    for packet in packets {
        let payload = packet.payload();
        let to = (Ipv4Addr::LOCALHOST, packet.to());
        let mut variants = vec![payload.to_vec()];
        variants.extend((0..payload.len().min(64)).map(|length| payload[..length].to_vec()));
        variants.extend((0..payload.len().min(44) * 8).map(|bit| {
            let mut turned = payload.to_vec();
            turned[bit / 8] ^= 1 << (bit % 8);
            turned
        }));
        for variant in variants {
            // A full queue refuses a packet now and then; the next one is as good.
            let _ = socket.send_to(&variant, to);
        }
    }
}

/// Each packet with each bit of its head turned over, from the address that it came from.
fn turn_bits(packets: &[Captured]) {
    for packet in packets {
        let head_bytes = packet.payload().len().min(WRAP + HEADER);
        let turned: Vec<_> = (0..8 * head_bytes).map(|bit| packet.turned(bit)).collect();
        forge(&turned);
    }
}

fn own_packets_again(seal: &str) -> impl Fn(&str) -> u64 + use<> {
    let scratch = Scratch::new(&format!("replay-{seal}"));
    let (job, _) = start(&scratch, seal);
    let packets = captured_of(&job);
    throw_from_elsewhere(&packets);
    for _ in 0..10 {
        forge(&packets);
    }
    if seal != "cookie" {
        // A cookie does not stop an attacker that can read it.
        turn_bits(&packets[..40]);
    }
    end(job, &scratch)
}

#[test]
fn the_jobs_own_packets_thrown_again_change_nothing() {
    let dropped = own_packets_again("cookie");
    assert!(dropped("misplaced") > 0);
}

#[test]
fn tagged_packets_thrown_again_or_changed_change_nothing() {
    let dropped = own_packets_again("tag");
    assert!(dropped("misplaced") > 0 && dropped("forged") > 0);
}

#[test]
fn encrypted_packets_thrown_again_or_changed_are_dropped() {
    let dropped = own_packets_again("encrypt");
    assert!(dropped("misplaced") > 0 && dropped("forged") > 0 && dropped("replayed") > 0);
}

#[test]
fn another_jobs_packets_change_nothing_even_from_the_right_address() {
    for seal in SEALS {
        let [scratch, other] = ["mine", "other"].map(|job| Scratch::new(&format!("{job}-{seal}")));
        let [(mine, _), (theirs, _)] = [&scratch, &other].map(|scratch| start(scratch, seal));
        let (own, foreign) = (captured_of(&mine), captured_of(&theirs));
        // My job's addresses, with what the other job sent.
        for own in own.iter().take(50) {
            let forged: Vec<_> = foreign
                .iter()
                .map(|foreign| Captured::new(own.from(), own.to(), foreign.payload()))
                .collect();
            forge(&forged);
        }
        let _ = end(theirs, &other);
        let dropped = end(mine, &scratch);
        // The counter in a datagram is looked at before it is opened: one that has been passed
        // long ago counts as a replay, whosever it is.
        let thrown_out = match seal {
            "cookie" => dropped("foreign"),
            "tag" => dropped("forged"),
            _ => dropped("forged") + dropped("replayed"),
        };
        assert!(thrown_out > 0, "{seal}");
    }
}
