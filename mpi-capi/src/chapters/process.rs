//! Chapter 11: initialization, sessions, and processes that join later.

use crate::abi;
use crate::args::*;
use crate::global::{LIBRARY, Stage};

mpi! {
    fn MPI_Abort(comm: Comm, errorcode: Int);

    fn MPI_Close_port(port_name: Text);

    fn MPI_Comm_accept(port_name: Text, info: Info, root: Root, comm: Comm, newcomm: Out<Comm>);

    fn MPI_Comm_connect(port_name: Text, info: Info, root: Root, comm: Comm, newcomm: Out<Comm>);

    fn MPI_Comm_disconnect(comm: InOut<Comm>);

    /// The processes that started this one: there are none, it was started by the launcher.
    /// MPI 5.0, 11.8.2.
    fn MPI_Comm_get_parent(parent: Out<Comm>) {
        parent.set(abi::MPI_COMM_NULL)
    }

    fn MPI_Comm_join(fd: Int, intercomm: Out<Comm>);

    fn MPI_Comm_spawn(
        command: Text, argv: Texts, maxprocs: Int, info: Info, root: Root, comm: Comm,
        intercomm: Out<Comm>, array_of_errcodes: OutInts
    );

    fn MPI_Comm_spawn_multiple(
        count: Length, array_of_commands: Texts, array_of_argv: TextLists,
        array_of_maxprocs: Ints, array_of_info: Infos, root: Root, comm: Comm,
        intercomm: Out<Comm>, array_of_errcodes: OutInts
    );

    fn MPI_Finalize();

    /// Whether `MPI_Finalize` has completed. MPI 5.0, 11.4.2.
    fn MPI_Finalized(flag: Out<Flag>) {
        flag.set(LIBRARY.stage() == Stage::After)
    }

    fn MPI_Init(argc: Argc, argv: Argv);

    fn MPI_Init_thread(argc: Argc, argv: Argv, required: Int, provided: Out<Int>);

    /// Whether `MPI_Init` has completed; it stays so after `MPI_Finalize`. MPI 5.0, 11.4.2.
    fn MPI_Initialized(flag: Out<Flag>) {
        flag.set(LIBRARY.stage() != Stage::Before)
    }

    fn MPI_Is_thread_main(flag: Out<Flag>);

    fn MPI_Lookup_name(service_name: Text, info: Info, port_name: TextOut);

    fn MPI_Open_port(info: Info, port_name: TextOut);

    fn MPI_Publish_name(service_name: Text, info: Info, port_name: Text);

    fn MPI_Query_thread(provided: Out<Int>);

    fn MPI_Session_finalize(session: InOut<Session>);

    fn MPI_Session_get_info(session: Session, info_used: Out<Info>);

    fn MPI_Session_get_nth_pset(
        session: Session, info: Info, n: Length, pset_len: InOut<Int>, pset_name: TextOut
    );

    fn MPI_Session_get_num_psets(session: Session, info: Info, npset_names: Out<Int>);

    fn MPI_Session_get_pset_info(session: Session, pset_name: Text, info: Out<Info>);

    fn MPI_Session_init(info: Info, errhandler: Errhandler, session: Out<Session>);

    fn MPI_Unpublish_name(service_name: Text, info: Info, port_name: Text);
}
