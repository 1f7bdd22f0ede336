//! No circles among the files of mpi-lite but at the places named here; and small ones in the
//! launcher and in mpi-capi.
//!
//! A file leads to another if its code names something of the other by a path: in `use`, or where
//! it is used. A name that a `mod.rs` hands on (`pub use`) belongs to the file that defines it; to
//! hand it on is no use of it. `mod` declarations, tests, what is open to fuzzers alone, and the
//! bodies of macros are not looked at.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{ImplItemFn, ItemFn, ItemImpl, ItemMod, ItemUse, Visibility};

use super::bounds::{Bounds, Counts};
use super::groups::{self, Edges};
use super::source::{Name, absolute, all_files, files_below, flatten, is_apart, module_of};

/// Places whose files import each other: a module and what it is made of.
const MIXED: [&str; 8] = [
    "boot/",
    "comm/",
    "data/",
    "memory.rs",
    "memory/",
    "node/",
    "topology/",
    "world/",
];

/// Crates in which some files may import each other in a circle, and how many shall at most.
const CRATES: [(&str, &str, usize); 2] = [
    ("launcher/src", "../launcher", 4),
    ("mpi-capi/src", "../mpi-capi", 6),
];

/// Above the goal today. These bounds only go down.
const ABOVE: &[(&str, usize)] = &[];

/// The names that a file uses, and those that it hands on, by what they are called there.
#[derive(Default)]
struct Names {
    module: Name,
    used: BTreeSet<Name>,
    handed_on: BTreeMap<Name, Name>,
}

