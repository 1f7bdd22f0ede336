//! Chapter 13: generalized requests, and statuses made by the program.

use crate::args::*;
use crate::calls::generalized::{self, Generalized};
use crate::error::Result;

mpi! {
    /// Says that the operation of a generalized request is complete. MPI 5.0, 13.2.
    fn MPI_Grequest_complete(request: Request) {
        generalized::complete(request.0)
    }

    /// Makes a request of an operation of the program. MPI 5.0, 13.2.
    fn MPI_Grequest_start(
        query_fn: QueryFn, free_fn: FreeFn, cancel_fn: CancelFn, extra_state: Address,
        request: Out<Request>
    ) {
        request.set(generalized::start(Generalized {
            query: query_fn.0,
            free: free_fn.0,
            cancel: cancel_fn.0,
            extra_state: extra_state.0.expose_provenance(),
        }))
    }

    /// Sets whether the operation was cancelled. MPI 5.0, 13.3.
    fn MPI_Status_set_cancelled(status: InOutStatus, flag: Flag) {
        status.update(|status| status.set_cancelled(flag.0));
        Ok(())
    }

    /// Sets the count from a number of basic elements. MPI 5.0, 13.3.
    fn MPI_Status_set_elements | MPI_Status_set_elements_c(
        status: InOutStatus, datatype: Datatype, count: Count
    ) {
        set_elements(status, &datatype, count.0)
    }

    /// Sets the error field. MPI 5.0, 13.3.
    fn MPI_Status_set_error(status: InOutStatus, error: Code) {
        status.update(|status| status.error = error.0);
        Ok(())
    }

    /// Sets the source field. MPI 5.0, 13.3.
    fn MPI_Status_set_source(status: InOutStatus, source: Source) {
        status.update(|status| status.source = source.0);
        Ok(())
    }

    /// Sets the tag field. MPI 5.0, 13.3.
    fn MPI_Status_set_tag(status: InOutStatus, tag: Tag) {
        status.update(|status| status.tag = tag.0);
        Ok(())
    }
}

/// Sets the bytes of a status so that `MPI_Get_elements` gives `count`.
pub(super) fn set_elements(status: InOutStatus, datatype: &Datatype, count: i64) -> Result<()> {
    let datatype = datatype.lite()?;
    let each = datatype
        .elements(datatype.size())
        .filter(|each| *each > 0)
        .unwrap_or(1);
    let bytes = datatype.bytes(count.cast_unsigned() / each)?;
    status.update(|status| status.set_bytes(bytes));
    Ok(())
}
