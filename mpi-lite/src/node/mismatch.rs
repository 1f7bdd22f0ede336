//! Finds members that are in another collective, by what their slots contain.

use core::sync::atomic::Ordering::{Acquire, Relaxed};

use super::site::{About, Before, Member, ROUND_BITS, Site, Straggler};
use crate::sync::fence;

impl Site {
    /// Returns true if the member of `rank` has come to an epoch to which this member has not, and
    /// all messages that it sent before lie in their channels.
    #[must_use]
    pub fn has_gone_on(&self, rank: usize) -> bool {
        let at = self.at.load(Relaxed);
        let is_ahead = |member: &Member| {
            let word = member.slot.at.0.load(Acquire);
            word >> 1 > at && word & 1 == 0
        };
        self.members.get(rank).is_some_and(is_ahead)
    }

    /// Returns what the member of `rank` came for at the first epoch to which this one has not
    /// come, if its line still contains that.
    #[must_use]
    pub fn next_of(&self, rank: usize) -> Option<About> {
        self.came_for(rank, self.at.load(Relaxed) + 1)
    }

    /// Returns what this member brought to its last epoch, and a rank that brought something else
    /// to that epoch. Nobody gathers any more.
    #[must_use]
    pub fn disagreement(&self) -> Option<(About, (usize, About))> {
        let at = self.at.load(Relaxed);
        if at == self.before_first {
            return None;
        }
        let mine = self.came_for(self.me, at)?;
        let differs = |theirs: About| theirs.now() != mine.now();
        Some((mine, self.differs(at, differs)?))
    }

    /// Finds a member that has come to fewer epochs than another one, of which one is this member.
    /// Nobody comes any more.
    #[must_use]
    pub fn straggler(&self) -> Option<Straggler> {
        let at = self.at.load(Relaxed);
        let last_of = |rank: usize| {
            let last = self.members[rank].slot.at.0.load(Acquire) >> 1;
            last.max(self.before_first)
        };
        let all = 0..self.members.len();
        let (other, last) = all
            .map(|rank| (rank, last_of(rank)))
            .find(|&(_, last)| last != at)?;
        let (ahead, rank) = match last > at {
            true => (other, self.me),
            false => (self.me, other),
        };
        Some(Straggler {
            rank,
            ahead,
            missed: self.came_for(ahead, at.min(last) + 1),
        })
    }

    /// Finds a rank that came to this member's last epoch for something else than `mine`, or to
    /// the epoch before for something else than this member; and returns what for. What it came
    /// for before stands in [`About::before`].
    #[must_use]
    pub fn mismatch(&self, mine: About) -> Option<(usize, About)> {
        let at = self.at.load(Relaxed);
        let before = || {
            if mine.before() == Before::default() {
                // The lines are of an earlier communicator at this place.
                return None;
            }
            let differs = |theirs: About| theirs.now() != mine.before();
            let (rank, theirs) = self.differs(at - 1, differs)?;
            Some((rank, mine.with_before(theirs)))
        };
        self.differs(at, |theirs| !theirs.is_as(mine))
            .or_else(before)
    }

    /// Finds a rank that came to epoch `at` for what differs, and returns what for.
    fn differs(&self, at: u64, differs: impl Fn(About) -> bool) -> Option<(usize, About)> {
        let ranks = 0..self.members.len();
        let mut all = ranks.filter_map(|rank| Some((rank, self.came_for(rank, at)?)));
        all.find(|&(_, theirs)| differs(theirs))
    }

    /// Returns what the member of `rank` came for at epoch `at`, if its line still contains that.
    fn came_for(&self, rank: usize, at: u64) -> Option<About> {
        let line = &self.members[rank].slot.brought[self.turn_of(at)];
        if line.sequence.load(Acquire) >> ROUND_BITS != at {
            return None;
        }
        let about = About::decode(line.words[0].load(Relaxed));
        // The member may have left meanwhile, and be writing the line again.
        fence(Acquire);
        (line.sequence.load(Relaxed) >> ROUND_BITS == at).then_some(about)
    }
}
