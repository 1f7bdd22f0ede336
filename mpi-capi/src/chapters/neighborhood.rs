//! Collectives over the edges of a topology, sections 8.6 to 8.8.

use mpi_lite::coll::NeighborExchange;

use crate::args::*;
use crate::entry::collectives;

collectives! {
    /// Sends one block to all neighbours, and collects one of each. MPI 5.0, 8.6.1.
    MPI_Neighbor_allgather | MPI_Neighbor_allgather_c,
    MPI_Ineighbor_allgather | MPI_Ineighbor_allgather_c,
    MPI_Neighbor_allgather_init | MPI_Neighbor_allgather_init_c
    => fn allgather(
        sendbuf: SendPtr, sendcount: Count, sendtype: Datatype, recvbuf: RecvPtr,
        recvcount: Count, recvtype: Datatype, ..., comm
    ) -> NeighborExchange {
        let neighbours = comm.lite.neighbours()?;
        let send = sendbuf.all(sendcount, &sendtype)?;
        let receive = recvbuf.all(recvcount, &recvtype)?;
        Ok(NeighborExchange::allgather(neighbours, &send, &receive))
    }

    /// Sends one block to all neighbours, and collects blocks of different lengths. MPI 5.0, 8.6.1.
    MPI_Neighbor_allgatherv | MPI_Neighbor_allgatherv_c,
    MPI_Ineighbor_allgatherv | MPI_Ineighbor_allgatherv_c,
    MPI_Neighbor_allgatherv_init | MPI_Neighbor_allgatherv_init_c
    => fn allgatherv(
        sendbuf: SendPtr, sendcount: Count, sendtype: Datatype, recvbuf: RecvPtr,
        recvcounts: Counts, displs: Displs, recvtype: Datatype, ..., comm
    ) -> NeighborExchange {
        let neighbours = comm.lite.neighbours()?;
        let send = sendbuf.all(sendcount, &sendtype)?;
        let places = blocks(recvcounts, displs, &neighbours.sources);
        let receive = recvbuf.blocks(places, &recvtype)?;
        Ok(NeighborExchange::allgatherv(neighbours, &send, receive))
    }

    /// Exchanges a block with each neighbour. MPI 5.0, 8.6.2.
    MPI_Neighbor_alltoall | MPI_Neighbor_alltoall_c,
    MPI_Ineighbor_alltoall | MPI_Ineighbor_alltoall_c,
    MPI_Neighbor_alltoall_init | MPI_Neighbor_alltoall_init_c
    => fn alltoall(
        sendbuf: SendPtr, sendcount: Count, sendtype: Datatype, recvbuf: RecvPtr,
        recvcount: Count, recvtype: Datatype, ..., comm
    ) -> NeighborExchange {
        let neighbours = comm.lite.neighbours()?;
        let send = sendbuf.all(sendcount, &sendtype)?;
        let receive = recvbuf.all(recvcount, &recvtype)?;
        Ok(NeighborExchange::alltoall(neighbours, &send, &receive))
    }

    /// Exchanges blocks of different lengths with the neighbours. MPI 5.0, 8.6.2.
    MPI_Neighbor_alltoallv | MPI_Neighbor_alltoallv_c,
    MPI_Ineighbor_alltoallv | MPI_Ineighbor_alltoallv_c,
    MPI_Neighbor_alltoallv_init | MPI_Neighbor_alltoallv_init_c
    => fn alltoallv(
        sendbuf: SendPtr, sendcounts: Counts, sdispls: Displs, sendtype: Datatype,
        recvbuf: RecvPtr, recvcounts: Counts, rdispls: Displs, recvtype: Datatype, ..., comm
    ) -> NeighborExchange {
        let neighbours = comm.lite.neighbours()?;
        let given = blocks(sendcounts, sdispls, &neighbours.destinations);
        let send = sendbuf.blocks(given, &sendtype)?;
        let places = blocks(recvcounts, rdispls, &neighbours.sources);
        let receive = recvbuf.blocks(places, &recvtype)?;
        Ok(NeighborExchange::alltoallw(neighbours, send, receive))
    }

    /// Exchanges blocks of different datatypes, displaced in bytes, with the neighbours. MPI 5.0,
    /// 8.6.2.
    MPI_Neighbor_alltoallw | MPI_Neighbor_alltoallw_c,
    MPI_Ineighbor_alltoallw | MPI_Ineighbor_alltoallw_c,
    MPI_Neighbor_alltoallw_init | MPI_Neighbor_alltoallw_init_c
    => fn alltoallw(
        sendbuf: SendPtr, sendcounts: Counts, sdispls: Aints, sendtypes: Datatypes,
        recvbuf: RecvPtr, recvcounts: Counts, rdispls: Aints, recvtypes: Datatypes, ..., comm
    ) -> NeighborExchange {
        let neighbours = comm.lite.neighbours()?;
        let given = blocks(sendcounts, sdispls, &neighbours.destinations);
        let send = sendbuf.blocks_of(given, sendtypes)?;
        let places = blocks(recvcounts, rdispls, &neighbours.sources);
        let receive = recvbuf.blocks_of(places, recvtypes)?;
        Ok(NeighborExchange::alltoallw(neighbours, send, receive))
    }
}

/// A block for each edge.
fn blocks<D>(counts: Counts, displs: D, edges: &[Option<u32>]) -> Blocks<D> {
    let processes = u32::try_from(edges.len()).expect("a process has fewer than 2^32 edges");
    Blocks {
        counts,
        displs,
        processes,
    }
}
