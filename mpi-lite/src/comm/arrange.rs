//! Communicators with a topology. Source: MPI 5.0, 8.5.
//!
//! Processes keep their ranks: `reorder` is not followed. A process whose arguments are wrong takes
//! part all the same, so that no other one waits for it in vain: all get an error.

use std::collections::BinaryHeap;
use std::sync::Arc;

use super::context::Agreement;
use super::{Call, Communicator, Peers, drive};
use crate::data::Buffer;
use crate::error::{Cause, Error, Result};
use crate::topology::{Cartesian, Distributed, EdgeList, Topology, words_of_parts};

/// The words of a process whose arguments are wrong.
const REFUSED: [u32; 2] = [u32::MAX; 2];

impl Communicator {
    /// Makes a communicator with a topology. The processes of lower ranks are in it; the others get
    /// `None`. Collective.
    ///
    /// A process with wrong arguments gives its error as `topology`, and gets it back.
    ///
    /// # Errors
    /// `Cause::Collective` if another process gave wrong or other arguments. A process of this
    /// communicator is lost.
    ///
    /// Source: MPI 5.0, 8.5.1, 8.5.3 and 8.5.4.
    pub fn arrange<E: From<Error>>(
        &self,
        topology: core::result::Result<Topology, E>,
    ) -> core::result::Result<Option<Self>, E> {
        self.require_intra()?;
        let peers = self.within(Call::CREATE);
        let words = topology.as_ref().map_or(REFUSED, Topology::words);
        let agreement = drive(self.agree(&peers, words))?;
        let topology = topology?;
        all_gave(&agreement, words)?;
        let size = topology.size().unwrap_or(self.size());
        if self.rank() >= size {
            return Ok(None);
        }
        let members = &self.group().members()[..size as usize];
        let group = self.group().with_members(members.into());
        let topology = Some(Arc::new(topology));
        Ok(Some(self.derive(&agreement, group, self.rank(), topology)))
    }

    /// Makes a communicator with the distributed graph that has the edges of all processes.
    /// Collective. Each process gets its edges in the order of the ranks that gave them, and those
    /// of one rank in the order of its list.
    ///
    /// A process with wrong arguments gives its error as `edges`, and gets it back.
    ///
    /// # Errors
    /// As for [`Communicator::arrange`].
    ///
    /// Source: MPI 5.0, 8.5.4.
    pub fn arrange_by_edges<E: From<Error>>(
        &self,
        edges: core::result::Result<EdgeList, E>,
    ) -> core::result::Result<Self, E> {
        self.require_intra()?;
        let peers = self.within(Call::CREATE);
        let words = edges.as_ref().map_or(REFUSED, EdgeList::words);
        let agreement = drive(self.agree(&peers, words))?;
        let edges = edges?;
        all_gave(&agreement, words)?;
        let own = drive(swap(&peers, edges.by_process(peers.all())))?;
        let own = Distributed::from_lists(&own, edges.is_weighted)?;
        let topology = Some(Arc::new(Topology::Distributed(own)));
        Ok(self.derive(&agreement, self.group().clone(), self.rank(), topology))
    }

    /// Makes a communicator of those processes of `grid`, this one's topology, that differ from
    /// this process only in the dimensions to `keep`. Collective over the whole grid.
    ///
    /// A process with wrong arguments gives its error as `keep`, and gets it back.
    ///
    /// # Errors
    /// As for [`Communicator::arrange`].
    ///
    /// Source: MPI 5.0, 8.5.7.
    pub fn sub_grid<E: From<Error>>(
        &self,
        grid: &Cartesian,
        keep: core::result::Result<Vec<bool>, E>,
    ) -> core::result::Result<Self, E> {
        let peers = self.within(Call::CREATE);
        let words = keep.as_ref().map_or(REFUSED, |keep| words_of_parts(keep));
        let agreement = drive(self.agree(&peers, words))?;
        let keep = keep?;
        all_gave(&agreement, words)?;
        let (own, rank) = grid.part(self.rank(), &keep);
        let places = self.group().members().iter().zip(0..);
        let members: BinaryHeap<_> = places
            .map(|(&member, rank)| (grid.part(rank, &keep), member))
            .filter(|((part, _), _)| *part == own)
            .collect();
        let members = members.into_sorted_vec();
        let members = members.iter().map(|(_, member)| *member);
        let group = self.group().with_members(members.collect());
        let sub = grid.sub(&keep);
        let topology = Some(Arc::new(Topology::Cartesian(sub)));
        Ok(self.derive(&agreement, group, rank, topology))
    }
}

/// Checks that all processes gave the same words.
fn all_gave(agreement: &Agreement<'_>, words: [u32; 2]) -> Result<()> {
    let Some((rank, theirs)) = (0..).zip(agreement.words()).find(|it| it.1 != words) else {
        return Ok(());
    };
    let rank: u32 = rank;
    let why = match theirs {
        REFUSED => format!("rank {rank} of the communicator gave wrong arguments"),
        _ => format!("rank {rank} of the communicator gave other arguments than this process"),
    };
    Err(Cause::Collective(why.into()).into())
}

/// Sends each process its list, and returns what each process sent to this one, by rank. In step s
/// each process sends to the one s after it and receives from the one s before it: first the
/// length, then the list.
async fn swap(peers: &impl Peers, mut lists: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
    let mut received = vec![Vec::new(); peers.all()];
    received[peers.here()] = core::mem::take(&mut lists[peers.here()]);
    for step in 1..peers.all() {
        let (to, from) = (peers.after(step), peers.before(step));
        let outgoing = (lists[to].len() as u64).to_be_bytes();
        let mut len = [0; 8];
        swap_bytes(peers, (to, &outgoing), (from, &mut len)).await?;
        received[from] = vec![0; u64::from_be_bytes(len) as usize];
        swap_bytes(peers, (to, &lists[to]), (from, &mut received[from])).await?;
    }
    Ok(received)
}

async fn swap_bytes(
    peers: &impl Peers,
    (to, outgoing): (usize, &[u8]),
    (from, incoming): (usize, &mut [u8]),
) -> Result<()> {
    let (send, receive) = (Buffer::holding(outgoing)?, Buffer::zeroed(incoming.len())?);
    peers.exchange((to, &send), (from, &receive)).await?;
    receive.pack_into(incoming);
    Ok(())
}
