//! What epochs promise, and that nonsense in them does no harm.

use core::sync::atomic::Ordering::Relaxed;

use super::segment::AHEAD;
use super::site::{About, BRING_BYTES, Before, FEW, Nonsense, Site, SiteId, Who};
use crate::ids::PeerId;
use crate::transport::Shm;
use crate::transport::shm::tests::oversubscribed;

const SITE_ID: SiteId = SiteId { place: 3, last: 40 };

/// What two ranks know of the place at which they meet, and their channels.
fn pair(is_oversubscribed: bool) -> (Vec<Shm>, [Site; 2]) {
    let channels = oversubscribed(2, false, is_oversubscribed);
    let sites = [0, 1].map(|me| channels[me].node().site(SITE_ID, &[0, 1].map(PeerId), me));
    (channels, sites.map(|site| site.expect("both are here")))
}

fn about(bytes: usize) -> About {
    About::new(9, 1, bytes as u32)
}

#[test]
fn payloads_of_every_length_are_read_as_brought() {
    let (_transports, [here, there]) = pair(false);
    for len in [0, 1, 8, 47, 48, 49, 1000, BRING_BYTES] {
        let (come, seen) = (
            here.begin_epoch(about(0), false).0,
            there.begin_epoch(about(0), false).0,
        );
        assert_eq!(seen.has_come(0), None);
        let byte = len as u8 ^ 0x5a;
        come.bring(about(len), Who::Nobody, |bytes| bytes.fill(byte));
        assert_eq!(seen.has_come(0), Some(Ok(about(len))));
        assert_eq!(seen.read(0, len, <[u8]>::to_vec), vec![byte; len]);
        let mut copy = vec![0; len];
        seen.copy(0, len, &mut copy[..]);
        assert_eq!(copy, vec![byte; len]);
    }
}

#[test]
fn a_member_that_has_still_to_read_keeps_the_other_from_writing() {
    let (_transports, [here, there]) = pair(false);
    for _ in 0..FEW {
        let come = here.begin_epoch(about(0), false).0;
        assert_eq!(come.is_free(), Some(Ok(())));
        come.bring(about(8), Who::Others, |bytes| bytes.fill(1));
    }
    let next = here.begin_epoch(about(0), false).0;
    there.begin_epoch(about(0), false).0.reach(about(0), 0);
    assert_eq!(next.is_free(), None, "the other may still be reading");
    there.begin_epoch(about(0), false).0.reach(about(0), 0);
    assert_eq!(next.is_free(), Some(Ok(())));
}

#[test]
fn a_member_that_shares_cores_brings_ahead_as_many_epochs_as_allowed_and_no_more() {
    let (_transports, [here, there]) = pair(true);
    for number in 0..AHEAD {
        let come = here.begin_epoch(about(0), false).0;
        assert_eq!(come.is_free(), Some(Ok(())), "epoch {number}");
        come.bring(about(8), Who::Others, |bytes| bytes.fill(number as u8));
    }
    let next = here.begin_epoch(about(0), false).0;
    assert_eq!(next.is_free(), None, "nothing has been read");
    for number in 0..AHEAD {
        let seen = there.begin_epoch(about(0), false).0;
        let is_right = |bytes: &[u8]| bytes.iter().all(|&byte| byte == number as u8);
        assert!(seen.read(0, 8, is_right), "epoch {number}");
        assert_eq!(seen.has_come(0), Some(Ok(about(8))));
        seen.reach(about(0), 0);
        assert_eq!(next.is_free().is_some(), number > 0);
    }
}

#[test]
fn a_place_is_left_when_all_have_left_it() {
    let (_transports, [here, there]) = pair(true);
    here.begin_epoch(about(0), false);
    here.leave();
    assert!(!here.is_over());
    there.begin_epoch(about(0), false);
    there.leave();
    assert!(here.is_over() && there.is_over());
    assert_eq!(
        here.site_id(),
        SiteId {
            last: 41,
            ..SITE_ID
        }
    );
}

#[test]
fn numbers_that_cannot_be_are_nonsense() {
    let (_transports, [here, there]) = pair(true);
    let (come, seen) = (
        here.begin_epoch(about(0), false).0,
        there.begin_epoch(about(0), false).0,
    );
    come.bring(about(8), Who::Nobody, |_| ());
    let line = &here.members[0].slot.brought[come.turn()];
    line.sequence.store(u64::MAX, Relaxed);
    assert_eq!(seen.has_come(0), Some(Err(Nonsense)), "too late");
    for count in [u64::MAX, 2, 7] {
        here.members[0].slot.come.0.store(count, Relaxed);
        assert_eq!(
            here.begin_epoch(about(0), false).0.count(),
            Err(Nonsense),
            "{count} have come"
        );
        here.counted.store(0, Relaxed);
    }
    let epoch = here.begin_epoch(about(0), false).0;
    let all = epoch.all_given();
    let given = &here.members[0].slot.given[epoch.turn()].0;
    given.store(all + 1, Relaxed);
    assert_eq!(epoch.has_been_given(all), Some(Err(Nonsense)));
}

