//! Persistent requests: the arguments are bound once, the operation started many times.
//!
//! Source: MPI 5.0, 3.9.

use super::Communicator;
use crate::data::Area;
use crate::engine::{Plan, Request};
use crate::error::Result;
use crate::ids::{Dest, Mode, Source, TagSelector};

impl Communicator {
    /// Makes a persistent send, started by [`Traffic::start`](crate::engine::Traffic::start).
    /// Arguments
    /// as of
    /// [`Communicator::isend`].
    ///
    /// # Errors
    /// As [`Communicator::isend`], as far as the arguments go.
    pub fn send_init(&self, area: Area, dest: Dest, tag: i32, mode: Mode) -> Result<Request> {
        let plan = self.send_plan(area, dest, tag, mode)?;
        Ok(self.engine().with(|lane| lane.plan(Plan::Send(plan))))
    }

    /// Makes a persistent receive. Arguments as of [`Communicator::irecv`].
    ///
    /// # Errors
    /// As [`Communicator::irecv`], as far as the arguments go.
    pub fn recv_init(&self, area: Area, source: Source, tag: TagSelector) -> Result<Request> {
        let plan = self.receive_plan(area, source, tag)?;
        Ok(self.engine().with(|lane| lane.plan(Plan::Receive(plan))))
    }
}
