//! Collectives and reduction operators of chapter 6.

use mpi_lite::coll::{self, Input, reduce_local};
use mpi_lite::data::Buffer;
use mpi_lite::ids;

use crate::abi;
use crate::args::*;
use crate::entry::collectives;
use crate::error::{Error, Result};
use crate::objects::reduce;
use crate::registry;

collectives! {
    /// Collects a block of each process at all of them. MPI 5.0, 6.7.
    MPI_Allgather | MPI_Allgather_c,
    MPI_Iallgather | MPI_Iallgather_c,
    MPI_Allgather_init | MPI_Allgather_init_c
    => fn allgather(
        sendbuf: SendPtr, sendcount: LateCount, sendtype: LateDatatype, recvbuf: RecvPtr,
        recvcount: Count, recvtype: Datatype, ..., comm
    ) -> coll::Allgather {
        let send = sendbuf.input(sendcount, sendtype)?;
        let receive = recvbuf.all(recvcount, &recvtype)?;
        let _ = comm;
        Ok(coll::Allgather { send, receive })
    }

    /// Collects blocks of different lengths at all processes. MPI 5.0, 6.7.
    MPI_Allgatherv | MPI_Allgatherv_c,
    MPI_Iallgatherv | MPI_Iallgatherv_c,
    MPI_Allgatherv_init | MPI_Allgatherv_init_c
    => fn allgatherv(
        sendbuf: SendPtr, sendcount: LateCount, sendtype: LateDatatype, recvbuf: RecvPtr,
        recvcounts: Counts, displs: Displs, recvtype: Datatype, ..., comm
    ) -> coll::Allgatherv {
        let send = sendbuf.input(sendcount, sendtype)?;
        let places = Blocks { counts: recvcounts, displs, processes: comm.lite.group().size() };
        let receive = recvbuf.blocks(places, &recvtype)?;
        Ok(coll::Allgatherv { send, receive })
    }

    /// Reduces to all processes. MPI 5.0, 6.9.6.
    MPI_Allreduce | MPI_Allreduce_c,
    MPI_Iallreduce | MPI_Iallreduce_c,
    MPI_Allreduce_init | MPI_Allreduce_init_c
    => fn allreduce(
        sendbuf: SendPtr, recvbuf: RecvPtr, count: Count, datatype: Datatype, op: Op, ..., comm
    ) -> coll::Allreduce {
        let _ = comm;
        let (send, receive) = reduction(sendbuf, recvbuf, count, &datatype)?;
        Ok(coll::Allreduce { send, receive, op: op.lite })
    }

    /// Exchanges a block between all pairs. MPI 5.0, 6.8.
    MPI_Alltoall | MPI_Alltoall_c,
    MPI_Ialltoall | MPI_Ialltoall_c,
    MPI_Alltoall_init | MPI_Alltoall_init_c
    => fn alltoall(
        sendbuf: SendPtr, sendcount: LateCount, sendtype: LateDatatype, recvbuf: RecvPtr,
        recvcount: Count, recvtype: Datatype, ..., comm
    ) -> coll::Alltoall {
        let send = sendbuf.input(sendcount, sendtype)?;
        let receive = recvbuf.all(recvcount, &recvtype)?;
        let _ = comm;
        Ok(coll::Alltoall { send, receive })
    }

    /// Exchanges blocks of different lengths. MPI 5.0, 6.8.
    MPI_Alltoallv | MPI_Alltoallv_c,
    MPI_Ialltoallv | MPI_Ialltoallv_c,
    MPI_Alltoallv_init | MPI_Alltoallv_init_c
    => fn alltoallv(
        sendbuf: SendPtr, sendcounts: Counts, sdispls: Displs, sendtype: LateDatatype,
        recvbuf: RecvPtr, recvcounts: Counts, rdispls: Displs, recvtype: Datatype, ..., comm
    ) -> coll::Alltoallw {
        let processes = comm.lite.group().size();
        let places = Blocks { counts: recvcounts, displs: rdispls, processes };
        let receive = recvbuf.blocks(places, &recvtype)?;
        let send = match sendbuf.is_in_place() {
            true => None,
            false => {
                let places = Blocks { counts: sendcounts, displs: sdispls, processes };
                Some(sendbuf.blocks(places, &sendtype.get()?)?)
            }
        };
        Ok(coll::Alltoallw { send, receive })
    }

    /// Exchanges blocks of different datatypes, displaced in bytes. MPI 5.0, 6.8.
    MPI_Alltoallw | MPI_Alltoallw_c,
    MPI_Ialltoallw | MPI_Ialltoallw_c,
    MPI_Alltoallw_init | MPI_Alltoallw_init_c
    => fn alltoallw(
        sendbuf: SendPtr, sendcounts: Counts, sdispls: Displs, sendtypes: Datatypes,
        recvbuf: RecvPtr, recvcounts: Counts, rdispls: Displs, recvtypes: Datatypes, ..., comm
    ) -> coll::Alltoallw {
        let processes = comm.lite.group().size();
        let places = Blocks { counts: recvcounts, displs: rdispls, processes };
        let receive = recvbuf.blocks_of(places, recvtypes)?;
        let send = match sendbuf.is_in_place() {
            true => None,
            false => {
                let places = Blocks { counts: sendcounts, displs: sdispls, processes };
                Some(sendbuf.blocks_of(places, sendtypes)?)
            }
        };
        Ok(coll::Alltoallw { send, receive })
    }

    /// Waits until all processes have come here. MPI 5.0, 6.3.
    MPI_Barrier,
    MPI_Ibarrier,
    MPI_Barrier_init
    => fn barrier(
        ..., comm
    ) -> coll::Barrier {
        let _ = comm;
        Ok(coll::Barrier)
    }

    /// Gives all processes what the root has. MPI 5.0, 6.4.
    MPI_Bcast | MPI_Bcast_c,
    MPI_Ibcast | MPI_Ibcast_c,
    MPI_Bcast_init | MPI_Bcast_init_c
    => fn bcast(
        buffer: RecvPtr, count: LateCount, datatype: LateDatatype, root: Root, ..., comm
    ) -> coll::Bcast {
        let buffer = match Part::of(comm, root).is_idle() {
            false => buffer.all(count.get()?, &datatype.get()?)?,
            true => Buffer::nothing(),
        };
        Ok(coll::Bcast { buffer, root: root.0 })
    }

    /// Reduces the elements of all lower ranks. MPI 5.0, 6.11.2.
    MPI_Exscan | MPI_Exscan_c,
    MPI_Iexscan | MPI_Iexscan_c,
    MPI_Exscan_init | MPI_Exscan_init_c
    => fn exscan(
        sendbuf: SendPtr, recvbuf: RecvPtr, count: Count, datatype: Datatype, op: Op, ..., comm
    ) -> coll::Exscan {
        let (send, receive) = if comm.lite.rank() == 0 && !sendbuf.is_in_place() {
            // This process gets nothing: recvbuf is not significant.
            (Input::InPlace, sendbuf.all(count, &datatype)?)
        } else {
            reduction(sendbuf, recvbuf, count, &datatype)?
        };
        Ok(coll::Exscan { send, receive, op: op.lite })
    }

    /// Collects a block of each process at the root. MPI 5.0, 6.5.
    MPI_Gather | MPI_Gather_c,
    MPI_Igather | MPI_Igather_c,
    MPI_Gather_init | MPI_Gather_init_c
    => fn gather(
        sendbuf: SendPtr, sendcount: LateCount, sendtype: LateDatatype, recvbuf: RecvPtr,
        recvcount: LateCount, recvtype: LateDatatype, root: Root, ..., comm
    ) -> coll::Gather {
        let part = Part::of(comm, root);
        let send = match part.gives {
            true => sendbuf.input_at(part.is_root, sendcount, sendtype)?,
            false => Input::InPlace,
        };
        let receive = match part.is_root {
            true => Some(recvbuf.all(recvcount.get()?, &recvtype.get()?)?),
            false => None,
        };
        Ok(coll::Gather { send, receive, root: root.0 })
    }

    /// Collects blocks of different lengths at the root. MPI 5.0, 6.5.
    MPI_Gatherv | MPI_Gatherv_c,
    MPI_Igatherv | MPI_Igatherv_c,
    MPI_Gatherv_init | MPI_Gatherv_init_c
    => fn gatherv(
        sendbuf: SendPtr, sendcount: LateCount, sendtype: LateDatatype, recvbuf: RecvPtr,
        recvcounts: Counts, displs: Displs, recvtype: LateDatatype, root: Root, ..., comm
    ) -> coll::Gatherv {
        let part = Part::of(comm, root);
        let send = match part.gives {
            true => sendbuf.input_at(part.is_root, sendcount, sendtype)?,
            false => Input::InPlace,
        };
        let places = Blocks { counts: recvcounts, displs, processes: comm.lite.group().size() };
        let receive = match part.is_root {
            true => Some(recvbuf.blocks(places, &recvtype.get()?)?),
            false => None,
        };
        Ok(coll::Gatherv { send, receive, root: root.0 })
    }

    /// Reduces to the root. MPI 5.0, 6.9.1.
    MPI_Reduce | MPI_Reduce_c,
    MPI_Ireduce | MPI_Ireduce_c,
    MPI_Reduce_init | MPI_Reduce_init_c
    => fn reduce(
        sendbuf: SendPtr, recvbuf: RecvPtr, count: LateCount, datatype: LateDatatype, op: Op,
        root: Root, ..., comm
    ) -> coll::Reduce {
        let part = Part::of(comm, root);
        if part.is_idle() {
            let send = Input::InPlace;
            return Ok(coll::Reduce { send, receive: None, op: op.lite, root: root.0 });
        }
        let (count, datatype) = (count.get()?, datatype.get()?);
        let (send, receive) = match (part.is_root, part.gives) {
            (true, true) => {
                let (send, receive) = reduction(sendbuf, recvbuf, count, &datatype)?;
                (send, Some(receive))
            }
            (true, false) => (Input::InPlace, Some(recvbuf.all(count, &datatype)?)),
            (false, _) => (Input::Buffer(sendbuf.all(count, &datatype)?), None),
        };
        Ok(coll::Reduce { send, receive, op: op.lite, root: root.0 })
    }

    /// Reduces and scatters blocks of different lengths. MPI 5.0, 6.10.2.
    MPI_Reduce_scatter | MPI_Reduce_scatter_c,
    MPI_Ireduce_scatter | MPI_Ireduce_scatter_c,
    MPI_Reduce_scatter_init | MPI_Reduce_scatter_init_c
    => fn reduce_scatter(
        sendbuf: SendPtr, recvbuf: RecvPtr, recvcounts: Counts, datatype: Datatype, op: Op, ...,
        comm
    ) -> coll::ReduceScatter {
        let counts = recvcounts.counts(comm.lite.size() as usize)?;
        let own = counts[comm.lite.rank() as usize];
        let (send, receive) = scattered(sendbuf, recvbuf, (&counts, own), &datatype)?;
        Ok(coll::ReduceScatter { send, receive, counts, op: op.lite })
    }

    /// Reduces and scatters equal blocks. MPI 5.0, 6.10.1.
    MPI_Reduce_scatter_block | MPI_Reduce_scatter_block_c,
    MPI_Ireduce_scatter_block | MPI_Ireduce_scatter_block_c,
    MPI_Reduce_scatter_block_init | MPI_Reduce_scatter_block_init_c
    => fn reduce_scatter_block(
        sendbuf: SendPtr, recvbuf: RecvPtr, recvcount: Count, datatype: Datatype, op: Op, ...,
        comm
    ) -> coll::ReduceScatterBlock {
        let counts = vec![recvcount.get(); comm.lite.size() as usize];
        let count = counts[0];
        let (send, receive) = scattered(sendbuf, recvbuf, (&counts, count), &datatype)?;
        Ok(coll::ReduceScatterBlock { send, receive, count, op: op.lite })
    }

    /// Reduces the elements of all ranks up to the own. MPI 5.0, 6.11.1.
    MPI_Scan | MPI_Scan_c,
    MPI_Iscan | MPI_Iscan_c,
    MPI_Scan_init | MPI_Scan_init_c
    => fn scan(
        sendbuf: SendPtr, recvbuf: RecvPtr, count: Count, datatype: Datatype, op: Op, ..., comm
    ) -> coll::Scan {
        let _ = comm;
        let (send, receive) = reduction(sendbuf, recvbuf, count, &datatype)?;
        Ok(coll::Scan { send, receive, op: op.lite })
    }

    /// Gives each process its block of the root's. MPI 5.0, 6.6.
    MPI_Scatter | MPI_Scatter_c,
    MPI_Iscatter | MPI_Iscatter_c,
    MPI_Scatter_init | MPI_Scatter_init_c
    => fn scatter(
        sendbuf: SendPtr, sendcount: LateCount, sendtype: LateDatatype, recvbuf: RecvPtr,
        recvcount: LateCount, recvtype: LateDatatype, root: Root, ..., comm
    ) -> coll::Scatter {
        let part = Part::of(comm, root);
        let receive = match part.gives {
            true => recvbuf.input_at(part.is_root, recvcount, recvtype)?,
            false => Input::InPlace,
        };
        let send = match part.is_root {
            true => Some(sendbuf.all(sendcount.get()?, &sendtype.get()?)?),
            false => None,
        };
        Ok(coll::Scatter { send, receive, root: root.0 })
    }

    /// Gives each process its block, of different lengths. MPI 5.0, 6.6.
    MPI_Scatterv | MPI_Scatterv_c,
    MPI_Iscatterv | MPI_Iscatterv_c,
    MPI_Scatterv_init | MPI_Scatterv_init_c
    => fn scatterv(
        sendbuf: SendPtr, sendcounts: Counts, displs: Displs, sendtype: LateDatatype,
        recvbuf: RecvPtr, recvcount: LateCount, recvtype: LateDatatype, root: Root, ..., comm
    ) -> coll::Scatterv {
        let part = Part::of(comm, root);
        let receive = match part.gives {
            true => recvbuf.input_at(part.is_root, recvcount, recvtype)?,
            false => Input::InPlace,
        };
        let places = Blocks { counts: sendcounts, displs, processes: comm.lite.group().size() };
        let send = match part.is_root {
            true => Some(sendbuf.blocks(places, &sendtype.get()?)?),
            false => None,
        };
        Ok(coll::Scatterv { send, receive, root: root.0 })
    }
}

