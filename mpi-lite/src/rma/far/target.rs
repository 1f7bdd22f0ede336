//! What other processes do with the memory of this one, and their answers: the port of a window.

use std::sync::Arc;

use parking_lot::Mutex;

use super::desk::{Desk, Landing, Left, Out, Queued};
use super::record::{ANSWERS, ASKS, Answer, HEADER, INLINE_MOST, NO_BODY, NO_REPLY, Place};
use super::record::{Reader, Record, Write as _};
use crate::data::{Area, Basic, Buffer, Op};
use crate::engine::{Effects, Handler, Head};
use crate::error::{Cause, Class, Result};
use crate::ids::PeerId;
use crate::rma::combine;
use crate::rma::dynamic::not_attached;
use crate::rma::errors::wrong;

/// Bytes of an answer beside its data.
const FIELDS: usize = 16;

/// What the engine calls when messages of the window come.
#[derive(Debug)]
pub(super) struct Service(pub(super) Arc<Mutex<Desk>>);

impl Service {
    fn act<T>(
        &self,
        from: PeerId,
        effects: &mut Effects,
        act: impl FnOnce(&mut Desk, u32, &mut Out) -> Option<T>,
    ) -> Option<T> {
        let mut out = Out::default();
        let done = {
            let desk = &mut *self.0.lock();
            let rank = desk.group.rank_of(from)?;
            act(desk, rank, &mut out)
        };
        for mail in out.mails {
            effects.send_head(mail.peer, mail.number, mail.head);
            if let Some(body) = mail.body {
                effects.send_body(mail.peer, mail.number, body);
            }
        }
        for (request, error) in out.finished {
            effects.finish(request, error);
        }
        done
    }
}

impl Handler for Service {
    fn head(&mut self, head: &Head, effects: &mut Effects) -> Option<Area> {
        self.act(head.from(), effects, |desk, rank, out| {
            desk.take_head(rank, (head.number(), head.bytes()), out)
        })
    }

    fn landed(&mut self, from: PeerId, number: u32, _: u64, effects: &mut Effects) {
        self.act(from, effects, |desk, rank, out| {
            desk.take_body(rank, number, out);
            Some(())
        });
    }

    fn sent(&mut self, to: PeerId, number: u32, effects: &mut Effects) {
        self.act(to, effects, |desk, rank, out| {
            let left = desk.leaving.remove(&number)?;
            if let Left::Operation(request) = left.what {
                desk.lines[rank as usize].leaving -= 1;
                out.finished.extend(request.map(|request| (request, None)));
            }
            Some(())
        });
    }

    fn lost(&mut self, peer: PeerId, effects: &mut Effects) {
        self.act(peer, effects, |desk, rank, out| {
            desk.lose(rank, out);
            Some(())
        });
    }
}

/// What comes.
impl Desk {
    fn take_head(
        &mut self,
        rank: u32,
        (number, bytes): (u32, &[u8]),
        out: &mut Out,
    ) -> Option<Area> {
        let (header, records) = bytes.split_at_checked(HEADER)?;
        let (&kind, len) = header.split_first()?;
        let len = u64::from_le_bytes(*len.first_chunk()?);
        match kind {
            ANSWERS => self.take_answers(rank, (number, records), out),
            ASKS => {
                let queued = Queued {
                    number,
                    bytes: records.into(),
                    at: 0,
                    body: None,
                    has_landed: false,
                };
                self.visitors[rank as usize].queue.push_back(queued);
                self.advance(rank, out);
                match len {
                    NO_BODY => None,
                    len => self.place_of_body(rank, (number, len)),
                }
            }
            _ => None,
        }
    }

