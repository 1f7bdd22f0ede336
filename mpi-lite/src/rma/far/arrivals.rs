//! What comes of other processes: the port of a window.

use std::sync::Arc;

use parking_lot::Mutex;

use super::desk::{Desk, Landing, Left, Out, Queued, Visitor};
use super::record::{ANSWERS, ASKS, Answer, CLASSES, HEADER, NO_BODY, Reader, Record};
use crate::data::{Area, Buffer};
use crate::engine::{Effects, Handler, Head};
use crate::error::{Cause, Class, Error};
use crate::ids::PeerId;
use crate::rma::errors::wrong;

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
            match left.what {
                Left::Operation(request) => {
                    desk.lines[rank as usize].leaving -= 1;
                    out.finished.extend(request.map(|request| (request, None)));
                }
                Left::Answer(_) => {}
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

/// The error that a target tells, by the number of its class on the wire.
fn told(class: u8, why: &str) -> Error {
    let class = CLASSES.get(usize::from(class)).copied();
    wrong(class.unwrap_or(Class::Other), why)
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
            Some(Landing::Reply(id)) => return self.end_reply(id, None, out),
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
                Answer::Failed(id, class, why) => {
                    line.answered = line.answered.max(id);
                    line.error.get_or_insert_with(|| told(class, why));
                }
                Answer::Data(id, data) => {
                    if let Some(reply) = self.replies.get(&id) {
                        reply.place.write(reply.offset, data);
                    }
                    self.end_reply(id, None, out);
                }
                Answer::DataBody(id) => {
                    let reply = self.replies.get(&id)?;
                    self.landing.insert((rank, number), Landing::Reply(id));
                    return Some(reply.place.clone());
                }
                Answer::Refused(id, class, why) => {
                    self.end_reply(id, Some(told(class, why)), out);
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
        (line.replies, line.bodies, line.leaving) = (0, 0, 0);
        let why = format!("rank {rank} of {} is lost", self.title);
        let failed = |request| (request, Some(Cause::System(why.clone().into()).into()));
        out.finished.extend(requests.into_iter().map(failed));
        self.visitors[rank as usize] = Visitor::default();
        for next in self.locks.forget(rank) {
            self.visitors[next as usize].is_granted = true;
            self.advance(next, out);
        }
    }
}
