//! Which environment variables the ranks get: all of the user's, minus what would mislead them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use mpi_boot::launchers::foreign_marks;

/// One variable, byte for byte.
pub type Variable = (OsString, OsString);

/// A variable that the user names for the ranks: its value, or the one that it has here. A name
/// without a value may end with `*`, which stands for anything.
pub type Export = (OsString, Option<OsString>);

/// Which variables of the user the ranks get beside those that the user names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Base {
    /// All but what would mislead them.
    #[default]
    All,
    /// None.
    Nothing,
    /// Those with these names.
    Listed(Vec<OsString>),
}

impl Base {
    /// The base of a list `A,B,C`.
    pub fn listed(list: &OsStr) -> Base {
        let names = list.as_bytes().split(|byte| *byte == b',');
        let names = names.filter(|name| !name.is_empty());
        Base::Listed(names.map(|name| OsStr::from_bytes(name).into()).collect())
    }

    /// Returns true if the ranks of another host get nothing of the environment there.
    pub fn is_whole(&self) -> bool {
        *self != Base::All
    }
}

/// Left by a launcher for its own child, beside the marks by which the library recognises it; a
/// rank of ours must not take itself for that child.
const OF_OTHER_LAUNCHERS: &[&str] = &[
    "MPILITE_AGENT_HOME",
    "MPILITE_BOOT_FD",
    "MPILITE_RANK",
    "MPILITE_SIZE",
    "MPILITE_LOCAL_RANK",
    "MPILITE_LOCAL_SIZE",
    "MPILITE_NODE",
    "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",
    "PMI_*",
    "PMIX_*",
    "HYDI_CONTROL_FD",
    "OMPI_COMM_WORLD_*",
    "OMPI_UNIVERSE_SIZE",
    "OMPI_APP_CTX_NUM_PROCS",
    "OMPI_FIRST_RANKS",
    "PRTE_LAUNCHED",
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_NODEID",
    "SLURM_STEP_*",
    "SLURM_STEPID",
    "SLURM_LAUNCH_NODE_IPADDR",
    "SLURM_SRUN_COMM_*",
    "SLURM_EXTERNAL_LAUNCHER",
    "SLURM_CPU_BIND*",
    "SLURM_TASK_PID",
    "SLURM_GTIDS",
    "FLUX_TASK_LOCAL_ID",
    "FLUX_JOB_SIZE",
    "PALS_SIZE",
    "JSM_NAMESPACE_*",
    "MV2_COMM_WORLD_*",
];

/// True on this host only; another host has its own.
const OF_THIS_HOST: &[&str] = &[
    "_",
    "SHLVL",
    "PWD",
    "OLDPWD",
    "HOSTNAME",
    "HOST",
    "HOME",
    "USER",
    "LOGNAME",
    "MAIL",
    "SHELL",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "SSH_*",
    "SLURMD_NODENAME",
    "SLURM_CPUS_ON_NODE",
    "SLURM_TOPOLOGY_ADDR*",
    "XDG_RUNTIME_DIR",
    "XDG_SESSION_*",
    "DBUS_SESSION_BUS_ADDRESS",
    "BASH_FUNC_*",
];

/// The variables for ranks on this machine, or (`is_remote`) those to add to another machine's.
///
/// `exports` are the user's `-x NAME` (forward it even if it would be left out) and
/// `-x NAME=VALUE`. They win over `base`.
pub fn for_ranks(
    own: impl Iterator<Item = Variable>,
    base: &Base,
    exports: &[Export],
    is_remote: bool,
) -> Vec<Variable> {
    let is_exported = |name: &OsStr| exports.iter().any(|export| names(export, name));
    let is_inherited = |name: &OsStr| match base {
        Base::All => true,
        Base::Nothing => false,
        Base::Listed(listed) => listed.iter().any(|known| known == name),
    };
    let is_left_out = |name: &OsStr| {
        matches(name, OF_OTHER_LAUNCHERS)
            || foreign_marks().any(|mark| name == mark)
            || (is_remote && matches(name, OF_THIS_HOST))
    };
    // A list names what it means, as an export does.
    let is_taken = |name: &OsStr| is_inherited(name) && (base.is_whole() || !is_left_out(name));
    let mut variables: Vec<Variable> = own
        .filter(|(name, _)| is_exported(name) || is_taken(name))
        .collect();
    for (name, value) in exports {
        if let Some(value) = value {
            set(&mut variables, name, value);
        }
    }
    variables
}

