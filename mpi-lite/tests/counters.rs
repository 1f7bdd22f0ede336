//! The counters of a process: their names, their documentation.

use std::collections::BTreeSet;

use mpi_lite::counters::{Row, documentation};
use mpi_lite::engine::Counters;

#[test]
fn every_counter_has_a_name_of_its_own_in_small_letters() {
    let names: Vec<String> = Counters::default().rows().iter().map(Row::name).collect();
    let different: BTreeSet<&String> = names.iter().collect();
    assert_eq!(different.len(), names.len());
    let is_plain = |letter: char| letter.is_ascii_lowercase() || letter == '_';
    assert!(names.iter().all(|name| name.chars().all(is_plain)));
}

#[test]
fn the_documentation_is_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/counters.md");
    let wanted = documentation(&Counters::default().rows());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &wanted).expect("the tree is writable");
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(found == wanted, "run this test with UPDATE=1");
}
