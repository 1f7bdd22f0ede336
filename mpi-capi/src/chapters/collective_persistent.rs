//! Persistent collectives, section 6.13.

use crate::args::*;
use crate::chapters::collective::reduction;
use crate::request;

mpi! {
    fn MPI_Allgather_init | MPI_Allgather_init_c(
        sendbuf: SendPtr, sendcount: Count, sendtype: Datatype, recvbuf: RecvPtr,
        recvcount: Count, recvtype: Datatype, comm: Comm, info: Info, request: Out<Request>
    );

    fn MPI_Allgatherv_init | MPI_Allgatherv_init_c(
        sendbuf: SendPtr, sendcount: Count, sendtype: Datatype, recvbuf: RecvPtr,
        recvcounts: Counts, displs: Displs, recvtype: Datatype, comm: Comm, info: Info,
        request: Out<Request>
    );

    /// Prepares a reduction to all processes. MPI 5.0, 6.13.8.
    fn MPI_Allreduce_init | MPI_Allreduce_init_c(
        sendbuf: SendPtr, recvbuf: RecvPtr, count: Count, datatype: Datatype, op: Op, comm: Comm,
        info: Info, request: Out<Request>
    ) {
        // No hint is known.
        let _ = info;
        let (send, receive) = reduction(sendbuf, recvbuf, count, &datatype, &op)?;
        let planned = comm.lite.allreduce_init(send, receive, op.lite.clone())?;
        request.set(request::handle_of(planned))
    }

    fn MPI_Alltoall_init | MPI_Alltoall_init_c(
        sendbuf: SendPtr, sendcount: Count, sendtype: Datatype, recvbuf: RecvPtr,
        recvcount: Count, recvtype: Datatype, comm: Comm, info: Info, request: Out<Request>
    );

    fn MPI_Alltoallv_init | MPI_Alltoallv_init_c(
        sendbuf: SendPtr, sendcounts: Counts, sdispls: Displs, sendtype: Datatype,
        recvbuf: RecvPtr, recvcounts: Counts, rdispls: Displs, recvtype: Datatype, comm: Comm,
        info: Info, request: Out<Request>
    );

    fn MPI_Alltoallw_init | MPI_Alltoallw_init_c(
        sendbuf: SendPtr, sendcounts: Counts, sdispls: Displs, sendtypes: Datatypes,
        recvbuf: RecvPtr, recvcounts: Counts, rdispls: Displs, recvtypes: Datatypes, comm: Comm,
        info: Info, request: Out<Request>
    );

    fn MPI_Barrier_init(comm: Comm, info: Info, request: Out<Request>);

    fn MPI_Bcast_init | MPI_Bcast_init_c(
        buffer: RecvPtr, count: Count, datatype: Datatype, root: Root, comm: Comm, info: Info,
        request: Out<Request>
    );

    fn MPI_Exscan_init | MPI_Exscan_init_c(
        sendbuf: SendPtr, recvbuf: RecvPtr, count: Count, datatype: Datatype, op: Op, comm: Comm,
        info: Info, request: Out<Request>
    );

    fn MPI_Gather_init | MPI_Gather_init_c(
        sendbuf: SendPtr, sendcount: Count, sendtype: Datatype, recvbuf: RecvPtr,
        recvcount: Count, recvtype: Datatype, root: Root, comm: Comm, info: Info,
        request: Out<Request>
    );

    fn MPI_Gatherv_init | MPI_Gatherv_init_c(
        sendbuf: SendPtr, sendcount: Count, sendtype: Datatype, recvbuf: RecvPtr,
        recvcounts: Counts, displs: Displs, recvtype: Datatype, root: Root, comm: Comm,
        info: Info, request: Out<Request>
    );

    fn MPI_Reduce_init | MPI_Reduce_init_c(
        sendbuf: SendPtr, recvbuf: RecvPtr, count: Count, datatype: Datatype, op: Op, root: Root,
        comm: Comm, info: Info, request: Out<Request>
    );

    fn MPI_Reduce_scatter_block_init | MPI_Reduce_scatter_block_init_c(
        sendbuf: SendPtr, recvbuf: RecvPtr, recvcount: Count, datatype: Datatype, op: Op,
        comm: Comm, info: Info, request: Out<Request>
    );

    fn MPI_Reduce_scatter_init | MPI_Reduce_scatter_init_c(
        sendbuf: SendPtr, recvbuf: RecvPtr, recvcounts: Counts, datatype: Datatype, op: Op,
        comm: Comm, info: Info, request: Out<Request>
    );

    fn MPI_Scan_init | MPI_Scan_init_c(
        sendbuf: SendPtr, recvbuf: RecvPtr, count: Count, datatype: Datatype, op: Op, comm: Comm,
        info: Info, request: Out<Request>
    );

    fn MPI_Scatter_init | MPI_Scatter_init_c(
        sendbuf: SendPtr, sendcount: Count, sendtype: Datatype, recvbuf: RecvPtr,
        recvcount: Count, recvtype: Datatype, root: Root, comm: Comm, info: Info,
        request: Out<Request>
    );

    fn MPI_Scatterv_init | MPI_Scatterv_init_c(
        sendbuf: SendPtr, sendcounts: Counts, displs: Displs, sendtype: Datatype,
        recvbuf: RecvPtr, recvcount: Count, recvtype: Datatype, root: Root, comm: Comm,
        info: Info, request: Out<Request>
    );
}
