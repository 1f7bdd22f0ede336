//! The hosts and slots that a scheduler, or an operator of Kubernetes, has given to the job that
//! `mpirun` runs in. They are used if the user names no host.
//!
//! | system | variables, the first that is set |
//! |---|---|
//! | host file | `OMPI_MCA_orte_default_hostfile`, `HYDRA_HOST_FILE`, `I_MPI_HYDRA_HOST_FILE` |
//! | Slurm | `SLURM_JOB_NODELIST` with `SLURM_TASKS_PER_NODE` or `SLURM_JOB_CPUS_PER_NODE` |
//! | PBS | `PBS_NODEFILE`: a line for each slot |
//! | LSF | `LSB_DJOB_HOSTFILE` (a line for each slot), `LSB_MCPU_HOSTS`, `LSB_HOSTS` |
//! | Grid Engine | `PE_HOSTFILE`: lines `host slots queue cpus` |
//!
//! Flux has no list of nodes in its environment: in an allocation of several nodes mpirun
//! prints how to name them.

mod lists;
mod slurm;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, printable};
use crate::job::hosts::{self, Host};

/// Where the hosts come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// A host file that a variable names, as the mpi-operator of Kubernetes sets it.
    HostFile,
    /// Slurm.
    Slurm,
    /// PBS and its descendants.
    Pbs,
    /// LSF.
    Lsf,
    /// Grid Engine and its descendants.
    GridEngine,
}

impl System {
    /// What users call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            System::HostFile => "a host file that a variable names",
            System::Slurm => "Slurm",
            System::Pbs => "PBS",
            System::Lsf => "LSF",
            System::GridEngine => "Grid Engine",
        }
    }
}

/// The hosts of a job, and which of them this process is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocation {
    /// What gave them.
    pub system: System,
    /// The hosts with their slots, in the order of the system.
    pub hosts: Vec<Host>,
    /// The name of the host that this process is on, if it is one of them.
    pub own: Option<String>,
}

/// The value of an environment variable, if it is set.
pub(crate) type Variables<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// Variables that name a host file.
const HOST_FILES: [&str; 3] = [
    "OMPI_MCA_orte_default_hostfile",
    "HYDRA_HOST_FILE",
    "I_MPI_HYDRA_HOST_FILE",
];

impl Allocation {
    /// The allocation that this process runs in. One that cannot be read is an error unless the
    /// user has named hosts. Fails as [`Allocation::find`].
    pub(crate) fn of_this_process(has_hosts: bool) -> Result<Option<Allocation>, Failure> {
        let hostname = nix::unistd::gethostname().unwrap_or_default();
        let found = Allocation::find(&|name| std::env::var_os(name), &hostname.to_string_lossy());
        match found {
            Err(_) if has_hosts => Ok(None),
            found => found,
        }
    }

    /// Reads the environment. `hostname` is the name of this machine. A failure names the variable
    /// whose value, or whose file, cannot be read.
    pub fn find(variable: Variables<'_>, hostname: &str) -> Result<Option<Allocation>, Failure> {
        let found = match host_file(variable)? {
            Some(hosts) => Some((System::HostFile, hosts)),
            None => of_scheduler(variable)?,
        };
        Ok(found.map(|(system, hosts)| Allocation {
            own: own_host(system, &hosts, variable, hostname),
            system,
            hosts,
        }))
    }

    /// Returns true if this host is one of the allocation.
    pub fn contains(&self, name: &str) -> bool {
        self.hosts.iter().any(|host| host.name == name)
    }
}

/// The host file that a variable names.
pub(crate) fn named_host_file(variable: Variables<'_>) -> Option<(&'static str, PathBuf)> {
    let set = |name: &'static str| Some((name, text_of(variable, name)?));
    let (name, path) = HOST_FILES.into_iter().find_map(set)?;
    Some((name, PathBuf::from(path)))
}

