//! Chapter 8, process topologies. Processes keep their ranks: `reorder` is not followed, and hints
//! neither.

use core::ffi::c_int;

use mpi_lite::error::Cause as Lite;
use mpi_lite::topology::{
    Cartesian, Distributed, Edge, EdgeList, Graph, Neighbour, Topology, dims_create,
};

use super::communicators::{c_rank, handle_of};
use crate::abi;
use crate::args::*;
use crate::error::{Cause, Error, Result};

mpi! {
    /// The coordinates of a rank. MPI 5.0, 8.5.5.
    fn MPI_Cart_coords(comm: Comm, rank: Rank, maxdims: Int, coords: OutInts) {
        let grid = cartesian(&comm)?;
        let found = grid.coords(rank.0)?;
        has_room("maxdims is less than the number of dimensions", maxdims, found.len())?;
        write(&[(coords, in_c(found))])
    }

    /// Makes a communicator with a grid. MPI 5.0, 8.5.1.
    fn MPI_Cart_create(
        comm_old: Comm, ndims: Int, dims: Ints, periods: Ints, reorder: Flag,
        comm_cart: Out<Comm>
    ) {
        let _ = reorder;
        let grid = read_grid(&comm_old, ndims, dims, periods);
        let made = comm_old.lite.arrange(grid.map(Topology::Cartesian))?;
        comm_cart.set(handle_of(&comm_old, made))
    }

    /// The grid, and the coordinates of this process. MPI 5.0, 8.5.5.
    fn MPI_Cart_get(comm: Comm, maxdims: Int, dims: OutInts, periods: OutInts, coords: OutInts) {
        let grid = cartesian(&comm)?;
        has_room("maxdims is less than the number of dimensions", maxdims, grid.ndims())?;
        let own = grid.coords(c_rank(comm.lite.rank()))?;
        write(&[
            (dims, in_c(grid.dims())),
            (periods, grid.periods().map(c_int::from).collect()),
            (coords, in_c(own)),
        ])
    }

    /// The rank that this process would have in a grid. MPI 5.0, 8.5.8.
    fn MPI_Cart_map(comm: Comm, ndims: Int, dims: Ints, periods: Ints, newrank: Out<Int>) {
        let grid = read_grid(&comm, ndims, dims, periods)?;
        newrank.set(rank_within(&comm, grid.size()))
    }

    /// The rank at coordinates. MPI 5.0, 8.5.5.
    fn MPI_Cart_rank(comm: Comm, coords: Ints, rank: Out<Int>) {
        let grid = cartesian(&comm)?;
        rank.set(c_rank(grid.rank(&read(coords, grid.ndims())?)?))
    }

    /// From where and to where data is shifted along a dimension. MPI 5.0, 8.5.6.
    fn MPI_Cart_shift(
        comm: Comm, direction: Int, disp: Int, rank_source: Out<Rank>, rank_dest: Out<Rank>
    ) {
        let grid = cartesian(&comm)?;
        let (source, dest) = grid.shift(comm.lite.rank(), direction.0, disp.0)?;
        let in_c = |rank: Option<u32>| rank.map_or(abi::MPI_PROC_NULL, c_rank);
        rank_source.set(in_c(source))?;
        rank_dest.set(in_c(dest))
    }

    /// Makes communicators of the parts of a grid in which some dimensions are fixed. MPI 5.0,
    /// 8.5.7.
    fn MPI_Cart_sub(comm: Comm, remain_dims: Ints, newcomm: Out<Comm>) {
        let grid = cartesian(&comm)?;
        let keep = read_flags(remain_dims, grid.ndims());
        let made = comm.lite.sub_grid(grid, keep)?;
        newcomm.set(handle_of(&comm, Some(made)))
    }

    /// The number of dimensions. MPI 5.0, 8.5.5.
    fn MPI_Cartdim_get(comm: Comm, ndims: Out<Int>) {
        ndims.set(length_in_c(cartesian(&comm)?.ndims())?)
    }

    /// Chooses a balanced grid. MPI 5.0, 8.5.2.
    fn MPI_Dims_create(nnodes: Int, ndims: Int, dims: OutInts) {
        let given = read(Ints(dims.0), not_negative("ndims", ndims, abi::MPI_ERR_DIMS)?)?;
        write(&[(dims, in_c(dims_create(nnodes.0, &given)?))])
    }

    /// Makes a communicator with a graph; each process gives any edges. MPI 5.0, 8.5.4.
    fn MPI_Dist_graph_create(
        comm_old: Comm, n: Int, sources: Ints, degrees: Ints, destinations: Ints,
        weights: Weights, info: Info, reorder: Flag, comm_dist_graph: Out<Comm>
    ) {
        let _ = (info, reorder);
        let given = (sources, destinations, weights);
        let degrees = read_degrees(n, degrees);
        let edges = degrees.and_then(|degrees| read_edges(&comm_old, &degrees, given));
        let made = comm_old.lite.arrange_by_edges(edges)?;
        comm_dist_graph.set(handle_of(&comm_old, Some(made)))
    }

    /// Makes a communicator with a graph; each process gives its own edges. MPI 5.0, 8.5.4.
    fn MPI_Dist_graph_create_adjacent(
        comm_old: Comm, indegree: Int, sources: Ints, sourceweights: Weights, outdegree: Int,
        destinations: Ints, destweights: Weights, info: Info, reorder: Flag,
        comm_dist_graph: Out<Comm>
    ) {
        let _ = (info, reorder);
        let sources = Ends {
            names: ["indegree", "source"],
            degree: indegree,
            ranks: sources,
            weights: sourceweights,
        };
        let destinations = Ends {
            names: ["outdegree", "destination"],
            degree: outdegree,
            ranks: destinations,
            weights: destweights,
        };
        let own = read_adjacent(&comm_old, sources, destinations);
        let made = comm_old.lite.arrange(own.map(Topology::Distributed))?;
        comm_dist_graph.set(handle_of(&comm_old, made))
    }

    /// The neighbours of this process in a distributed graph, as far as there is room. MPI 5.0,
    /// 8.5.5.
    fn MPI_Dist_graph_neighbors(
        comm: Comm, maxindegree: Int, sources: OutInts, sourceweights: OutWeights,
        maxoutdegree: Int, destinations: OutInts, destweights: OutWeights
    ) {
        let own = distributed(&comm)?;
        let most_in = not_negative("maxindegree", maxindegree, abi::MPI_ERR_ARG)?;
        let most_out = not_negative("maxoutdegree", maxoutdegree, abi::MPI_ERR_ARG)?;
        let first = |ends: &[Neighbour], most: usize| ends[..most.min(ends.len())].to_vec();
        let (ins, outs) = (first(own.sources(), most_in), first(own.destinations(), most_out));
        let ranks = |ends: &[Neighbour]| in_c(ends.iter().map(|it| it.rank));
        let weights = |ends: &[Neighbour], room: OutWeights| {
            let is_wanted = own.is_weighted() && room.0.addr() != abi::MPI_UNWEIGHTED;
            in_c(ends.iter().filter(|_| is_wanted).map(|it| it.weight))
        };
        write(&[
            (sources, ranks(&ins)),
            (OutInts(sourceweights.0), weights(&ins, sourceweights)),
            (destinations, ranks(&outs)),
            (OutInts(destweights.0), weights(&outs, destweights)),
        ])
    }

    /// The numbers of edges of this process in a distributed graph. MPI 5.0, 8.5.5.
    fn MPI_Dist_graph_neighbors_count(
        comm: Comm, indegree: Out<Int>, outdegree: Out<Int>, weighted: Out<Flag>
    ) {
        let own = distributed(&comm)?;
        indegree.set(length_in_c(own.sources().len())?)?;
        outdegree.set(length_in_c(own.destinations().len())?)?;
        weighted.set(own.is_weighted())
    }

    /// Makes a communicator with a graph that all processes give. MPI 5.0, 8.5.3.
    fn MPI_Graph_create(
        comm_old: Comm, nnodes: Int, indx: Ints, edges: Ints, reorder: Flag,
        comm_graph: Out<Comm>
    ) {
        let _ = reorder;
        let graph = read_graph(&comm_old, nnodes, indx, edges);
        let made = comm_old.lite.arrange(graph.map(Topology::Graph))?;
        comm_graph.set(handle_of(&comm_old, made))
    }

    /// The graph. MPI 5.0, 8.5.5.
    fn MPI_Graph_get(comm: Comm, maxindex: Int, maxedges: Int, indx: OutInts, edges: OutInts) {
        let graph = graph(&comm)?;
        has_room("maxindex is less than the number of nodes", maxindex, graph.index().len())?;
        has_room("maxedges is less than the number of edges", maxedges, graph.edges().len())?;
        write(&[
            (indx, in_c(graph.index().iter().copied())),
            (edges, in_c(graph.edges().iter().copied())),
        ])
    }

    /// The rank that this process would have in a graph. MPI 5.0, 8.5.8.
    fn MPI_Graph_map(comm: Comm, nnodes: Int, indx: Ints, edges: Ints, newrank: Out<Int>) {
        let graph = read_graph(&comm, nnodes, indx, edges)?;
        newrank.set(rank_within(&comm, graph.size()))
    }

    /// The neighbours of a rank. MPI 5.0, 8.5.5.
    fn MPI_Graph_neighbors(comm: Comm, rank: Rank, maxneighbors: Int, neighbors: OutInts) {
        let found = graph(&comm)?.neighbours_of(rank.0)?;
        has_room("maxneighbors is less than the number of neighbors", maxneighbors, found.len())?;
        write(&[(neighbors, in_c(found.iter().copied()))])
    }

    /// The number of neighbours of a rank. MPI 5.0, 8.5.5.
    fn MPI_Graph_neighbors_count(comm: Comm, rank: Rank, nneighbors: Out<Int>) {
        let found = graph(&comm)?.neighbours_of(rank.0)?;
        nneighbors.set(length_in_c(found.len())?)
    }

    /// The numbers of nodes and of edges. MPI 5.0, 8.5.5.
    fn MPI_Graphdims_get(comm: Comm, nnodes: Out<Int>, nedges: Out<Int>) {
        let graph = graph(&comm)?;
        nnodes.set(c_rank(graph.size()))?;
        nedges.set(length_in_c(graph.edges().len())?)
    }

    /// The kind of a communicator's topology. MPI 5.0, 8.5.5.
    fn MPI_Topo_test(comm: Comm, status: Out<TopologyKind>) {
        status.set(match comm.lite.topology() {
            Some(Topology::Cartesian(_)) => abi::MPI_CART,
            Some(Topology::Graph(_)) => abi::MPI_GRAPH,
            Some(Topology::Distributed(_)) => abi::MPI_DIST_GRAPH,
            None => abi::MPI_UNDEFINED,
        })
    }
}

