use super::super::pipe_tests::{self as rules, Faults, Network, Rng, for_seeds, setup};
use super::*;

const A: PeerId = PeerId(0);
const B: PeerId = PeerId(1);

#[test]
fn each_fragment_arrives_once_and_in_order() {
    for_seeds(60, |seed| {
        if let Err(violation) = rules::check_exactly_once::<Associations>(seed) {
            panic!("{violation}");
        }
    });
}

#[test]
fn the_numbers_of_a_stream_may_begin_again() {
    rules::check_wrap::<Associations>(1, 70_000);
}

#[test]
fn a_receiver_that_takes_nothing_is_not_flooded() {
    for_seeds(3, |seed| {
        let network = rules::check_untaken::<Associations>(seed, 2);
        let counters = network.pipe(A).counters();
        assert_eq!(counters.associations, 2);
        assert_eq!(counters.malformed, 0);
    });
}

#[test]
fn a_dead_peer_is_lost() {
    rules::check_lost::<Associations>(1);
}

#[test]
fn a_peer_that_never_answers_is_unheard() {
    rules::check_unheard::<Associations>(1);
}

#[test]
fn suspension_loses_nobody() {
    rules::check_suspension::<Associations>(1);
}

#[test]
fn garbage_changes_nothing() {
    for_seeds(20, rules::check_garbage::<Associations>);
}
