//! A part's fields are its own: no field of a struct below `mpi-lite/src/engine/`, nor in
//! `rmpp-core`, is `pub(super)`, `pub(crate)` or `pub(in ..)`.
//!
//! `bounds.rs` says how to see the whole table, which tells too of how many fields these are.

use std::collections::BTreeSet;

use syn::{ImplItem, Item, ReceiverKind, Visibility};

use super::bounds::{Bounds, Counts, print, print_counts};
use super::library::{Crate, path_of};

/// Where a crate's parts are.
const ROOMS: [(&str, &[&str]); 2] = [("mpi-lite", &["engine/"]), ("rmpp-core", &[""])];

/// Values, each with the reason: all of their fields are open, since no method keeps anything true
/// about them, and none changes them. To be one is for whoever reads the change to agree with.
const VALUES: &[(&str, &str)] = &[
    ("mpi-lite Deferred", "a message to be sent"),
    ("mpi-lite Desertion", "who has lost whom"),
    ("mpi-lite EarlyBody", "what the door returns"),
    ("mpi-lite Filled", "what the inbox returns"),
    ("mpi-lite GivenUp", "from which call on, and why"),
    ("mpi-lite HeadName", "context, sender and number"),
    (
        "mpi-lite engine::inbox::matching::body::Inbound",
        "a link and its name for a message",
    ),
    (
        "mpi-lite engine::ports::word::Notice",
        "what a message says",
    ),
    (
        "mpi-lite engine::requests::channel::Header",
        "what a message says",
    ),
    (
        "mpi-lite engine::requests::parts::Part",
        "an operation and a number",
    ),
    (
        "mpi-lite engine::lane::traffic::Pass",
        "what a pass returns",
    ),
    ("mpi-lite Label", "context, source and tag of a pattern"),
    ("rmpp-core Key", "a position and its tenant"),
    ("rmpp-core Packet", "what a datagram begins with"),
];

/// Above the goal today. These bounds only go down.
const ABOVE: &[(&str, usize)] = &[];

const BOUNDS: Bounds<'_> = Bounds {
    what: "fields open to other files",
    goal: 0,
    above: ABOVE,
    advice: "Make them private; the type's own methods change them.",
};

/// The structs that are no values: some field is private, or a method changes them.
fn kept(files: &Crate) -> BTreeSet<String> {
    let mut kept = BTreeSet::new();
    files.each_item(&mut |item, module, _| match item {
        Item::Struct(it)
            if (it.fields.iter()).any(|field| matches!(field.vis, Visibility::Inherited)) =>
        {
            kept.insert(files.called(&[module, &[it.ident.to_string()]].concat()));
        }
        Item::Impl(it) => {
            let changes = |it: &ImplItem| match it {
                ImplItem::Fn(method) => method
                    .sig
                    .receiver()
                    .is_some_and(|it| matches!(it.kind, ReceiverKind::Reference(_, _, Some(_)))),
                _ => false,
            };
            let name = path_of(&it.self_ty).and_then(|path| files.type_at(module, &path));
            if let Some(name) = name.filter(|_| it.items.iter().any(changes)) {
                kept.insert(files.called(&name));
            }
        }
        _ => {}
    });
    kept
}

/// The open fields of each struct in these folders that has some.
fn open_fields(files: &Crate, folders: &[&str]) -> Counts {
    let mut counts = Counts::new();
    files.each_item(&mut |item, module, file| {
        let Item::Struct(it) = item else { return };
        let is_open = |it: &&syn::Field| matches!(it.vis, Visibility::Restricted(_));
        let open = it.fields.iter().filter(is_open).count();
        if open > 0 && folders.iter().any(|folder| file.starts_with(folder)) {
            let name = files.called(&[module, &[it.ident.to_string()]].concat());
            let place = format!("{file} (of {} fields):", it.fields.len());
            counts.entry(name).or_default().insert(place, open);
        }
    });
    counts
}

#[test]
fn no_struct_has_more_open_fields_than_its_bound() {
    let mut counts = Counts::new();
    let mut parts = BTreeSet::new();
    for (name, folders) in ROOMS {
        let files = Crate::read(name);
        counts.append(&mut open_fields(&files, folders));
        parts.append(&mut kept(&files));
    }
    print_counts("Fields open to other files", &counts, usize::MAX);
    print(
        "Those of them that could be values",
        counts.keys().filter(|it| !parts.contains(*it)).cloned(),
    );
    for (name, _) in VALUES {
        assert!(
            counts.remove(*name).is_some(),
            "{name} has no open field: strike it out of VALUES"
        );
        assert!(
            !parts.contains(*name),
            "{name} has a private field or a method that changes it: it is no value"
        );
    }
    BOUNDS.check(&counts);
}

#[test]
fn an_open_field_is_counted() {
    let files = Crate::made_up(&[
        (
            "a/b.rs",
            "struct A { pub(super) b: u8, c: u8, pub(crate) d: u8 } pub struct E(pub(in crate) u8);
             struct F { pub g: u8 } #[cfg(test)] struct G { pub(super) b: u8 }",
        ),
        ("c.rs", "struct H { pub(super) b: u8 }"),
    ]);
    let expected = [
        "made-up A: 2 fields open to other files, at most 0. Make them private; the type's own \
         methods change them. It has them in: a/b.rs (of 3 fields): 2",
        "made-up E: 1 fields open to other files, at most 0. Make them private; the type's own \
         methods change them. It has them in: a/b.rs (of 1 fields): 1",
    ];
    let bounds = Bounds {
        above: &[],
        ..BOUNDS
    };
    assert_eq!(bounds.complaints(&open_fields(&files, &["a/"])), expected);
}

#[test]
fn a_value_is_told_from_a_part() {
    let files = Crate::made_up(&[(
        "a.rs",
        "struct A { pub(super) b: u8 } impl A { fn c(&self) {} fn d(self) {} }
         struct E { pub(super) b: u8, c: u8 }
         struct F { pub(super) b: u8 } mod g { use super::F; impl F { fn h(&mut self) {} } }",
    )]);
    let parts = BTreeSet::from(["made-up E".to_owned(), "made-up F".to_owned()]);
    assert_eq!(kept(&files), parts);
}
