//! Process managers that speak PMI: Hydra, Slurm, Flux and their kin.
//!
//! They leave the number of a socket in `PMI_FD`, or an address in `PMI_PORT`. Version 1 is lines
//! of text, version 2 is text in frames ([`client`]). Every manager that speaks version 2
//! speaks version 1, too, so far as is known; version 2 is taken where version 1 is refused.

mod client;
mod fields;
#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "ranks and their manager are threads"
)]
mod tests;
mod wire;

use std::ffi::OsString;
use std::os::fd::RawFd;

use super::BootError;
use super::managed::Interface;
use crate::config::Settings;
use client::Client;
use wire::Wire;

/// Where the process manager waits, by the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ManagerAddress {
    /// `PMI_FD`: a socket that was inherited.
    Socket {
        /// Its number.
        fd: RawFd,
        /// `PMI_RANK`.
        rank: u32,
        /// `PMI_SIZE`.
        size: u32,
        /// `PMI_JOBID`.
        job: String,
        /// The manager.
        name: &'static str,
    },
    /// `PMI_PORT` and `PMI_ID`: an address, and how this process introduces itself there.
    Port {
        /// `host:port`.
        address: String,
        /// `PMI_ID`.
        id: u32,
        /// The manager.
        name: &'static str,
    },
}

/// Finds the process manager in the environment; `None` without one, and if it has started this
/// process alone and does not wait for it.
///
/// # Errors
/// The environment contradicts itself.
pub(super) fn place(
    variable: &impl Fn(&str) -> Option<OsString>,
) -> Result<Option<ManagerAddress>, BootError> {
    let text = |name: &str| Some(variable(name)?.to_string_lossy().into_owned());
    let number = |name: &str| text(name)?.parse::<u32>().ok();
    let name = name(variable);
    if let Some(value) = text("PMI_FD") {
        let (rank, size) = (number("PMI_RANK"), number("PMI_SIZE"));
        if size == Some(1) {
            return Ok(None);
        }
        let refused = |reason: &str| BootError::ManagerChannel {
            manager: name,
            variable: "PMI_FD",
            value: value.escape_debug().to_string(),
            reason: reason.into(),
        };
        let (Some(rank), Some(size)) = (rank, size) else {
            return Err(refused("PMI_RANK or PMI_SIZE is missing"));
        };
        let fd = value.parse::<RawFd>().ok().filter(|fd| *fd >= 0);
        return Ok(Some(ManagerAddress::Socket {
            fd: fd.ok_or_else(|| refused("it is not the number of a descriptor"))?,
            rank,
            size,
            job: text("PMI_JOBID").unwrap_or_default(),
            name,
        }));
    }
    let (Some(address), Some(id)) = (text("PMI_PORT"), number("PMI_ID")) else {
        return Ok(None);
    };
    Ok(Some(ManagerAddress::Port { address, id, name }))
}

/// The manager, by what else it leaves in the environment.
fn name(variable: &impl Fn(&str) -> Option<OsString>) -> &'static str {
    const NAMES: [(&str, &str); 5] = [
        ("FLUX_JOB_ID", "Flux"),
        ("SLURM_STEP_ID", "Slurm's srun"),
        ("PALS_RANKID", "Cray's PALS"),
        ("HYDI_CONTROL_FD", "Hydra (mpiexec)"),
        ("I_MPI_HYDRA_TOPOLIB", "Intel MPI's mpiexec"),
    ];
    let found = NAMES.iter().find(|(mark, _)| variable(mark).is_some());
    found.map_or("a process manager (PMI)", |(_, name)| name)
}

/// Connects to the process manager.
///
/// # Errors
/// It is not there, or speaks neither version.
pub(super) fn connect(place: ManagerAddress) -> Result<Box<dyn Interface>, BootError> {
    let (mut wire, known, job) = match place {
        ManagerAddress::Socket {
            fd,
            rank,
            size,
            job,
            name,
        } => (Wire::inherited(fd, name)?, (rank, size), job),
        ManagerAddress::Port { address, id, name } => {
            let mut wire = Wire::connect(&address, name)?;
            let who = client::introduce(&mut wire, id)?;
            (wire, who, String::new())
        }
    };
    let (rank, size) = known;
    let version = Settings::from_environment().map_err(BootError::System)?.pmi;
    if version != 2 && client::begin(&mut wire)? {
        return Ok(Box::new(Client::one(wire, rank, size)?));
    }
    Ok(Box::new(Client::two(wire, rank, &job)?))
}
