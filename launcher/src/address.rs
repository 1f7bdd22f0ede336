//! Which of a node's addresses its ranks use.
//!
//! What ssh has proven is preferred to what could be guessed: the address by which the connection
//! came in. No name service is asked and nothing is sent.

use std::net::{IpAddr, Ipv4Addr};

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;

use crate::failure::Failure;
use crate::wire::Asked;

/// One address of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Own {
    interface: String,
    address: IpAddr,
}

/// What is known when an address is to be chosen.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    /// `--interface`: a name, a network or an address.
    pub interface: Option<&'a Asked>,
    /// The address by which another node reached this one.
    pub proven: Option<IpAddr>,
    /// True if ranks of other nodes must reach this one.
    pub has_other_nodes: bool,
}

/// Chooses the address for the sockets of this node's ranks.
///
/// # Errors
///
/// A failure if the wish names nothing that this machine has.
pub fn choose(wish: Wish<'_>) -> Result<IpAddr, Failure> {
    if wish.interface.is_none() && !wish.has_other_nodes {
        return Ok(IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
    choose_from(&own_addresses()?, default_interface().as_deref(), wish)
}

fn choose_from(own: &[Own], default: Option<&str>, wish: Wish<'_>) -> Result<IpAddr, Failure> {
    if let Some(interface) = wish.interface {
        return wished(own, interface);
    }
    // An address translator may have changed the proven address on the way: only our own will do.
    let is_own = |address: &IpAddr| own.iter().any(|own| own.address == *address);
    if let Some(proven) = wish.proven.filter(is_own) {
        return Ok(proven);
    }
    let usable = || {
        own.iter()
            .filter(|own| !own.address.is_loopback() && own.address.is_ipv4())
    };
    let by_route = usable().find(|own| Some(own.interface.as_str()) == default);
    let chosen = by_route.or_else(|| usable().next());
    Ok(chosen.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |own| own.address))
}

fn wished(own: &[Own], asked: &Asked) -> Result<IpAddr, Failure> {
    let interface = asked.value.as_str();
    let found = match parse_network(interface) {
        Some((network, bits)) => own.iter().find(|own| contains(network, bits, own.address)),
        None if interface.contains('/') => {
            return Err(Failure::usage(format!("{asked} is not a network")));
        }
        // IPv4 first: it is what every interface has.
        None => {
            let named = || own.iter().filter(|own| own.interface == interface);
            named()
                .find(|own| own.address.is_ipv4())
                .or_else(|| named().next())
        }
    };
    found.map(|own| own.address).ok_or_else(|| {
        let known: Vec<String> = own
            .iter()
            .map(|own| format!("{} {}", own.interface, own.address))
            .collect();
        Failure::launch(format!(
            "{asked} is not an address of this host (it has {})",
            known.join(", ")
        ))
    })
}

/// An address, alone or with the length of its network prefix.
fn parse_network(text: &str) -> Option<(IpAddr, u32)> {
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().ok()?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.map_or(Some(most), |bits| bits.parse().ok())?;
    (bits <= most).then_some((address, bits))
}

fn contains(network: IpAddr, bits: u32, address: IpAddr) -> bool {
    match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) => {
            let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
            u32::from(network) & mask == u32::from(address) & mask
        }
        (IpAddr::V6(network), IpAddr::V6(address)) => {
            let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
            u128::from(network) & mask == u128::from(address) & mask
        }
        _ => false,
    }
}

/// All addresses of this host by which others may reach it.
///
/// # Errors
///
/// A failure if the system does not list them.
pub(crate) fn all() -> Result<Vec<IpAddr>, Failure> {
    let own = own_addresses()?.into_iter();
    Ok(own.map(|own| own.address).collect())
}

