//! Reduction whose result is scattered. Source: MPI 5.0, 6.10.

use super::buffers::Input;
use super::partial::Partial;
use super::{reduce, scatter};
use crate::comm::{Communicator, Operation, Peers, drive};
use crate::data::{Buffer, Op};
use crate::error::{Cause, Result};

/// Reduction whose result is scattered.
impl Communicator {
    /// Reduces like [`Communicator::allreduce`] and gives rank r the `counts[r]` elements that
    /// follow those of the lower ranks. `send` has as many elements as the sum of the counts.
    /// `receive` has the own count. If the input is in place, `receive` has all, and the result
    /// replaces its start.
    ///
    /// # Errors
    /// As for [`Communicator::allreduce`]; [`Cause::Argument`] if there is not one count per
    /// process.
    ///
    /// Source: MPI 5.0, 6.10.2.
    pub fn reduce_scatter(
        &self,
        send: &Input,
        receive: &Buffer,
        counts: &[u64],
        op: &Op,
    ) -> Result<()> {
        let peers = self.within(Operation::ReduceScatter);
        drive(reduce_scatter(&peers, send, receive, counts, op))
    }

    /// Reduces and scatters the result, `count` elements for each process.
    ///
    /// # Errors
    /// As for [`Communicator::allreduce`].
    ///
    /// Source: MPI 5.0, 6.10.1.
    pub fn reduce_scatter_block(
        &self,
        send: &Input,
        receive: &Buffer,
        count: u64,
        op: &Op,
    ) -> Result<()> {
        let counts = vec![count; self.size() as usize];
        let peers = self.within(Operation::ReduceScatterBlock);
        drive(reduce_scatter(&peers, send, receive, &counts, op))
    }
}

/// Reduces vectors and gives each process its part: `counts[rank]` elements to each rank, in rank
/// order. `receive` holds this process's part. With `MPI_IN_PLACE` it holds the whole vector, and
/// the part replaces its start.
pub(super) async fn reduce_scatter(
    peers: &impl Peers,
    send: &Input,
    receive: &Buffer,
    counts: &[u64],
    op: &Op,
) -> Result<()> {
    op.check(receive.datatype())?;
    if counts.len() != peers.all() {
        return Err(Cause::Argument("there must be one count per process").into());
    }
    let too_many = Cause::Count {
        count: u64::MAX,
        size: receive.datatype().size(),
    };
    let total = counts
        .iter()
        .try_fold(0u64, |sum, &count| sum.checked_add(count));
    let whole = send.or(receive).part(0, total.ok_or(too_many)?);
    whole.check()?;
    let own = receive.part(0, counts[peers.here()]);
    own.check()?;
    let result = reduce::to_root(peers, &whole, (op, 0)).await?;
    let blocks = result.as_ref().map(|result| blocks_of(result, counts));
    if whole.count() == 0 {
        return Ok(());
    }
    scatter::direct(peers, &own, blocks.as_deref(), 0).await
}

/// The part of each process in the result.
fn blocks_of(result: &Partial, counts: &[u64]) -> Vec<Buffer> {
    let mut first = 0;
    let mut block = |&count: &u64| {
        let part = result.buffer().part(first, count);
        first += count as i64;
        part
    };
    counts.iter().map(&mut block).collect()
}
