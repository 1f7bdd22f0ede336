//! Collectives over the edges of a topology: each process exchanges blocks with its neighbours
//! alone. Source: MPI 5.0, 8.6.

use super::buffers::{Given, SEND_IN_PLACE, check_each};
use super::collective::Collective;
use crate::comm::{Call, Communicator, Everyone, Members, Operation};
use crate::data::Buffer;
use crate::error::{Cause, Result};
use crate::topology::Neighbours;

/// Sends a block along each edge that leaves this process, and receives one along each edge that
/// leads to it. Several edges may join the same two processes, and an edge may lead back. What an
/// edge to nobody (`None`) would bring stays as it is.
///
/// The [cause](crate::error::Cause) of an error is `Argument` if there is not one block for each
/// edge, `Overlap`, `Count` or `NullBuffer`.
#[derive(Clone, Debug)]
pub struct NeighborExchange {
    operation: Operation,
    neighbours: Neighbours,
    send: Vec<Buffer>,
    receive: Vec<Buffer>,
}

impl NeighborExchange {
    /// Sends `send` along each edge (`MPI_Neighbor_allgather`). `receive` is the first place; the
    /// others follow.
    ///
    /// Source: MPI 5.0, 8.6.1.
    #[must_use]
    pub fn allgather(neighbours: Neighbours, send: &Buffer, receive: &Buffer) -> Self {
        let receive = in_a_row(receive, neighbours.sources.len());
        Self {
            operation: Operation::NeighborAllgather,
            ..Self::allgatherv(neighbours, send, receive)
        }
    }

    /// Sends `send` along each edge (`MPI_Neighbor_allgatherv`). `receive` has a place for each.
    ///
    /// Source: MPI 5.0, 8.6.1.
    #[must_use]
    pub fn allgatherv(neighbours: Neighbours, send: &Buffer, receive: Vec<Buffer>) -> Self {
        Self {
            operation: Operation::NeighborAllgatherv,
            send: vec![send.clone(); neighbours.destinations.len()],
            receive,
            neighbours,
        }
    }

    /// Sends a block of its own along each edge (`MPI_Neighbor_alltoall`). `send` and `receive` are
    /// the first block and the first place; the others follow.
    ///
    /// Source: MPI 5.0, 8.6.2.
    #[must_use]
    pub fn alltoall(neighbours: Neighbours, send: &Buffer, receive: &Buffer) -> Self {
        let send = in_a_row(send, neighbours.destinations.len());
        let receive = in_a_row(receive, neighbours.sources.len());
        Self {
            operation: Operation::NeighborAlltoall,
            ..Self::alltoallw(neighbours, send, receive)
        }
    }

    /// Sends a block of its own along each edge (`MPI_Neighbor_alltoallv` and `_alltoallw`).
    ///
    /// Source: MPI 5.0, 8.6.2.
    #[must_use]
    pub fn alltoallw(neighbours: Neighbours, send: Vec<Buffer>, receive: Vec<Buffer>) -> Self {
        Self {
            operation: Operation::NeighborAlltoallv,
            neighbours,
            send,
            receive,
        }
    }
}

/// `number` blocks of which `first` is the first one.
fn in_a_row(first: &Buffer, number: usize) -> Vec<Buffer> {
    let count = first.count().cast_signed();
    (0..number as i64)
        .map(|place| first.part(place.saturating_mul(count), first.count()))
        .collect()
}

impl Communicator {
    /// The neighbours of this process.
    ///
    /// # Errors
    /// `Topology`: the communicator has no topology.
    pub fn neighbours(&self) -> Result<Neighbours> {
        let none = Cause::Topology { wanted: "topology" };
        let topology = self.topology().ok_or(none)?;
        Ok(topology.neighbours(self.rank()))
    }
}

impl Collective for NeighborExchange {
    type Output = ();

    fn call(&self) -> Call {
        Call::of_all(self.operation)
    }

    fn check(&self, _members: Members) -> Result<()> {
        check_each(&self.send, self.neighbours.destinations.len())?;
        check_each(&self.receive, self.neighbours.sources.len())?;
        let places = Given::Each(&self.receive);
        places.refuse_overlap(Some(Given::Each(&self.send)), SEND_IN_PLACE)
    }

    async fn by_messages<P: Everyone>(&self, peers: &P) -> Result<()> {
        let destinations = self.neighbours.destinations.iter().zip(&self.send);
        let sends: Vec<_> = destinations
            .filter_map(|(rank, block)| rank.map(|rank| (rank as usize, block.clone())))
            .collect();
        let order = self.neighbours.receive_order.iter();
        let receives: Vec<_> = order
            .filter_map(|&edge| {
                let rank = self.neighbours.sources[edge]?;
                Some((rank as usize, self.receive[edge].clone()))
            })
            .collect();
        peers.exchange_all(&sends, &receives).await
    }
}
