//! What a batch system has given to the job that `mpirun` runs in.
//!
//! `mpirun` takes its hosts from the command line alone. In an allocation of several nodes the user
//! reads in one line that the others stay idle, and how to use them.

use std::ffi::OsString;

/// Counts the nodes in the value of a variable, or in the file that it names.
type Count = fn(&str) -> usize;

/// (batch system, variable, how its nodes are counted, how all nodes are used)
const SYSTEMS: [(&str, &str, Count, &str); 6] = [
    (
        "Slurm",
        "SLURM_NNODES",
        number,
        "--host $(scontrol show hostnames | paste -sd,)",
    ),
    (
        "PBS",
        "PBS_NODEFILE",
        hosts_in_file,
        "--hostfile $PBS_NODEFILE",
    ),
    (
        "LSF",
        "LSB_HOSTS",
        different_words,
        "--host $(echo $LSB_HOSTS | tr ' ' ,)",
    ),
    (
        "LSF",
        "LSB_MCPU_HOSTS",
        pairs,
        "--host $(echo $LSB_MCPU_HOSTS | xargs -n2 | tr ' ' : | paste -sd,)",
    ),
    (
        "Grid Engine",
        "PE_HOSTFILE",
        hosts_in_file,
        "--host $(awk '{print $1\":\"$2}' $PE_HOSTFILE | paste -sd,)",
    ),
    (
        "Flux",
        "FLUX_JOB_NNODES",
        number,
        "--host $(flux resource list -no {nodelist})",
    ),
];

/// Returns a line for the user of an allocation of several nodes who has named no host.
pub fn note(variable: impl Fn(&str) -> Option<OsString>) -> Option<String> {
    SYSTEMS.iter().find_map(|(system, name, count, how)| {
        let nodes = count(variable(name)?.to_str()?);
        (nodes > 1).then(|| {
            format!(
                "note: all ranks run on this node, but {system} has given this job {nodes} nodes \
                 ({name}); to use all: {how} (--host localhost silences this line)"
            )
        })
    })
}

fn number(value: &str) -> usize {
    value.parse().unwrap_or(0)
}

/// The first words of the lines of a file, each counted once.
fn hosts_in_file(path: &str) -> usize {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    different(
        text.lines()
            .filter_map(|line| line.split_whitespace().next()),
    )
}

fn different_words(value: &str) -> usize {
    different(value.split_whitespace())
}

/// Of `host slots host slots`.
fn pairs(value: &str) -> usize {
    different(value.split_whitespace().step_by(2))
}

fn different<'a>(hosts: impl Iterator<Item = &'a str>) -> usize {
    let hosts: std::collections::BTreeSet<&str> = hosts.collect();
    hosts.len()
}
