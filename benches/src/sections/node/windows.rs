//! One-sided communication: windows of two ranks, on one machine and over a network.

use std::collections::BTreeSet;

use super::{AUTO, RMPP, figure, gather, peers, program};
use crate::bench::{Bench, Missing, Program};
use crate::contender::Contender;
use crate::goal::{Goal, Limit};
use crate::measurements::{Better, Measurements};
use crate::place::{Network, Place, check_networks};
use crate::report::Report;
use crate::sections::{in_rounds_of, medians, ratios};

const RANKS: usize = 2;
/// All rows of a flavour take three seconds on a machine that is not busy.
const LIMIT_S: u64 = 30;
/// Who fails at so many rows of a flavour in one round is not asked for its other rows.
const MOST_FAILURES: usize = 3;

/// What makes a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Flavour {
    /// What the program calls it.
    name: &'static str,
    /// The function.
    function: &'static str,
    /// The memory is the program's own, not the library's.
    is_of_the_program: bool,
}

const ALLOCATE: Flavour = Flavour {
    name: "allocate",
    function: "MPI_Win_allocate",
    is_of_the_program: false,
};
const SHARED: Flavour = Flavour {
    name: "shared",
    function: "MPI_Win_allocate_shared",
    is_of_the_program: false,
};
const CREATE: Flavour = Flavour {
    name: "create",
    function: "MPI_Win_create",
    is_of_the_program: true,
};
const ON_ONE_MACHINE: [Flavour; 3] = [ALLOCATE, SHARED, CREATE];
const OVER_A_NETWORK: [Flavour; 2] = [ALLOCATE, CREATE];

/// What the goal of a row depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A word, a kilobyte or nothing.
    Short,
    Long,
    /// The target calls nothing meanwhile.
    Computing,
}

#[derive(Debug, Clone, Copy)]
struct Row {
    /// What the program calls it.
    name: &'static str,
    /// What tables call it.
    shown: &'static str,
    kind: Kind,
}

const fn row(name: &'static str, shown: &'static str, kind: Kind) -> Row {
    Row { name, shown, kind }
}

/// In the order of the program.
const ROWS: [Row; 14] = [
    row("put_8", "put of 8 B, flush", Kind::Short),
    row("get_8", "get of 8 B, flush", Kind::Short),
    row("fetch_and_op", "fetch_and_op of 8 B, flush", Kind::Short),
    row(
        "compare_and_swap",
        "compare_and_swap of 8 B, flush",
        Kind::Short,
    ),
    row(
        "accumulate",
        "accumulate of 1 KiB (sum of doubles), flush",
        Kind::Short,
    ),
    row("put_64k", "put of 64 KiB, flush", Kind::Long),
    row("get_64k", "get of 64 KiB, flush", Kind::Long),
    row(
        "lock_unlock",
        "exclusive lock and unlock, nothing between",
        Kind::Short,
    ),
    row("fence", "fence, nothing between", Kind::Short),
    row(
        "computing_put",
        "target computes: longest put of 8 B",
        Kind::Computing,
    ),
    row(
        "computing_get",
        "target computes: longest get of 8 B",
        Kind::Computing,
    ),
    row(
        "computing_accumulate",
        "target computes: longest accumulate of 1 KiB",
        Kind::Computing,
    ),
    row(
        "computing_fetch_and_op",
        "target computes: longest fetch_and_op",
        Kind::Computing,
    ),
    row(
        "computing_compare_and_swap",
        "target computes: longest compare_and_swap",
        Kind::Computing,
    ),
];

/// Under which name a figure is noted.
fn noted(flavour: Flavour, row: Row) -> String {
    format!("{}: {}", flavour.function, row.shown)
}

/// Which rows of which flavour somebody failed at: they are left out of its later runs, that the
/// others have their figures.
type Failed = BTreeSet<(String, String)>;

