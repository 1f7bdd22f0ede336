//! A program started without a launcher: rank 0 of 1.

use std::net::{IpAddr, Ipv4Addr};

use super::protocol::{Assignment, BLOCKED_AFTER_MS, Secure};
use super::secret::{SECRET_BYTES, Secret};
use crate::hosts::Hosts;

/// The launcher's part for a program that runs alone.
#[derive(Debug)]
pub struct Single {
    assignment: Assignment,
}

impl Single {
    /// Makes the assignment of rank 0 of 1. It asks nobody: no name is looked up.
    pub(super) fn new() -> Single {
        let host = "localhost".to_string();
        Single {
            assignment: Assignment {
                rank: 0,
                size: 1,
                local_rank: 0,
                local_size: 1,
                node: 0,
                local_peers: vec![0],
                shares_memory: false,
                hosts: Hosts::of(&[&host]),
                host,
                bind: IpAddr::V4(Ipv4Addr::LOCALHOST),
                // Nobody else is in this job, so there is nobody to share a secret with.
                key: Secret::new(&[0; SECRET_BYTES]),
                secure: Secure::Cookie,
                reports_counters: false,
                blocked_after_ms: BLOCKED_AFTER_MS,
                appnum: None,
                transport: std::env::var("MPILITE_TRANSPORT").unwrap_or_else(|_| "auto".into()),
            },
        }
    }

    pub(super) fn assignment(&self) -> &Assignment {
        &self.assignment
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alone_means_rank_0_of_1() {
        let single = Single::new();
        let assignment = single.assignment();
        assert_eq!((assignment.rank, assignment.size), (0, 1));
        assert_eq!((assignment.local_rank, assignment.local_size), (0, 1));
        assert_eq!(assignment.hosts.count(), 1);
        assert!(assignment.is_possible() && !assignment.shares_memory);
    }
}
