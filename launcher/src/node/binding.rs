//! Which processors each rank of a host gets.
//!
//! * [`Wish`]: what the user asks for, the same for all hosts.
//! * [`bind`]: the CPUs of each rank of one host, on its machine.
//! * [`describe`]: a sentence about the CPUs of one rank.
//!
//! Nothing here reads or changes the system.

use serde::{Deserialize, Serialize};

use crate::node::cores::{self, Machine, Object, Part};

/// How the ranks of a host are bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wish {
    /// The ranks are dealt to these parts of the machine.
    pub by: Object,
    /// How many ranks each part gets before the next one does; `None`: one, in turn.
    pub per_part: Option<u32>,
    /// Each rank is bound to parts of this kind.
    pub to: Object,
    /// How many of them a rank gets.
    pub width: u32,
    /// True if ranks may share a core where there are not enough.
    pub may_share: bool,
    /// True if no rank is bound where there are not enough cores.
    pub gives_way: bool,
    /// True if the ranks of one part have numbers in a row.
    pub is_filled: bool,
}

/// The CPUs of each of `ranks` ranks, in the order of the ranks. `None` if they are not to be
/// bound.
///
/// # Errors
///
/// What does not fit, and what to do.
pub fn bind(machine: &Machine, ranks: usize, wish: &Wish) -> Result<Option<Vec<Vec<u32>>>, String> {
    let mut supply = Supply::new(machine, wish);
    let mut bound = Vec::with_capacity(ranks);
    for rank in 0..ranks {
        match supply.take(rank) {
            Some(taken) => bound.push(taken),
            None if wish.gives_way => return Ok(None),
            None => return Err(supply.refusal(ranks)),
        }
    }
    if wish.is_filled {
        let parts = machine.parts(wish.by);
        let is_of = |cpus: &[u32]| parts.iter().position(|part| overlap(&part.cpus, cpus));
        bound.sort_by_key(|cpus| is_of(cpus));
    }
    Ok(Some(bound))
}

/// The units that ranks take, and how often each has been taken.
struct Supply<'a> {
    wish: &'a Wish,
    /// What the ranks are bound to.
    targets: Vec<Part>,
    /// What they take: targets, or smaller parts of them.
    units: Vec<Part>,
    taken: Vec<u32>,
    /// How many ranks may take the same unit.
    room: u32,
    /// The units of each part that ranks are dealt to.
    homes: Vec<Vec<usize>>,
    /// How many ranks a home gets before the next one does.
    turn: usize,
    width: usize,
}

