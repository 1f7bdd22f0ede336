//! Communicators of chapter 7: making, comparing and naming them; names of types and windows.

use crate::args::*;

mpi! {
    fn MPI_Comm_compare(comm1: Comm, comm2: Comm, result: Out<Int>);

    fn MPI_Comm_create(comm: Comm, group: Group, newcomm: Out<Comm>);

    fn MPI_Comm_create_from_group(
        group: Group, stringtag: Text, info: Info, errhandler: Errhandler, newcomm: Out<Comm>
    );

    fn MPI_Comm_create_group(comm: Comm, group: Group, tag: Tag, newcomm: Out<Comm>);

    fn MPI_Comm_dup(comm: Comm, newcomm: Out<Comm>);

    fn MPI_Comm_dup_with_info(comm: Comm, info: Info, newcomm: Out<Comm>);

    fn MPI_Comm_free(comm: InOut<Comm>);

    fn MPI_Comm_get_info(comm: Comm, info_used: Out<Info>);

    fn MPI_Comm_get_name(comm: Comm, comm_name: TextOut, resultlen: Out<Int>);

    fn MPI_Comm_group(comm: Comm, group: Out<Group>);

    fn MPI_Comm_idup(comm: Comm, newcomm: Out<Comm>, request: Out<Request>);

    fn MPI_Comm_idup_with_info(comm: Comm, info: Info, newcomm: Out<Comm>, request: Out<Request>);

    fn MPI_Comm_rank(comm: Comm, rank: Out<Int>);

    fn MPI_Comm_remote_group(comm: Comm, group: Out<Group>);

    fn MPI_Comm_remote_size(comm: Comm, size: Out<Int>);

    fn MPI_Comm_set_info(comm: Comm, info: Info);

    fn MPI_Comm_set_name(comm: Comm, comm_name: Text);

    fn MPI_Comm_size(comm: Comm, size: Out<Int>);

    fn MPI_Comm_split(comm: Comm, color: Int, key: Int, newcomm: Out<Comm>);

    fn MPI_Comm_split_type(comm: Comm, split_type: Int, key: Int, info: Info, newcomm: Out<Comm>);

    fn MPI_Comm_test_inter(comm: Comm, flag: Out<Flag>);

    fn MPI_Intercomm_create(
        local_comm: Comm, local_leader: Rank, peer_comm: Comm, remote_leader: Rank, tag: Tag,
        newintercomm: Out<Comm>
    );

    fn MPI_Intercomm_create_from_groups(
        local_group: Group, local_leader: Rank, remote_group: Group, remote_leader: Rank,
        stringtag: Text, info: Info, errhandler: Errhandler, newintercomm: Out<Comm>
    );

    fn MPI_Intercomm_merge(intercomm: Comm, high: Flag, newintracomm: Out<Comm>);

    fn MPI_Type_get_name(datatype: Datatype, type_name: TextOut, resultlen: Out<Int>);

    fn MPI_Type_set_name(datatype: Datatype, type_name: Text);

    fn MPI_Win_get_name(win: Win, win_name: TextOut, resultlen: Out<Int>);

    fn MPI_Win_set_name(win: Win, win_name: Text);
}
