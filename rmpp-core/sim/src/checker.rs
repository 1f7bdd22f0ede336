//! The invariants, which hold whatever the network does. The names I1 … I20 are those of
//! `docs/protocol.md`.

use rmpp_core::{Caps, Config, Landing, Shape, Survey};

use super::node::Tagged;

/// The end of a send at its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Outcome {
    Open,
    Sent,
    Refused,
    Cancelled,
    /// A peer was declared lost.
    Lost,
}

/// The state of a message, from both sides.
#[derive(Clone, Debug, Hash)]
pub(super) struct Message {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) len: u64,
    /// Its place among the messages of its pair.
    pub(super) place: u32,
    /// Its msgID, once a packet of it has gone.
    name: Option<u32>,
    pub(super) outcome: Outcome,
    /// Its sender died, and its receiver has not missed it.
    is_orphan: bool,
    pub(super) abort_asked: bool,
    pub(super) announced: bool,
    pub(super) landing: Option<Landing>,
    pub(super) arrived: bool,
    pub(super) aborted: bool,
    /// Highest data packet any CTS allowed.
    allowed: u64,
    /// Attempt and number of the data packet placed last.
    placed: (u16, u32),
    /// Which data packets were placed.
    seen: Vec<u64>,
}

impl Message {
    /// The first data packet that was not placed.
    fn first_missing(&self) -> u32 {
        let ones = |word: &u64| word.trailing_ones();
        let full = self.seen.iter().take_while(|word| ones(word) == 64).count();
        1 + full as u32 * 64 + self.seen.get(full).map_or(0, ones)
    }
}

/// A violation: which invariant, and what was seen.
pub(super) type Verdict = Result<(), String>;

/// All messages of a run and the order of each pair.
#[derive(Clone, Hash)]
pub(super) struct Checker {
    pub(super) messages: Vec<Message>,
    nodes: u32,
    packet_bytes: usize,
    /// Data may come in any sequence (rule R).
    is_selective: bool,
    /// Data packets that need no grant (rule U).
    unscheduled: u64,
    pool: u64,
    /// Per ordered pair: messages sent, and the place expected next at the receiver.
    sent: Vec<u32>,
    announced: Vec<u32>,
    /// Per ordered pair: places given up by their sender before they were announced.
    unfinished_to: Vec<usize>,
    pub(super) unfinished: usize,
}

macro_rules! hold {
    ($condition:expr, $($text:tt)*) => {
        if !$condition {
            return Err(format!($($text)*));
        }
    };
}
pub(super) use hold;

/// Returns true if attempt `a` is later than `b`, on a circle of 2¹⁶ numbers.
fn later_attempt(a: u16, b: u16) -> bool {
    b.wrapping_sub(a) > u16::MAX / 2
}

impl Checker {
    pub(super) fn new(config: &Config) -> Self {
        let nodes = config.nodes;
        let pairs = (nodes * nodes) as usize;
        Self {
            messages: Vec::new(),
            nodes,
            packet_bytes: config.packet_bytes,
            is_selective: config.caps.has(Caps::SNAK),
            unscheduled: u64::from(config.unscheduled()),
            pool: u64::from(config.max_rcv_buf.saturating_sub(nodes)),
            sent: vec![0; pairs],
            announced: vec![0; pairs],
            unfinished_to: vec![0; nodes as usize],
            unfinished: 0,
        }
    }

    fn pair(&self, from: u32, to: u32) -> usize {
        (from * self.nodes + to) as usize
    }

    /// A message enters; answers its tag.
    pub(super) fn enter(&mut self, from: u32, to: u32, len: u64) -> u32 {
        let pair = self.pair(from, to);
        let last_seq = Shape {
            len,
            packet_bytes: self.packet_bytes,
        }
        .last_seq();
        self.messages.push(Message {
            from,
            to,
            len,
            place: self.sent[pair],
            name: None,
            outcome: Outcome::Open,
            is_orphan: false,
            abort_asked: false,
            announced: false,
            landing: None,
            arrived: false,
            aborted: false,
            allowed: 0,
            placed: (0, 0),
            seen: vec![0; last_seq.div_ceil(64) as usize],
        });
        self.sent[pair] += 1;
        self.unfinished_to[to as usize] += 1;
        self.unfinished += 1;
        (self.messages.len() - 1) as u32
    }

    /// I1, I2: announced once, in order; a number may be passed over only when it was aborted.
    pub(super) fn announce(&mut self, at: u32, tag: u32, len: u64) -> Verdict {
        let message = &self.messages[tag as usize];
        let (from, to, place) = (message.from, message.to, message.place);
        hold!(
            to == at,
            "I1: message {tag} for node {to} was announced on node {at}"
        );
        hold!(!message.announced, "I1: message {tag} was announced twice");
        hold!(
            len == message.len,
            "I3: message {tag} was announced as {len} bytes"
        );
        let pair = self.pair(from, to);
        let expected = self.announced[pair];
        hold!(
            place >= expected,
            "I2: message {tag} came after place {expected} of its pair"
        );
        if place > expected {
            let passed = self
                .messages
                .iter()
                .filter(|m| (m.from, m.to) == (from, to) && (expected..place).contains(&m.place));
            for other in passed {
                let place = other.place;
                hold!(
                    other.abort_asked,
                    "I2: message {tag} came before place {place}"
                );
            }
        }
        self.announced[pair] = place + 1;
        self.messages[tag as usize].announced = true;
        Ok(())
    }

