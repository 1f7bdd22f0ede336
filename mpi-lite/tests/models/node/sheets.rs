//! Exchanges by sheets: what the last who comes reads and writes nobody else touches at that time,
//! and everybody gets what the others gave in the same gathering.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use loom::thread::yield_now;

use super::doorbells::Doorbells;
use super::meeting::{About, Gathering, Look, Meeting, Spot};
use super::segment::{PART_BYTES, Segment};
use super::wakeup::Wakeup;
use crate::ids::PeerId;
use crate::memory::Span;
use crate::sync::{Bug, Role, check};

/// What a rank knows of its node.
pub(super) struct Node {
    pub(super) segment: Segment,
    pub(super) locals: Vec<u32>,
    pub(super) wakeup: Wakeup,
    pub(super) gatherings: Arc<AtomicU64>,
}

const ABOUT: About = About::new(6, 0, 8);

fn meetings(ranks: usize) -> Vec<Meeting> {
    let segment = Segment::leak(ranks);
    let locals: Vec<u32> = (0..ranks as u32).collect();
    let group: Vec<PeerId> = locals.iter().copied().map(PeerId).collect();
    let [doorbell, _] = Doorbells::of_two();
    let meeting = |me: usize| {
        let node = Node {
            segment,
            locals: locals.clone(),
            wakeup: Wakeup::new(segment.area(me as u32), doorbell, true),
            gatherings: Arc::default(),
        };
        let spot = Spot { place: 0, last: 0 };
        let meeting = node.meeting(spot, &group, me);
        meeting.expect("all are on this node")
    };
    (0..ranks).map(meeting).collect()
}

fn wait<T>(mut look: impl FnMut() -> Look<T>) -> T {
    loop {
        match look() {
            Some(found) => return found.expect("it makes sense"),
            None => yield_now(),
        }
    }
}

fn part(sheet: Span, rank: usize) -> Span {
    sheet.part(rank * PART_BYTES, PART_BYTES)
}

/// What the member of rank `from` gives that of rank `to`.
fn letter(gathering: usize, from: usize, to: usize) -> u64 {
    (gathering * 100 + from * 10 + to) as u64
}

/// A gathering as `engine::exchange` does it, by one of `size` members.
fn combine<'a>(
    meeting: &'a Meeting,
    bring: impl FnOnce(Gathering<'_>),
    work: impl FnOnce(Gathering<'_>),
) -> Gathering<'a> {
    let (gathering, about) = meeting.gather(ABOUT, false);
    wait(|| gathering.is_free());
    bring(gathering);
    gathering.come(about);
    if gathering.count().expect("it makes sense") {
        for rank in 0..meeting.size() {
            assert_eq!(gathering.has_come(rank), Some(Ok(about)));
        }
        work(gathering);
        gathering.release_sheets(about);
    } else {
        assert_eq!(wait(|| gathering.is_released()), about);
    }
    gathering.is_over();
    gathering
}

/// All-to-all by rows and columns.
fn transpose(meeting: &Meeting, gatherings: usize) {
    let (me, size) = (meeting.me(), meeting.size());
    for number in 1..=gatherings {
        let bring = |gathering: Gathering<'_>| {
            for to in 0..size {
                part(gathering.row(), to).fill(letter(number, me, to));
            }
        };
        let work = |gathering: Gathering<'_>| {
            for from in 0..size {
                for to in 0..size {
                    let block = part(gathering.row_of(from), to);
                    part(gathering.column_of(to), from).copy_from(block);
                }
            }
        };
        let gathering = combine(meeting, bring, work);
        for from in 0..size {
            let block = part(gathering.column(), from);
            assert!(block.is(letter(number, from, me)), "from {from} to {me}");
        }
    }
}

/// All-gather by rows and the board.
fn concatenate(meeting: &Meeting, gatherings: usize) {
    let (me, size) = (meeting.me(), meeting.size());
    for number in 1..=gatherings {
        let bring = |gathering: Gathering<'_>| part(gathering.row(), 0).fill(letter(number, me, 0));
        let work = |gathering: Gathering<'_>| {
            for from in 0..size {
                part(gathering.board(), from).copy_from(part(gathering.row_of(from), 0));
            }
        };
        let gathering = combine(meeting, bring, work);
        for from in 0..size {
            let block = part(gathering.board(), from);
            assert!(block.is(letter(number, from, 0)), "from {from}");
        }
    }
}

/// Only what leads to the last one, who does not tell.
fn hand_over(meeting: &Meeting, _: usize) {
    let (gathering, _) = meeting.gather(ABOUT, false);
    part(gathering.row(), 0).fill(letter(1, meeting.me(), 0));
    if gathering.count().expect("it makes sense") {
        for from in 0..meeting.size() {
            assert!(part(gathering.row_of(from), 0).is(letter(1, from, 0)));
        }
    }
}

/// Each of `ranks` members does `act` for so many gatherings.
fn gather(ranks: usize, act: fn(&Meeting, usize), gatherings: usize) {
    let mut all = meetings(ranks).into_iter();
    let first = all.next().expect("somebody is there");
    let run = |meeting: Meeting| loom::thread::spawn(move || act(&meeting, gatherings));
    let others: Vec<_> = all.map(run).collect();
    act(&first, gatherings);
    for other in others {
        other.join().expect("it ends");
    }
}

/// Who is counted hands its row to the last one; who releases hands out what all get.
const BUGS: &[Bug] = &[
    Bug::StoresRelaxed(Role::Come),
    Bug::Unreleased(Role::Come),
    Bug::Unacquired(Role::Come),
    Bug::StoresRelaxed(Role::Stamp),
    Bug::LoadsRelaxed(Role::Stamp),
];

#[test]
fn the_last_of_two_sorts_what_both_gave() {
    check(BUGS, || gather(2, transpose, 1));
}

/// Who comes second passes on what the first one has written, though it looks at none of it.
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
fn rows_and_columns_are_used_again_by_the_next_gathering() {
    check(BUGS, || gather(2, transpose, 3));
}

#[test]
fn the_board_is_used_again_by_the_next_gathering() {
    check(BUGS, || gather(2, concatenate, 3));
}
