//! Farm and ping-pong on a network that loses packets.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use super::picture::line_plot;
use super::{figure_after, in_rounds, medians, plot_name, ratios};
use crate::bench::{Bench, Missing, Program};
use crate::contender::Contender;
use crate::goal::{Goal, Limit};
use crate::measurements::{Better, Measurements, Spread, lines_of};
use crate::origin::LEAST_ROUNDS;
use crate::place::{Network, Place, check_networks};
use crate::plot::{LinePlot, Plot, Ticks};
use crate::report::Report;

/// Packets lost of a hundred.
const LOSSES: [f64; 5] = [0.0, 0.1, 1.0, 2.0, 5.0];
/// Where only the packets of long messages are counted.
const HEAVY: [f64; 2] = [10.0, 30.0];

const MIB: u32 = 1 << 20;

/// What is noted of each loss.
fn what(subject: &str, loss: f64) -> String {
    format!("{subject} at {loss} %")
}

const FARM: &str = "farm, tasks/s";
const STALL: &str = "farm, longest time between two results, ms";
const WAITING: &str = "farm whose worker waits for each task, tasks/s";
const SHORT: &str = "8 B, mean half round trip, us";
const LONG: &str = "1 MiB, mean half round trip, us";
const LONG_STALL: &str = "1 MiB, longest round trip, ms";
const PACKETS: &str = "1 MiB, packets per message";
const TABLES: [&str; 7] = [FARM, STALL, WAITING, SHORT, LONG, LONG_STALL, PACKETS];

/// Runs programs on the lossy network. A contender that was too slow once is not measured again
/// with the same program at as much or more loss: a comparison must end.
struct Lossy<'a> {
    bench: &'a Bench,
    network: Network,
    too_slow: RefCell<BTreeMap<(String, &'static str, u64), String>>,
}

impl Lossy<'_> {
    fn run(
        &self,
        who: &Contender,
        (name, kind): (&'static str, u64),
        job: Job<'_>,
    ) -> Result<String, Missing> {
        let key = (who.name.clone(), name, kind);
        if let Some(why) = self.too_slow.borrow().get(&key) {
            return Err(Missing::NoFigure(why.clone()));
        }
        let program = Program {
            place: Place::Own(self.network.losing(job.loss)),
            limit: Duration::from_secs_f64(job.budget_s + if job.loss > 5.0 { 25.0 } else { 8.0 }),
            ..Program::new(name, job.words)
        };
        let output = self.bench.run(who, &program);
        if let Err(why) = &output
            && who.is_installed
            && job.loss > 0.0
        {
            let why = format!("{why} at {} %", job.loss);
            self.too_slow.borrow_mut().insert(key, why);
        }
        output
    }

    /// With two tasks in hand a worker always has something to do, and the packets of the next
    /// task tell the sender of the last that they got lost; with one, the last is the tail.
    fn farm(&self, who: &Contender, (in_hand, loss): (u64, f64), all: &mut Measurements) {
        let (tasks, budget_s) = self.bench.options.choose((2000, 3.0), (500, 0.8));
        let words = [tasks.to_string(), "30720".to_owned(), "1024".to_owned()];
        let words = [&words[..], &[budget_s.to_string(), in_hand.to_string()]].concat();
        let job = Job {
            words: &words,
            loss,
            budget_s,
        };
        let output = self.run(who, ("farm", in_hand), job);
        let subjects: &[_] = if in_hand == 1 {
            &[(WAITING, " s: ")]
        } else {
            &[(FARM, " s: "), (STALL, "two results: ")]
        };
        for (subject, words) in subjects {
            all.enter(
                &who.name,
                &what(subject, loss),
                figure_after(&output, words),
            );
        }
    }

    fn round_trips(&self, who: &Contender, (bytes, loss): (u32, f64), all: &mut Measurements) {
        let budget_s = self.bench.options.choose(1.5, 0.5);
        let words = [bytes.to_string(), budget_s.to_string()];
        let job = Job {
            words: &words,
            loss,
            budget_s,
        };
        let output = self.run(who, ("roundtrips", u64::from(bytes)), job);
        let figures = output.and_then(|output| {
            let line = lines_of(&output).into_iter().next();
            let figures = line.and_then(|(_, figures)| <[f64; 3]>::try_from(figures).ok());
            figures.ok_or(Missing::figure())
        });
        let subjects: &[_] = if bytes == MIB {
            &[LONG, LONG_STALL, PACKETS]
        } else {
            &[SHORT]
        };
        for (index, subject) in subjects.iter().enumerate() {
            let figure = figures.as_ref().map(|figures| figures[index]);
            all.enter(&who.name, &what(subject, loss), figure);
        }
    }
}