mpi! {
    /// Sets `commute` to true if the order of an operator's operands does not matter. MPI 5.0,
    /// 6.9.7.
    fn MPI_Op_commutative(op: Op, commute: Out<Flag>) {
        commute.set(op.lite.is_commutative())
    }

    /// Makes an operator of a function. MPI 5.0, 6.9.5.
    fn MPI_Op_create | MPI_Op_create_c(user_fn: UserFn, commute: Flag, op: Out<Op>) {
        op.set(reduce::create(user_fn.0, commute.0)?)
    }

    /// Gives an operator up. MPI 5.0, 6.9.5.
    fn MPI_Op_free(op: InOut<Op>) {
        registry::remove::<mpi_lite::data::Op>(op.value.handle).map_err(|_| {
            Error::new(abi::MPI_ERR_OP, "a predefined operator cannot be freed")
        })?;
        op.set(abi::MPI_OP_NULL)
    }

    /// Reduces two buffers of this process. MPI 5.0, 6.9.7.
    fn MPI_Reduce_local | MPI_Reduce_local_c(
        inbuf: SendPtr, inoutbuf: RecvPtr, count: Count, datatype: Datatype, op: Op
    ) {
        let (input, inout) = (inbuf.all(count, &datatype)?, inoutbuf.all(count, &datatype)?);
        Ok(reduce_local(&input, &inout, &op.lite)?)
    }
}

