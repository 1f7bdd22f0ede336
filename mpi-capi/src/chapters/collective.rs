//! Blocking collectives and reduction operators of chapter 6.

use mpi_lite::coll::{Given, Input, reduce_local};
use mpi_lite::data::Buffer;

use crate::abi;
use crate::args::*;
use crate::error::{Error, Result};
use crate::global::LIBRARY;
use crate::reduce;

mpi! {
    /// Collects a block of each process at all of them. MPI 5.0, 6.7.
    fn MPI_Allgather | MPI_Allgather_c(
        sendbuf: SendPtr, sendcount: LateCount, sendtype: LateDatatype, recvbuf: RecvPtr,
        recvcount: Count, recvtype: Datatype, comm: Comm
    ) {
        let send = sendbuf.input(sendcount, sendtype)?;
        let receive = recvbuf.of(recvcount, &recvtype)?;
        let size = comm.lite.size();
        refuse_overlap(given(&send), Given::Equal(&receive, size), SEND_IN_PLACE)?;
        Ok(comm.lite.allgather(&send, &receive)?)
    }

    /// Collects blocks of different lengths at all processes. MPI 5.0, 6.7.
    fn MPI_Allgatherv | MPI_Allgatherv_c(
        sendbuf: SendPtr, sendcount: LateCount, sendtype: LateDatatype, recvbuf: RecvPtr,
        recvcounts: Counts, displs: Displs, recvtype: Datatype, comm: Comm
    ) {
        let send = sendbuf.input(sendcount, sendtype)?;
        let places = Blocks { counts: recvcounts, displs, processes: comm.lite.size() };
        let receive = recvbuf.blocks(places, &recvtype)?;
        refuse_overlap(given(&send), Given::Each(&receive), SEND_IN_PLACE)?;
        Ok(comm.lite.allgatherv(&send, &receive)?)
    }

    /// Reduces to all processes. MPI 5.0, 6.9.6.
    fn MPI_Allreduce | MPI_Allreduce_c(
        sendbuf: SendPtr, recvbuf: RecvPtr, count: Count, datatype: Datatype, op: Op, comm: Comm
    ) {
        let (send, receive) = reduction(sendbuf, recvbuf, count, &datatype, &op)?;
        Ok(comm.lite.allreduce(&send, &receive, &op.lite)?)
    }

    /// Exchanges a block between all pairs. MPI 5.0, 6.8.
    fn MPI_Alltoall | MPI_Alltoall_c(
        sendbuf: SendPtr, sendcount: LateCount, sendtype: LateDatatype, recvbuf: RecvPtr,
        recvcount: Count, recvtype: Datatype, comm: Comm
    ) {
        let send = sendbuf.input(sendcount, sendtype)?;
        let receive = recvbuf.of(recvcount, &recvtype)?;
        let size = comm.lite.size();
        refuse_overlap(equal(&send, size), Given::Equal(&receive, size), SEND_IN_PLACE)?;
        Ok(comm.lite.alltoall(&send, &receive)?)
    }

    /// Exchanges blocks of different lengths. MPI 5.0, 6.8.
    fn MPI_Alltoallv | MPI_Alltoallv_c(
        sendbuf: SendPtr, sendcounts: Counts, sdispls: Displs, sendtype: LateDatatype,
        recvbuf: RecvPtr, recvcounts: Counts, rdispls: Displs, recvtype: Datatype, comm: Comm
    ) {
        let processes = comm.lite.size();
        let places = Blocks { counts: recvcounts, displs: rdispls, processes };
        let receive = recvbuf.blocks(places, &recvtype)?;
        let send = match sendbuf.is_in_place() {
            true => None,
            false => {
                let places = Blocks { counts: sendcounts, displs: sdispls, processes };
                Some(sendbuf.blocks(places, &sendtype.get()?)?)
            }
        };
        refuse_overlap(send.as_deref().map(Given::Each), Given::Each(&receive), SEND_IN_PLACE)?;
        Ok(comm.lite.alltoallw(send.as_deref(), &receive)?)
    }

    /// Exchanges blocks of different datatypes, displaced in bytes. MPI 5.0, 6.8.
    fn MPI_Alltoallw | MPI_Alltoallw_c(
        sendbuf: SendPtr, sendcounts: Counts, sdispls: Displs, sendtypes: Datatypes,
        recvbuf: RecvPtr, recvcounts: Counts, rdispls: Displs, recvtypes: Datatypes, comm: Comm
    ) {
        let processes = comm.lite.size();
        let places = Blocks { counts: recvcounts, displs: rdispls, processes };
        let receive = recvbuf.blocks_of(places, recvtypes)?;
        let send = match sendbuf.is_in_place() {
            true => None,
            false => {
                let places = Blocks { counts: sendcounts, displs: sdispls, processes };
                Some(sendbuf.blocks_of(places, sendtypes)?)
            }
        };
        refuse_overlap(send.as_deref().map(Given::Each), Given::Each(&receive), SEND_IN_PLACE)?;
        Ok(comm.lite.alltoallw(send.as_deref(), &receive)?)
    }

    /// Waits until all processes have come here. MPI 5.0, 6.3.
    fn MPI_Barrier(comm: Comm) {
        Ok(comm.lite.barrier()?)
    }

    /// Gives all processes what the root has. MPI 5.0, 6.4.
    fn MPI_Bcast | MPI_Bcast_c(
        buffer: RecvPtr, count: Count, datatype: Datatype, root: Root, comm: Comm
    ) {
        Ok(comm.lite.bcast(&buffer.of(count, &datatype)?, root.0)?)
    }

    /// Reduces the elements of all lower ranks. MPI 5.0, 6.11.2.
    fn MPI_Exscan | MPI_Exscan_c(
        sendbuf: SendPtr, recvbuf: RecvPtr, count: Count, datatype: Datatype, op: Op, comm: Comm
    ) {
        let (send, receive) = if comm.lite.rank() == 0 && !sendbuf.is_in_place() {
            // This process gets nothing: recvbuf is not significant.
            let send = sendbuf.of(count, &datatype)?;
            (Input::Buffer(send.clone()), send)
        } else {
            reduction(sendbuf, recvbuf, count, &datatype, &op)?
        };
        Ok(comm.lite.exscan(&send, &receive, &op.lite)?)
    }

    /// Collects a block of each process at the root. MPI 5.0, 6.5.
    fn MPI_Gather | MPI_Gather_c(
        sendbuf: SendPtr, sendcount: LateCount, sendtype: LateDatatype, recvbuf: RecvPtr,
        recvcount: LateCount, recvtype: LateDatatype, root: Root, comm: Comm
    ) {
        let send = sendbuf.input_at(is_root(&comm, root), sendcount, sendtype)?;
        let receive = match is_root(&comm, root) {
            true => Some(recvbuf.of(recvcount.get()?, &recvtype.get()?)?),
            false => None,
        };
        if let Some(receive) = &receive {
            let places = Given::Equal(receive, comm.lite.size());
            refuse_overlap(given(&send), places, SEND_IN_PLACE)?;
        }
        Ok(comm.lite.gather(&send, receive.as_ref(), root.0)?)
    }

    /// Collects blocks of different lengths at the root. MPI 5.0, 6.5.
    fn MPI_Gatherv | MPI_Gatherv_c(
        sendbuf: SendPtr, sendcount: LateCount, sendtype: LateDatatype, recvbuf: RecvPtr,
        recvcounts: Counts, displs: Displs, recvtype: LateDatatype, root: Root, comm: Comm
    ) {
        let send = sendbuf.input_at(is_root(&comm, root), sendcount, sendtype)?;
        let places = Blocks { counts: recvcounts, displs, processes: comm.lite.size() };
        let receive = match is_root(&comm, root) {
            true => Some(recvbuf.blocks(places, &recvtype.get()?)?),
            false => None,
        };
        if let Some(receive) = &receive {
            refuse_overlap(given(&send), Given::Each(receive), SEND_IN_PLACE)?;
        }
        Ok(comm.lite.gatherv(&send, receive.as_deref(), root.0)?)
    }

    /// Sets `commute` to true if the order of an operator's operands does not matter. MPI 5.0,
    /// 6.9.7.
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

    /// Reduces to the root. MPI 5.0, 6.9.1.
    fn MPI_Reduce | MPI_Reduce_c(
        sendbuf: SendPtr, recvbuf: RecvPtr, count: Count, datatype: Datatype, op: Op, root: Root,
        comm: Comm
    ) {
        op.lite.check(datatype.committed()?)?;
        if is_root(&comm, root) {
            let (send, receive) = reduction(sendbuf, recvbuf, count, &datatype, &op)?;
            return Ok(comm.lite.reduce(&send, Some(&receive), &op.lite, root.0)?);
        }
        let send = Input::Buffer(sendbuf.of(count, &datatype)?);
        Ok(comm.lite.reduce(&send, None, &op.lite, root.0)?)
    }

    /// Reduces two buffers of this process. MPI 5.0, 6.9.7.
    fn MPI_Reduce_local | MPI_Reduce_local_c(
        inbuf: SendPtr, inoutbuf: RecvPtr, count: Count, datatype: Datatype, op: Op
    ) {
        let (input, inout) = (inbuf.of(count, &datatype)?, inoutbuf.of(count, &datatype)?);
        let places = Given::Equal(&inout, 1);
        refuse_overlap(Some(Given::Equal(&input, 1)), places, LOCAL_OVERLAP)?;
        Ok(reduce_local(&input, &inout, &op.lite)?)
    }

    /// Reduces and scatters blocks of different lengths. MPI 5.0, 6.10.2.
    fn MPI_Reduce_scatter | MPI_Reduce_scatter_c(
        sendbuf: SendPtr, recvbuf: RecvPtr, recvcounts: Counts, datatype: Datatype, op: Op,
        comm: Comm
    ) {
        let counts = recvcounts.counts(comm.lite.size() as usize)?;
        let own = counts[comm.lite.rank() as usize];
        let (send, receive) = scattered(sendbuf, recvbuf, (&counts, own), &datatype, &op)?;
        Ok(comm.lite.reduce_scatter(&send, &receive, &counts, &op.lite)?)
    }

    /// Reduces and scatters equal blocks. MPI 5.0, 6.10.1.
    fn MPI_Reduce_scatter_block | MPI_Reduce_scatter_block_c(
        sendbuf: SendPtr, recvbuf: RecvPtr, recvcount: Count, datatype: Datatype, op: Op,
        comm: Comm
    ) {
        let counts = vec![recvcount.get(); comm.lite.size() as usize];
        let (send, receive) = scattered(sendbuf, recvbuf, (&counts, counts[0]), &datatype, &op)?;
        Ok(comm.lite.reduce_scatter_block(&send, &receive, counts[0], &op.lite)?)
    }

    /// Reduces the elements of all ranks up to the own. MPI 5.0, 6.11.1.
    fn MPI_Scan | MPI_Scan_c(
        sendbuf: SendPtr, recvbuf: RecvPtr, count: Count, datatype: Datatype, op: Op, comm: Comm
    ) {
        let (send, receive) = reduction(sendbuf, recvbuf, count, &datatype, &op)?;
        Ok(comm.lite.scan(&send, &receive, &op.lite)?)
    }

    /// Gives each process its block of the root's. MPI 5.0, 6.6.
    fn MPI_Scatter | MPI_Scatter_c(
        sendbuf: SendPtr, sendcount: LateCount, sendtype: LateDatatype, recvbuf: RecvPtr,
        recvcount: LateCount, recvtype: LateDatatype, root: Root, comm: Comm
    ) {
        let receive = recvbuf.input_at(is_root(&comm, root), recvcount, recvtype)?;
        let send = match is_root(&comm, root) {
            true => Some(sendbuf.of(sendcount.get()?, &sendtype.get()?)?),
            false => None,
        };
        if let Some(send) = &send {
            let blocks = Given::Equal(send, comm.lite.size());
            refuse_overlap(given(&receive), blocks, RECEIVE_IN_PLACE)?;
        }
        Ok(comm.lite.scatter(send.as_ref(), &receive, root.0)?)
    }

    /// Gives each process its block, of different lengths. MPI 5.0, 6.6.
    fn MPI_Scatterv | MPI_Scatterv_c(
        sendbuf: SendPtr, sendcounts: Counts, displs: Displs, sendtype: LateDatatype,
        recvbuf: RecvPtr, recvcount: LateCount, recvtype: LateDatatype, root: Root, comm: Comm
    ) {
        let receive = recvbuf.input_at(is_root(&comm, root), recvcount, recvtype)?;
        let places = Blocks { counts: sendcounts, displs, processes: comm.lite.size() };
        let send = match is_root(&comm, root) {
            true => Some(sendbuf.blocks(places, &sendtype.get()?)?),
            false => None,
        };
        if let Some(send) = &send {
            refuse_overlap(given(&receive), Given::Each(send), RECEIVE_IN_PLACE)?;
        }
        Ok(comm.lite.scatterv(send.as_deref(), &receive, root.0)?)
    }
}

