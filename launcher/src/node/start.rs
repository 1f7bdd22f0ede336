//! From an order to running ranks.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use mpi_boot::hosts::Hosts;
use mpi_boot::machine;
use mpi_boot::protocol::Assignment;
use mpi_boot::protocol::ToRank;
use mpi_boot::secret::Secret;
use nix::errno::Errno;
use nix::sched::CpuSet;
use nix::unistd::{getpgrp, tcgetpgrp};

use super::Node;
use super::bound::Bound;
use super::channel::Outgoing;
use super::child::{PROGRAM, Stdin, Stopped};
use super::memory::InMemory;
use super::rank::RankProcess;
use super::segment::{Refusal, Rounds};
use super::spawn::{self, Program, Role, variable};
use crate::failure::{Failure, LAUNCH, NOT_EXECUTABLE, NOT_FOUND, printable};
use crate::job::environment::{self, Base, Variable};
use crate::job::other_mpi;
use crate::job::program;
use crate::node::address;
use crate::node::elf::{self, Mpi};
use crate::node::group::Group;
use crate::node::guard::Guard;
use crate::wire::{self, Input, Report, Start};

/// Descriptors that a node needs for each of its ranks, and for itself.
pub(super) const DESCRIPTORS_PER_RANK: u64 = 3;
pub(crate) const DESCRIPTORS_OF_NODE: u64 = 24;

impl Node {
    /// Starts the ranks; on failure none is left running and the reason is reported.
    pub(super) fn start(&mut self, start: Start) {
        self.is_started = true;
        if let Err(Failure { code, text }) = self.try_start(&start) {
            self.ending.kill(&mut self.ranks);
            self.reports
                .push_back(Report::Refused { code, reason: text });
        }
    }

    fn try_start(&mut self, start: &Start) -> Result<(), Failure> {
        self.check_descriptors(start, DESCRIPTORS_PER_RANK)?;
        self.job = Some(Assigner::new(start, self.inherited.files.0)?);
        let programs = start.programs.iter().map(|it| self.program(start, it));
        let programs: Vec<Program> = programs.collect::<Result<_, Failure>>()?;
        check_other_mpis(start, &programs)?;
        let bound = Bound::new(start)?;
        self.reports.extend(bound.reports(start));
        let owners = programs.iter().map(|it| elf::mpi_of(it.file()));
        let owners: Vec<Option<Mpi>> = owners.map(|it| it.map(|(mpi, _)| mpi)).collect();
        self.offer_pmi(start, &owners);
        // Without it only what the ranks of a killed launcher have started lives on.
        self.guard = Guard::new(self.silent_for, self.records.as_deref()).ok();
        for place in 0..start.ranks.len() {
            let rank = start.ranks[place];
            let number = start.program_of[place] as usize;
            let program = &programs[number];
            let process = self
                .spawn(program, start, place, bound.cpus(place))
                .map_err(|stopped| not_spawned(rank, program, &stopped))?;
            // A single rank meets nobody; and ours will call Init.
            let is_watched = start.hosts.len() > 1 && owners[number] != Some(Mpi::Own);
            self.strangers.add(process.pid, is_watched, Instant::now());
            self.reports.push_back(Report::Started {
                rank,
                pid: process.pid.as_raw(),
            });
            self.ranks.push(process);
        }
        Ok(())
    }

    pub(super) fn check_descriptors(&self, start: &Start, per_rank: u64) -> Result<(), Failure> {
        let (_, limit) = self.inherited.files;
        let ranks = start.ranks.len();
        let inputs = u64::from(start.input == Input::ForwardedToAll);
        let need = (per_rank + inputs) * ranks as u64 + DESCRIPTORS_OF_NODE;
        if need <= limit {
            return Ok(());
        }
        Err(Failure::launch(format!(
            "{ranks} ranks on one host need {need} open files, but the limit is {limit} \
             (ulimit -Hn): raise it with ulimit -n {need}, which may need root, or spread the \
             ranks over more hosts"
        )))
    }