/// The addresses of interfaces that are up, without those that need a scope to be used.
fn own_addresses() -> Result<Vec<Own>, Failure> {
    let interfaces = getifaddrs()
        .map_err(|error| Failure::launch(format!("cannot list the addresses: {error}")))?;
    let is_up = |flags: InterfaceFlags| flags.contains(InterfaceFlags::IFF_UP);
    let mut own = Vec::new();
    for interface in interfaces.filter(|interface| is_up(interface.flags)) {
        let Some(address) = interface.address else {
            continue;
        };
        let v4 = address
            .as_sockaddr_in()
            .map(|address| IpAddr::V4(address.ip()));
        let v6 = address.as_sockaddr_in6().map(|address| address.ip());
        let v6 = v6
            .filter(|address| !address.is_unicast_link_local())
            .map(IpAddr::V6);
        if let Some(address) = v4.or(v6) {
            own.push(Own {
                interface: interface.interface_name,
                address,
            });
        }
    }
    Ok(own)
}

/// The interface of the default route.
fn default_interface() -> Option<String> {
    let table = std::fs::read_to_string("/proc/net/route").ok()?;
    let mut routes = table.lines().skip(1).map(str::split_ascii_whitespace);
    routes.find_map(|mut words| {
        let interface = words.next()?;
        (words.next()? == "00000000").then(|| interface.to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Vec<Own> {
        [
            ("lo", "127.0.0.1"),
            ("lo", "::1"),
            ("docker0", "172.17.0.1"),
            ("eth0", "2001:db8::5"),
            ("eth0", "10.1.0.5"),
        ]
        .map(|(interface, address)| Own {
            interface: interface.into(),
            address: address.parse().unwrap(),
        })
        .to_vec()
    }

    fn chosen(interface: Option<&str>, proven: Option<&str>) -> Result<String, Failure> {
        let proven = proven.map(|text| text.parse().unwrap());
        let asked = interface.map(|value| Asked {
            by: "--interface ".into(),
            value: value.into(),
        });
        let wish = Wish {
            interface: asked.as_ref(),
            proven,
            has_other_nodes: true,
        };
        choose_from(&machine(), Some("eth0"), wish).map(|address| address.to_string())
    }

    #[test]
    fn ranks_of_one_machine_use_its_loopback() {
        let wish = Wish {
            interface: None,
            proven: None,
            has_other_nodes: false,
        };
        assert_eq!(choose(wish).unwrap(), IpAddr::V4(Ipv4Addr::LOCALHOST));
    }

    #[test]
    fn the_proven_address_is_preferred_to_any_guess() {
        assert_eq!(chosen(None, Some("172.17.0.1")).unwrap(), "172.17.0.1");
        assert_eq!(chosen(None, Some("127.0.0.1")).unwrap(), "127.0.0.1");
    }

    #[test]
    fn an_address_that_is_not_ours_is_not_bound() {
        assert_eq!(chosen(None, Some("192.0.2.9")).unwrap(), "10.1.0.5");
        assert_eq!(chosen(None, None).unwrap(), "10.1.0.5");
    }

    #[test]
    fn a_wish_is_a_name_a_network_or_an_address() {
        for wish in ["eth0", "10.1.0.0/16", "10.1.0.5", "10.0.0.0/8"] {
            assert_eq!(
                chosen(Some(wish), Some("127.0.0.1")).unwrap(),
                "10.1.0.5",
                "{wish}"
            );
        }
        assert_eq!(chosen(Some("2001:db8::/32"), None).unwrap(), "2001:db8::5");
        assert_eq!(chosen(Some("0.0.0.0/0"), None).unwrap(), "127.0.0.1");
    }

    #[test]
    fn a_wish_that_cannot_be_met_is_an_error() {
        for wish in [
            "eth1",
            "192.0.2.0/24",
            "10.1.0.6",
            "10.1.0.0/33",
            "x/8",
            "",
            "/",
        ] {
            let failure = chosen(Some(wish), None).unwrap_err();
            assert!(failure.text.starts_with("--interface"), "{wish}: {failure}");
        }
    }
}
