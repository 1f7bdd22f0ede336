//! The socket of a process manager.
#![expect(
    unsafe_code,
    reason = "adopts the descriptor that the process manager left in the environment"
)]

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileTypeExt;
use std::time::Duration;

use rustix::io::{Errno, FdFlags, fcntl_setfd, read, write};

use crate::boot::BootError;
use crate::boot::waiting::{ANSWER_PATIENCE, await_bytes, await_first};

/// The longest request in bytes: Slurm reads one with a single call for 1,024.
const REQUEST_MAX: usize = 1000;

/// The longest answer in bytes.
const ANSWER_MAX: usize = 1 << 20;

/// The connection, and what of its answers has not been taken.
#[derive(Debug)]
pub(super) struct Wire {
    descriptor: OwnedFd,
    received: Vec<u8>,
    /// The command that was sent last, for messages.
    command: String,
    /// How long an answer may take.
    patience: Duration,
    /// The process manager, for messages.
    pub(super) name: &'static str,
    /// This host's address on the connection, if it crosses the network.
    address: Option<IpAddr>,
}

impl Wire {
    /// Adopts the socket that `PMI_FD` names. This process's children do not inherit it.
    pub(super) fn inherited(fd: RawFd, name: &'static str) -> Result<Self, BootError> {
        let refused = |reason: &str| BootError::ManagerChannel {
            manager: name,
            variable: "PMI_FD",
            value: fd.to_string(),
            reason: reason.into(),
        };
        let metadata = std::fs::metadata(format!("/proc/self/fd/{fd}"))
            .map_err(|_| refused("it is not open in this process"))?;
        let kind = metadata.file_type();
        if !kind.is_socket() && !kind.is_fifo() {
            return Err(refused("it is not a socket"));
        }
        // SAFETY: the descriptor is open (checked above), and by the manager's contract it was made
        // for this purpose alone: no other part of the process owns it.
        let descriptor = unsafe { OwnedFd::from_raw_fd(fd) };
        fcntl_setfd(&descriptor, FdFlags::CLOEXEC).map_err(|errno| refused(&errno.to_string()))?;
        Ok(Self::over(descriptor, name, None))
    }

    /// Connects to the address that `PMI_PORT` names.
    pub(super) fn connect(address: &str, name: &'static str) -> Result<Self, BootError> {
        let connected = connect(address, ANSWER_PATIENCE);
        let stream = connected.map_err(|error| BootError::ManagerChannel {
            manager: name,
            variable: "PMI_PORT",
            value: address.escape_debug().to_string(),
            reason: format!("it cannot be reached: {error}"),
        })?;
        let _ = stream.set_nodelay(true);
        let own = stream.local_addr().ok().map(|own: SocketAddr| own.ip());
        Ok(Self::over(stream.into(), name, own))
    }

    pub(super) fn over(descriptor: OwnedFd, name: &'static str, address: Option<IpAddr>) -> Self {
        Self {
            descriptor,
            received: Vec::new(),
            command: String::new(),
            patience: ANSWER_PATIENCE,
            name,
            address,
        }
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    pub(super) fn address(&self) -> Option<IpAddr> {
        self.address
    }

    /// An error about what the manager did.
    pub(super) fn wrong(&self, what: impl Into<String>) -> BootError {
        BootError::Manager {
            manager: self.name,
            what: what.into(),
        }
    }

    fn gone(&self) -> BootError {
        BootError::ManagerGone { manager: self.name }
    }

    /// Changes how long an answer may take.
    #[cfg(test)]
    pub(super) fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Sends a request, in one piece: a manager may read it with one call.
    pub(super) fn send(&mut self, request: &str) -> Result<(), BootError> {
        if request.len() > REQUEST_MAX {
            let bytes = request.len();
            return Err(self.wrong(format!(
                "takes requests of {REQUEST_MAX} bytes at most, not of {bytes}"
            )));
        }
        self.command = command(request).into();
        let mut rest = request.as_bytes();
        while !rest.is_empty() {
            match write(&self.descriptor, rest) {
                Ok(sent) => rest = &rest[sent..],
                Err(Errno::INTR) => {}
                Err(_) => return Err(self.gone()),
            }
        }
        Ok(())
    }

    /// Waits for `taken` to take an answer out of what has come. It returns how many bytes that
    /// was, and the answer.
    pub(super) fn receive<T>(
        &mut self,
        mut taken: impl FnMut(&[u8]) -> Option<(usize, T)>,
    ) -> Result<T, BootError> {
        loop {
            if let Some((length, answer)) = taken(&self.received) {
                self.received.drain(..length);
                return Ok(answer);
            }
            self.read()?;
        }
    }

    fn read(&mut self) -> Result<(), BootError> {
        if !await_bytes(self.descriptor(), self.patience) {
            let (command, seconds) = (&self.command, self.patience.as_secs_f64());
            return Err(self.wrong(format!(
                "has not answered '{command}' for {seconds} seconds: it is stopped, or does not \
                 speak as it should; look after it, or start the job with mpi-lite's mpirun"
            )));
        }
        let mut bytes = [0; 4096];
        match read(&self.descriptor, &mut bytes) {
            Ok(0) => Err(self.gone()),
            Ok(length) if self.received.len() + length > ANSWER_MAX => {
                Err(self.wrong(format!("sent more than {ANSWER_MAX} bytes at once")))
            }
            Ok(length) => {
                self.received.extend_from_slice(&bytes[..length]);
                Ok(())
            }
            Err(Errno::INTR) => Ok(()),
            Err(_) => Err(self.gone()),
        }
    }

    /// Waits until an answer begins. Returns false if `watch` became readable before.
    pub(super) fn await_answer(&self, watch: Option<BorrowedFd<'_>>) -> Result<bool, BootError> {
        if !self.received.is_empty() {
            return Ok(true);
        }
        let awaited = await_first(self.descriptor.as_fd(), watch);
        awaited.map_err(|error| BootError::System(format!("poll: {error}")))
    }
}

/// Connects to `host:port`, and waits so long for each address of the host.
fn connect(address: &str, patience: Duration) -> io::Result<TcpStream> {
    let mut failure = io::Error::from(io::ErrorKind::NotFound);
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, patience) {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// The command of a request, without its values: the key of the job is among them.
fn command(request: &str) -> &str {
    let request = request.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
    let end = request.find([' ', ';', '\n']);
    &request[..end.unwrap_or(request.len())]
}
