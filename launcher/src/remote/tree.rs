//! Who reaches which host by ssh: `mpirun` a few, and the agents there the others.
//!
//! `mpirun` sees every host as a [`Remote`](crate::remote::Remote), whatever the way to it. The
//! tree starts the connections and carries the bytes between a host and the one through which it is
//! reached. A host that another one cannot reach is reached by `mpirun` itself.

use std::time::Instant;

use crate::cli::values::Launcher;
use crate::remote::link::Link;
use crate::wire::Down;

/// How many ssh connections each process makes at a time.
const CONNECTING_MAX: usize = 32;

/// With more hosts than these, agents reach hosts as well.
const FLAT_MAX: usize = 64;

/// How many hosts each agent reaches then.
const FANOUT: usize = 32;

/// The ways to all nodes.
#[derive(Debug)]
pub(crate) struct Tree {
    /// For each node the one through which it is to be reached.
    above: Vec<Option<usize>>,
    /// For each node, true while the one above has it.
    is_open: Vec<bool>,
    /// Some host has been reached through another one.
    has_reached: bool,
    /// The first host that was not: which tried, which it is, and why.
    failed: Option<(String, String, String)>,
}

impl Tree {
    /// The ways to these nodes. `fanout` is what the user has set.
    pub(crate) fn new(links: &[Link], fanout: Option<usize>, launcher: Launcher) -> Tree {
        let numbers = links.iter().enumerate();
        let others = numbers.filter(|(_, link)| matches!(link, Link::There(_)));
        let others: Vec<usize> = others.map(|(number, _)| number).collect();
        let (fanout, flat_max) = match fanout {
            Some(fanout) => (fanout, fanout),
            None => (FANOUT, FLAT_MAX),
        };
        let mut above = vec![None; links.len()];
        if launcher == Launcher::Ssh && fanout > 0 && others.len() > flat_max {
            for (node, its_above) in others.iter().zip(places_above(others.len(), fanout)) {
                above[*node] = its_above.map(|place| others[place]);
            }
        }
        Tree {
            is_open: vec![false; above.len()],
            above,
            has_reached: false,
            failed: None,
        }
    }

    /// Starts the connections whose time has come.
    pub(crate) fn connect(&mut self, links: &mut [Link], now: Instant) {
        let mut connecting = 0;
        let mut connecting_below = vec![0; links.len()];
        for number in 0..links.len() {
            if self.failed.is_some() && !self.has_reached && !self.is_open[number] {
                self.above[number] = None;
            }
            let above = self.above[number];
            let is_above_ready = above.is_some_and(|above| links[above].is_ready());
            let Some(remote) = links[number].remote_mut() else {
                continue;
            };
            let is_waiting = !remote.is_ready();
            let Some(above) = above else {
                if connecting < CONNECTING_MAX {
                    remote.connect(now);
                }
                connecting += usize::from(is_waiting && !remote.is_ready());
                continue;
            };
            if !is_above_ready {
                continue;
            }
            if connecting_below[above] < CONNECTING_MAX && remote.connect_through(now) {
                self.is_open[number] = true;
                if let Some(relay) = links[above].remote_mut() {
                    relay.below.add();
                }
            }
            connecting_below[above] += usize::from(is_waiting);
        }
    }

    /// Carries bytes between hosts and those above them. Returns true if there were any.
    pub(crate) fn exchange(&mut self, links: &mut [Link], now: Instant) -> bool {
        if self.above.iter().all(Option::is_none) {
            return false;
        }
        let mut has_moved = false;
        for number in 0..links.len() {
            has_moved |= self.lift(number, links, now);
        }
        for number in 0..links.len() {
            if let Some(above) = self.above[number].filter(|_| self.is_open[number]) {
                has_moved |= self.lower(number, above, links, now);
            }
        }
        has_moved
    }

    /// Gives what has come through a host to those below it.
    fn lift(&mut self, number: usize, links: &mut [Link], now: Instant) -> bool {
        let ups = links[number].remote_mut().map(|relay| relay.below.ups());
        let ups = ups.unwrap_or_default();
        let has_moved = !ups.is_empty();
        for (node, up) in ups {
            let node = node as usize;
            let is_below = self.above.get(node) == Some(&Some(number));
            // What comes late from a host that was given up is dropped.
            if !is_below || !self.is_open[node] {
                continue;
            }
            let Some(remote) = links[node].remote_mut() else {
                continue;
            };
            if !remote.receive(up, now) {
                let host = remote.way.host().to_string();
                if let Some(relay) = links[number].remote_mut() {
                    let what =
                        format!("sent an impossible report about host {host}, which is below it");
                    relay.blame(&what);
                }
                return true;
            }
        }
        has_moved
    }

    /// Gives what is for a host to the one above it.
    fn lower(&mut self, number: usize, above: usize, links: &mut [Link], now: Instant) -> bool {
        let Ok([remote, relay]) = links.get_disjoint_mut([number, above]) else {
            return false;
        };
        let (Some(remote), Some(relay)) = (remote.remote_mut(), relay.remote_mut()) else {
            return false;
        };
        if relay.is_gone() {
            self.is_open[number] = false;
            let (host, above) = (remote.way.host(), relay.way.host());
            remote.lose(format!("lost host {host} together with host {above}"));
            return true;
        }
        let node = u32::try_from(number).expect("a job has fewer nodes");
        let mut has_moved = false;
        while let Some(down) = remote.way.tunnel().and_then(|it| it.down()) {
            relay.pass(node, down, now);
            has_moved = true;
        }
        if remote.way.has_tunnel() {
            self.has_reached |= remote.is_ready();
            return has_moved;
        }
        self.is_open[number] = false;
        relay.pass(node, Down::Drop, now);
        relay.remove_below(now);
        if let Some(reason) = remote.way.detour() {
            self.above[number] = None;
            let names = (relay.way.host().to_string(), remote.way.host().to_string());
            self.failed.get_or_insert((names.0, names.1, reason));
        }
        true
    }

    /// The note for a job that has started, if a host could not reach another one.
    pub(crate) fn note(&self) -> Option<String> {
        let (above, host, reason) = self.failed.as_ref()?;
        Some(format!(
            "note: host {above} cannot reach host {host} ({reason}), so mpirun has; \
             --launch-fanout 0 lets it reach all hosts itself"
        ))
    }
}

/// For each of `number` hosts the place of the one above it. Each of those has about as many below
/// it, at most `fanout`.
fn places_above(number: usize, fanout: usize) -> Vec<Option<usize>> {
    let groups = number.div_ceil(fanout + 1);
    let first_of = |group: usize| group * number / groups;
    let of_group = |group: usize| {
        let (first, end) = (first_of(group), first_of(group + 1));
        (first..end).map(move |place| (place != first).then_some(first))
    };
    (0..groups).flat_map(of_group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_agent_reaches_more_hosts_than_it_may_and_all_reach_about_as_many() {
        for (number, fanout) in [(3, 1), (65, 32), (200, 32), (1000, 32), (7, 100)] {
            let above = places_above(number, fanout);
            assert_eq!(above.len(), number);
            let firsts = (0..number).filter(|&place| above[place].is_none());
            let below = firsts.map(|first| {
                let hosts = above.iter().filter(|above| **above == Some(first));
                hosts.count()
            });
            let below: Vec<usize> = below.collect();
            let (least, most) = (below.iter().min(), below.iter().max());
            let (least, most) = (least.copied().unwrap(), most.copied().unwrap());
            assert!(
                most <= fanout && most - least <= 1,
                "{number} {fanout}: {below:?}"
            );
        }
    }
}
