//! Circles of files: which files lead to each other, and by what.

use std::collections::{BTreeMap, BTreeSet};

use super::bounds::{Counts, print};

/// From file to file, with the names by which the first leads to the second.
pub(crate) type Edges = BTreeMap<(String, String), BTreeSet<String>>;

/// All files to which a file leads, over others or not.
fn reached<'a>(edges: &'a Edges, from: &'a str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut next = vec![from];
    while let Some(file) = next.pop() {
        let others = edges.keys().filter(|edge| edge.0 == file);
        next.extend(
            others
                .map(|edge| edge.1.as_str())
                .filter(|it| reached.insert(*it)),
        );
    }
    reached
}

/// The greatest set of files in which each leads to each other one.
fn greatest(edges: &Edges) -> BTreeSet<&str> {
    let files = edges.keys().map(|edge| edge.0.as_str());
    let reached: BTreeMap<_, _> = files.map(|file| (file, reached(edges, file))).collect();
    let groups = reached.iter().map(|(file, others)| {
        let leads_back = |other: &&str| reached.get(other).is_some_and(|it| it.contains(file));
        let group = others.iter().copied().filter(leads_back);
        group.collect::<BTreeSet<_>>()
    });
    groups.max_by_key(BTreeSet::len).unwrap_or_default()
}

/// Counts the files of the greatest circle, and shows them with their edges if one asks for it.
pub(crate) fn count(name: &str, edges: &Edges, counts: &mut Counts) {
    let group = greatest(edges);
    let lines = edges.iter().filter_map(|((from, to), by)| {
        let is_inner = group.contains(from.as_str()) && group.contains(to.as_str());
        let by: Vec<_> = by.iter().map(String::as_str).collect();
        is_inner.then(|| format!("{from} > {to}: {}", by.join(", ")))
    });
    print(
        &format!("The circle in {name}, {} files", group.len()),
        lines,
    );
    let places = group.iter().map(|file| (file.to_string(), 1));
    counts.insert(name.to_owned(), places.collect());
}

#[test]
fn the_greatest_circle_is_found() {
    let edges = "a>b b>c c>a c>d d>e e>d f>f";
    let edges = edges.split(' ').filter_map(|edge| edge.split_once('>'));
    let edges = edges.map(|(from, to)| ((from.to_owned(), to.to_owned()), BTreeSet::new()));
    let mut counts = Counts::new();
    count("letters", &edges.collect(), &mut counts);
    let members: Vec<_> = counts["letters"].keys().map(String::as_str).collect();
    assert_eq!(members, ["a", "b", "c"]);
}
