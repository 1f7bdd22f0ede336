//! The transports under test: those of the papers that this `mpirun` has.

use mpi_lite_tests::{Job, tool};

use crate::profile::{self, extensions, without};

/// The one whose distance to the others the page states.
pub(super) const OURS: &str = "rmpp";
/// All transports that the laboratory knows, and what they lose packets of.
const KNOWN: [(&str, &str); 6] = [
    (OURS, "udp"),
    ("gobackn", "udp"),
    ("unet", "udp"),
    ("sctp", "udp"),
    ("tcp", "tcp"),
    ("tcp-trc", "tcp"),
];

/// One way to run a program over a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transport {
    /// What tables call it.
    pub name: String,
    /// What `mpirun --transport` calls it.
    pub word: &'static str,
    /// The protocol of its packets below: `udp` or `tcp`.
    pub protocol: &'static str,
    /// The profile, if it is RMPP.
    pub profile: Option<String>,
}

impl Transport {
    /// RMPP with this profile, under this name.
    #[must_use]
    pub fn rmpp(name: &str, profile: &str) -> Self {
        Self {
            name: name.to_owned(),
            word: OURS,
            protocol: "udp",
            profile: Some(profile.to_owned()),
        }
    }

    /// Returns true if `mpirun --net` shapes its packets: it does so for datagrams alone.
    #[must_use]
    pub fn has_shaping(&self) -> bool {
        self.protocol == "udp"
    }

    /// Its variables, as a job gets them.
    #[must_use]
    pub fn variables(&self) -> Vec<(&'static str, &str)> {
        let profile = self.profile.as_deref();
        profile
            .map(|it| (profile::VARIABLE, it))
            .into_iter()
            .collect()
    }
}

/// What this `mpirun` has.
#[derive(Debug)]
pub(super) struct Found {
    /// The transports to measure, fast RMPP first.
    pub present: Vec<Transport>,
    /// The names of those that it does not have.
    pub missing: Vec<String>,
    /// Whether it has `--net`.
    pub has_net: bool,
}

/// Asks `mpirun` for its transports.
///
/// # Errors
/// It does not even name fast RMPP.
pub(super) fn found() -> Result<Found, String> {
    let ask = |words: &[&str]| Job::new(tool("mpirun")).args(words).run();
    let answer = ask(&["--transport", "?", "true"]).stderr;
    let help = ask(&["--help"]).stdout;
    let has = |name: &str| words_of(&answer).any(|word| word == name);
    if !has(OURS) {
        return Err(format!(
            "mpirun names no transport {OURS}: {}",
            answer.trim()
        ));
    }
    let mut present = vec![
        Transport::rmpp(OURS, "fast"),
        Transport::rmpp("rmpp classic", "classic"),
    ];
    let others = KNOWN.iter().skip(1);
    present.extend(
        others
            .clone()
            .filter(|it| has(it.0))
            .map(|&(word, protocol)| Transport {
                name: word.to_owned(),
                word,
                protocol,
                profile: None,
            }),
    );
    Ok(Found {
        present,
        missing: others
            .filter(|it| !has(it.0))
            .map(|it| it.0.to_owned())
            .collect(),
        has_net: help
            .split_whitespace()
            .any(|word| word.starts_with("--net")),
    })
}

/// Fast RMPP, then the same without each of its extensions.
pub(super) fn profiles() -> Vec<Transport> {
    let off = |(name, _)| Transport::rmpp(&format!("without {name}"), &without(name));
    let fast = Transport::rmpp(OURS, "fast");
    std::iter::once(fast).chain(extensions().map(off)).collect()
}

/// The words of a line like `expected auto, shm or rmpp`.
fn words_of(answer: &str) -> impl Iterator<Item = &str> {
    answer.split([' ', ',', '|', ':', '\n'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transport_is_found_by_its_whole_name() {
        let answer = "mpirun: --transport ?: expected auto, rmpp, tcp-trc or loopback\n";
        let words: Vec<&str> = words_of(answer).collect();
        assert!(words.contains(&"tcp-trc") && words.contains(&"rmpp"));
        assert!(!words.contains(&"tcp"));
    }

    #[test]
    fn only_datagrams_are_shaped() {
        assert!(Transport::rmpp("rmpp", "fast").has_shaping());
        let tcp = Transport {
            protocol: "tcp",
            ..Transport::rmpp("tcp", "fast")
        };
        assert!(!tcp.has_shaping());
    }

    #[test]
    fn each_extension_is_off_once() {
        let names: Vec<_> = profiles().into_iter().filter_map(|it| it.profile).collect();
        assert_eq!(names[0], "fast");
        assert_eq!(names.len(), 1 + extensions().count());
        assert!(names[1..].iter().all(|it| it.starts_with("fast,-")));
    }
}
