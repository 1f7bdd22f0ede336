//! A type has at most forty methods, counted over all files of its crate.
//!
//! Methods of inherent impls are counted, with and without `self`; those of traits, of tests and
//! of macros are not. Two types of one name are counted apart. `bounds.rs` says how to see the
//! whole table.

use syn::{ImplItem, Item};

use super::bounds::{Bounds, Counts, print_counts};
use super::library::{CRATES, Crate, path_of};
use super::source::is_apart;

/// Above the goal today. These bounds only go down.
const ABOVE: &[(&str, usize)] = &[];

/// `Communicator` has the calls that MPI lists for one.
const EXEMPT: &str = "mpi-lite Communicator";

const BOUNDS: Bounds<'_> = Bounds {
    what: "methods",
    goal: 40,
    above: ABOVE,
    advice: "Give what is new to a part with private fields of its own, and move more there.",
};

/// The methods of each type, by the files that have them.
fn methods_of(files: &Crate) -> Counts {
    let mut counts = Counts::new();
    files.each_item(&mut |item, module, file| {
        let Item::Impl(block) = item else { return };
        let Some(path) = path_of(&block.self_ty).filter(|_| block.trait_.is_none()) else {
            return;
        };
        // What a macro defines has no definition here.
        let name = files.type_at(module, &path).unwrap_or(path);
        let is_counted =
            |it: &&ImplItem| matches!(it, ImplItem::Fn(method) if !is_apart(&method.attrs));
        let number = block.items.iter().filter(is_counted).count();
        let places = counts.entry(files.called(&name)).or_default();
        *places.entry(file.to_owned()).or_default() += number;
    });
    counts
}

#[test]
fn no_type_has_more_methods_than_its_bound() {
    let mut counts = Counts::new();
    for (name, _) in CRATES {
        counts.append(&mut methods_of(&Crate::read(name)));
    }
    assert!(counts.len() > 500, "hardly a type: {}", counts.len());
    print_counts("Methods of types, the first 30", &counts, 30);
    let communicator = counts.remove(EXEMPT);
    assert!(communicator.is_some(), "{EXEMPT} is gone: strike it out");
    BOUNDS.check(&counts);
}

#[test]
fn a_method_more_is_counted_wherever_it_stands() {
    let files = Crate::made_up(&[
        ("lib.rs", "mod a; mod b; mod c;"),
        (
            "a.rs",
            "pub struct A; impl A { fn new() -> A { A } pub fn b(&self) {} }
             impl Clone for A { fn clone(&self) -> A { A } }
             #[cfg(test)] mod tests { impl super::A { fn c() {} } }
             impl A { #[cfg(test)] fn d() {} }",
        ),
        (
            "b.rs",
            "use crate::a::A as B; impl B { fn e(self) {} } mod c { impl super::B { fn f() {} } }
             impl<'a> crate::a::A<'a> { fn g() {} }",
        ),
        ("c.rs", "struct A; impl A { fn h() {} }"),
    ]);
    let counts = methods_of(&files);
    let bounds = Bounds {
        goal: 4,
        above: &[("made-up c::A", 5)],
        advice: "Move some.",
        ..BOUNDS
    };
    let expected = [
        "made-up a::A: 5 methods, at most 4. Move some. It has them in: b.rs 3, a.rs 2",
        "made-up c::A: 1 methods, which is no more than the goal of 4. Strike it out of the \
         table.",
    ];
    assert_eq!(bounds.complaints(&counts), expected);
}
