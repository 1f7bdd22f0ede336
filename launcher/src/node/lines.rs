//! Cutting what a rank writes into whole lines.

use std::time::{Duration, Instant};

/// A line that has no end yet is shown after the rank has been silent for this long: it may be a
/// prompt.
pub(super) const IDLE: Duration = Duration::from_millis(50);

/// A line longer than this, in bytes, is handed on in pieces.
pub(super) const LINE_MAX: usize = 256 << 10;

/// The block size of C's standard streams, in bytes. A stream that stops at a multiple of it was
/// probably cut in the middle of a line by a full buffer, so that what is left is no prompt.
const STDIO_BLOCK: u64 = 4096;

/// The bytes of one stream that do not yet make up a line.
#[derive(Debug, Default)]
pub(super) struct Lines {
    rest: Vec<u8>,
    received: u64,
    silent_since: Option<Instant>,
}

impl Lines {
    /// Takes what the rank wrote. Returns the lines that are complete now, maybe none.
    pub(super) fn push(&mut self, bytes: &[u8], now: Instant) -> Vec<u8> {
        self.received += bytes.len() as u64;
        let complete = match bytes.iter().rposition(|byte| *byte == b'\n') {
            None => Vec::new(),
            Some(last) => {
                let mut lines = std::mem::take(&mut self.rest);
                lines.extend_from_slice(&bytes[..=last]);
                lines
            }
        };
        self.rest.extend_from_slice(after_last_line(bytes));
        self.silent_since = (!self.rest.is_empty()).then_some(now);
        if self.rest.len() > LINE_MAX {
            let mut lines = complete;
            lines.append(&mut self.take_rest());
            return lines;
        }
        complete
    }

    /// When the begun line should be shown, if ever.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        let is_cut_by_a_buffer = self.received.is_multiple_of(STDIO_BLOCK);
        if is_cut_by_a_buffer {
            None
        } else {
            self.silent_since.map(|since| since + IDLE)
        }
    }

    /// Takes the begun line out.
    pub(super) fn take_rest(&mut self) -> Vec<u8> {
        self.silent_since = None;
        std::mem::take(&mut self.rest)
    }
}

fn after_last_line(bytes: &[u8]) -> &[u8] {
    let end = bytes
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    &bytes[end..]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_whole_lines_come_out() {
        let now = Instant::now();
        let mut lines = Lines::default();
        assert_eq!(lines.push(b"a", now), b"");
        assert_eq!(lines.push(b"b\nc", now), b"ab\n");
        assert_eq!(lines.push(b"\n\nd\ne", now), b"c\n\nd\n");
        assert_eq!(lines.take_rest(), b"e");
    }

    #[test]
    fn a_prompt_is_due_after_a_short_silence() {
        let now = Instant::now();
        let mut lines = Lines::default();
        lines.push(b"name? ", now);
        assert_eq!(lines.wake_at(), Some(now + IDLE));
        assert_eq!(lines.take_rest(), b"name? ");
        assert_eq!(lines.wake_at(), None);
    }

    #[test]
    fn a_line_cut_by_a_full_buffer_waits_for_its_end() {
        let now = Instant::now();
        let mut lines = Lines::default();
        lines.push(&[b'x'; 4096], now);
        assert_eq!(lines.wake_at(), None);
        lines.push(b"y", now);
        assert_eq!(lines.wake_at(), Some(now + IDLE));
    }

    #[test]
    fn an_endless_line_does_not_fill_memory() {
        let now = Instant::now();
        let mut lines = Lines::default();
        let sent: usize = (0..100)
            .map(|_| lines.push(&[b'x'; 64 << 10], now).len())
            .sum();
        assert!(sent >= 99 * (64 << 10) - LINE_MAX && lines.rest.len() <= LINE_MAX);
    }

    proptest! {
        #[test]
        fn no_byte_is_lost_or_moved(pieces: Vec<Vec<u8>>) {
            let now = Instant::now();
            let mut lines = Lines::default();
            let mut sent = Vec::new();
            for piece in &pieces {
                let complete = lines.push(piece, now);
                prop_assert!(complete.is_empty() || complete.ends_with(b"\n"));
                sent.extend(complete);
            }
            sent.extend(lines.take_rest());
            prop_assert_eq!(sent, pieces.concat());
        }
    }
}