fn host_file(variable: Variables<'_>) -> Result<Option<Vec<Host>>, Failure> {
    let hosts = named_host_file(variable).map(|(name, path)| {
        hosts::read_file(&path).map_err(|failure| unreadable(name, &failure.text))
    });
    hosts.transpose()
}

fn of_scheduler(variable: Variables<'_>) -> Result<Option<(System, Vec<Host>)>, Failure> {
    if let Some(hosts) = slurm::hosts(variable)? {
        return Ok(Some((System::Slurm, hosts)));
    }
    type Reader = fn(&str) -> Result<Vec<Host>, String>;
    let lines_of_file: Reader = |path| lists::line_per_slot(&file(path)?);
    let readers: [(System, &str, Reader); 5] = [
        (System::Pbs, "PBS_NODEFILE", lines_of_file),
        (System::Lsf, "LSB_DJOB_HOSTFILE", lines_of_file),
        (System::Lsf, "LSB_MCPU_HOSTS", lists::pairs),
        (System::Lsf, "LSB_HOSTS", lists::word_per_slot),
        (System::GridEngine, "PE_HOSTFILE", |path| {
            lists::host_and_slots(&file(path)?)
        }),
    ];
    for (system, name, read) in readers {
        if let Some(value) = text_of(variable, name) {
            let hosts = read(&value).map_err(|reason| unreadable(name, &reason))?;
            return Ok(Some((system, hosts)));
        }
    }
    Ok(None)
}

/// The value of a variable that is set and not empty.
fn text_of(variable: Variables<'_>, name: &str) -> Option<String> {
    let value = variable(name).filter(|value| !value.is_empty())?;
    Some(value.to_string_lossy().into_owned())
}

fn file(path: &str) -> Result<String, String> {
    let bytes = hosts::read_bytes(Path::new(path));
    let text = bytes.and_then(|it| String::from_utf8(it).map_err(|_| "it is not text".into()));
    text.map_err(|reason| format!("{}: {reason}", printable(path)))
}

fn unreadable(name: &str, reason: &str) -> Failure {
    Failure::launch(format!(
        "the hosts of this allocation cannot be read from {name}: {reason}; name hosts with \
         --host, or --host localhost for this machine alone"
    ))
}

/// The host of the allocation that this process is on. In Slurm several nodes may be one machine;
/// there the node has its name from slurmd. Elsewhere it is the name of the machine, or the only
/// one that differs from it by a domain.
fn own_host(
    system: System,
    hosts: &[Host],
    variable: Variables<'_>,
    hostname: &str,
) -> Option<String> {
    let named = |name: &str| hosts.iter().find(|host| host.name == name);
    if system == System::Slurm
        && let Some(node) = text_of(variable, "SLURMD_NODENAME")
    {
        return named(&node).map(|host| host.name.clone());
    }
    let is_alike = |name: &str| is_with_domain(name, hostname) || is_with_domain(hostname, name);
    let mut alike = hosts.iter().filter(|host| is_alike(&host.name));
    let own = named(hostname).or_else(|| alike.next().filter(|_| alike.next().is_none()));
    own.map(|host| host.name.clone())
}

/// Returns true if `long` is `short` with a domain.
fn is_with_domain(long: &str, short: &str) -> bool {
    let rest = long.strip_prefix(short);
    !short.is_empty() && rest.is_some_and(|rest| rest.starts_with('.'))
}

/// Returns a line for the user of a Flux job on several nodes who has named no host.
pub fn note(variable: impl Fn(&str) -> Option<OsString>) -> Option<String> {
    let nodes: usize = text_of(&variable, "FLUX_JOB_NNODES")?.parse().ok()?;
    (nodes > 1).then(|| {
        format!(
            "note: all ranks run on this node, but Flux has given this job {nodes} nodes \
             (FLUX_JOB_NNODES); to use all: --host $(flux resource list -no {{nodelist}}) (--host \
             localhost silences this line)"
        )
    })
}

#[cfg(test)]
mod tests;
