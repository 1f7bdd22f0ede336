//! A type's name means one thing: no name has more than three definitions in the crates.
//!
//! Counted are structs, enums, traits and other names of types, but for those of tests and of
//! macros. `bounds.rs` says how to see the whole table.

use super::bounds::{Bounds, Counts, print_counts};
use super::library::Crate;

/// The launcher is counted apart: it is a program of its own.
const TOGETHER: [&[&str]; 2] = [
    &["rmpp-core", "mpi-lite", "mpi-lite/boot", "mpi-capi"],
    &["launcher"],
];

/// Names that every reader of Rust expects more than once, each with the reason.
const EXPECTED: &[(&str, &str)] = &[
    ("Error", "what a module's calls fail with"),
    ("Result", "what they return: it names that error"),
];

/// Above the goal today. These bounds only go down.
const ABOVE: [&[(&str, usize)]; 2] = [&[], &[]];

fn bounds<'a>(above: &'a [(&'a str, usize)]) -> Bounds<'a> {
    Bounds {
        what: "definitions",
        goal: 3,
        above,
        advice: "Give each a name that says what it is where it is used.",
    }
}

/// The definitions of each name.
fn definitions_of(crates: &[Crate]) -> Counts {
    let mut counts = Counts::new();
    for one in crates {
        for (name, file) in &one.types {
            let last = name.last().expect("a type has a name");
            let places = counts.entry(last.clone()).or_default();
            *places.entry(format!("{} {file}", one.name)).or_default() += 1;
        }
    }
    for (name, _) in EXPECTED {
        counts.remove(*name);
    }
    counts
}

#[test]
fn no_name_has_more_definitions_than_its_bound() {
    for (names, above) in TOGETHER.into_iter().zip(ABOVE) {
        let crates: Vec<_> = names.iter().map(|name| Crate::read(name)).collect();
        let counts = definitions_of(&crates);
        assert!(counts.len() > 100, "hardly a name: {}", counts.len());
        print_counts(
            &format!("Definitions of names in {names:?}, the first 30"),
            &counts,
            30,
        );
        bounds(above).check(&counts);
    }
}

#[test]
fn a_name_is_counted_over_crates_and_modules() {
    let text = "struct A; mod b { enum A {} fn f() { struct A; } } type C = A; \
                #[cfg(test)] mod tests { trait A {} } type Error = A;";
    let one = Crate::made_up(&[("a.rs", text)]);
    let other = Crate::made_up(&[("d.rs", "trait A {} use std::C; struct Error;")]);
    let bounds = Bounds {
        goal: 1,
        advice: "Name them.",
        ..bounds(&[])
    };
    let complaint = "A: 3 definitions, at most 1. Name them. It has them in: made-up a.rs 2, \
                     made-up d.rs 1";
    let counts = definitions_of(&[one, other]);
    assert_eq!(counts.keys().collect::<Vec<_>>(), ["A", "C"]);
    assert_eq!(bounds.complaints(&counts), [complaint]);
}
