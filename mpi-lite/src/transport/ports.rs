//! Ports of the sockets of this process.

use std::io;

use crate::config::PortRange;

/// The system gives ports below this to root alone, unless it is told otherwise (ip(7)).
const PRIVILEGED_BELOW: u16 = 1024;

/// Where it is told otherwise; for IPv6 too.
const PRIVILEGED_SETTING: &str = "/proc/sys/net/ipv4/ip_unprivileged_port_start";

/// Takes the first port of `range` that is free. `take` gets a port and makes it this process's;
/// without a range it gets 0, and the system chooses.
///
/// # Errors
/// Those of `take`, or that it can take no port of `range`.
pub(super) fn take_port<T>(
    range: Option<PortRange>,
    take: impl Fn(u16) -> io::Result<T>,
) -> io::Result<T> {
    let Some(range) = range else {
        return take(0);
    };
    let privileged_below = privileged_below();
    let mut is_any_allowed = false;
    for port in range.first..=range.last {
        match take(port) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => is_any_allowed = true,
            Err(error) if is_refused(&error) && port < privileged_below => {}
            other => return other,
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
    use super::*;

    fn range(first: u16, last: u16) -> Option<PortRange> {
        Some(PortRange { first, last })
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
        assert_eq!(take_port(range(1, 9), first_free).unwrap(), 3);
        assert_eq!(take_port(None, Ok).unwrap(), 0);
    }

    #[test]
    fn ports_of_root_are_told_from_ports_that_are_taken() {
        let told = |range, error| {
            let taken = take_port::<()>(range, |_| refused(error));
            taken.unwrap_err().to_string()
        };
        let root = told(range(1, 2), libc::EACCES);
        assert!(
            root.starts_with("only root may use the ports of 1-2"),
            "{root}"
        );
        let taken = told(range(1, 2), libc::EADDRINUSE);
        assert!(taken.starts_with("no port of 1-2 is free"), "{taken}");
        // No user is refused this port: something else does that.
        let other = told(range(u16::MAX, u16::MAX), libc::EACCES);
        assert!(other.starts_with("Permission denied"), "{other}");
    }
}
