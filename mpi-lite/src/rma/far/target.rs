//! What other processes do with the memory of this one.

use super::desk::{Desk, Out, Queued};
use super::record::{CLASSES, Elements, INLINE_MOST, NO_REPLY, Reader, Record, Write as _};
use crate::data::{Area, Basic, Buffer, Op};
use crate::error::{Cause, Class, Error, Result};
use crate::rma::attached::not_attached;
use crate::rma::combine;
use crate::rma::epochs::LockKind;
use crate::rma::errors::wrong;

/// Bytes of an answer beside its data.
const FIELDS: usize = 16;

/// The class of an error by its number on the wire.
fn number_of(error: &Error) -> u8 {
    let number = CLASSES.iter().position(|class| *class == error.class());
    number.unwrap_or(CLASSES.len() - 1) as u8
}

/// What is carried out.
impl Desk {
    /// Carries out what ranks have asked for, this one first, as far as it is their turn.
    pub(super) fn advance(&mut self, rank: u32, out: &mut Out) {
        out.due.push(rank);
        while let Some(rank) = out.due.pop() {
            while let Some(mut queued) = self.visitors[rank as usize].queue.pop_front() {
                if !self.carry_out(rank, &mut queued, out) {
                    self.visitors[rank as usize].queue.push_front(queued);
                    break;
                }
            }
            self.answer(rank, None, out);
        }
    }

    /// Carries the records of a head out. Returns false if one has to wait.
    fn carry_out(&mut self, rank: u32, queued: &mut Queued, out: &mut Out) -> bool {
        let bytes = core::mem::take(&mut queued.bytes);
        let mut is_done = true;
        while queued.at < bytes.len() {
            let mut reader = Reader {
                bytes: &bytes,
                at: queued.at,
            };
            // What is no record is nonsense from the network.
            let known = &mut self.visitors[rank as usize].known;
            let Some(record) = reader.record(known) else {
                break;
            };
            if !self.carry_out_one(rank, record, queued, out) {
                is_done = false;
                break;
            }
            queued.at = reader.at;
        }
        queued.bytes = bytes;
        is_done
    }

    fn carry_out_one(
        &mut self,
        rank: u32,
        record: Record<'_>,
        queued: &Queued,
        out: &mut Out,
    ) -> bool {
        let visitor = &mut self.visitors[rank as usize];
        // These come after all that the origin has done before.
        if visitor.landing > 0
            && matches!(record, Record::Unlock | Record::Ask(_) | Record::Complete)
        {
            return false;
        }
        let done = match record {
            Record::Lock(kind) => return self.lock(rank, kind, out),
            Record::Unlock => {
                for next in self.locks.give_back(rank) {
                    self.visitors[next as usize].is_granted = true;
                    out.due.push(next);
                }
                Ok(())
            }
            Record::Ask(id) => {
                let error = visitor.error.take();
                let told = error.map(|error| (number_of(&error), error.to_string()));
                let told = told.as_ref().map(|(class, text)| (*class, &**text));
                let len = FIELDS + told.map_or(0, |(_, text)| text.len());
                self.answers(rank, len, out).done(id, told);
                Ok(())
            }
            Record::Complete => {
                self.completed += 1;
                Ok(())
            }
            Record::Put(place, data) => self.memory_at(&place).map(|area| area.write(0, data)),
            Record::PutBody(_) | Record::Combine(.., None) if !queued.has_landed => return false,
            Record::PutBody(place) => self.put_copy(&place, queued.body.as_ref()),
            Record::Get(id, place) => {
                let got = self.memory_at(&place);
                self.reply_or_refuse(rank, id, got, out)
            }
            Record::Combine(id, op, base, place, data) => {
                let incoming = match (data, &queued.body) {
                    (Some(data), _) => Buffer::holding(data),
                    (None, body) => body.clone().map_or_else(|| Buffer::zeroed(0), Ok),
                };
                let old = incoming.and_then(|it| self.combine((id, &op, base), &it, &place));
                self.reply_with(rank, id, old, out)
            }
            Record::Swap(id, base, place, both) => {
                let old = self.swap(base, both, &place);
                self.reply_with(rank, id, old, out)
            }
        };
        if let Err(error) = done {
            let first = &mut self.visitors[rank as usize].error;
            first.get_or_insert(error);
        }
        true
    }

