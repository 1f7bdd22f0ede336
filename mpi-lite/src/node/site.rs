//! Collective sites: the members of a communicator do small collectives there without messages.
//!
//! The node's memory has places for collective sites. At each place each rank has a slot: lines
//! that it alone writes. The members of a communicator agree on a place when it is made, and find
//! each other's slots there. Groups without a common member may use the same place.
//!
//! Each collective is an epoch of the site, and epochs are numbered. A member enters one by writing
//! its line: what it contributes, then the sequence word with the number. Lines are used in turn:
//! four if each member has a core of its own, 16 if members share cores, so that a root does not
//! wait for each member that does not run. A member that enters an epoch overwrites what it
//! contributed four, or 16, epochs before: its readers must be done with that. They are, if they
//! have entered the epoch after it. Often that is known, because a later epoch ended only when all
//! had entered it; otherwise [`Epoch::is_free`] looks at their sequence words.
//!
//! Numbers only grow, also from one communicator of a place to the next, so nothing is ever
//! cleared. What others write is checked before it is used: numbers against what is possible,
//! lengths against the room.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::Arc;

use super::Node;
use super::line::{get, put};
use super::segment::{
    AHEAD, ASLEEP, Area, Count, ExchangeBuffer, MemberSlot, PAYLOAD_BYTES, Payloads, RingSlot,
};
use crate::ids::PeerId;
use crate::memory::Room;
use crate::sync::{compiler_fence, fence};

pub use super::about::{About, Before, Straggler, Who};
pub use super::line::{LINE_BYTES, Line};
pub use super::segment::{EXCHANGE_BYTES, PLACES};

/// The most bytes that a member can bring at any place.
pub const BRING_BYTES: usize = PAYLOAD_BYTES;

/// Low bits of a sequence word: the round within the epoch. 2^15 members need no more.
pub(crate) const ROUND_BITS: u32 = 4;

/// The first of the two payloads for results; before them are those for what the rank brings.
const RESULT_PAYLOADS: usize = AHEAD;

/// Lines that are used in turn where each member has a core of its own: nobody gets far ahead
/// there, and few lines stay near.
pub(super) const FEW: usize = 4;

/// What was found in the shared memory cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nonsense;

/// What a look finds: nothing yet, or what it looked for.
pub type Look<T> = Option<Result<T, Nonsense>>;

/// A place, and the number of the last epoch there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteId {
    /// Below [`PLACES`].
    pub place: u32,
    /// No member has seen a greater number there.
    pub last: u64,
}

#[derive(Debug)]
pub(crate) struct Member {
    peer: PeerId,
    pub(crate) slot: &'static MemberSlot,
    payloads: Payloads,
    area: &'static Area,
    pub(crate) send_buffer: &'static ExchangeBuffer,
    pub(crate) receive_buffer: &'static ExchangeBuffer,
}

/// A communicator's site in one member. Its numbers are atomic so that it can be shared; but one
/// thread at a time is in a collective of one communicator, as MPI demands.
#[derive(Debug)]
pub struct Site {
    place: u32,
    pub(crate) members: Box<[Member]>,
    pub(crate) me: usize,
    /// What all members get alike.
    pub(crate) broadcast_buffer: &'static ExchangeBuffer,
    /// It may use the exchange buffers of its members' ranks.
    has_exchange_buffers: bool,
    is_oversubscribed: bool,
    must_fence: bool,
    /// Lines that are used in turn, a power of two.
    lines: u64,
    /// The number before that of its first epoch. Lines and slots up to it are of communicators
    /// that had the place before.
    pub(crate) before_first: u64,
    /// The epoch to which this member came last.
    pub(crate) at: AtomicU64,
    /// What that epoch is about.
    before: AtomicU64,
    /// The last epoch to which all have certainly come.
    complete: AtomicU64,
    /// Which members may still have to read what this member brought, by turn.
    owed: [AtomicU64; AHEAD],
    /// Which members may wait for this one to come to the next epoch, to write their lines anew.
    awaited_by: AtomicU64,
    /// How many have come to the epochs at which members are counted.
    pub(crate) counted: AtomicU64,
    /// How many have brought something to this member alone, by turn.
    given: [AtomicU64; AHEAD],
    /// All epochs of the process.
    epochs: Arc<AtomicU64>,
}

