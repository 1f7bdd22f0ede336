//! Groups, section 7.3.

use crate::args::*;

mpi! {
    fn MPI_Group_compare(group1: Group, group2: Group, result: Out<Int>);

    fn MPI_Group_difference(group1: Group, group2: Group, newgroup: Out<Group>);

    fn MPI_Group_excl(group: Group, n: Length, ranks: Ints, newgroup: Out<Group>);

    fn MPI_Group_free(group: InOut<Group>);

    fn MPI_Group_from_session_pset(session: Session, pset_name: Text, newgroup: Out<Group>);

    fn MPI_Group_incl(group: Group, n: Length, ranks: Ints, newgroup: Out<Group>);

    fn MPI_Group_intersection(group1: Group, group2: Group, newgroup: Out<Group>);

    fn MPI_Group_range_excl(group: Group, n: Length, ranges: Ranges, newgroup: Out<Group>);

    fn MPI_Group_range_incl(group: Group, n: Length, ranges: Ranges, newgroup: Out<Group>);

    fn MPI_Group_rank(group: Group, rank: Out<Int>);

    fn MPI_Group_size(group: Group, size: Out<Int>);

    fn MPI_Group_translate_ranks(
        group1: Group, n: Length, ranks1: Ints, group2: Group, ranks2: OutInts
    );

    fn MPI_Group_union(group1: Group, group2: Group, newgroup: Out<Group>);
}
