//! The way to a host below another one: bytes for an ssh that the agent of that one runs.

use std::collections::VecDeque;

use serde_bytes::ByteBuf;

use super::carrier::Carrier;
use super::fate::Fate;
use crate::wire::{Down, Ended, PASSAGE_CHUNK, PASSAGE_WINDOW, Up};

/// The end of a tunnel at `mpirun`.
#[derive(Debug)]
pub(super) struct Tunnel {
    /// For the agent that runs the ssh.
    down: VecDeque<Down>,
    /// Bytes that the ssh has not taken.
    on_the_way: usize,
    received: Vec<u8>,
    is_at_end: bool,
    has_more_orders: bool,
    fate: Fate,
}

impl Tunnel {
    /// A tunnel through an ssh with this command line.
    pub(super) fn new(words: Vec<String>) -> Tunnel {
        Tunnel {
            down: VecDeque::from([Down::Reach(words)]),
            on_the_way: 0,
            received: Vec::new(),
            is_at_end: false,
            has_more_orders: true,
            fate: Fate::default(),
        }
    }

    /// The next order for the agent that runs the ssh.
    pub(super) fn down(&mut self) -> Option<Down> {
        self.down.pop_front()
    }

    /// Takes what that agent has reported. Returns an error if it cannot be.
    pub(super) fn take(&mut self, up: Up) -> Result<(), &'static str> {
        match up {
            Up::Bytes(bytes) => self.received.extend_from_slice(&bytes),
            Up::End => self.is_at_end = true,
            Up::Taken(bytes) => {
                let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
                let left = self.on_the_way.checked_sub(bytes);
                self.on_the_way = left.ok_or("it has taken more bytes than it got")?;
            }
            Up::Ended(ended, complaints) => {
                self.fate.set_ended(ended);
                self.fate.complain(complaints.as_bytes());
            }
            Up::NotExecuted(reason) => {
                self.is_at_end = true;
                self.fate.set_ended(Ended::Exited(127));
                self.fate.complain(reason.as_bytes());
            }
        }
        Ok(())
    }
}

impl Carrier for Tunnel {
    fn fate(&self) -> &Fate {
        &self.fate
    }

    /// Hands over as much as the window has room for.
    fn write(&mut self, outgoing: &mut VecDeque<u8>) -> bool {
        while self.has_more_orders && !outgoing.is_empty() && self.on_the_way < PASSAGE_WINDOW {
            let room = (PASSAGE_WINDOW - self.on_the_way).min(PASSAGE_CHUNK);
            let bytes: Vec<u8> = outgoing.drain(..room.min(outgoing.len())).collect();
            self.on_the_way += bytes.len();
            self.down.push_back(Down::Bytes(ByteBuf::from(bytes)));
        }
        true
    }

    fn close_input(&mut self) {
        if std::mem::replace(&mut self.has_more_orders, false) {
            self.down.push_back(Down::End);
        }
    }

    fn read(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.received)
    }

    fn is_at_end(&self) -> bool {
        self.is_at_end && self.received.is_empty()
    }

    fn is_tunnel(&self) -> bool {
        true
    }

    fn tunnel(&mut self) -> Option<&mut Tunnel> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_the_window_is_on_the_way() {
        let mut tunnel = Tunnel::new(Vec::new());
        let mut outgoing = VecDeque::from(vec![7; PASSAGE_WINDOW + 5]);
        tunnel.write(&mut outgoing);
        assert_eq!(outgoing.len(), 5);
        tunnel.take(Up::Taken(3)).expect("it has got more");
        tunnel.write(&mut outgoing);
        assert_eq!(outgoing.len(), 2);
        let more = PASSAGE_WINDOW as u64 + 1;
        assert!(tunnel.take(Up::Taken(more)).is_err());
    }
}
