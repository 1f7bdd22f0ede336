//! The parts of docs/protocol.md that state what the code does are written by the code: limits of
//! fields as an endpoint is found to keep them, defaults, constants, state tables, and headers of
//! small exchanges. `UPDATE=1` writes them anew.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::wire::{self, PACKET, Packet, Wire};
use rmpp_core::{
    Caps, Config, Dropped, Endpoint, FAST_HEADER_BYTES, Flags, HEADER_BYTES, Header, Instant, Kind,
    NodeId,
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The page with what stands between the marks of part `name` replaced by `text`.
fn with_part(page: &str, name: &str, text: &str) -> String {
    let mark = format!("<!-- from the code: {name} -->\n");
    let (before, rest) = page
        .split_once(&mark)
        .unwrap_or_else(|| panic!("the page has a part {name}"));
    let (_, after) = rest
        .split_once("<!-- end -->\n")
        .unwrap_or_else(|| panic!("part {name} ends"));
    format!("{before}{mark}\n{text}\n<!-- end -->\n{after}")
}

#[test]
fn the_page_agrees_with_the_code() {
    let path = root().join("docs/protocol.md");
    let page = fs::read_to_string(&path).expect("docs/protocol.md is there");
    let parts = [
        ("versions", versions()),
        ("fields", fields()),
        ("flags", flags()),
        ("capabilities", capabilities()),
        ("short sends", machine("outgoing/short.table")),
        ("long sends", machine("outgoing/long.table")),
        ("selective sends", machine("outgoing/selective.table")),
        ("receives", machine("incoming/receive.table")),
        ("settings", settings()),
        ("constants", constants()),
        ("headers", headers()),
    ];
    let stated = page.matches("<!-- from the code: ").count();
    assert_eq!(stated, parts.len(), "parts on the page, and parts written");
    let now = parts.iter().fold(page.clone(), |page, (name, text)| {
        with_part(&page, name, text)
    });
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &now).expect("docs/protocol.md can be written");
        return;
    }
    let differs = page.lines().zip(now.lines()).find(|(old, new)| old != new);
    assert!(
        page == now,
        "docs/protocol.md is not what the code does (UPDATE=1 writes it); first: {differs:?}"
    );
}

fn profile(text: &str) -> Caps {
    Caps::parse(text).expect("a profile")
}

fn endpoint(caps: Caps, packet_bytes: usize) -> Endpoint {
    Endpoint::new(NodeId(1), Config::with_caps(2, packet_bytes, caps))
}

/// A packet of node 0 to node 1, of version `version`.
fn header(kind: Kind, version: u16) -> Header {
    let answers = matches!(kind, Kind::Cts | Kind::MsgEnd | Kind::MsgDrop);
    Header {
        kind,
        version,
        src: u32::from(answers),
        msg_id: 0,
        len: 0,
        seq: 0,
        info1: 0,
        info2: 0,
        msg_num: 0,
        ack: 0,
        flags: Flags::NONE,
    }
}

