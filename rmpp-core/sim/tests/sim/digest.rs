//! Which states are one for the explorer.

use rmpp_core::Instant;
use rmpp_sim::Digest;

#[test]
fn states_that_differ_in_the_clock_alone_are_the_same() {
    let at = |now: u64| Digest::of(&(7_u32, Instant(now + 3), Instant::NEVER), Instant(now));
    assert_eq!(at(0), at(1_000_000));
    let later = Digest::of(&(7_u32, Instant(4), Instant::NEVER), Instant(0));
    assert_ne!(at(0), later);
}

#[test]
fn the_distant_past_is_one_moment() {
    let ago = |ns: u64| Digest::of(&Instant(1_000 - ns), Instant(1_000));
    assert_eq!(ago(Digest::PAST_NS), ago(900));
    assert_ne!(ago(Digest::PAST_NS), ago(Digest::PAST_NS - 1));
}