    /// Where the body of the last head of a rank lands: in the memory of the window if it is its
    /// turn, or in a copy.
    fn place_of_body(&mut self, rank: u32, (number, len): (u32, u64)) -> Option<Area> {
        let mut queue = core::mem::take(&mut self.visitors[rank as usize].queue);
        let place = match &mut *queue.make_contiguous() {
            [first] if first.number == number => self.straight_place(rank, first),
            _ => None,
        };
        let landing = (rank, number);
        let area = match place {
            Some(area) if area.len() == len => {
                queue.clear();
                self.visitors[rank as usize].landing += 1;
                self.landing.insert(landing, Landing::Direct);
                Some(area)
            }
            _ => {
                let body = Buffer::zeroed(len as usize).ok();
                let area = body.as_ref().and_then(|body| body.area().ok());
                if let Some(last) = queue.back_mut().filter(|last| last.number == number) {
                    last.body = body;
                    self.landing.insert(landing, Landing::Queued);
                }
                area
            }
        };
        self.visitors[rank as usize].queue = queue;
        area
    }

    /// The memory of the window that a put fills which is carried out next.
    fn straight_place(&mut self, rank: u32, queued: &Queued) -> Option<Area> {
        let known = &mut self.visitors[rank as usize].known;
        let (bytes, at) = (&*queued.bytes, queued.at);
        match (Reader { bytes, at }).record(known)? {
            Record::PutBody(place) => self.memory_at(&place).ok(),
            _ => None,
        }
    }

    fn take_body(&mut self, rank: u32, number: u32, out: &mut Out) {
        match self.landing.remove(&(rank, number)) {
            Some(Landing::Direct) => self.visitors[rank as usize].landing -= 1,
            Some(Landing::Queued) => {
                let mut queue = self.visitors[rank as usize].queue.iter_mut();
                if let Some(queued) = queue.find(|queued| queued.number == number) {
                    queued.has_landed = true;
                }
            }
            Some(Landing::Reply(id)) => return self.end_reply(id, out),
            None => return,
        }
        self.advance(rank, out);
    }

    fn take_answers(
        &mut self,
        rank: u32,
        (number, bytes): (u32, &[u8]),
        out: &mut Out,
    ) -> Option<Area> {
        let mut reader = Reader { bytes, at: 0 };
        while !reader.is_over() {
            let line = &mut self.lines[rank as usize];
            match reader.answer()? {
                Answer::Done(id) => line.answered = line.answered.max(id),
                Answer::Failed(id, why) => {
                    line.answered = line.answered.max(id);
                    line.error
                        .get_or_insert_with(|| wrong(Class::RmaRange, why));
                }
                Answer::Data(id, data) => {
                    if let Some(reply) = self.replies.get(&id) {
                        reply.place.write(reply.offset, data);
                    }
                    self.end_reply(id, out);
                }
                Answer::DataBody(id) => {
                    let reply = self.replies.get(&id)?;
                    self.landing.insert((rank, number), Landing::Reply(id));
                    return Some(reply.place.clone());
                }
                Answer::Posted => line.posts += 1,
                Answer::Held(holder) => line.holder = Some(holder),
            }
        }
        None
    }

    /// Nothing more comes of a rank, and nothing goes to it.
    pub(super) fn lose(&mut self, rank: u32, out: &mut Out) {
        let line = &mut self.lines[rank as usize];
        line.is_lost = true;
        line.batch.clear();
        line.is_dirty = false;
        let (mut requests, lost) = (Vec::new(), |at: &u32| *at == rank);
        self.replies.retain(|_, reply| {
            requests.extend(reply.request.filter(|_| lost(&reply.rank)));
            !lost(&reply.rank)
        });
        self.leaving.retain(|_, leaving| {
            if let Left::Operation(Some(request)) = leaving.what
                && lost(&leaving.rank)
            {
                requests.push(request);
            }
            !lost(&leaving.rank)
        });
        self.landing.retain(|(from, _), _| !lost(from));
        let line = &mut self.lines[rank as usize];
        (line.replies, line.leaving) = (0, 0);
        let why = format!("rank {rank} of {} is lost", self.title);
        let failed = |request| (request, Some(Cause::System(why.clone().into()).into()));
        out.finished.extend(requests.into_iter().map(failed));
        self.visitors[rank as usize] = super::desk::Visitor::default();
        for next in self.locks.forget(rank) {
            self.visitors[next as usize].is_granted = true;
            self.advance(next, out);
        }
    }
}

