//! What a process knows of a window whose operations are messages.

use core::ops::Range;
use std::collections::BTreeMap;
use std::collections::VecDeque;

use super::locks::Locks;
use super::record::{ANSWERS, ASKS, HEADER, NO_BODY, RECORDS_MOST};
use crate::comm::Group;
use crate::data::{Area, Buffer, Known, Sent};
use crate::engine::Request;
use crate::error::Error;
use crate::ids::PeerId;
use crate::memory::Span;
use crate::rma::attached::SharedAttached;
use crate::rma::epochs::LockKind;
use crate::rma::title::Title;

/// So many questions to a target may be open before an operation waits.
const QUESTIONS_MOST: u64 = 8;

/// So many bodies of answers of a target may be missing before an operation waits: the target keeps
/// data for each.
const BODIES_MOST: u32 = 64;

/// What a process knows of a window: what it does at others, and what they do here.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) group: Group,
    pub(super) title: Title,
    /// The memory of this process; a dynamic window has what is attached.
    pub(super) memory: Span,
    pub(super) attached: Option<SharedAttached>,
    /// This process as an origin, by target.
    pub(super) lines: Vec<Line>,
    /// This process as a target, by origin.
    pub(super) visitors: Vec<Visitor>,
    pub(super) locks: Locks,
    pub(super) types: Sent,
    /// The number of the last message.
    number: u32,
    /// The number of the last operation whose answer has data.
    last_reply: u32,
    pub(super) replies: BTreeMap<u32, Reply>,
    /// Bodies that links read, by number.
    pub(super) leaving: BTreeMap<u32, Leaving>,
    /// Bodies that come, by rank and number.
    pub(super) landing: BTreeMap<(u32, u32), Landing>,
    /// How often origins have completed their accesses here, and how often that was waited for.
    pub(super) completed: u64,
    pub(super) completes_taken: u64,
}

/// The lock of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Locked {
    Not,
    /// The target is told with the first operation.
    Wanted(LockKind),
    Told,
    /// The target has granted it.
    Granted,
}

/// What this process does at a target.
#[derive(Debug)]
pub(super) struct Line {
    /// Records that were not sent.
    pub(super) batch: Vec<u8>,
    pub(super) locked: Locked,
    /// Something was done since the last question.
    pub(super) is_dirty: bool,
    /// Questions so far, and those that are answered.
    pub(super) asked: u64,
    pub(super) answered: u64,
    /// Heads since the last question.
    pub(super) heads: u32,
    /// Answers with data that are missing, and those of them that come as bodies.
    pub(super) replies: u32,
    pub(super) bodies: u32,
    /// Bodies that the link reads.
    pub(super) leaving: u32,
    /// What the target could not do.
    pub(super) error: Option<Error>,
    pub(super) is_lost: bool,
    /// Its posts so far, and those that were waited for.
    pub(super) posts: u64,
    pub(super) posts_taken: u64,
    /// Who keeps a lock from this process.
    pub(super) holder: Option<u32>,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            batch: Vec::new(),
            locked: Locked::Not,
            is_dirty: false,
            asked: 0,
            answered: 0,
            heads: 0,
            replies: 0,
            bodies: 0,
            leaving: 0,
            error: None,
            is_lost: false,
            posts: 0,
            posts_taken: 0,
            holder: None,
        }
    }
}

impl Line {
    /// Returns true if all operations are over at this process.
    pub(super) fn is_over_here(&self) -> bool {
        self.replies == 0 && self.leaving == 0
    }

    /// Returns true if the target is near enough for more operations.
    pub(super) fn is_near(&self) -> bool {
        self.asked - self.answered < QUESTIONS_MOST && self.bodies < BODIES_MOST
    }

    /// Returns true if no lock has to be waited for.
    pub(super) fn is_locked(&self) -> bool {
        matches!(self.locked, Locked::Not | Locked::Granted)
    }

    /// The target has answered what came after the lock.
    pub(super) fn note_locked(&mut self) {
        self.locked = Locked::Granted;
    }

    /// Returns true if all operations are over, here and there.
    pub(super) fn is_over(&self) -> bool {
        self.is_over_here() && self.answered >= self.asked
    }
}

/// What an origin does here.
#[derive(Debug, Default)]
pub(super) struct Visitor {
    pub(super) known: Known,
    /// Heads that are not carried out.
    pub(super) queue: VecDeque<Queued>,
    /// Bodies that come straight to the memory.
    pub(super) landing: u32,
    /// It waits for the lock; it has got it meanwhile.
    pub(super) is_waiting: bool,
    pub(super) is_granted: bool,
    /// What could not be done since its last question.
    pub(super) error: Option<Error>,
    /// Answers that were not sent.
    pub(super) answers: Vec<u8>,
}

/// A head of an origin, carried out up to a byte.
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) number: u32,
    pub(super) bytes: Vec<u8>,
    pub(super) at: usize,
    /// Where its body lands, if that is not the memory of the window.
    pub(super) body: Option<Buffer>,
    pub(super) has_landed: bool,
}

/// Data that an operation waits for.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) rank: u32,
    pub(super) place: Area,
    /// From which byte of it on.
    pub(super) offset: usize,
    /// It comes as a body.
    pub(super) is_body: bool,
    pub(super) request: Option<Request>,
}

/// A body on its way to a rank.
#[derive(Debug)]
pub(super) struct Leaving {
    pub(super) rank: u32,
    pub(super) what: Left,
}

