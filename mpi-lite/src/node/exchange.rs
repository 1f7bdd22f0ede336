//! Sheets: through them members of a communicator exchange what fits no payload.
//!
//! Each rank has two sheets of the node's memory, whatever the communicator: its row holds what it
//! gives, its column what it gets. A third sheet belongs to a place: its board, with what all
//! members get alike. An epoch hands them over: each member writes its row and is counted; the
//! last one to come reads all rows, writes columns or the board, and releases the others, which
//! then read.
//!
//! So nothing is overwritten before it was read. A row is read before the epoch is released, and
//! its owner stays until then. Columns and the board are written when all have come, and a member
//! that has come to this epoch has read what the one before gave it.

use super::line::put;
use super::site::{About, Epoch};
use crate::memory::Span;

impl Epoch<'_> {
    /// What this member gives: it may write it until it comes.
    #[must_use]
    pub fn row(&self) -> Span {
        self.myself().row.span()
    }

    /// What the member of `rank` gives: the last one to come may read it until it releases.
    #[must_use]
    pub fn row_of(&self, rank: usize) -> Span {
        self.site.members[rank].row.span()
    }

    /// What this member gets: it may read it once the epoch is released.
    #[must_use]
    pub fn column(&self) -> Span {
        self.myself().column.span()
    }

    /// What the member of `rank` gets: the last one to come may write it until it releases.
    #[must_use]
    pub fn column_of(&self, rank: usize) -> Span {
        self.site.members[rank].column.span()
    }

    /// What all get: the last one to come may write it until it releases, then all may read it.
    #[must_use]
    pub fn board(&self) -> Span {
        self.site.board.span()
    }

    /// Comes; what this member brings lies in its row. [`Epoch::is_free`] has said that it may.
    pub fn come(&self, about: About) {
        let line = &self.myself().slot.brought[self.turn()];
        put(line, Span::EMPTY, self.sequence(0), (about, |_| ()));
    }

    /// Ends an epoch at which all were counted; what it gives lies in the sheets.
    pub fn release_sheets(&self, about: About) {
        let line = &self.site.members[0].slot.results[self.result_turn()];
        put(line, Span::EMPTY, self.sequence(0), (about, |_| ()));
    }
}
