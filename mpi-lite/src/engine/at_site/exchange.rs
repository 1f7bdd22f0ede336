//! Epochs in which each member writes its send buffer in shared memory, and the last one to come
//! works for all.
//!
//! With n members an exchange by messages takes each of them n - 1 waits. If they share cores, each
//! wait is a switch to another process. Here each member waits once, however many there are.

use crate::data::Buffer;
use crate::engine::at_site::{AtSite, agree, complain};
use crate::error::Result;
use crate::memory::Span;
use crate::node::site::{About, EXCHANGE_BYTES, Epoch, Who};

impl<'a> AtSite<'a> {
    /// Runs an epoch for `about`: each member fills its send buffer by `bring`, the last one to
    /// come calls `work` for all. Returns the epoch and what `work` returned.
    ///
    /// # Errors
    /// `Cause::Stray` or `Cause::MismatchAtSite` if not all came for the same; `Cause::Lost`; the
    /// error of `work`.
    pub fn combine(
        self,
        about: About,
        bring: impl FnOnce(Epoch<'_>),
        work: impl FnOnce(Epoch<'_>) -> Result<bool>,
    ) -> Result<(Epoch<'a>, bool)> {
        let (epoch, about) = self.begin_epoch(about)?;
        self.wait(about, || epoch.is_free())?;
        bring(epoch);
        epoch.come(about);
        let yes = about.with_root(1);
        let is_last = epoch.count().map_err(complain)?;
        let said = if is_last {
            let outcome = self.check_all(epoch, about).and_then(|()| work(epoch));
            let said = match outcome {
                Ok(true) => yes,
                Ok(false) => about,
                Err(_) => About::NONE,
            };
            epoch.release_exchange(said);
            self.wake(Who::Others);
            outcome.map(|_| said)?
        } else {
            self.wait(about, || epoch.is_released())?
        };
        epoch.is_over();
        if said != yes {
            agree(about, (None, said))?;
        }
        Ok((epoch, said == yes))
    }

    /// All-gather of parts of any length: calls `take` with offset and piece of what all members
    /// give, one after the other. The part of rank r begins at `start(r)`; `start(size)` is the
    /// length of all. `start` is the same function in all members. This member's part is in `own`.
    ///
    /// # Errors
    /// `Cause::Stray` or `Cause::MismatchAtSite` if members are in different collectives;
    /// `Cause::Lost`.
    pub fn concatenate(
        self,
        about: About,
        start: impl Fn(usize) -> usize,
        own: &Buffer,
        mut take: impl FnMut(usize, Span),
    ) -> Result<()> {
        let (me, size) = (self.site().me(), self.site().size());
        let total = start(size);
        for from in (0..total).step_by(EXCHANGE_BYTES) {
            let end = total.min(from + EXCHANGE_BYTES);
            // What of a rank's part lies in this piece: where it begins there, and how long it is.
            let piece = |rank| {
                let (first, behind) = (start(rank).max(from), start(rank + 1).min(end));
                (first, behind.saturating_sub(first))
            };
            let bring = |epoch: Epoch<'_>| {
                let (first, len) = piece(me);
                if len > 0 {
                    let done = (first - start(me)) as u64;
                    own.copy_out(done, epoch.send_buffer().part(0, len));
                }
            };
            let work = |epoch: Epoch<'_>| {
                let all = epoch.broadcast_buffer();
                for rank in 0..size {
                    let (first, len) = piece(rank);
                    if len > 0 {
                        all.part(first - from, len)
                            .copy_from(epoch.send_buffer_of(rank));
                    }
                }
                Ok(false)
            };
            let (epoch, _) = self.combine(about, bring, work)?;
            take(from, epoch.broadcast_buffer().part(0, end - from));
        }
        Ok(())
    }
}