#[derive(Debug)]
pub(super) enum Left {
    /// The data of an operation of this process.
    Operation(Option<Request>),
    /// The answer to one of another process; the addresses of its data, if it is one range.
    Answer(Option<Range<u64>>),
}

/// What a body is that comes.
#[derive(Debug)]
pub(super) enum Landing {
    /// It goes straight to the memory of the window.
    Direct,
    /// It waits for its turn.
    Queued,
    /// It is the answer to the operation of this number.
    Reply(u32),
}

/// What is to be sent and finished.
#[derive(Debug, Default)]
pub(super) struct Out {
    pub(super) mails: Vec<Mail>,
    pub(super) finished: Vec<(Request, Option<Error>)>,
    /// Origins whose turn it may be.
    pub(super) due: Vec<u32>,
}

/// A message to a rank of the window.
#[derive(Debug)]
pub(super) struct Mail {
    pub(super) rank: u32,
    pub(super) peer: PeerId,
    pub(super) number: u32,
    pub(super) head: Vec<u8>,
    pub(super) body: Option<Area>,
}

impl Desk {
    pub(super) fn new(
        group: &Group,
        title: &Title,
        memory: Span,
        attached: Option<SharedAttached>,
    ) -> Self {
        let size = group.size() as usize;
        Self {
            group: group.clone(),
            title: title.clone(),
            memory,
            attached,
            lines: (0..size).map(|_| Line::default()).collect(),
            visitors: (0..size).map(|_| Visitor::default()).collect(),
            locks: Locks::default(),
            types: Sent::default(),
            number: 0,
            last_reply: 0,
            replies: BTreeMap::new(),
            leaving: BTreeMap::new(),
            landing: BTreeMap::new(),
            completed: 0,
            completes_taken: 0,
        }
    }

    pub(super) fn peer(&self, rank: u32) -> PeerId {
        let peer = self.group.peer(rank);
        peer.expect("a rank of the window")
    }

    fn mail(&mut self, rank: u32, kind: u8, records: &[u8], body: Option<Area>) -> Mail {
        self.number = self.number.wrapping_add(1);
        let mut head = Vec::with_capacity(HEADER + records.len());
        head.push(kind);
        let len = body.as_ref().map_or(NO_BODY, Area::len);
        head.extend(len.to_le_bytes());
        head.extend(records);
        let (peer, number) = (self.peer(rank), self.number);
        Mail {
            rank,
            peer,
            number,
            head,
            body,
        }
    }

    /// Sends what was collected for a target, with the body of the last record.
    pub(super) fn send(&mut self, rank: u32, body: Option<(Area, Option<Request>)>, out: &mut Out) {
        let line = &mut self.lines[rank as usize];
        let records = core::mem::take(&mut line.batch);
        if records.is_empty() {
            return;
        }
        line.heads += 1;
        let (body, request) = body.map_or((None, None), |(body, request)| (Some(body), request));
        let has_body = body.is_some();
        let mail = self.mail(rank, ASKS, &records, body);
        if has_body {
            let what = Left::Operation(request);
            self.leaving.insert(mail.number, Leaving { rank, what });
            self.lines[rank as usize].leaving += 1;
        }
        // The memory serves again.
        let mut records = records;
        records.clear();
        self.lines[rank as usize].batch = records;
        out.mails.push(mail);
    }

    /// Makes room for `len` bytes of records for a target.
    pub(super) fn make_room(&mut self, rank: u32, len: usize, out: &mut Out) {
        if self.lines[rank as usize].batch.len() + len > RECORDS_MOST {
            self.send(rank, None, out);
        }
    }

    /// Sends what was answered to an origin, with the body of the last answer.
    pub(super) fn answer(&mut self, rank: u32, body: Option<Area>, out: &mut Out) {
        let answers = core::mem::take(&mut self.visitors[rank as usize].answers);
        if answers.is_empty() {
            return;
        }
        let span = body.as_ref().map(Area::span);
        let mail = self.mail(rank, ANSWERS, &answers, body);
        if let Some(span) = span {
            let range = |span: Span| span.address()..span.address() + span.len() as u64;
            let what = Left::Answer(span.map(range));
            self.leaving.insert(mail.number, Leaving { rank, what });
        }
        out.mails.push(mail);
    }

    /// The answers to an origin, with room for `len` bytes more.
    pub(super) fn answers(&mut self, rank: u32, len: usize, out: &mut Out) -> &mut Vec<u8> {
        if self.visitors[rank as usize].answers.len() + len > RECORDS_MOST {
            self.answer(rank, None, out);
        }
        &mut self.visitors[rank as usize].answers
    }

    /// Notes that an operation waits for data. Returns its number.
    pub(super) fn await_reply(&mut self, reply: Reply) -> u32 {
        let line = &mut self.lines[reply.rank as usize];
        line.replies += 1;
        line.bodies += u32::from(reply.is_body);
        loop {
            self.last_reply = self.last_reply.wrapping_add(1);
            let id = self.last_reply;
            if id != super::record::NO_REPLY && !self.replies.contains_key(&id) {
                self.replies.insert(id, reply);
                return id;
            }
        }
    }

    /// The data of an operation has come.
    pub(super) fn end_reply(&mut self, id: u32, error: Option<Error>, out: &mut Out) {
        if let Some(reply) = self.replies.remove(&id) {
            let line = &mut self.lines[reply.rank as usize];
            line.replies -= 1;
            line.bodies -= u32::from(reply.is_body);
            out.finished
                .extend(reply.request.map(|request| (request, error)));
        }
    }
}
