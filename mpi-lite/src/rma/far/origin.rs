//! Operations of this process on the memory of others.

use super::desk::{Desk, Locked, Out, Reply};
use super::record::{FORM_MOST, INLINE_MOST, NO_REPLY, Write as _};
use crate::data::{Area, Basic, Datatype, Op, each_piece};
use crate::engine::Request;
use crate::error::Result;
use crate::rma::operation::{AccessKind, Target, WindowAction};

/// Bytes of a record beside its place and its data, at most.
const FIELDS: usize = 32;

/// So many heads are sent before the target is asked how far it is.
const HEADS_MOST: u32 = 64;

/// What a record does.
#[derive(Clone, Copy)]
enum Deed<'a> {
    Put,
    Get,
    Combine(&'a Op, Basic),
    Swap(Basic),
}

/// How much of an operation a record is: from which byte of data on.
#[derive(Clone, Copy)]
enum Reach {
    Whole,
    Piece(usize),
    Last(usize),
}

/// An operation as it is sent: what it does, the data of the origin, and where old data goes.
struct Sending<'a> {
    deed: Deed<'a>,
    data: Area,
    result: Option<Area>,
    request: Option<Request>,
}

impl<'a> Sending<'a> {
    fn of(action: &'a WindowAction, access: AccessKind, request: Option<Request>) -> Result<Self> {
        let base = match access {
            AccessKind::Atomic(base) => base,
            AccessKind::Put | AccessKind::Get => Basic::Byte,
        };
        let (deed, data, result) = match action {
            WindowAction::Put(origin) => (Deed::Put, origin.area()?, None),
            WindowAction::Get(origin) => (Deed::Get, Area::EMPTY, Some(origin.area()?)),
            WindowAction::Accumulate { origin, op } => {
                (Deed::Combine(op, base), origin.area()?, None)
            }
            WindowAction::GetAccumulate { origin, result, op } => {
                let data = match op {
                    Op::NoOp => Area::EMPTY,
                    _ => origin.area()?,
                };
                (Deed::Combine(op, base), data, Some(result.area()?))
            }
            WindowAction::CompareAndSwap { result, .. } => {
                (Deed::Swap(base), Area::EMPTY, Some(result.area()?))
            }
        };
        Ok(Self {
            deed,
            data,
            result,
            request,
        })
    }
}

/// The new element of a compare and swap, and behind it what must be there.
fn compared(action: &WindowAction) -> Result<Vec<u8>> {
    let mut both = Vec::new();
    if let WindowAction::CompareAndSwap {
        origin, compare, ..
    } = action
    {
        origin.area()?.append_to(&mut both);
        compare.area()?.append_to(&mut both);
    }
    Ok(both)
}

impl Desk {
    /// Enters an operation; `at` is where displacement 0 of the target's datatype lies.
    pub(super) fn operate(
        &mut self,
        (action, access): (&WindowAction, AccessKind),
        (target, at): (&Target, i64),
        request: Option<Request>,
        out: &mut Out,
    ) -> Result<()> {
        let rank = target.rank;
        let bytes = target.datatype.bytes(target.count)?;
        if bytes == 0 {
            out.finished.extend(request.map(|request| (request, None)));
            return Ok(());
        }
        let sending = Sending::of(action, access, request)?;
        self.tell_lock(rank, out);
        let mut place = Vec::new();
        place.word(at.cast_unsigned());
        place.word(target.count);
        let (peer, before) = (self.peer(rank), place.len());
        self.types.write(&target.datatype, peer, &mut place);
        let is_copied = place.len() - before > FORM_MOST || sending.data.len() <= INLINE_MOST;
        if place.len() - before > FORM_MOST {
            self.types.forget(peer);
            self.operate_in_pieces(&sending, (target, at), out);
        } else if matches!(sending.deed, Deed::Swap(_)) {
            let data = compared(action)?;
            self.record(rank, (&sending, Reach::Whole), (&place, &data), out);
        } else if sending.data.len() > INLINE_MOST {
            self.record_body(rank, &sending, &place, out);
        } else {
            let mut data = Vec::new();
            sending.data.append_to(&mut data);
            self.record(rank, (&sending, Reach::Whole), (&place, &data), out);
        }
        if let Some(request) = sending.request {
            // The program waits for it, and may wait for what it does at the target.
            self.send(rank, None, out);
            if is_copied && sending.result.is_none() {
                out.finished.push((request, None));
            }
        }
        if self.lines[rank as usize].heads >= HEADS_MOST {
            self.ask(rank, out);
        }
        Ok(())
    }

