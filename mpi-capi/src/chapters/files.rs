//! Chapter 14, input and output.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

use mpi_lite::data::Buffer;
use mpi_lite::io::{self, Pointer};

use crate::abi;
use crate::args::*;
use crate::calls::files::{self, at, bytes, done, etypes};
use crate::objects::datareps;
use crate::objects::file::FileObject;
use crate::objects::request::handle_of;
use crate::registry;

mpi! {
    /// Closes a file, for all its processes. Collective. MPI 5.0, 14.2.2.
    fn MPI_File_close(fh: InOut<File>) {
        let lite = fh.value.object()?.take()?;
        registry::remove::<Arc<FileObject>>(fh.value.handle).ok();
        fh.set(abi::MPI_FILE_NULL)?;
        Ok(lite.close()?)
    }

    /// Deletes a file by its name. MPI 5.0, 14.2.3.
    fn MPI_File_delete(filename: FileName, info: Info) {
        let _ = info;
        Ok(io::delete(path(filename))?)
    }

    /// The modes with which a file was opened. MPI 5.0, 14.2.7.
    fn MPI_File_get_amode(fh: File, amode: Out<AccessMode>) {
        amode.set(files::amode_of(fh.lite()?.mode()))
    }

    /// Sets `flag` to true if accesses are atomic. MPI 5.0, 14.6.1.
    fn MPI_File_get_atomicity(fh: File, flag: Out<Flag>) {
        flag.set(fh.lite()?.is_atomic())
    }

    /// The byte of the file at which an etype of the view begins. MPI 5.0, 14.4.3.
    fn MPI_File_get_byte_offset(fh: File, offset: Offset, disp: Out<Offset>) {
        let at = fh.lite()?.byte_offset(etypes(offset)?)?;
        disp.set(at.cast_signed())
    }

    /// The processes of a file. MPI 5.0, 14.2.7.
    fn MPI_File_get_group(fh: File, group: Out<Group>) {
        group.set(super::groups::insert(fh.lite()?.communicator().group().clone()))
    }

    /// The hints in use. MPI 5.0, 14.2.8.
    fn MPI_File_get_info(fh: File, info_used: Out<Info>) {
        info_used.set(Info::make(fh.lite()?.hints())?)
    }

    /// Where the individual file pointer is, in etypes. MPI 5.0, 14.4.3.
    fn MPI_File_get_position(fh: File, offset: Out<Offset>) {
        offset.set(fh.lite()?.position()?.cast_signed())
    }

    /// Where the shared file pointer is, in etypes. MPI 5.0, 14.4.4.
    fn MPI_File_get_position_shared(fh: File, offset: Out<Offset>) {
        offset.set(fh.lite()?.shared_position()?.cast_signed())
    }

    /// Bytes in a file. MPI 5.0, 14.2.6.
    fn MPI_File_get_size(fh: File, size: Out<Offset>) {
        size.set(fh.lite()?.size()?.cast_signed())
    }

    /// The extent of a datatype in a file. MPI 5.0, 14.5.1.
    fn MPI_File_get_type_extent | MPI_File_get_type_extent_c(
        fh: File, datatype: Datatype, extent: Out<Displacement>
    ) {
        extent.set(fh.lite()?.extent(datatype.lite()?)?)
    }

    /// The view of a file. MPI 5.0, 14.3.
    fn MPI_File_get_view(
        fh: File, disp: Out<Offset>, etype: Out<Datatype>, filetype: Out<Datatype>,
        datarep: TextOut
    ) {
        let (displacement, _, _, name) = fh.lite()?.view();
        let types = fh.object()?.types()?;
        disp.set(displacement.cast_signed())?;
        etype.set(types.etype)?;
        filetype.set(types.filetype)?;
        datarep.set(name.as_bytes(), abi::MPI_MAX_DATAREP_STRING as usize).map(drop)
    }

    /// Starts to read where the individual file pointer is. MPI 5.0, 14.4.3.
    fn MPI_File_iread | MPI_File_iread_c(
        fh: File, buf: RecvPtr, count: Count, datatype: Datatype, request: Out<Request>
    ) {
        let access = files::read(Pointer::Individual, buf.all(count, &datatype)?);
        request.set(handle_of(fh.lite()?.start(&access)?))
    }

    /// Starts to read where the individual file pointer is. Collective. MPI 5.0, 14.4.3.
    fn MPI_File_iread_all | MPI_File_iread_all_c(
        fh: File, buf: RecvPtr, count: Count, datatype: Datatype, request: Out<Request>
    ) {
        let access = files::read(Pointer::Individual, buf.all(count, &datatype)?);
        request.set(handle_of(fh.lite()?.start_all(&access)?))
    }

    /// Starts to read at an etype of the view. MPI 5.0, 14.4.2.
    fn MPI_File_iread_at | MPI_File_iread_at_c(
        fh: File, offset: Offset, buf: RecvPtr, count: Count, datatype: Datatype,
        request: Out<Request>
    ) {
        let access = files::read(at(offset)?, buf.all(count, &datatype)?);
        request.set(handle_of(fh.lite()?.start(&access)?))
    }

    /// Starts to read at an etype of the view. Collective. MPI 5.0, 14.4.2.
    fn MPI_File_iread_at_all | MPI_File_iread_at_all_c(
        fh: File, offset: Offset, buf: RecvPtr, count: Count, datatype: Datatype,
        request: Out<Request>
    ) {
        let access = files::read(at(offset)?, buf.all(count, &datatype)?);
        request.set(handle_of(fh.lite()?.start_all(&access)?))
    }

    /// Starts to read where the shared file pointer is. MPI 5.0, 14.4.4.
    fn MPI_File_iread_shared | MPI_File_iread_shared_c(
        fh: File, buf: RecvPtr, count: Count, datatype: Datatype, request: Out<Request>
    ) {
        let access = files::read(Pointer::Shared, buf.all(count, &datatype)?);
        request.set(handle_of(fh.lite()?.start(&access)?))
    }

    /// Starts to write where the individual file pointer is. MPI 5.0, 14.4.3.
    fn MPI_File_iwrite | MPI_File_iwrite_c(
        fh: File, buf: SendPtr, count: Count, datatype: Datatype, request: Out<Request>
    ) {
        let access = files::write(Pointer::Individual, buf.all(count, &datatype)?);
        request.set(handle_of(fh.lite()?.start(&access)?))
    }

    /// Starts to write where the individual file pointer is. Collective. MPI 5.0, 14.4.3.
    fn MPI_File_iwrite_all | MPI_File_iwrite_all_c(
        fh: File, buf: SendPtr, count: Count, datatype: Datatype, request: Out<Request>
    ) {
        let access = files::write(Pointer::Individual, buf.all(count, &datatype)?);
        request.set(handle_of(fh.lite()?.start_all(&access)?))
    }

    /// Starts to write at an etype of the view. MPI 5.0, 14.4.2.
    fn MPI_File_iwrite_at | MPI_File_iwrite_at_c(
        fh: File, offset: Offset, buf: SendPtr, count: Count, datatype: Datatype,
        request: Out<Request>
    ) {
        let access = files::write(at(offset)?, buf.all(count, &datatype)?);
        request.set(handle_of(fh.lite()?.start(&access)?))
    }

    /// Starts to write at an etype of the view. Collective. MPI 5.0, 14.4.2.
    fn MPI_File_iwrite_at_all | MPI_File_iwrite_at_all_c(
        fh: File, offset: Offset, buf: SendPtr, count: Count, datatype: Datatype,
        request: Out<Request>
    ) {
        let access = files::write(at(offset)?, buf.all(count, &datatype)?);
        request.set(handle_of(fh.lite()?.start_all(&access)?))
    }

    /// Starts to write where the shared file pointer is. MPI 5.0, 14.4.4.
    fn MPI_File_iwrite_shared | MPI_File_iwrite_shared_c(
        fh: File, buf: SendPtr, count: Count, datatype: Datatype, request: Out<Request>
    ) {
        let access = files::write(Pointer::Shared, buf.all(count, &datatype)?);
        request.set(handle_of(fh.lite()?.start(&access)?))
    }

    /// Opens a file for all processes of a communicator. Collective. MPI 5.0, 14.2.1.
    fn MPI_File_open(comm: Comm, filename: FileName, amode: AccessMode, info: Info, fh: Out<File>) {
        let (mode, hints) = (files::mode_of(amode.0), files::hints(io::Hints::default(), info));
        let lite = io::File::open(&comm.lite, path(filename), (mode, hints))?;
        fh.set(files::register(lite))
    }

    /// Gives the first bytes of a file their place on the device. Collective. MPI 5.0, 14.2.5.
    fn MPI_File_preallocate(fh: File, size: Offset) {
        Ok(fh.lite()?.preallocate(bytes(size)?)?)
    }

    /// Reads where the individual file pointer is. MPI 5.0, 14.4.3.
    fn MPI_File_read | MPI_File_read_c(
        fh: File, buf: RecvPtr, count: Count, datatype: Datatype, status: OutStatus
    ) {
        let access = files::read(Pointer::Individual, buf.all(count, &datatype)?);
        done(fh.lite()?.access(&access)?, status)
    }

    /// Reads where the individual file pointer is. Collective. MPI 5.0, 14.4.3.
    fn MPI_File_read_all | MPI_File_read_all_c(
        fh: File, buf: RecvPtr, count: Count, datatype: Datatype, status: OutStatus
    ) {
        let access = files::read(Pointer::Individual, buf.all(count, &datatype)?);
        done(fh.lite()?.access_all(&access)?, status)
    }

    /// Begins to read where the individual file pointer is. Collective. MPI 5.0, 14.4.5.
    fn MPI_File_read_all_begin | MPI_File_read_all_begin_c(
        fh: File, buf: RecvPtr, count: Count, datatype: Datatype
    ) {
        let access = files::read(Pointer::Individual, buf.all(count, &datatype)?);
        Ok(fh.lite()?.begin(&access)?)
    }

    /// Ends to read where the individual file pointer is. Collective. MPI 5.0, 14.4.5.
    fn MPI_File_read_all_end(fh: File, buf: RecvPtr, status: OutStatus) {
        let _ = buf;
        let access = files::read(Pointer::Individual, Buffer::nothing());
        done(fh.lite()?.end_split(&access)?, status)
    }

    /// Reads at an etype of the view. MPI 5.0, 14.4.2.
    fn MPI_File_read_at | MPI_File_read_at_c(
        fh: File, offset: Offset, buf: RecvPtr, count: Count, datatype: Datatype,
        status: OutStatus
    ) {
        let access = files::read(at(offset)?, buf.all(count, &datatype)?);
        done(fh.lite()?.access(&access)?, status)
    }

    /// Reads at an etype of the view. Collective. MPI 5.0, 14.4.2.
    fn MPI_File_read_at_all | MPI_File_read_at_all_c(
        fh: File, offset: Offset, buf: RecvPtr, count: Count, datatype: Datatype,
        status: OutStatus
    ) {
        let access = files::read(at(offset)?, buf.all(count, &datatype)?);
        done(fh.lite()?.access_all(&access)?, status)
    }

    /// Begins to read at an etype of the view. Collective. MPI 5.0, 14.4.5.
    fn MPI_File_read_at_all_begin | MPI_File_read_at_all_begin_c(
        fh: File, offset: Offset, buf: RecvPtr, count: Count, datatype: Datatype
    ) {
        let access = files::read(at(offset)?, buf.all(count, &datatype)?);
        Ok(fh.lite()?.begin(&access)?)
    }

    /// Ends to read at an etype of the view. Collective. MPI 5.0, 14.4.5.
    fn MPI_File_read_at_all_end(fh: File, buf: RecvPtr, status: OutStatus) {
        let _ = buf;
        let access = files::read(Pointer::Explicit(0), Buffer::nothing());
        done(fh.lite()?.end_split(&access)?, status)
    }

    /// Reads in the order of ranks. Collective. MPI 5.0, 14.4.4.
    fn MPI_File_read_ordered | MPI_File_read_ordered_c(
        fh: File, buf: RecvPtr, count: Count, datatype: Datatype, status: OutStatus
    ) {
        let access = files::read(Pointer::Shared, buf.all(count, &datatype)?);
        done(fh.lite()?.access_all(&access)?, status)
    }

    /// Begins to read in the order of ranks. Collective. MPI 5.0, 14.4.5.
    fn MPI_File_read_ordered_begin | MPI_File_read_ordered_begin_c(
        fh: File, buf: RecvPtr, count: Count, datatype: Datatype
    ) {
        let access = files::read(Pointer::Shared, buf.all(count, &datatype)?);
        Ok(fh.lite()?.begin(&access)?)
    }

    /// Ends to read in the order of ranks. Collective. MPI 5.0, 14.4.5.
    fn MPI_File_read_ordered_end(fh: File, buf: RecvPtr, status: OutStatus) {
        let _ = buf;
        let access = files::read(Pointer::Shared, Buffer::nothing());
        done(fh.lite()?.end_split(&access)?, status)
    }

    /// Reads where the shared file pointer is. MPI 5.0, 14.4.4.
    fn MPI_File_read_shared | MPI_File_read_shared_c(
        fh: File, buf: RecvPtr, count: Count, datatype: Datatype, status: OutStatus
    ) {
        let access = files::read(Pointer::Shared, buf.all(count, &datatype)?);
        done(fh.lite()?.access(&access)?, status)
    }

    /// Moves the individual file pointer. MPI 5.0, 14.4.3.
    fn MPI_File_seek(fh: File, offset: Offset, whence: Whence) {
        Ok(fh.lite()?.seek(offset.0, files::whence_of(whence.0)?)?)
    }

    /// Moves the shared file pointer. Collective. MPI 5.0, 14.4.4.
    fn MPI_File_seek_shared(fh: File, offset: Offset, whence: Whence) {
        Ok(fh.lite()?.seek_shared(offset.0, files::whence_of(whence.0)?)?)
    }

    /// Makes accesses atomic, or no more so. Collective. MPI 5.0, 14.6.1.
    fn MPI_File_set_atomicity(fh: File, flag: Flag) {
        Ok(fh.lite()?.set_atomic(flag.0)?)
    }

    /// Gives hints. Collective. MPI 5.0, 14.2.8.
    fn MPI_File_set_info(fh: File, info: Info) {
        Ok(fh.lite()?.set_hints(|known| *known = files::hints(known.clone(), info))?)
    }

    /// Makes a file longer or shorter. Collective. MPI 5.0, 14.2.4.
    fn MPI_File_set_size(fh: File, size: Offset) {
        Ok(fh.lite()?.set_size(bytes(size)?)?)
    }

    /// Sets which bytes of a file this process sees. Collective. MPI 5.0, 14.3.
    fn MPI_File_set_view(
        fh: File, disp: ViewStart, etype: Datatype, filetype: Datatype, datarep: Text, info: Info
    ) {
        files::set_view(&fh, disp.0, (&etype, &filetype), (datarep, info))
    }

    /// Brings what was written to the device and to all processes. Collective. MPI 5.0, 14.6.1.
    fn MPI_File_sync(fh: File) {
        Ok(fh.lite()?.sync()?)
    }

    /// Writes where the individual file pointer is. MPI 5.0, 14.4.3.
    fn MPI_File_write | MPI_File_write_c(
        fh: File, buf: SendPtr, count: Count, datatype: Datatype, status: OutStatus
    ) {
        let access = files::write(Pointer::Individual, buf.all(count, &datatype)?);
        done(fh.lite()?.access(&access)?, status)
    }

    /// Writes where the individual file pointer is. Collective. MPI 5.0, 14.4.3.
    fn MPI_File_write_all | MPI_File_write_all_c(
        fh: File, buf: SendPtr, count: Count, datatype: Datatype, status: OutStatus
    ) {
        let access = files::write(Pointer::Individual, buf.all(count, &datatype)?);
        done(fh.lite()?.access_all(&access)?, status)
    }

    /// Begins to write where the individual file pointer is. Collective. MPI 5.0, 14.4.5.
    fn MPI_File_write_all_begin | MPI_File_write_all_begin_c(
        fh: File, buf: SendPtr, count: Count, datatype: Datatype
    ) {
        let access = files::write(Pointer::Individual, buf.all(count, &datatype)?);
        Ok(fh.lite()?.begin(&access)?)
    }

    /// Ends to write where the individual file pointer is. Collective. MPI 5.0, 14.4.5.
    fn MPI_File_write_all_end(fh: File, buf: SendPtr, status: OutStatus) {
        let _ = buf;
        let access = files::write(Pointer::Individual, Buffer::nothing());
        done(fh.lite()?.end_split(&access)?, status)
    }

    /// Writes at an etype of the view. MPI 5.0, 14.4.2.
    fn MPI_File_write_at | MPI_File_write_at_c(
        fh: File, offset: Offset, buf: SendPtr, count: Count, datatype: Datatype,
        status: OutStatus
    ) {
        let access = files::write(at(offset)?, buf.all(count, &datatype)?);
        done(fh.lite()?.access(&access)?, status)
    }

    /// Writes at an etype of the view. Collective. MPI 5.0, 14.4.2.
    fn MPI_File_write_at_all | MPI_File_write_at_all_c(
        fh: File, offset: Offset, buf: SendPtr, count: Count, datatype: Datatype,
        status: OutStatus
    ) {
        let access = files::write(at(offset)?, buf.all(count, &datatype)?);
        done(fh.lite()?.access_all(&access)?, status)
    }

    /// Begins to write at an etype of the view. Collective. MPI 5.0, 14.4.5.
    fn MPI_File_write_at_all_begin | MPI_File_write_at_all_begin_c(
        fh: File, offset: Offset, buf: SendPtr, count: Count, datatype: Datatype
    ) {
        let access = files::write(at(offset)?, buf.all(count, &datatype)?);
        Ok(fh.lite()?.begin(&access)?)
    }

    /// Ends to write at an etype of the view. Collective. MPI 5.0, 14.4.5.
    fn MPI_File_write_at_all_end(fh: File, buf: SendPtr, status: OutStatus) {
        let _ = buf;
        let access = files::write(Pointer::Explicit(0), Buffer::nothing());
        done(fh.lite()?.end_split(&access)?, status)
    }

    /// Writes in the order of ranks. Collective. MPI 5.0, 14.4.4.
    fn MPI_File_write_ordered | MPI_File_write_ordered_c(
        fh: File, buf: SendPtr, count: Count, datatype: Datatype, status: OutStatus
    ) {
        let access = files::write(Pointer::Shared, buf.all(count, &datatype)?);
        done(fh.lite()?.access_all(&access)?, status)
    }

    /// Begins to write in the order of ranks. Collective. MPI 5.0, 14.4.5.
    fn MPI_File_write_ordered_begin | MPI_File_write_ordered_begin_c(
        fh: File, buf: SendPtr, count: Count, datatype: Datatype
    ) {
        let access = files::write(Pointer::Shared, buf.all(count, &datatype)?);
        Ok(fh.lite()?.begin(&access)?)
    }

    /// Ends to write in the order of ranks. Collective. MPI 5.0, 14.4.5.
    fn MPI_File_write_ordered_end(fh: File, buf: SendPtr, status: OutStatus) {
        let _ = buf;
        let access = files::write(Pointer::Shared, Buffer::nothing());
        done(fh.lite()?.end_split(&access)?, status)
    }

    /// Writes where the shared file pointer is. MPI 5.0, 14.4.4.
    fn MPI_File_write_shared | MPI_File_write_shared_c(
        fh: File, buf: SendPtr, count: Count, datatype: Datatype, status: OutStatus
    ) {
        let access = files::write(Pointer::Shared, buf.all(count, &datatype)?);
        done(fh.lite()?.access(&access)?, status)
    }

    /// Makes a data representation of functions. MPI 5.0, 14.5.3.
    fn MPI_Register_datarep | MPI_Register_datarep_c(
        datarep: Text, read_conversion_fn: ConversionFn, write_conversion_fn: ConversionFn,
        dtype_file_extent_fn: ExtentFn, extra_state: Address
    ) {
        datareps::register(
            datarep.bytes(), (read_conversion_fn, write_conversion_fn), dtype_file_extent_fn.0,
            extra_state.0.expose_provenance()
        )
    }
}

/// A file name, as it is.
fn path(name: FileName<'_>) -> &Path {
    Path::new(OsStr::from_bytes(name.0.bytes()))
}
