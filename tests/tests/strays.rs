//! Packets from nobody, thrown at the ports of a running job, change nothing.

use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

use mpi_lite_tests::{Job, Running, Scratch, c_source, compile, udp_ports};

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

fn start(scratch: &Scratch) -> (Running, std::path::PathBuf) {
    let source = c_source("tests/c/faults/steady.c");
    let binary = compile(&source, scratch).unwrap_or_else(|why| panic!("{why}"));
    let stop = scratch.path().join("stop");
    let job = Job::mpirun(RANKS)
        .args(["--transport", "rmpp"])
        .arg(binary)
        .arg(&stop);
    let mut job = job.deadline(Duration::from_secs(120)).start();
    job.wait_for("ready", RANKS);
    (job, stop)
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
    thrown
}

#[test]
fn packets_from_nobody_change_nothing() {
    let scratch = Scratch::new("strays");
    let (job, stop) = start(&scratch);
    let ports = udp_ports(&job.process().descendants());
    assert!(
        ports.len() >= RANKS,
        "a UDP port per rank expected, found {ports:?}"
    );
    let packets = table(&mut Random(seed()));
    let thrown = throw(&packets, &ports);
    assert!(
        thrown > packets.len() * ports.len(),
        "only {thrown} packets left this process"
    );
    std::fs::write(&stop, "").expect("the file that ends the job");
    let outcome = job.finish().expect_code(0).expect_stdout("all right");
    assert!(
        outcome.stderr.is_empty(),
        "a job that is not harmed is silent: {}",
        outcome.report()
    );
}

#[test]
fn a_job_of_one_machine_listens_on_no_outside_address() {
    let scratch = Scratch::new("listen");
    let (job, stop) = start(&scratch);
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