impl<'a> Supply<'a> {
    fn new(machine: &Machine, wish: &'a Wish) -> Supply<'a> {
        let width = wish.width.max(1) as usize;
        let takes_smaller = wish.by < wish.to && width == 1;
        let unit = if takes_smaller { wish.by } else { wish.to };
        let units = machine.parts(unit);
        let home = if wish.by > unit {
            wish.by
        } else {
            Object::Board
        };
        let of_home = |home: &Part| {
            let is_in = |place: &usize| overlap(&units[*place].cpus, &home.cpus);
            (0..units.len()).filter(is_in).collect()
        };
        let per_part = wish.per_part.unwrap_or(1).max(1);
        Supply {
            wish,
            targets: machine.parts(wish.to),
            taken: vec![0; units.len()],
            room: if wish.by == unit { per_part } else { 1 },
            homes: machine.parts(home).iter().map(of_home).collect(),
            turn: if wish.by > unit { per_part as usize } else { 1 },
            units,
            width,
        }
    }

    /// Takes what the next rank is bound to. Its home is the next one in turn, or the first one
    /// behind it that has enough left. Where no home has, all begin again if ranks may share.
    fn take(&mut self, rank: usize) -> Option<Vec<u32>> {
        let number = self.homes.len().max(1);
        let first = rank / self.turn % number;
        let may_share = self.wish.may_share || self.wish.to > Object::Core;
        for is_shared in [false, true].into_iter().take(1 + usize::from(may_share)) {
            if is_shared {
                self.taken.fill(0);
            }
            let mut homes = (first..number).chain(0..first);
            if let Some(units) = homes.find_map(|home| self.left_in(home, is_shared)) {
                units.iter().for_each(|place| self.taken[*place] += 1);
                return Some(self.cpus_of(&units));
            }
        }
        None
    }

    /// Units of a home that have room: as many as a rank needs, or all where they are shared.
    fn left_in(&self, home: usize, is_shared: bool) -> Option<Vec<usize>> {
        let units = self.homes.get(home)?;
        let has_room = |place: &&usize| self.taken[**place] < self.room;
        let left = units.iter().filter(has_room).take(self.width);
        let left: Vec<usize> = left.copied().collect();
        let is_enough = left.len() == self.width || (is_shared && !left.is_empty());
        is_enough.then_some(left)
    }

    /// The CPUs of all targets that the units are of.
    fn cpus_of(&self, units: &[usize]) -> Vec<u32> {
        let has_unit = |target: &&Part| {
            let mut units = units.iter();
            units.any(|place| overlap(&self.units[*place].cpus, &target.cpus))
        };
        let of_units = self.targets.iter().filter(has_unit);
        let mut cpus: Vec<u32> = of_units.flat_map(|part| part.cpus.clone()).collect();
        cpus.sort_unstable();
        cpus
    }

    fn refusal(&self, ranks: usize) -> String {
        let (to, width, all) = (self.wish.to, self.width, self.targets.len());
        let largest = self.homes.iter().map(Vec::len).max().unwrap_or(0);
        if width > largest {
            let home = if self.wish.by > to {
                self.wish.by
            } else {
                Object::Board
            };
            return format!(
                "a rank asks for {width} {} of one {}, but it has {largest} here that may be \
                 used: ask for fewer",
                to.noun(width),
                home.noun(1)
            );
        }
        let each = match width {
            1 => String::new(),
            _ => format!(" with {width} {} each", to.noun(width)),
        };
        format!(
            "{ranks} ranks{each} do not fit on {all} {}: start fewer ranks here, let them share \
             with --bind-to {}:overload-allowed, or leave out --bind-to",
            to.noun(all),
            to.name()
        )
    }
}

fn overlap(one: &[u32], other: &[u32]) -> bool {
    one.iter().any(|cpu| other.contains(cpu))
}

/// A sentence without its subject about the CPUs of a rank, which are parts of the kind `to`:
/// `bound to core 5 (CPUs 5,13) of socket 1`.
#[must_use]
pub fn describe(machine: &Machine, to: Object, cpus: &[u32]) -> String {
    let named = |object: Object| {
        let parts = machine.parts(object).into_iter();
        let parts = parts.filter(|part| overlap(&part.cpus, cpus));
        let numbers: Vec<u32> = parts.map(|part| part.number).collect();
        format!("{} {}", object.noun(numbers.len()), cores::list(&numbers))
    };
    let (what, of) = match to {
        Object::Board => ("the machine".into(), String::new()),
        Object::Package => (named(to), String::new()),
        _ => (named(to), format!(" of {}", named(Object::Package))),
    };
    let noun = if cpus.len() == 1 { "CPU" } else { "CPUs" };
    let list = cores::list(cpus);
    format!("bound to {what} ({noun} {list}){of}")
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;
    use crate::node::cores::tests::MadeUp;

    const TO_CORES: Wish = Wish {
        by: Object::Core,
        per_part: None,
        to: Object::Core,
        width: 1,
        may_share: false,
        gives_way: false,
        is_filled: false,
    };

    const KINDS: [Object; 7] = [
        Object::Thread,
        Object::Core,
        Object::L2,
        Object::L3,
        Object::Numa,
        Object::Package,
        Object::Board,
    ];

    /// Two sockets of 4 cores of 2 threads.
    fn two_sockets() -> &'static Machine {
        static MACHINE: LazyLock<Machine> = LazyLock::new(|| {
            let all: Vec<u32> = (0..16).collect();
            Machine::read(MadeUp::two_sockets().root(), &all)
        });
        &MACHINE
    }

    fn lists(machine: &Machine, ranks: usize, wish: Wish) -> Vec<String> {
        let bound = bind(machine, ranks, &wish).unwrap().unwrap();
        bound.iter().map(|cpus| cores::list(cpus)).collect()
    }

