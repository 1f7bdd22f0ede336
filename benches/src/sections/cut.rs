//! The network is cut for a minute and healed: how soon messages flow again.

use std::time::Duration;

use super::cell;
use crate::bench::{Bench, Program};
use crate::contender::Contender;
use crate::goal::{Goal, Limit};
use crate::measurements::{Spread, number_after};
use crate::place::{Network, Place, check_networks, cut};
use crate::report::Report;
use crate::table::Table;

pub(super) fn run(bench: &Bench, report: &mut Report, network: Network) -> Result<(), String> {
    check_networks()?;
    let seconds = bench.options.choose(60, 5);
    let contenders = bench.contenders(&["fast", "classic"]);
    let program = |who: &Contender| {
        let file = |end: &str| bench.fresh_file(&format!("{}.{end}", who.name));
        let (ready, stop) = (file("ready"), file("stop"));
        let words = [&ready, &stop].map(|path| path.display().to_string());
        let program = Program {
            place: Place::Own(network),
            // TCP doubles its timer up to two minutes.
            limit: Duration::from_secs(seconds * 3 + 15),
            ..Program::new("outage", &words)
        };
        (program, ready, stop)
    };
    // All at once, each in its own network: they do nothing but wait.
    let installed = contenders.iter().filter(|who| who.is_installed);
    let running: Vec<_> = installed
        .map(|who| {
            let (program, ready, stop) = program(who);
            let job = cut(
                bench.job(who, &program),
                Duration::from_secs(seconds),
                &ready,
                &stop,
            );
            (who, program, job.start())
        })
        .collect();
    let mut resumed = Vec::new();
    for (who, program, job) in running {
        let output = bench.judge(who, &program, job.finish());
        let pause = output.ok().and_then(|output| {
            Some(number_after(&output, "resumed: ")? - number_after(&output, "healed: ")?)
        });
        resumed.push((who.name.as_str(), pause));
    }
    let of = |who: &str| {
        resumed
            .iter()
            .find(|(name, _)| *name == who)
            .and_then(|found| found.1)
    };
    let title = format!(
        "seconds from the end of a cut of {seconds} s until messages flow again, {network}"
    );
    let mut table = Table::new(title, vec![String::new(), "seconds".to_owned()]);
    for who in &contenders {
        table.row(who.name.as_str(), vec![cell(who, of(&who.name))]);
    }
    report.table(&table);
    let pause = of("fast").and_then(|pause| Spread::of(vec![pause]));
    let what = format!("after a cut of {seconds} s, seconds until messages flow");
    report.goal(Goal::new(what, Limit::Most(2.0), pause));
    Ok(())
}