/// Returns true if an export names this variable.
fn names((exported, value): &Export, name: &OsStr) -> bool {
    match value {
        Some(_) => exported == name,
        None => is_like(name, exported.as_bytes()),
    }
}

/// Sets one variable, replacing an earlier value.
pub fn set(variables: &mut Vec<Variable>, name: &OsStr, value: &OsStr) {
    match variables.iter_mut().find(|(known, _)| known == name) {
        Some((_, old)) => *old = value.to_os_string(),
        None => variables.push((name.to_os_string(), value.to_os_string())),
    }
}

/// Returns true if a list names this variable.
fn matches(name: &OsStr, list: &[&str]) -> bool {
    list.iter().any(|entry| is_like(name, entry.as_bytes()))
}

/// Returns true if a name is this one; a `*` at its end stands for anything.
fn is_like(name: &OsStr, entry: &[u8]) -> bool {
    match entry.strip_suffix(b"*") {
        Some(prefix) => name.as_bytes().starts_with(prefix),
        None => name.as_bytes() == entry,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(is_remote: bool, exports: &[Export]) -> Vec<String> {
        names_of(&Base::All, is_remote, exports)
    }

    fn names_of(base: &Base, is_remote: bool, exports: &[Export]) -> Vec<String> {
        let own = [
            "PATH",
            "HOSTNAME",
            "PMI_FD",
            "SSH_TTY",
            "OMPI_COMM_WORLD_SIZE",
            "OMPI_MCA_x",
        ];
        let own = own
            .iter()
            .map(|name| (OsString::from(name), OsString::from("v")));
        for_ranks(own, base, exports, is_remote)
            .into_iter()
            .map(|(name, value)| format!("{}={}", name.display(), value.display()))
            .collect()
    }

    #[test]
    fn ranks_here_get_everything_but_the_marks_of_launchers() {
        assert_eq!(
            names(false, &[]),
            ["PATH=v", "HOSTNAME=v", "SSH_TTY=v", "OMPI_MCA_x=v"]
        );
    }

    #[test]
    fn ranks_elsewhere_do_not_get_what_is_true_only_here() {
        assert_eq!(names(true, &[]), ["PATH=v", "OMPI_MCA_x=v"]);
    }

    #[test]
    fn an_export_wins_over_every_list() {
        let exports = [("HOSTNAME".into(), None), ("NEW".into(), Some("n".into()))];
        assert_eq!(
            names(true, &exports),
            ["PATH=v", "HOSTNAME=v", "OMPI_MCA_x=v", "NEW=n"]
        );
        let exports = [("PATH".into(), Some("p".into()))];
        assert_eq!(names(true, &exports), ["PATH=p", "OMPI_MCA_x=v"]);
    }

    #[test]
    fn a_pattern_exports_every_name_that_begins_so() {
        let exports = [("OMPI_*".into(), None), ("H*".into(), Some("x".into()))];
        assert_eq!(
            names(true, &exports),
            ["PATH=v", "OMPI_COMM_WORLD_SIZE=v", "OMPI_MCA_x=v", "H*=x"]
        );
    }

    #[test]
    fn without_a_base_only_what_is_named_is_there() {
        let exports = [("SSH_*".into(), None), ("NEW".into(), Some("n".into()))];
        for is_remote in [false, true] {
            let found = names_of(&Base::Nothing, is_remote, &exports);
            assert_eq!(found, ["SSH_TTY=v", "NEW=n"]);
            let base = Base::listed(OsStr::new("HOSTNAME,,PMI_FD"));
            let found = names_of(&base, is_remote, &[]);
            assert_eq!(found, ["HOSTNAME=v", "PMI_FD=v"]);
        }
    }
}
