//! The examples of envelopes and of frames in docs/protocol.md are written by the code.

use serde_bytes::ByteBuf;

use crate::boot::protocol::{
    Assignment, BLOCKED_AFTER_MS, Counted, FromRank, Measure, PROTOCOL, ToRank, encode,
};
use crate::boot::{SECRET_BYTES, Secret};
use crate::config::Secure;
use crate::engine::envelope::{Envelope, Flags};
use crate::hosts::Hosts;
use crate::ids::{Context, TAG_MAX};

/// Bytes in hexadecimal, 32 to a line.
fn hex(bytes: &[u8]) -> String {
    let lines: Vec<String> = bytes.chunks(32).map(crate::boot::hex).collect();
    lines.join("\n  ")
}

/// The envelopes of sends, each with its bytes.
fn envelopes() -> String {
    let plain = Envelope {
        context: Context::WORLD,
        source: 1,
        tag: 7,
        flags: Flags::default(),
    };
    let mut text = String::from("```text\n");
    for (says, envelope) in [
        ("rank 1 sends in MPI_COMM_WORLD with tag 7", plain),
        (
            "the same, and the send may be cancelled: it has number 3",
            Envelope {
                flags: Flags::new(false).with_serial(3),
                ..plain
            },
        ),
        (
            "the same, synchronous",
            Envelope {
                flags: Flags::new(true).with_serial(3),
                ..plain
            },
        ),
        (
            "in a collective operation of MPI_COMM_WORLD",
            Envelope {
                context: Context::WORLD.collective(),
                ..plain
            },
        ),
        (
            "in MPI_COMM_SELF, with the greatest tag",
            Envelope {
                context: Context::OWN,
                source: 0,
                tag: TAG_MAX,
                ..plain
            },
        ),
        (
            "in the first communicator of the program",
            Envelope {
                context: Context::FIRST_FREE,
                ..plain
            },
        ),
        (
            "of the service between libraries: the send that its library calls 9 is dropped",
            Envelope {
                context: Context::SERVICE,
                source: 2,
                tag: 9,
                ..plain
            },
        ),
    ] {
        text += &format!("{says}\n  {}\n", hex(&envelope.encode()));
    }
    text + "```\n"
}

fn from_rank() -> Vec<(&'static str, FromRank)> {
    vec![
        (
            "Hello, of version 0.1.0",
            FromRank::Hello {
                protocol: PROTOCOL,
                version: "0.1.0".into(),
            },
        ),
        (
            "Card, of two bytes",
            FromRank::Card(ByteBuf::from(vec![0xaa, 0xbb])),
        ),
        (
            "Counters: one, of bytes, alone, and one of the array `a`",
            FromRank::Counters(vec![
                Counted {
                    name: "x".into(),
                    array: String::new(),
                    measure: Measure::Bytes,
                    value: 300,
                },
                Counted {
                    name: "y".into(),
                    array: "a".into(),
                    measure: Measure::Peak,
                    value: 1,
                },
            ]),
        ),
        ("Finalized", FromRank::Finalized),
        (
            "Abort, with exit status 5",
            FromRank::Abort {
                code: 5,
                message: "no".into(),
            },
        ),
    ]
}

fn to_rank() -> Vec<(&'static str, ToRank)> {
    let assignment = Assignment {
        rank: 1,
        size: 2,
        local_rank: 1,
        local_size: 2,
        node: 0,
        local_peers: vec![0, 1],
        shares_memory: false,
        host: "n1".into(),
        bind: [127, 0, 0, 1].into(),
        key: Secret::new(&[3; SECRET_BYTES]),
        secure: Secure::Tag,
        transport: "rmpp".into(),
        hosts: Hosts::of(&["n1", "n1"]),
        reports_counters: true,
        blocked_after_ms: BLOCKED_AFTER_MS,
        appnum: Some(0),
    };
    let cards = [&[0xaa, 0xbb][..], &[0xcc]].map(|card| ByteBuf::from(card.to_vec()));
    vec![
        (
            "Assigned: rank 1 of 2 on n1, with --secure=tag --stats --transport=rmpp",
            ToRank::Assigned(Box::new(assignment)),
        ),
        (
            "Cards, of two bytes and of one",
            ToRank::Cards(cards.into()),
        ),
        ("Refused", ToRank::Refused("no".into())),
    ]
}

/// A frame of each kind, with its bytes.
fn frames() -> String {
    let mut text = String::from("```text\n");
    for (says, message) in from_rank() {
        let frame = encode(&message).expect("a short frame");
        text += &format!("from the rank: {says}\n  {}\n", hex(&frame));
    }
    for (says, message) in to_rank() {
        let frame = encode(&message).expect("a short frame");
        text += &format!("to the rank: {says}\n  {}\n", hex(&frame));
    }
    text + "```\n"
}

/// `UPDATE=1` writes the examples anew.
#[test]
fn the_page_of_the_protocol_shows_envelopes_and_frames() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/protocol.md");
    let page = std::fs::read_to_string(path).expect("docs/protocol.md is there");
    let mut now = page.clone();
    for (name, example) in [("engine", envelopes()), ("channel", frames())] {
        let mark = format!("<!-- from the {name} -->\n");
        let (before, rest) = now.split_once(&mark).expect("the page has this part");
        let (_, after) = rest.split_once("<!-- end -->\n").expect("the part ends");
        now = format!("{before}{mark}\n{example}\n<!-- end -->\n{after}");
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &now).expect("docs/protocol.md can be written");
        return;
    }
    let differs = page.lines().zip(now.lines()).find(|(old, new)| old != new);
    assert!(
        page == now,
        "run this test with UPDATE=1; the first line that differs: {differs:?}"
    );
}
