//! Exchanges through buffers in shared memory: while the last member to come reads and writes,
//! nobody else touches the same memory, and each member gets what the others gave in the same
//! epoch.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use loom::thread::yield_now;

use super::doorbells::Doorbells;
use super::segment::{PART_BYTES, Segment};
use super::site::{About, Epoch, Look, Site, SiteId};
use super::wakeup::Wakeup;
use crate::ids::PeerId;
use crate::memory::Span;
use crate::sync::{Bug, Role, check};

/// What a rank knows of its node.
pub(super) struct Node {
    pub(super) segment: Segment,
    pub(super) locals: Vec<u32>,
    pub(super) wakeup: Wakeup,
    pub(super) epochs: Arc<AtomicU64>,
}

const ABOUT: About = About::new(6, 0, 8);

fn sites(ranks: usize) -> Vec<Site> {
    let segment = Segment::leak(ranks);
    let locals: Vec<u32> = (0..ranks as u32).collect();
    let group: Vec<PeerId> = locals.iter().copied().map(PeerId).collect();
    let [doorbell, _] = Doorbells::of_two();
    let site = |me: usize| {
        let node = Node {
            segment,
            locals: locals.clone(),
            wakeup: Wakeup::new(segment.area(me as u32), doorbell, true),
            epochs: Arc::default(),
        };
        let site_id = SiteId { place: 0, last: 0 };
        let site = node.site(site_id, &group, me);
        site.expect("all are on this node")
    };
    (0..ranks).map(site).collect()
}

fn wait<T>(mut look: impl FnMut() -> Look<T>) -> T {
    loop {
        match look() {
            Some(found) => return found.expect("it makes sense"),
            None => yield_now(),
        }
    }
}

fn part(buffer: Span, rank: usize) -> Span {
    buffer.part(rank * PART_BYTES, PART_BYTES)
}

/// What the member of rank `from` gives that of rank `to`.
fn letter(epoch: usize, from: usize, to: usize) -> u64 {
    (epoch * 100 + from * 10 + to) as u64
}

/// An epoch as `engine::exchange` does it, by one of `size` members.
fn combine<'a>(
    site: &'a Site,
    bring: impl FnOnce(Epoch<'_>),
    work: impl FnOnce(Epoch<'_>),
) -> Epoch<'a> {
    let (epoch, about) = site.begin_epoch(ABOUT, false);
    wait(|| epoch.is_free());
    bring(epoch);
    epoch.come(about);
    if epoch.count().expect("it makes sense") {
        for rank in 0..site.size() {
            assert_eq!(epoch.has_come(rank), Some(Ok(about)));
        }
        work(epoch);
        epoch.release_exchange(about);
    } else {
        assert_eq!(wait(|| epoch.is_released()), about);
    }
    epoch.is_over();
    epoch
}

/// All-to-all by send and receive buffers.
fn transpose(site: &Site, epochs: usize) {
    let (me, size) = (site.me(), site.size());
    for number in 1..=epochs {
        let bring = |epoch: Epoch<'_>| {
            for to in 0..size {
                part(epoch.send_buffer(), to).fill(letter(number, me, to));
            }
        };
        let work = |epoch: Epoch<'_>| {
            for from in 0..size {
                for to in 0..size {
                    let block = part(epoch.send_buffer_of(from), to);
                    part(epoch.receive_buffer_of(to), from).copy_from(block);
                }
            }
        };
        let epoch = combine(site, bring, work);
        for from in 0..size {
            let block = part(epoch.receive_buffer(), from);
            assert!(block.is(letter(number, from, me)), "from {from} to {me}");
        }
    }
}

/// All-gather by send buffers and the broadcast buffer.
fn concatenate(site: &Site, epochs: usize) {
    let (me, size) = (site.me(), site.size());
    for number in 1..=epochs {
        let bring = |epoch: Epoch<'_>| part(epoch.send_buffer(), 0).fill(letter(number, me, 0));
        let work = |epoch: Epoch<'_>| {
            for from in 0..size {
                part(epoch.broadcast_buffer(), from).copy_from(part(epoch.send_buffer_of(from), 0));
            }
        };
        let epoch = combine(site, bring, work);
        for from in 0..size {
            let block = part(epoch.broadcast_buffer(), from);
            assert!(block.is(letter(number, from, 0)), "from {from}");
        }
    }
}

/// Only the way to the last member, which does not release the others.
fn hand_over(site: &Site, _: usize) {
    let (epoch, _) = site.begin_epoch(ABOUT, false);
    part(epoch.send_buffer(), 0).fill(letter(1, site.me(), 0));
    if epoch.count().expect("it makes sense") {
        for from in 0..site.size() {
            assert!(part(epoch.send_buffer_of(from), 0).is(letter(1, from, 0)));
        }
    }
}

/// Each of `ranks` members does `act` for `epochs` epochs.
fn gather(ranks: usize, act: fn(&Site, usize), epochs: usize) {
    let mut all = sites(ranks).into_iter();
    let first = all.next().expect("somebody is there");
    let run = |site: Site| loom::thread::spawn(move || act(&site, epochs));
    let others: Vec<_> = all.map(run).collect();
    act(&first, epochs);
    for other in others {
        other.join().expect("it ends");
    }
}

/// A member that is counted hands its send buffer to the last one; the release hands out what all
/// get.
const BUGS: &[Bug] = &[
    Bug::StoresRelaxed(Role::Come),
    Bug::Unreleased(Role::Come),
    Bug::Unacquired(Role::Come),
    Bug::StoresRelaxed(Role::Sequence),
    Bug::LoadsRelaxed(Role::Sequence),
];

#[test]
fn the_last_of_two_sorts_what_both_gave() {
    check(BUGS, || gather(2, transpose, 1));
}

/// The second member passes on what the first one has written, though it looks at none of it.
#[test]
fn the_last_of_three_sees_what_all_gave() {
    const COUNTING: [Bug; 3] = [
        Bug::StoresRelaxed(Role::Come),
        Bug::Unreleased(Role::Come),
        Bug::Unacquired(Role::Come),
    ];
    check(&COUNTING, || gather(3, hand_over, 1));
}

#[test]
fn rows_and_columns_are_used_again_by_the_next_epoch() {
    check(BUGS, || gather(2, transpose, 3));
}

#[test]
fn the_board_is_used_again_by_the_next_epoch() {
    check(BUGS, || gather(2, concatenate, 3));
}
