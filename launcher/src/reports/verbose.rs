//! What `mpirun --verbose` says about the start and the end of a job, a line each.

use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::cli::request::Options;
use crate::cli::values::Launcher;
use crate::failure::printable;
use crate::job::allocation::Allocation;
use crate::job::place::Placement;
use crate::node::cores::list;
use crate::remote::settings::Settings;
use crate::wire::{Ended, Report};

/// The hosts: with `--verbose` where they come from, and what runs on each; with `--display-map`
/// their ranks.
pub fn hosts(
    options: &Options,
    allocation: Option<&Allocation>,
    placement: &Placement,
    way: &Settings,
) -> Vec<String> {
    if !options.is_verbose {
        return match options.shows_map {
            true => placement.lines(),
            false => Vec::new(),
        };
    }
    let mut lines = vec![format!("hosts: {}", origin(options, allocation))];
    lines.extend(placement.places.iter().map(|place| {
        let how = match (place.is_here, way.launcher) {
            (true, _) => "this machine, without ssh",
            (false, Launcher::Ssh) => "an agent by ssh",
            (false, Launcher::Srun) => "an agent by srun",
        };
        let (host, ranks) = (printable(&place.host), list(&place.ranks));
        format!("host {host}: {how}; ranks {ranks}")
    }));
    lines
}

fn origin(options: &Options, allocation: Option<&Allocation>) -> String {
    if let Some(file) = &options.host_file {
        return format!("from --hostfile {}", shown(file));
    }
    let has_own = |part: &crate::cli::part::Part| !part.hosts.is_empty();
    if !options.hosts.is_empty() || options.programs.iter().any(has_own) {
        return "from --host".into();
    }
    let Some(Allocation { system, hosts, .. }) = allocation else {
        return "this one alone, as no option and no scheduler names others".into();
    };
    let hosts = hosts.iter().map(|host| match host.slots {
        Some(slots) => format!("{}:{slots}", printable(&host.name)),
        None => printable(&host.name),
    });
    let hosts = Vec::from_iter(hosts).join(",");
    format!("from the allocation of {}: {hosts}", system.name())
}

/// A program, and what starts it if it is a script.
pub fn program(number: usize, file: &Path, directory: &Path) -> String {
    let (name, directory) = (shown(file), shown(directory));
    let script = interpreter(file).map_or_else(String::new, |interpreter| {
        format!(" (a script of {interpreter}: the MPI program is what it starts)")
    });
    format!("program {number}: {name}{script}, in {directory}")
}

fn shown(path: &Path) -> String {
    printable(&path.to_string_lossy())
}

/// The words behind `#!` if the file begins with them. A file is not read that would wait for
/// somebody, as a fifo does for its writer.
fn interpreter(file: &Path) -> Option<String> {
    let mut options = OpenOptions::new();
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let mut file = options.read(true).custom_flags(flags).open(file).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut start = [0; 128];
    let read = file.read(&mut start).ok()?;
    let start = String::from_utf8_lossy(&start[..read]);
    let line = start.strip_prefix("#!")?.lines().next()?;
    Some(printable(line.trim()))
}

/// Words as one line that a shell reads back as the same words.
pub fn command_line(words: &[String]) -> String {
    let quoted = shlex::try_join(words.iter().map(String::as_str));
    printable(&quoted.unwrap_or_else(|_| words.join(" ")))
}

/// What a report of a host says about the start or the end of a rank or an agent.
pub fn report(host: &str, report: &Report) -> Option<String> {
    let host = printable(host);
    Some(match report {
        Report::Calling(words) => format!("host {host}: {}", command_line(words)),
        Report::Connected => format!("host {host}: its agent is connected"),
        Report::Started { rank, pid } => format!("rank {rank}: started on host {host}, pid {pid}"),
        Report::Init { rank } => format!("rank {rank}: in MPI_Init"),
        Report::Finalized { rank } => format!("rank {rank}: has finalized"),
        Report::Ended { rank, ended } => {
            let how = match ended {
                Ended::Exited(code) => format!("exit status {code}"),
                Ended::Killed(signal) => format!("killed by signal {signal}"),
                Ended::LittleStack { .. } => "killed by SIGSEGV, with a small stack".into(),
                Ended::OutOfMemory { .. } => "killed since memory was short".into(),
            };
            format!("rank {rank}: ended, {how}")
        }
        Report::Refused { reason, .. } => format!("host {host}: refused: {}", printable(reason)),
        Report::Unreached { reason, .. } => {
            let reason = printable(reason);
            format!("host {host}: not reached, tried again: {reason}")
        }
        Report::Quiet => format!("host {host}: all its ranks have ended"),
        _ => return None,
    })
}
