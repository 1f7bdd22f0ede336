//! How other hosts are reached: options, environment, and where the hosts come from.

use std::ffi::OsStr;
use std::time::Duration;

use crate::cli::request::Options;
use crate::cli::values::Launcher;
use crate::failure::{Failure, printable};
use crate::job::allocation::{Allocation, System, named_host_file};
use crate::job::place::Placement;
use crate::remote::silence;

/// From starting ssh or srun to the agent's first report, unless `--launch-timeout` or
/// `MPILITE_LAUNCH_TIMEOUT` says else.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// A host that accepts no connection may be starting: for how long to try.
const PATIENCE: Duration = Duration::from_secs(10);
/// Both for hosts of an allocation: those of Kubernetes come one after the other.
const LATE_HOSTS_WITHIN: Duration = Duration::from_secs(60);

/// What may hold arguments for ssh.
const ARGUMENTS: [&str; 4] = [
    "OMPI_MCA_plm_rsh_args",
    "HYDRA_LAUNCHER_EXTRA_ARGS",
    "HYDRA_LAUNCH_EXTRA_ARGS",
    "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS",
];

/// How other hosts are reached.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What starts the agents.
    pub launcher: Launcher,
    /// The ssh program and its first arguments.
    pub(super) program: Vec<String>,
    /// More arguments for it.
    pub(super) arguments: Vec<String>,
    /// The command for the remote shell.
    pub(super) agent: String,
    /// How long the agent may take to answer.
    pub ready_within: Duration,
    /// For how long to try a host that accepts no connection.
    pub(super) patience: Duration,
    /// True if a name without an address may get one.
    pub(super) waits_for_names: bool,
}

impl Settings {
    /// Reads options and environment. A failure names the wrong setting, or our own path if it
    /// cannot be used.
    pub fn read(
        options: &Options,
        placement: &Placement,
        allocation: Option<&Allocation>,
    ) -> Result<Settings, Failure> {
        let own = match &options.prefix {
            Some(prefix) => prefix.join("bin/mpirun"),
            None => std::env::current_exe().map_err(|error| {
                Failure::launch(format!("cannot find the path of mpirun itself: {error}"))
            })?,
        };
        let comes_late = options.launch_timeout.is_some() || has_late_hosts(options, allocation);
        let given = match options.launch_timeout {
            Some(timeout) => Some(timeout),
            None => {
                let is_valid = |seconds| seconds > 0.0 && seconds <= 86_400.0;
                silence::seconds_of("MPILITE_LAUNCH_TIMEOUT", is_valid, "up to 86400")?
            }
        };
        let (ready_within, patience) = limits(given, comes_late);
        Ok(Settings {
            launcher: launcher(options, placement, allocation)?,
            program: ssh_program()?,
            arguments: ssh_arguments(options),
            agent: format!("{} --agent", quoted(own.as_os_str())?),
            ready_within,
            patience,
            waits_for_names: comes_late,
        })
    }

    /// For tests: this program in place of ssh.
    #[cfg(test)]
    pub(super) fn of_program(program: &[&str]) -> Settings {
        Settings {
            launcher: Launcher::Ssh,
            program: program.iter().map(ToString::to_string).collect(),
            arguments: Vec::new(),
            agent: "mpirun --agent".into(),
            ready_within: READY_WITHIN,
            patience: PATIENCE,
            waits_for_names: false,
        }
    }

    /// The program in words: ssh, or which other one the user has set.
    pub(super) fn shown_program(&self) -> String {
        match self.program[0].as_str() {
            "ssh" => "ssh".into(),
            other => format!("'{}' (MPILITE_SSH)", printable(other)),
        }
    }
}

/// How long an agent may take to answer, and for how long to try a host that accepts no connection:
/// by the time that the user has given, and for hosts that may come late.
fn limits(given: Option<Duration>, comes_late: bool) -> (Duration, Duration) {
    match given {
        Some(time) if comes_late => (time, time),
        Some(time) => (time, PATIENCE.min(time)),
        None if comes_late => (LATE_HOSTS_WITHIN, LATE_HOSTS_WITHIN),
        None => (READY_WITHIN, PATIENCE),
    }
}

