//! Completion of requests and what statuses tell: chapter 3, sections 2.5, 7.3 to 7.6 and 8.4.

use crate::args::*;

mpi! {
    fn MPI_Cancel(request: InOut<Request>);

    fn MPI_Get_count | MPI_Get_count_c(status: InStatus, datatype: Datatype, count: Out<Count>);

    fn MPI_Request_free(request: InOut<Request>);

    fn MPI_Request_get_status(request: Request, flag: Out<Flag>, status: OutStatus);

    fn MPI_Request_get_status_all(
        count: Length, array_of_requests: ConstRequests, flag: Out<Flag>,
        array_of_statuses: OutStatuses
    );

    fn MPI_Request_get_status_any(
        count: Length, array_of_requests: ConstRequests, indx: Out<Int>, flag: Out<Flag>,
        status: OutStatus
    );

    fn MPI_Request_get_status_some(
        incount: Length, array_of_requests: ConstRequests, outcount: Out<Int>,
        array_of_indices: OutInts, array_of_statuses: OutStatuses
    );

    /// The error field. MPI 5.0, 3.2.5.
    fn MPI_Status_get_error(status: InStatus, error: Out<Int>) {
        error.set(status.0.error)
    }

    /// The source field. MPI 5.0, 3.2.5.
    fn MPI_Status_get_source(status: InStatus, source: Out<Int>) {
        source.set(status.0.source)
    }

    /// The tag field. MPI 5.0, 3.2.5.
    fn MPI_Status_get_tag(status: InStatus, tag: Out<Int>) {
        tag.set(status.0.tag)
    }

    fn MPI_Test(request: InOut<Request>, flag: Out<Flag>, status: OutStatus);

    /// Whether the operation was cancelled. MPI 5.0, 3.8.4.
    fn MPI_Test_cancelled(status: InStatus, flag: Out<Flag>) {
        flag.set(status.0.is_cancelled())
    }

    fn MPI_Testall(
        count: Length, array_of_requests: Requests, flag: Out<Flag>,
        array_of_statuses: OutStatuses
    );

    fn MPI_Testany(
        count: Length, array_of_requests: Requests, indx: Out<Int>, flag: Out<Flag>,
        status: OutStatus
    );

    fn MPI_Testsome(
        incount: Length, array_of_requests: Requests, outcount: Out<Int>,
        array_of_indices: OutInts, array_of_statuses: OutStatuses
    );

    fn MPI_Wait(request: InOut<Request>, status: OutStatus);

    fn MPI_Waitall(count: Length, array_of_requests: Requests, array_of_statuses: OutStatuses);

    fn MPI_Waitany(count: Length, array_of_requests: Requests, indx: Out<Int>, status: OutStatus);

    fn MPI_Waitsome(
        incount: Length, array_of_requests: Requests, outcount: Out<Int>,
        array_of_indices: OutInts, array_of_statuses: OutStatuses
    );
}
