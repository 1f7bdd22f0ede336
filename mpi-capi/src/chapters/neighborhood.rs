//! Collectives over the edges of a topology, sections 8.6 to 8.8.

use crate::args::*;

mpi! {
    fn MPI_Ineighbor_allgather | MPI_Ineighbor_allgather_c(
        sendbuf: SendPtr, sendcount: Count, sendtype: Datatype, recvbuf: RecvPtr,
        recvcount: Count, recvtype: Datatype, comm: Comm, request: Out<Request>
    );

    fn MPI_Ineighbor_allgatherv | MPI_Ineighbor_allgatherv_c(
        sendbuf: SendPtr, sendcount: Count, sendtype: Datatype, recvbuf: RecvPtr,
        recvcounts: Counts, displs: Displs, recvtype: Datatype, comm: Comm, request: Out<Request>
    );

    fn MPI_Ineighbor_alltoall | MPI_Ineighbor_alltoall_c(
        sendbuf: SendPtr, sendcount: Count, sendtype: Datatype, recvbuf: RecvPtr,
        recvcount: Count, recvtype: Datatype, comm: Comm, request: Out<Request>
    );

    fn MPI_Ineighbor_alltoallv | MPI_Ineighbor_alltoallv_c(
        sendbuf: SendPtr, sendcounts: Counts, sdispls: Displs, sendtype: Datatype,
        recvbuf: RecvPtr, recvcounts: Counts, rdispls: Displs, recvtype: Datatype, comm: Comm,
        request: Out<Request>
    );

    fn MPI_Ineighbor_alltoallw | MPI_Ineighbor_alltoallw_c(
        sendbuf: SendPtr, sendcounts: Counts, sdispls: Aints, sendtypes: Datatypes,
        recvbuf: RecvPtr, recvcounts: Counts, rdispls: Aints, recvtypes: Datatypes, comm: Comm,
        request: Out<Request>
    );

    fn MPI_Neighbor_allgather | MPI_Neighbor_allgather_c(
        sendbuf: SendPtr, sendcount: Count, sendtype: Datatype, recvbuf: RecvPtr,
        recvcount: Count, recvtype: Datatype, comm: Comm
    );

    fn MPI_Neighbor_allgather_init | MPI_Neighbor_allgather_init_c(
        sendbuf: SendPtr, sendcount: Count, sendtype: Datatype, recvbuf: RecvPtr,
        recvcount: Count, recvtype: Datatype, comm: Comm, info: Info, request: Out<Request>
    );

    fn MPI_Neighbor_allgatherv | MPI_Neighbor_allgatherv_c(
        sendbuf: SendPtr, sendcount: Count, sendtype: Datatype, recvbuf: RecvPtr,
        recvcounts: Counts, displs: Displs, recvtype: Datatype, comm: Comm
    );

    fn MPI_Neighbor_allgatherv_init | MPI_Neighbor_allgatherv_init_c(
        sendbuf: SendPtr, sendcount: Count, sendtype: Datatype, recvbuf: RecvPtr,
        recvcounts: Counts, displs: Displs, recvtype: Datatype, comm: Comm, info: Info,
        request: Out<Request>
    );

    fn MPI_Neighbor_alltoall | MPI_Neighbor_alltoall_c(
        sendbuf: SendPtr, sendcount: Count, sendtype: Datatype, recvbuf: RecvPtr,
        recvcount: Count, recvtype: Datatype, comm: Comm
    );

    fn MPI_Neighbor_alltoall_init | MPI_Neighbor_alltoall_init_c(
        sendbuf: SendPtr, sendcount: Count, sendtype: Datatype, recvbuf: RecvPtr,
        recvcount: Count, recvtype: Datatype, comm: Comm, info: Info, request: Out<Request>
    );

    fn MPI_Neighbor_alltoallv | MPI_Neighbor_alltoallv_c(
        sendbuf: SendPtr, sendcounts: Counts, sdispls: Displs, sendtype: Datatype,
        recvbuf: RecvPtr, recvcounts: Counts, rdispls: Displs, recvtype: Datatype, comm: Comm
    );

    fn MPI_Neighbor_alltoallv_init | MPI_Neighbor_alltoallv_init_c(
        sendbuf: SendPtr, sendcounts: Counts, sdispls: Displs, sendtype: Datatype,
        recvbuf: RecvPtr, recvcounts: Counts, rdispls: Displs, recvtype: Datatype, comm: Comm,
        info: Info, request: Out<Request>
    );

    fn MPI_Neighbor_alltoallw | MPI_Neighbor_alltoallw_c(
        sendbuf: SendPtr, sendcounts: Counts, sdispls: Aints, sendtypes: Datatypes,
        recvbuf: RecvPtr, recvcounts: Counts, rdispls: Aints, recvtypes: Datatypes, comm: Comm
    );

    fn MPI_Neighbor_alltoallw_init | MPI_Neighbor_alltoallw_init_c(
        sendbuf: SendPtr, sendcounts: Counts, sdispls: Aints, sendtypes: Datatypes,
        recvbuf: RecvPtr, recvcounts: Counts, rdispls: Aints, recvtypes: Datatypes, comm: Comm,
        info: Info, request: Out<Request>
    );
}