impl Node {
    /// Where the process with rank `me` of `group`, its members by rank, meets the others; `None`
    /// if not all of them are on this node.
    pub fn site(&self, site_id: SiteId, group: &[PeerId], me: usize) -> Option<Site> {
        let SiteId { place, last } = site_id;
        let member = |&peer: &PeerId| {
            let local = *self.locals.get(peer.0 as usize)?;
            (local != u32::MAX).then(|| Member {
                peer,
                slot: self.segment.slot(place, local),
                payloads: self.segment.payloads(place, local),
                area: self.segment.area(local),
                send_buffer: self.segment.send_buffer(local),
                receive_buffer: self.segment.receive_buffer(local),
            })
        };
        let members: Box<[Member]> = group.iter().map(member).collect::<Option<_>>()?;
        let needs_fence = |member: &Member| self.wakeup.must_fence(member.area);
        let first = self.locals[group[0].0 as usize];
        Some(Site {
            place,
            me,
            broadcast_buffer: self.segment.broadcast_buffer(place, first),
            has_exchange_buffers: true,
            is_oversubscribed: self.wakeup.is_oversubscribed(),
            lines: match self.wakeup.is_oversubscribed() {
                true => AHEAD as u64,
                false => FEW as u64,
            },
            must_fence: members.iter().any(needs_fence),
            members,
            before_first: last,
            at: AtomicU64::new(last),
            before: AtomicU64::new(0),
            complete: AtomicU64::new(last),
            owed: [0; AHEAD].map(AtomicU64::new),
            awaited_by: AtomicU64::new(0),
            counted: AtomicU64::new(0),
            given: [0; AHEAD].map(AtomicU64::new),
            epochs: Arc::clone(&self.epochs),
        })
    }

    /// Wakes these local peers, if they still sleep.
    pub fn wake(&self, sleepers: &[PeerId]) {
        for peer in sleepers {
            let local = self.locals[peer.0 as usize];
            self.wakeup.wake(local, self.segment.area(local), false);
        }
    }
}

impl Site {
    /// How many members there are.
    #[must_use]
    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// This process's rank among them.
    #[must_use]
    pub fn me(&self) -> usize {
        self.me
    }

    /// Returns true if members share cores. It is the same for all members.
    #[must_use]
    pub fn is_oversubscribed(&self) -> bool {
        self.is_oversubscribed
    }

    /// Uses no exchange buffers. A rank has them once, whatever the communicator: if several
    /// threads may be in collectives at once, only `MPI_COMM_WORLD` uses them. All members must
    /// agree.
    pub fn leave_exchange_buffers(&mut self) {
        self.has_exchange_buffers = false;
    }

    /// Returns true if it may use the exchange buffers.
    #[must_use]
    pub fn has_exchange_buffers(&self) -> bool {
        self.has_exchange_buffers
    }

    /// The most bytes that a member can bring here: [`BRING_BYTES`] or more.
    #[must_use]
    pub fn most_bytes(&self) -> usize {
        self.members[self.me].payloads.each()
    }

    /// A number that the members share. Whoever had the place before has left something in it.
    pub(crate) fn shared_number(&self) -> &Count {
        &self.members[0].slot.shared
    }

    /// Returns true if `peer` is one of the members.
    #[must_use]
    pub fn has(&self, peer: PeerId) -> bool {
        self.members.iter().any(|member| member.peer == peer)
    }

    /// Which of the lines and payloads has its turn at this epoch.
    #[inline]
    pub(crate) fn turn_of(&self, at: u64) -> usize {
        (at & (self.lines - 1)) as usize
    }

    /// The next epoch, and what it is about, which includes what the epoch before it was about.
    /// `holds_back`: some messages of this member did not fit their channels yet.
    #[inline(always)]
    pub fn begin_epoch(&self, about: About, holds_back: bool) -> (Epoch<'_>, About) {
        let at = self.at.load(Relaxed) + 1;
        self.at.store(at, Relaxed);
        let slot = self.members[self.me].slot;
        slot.at.0.store(at << 1 | u64::from(holds_back), Release);
        let epochs = self.epochs.load(Relaxed);
        self.epochs.store(epochs + 1, Relaxed);
        let awaited_by = Who::decode(self.awaited_by.load(Relaxed));
        self.awaited_by.store(Who::Nobody.encode(), Relaxed);
        let epoch = Epoch {
            site: self,
            at,
            awaited_by,
        };
        (epoch, about.after(&self.before))
    }

