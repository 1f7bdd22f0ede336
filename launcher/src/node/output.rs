//! What the ranks of a node write, on its way to `mpirun`.

use std::collections::VecDeque;
use std::time::Instant;

use serde_bytes::ByteBuf;

use super::Node;
use super::activity::Activity;
use super::rank::{STREAMS, Source};
use crate::wire::{OUTPUT_WINDOW, Report, Stream};

/// Output that has been reported and not been taken yet.
#[derive(Debug, Default)]
pub(super) struct OnTheWay(usize);

impl OnTheWay {
    /// Returns true if more output may be read.
    pub(super) fn has_room(&self) -> bool {
        self.0 < OUTPUT_WINDOW
    }

    /// So many bytes have been taken.
    pub(super) fn take(&mut self, bytes: u64) {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        self.0 = self.0.saturating_sub(bytes);
    }

    /// Sends these bytes on the way, if there are any.
    fn add(&mut self, rank: u32, stream: Stream, bytes: Vec<u8>, reports: &mut VecDeque<Report>) {
        self.0 += bytes.len();
        if !bytes.is_empty() {
            let bytes = ByteBuf::from(bytes);
            reports.push_back(Report::Output {
                rank,
                stream,
                bytes,
            });
        }
    }
}

impl Node {
    /// Reads once from a pipe. Returns true if there may be more.
    pub(super) fn hear_output(&mut self, place: usize, stream: Stream, now: Instant) -> bool {
        let rank = &mut self.ranks[place];
        let number = rank.rank;
        let Some(source) = rank.source(stream) else {
            return false;
        };
        let heard = source.hear(&mut self.scratch, now);
        let is_at_end = source.is_at_end;
        if is_at_end {
            *rank.source(stream) = None;
        }
        let Some(bytes) = heard else {
            return false;
        };
        self.strangers.look_at_writer(place, now);
        self.on_the_way
            .add(number, stream, bytes, &mut self.reports);
        !is_at_end
    }

    /// Shows a line that its rank does not end.
    pub(super) fn show_begun_line(&mut self, place: usize, stream: Stream, now: Instant) {
        let is_due = |source: &Option<Source>| {
            let at = source.as_ref().and_then(|source| source.lines.look_at());
            at.is_some_and(|at| at <= now)
        };
        if !self.on_the_way.has_room() || !is_due(self.ranks[place].source(stream)) {
            return;
        }
        // What it wrote before it did this can be read after that.
        let activity = Activity::of(self.ranks[place].pid);
        self.hear_output(place, stream, now);
        if !is_due(self.ranks[place].source(stream)) {
            return;
        }
        let number = self.ranks[place].rank;
        if let Some(source) = self.ranks[place].source(stream)
            && source.lines.is_prompt(activity, now)
        {
            let begun = source.lines.take_rest();
            self.on_the_way
                .add(number, stream, begun, &mut self.reports);
        }
    }

    /// Reads the last words of ranks that ended. Processes that they left behind may keep the
    /// pipes open for ever, so the end of a pipe is not waited for.
    pub(super) fn hear_last_words(&mut self, now: Instant) {
        for place in 0..self.ranks.len() {
            if self.ranks[place].ended.is_none() {
                continue;
            }
            for stream in STREAMS {
                self.drain(place, stream, now);
            }
        }
    }

    fn drain(&mut self, place: usize, stream: Stream, now: Instant) {
        while self.on_the_way.has_room() {
            let before = self.on_the_way.0;
            let has_more = self.hear_output(place, stream, now);
            let length = self.on_the_way.0 - before;
            let rank = &mut self.ranks[place];
            let number = rank.rank;
            let Some(source) = rank.source(stream) else {
                return;
            };
            if !has_more || source.counts_as_last_words(length) {
                let rest = source.lines.take_rest();
                *rank.source(stream) = None;
                self.on_the_way.add(number, stream, rest, &mut self.reports);
                return;
            }
        }
    }
}
