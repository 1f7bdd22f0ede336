//! Partitioned sends and receives of a communicator. Source: MPI 5.0, 4.2.

use super::Communicator;
use crate::data::Buffer;
use crate::engine::{PartitionedReceive, PartitionedSend, Request};
use crate::error::{Cause, Result};
use crate::ids::Dest;

impl Communicator {
    /// Makes a partitioned send, not started: `first` is the first of `partitions` partitions,
    /// which follow each other. It matches the receive of the same order among those of the same
    /// processes and tag. Local.
    ///
    /// # Errors
    /// `Rank`, `Tag`, `Count`: the arguments. `Lost`: the receiver.
    pub fn partitioned_send_init(
        &self,
        (first, partitions): (Buffer, u32),
        dest: Dest,
        tag: i32,
    ) -> Result<Request> {
        let to = self.peer("dest", dest)?;
        Self::whole_of(&first, partitions)?.check()?;
        let send = PartitionedSend {
            to,
            context: self.context().partitioned(),
            source: self.rank(),
            tag: checked(tag)?,
            first,
            partitions,
        };
        self.engine().with(|lane| lane.plan_partitioned_send(send))
    }

    /// Makes a partitioned receive, not started. Arguments as of
    /// [`Communicator::partitioned_send_init`]; there are no wildcards. The partitions may be
    /// others than those of the sender, of the same length in all.
    ///
    /// # Errors
    /// `Rank`, `Tag`, `Count`: the arguments.
    pub fn partitioned_receive_init(
        &self,
        (first, partitions): (Buffer, u32),
        source: Dest,
        tag: i32,
    ) -> Result<Request> {
        self.peer("source", source)?;
        let receive = PartitionedReceive {
            source: match source {
                Dest::Null => None,
                Dest::Rank(rank) => u32::try_from(rank).ok(),
            },
            context: self.context().partitioned(),
            tag: checked(tag)?,
            area: Self::whole_of(&first, partitions)?.area()?,
            partitions,
        };
        let engine = self.engine();
        Ok(engine.with(|lane| lane.plan_partitioned_receive(receive)))
    }

    /// All partitions.
    fn whole_of(first: &Buffer, partitions: u32) -> Result<Buffer> {
        let count = first.count().checked_mul(u64::from(partitions));
        let count = count.ok_or_else(|| Cause::Count {
            count: u64::MAX,
            size: first.datatype().size(),
        })?;
        Ok(first.part(0, count))
    }
}

fn checked(tag: i32) -> Result<i32> {
    match tag < 0 {
        true => Err(Cause::Tag(tag).into()),
        false => Ok(tag),
    }
}