    fn program(&self, start: &Start, program: &wire::Program) -> Result<Program, Failure> {
        let directory = PathBuf::from(bytes_to_os(&program.directory));
        program::check_directory(&directory, false)?;
        let mut variables: Vec<Variable> = Vec::new();
        let environment = &start.environments[program.environment as usize];
        if !environment.is_whole {
            variables = environment::for_ranks(std::env::vars_os(), &Base::All, &[], false);
        }
        for (name, value) in &environment.variables {
            environment::set(&mut variables, &bytes_to_os(name), &bytes_to_os(value));
        }
        let path = variables.iter().find(|(name, _)| name == "PATH");
        let first = program.path.as_ref().map(|path| bytes_to_os(path));
        let path = program::search_path(first.as_deref(), path.map(|(_, value)| &**value));
        let (file, memory) = self.find_program(program, &directory, path.as_deref())?;
        let first = start.libraries.as_ref().map(|path| bytes_to_os(path));
        add_library_path(&mut variables, first);
        let arguments = program.arguments.iter().map(|it| bytes_to_os(it)).collect();
        Program::new(
            (file, memory),
            arguments,
            &variables,
            directory,
            self.inherited,
        )
        .map_err(|error| Failure::launch(format!("the program cannot be executed: {error}")))
    }

    /// The path that `mpirun` found on its own host; else what it has sent; else, if it was found
    /// in PATH there, what this node has in its own.
    fn find_program(
        &self,
        program: &wire::Program,
        directory: &Path,
        path: Option<&OsStr>,
    ) -> Result<(PathBuf, Option<InMemory>), Failure> {
        let name = bytes_to_os(&program.file);
        let missing = match program::find(&name, directory, path) {
            Err(failure) if failure.code == NOT_FOUND => failure,
            found => return Ok((found?, None)),
        };
        if let Some(memory) = self.memory.program(program.number) {
            let memory = memory.map_err(|reason| {
                let shown = printable(&name.to_string_lossy());
                Failure::launch(format!(
                    "--preload: there is no memory for program '{shown}': {reason}"
                ))
            })?;
            return Ok((memory.path(), Some(memory)));
        }
        let base = Path::new(&name).file_name();
        let base = base.filter(|_| program.is_from_path);
        match base.and_then(|base| program::find(base, directory, path).ok()) {
            Some(found) => Ok((found, None)),
            None => Err(missing),
        }
    }

    /// Gives a rank that is in Init its assignment, and what the ranks of the node share.
    pub(super) fn assign(&mut self, place: usize) -> Report {
        let job = self.job.as_mut().expect("ranks are started by a job");
        let rank = &mut self.ranks[place];
        match job.assign(place) {
            Ok(frame) => {
                rank.channel.send(frame);
                self.strangers.clear(place);
                Report::Init { rank: rank.rank }
            }
            Err(Refusal::System(reason)) => Report::Refused {
                code: LAUNCH,
                reason: format!("no shared memory (--transport shm): {reason}"),
            },
            Err(Refusal::Ahead) => Report::Broken {
                rank: rank.rank,
                reason: "called Init again and again, but other ranks of its host did not".into(),
            },
        }
    }

    fn spawn(
        &mut self,
        program: &Program,
        start: &Start,
        place: usize,
        cpus: Option<CpuSet>,
    ) -> Result<RankProcess, Stopped> {
        let rank = start.ranks[place];
        let is_inherited = start.input == Input::Inherited(rank);
        let has_own_group = !(is_inherited && is_in_foreground());
        let input = if is_inherited {
            Stdin::Inherited
        } else if start.input.is_forwarded_to(rank) {
            let (theirs, ours) = spawn::input_pipe()?;
            self.input.get_or_insert_default().add(rank, ours);
            Stdin::Pipe(theirs)
        } else {
            Stdin::Null
        };
        let assigner = self
            .job
            .as_ref()
            .expect("set before the first rank is started");
        let mut variables = assigner.variables(place);
        let pmi = self.pmi.as_mut();
        let pmi = pmi.map(|pmi| pmi.open(rank, start, &mut variables));
        let pmi = pmi.transpose()?;
        let role = Role {
            variables,
            pmi,
            input,
            has_own_group,
            cpus,
        };
        let spawned = program.spawn(role, self.guard.as_ref().map(Guard::pipe))?;
        let per_rank = DESCRIPTORS_PER_RANK + 1 + u64::from(self.pmi.is_some());
        let has_room = self.check_descriptors(start, per_rank).is_ok();
        let group = match has_room {
            true => Group::of(spawned.pid),
            false => Group::by_number(spawned.pid),
        };
        let group = has_own_group.then_some(group);
        Ok(RankProcess::new(rank, spawned, group)?)
    }
}

