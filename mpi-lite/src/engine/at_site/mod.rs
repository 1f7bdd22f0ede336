//! Waits for other ranks of this node without messages: they write into the shared memory.
//!
//! A waiter polls this memory as long as it would look for a message. Then it waits as in any other
//! call (`wait`): it takes turns, yields its core, sleeps, and is woken.

pub(crate) mod exchange;

use std::time::Duration;

use crate::clock::Instant;
use crate::engine::Engine;
use crate::engine::inbox::matching::Pattern;
use crate::engine::lane::Lane;
use crate::engine::ports::Calls;
use crate::engine::report::Subject;
use crate::engine::waiting::Shared as _;
use crate::error::{Cause, Error, Result};
use crate::ids::{Context, PeerId};
use crate::node::site::{About, Epoch, Look, Nonsense, Site, SiteId, Who};

/// How often a waiting process polls before it takes turns.
const LOOKS: u32 = 500;

/// A process takes a turn at least after this many epochs, even if it never has to wait: messages
/// of others must move too.
const EPOCHS_PER_TURN: u64 = 32;

/// A site, and the engine that moves messages while a member waits there.
#[derive(Clone, Copy, Debug)]
pub struct AtSite<'a> {
    engine: &'a Engine,
    site: &'a Site,
    /// Of the collectives of the communicator.
    context: Context,
}

impl<'a> AtSite<'a> {
    /// `site` with its engine. The messages of its members' collectives have `context`.
    #[must_use]
    pub fn new(engine: &'a Engine, site: &'a Site, context: Context) -> Self {
        Self {
            engine,
            site,
            context,
        }
    }

    /// The site where the members meet.
    #[must_use]
    pub fn site(&self) -> &'a Site {
        self.site
    }

    /// Begins the next epoch. Returns it, and `about` with what the epoch before was about.
    ///
    /// # Errors
    /// Why the members complete no collective any more. This process does not come then: where all
    /// are counted it would stand for one that has not come.
    // Inlined always: what it returns stays in registers then.
    #[inline(always)]
    pub fn begin_epoch(&self, about: About) -> Result<(Epoch<'a>, About)> {
        let is_due = self.site.site_id().last.is_multiple_of(EPOCHS_PER_TURN);
        let holds_back = if is_due && self.engine.waiting.spins() {
            self.take_turn()
        } else {
            self.engine.with(|lane| {
                lane.flush();
                holds_back_unless_failed(lane)
            })
        };
        let holds_back = match holds_back {
            Some(holds_back) => holds_back,
            None => self.holds_back()?,
        };
        Ok(self.site.begin_epoch(about, holds_back))
    }

    /// Takes a turn. Returns as [`holds_back_unless_failed`].
    #[inline(never)]
    fn take_turn(&self) -> Option<bool> {
        self.engine.look(|lane| holds_back_unless_failed(lane))
    }

    /// Returns true if messages are kept back.
    ///
    /// # Errors
    /// Why the members complete no collective any more.
    #[cold]
    #[inline(never)]
    fn holds_back(&self) -> Result<bool> {
        self.engine.with(|lane| match self.failure(lane) {
            None => Ok(lane.links().hold_back_in_memory()),
            Some(failure) => Err(failure),
        })
    }

    /// Waits until `look` finds something, in the epoch for which this process came: `mine`.
    ///
    /// # Errors
    /// `Cause::Lost` if a member is lost; `Cause::System` if what others wrote makes no sense;
    /// `Cause::Stray` or `Cause::MismatchAtSite` if a member is in another collective operation.
    #[inline]
    pub fn wait<T>(&self, mine: About, mut look: impl FnMut() -> Look<T>) -> Result<T> {
        let looks = match self.engine.waiting.spins() {
            true => LOOKS,
            false => 1,
        };
        for _ in 0..looks {
            if let Some(found) = look() {
                return found.map_err(complain);
            }
        }
        self.wait_long(mine, &mut look)
    }

    /// One for all conditions: each would be a copy of the whole wait.
    #[inline(never)]
    fn wait_long<T>(&self, mine: About, look: &mut dyn FnMut() -> Look<T>) -> Result<T> {
        let mut round = Round::begin(self);
        let subject = |_: &Lane| Subject::Collective(self.context);
        let found = self.engine.wait_until(subject, |lane| {
            if let Some(found) = look() {
                return Some(found.map_err(complain));
            }
            let wrong = self.failure(lane);
            let wrong = wrong.or_else(|| self.stray(lane, mine));
            let wrong = wrong.or_else(|| round.mismatch(lane, mine))?;
            // The member may have been in the right epoch, and have gone on between the two checks.
            Some(look().map_or(Err(wrong), |found| found.map_err(complain)))
        });
        self.engine.with(|lane| lane.waiters().look_again(None));
        found
    }

    /// Returns true if the members complete no collective any more: one is lost, or has given up.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.engine.with(|lane| self.failure(lane).is_some())
    }

    /// This process completes no collective of the communicator any more: see
    /// [`Lane::give_up_collectives`].
    #[cold]
    pub fn give_up(&self, error: &Error, why: &str) {
        self.engine.with(|lane| {
            let from = lane.view().ports().calls(self.context);
            lane.give_up_collectives((Calls::of(self.context, None), from), error, why);
        });
    }

    /// Checks that all members have come for `mine`. All must have been counted.
    ///
    /// # Errors
    /// `Cause::MismatchAtSite` if not; `Cause::System` if what others wrote makes no sense.
    pub fn check_all(&self, epoch: Epoch<'_>, mine: About) -> Result<()> {
        for rank in 0..self.site.size() {
            let come = epoch.has_come(rank).unwrap_or(Ok(About::NONE));
            agree(mine, (Some(rank), come.map_err(complain)?))?;
        }
        Ok(())
    }

    /// Any message of the collectives of the communicator.
    fn any(&self) -> Pattern {
        Pattern {
            context: self.context,
            source: None,
            tag: None,
        }
    }

    /// Why the members complete no collective any more: one is lost, or has given up.
    fn failure(&self, lane: &Lane) -> Option<Error> {
        lane.failure_behind(&self.any())
    }

    /// Returns the error for a message of a member that has not come to this epoch. The member is
    /// in another operation: all messages of earlier ones have been received.
    fn stray(&self, lane: &mut Lane, mine: About) -> Option<Error> {
        let (envelope, _) = lane.waiting_message(&self.any())?;
        let has_come = self.site.has_come(envelope.source as usize);
        let stray = Cause::Stray {
            source_rank: envelope.source,
            tag: envelope.tag,
            mine: mine.encode(),
        };
        (!has_come).then(|| stray.into())
    }

    /// Wakes the sleepers among `who`. What they wait for must be written.
    #[inline]
    pub fn wake(&self, who: Who) {
        if self.site.has_sleepers(who) {
            self.ring(who);
        }
    }

    #[cold]
    fn ring(&self, who: Who) {
        if let Some(node) = &self.engine.node {
            node.wake(&self.site.sleepers(who));
        }
    }
}