/// What is carried out.
impl Desk {
    /// Carries out what ranks have asked for, this one first, as far as it is their turn.
    fn advance(&mut self, rank: u32, out: &mut Out) {
        let mut due = vec![rank];
        while let Some(rank) = due.pop() {
            while let Some(mut queued) = self.visitors[rank as usize].queue.pop_front() {
                if !self.carry_out(rank, &mut queued, &mut due, out) {
                    self.visitors[rank as usize].queue.push_front(queued);
                    break;
                }
            }
            self.answer(rank, None, out);
        }
    }

    /// Carries the records of a head out. Returns false if one has to wait.
    fn carry_out(
        &mut self,
        rank: u32,
        queued: &mut Queued,
        due: &mut Vec<u32>,
        out: &mut Out,
    ) -> bool {
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
            if !self.carry_out_one(rank, record, queued, due, out) {
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
        due: &mut Vec<u32>,
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
            Record::Lock(kind) => {
                if core::mem::take(&mut visitor.is_granted) {
                    visitor.is_waiting = false;
                    return true;
                }
                if visitor.is_waiting || !self.locks.take(rank, kind) {
                    self.keep_waiting(rank, out);
                    return false;
                }
                Ok(())
            }
            Record::Unlock => {
                for next in self.locks.give_back(rank) {
                    self.visitors[next as usize].is_granted = true;
                    due.push(next);
                }
                Ok(())
            }
            Record::Ask(id) => {
                let error = visitor.error.take();
                let len = FIELDS + error.as_ref().map_or(0, String::len);
                self.answers(rank, len, out).done(id, error.as_deref());
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
                let (area, done) = got.map_or_else(|e| (Area::EMPTY, Err(e)), |it| (it, Ok(())));
                self.reply(rank, id, area, out);
                done
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
            first.get_or_insert_with(|| error.to_string());
        }
        true
    }

    /// Tells a rank who has the lock for which it waits.
    fn keep_waiting(&mut self, rank: u32, out: &mut Out) {
        let visitor = &mut self.visitors[rank as usize];
        if !core::mem::replace(&mut visitor.is_waiting, true)
            && let Some(holder) = self.locks.holder()
        {
            self.answers(rank, FIELDS, out).held(holder);
        }
    }

    /// The elements of a place.
    fn memory_at(&self, place: &Place) -> Result<Area> {
        let (first, len) = place.datatype.occupied(place.count)?;
        let start = place.at.wrapping_add(first);
        let origin = match &self.attached {
            None => {
                let end = start.cast_unsigned().checked_add(len as u64);
                let is_within = end.is_some_and(|end| end <= self.memory.len() as u64);
                is_within.then(|| self.memory.origin(0).moved(place.at))
            }
            Some(attached) => {
                let found = attached.lock().find(start.cast_unsigned(), len as u64);
                found.map(|(span, at)| span.origin(0).moved(at - first))
            }
        };
        let origin = origin.ok_or_else(|| not_attached(len, start.cast_unsigned()))?;
        Area::at(origin, place.count, &place.datatype)
    }

    fn put_copy(&self, place: &Place, body: Option<&Buffer>) -> Result<()> {
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
        place: &Place,
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

    fn swap(&self, base: Basic, both: &[u8], place: &Place) -> Result<Option<Buffer>> {
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
        let answer = old.and_then(area);
        let (area, done) = answer.map_or_else(|error| (Area::EMPTY, Err(error)), |it| (it, Ok(())));
        self.reply(rank, id, area, out);
        done
    }

    /// Answers with data. It is none if the operation has failed: the error follows.
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