/// A rank that reads the terminal must be in the terminal's foreground group, as we are.
fn is_in_foreground() -> bool {
    tcgetpgrp(io::stdin()).is_ok_and(|group| group == getpgrp())
}

/// What is needed to give each rank its assignment.
#[derive(Debug)]
pub(super) struct Assigner {
    start: Start,
    /// The answer to Hello. Most of it is the same for all ranks and long, so it is kept, and only
    /// what differs is filled in.
    answer: ToRank,
    rounds: Rounds,
}

impl Assigner {
    fn new(start: &Start, files: u64) -> Result<Assigner, Failure> {
        let size = start.hosts.len();
        if start.ranks.is_empty() || start.ranks.iter().any(|rank| *rank as usize >= size) {
            return Err(Failure::launch(format!(
                "mpirun asks for ranks that a job of {size} does not have"
            )));
        }
        let programs = start.programs.len();
        let is_program = |place: &u32| (*place as usize) < programs;
        let environments = start.environments.len();
        let has_environment = |it: &wire::Program| (it.environment as usize) < environments;
        if start.program_of.len() != start.ranks.len()
            || !start.program_of.iter().all(is_program)
            || !start.programs.iter().all(has_environment)
        {
            return Err(Failure::launch(
                "mpirun asks for programs that it does not name",
            ));
        }
        Ok(Assigner {
            start: start.clone(),
            answer: ToRank::Assigned(Box::new(assignment(start)?)),
            rounds: Rounds::new(count(start.ranks.len()), &start.transport, files),
        })
    }

    /// The answer to a rank at this place of the node that is in Init, for the first time or again.
    pub(super) fn assign(&mut self, place: usize) -> Result<Outgoing, Refusal> {
        let segment = self.rounds.enter(place)?;
        if let ToRank::Assigned(who) = &mut self.answer {
            who.rank = self.start.ranks[place];
            who.local_rank = count(place);
            let program = self.start.program_of[place] as usize;
            who.appnum = Some(self.start.programs[program].number);
            who.host = who.hosts.get(who.rank as usize).unwrap_or("?").into();
            who.shares_memory = segment.is_some();
        }
        Ok(Outgoing::sharing(&self.answer, segment))
    }

    /// What scripts may want to know before Init.
    fn variables(&self, place: usize) -> Vec<Variable> {
        let start = &self.start;
        let local_size = start.ranks.len();
        vec![
            variable("MPILITE_RANK", start.ranks[place]),
            variable("MPILITE_SIZE", start.hosts.len()),
            variable("MPILITE_LOCAL_RANK", place),
            variable("MPILITE_LOCAL_SIZE", local_size),
            variable("MPILITE_NODE", start.node),
            variable("MPI_LOCALRANKID", place),
            variable("MPI_LOCALNRANKS", local_size),
        ]
    }
}

/// The assignment of a rank of the node, without what differs among them.
fn assignment(start: &Start) -> Result<Assignment, Failure> {
    Ok(Assignment {
        rank: 0,
        size: count(start.hosts.len()),
        local_rank: 0,
        local_size: count(start.ranks.len()),
        node: start.node,
        local_peers: start.ranks.clone(),
        shares_memory: false,
        host: String::new(),
        bind: address::choose(start)?,
        key: Secret::new(&start.key.0),
        secure: start.secure,
        transport: start.transport.clone(),
        hosts: Hosts::of(&start.hosts),
        reports_counters: start.wants_counters,
        blocked_after_ms: start.blocked_after_ms,
        appnum: None,
    })
}

fn count(number: usize) -> u32 {
    u32::try_from(number).expect("a job has at most a million ranks")
}

/// Refuses what `mpirun` could not look at, since it is on this node alone.
fn check_other_mpis(start: &Start, programs: &[Program]) -> Result<(), Failure> {
    programs.iter().try_for_each(|program| {
        let shown = program.name();
        let shown = shown.to_string_lossy();
        other_mpi::check(program.file(), &shown, start.hosts.len())
    })
}

