//! Three nodes under the hand of a script, a line for each thing that happens.
//!
//! Nodes 0 and 1 may be lied to about each other; nothing false is said between 1 and 2, whose
//! packets may only be lost, late or repeated. Whatever happens, all that 1 and 2 have for each
//! other must get through.
//!
//! ```text
//! profile fast,-snak      first line, if any
//! plant TrustSource       next line, if any: a bug, to see that it is found
//! send 0 1 300            node 0 sends 300 bytes to node 1
//! abort 0                 node 0 gives its last send up
//! landing 1 later         what is announced to node 1 from now on: accept, drop, later
//! land 1 accept           node 1 lands what waits
//! wait 20                 20 ms pass
//! give 0, give-all 0      the next packet of node 0 arrives, or all
//! lose 0                  the next packet of node 0 is lost
//! replay 3                a packet seen before comes again
//! turn 3                  the same, the other way round
//! lie 3 seq=0 info1+1     the same with other fields, set or added to
//! flip 3 17               the same with bit 17 of its header flipped
//! cut 3 27                the same with 27 bytes of its header
//! raw 9 1 0002… 100       any bytes from any node, with 100 bytes of payload
//! ```

use std::time::Duration;

use rmpp_core::{
    Caps, Config, Endpoint, Event, IncomingId, Instant, Landing, NodeId, OutgoingId, Placement,
};

/// Payload bytes of a packet.
const PACKET: usize = 100;
/// Fields of a header: name, first byte, bytes.
pub(crate) const FIELDS: [(&str, usize, usize); 12] = [
    ("kind", 0, 2),
    ("version", 2, 2),
    ("src", 4, 4),
    ("msg_id", 8, 4),
    ("len", 12, 4),
    ("seq", 16, 4),
    ("info2", 20, 2),
    ("info1", 22, 2),
    ("msg_num", 24, 4),
    ("ack", 28, 4),
    ("flags", 32, 2),
    ("high", 34, 2),
];

#[derive(Clone, Debug)]
struct Packet {
    from: u32,
    to: u32,
    header: Vec<u8>,
    len: usize,
}

pub(crate) struct Rig {
    nodes: Vec<Endpoint>,
    now: Instant,
    landing: [Landing; 3],
    waiting: Vec<(u32, IncomingId)>,
    /// Packets between 0 and 1 that were given or lost.
    seen: Vec<Packet>,
    last_sent: [Option<OutgoingId>; 3],
    /// Sends between 1 and 2 that have not ended.
    honest: Vec<(u32, OutgoingId)>,
}

fn number(word: Option<&str>) -> u64 {
    word.and_then(|word| word.parse().ok()).unwrap_or(0)
}

fn landing(word: Option<&str>) -> Landing {
    match word {
        Some("drop") => Landing::Drop,
        Some("later") => Landing::Later,
        _ => Landing::Accept,
    }
}

impl Rig {
    /// Plays a script, and answers the rig as it is then.
    pub(crate) fn play(script: &str) -> Self {
        let mut lines = script.lines().peekable();
        let profile = lines.next_if(|line| line.starts_with("profile "));
        let caps = profile.map_or(Ok(Caps::CLASSIC), |line| Caps::parse(&line[8..]));
        let config = Config {
            unscheduled_bytes: 3 * PACKET,
            ..Config::with_caps(3, PACKET, caps.expect("a profile"))
        };
        let bug = lines.next_if(|line| line.starts_with("plant "));
        let mut rig = Self::new(&plant(config, bug));
        for line in lines {
            rig.play_line(line);
            rig.check();
        }
        rig
    }

    fn new(config: &Config) -> Self {
        let node = |n| Endpoint::new(NodeId(n), config.clone());
        Self {
            nodes: (0..3).map(node).collect(),
            now: Instant::ZERO,
            landing: [Landing::Accept; 3],
            waiting: Vec::new(),
            seen: Vec::new(),
            last_sent: [None; 3],
            honest: Vec::new(),
        }
    }

    fn play_line(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let word = |at: usize| words.get(at).copied();
        let node = (number(word(1)) % 3) as u32;
        match word(0).unwrap_or("#") {
            "send" => self.send(node, (number(word(2)) % 3) as u32, number(word(3))),
            "abort" => self.abort(node),
            "landing" => self.landing[node as usize] = landing(word(2)),
            "land" => self.land(node, landing(word(2))),
            "wait" => self.wait(number(word(1))),
            "give" => drop(self.give(node)),
            "give-all" => while self.give(node).is_some() {},
            "lose" => drop(self.take(node)),
            "raw" => self.raw(&words),
            "replay" | "turn" | "lie" | "flip" | "cut" => self.repeat(&words),
            comment => assert!(comment.starts_with('#'), "no such line: {line}"),
        }
    }

    fn send(&mut self, from: u32, to: u32, len: u64) {
        let outcome = self.nodes[from as usize].send(NodeId(to), len, len % 2 == 1, self.now);
        let Ok(id) = outcome else { return };
        self.last_sent[from as usize] = Some(id);
        if from + to == 3 {
            self.honest.push((from, id));
        }
    }

    fn abort(&mut self, from: u32) {
        if let Some(id) = self.last_sent[from as usize] {
            self.nodes[from as usize].abort(id, self.now);
        }
    }

    fn land(&mut self, at: u32, landing: Landing) {
        let due: Vec<_> = self.waiting.extract_if(.., |entry| entry.0 == at).collect();
        for (_, id) in due {
            self.land_one(at, id, landing);
        }
    }