/// Measures the rows of a flavour in one run. A run that ends early has failed at the first row of
/// which it printed nothing; those behind it get another run.
fn measure(
    (bench, place): (&Bench, Place),
    (flavour, who): (Flavour, &Contender),
    (all, failed): (&mut Measurements, &mut Failed),
) {
    let key = |row: Row| (who.name.clone(), noted(flavour, row));
    let mut rows = ROWS.to_vec();
    rows.retain(|row| !failed.contains(&key(*row)));
    let mut failures = 0;
    while !rows.is_empty() {
        let names = rows.iter().map(|row| row.name);
        let words: Vec<&str> = std::iter::once(flavour.name).chain(names).collect();
        let program = Program {
            place,
            ..program("windows", RANKS, &words, LIMIT_S)
        };
        let (printed, ended) = bench.run_and_keep(who, &program);
        let told = enter(&printed, (flavour, who), &rows, all);
        rows.drain(..told);
        failures += 1;
        let why = ended.err().unwrap_or_else(Missing::figure);
        let lost = match why {
            Missing::NotInstalled => rows.len(),
            _ if failures == MOST_FAILURES => rows.len(),
            _ => rows.len().min(1),
        };
        for row in rows.drain(..lost) {
            all.lack(&who.name, &noted(flavour, row), &why);
            failed.insert(key(row));
        }
    }
}

/// Enters what was printed about the rows, up to the first one of which nothing was; answers how
/// many that are.
fn enter(
    printed: &str,
    (flavour, who): (Flavour, &Contender),
    rows: &[Row],
    all: &mut Measurements,
) -> usize {
    let figures = rows
        .iter()
        .map_while(|row| Some((row, figure(printed, row.name)?)));
    let mut count = 0;
    for (row, figure) in figures {
        all.enter(&who.name, &noted(flavour, *row), figure);
        count += 1;
    }
    count
}

/// Measures these flavours at a place, and shows what was measured.
fn compare(
    (bench, report): (&Bench, &mut Report),
    (flavours, place, where_at): (&[Flavour], Place, &str),
    contenders: &[Contender],
    rounds: usize,
) -> Measurements {
    let how = bench.how(rounds);
    let mut failed = Failed::new();
    let all = in_rounds_of(rounds, (flavours, contenders), |flavour, who, all| {
        measure((bench, place), (*flavour, who), (all, &mut failed));
    });
    for flavour in flavours {
        let name = flavour.function;
        let rows: Vec<_> = ROWS
            .iter()
            .map(|row| (row.shown.to_owned(), noted(*flavour, *row)))
            .collect();
        let title = format!("{name}, {RANKS} ranks {where_at}, us, {how}");
        report.table(&medians(&title, "", (&rows, contenders), &all));
        let title = format!("{name} {where_at} (below 1 is better)");
        report.table(&ratios(&title, "", (&rows, contenders), &all));
    }
    all
}

/// Open MPI 4 once more without its component `rdma`. It has windows of `MPI_Win_allocate` with it,
/// where version 4.1.4 ends in a `compare_and_swap`.
fn without_rdma(who: &Contender) -> Option<Contender> {
    let is_meant = who.name.starts_with("Open MPI 4");
    is_meant.then(|| with_component(who, "^rdma", &format!("{} ^rdma", who.name)))
}

/// An Open MPI whose windows are made with this component, under this name.
fn with_component(who: &Contender, component: &str, name: &str) -> Contender {
    let mut who = Contender {
        name: name.to_owned(),
        ..who.clone()
    };
    who.variables.push(("OMPI_MCA_osc", component.to_owned()));
    who
}

/// Windows of two ranks on one machine.
pub(in crate::sections) fn run(bench: &Bench, report: &mut Report) -> Result<(), String> {
    let mut contenders = gather(bench, report);
    contenders.retain(|who| who.name != RMPP);
    let more: Vec<_> = contenders.iter().filter_map(without_rdma).collect();
    contenders.extend(more);
    let rounds = bench.options.rounds(5, 1);
    let here = (&ON_ONE_MACHINE[..], Place::Machine, "on one machine");
    let all = compare((bench, report), here, &contenders, rounds);
    for flavour in ON_ONE_MACHINE {
        for row in ROWS {
            report.goal(goal(flavour, row, &all, &peers(&contenders)));
        }
    }
    Ok(())
}

