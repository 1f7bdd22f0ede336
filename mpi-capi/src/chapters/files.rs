//! Chapter 14, input and output.

use crate::args::*;

mpi! {
    fn MPI_File_close(fh: InOut<File>);

    fn MPI_File_delete(filename: FileName, info: Info);

    fn MPI_File_get_amode(fh: File, amode: Out<AccessMode>);

    fn MPI_File_get_atomicity(fh: File, flag: Out<Flag>);

    fn MPI_File_get_byte_offset(fh: File, offset: Offset, disp: Out<Offset>);

    fn MPI_File_get_group(fh: File, group: Out<Group>);

    fn MPI_File_get_info(fh: File, info_used: Out<Info>);

    fn MPI_File_get_position(fh: File, offset: Out<Offset>);

    fn MPI_File_get_position_shared(fh: File, offset: Out<Offset>);

    fn MPI_File_get_size(fh: File, size: Out<Offset>);

    fn MPI_File_get_type_extent | MPI_File_get_type_extent_c(
        fh: File, datatype: Datatype, extent: Out<Displacement>
    );

    fn MPI_File_get_view(
        fh: File, disp: Out<Offset>, etype: Out<Datatype>, filetype: Out<Datatype>,
        datarep: TextOut
    );

    fn MPI_File_iread | MPI_File_iread_c(
        fh: File, buf: RecvPtr, count: Count, datatype: Datatype, request: Out<Request>
    );

    fn MPI_File_iread_all | MPI_File_iread_all_c(
        fh: File, buf: RecvPtr, count: Count, datatype: Datatype, request: Out<Request>
    );

    fn MPI_File_iread_at | MPI_File_iread_at_c(
        fh: File, offset: Offset, buf: RecvPtr, count: Count, datatype: Datatype,
        request: Out<Request>
    );

    fn MPI_File_iread_at_all | MPI_File_iread_at_all_c(
        fh: File, offset: Offset, buf: RecvPtr, count: Count, datatype: Datatype,
        request: Out<Request>
    );

    fn MPI_File_iread_shared | MPI_File_iread_shared_c(
        fh: File, buf: RecvPtr, count: Count, datatype: Datatype, request: Out<Request>
    );

    fn MPI_File_iwrite | MPI_File_iwrite_c(
        fh: File, buf: SendPtr, count: Count, datatype: Datatype, request: Out<Request>
    );

    fn MPI_File_iwrite_all | MPI_File_iwrite_all_c(
        fh: File, buf: SendPtr, count: Count, datatype: Datatype, request: Out<Request>
    );

    fn MPI_File_iwrite_at | MPI_File_iwrite_at_c(
        fh: File, offset: Offset, buf: SendPtr, count: Count, datatype: Datatype,
        request: Out<Request>
    );

    fn MPI_File_iwrite_at_all | MPI_File_iwrite_at_all_c(
        fh: File, offset: Offset, buf: SendPtr, count: Count, datatype: Datatype,
        request: Out<Request>
    );

    fn MPI_File_iwrite_shared | MPI_File_iwrite_shared_c(
        fh: File, buf: SendPtr, count: Count, datatype: Datatype, request: Out<Request>
    );

    fn MPI_File_open(comm: Comm, filename: FileName, amode: AccessMode, info: Info, fh: Out<File>);

    fn MPI_File_preallocate(fh: File, size: Offset);

    fn MPI_File_read | MPI_File_read_c(
        fh: File, buf: RecvPtr, count: Count, datatype: Datatype, status: OutStatus
    );

    fn MPI_File_read_all | MPI_File_read_all_c(
        fh: File, buf: RecvPtr, count: Count, datatype: Datatype, status: OutStatus
    );

    fn MPI_File_read_all_begin | MPI_File_read_all_begin_c(
        fh: File, buf: RecvPtr, count: Count, datatype: Datatype
    );

    fn MPI_File_read_all_end(fh: File, buf: RecvPtr, status: OutStatus);

    fn MPI_File_read_at | MPI_File_read_at_c(
        fh: File, offset: Offset, buf: RecvPtr, count: Count, datatype: Datatype,
        status: OutStatus
    );

    fn MPI_File_read_at_all | MPI_File_read_at_all_c(
        fh: File, offset: Offset, buf: RecvPtr, count: Count, datatype: Datatype,
        status: OutStatus
    );

    fn MPI_File_read_at_all_begin | MPI_File_read_at_all_begin_c(
        fh: File, offset: Offset, buf: RecvPtr, count: Count, datatype: Datatype
    );

    fn MPI_File_read_at_all_end(fh: File, buf: RecvPtr, status: OutStatus);

    fn MPI_File_read_ordered | MPI_File_read_ordered_c(
        fh: File, buf: RecvPtr, count: Count, datatype: Datatype, status: OutStatus
    );

    fn MPI_File_read_ordered_begin | MPI_File_read_ordered_begin_c(
        fh: File, buf: RecvPtr, count: Count, datatype: Datatype
    );

    fn MPI_File_read_ordered_end(fh: File, buf: RecvPtr, status: OutStatus);

    fn MPI_File_read_shared | MPI_File_read_shared_c(
        fh: File, buf: RecvPtr, count: Count, datatype: Datatype, status: OutStatus
    );

    fn MPI_File_seek(fh: File, offset: Offset, whence: Whence);

    fn MPI_File_seek_shared(fh: File, offset: Offset, whence: Whence);

    fn MPI_File_set_atomicity(fh: File, flag: Flag);

    fn MPI_File_set_info(fh: File, info: Info);

    fn MPI_File_set_size(fh: File, size: Offset);

    fn MPI_File_set_view(
        fh: File, disp: Offset, etype: Datatype, filetype: Datatype, datarep: Text, info: Info
    );

    fn MPI_File_sync(fh: File);

    fn MPI_File_write | MPI_File_write_c(
        fh: File, buf: SendPtr, count: Count, datatype: Datatype, status: OutStatus
    );

    fn MPI_File_write_all | MPI_File_write_all_c(
        fh: File, buf: SendPtr, count: Count, datatype: Datatype, status: OutStatus
    );

    fn MPI_File_write_all_begin | MPI_File_write_all_begin_c(
        fh: File, buf: SendPtr, count: Count, datatype: Datatype
    );

    fn MPI_File_write_all_end(fh: File, buf: SendPtr, status: OutStatus);

    fn MPI_File_write_at | MPI_File_write_at_c(
        fh: File, offset: Offset, buf: SendPtr, count: Count, datatype: Datatype,
        status: OutStatus
    );

    fn MPI_File_write_at_all | MPI_File_write_at_all_c(
        fh: File, offset: Offset, buf: SendPtr, count: Count, datatype: Datatype,
        status: OutStatus
    );

    fn MPI_File_write_at_all_begin | MPI_File_write_at_all_begin_c(
        fh: File, offset: Offset, buf: SendPtr, count: Count, datatype: Datatype
    );

    fn MPI_File_write_at_all_end(fh: File, buf: SendPtr, status: OutStatus);

    fn MPI_File_write_ordered | MPI_File_write_ordered_c(
        fh: File, buf: SendPtr, count: Count, datatype: Datatype, status: OutStatus
    );

    fn MPI_File_write_ordered_begin | MPI_File_write_ordered_begin_c(
        fh: File, buf: SendPtr, count: Count, datatype: Datatype
    );

    fn MPI_File_write_ordered_end(fh: File, buf: SendPtr, status: OutStatus);

    fn MPI_File_write_shared | MPI_File_write_shared_c(
        fh: File, buf: SendPtr, count: Count, datatype: Datatype, status: OutStatus
    );

    fn MPI_Register_datarep | MPI_Register_datarep_c(
        datarep: Text, read_conversion_fn: ConversionFn, write_conversion_fn: ConversionFn,
        dtype_file_extent_fn: ExtentFn, extra_state: Address
    );
}