/// Programs that were linked without a run path find our library behind all others.
/// The directory `first` comes before all.
fn add_library_path(variables: &mut Vec<Variable>, first: Option<OsString>) {
    let name = OsStr::new("LD_LIBRARY_PATH");
    let present = variables.iter().find(|(known, _)| known == name);
    let present = present.map(|(_, value)| value.clone());
    let own = own_library_directory().map(OsString::from);
    let own = own.filter(|own| first.as_ref() != Some(own));
    let all = [first, present, own].into_iter().flatten();
    let all: Vec<OsString> = all.filter(|it| !it.is_empty()).collect();
    if !all.is_empty() {
        environment::set(variables, name, &all.join(OsStr::new(":")));
    }
}

/// `../lib` beside our own `bin`, if our library is there.
fn own_library_directory() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let directory = own.parent()?.parent()?.join("lib");
    let is_there = directory.join("libmpi_abi.so.1").exists();
    is_there.then_some(directory)
}

/// Why a rank could not be made: the file cannot be executed, the system is out of something, or it
/// forbids what a rank needs before its program.
fn not_spawned(rank: u32, program: &Program, stopped: &Stopped) -> Failure {
    let Stopped { step, error } = stopped;
    let code = match (step, error.raw_os_error().map(Errno::from_raw)) {
        (Some(PROGRAM), Some(Errno::ENOENT)) => NOT_FOUND,
        (Some(PROGRAM), Some(Errno::EACCES | Errno::EPERM | Errno::ENOEXEC)) => NOT_EXECUTABLE,
        (step, _) => {
            let what = step.map_or(String::new(), |step| format!(" ({step})"));
            return Failure::launch(machine::cannot(&format!("start rank {rank}{what}"), error));
        }
    };
    let shown = printable(&program.name().to_string_lossy());
    Failure {
        code,
        text: format!("program '{shown}' cannot be executed: {error}"),
    }
}

fn bytes_to_os(bytes: &[u8]) -> OsString {
    OsString::from_vec(bytes.to_vec())
}

#[cfg(test)]
mod tests {
    use super::super::tests::inherited;
    use super::*;

    fn program(file: &str, directory: &str) -> Program {
        let name = vec![file.into()];
        Program::new(
            (file.into(), None),
            name,
            &[],
            directory.into(),
            inherited(),
        )
        .expect("no byte is 0")
    }

    fn stopped(program: &Program) -> Stopped {
        let role = Role {
            variables: Vec::new(),
            pmi: None,
            input: Stdin::Null,
            has_own_group: true,
            cpus: None,
        };
        program.spawn(role, None).expect_err("it cannot run")
    }

    #[test]
    fn a_process_that_cannot_be_made_says_at_which_step() {
        let failed = stopped(&program("/bin/true", "/nowhere"));
        assert_eq!(failed.step, Some("enter its working directory"));
        let failed = stopped(&program("/nowhere/p", "/"));
        assert_eq!(failed.step, Some(PROGRAM));
    }

    #[test]
    fn a_program_is_to_blame_for_its_own_step_alone() {
        let cases = [
            (
                Some(PROGRAM),
                Errno::ENOENT,
                NOT_FOUND,
                "program 'p' cannot be executed: ",
            ),
            (
                Some(PROGRAM),
                Errno::EPERM,
                NOT_EXECUTABLE,
                "program 'p' cannot be executed: ",
            ),
            (
                Some("open /dev/null as its input"),
                Errno::ENOENT,
                LAUNCH,
                "cannot start rank 3 (open /dev/null as its input): No such file",
            ),
            (
                Some("give its process a group of its own"),
                Errno::EPERM,
                LAUNCH,
                "cannot start rank 3 (give its process a group of its own): Operation not perm",
            ),
            (
                None,
                Errno::EAGAIN,
                LAUNCH,
                "cannot start rank 3: Resource temporarily unavailable",
            ),
        ];
        for (step, errno, code, start) in cases {
            let error = errno.into();
            let failure = not_spawned(3, &program("p", "/"), &Stopped { step, error });
            assert_eq!(failure.code, code, "{failure}");
            assert!(failure.text.starts_with(start), "{failure}");
        }
    }
}
