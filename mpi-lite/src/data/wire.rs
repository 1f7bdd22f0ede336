//! The wire form of a datatype, for a process that must lay out memory as another one says.
//!
//! A number is unsigned LEB128: 7 bits in a byte, the lowest first, bit 7 set in all bytes but the
//! last. A signed number is a zigzag one: `2 n` for `n >= 0`, `-2 n - 1` for `n < 0`.
//!
//! | form | |
//! |---|---|
//! | number | derived datatypes in the form, `n` |
//! | number, only if `n` is 0 | the predefined datatype: its row in the table of `basic.rs` |
//! | `n` entries | each after those that it is made of; the last one is the datatype |
//!
//! | entry | |
//! |---|---|
//! | byte | bits 0 and 1: the shape; bits 2 and 3: the bounds; the others are 0 |
//! | bounds 0 | those of the members |
//! | bounds 1 | the same, rounded up to their alignment |
//! | bounds 2 | signed: lower bound; signed: extent |
//! | shape 0, a run | item; number: elements |
//! | shape 1, a vector | item; numbers: blocks, elements of each; signed: bytes between starts |
//! | shape 2, blocks of one datatype | item; number: blocks; of each: elements, step |
//! | shape 3, blocks of several | number: blocks; of each: item, elements, step |
//!
//! An item is a number: below the number of predefined datatypes the row of one, from there on an
//! entry, the first of the form being 0. A step is signed: the bytes from the displacement of the
//! last block (0 before the first one), modulo 2^64.
//!
//! A datatype that is a member of several others has one entry. A reader needs no recursion, and
//! its memory is in proportion to the form.
//!
//! Source: MPI 5.0, 5.1 (datatypes), 12.3.1 (the target of a put applies one).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::basic::Basic;
use super::datatype::{Block, Datatype, Derived, Limits};
use super::layout::{List, Shape};
use crate::error::{Cause, Error};

const RUN: u8 = 0;
const VECTOR: u8 = 1;
const SAME: u8 = 2;
const MIXED: u8 = 3;

const MEMBERS: u8 = 0;
const ALIGNED: u8 = 1 << 2;
const GIVEN: u8 = 2 << 2;

/// The first number of an item that is an entry of the form.
const FIRST_ENTRY: u64 = Basic::ALL.len() as u64;

/// Bytes that are no wire form of a datatype.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the wire form of a datatype is wrong at byte {at}: {why}")]
pub struct Malformed {
    /// The byte, counted from the first one of the form.
    pub at: usize,
    /// What is wrong.
    pub why: &'static str,
}

impl Datatype {
    /// Appends the wire form to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Basic(basic) => {
                put(out, 0);
                put(out, *basic as u64);
            }
            Self::Derived(derived) => {
                let mut writer = Writer::default();
                writer.entry(derived);
                put(out, writer.numbers.len() as u64);
                out.append(&mut writer.entries);
            }
        }
    }

    /// Reads a wire form, with which `bytes` begin. Returns the datatype, committed, and the number
    /// of bytes of the form. Its memory is in proportion to these.
    ///
    /// # Errors
    /// The bytes are no form, or the datatype would be nested too deep or leave the address space.
    pub fn read(bytes: &[u8]) -> Result<(Self, usize), Malformed> {
        let mut reader = Reader { bytes, at: 0 };
        let datatype = reader.datatype()?;
        datatype.commit();
        Ok((datatype, reader.at))
    }
}

/// Appends a number.
pub(super) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn put_all(out: &mut Vec<u8>, numbers: &[u64]) {
    numbers.iter().for_each(|number| put(out, *number));
}

fn put_signed(out: &mut Vec<u8>, number: i64) {
    put(out, ((number << 1) ^ (number >> 63)).cast_unsigned());
}

/// The entries of a form, as far as they are written.
#[derive(Default)]
struct Writer {
    entries: Vec<u8>,
    /// The entry of each derived datatype.
    numbers: BTreeMap<*const Derived, u64>,
}

impl Writer {
    /// Writes what an item needs. Returns its number.
    fn item(&mut self, item: &Datatype) -> u64 {
        match item {
            Datatype::Basic(basic) => *basic as u64,
            Datatype::Derived(derived) => FIRST_ENTRY + self.entry(derived),
        }
    }

    /// Writes an entry behind those that it needs, if it is not written yet. Returns its number.
    fn entry(&mut self, derived: &Arc<Derived>) -> u64 {
        let key = Arc::as_ptr(derived);
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        match &derived.shape {
            Shape::Strided {
                count,
                stride,
                blocklength,
                item,
            } => {
                let item = self.item(item);
                if (*count, *stride) == (1, 0) {
                    let out = self.begin(RUN, derived.limits);
                    put_all(out, &[item, *blocklength]);
                } else {
                    let out = self.begin(VECTOR, derived.limits);
                    put_all(out, &[item, *count, *blocklength]);
                    put_signed(out, *stride);
                }
            }
            Shape::Listed(list) => self.blocks(list.blocks(), derived.limits),
        }
        let number = self.numbers.len() as u64;
        self.numbers.insert(key, number);
        number
    }