    /// Returns true if message `tag` ended as refused at its sender.
    pub(super) fn is_refused(&self, tag: u32) -> bool {
        self.messages[tag as usize].outcome == Outcome::Refused
    }

    /// P1: all packets of a message, in both directions, name it alike.
    pub(super) fn named(&mut self, tag: u32, msg_id: u32) -> Verdict {
        let name = *self.messages[tag as usize].name.get_or_insert(msg_id);
        hold!(
            name == msg_id,
            "P1: message {tag} is called {name} and {msg_id}"
        );
        Ok(())
    }

    /// The sender of a message dies: its receiver may keep it until it learns of that.
    pub(super) fn orphan(&mut self, tag: u32) {
        let message = &mut self.messages[tag as usize];
        (message.outcome, message.is_orphan) = (Outcome::Lost, true);
        self.unfinished -= 1;
    }

    /// `node` learns that `peer` is dead.
    pub(super) fn bury(&mut self, node: u32, peer: u32) {
        let theirs = |m: &&mut Message| m.is_orphan && (m.from, m.to) == (peer, node);
        for message in self.messages.iter_mut().filter(theirs) {
            message.is_orphan = false;
            self.unfinished_to[node as usize] -= 1;
        }
    }

    /// Messages that a node may still keep when all else is done: those of a dead sender.
    pub(super) fn orphans_of(&self, node: u32) -> usize {
        let orphans = self.messages.iter().filter(|m| m.is_orphan && m.to == node);
        orphans.count()
    }

    /// A CTS leaves the receiver.
    pub(super) fn allow(&mut self, tag: u32, up_to: u64) {
        let message = &mut self.messages[tag as usize];
        message.allowed = message.allowed.max(up_to);
    }

    /// I6: a data packet leaves the sender.
    pub(super) fn data_sent(&self, tag: u32, seq: u32) -> Verdict {
        let allowed = self.messages[tag as usize].allowed.max(self.unscheduled);
        hold!(
            u64::from(seq) <= allowed,
            "I6: message {tag}: data {seq} sent, {allowed} granted"
        );
        Ok(())
    }

    /// I3, rules D and P11: a data packet is placed; within an attempt in sequence from 1, and
    /// attempts never go back.
    pub(super) fn place(&mut self, tag: u32, attempt: u16, seq: u32) -> Verdict {
        let message = &mut self.messages[tag as usize];
        let (last_attempt, last_seq) = message.placed;
        let (word, bit) = ((seq - 1) as usize / 64, 1 << ((seq - 1) % 64));
        hold!(
            !self.is_selective || message.seen[word] & bit == 0,
            "I3: message {tag}: data {seq} placed twice"
        );
        let in_sequence = (attempt == last_attempt && seq == last_seq + 1)
            || (later_attempt(attempt, last_attempt) && seq == 1);
        hold!(
            in_sequence || self.is_selective,
            "I3: message {tag}: data {seq} of attempt {attempt} placed after data {last_seq} of \
             attempt {last_attempt}"
        );
        hold!(
            !message.arrived,
            "I3: message {tag}: data {seq} placed after it had arrived"
        );
        message.placed = (attempt, seq);
        message.seen[word] |= bit;
        Ok(())
    }

    /// Returns true if data may come in any sequence (rule R).
    pub(super) fn is_selective(&self) -> bool {
        self.is_selective
    }

    /// I3: what is awaited is the first packet that did not come, of a message that has landed.
    pub(super) fn awaits(&self, tag: u32, offset: u64, payload_bytes: usize) -> Verdict {
        let message = &self.messages[tag as usize];
        let has_landed = message.landing == Some(Landing::Accept);
        hold!(
            has_landed && !message.arrived && !message.aborted,
            "I3: data of message {tag} is awaited: {message:?}"
        );
        let next = match self.is_selective {
            true => message.first_missing(),
            // An attempt begins anew.
            false => message.placed.1 + 1,
        };
        let shape = Shape {
            len: message.len,
            packet_bytes: self.packet_bytes,
        };
        let is_next = next <= shape.last_seq()
            && (offset, payload_bytes) == (shape.offset(next), shape.data_bytes(next));
        hold!(
            is_next,
            "I3: message {tag}: {payload_bytes} bytes from {offset} are awaited, not data {next}"
        );
        Ok(())
    }

