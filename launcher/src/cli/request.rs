//! What a command line asks for.

use std::path::PathBuf;
use std::time::Duration;

use mpi_boot::config::{Network, PortRange};
use mpi_boot::protocol::Secure;

use crate::cli::mapping::Local;
use crate::cli::part::Part;
use crate::cli::values::{Launcher, Mapping, Policy, Readers, Stats};
use crate::job::environment::{Base, Export};
use crate::job::hosts::Host;
use crate::reports::output::Style;
use crate::wire::Asked;

/// What the command line asks for.
#[derive(Debug)]
pub enum Request {
    /// Run a job.
    Run(Box<Options>),
    /// Print the help text.
    Help,
    /// Print the version.
    Version,
    /// Print what is known about the installation and the machine.
    Info,
    /// Serve one node over standard input and output (what ssh starts on a remote host).
    Agent,
}

/// A job as the user described it.
#[derive(Debug, Default, Clone)]
pub struct Options {
    /// Number of ranks of all programs, if given.
    pub ranks: Option<u32>,
    /// The hosts of `--host`.
    pub hosts: Vec<Host>,
    /// The file of `--hostfile`.
    pub host_file: Option<PathBuf>,
    /// `-genvall` and its kin.
    pub base: Base,
    /// `-genv`, and what other options set for all ranks.
    pub exports: Vec<Export>,
    /// `--app`.
    pub app_file: Option<PathBuf>,
    /// `--transport`.
    pub transport: Option<String>,
    /// `--interface`.
    pub interface: Option<String>,
    /// `--mca btl_tcp_if_include`: the interface unless `--interface` names one.
    pub mca_interface: Option<Asked>,
    /// `--port-range`.
    pub port_range: Option<PortRange>,
    /// `--launcher`.
    pub launcher: Option<Launcher>,
    /// `--launch-fanout`.
    pub launch_fanout: Option<usize>,
    /// `--launch-timeout`.
    pub launch_timeout: Option<Duration>,
    /// `--ssh-args`.
    pub ssh_arguments: Option<String>,
    /// `--net`.
    pub network: Option<Network>,
    /// `--tag-output`, `--timestamp-output` and `--merge-stderr`.
    pub style: Style,
    /// `--output`.
    pub output_directory: Option<PathBuf>,
    /// `--stdin`.
    pub readers: Readers,
    /// `--prefix`.
    pub prefix: Option<PathBuf>,
    /// `--preload`.
    pub preloads: bool,
    /// `--stats`.
    pub stats: Option<Stats>,
    /// `--secure`.
    pub secure: Option<Secure>,
    /// `--timeout`.
    pub timeout: Option<Duration>,
    /// `--grace`.
    pub grace: Option<Duration>,
    /// `--stall`.
    pub stall: Option<Policy>,
    /// `--stall-after`.
    pub stall_after: Option<Duration>,
    /// `--stall-json`.
    pub stall_json: Option<PathBuf>,
    /// `--packets`.
    pub packets: Option<PathBuf>,
    /// `--sequence`.
    pub sequence: Option<PathBuf>,
    /// `--sequence-packets`.
    pub sequence_packets: Option<u32>,
    /// `--oversubscribe`: more ranks than slots without a note.
    pub oversubscribes: bool,
    /// `--nooversubscribe`: more ranks than slots is an error.
    pub refuses_oversubscription: bool,
    /// `--map-by` and its kin.
    pub mapping: Mapping,
    /// `--bind-to`, `--rank-by`, and what `--map-by` says about the ranks of one host.
    pub local: Local,
    /// `--report-bindings`.
    pub reports_bindings: bool,
    /// `--verbose`.
    pub is_verbose: bool,
    /// `--display-map`.
    pub shows_map: bool,
    /// Options that were understood but change nothing; one line each for the user.
    pub notes: Vec<String>,
    /// The program that is being read.
    pub(crate) part: Part,
    /// The programs of the job, in the order of their ranks.
    pub programs: Vec<Part>,
}

impl Options {
    /// Returns true if the packets of the ranks are to be shown, in one way or the other.
    pub fn shows_packets(&self) -> bool {
        self.packets.is_some() || self.sequence.is_some()
    }
}
