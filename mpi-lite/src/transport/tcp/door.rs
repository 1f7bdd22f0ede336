//! A connection in its handshake; see [`proof`](super::proof).

use std::io::{self, Read as _};

use socket2::Socket;

use super::proof::{
    CHALLENGE_BYTES, CLAIM_BYTES, Challenge, Claim, Nonce, Prover, VERDICT_BYTES, Verdict,
};
use crate::clock::Instant;
use crate::transport::PeerId;

/// A connection in its handshake.
#[derive(Debug)]
pub(super) struct Door {
    pub(super) socket: Socket,
    /// It is closed then; `None`: its line says when.
    pub(super) deadline: Option<Instant>,
    stage: HandshakeStage,
    /// Bytes of the message that is awaited, as far as they are here.
    bytes: [u8; CLAIM_BYTES],
    here: usize,
}

#[derive(Clone, Copy, Debug)]
enum HandshakeStage {
    /// This process has accepted it, and waits for a claim.
    Asked { challenge: Nonce },
    /// This process connects for a line, and waits for the challenge.
    Connecting { line: u32 },
    /// It has claimed to be who it is, and waits for the verdict.
    Claimed { line: u32, claim: Claim },
}

/// How far a handshake has come.
#[derive(Debug)]
pub(super) enum Step {
    /// Nothing is to be done now.
    Waits,
    /// An acceptor: the connector has proved this.
    Claim(Claim),
    /// A connector: the acceptor has proved itself, and decided.
    Verdict(Verdict),
    /// A connector: the acceptor has no descriptor left.
    Full,
    /// The other end is none of this job's.
    Foreign,
    /// The connection has failed or ended.
    Failed(io::Error),
}

/// What a connector says of itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    pub(super) me: PeerId,
    pub(super) peer: PeerId,
    pub(super) key: u32,
    pub(super) nonce: Nonce,
}

impl Door {
    /// The door of a connection that this process has accepted: sends the challenge.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn accepted(
        socket: Socket,
        challenge: Nonce,
        deadline: Instant,
    ) -> io::Result<Self> {
        send(&socket, &Challenge::Nonce(challenge).encode())?;
        Ok(Self::new(
            socket,
            HandshakeStage::Asked { challenge },
            Some(deadline),
        ))
    }

    /// The door of a connection that this process has begun, for a line.
    pub(super) fn begun(socket: Socket, line: u32) -> Self {
        Self::new(socket, HandshakeStage::Connecting { line }, None)
    }

    fn new(socket: Socket, stage: HandshakeStage, deadline: Option<Instant>) -> Self {
        Self {
            socket,
            deadline,
            stage,
            bytes: [0; CLAIM_BYTES],
            here: 0,
        }
    }

    /// The line that it was begun for.
    pub(super) fn line(&self) -> Option<u32> {
        match self.stage {
            HandshakeStage::Asked { .. } => None,
            HandshakeStage::Connecting { line } | HandshakeStage::Claimed { line, .. } => {
                Some(line)
            }
        }
    }

    /// Reads what has come. `pass` is asked for by a connector.
    pub(super) fn step(
        &mut self,
        prover: &Prover,
        me: PeerId,
        pass: impl FnOnce() -> Option<Pass>,
    ) -> Step {
        let awaited = match self.stage {
            HandshakeStage::Asked { .. } => CLAIM_BYTES,
            HandshakeStage::Connecting { .. } => CHALLENGE_BYTES,
            HandshakeStage::Claimed { .. } => VERDICT_BYTES,
        };
        match self.fill(awaited) {
            Ok(true) => {}
            Ok(false) => return Step::Waits,
            Err(error) => return Step::Failed(error),
        }
        self.here = 0;
        let bytes = &self.bytes[..awaited];
        match self.stage {
            HandshakeStage::Asked { challenge } => prover
                .check_claim(me, &challenge, bytes)
                .map_or(Step::Foreign, Step::Claim),
            HandshakeStage::Claimed { claim, .. } => prover
                .check_verdict(&claim, bytes)
                .map_or(Step::Foreign, Step::Verdict),
            HandshakeStage::Connecting { line } => match (Challenge::decode(bytes), pass()) {
                (Some(Challenge::Nonce(challenge)), Some(pass)) => {
                    self.claim(prover, line, challenge, &pass)
                }
                (Some(Challenge::Full), _) => Step::Full,
                _ => Step::Foreign,
            },
        }
    }

    fn claim(&mut self, prover: &Prover, line: u32, challenge: Nonce, pass: &Pass) -> Step {
        let claim = Claim {
            connector: pass.me,
            acceptor: pass.peer,
            key: pass.key,
            challenge,
            answer: pass.nonce,
        };
        self.stage = HandshakeStage::Claimed { line, claim };
        match send(&self.socket, &prover.claim(&claim)) {
            Ok(()) => Step::Waits,
            Err(error) => Step::Failed(error),
        }
    }

    /// Tells the connector the verdict.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn decide(
        &self,
        prover: &Prover,
        claim: &Claim,
        verdict: Verdict,
    ) -> io::Result<()> {
        send(&self.socket, &prover.verdict(claim, verdict))
    }

    /// Reads until `awaited` bytes are here, and no further: messages may follow. Returns false if
    /// more have to come.
    fn fill(&mut self, awaited: usize) -> io::Result<bool> {
        while self.here < awaited {
            match (&self.socket).read(&mut self.bytes[self.here..awaited]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => self.here += bytes,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

/// Tells a connector that there is no descriptor left for it.
pub(super) fn turn_away(socket: &Socket) {
    // If it fails the connector tries again.
    let _ = send(socket, &Challenge::Full.encode());
}

/// Sends a few bytes, for which a new connection has room.
fn send(socket: &Socket, bytes: &[u8]) -> io::Result<()> {
    match socket.send_with_flags(bytes, libc::MSG_NOSIGNAL)? {
        sent if sent == bytes.len() => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}
