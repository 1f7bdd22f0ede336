//! Which of a node's addresses its ranks use.

use std::net::IpAddr;

use mpi_boot::address::{self, NoAddress, Wish};

use crate::failure::Failure;
use crate::wire::Start;

/// Chooses the address for the sockets of this node's ranks.
///
/// # Errors
///
/// A failure if the user's wish names nothing that this machine has.
pub fn choose(start: &Start) -> Result<IpAddr, Failure> {
    let asked = start.interface.as_ref();
    let wish = Wish {
        interface: asked.map(|asked| asked.value.as_str()),
        proven: start.address,
        has_other_nodes: start.has_other_nodes,
    };
    address::choose(wish).map_err(|error| {
        let what = asked.map_or("the address of this host".into(), ToString::to_string);
        let text = format!("{what} {error}");
        match error {
            NoAddress::NotNetwork => Failure::usage(text),
            _ => Failure::launch(text),
        }
    })
}

/// All addresses of this host by which others may reach it.
///
/// # Errors
///
/// A failure if the system does not list them.
pub(crate) fn all() -> Result<Vec<IpAddr>, Failure> {
    address::all().map_err(|error| Failure::launch(format!("the address of this host {error}")))
}