#[test]
fn random_words_in_a_slot_lead_nowhere_else() {
    for seed in 1..=200_u64 {
        let mut word = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut roll = || {
            word ^= word << 13;
            word ^= word >> 7;
            word ^= word << 17;
            word >> (word % 64)
        };
        let (_transports, [here, _there]) = pair(seed % 2 == 0);
        let slot = here.members[1].slot;
        let lines = slot.brought.iter().chain(&slot.results);
        for place in lines.flat_map(|line| line.words.iter().chain([&line.sequence])) {
            place.store(roll(), Relaxed);
        }
        let epoch = here.begin_epoch(about(0), false).0;
        epoch.is_free();
        epoch.has_reached(1, 3);
        if let Some(Ok(about)) = epoch.has_come(1) {
            let len = about.bytes() as usize;
            assert_eq!(epoch.read(1, len, <[u8]>::len), len, "seed {seed}");
        }
    }
}

#[test]
fn a_member_in_another_collective_is_found_at_the_next_epoch() {
    let (_transports, [here, there]) = pair(false);
    let of_root = |root| about(0).with_root(root);
    for (member, root) in [(&here, 0), (&there, 1)] {
        let (epoch, mine) = member.begin_epoch(of_root(root), false);
        epoch.bring(mine, Who::Nobody, |_| ());
        assert_eq!(mine.before(), Before::default());
    }
    let (come, mine) = here.begin_epoch(about(0), false);
    come.bring(mine, Who::Nobody, |_| ());
    let (seen, other) = there.begin_epoch(about(0), false);
    assert_eq!(seen.has_come(0), Some(Ok(mine)));
    assert_ne!(mine, other);
    assert_eq!((mine.before().kind(), mine.before().root()), (9, 0));
    assert_eq!((other.before().kind(), other.before().root()), (9, 1));
}

#[test]
fn a_member_that_has_gone_on_is_seen_unless_it_holds_messages_back() {
    let (_transports, [here, there]) = pair(true);
    assert!(!here.has_gone_on(1));
    there.begin_epoch(about(0), true);
    assert!(!here.has_gone_on(1), "a message may still come");
    let (epoch, mine) = there.begin_epoch(about(8), false);
    assert!(here.has_gone_on(1));
    here.begin_epoch(about(0), false);
    assert!(here.has_gone_on(1) && !there.has_gone_on(0));
    assert_eq!(here.next_of(1), None, "its line is still to be written");
    epoch.bring(mine, Who::Nobody, |_| ());
    assert_eq!(here.next_of(1), Some(mine));
    here.begin_epoch(about(0), false);
    assert!(!here.has_gone_on(1));
}

#[test]
fn a_mismatch_is_seen_by_a_waiting_member_in_this_epoch_or_the_next() {
    let (_transports, [here, there]) = pair(true);
    let [one, other] = [1, 2].map(|kind| About::new(kind, 0, 4));
    let (_, mine) = here.begin_epoch(one, false);
    assert_eq!(here.mismatch(mine), None, "nobody has come");
    let (epoch, theirs) = there.begin_epoch(other, false);
    epoch.bring(theirs, Who::Nobody, |_| ());
    assert_eq!(here.mismatch(mine), Some((1, theirs)));
    // Both come to the next for the same, and bring nothing.
    let [(_, mine), (_, theirs)] = [&here, &there].map(|member| member.begin_epoch(one, false));
    assert_eq!(here.mismatch(mine), Some((1, theirs)));
    let _ = here.begin_epoch(one, false);
    let (_, mine) = here.begin_epoch(one, false);
    assert_eq!(here.mismatch(mine), None, "that was long ago");
}

#[test]
fn lines_of_an_earlier_communicator_at_a_place_are_no_mismatch() {
    let (channels, [_, there]) = pair(true);
    let (epoch, theirs) = there.begin_epoch(about(0), false);
    epoch.bring(theirs, Who::Nobody, |_| ());
    let next = channels[0]
        .node()
        .site(there.site_id(), &[0, 1].map(PeerId), 0)
        .expect("both");
    let (_, mine) = next.begin_epoch(About::new(1, 0, 0), false);
    assert_eq!(next.mismatch(mine), None);
}

/// What lies at a place before its first epoch shows neither a mismatch nor a missing member.
#[test]
fn members_that_have_not_met_neither_disagree_nor_miss_anything() {
    let (channels, members) = pair(true);
    for (member, kind) in members.iter().zip([0, 1]) {
        let (epoch, mine) = member.begin_epoch(About::new(kind, 0, 4), false);
        epoch.bring(mine, Who::Nobody, |_| ());
    }
    let opens = |last| {
        let of = |me: usize| {
            let id = SiteId {
                last,
                ..members[0].site_id()
            };
            channels[me]
                .node()
                .site(id, &[0, 1].map(PeerId), me)
                .expect("both")
        };
        [of(0), of(1)]
    };
    // Its members met once; one of them has met others since, elsewhere.
    for last in [1, 5] {
        let [here, there] = opens(last);
        assert_eq!(here.disagreement(), None);
        assert!(here.straggler().is_none() && there.straggler().is_none());
        let (epoch, mine) = here.begin_epoch(about(0), false);
        epoch.bring(mine, Who::Nobody, |_| ());
        let missed = there.straggler().expect("it has not come");
        assert_eq!(
            (missed.rank, missed.ahead, missed.missed),
            (1, 0, Some(mine))
        );
        assert!(here.straggler().is_some());
    }
}
