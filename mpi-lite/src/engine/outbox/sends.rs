//! Records of sends under way.

use crate::config::Settings;
use crate::engine::envelope::Envelope;
use crate::engine::outbox::attached::Reserved;
use crate::engine::protocol;
use crate::engine::requests::request::Request;
use crate::ids::Context;
use crate::transport::{EnvelopeBytes, PeerId};

/// A send that the transport has not finished.
#[derive(Debug)]
pub(crate) struct Sending {
    /// The request that it completes; `None` if that is complete already.
    pub(crate) request: Option<Request>,
    /// Bytes of the body.
    pub(crate) len: u64,
    /// Our copy of the body.
    pub(crate) copy: Option<Vec<u8>>,
    /// Bytes that count against the eager budget.
    pub(crate) kept: u64,
    /// Its room in an attached buffer.
    pub(crate) buffered: Option<Box<Reserved>>,
    /// The receiver.
    pub(crate) to: PeerId,
    /// Its envelope.
    pub(crate) envelope: EnvelopeBytes,
}

impl Sending {
    /// A message that engines send each other.
    pub(crate) fn of_engine(to: PeerId, envelope: EnvelopeBytes, body: Vec<u8>) -> Self {
        Self {
            request: None,
            len: body.len() as u64,
            copy: Some(body),
            kept: 0,
            buffered: None,
            to,
            envelope,
        }
    }

    /// Returns true if it is a message that engines send each other.
    pub(crate) fn is_between_engines(&self) -> bool {
        Envelope::decode(&self.envelope).context == Context::ENGINES
    }

    /// Returns true if `request` waits for it.
    pub(crate) fn is_of(&self, request: Request) -> bool {
        self.request == Some(request)
    }
}

/// Sends that follow each other without a call in between that waits or tests. Short ones share
/// datagrams. None is kept back for others that may never follow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Burst {
    /// Sends so far.
    pub(crate) sends: u32,
    /// Sends of the burst before.
    pub(crate) expected: u32,
    /// Sends that the transport may have kept.
    pub(crate) kept: u32,
}

/// The most sends that are kept back: with more the receiver should rather begin.
const KEPT_SENDS: u32 = 32;

impl Burst {
    /// Returns true if the send must go to the network at once. A short send is kept back if it is
    /// not the first of its burst, and the last burst was longer. A loop that repeats its burst
    /// never leaves one unsent.
    #[inline]
    pub(crate) fn goes_at_once(&mut self, is_short: bool) -> bool {
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
    pub(crate) fn end(&mut self) -> bool {
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
pub(crate) struct SpareBuffers {
    pub(crate) buffers: Vec<Vec<u8>>,
    /// How many bytes they would count as copies.
    pub(crate) bytes: u64,
}

impl SpareBuffers {
    /// An empty buffer.
    #[inline]
    pub(crate) fn take(&mut self) -> Vec<u8> {
        let Some(mut buffer) = self.buffers.pop() else {
            return Vec::new();
        };
        self.bytes -= Self::cost(&buffer);
        buffer.clear();
        buffer
    }

    #[inline]
    pub(crate) fn keep(&mut self, buffer: Vec<u8>, settings: &Settings) {
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