fn cartesian(comm: &Comm) -> Result<&Cartesian> {
    require_intra(comm)?;
    match comm.lite.topology() {
        Some(Topology::Cartesian(grid)) => Ok(grid),
        _ => Err(no("Cartesian topology")),
    }
}

fn graph(comm: &Comm) -> Result<&Graph> {
    require_intra(comm)?;
    match comm.lite.topology() {
        Some(Topology::Graph(graph)) => Ok(graph),
        _ => Err(no("graph topology")),
    }
}

fn distributed(comm: &Comm) -> Result<&Distributed> {
    require_intra(comm)?;
    match comm.lite.topology() {
        Some(Topology::Distributed(own)) => Ok(own),
        _ => Err(no("distributed graph topology")),
    }
}

#[cold]
fn no(wanted: &'static str) -> Error {
    Lite::Topology { wanted }.into()
}

/// Checks that the processes can be arranged.
fn require_intra(comm: &Comm) -> Result<()> {
    match comm.lite.is_inter() {
        true => Err(Error::new(
            abi::MPI_ERR_COMM,
            "an intercommunicator has no topology",
        )),
        false => Ok(()),
    }
}

/// Reads a grid for the processes of `comm`.
fn read_grid(comm: &Comm, ndims: Int, dims: Ints, periods: Ints) -> Result<Cartesian> {
    require_intra(comm)?;
    let ndims = not_negative("ndims", ndims, abi::MPI_ERR_DIMS)?;
    let (dims, periods) = (read(dims, ndims)?, read_flags(periods, ndims)?);
    Ok(Cartesian::new(&dims, &periods, comm.lite.size())?)
}

