//! Chapter 4, partitioned point-to-point communication.

use crate::abi::{self, Handle};
use crate::args::*;
use crate::error::{Error, Result};
use crate::objects::request::{self, engine, key, real_key, stale};

mpi! {
    /// Looks whether a partition of a receive is here. MPI 5.0, 4.2.2.
    fn MPI_Parrived(request: Request, partition: Int, flag: Out<Flag>) {
        flag.set(has_arrived(request.0, number(partition.0)?)?)
    }

    /// Says that a partition may be sent. MPI 5.0, 4.2.1.
    fn MPI_Pready(partition: Int, request: Request) {
        ready(request.0, core::iter::once(number(partition.0)?))
    }

    /// Says that these partitions may be sent. MPI 5.0, 4.2.1.
    fn MPI_Pready_list(length: Length, array_of_partitions: Ints, request: Request) {
        let partition = |index| number(array_of_partitions.get(index)?);
        let partitions: Result<Vec<_>> = (0..length.0 as usize).map(partition).collect();
        ready(request.0, partitions?.into_iter())
    }

    /// Says that the partitions from the first to the last one may be sent. MPI 5.0, 4.2.1.
    fn MPI_Pready_range(partition_low: Int, partition_high: Int, request: Request) {
        let (low, high) = (number(partition_low.0)?, number(partition_high.0)?);
        if low > high {
            let why = "partition_low is greater than partition_high";
            return Err(Error::new(abi::MPI_ERR_ARG, why));
        }
        ready(request.0, low..=high)
    }

    /// Prepares a partitioned receive. MPI 5.0, 4.2.1.
    fn MPI_Precv_init | MPI_Precv_init_c(
        buf: RecvPtr, partitions: Int, count: LargeCount, datatype: Datatype, source: Rank,
        tag: Tag, comm: Comm, info: Info, request: Out<Request>
    ) {
        let _ = info;
        let first = buf.of(Count(count.0), &datatype)?;
        let split = (first, number(partitions.0)?);
        let made = comm.lite.partitioned_receive_init(split, source.dest(), tag.0)?;
        request.set(request::handle_of(made))
    }

    /// Prepares a partitioned send. MPI 5.0, 4.2.1.
    fn MPI_Psend_init | MPI_Psend_init_c(
        buf: SendPtr, partitions: Int, count: LargeCount, datatype: Datatype, dest: Rank,
        tag: Tag, comm: Comm, info: Info, request: Out<Request>
    ) {
        let _ = info;
        let first = buf.of(Count(count.0), &datatype)?;
        let split = (first, number(partitions.0)?);
        let made = comm.lite.partitioned_send_init(split, dest.dest(), tag.0)?;
        request.set(request::handle_of(made))
    }
}

/// A number of a partition, or of partitions.
fn number(value: i32) -> Result<u32> {
    let why = "a number of partitions, or of a partition, is negative";
    u32::try_from(value).map_err(|_| Error::new(abi::MPI_ERR_ARG, why))
}

/// Marks partitions of a started partitioned send as ready.
fn ready(handle: Handle, partitions: impl Iterator<Item = u32> + Clone) -> Result<()> {
    let key = real_key(handle)?;
    engine()
        .with(|lane| lane.ready(key, partitions))
        .map_err(stale(handle))
}

/// Returns true if a partition of a partitioned receive is here, or if the request is null or
/// inactive.
fn has_arrived(handle: Handle, partition: u32) -> Result<bool> {
    let Some(key) = key(handle)? else {
        return Ok(true);
    };
    engine()
        .look(|lane| lane.has_arrived(key, partition))
        .map_err(stale(handle))
}
