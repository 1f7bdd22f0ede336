//! Blocking collectives and reduction operators of chapter 6.

use crate::abi;
use crate::args::*;
use crate::error::Error;
use crate::global::LIBRARY;
use crate::reduce;

mpi! {
    fn MPI_Allgather | MPI_Allgather_c(
        sendbuf: SendPtr, sendcount: Count, sendtype: Datatype, recvbuf: RecvPtr,
        recvcount: Count, recvtype: Datatype, comm: Comm
    );

    fn MPI_Allgatherv | MPI_Allgatherv_c(
        sendbuf: SendPtr, sendcount: Count, sendtype: Datatype, recvbuf: RecvPtr,
        recvcounts: Counts, displs: Displs, recvtype: Datatype, comm: Comm
    );

    fn MPI_Allreduce | MPI_Allreduce_c(
        sendbuf: SendPtr, recvbuf: RecvPtr, count: Count, datatype: Datatype, op: Op, comm: Comm
    );

    fn MPI_Alltoall | MPI_Alltoall_c(
        sendbuf: SendPtr, sendcount: Count, sendtype: Datatype, recvbuf: RecvPtr,
        recvcount: Count, recvtype: Datatype, comm: Comm
    );

    fn MPI_Alltoallv | MPI_Alltoallv_c(
        sendbuf: SendPtr, sendcounts: Counts, sdispls: Displs, sendtype: Datatype,
        recvbuf: RecvPtr, recvcounts: Counts, rdispls: Displs, recvtype: Datatype, comm: Comm
    );

    fn MPI_Alltoallw | MPI_Alltoallw_c(
        sendbuf: SendPtr, sendcounts: Counts, sdispls: Displs, sendtypes: Datatypes,
        recvbuf: RecvPtr, recvcounts: Counts, rdispls: Displs, recvtypes: Datatypes, comm: Comm
    );

    fn MPI_Barrier(comm: Comm);

    fn MPI_Bcast | MPI_Bcast_c(
        buffer: RecvPtr, count: Count, datatype: Datatype, root: Root, comm: Comm
    );

    fn MPI_Exscan | MPI_Exscan_c(
        sendbuf: SendPtr, recvbuf: RecvPtr, count: Count, datatype: Datatype, op: Op, comm: Comm
    );

    fn MPI_Gather | MPI_Gather_c(
        sendbuf: SendPtr, sendcount: Count, sendtype: Datatype, recvbuf: RecvPtr,
        recvcount: Count, recvtype: Datatype, root: Root, comm: Comm
    );

    fn MPI_Gatherv | MPI_Gatherv_c(
        sendbuf: SendPtr, sendcount: Count, sendtype: Datatype, recvbuf: RecvPtr,
        recvcounts: Counts, displs: Displs, recvtype: Datatype, root: Root, comm: Comm
    );

    /// Whether the order of an operator's operands does not matter. MPI 5.0, 6.9.7.
    fn MPI_Op_commutative(op: Op, commute: Out<Flag>) {
        commute.set(op.lite.is_commutative())
    }

    /// Makes an operator of a function. MPI 5.0, 6.9.5.
    fn MPI_Op_create | MPI_Op_create_c(user_fn: UserFn, commute: Flag, op: Out<Op>) {
        op.set(reduce::create(user_fn, commute.0)?)
    }

    /// Gives an operator up. MPI 5.0, 6.9.5.
    fn MPI_Op_free(op: InOut<Op>) {
        LIBRARY.ops.lock().remove(op.value.handle).map_err(|_| {
            Error::new(abi::MPI_ERR_OP, "a predefined operator cannot be freed")
        })?;
        op.set(abi::MPI_OP_NULL)
    }

    fn MPI_Reduce | MPI_Reduce_c(
        sendbuf: SendPtr, recvbuf: RecvPtr, count: Count, datatype: Datatype, op: Op, root: Root,
        comm: Comm
    );

    fn MPI_Reduce_local | MPI_Reduce_local_c(
        inbuf: SendPtr, inoutbuf: RecvPtr, count: Count, datatype: Datatype, op: Op
    );

    fn MPI_Reduce_scatter | MPI_Reduce_scatter_c(
        sendbuf: SendPtr, recvbuf: RecvPtr, recvcounts: Counts, datatype: Datatype, op: Op,
        comm: Comm
    );

    fn MPI_Reduce_scatter_block | MPI_Reduce_scatter_block_c(
        sendbuf: SendPtr, recvbuf: RecvPtr, recvcount: Count, datatype: Datatype, op: Op,
        comm: Comm
    );

    fn MPI_Scan | MPI_Scan_c(
        sendbuf: SendPtr, recvbuf: RecvPtr, count: Count, datatype: Datatype, op: Op, comm: Comm
    );

    fn MPI_Scatter | MPI_Scatter_c(
        sendbuf: SendPtr, sendcount: Count, sendtype: Datatype, recvbuf: RecvPtr,
        recvcount: Count, recvtype: Datatype, root: Root, comm: Comm
    );

    fn MPI_Scatterv | MPI_Scatterv_c(
        sendbuf: SendPtr, sendcounts: Counts, displs: Displs, sendtype: Datatype,
        recvbuf: RecvPtr, recvcount: Count, recvtype: Datatype, root: Root, comm: Comm
    );
}
