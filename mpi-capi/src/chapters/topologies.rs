//! Chapter 8, process topologies.

use crate::abi;
use crate::args::*;

mpi! {
    fn MPI_Cart_coords(comm: Comm, rank: Rank, maxdims: Length, coords: OutInts);

    fn MPI_Cart_create(
        comm_old: Comm, ndims: Length, dims: Ints, periods: Ints, reorder: Flag,
        comm_cart: Out<Comm>
    );

    fn MPI_Cart_get(comm: Comm, maxdims: Length, dims: OutInts, periods: OutInts, coords: OutInts);

    fn MPI_Cart_map(comm: Comm, ndims: Length, dims: Ints, periods: Ints, newrank: Out<Int>);

    fn MPI_Cart_rank(comm: Comm, coords: Ints, rank: Out<Int>);

    fn MPI_Cart_shift(
        comm: Comm, direction: Int, disp: Int, rank_source: Out<Int>, rank_dest: Out<Int>
    );

    fn MPI_Cart_sub(comm: Comm, remain_dims: Ints, newcomm: Out<Comm>);

    fn MPI_Cartdim_get(comm: Comm, ndims: Out<Int>);

    fn MPI_Dims_create(nnodes: Length, ndims: Length, dims: OutInts);

    fn MPI_Dist_graph_create(
        comm_old: Comm, n: Length, sources: Ints, degrees: Ints, destinations: Ints,
        weights: Ints, info: Info, reorder: Flag, comm_dist_graph: Out<Comm>
    );

    fn MPI_Dist_graph_create_adjacent(
        comm_old: Comm, indegree: Int, sources: Ints, sourceweights: Ints, outdegree: Int,
        destinations: Ints, destweights: Ints, info: Info, reorder: Flag,
        comm_dist_graph: Out<Comm>
    );

    fn MPI_Dist_graph_neighbors(
        comm: Comm, maxindegree: Int, sources: OutInts, sourceweights: OutInts,
        maxoutdegree: Int, destinations: OutInts, destweights: OutInts
    );

    fn MPI_Dist_graph_neighbors_count(
        comm: Comm, indegree: Out<Int>, outdegree: Out<Int>, weighted: Out<Flag>
    );

    fn MPI_Graph_create(
        comm_old: Comm, nnodes: Length, indx: Ints, edges: Ints, reorder: Flag,
        comm_graph: Out<Comm>
    );

    fn MPI_Graph_get(comm: Comm, maxindex: Int, maxedges: Int, indx: OutInts, edges: OutInts);

    fn MPI_Graph_map(comm: Comm, nnodes: Length, indx: Ints, edges: Ints, newrank: Out<Int>);

    fn MPI_Graph_neighbors(comm: Comm, rank: Rank, maxneighbors: Int, neighbors: OutInts);

    fn MPI_Graph_neighbors_count(comm: Comm, rank: Rank, nneighbors: Out<Int>);

    fn MPI_Graphdims_get(comm: Comm, nnodes: Out<Int>, nedges: Out<Int>);

    /// The kind of a communicator's topology: none has one yet. MPI 5.0, 8.5.5.
    fn MPI_Topo_test(comm: Comm, status: Out<Int>) {
        let _ = comm;
        status.set(abi::MPI_UNDEFINED)
    }
}
