//! What carries the frames to an agent and back: an ssh of ours, a connection that an agent of srun
//! has made, or the agent of another host.

use std::collections::VecDeque;
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, OwnedFd};

use super::fate::Fate;
use super::process::{Process, read_all, write_all};
use super::settings::Settings;
use super::tunnel::Tunnel;
use crate::poll::{Interests, Token};

/// The way to an agent.
#[derive(Debug)]
pub(super) enum Carrier {
    /// The standard streams of ssh.
    Ssh(Process),
    /// A connection to srun's agent.
    Connection(Connection),
    /// An ssh that the agent of another host runs.
    Tunnel(Tunnel),
}

/// A connection whose other end has proven to be an agent of the job.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    /// For reading; none at the end of its data.
    input: Option<OwnedFd>,
    has_more_orders: bool,
}

impl Connection {
    /// A connection that does not block.
    ///
    /// # Errors
    ///
    /// The system's reason.
    pub(super) fn new(stream: TcpStream) -> std::io::Result<Connection> {
        let input = OwnedFd::from(stream.try_clone()?);
        Ok(Connection {
            stream,
            input: Some(input),
            has_more_orders: true,
        })
    }
}

impl Carrier {
    /// What became of the ssh program, if it is one.
    pub(super) fn fate(&self) -> Option<&Fate> {
        match self {
            Carrier::Ssh(process) => Some(process.fate()),
            Carrier::Connection(_) => None,
            Carrier::Tunnel(tunnel) => Some(tunnel.fate()),
        }
    }

    /// Our own ssh program, if it is one.
    pub(super) fn process_mut(&mut self) -> Option<&mut Process> {
        match self {
            Carrier::Ssh(process) => Some(process),
            Carrier::Connection(_) | Carrier::Tunnel(_) => None,
        }
    }

    /// Names the descriptors to wait for.
    pub(super) fn interests<'a>(
        &'a self,
        has_outgoing: bool,
        token: Token,
        interests: &mut Interests<'a>,
    ) {
        match self {
            Carrier::Ssh(process) => process.interests(has_outgoing, token, interests),
            Carrier::Connection(connection) => {
                let Some(input) = &connection.input else {
                    return;
                };
                interests.readable(input.as_fd(), token);
                if has_outgoing && connection.has_more_orders {
                    interests.writable(connection.stream.as_fd(), token);
                }
            }
            // The connection of the other host is waited for.
            Carrier::Tunnel(_) => {}
        }
    }

    /// Writes as much as there is room for.
    pub(super) fn write(&mut self, outgoing: &mut VecDeque<u8>) {
        match self {
            Carrier::Ssh(process) => process.write(outgoing),
            Carrier::Connection(connection) if connection.has_more_orders => {
                write_all(&connection.stream, outgoing);
            }
            Carrier::Connection(_) => {}
            Carrier::Tunnel(tunnel) => tunnel.write(outgoing),
        }
    }

    /// Ends the agent's input: there will be no more orders.
    pub(super) fn close_input(&mut self) {
        match self {
            Carrier::Ssh(process) => process.close_input(),
            Carrier::Connection(connection) => {
                connection.has_more_orders = false;
                connection.stream.shutdown(Shutdown::Write).ok();
            }
            Carrier::Tunnel(tunnel) => tunnel.close_input(),
        }
    }

    /// Reads what there is.
    pub(super) fn read(&mut self) -> Vec<u8> {
        match self {
            Carrier::Ssh(process) => process.read(),
            Carrier::Connection(connection) => {
                let mut received = Vec::new();
                read_all(&mut connection.input, |bytes| {
                    received.extend_from_slice(bytes);
                });
                received
            }
            Carrier::Tunnel(tunnel) => tunnel.read(),
        }
    }

    /// Returns true if there is nothing more to read.
    pub(super) fn is_at_end(&self) -> bool {
        match self {
            Carrier::Ssh(process) => process.is_at_end(),
            Carrier::Connection(connection) => connection.input.is_none(),
            Carrier::Tunnel(tunnel) => tunnel.is_at_end(),
        }
    }

    /// Returns true if nothing of it is left to wait for.
    pub(super) fn is_gone(&self) -> bool {
        match self {
            Carrier::Ssh(process) => process.is_gone(),
            Carrier::Connection(connection) => connection.input.is_none(),
            Carrier::Tunnel(tunnel) => tunnel.is_at_end() && tunnel.fate().has_ended(),
        }
    }

    /// What became of it, in words.
    pub(super) fn how_it_ended(&self, settings: &Settings) -> String {
        match self.fate() {
            Some(fate) => fate.how_it_ended(&settings.shown_program()),
            None => "the connection of srun's agent was closed".into(),
        }
    }

    /// The last line of its complaints, as the end of a line of ours.
    pub(super) fn complaint(&self) -> String {
        self.fate().map_or(String::new(), Fate::complaint)
    }
}
