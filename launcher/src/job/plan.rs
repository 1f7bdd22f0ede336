//! Everything about a job that is decided before anything is started.

use std::ffi::{OsStr, OsString};
use std::net::IpAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mpi_boot::config::PortRange;
use mpi_boot::protocol::Secure;
use serde_bytes::ByteBuf;

use crate::cli::contradiction::{self, Way};
use crate::cli::datagrams;
use crate::cli::network::{self, Wanted};
use crate::cli::part::Part;
use crate::cli::request::Options;
use crate::cli::values::Readers;
use crate::cli::words;
use crate::failure::Failure;
use crate::job::environment::{self, Export, Variable};
use crate::job::other_mpi::{self, Wishes};
use crate::job::place::{Place, Placement};
use crate::job::preload::Preload;
use crate::job::program;
use crate::job::programs;
use crate::node::binding;
use crate::remote::silence;
use crate::reports::stall::settings::Settings;
use crate::reports::verbose;
use crate::wire::{Asked, Environment, JobKey, Program, Start};

/// What asks for a seal where no option does.
const SECURE: &str = "MPILITE_SECURE";

/// What names the ports of ranks.
const PORT_RANGE: &str = "MPILITE_PORT_RANGE";

/// A program of the job.
#[derive(Debug)]
struct Planned {
    file: PathBuf,
    /// The file was found in PATH.
    is_from_path: bool,
    /// The name first.
    arguments: Vec<ByteBuf>,
    /// The place of its environments.
    environment: usize,
    directory: PathBuf,
    path: Option<OsString>,
}

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
    /// What a program of another MPI does not do.
    pub wishes: Wishes,
    transport: String,
    interface: Option<Asked>,
    programs: Vec<Planned>,
    /// The program of each rank.
    program_of: Vec<u32>,
    /// Different ones, each for this host and for others.
    environments: Vec<[Environment; 2]>,
    readers: Readers,
    prefix: Option<PathBuf>,
    preloads: bool,
    wants_counters: bool,
    blocked_after_ms: u32,
    silent_for: Option<Duration>,
    binding: Option<binding::Wish>,
    reports_bindings: bool,
}

impl Plan {
    /// What `--verbose` says about the programs, if it is given.
    #[must_use]
    pub fn program_lines(&self, is_verbose: bool) -> Vec<String> {
        let programs = self.programs.iter().zip(1..).filter(|_| is_verbose);
        let lines = programs.map(|(it, number)| verbose::program(number, &it.file, &it.directory));
        lines.collect()
    }

    /// Checks what can be checked on this machine and draws the job's key.
    ///
    /// # Errors
    ///
    /// A failure that tells what is wrong; nothing has been started.
    pub fn new(options: &Options, placement: Placement) -> Result<Plan, Failure> {
        let (secure, asked) = secure(options)?;
        let seal = (secure != Secure::Cookie).then_some(asked);
        let job = (placement.size, seal.as_deref());
        // Options win over what the programs set.
        let mut forced: Vec<Export> = Vec::new();
        if let Some(secure) = options.secure {
            forced.push((SECURE.into(), Some(secure.to_string().into())));
        }
        if let Some(ports) = options.port_range {
            forced.push((PORT_RANGE.into(), Some(ports.to_string().into())));
        }
        let network = network::wanted(options)?;
        if let Some(wanted) = &network {
            let text = wanted.network.to_string();
            forced.push((network::VARIABLE.into(), Some(text.into())));
        }
        options.readers.check(placement.size)?;
        let program_of = programs::program_of_ranks(options, placement.size);
        let mut environments = Vec::new();
        let mut planned = Vec::new();
        for (number, part) in (0..).zip(&options.programs) {
            let is_here = runs_here(&placement, &program_of, number);
            let environment = environment_of(part, options, &forced);
            check_settings(&environment[0])?;
            planned.push(Planned {
                environment: place_in(&mut environments, environment),
                ..plan_program(part, (is_here, options.preloads), job)?
            });
        }
        Ok(Plan {
            key: JobKey(random()?),
            number: u64::from_le_bytes(random()?),
            secure,
            wishes: wishes(options, seal.clone()),
            transport: transport(options, &placement, network.as_ref(), seal.as_deref())?,
            interface: interface(options),
            programs: planned,
            program_of,
            environments,
            readers: options.readers,
            prefix: options.prefix.clone(),
            preloads: options.preloads,
            wants_counters: options.stats.is_some(),
            blocked_after_ms: Settings::new(options)?.blocked_after_ms(),
            silent_for: silence::limit()?,
            binding: options.binding()?,
            reports_bindings: options.reports_bindings,
            network,
            placement,
        })
    }

