//! What parts of a command line make impossible together. It is known before anything is started,
//! and ends there: later each rank would say it in its own way.

use mpi_boot::config::{PortRange, Settings};
use mpi_boot::transports::named;

use crate::datagrams;
use crate::failure::{Failure, printable, printable_line};
use crate::place::Placement;

/// How the ranks of a job reach each other.
#[derive(Debug, Clone, Copy)]
pub struct Way<'a> {
    /// The name of the transport.
    pub transport: &'a str,
    /// What asked for it, as `--transport `; empty if nothing did.
    pub asked: &'a str,
    /// What asks for a seal, as `--secure`.
    pub seal: Option<&'a str>,
    /// The ports that the ranks may take.
    pub ports: Option<PortRange>,
}

/// Checks that ranks which are placed so can reach each other in this way.
///
/// # Errors
///
/// A usage failure that names both sides of the contradiction.
pub fn check(way: Way<'_>, placement: &Placement) -> Result<(), Failure> {
    let Way {
        transport, asked, ..
    } = way;
    let size = placement.size;
    if transport == "loopback" && size > 1 {
        return Err(Failure::usage(format!(
            "{asked}loopback serves a single rank, but the job has {size}: leave it out, or start \
             one with -n 1"
        )));
    }
    if transport == "shm" && placement.places.len() > 1 {
        let places = placement.places.iter();
        let hosts: Vec<String> = places.map(|place| printable(&place.host)).collect();
        return Err(Failure::usage(format!(
            "{asked}shm: shared memory ends at one host, but the ranks are on {} hosts ({}); \
             auto takes it as far as it goes",
            hosts.len(),
            hosts.join(", "),
        )));
    }
    let uses_sockets = named(transport).is_none_or(|it| !it.shares_memory);
    if let Some(seal) = way.seal.filter(|_| uses_sockets && size > 1) {
        check_seal(seal, way)?;
    }
    match way.ports {
        Some(ports) if uses_sockets || placement.places.len() > 1 => check_ports(ports, placement),
        _ => Ok(()),
    }
}

fn check_seal(seal: &str, way: Way<'_>) -> Result<(), Failure> {
    let (asked, transport) = (way.asked, way.transport);
    if named(transport).is_some_and(|it| it.sends_datagrams) {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{seal} protects datagrams, and {asked}{transport} sends none: leave one of them out, or \
         take {}",
        datagrams::senders()
    )))
}

fn check_ports(ports: PortRange, placement: &Placement) -> Result<(), Failure> {
    let number = usize::from(ports.last - ports.first) + 1;
    let fullest = placement.places.iter().max_by_key(|it| it.ranks.len());
    let Some(place) = fullest.filter(|it| placement.size > 1 && it.ranks.len() > number) else {
        return Ok(());
    };
    let (host, ranks) = (printable(&place.host), place.ranks.len());
    let s = if number == 1 { "" } else { "s" };
    Err(Failure::usage(format!(
        "the range {ports} has {number} port{s}, but host {host} has {ranks} ranks, and each needs \
         one: make it longer (--port-range, MPILITE_PORT_RANGE)"
    )))
}

/// Checks the settings of the library that ranks will find in these variables.
///
/// # Errors
///
/// A usage failure that names the variable and what is possible.
pub fn check_settings<'a>(
    variables: impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone,
) -> Result<(), Failure> {
    let value = |name: &str| {
        let mut found = variables.clone().filter(|(it, _)| *it == name.as_bytes());
        let (_, value) = found.next()?;
        Some(String::from_utf8_lossy(value).into_owned())
    };
    let settings = Settings::read(value);
    settings
        .map(drop)
        .map_err(|line| Failure::usage(printable_line(&line)))
}

#[cfg(test)]
mod tests {
    use mpi_boot::transports::TRANSPORTS;

    use super::*;
    use crate::place::Place;

    /// Ranks on hosts: so many on each.
    fn placement(ranks: &[u32]) -> Placement {
        let mut next = 0;
        let place = |(number, ranks): (usize, &u32)| {
            let first = next;
            next += ranks;
            Place {
                host: format!("n{}", number + 1),
                is_here: number == 0,
                ranks: (first..next).collect(),
            }
        };
        let places: Vec<Place> = ranks.iter().enumerate().map(place).collect();
        let hosts = places
            .iter()
            .flat_map(|it| vec![it.host.clone(); it.ranks.len()]);
        Placement {
            hosts: hosts.collect(),
            size: next,
            places,
            note: None,
        }
    }

    fn check_of(transport: &str, seal: bool, ports: Option<(u16, u16)>, ranks: &[u32]) -> String {
        let way = Way {
            transport,
            asked: "--transport ",
            seal: seal.then_some("--secure"),
            ports: ports.map(|(first, last)| PortRange { first, last }),
        };
        match check(way, &placement(ranks)) {
            Ok(()) => String::new(),
            Err(failure) => {
                assert_eq!(failure.code, 2);
                failure.text
            }
        }
    }

    #[test]
    fn loopback_serves_one_rank() {
        assert_eq!(check_of("loopback", true, None, &[1]), "");
        let line = check_of("loopback", false, None, &[2]);
        assert!(line.starts_with("--transport loopback serves a single rank"));
    }

    #[test]
    fn a_seal_needs_datagrams_where_ranks_use_sockets() {
        for transport in TRANSPORTS {
            let is_refused = transport.name.starts_with("tcp");
            if transport.name == "loopback" {
                continue;
            }
            let line = check_of(transport.name, true, None, &[2]);
            assert_eq!(!line.is_empty(), is_refused, "{line}");
            assert_eq!(check_of(transport.name, false, None, &[2]), "");
        }
        let line = check_of("tcp", true, None, &[2]);
        let expected = "--secure protects datagrams, and --transport tcp sends none: leave one of \
                        them out, or take rmpp or gobackn or unet or sctp";
        assert_eq!(line, expected);
    }

    #[test]
    fn a_range_has_a_port_for_each_rank_of_a_host_that_needs_one() {
        let ports = Some((40000, 40001));
        assert_eq!(check_of("rmpp", false, ports, &[2, 2]), "");
        // They share memory.
        assert_eq!(check_of("auto", false, ports, &[3]), "");
        for (transport, ranks) in [("rmpp", &[3][..]), ("tcp", &[3]), ("auto", &[1, 3])] {
            let line = check_of(transport, false, ports, ranks);
            let host = ranks.len();
            let expected = format!("40000-40001 has 2 ports, but host n{host} has 3 ranks");
            assert!(line.contains(&expected), "{line}");
        }
        let line = check_of("rmpp", false, Some((40000, 40000)), &[2]);
        assert!(line.contains("40000-40000 has 1 port, but"), "{line}");
    }

    #[test]
    fn a_wrong_setting_is_named() {
        let check = |value: &str| {
            let variables = [
                (&b"HOME"[..], &b"/"[..]),
                (b"MPILITE_WAIT", value.as_bytes()),
            ];
            check_settings(variables.into_iter()).map_err(|failure| failure.text)
        };
        assert_eq!(check("spin"), Ok(()));
        let line = "MPILITE_WAIT=\"soon\" is not auto, spin, yield or block";
        assert_eq!(check("soon"), Err(line.into()));
    }
}
