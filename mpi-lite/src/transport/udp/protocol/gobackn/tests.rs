//! Tests of the protocol: the network rules of every pipe, and each row of Table 1.

use super::super::pipe_tests as network;
use super::GoBackN;

#[test]
fn each_fragment_arrives_once_and_in_order() {
    network::for_seeds(500, |seed| {
        assert_eq!(network::check_exactly_once::<GoBackN>(seed), Ok(()));
    });
}
