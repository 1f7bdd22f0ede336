//! What carries the frames to an agent and back: an ssh of ours, or a connection that an agent of
//! srun has made.

use std::collections::VecDeque;
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, OwnedFd};

use super::process::{Process, read_all, write_all};
use super::settings::Settings;
use crate::poll::{Interests, Token};

/// The way to an agent.
#[derive(Debug)]
pub(super) enum Carrier {
    /// The standard streams of ssh.
    Ssh(Process),
    /// A connection to srun's agent.
    Connection(Connection),
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
    /// The ssh program, if it is one.
    pub(super) fn process(&self) -> Option<&Process> {
        match self {
            Carrier::Ssh(process) => Some(process),
            Carrier::Connection(_) => None,
        }
    }

    /// As [`Carrier::process`].
    pub(super) fn process_mut(&mut self) -> Option<&mut Process> {
        match self {
            Carrier::Ssh(process) => Some(process),
            Carrier::Connection(_) => None,
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
        }
    }

    /// Returns true if there is nothing more to read.
    pub(super) fn is_at_end(&self) -> bool {
        match self {
            Carrier::Ssh(process) => process.is_at_end(),
            Carrier::Connection(connection) => connection.input.is_none(),
        }
    }

    /// Returns true if nothing of it is left to wait for.
    pub(super) fn is_gone(&self) -> bool {
        match self {
            Carrier::Ssh(process) => process.is_gone(),
            Carrier::Connection(connection) => connection.input.is_none(),
        }
    }

    /// What became of it, in words.
    pub(super) fn how_it_ended(&self, settings: &Settings) -> String {
        match self {
            Carrier::Ssh(process) => process.how_it_ended(&settings.shown_program()),
            Carrier::Connection(_) => "the connection of srun's agent was closed".into(),
        }
    }

    /// The last line of its complaints, as the end of a line of ours.
    pub(super) fn complaint(&self) -> String {
        self.process().map_or(String::new(), Process::complaint)
    }
}
