//! Operations that consist of others.
//!
//! A part is an operation of its own without a request of the program. When it ends, it is gone at
//! once, and its whole learns how. The whole ends with the last of its parts. Nothing polls: it is
//! all done by the thread that finishes the part (`wholes`).

use crate::engine::requests::channel::Channel;
use crate::engine::requests::request::{Request, Status};
use crate::error::Error;

/// Which part of which operation another one is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) whole: Request,
    pub(crate) number: u32,
}

/// How a part has ended.
pub(crate) type Ended = (Status, Option<Error>);

/// How far a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It has not begun.
    Waiting,
    /// It has begun, and has no operation yet.
    Begun,
    /// This is its operation.
    Active(Request),
    /// It has ended.
    Ended,
}

/// An operation that consists of parts.
#[derive(Debug)]
pub(crate) struct Whole {
    /// The parts, by number.
    pub(crate) parts: Vec<Stage>,
    /// How many have not ended.
    left: usize,
    /// How it ends.
    pub(crate) status: Status,
    /// The first error of a part, or of the whole.
    pub(crate) error: Option<Error>,
    /// What a partitioned operation needs; `None` if the first part gives the status.
    pub(crate) channel: Option<Channel>,
}

impl Whole {
    /// An operation of `parts` parts, none of which has begun.
    pub(crate) fn new(parts: usize, channel: Option<Channel>) -> Self {
        Self {
            parts: vec![Stage::Waiting; parts],
            left: parts,
            status: Status::EMPTY,
            error: None,
            channel,
        }
    }

    /// Begins anew, with `parts` parts.
    pub(crate) fn renew(&mut self, parts: usize) {
        self.parts.clear();
        self.parts.resize(parts, Stage::Waiting);
        self.left = parts;
        self.error = None;
    }

    /// The operations of the parts that go on.
    pub(crate) fn active(&self) -> impl Iterator<Item = Request> {
        self.parts.iter().filter_map(|part| match part {
            Stage::Active(request) => Some(*request),
            _ => None,
        })
    }

    /// Notes how a part has ended. Returns true if it was the last one.
    pub(crate) fn note(&mut self, number: u32, (status, error): Ended) -> bool {
        let Some(part) = self.parts.get_mut(number as usize) else {
            return false;
        };
        *part = Stage::Ended;
        self.left -= 1;
        if number == 0 && self.channel.is_none() {
            self.status = status;
        }
        self.error = self.error.take().or(error);
        self.left == 0
    }
}
