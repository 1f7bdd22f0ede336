//! What the processes of a window say to each other.
//!
//! A head is a byte (whether it asks or answers), the bytes of the body that follows it or
//! [`NO_BODY`], and records one behind the other. A record is a byte and its fields, numbers in
//! little-endian order; the last one of a head may have its data in the body. A place is a
//! displacement in bytes, a count, and a datatype as `data/numbered.rs` writes it.

use crate::data::{Basic, Datatype, Known, Op};
use crate::engine::HEAD_MOST;
use crate::error::Class;
use crate::rma::epochs::LockKind;

/// The first byte of a head: operations on the target's memory, in their order.
pub(super) const ASKS: u8 = 0;
/// The first byte of a head: answers, in any order.
pub(super) const ANSWERS: u8 = 1;

/// No body follows the head.
pub(super) const NO_BODY: u64 = u64::MAX;

/// Bytes before the records.
pub(super) const HEADER: usize = 9;

/// Bytes of records in a head.
pub(super) const RECORDS_MOST: usize = HEAD_MOST as usize - HEADER;

/// Data of at most this many bytes is in the record.
pub(super) const INLINE_MOST: u64 = 2048;

/// A datatype with a longer form is taken to pieces.
pub(super) const FORM_MOST: usize = 1024;

/// An operation needs no answer with data.
pub(super) const NO_REPLY: u32 = u32::MAX;

const LOCK: u8 = 1;
const UNLOCK: u8 = 2;
const ASK: u8 = 3;
const COMPLETE: u8 = 4;
const PUT: u8 = 5;
const PUT_BODY: u8 = 6;
const GET: u8 = 7;
const COMBINE: u8 = 8;
const COMBINE_BODY: u8 = 9;
const SWAP: u8 = 10;
const DONE: u8 = 20;
const FAILED: u8 = 21;
const DATA: u8 = 22;
const DATA_BODY: u8 = 23;
const POSTED: u8 = 24;
const HELD: u8 = 25;
const REFUSED: u8 = 26;

/// Operators by their number on the wire.
const OPS: [Op; 14] = [
    Op::Max,
    Op::Min,
    Op::Sum,
    Op::Prod,
    Op::Land,
    Op::Band,
    Op::Lor,
    Op::Bor,
    Op::Lxor,
    Op::Bxor,
    Op::Minloc,
    Op::Maxloc,
    Op::Replace,
    Op::NoOp,
];

/// The classes of errors that a target tells, by their number on the wire.
pub(super) const CLASSES: [Class; 4] = [Class::RmaRange, Class::Type, Class::NoMem, Class::Other];

/// Elements at the target.
#[derive(Clone, Debug)]
pub(super) struct Elements {
    pub(super) at: i64,
    pub(super) count: u64,
    pub(super) datatype: Datatype,
}

