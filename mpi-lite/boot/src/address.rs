//! Which of a host's addresses its ranks use.
//!
//! What a connection has proven is preferred to what could be guessed: the address by which it came
//! in. No name service is asked and nothing is sent.

use std::net::{IpAddr, Ipv4Addr};

/// One address of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Own {
    interface: String,
    address: IpAddr,
}

/// What is known when an address is to be chosen.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    /// What the user asks for: a name, a network or an address.
    pub interface: Option<&'a str>,
    /// The address by which another node reached this one.
    pub proven: Option<IpAddr>,
    /// True if ranks of other nodes must reach this one.
    pub has_other_nodes: bool,
}

/// Why there is no address. What the user asked for belongs in front of the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoAddress {
    /// The wish has a slash and is no network.
    #[error("is not a network")]
    NotNetwork,
    /// The wish names nothing that this machine has.
    #[error("is not an address of this host (it has {0})")]
    NotHere(String),
    /// The system does not list its addresses.
    #[error("cannot be looked up: the addresses of this host cannot be listed: {0}")]
    Unlisted(String),
}

/// Chooses the address for the sockets of this node's ranks.
///
/// # Errors
///
/// The wish names nothing that this machine has.
pub fn choose(wish: Wish<'_>) -> Result<IpAddr, NoAddress> {
    if wish.interface.is_none() && !wish.has_other_nodes {
        return Ok(IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
    choose_from(&own_addresses()?, default_interface().as_deref(), wish)
}

fn choose_from(own: &[Own], default: Option<&str>, wish: Wish<'_>) -> Result<IpAddr, NoAddress> {
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

fn wished(own: &[Own], interface: &str) -> Result<IpAddr, NoAddress> {
    let found = match parse_network(interface) {
        Some((network, bits)) => own.iter().find(|own| contains(network, bits, own.address)),
        None if interface.contains('/') => return Err(NoAddress::NotNetwork),
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
        NoAddress::NotHere(known.join(", "))
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
/// The system does not list them.
pub fn all() -> Result<Vec<IpAddr>, NoAddress> {
    let own = own_addresses()?.into_iter();
    Ok(own.map(|own| own.address).collect())
}

/// The addresses of interfaces that are up, without those that need a scope to be used.
fn own_addresses() -> Result<Vec<Own>, NoAddress> {
    let interfaces =
        if_addrs::get_if_addrs().map_err(|error| NoAddress::Unlisted(error.to_string()))?;
    let usable = interfaces.into_iter().filter(|it| is_up(&it.name));
    let own = usable.map(|it| Own {
        address: it.ip(),
        interface: it.name,
    });
    Ok(own.filter(|own| !needs_scope(own.address)).collect())
}

fn needs_scope(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.is_unicast_link_local())
}

/// Returns true unless the system says that the interface is down. Source: netdevice(7), IFF_UP.
fn is_up(interface: &str) -> bool {
    // An alias (eth0:1) has the flags of its interface.
    let name = interface.split(':').next().unwrap_or(interface);
    let flags = std::fs::read_to_string(format!("/sys/class/net/{name}/flags"));
    let flags = flags.unwrap_or_default();
    let number = u32::from_str_radix(flags.trim().trim_start_matches("0x"), 16);
    number.map_or(true, |flags| flags & 1 == 1)
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

    fn chosen(interface: Option<&str>, proven: Option<&str>) -> Result<String, NoAddress> {
        let proven = proven.map(|text| text.parse().unwrap());
        let wish = Wish {
            interface,
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
    fn the_system_lists_its_loopback() {
        let own = own_addresses().unwrap();
        assert!(own.iter().any(|own| own.address.is_loopback()), "{own:?}");
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
            let error = chosen(Some(wish), None).unwrap_err();
            let is_network = wish.contains('/') && error == NoAddress::NotNetwork;
            assert!(
                is_network || matches!(error, NoAddress::NotHere(_)),
                "{wish}: {error}"
            );
        }
    }
}
