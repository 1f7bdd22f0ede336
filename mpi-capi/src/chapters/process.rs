//! Chapter 11: initialization, sessions, and processes that join later.

use core::ffi::c_int;

use crate::abi;
use crate::args::*;
use crate::calls::attached;
use crate::error::Error;
use crate::global::{LIBRARY, Stage, Thread};
use crate::handle::Kind;
use crate::objects::errhandler;
use crate::objects::info::InfoObject;
use crate::objects::session::{self, ProcessSet};

mpi! {
    /// Ends the job with an exit status. MPI 5.0, 11.4.
    fn MPI_Abort(comm: Comm, errorcode: Int) {
        let who = LIBRARY.whereabouts();
        let name = String::from_utf8_lossy(&comm.name.lock()).into_owned();
        let name = if name.is_empty() { "a communicator".to_owned() } else { name };
        let code = errorcode.0;
        LIBRARY.abort(code, &format!("MPI_Abort({name}, {code}) was called {who}"))
    }

    fn MPI_Close_port(port_name: Text);

    fn MPI_Comm_accept(port_name: Text, info: Info, root: Root, comm: Comm, newcomm: Out<Comm>);

    fn MPI_Comm_connect(port_name: Text, info: Info, root: Root, comm: Comm, newcomm: Out<Comm>);

    /// Gives a communicator up when its messages are complete: ours are, when it is freed.
    /// MPI 5.0, 11.10.4.
    fn MPI_Comm_disconnect(comm: InOut<Comm>) {
        super::communicators::free(&comm)
    }

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

    /// Leaves the job. MPI 5.0, 11.2.3.
    fn MPI_Finalize() {
        LIBRARY.finalize()
    }

    /// Sets `flag` to true if `MPI_Finalize` has completed. MPI 5.0, 11.4.2.
    fn MPI_Finalized(flag: Out<Flag>) {
        flag.set(matches!(LIBRARY.world_stage(), Stage::After | Stage::Ending))
    }

    /// Joins the job; the arguments of `main` are not looked at. MPI 5.0, 11.2.1.
    fn MPI_Init(argc: Argc, argv: Argv) {
        let _ = (argc, argv);
        LIBRARY.init(abi::MPI_THREAD_SINGLE)
    }

    /// Joins the job with several threads, one of which may call MPI at a time.
    /// MPI 5.0, 11.2.1 and 11.6.2.
    fn MPI_Init_thread(argc: Argc, argv: Argv, required: ThreadLevel, provided: Out<ThreadLevel>) {
        let _ = (argc, argv);
        let level = thread_level(required.0);
        LIBRARY.init(level)?;
        provided.set(level)
    }

    /// Sets `flag` to true if `MPI_Init` has completed, also after `MPI_Finalize`. MPI 5.0, 11.4.2.
    fn MPI_Initialized(flag: Out<Flag>) {
        flag.set(LIBRARY.world_stage() != Stage::Before)
    }

    /// Sets `flag` to true if this thread called `MPI_Init`. MPI 5.0, 11.6.2.
    fn MPI_Is_thread_main(flag: Out<Flag>) {
        let main = LIBRARY.threads.get().map(|(main, _)| *main);
        flag.set(main == Some(Thread::current()))
    }

    fn MPI_Lookup_name(service_name: Text, info: Info, port_name: TextOut);

    fn MPI_Open_port(info: Info, port_name: TextOut);

    fn MPI_Publish_name(service_name: Text, info: Info, port_name: Text);

    /// The level of threads that `MPI_Init_thread` gave. MPI 5.0, 11.6.2.
    fn MPI_Query_thread(provided: Out<ThreadLevel>) {
        provided.set(LIBRARY.threads.get().map_or(abi::MPI_THREAD_SINGLE, |(_, level)| *level))
    }

    /// Ends a session. What was made in it and not freed may not be used any more.
    /// MPI 5.0, 11.3.1.
    fn MPI_Session_finalize(session: InOut<Session>) {
        attached::forget(&session.value);
        LIBRARY.close_session(session.value.handle);
        session.set(abi::MPI_SESSION_NULL)
    }

    /// The hints of a session that are followed. MPI 5.0, 11.3.3.
    fn MPI_Session_get_info(session: Session, info_used: Out<Info>) {
        info_used.set(super::info::insert(session.info()))
    }

    /// The name of a set of processes by its number. `pset_len` becomes the room that the name
    /// needs; if it was 0, only that. MPI 5.0, 11.3.2.
    fn MPI_Session_get_nth_pset(
        session: Session, info: Info, n: Int, pset_len: InOut<Int>, pset_name: TextOut
    ) {
        let _ = (session, info);
        let set = usize::try_from(n.0).ok().and_then(|n| ProcessSet::ALL.get(n));
        let why = "n is negative, or not below the number of process sets";
        let name = set.ok_or_else(|| Error::new(abi::MPI_ERR_ARG, why))?.name();
        let room = usize::try_from(pset_len.value.0)
            .map_err(|_| Error::new(abi::MPI_ERR_ARG, "pset_len is negative"))?;
        if room > 0 {
            pset_name.set(name.as_bytes(), room)?;
        }
        pset_len.set(super::info::c_len(name.len() + 1))
    }

    /// The number of sets of processes. MPI 5.0, 11.3.2.
    fn MPI_Session_get_num_psets(session: Session, info: Info, npset_names: Out<Int>) {
        let _ = (session, info);
        npset_names.set(super::info::c_len(ProcessSet::ALL.len()))
    }

    /// How many processes a set has: `mpi_size`. MPI 5.0, 11.3.2.
    fn MPI_Session_get_pset_info(session: Session, pset_name: Text, info: Out<Info>) {
        let _ = session;
        let set = ProcessSet::named(pset_name.bytes())?;
        let mut object = InfoObject::default();
        object.set(b"mpi_size", set.group().size().to_string().as_bytes())?;
        info.set(super::info::insert(object))
    }

    /// Begins a session; joins the job if it is the first use of MPI. MPI 5.0, 11.3.1.
    fn MPI_Session_init(info: Info, errhandler: FirstErrhandler, session: Out<Session>) {
        errhandler::check(errhandler.0, Kind::Session)?;
        let level = session::thread_level(&info.to_object())?;
        session.set(LIBRARY.open_session(errhandler.0, level)?)
    }

    fn MPI_Unpublish_name(service_name: Text, info: Info, port_name: Text);
}

/// The least level that has what is asked for, or the highest there is.
fn thread_level(required: c_int) -> c_int {
    let levels = [
        abi::MPI_THREAD_SINGLE,
        abi::MPI_THREAD_FUNNELED,
        abi::MPI_THREAD_SERIALIZED,
        abi::MPI_THREAD_MULTIPLE,
    ];
    levels
        .into_iter()
        .find(|level| required <= *level)
        .unwrap_or(abi::MPI_THREAD_MULTIPLE)
}
