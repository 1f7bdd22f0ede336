//! Two names of one machine: its ranks would share memory under one name.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::failure::printable;
use crate::place::Place;

/// What processes of one machine have in common, those of one container if they run in one.
pub(crate) fn identity() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let mut identity = boot.trim().to_string();
    for space in ["net", "pid"] {
        let inode = fs::metadata(format!("/proc/self/ns/{space}")).ok()?.ino();
        identity += &format!(" {inode}");
    }
    Some(identity)
}

/// A note about the first two places that are one machine.
pub(crate) fn note<'a>(
    places: impl Iterator<Item = (&'a Place, Option<&'a str>)>,
) -> Option<String> {
    let mut known = HashMap::new();
    for (place, identity) in places {
        let Some(before) = identity.and_then(|it| known.insert(it, place)) else {
            continue;
        };
        let [one, other] = [before, place].map(|place| printable(&place.host));
        let ranks = before.ranks.len() + place.ranks.len();
        return Some(format!(
            "hosts {one} and {other} are the same machine: give one name, as --host {one}:{ranks}, \
             so that its ranks share memory"
        ));
    }
    None
}
