//! Two names of one machine: its ranks would share memory under one name.

use std::collections::HashMap;

use crate::failure::printable;
use crate::job::place::Place;

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
