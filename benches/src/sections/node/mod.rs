//! Ranks on one machine: everybody takes the transport that it chooses there itself, and mpi-lite
//! is also measured over RMPP.

mod busy;
mod collectives;
mod depth;
mod files;
mod flood;
mod idle;
mod nearness;
mod oversubscribed;
mod start;
mod threads;
mod tune;
mod two_ranks;
mod ways;
mod windows;

pub(super) use busy::run as busy;
pub(super) use collectives::{over_network, run as collectives};
pub(super) use depth::run as depth;
pub(super) use files::run as files;
pub(super) use flood::run as flood;
pub(super) use idle::run as idle;
pub(super) use oversubscribed::run as oversubscribed;
pub(super) use start::run as start;
pub(super) use threads::run as threads;
pub use tune::tune;
pub(super) use two_ranks::run as two_ranks;
pub use ways::ways;
pub(super) use windows::{over_network as far_windows, run as windows};

use std::time::Duration;

use crate::bench::{Bench, Missing, Program};
use crate::contender::{Contender, auto, rmpp};
use crate::machine;
use crate::report::Report;

/// The names of ours: by the transport it chooses, and over RMPP.
const AUTO: &str = "auto";
const RMPP: &str = "rmpp";

/// Both of ours, then the others; the report says which versions these are.
fn gather(bench: &Bench, report: &mut Report) -> Vec<Contender> {
    for peer in bench.peers_on_one_machine() {
        report.line(&machine::version(peer));
    }
    report.line("");
    let own = [auto(), rmpp()].into_iter();
    own.chain(bench.peers_on_one_machine().iter().cloned())
        .collect()
}

/// The names of the others.
fn peers(contenders: &[Contender]) -> Vec<&str> {
    let others = contenders.iter().filter(|who| !who.is_ours());
    others.map(|who| who.name.as_str()).collect()
}

/// The names of the Open MPIs.
fn open_mpis(contenders: &[Contender]) -> Vec<&str> {
    let mut names = peers(contenders);
    names.retain(|name| name.starts_with("Open MPI"));
    names
}

/// A program for `ranks` ranks with these words, which may take `limit_s` seconds.
fn program(name: &'static str, ranks: usize, words: &[&str], limit_s: u64) -> Program {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    Program {
        ranks,
        limit: Duration::from_secs(limit_s),
        ..Program::new(name, &words)
    }
}

/// Rows of a table that are called as they were noted.
fn rows(names: &[&str]) -> Vec<(String, String)> {
    let row = |name: &&str| ((*name).to_owned(), (*name).to_owned());
    names.iter().map(row).collect()
}

/// The figure of this row, or what the program says instead: of this row, or of all.
fn figure(printed: &str, row: &str) -> Option<Result<f64, Missing>> {
    let of_row = |line: &'_ str| Some(line.strip_prefix(row)?.strip_prefix(": ")?.to_owned());
    let of_all = |line: &&str| line.starts_with("refused: ");
    let mut lines = printed.lines();
    let said = lines
        .clone()
        .find_map(of_row)
        .or_else(|| lines.find(of_all).map(str::to_owned))?;
    let said = said.trim();
    Some(said.parse().map_err(|_| Missing::NoFigure(said.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_figure_or_its_own_reason() {
        let printed =
            "write_at_all: 12.5\nwrite_at: refused: no such call\natomic: wrong: block 7\n";
        let reason = |why: &str| Some(Err(Missing::NoFigure(why.to_owned())));
        assert_eq!(figure(printed, "write_at_all"), Some(Ok(12.5)));
        assert_eq!(figure(printed, "write_at"), reason("refused: no such call"));
        assert_eq!(figure(printed, "atomic"), reason("wrong: block 7"));
        assert_eq!(figure(printed, "at_all"), None);
        let refused = "refused: MPI_ERR_UNSUPPORTED_OPERATION \n";
        assert_eq!(figure(refused, "atomic"), reason(refused.trim()));
    }
}