/// The result of a packet at a fresh endpoint.
fn outcome(caps: Caps, bytes: &[u8], payload_len: usize) -> Option<Dropped> {
    let mut endpoint = endpoint(caps, PACKET as usize);
    let sum = bytes.len() + payload_len;
    let packet = endpoint.cut(bytes, sum);
    if packet.is_any() && packet.bytes() < sum {
        // The bytes behind it are no packet (rule J).
        return Some(Dropped::Fields);
    }
    endpoint.handle(NodeId(0), &packet, Instant::ZERO).err()
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Versions that are accepted, as an endpoint is found to do.
fn versions() -> String {
    let mut text = String::from(
        "| profile | version sent, and the only one accepted | bytes of a header | \
         longest message with packets of 1,400 bytes |\n\
         |---|---|---|---|\n",
    );
    for name in ["classic", "classic,+wide", "fast", "fast,-wide"] {
        let caps = profile(name);
        let accepted: Vec<u16> = (0..=u16::MAX)
            .filter(|&version| {
                let bytes = header(Kind::Gch, version).encode();
                outcome(caps, &bytes, 0) != Some(Dropped::Version)
            })
            .collect();
        let [version] = accepted[..] else {
            panic!("{name} accepts the versions {accepted:?}");
        };
        let sent = Config::with_caps(2, 1400, caps).version;
        assert_eq!(sent, version);
        let bytes = header(Kind::Gch, version).encode().len();
        assert!([HEADER_BYTES, FAST_HEADER_BYTES].contains(&bytes));
        let longest = grouped(Config::with_caps(2, 1400, caps).longest());
        writeln!(text, "| `{name}` | {version} | {bytes} | {longest} |").expect("a string");
    }
    text
}

/// One packet that is tried.
#[derive(Clone, Copy)]
struct Try {
    len: u64,
    seq: u32,
    info1: u16,
    payload: u64,
}

impl Try {
    fn last(self) -> u32 {
        (self.len.saturating_sub(1) / PACKET) as u32
    }

    fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for len in [0, 1, 7, PACKET, PACKET + 1, 2 * PACKET, 5 * PACKET + 7] {
            for seq in (0..8).chain([u32::MAX]) {
                for info1 in [0, 1, 2, u16::MAX] {
                    for payload in [0, 1, 7, PACKET - 1, PACKET, PACKET + 1] {
                        all.push(Self {
                            len,
                            seq,
                            info1,
                            payload,
                        });
                    }
                }
            }
        }
        all
    }
}