/// Words of a program, how many percent it loses, and how long it means to run.
struct Job<'a> {
    words: &'a [String],
    loss: f64,
    budget_s: f64,
}

pub(super) fn run(bench: &Bench, report: &mut Report, network: Network) -> Result<(), String> {
    check_networks()?;
    let contenders = bench.contenders(&["fast", "classic"]);
    let rounds = bench.options.rounds(LEAST_ROUNDS, 1);
    report.set_origin(bench.origin(rounds, &contenders));
    let how = bench.how(rounds);
    let lossy = Lossy {
        bench,
        network: network.like_a_wire(),
        too_slow: RefCell::default(),
    };
    let all = in_rounds(rounds, &contenders, |who, all| {
        for loss in LOSSES {
            lossy.farm(who, (2, loss), all);
            lossy.farm(who, (1, loss), all);
            lossy.round_trips(who, (8, loss), all);
            lossy.round_trips(who, (MIB, loss), all);
        }
        if who.name == "fast" {
            for loss in HEAVY {
                lossy.round_trips(who, (MIB, loss), all);
            }
        }
    });
    let rows = |subject: &str, losses: &[f64]| -> Vec<(String, String)> {
        let row = |loss: &f64| (format!("{loss} %"), what(subject, *loss));
        losses.iter().map(row).collect()
    };
    for subject in TABLES {
        let title = format!("{subject} ({}), {how}", lossy.network);
        let rows = match subject {
            PACKETS => rows(subject, &[&LOSSES[..], &HEAVY].concat()),
            _ => rows(subject, &LOSSES),
        };
        report.table(&medians(&title, "loss", (&rows, &contenders), &all));
    }
    for subject in [FARM, WAITING] {
        let rows = rows(subject, &LOSSES);
        let title = format!("{subject} (above 1 is better)");
        report.table(&ratios(&title, "loss", (&rows, &contenders), &all));
    }
    set_goals(report, &all);
    let how = format!("{}, {how}", lossy.network);
    let plot = Plot::Lines(draw(&contenders, &all, &how));
    report.plot(plot_name("loss", network), plot);
    Ok(())
}

fn set_goals(report: &mut Report, all: &Measurements) {
    let at = what(FARM, 1.0);
    let mut goal = |what: &str, limit, measured| report.goal(Goal::new(what, limit, measured));
    let lossless = what(FARM, 0.0);
    let over_peer = all.ratio("fast", &["Open MPI tcp"], &lossless, Better::Larger);
    goal(
        "farm without loss / Open MPI tcp",
        Limit::Least(1.0),
        over_peer,
    );
    let over_peer = all.ratio("fast", &["Open MPI tcp"], &at, Better::Larger);
    goal(
        "farm at 1 % loss / Open MPI tcp",
        Limit::Least(10.0),
        over_peer,
    );
    let waiting = what(WAITING, 1.0);
    let over_peer = all.ratio("fast", &["Open MPI tcp"], &waiting, Better::Larger);
    let name = "farm whose worker waits at 1 % loss / Open MPI tcp";
    goal(name, Limit::Least(10.0), over_peer);
    let kept =
        all.spread(|round| Some(round.get("fast", &at)? / round.get("fast", &what(FARM, 0.0))?));
    goal("farm at 1 % loss / without loss", Limit::Least(0.5), kept);
    // A stall is one too many wherever it comes: the worst round counts.
    let stall = all.spread(|round| round.get("fast", &what(STALL, 1.0)));
    let worst = stall.and_then(|spread| Spread::of(vec![spread.most]));
    goal(
        "farm at 1 % loss, longest stall of all rounds, ms",
        Limit::Most(20.0),
        worst,
    );
    for (loss, limit) in [(1.0, 1.3), (10.0, 2.0), (30.0, 4.0)] {
        let packets = all.spread(|round| {
            let lossless = round.get("fast", &what(PACKETS, 0.0))?;
            Some(round.get("fast", &what(PACKETS, loss))? / lossless)
        });
        let what = format!("packets of 1 MiB at {loss} % loss / without loss");
        goal(&what, Limit::Most(limit), packets);
    }
}

fn draw(contenders: &[Contender], all: &Measurements, how: &str) -> LinePlot {
    let names = LOSSES.map(|loss| what(FARM, loss));
    LinePlot {
        title: "Task farm on a network that loses packets".to_owned(),
        subtitle: format!("tasks of 30 KiB, results of 1 KiB, {how}; higher is better"),
        y: "tasks/s".to_owned(),
        ..line_plot(
            contenders,
            (Ticks::steps("packets lost", &LOSSES, "%"), &names),
            all,
        )
    }
}