/// The inspections of a member that waits for long: another member may have come for something
/// else, and wait for nobody. An inspection costs a few cache lines per member, so the first comes
/// only after `ROUND_LEAST`, longer than a collective normally takes.
struct Round<'a> {
    at_site: &'a AtSite<'a>,
    at: Instant,
    /// Until the next time; doubled each time, up to `ROUND_MOST`.
    pause: Duration,
}

const ROUND_LEAST: Duration = Duration::from_millis(100);
const ROUND_PER_MEMBER: Duration = Duration::from_millis(1);
const ROUND_MOST: Duration = Duration::from_secs(10);

impl<'a> Round<'a> {
    fn begin(at_site: &'a AtSite<'a>) -> Self {
        let members = at_site.site.size() as u32;
        let pause = ROUND_LEAST + ROUND_PER_MEMBER * members;
        let at = at_site.engine.now().plus(pause);
        Self { at_site, at, pause }
    }

    /// Inspects the lines of all members if it is time to, and returns the error for a mismatch.
    /// Sets when the lane looks again.
    fn mismatch(&mut self, lane: &mut Lane, mine: About) -> Option<Error> {
        let now = self.at_site.engine.now();
        let is_due = now >= self.at;
        if is_due {
            self.pause = (2 * self.pause).min(ROUND_MOST);
            self.at = now.plus(self.pause);
        }
        lane.waiters().look_again(Some(self.at));
        let (rank, theirs) = is_due.then(|| self.at_site.site.mismatch(mine))??;
        Some(mismatch(mine, (Some(rank), theirs)))
    }
}

/// Checks that this process and another member came for the same operation: all programs that are
/// right do. The rank of the other member may be unknown.
///
/// # Errors
/// `Cause::MismatchAtSite`.
#[inline]
pub fn agree(mine: About, (rank, theirs): (Option<usize>, About)) -> Result<()> {
    if theirs == mine {
        return Ok(());
    }
    Err(mismatch(mine, (rank, theirs)))
}

/// The error for two members that came for different operations.
#[cold]
fn mismatch(mine: About, (rank, theirs): (Option<usize>, About)) -> Error {
    Cause::MismatchAtSite {
        rank: rank.map(|rank| rank as u32),
        mine: mine.encode(),
        theirs: theirs.encode(),
    }
    .into()
}

/// The error for nonsense in the shared memory.
#[cold]
pub fn complain(_: Nonsense) -> Error {
    let what = "a rank of this node has written invalid data into the shared memory";
    Cause::System(what.into()).into()
}

impl Engine {
    /// Where the process with rank `me` of `group` meets the others, if all of them are on this
    /// node and share memory.
    #[must_use]
    pub fn site(&self, site_id: SiteId, group: &[PeerId], me: u32) -> Option<Site> {
        let node = self.node.as_deref().filter(|_| group.len() > 1)?;
        node.site(site_id, group, me as usize)
    }
}

/// Returns true if messages are kept back; `None` if something has failed, perhaps elsewhere.
#[inline(always)]
fn holds_back_unless_failed(lane: &Lane) -> Option<bool> {
    let has_failures = lane.view().ports().has_failures();
    (!has_failures).then(|| lane.links().hold_back_in_memory())
}
