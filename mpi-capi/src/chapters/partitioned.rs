//! Chapter 4, partitioned point-to-point communication.

use crate::args::*;

mpi! {
    fn MPI_Parrived(request: Request, partition: Int, flag: Out<Flag>);

    fn MPI_Pready(partition: Int, request: Request);

    fn MPI_Pready_list(length: Length, array_of_partitions: Ints, request: Request);

    fn MPI_Pready_range(partition_low: Int, partition_high: Int, request: Request);

    fn MPI_Precv_init | MPI_Precv_init_c(
        buf: RecvPtr, partitions: Int, count: LargeCount, datatype: Datatype, dest: Rank,
        tag: Tag, comm: Comm, info: Info, request: Out<Request>
    );

    fn MPI_Psend_init | MPI_Psend_init_c(
        buf: SendPtr, partitions: Int, count: LargeCount, datatype: Datatype, dest: Rank,
        tag: Tag, comm: Comm, info: Info, request: Out<Request>
    );
}