type Limit = (&'static str, fn(Try) -> bool);

const LENS: &[Limit] = &[
    ("at most `packet_bytes`", |at| at.len <= PACKET),
    ("more than `packet_bytes`", |at| at.len > PACKET),
    ("any", |_| true),
];
const SEQS: &[Limit] = &[
    ("any", |_| true),
    ("last", |at| at.seq == at.last()),
    ("1 to last - 1", |at| (1..at.last()).contains(&at.seq)),
    ("1 to last", |at| (1..=at.last()).contains(&at.seq)),
];
const GRANTS: &[Limit] = &[("any", |_| true), ("1 or more", |at| at.info1 > 0)];
const PAYLOADS: &[Limit] = &[
    ("none", |at| at.payload == 0),
    ("`packet_bytes`", |at| at.payload == PACKET),
    ("`len`", |at| at.payload == at.len),
    ("the rest", |at| {
        at.payload + PACKET * u64::from(at.seq) == at.len
    }),
];

/// The limits of a type's fields: the first combination that agrees with the endpoint everywhere.
fn limits_of(kind: Kind, caps: Caps) -> [&'static str; 4] {
    let version = Config::with_caps(2, PACKET as usize, caps).version;
    let all = Try::all();
    let passes: Vec<bool> = all
        .iter()
        .map(|at| {
            let header = Header {
                len: at.len,
                seq: at.seq,
                info1: at.info1,
                ..header(kind, version)
            };
            outcome(caps, &header.encode(), at.payload as usize) != Some(Dropped::Fields)
        })
        .collect();
    assert!(passes.contains(&true), "{kind:?} is possible");
    for (len, seq) in LENS
        .iter()
        .flat_map(|len| SEQS.iter().map(move |seq| (len, seq)))
    {
        for (grant, payload) in GRANTS
            .iter()
            .flat_map(|grant| PAYLOADS.iter().map(move |payload| (grant, payload)))
        {
            let limits = [len, seq, grant, payload];
            let fits = |at: Try| limits.iter().all(|limit| limit.1(at));
            if all
                .iter()
                .zip(&passes)
                .all(|(at, passes)| fits(*at) == *passes)
            {
                return limits.map(|limit| limit.0);
            }
        }
    }
    panic!("the limits of {kind:?} cannot be said in the words of this test");
}

fn fields() -> String {
    let mut text = String::from(
        "| type | code | len | seq | info1 | info1 with `snak` | payload bytes |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for kind in Kind::ALL {
        let [len, seq, grant, payload] = limits_of(kind, Caps::CLASSIC);
        let [fast_len, fast_seq, fast_grant, fast_payload] = limits_of(kind, Caps::FAST);
        assert_eq!([len, seq, payload], [fast_len, fast_seq, fast_payload]);
        let (name, code) = (kind.name(), kind as u16);
        writeln!(
            text,
            "| {name} | {code} | {len} | {seq} | {grant} | {fast_grant} | {payload} |"
        )
        .expect("a string");
    }
    text
}

/// The bits of `flags` that any type may bear, and how many words may follow.
fn flags() -> String {
    let bits_of = |flags: Flags| {
        let header = Header {
            flags,
            ..header(Kind::Gch, 2)
        };
        u16::from_be_bytes([header.encode()[32], header.encode()[33]])
    };
    let mut text = String::from("| flag | bits 15-0 | meaning |\n|---|---|---|\n");
    let mut known = 0;
    for (name, flag, says) in [
        (
            "ASKS",
            Flags::ASKS,
            "the sender waits for the acknowledgement: it is to go at once (rule K)",
        ),
        (
            "PROBE",
            Flags::PROBE,
            "data sent once more to find missing packets (rule R)",
        ),
        (
            "PURE",
            Flags::PURE,
            "this MSGEND names no message: only `srcNID` and `ack` count, all else is 0 (rule K)",
        ),
        (
            "GAP",
            Flags::GAP,
            "first packets have come ahead of number `ack`; the words name them (rule O)",
        ),
    ] {
        known |= bits_of(flag);
        writeln!(text, "| {name} | `{:#06x}` | {says} |", bits_of(flag)).expect("a string");
    }
    let mut most_words = 0;
    for kind in Kind::ALL {
        let (mut accepted, mut words) = (0, Vec::new());
        for bit in 0..16 {
            if passes_with_flags(kind, 1 << bit) {
                accepted |= if bit < 12 { 1 << bit } else { 0 };
            }
        }
        for count in 0..16 {
            if passes_with_flags(kind, count << 12) {
                words.push(count);
            }
        }
        assert_eq!(accepted, known, "{kind:?} may bear the flags above");
        most_words = words[words.len() - 1];
        assert_eq!(words, (0..=most_words).collect::<Vec<_>>());
    }
    write!(
        text,
        "| | `0xf000` | how many words of 64 bits follow the header: 0 to {most_words} |\n\
         | | `{:#06x}` | 0, else the packet is dropped |\n",
        0x0fff & !known
    )
    .expect("a string");
    text
}

fn passes_with_flags(kind: Kind, flags: u16) -> bool {
    let shape = match kind {
        Kind::LastRts | Kind::MsgEnd | Kind::MsgDrop | Kind::Gch | Kind::Null => (0, 0, 0),
        Kind::Rts => (5 * PACKET + 7, 0, PACKET),
        Kind::Cts => (5 * PACKET + 7, 1, 0),
        Kind::Data | Kind::StopData => (5 * PACKET + 7, 1, PACKET),
        Kind::LastData => (5 * PACKET + 7, 5, 7),
    };
    let (len, seq, payload) = shape;
    let header = Header {
        len,
        seq,
        info1: 1,
        ..header(kind, 2)
    };
    let mut bytes = header.encode().to_vec();
    bytes[32..34].copy_from_slice(&flags.to_be_bytes());
    bytes.resize(FAST_HEADER_BYTES + 8 * usize::from(flags >> 12), 0);
    outcome(Caps::FAST, &bytes, payload as usize) != Some(Dropped::Fields)
}

fn capabilities() -> String {
    let mut text = String::from("| bit | value | name | meaning |\n|---|---|---|---|\n");
    for (cap, name, says) in Caps::ALL {
        let bits = cap.bits();
        assert!(bits.is_power_of_two());
        let (bit, says) = (bits.trailing_zeros(), says.trim());
        writeln!(text, "| {bit} | `{bits:#06x}` | `{name}` | {says} |").expect("a string");
    }
    for bits in 0..=Caps::FAST.bits() {
        let without_snak = bits & !Caps::SNAK.bits() & !Caps::UNSCHED.bits();
        let has_snak = bits & Caps::SNAK.bits() != 0;
        let closed = if has_snak { bits } else { without_snak };
        assert_eq!(
            Caps::from_bits(bits).bits(),
            closed,
            "the one bit that needs another"
        );
    }
    let all = Caps::FAST.bits();
    writeln!(text, "| | `{all:#06x}` | `fast` | all of them |").expect("a string");
    text
}

/// A table that a test of its machine holds equal to the code.
fn machine(file: &str) -> String {
    let path = root().join("rmpp-core/src").join(file);
    let table = fs::read_to_string(path).expect("the table is there");
    format!("```text\n{table}```\n")
}

fn time(duration: Duration) -> String {
    let us = duration.as_micros();
    match (us % 1_000_000, us % 1000) {
        (0, _) => format!("{} s", us / 1_000_000),
        (_, 0) => format!("{} ms", us / 1000),
        _ => format!("{us} us"),
    }
}

/// Each setting of the core that has a default: name, value, whether all nodes must agree.
fn defaults(caps: Caps) -> Vec<(&'static str, String, &'static str)> {
    let Config {
        nodes: _,
        packet_bytes: _,
        caps: _,
        version,
        max_rcv_buf,
        max_on_path,
        max_data_pkts,
        first_timeout,
        probe_timeout,
        min_timeout,
        restart_timeout,
        max_timeout,
        lost_after,
        unheard_after,
        done_state_lifetime,
        max_done_states,
        first_window,
        first_window_bytes,
        unscheduled_bytes,
        ack_delay,
        ack_every,
        max_answers,
        first_msg_num,
        first_msg_id,
        seed: _,
        #[cfg(feature = "planted")]
            planted: _,
    } = Config::with_caps(2, 1400, caps);
    let bytes = |bytes: u64| match bytes {
        u64::MAX => "no limit".to_owned(),
        _ => grouped(bytes),
    };
    let [lost_after, unheard_after] =
        [lost_after, unheard_after].map(|it| it.map_or("never".to_owned(), time));
    vec![
        ("version", version.to_string(), "all"),
        ("max_rcv_buf", grouped(max_rcv_buf.into()), "each"),
        ("max_on_path", grouped(max_on_path.into()), "each"),
        ("max_data_pkts", max_data_pkts.to_string(), "each"),
        ("first_timeout", time(first_timeout), "each"),
        ("probe_timeout", time(probe_timeout), "each"),
        ("min_timeout", time(min_timeout), "each"),
        ("restart_timeout", time(restart_timeout), "each"),
        ("max_timeout", time(max_timeout), "each"),
        ("lost_after", lost_after, "each"),
        ("unheard_after", unheard_after, "each"),
        ("done_state_lifetime", time(done_state_lifetime), "each"),
        ("max_done_states", grouped(max_done_states as u64), "each"),
        ("first_window", first_window.to_string(), "each"),
        ("first_window_bytes", bytes(first_window_bytes), "each"),
        ("unscheduled_bytes", bytes(unscheduled_bytes as u64), "all"),
        ("ack_delay", time(ack_delay), "each"),
        ("ack_every", ack_every.to_string(), "each"),
        ("max_answers", grouped(max_answers as u64), "each"),
        ("first_msg_num", first_msg_num.to_string(), "all"),
        ("first_msg_id", first_msg_id.to_string(), "each"),
    ]
}

fn settings() -> String {
    let mut text = String::from(
        "| setting | classic | fast | who must agree | rule, and what it is |\n\
         |---|---|---|---|---|\n",
    );
    let says = [
        "P2",
        "P4: `MAX_RCV_BUF`, packets that a node has room for",
        "G: most packets that a node grants where a path holds more than `max_rcv_buf`; less: it \
         never grants more",
        "P4: `MAX_DATA_PKTS`, most packets of one grant without `pipe` and `snak`",
        "T: timeout before a round trip is known",
        "T: least time before the first question, fast only",
        "T: least timeout",
        "T: least time before a long message is taken back to 1, classic only",
        "T: greatest timeout",
        "T: silence after which a peer is lost",
        "T: silence after which a peer that has never answered is reported",
        "P8",
        "C: finished messages that are remembered",
        "M: first packets under way to one node",
        "M: bytes of them",
        "U: bytes of data that follow RTS without a grant",
        "K: how long an acknowledgement waits for a packet to ride on",
        "K: messages that may wait for it",
        "answers that wait to be sent; any beyond are dropped",
        "P10: number of the first message of each pair",
        "P1: name of the first message of a node",
    ];
    let (classic, fast) = (defaults(Caps::CLASSIC), defaults(Caps::FAST));
    assert_eq!(says.len(), classic.len());
    for ((classic, fast), says) in classic.iter().zip(&fast).zip(says) {
        let (name, value, who) = classic;
        writeln!(text, "| `{name}` | {value} | {} | {who} | {says} |", fast.1).expect("a string");
    }
    text
}

/// The text behind `const NAME: type =` in the source.
fn constant(file: &str, name: &str) -> String {
    let text = fs::read_to_string(root().join(file)).expect("the file is there");
    let (_, after) = text
        .split_once(&format!("const {name}: "))
        .unwrap_or_else(|| panic!("{file} has a constant {name}"));
    let (_, value) = after.split_once("= ").expect("a constant has a value");
    let (value, _) = value.split_once(';').expect("a constant ends");
    let inner = value.strip_prefix("Self(");
    let value = inner.map_or(value, |inner| inner.trim_end_matches(')'));
    if value == "u32::MAX" {
        return grouped(u32::MAX.into());
    }
    match value.replace('_', "").parse() {
        Ok(number) => grouped(number),
        Err(_) => format!("`{value}`"),
    }
}

/// File, constant, and what it is; files of the core, of the transport over UDP, of the library.
const CONSTANTS: &str = "\
core bits.rs WINDOW R, W, U: data packets of a message under way; bits behind a header
core incoming/turns.rs EARLY_WINDOW O: first packets so many numbers ahead are dropped
core incoming/message.rs REORDERING R: later packets that have come before a missing one is lost
core outgoing/wake.rs PROBES T: questions after the first, before the timeout is doubled
core outgoing/queues.rs REPEATED_AT_ONCE Q: first packets sent again at once
core outgoing/held.rs AT_ONCE H: held messages up to which the pace begins anew
core outgoing/held.rs SUSPECTS H: held messages asked after for one that was answered
core outgoing/acks.rs SETTLING_NS O: least ns before a first packet is repeated again for a gap
core grant.rs GROWTH_EVERY G: packets that come for one that the pool wins back
udp wrap.rs WRAP_BYTES bytes in front of the packets of a datagram
udp wrap.rs DATAGRAM_MAX bytes of the longest datagram
udp protocol/rmpp/terms.rs ACK_EVERY `ack_every` with `coalesce`
udp protocol/rmpp/terms.rs UNSCHEDULED_PACKETS packets that fit `unscheduled_bytes` at least
udp outbox.rs LENGTH_AT where the wrap has the length
udp wrap.rs KEY_BYTES bytes of the job's key
udp card.rs SALT_BYTES bytes of a rank's salt
udp wrap.rs MARK_BYTES bytes of the mark
udp seal.rs COVERED_AT where the wrap of a tagged datagram has epoch and covered bytes
udp seal.rs COVERED_BITS bits of the number of covered bytes; those above are the epoch's
udp seal.rs ALL_COVERED stands for the number of covered bytes if they are all
udp seal.rs EPOCH_DATAGRAMS tagged datagrams from one rank to another in one epoch
udp seal.rs COVERED_BYTES a tagged datagram up to this is covered whole
udp seal.rs SHARED_BYTES packets share a tagged datagram up to this
udp seal.rs TAIL_BYTES bytes behind the packets of an encrypted datagram
udp seal.rs WINDOW numbers of encrypted datagrams that are remembered for each sender
lib transport/message.rs ENVELOPE_BYTES bytes of the envelope that each message begins with
lib ids.rs WORLD context of `MPI_COMM_WORLD`
lib ids.rs OWN context of `MPI_COMM_SELF`
lib ids.rs FIRST_FREE first context of the program's communicators
lib ids.rs SERVICE context of messages between the libraries
lib engine/envelope.rs SYNCHRONOUS flag of a synchronous send
lib engine/ports/word.rs QUESTION source of a question: is this send to be cancelled?
lib engine/ports/word.rs MATCHED source of the answer that it is not dropped
lib engine/ports/word.rs DROPPED source of the answer that it is dropped
lib engine/ports/word.rs LOST source of the report that a process answers no more
lib engine/ports/word.rs HELLO source of a message of which only the arrival matters
lib engine/ports/word.rs GIVEN_UP source of the report that collectives are over
lib engine/ports/head.rs BODY source of a body that a head has announced
boot protocol.rs PROTOCOL version of the messages between rank and launcher
boot protocol.rs CARD_MAX bytes of the longest card
boot protocol.rs FRAME_MAX bytes of the longest frame to a rank
boot protocol.rs ABORT_TEXT_MAX bytes of the longest text of an abort
boot protocol.rs RANK_FRAME_MAX bytes of the longest frame of a rank
";

fn constants() -> String {
    let mut text =
        String::from("| constant | in | value | rule, and what it is |\n|---|---|---|---|\n");
    for line in CONSTANTS.lines() {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        let [place, file, name, says] = words[..] else {
            panic!("a line has four parts: {line}");
        };
        let folder = match place {
            "core" => "rmpp-core/src",
            "udp" => "mpi-lite/src/transport/udp",
            "boot" => "mpi-lite/boot/src",
            _ => "mpi-lite/src",
        };
        let value = constant(&format!("{folder}/{file}"), name);
        writeln!(text, "| {name} | `{file}` | {value} | {says} |").expect("a string");
    }
    text
}

/// A header as it goes on the wire, four bytes at a time.
fn hex(packet: &Packet) -> String {
    let mut bytes = packet.header.encode().to_vec();
    bytes.extend_from_slice(&packet.tail);
    let words: Vec<String> = bytes
        .chunks(4)
        .map(|word| word.iter().map(|byte| format!("{byte:02x}")).collect())
        .collect();
    let name = packet.header.kind.name();
    let (from, len) = (packet.from.0, packet.len);
    let mut text = format!("{from} {name:9} {}", words[..7].join(" "));
    for rest in words[7..].chunks(7) {
        write!(text, "\n            {}", rest.join(" ")).expect("a string");
    }
    if len > 0 {
        write!(text, " + {len} bytes").expect("a string");
    }
    text + "\n"
}

fn headers() -> String {
    let mut text = String::from("```text\nclassic: node 0 sends 8 bytes to node 1\n");
    let mut wire = Wire::new(2, wire::config(2));
    wire.send(0, 1, 8);
    wire.run();
    text.extend(wire.trace.iter().map(hex));

    text += "\nfast: the same; the acknowledgement goes when its time has come\n";
    let fast = Config::with_caps(2, PACKET as usize, Caps::FAST);
    let mut wire = Wire::new(2, fast.clone());
    wire.send(0, 1, 8);
    wire.run();
    wire.now = wire.now.plus(fast.ack_delay);
    wire.timeouts();
    wire.run();
    text.extend(wire.trace.iter().map(hex));

    text += "\nfast: node 0 sends 507 bytes in packets of 100; DATA 2 and 4 get lost\n";
    let mut wire = Wire::new(2, fast.clone());
    wire.send(0, 1, 507);
    for packet in wire.take_all(0) {
        let is_lost = [2, 4].contains(&packet.header.seq);
        text += &hex(&packet);
        if !is_lost {
            wire.give(&packet).expect("it is taken");
        }
    }
    wire.run();
    text.extend(wire.trace.iter().map(hex));

    text += "\nfast: node 0 sends three messages of 8 bytes; the first gets lost\n";
    let mut wire = Wire::new(2, fast);
    wire.send_many(3, 0, 1, 8);
    let first = wire.take_all(0);
    for (at, packet) in first.iter().enumerate() {
        text += &hex(packet);
        if at > 0 {
            wire.give(packet).expect("it is taken");
        }
    }
    wire.run();
    text.extend(wire.trace.iter().map(hex));
    text + "```\n"
}
