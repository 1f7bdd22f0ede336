"""Two ranks in Python that wait for each other: `python3 hang.py LIBRARY`."""

import ctypes
import sys

# The handles of the standard ABI.
MPI_COMM_WORLD = ctypes.c_void_p(0x101)
MPI_INT = ctypes.c_void_p(0x209)
MPI_STATUS_IGNORE = None


def wait_for_other(mpi, rank):
    number = ctypes.c_int()
    place = ctypes.byref(number)
    # The test looks for this line in the report.
    mpi.MPI_Recv(place, 1, MPI_INT, 1 - rank, 7 + rank, MPI_COMM_WORLD, MPI_STATUS_IGNORE)


def main():
    mpi = ctypes.CDLL(sys.argv[1])
    mpi.MPI_Init(None, None)
    rank = ctypes.c_int()
    mpi.MPI_Comm_rank(MPI_COMM_WORLD, ctypes.byref(rank))
    wait_for_other(mpi, rank.value)
    mpi.MPI_Finalize()


main()
