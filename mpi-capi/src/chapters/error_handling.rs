//! Error handlers, classes, codes and strings, sections 9.3 to 9.5.

use crate::args::*;

mpi! {
    fn MPI_Add_error_class(errorclass: Out<Int>);

    fn MPI_Add_error_code(errorclass: Int, errorcode: Out<Int>);

    fn MPI_Add_error_string(errorcode: Int, string: Text);

    fn MPI_Comm_call_errhandler(comm: Comm, errorcode: Int);

    fn MPI_Comm_create_errhandler(
        comm_errhandler_fn: CommErrhandlerFn, errhandler: Out<Errhandler>
    );

    fn MPI_Comm_get_errhandler(comm: Comm, errhandler: Out<Errhandler>);

    fn MPI_Comm_set_errhandler(comm: Comm, errhandler: Errhandler);

    fn MPI_Errhandler_free(errhandler: InOut<Errhandler>);

    fn MPI_Error_class(errorcode: Int, errorclass: Out<Int>);

    fn MPI_Error_string(errorcode: Int, string: TextOut, resultlen: Out<Int>);

    fn MPI_File_call_errhandler(fh: File, errorcode: Int);

    fn MPI_File_create_errhandler(
        file_errhandler_fn: FileErrhandlerFn, errhandler: Out<Errhandler>
    );

    fn MPI_File_get_errhandler(file: File, errhandler: Out<Errhandler>);

    fn MPI_File_set_errhandler(file: File, errhandler: Errhandler);

    fn MPI_Remove_error_class(errorclass: Int);

    fn MPI_Remove_error_code(errorcode: Int);

    fn MPI_Remove_error_string(errorcode: Int);

    fn MPI_Session_call_errhandler(session: Session, errorcode: Int);

    fn MPI_Session_create_errhandler(
        session_errhandler_fn: SessionErrhandlerFn, errhandler: Out<Errhandler>
    );

    fn MPI_Session_get_errhandler(session: Session, errhandler: Out<Errhandler>);

    fn MPI_Session_set_errhandler(session: Session, errhandler: Errhandler);

    fn MPI_Win_call_errhandler(win: Win, errorcode: Int);

    fn MPI_Win_create_errhandler(win_errhandler_fn: WinErrhandlerFn, errhandler: Out<Errhandler>);

    fn MPI_Win_get_errhandler(win: Win, errhandler: Out<Errhandler>);

    fn MPI_Win_set_errhandler(win: Win, errhandler: Errhandler);
}
