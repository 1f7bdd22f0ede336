//! Everything about a job that is decided before anything is started.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::net::IpAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

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
use crate::remote::proof::random;
use crate::remote::silence;
use crate::reports::stall::settings::Settings;
use crate::reports::verbose;
use crate::wire::{Asked, Environment, Input, JobKey, Program, Start};

/// What asks for a seal where no option does.
const SECURE: &str = "MPILITE_SECURE";

/// What names the ports of ranks.
const PORT_RANGE: &str = "MPILITE_PORT_RANGE";

/// A job that is ready to be started.
#[derive(Debug)]
pub struct Plan {
    /// The nodes and their ranks.
    pub placement: Placement,
    /// The bad network, if the user asks for one.
    pub network: Option<Wanted>,
    /// What a program of another MPI does not do.
    pub wishes: Wishes,
    /// What all nodes are told alike.
    common: Start,
    programs: Vec<Program>,
    /// The program of each rank.
    program_of: Vec<u32>,
    /// Different ones, each for this host and for others.
    environments: Vec<[Environment; 2]>,
    readers: Readers,
    prefix: Option<PathBuf>,
    preloads: bool,
}

impl Plan {
    /// What `--verbose` says about the programs, if it is given.
    #[must_use]
    pub fn program_lines(&self, is_verbose: bool) -> Vec<String> {
        let programs = self.programs.iter().zip(1..).filter(|_| is_verbose);
        let lines = programs.map(|(it, number)| {
            verbose::program(number, path_of(&it.file), path_of(&it.directory))
        });
        lines.collect()
    }

    /// Checks what can be checked on this machine and draws the job's key. A failure tells what is
    /// wrong; nothing has been started then.
    pub fn new(options: &Options, placement: Placement) -> Result<Plan, Failure> {
        let (secure, asked) = secure(options)?;
        let seal = (secure != Secure::Cookie).then_some(asked);
        // Options win over what the programs set.
        let network = network::wanted(options)?;
        let forced = [
            (SECURE, options.secure.map(|it| it.to_string())),
            (PORT_RANGE, options.port_range.map(|it| it.to_string())),
            (
                network::VARIABLE,
                network.as_ref().map(|it| it.network.to_string()),
            ),
        ];
        let forced = forced.into_iter().filter(|(_, value)| value.is_some());
        let forced: Vec<Export> = forced
            .map(|(name, value)| (name.into(), value.map(OsString::from)))
            .collect();
        options.readers.check(placement.size)?;
        let program_of = programs::program_of_ranks(options, placement.size);
        let mut environments = Vec::new();
        let mut planned = Vec::new();
        for (number, part) in (0..).zip(&options.programs) {
            let is_here = runs_here(&placement, &program_of, number);
            let environment = environment_of(part, options, &forced);
            check_settings(&environment[0])?;
            planned.push(Program {
                number,
                environment: place_in(&mut environments, environment),
                ..plan_program(part, (is_here, options.preloads), placement.size)?
            });
        }
        let common = Start {
            job: u64::from_le_bytes(random("the job key")?),
            hosts: placement.hosts.clone(),
            key: JobKey(random("the job key")?),
            secure,
            transport: transport(options, &placement, network.as_ref(), seal.as_deref())?,
            interface: interface(options),
            has_other_nodes: placement.places.len() > 1,
            wants_counters: options.stats.is_some(),
            blocked_after_ms: Settings::new(options)?.blocked_after_ms(),
            silent_for: silence::limit()?,
            binding: options.binding()?,
            reports_bindings: options.reports_bindings,
            // Of one node: see `start`.
            node: 0,
            ranks: Vec::new(),
            address: None,
            programs: Vec::new(),
            program_of: Vec::new(),
            environments: Vec::new(),
            libraries: None,
            input: Input::Nothing,
        };
        Ok(Plan {
            common,
            wishes: wishes(options, seal),
            programs: planned,
            program_of,
            environments,
            readers: options.readers,
            prefix: options.prefix.clone(),
            preloads: options.preloads,
            network,
            placement,
        })
    }