    /// Returns true if the user asks for a seal that needs a secret key.
    pub fn is_sealed(&self) -> bool {
        self.secure != Secure::Cookie
    }

    /// Sets a variable of the ranks of this host.
    pub fn set_here(&mut self, (name, value): Variable) {
        let bytes = to_wire(&[(name, value)]);
        for [Environment { variables, .. }, _] in &mut self.environments {
            variables.retain(|(known, _)| *known != bytes[0].0);
            variables.extend(bytes.clone());
        }
    }

    /// The order for one node. `address` is its own as far as `mpirun` knows it.
    pub fn start(&self, number: usize, address: Option<IpAddr>) -> Start {
        let place = &self.placement.places[number];
        let numbers = place.ranks.iter();
        let numbers: Vec<u32> = numbers
            .map(|rank| self.program_of[*rank as usize])
            .collect();
        // Only what ranks of this node run.
        let mut listed = numbers.clone();
        listed.sort_unstable();
        listed.dedup();
        let place_of = |number| listed.partition_point(|known| known < number);
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
            program_of: numbers
                .iter()
                .map(|number| u32::try_from(place_of(number)).expect("fewer programs than ranks"))
                .collect(),
            programs: listed.iter().map(|number| self.program(*number)).collect(),
            environments: self
                .environments
                .iter()
                .map(|[here, elsewhere]| if place.is_here { here } else { elsewhere })
                .cloned()
                .collect(),
            libraries: self
                .prefix
                .as_ref()
                .filter(|_| !place.is_here)
                .map(|prefix| {
                    let libraries = prefix.join("lib");
                    ByteBuf::from(libraries.as_os_str().as_bytes())
                }),
            input: self.readers.input_of(place, self.placement.size),
            wants_counters: self.wants_counters,
            blocked_after_ms: self.blocked_after_ms,
            silent_for: self.silent_for,
            binding: self.binding,
            reports_bindings: self.reports_bindings,
        }
    }

    fn program(&self, number: u32) -> Program {
        let planned = &self.programs[number as usize];
        let bytes = |text: &OsStr| ByteBuf::from(text.as_bytes());
        Program {
            number,
            file: bytes(planned.file.as_os_str()),
            is_from_path: planned.is_from_path,
            arguments: planned.arguments.clone(),
            environment: u32::try_from(planned.environment).expect("one for each program at most"),
            directory: bytes(planned.directory.as_os_str()),
            path: planned.path.as_deref().map(bytes),
        }
    }

    /// The nodes with ranks that read our input and do not have it themselves.
    pub fn input_nodes(&self) -> Vec<usize> {
        let places = self.placement.places.iter().enumerate();
        let size = self.placement.size;
        let reads = |place: &Place| self.readers.input_of(place, size).is_forwarded();
        places
            .filter(|(_, place)| reads(place))
            .map(|(number, _)| number)
            .collect()
    }

    /// What is sent to the other hosts before they start their ranks.
    ///
    /// # Errors
    ///
    /// A failure if a program cannot be sent.
    pub fn preload(&self) -> Result<Preload, Failure> {
        if !self.preloads {
            return Ok(Preload::default());
        }
        let programs: Vec<(u32, &Path)> = (0..)
            .zip(self.programs.iter().map(|planned| &*planned.file))
            .collect();
        let needs = self.placement.places.iter().map(|place| {
            let ranks = place.ranks.iter().filter(|_| !place.is_here);
            let mut numbers: Vec<u32> = ranks.map(|rank| self.program_of[*rank as usize]).collect();
            numbers.sort_unstable();
            numbers.dedup();
            numbers
        });
        Preload::new(&programs, &needs.collect::<Vec<_>>())
    }
}

