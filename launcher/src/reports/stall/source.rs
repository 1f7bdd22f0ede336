//! Where in their sources the ranks of this host called: the lines and functions of the addresses
//! in their states.
//!
//! The ranks name the files, so a file may be anything. Another thread reads them: this one goes on
//! at the deadline, whatever a file holds up.

use std::collections::HashMap;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use mpi_boot::state::{Address, FRAMES_MAX, RankState, ThreadState};

use super::module::{Place, look_up};

/// The most files of one question.
const MODULES_MAX: usize = 256;

/// The most different addresses of one question.
const ADDRESSES_MAX: usize = 4096;

/// Fills in source lines and functions.
#[derive(Debug, Default)]
pub struct Source {
    /// The thread of the last question. It may still be busy with a file.
    worker: Option<JoinHandle<()>>,
}

/// An address: the number of its module, and the place in it.
type Key = (usize, u64);

/// What a question asks for: each module and each address once.
#[derive(Debug, Default)]
struct Wanted {
    numbers: HashMap<String, usize>,
    modules: Vec<(PathBuf, Vec<u64>)>,
    known: HashMap<Key, Place>,
}

impl Source {
    /// Fills in the source lines of the addresses in these states, and their functions: the files
    /// may say more about them than their ranks see. Returns at the `deadline` with what has been
    /// found by then. As long as a file of an earlier question is still read, nothing is filled in.
    pub fn fill(&mut self, states: &mut [&mut RankState], deadline: Instant) {
        if self.worker.as_ref().is_some_and(|it| !it.is_finished()) {
            return;
        }
        let mut wanted = Wanted::default();
        // The innermost frames first: they are read first.
        for depth in 0..FRAMES_MAX {
            for thread in states.iter().flat_map(|state| &state.threads) {
                if let Some(address) = thread.frames.get(depth) {
                    wanted.add(address);
                }
            }
        }
        self.find(&mut wanted, deadline);
        for thread in states.iter_mut().flat_map(|state| &mut state.threads) {
            for address in &mut thread.frames {
                wanted.fill(address);
            }
            leave_library(thread);
        }
    }

    fn find(&mut self, wanted: &mut Wanted, deadline: Instant) {
        let modules = std::mem::take(&mut wanted.modules);
        let (found, places) = mpsc::channel();
        let work = move || work(&modules, &found, deadline);
        // Without a thread there are no lines.
        self.worker = thread::Builder::new()
            .name("source".into())
            .spawn(work)
            .ok();
        let end = loop {
            match places.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok((key, place)) => drop(wanted.known.insert(key, place)),
                Err(end) => break end,
            }
        };
        if end == RecvTimeoutError::Disconnected
            && let Some(worker) = self.worker.take()
            && let Err(panic) = worker.join()
        {
            resume_unwind(panic);
        }
    }
}

/// Drops the frames of a library that is linked into the program, and names the call by the first
/// MPI function. All frames go if none has such a name: nothing shows where the program begins.
fn leave_library(thread: &mut ThreadState) {
    if !std::mem::take(&mut thread.begins_inside) {
        return;
    }
    let mpi_name = |frame: &Address| {
        let name = frame.function.strip_prefix('P').unwrap_or(&frame.function);
        name.starts_with("MPI_").then(|| name.to_owned())
    };
    let mut entries = thread.frames.iter().enumerate();
    match entries.find_map(|(depth, frame)| Some((depth, mpi_name(frame)?))) {
        Some((depth, name)) => {
            thread.frames.drain(..=depth);
            thread.call = name;
        }
        None => thread.frames.clear(),
    }
}

/// Looks up the addresses, a module after the other, until the deadline.
fn work(modules: &[(PathBuf, Vec<u64>)], found: &Sender<(Key, Place)>, deadline: Instant) {
    for (number, (path, offsets)) in modules.iter().enumerate() {
        if Instant::now() >= deadline {
            return;
        }
        look_up(path, offsets, |offset, place| {
            found.send(((number, offset), place)).is_ok() && Instant::now() < deadline
        });
    }
}

impl Wanted {
    fn add(&mut self, address: &Address) {
        let number = match self.numbers.get(&address.module) {
            Some(&number) => number,
            None if self.modules.len() == MODULES_MAX => return,
            None if !Path::new(&address.module).is_absolute() => return,
            None => {
                let number = self.modules.len();
                self.numbers.insert(address.module.clone(), number);
                self.modules.push(((&address.module).into(), Vec::new()));
                number
            }
        };
        let key = (number, address.offset);
        if self.known.len() < ADDRESSES_MAX && self.known.insert(key, Place::default()).is_none() {
            self.modules[number].1.push(address.offset);
        }
    }

    /// Fills in what was found. A function that the rank has reported stays if none was.
    fn fill(&self, address: &mut Address) {
        address.line.clear();
        let number = self.numbers.get(&address.module);
        let Some(place) = number.and_then(|it| self.known.get(&(*it, address.offset))) else {
            return;
        };
        place.line.clone_into(&mut address.line);
        if let Some((function, into)) = &place.function {
            function.clone_into(&mut address.function);
            address.into_function = *into;
        }
    }
}
