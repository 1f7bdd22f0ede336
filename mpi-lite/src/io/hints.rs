//! What a program may say about its use of a file. Source: MPI 5.0, 14.2.8.

use crate::comm::Nodes;

/// Hints, those that were given or those in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hints {
    /// `file_perm`: the permissions of a new file.
    pub permissions: u32,
    /// `collective_buffering`: processes may move data for each other. `None`: where it pays.
    pub is_collective: Option<bool>,
    /// `cb_buffer_size`: bytes of the file that a process holds for others at a time.
    pub domain: u64,
    /// `cb_nodes`: the most processes that do so. 0: as many as pay.
    pub aggregators: u64,
}

/// Bytes of a file that a process holds for others.
const DOMAIN: u64 = 1 << 20;
/// No process holds more: what it needs for a collective access stays below 32 MiB.
const DOMAIN_MOST: u64 = 8 << 20;
const DOMAIN_LEAST: u64 = 1 << 12;

impl Default for Hints {
    fn default() -> Self {
        Self {
            permissions: 0o666,
            is_collective: None,
            domain: DOMAIN,
            aggregators: 0,
        }
    }
}

impl Hints {
    /// Takes over a hint. One that is unknown, or makes no sense, is left out, as MPI demands.
    pub fn set(&mut self, key: &str, value: &str) {
        let number = || value.trim().parse::<u64>().ok();
        match key {
            "file_perm" => {
                let digits = value.trim().trim_start_matches("0o");
                if let Ok(permissions) = u32::from_str_radix(digits, 8) {
                    self.permissions = permissions & 0o777;
                }
            }
            "collective_buffering" | "romio_cb_write" | "romio_cb_read" => {
                self.is_collective = match value.trim() {
                    "true" | "enable" => Some(true),
                    "false" | "disable" => Some(false),
                    "automatic" => None,
                    _ => self.is_collective,
                };
            }
            "cb_buffer_size" => {
                if let Some(bytes) = number().filter(|bytes| *bytes > 0) {
                    let pages = bytes.clamp(DOMAIN_LEAST, DOMAIN_MOST) >> 12 << 12;
                    self.domain = pages;
                }
            }
            "cb_nodes" => self.aggregators = number().unwrap_or(self.aggregators),
            _ => {}
        }
    }

    /// Those that all processes must have in common, as words.
    pub(super) fn common(&self) -> [u64; 3] {
        let is_collective = match self.is_collective {
            None => 0,
            Some(is_collective) => 1 + u64::from(is_collective),
        };
        [self.domain, self.aggregators, is_collective]
    }

    /// Sets those that all processes must have in common.
    pub(super) fn set_common(&mut self, words: &[u64]) {
        let &[domain, aggregators, is_collective] = words else {
            return;
        };
        (self.domain, self.aggregators) = (domain, aggregators);
        self.is_collective = match is_collective {
            0 => None,
            word => Some(word == 2),
        };
    }

    /// The hints in use, for a file opened by so many processes, of which `most` can hold data for
    /// others.
    pub(super) fn in_use(&self, processes: u32, most: u64) -> Vec<(&'static str, String)> {
        let collective = match self.is_collective {
            Some(false) => "false",
            _ => "true",
        };
        let aggregators = match self.aggregators {
            0 => most,
            some => some.min(most),
        };
        vec![
            ("collective_buffering", collective.into()),
            ("cb_buffer_size", self.domain.to_string()),
            ("cb_nodes", aggregators.to_string()),
            ("file_perm", format!("{:o}", self.permissions)),
            ("nb_proc", processes.to_string()),
        ]
    }
}

/// Aggregators of a node, at most, if there are several nodes: they share what leads to the file.
const OF_NODE: usize = 2;

/// The ranks that move data for others: `most` at most, unless that is 0.
pub(super) fn aggregators(processes: usize, nodes: Option<&Nodes>, most: usize) -> Vec<usize> {
    let of_node = |members: &Vec<usize>| members[..members.len().min(OF_NODE)].to_vec();
    let mut all: Vec<usize> = match nodes {
        None => (0..processes).collect(),
        Some(nodes) => nodes.all().iter().flat_map(of_node).collect(),
    };
    if most > 0 {
        all.truncate(most);
    }
    all
}