    fn blocks(&mut self, blocks: &[Block], limits: Limits) {
        let first = blocks.first().map(|block| &block.datatype);
        let one = first.filter(|one| blocks.iter().all(|block| one.is_same(&block.datatype)));
        let items: Vec<u64> = match one {
            Some(item) => vec![self.item(item)],
            None => blocks.iter().map(|it| self.item(&it.datatype)).collect(),
        };
        let out = self.begin(if one.is_some() { SAME } else { MIXED }, limits);
        if one.is_some() {
            put(out, items[0]);
        }
        put(out, blocks.len() as u64);
        let mut last = 0;
        for (number, block) in blocks.iter().enumerate() {
            if one.is_none() {
                put(out, items[number]);
            }
            put(out, block.count);
            put_signed(out, block.displacement.wrapping_sub(last));
            last = block.displacement;
        }
    }

    /// Begins an entry.
    fn begin(&mut self, shape: u8, limits: Limits) -> &mut Vec<u8> {
        let out = &mut self.entries;
        match limits {
            Limits::Members => out.push(shape | MEMBERS),
            Limits::Aligned => out.push(shape | ALIGNED),
            Limits::Given((lower, upper)) => {
                out.push(shape | GIVEN);
                put_signed(out, lower);
                put_signed(out, upper - lower);
            }
        }
        out
    }
}

/// Bytes, as far as they are read.
pub(super) struct Reader<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

impl Reader<'_> {
    fn byte(&mut self) -> Result<u8, Malformed> {
        let byte = self.bytes.get(self.at).copied();
        let byte = byte.ok_or_else(|| self.wrong("the bytes end too early"))?;
        self.at += 1;
        Ok(byte)
    }

    pub(super) fn number(&mut self) -> Result<u64, Malformed> {
        let (start, mut number) = (self.at, 0);
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(wrong_at(start, "a number has more than 64 bits"))
    }

    fn signed(&mut self) -> Result<i64, Malformed> {
        let number = self.number()?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    pub(super) fn datatype(&mut self) -> Result<Datatype, Malformed> {
        let (mut left, mut entries) = (self.number()?, Vec::new());
        if left == 0 {
            return self.item(&[]);
        }
        loop {
            let entry = self.entry(&entries)?;
            left -= 1;
            if left == 0 {
                return Ok(entry);
            }
            entries.push(entry);
        }
    }

    /// Reads an entry that may be made of `entries`.
    fn entry(&mut self, entries: &[Datatype]) -> Result<Datatype, Malformed> {
        let start = self.at;
        let how = self.byte()?;
        let (shape, limits) = (how & 3, how & !3);
        let limits = match limits {
            MEMBERS => Limits::Members,
            ALIGNED => Limits::Aligned,
            GIVEN => {
                let (lower, extent) = (self.signed()?, self.signed()?);
                let upper = lower.checked_add(extent);
                let why = "the bounds leave the address space";
                let upper = upper.ok_or_else(|| wrong_at(start, why))?;
                Limits::Given((lower, upper))
            }
            _ => return Err(wrong_at(start, "there is no such kind of entry")),
        };
        let shape = match shape {
            RUN => Shape::Strided {
                item: self.item(entries)?,
                count: 1,
                blocklength: self.number()?,
                stride: 0,
            },
            VECTOR => Shape::Strided {
                item: self.item(entries)?,
                count: self.number()?,
                blocklength: self.number()?,
                stride: self.signed()?,
            },
            shape => Shape::Listed(List::new(self.blocks(shape == SAME, entries)?)),
        };
        Datatype::limited(shape, limits).map_err(|error| wrong_at(start, reason(&error)))
    }

    fn blocks(&mut self, same: bool, entries: &[Datatype]) -> Result<Vec<Block>, Malformed> {
        let one = same.then(|| self.item(entries)).transpose()?;
        let start = self.at;
        let (blocks, left) = (self.number()?, self.bytes.len() - self.at);
        // A block takes two bytes at least.
        if blocks > left as u64 / 2 {
            return Err(wrong_at(start, "there are more blocks than bytes"));
        }
        let mut displacement = 0i64;
        let block = |_| {
            let datatype = one.clone().map_or_else(|| self.item(entries), Ok)?;
            let count = self.number()?;
            displacement = displacement.wrapping_add(self.signed()?);
            Ok(Block {
                displacement,
                count,
                datatype,
            })
        };
        (0..blocks).map(block).collect()
    }

    /// Reads the number of a predefined datatype or of one of `entries`.
    fn item(&mut self, entries: &[Datatype]) -> Result<Datatype, Malformed> {
        let start = self.at;
        let number = self.number()?;
        let index = |from: u64| usize::try_from(number - from).ok();
        let item = match number < FIRST_ENTRY {
            true => index(0).map(|row| Datatype::Basic(Basic::ALL[row])),
            false => index(FIRST_ENTRY).and_then(|entry| entries.get(entry).cloned()),
        };
        item.ok_or_else(|| wrong_at(start, "there is no such datatype before it"))
    }

    fn wrong(&self, why: &'static str) -> Malformed {
        wrong_at(self.at, why)
    }
}

pub(super) fn wrong_at(at: usize, why: &'static str) -> Malformed {
    Malformed { at, why }
}

fn reason(error: &Error) -> &'static str {
    match error.cause() {
        Cause::Datatype(why) => why,
        _ => "there is no such datatype",
    }
}
