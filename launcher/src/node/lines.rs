//! Cutting what a rank writes into whole lines.
//!
//! A line that has no end yet may be a prompt, and is shown when its rank has fallen silent. A rank
//! that waits for a core has not: on a busy machine it is in the middle of the line.

use std::time::{Duration, Instant};

use super::activity::Activity;

/// A rank has fallen silent that has slept or run for this long without a word.
const IDLE: Duration = Duration::from_millis(50);

/// The longest time between two looks at what a rank does. They become rarer: many ranks that
/// share a core are to leave it to each other.
const PAUSE_MAX: Duration = Duration::from_secs(1);

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
    /// Set while there is a begun line.
    silence: Option<Silence>,
}

/// Since the last word of a rank.
#[derive(Debug)]
struct Silence {
    look_at: Instant,
    pause: Duration,
    /// What the rank did at the first look, and at the last one.
    seen: Option<(Activity, Activity)>,
}

impl Silence {
    /// Returns true if the rank has fallen silent, and else sees to the next look.
    fn is_over(&mut self, activity: Activity, now: Instant) -> bool {
        let first = match self.seen.take() {
            Some((first, last)) if activity.could_go_on(&first, &last, IDLE) => return true,
            Some((first, _)) => {
                self.pause = (2 * self.pause).min(PAUSE_MAX);
                first
            }
            None => activity.clone(),
        };
        self.seen = Some((first, activity));
        self.look_at = now + self.pause;
        false
    }
}

impl Lines {
    /// Takes what the rank wrote. Returns the lines that are complete now, maybe none.
    pub(super) fn push(&mut self, bytes: &[u8], now: Instant) -> Vec<u8> {
        self.received += bytes.len() as u64;
        let end = bytes.iter().rposition(|byte| *byte == b'\n');
        let (ended, begun) = bytes.split_at(end.map_or(0, |end| end + 1));
        let mut complete = Vec::new();
        if !ended.is_empty() {
            complete.append(&mut self.rest);
            complete.extend_from_slice(ended);
        }
        self.rest.extend_from_slice(begun);
        self.silence = (!self.rest.is_empty()).then(|| Silence {
            look_at: now + IDLE,
            pause: IDLE,
            seen: None,
        });
        if self.rest.len() > LINE_MAX {
            complete.append(&mut self.take_rest());
        }
        complete
    }

    /// When to look what the rank does, since the begun line may be a prompt.
    pub(super) fn look_at(&self) -> Option<Instant> {
        let silence = self.silence.as_ref();
        let is_cut_by_a_buffer = self.received.is_multiple_of(STDIO_BLOCK);
        silence.filter(|_| !is_cut_by_a_buffer).map(|it| it.look_at)
    }

    /// Returns true if the begun line is to be shown, when the rank does this and nothing can be
    /// read from it; `None` if it is unknown what it does.
    pub(super) fn is_prompt(&mut self, activity: Option<Activity>, now: Instant) -> bool {
        match (&mut self.silence, activity) {
            (Some(silence), Some(activity)) => silence.is_over(activity, now),
            (silence, _) => silence.is_some(),
        }
    }

    /// Takes the begun line out.
    pub(super) fn take_rest(&mut self) -> Vec<u8> {
        self.silence = None;
        std::mem::take(&mut self.rest)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::activity::tests::activity;
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
        assert_eq!(lines.look_at(), Some(now + IDLE));
        let asleep = || Some(activity(&[('S', 10)]));
        assert!(!lines.is_prompt(asleep(), now + IDLE));
        assert_eq!(lines.look_at(), Some(now + 2 * IDLE));
        assert!(lines.is_prompt(asleep(), now + 2 * IDLE));
        assert_eq!(lines.take_rest(), b"name? ");
        assert_eq!(lines.look_at(), None);
    }

    #[test]
    fn a_rank_that_waits_for_a_core_is_in_the_middle_of_its_line() {
        let mut now = Instant::now();
        let mut lines = Lines::default();
        lines.push(b"half ", now);
        for _ in 0..20 {
            now = lines.look_at().unwrap();
            assert!(!lines.is_prompt(Some(activity(&[('R', 10)])), now));
        }
        assert_eq!(lines.look_at(), Some(now + PAUSE_MAX));
        // Then it has a core, and computes.
        now += PAUSE_MAX;
        assert!(lines.is_prompt(Some(activity(&[('R', 60)])), now));
    }

    #[test]
    fn a_word_of_the_rank_is_the_beginning_of_another_silence() {
        let now = Instant::now();
        let mut lines = Lines::default();
        lines.push(b"half ", now);
        assert!(!lines.is_prompt(Some(activity(&[('S', 10)])), now + IDLE));
        lines.push(b"of it", now + IDLE);
        assert!(!lines.is_prompt(Some(activity(&[('S', 10)])), now + 2 * IDLE));
    }

    #[test]
    fn where_the_system_does_not_show_what_ranks_do_silence_suffices() {
        let now = Instant::now();
        let mut lines = Lines::default();
        assert!(!lines.is_prompt(None, now));
        lines.push(b"name? ", now);
        assert!(lines.is_prompt(None, now + IDLE));
    }

    #[test]
    fn a_line_cut_by_a_full_buffer_waits_for_its_end() {
        let now = Instant::now();
        let mut lines = Lines::default();
        lines.push(&[b'x'; 4096], now);
        assert_eq!(lines.look_at(), None);
        lines.push(b"y", now);
        assert_eq!(lines.look_at(), Some(now + IDLE));
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
