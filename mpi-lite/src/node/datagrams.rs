//! Datagrams with a descriptor beside them (`SCM_RIGHTS`, unix(7)), and sockets that have a name
//! but no file. No call here blocks, if the socket does not.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::slice::from_ref;

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, recvmsg, sendmsg, sendmsg_addr,
};

use super::filter::Filter;

/// What a socket had.
#[derive(Debug)]
pub(crate) enum Came {
    Nothing,
    /// The other end of a connection is closed.
    End,
    /// A datagram, and the descriptor beside it.
    Datagram(Option<OwnedFd>),
}

/// Gives `socket` a name without a file. Only what passes `filter` comes into its queue.
///
/// # Errors
/// Those of bind(2).
pub(crate) fn bind(socket: impl AsFd, name: &str, filter: Filter) -> io::Result<()> {
    // Before it has a name: nobody can send to it yet.
    filter.attach(&socket)?;
    let name = SocketAddrUnix::new_abstract_name(name.as_bytes())?;
    Ok(rustix::net::bind(&socket, &name)?)
}

/// Sends a datagram with a descriptor beside it: over a connection, or to a name. Returns false if
/// there is no room for it now.
///
/// # Errors
/// Those of sendmsg(2).
pub(crate) fn send(
    socket: impl AsFd,
    to: Option<&SocketAddrUnix>,
    bytes: &[u8],
    beside: Option<BorrowedFd<'_>>,
) -> Result<bool, Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if let Some(beside) = &beside {
        control.push(SendAncillaryMessage::ScmRights(from_ref(beside)));
    }
    let (bytes, flags) = (
        [IoSlice::new(bytes)],
        SendFlags::NOSIGNAL | SendFlags::DONTWAIT,
    );
    let sent = match to {
        Some(name) => sendmsg_addr(socket, name, &bytes, &mut control, flags),
        None => sendmsg(socket, &bytes, &mut control, flags),
    };
    match sent {
        Ok(_) => Ok(true),
        // `TOOMANYREFS`: too many descriptors of this user are on the way.
        Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS | Errno::TOOMANYREFS) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Takes the next datagram into `bytes`, if there is one.
///
/// # Errors
/// Those of recvmsg(2); `EMFILE` if the descriptor is lost, as this process may not open more.
pub(crate) fn receive(socket: impl AsFd, bytes: &mut [u8]) -> io::Result<Came> {
    // The system looks into the queue, and then whether the other end is closed. A datagram may
    // have come between the two. So the first end may not be the end.
    match receive_once(&socket, bytes)? {
        Came::End => receive_once(&socket, bytes),
        came => Ok(came),
    }
}

fn receive_once(socket: impl AsFd, bytes: &mut [u8]) -> io::Result<Came> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let received = loop {
        let mut pieces = [IoSliceMut::new(bytes)];
        match recvmsg(&socket, &mut pieces, &mut control, flags) {
            Ok(received) => break received,
            Err(Errno::AGAIN) => return Ok(Came::Nothing),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    };
    let descriptor = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    if descriptor.is_none() && received.flags.contains(rustix::net::ReturnFlags::CTRUNC) {
        return Err(Errno::MFILE.into());
    }
    Ok(match received.bytes {
        0 => Came::End,
        _ => Came::Datagram(descriptor),
    })
}