/// Which arguments of a call with a root count at this process.
#[derive(Clone, Copy)]
struct Part {
    /// Those of the root.
    is_root: bool,
    /// Those of each process that the root deals with: all, or those of the other side of an
    /// intercommunicator.
    gives: bool,
}

impl Part {
    #[inline(always)]
    fn of(comm: &Comm, root: Root) -> Self {
        match comm.lite.is_inter() {
            false => Self {
                is_root: u32::try_from(root.0) == Ok(comm.lite.rank()),
                gives: true,
            },
            true => Self {
                is_root: root.0 == abi::MPI_ROOT,
                gives: root.0 >= 0,
            },
        }
    }

    /// Returns true if no argument counts.
    #[inline(always)]
    fn is_idle(self) -> bool {
        !self.is_root && !self.gives
    }
}

const _: () = assert!(abi::MPI_ROOT == ids::ROOT && abi::MPI_PROC_NULL == ids::NOT_THE_ROOT);

/// What a reduction takes and where its result goes.
#[inline(always)]
fn reduction(
    sendbuf: SendPtr,
    recvbuf: RecvPtr,
    count: Count,
    datatype: &Datatype,
) -> Result<(Input, Buffer)> {
    let receive = recvbuf.all(count, datatype)?;
    let send = match sendbuf.is_in_place() {
        true => Input::InPlace,
        false => Input::Buffer(sendbuf.all(count, datatype)?),
    };
    Ok((send, receive))
}

/// The buffers of a reduction whose result is scattered: the own part is shorter than the input.
fn scattered(
    sendbuf: SendPtr,
    recvbuf: RecvPtr,
    (counts, own): (&[u64], u64),
    datatype: &Datatype,
) -> Result<(Input, Buffer)> {
    let all = counts
        .iter()
        .fold(0u64, |sum, count| sum.saturating_add(*count));
    let all = Count(i64::try_from(all).unwrap_or(i64::MAX));
    if sendbuf.is_in_place() {
        return Ok((Input::InPlace, recvbuf.all(all, datatype)?));
    }
    let send = Input::Buffer(sendbuf.all(all, datatype)?);
    let receive = recvbuf.all(Count(own.cast_signed()), datatype)?;
    Ok((send, receive))
}
