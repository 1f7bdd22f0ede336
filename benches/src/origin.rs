//! Where, when and with what the figures of a picture were measured: its small print.

use std::fs;
use std::process::Command;

use mpi_lite_tests::c_source;
use serde::{Deserialize, Serialize};

use crate::contender::Contender;
use crate::machine;
use crate::options::Options;

/// A picture of fewer rounds shows chance: it is not drawn among those of the documentation.
pub(crate) const LEAST_ROUNDS: usize = 5;
/// The small print of figures that were kept without their origin.
const NOT_RECORDED: &str = "machine, date, commit and versions: not recorded";

/// What a reader must know of figures to judge them. It is kept with them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// CPU, cores and kernel.
    pub machine: String,
    /// The day in UTC: `2026-11-24`.
    pub date: String,
    /// The commit of mpi-lite, and whether its sources were changed.
    pub commit: String,
    /// How many rounds were measured.
    pub rounds: usize,
    /// Whether the rounds were those of a quick comparison.
    pub is_quick: bool,
    /// The other MPIs, each with its version.
    pub peers: Vec<String>,
}

impl Origin {
    /// The origin of figures that are measured now, in this many rounds, of these contenders.
    #[must_use]
    pub fn now(options: &Options, rounds: usize, contenders: &[Contender]) -> Self {
        Self {
            machine: format!("{}, {}", cpu(), machine::cores_and_kernel()),
            date: said("date", &["-u", "+%Y-%m-%d"]).unwrap_or_else(unknown("date")),
            commit: commit(),
            rounds,
            is_quick: options.is_quick,
            peers: contenders.iter().filter_map(versioned).collect(),
        }
    }

    /// Returns true if the figures are worth a place in the documentation.
    #[must_use]
    pub fn is_presentable(&self) -> bool {
        !self.is_quick && self.rounds >= LEAST_ROUNDS
    }

    /// The lines below a picture; those of `None` say that nothing was recorded.
    #[must_use]
    pub fn small_print(origin: Option<&Self>) -> Vec<String> {
        let Some(it) = origin else {
            return vec![NOT_RECORDED.to_owned()];
        };
        let quick = if it.is_quick { "quick " } else { "" };
        let plural = if it.rounds == 1 { "" } else { "s" };
        let rounds = format!("{} {quick}round{plural}", it.rounds);
        let with = [&[format!("mpi-lite {}", it.commit)][..], &it.peers].concat();
        vec![
            format!("{}; {}, {rounds}", it.machine, it.date),
            with.join(", "),
        ]
    }
}

/// The model of the first processor.
fn cpu() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    cpu_of(&text).unwrap_or_else(unknown("CPU"))
}

fn cpu_of(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo
        .lines()
        .find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Pictures and texts change while a comparison runs: they are no change of what is measured.
fn commit() -> String {
    let root = c_source("").display().to_string();
    let git = |words: &[&str]| said("git", &[&["-C", &root], words].concat());
    let Some(commit) = git(&["rev-parse", "--short=10", "HEAD"]) else {
        return unknown("commit")();
    };
    match git(&["status", "--porcelain", "--", ".", ":!docs"]) {
        None => commit,
        Some(_) => commit + " with changes",
    }
}

fn unknown(what: &str) -> impl FnOnce() -> String {
    let text = format!("unknown {what}");
    move || text
}

/// What a program printed, if it ended well and printed something.
fn said(program: &str, words: &[&str]) -> Option<String> {
    let output = Command::new(program).args(words).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}

/// `MPICH tcp 4.0.2`: the name of another MPI with its whole version.
fn versioned(who: &Contender) -> Option<String> {
    if who.is_ours() {
        return None;
    }
    let version = who.version_number()?;
    let mut words: Vec<&str> = who.name.split(' ').collect();
    // The name may have the beginning of the version in it.
    words.retain(|word| !word.starts_with(|c: char| c.is_ascii_digit()));
    words.push(&version);
    Some(words.join(" "))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn origin(rounds: usize, is_quick: bool) -> Origin {
        Origin {
            machine: "Some CPU, 2 cores, Linux 6.1".to_owned(),
            date: "2026-11-24".to_owned(),
            commit: "0123456789".to_owned(),
            rounds,
            is_quick,
            peers: vec![
                "Open MPI tcp 4.1.4".to_owned(),
                "MPICH tcp 4.0.2".to_owned(),
            ],
        }
    }

    #[test]
    fn the_small_print_names_machine_date_rounds_commit_and_peers() {
        let print = Origin::small_print(Some(&origin(7, false)));
        let expected = [
            "Some CPU, 2 cores, Linux 6.1; 2026-11-24, 7 rounds",
            "mpi-lite 0123456789, Open MPI tcp 4.1.4, MPICH tcp 4.0.2",
        ];
        assert_eq!(print, expected);
        let quick = Origin::small_print(Some(&origin(1, true)));
        assert!(quick[0].ends_with("1 quick round"), "{quick:?}");
    }

    #[test]
    fn figures_without_origin_get_none_invented() {
        assert_eq!(Origin::small_print(None), [NOT_RECORDED]);
    }

    #[test]
    fn few_or_quick_rounds_are_not_presentable() {
        assert!(origin(LEAST_ROUNDS, false).is_presentable());
        assert!(!origin(LEAST_ROUNDS - 1, false).is_presentable());
        assert!(!origin(LEAST_ROUNDS, true).is_presentable());
    }

    #[test]
    fn the_origin_of_now_has_a_day_and_a_commit() {
        let now = Origin::now(&Options::from_environment(), 5, &[]);
        let is_digit_or_dash = |c: char| c.is_ascii_digit() || c == '-';
        assert!(
            now.date.len() == 10 && now.date.chars().all(is_digit_or_dash),
            "{now:?}"
        );
        assert!(now.machine.contains("Linux"), "{now:?}");
        assert!(now.peers.is_empty() && !now.commit.is_empty());
    }

    #[test]
    fn the_model_of_a_cpu_is_read_as_the_kernel_writes_it() {
        let cpuinfo = "processor\t: 0\nmodel\t\t: 143\nmodel name\t: Some CPU @ 2 GHz\n";
        assert_eq!(cpu_of(cpuinfo).as_deref(), Some("Some CPU @ 2 GHz"));
        assert_eq!(cpu_of("CPU part\t: 0xd0c\n"), None);
    }
}