    /// Its place, and the number of its last epoch.
    #[must_use]
    pub fn site_id(&self) -> SiteId {
        SiteId {
            place: self.place,
            last: self.at.load(Relaxed),
        }
    }

    /// This member comes no more. Others may still have to read what it brought.
    pub fn leave(&self) {
        let slot = self.members[self.me].slot;
        // All that is counted here is over before this member's last epoch is.
        for count in slot.given.iter().chain([&slot.come]) {
            count.0.store(0, Relaxed);
        }
        slot.left.0.store(self.at.load(Relaxed), Release);
    }

    /// Returns true if all members have left.
    #[must_use]
    pub fn is_over(&self) -> bool {
        let at = self.at.load(Relaxed);
        let has_left = |member: &Member| member.slot.left.0.load(Acquire) >= at;
        self.members.iter().all(has_left)
    }

    /// Returns true if the member of `rank` has come to the epoch to which this one came last.
    #[must_use]
    pub fn has_come(&self, rank: usize) -> bool {
        let at = self.at.load(Relaxed);
        let member = self.members.get(rank);
        member.is_some_and(|member| self.has_come_to(at, member))
    }

    /// Returns true if `member` has come to epoch `at` or a later one.
    #[inline]
    fn has_come_to(&self, at: u64, member: &Member) -> bool {
        let line = &member.slot.brought[self.turn_of(at)];
        line.sequence.load(Acquire) >= at << ROUND_BITS
    }

    /// Returns true if one of `who` sleeps and has to be woken, once what they wait for is written.
    #[inline]
    pub fn has_sleepers(&self, who: Who) -> bool {
        if who == Who::Nobody {
            return false;
        }
        if self.must_fence {
            fence(SeqCst);
        } else {
            compiler_fence(SeqCst);
        }
        match who {
            Who::Nobody => false,
            Who::One(rank) => self.members[rank].is_asleep(),
            // This process is one of the members, but it is not asleep.
            Who::Others => self.members.iter().any(Member::is_asleep),
        }
    }

    /// The sleepers among `who`.
    #[must_use]
    pub fn sleepers(&self, who: Who) -> Vec<PeerId> {
        let some = match who {
            Who::Nobody => &[],
            Who::One(rank) => core::slice::from_ref(&self.members[rank]),
            Who::Others => &self.members[..],
        };
        let sleepers = some.iter().filter(|member| member.is_asleep());
        sleepers.map(|member| member.peer).collect()
    }
}

impl Member {
    #[inline]
    fn is_asleep(&self) -> bool {
        self.area.attention.load(Relaxed) & ASLEEP != 0
    }
}

/// One collective, seen by one member.
#[derive(Clone, Copy, Debug)]
pub struct Epoch<'a> {
    pub(crate) site: &'a Site,
    at: u64,
    awaited_by: Who,
}

