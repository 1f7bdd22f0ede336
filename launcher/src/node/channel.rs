//! The launcher's end of the channel to one rank, and the order in which a rank may speak.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use mpi_lite::boot::protocol::{self, Frames, FromRank, PROTOCOL, ToRank};

/// How far a rank has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It has not called Init: maybe it is no MPI program.
    Silent,
    /// It has its assignment.
    Assigned,
    /// It has given its card and waits for those of all.
    Carded,
    /// It has finalized. It may start over: a script may run several programs.
    Finalized,
}

/// The channel to one rank.
#[derive(Debug)]
pub(super) struct Channel {
    stream: UnixStream,
    frames: Frames,
    outgoing: Vec<u8>,
    phase: Phase,
    is_closed: bool,
}

impl Channel {
    pub(super) fn new(stream: UnixStream) -> std::io::Result<Channel> {
        stream.set_nonblocking(true)?;
        let (frames, outgoing) = (Frames::default(), Vec::new());
        Ok(Channel {
            stream,
            frames,
            outgoing,
            phase: Phase::Silent,
            is_closed: false,
        })
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    pub(super) fn has_outgoing(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// Reads what the rank has sent; answers its messages.
    ///
    /// # Errors
    ///
    /// What the rank did wrong; the channel is closed then.
    pub(super) fn receive(&mut self) -> Result<Vec<FromRank>, String> {
        let mut bytes = [0; 16 << 10];
        let mut messages = Vec::new();
        while !self.is_closed {
            match self.stream.read(&mut bytes) {
                Ok(0) => self.is_closed = true,
                Ok(length) => self.frames.push(&bytes[..length]),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => self.is_closed = true,
            }
            let answer = self.take_messages(&mut messages);
            self.is_closed |= answer.is_err();
            answer?;
        }
        Ok(messages)
    }

    fn take_messages(&mut self, messages: &mut Vec<FromRank>) -> Result<(), String> {
        loop {
            match self.frames.pop::<FromRank>() {
                Ok(None) => return Ok(()),
                Ok(Some(message)) => {
                    self.phase = self.phase_after(&message)?;
                    messages.push(message);
                }
                Err(error) => return Err(format!("sent {error}")),
            }
        }
    }

    fn phase_after(&self, message: &FromRank) -> Result<Phase, String> {
        match (self.phase, message) {
            (Phase::Silent | Phase::Finalized, FromRank::Hello { protocol, version }) => {
                if *protocol == PROTOCOL {
                    return Ok(Phase::Assigned);
                }
                let own = env!("CARGO_PKG_VERSION");
                Err(format!(
                    "uses mpi-lite {version} (protocol {protocol}), but this mpirun is mpi-lite \
                     {own} (protocol {PROTOCOL}); use the mpirun of the same installation"
                ))
            }
            (Phase::Assigned, FromRank::Card(_)) => Ok(Phase::Carded),
            (Phase::Assigned | Phase::Carded, FromRank::Counters(_)) => Ok(self.phase),
            // A single rank has nobody to exchange cards with.
            (Phase::Assigned | Phase::Carded, FromRank::Finalized) => Ok(Phase::Finalized),
            (phase, FromRank::Abort { .. }) if phase != Phase::Silent => Ok(phase),
            (phase, message) => {
                let what = match message {
                    FromRank::Hello { .. } => "called Init a second time",
                    FromRank::Card(_) => "gave its card",
                    FromRank::Counters(_) => "reported its counters",
                    FromRank::Finalized => "finalized",
                    FromRank::Abort { .. } => "aborted",
                };
                Err(format!("{what} out of order (it was {phase:?})"))
            }
        }
    }

    /// Sends a message, as far as there is room; the rest goes with [`Channel::flush`].
    pub(super) fn send(&mut self, message: &ToRank) {
        if matches!(message, ToRank::Cards(_)) {
            // The next exchange may begin.
            self.phase = Phase::Assigned;
        }
        match protocol::encode(message) {
            Ok(frame) => self.outgoing.extend_from_slice(&frame),
            Err(error) => {
                let refusal = ToRank::Refused(format!("the launcher cannot send {error}"));
                let frame = protocol::encode(&refusal).expect("a line fits in a frame");
                self.outgoing.extend_from_slice(&frame);
            }
        }
        self.flush();
    }

    pub(super) fn flush(&mut self) {
        while !self.outgoing.is_empty() && !self.is_closed {
            match self.stream.write(&self.outgoing) {
                Ok(length) => drop(self.outgoing.drain(..length)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => self.is_closed = true,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (Channel, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (Channel::new(ours).unwrap(), theirs)
    }

    fn hear(messages: &[FromRank]) -> Result<Vec<FromRank>, String> {
        let (mut channel, mut rank) = pair();
        for message in messages {
            rank.write_all(&protocol::encode(message).unwrap()).unwrap();
        }
        channel.receive()
    }

    fn hello() -> FromRank {
        FromRank::Hello {
            protocol: PROTOCOL,
            version: "0".into(),
        }
    }

    fn card() -> FromRank {
        FromRank::Card(Default::default())
    }

    #[test]
    fn the_right_order_is_heard_also_a_second_time() {
        let messages = [
            hello(),
            card(),
            FromRank::Finalized,
            hello(),
            card(),
            FromRank::Finalized,
        ];
        assert_eq!(hear(&messages).unwrap(), messages);
    }

    #[test]
    fn every_other_order_is_refused() {
        let abort = FromRank::Abort {
            code: 1,
            message: String::new(),
        };
        let counters = || FromRank::Counters(Vec::new());
        let wrong: [&[FromRank]; 9] = [
            &[card()],
            &[counters()],
            &[hello(), FromRank::Finalized, counters()],
            &[FromRank::Finalized],
            &[abort],
            &[hello(), hello()],
            &[hello(), card(), card()],
            &[hello(), card(), hello()],
            &[hello(), FromRank::Finalized, FromRank::Finalized],
        ];
        for messages in wrong {
            assert!(hear(messages).is_err(), "{messages:?}");
        }
    }

    #[test]
    fn another_protocol_is_refused_with_both_versions() {
        let text = hear(&[FromRank::Hello {
            protocol: 99,
            version: "7.7".into(),
        }])
        .unwrap_err();
        assert!(
            text.contains("7.7") && text.contains(env!("CARGO_PKG_VERSION")),
            "{text}"
        );
    }

    #[test]
    fn garbage_closes_the_channel() {
        for garbage in [&[0; 4][..], &[0xff; 4], &[1, 0, 0, 0, 99]] {
            let (mut channel, mut rank) = pair();
            rank.write_all(garbage).unwrap();
            assert!(channel.receive().is_err(), "{garbage:?}");
            assert!(channel.is_closed());
        }
    }

    #[test]
    fn half_a_frame_and_then_the_end_is_only_the_end() {
        let (mut channel, mut rank) = pair();
        rank.write_all(&protocol::encode(&hello()).unwrap()[..3])
            .unwrap();
        drop(rank);
        assert_eq!(channel.receive().unwrap(), []);
        assert!(channel.is_closed());
    }
}
