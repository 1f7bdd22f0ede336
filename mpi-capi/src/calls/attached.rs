//! The buffers that the program attaches for buffered sends. Source: MPI 5.0, 3.6.

use core::ffi::c_void;

use mpi_lite::engine::{BufferOwner, Lane, Subject};

use crate::abi::{self, Handle};
use crate::args::{BufferAddress, BufferSize, Session};
use crate::error::Result;
use crate::objects::request::{engine, handle_of};

/// Gives the library room for buffered sends. It counts the room; the copies are its own.
///
/// # Errors
/// There is room already.
pub fn attach(owner: BufferOwner, buffer: BufferAddress, size: BufferSize) -> Result<()> {
    let bytes = if buffer.0.addr() == abi::MPI_BUFFER_AUTOMATIC {
        u64::MAX
    } else {
        size.0.cast_unsigned()
    };
    Ok(engine().with(|lane| {
        lane.buffers()
            .attach(owner, buffer.0.expose_provenance(), bytes)
    })?)
}

/// Takes the room back when all of its messages are sent.
///
/// # Errors
/// There is none.
pub fn detach(owner: BufferOwner) -> Result<(*mut c_void, i64)> {
    let subject = |_: &Lane| Subject::AllSent;
    let attached = engine().wait_until(subject, |lane| lane.buffers().detach(owner).transpose())?;
    let address = core::ptr::with_exposed_provenance_mut(attached.address);
    Ok((address, i64::try_from(attached.bytes).unwrap_or(0)))
}

/// Waits until all buffered messages are sent.
pub fn flush(owner: BufferOwner) {
    let subject = |_: &Lane| Subject::AllSent;
    engine().wait_until(subject, |lane| {
        lane.buffers().is_flushed(owner).then_some(())
    });
}

/// Returns a request that completes when all messages that are buffered now are sent.
pub fn iflush(owner: BufferOwner) -> Handle {
    handle_of(engine().with(|lane| lane.start_flush(owner)))
}

/// Forgets the buffer of a session that ends. Its messages go on: the copies are the library's.
pub fn forget(session: &Session) {
    engine().with(|lane| lane.buffers().end_session(session.number()));
}