impl Epoch<'_> {
    #[inline]
    pub(crate) fn turn(&self) -> usize {
        self.site.turn_of(self.at)
    }

    /// Which of the lines and payloads for results has its turn.
    #[inline]
    pub(crate) fn result_turn(&self) -> usize {
        (self.at % 2) as usize
    }

    /// The first epoch after the one whose line this one overwrites.
    #[inline]
    fn first_after(&self) -> u64 {
        self.at.saturating_sub(self.site.lines - 1)
    }

    pub(crate) fn myself(&self) -> &Member {
        &self.site.members[self.site.me]
    }

    /// Which members may wait for this one to come: it had to read what they brought to the epoch
    /// before.
    #[inline]
    pub fn awaited_by(&self) -> Who {
        self.awaited_by
    }

    /// This epoch can be over for `who` before it is over for this member: they have to wait for
    /// this member to come to the next epoch before they can come to the one after that.
    #[inline]
    pub fn is_to_be_read_for(&self, who: Who) {
        self.site.awaited_by.store(who.encode(), Relaxed);
    }

    /// Finds that this member may bring something: what it brought before has been read.
    #[inline]
    pub fn is_free(&self) -> Look<()> {
        let Site { complete, owed, .. } = self.site;
        let readers = Who::decode(owed[self.turn()].load(Relaxed));
        let is_known = readers == Who::Nobody || complete.load(Relaxed) >= self.first_after();
        if is_known || self.has_been_read_by(readers) {
            return Some(Ok(()));
        }
        None
    }

    #[inline(never)]
    fn has_been_read_by(&self, readers: Who) -> bool {
        let Site { members, me, .. } = self.site;
        let after = self.first_after();
        let has_come = |member: &Member| self.site.has_come_to(after, member);
        match readers {
            Who::Nobody => true,
            Who::One(rank) => has_come(&members[rank]),
            Who::Others => members[..*me]
                .iter()
                .chain(&members[me + 1..])
                .all(has_come),
        }
    }

    /// Comes, and brings what `fill` writes; `readers` will read it. `is_free` has said that
    /// it may.
    #[inline]
    pub fn bring(&self, about: About, readers: Who, fill: impl FnOnce(&mut [u8])) {
        self.bring_in(0, (about, readers), fill);
    }

    /// The same in a round of the epoch: in a later one than 0 this member has come already.
    #[inline]
    pub fn bring_in(
        &self,
        round: u32,
        (about, readers): (About, Who),
        fill: impl FnOnce(&mut [u8]),
    ) {
        let member = self.myself();
        let payload = |bytes| member.payloads.span(self.turn(), bytes);
        self.site.owed[self.turn()].store(readers.encode(), Relaxed);
        put(
            &member.slot.brought[self.turn()],
            payload,
            self.sequence(round),
            (about, fill),
        );
    }

    /// Stores that this member, which came for `about`, has got as far as `round` of the epoch.
    #[inline]
    pub fn reach(&self, about: About, round: u32) {
        let line = &self.myself().slot.brought[self.turn()];
        line.words[0].store(about.encode(), Relaxed);
        line.sequence.store(self.sequence(round), Release);
    }

    #[inline]
    pub(crate) fn sequence(&self, round: u32) -> u64 {
        self.at << ROUND_BITS | u64::from(round)
    }

    /// Finds that the member of `rank` has got as far as `round`, and returns what it came for, if
    /// its line still contains that.
    #[inline]
    pub fn has_reached(&self, rank: usize, round: u32) -> Look<Option<About>> {
        let line = &self.site.members[rank].slot.brought[self.turn()];
        let sequence = line.sequence.load(Acquire);
        if sequence < self.sequence(round) {
            return None;
        }
        // It may have gone on already: that line has a greater number then, or gets one now.
        let about = About::decode(line.words[0].load(Relaxed));
        fence(Acquire);
        let is_here = |sequence: u64| sequence >> ROUND_BITS == self.at;
        let is_told = is_here(sequence) && is_here(line.sequence.load(Relaxed));
        Some(Ok(is_told.then_some(about)))
    }

    /// What the member of `rank` has come for, once it has come. It does not go on until this
    /// member has read what it brought. Its length may be anything.
    #[inline]
    pub fn has_come(&self, rank: usize) -> Look<About> {
        self.look_at(&self.site.members[rank].slot.brought[self.turn()])
    }

    /// Returns what a line contains for this epoch. Its length may be anything.
    #[inline]
    pub(crate) fn look_at(&self, line: &RingSlot) -> Look<About> {
        let at = line.sequence.load(Acquire) >> ROUND_BITS;
        if at < self.at {
            return None;
        }
        let about = About::decode(line.words[0].load(Relaxed));
        Some((at == self.at).then_some(about).ok_or(Nonsense))
    }

    /// Gives `read` the `bytes` bytes that the member of `rank` has brought; at most
    /// [`Site::most_bytes`].
    #[inline]
    pub fn read<R>(&self, rank: usize, bytes: usize, read: impl FnOnce(&[u8]) -> R) -> R {
        let member = &self.site.members[rank];
        let payload = |bytes| member.payloads.span(self.turn(), bytes);
        get(&member.slot.brought[self.turn()], payload, bytes, read)
    }

    /// The line that the member of `rank` has brought.
    #[inline]
    pub fn line(&self, rank: usize) -> Line {
        Line::read(&self.site.members[rank].slot.brought[self.turn()])
    }

    /// Copies the `bytes` bytes that the member of `rank` has brought.
    #[inline]
    pub fn copy<'b>(&self, rank: usize, bytes: usize, to: impl Into<Room<'b>>) {
        let mut to = to.into();
        if bytes <= LINE_BYTES {
            to.copy_from(&self.line(rank).0[..bytes]);
        } else {
            to.copy_from(self.site.members[rank].payloads.span(self.turn(), bytes));
        }
    }

    /// Copies a part of the `bytes` bytes that the member of `rank` has brought: up to `to.len()`
    /// bytes from offset `from`.
    #[inline]
    pub fn copy_part<'b>(
        &self,
        rank: usize,
        (bytes, from): (usize, usize),
        to: impl Into<Room<'b>>,
    ) {
        let mut to = to.into();
        if bytes <= LINE_BYTES {
            let line = self.line(rank).0;
            to.copy_from(&line[from..bytes]);
        } else {
            let payload = self.site.members[rank].payloads.span(self.turn(), bytes);
            to.copy_from(payload.part(from, to.len()));
        }
    }

    /// All have come.
    #[inline]
    pub fn is_complete(&self) {
        self.site.complete.store(self.at, Relaxed);
    }

    /// All have come, and nobody has to read any more what this member brought, now or before.
    #[inline]
    pub fn is_over(&self) {
        self.is_complete();
        self.site.owed[self.turn()].store(Who::Nobody.encode(), Relaxed);
    }

    /// Comes by being counted. Returns true if this member is the last: then it releases the
    /// others.
    #[inline]
    pub fn count(&self) -> Result<bool, Nonsense> {
        let Site {
            members, counted, ..
        } = self.site;
        let before = counted.load(Relaxed);
        let all = before + members.len() as u64;
        counted.store(all, Relaxed);
        let number = members[0].slot.come.0.fetch_add(1, AcqRel).wrapping_add(1);
        if number <= before || number > all {
            return Err(Nonsense);
        }
        Ok(number == all)
    }

    /// Counts for the member of `rank` that something was brought for it alone. Returns true if it
    /// has all now.
    #[inline]
    pub fn give(&self, rank: usize) -> bool {
        let members = &self.site.members;
        let given = &members[rank].slot.given[self.turn()].0;
        // That member has counted what it was given the last time: only whole rounds are counted.
        let number = given.fetch_add(1, AcqRel).wrapping_add(1);
        number.is_multiple_of(members.len() as u64 - 1)
    }

    /// The count of `given` at this member when all have given something.
    pub fn all_given(&self) -> u64 {
        let given = &self.site.given[self.turn()];
        let all = given.load(Relaxed) + self.site.members.len() as u64 - 1;
        given.store(all, Relaxed);
        all
    }

    /// Finds that the count has reached `all`: each other member has brought something for this
    /// one.
    pub fn has_been_given(&self, all: u64) -> Look<()> {
        let given = self.myself().slot.given[self.turn()].0.load(Acquire);
        let is_right = if given > all { Err(Nonsense) } else { Ok(()) };
        (given >= all).then_some(is_right)
    }

    /// Ends an epoch at which all were counted, with what `fill` writes.
    #[inline]
    pub fn release(&self, about: About, fill: impl FnOnce(&mut [u8])) {
        let member = &self.site.members[0];
        let turn = self.result_turn();
        let payload = |bytes| member.payloads.span(RESULT_PAYLOADS + turn, bytes);
        let line = &member.slot.results[turn];
        put(line, payload, self.sequence(0), (about, fill));
    }

    /// Finds that the epoch has ended, and returns for what. Its length may be anything.
    #[inline]
    pub fn is_released(&self) -> Look<About> {
        self.look_at(&self.site.members[0].slot.results[self.result_turn()])
    }

    /// Gives `read` the `bytes` bytes of the result.
    #[inline]
    pub fn read_result<R>(&self, bytes: usize, read: impl FnOnce(&[u8]) -> R) -> R {
        let (member, turn) = (&self.site.members[0], self.result_turn());
        let payload = |bytes| member.payloads.span(RESULT_PAYLOADS + turn, bytes);
        get(&member.slot.results[turn], payload, bytes, read)
    }
}