    /// Returns true if the user asks for a seal that needs a secret key.
    pub fn is_sealed(&self) -> bool {
        self.common.secure != Secure::Cookie
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
        // Only what ranks of this node run.
        let listed = self.programs_of(place);
        let place_of = |rank: &u32| {
            let number = self.program_of[*rank as usize];
            let place = listed.partition_point(|known| *known < number);
            u32::try_from(place).expect("fewer programs than ranks")
        };
        let programs = listed.iter().map(|it| self.programs[*it as usize].clone());
        let environments = self.environments.iter();
        let environments =
            environments.map(|[here, elsewhere]| if place.is_here { here } else { elsewhere });
        let prefix = self.prefix.as_ref().filter(|_| !place.is_here);
        Start {
            node: u32::try_from(number).expect("fewer nodes than ranks"),
            ranks: place.ranks.clone(),
            address,
            program_of: place.ranks.iter().map(place_of).collect(),
            programs: programs.collect(),
            environments: environments.cloned().collect(),
            libraries: prefix.map(|prefix| bytes_of(prefix.join("lib"))),
            input: self.readers.input_of(place, self.placement.size),
            ..self.common.clone()
        }
    }

    /// The numbers of the programs that ranks of this place run.
    fn programs_of(&self, place: &Place) -> Vec<u32> {
        let ranks = place.ranks.iter();
        let numbers: BTreeSet<u32> = ranks.map(|rank| self.program_of[*rank as usize]).collect();
        numbers.into_iter().collect()
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

    /// What is sent to the other hosts before they start their ranks. Returns a failure if a
    /// program cannot be sent.
    pub fn preload(&self) -> Result<Preload, Failure> {
        if !self.preloads {
            return Ok(Preload::default());
        }
        let programs = self.programs.iter();
        let programs: Vec<(u32, &Path)> =
            programs.map(|it| (it.number, path_of(&it.file))).collect();
        let needs = self
            .placement
            .places
            .iter()
            .map(|place| match place.is_here {
                true => Vec::new(),
                false => self.programs_of(place),
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
fn place_in<T: PartialEq>(list: &mut Vec<T>, item: T) -> u32 {
    let known = list.iter().position(|known| *known == item);
    let place = known.unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    });
    u32::try_from(place).expect("one for each program at most")
}

/// Finds a program, and where it shall run; its number and environment are not chosen yet.
fn plan_program(
    part: &Part,
    (is_here, is_sent): (bool, bool),
    size: u32,
) -> Result<Program, Failure> {
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
    let file = find_program(part, places, is_here || is_sent, size)?;
    Ok(Program {
        number: 0,
        is_from_path: program::is_from_path(&part.program, &file, &directory),
        file: bytes_of(file),
        arguments: words.map(bytes_of).collect(),
        environment: 0,
        directory: bytes_of(directory),
        path: path.map(bytes_of),
    })
}

/// Finds the program on this machine. If no rank of it runs here and it is not sent to others, it
/// may be missing here: then the other nodes look for the name.
fn find_program(
    part: &Part,
    (directory, path): (&Path, Option<&OsStr>),
    is_needed: bool,
    size: u32,
) -> Result<PathBuf, Failure> {
    let search = program::search_path(path, std::env::var_os("PATH").as_deref());
    let program = match program::find(&part.program, directory, search.as_deref()) {
        Err(_) if !is_needed => return Ok(PathBuf::from(&part.program)),
        found => found?,
    };
    let shown = program.to_string_lossy();
    other_mpi::check(&program, &shown, size as usize)?;
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
    match (options.port_range, of_variable(options, PORT_RANGE)) {
        (None, Some((by, value))) => words::port_range(&value, by.trim_end_matches('=')).map(Some),
        (range, _) => Ok(range),
    }
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
    let asked = |by: String, value| Asked { by, value };
    let of_option = options
        .interface
        .clone()
        .map(|value| asked("--interface ".into(), value));
    of_option
        .or_else(|| options.mca_interface.clone())
        .or_else(|| {
            let (by, value) = of_variable(options, "MPILITE_INTERFACE")?;
            let value = value.into_string().ok().filter(|it| !it.is_empty())?;
            Some(asked(by, value))
        })
}

/// Any name or text as it goes to a node.
fn bytes_of(text: impl AsRef<OsStr>) -> ByteBuf {
    ByteBuf::from(text.as_ref().as_bytes())
}

fn path_of(bytes: &ByteBuf) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

fn to_wire(variables: &[Variable]) -> Vec<(ByteBuf, ByteBuf)> {
    let variables = variables.iter();
    variables
        .map(|(name, value)| (bytes_of(name), bytes_of(value)))
        .collect()
}
