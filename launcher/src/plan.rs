//! Everything about a job that is decided before anything is started.

use std::ffi::OsString;
use std::net::IpAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mpi_lite::boot::protocol::Secure;
use serde_bytes::ByteBuf;

use crate::args::{Options, parse_secure, parse_transport};
use crate::datagrams;
use crate::elf::{self, Mpi};
use crate::environment::{self, Variable};
use crate::failure::{Failure, NOT_EXECUTABLE, printable};
use crate::network::{self, Wanted};
use crate::place::Placement;
use crate::program;
use crate::silence;
use crate::wire::{Asked, Input, JobKey, Start};

/// What asks for a seal where no option does.
const SECURE: &str = "MPILITE_SECURE";

/// A job that is ready to be started.
#[derive(Debug)]
pub struct Plan {
    /// The nodes and their ranks.
    pub placement: Placement,
    /// The bad network, if the user asks for one.
    pub network: Option<Wanted>,
    key: JobKey,
    number: u64,
    secure: Secure,
    transport: String,
    interface: Option<Asked>,
    program: PathBuf,
    arguments: Vec<ByteBuf>,
    here: Vec<(ByteBuf, ByteBuf)>,
    elsewhere: Vec<(ByteBuf, ByteBuf)>,
    directory: PathBuf,
    wants_counters: bool,
    silent_for: Option<Duration>,
}

impl Plan {
    /// Checks what can be checked on this machine and draws the job's key.
    ///
    /// # Errors
    ///
    /// A failure that tells what is wrong; nothing has been started.
    pub fn new(options: &Options, placement: Placement) -> Result<Plan, Failure> {
        let directory = directory(options)?;
        let is_here = placement.places.iter().any(|place| place.is_here);
        let name = std::iter::once(options.program.as_os_str());
        let words = name.chain(options.arguments.iter().map(OsString::as_os_str));
        let secure = secure(options)?;
        let mut exports = options.exports.clone();
        if let Some(secure) = options.secure {
            exports.push((SECURE.into(), Some(secure.to_string().into())));
        }
        let network = network::wanted(options)?;
        if let Some(wanted) = &network {
            let text = wanted.network.to_string();
            exports.push((network::VARIABLE.into(), Some(text.into())));
        }
        let variables = |is_remote| {
            let chosen = environment::for_ranks(std::env::vars_os(), &exports, is_remote);
            to_wire(&chosen)
        };
        Ok(Plan {
            key: JobKey(random()?),
            number: u64::from_le_bytes(random()?),
            secure,
            transport: transport(options, &placement, network.as_ref())?,
            interface: interface(options),
            program: find_program(options, &directory, is_here, placement.size)?,
            arguments: words.map(|word| ByteBuf::from(word.as_bytes())).collect(),
            here: variables(false),
            elsewhere: variables(true),
            directory,
            wants_counters: options.stats.is_some(),
            silent_for: silence::limit()?,
            network,
            placement,
        })
    }

    /// Sets a variable of the ranks of this host.
    pub fn set_here(&mut self, (name, value): Variable) {
        let mut bytes = to_wire(&[(name, value)]);
        self.here.retain(|(known, _)| *known != bytes[0].0);
        self.here.append(&mut bytes);
    }

    /// The order for one node. `address` is its own as far as `mpirun` knows it.
    pub fn start(&self, number: usize, address: Option<IpAddr>) -> Start {
        let place = &self.placement.places[number];
        Start {
            node: u32::try_from(number).expect("fewer nodes than ranks"),
            job: self.number,
            ranks: place.ranks.clone(),
            hosts: self.placement.hosts.clone(),
            key: self.key,
            secure: self.secure,
            transport: self.transport.clone(),
            interface: self.interface.clone(),
            has_other_nodes: self.placement.places.len() > 1,
            address,
            program: ByteBuf::from(self.program.as_os_str().as_bytes()),
            arguments: self.arguments.clone(),
            variables: if place.is_here {
                self.here.clone()
            } else {
                self.elsewhere.clone()
            },
            is_whole_environment: place.is_here,
            directory: ByteBuf::from(self.directory.as_os_str().as_bytes()),
            input: if place.is_here {
                Input::Inherited
            } else {
                Input::Forwarded
            },
            wants_counters: self.wants_counters,
            silent_for: self.silent_for,
        }
    }

    /// The node of rank 0 if it is another machine: its input must be carried there.
    pub fn input_node(&self) -> Option<usize> {
        let place = self
            .placement
            .places
            .iter()
            .position(|place| place.ranks.contains(&0))?;
        (!self.placement.places[place].is_here).then_some(place)
    }
}

