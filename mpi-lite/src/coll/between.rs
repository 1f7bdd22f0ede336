//! What the collectives on inter-communicators have in common. Source: MPI 5.0, 6.2.2 and 6.2.3.
//!
//! Data goes from one side to the other. What a side does alone it does in a communicator of its
//! own; there the process of rank 0 acts for the side.

use super::buffers::Input;
use crate::comm::{Peers, Sides};
use crate::data::Buffer;
use crate::error::{Cause, Result};
use crate::ids::{NOT_THE_ROOT, ROOT};

/// What a process does in an operation with a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It is the root, and deals with the other side.
    Root,
    /// It is on the side of the root and does nothing.
    Idle,
    /// The process of this rank on the other side is the root.
    Other(usize),
}

impl Role {
    /// Returns what the process with this argument does.
    pub(super) fn of(root: i32) -> Self {
        match root {
            ROOT => Self::Root,
            root => usize::try_from(root).map_or(Self::Idle, Self::Other),
        }
    }

    /// Returns what the process with this argument does; `others` is the number of processes on
    /// the other side.
    pub(super) fn checked(root: i32, others: usize) -> Result<Self> {
        let role = Self::of(root);
        let is_right = match role {
            Self::Root => true,
            Self::Idle => root == NOT_THE_ROOT,
            Self::Other(rank) => rank < others,
        };
        let size = others as u32;
        is_right
            .then_some(role)
            .ok_or_else(|| Cause::Root { root, size }.into())
    }
}

/// Says that a process passed `MPI_IN_PLACE`.
pub(super) const NOT_IN_PLACE: &str = "MPI_IN_PLACE is not defined for intercommunicators";

/// Returns the buffer. `MPI_IN_PLACE` is an error.
pub(super) fn given(input: &Input) -> Result<&Buffer> {
    match input {
        Input::Buffer(buffer) => Ok(buffer),
        Input::InPlace => Err(Cause::Argument(NOT_IN_PLACE).into()),
    }
}

/// Sends block r to rank r of the other side, and receives into place r from it.
///
/// In round s a process exchanges with the one whose rank and its own add up to s, modulo the
/// number of processes on the larger side. So both are at the same round.
pub(super) async fn exchange_with_each<P: Peers>(
    sides: &Sides<P>,
    blocks: &[Buffer],
    places: &[Buffer],
) -> Result<()> {
    let rounds = sides.local.all().max(sides.remote.all());
    for round in 0..rounds {
        let partner = (round + rounds - sides.local.here()) % rounds;
        if let (Some(block), Some(place)) = (blocks.get(partner), places.get(partner)) {
            let (send, receive) = ((partner, block), (partner, place));
            sides.remote.exchange(send, receive).await?;
        }
    }
    Ok(())
}

/// Receives what each process of the other side sends to this one.
pub(super) async fn receive_from_each<P: Peers>(sides: &Sides<P>, places: &[Buffer]) -> Result<()> {
    for (rank, place) in places.iter().enumerate() {
        sides.remote.receive(rank, place).await?;
    }
    Ok(())
}

/// Sends each process of the other side its block.
pub(super) async fn send_to_each<P: Peers>(sides: &Sides<P>, blocks: &[Buffer]) -> Result<()> {
    for (rank, block) in blocks.iter().enumerate() {
        sides.remote.send(rank, block).await?;
    }
    Ok(())
}
