//! Chapter 13: generalized requests, and statuses made by the program.

use crate::args::*;

mpi! {
    fn MPI_Grequest_complete(request: Request);

    fn MPI_Grequest_start(
        query_fn: QueryFn, free_fn: FreeFn, cancel_fn: CancelFn, extra_state: Address,
        request: Out<Request>
    );

    fn MPI_Status_set_cancelled(status: InOutStatus, flag: Flag);

    fn MPI_Status_set_elements | MPI_Status_set_elements_c(
        status: InOutStatus, datatype: Datatype, count: Count
    );

    fn MPI_Status_set_error(status: InOutStatus, error: Int);

    fn MPI_Status_set_source(status: InOutStatus, source: Source);

    fn MPI_Status_set_tag(status: InOutStatus, tag: Tag);
}
