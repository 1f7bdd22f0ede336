//! Runs an experiment in rounds, for as long as its share of the time lasts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use mpi_lite_tests::{Outcome as Ended, Scratch, build_with, tool};

use super::experiments::{Experiment, Figure, Measure, Run};
use super::kept::{Outcome, Record};
use super::simulated;
use super::transport::{Found, Transport};
use crate::measurements::{lines_of, number_after};

/// More rounds than this say nothing new.
const MOST_ROUNDS: usize = 7;
/// A first round that takes this many times the share is not ended: it has no figures elsewhere.
const PATIENCE: u32 = 2;
/// How `timeout` ends what is too slow, and what would not end.
const STOPPED: [Option<i32>; 3] = [None, Some(124), Some(137)];
/// What a job that came too late says.
const NO_TIME: &str = "not measured: the time of the experiment was over";

/// Measures an experiment with all its contenders. No job of it starts after `end`.
pub(super) fn measure(experiment: &Experiment, (found, end): (&Found, Instant)) -> Outcome {
    let start = Instant::now();
    let mut notes = experiment.notes.clone();
    let (records, commands) = match &experiment.measure {
        Measure::Simulated(nodes) => {
            let records = simulated::measure(nodes, start + experiment.share);
            (records, vec![simulated::COMMAND.to_owned()])
        }
        Measure::Jobs(runs) => {
            let mut rounds = Rounds::new(experiment, found);
            rounds.measure(runs, (start, end));
            notes.extend(rounds.notes());
            (rounds.records, commands(runs))
        }
    };
    let rounds = records.iter().map(|it| it.round + 1).max().unwrap_or(0);
    let took_s = start.elapsed().as_secs_f64();
    eprintln!(
        "laboratory: {}: {rounds} rounds in {took_s:.0} s",
        experiment.name
    );
    Outcome {
        name: experiment.name.to_owned(),
        commands,
        contenders: experiment
            .contenders
            .iter()
            .map(|it| it.name.clone())
            .collect(),
        rounds,
        took_s,
        panels: experiment.panels.clone(),
        notes,
        goal: experiment.goal.clone(),
        records,
    }
}

/// The command lines, each program once with its first words.
fn commands(runs: &[Run]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let first = runs.iter().filter(|run| seen.insert(run.program.name));
    first.map(Run::command).collect()
}

struct Rounds<'a> {
    experiment: &'a Experiment,
    has_net: bool,
    programs: BTreeMap<&'static str, PathBuf>,
    _folder: Scratch,
    /// Who did not end in time at which run: not run again.
    too_slow: BTreeMap<(String, String), String>,
    records: Vec<Record>,
}

impl<'a> Rounds<'a> {
    fn new(experiment: &'a Experiment, found: &Found) -> Self {
        let folder = Scratch::new("laboratory");
        let mut programs = BTreeMap::new();
        if let Measure::Jobs(runs) = &experiment.measure {
            for name in runs.iter().map(|run| run.program.name) {
                programs.entry(name).or_insert_with(|| {
                    build_with(&format!("benches/c/{name}.c"), &folder, &["-O2"])
                });
            }
        }
        Self {
            experiment,
            has_net: found.has_net,
            programs,
            _folder: folder,
            too_slow: BTreeMap::new(),
            records: Vec::new(),
        }
    }

    /// Everybody back to back at each run; each round begins with another.
    fn measure(&mut self, runs: &[Run], (start, end): (Instant, Instant)) {
        let end = end.min(start + self.experiment.share * PATIENCE);
        let share = self.experiment.share;
        let whom = &self.experiment.contenders;
        for round in 0..MOST_ROUNDS {
            let began = start.elapsed();
            for run in runs {
                for turn in 0..whom.len() {
                    let is_late = Instant::now() > end;
                    self.enter(round, run, (&whom[(round + turn) % whom.len()], is_late));
                }
            }
            let (now, name) = (start.elapsed(), self.experiment.name);
            eprintln!(
                "laboratory: {name}: round {} after {:.0} s",
                round + 1,
                now.as_secs_f64()
            );
            if now + (now - began) > share {
                break;
            }
        }
    }

    fn enter(&mut self, round: usize, run: &Run, (who, is_late): (&Transport, bool)) {
        let output = if is_late {
            Err(NO_TIME.to_owned())
        } else {
            self.output(run, who)
        };
        for (what, figure) in &run.figures {
            let figure = output.clone().and_then(|text| figure.of(&text));
            let (who, what) = (who.name.clone(), what.clone());
            self.records.push(Record {
                round,
                who,
                what,
                figure,
            });
        }
    }

