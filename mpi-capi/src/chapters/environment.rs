//! What chapter 9 tells of the installation, memory and clocks.

use crate::args::*;

mpi! {
    fn MPI_Alloc_mem(size: Aint, info: Info, baseptr: OutAddress);

    fn MPI_Free_mem(base: Address);

    fn MPI_Get_hw_resource_info(hw_info: Out<Info>);

    fn MPI_Get_library_version(version: TextOut, resultlen: Out<Int>);

    fn MPI_Get_processor_name(name: TextOut, resultlen: Out<Int>);

    fn MPI_Get_version(version: Out<Int>, subversion: Out<Int>);
}

values! {
    /// Seconds since some moment in the past. MPI 5.0, 9.6.
    fn MPI_Wtime() -> Double { 0.0 }

    /// The resolution of `MPI_Wtime` in seconds. MPI 5.0, 9.6.
    fn MPI_Wtick() -> Double { 1e-9 }
}