    /// Tells a target that it is locked, if it does not know yet.
    pub(super) fn tell_lock(&mut self, rank: u32, out: &mut Out) {
        let line = &mut self.lines[rank as usize];
        if let Locked::Wanted(kind) = line.locked {
            line.locked = Locked::Told;
            line.is_dirty = true;
            self.make_room(rank, FIELDS, out);
            self.lines[rank as usize].batch.lock(kind);
        }
    }

    /// Enters a record with its data.
    fn record(
        &mut self,
        rank: u32,
        (sending, reach): (&Sending<'_>, Reach),
        (place, data): (&[u8], &[u8]),
        out: &mut Out,
    ) {
        let id = self.reply_to(rank, sending, reach);
        self.make_room(rank, FIELDS + place.len() + data.len(), out);
        let line = &mut self.lines[rank as usize];
        line.is_dirty = true;
        match sending.deed {
            Deed::Put => line.batch.put(place, data),
            Deed::Get => line.batch.get(id, place),
            Deed::Combine(op, base) => line.batch.combine(id, (op, base), place, Some(data)),
            Deed::Swap(base) => line.batch.swap(id, base, place, data),
        }
    }

    /// Enters a record whose data is a body, and sends both.
    fn record_body(&mut self, rank: u32, sending: &Sending<'_>, place: &[u8], out: &mut Out) {
        let id = self.reply_to(rank, sending, Reach::Whole);
        self.make_room(rank, FIELDS + place.len(), out);
        let line = &mut self.lines[rank as usize];
        line.is_dirty = true;
        match sending.deed {
            Deed::Combine(op, base) => line.batch.combine(id, (op, base), place, None),
            _ => line.batch.put_body(place),
        }
        let request = sending.request.filter(|_| sending.result.is_none());
        self.send(rank, Some((sending.data.clone(), request)), out);
    }

    fn reply_to(&mut self, rank: u32, sending: &Sending<'_>, reach: Reach) -> u32 {
        let Some(result) = &sending.result else {
            return NO_REPLY;
        };
        // Answers come in the order of the records.
        let (offset, request) = match reach {
            Reach::Whole => (0, sending.request),
            Reach::Piece(offset) => (offset, None),
            Reach::Last(offset) => (offset, sending.request),
        };
        let is_body = matches!(reach, Reach::Whole) && result.len() > INLINE_MOST;
        self.await_reply(Reply {
            rank,
            place: result.clone(),
            offset,
            is_body,
            request,
        })
    }

    /// Enters an operation as one for each run of predefined elements of the target: its datatype
    /// has too many of them to be told.
    fn operate_in_pieces(
        &mut self,
        sending: &Sending<'_>,
        (target, at): (&Target, i64),
        out: &mut Out,
    ) {
        let (peer, mut data) = (self.peer(target.rank), Vec::new());
        sending.data.append_to(&mut data);
        let all = (target.datatype.size() * target.count) as usize;
        let mut done = 0;
        each_piece(&target.datatype, target.count, |basic, (place, count)| {
            let most = INLINE_MOST / basic.size();
            let mut first = 0;
            while first < count {
                let some = most.min(count - first);
                let bytes = (some * basic.size()) as usize;
                let displacement = at + place + first.cast_signed() * basic.extent();
                let mut form = Vec::new();
                form.word(displacement.cast_unsigned());
                form.word(some);
                self.types.write(&Datatype::Basic(basic), peer, &mut form);
                let part = data.as_slice().get(done..done + bytes);
                let part = part.unwrap_or_default();
                let reach = match done + bytes == all {
                    true => Reach::Last(done),
                    false => Reach::Piece(done),
                };
                self.record(target.rank, (sending, reach), (&form, part), out);
                done += bytes;
                first += some;
            }
        });
    }

    /// Asks a target to say when all so far is done. Sends what was collected for it.
    pub(super) fn ask(&mut self, rank: u32, out: &mut Out) {
        let line = &mut self.lines[rank as usize];
        if !line.is_dirty {
            return;
        }
        self.make_room(rank, FIELDS, out);
        let line = &mut self.lines[rank as usize];
        line.is_dirty = false;
        line.heads = 0;
        line.asked += 1;
        line.batch.ask(line.asked);
        self.send(rank, None, out);
    }

    /// Takes what a target could not do.
    pub(super) fn take_error(&mut self, rank: u32) -> Result<()> {
        match self.lines[rank as usize].error.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}