/// `--wdir`, from where we are; else where we are.
fn directory(options: &Options) -> Result<PathBuf, Failure> {
    let here = std::env::current_dir()
        .map_err(|error| Failure::launch(format!("the current directory is gone: {error}")))?;
    Ok(options
        .directory
        .as_ref()
        .map_or(here.clone(), |wanted| here.join(wanted)))
}

/// Finds the program on this machine. If no rank runs here it may be missing here: then the other
/// nodes look for the name.
fn find_program(
    options: &Options,
    directory: &Path,
    is_here: bool,
    size: u32,
) -> Result<PathBuf, Failure> {
    if is_here {
        program::check_directory(directory, options.directory.is_some())?;
    }
    let path = std::env::var_os("PATH");
    let program = match program::find(&options.program, directory, path.as_deref()) {
        Err(_) if !is_here => return Ok(PathBuf::from(&options.program)),
        found => found?,
    };
    if let Some((Mpi::OpenMpi, library)) = elf::mpi_of(&program).filter(|_| size > 1) {
        let (owner, shown) = ("Open MPI", printable(&program.to_string_lossy()));
        return Err(Failure {
            code: NOT_EXECUTABLE,
            text: format!(
                "program '{shown}' is linked with {owner} ({}): start it with the mpirun of \
                 {owner}, or compile it with the mpicc of mpi-lite",
                printable(&library)
            ),
        });
    }
    Ok(program)
}

/// How all ranks shall guard their datagrams: the option, else what the user's environment and `-x`
/// say. It goes into each rank's assignment, since a variable may get lost on the way.
fn secure(options: &Options) -> Result<Secure, Failure> {
    if let Some(secure) = options.secure {
        return Ok(secure);
    }
    let exported = options
        .exports
        .iter()
        .rev()
        .find(|(name, _)| name == SECURE);
    if let Some((_, Some(value))) = exported {
        return parse_secure(&format!("-x {SECURE}="), value);
    }
    match std::env::var_os(SECURE) {
        Some(value) => parse_secure(&format!("{SECURE}="), &value),
        None => Ok(Secure::Cookie),
    }
}

fn transport(
    options: &Options,
    placement: &Placement,
    network: Option<&Wanted>,
) -> Result<String, Failure> {
    let (asked, transport) = match (&options.transport, std::env::var_os("MPILITE_TRANSPORT")) {
        (Some(transport), _) => ("--transport ", transport.clone()),
        (None, Some(transport)) => {
            let asked = "MPILITE_TRANSPORT=";
            (asked, parse_transport(asked, &transport)?)
        }
        (None, None) => ("", "auto".into()),
    };
    let shows_packets = options.shows_packets().then_some("--packets");
    let transport = match network.map(Wanted::asked).or(shows_packets) {
        Some(what) => datagrams::needed(what, asked, transport)?,
        None => transport,
    };
    if transport == "shm" && placement.places.len() > 1 {
        let hosts: Vec<String> = placement
            .places
            .iter()
            .map(|place| printable(&place.host))
            .collect();
        return Err(Failure::usage(format!(
            "{asked}shm: shared memory ends at one host, but the ranks are on {} hosts ({}); \
             auto takes it as far as it goes",
            hosts.len(),
            hosts.join(", "),
        )));
    }
    Ok(transport)
}

/// `--interface`, or what Open MPI calls it, or the variable.
fn interface(options: &Options) -> Option<Asked> {
    let of_option = options.interface.clone().map(|value| Asked {
        by: "--interface ".into(),
        value,
    });
    let of_variable = || {
        let value = std::env::var("MPILITE_INTERFACE").ok();
        value.filter(|value| !value.is_empty()).map(|value| Asked {
            by: "MPILITE_INTERFACE=".into(),
            value,
        })
    };
    of_option
        .or_else(|| options.mca_interface.clone())
        .or_else(of_variable)
}

fn random<const BYTES: usize>() -> Result<[u8; BYTES], Failure> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::launch(format!("no random numbers for the job key: {error}")))?;
    Ok(bytes)
}

fn to_wire(variables: &[Variable]) -> Vec<(ByteBuf, ByteBuf)> {
    let bytes = |text: &OsString| ByteBuf::from(text.as_bytes());
    variables
        .iter()
        .map(|(name, value)| (bytes(name), bytes(value)))
        .collect()
}
