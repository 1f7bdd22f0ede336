//! How much of its speed a profile keeps when packets are lost: a table in virtual time, kept in
//! `goodput.table`. `UPDATE=1` writes it anew.

use std::thread;

use rmpp_core::{Caps, Config};
use rmpp_sim::{Faults, Outcome, Traffic, Wires};

/// 10 Gb/s, room for 1 MiB before each node.
const WIRES: Wires = Wires {
    bytes_per_us: 1_250,
    port_bytes: 1 << 20,
};
/// Payload of a packet in an Ethernet frame of 1500 bytes.
const PACKET_BYTES: usize = 1_444;
const LOSSES_PPM: [u32; 7] = [0, 1_000, 10_000, 20_000, 50_000, 100_000, 300_000];
/// Length in bytes, and how many such messages are sent.
const MESSAGES: [(u64, usize); 8] = [
    (8, 4_000),
    (1 << 10, 2_000),
    (4 << 10, 1_000),
    (16 << 10, 400),
    (64 << 10, 100),
    (256 << 10, 40),
    (1 << 20, 16),
    (4 << 20, 8),
];
const PROFILES: [(&str, Caps); 2] = [("classic", Caps::CLASSIC), ("fast", Caps::FAST)];
/// Sends open at a time.
const WINDOW: usize = 64;
/// The time limit of a run, in virtual nanoseconds.
const LIMIT_NS: u64 = 1_000_000_000;

/// Each cell is that of this many runs together: chance alone moves a single one by a third.
const SEEDS: u64 = 5;

fn run(config: Config, (len, count): (u64, usize), loss_ppm: u32, seed: u64) -> Outcome {
    let faults = Faults {
        loss_ppm,
        min_delay_ns: 10_000,
        ..Faults::none()
    };
    let traffic = Traffic {
        config,
        wires: WIRES,
        faults,
        seed: len ^ u64::from(loss_ppm) ^ seed << 32,
        sends: vec![vec![(1, len); count]],
        landing_ns: 0,
        window: WINDOW,
        limit_ns: LIMIT_NS,
    };
    traffic.run()
}

/// The results of two runs, one after the other.
fn both(one: Outcome, other: Outcome) -> Outcome {
    Outcome {
        is_finished: one.is_finished && other.is_finished,
        messages: one.messages + other.messages,
        payload_bytes: one.payload_bytes + other.payload_bytes,
        packets: one.packets + other.packets,
        virtual_ns: one.virtual_ns + other.virtual_ns,
        ..other
    }
}

/// One row: goodput without loss in MB/s, then per cent of it, each with packets per message.
fn row((name, caps): (&str, Caps), message: (u64, usize)) -> String {
    let config = Config::with_caps(2, PACKET_BYTES, caps);
    let mut row = format!("{name:<8} {:>8}", message.0);
    let mut whole = None;
    for loss_ppm in LOSSES_PPM {
        let outcomes = (0..SEEDS).map(|seed| run(config.clone(), message, loss_ppm, seed));
        let together = outcomes.reduce(both).expect("a run");
        let (goodput, packets) = (together.goodput(), together.packets_per_message());
        let cell = match whole {
            _ if !together.is_finished => String::from("-"),
            None => format!("{goodput:.1} {packets:8.2}"),
            Some(whole) => format!("{:.1} {packets:8.2}", 100.0 * goodput / whole),
        };
        whole = whole.or(Some(goodput));
        row += &format!(" |{cell:>16}");
    }
    row
}

fn table() -> String {
    let text = "Goodput of one stream, one way, 10 Gb/s, 10 us, packets of 1,444 bytes, 64 sends\n\
                open at a time: without loss in MB/s, with loss in per cent of that; beside it\n\
                packets per message; 5 seeds together. -: one was not done within 1 s.\n\
                Written by tests/sim/goodput.rs.\n\n";
    let mut head = format!("{:<8} {:>8}", "", "bytes");
    for loss_ppm in LOSSES_PPM {
        let loss = format!("{} % lost", f64::from(loss_ppm) / 10_000.0);
        head += &format!(" |{loss:>16}");
    }
    let profile = |profile| move |message| thread::spawn(move || row(profile, message));
    let rows = PROFILES.map(|it| MESSAGES.map(profile(it)));
    let rows = rows.into_iter().flatten();
    let rows: Vec<String> = rows.map(|row| row.join().expect("a row")).collect();
    format!("{text}{head}\n{}\n", rows.join("\n"))
}

#[test]
fn i18_a_mebibyte_takes_few_packets_more_when_packets_are_lost() {
    let config = || Config::with_caps(2, PACKET_BYTES, Caps::FAST);
    let packets = |loss_ppm| run(config(), (1 << 20, 16), loss_ppm, 0).packets as f64;
    let whole = packets(0);
    for (loss_ppm, most) in [(10_000, 1.3), (100_000, 2.0), (300_000, 4.0)] {
        let times = packets(loss_ppm) / whole;
        assert!(times <= most, "{times} times the packets at {loss_ppm} ppm");
    }
}

#[test]
fn i18_goodput_under_loss_is_that_of_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/goodput.table");
    let (now, kept) = (table(), std::fs::read_to_string(path).unwrap_or_default());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &now).expect("the table can be written");
        return;
    }
    assert_eq!(now, kept, "goodput has changed; UPDATE=1 accepts that");
}
