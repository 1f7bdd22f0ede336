//! Ports of the sockets of this process.

use std::io;

use crate::config::PortRange;

/// The system gives ports below this to root alone, unless it is told otherwise (ip(7)).
const PRIVILEGED_BELOW: u16 = 1024;

/// Where it is told otherwise; for IPv6 too.
const PRIVILEGED_SETTING: &str = "/proc/sys/net/ipv4/ip_unprivileged_port_start";

/// How often all ports of a range are tried. Two that want the same port at the same time may both
/// be told that it is in use, and go on to the next one: then one port more is free than they see.
const PASSES: u32 = 3;

/// Takes the first port of `range` that is free. `take` gets a port and makes it this process's;
/// without a range it gets 0, and the system chooses.
///
/// # Errors
/// Those of `take`, or that it can take no port of `range`.
pub(super) fn take_port<T>(
    range: Option<PortRange>,
    take: impl Fn(u16) -> io::Result<T>,
) -> io::Result<T> {
    match range {
        None => take(0),
        Some(range) => take_port_of(range, privileged_below(), take),
    }
}

/// Takes a port of `range`; those below `privileged_below` are for root alone.
fn take_port_of<T>(
    range: PortRange,
    privileged_below: u16,
    take: impl Fn(u16) -> io::Result<T>,
) -> io::Result<T> {
    let mut is_any_allowed = false;
    for pass in 0..PASSES {
        if pass > 0 {
            std::thread::yield_now();
        }
        for port in range.first..=range.last {
            match take(port) {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => is_any_allowed = true,
                Err(error) if is_refused(&error) && port < privileged_below => {}
                other => return other,
            }
        }
        if !is_any_allowed {
            break;
        }
    }
    Err(if is_any_allowed {
        let text = format!(
            "no port of {range} is free, and each rank of this host needs one: ask for more \
             (--port-range, MPILITE_PORT_RANGE)"
        );
        io::Error::new(io::ErrorKind::AddrInUse, text)
    } else {
        let text = format!(
            "only root may use the ports of {range}: ask for ports from {privileged_below} on \
             (--port-range, MPILITE_PORT_RANGE)"
        );
        io::Error::new(io::ErrorKind::PermissionDenied, text)
    })
}

fn is_refused(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EACCES)
}

/// The first port that any user may take.
fn privileged_below() -> u16 {
    let text = std::fs::read_to_string(PRIVILEGED_SETTING).unwrap_or_default();
    text.trim().parse().unwrap_or(PRIVILEGED_BELOW)
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use super::*;

    /// As on most systems; a container may let everybody have all ports.
    const LIMIT: u16 = 1024;

    fn range(first: u16, last: u16) -> PortRange {
        PortRange { first, last }
    }

    fn refused<T>(error: i32) -> io::Result<T> {
        Err(io::Error::from_raw_os_error(error))
    }

    #[test]
    fn the_first_port_that_can_be_taken_is_taken() {
        let first_free = |port| match port {
            1 => refused(libc::EACCES),
            2 => refused(libc::EADDRINUSE),
            port => Ok(port),
        };
        assert_eq!(take_port_of(range(1, 9), LIMIT, first_free).unwrap(), 3);
        assert_eq!(take_port(None, Ok).unwrap(), 0);
    }

    #[test]
    fn a_port_that_was_in_use_for_a_moment_is_tried_again() {
        let tries = Cell::new(0);
        let last_time = |port| {
            tries.set(tries.get() + 1);
            match tries.get() == 2 * PASSES {
                true => Ok(port),
                false => refused(libc::EADDRINUSE),
            }
        };
        let ports = range(2000, 2001);
        assert_eq!(take_port_of(ports, LIMIT, last_time).unwrap(), 2001);
    }

    #[test]
    fn ports_of_root_are_told_from_ports_that_are_taken() {
        let told = |range, error| {
            let taken = take_port_of::<()>(range, LIMIT, |_| refused(error));
            taken.unwrap_err().to_string()
        };
        let root = told(range(1, 2), libc::EACCES);
        assert!(
            root.starts_with("only root may use the ports of 1-2: ask for ports from 1024 on"),
            "{root}"
        );
        let taken = told(range(1, 2), libc::EADDRINUSE);
        assert!(taken.starts_with("no port of 1-2 is free"), "{taken}");
        // No user is refused this port: something else does that.
        let other = told(range(LIMIT, LIMIT), libc::EACCES);
        assert!(other.starts_with("Permission denied"), "{other}");
    }
}