    /// Takes the lock for a rank. Returns false if it has to wait; then it hears who has it.
    fn lock(&mut self, rank: u32, kind: LockKind, out: &mut Out) -> bool {
        let visitor = &mut self.visitors[rank as usize];
        if core::mem::take(&mut visitor.is_granted) {
            visitor.is_waiting = false;
            return true;
        }
        if !visitor.is_waiting {
            if self.locks.take(rank, kind) {
                return true;
            }
            self.visitors[rank as usize].is_waiting = true;
            if let Some(holder) = self.locks.holder() {
                self.answers(rank, FIELDS, out).held(holder);
            }
        }
        false
    }

    /// The elements of a place.
    pub(super) fn memory_at(&self, place: &Elements) -> Result<Area> {
        let origin = match &self.attached {
            None => {
                let (first, len) = place.datatype.occupied(place.count)?;
                let start = place.at.wrapping_add(first).cast_unsigned();
                let end = start.checked_add(len as u64);
                let is_within = end.is_some_and(|end| end <= self.memory.len() as u64);
                if !is_within {
                    return Err(not_attached(len, start));
                }
                self.memory.origin(0).moved(place.at)
            }
            Some(attached) => {
                let attached = attached.lock();
                attached.place((place.at, place.count), &place.datatype)?
            }
        };
        Area::at(origin, place.count, &place.datatype)
    }

    fn put_copy(&self, place: &Elements, body: Option<&Buffer>) -> Result<()> {
        let area = self.memory_at(place)?;
        match body {
            Some(body) => area.copy_from(&body.area()?),
            None => return Err(Cause::NoMemory { bytes: area.len() }.into()),
        }
        Ok(())
    }

    /// Combines data with the memory of a place. Returns what was there before, if it is wanted.
    fn combine(
        &self,
        (id, op, base): (u32, &Op, Basic),
        incoming: &Buffer,
        place: &Elements,
    ) -> Result<Option<Buffer>> {
        let target = self.memory_at(place)?;
        op.check_accumulate(base, true)?;
        let has_base = place.datatype.reduction_base() == Some(base);
        let has_data = matches!(op, Op::NoOp) || incoming.bytes()? == target.len();
        if !has_base || !has_data {
            return Err(wrong(Class::Type, "the data does not fit the target"));
        }
        let old = match id {
            NO_REPLY => None,
            _ => Some(Buffer::zeroed(target.len() as usize)?),
        };
        let area = old.as_ref().map(Buffer::area).transpose()?;
        combine::combine((op, base), &incoming.area()?, &target, area.as_ref())?;
        Ok(old)
    }

    fn swap(&self, base: Basic, both: &[u8], place: &Elements) -> Result<Option<Buffer>> {
        let target = self.memory_at(place)?;
        let len = base.size() as usize;
        if target.len() != base.size() || both.len() != 2 * len || len > 16 {
            return Err(wrong(Class::Type, "the data does not fit the target"));
        }
        let (origin, compare) = both.split_at(len);
        let (origin, compare) = (Buffer::holding(origin)?, Buffer::holding(compare)?);
        let old = Buffer::zeroed(len)?;
        combine::swap(&origin.area()?, &compare.area()?, &target, &old.area()?);
        Ok(Some(old))
    }

    /// Answers an operation with the data before, if it is wanted.
    fn reply_with(
        &mut self,
        rank: u32,
        id: u32,
        old: Result<Option<Buffer>>,
        out: &mut Out,
    ) -> Result<()> {
        if id == NO_REPLY {
            return old.map(drop);
        }
        let area = |old: Option<Buffer>| old.as_ref().map_or(Ok(Area::EMPTY), Buffer::area);
        self.reply_or_refuse(rank, id, old.and_then(area), out)
    }

    /// Answers with data, or with why there is none.
    fn reply_or_refuse(
        &mut self,
        rank: u32,
        id: u32,
        data: Result<Area>,
        out: &mut Out,
    ) -> Result<()> {
        match data {
            Ok(data) => {
                self.reply(rank, id, data, out);
                Ok(())
            }
            Err(error) => {
                let why = error.to_string();
                let answers = self.answers(rank, FIELDS + why.len(), out);
                answers.refused(id, number_of(&error), &why);
                Err(error)
            }
        }
    }

    /// Answers with data.
    fn reply(&mut self, rank: u32, id: u32, data: Area, out: &mut Out) {
        if data.len() > INLINE_MOST {
            self.answers(rank, FIELDS, out).reply_body(id);
            return self.answer(rank, Some(data), out);
        }
        let mut bytes = Vec::new();
        data.append_to(&mut bytes);
        self.answers(rank, FIELDS + bytes.len(), out)
            .reply(id, &bytes);
    }
}