    fn refusal(ranks: usize, wish: Wish) -> String {
        bind(two_sockets(), ranks, &wish).unwrap_err()
    }

    #[test]
    fn each_rank_gets_a_core_with_its_threads() {
        let bound = lists(two_sockets(), 5, TO_CORES);
        assert_eq!(bound, ["0,8", "1,9", "2,10", "3,11", "4,12"]);
    }

    #[test]
    fn ranks_are_dealt_to_the_sockets_in_turn_and_get_cores_there() {
        let by_socket = Wish {
            by: Object::Package,
            ..TO_CORES
        };
        let bound = lists(two_sockets(), 4, by_socket);
        assert_eq!(bound, ["0,8", "4,12", "1,9", "5,13"]);
        let filled = Wish {
            is_filled: true,
            ..by_socket
        };
        let bound = lists(two_sockets(), 4, filled);
        assert_eq!(bound, ["0,8", "1,9", "4,12", "5,13"]);
    }

    #[test]
    fn several_ranks_per_part_come_part_after_part() {
        let per_socket = Wish {
            by: Object::Package,
            per_part: Some(2),
            ..TO_CORES
        };
        let bound = lists(two_sockets(), 4, per_socket);
        assert_eq!(bound, ["0,8", "1,9", "4,12", "5,13"]);
        let per_core = Wish {
            per_part: Some(2),
            ..TO_CORES
        };
        let bound = lists(two_sockets(), 4, per_core);
        assert_eq!(bound, ["0,8", "0,8", "1,9", "1,9"]);
        let sockets = Wish {
            to: Object::Package,
            ..per_socket
        };
        let bound = lists(two_sockets(), 4, sockets);
        assert_eq!(bound, ["0-3,8-11", "0-3,8-11", "4-7,12-15", "4-7,12-15"]);
    }

    #[test]
    fn a_rank_may_get_several_cores() {
        let pairs = Wish {
            width: 2,
            ..TO_CORES
        };
        let bound = lists(two_sockets(), 3, pairs);
        assert_eq!(bound, ["0,1,8,9", "2,3,10,11", "4,5,12,13"]);
        let threes = Wish {
            by: Object::Package,
            width: 3,
            ..TO_CORES
        };
        let bound = lists(two_sockets(), 2, threes);
        assert_eq!(bound, ["0-2,8-10", "4-6,12-14"]);
    }

    #[test]
    fn a_rank_on_a_core_may_be_bound_to_all_of_its_socket() {
        let wide = Wish {
            to: Object::Package,
            ..TO_CORES
        };
        let bound = lists(two_sockets(), 5, wide);
        assert_eq!(bound[..4], ["0-3,8-11"; 4]);
        assert_eq!(bound[4], "4-7,12-15");
    }

    #[test]
    fn ranks_share_large_parts_in_turn() {
        let sockets = Wish {
            by: Object::Package,
            to: Object::Package,
            ..TO_CORES
        };
        let bound = lists(two_sockets(), 3, sockets);
        assert_eq!(bound, ["0-3,8-11", "4-7,12-15", "0-3,8-11"]);
    }

    #[test]
    fn ranks_share_cores_only_where_they_may() {
        assert_eq!(
            refusal(9, TO_CORES),
            "9 ranks do not fit on 8 cores: start fewer ranks here, let them share with --bind-to \
             core:overload-allowed, or leave out --bind-to"
        );
        let pairs = Wish {
            width: 2,
            ..TO_CORES
        };
        assert!(refusal(5, pairs).starts_with("5 ranks with 2 cores each do not fit on 8 cores: "));
        let shared = Wish {
            may_share: true,
            ..TO_CORES
        };
        let bound = lists(two_sockets(), 9, shared);
        assert_eq!(bound[8], bound[0]);
        let gives_way = Wish {
            gives_way: true,
            ..TO_CORES
        };
        assert_eq!(bind(two_sockets(), 9, &gives_way), Ok(None));
    }

