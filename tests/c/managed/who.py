"""As who.c, by mpi4py: each rank prints "rank R of N on HOST", after a sum and a barrier."""
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
total = world.allreduce({rank: rank}, op=lambda a, b: a | b)
assert sum(total) == size * (size - 1) // 2, total
world.Barrier()
print(f"rank {rank} of {size} on {MPI.Get_processor_name()}", flush=True)