/// Returns true if the hosts are those of an allocation, or of the host file of an operator.
fn has_late_hosts(options: &Options, allocation: Option<&Allocation>) -> bool {
    let named = named_host_file(&|name| std::env::var_os(name));
    match &options.host_file {
        Some(path) => named.is_some_and(|(_, operators)| operators == *path),
        None => options.hosts.is_empty() && allocation.is_some(),
    }
}

/// `--launcher`, else srun if all other hosts are of our Slurm allocation.
fn launcher(
    options: &Options,
    placement: &Placement,
    allocation: Option<&Allocation>,
) -> Result<Launcher, Failure> {
    let slurm = allocation.filter(|allocation| allocation.system == System::Slurm);
    let mut others = placement.places.iter().filter(|place| !place.is_here);
    let stranger =
        others.find(|place| slurm.is_none_or(|allocation| !allocation.contains(&place.host)));
    match (options.launcher, stranger) {
        (Some(Launcher::Srun), Some(place)) => Err(Failure::usage(format!(
            "--launcher srun: host {} is not in a Slurm allocation of this mpirun; run it inside \
             salloc or sbatch, or use --launcher ssh",
            printable(&place.host)
        ))),
        (Some(launcher), _) => Ok(launcher),
        (None, None) if slurm.is_some() => Ok(Launcher::Srun),
        (None, _) => Ok(Launcher::Ssh),
    }
}

/// The words of `MPILITE_SSH`, else the first program of Open MPI's list, else ssh.
fn ssh_program() -> Result<Vec<String>, Failure> {
    let setting = std::env::var_os("MPILITE_SSH");
    let is_set = setting.is_some();
    let list = std::env::var("OMPI_MCA_plm_rsh_agent").unwrap_or_default();
    let first = || list.split(':').next().unwrap_or_default().into();
    let words = words(&setting.unwrap_or_else(first).to_string_lossy());
    match (words.is_empty(), is_set) {
        (false, _) => Ok(words),
        (true, false) => Ok(vec!["ssh".into()]),
        (true, true) => {
            let line = "MPILITE_SSH is empty; unset it or name an ssh program";
            Err(Failure::usage(line))
        }
    }
}

/// The words of `--ssh-args`, then those of the variables of other launchers.
fn ssh_arguments(options: &Options) -> Vec<String> {
    let of_option = options.ssh_arguments.clone().into_iter();
    let of_variables = ARGUMENTS.iter().filter_map(|name| std::env::var(name).ok());
    of_option
        .chain(of_variables)
        .flat_map(|it| words(&it))
        .collect()
}

fn words(text: &str) -> Vec<String> {
    text.split_ascii_whitespace().map(String::from).collect()
}

/// Our own path as a word for any remote shell.
fn quoted(path: &OsStr) -> Result<String, Failure> {
    let Some(text) = path
        .to_str()
        .filter(|text| !text.contains(['\n', '!', '\'']))
    else {
        let shown = printable(&path.to_string_lossy());
        return Err(Failure::launch(format!(
            "mpirun cannot be started on other hosts by its path '{shown}': install it elsewhere"
        )));
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if text.chars().all(is_plain) {
        Ok(text.to_string())
    } else {
        Ok(format!("'{text}'"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_tried_for_10_s_unless_the_user_sets_less_or_it_may_come_late() {
        let limits = |given: Option<u64>, comes_late| {
            let (ready, patience) = limits(given.map(Duration::from_secs), comes_late);
            (ready.as_secs(), patience.as_secs())
        };
        assert_eq!(limits(None, false), (30, 10));
        assert_eq!(limits(Some(90), false), (90, 10));
        assert_eq!(limits(Some(2), false), (2, 2));
        assert_eq!(limits(None, true), (60, 60));
        assert_eq!(limits(Some(90), true), (90, 90));
    }

    #[test]
    fn only_an_unusual_path_is_quoted() {
        assert_eq!(
            quoted(OsStr::new("/usr/bin/mpirun")).unwrap(),
            "/usr/bin/mpirun"
        );
        assert_eq!(
            quoted(OsStr::new("/my dir/$x/mpirun")).unwrap(),
            "'/my dir/$x/mpirun'"
        );
        assert!(quoted(OsStr::new("/a'b/mpirun")).is_err());
    }
}