/// What the origin of an operation asks for.
#[derive(Debug)]
pub(super) enum Record<'a> {
    Lock(LockKind),
    Unlock,
    /// An answer with this number, when all before is done.
    Ask(u64),
    /// The origin's accesses are complete.
    Complete,
    Put(Elements, &'a [u8]),
    PutBody(Elements),
    /// The answer has this number.
    Get(u32, Elements),
    /// `None`: the data is the body.
    Combine(u32, Op, Basic, Elements, Option<&'a [u8]>),
    /// The new element, and what must be there.
    Swap(u32, Basic, Elements, &'a [u8]),
}

/// What the target answers.
#[derive(Debug)]
pub(super) enum Answer<'a> {
    /// All before the question of this number is done.
    Done(u64),
    /// The same, and some of it was not done: the class of the error by its number, and why.
    Failed(u64, u8, &'a str),
    Data(u32, &'a [u8]),
    /// So many bytes are the body.
    DataBody(u32),
    /// There is no data: the class of the error by its number, and why.
    Refused(u32, u8, &'a str),
    /// The target has posted.
    Posted,
    /// The lock has to wait for this rank, among others.
    Held(u32),
}

/// Bytes that become records.
pub(super) trait Write {
    fn byte(&mut self, byte: u8);
    fn word(&mut self, word: u64);
    fn number(&mut self, number: u32);
    fn data(&mut self, data: &[u8]);

    fn lock(&mut self, kind: LockKind) {
        self.byte(LOCK);
        self.byte(kind as u8);
    }

    fn unlock(&mut self) {
        self.byte(UNLOCK);
    }

    fn ask(&mut self, id: u64) {
        self.byte(ASK);
        self.word(id);
    }

    fn complete(&mut self) {
        self.byte(COMPLETE);
    }

    fn put(&mut self, place: &[u8], data: &[u8]) {
        self.byte(PUT);
        self.raw(place);
        self.data(data);
    }

    fn put_body(&mut self, place: &[u8]) {
        self.byte(PUT_BODY);
        self.raw(place);
    }

    fn get(&mut self, id: u32, place: &[u8]) {
        self.byte(GET);
        self.number(id);
        self.raw(place);
    }

    fn combine(&mut self, id: u32, (op, base): (&Op, Basic), place: &[u8], data: Option<&[u8]>) {
        self.byte(if data.is_some() {
            COMBINE
        } else {
            COMBINE_BODY
        });
        self.number(id);
        let same = |known: &Op| core::mem::discriminant(known) == core::mem::discriminant(op);
        let op = OPS.iter().position(same).unwrap_or(OPS.len());
        self.byte(op as u8);
        self.byte(base as u8);
        self.raw(place);
        if let Some(data) = data {
            self.data(data);
        }
    }

    fn swap(&mut self, id: u32, base: Basic, place: &[u8], data: &[u8]) {
        self.byte(SWAP);
        self.number(id);
        self.byte(base as u8);
        self.raw(place);
        self.data(data);
    }

    fn done(&mut self, id: u64, error: Option<(u8, &str)>) {
        self.byte(if error.is_some() { FAILED } else { DONE });
        self.word(id);
        if let Some((class, error)) = error {
            self.byte(class);
            self.data(error.as_bytes());
        }
    }

    fn reply(&mut self, id: u32, data: &[u8]) {
        self.byte(DATA);
        self.number(id);
        self.data(data);
    }

    fn reply_body(&mut self, id: u32) {
        self.byte(DATA_BODY);
        self.number(id);
    }

    fn refused(&mut self, id: u32, class: u8, why: &str) {
        self.byte(REFUSED);
        self.number(id);
        self.byte(class);
        self.data(why.as_bytes());
    }

    fn posted(&mut self) {
        self.byte(POSTED);
    }

    fn held(&mut self, rank: u32) {
        self.byte(HELD);
        self.number(rank);
    }

    fn raw(&mut self, bytes: &[u8]);
}

impl Write for Vec<u8> {
    fn byte(&mut self, byte: u8) {
        self.push(byte);
    }

    fn word(&mut self, word: u64) {
        self.extend(word.to_le_bytes());
    }

    fn number(&mut self, number: u32) {
        self.extend(number.to_le_bytes());
    }

    fn data(&mut self, data: &[u8]) {
        self.number(data.len() as u32);
        self.extend(data);
    }

    fn raw(&mut self, bytes: &[u8]) {
        self.extend(bytes);
    }
}

/// Records that are read, as far as they are.
pub(super) struct Reader<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn is_over(&self) -> bool {
        self.at >= self.bytes.len()
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let taken = self.bytes.get(self.at..)?.first_chunk()?;
        self.at += N;
        Some(*taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take().map(|[byte]| byte)
    }

    fn word(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn number(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn data(&mut self) -> Option<&'a [u8]> {
        let len = self.number()? as usize;
        let data = self.bytes.get(self.at..)?.get(..len)?;
        self.at += len;
        Some(data)
    }

    fn place(&mut self, known: &mut Known) -> Option<Elements> {
        let (at, count) = (self.word()?.cast_signed(), self.word()?);
        let (datatype, len) = known.read(self.bytes.get(self.at..)?).ok()?;
        self.at += len;
        Some(Elements {
            at,
            count,
            datatype,
        })
    }

    fn base(&mut self) -> Option<Basic> {
        Basic::ALL.get(usize::from(self.byte()?)).copied()
    }

    /// The next record of an origin; `None` if the bytes are none.
    pub(super) fn record(&mut self, known: &mut Known) -> Option<Record<'a>> {
        Some(match self.byte()? {
            LOCK => Record::Lock(LockKind::of(self.byte()?)?),
            UNLOCK => Record::Unlock,
            ASK => Record::Ask(self.word()?),
            COMPLETE => Record::Complete,
            PUT => Record::Put(self.place(known)?, self.data()?),
            PUT_BODY => Record::PutBody(self.place(known)?),
            GET => Record::Get(self.number()?, self.place(known)?),
            kind @ (COMBINE | COMBINE_BODY) => {
                let id = self.number()?;
                let op = OPS.get(usize::from(self.byte()?))?.clone();
                let (base, place) = (self.base()?, self.place(known)?);
                let data = match kind {
                    COMBINE => Some(self.data()?),
                    _ => None,
                };
                Record::Combine(id, op, base, place, data)
            }
            SWAP => {
                let (id, base) = (self.number()?, self.base()?);
                Record::Swap(id, base, self.place(known)?, self.data()?)
            }
            _ => return None,
        })
    }

    /// The next answer; `None` if the bytes are none.
    pub(super) fn answer(&mut self) -> Option<Answer<'a>> {
        Some(match self.byte()? {
            DONE => Answer::Done(self.word()?),
            FAILED => {
                let (id, class) = (self.word()?, self.byte()?);
                Answer::Failed(id, class, core::str::from_utf8(self.data()?).ok()?)
            }
            DATA => Answer::Data(self.number()?, self.data()?),
            DATA_BODY => Answer::DataBody(self.number()?),
            REFUSED => {
                let (id, class) = (self.number()?, self.byte()?);
                Answer::Refused(id, class, core::str::from_utf8(self.data()?).ok()?)
            }
            POSTED => Answer::Posted,
            HELD => Answer::Held(self.number()?),
            _ => return None,
        })
    }
}
