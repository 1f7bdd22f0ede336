//! Sends, receives, probes and buffers of chapter 3, point-to-point communication.

use crate::args::*;

mpi! {
    fn MPI_Bsend | MPI_Bsend_c(
        buf: SendPtr, count: Count, datatype: Datatype, dest: Rank, tag: Tag, comm: Comm
    );

    fn MPI_Bsend_init | MPI_Bsend_init_c(
        buf: SendPtr, count: Count, datatype: Datatype, dest: Rank, tag: Tag, comm: Comm,
        request: Out<Request>
    );

    fn MPI_Buffer_attach | MPI_Buffer_attach_c(buffer: Address, size: Count);

    fn MPI_Buffer_detach | MPI_Buffer_detach_c(buffer_addr: OutAddress, size: Out<Count>);

    fn MPI_Buffer_flush();

    fn MPI_Buffer_iflush(request: Out<Request>);

    fn MPI_Comm_attach_buffer | MPI_Comm_attach_buffer_c(comm: Comm, buffer: Address, size: Count);

    fn MPI_Comm_detach_buffer | MPI_Comm_detach_buffer_c(
        comm: Comm, buffer_addr: OutAddress, size: Out<Count>
    );

    fn MPI_Comm_flush_buffer(comm: Comm);

    fn MPI_Comm_iflush_buffer(comm: Comm, request: Out<Request>);

    fn MPI_Ibsend | MPI_Ibsend_c(
        buf: SendPtr, count: Count, datatype: Datatype, dest: Rank, tag: Tag, comm: Comm,
        request: Out<Request>
    );

    fn MPI_Improbe(
        source: Source, tag: Tag, comm: Comm, flag: Out<Flag>, message: Out<Message>,
        status: OutStatus
    );

    fn MPI_Imrecv | MPI_Imrecv_c(
        buf: RecvPtr, count: Count, datatype: Datatype, message: InOut<Message>,
        request: Out<Request>
    );

    fn MPI_Iprobe(source: Source, tag: Tag, comm: Comm, flag: Out<Flag>, status: OutStatus);

    fn MPI_Irecv | MPI_Irecv_c(
        buf: RecvPtr, count: Count, datatype: Datatype, source: Source, tag: Tag, comm: Comm,
        request: Out<Request>
    );

    fn MPI_Irsend | MPI_Irsend_c(
        buf: SendPtr, count: Count, datatype: Datatype, dest: Rank, tag: Tag, comm: Comm,
        request: Out<Request>
    );

    fn MPI_Isend | MPI_Isend_c(
        buf: SendPtr, count: Count, datatype: Datatype, dest: Rank, tag: Tag, comm: Comm,
        request: Out<Request>
    );

    fn MPI_Isendrecv | MPI_Isendrecv_c(
        sendbuf: SendPtr, sendcount: Count, sendtype: Datatype, dest: Rank, sendtag: Tag,
        recvbuf: RecvPtr, recvcount: Count, recvtype: Datatype, source: Source, recvtag: Tag,
        comm: Comm, request: Out<Request>
    );

    fn MPI_Isendrecv_replace | MPI_Isendrecv_replace_c(
        buf: RecvPtr, count: Count, datatype: Datatype, dest: Rank, sendtag: Tag, source: Source,
        recvtag: Tag, comm: Comm, request: Out<Request>
    );

    fn MPI_Issend | MPI_Issend_c(
        buf: SendPtr, count: Count, datatype: Datatype, dest: Rank, tag: Tag, comm: Comm,
        request: Out<Request>
    );

    fn MPI_Mprobe(source: Source, tag: Tag, comm: Comm, message: Out<Message>, status: OutStatus);

    fn MPI_Mrecv | MPI_Mrecv_c(
        buf: RecvPtr, count: Count, datatype: Datatype, message: InOut<Message>,
        status: OutStatus
    );

    fn MPI_Probe(source: Source, tag: Tag, comm: Comm, status: OutStatus);

    fn MPI_Recv | MPI_Recv_c(
        buf: RecvPtr, count: Count, datatype: Datatype, source: Source, tag: Tag, comm: Comm,
        status: OutStatus
    );

    fn MPI_Recv_init | MPI_Recv_init_c(
        buf: RecvPtr, count: Count, datatype: Datatype, source: Source, tag: Tag, comm: Comm,
        request: Out<Request>
    );

    fn MPI_Rsend | MPI_Rsend_c(
        buf: SendPtr, count: Count, datatype: Datatype, dest: Rank, tag: Tag, comm: Comm
    );

    fn MPI_Rsend_init | MPI_Rsend_init_c(
        buf: SendPtr, count: Count, datatype: Datatype, dest: Rank, tag: Tag, comm: Comm,
        request: Out<Request>
    );

    fn MPI_Send | MPI_Send_c(
        buf: SendPtr, count: Count, datatype: Datatype, dest: Rank, tag: Tag, comm: Comm
    );

    fn MPI_Send_init | MPI_Send_init_c(
        buf: SendPtr, count: Count, datatype: Datatype, dest: Rank, tag: Tag, comm: Comm,
        request: Out<Request>
    );

    fn MPI_Sendrecv | MPI_Sendrecv_c(
        sendbuf: SendPtr, sendcount: Count, sendtype: Datatype, dest: Rank, sendtag: Tag,
        recvbuf: RecvPtr, recvcount: Count, recvtype: Datatype, source: Source, recvtag: Tag,
        comm: Comm, status: OutStatus
    );

    fn MPI_Sendrecv_replace | MPI_Sendrecv_replace_c(
        buf: RecvPtr, count: Count, datatype: Datatype, dest: Rank, sendtag: Tag, source: Source,
        recvtag: Tag, comm: Comm, status: OutStatus
    );

    fn MPI_Session_attach_buffer | MPI_Session_attach_buffer_c(
        session: Session, buffer: Address, size: Count
    );

    fn MPI_Session_detach_buffer | MPI_Session_detach_buffer_c(
        session: Session, buffer_addr: OutAddress, size: Out<Count>
    );

    fn MPI_Session_flush_buffer(session: Session);

    fn MPI_Session_iflush_buffer(session: Session, request: Out<Request>);

    fn MPI_Ssend | MPI_Ssend_c(
        buf: SendPtr, count: Count, datatype: Datatype, dest: Rank, tag: Tag, comm: Comm
    );

    fn MPI_Ssend_init | MPI_Ssend_init_c(
        buf: SendPtr, count: Count, datatype: Datatype, dest: Rank, tag: Tag, comm: Comm,
        request: Out<Request>
    );

    fn MPI_Start(request: InOut<Request>);

    fn MPI_Startall(count: Length, array_of_requests: Requests);
}
