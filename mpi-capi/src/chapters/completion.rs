//! Completion of requests, and the contents of statuses: chapter 3, sections 2.5, 7.3 to 7.6 and
//! 8.4.

use crate::abi::{self, Handle};
use crate::args::*;
use crate::calls::completion::{self, Found, Several};
use crate::error::Result;

mpi! {
    /// Tries to cancel an operation that has not started. MPI 5.0, 3.8.4.
    fn MPI_Cancel(request: InOut<Request>) {
        completion::cancel(request.value.0)
    }

    /// Elements received, or `MPI_UNDEFINED` if they are not whole. MPI 5.0, 3.2.5.
    fn MPI_Get_count | MPI_Get_count_c(status: InStatus, datatype: Datatype, count: Out<Count>) {
        let whole = match (status.0.bytes(), datatype.committed()?.size()) {
            (0, 0) => Some(0),
            (_, 0) => None,
            (bytes, size) => (bytes % size == 0).then_some(bytes / size),
        };
        count.set_or_undefined(whole)
    }

    /// Gives a request up; its operation still completes. MPI 5.0, 3.7.3.
    fn MPI_Request_free(request: InOut<Request>) {
        completion::free(request.value.0)?;
        request.set(abi::MPI_REQUEST_NULL)
    }

    /// Looks whether an operation is complete. MPI 5.0, 3.7.6.
    fn MPI_Request_get_status(request: Request, flag: Out<Flag>, status: OutStatus) {
        let found = completion::look(request.0)?;
        flag.set(found.is_some())?;
        found.map_or(Ok(()), |complete| complete.lay_down(status))
    }

    /// Looks whether all operations are complete. MPI 5.0, 3.7.6.
    fn MPI_Request_get_status_all(
        count: Length, array_of_requests: ConstRequests, flag: Out<Flag>,
        array_of_statuses: OutStatuses
    ) {
        let found = completion::look_at_all(&array_of_requests.to_vec(count)?)?;
        let complete = found.iter().all(Option::is_some);
        flag.set(complete)?;
        if !complete {
            return Ok(());
        }
        let mut result = Ok(());
        for (index, complete) in found.into_iter().flatten().enumerate() {
            result = result.and(complete.lay_down(array_of_statuses.at(index)));
        }
        result
    }

    /// Looks for one complete operation. MPI 5.0, 3.7.6.
    fn MPI_Request_get_status_any(
        count: Length, array_of_requests: ConstRequests, indx: Out<Int>, flag: Out<Flag>,
        status: OutStatus
    ) {
        let requests = array_of_requests.to_vec(count)?;
        let found = completion::look_at_all(&requests)?;
        let active = active_of(&requests)?;
        match active.iter().copied().find(|index| found[*index].is_some()) {
            Some(index) => {
                indx.set(c_index(index))?;
                flag.set(true)?;
                found[index].expect("found complete").lay_down(status)
            }
            None => {
                indx.set(abi::MPI_UNDEFINED)?;
                if active.is_empty() {
                    status.set_empty();
                }
                flag.set(active.is_empty())
            }
        }
    }

    /// Looks for complete operations. MPI 5.0, 3.7.6.
    fn MPI_Request_get_status_some(
        incount: Length, array_of_requests: ConstRequests, outcount: Out<Int>,
        array_of_indices: OutInts, array_of_statuses: OutStatuses
    ) {
        let requests = array_of_requests.to_vec(incount)?;
        let found = completion::look_at_all(&requests)?;
        let active = active_of(&requests)?;
        if active.is_empty() {
            return outcount.set(abi::MPI_UNDEFINED);
        }
        let complete = active.into_iter().filter_map(|index| Some((index, found[index]?)));
        let (mut count, mut result) = (0, Ok(()));
        for (index, complete) in complete {
            array_of_indices.set(count, c_index(index))?;
            result = result.and(complete.lay_down(array_of_statuses.at(count)));
            count += 1;
        }
        outcount.set(c_index(count))?;
        result
    }

    /// The error field. MPI 5.0, 3.2.5.
    fn MPI_Status_get_error(status: InStatus, error: Out<Code>) {
        error.set(status.0.error)
    }

    /// The source field. MPI 5.0, 3.2.5.
    fn MPI_Status_get_source(status: InStatus, source: Out<Source>) {
        source.set(status.0.source)
    }

    /// The tag field. MPI 5.0, 3.2.5.
    fn MPI_Status_get_tag(status: InStatus, tag: Out<Tag>) {
        tag.set(status.0.tag)
    }

    /// Completes an operation if it is done. MPI 5.0, 3.7.3.
    fn MPI_Test(request: InOut<Request>, flag: Out<Flag>, status: OutStatus) {
        let Some(done) = completion::test(request.value.0)? else {
            return flag.set(false);
        };
        request.set(done.left)?;
        status.set_end(done.status, done.is_of_nothing);
        flag.set(true)?;
        done.result
    }

    /// Sets `flag` to true if the operation was cancelled. MPI 5.0, 3.8.4.
    fn MPI_Test_cancelled(status: InStatus, flag: Out<Flag>) {
        flag.set(status.0.is_cancelled())
    }

    /// Completes all operations if all are done. MPI 5.0, 3.7.5.
    fn MPI_Testall(
        count: Length, array_of_requests: Requests, flag: Out<Flag>,
        array_of_statuses: OutStatuses
    ) {
        flag.set(true)?;
        let done = completion::test_all(count, array_of_requests, array_of_statuses)?;
        flag.set(done)
    }

    /// Completes one operation if any is done. MPI 5.0, 3.7.5.
    fn MPI_Testany(
        count: Length, array_of_requests: Requests, indx: Out<Int>, flag: Out<Flag>,
        status: OutStatus
    ) {
        let found = completion::test_any(count, array_of_requests)?;
        flag.set(!matches!(found, Found::Pending))?;
        lay_down(found, array_of_requests, &indx, status)
    }

    /// Completes the operations that are done. MPI 5.0, 3.7.5.
    fn MPI_Testsome(
        incount: Length, array_of_requests: Requests, outcount: Out<Int>,
        array_of_indices: OutInts, array_of_statuses: OutStatuses
    ) {
        let (requests, indices, statuses) =
            (array_of_requests, array_of_indices, array_of_statuses);
        Several { requests, count: incount, outcount, indices, statuses }.test()
    }

    /// Waits until an operation is complete. MPI 5.0, 3.7.3.
    fn MPI_Wait(request: InOut<Request>, status: OutStatus) {
        let done = completion::wait(request.value.0)?;
        request.set(done.left)?;
        status.set_end(done.status, done.is_of_nothing);
        done.result
    }

    /// Waits until all operations are complete. MPI 5.0, 3.7.5.
    fn MPI_Waitall(count: Length, array_of_requests: Requests, array_of_statuses: OutStatuses) {
        completion::wait_all(count, array_of_requests, array_of_statuses)
    }

    /// Waits until one operation is complete. MPI 5.0, 3.7.5.
    fn MPI_Waitany(count: Length, array_of_requests: Requests, indx: Out<Int>, status: OutStatus) {
        let found = completion::wait_any(count, array_of_requests)?;
        lay_down(found, array_of_requests, &indx, status)
    }

    /// Waits until at least one operation is complete. MPI 5.0, 3.7.5.
    fn MPI_Waitsome(
        incount: Length, array_of_requests: Requests, outcount: Out<Int>,
        array_of_indices: OutInts, array_of_statuses: OutStatuses
    ) {
        let (requests, indices, statuses) =
            (array_of_requests, array_of_indices, array_of_statuses);
        Several { requests, count: incount, outcount, indices, statuses }.wait()
    }
}

/// Indices of the requests that waiting for any would wait for.
fn active_of(requests: &[Handle]) -> Result<Vec<usize>> {
    let mut active = Vec::new();
    for (index, handle) in requests.iter().enumerate() {
        if completion::is_active(*handle)? {
            active.push(index);
        }
    }
    Ok(active)
}

/// Lays down what a call that completes one of several operations found.
fn lay_down(
    found: Found,
    array_of_requests: Requests,
    indx: &Out<Int>,
    status: OutStatus,
) -> Result<()> {
    match found {
        Found::One(index, done) => {
            array_of_requests.set(index, done.left)?;
            indx.set(c_index(index))?;
            status.set(done.status);
            done.result
        }
        Found::NoneActive => {
            status.set_empty();
            indx.set(abi::MPI_UNDEFINED)
        }
        Found::Pending => indx.set(abi::MPI_UNDEFINED),
    }
}