    /// What the program printed, or in one line why not.
    fn output(&mut self, run: &Run, who: &Transport) -> Result<String, String> {
        let shaping = self.shaping(run, who)?;
        let key = (who.name.clone(), format!("{run:?}"));
        if let Some(why) = self.too_slow.get(&key) {
            return Err(why.clone());
        }
        let program = &run.program;
        let mut job = program.place.job(who.protocol, program.limit);
        for (name, value) in who.variables() {
            job = job.env(name, value);
        }
        let ended = job
            .arg(tool("mpirun"))
            .args(["-n", &program.ranks.to_string(), "--transport", who.word])
            .args(["--stall", "off"])
            .args(shaping)
            .arg(&self.programs[program.name])
            .args(&program.arguments)
            .run();
        let output = judge(ended, program.limit);
        if let Err(why) = &output {
            eprintln!("laboratory: {}: {}: {why}", who.name, run.command());
            if why.starts_with(SLOW) {
                self.too_slow.insert(key, why.clone());
            }
        }
        output
    }

    /// The words that shape the network.
    fn shaping(&self, run: &Run, who: &Transport) -> Result<Vec<&'static str>, String> {
        match run.net {
            None => Ok(Vec::new()),
            Some(_) if !self.has_net => Err("this mpirun has no --net".to_owned()),
            Some(_) if !who.has_shaping() => Err("--net shapes datagrams alone".to_owned()),
            Some(net) => Ok(vec!["--net", net]),
        }
    }

    /// What all readers of loss must know.
    fn notes(&self) -> Vec<String> {
        let Measure::Jobs(runs) = &self.experiment.measure else {
            return Vec::new();
        };
        let has_net = runs.iter().any(|run| run.net.is_some());
        let unshaped = self
            .experiment
            .contenders
            .iter()
            .filter(|it| !it.has_shaping());
        let names: Vec<&str> = unshaped.map(|it| &*it.name).collect();
        if has_net && !names.is_empty() {
            let names = names.join(", ");
            return vec![format!(
                "`--net` shapes datagrams alone: {names} could not be measured."
            )];
        }
        Vec::new()
    }
}

/// How the line of a job begins that did not end in its time.
const SLOW: &str = "did not end in";

fn judge(ended: Ended, limit: Duration) -> Result<String, String> {
    if ended.code == Some(0) {
        return Ok(ended.stdout);
    }
    if STOPPED.contains(&ended.code) {
        return Err(format!("{SLOW} {} s", limit.as_secs_f64()));
    }
    let line = ended
        .stderr
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty());
    let code = ended.code.unwrap_or_default();
    Err(format!(
        "failed: {}",
        line.unwrap_or(&format!("exit code {code}"))
    ))
}

impl Figure {
    /// Reads the figure in what a program printed.
    fn of(&self, text: &str) -> Result<f64, String> {
        let (figure, factor) = match self {
            Self::After(words) => (number_after(text, words), 1.0),
            Self::Part(words, whole) => (number_after(text, words), 100.0 / whole),
            Self::Column(number) => {
                let line = lines_of(text).into_iter().next();
                (line.and_then(|(_, all)| all.get(*number).copied()), 1.0)
            }
        };
        let figure = figure.ok_or_else(|| "no figure was printed".to_owned());
        figure.map(|figure| figure * factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(code: Option<i32>, stderr: &str) -> Ended {
        Ended {
            code,
            stdout: "8 1.5 2.5\nrate: 25\n".to_owned(),
            stderr: stderr.to_owned(),
            took: Duration::ZERO,
            line: String::new(),
        }
    }

    #[test]
    fn a_job_gives_its_output_or_one_line() {
        let limit = Duration::from_secs(4);
        assert!(judge(ended(Some(0), "noise"), limit).is_ok());
        let slow = judge(ended(Some(124), ""), limit);
        assert_eq!(slow, Err("did not end in 4 s".to_owned()));
        let failed = judge(ended(Some(1), "\n  mpirun: no\nmore\n"), limit);
        assert_eq!(failed, Err("failed: mpirun: no".to_owned()));
        let silent = judge(ended(Some(7), ""), limit);
        assert_eq!(silent, Err("failed: exit code 7".to_owned()));
    }

    #[test]
    fn figures_are_read_behind_words_or_in_columns() {
        let text = ended(Some(0), "").stdout;
        assert_eq!(Figure::Column(1).of(&text), Ok(2.5));
        assert_eq!(Figure::After("rate: ").of(&text), Ok(25.0));
        assert_eq!(Figure::Part("rate: ", 125.0).of(&text), Ok(20.0));
        assert!(Figure::After("none: ").of(&text).is_err());
    }
}