fn is_root(comm: &Comm, root: Root) -> bool {
    u32::try_from(root.0) == Ok(comm.lite.rank())
}

/// What a reduction takes and where its result goes, checked before anything is sent.
pub(super) fn reduction(
    sendbuf: SendPtr,
    recvbuf: RecvPtr,
    count: Count,
    datatype: &Datatype,
    op: &Op,
) -> Result<(Input, Buffer)> {
    let receive = recvbuf.of(count, datatype)?;
    op.lite.check(receive.datatype())?;
    let send = match sendbuf.is_in_place() {
        true => Input::InPlace,
        false => Input::Buffer(sendbuf.of(count, datatype)?),
    };
    refuse_overlap(given(&send), Given::Equal(&receive, 1), SEND_IN_PLACE)?;
    Ok((send, receive))
}

/// The buffers of a reduction whose result is scattered: the own part is shorter than the input.
fn scattered(
    sendbuf: SendPtr,
    recvbuf: RecvPtr,
    (counts, own): (&[u64], u64),
    datatype: &Datatype,
    op: &Op,
) -> Result<(Input, Buffer)> {
    let all = counts
        .iter()
        .fold(0u64, |sum, count| sum.saturating_add(*count));
    let all = Count(i64::try_from(all).unwrap_or(i64::MAX));
    op.lite.check(datatype.committed()?)?;
    if sendbuf.is_in_place() {
        return Ok((Input::InPlace, recvbuf.of(all, datatype)?));
    }
    let send = Input::Buffer(sendbuf.of(all, datatype)?);
    let receive = recvbuf.of(Count(own.cast_signed()), datatype)?;
    refuse_overlap(given(&send), Given::Equal(&receive, 1), SEND_IN_PLACE)?;
    Ok((send, receive))
}

const SEND_IN_PLACE: &str =
    "sendbuf and recvbuf overlap: pass MPI_IN_PLACE as sendbuf, or memory of its own";
const RECEIVE_IN_PLACE: &str =
    "sendbuf and recvbuf overlap: pass MPI_IN_PLACE as recvbuf, or memory of its own";
const LOCAL_OVERLAP: &str = "inbuf and inoutbuf overlap: pass memory of its own as inbuf";

/// What this process gives, if it is not in place.
fn given(input: &Input) -> Option<Given<'_>> {
    equal(input, 1)
}

/// `number` blocks like the one that this process gives, if it is not in place.
fn equal(input: &Input, number: u32) -> Option<Given<'_>> {
    match input {
        Input::Buffer(buffer) => Some(Given::Equal(buffer, number)),
        Input::InPlace => None,
    }
}

/// Refuses memory that is given twice: `MPI_IN_PLACE` is for that. Source: MPI 5.0, 2.3.
fn refuse_overlap(given: Option<Given<'_>>, other: Given<'_>, why: &'static str) -> Result<()> {
    match given {
        Some(given) if given.overlaps(other) => Err(Error::new(abi::MPI_ERR_BUFFER, why)),
        _ => Ok(()),
    }
}
