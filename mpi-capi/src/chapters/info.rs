//! Chapter 10, the info object.

use crate::args::*;

mpi! {
    fn MPI_Info_create(info: Out<Info>);

    fn MPI_Info_create_env(argc: Int, argv: Texts, info: Out<Info>);

    fn MPI_Info_delete(info: Info, key: Text);

    fn MPI_Info_dup(info: Info, newinfo: Out<Info>);

    fn MPI_Info_free(info: InOut<Info>);

    fn MPI_Info_get_nkeys(info: Info, nkeys: Out<Int>);

    fn MPI_Info_get_nthkey(info: Info, n: Length, key: TextOut);

    fn MPI_Info_get_string(
        info: Info, key: Text, buflen: InOut<Int>, value: TextOut, flag: Out<Flag>
    );

    fn MPI_Info_set(info: Info, key: Text, value: Text);
}
