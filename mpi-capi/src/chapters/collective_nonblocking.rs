//! Nonblocking collectives, section 6.12.

use crate::args::*;
use crate::request;

mpi! {
    fn MPI_Iallgather | MPI_Iallgather_c(
        sendbuf: SendPtr, sendcount: Count, sendtype: Datatype, recvbuf: RecvPtr,
        recvcount: Count, recvtype: Datatype, comm: Comm, request: Out<Request>
    );

    fn MPI_Iallgatherv | MPI_Iallgatherv_c(
        sendbuf: SendPtr, sendcount: Count, sendtype: Datatype, recvbuf: RecvPtr,
        recvcounts: Counts, displs: Displs, recvtype: Datatype, comm: Comm, request: Out<Request>
    );

    fn MPI_Iallreduce | MPI_Iallreduce_c(
        sendbuf: SendPtr, recvbuf: RecvPtr, count: Count, datatype: Datatype, op: Op, comm: Comm,
        request: Out<Request>
    );

    fn MPI_Ialltoall | MPI_Ialltoall_c(
        sendbuf: SendPtr, sendcount: Count, sendtype: Datatype, recvbuf: RecvPtr,
        recvcount: Count, recvtype: Datatype, comm: Comm, request: Out<Request>
    );

    fn MPI_Ialltoallv | MPI_Ialltoallv_c(
        sendbuf: SendPtr, sendcounts: Counts, sdispls: Displs, sendtype: Datatype,
        recvbuf: RecvPtr, recvcounts: Counts, rdispls: Displs, recvtype: Datatype, comm: Comm,
        request: Out<Request>
    );

    fn MPI_Ialltoallw | MPI_Ialltoallw_c(
        sendbuf: SendPtr, sendcounts: Counts, sdispls: Displs, sendtypes: Datatypes,
        recvbuf: RecvPtr, recvcounts: Counts, rdispls: Displs, recvtypes: Datatypes, comm: Comm,
        request: Out<Request>
    );

    /// Starts a barrier. MPI 5.0, 6.12.1.
    fn MPI_Ibarrier(comm: Comm, request: Out<Request>) {
        request.set(request::handle_of(comm.lite.ibarrier()))
    }

    /// Starts a broadcast. MPI 5.0, 6.12.2.
    fn MPI_Ibcast | MPI_Ibcast_c(
        buffer: RecvPtr, count: Count, datatype: Datatype, root: Root, comm: Comm,
        request: Out<Request>
    ) {
        let started = comm.lite.ibcast(buffer.of(count, &datatype)?, root.0)?;
        request.set(request::handle_of(started))
    }

    fn MPI_Iexscan | MPI_Iexscan_c(
        sendbuf: SendPtr, recvbuf: RecvPtr, count: Count, datatype: Datatype, op: Op, comm: Comm,
        request: Out<Request>
    );

    fn MPI_Igather | MPI_Igather_c(
        sendbuf: SendPtr, sendcount: Count, sendtype: Datatype, recvbuf: RecvPtr,
        recvcount: Count, recvtype: Datatype, root: Root, comm: Comm, request: Out<Request>
    );

    fn MPI_Igatherv | MPI_Igatherv_c(
        sendbuf: SendPtr, sendcount: Count, sendtype: Datatype, recvbuf: RecvPtr,
        recvcounts: Counts, displs: Displs, recvtype: Datatype, root: Root, comm: Comm,
        request: Out<Request>
    );

    fn MPI_Ireduce | MPI_Ireduce_c(
        sendbuf: SendPtr, recvbuf: RecvPtr, count: Count, datatype: Datatype, op: Op, root: Root,
        comm: Comm, request: Out<Request>
    );

    fn MPI_Ireduce_scatter | MPI_Ireduce_scatter_c(
        sendbuf: SendPtr, recvbuf: RecvPtr, recvcounts: Counts, datatype: Datatype, op: Op,
        comm: Comm, request: Out<Request>
    );

    fn MPI_Ireduce_scatter_block | MPI_Ireduce_scatter_block_c(
        sendbuf: SendPtr, recvbuf: RecvPtr, recvcount: Count, datatype: Datatype, op: Op,
        comm: Comm, request: Out<Request>
    );

    fn MPI_Iscan | MPI_Iscan_c(
        sendbuf: SendPtr, recvbuf: RecvPtr, count: Count, datatype: Datatype, op: Op, comm: Comm,
        request: Out<Request>
    );

    fn MPI_Iscatter | MPI_Iscatter_c(
        sendbuf: SendPtr, sendcount: Count, sendtype: Datatype, recvbuf: RecvPtr,
        recvcount: Count, recvtype: Datatype, root: Root, comm: Comm, request: Out<Request>
    );

    fn MPI_Iscatterv | MPI_Iscatterv_c(
        sendbuf: SendPtr, sendcounts: Counts, displs: Displs, sendtype: Datatype,
        recvbuf: RecvPtr, recvcount: Count, recvtype: Datatype, root: Root, comm: Comm,
        request: Out<Request>
    );
}