/// Returns true if ranks of the program with this number run on this host.
fn runs_here(placement: &Placement, program_of: &[u32], number: u32) -> bool {
    let here = placement.places.iter().filter(|place| place.is_here);
    let mut ranks = here.flat_map(|place| &place.ranks);
    ranks.any(|rank| program_of[*rank as usize] == number)
}

/// The variables of a program, on this host and on others.
fn environment_of(part: &Part, options: &Options, forced: &[Export]) -> [Environment; 2] {
    let base = part.base.as_ref().unwrap_or(&options.base);
    let exports = options.exports.iter().chain(&part.exports).chain(forced);
    let exports: Vec<Export> = exports.cloned().collect();
    [false, true].map(|is_remote| Environment {
        variables: to_wire(&environment::for_ranks(
            std::env::vars_os(),
            base,
            &exports,
            is_remote,
        )),
        is_whole: base.is_whole() || !is_remote,
    })
}

/// Checks what the library will find in the variables of a rank.
fn check_settings(environment: &Environment) -> Result<(), Failure> {
    let variables = environment.variables.iter();
    contradiction::check_settings(variables.map(|(name, value)| (&***name, &***value)))
}

/// The place of an item in a list of different ones, which it is added to if it is new.
fn place_in<T: PartialEq>(list: &mut Vec<T>, item: T) -> usize {
    let known = list.iter().position(|known| *known == item);
    known.unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}

/// Finds a program, and where it shall run; its environment is not chosen yet.
fn plan_program(
    part: &Part,
    (is_here, is_sent): (bool, bool),
    job: (u32, Option<&str>),
) -> Result<Planned, Failure> {
    let here = std::env::current_dir()
        .map_err(|error| Failure::launch(format!("the current directory is gone: {error}")))?;
    // `--wdir` and `--path` count from where we are.
    let wanted = part.directory.as_ref();
    let directory = wanted.map_or(here.clone(), |wanted| here.join(wanted));
    if is_here {
        program::check_directory(&directory, part.directory.is_some())?;
    }
    let path = part.path.as_ref().map(|list| {
        let entries = std::env::split_paths(list).map(|entry| here.join(entry));
        std::env::join_paths(entries).unwrap_or_else(|_| list.clone())
    });
    let name = std::iter::once(part.program.as_os_str());
    let words = name.chain(part.arguments.iter().map(OsString::as_os_str));
    let places = (&*directory, path.as_deref());
    let file = find_program(part, places, is_here || is_sent, job)?;
    Ok(Planned {
        is_from_path: program::is_from_path(&part.program, &file, &directory),
        file,
        arguments: words.map(|word| ByteBuf::from(word.as_bytes())).collect(),
        environment: 0,
        directory,
        path,
    })
}

/// Finds the program on this machine. If no rank of it runs here and it is not sent to others, it
/// may be missing here: then the other nodes look for the name.
fn find_program(
    part: &Part,
    (directory, path): (&Path, Option<&OsStr>),
    is_needed: bool,
    (size, seal): (u32, Option<&str>),
) -> Result<PathBuf, Failure> {
    let search = program::search_path(path, std::env::var_os("PATH").as_deref());
    let program = match program::find(&part.program, directory, search.as_deref()) {
        Err(_) if !is_needed => return Ok(PathBuf::from(&part.program)),
        found => found?,
    };
    let shown = program.to_string_lossy();
    other_mpi::check(&program, &shown, size as usize, seal)?;
    Ok(program)
}

