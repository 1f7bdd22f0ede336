//! The send ring of one peer (section 3.3, Figure 3): a window of fragments until each is
//! acknowledged.

use super::packet::{self, FragmentHeader, HEADER_BYTES, Kind};

/// Fragments that may be unacknowledged (section 3.1).
pub(super) const WINDOW: u32 = 8;

/// The states of a buffer. IDLE is a buffer outside of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum BufferState {
    /// It waits to be sent for the first time.
    #[default]
    Ready,
    /// It was sent and waits for an answer.
    InTransit,
    /// It waits to be sent again.
    Retransmit,
}

#[derive(Debug, Default)]
struct SendSlot {
    state: BufferState,
    /// The packet, its header included. The memory is kept for the next one.
    packet: Vec<u8>,
}

/// The send ring of one peer.
#[derive(Debug)]
pub(super) struct SendRing {
    /// By the sequence number modulo the window.
    slots: [SendSlot; WINDOW as usize],
    /// The number of the oldest unacknowledged fragment.
    first: u32,
    /// The number of the next fragment.
    next: u32,
    /// How often all was sent again, modulo 256.
    attempt: u8,
    /// How many of the first fragments may be in transit: less than the window after a NACK that
    /// says "no buffer", which stops the transmission (section 3.1).
    may_send: u32,
}

impl SendRing {
    /// An empty ring; its next fragment has this number.
    pub(super) fn new(next: u32) -> Self {
        Self {
            slots: Default::default(),
            first: next,
            next,
            attempt: 0,
            may_send: WINDOW,
        }
    }

    /// The number of the ACK that is expected.
    pub(super) fn first(&self) -> u32 {
        self.first
    }

    /// Returns true if a buffer is IDLE.
    pub(super) fn has_room(&self) -> bool {
        self.count() < WINDOW
    }

    /// Returns true if all buffers are IDLE.
    pub(super) fn is_empty(&self) -> bool {
        self.count() == 0
    }

    fn count(&self) -> u32 {
        self.next.wrapping_sub(self.first)
    }

    fn slot(&mut self, number: u32) -> &mut SendSlot {
        &mut self.slots[(number % WINDOW) as usize]
    }

    /// Stores the fragment that `fill` appends: IDLE to READY. Returns its bytes.
    pub(super) fn store(&mut self, fill: impl FnOnce(&mut Vec<u8>)) -> usize {
        assert!(self.has_room(), "the caller asks has_room first");
        let number = self.next;
        let header = FragmentHeader {
            kind: Kind::Data,
            attempt: self.attempt,
            number,
        };
        let slot = self.slot(number);
        slot.state = BufferState::Ready;
        slot.packet.clear();
        slot.packet.extend_from_slice(&[0; HEADER_BYTES]);
        fill(&mut slot.packet);
        let bytes = slot.packet.len() - HEADER_BYTES;
        slot.packet[..HEADER_BYTES].copy_from_slice(&header.write(bytes));
        self.next = number.wrapping_add(1);
        bytes
    }

    /// Returns true if a fragment is to be sent now.
    pub(super) fn is_due(&self) -> bool {
        self.due().is_some()
    }

    /// The number of the fragment that is to be sent now.
    fn due(&self) -> Option<u32> {
        let numbers = (0..self.count().min(self.may_send)).map(|i| self.first.wrapping_add(i));
        let is_due =
            |number: &u32| self.slots[(*number % WINDOW) as usize].state != BufferState::InTransit;
        numbers.into_iter().find(is_due)
    }

    /// Hands the next packet that is due to `send`; READY or RETRANSMIT to INTRANSIT if `send` has
    /// taken it. Returns true if it was sent before; none if it was not taken.
    pub(super) fn send(&mut self, send: impl FnOnce(&[u8]) -> bool) -> Option<bool> {
        let attempt = self.attempt;
        let number = self.due()?;
        let slot = self.slot(number);
        packet::set_attempt(&mut slot.packet, attempt);
        if !send(&slot.packet) {
            return None;
        }
        let was_sent = slot.state == BufferState::Retransmit;
        slot.state = BufferState::InTransit;
        Some(was_sent)
    }

    /// Releases the first buffer: to IDLE, and the transmission goes on. Returns false if nothing
    /// was sent that could be acknowledged.
    pub(super) fn release(&mut self) -> bool {
        let first = self.first;
        if self.is_empty() || self.slot(first).state == BufferState::Ready {
            return false;
        }
        self.first = first.wrapping_add(1);
        self.may_send = WINDOW;
        true
    }

    /// Returns true if an answer names a fragment that is INTRANSIT since this attempt. An answer
    /// to an earlier attempt is ignored: the buffer was marked since.
    pub(super) fn is_in_transit(&self, number: u32, attempt: u8) -> bool {
        let is_ours = number.wrapping_sub(self.first) < self.count();
        let slot = &self.slots[(number % WINDOW) as usize];
        is_ours && attempt == self.attempt && slot.state == BufferState::InTransit
    }

    /// Marks all fragments that were sent: INTRANSIT to RETRANSMIT. Returns true if there were any.
    pub(super) fn go_back(&mut self) -> bool {
        let mut has_marked = false;
        for i in 0..self.count() {
            let slot = self.slot(self.first.wrapping_add(i));
            if slot.state == BufferState::InTransit {
                slot.state = BufferState::Retransmit;
                has_marked = true;
            }
        }
        if has_marked {
            self.attempt = self.attempt.wrapping_add(1);
        }
        has_marked
    }

    /// Stops the transmission until `try_one` or `release`.
    pub(super) fn stop(&mut self) {
        self.may_send = 0;
    }

    /// If the transmission is stopped, lets the first fragment go to find out whether there is a
    /// buffer for it.
    pub(super) fn try_one(&mut self) {
        self.may_send = self.may_send.max(1);
    }

    /// Forgets all fragments, and their memory.
    pub(super) fn clear(&mut self) {
        *self = Self::new(self.next);
    }
}
