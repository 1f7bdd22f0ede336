//! Installation, memory and clocks: chapter 9.

use mpi_lite::world::hardware;

use crate::abi;
use crate::args::*;
use crate::calls::memory;
use crate::error::Error;
use crate::global::{LIBRARY, host_name};
use crate::objects::info::InfoObject;

mpi! {
    /// Gets memory that can be sent from and received into. MPI 5.0, 9.2.
    fn MPI_Alloc_mem(size: Aint, info: Info, baseptr: OutAddress) {
        let _ = info;
        let size = usize::try_from(size.0)
            .map_err(|_| Error::new(abi::MPI_ERR_ARG, "size is negative"))?;
        let memory = memory::allocate(size)
            .ok_or_else(|| Error::new(abi::MPI_ERR_NO_MEM, "there is not enough memory"))?;
        baseptr.set(memory);
        Ok(())
    }

    /// Gives memory of `MPI_Alloc_mem` back. MPI 5.0, 9.2.
    fn MPI_Free_mem(base: Address) {
        memory::free(base)
    }

    /// The parts of the machine that can be named, each with `true` if this process is bound to one
    /// of them. MPI 5.0, 9.1.3.
    fn MPI_Get_hw_resource_info(hw_info: Out<Info>) {
        let mut info = InfoObject::default();
        for part in hardware::parts() {
            let value: &[u8] = if part.number.is_some() { b"true" } else { b"false" };
            info.set(part.name.as_bytes(), value)?;
        }
        hw_info.set(super::info::insert(info))
    }

    /// Names this library and its version. MPI 5.0, 9.1.1.
    fn MPI_Get_library_version(version: TextOut, resultlen: Out<Int>) {
        let room = abi::MPI_MAX_LIBRARY_VERSION_STRING as usize;
        resultlen.set(version.set(LIBRARY_VERSION.as_bytes(), room)?)
    }

    /// Names the machine. MPI 5.0, 9.1.2.
    fn MPI_Get_processor_name(name: TextOut, resultlen: Out<Int>) {
        resultlen.set(name.set(&host_name(), abi::MPI_MAX_PROCESSOR_NAME as usize)?)
    }

    /// The version of the standard. MPI 5.0, 9.1.1.
    fn MPI_Get_version(version: Out<Int>, subversion: Out<Int>) {
        version.set(abi::MPI_VERSION)?;
        subversion.set(abi::MPI_SUBVERSION)
    }
}

/// It imitates no other library: programs that look for a vendor's name must not find one.
const LIBRARY_VERSION: &str = concat!(
    "mpi-lite ",
    env!("CARGO_PKG_VERSION"),
    " (MPI 5.0 standard ABI 1.0, ABI of libmpi.so.12, RMPP over UDP, ",
    env!("CARGO_PKG_LICENSE"),
    ")"
);

values! {
    /// Seconds since some moment in the past. MPI 5.0, 9.6.
    fn MPI_Wtime() -> Double { LIBRARY.seconds() }

    /// The resolution of `MPI_Wtime` in seconds: the clock counts nanoseconds. MPI 5.0, 9.6.
    fn MPI_Wtick() -> Double { 1e-9 }
}
