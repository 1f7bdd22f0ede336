//! Some processes of a communicator among themselves, while they make a new one.

use super::{Communicator, Group, Peers};
use crate::data::Buffer;
use crate::engine::matching::Pattern;
use crate::engine::{Completion, ReceivePlan, SendPlan};
use crate::error::{Cause, Result};
use crate::ids::Mode;

/// The processes of a group, seen from one of them. Their messages have the tag of the call, so
/// that several groups may be at it at once. Source: MPI 5.0, 7.4.2.
#[derive(Debug)]
pub(super) struct GroupPeers<'a> {
    communicator: &'a Communicator,
    group: &'a Group,
    here: u32,
    tag: i32,
}

impl<'a> GroupPeers<'a> {
    /// This process in `group`; `None` if it is no member.
    ///
    /// # Errors
    /// `Tag`: the tag is negative. `Group`: a process of the group is not in the communicator.
    pub(super) fn of(
        communicator: &'a Communicator,
        group: &'a Group,
        tag: i32,
    ) -> Result<Option<Self>> {
        if tag < 0 {
            return Err(Cause::Tag(tag).into());
        }
        communicator.check_has(group)?;
        let me = communicator.group().peer(communicator.rank());
        let here = me.and_then(|me| group.rank_of(me));
        Ok(here.map(|here| Self {
            communicator,
            group,
            here,
            tag,
        }))
    }

    /// The rank of this process in the group.
    pub(super) fn rank(&self) -> u32 {
        self.here
    }

    fn send_plan(&self, to: usize, buffer: &Buffer) -> Result<SendPlan> {
        let to = self.group.members()[to];
        Ok(SendPlan {
            to: Some(to),
            context: self.communicator.context().of_groups(),
            source: self.communicator.rank(),
            tag: self.tag,
            mode: Mode::Standard,
            area: buffer.area()?,
        })
    }

    fn receive_plan(&self, from: usize, buffer: &Buffer) -> Result<ReceivePlan> {
        let from = self.group.members()[from];
        let source = self.communicator.group().rank_of(from);
        Ok(ReceivePlan {
            pattern: Some(Pattern {
                context: self.communicator.context().of_groups(),
                source: Some(source.expect("the group is a part of the communicator")),
                tag: Some(self.tag),
            }),
            area: buffer.area()?,
        })
    }
}

impl Peers for GroupPeers<'_> {
    fn here(&self) -> usize {
        self.here as usize
    }

    fn all(&self) -> usize {
        self.group.members().len()
    }

    async fn send(&self, to: usize, buffer: &Buffer) -> Result<()> {
        let plan = self.send_plan(to, buffer)?;
        self.communicator.engine().send(&plan)
    }

    async fn receive(&self, from: usize, buffer: &Buffer) -> Result<()> {
        let plan = self.receive_plan(from, buffer)?;
        let received = self.communicator.engine().receive(plan)?;
        received.into_result().map(drop)
    }

    async fn exchange(
        &self,
        (to, send): (usize, &Buffer),
        (from, receive): (usize, &Buffer),
    ) -> Result<()> {
        let (send, receive) = (self.send_plan(to, send)?, self.receive_plan(from, receive)?);
        let engine = self.communicator.engine();
        engine.exchange(&send, receive).map(drop)
    }

    async fn exchange_all(
        &self,
        sends: &[(usize, Buffer)],
        receives: &[(usize, Buffer)],
    ) -> Result<()> {
        let plans = sends.iter().map(|(to, buffer)| self.send_plan(*to, buffer));
        let sends: Vec<_> = plans.collect::<Result<_>>()?;
        let plans = receives.iter();
        let plans = plans.map(|(from, buffer)| self.receive_plan(*from, buffer));
        let received = |_, received: Option<Completion>| match received {
            Some(received) => received.into_result().map(drop),
            None => Ok(()),
        };
        let engine = self.communicator.engine();
        engine.exchange_all(&sends, plans.collect::<Result<_>>()?, |_| false, received)
    }
}
