//! Records of sends under way.

use super::attached::Reserved;
use crate::config::Settings;
use crate::engine::envelope::Envelope;
use crate::engine::protocol;
use crate::engine::requests::Request;
use crate::ids::ContextKind;
use crate::transport::{EnvelopeBytes, PeerId};

/// What the end of a send is to, beside its request.
#[derive(Debug)]
pub(in crate::engine) enum Ending {
    /// Its room in an attached buffer is free.
    Buffered(Reserved),
    /// The port that has sent this body may use its memory again.
    Body(PeerId, Envelope),
}

/// A send that the transport has not finished.
#[derive(Debug)]
pub(in crate::engine) struct Sending {
    /// The request that it completes; `None` if that is complete already.
    request: Option<Request>,
    /// Bytes of the body.
    len: u64,
    /// Our copy of the body.
    copy: Option<Vec<u8>>,
    /// Bytes that count against the eager budget.
    kept: u64,
    /// What its end is to, beside the request.
    ending: Option<Box<Ending>>,
    /// The receiver.
    to: PeerId,
    /// Its envelope.
    envelope: EnvelopeBytes,
}

impl Sending {
    /// A send of the program, for `request`: its receiver and envelope, bytes of its body, and our
    /// copy of that with what it counts.
    #[inline(always)]
    pub(super) fn new(
        request: Option<Request>,
        (to, envelope): (PeerId, EnvelopeBytes),
        len: u64,
        (copy, kept): (Option<Vec<u8>>, u64),
        ending: Option<Box<Ending>>,
    ) -> Self {
        Self {
            request,
            len,
            copy,
            kept,
            ending,
            to,
            envelope,
        }
    }

    /// Bytes that count against the eager budget.
    #[inline]
    pub(super) fn kept(&self) -> u64 {
        self.kept
    }

    /// Its room in an attached buffer.
    pub(super) fn reserved(&mut self) -> Option<&mut Reserved> {
        match self.ending.as_deref_mut()? {
            Ending::Buffered(reserved) => Some(reserved),
            Ending::Body(..) => None,
        }
    }

    /// Its envelope, as it was sent.
    pub(super) fn envelope_bytes(&self) -> EnvelopeBytes {
        self.envelope
    }

    /// Takes it apart: its request, its copy, what its end is to beside the request.
    #[inline(always)]
    pub(super) fn end(self) -> (Option<Request>, Option<Vec<u8>>, Option<Box<Ending>>) {
        (self.request, self.copy, self.ending)
    }

    /// A message for which no request waits.
    pub(super) fn without_request(
        (to, envelope): (PeerId, &Envelope),
        len: u64,
        copy: Option<Vec<u8>>,
    ) -> Self {
        let ending = || Box::new(Ending::Body(to, *envelope));
        Self {
            request: None,
            len,
            ending: copy.is_none().then(ending),
            copy,
            kept: 0,
            to,
            envelope: envelope.encode(),
        }
    }

    /// The request that it completes; `None` if that is complete already.
    pub(in crate::engine) fn request(&self) -> Option<Request> {
        self.request
    }

    /// Bytes of the body.
    pub(in crate::engine) fn bytes(&self) -> u64 {
        self.len
    }

    /// The receiver.
    pub(in crate::engine) fn receiver(&self) -> PeerId {
        self.to
    }

    /// Its envelope.
    pub(in crate::engine) fn envelope(&self) -> Envelope {
        Envelope::decode(&self.envelope)
    }

    /// Returns true if it is none of the program's messages.
    pub(in crate::engine) fn is_of_service(&self) -> bool {
        self.envelope().context.kind() == ContextKind::Service
    }

    /// Returns true if `request` waits for it.
    pub(in crate::engine) fn is_of(&self, request: Request) -> bool {
        self.request == Some(request)
    }
}

/// Sends that follow each other without a call in between that waits or tests. Short ones share
/// datagrams. None is kept back for others that may never follow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Burst {
    /// Sends so far.
    sends: u32,
    /// Sends of the burst before.
    expected: u32,
    /// Sends that the transport may have kept.
    kept: u32,
}

/// The most sends that are kept back: with more the receiver should rather begin.
const KEPT_SENDS: u32 = 32;

impl Burst {
    /// Returns true if the send must go to the network at once. A short send is kept back if it is
    /// not the first of its burst, and the last burst was longer. A loop that repeats its burst
    /// never leaves one unsent.
    #[inline]
    pub(super) fn goes_at_once(&mut self, is_short: bool) -> bool {
        self.sends += 1;
        self.kept += 1;
        let is_kept =
            is_short && 1 < self.sends && self.sends < self.expected && self.kept < KEPT_SENDS;
        if !is_kept {
            self.kept = 0;
        }
        !is_kept
    }

    /// Ends the burst, since the program waits or tests. Returns true if sends may have been kept
    /// back.
    #[inline]
    pub(super) fn end(&mut self) -> bool {
        let has_kept = self.kept > 0;
        if self.sends > 0 {
            *self = Self {
                expected: self.sends,
                ..Self::default()
            };
        }
        has_kept
    }
}

/// Buffers of finished sends, for the next copies: as many as there may be copies at a time, so
/// that a steady load does not allocate.
#[derive(Debug, Default)]
pub(super) struct SpareBuffers {
    buffers: Vec<Vec<u8>>,
    /// How many bytes they would count as copies.
    bytes: u64,
}

impl SpareBuffers {
    /// An empty buffer.
    #[inline]
    pub(super) fn take(&mut self) -> Vec<u8> {
        let Some(mut buffer) = self.buffers.pop() else {
            return Vec::new();
        };
        self.bytes -= Self::cost(&buffer);
        buffer.clear();
        buffer
    }

    #[inline]
    pub(super) fn keep(&mut self, buffer: Vec<u8>, settings: &Settings) {
        let bytes = self.bytes + Self::cost(&buffer);
        let is_short = buffer.capacity() as u64 <= protocol::copied_most(true, settings);
        if is_short && bytes <= settings.eager_budget_bytes {
            self.bytes = bytes;
            self.buffers.push(buffer);
        }
    }

    fn cost(buffer: &Vec<u8>) -> u64 {
        protocol::kept_by_copy(buffer.capacity() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::Burst;

    fn run(burst: &mut Burst, sends: u32) -> Vec<bool> {
        let flushed = (0..sends).map(|_| burst.goes_at_once(true)).collect();
        burst.end();
        flushed
    }

    #[test]
    fn a_send_is_kept_only_if_the_last_burst_was_longer() {
        let mut burst = Burst::default();
        assert_eq!(run(&mut burst, 4), [true; 4]);
        assert_eq!(run(&mut burst, 4), [true, false, false, true]);
        assert_eq!(run(&mut burst, 2), [true, false]);
        assert_eq!(run(&mut burst, 3), [true, true, true]);
        assert_eq!(run(&mut burst, 1), [true]);
    }

    #[test]
    fn a_long_send_takes_all_before_it_along() {
        let mut burst = Burst::default();
        run(&mut burst, 10);
        burst.goes_at_once(true);
        assert!(!burst.goes_at_once(true));
        assert!(burst.goes_at_once(false));
        assert!(!burst.end());
    }

    #[test]
    fn a_long_burst_is_sent_on_now_and_then() {
        let mut burst = Burst::default();
        run(&mut burst, 1000);
        let at_once = run(&mut burst, 1000).iter().filter(|&&now| now).count();
        assert!((1000 / 32..=1000 / 32 + 3).contains(&at_once), "{at_once}");
    }
}