/// Reads a graph for the processes of `comm`.
fn read_graph(comm: &Comm, nnodes: Int, index: Ints, edges: Ints) -> Result<Graph> {
    require_intra(comm)?;
    let nnodes = not_negative("nnodes", nnodes, abi::MPI_ERR_ARG)?;
    // Arrays are read only as far as they are known to go.
    let processes = comm.lite.size();
    Graph::check_nodes(nnodes, processes)?;
    let index = read(index, nnodes)?;
    let count = Graph::count_edges(&index)?;
    Ok(Graph::new(&index, &read(edges, count)?, processes)?)
}

/// The arguments for the edges of a process in one direction.
struct Ends {
    /// The names of `degree` and of a rank.
    names: [&'static str; 2],
    degree: Int,
    ranks: Ints,
    weights: Weights,
}

/// Reads the own edges of a process of `comm`.
fn read_adjacent(comm: &Comm, sources: Ends, destinations: Ends) -> Result<Distributed> {
    let (sources, has_source_weights) = read_ends(comm, sources)?;
    let (destinations, has_weights) = read_ends(comm, destinations)?;
    if has_source_weights != has_weights {
        return Err(Error::new(
            abi::MPI_ERR_ARG,
            "only one of sourceweights and destweights is MPI_UNWEIGHTED",
        ));
    }
    Ok(Distributed::new(sources, destinations, has_weights))
}

/// Reads the edges of one direction. The second result is true if they have weights.
fn read_ends(comm: &Comm, ends: Ends) -> Result<(Vec<Neighbour>, bool)> {
    let [degree_name, rank_name] = ends.names;
    let degree = not_negative(degree_name, ends.degree, abi::MPI_ERR_ARG)?;
    let ranks = read(ends.ranks, degree)?;
    let weights = read_weights(ends.weights, degree)?;
    let weight = |at: usize| weights.as_ref().map_or(1, |all| all[at]);
    let size = comm.lite.size();
    let end = |(at, &rank): (usize, &c_int)| Ok(Neighbour::new(rank_name, rank, weight(at), size)?);
    let ends: Result<_> = ranks.iter().enumerate().map(end).collect();
    Ok((ends?, weights.is_some()))
}

/// Reads how many edges each of `n` sources has.
fn read_degrees(n: Int, degrees: Ints) -> Result<Vec<usize>> {
    let degrees = read(degrees, not_negative("n", n, abi::MPI_ERR_ARG)?)?;
    let degree = |&it: &c_int| not_negative("a degree", Int(it), abi::MPI_ERR_ARG);
    degrees.iter().map(degree).collect()
}

/// Reads edges: sources with their `degrees`, all destinations, and all weights.
fn read_edges(
    comm: &Comm,
    degrees: &[usize],
    (sources, destinations, weights): (Ints, Ints, Weights),
) -> Result<EdgeList> {
    let count = degrees.iter().sum();
    let sources = read(sources, degrees.len())?;
    let destinations = read(destinations, count)?;
    let weights = read_weights(weights, count)?;
    let pairs = sources.iter().zip(degrees);
    let all_sources = pairs.flat_map(|(&source, &degree)| core::iter::repeat_n(source, degree));
    let mut edges = Vec::with_capacity(count);
    for (at, ends) in all_sources.zip(destinations).enumerate() {
        let weight = weights.as_ref().map_or(1, |all| all[at]);
        edges.push(Edge::new(ends, weight, comm.lite.size())?);
    }
    // A source without edges must be a process, too.
    for &source in &sources {
        Neighbour::new("source", source, 0, comm.lite.size())?;
    }
    Ok(EdgeList {
        edges,
        is_weighted: weights.is_some(),
    })
}

/// Reads weights, unless they are `MPI_UNWEIGHTED`.
fn read_weights(weights: Weights, count: usize) -> Result<Option<Vec<c_int>>> {
    match weights.0.addr() {
        abi::MPI_UNWEIGHTED => Ok(None),
        abi::MPI_WEIGHTS_EMPTY if count > 0 => Err(Error::new(
            abi::MPI_ERR_ARG,
            "the weights are MPI_WEIGHTS_EMPTY, but there are edges",
        )),
        _ => Ok(Some(read(Ints(weights.0), count)?)),
    }
}

/// Checks a number of things.
fn not_negative(name: &'static str, number: Int, class: c_int) -> Result<usize> {
    let value = i64::from(number.0);
    usize::try_from(number.0).map_err(|_| Cause::Negative { name, value, class }.into())
}

/// Checks that the program's arrays have room for `count` elements.
fn has_room(why: &'static str, room: Int, count: usize) -> Result<()> {
    match usize::try_from(room.0) {
        Ok(room) if room >= count => Ok(()),
        _ => Err(Error::new(abi::MPI_ERR_ARG, why)),
    }
}

/// Reads `count` elements.
fn read(array: Ints, count: usize) -> Result<Vec<c_int>> {
    (0..count).map(|at| array.get(at)).collect()
}

/// Reads `count` logical values.
fn read_flags(array: Ints, count: usize) -> Result<Vec<bool>> {
    (0..count).map(|at| Ok(array.get(at)? != 0)).collect()
}

/// Writes numbers into arrays of the program, if all those have a place.
fn write(arrays: &[(OutInts, Vec<c_int>)]) -> Result<()> {
    let is_nowhere = |(array, numbers): &(OutInts, Vec<c_int>)| {
        let never = [0, abi::MPI_UNWEIGHTED, abi::MPI_WEIGHTS_EMPTY];
        !numbers.is_empty() && never.contains(&array.0.addr())
    };
    if arrays.iter().any(is_nowhere) {
        return Err(Error::new(
            abi::MPI_ERR_ARG,
            "an array for results is a null pointer or a constant",
        ));
    }
    for (array, numbers) in arrays {
        for (at, &number) in numbers.iter().enumerate() {
            array.set(at, number)?;
        }
    }
    Ok(())
}

/// Ranks, numbers of processes, coordinates and weights as C's `int`.
fn in_c(numbers: impl IntoIterator<Item = u32>) -> Vec<c_int> {
    numbers.into_iter().map(c_rank).collect()
}

fn length_in_c(length: usize) -> Result<c_int> {
    let value = i64::try_from(length).unwrap_or(i64::MAX);
    c_int::try_from(length).map_err(|_| Cause::TooLarge { value }.into())
}

/// The rank of this process in a topology of `size` processes, or `MPI_UNDEFINED`.
fn rank_within(comm: &Comm, size: u32) -> c_int {
    match comm.lite.rank() {
        rank if rank < size => c_rank(rank),
        _ => abi::MPI_UNDEFINED,
    }
}