/// The value of a variable that mpirun reads itself, since ranks get what it says in another way:
/// that of `-x`, else of the user's environment. In front of it stands what a message names.
fn of_variable(options: &Options, name: &str) -> Option<(String, OsString)> {
    let exported = options.exported(name).and_then(|(_, value)| value.clone());
    match exported {
        Some(value) => Some((format!("-x {name}="), value)),
        None => Some((format!("{name}="), std::env::var_os(name)?)),
    }
}

/// How all ranks shall guard their datagrams, and what asks for it: the option, else the variable.
/// It goes into each rank's assignment, since a variable may get lost on the way.
fn secure(options: &Options) -> Result<(Secure, String), Failure> {
    if let Some(secure) = options.secure {
        let asked = match secure {
            Secure::Encrypt => "--secure".into(),
            other => format!("--secure={other}"),
        };
        return Ok((secure, asked));
    }
    let Some((by, value)) = of_variable(options, SECURE) else {
        return Ok((Secure::Cookie, String::new()));
    };
    let secure = words::secure(&by, &value)?;
    Ok((secure, format!("{by}{secure}")))
}

/// What the user asks of ranks and a program of another MPI does not do. `seal` asks for a seal.
fn wishes(options: &Options, seal: Option<String>) -> Wishes {
    let given = [
        ("--transport", options.transport.is_some()),
        ("--net", options.network.is_some()),
        ("--packets", options.packets.is_some()),
        ("--sequence", options.sequence.is_some()),
        ("--stats", options.stats.is_some()),
        ("--interface", options.interface.is_some()),
        ("--port-range", options.port_range.is_some()),
    ];
    let given = given.into_iter().filter(|(_, is_given)| *is_given);
    Wishes {
        seal,
        options: given.map(|(name, _)| name).collect(),
    }
}

/// The range of ports: the option, else the variable.
fn ports(options: &Options) -> Result<Option<PortRange>, Failure> {
    if options.port_range.is_some() {
        return Ok(options.port_range);
    }
    let variable = of_variable(options, PORT_RANGE);
    let range = variable.map(|(by, value)| words::port_range(&value, by.trim_end_matches('=')));
    range.transpose()
}

fn transport(
    options: &Options,
    placement: &Placement,
    network: Option<&Wanted>,
    seal: Option<&str>,
) -> Result<String, Failure> {
    let variable = of_variable(options, "MPILITE_TRANSPORT");
    let (asked, transport) = match (&options.transport, variable) {
        (Some(transport), _) => ("--transport ".into(), transport.clone()),
        (None, Some((by, value))) => {
            let transport = words::transport(&by, &value)?;
            (by, transport)
        }
        (None, None) => (String::new(), "auto".into()),
    };
    let shows_packets = options.shows_packets().then_some("--packets");
    let transport = match network.map(Wanted::asked).or(shows_packets) {
        Some(what) => datagrams::needed(what, &asked, transport)?,
        None => transport,
    };
    let way = Way {
        transport: &transport,
        asked: &asked,
        seal,
        ports: ports(options)?,
    };
    contradiction::check(way, placement)?;
    Ok(transport)
}

/// `--interface`, or what Open MPI calls it, or the variable.
fn interface(options: &Options) -> Option<Asked> {
    let of_option = options.interface.clone().map(|value| Asked {
        by: "--interface ".into(),
        value,
    });
    let of_setting = || {
        let (by, value) = of_variable(options, "MPILITE_INTERFACE")?;
        let value = value.into_string().ok().filter(|it| !it.is_empty())?;
        Some(Asked { by, value })
    };
    of_option
        .or_else(|| options.mca_interface.clone())
        .or_else(of_setting)
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