impl<'a> Visit<'a> for Names {
    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        if !is_apart(&item.attrs) {
            self.module.push(item.ident.to_string());
            visit::visit_item_mod(self, item);
            self.module.pop();
        }
    }

    fn visit_item_fn(&mut self, item: &'a ItemFn) {
        if !is_apart(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'a ImplItemFn) {
        if !is_apart(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'a ItemImpl) {
        if !is_apart(&item.attrs) {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'a ItemUse) {
        if is_apart(&item.attrs) {
            return;
        }
        let mut found = Vec::new();
        flatten(&item.tree, &[], &mut found);
        for (path, called) in found {
            // `use lane::Lane` in a `mod.rs`: a child of this module.
            let child = [&self.module[..], &path].concat();
            let name = absolute(&self.module, &path).unwrap_or(child);
            if matches!(item.vis, Visibility::Inherited) {
                self.used.insert(name);
            } else {
                let here = [&self.module[..], &[called]].concat();
                self.handed_on.insert(here, name);
            }
        }
    }

    /// `pub(super)` names a module, but uses nothing of it.
    fn visit_visibility(&mut self, _: &'a Visibility) {}

    fn visit_path(&mut self, path: &'a syn::Path) {
        let segments = path.segments.iter();
        let path_here: Name = segments.map(|it| it.ident.to_string()).collect();
        let child = [&self.module[..], &path_here].concat();
        self.used
            .insert(absolute(&self.module, &path_here).unwrap_or(child));
        visit::visit_path(self, path);
    }
}

/// The files of some folders and what each of them names.
struct Crate {
    /// By module.
    files: BTreeMap<Name, String>,
    names: BTreeMap<String, Names>,
    handed_on: BTreeMap<Name, Name>,
}

impl Crate {
    fn new(files: &[(String, String)]) -> Self {
        let mut all = Self {
            files: BTreeMap::new(),
            names: BTreeMap::new(),
            handed_on: BTreeMap::new(),
        };
        for (file, text) in files {
            let mut names = Names {
                module: module_of(file),
                ..Names::default()
            };
            names.visit_file(&syn::parse_file(text).unwrap_or_else(|e| panic!("{file}: {e}")));
            all.files.insert(module_of(file), file.clone());
            all.handed_on.append(&mut names.handed_on);
            all.names.insert(file.clone(), names);
        }
        all
    }

    /// The file that defines a name: the longest part of it that is a module.
    fn file_of(&self, name: &[String]) -> Option<&str> {
        for length in (1..=name.len()).rev() {
            let part = &name[..length];
            if let Some(origin) = self.handed_on.get(part).filter(|it| *it != part) {
                return self.file_of(&[&origin[..], &name[length..]].concat());
            }
            if let Some(file) = self.files.get(part) {
                return Some(file);
            }
        }
        None
    }

    fn edges(&self) -> Edges {
        let mut edges = Edges::new();
        for (file, names) in &self.names {
            for name in &names.used {
                if let Some(other) = self.file_of(name).filter(|it| it != file) {
                    let edge = (file.clone(), other.to_owned());
                    edges.entry(edge).or_default().insert(name.join("::"));
                }
            }
        }
        edges
    }
}

/// The shortest way from a file to another, both included.
fn way<'a>(
    edges: &BTreeSet<(&'a str, &'a str)>,
    (from, to): (&'a str, &'a str),
) -> Option<Vec<&'a str>> {
    let mut before = BTreeMap::new();
    let mut reached = vec![from];
    let mut next = 0;
    while let Some(&file) = reached.get(next) {
        next += 1;
        for &(_, other) in edges.iter().filter(|edge| edge.0 == file) {
            if before.contains_key(other) {
                continue;
            }
            before.insert(other, file);
            if other == to {
                let mut way = vec![to];
                while way.len() == 1 || way.last() != Some(&from) {
                    way.push(before[way.last().expect("it has an end")]);
                }
                way.reverse();
                return Some(way);
            }
            reached.push(other);
        }
    }
    None
}

/// The shortest circle.
fn circle<'a>(edges: &BTreeSet<(&'a str, &'a str)>) -> Option<Vec<&'a str>> {
    let files: BTreeSet<&str> = edges.iter().map(|edge| edge.0).collect();
    let circles = files
        .into_iter()
        .filter_map(|file| way(edges, (file, file)));
    circles.min_by_key(Vec::len)
}

#[test]
fn files_import_each_other_in_no_circle() {
    let is_mixed = |file: &str| MIXED.iter().any(|folder| file.starts_with(folder));
    let mut files = all_files();
    files.retain(|(file, _)| !is_mixed(file));
    let edges = Crate::new(&files).edges();
    let edges: BTreeSet<_> = edges
        .keys()
        .map(|it| (it.0.as_str(), it.1.as_str()))
        .collect();
    assert!(
        edges.len() > 50,
        "hardly anything leads anywhere: {edges:?}"
    );
    assert_eq!(circle(&edges), None, "a circle of files");
}

#[test]
fn few_files_of_a_crate_import_each_other_in_a_circle() {
    for (name, root, goal) in CRATES {
        let from_src = |(file, text): (String, String)| (file["src/".len()..].to_owned(), text);
        let files = files_below(root, &["src"]).into_iter().map(from_src);
        let edges = Crate::new(&files.collect::<Vec<_>>()).edges();
        assert!(
            edges.len() > 50,
            "hardly anything leads anywhere: {edges:?}"
        );
        let mut counts = Counts::new();
        groups::count(name, &edges, &mut counts);
        let above: Vec<_> = ABOVE.iter().filter(|it| it.0 == name).copied().collect();
        let bounds = Bounds {
            what: "files that import each other in a circle",
            goal,
            above: &above,
            advice: "Move what both need below them.",
        };
        bounds.check(&counts);
    }
}

fn of(files: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(file, text): &(&str, &str)| (file.to_string(), text.to_string());
    files.iter().map(owned).collect()
}

#[test]
fn a_name_leads_to_the_file_that_defines_it() {
    let files = of(&[
        (
            "a/mod.rs",
            "mod b; mod c; pub use b::B; struct Own(B); fn f() { c::g() }",
        ),
        ("a/b.rs", "use super::Own; pub(crate) struct B;"),
        (
            "a/c.rs",
            "use crate::a::{B as Other, self}; pub(super) fn g() {}",
        ),
        (
            "d.rs",
            "fn f() { let x: crate::a::b::B; super::a::Own::new() }",
        ),
        (
            "e.rs",
            "pub use crate::d::f; // crate::a::c\n#[cfg(test)] mod tests { use super::super::a; }",
        ),
    ]);
    let files = Crate::new(&files);
    let edges = files.edges();
    let edges: Vec<_> = edges
        .keys()
        .map(|it| (it.0.as_str(), it.1.as_str()))
        .collect();
    let expected = [
        ("a/b.rs", "a/mod.rs"),
        ("a/c.rs", "a/b.rs"),
        ("a/c.rs", "a/mod.rs"),
        ("a/mod.rs", "a/b.rs"),
        ("a/mod.rs", "a/c.rs"),
        ("d.rs", "a/b.rs"),
        ("d.rs", "a/mod.rs"),
    ];
    assert_eq!(edges, expected);
}

#[test]
fn the_shortest_circle_is_found() {
    let edges = |text: &'static str| -> BTreeSet<(&str, &str)> {
        text.split(' ')
            .filter_map(|edge| edge.split_once('>'))
            .collect()
    };
    assert_eq!(circle(&edges("a>b b>c a>c c>d")), None);
    assert_eq!(
        circle(&edges("a>b b>c c>a b>d d>b")),
        Some(vec!["b", "d", "b"])
    );
}
