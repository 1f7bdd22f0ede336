//! Datagrams that the system has lately refused to send, by peer. The protocol sends them again.
//! The record is for the warning to the user: it gives the reason why a peer does not answer.

use std::io;
use std::net::SocketAddr;

/// A refusal is old once the system has taken so many datagrams to the same peer since. An error
/// that the network reports belongs to an earlier datagram, so good sends and refused ones may take
/// turns.
const TAKEN_MOST: u32 = 8;

/// The last refusals of the system. Empty on a network that works.
#[derive(Debug, Default)]
pub(super) struct Refusals(Vec<Refused>);

#[derive(Debug)]
struct Refused {
    peer: u32,
    error: i32,
    /// Datagrams to the peer that the system has taken since.
    taken: u32,
}

impl Refusals {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The system has refused a datagram to `peer`.
    #[cold]
    pub(super) fn note(&mut self, peer: u32, error: &io::Error) {
        let Some(error) = error.raw_os_error() else {
            return;
        };
        self.0.retain(|refused| refused.peer != peer);
        self.0.push(Refused {
            peer,
            error,
            taken: 0,
        });
    }

    /// The system has taken a datagram to `peer`.
    #[cold]
    pub(super) fn note_taken(&mut self, peer: u32) {
        self.0.retain_mut(|refused| {
            refused.taken += u32::from(refused.peer == peer);
            refused.taken <= TAKEN_MOST
        });
    }

    /// Why the system has lately refused what goes to `peer` at `address`, in words.
    #[cold]
    pub(super) fn in_words(&self, peer: u32, address: Option<SocketAddr>) -> Option<String> {
        let refused = self.0.iter().find(|refused| refused.peer == peer)?;
        let error = io::Error::from_raw_os_error(refused.error);
        let address = address.map_or_else(|| "ADDRESS".into(), |it| it.ip().to_string());
        Some(format!("{error}; {}", advice(refused.error, &address)))
    }
}

/// Returns true if `error` is about the way to a peer, not about the datagram.
pub(super) fn is_of_network(error: &io::Error) -> bool {
    let of_network = [
        libc::ENETUNREACH,
        libc::EHOSTUNREACH,
        libc::ENETDOWN,
        libc::EPERM,
        libc::EACCES,
        libc::ECONNREFUSED,
    ];
    error
        .raw_os_error()
        .is_some_and(|error| of_network.contains(&error))
}

/// What to look at.
fn advice(error: i32, address: &str) -> String {
    match error {
        libc::ENETUNREACH | libc::EHOSTUNREACH | libc::ENETDOWN => format!(
            "is the interface of this host up (ip link), does a route lead there (ip route get \
             {address}), and does a firewall reject it?"
        ),
        libc::EPERM | libc::EACCES => "does a firewall of this host (iptables, nft) or a sandbox \
             forbid UDP, or is its table of connections full?"
            .into(),
        libc::ECONNREFUSED => "the other host reports a closed port: does its firewall \
             reject UDP, or has the rank ended?"
            .into(),
        _ => "see ip link and ip route of this host".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(error: i32) -> Refusals {
        let mut refusals = Refusals::default();
        refusals.note(1, &io::Error::from_raw_os_error(error));
        refusals
    }

    #[test]
    fn a_refusal_names_the_error_of_the_system_and_what_to_look_at() {
        let address = Some(([10, 0, 0, 2], 4000).into());
        for (error, name, look) in [
            (
                libc::ENETUNREACH,
                "Network is unreachable",
                "ip route get 10.0.0.2",
            ),
            (
                libc::EHOSTUNREACH,
                "No route to host",
                "ip route get 10.0.0.2",
            ),
            (libc::ENETDOWN, "Network is down", "ip link"),
            (
                libc::EPERM,
                "Operation not permitted",
                "firewall of this host",
            ),
            (libc::EACCES, "Permission denied", "firewall of this host"),
            (libc::ECONNREFUSED, "Connection refused", "reject UDP"),
            (libc::EINVAL, "Invalid argument", "ip route"),
        ] {
            let words = refused(error).in_words(1, address).unwrap();
            assert!(words.contains(name) && words.contains(look), "{words}");
        }
        assert_eq!(refused(libc::EPERM).in_words(2, address), None);
    }

    #[test]
    fn a_refusal_is_forgotten_once_the_system_takes_what_goes_there() {
        let mut refusals = refused(libc::EPERM);
        (0..TAKEN_MOST).for_each(|_| refusals.note_taken(1));
        (0..100).for_each(|_| refusals.note_taken(2));
        assert!(refusals.in_words(1, None).is_some(), "answers may be late");
        refusals.note_taken(1);
        assert!(refusals.is_empty());
    }

    #[test]
    fn the_last_refusal_counts() {
        let mut refusals = refused(libc::EPERM);
        refusals.note_taken(1);
        refusals.note(1, &io::Error::from_raw_os_error(libc::ENETUNREACH));
        let words = refusals.in_words(1, None).unwrap();
        assert!(words.starts_with("Network is unreachable"), "{words}");
    }
}