    #[test]
    fn a_rank_that_asks_for_more_than_a_part_has_is_refused() {
        let wide = Wish {
            by: Object::Package,
            width: 5,
            ..TO_CORES
        };
        assert_eq!(
            refusal(1, wide),
            "a rank asks for 5 cores of one socket, but it has 4 here that may be used: ask for \
             fewer"
        );
    }

    #[test]
    fn holes_in_what_is_allowed_are_filled_from_the_next_part() {
        let machine = two_sockets().only(&[1, 4, 5, 6]);
        let by_socket = Wish {
            by: Object::Package,
            ..TO_CORES
        };
        assert_eq!(lists(&machine, 4, by_socket), ["1", "4", "5", "6"]);
    }

    #[test]
    fn a_machine_without_cpus_binds_nothing() {
        let none = Machine::read(MadeUp::new().root(), &[]);
        assert!(bind(&none, 1, &TO_CORES).is_err());
    }

    #[test]
    fn a_binding_is_said_with_its_cpus_and_its_socket() {
        let machine = two_sockets();
        let said = |to, cpus: &[u32]| describe(machine, to, cpus);
        assert_eq!(
            said(Object::Core, &[5, 13]),
            "bound to core 5 (CPUs 5,13) of socket 1"
        );
        assert_eq!(
            said(Object::Thread, &[13]),
            "bound to hardware thread 13 (CPU 13) of socket 1"
        );
        assert_eq!(
            said(Object::Core, &[3, 4, 11, 12]),
            "bound to cores 3,4 (CPUs 3,4,11,12) of sockets 0,1"
        );
        assert_eq!(
            said(Object::Package, &[0, 1, 2, 3, 8, 9, 10, 11]),
            "bound to socket 0 (CPUs 0-3,8-11)"
        );
    }

    fn wishes() -> impl Strategy<Value = Wish> {
        let kinds = || prop::sample::select(&KINDS[..]);
        let numbers = (prop::option::of(1..4u32), 1..5u32);
        (kinds(), kinds(), numbers, any::<[bool; 3]>()).prop_map(|(by, to, numbers, is)| Wish {
            by,
            per_part: numbers.0,
            to,
            width: numbers.1,
            may_share: is[0],
            gives_way: is[1],
            is_filled: is[2],
        })
    }

    proptest! {
        #[test]
        fn each_rank_gets_some_of_the_allowed_cpus_and_always_the_same(
            allowed in prop::collection::btree_set(0..16u32, 1..16),
            ranks in 1..24usize,
            wish in wishes(),
        ) {
            let allowed: Vec<u32> = allowed.into_iter().collect();
            let machine = two_sockets().only(&allowed);
            let bound = bind(&machine, ranks, &wish);
            prop_assert_eq!(&bound, &bind(&machine, ranks, &wish));
            match bound {
                Ok(Some(bound)) => {
                    prop_assert_eq!(bound.len(), ranks);
                    for cpus in bound {
                        prop_assert!(!cpus.is_empty());
                        prop_assert!(cpus.iter().all(|cpu| allowed.contains(cpu)));
                    }
                }
                Ok(None) => prop_assert!(wish.gives_way && !wish.may_share),
                Err(text) => {
                    prop_assert!(!wish.gives_way && !wish.may_share && wish.to <= Object::Core);
                    prop_assert!(!text.contains('\n'));
                }
            }
        }

        #[test]
        fn ranks_that_may_not_share_have_no_cpu_in_common(
            allowed in prop::collection::btree_set(0..16u32, 1..16),
            ranks in 1..17usize,
            width in 1..4u32,
            (by, to) in (prop::sample::select(&KINDS[1..]), prop::sample::select(&KINDS[..2])),
        ) {
            let allowed: Vec<u32> = allowed.into_iter().collect();
            let machine = two_sockets().only(&allowed);
            let wish = Wish { by, to, width, ..TO_CORES };
            if let Ok(Some(bound)) = bind(&machine, ranks, &wish) {
                let mut all: Vec<u32> = bound.concat();
                all.sort_unstable();
                all.dedup();
                prop_assert_eq!(all.len(), bound.iter().map(Vec::len).sum::<usize>());
            }
        }
    }
}