fn goal(flavour: Flavour, row: Row, all: &Measurements, peers: &[&str]) -> Goal {
    let name = noted(flavour, row);
    let most = match row.kind {
        Kind::Computing => {
            let longest = all.spread_of(AUTO, &name);
            return Goal::new(format!("{name}, us"), Limit::Most(100.0), longest);
        }
        _ if flavour.is_of_the_program => 0.9,
        Kind::Short => 1.5,
        Kind::Long => 1.0,
    };
    let ratio = all.ratio(AUTO, peers, &name, Better::Smaller);
    Goal::new(format!("{name} / best peer"), Limit::Most(most), ratio)
}

/// The peer that the goals over a network are about.
const OPEN_MPI: &str = "Open MPI tcp";

/// The same over a network, which everybody uses by UDP or TCP.
pub(in crate::sections) fn over_network(
    bench: &Bench,
    report: &mut Report,
    network: Network,
) -> Result<(), String> {
    check_networks()?;
    let mut contenders = bench.contenders(&["fast"]);
    for who in contenders.iter_mut().filter(|who| who.name == OPEN_MPI) {
        // Of its components those for hosts that TCP connects: by itself it would find that its
        // ranks share a machine, and memory.
        *who = with_component(who, "pt2pt", OPEN_MPI);
    }
    let rounds = bench.options.rounds(5, 1);
    let where_at = format!("over a network, {network}");
    let there = (&OVER_A_NETWORK[..], Place::Own(network), where_at.as_str());
    let all = compare((bench, report), there, &contenders, rounds);
    for flavour in OVER_A_NETWORK {
        for row in ROWS {
            let name = noted(flavour, row);
            let ratio = all.ratio("fast", &[OPEN_MPI], &name, Better::Smaller);
            let what = format!("{name} / {OPEN_MPI}");
            report.goal(Goal::new(what, Limit::Most(0.7), ratio));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use mpi_lite_tests::c_source;

    use super::*;
    use crate::contender::kernel;

    #[test]
    fn the_program_knows_every_row_and_flavour_in_this_order() {
        let path = c_source("benches/c/windows.c");
        let source = std::fs::read_to_string(path).expect("a program");
        let place = |row: &Row| source.find(&format!("{{\"{}\",", row.name));
        let places: Vec<_> = ROWS.iter().map(place).collect();
        assert!(
            places.is_sorted() && places.iter().all(Option::is_some),
            "{places:?}"
        );
        for flavour in ON_ONE_MACHINE {
            assert!(source.contains(&format!("\"{}\"", flavour.name)));
        }
    }

    #[test]
    fn a_run_that_ended_early_tells_the_rows_before_its_end() {
        let mut all = Measurements::default();
        all.begin_round();
        let who = kernel("peer", "udp");
        let printed = "put_8: 1.5\nget_8: wrong: data at the origin\naccumulate: 2\n";
        let count = enter(printed, (CREATE, &who), &ROWS, &mut all);
        assert_eq!(count, 2);
        let figure = |row: usize| all.median("peer", &noted(CREATE, ROWS[row]));
        assert_eq!((figure(0), figure(1), figure(4)), (Some(1.5), None, None));
    }

    #[test]
    fn open_mpi_4_alone_is_measured_twice() {
        let names = ["Open MPI 4.1", "Open MPI 5.0", "MPICH 4.0"];
        let more: Vec<_> = names
            .iter()
            .filter_map(|name| without_rdma(&kernel(name, "tcp")))
            .collect();
        assert_eq!(more.len(), 1);
        assert_eq!(more[0].name, "Open MPI 4.1 ^rdma");
        assert_eq!(more[0].variables, [("OMPI_MCA_osc", "^rdma".to_owned())]);
    }

    #[test]
    fn memory_of_the_library_has_another_goal_than_that_of_the_program() {
        let limit = |flavour, row| goal(flavour, row, &Measurements::default(), &[]).to_string();
        for (flavour, row, most) in [
            (ALLOCATE, ROWS[0], "<= 1.5"),
            (SHARED, ROWS[5], "<= 1 "),
            (CREATE, ROWS[5], "<= 0.9"),
            (CREATE, ROWS[9], "<= 100"),
        ] {
            let text = limit(flavour, row) + " ";
            assert!(text.contains(most), "{text}");
        }
    }
}
