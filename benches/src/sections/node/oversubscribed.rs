//! Barrier, allreduce and farm, from two ranks up to many more than there are cores.

use super::{AUTO, gather, open_mpis, peers, program, rows};
use crate::bench::Bench;
use crate::contender::Contender;
use crate::goal::{Goal, Limit};
use crate::machine;
use crate::measurements::{Better, Measurements};
use crate::origin::LEAST_ROUNDS;
use crate::plot::{BarPlot, LinePlot, Plot, Ticks};
use crate::report::Report;
use crate::sections::picture::{bar, line_plot};
use crate::sections::{figure_after, in_rounds_of, medians, ratios};

const RANKS: [usize; 4] = [2, 4, 8, 16];
const OPERATIONS: [&str; 2] = ["barrier", "allreduce"];
/// A master and four workers.
const FARM_RANKS: usize = 5;
const FARM: &str = "farm, 5 ranks, tasks/s";

fn what(operation: &str, ranks: usize) -> String {
    format!("{operation}, {ranks} ranks")
}

/// What is measured at once.
#[derive(Debug, Clone, Copy)]
enum Task {
    Collectives(usize),
    Farm,
}

fn measure(bench: &Bench, (task, who): (Task, &Contender), all: &mut Measurements) {
    match task {
        Task::Collectives(ranks) => {
            let program = program("collective", ranks, &[], 30);
            let output = bench.run(who, &program);
            for operation in OPERATIONS {
                let us = figure_after(&output, &format!("{operation}: "));
                all.enter(&who.name, &what(operation, ranks), us);
            }
        }
        Task::Farm => {
            let budget = bench.options.choose("1.5", "0.7");
            let words = ["1000000", "30720", "1024", budget];
            let output = bench.run(who, &program("farm", FARM_RANKS, &words, 30));
            all.enter(&who.name, FARM, figure_after(&output, " s: "));
        }
    }
}

pub(in crate::sections) fn run(bench: &Bench, report: &mut Report) -> Result<(), String> {
    let contenders = gather(bench, report);
    let rounds = bench.options.rounds(LEAST_ROUNDS, 1);
    report.set_origin(bench.origin(rounds, &contenders));
    let how = bench.how(rounds);
    let mut tasks = RANKS.map(Task::Collectives).to_vec();
    tasks.push(Task::Farm);
    let all = in_rounds_of(rounds, (&tasks, &contenders), |task, who, all| {
        measure(bench, (*task, who), all);
    });
    let cores = machine::cores();
    for operation in OPERATIONS {
        let names = RANKS.map(|ranks| what(operation, ranks));
        let rows = rows(&names.each_ref().map(String::as_str));
        let shown = (&rows[..], &contenders[..]);
        let title = format!("{operation} on {cores} cores, us, {how}");
        report.table(&medians(&title, "", shown, &all));
        report.table(&ratios(
            &format!("{operation} (below 1 is better)"),
            "",
            shown,
            &all,
        ));
    }
    let farm = rows(&[FARM]);
    let shown = (&farm[..], &contenders[..]);
    let title = format!("farm of 30 KiB tasks on {cores} cores, {how}");
    report.table(&medians(&title, "", shown, &all));
    report.table(&ratios("farm (above 1 is better)", "", shown, &all));
    set_goals(report, &all, &contenders);
    draw(report, &contenders, &all, &how);
    Ok(())
}

fn set_goals(report: &mut Report, all: &Measurements, contenders: &[Contender]) {
    let (peers, open_mpis) = (peers(contenders), open_mpis(contenders));
    let mut goal = |what: &str, limit, measured| report.goal(Goal::new(what, limit, measured));
    for operation in OPERATIONS {
        let name = what(operation, 2);
        let ratio = all.ratio(AUTO, &peers, &name, Better::Smaller);
        goal(&format!("{name} / best peer"), Limit::Most(1.0), ratio);
    }
    let name = what("barrier", 16);
    let ratio = all.ratio(AUTO, &open_mpis, &name, Better::Smaller);
    let cores = machine::cores();
    let name = format!("{name} on {cores} cores / best Open MPI");
    goal(&name, Limit::Most(0.7), ratio);
    let ratio = all.ratio(AUTO, &open_mpis, FARM, Better::Larger);
    let name = format!("farm, 5 ranks on {cores} cores / best Open MPI");
    goal(&name, Limit::Least(1.0), ratio);
}

fn draw(report: &mut Report, contenders: &[Contender], all: &Measurements, how: &str) {
    let cores = machine::cores();
    let axis = format!("they share {cores} cores");
    let ticks = Ticks::steps(&axis, &RANKS.map(|ranks| ranks as f64), "ranks");
    let names = RANKS.map(|ranks| what("barrier", ranks));
    let barrier = LinePlot {
        title: "Barrier with more ranks than cores".to_owned(),
        subtitle: format!("one machine, {how}; lower is better"),
        y: "µs".to_owned(),
        ..line_plot(contenders, (ticks, &names), all)
    };
    report.plot("node-oversubscribed", Plot::Lines(barrier));
    let bar = |who: &Contender| bar(who, FARM, all);
    let farm = BarPlot {
        title: "Task farm with more ranks than cores".to_owned(),
        subtitle: format!("tasks of 30 KiB, results of 1 KiB, {how}; higher is better"),
        unit: " tasks/s".to_owned(),
        groups: vec![(
            format!("1 master and 4 workers on {cores} cores"),
            contenders.iter().map(bar).collect(),
        )],
    };
    report.plot("node-farm", Plot::Bars(farm));
}