    /// I3: the receiver gets the event that all is there.
    pub(super) fn arrive(&mut self, tag: u32) -> Verdict {
        let last_seq = self.last_seq(tag);
        let message = &mut self.messages[tag as usize];
        hold!(
            !message.arrived && !message.aborted,
            "I1: message {tag} ended twice"
        );
        let accepted = message.landing == Some(Landing::Accept);
        hold!(accepted, "I3: message {tag} arrived without having landed");
        let seen: u32 = message.seen.iter().map(|word| word.count_ones()).sum();
        hold!(
            seen == last_seq,
            "I3: message {tag} arrived with {seen} of {last_seq} packets"
        );
        message.arrived = true;
        Ok(())
    }

    fn last_seq(&self, tag: u32) -> u32 {
        let len = self.messages[tag as usize].len;
        Shape {
            len,
            packet_bytes: self.packet_bytes,
        }
        .last_seq()
    }

    /// I5: the receiver gets the event that its sender gave it up.
    pub(super) fn abort(&mut self, tag: u32) -> Verdict {
        let message = &mut self.messages[tag as usize];
        hold!(
            message.abort_asked,
            "I5: message {tag} aborted though nobody asked for it"
        );
        hold!(
            !message.arrived && !message.aborted,
            "I1: message {tag} ended twice"
        );
        hold!(
            message.landing != Some(Landing::Drop),
            "I1: message {tag} was refused, then aborted"
        );
        message.aborted = true;
        Ok(())
    }

    /// I4, I5: the sender gets the end of its send.
    pub(super) fn end(&mut self, tag: u32, outcome: Outcome) -> Verdict {
        let message = &mut self.messages[tag as usize];
        hold!(
            message.outcome == Outcome::Open,
            "I5: message {tag} ended twice: {outcome:?}"
        );
        let refused = message.landing == Some(Landing::Drop);
        let caused = match outcome {
            // A refusal whose state had to go is answered by MSGEND (rules A and C).
            Outcome::Sent => message.arrived || refused,
            Outcome::Refused => refused,
            Outcome::Cancelled => message.abort_asked,
            Outcome::Open | Outcome::Lost => true,
        };
        hold!(
            caused,
            "I4: message {tag} ended as {outcome:?} without cause: {message:?}"
        );
        message.outcome = outcome;
        self.unfinished_to[message.to as usize] -= 1;
        self.unfinished -= 1;
        Ok(())
    }

    /// I7: what a node has granted.
    pub(super) fn grants(&self, node: u32, survey: &Survey) -> Verdict {
        let Survey {
            outstanding,
            granted,
            in_grant,
            ..
        } = *survey;
        hold!(
            outstanding == granted,
            "I7: node {node} counts {outstanding} packets outstanding, its messages {granted}"
        );
        hold!(
            outstanding <= self.pool + in_grant * self.unscheduled.max(1),
            "I7: node {node} has granted {outstanding} of {} to {in_grant} messages",
            self.pool
        );
        Ok(())
    }

    /// I5, I7, I8: after each step. `has_started_timers`: of all that has been sent.
    pub(super) fn node(&self, node: u32, endpoint: &Tagged, has_started_timers: bool) -> Verdict {
        let survey = endpoint.survey();
        self.grants(node, &survey)?;
        let stranded = endpoint.stranded().filter(|_| has_started_timers);
        hold!(
            stranded.is_none(),
            "I5: node {node} leaves {stranded:?} without a timer or anything to transmit"
        );
        let incoming_live = survey.incoming_live;
        let unfinished = self.unfinished_to[node as usize];
        hold!(
            incoming_live <= unfinished,
            "I8: node {node} keeps {incoming_live} live messages of {unfinished} unfinished"
        );
        Ok(())
    }

    /// I1, I5: when all is over, each message has ended on both sides in the same way.
    pub(super) fn all_ended(&self, dead: Option<u32>) -> Verdict {
        for (tag, message) in self.messages.iter().enumerate() {
            if Some(message.from) == dead || Some(message.to) == dead {
                continue;
            }
            hold!(
                message.outcome != Outcome::Open,
                "I5: message {tag} never ended: {message:?}"
            );
            let ended =
                message.arrived || message.aborted || message.landing == Some(Landing::Drop);
            hold!(
                ended || (!message.announced && message.abort_asked),
                "I1: message {tag} never ended for its receiver: {message:?}"
            );
        }
        Ok(())
    }
}

/// I7, I8, I15: nothing is left in an endpoint when all is over, but messages that only a dead node
/// could end.
pub(super) fn all_gone(node: u32, endpoint: &Tagged, orphans: usize) -> Verdict {
    let left = endpoint.survey();
    let empty = left.outgoing + left.incoming_done == 0;
    hold!(
        empty && left.incoming_live <= orphans && left.outstanding == left.granted,
        "I8: node {node} still keeps {left:?}"
    );
    let timer = endpoint.state().next_timeout;
    hold!(
        timer.is_none(),
        "I15: node {node} has nothing to do and a timer at {timer:?}"
    );
    Ok(())
}
