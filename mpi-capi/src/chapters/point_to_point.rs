//! Sends, receives, probes and buffers of chapter 3, point-to-point communication.

use mpi_lite::engine::BufferOwner;
use mpi_lite::ids::Mode;

use crate::abi;
use crate::args::*;
use crate::calls::attached;
use crate::calls::completion;
use crate::global::What;
use crate::objects::request;

mpi! {
    /// Sends in buffered mode: complete as soon as the message is copied. MPI 5.0, 3.4.
    fn MPI_Bsend | MPI_Bsend_c(
        buf: SendPtr, count: Count, datatype: MessageType, dest: Rank, tag: Tag, comm: Comm
    ) {
        let message = (buf.area(count, &datatype)?, What::of(count, &datatype));
        comm.send(message, dest, tag, Mode::Buffered)
    }

    /// Prepares a buffered send. MPI 5.0, 3.9.
    fn MPI_Bsend_init | MPI_Bsend_init_c(
        buf: SendPtr, count: Count, datatype: MessageType, dest: Rank, tag: Tag, comm: Comm,
        request: Out<Request>
    ) {
        request.set(comm.send_init(buf.area(count, &datatype)?, dest, tag, Mode::Buffered)?)
    }

    /// Gives the library room for buffered sends. MPI 5.0, 3.6.
    fn MPI_Buffer_attach | MPI_Buffer_attach_c(buffer: BufferAddress, size: BufferSize) {
        attached::attach(BufferOwner::Process, buffer, size)
    }

    /// Takes the room back when all of its messages are sent. MPI 5.0, 3.6.
    fn MPI_Buffer_detach | MPI_Buffer_detach_c(buffer_addr: OutBufferAddress, size: Out<Count>) {
        let (buffer, len) = attached::detach(BufferOwner::Process)?;
        buffer_addr.set(buffer);
        size.set(len)
    }

    /// Waits until all buffered messages are sent. MPI 5.0, 3.6.
    fn MPI_Buffer_flush() {
        attached::flush(BufferOwner::Process);
        Ok(())
    }

    /// Starts to wait until all messages that are buffered now are sent. MPI 5.0, 3.6.
    fn MPI_Buffer_iflush(request: Out<Request>) {
        request.set(attached::iflush(BufferOwner::Process))
    }

    /// Gives the library room for the buffered sends of a communicator. MPI 5.0, 3.6.
    fn MPI_Comm_attach_buffer | MPI_Comm_attach_buffer_c(
        comm: Comm, buffer: BufferAddress, size: BufferSize
    ) {
        attached::attach(comm.buffers(), buffer, size)
    }

    /// Takes that room back when all of its messages are sent. MPI 5.0, 3.6.
    fn MPI_Comm_detach_buffer | MPI_Comm_detach_buffer_c(
        comm: Comm, buffer_addr: OutBufferAddress, size: Out<Count>
    ) {
        let (buffer, len) = attached::detach(comm.buffers())?;
        buffer_addr.set(buffer);
        size.set(len)
    }

    /// Waits until all messages in the communicator's buffer are sent. MPI 5.0, 3.6.
    fn MPI_Comm_flush_buffer(comm: Comm) {
        attached::flush(comm.buffers());
        Ok(())
    }

    /// Starts to wait until the messages in the communicator's buffer are sent. MPI 5.0, 3.6.
    fn MPI_Comm_iflush_buffer(comm: Comm, request: Out<Request>) {
        request.set(attached::iflush(comm.buffers()))
    }

    /// Starts a send in buffered mode. MPI 5.0, 3.7.2.
    fn MPI_Ibsend | MPI_Ibsend_c(
        buf: SendPtr, count: Count, datatype: MessageType, dest: Rank, tag: Tag, comm: Comm,
        request: Out<Request>
    ) {
        request.set(comm.isend(buf.area(count, &datatype)?, dest, tag, Mode::Buffered)?)
    }

    /// Looks for a message and takes it out of matching if there is one. MPI 5.0, 3.8.2.
    fn MPI_Improbe(
        source: Source, tag: Tag, comm: Comm, flag: Out<Flag>, message: Out<Message>,
        status: OutStatus
    ) {
        let found = comm.improbe(source, tag)?;
        if let Some((matched, envelope)) = found {
            message.set(matched)?;
            status.set(envelope);
        }
        flag.set(found.is_some())
    }

    /// Starts the receive of a matched message. MPI 5.0, 3.8.3.
    fn MPI_Imrecv | MPI_Imrecv_c(
        buf: RecvPtr, count: Count, datatype: MessageType, message: InOut<Message>,
        request: Out<Request>
    ) {
        let started = completion::imrecv(buf.area(count, &datatype)?, message.value.0)?;
        message.set(abi::MPI_MESSAGE_NULL)?;
        request.set(started)
    }

    /// Looks for a message. MPI 5.0, 3.8.1.
    fn MPI_Iprobe(source: Source, tag: Tag, comm: Comm, flag: Out<Flag>, status: OutStatus) {
        let found = comm.iprobe(source, tag)?;
        if let Some(envelope) = found {
            status.set(envelope);
        }
        flag.set(found.is_some())
    }

    /// Starts a receive. MPI 5.0, 3.7.2.
    #[inline(always)]
    fn MPI_Irecv | MPI_Irecv_c(
        buf: RecvPtr, count: Count, datatype: MessageType, source: Source, tag: Tag, comm: Comm,
        request: Out<Request>
    ) {
        request.set(comm.irecv(buf.area(count, &datatype)?, source, tag)?)
    }

    /// Starts a send in ready mode. MPI 5.0, 3.7.2.
    fn MPI_Irsend | MPI_Irsend_c(
        buf: SendPtr, count: Count, datatype: MessageType, dest: Rank, tag: Tag, comm: Comm,
        request: Out<Request>
    ) {
        request.set(comm.isend(buf.area(count, &datatype)?, dest, tag, Mode::Ready)?)
    }

    /// Starts a send in standard mode. MPI 5.0, 3.7.2.
    #[inline(always)]
    fn MPI_Isend | MPI_Isend_c(
        buf: SendPtr, count: Count, datatype: MessageType, dest: Rank, tag: Tag, comm: Comm,
        request: Out<Request>
    ) {
        request.set(comm.isend(buf.area(count, &datatype)?, dest, tag, Mode::Standard)?)
    }

    /// Starts to send one message and to receive another. MPI 5.0, 3.11.
    fn MPI_Isendrecv | MPI_Isendrecv_c(
        sendbuf: SendPtr, sendcount: Count, sendtype: MessageType, dest: Rank, sendtag: Tag,
        recvbuf: RecvPtr, recvcount: Count, recvtype: MessageType, source: Source, recvtag: Tag,
        comm: Comm, request: Out<Request>
    ) {
        let outgoing = sendbuf.area(sendcount, &sendtype)?;
        let incoming = recvbuf.area(recvcount, &recvtype)?;
        let (to, from) = (dest.with(sendtag), source.with(recvtag));
        let started = comm.lite.isendrecv(outgoing, to, incoming, from)?;
        request.set(request::handle_of(started))
    }

    /// Starts to send a message and to receive another in its place. MPI 5.0, 3.11.
    fn MPI_Isendrecv_replace | MPI_Isendrecv_replace_c(
        buf: RecvPtr, count: Count, datatype: MessageType, dest: Rank, sendtag: Tag, source: Source,
        recvtag: Tag, comm: Comm, request: Out<Request>
    ) {
        let (to, from) = (dest.with(sendtag), source.with(recvtag));
        let buffer = buf.of(count, &datatype)?;
        let started = comm.lite.isendrecv_replace(&buffer, to, from)?;
        request.set(request::handle_of(started))
    }

    /// Starts a send in synchronous mode. MPI 5.0, 3.7.2.
    fn MPI_Issend | MPI_Issend_c(
        buf: SendPtr, count: Count, datatype: MessageType, dest: Rank, tag: Tag, comm: Comm,
        request: Out<Request>
    ) {
        request.set(comm.isend(buf.area(count, &datatype)?, dest, tag, Mode::Synchronous)?)
    }

    /// Waits for a message and takes it out of matching. MPI 5.0, 3.8.2.
    fn MPI_Mprobe(
        source: Source, tag: Tag, comm: Comm, message: Out<Message>, status: OutStatus
    ) {
        let (matched, envelope) = comm.mprobe(source, tag)?;
        status.set(envelope);
        message.set(matched)
    }

    /// Receives a matched message. MPI 5.0, 3.8.3.
    fn MPI_Mrecv | MPI_Mrecv_c(
        buf: RecvPtr, count: Count, datatype: MessageType, message: InOut<Message>,
        status: OutStatus
    ) {
        let started = completion::imrecv(buf.area(count, &datatype)?, message.value.0)?;
        message.set(abi::MPI_MESSAGE_NULL)?;
        completion::finish(started, status)
    }

    /// Waits for a message. MPI 5.0, 3.8.1.
    fn MPI_Probe(source: Source, tag: Tag, comm: Comm, status: OutStatus) {
        status.set(comm.probe(source, tag)?);
        Ok(())
    }

    /// Receives a message. MPI 5.0, 3.2.4.
    #[inline(always)]
    fn MPI_Recv | MPI_Recv_c(
        buf: RecvPtr, count: Count, datatype: MessageType, source: Source, tag: Tag, comm: Comm,
        status: OutStatus
    ) {
        comm.recv(buf.area(count, &datatype)?, source, tag, status)
    }

    /// Prepares a receive. MPI 5.0, 3.9.
    fn MPI_Recv_init | MPI_Recv_init_c(
        buf: RecvPtr, count: Count, datatype: MessageType, source: Source, tag: Tag, comm: Comm,
        request: Out<Request>
    ) {
        request.set(comm.recv_init(buf.area(count, &datatype)?, source, tag)?)
    }

    /// Sends in ready mode: the receive is posted already. MPI 5.0, 3.4.
    fn MPI_Rsend | MPI_Rsend_c(
        buf: SendPtr, count: Count, datatype: MessageType, dest: Rank, tag: Tag, comm: Comm
    ) {
        let message = (buf.area(count, &datatype)?, What::of(count, &datatype));
        comm.send(message, dest, tag, Mode::Ready)
    }

    /// Prepares a send in ready mode. MPI 5.0, 3.9.
    fn MPI_Rsend_init | MPI_Rsend_init_c(
        buf: SendPtr, count: Count, datatype: MessageType, dest: Rank, tag: Tag, comm: Comm,
        request: Out<Request>
    ) {
        request.set(comm.send_init(buf.area(count, &datatype)?, dest, tag, Mode::Ready)?)
    }

    /// Sends in standard mode. MPI 5.0, 3.2.1.
    #[inline(always)]
    fn MPI_Send | MPI_Send_c(
        buf: SendPtr, count: Count, datatype: MessageType, dest: Rank, tag: Tag, comm: Comm
    ) {
        let message = (buf.area(count, &datatype)?, What::of(count, &datatype));
        comm.send(message, dest, tag, Mode::Standard)
    }

    /// Prepares a send in standard mode. MPI 5.0, 3.9.
    fn MPI_Send_init | MPI_Send_init_c(
        buf: SendPtr, count: Count, datatype: MessageType, dest: Rank, tag: Tag, comm: Comm,
        request: Out<Request>
    ) {
        request.set(comm.send_init(buf.area(count, &datatype)?, dest, tag, Mode::Standard)?)
    }

    /// Sends one message and receives another. MPI 5.0, 3.11.
    fn MPI_Sendrecv | MPI_Sendrecv_c(
        sendbuf: SendPtr, sendcount: Count, sendtype: MessageType, dest: Rank, sendtag: Tag,
        recvbuf: RecvPtr, recvcount: Count, recvtype: MessageType, source: Source, recvtag: Tag,
        comm: Comm, status: OutStatus
    ) {
        let outgoing = sendbuf.area(sendcount, &sendtype)?;
        let incoming = recvbuf.area(recvcount, &recvtype)?;
        let (to, from) = (dest.with(sendtag), source.with(recvtag));
        status.set(comm.lite.sendrecv(outgoing, to, incoming, from)?);
        Ok(())
    }

    /// Sends a message and receives another in its place. MPI 5.0, 3.11.
    fn MPI_Sendrecv_replace | MPI_Sendrecv_replace_c(
        buf: RecvPtr, count: Count, datatype: MessageType, dest: Rank, sendtag: Tag, source: Source,
        recvtag: Tag, comm: Comm, status: OutStatus
    ) {
        let (to, from) = (dest.with(sendtag), source.with(recvtag));
        status.set(comm.lite.sendrecv_replace(buf.of(count, &datatype)?, to, from)?);
        Ok(())
    }

    /// Gives the library room for the buffered sends of a session's communicators. MPI 5.0, 3.6.
    fn MPI_Session_attach_buffer | MPI_Session_attach_buffer_c(
        session: Session, buffer: BufferAddress, size: BufferSize
    ) {
        attached::attach(session.buffers(), buffer, size)
    }

    /// Takes that room back when all of its messages are sent. MPI 5.0, 3.6.
    fn MPI_Session_detach_buffer | MPI_Session_detach_buffer_c(
        session: Session, buffer_addr: OutBufferAddress, size: Out<Count>
    ) {
        let (buffer, len) = attached::detach(session.buffers())?;
        buffer_addr.set(buffer);
        size.set(len)
    }

    /// Waits until all messages in the session's buffer are sent. MPI 5.0, 3.6.
    fn MPI_Session_flush_buffer(session: Session) {
        attached::flush(session.buffers());
        Ok(())
    }

    /// Starts to wait until the messages in the session's buffer are sent. MPI 5.0, 3.6.
    fn MPI_Session_iflush_buffer(session: Session, request: Out<Request>) {
        request.set(attached::iflush(session.buffers()))
    }

    /// Sends in synchronous mode: complete when the receive has started. MPI 5.0, 3.4.
    fn MPI_Ssend | MPI_Ssend_c(
        buf: SendPtr, count: Count, datatype: MessageType, dest: Rank, tag: Tag, comm: Comm
    ) {
        let message = (buf.area(count, &datatype)?, What::of(count, &datatype));
        comm.send(message, dest, tag, Mode::Synchronous)
    }

    /// Prepares a send in synchronous mode. MPI 5.0, 3.9.
    fn MPI_Ssend_init | MPI_Ssend_init_c(
        buf: SendPtr, count: Count, datatype: MessageType, dest: Rank, tag: Tag, comm: Comm,
        request: Out<Request>
    ) {
        request.set(comm.send_init(buf.area(count, &datatype)?, dest, tag, Mode::Synchronous)?)
    }

    /// Starts a persistent operation. MPI 5.0, 3.9.
    fn MPI_Start(request: InOut<Request>) {
        completion::start(request.value.0)
    }

    /// Starts persistent operations. MPI 5.0, 3.9.
    fn MPI_Startall(count: Length, array_of_requests: Requests) {
        array_of_requests.try_for_each(count, completion::start)
    }
}