    fn land_one(&mut self, at: u32, id: IncomingId, landing: Landing) {
        if landing == Landing::Later {
            self.waiting.push((at, id));
        }
        self.nodes[at as usize].land(id, landing, self.now);
    }

    fn wait(&mut self, ms: u64) {
        self.now = self.now.plus(Duration::from_millis(ms.min(10_000)));
        for at in 0..3 {
            self.nodes[at].handle_timeout(self.now);
            let next = self.nodes[at].next_timeout();
            assert!(next.is_none_or(|timer| timer > self.now), "I15: {next:?}");
        }
    }

    fn take(&mut self, from: u32) -> Option<Packet> {
        let transmit = self.nodes[from as usize].poll_transmit(self.now)?;
        let packet = Packet {
            from,
            to: transmit.to.0,
            header: transmit.header.to_vec(),
            len: transmit.len,
        };
        if packet.from + packet.to == 1 {
            self.seen.push(packet.clone());
        }
        Some(packet)
    }

    fn give(&mut self, from: u32) -> Option<()> {
        let packet = self.take(from)?;
        self.handle(&packet);
        Some(())
    }

    fn handle(&mut self, packet: &Packet) {
        let Packet {
            from,
            to,
            header,
            len,
        } = packet;
        let node = &mut self.nodes[*to as usize];
        let outcome = node.handle_packet(NodeId(*from), header, *len, self.now);
        if let Ok(Placement::First { message, .. }) = outcome {
            self.land_one(*to, message, self.landing[*to as usize]);
        }
        self.hear(*to);
    }

    fn hear(&mut self, at: u32) {
        while let Some(event) = self.nodes[at as usize].poll_event() {
            match event {
                Event::Due { message, .. } => {
                    self.land_one(at, message, self.landing[at as usize]);
                }
                Event::Sent(id) | Event::Refused(id) | Event::Cancelled(id) => {
                    self.honest.retain(|open| *open != (at, id));
                }
                _ => {}
            }
        }
    }

    /// A packet seen before comes again, as it was or not.
    fn repeat(&mut self, words: &[&str]) {
        if self.seen.is_empty() {
            return;
        }
        let place = number(words.get(1).copied()) as usize % self.seen.len();
        let mut packet = self.seen[place].clone();
        let at = number(words.get(2).copied()) as usize;
        match words[0] {
            "turn" => (packet.from, packet.to) = (packet.to, packet.from),
            "lie" => words[2..].iter().for_each(|field| lie(&mut packet, field)),
            "flip" => {
                let bit = at % (packet.header.len() * 8);
                packet.header[bit / 8] ^= 1 << (bit % 8);
            }
            "cut" => packet.header.truncate(at),
            _ => {}
        }
        self.handle(&packet);
    }

    /// Bytes from nowhere, to node 0 or 1.
    fn raw(&mut self, words: &[&str]) {
        let word = |at: usize| words.get(at).copied();
        let hex = word(3).unwrap_or("").as_bytes();
        let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
        let packet = Packet {
            from: number(word(1)) as u32,
            to: (number(word(2)) % 2) as u32,
            header: hex.chunks(2).filter_map(byte).collect(),
            len: number(word(4)) as usize,
        };
        // What seems to come from node 2 would be a lie about an honest node.
        if packet.from != 2 {
            self.handle(&packet);
        }
    }

    /// After each line.
    fn check(&self) {
        for node in &self.nodes {
            let survey = node.survey();
            assert_eq!(survey.outstanding, survey.granted, "I7");
            let next = node.next_timeout();
            let far = self.now.plus(Duration::from_secs(3_600));
            assert!(next.is_none_or(|timer| timer < far), "I15: {next:?}");
        }
    }

    /// From here on nothing is lost and nobody lies: 1 and 2 must finish.
    pub(crate) fn check_end(mut self) {
        self.landing = [Landing::Accept; 3];
        for _ in 0..300 {
            (0..3).for_each(|at| self.land(at, Landing::Accept));
            for _ in 0..10 {
                (0..3).for_each(|from| while self.give(from).is_some() {});
            }
            if self.honest.is_empty() {
                return;
            }
            self.wait(100);
            (0..3).for_each(|at| self.hear(at));
        }
        panic!("I16: nodes 1 and 2 still wait for {:?}", self.honest);
    }
}

#[cfg(feature = "planted")]
fn plant(mut config: Config, bug: Option<&str>) -> Config {
    let named = |bug: &rmpp_core::Bug, line: &str| line == format!("plant {bug:?}");
    let mut all = rmpp_core::Bug::ALL.into_iter();
    config.planted = bug.and_then(|line| all.find(|bug| named(bug, line)));
    config
}

#[cfg(not(feature = "planted"))]
fn plant(config: Config, _: Option<&str>) -> Config {
    config
}

/// `field=number` sets a field, `field+number` adds to it; `payload` is no field of the header.
fn lie(packet: &mut Packet, text: &str) {
    let Some(at) = text.find(['=', '+']) else {
        return;
    };
    let (name, value) = (&text[..at], number(Some(&text[at + 1..])));
    let adds = text.as_bytes()[at] == b'+';
    if name == "payload" {
        packet.len = if adds {
            packet.len + value as usize
        } else {
            value as usize
        };
        return;
    }
    let Some((_, first, count)) = FIELDS.iter().find(|field| field.0 == name) else {
        return;
    };
    let Some(bytes) = packet.header.get_mut(*first..first + count) else {
        return;
    };
    let old = bytes
        .iter()
        .fold(0, |sum, &byte| sum << 8 | u64::from(byte));
    let new = if adds { old.wrapping_add(value) } else { value };
    bytes.copy_from_slice(&new.to_be_bytes()[8 - count..]);
}
