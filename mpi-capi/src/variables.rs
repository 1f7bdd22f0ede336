//! The variables that tools read: settings as control variables, counters as performance variables.
//! Source: MPI 5.0, 15.3.
//!
//! Both come from mpi-lite's tables, so that a new setting or counter is here by itself. None is
//! bound to an object. A performance variable belongs to a session: it counts from its start in
//! the session, however often other sessions start and reset the same counter.

use core::ffi::c_int;

use mpi_lite::config::{Setting, Settings};
use mpi_lite::counters::{Measure, Row};
use mpi_lite::engine::Counters;
use mpi_lite::machine;
use parking_lot::{Mutex, MutexGuard};

use crate::abi::{self, Handle};
use crate::error::{Error, Result};
use crate::event_types;
use crate::events::{self, Event, Registration};
use crate::global::LIBRARY;
use crate::handle::{Kind, Unusable};
use crate::object::Object;
use crate::registry::Table;

/// Room for a setting that is text, in bytes with the terminating zero.
pub const TEXT_ROOM: usize = 256;

/// Variables that belong together.
#[derive(Debug, Default)]
pub struct Category {
    /// Its name.
    pub name: String,
    /// What its variables are about.
    pub about: String,
    /// Its control variables.
    pub cvars: Vec<usize>,
    /// Its performance variables.
    pub pvars: Vec<usize>,
    /// Its kinds of event.
    pub events: Vec<usize>,
    /// The categories in it.
    pub categories: Vec<usize>,
}

/// The settings, as they are or as `MPI_Init` would find them.
///
/// # Errors
/// `MPI_T_ERR_NOT_ACCESSIBLE`: the environment has a setting that `MPI_Init` will refuse.
pub fn settings() -> Result<Vec<Setting>> {
    let settings = match LIBRARY.own_process() {
        Some(process) => process.engine().with(|lane| lane.settings().clone()),
        None => {
            let mut settings = Settings::from_environment()
                .map_err(|_| Error::new(abi::MPI_T_ERR_NOT_ACCESSIBLE, BAD_SETTING))?;
            settings.settle_budgets(machine::memory_bytes(), ranks_here());
            settings
        }
    };
    Ok(settings.rows())
}

/// The ranks on this node, which the launcher passes to programs that have not called `MPI_Init`.
fn ranks_here() -> u32 {
    let told = std::env::var("MPILITE_LOCAL_SIZE").ok();
    told.and_then(|ranks| ranks.parse().ok()).unwrap_or(1)
}

const BAD_SETTING: &str = "an environment variable has an invalid value; MPI_Init names it";

/// The counters of this process; all zero before `MPI_Init`.
pub fn counters() -> Vec<Row> {
    let process = LIBRARY.own_process();
    let counters = process.map_or_else(Counters::default, mpi_lite::world::Process::counters);
    counters.rows()
}

/// The class of a performance variable. Source: MPI 5.0, 15.3.7.
pub fn class_of(measure: Measure) -> c_int {
    match measure {
        Measure::Count | Measure::Repeats => abi::MPI_T_PVAR_CLASS_COUNTER,
        Measure::Bytes => abi::MPI_T_PVAR_CLASS_AGGREGATE,
        Measure::Peak => abi::MPI_T_PVAR_CLASS_HIGHWATERMARK,
    }
}

/// Returns true if a variable runs all the time and is the same for all sessions: a peak is,
/// because from the highest value so far a session cannot derive the highest value since its own
/// start.
pub fn is_continuous(measure: Measure) -> bool {
    measure == Measure::Peak
}

/// All categories: one of the settings, one for each part that counts, one for each array in it.
pub fn categories() -> Vec<Category> {
    let mut categories = vec![Category {
        name: "settings".into(),
        about: "What the environment may set.".into(),
        cvars: (0..Settings::default().rows().len()).collect(),
        ..Category::default()
    }];
    for (place, row) in Counters::default().rows().iter().enumerate() {
        let part = enter(&mut categories, row.part, about(row.part));
        let category = match row.group {
            "" => part,
            group => {
                let inner = enter(&mut categories, &format!("{}_{group}", row.part), row.doc);
                if !categories[part].categories.contains(&inner) {
                    categories[part].categories.push(inner);
                }
                inner
            }
        };
        categories[category].pvars.push(place);
    }
    categories.push(Category {
        name: "events".into(),
        about: "What callbacks can be registered for.".into(),
        events: (0..event_types::TYPES.len()).collect(),
        ..Category::default()
    });
    categories
}

/// The place of the category of this name; makes it if it is new.
fn enter(categories: &mut Vec<Category>, name: &str, about: &str) -> usize {
    let known = categories.iter().position(|known| known.name == name);
    known.unwrap_or_else(|| {
        categories.push(Category {
            name: name.into(),
            about: about.into(),
            ..Category::default()
        });
        categories.len() - 1
    })
}

fn about(part: &str) -> &'static str {
    match part {
        "mpi" => "Messages, whatever transport they take.",
        "rmpp" => "The protocol between machines.",
        "udp" => "Datagrams and the system calls for them.",
        _ => "A part of the library.",
    }
}

/// A control variable in use, by its number.
#[derive(Debug)]
struct BoundSetting(usize);

impl Object for BoundSetting {
    const KIND: Kind = Kind::CvarHandle;
}

/// Performance variables that belong together.
#[derive(Debug)]
struct PvarSession;

impl Object for PvarSession {
    const KIND: Kind = Kind::PvarSession;
}

impl Object for Bound {
    const KIND: Kind = Kind::PvarHandle;
}

/// A performance variable in a session.
#[derive(Debug, Clone, Copy)]
struct Bound {
    session: Handle,
    variable: usize,
    measure: Measure,
    /// What the counter was when it was started, while it runs.
    started_at: Option<u64>,
    /// What it counted until it was stopped.
    counted: u64,
}

impl Bound {
    fn value(&self, counter: u64) -> u64 {
        if is_continuous(self.measure) {
            return counter;
        }
        let running = self.started_at.map_or(0, |at| counter.wrapping_sub(at));
        self.counted.wrapping_add(running)
    }

    fn start(&mut self, counter: u64) {
        self.started_at.get_or_insert(counter);
    }

    fn stop(&mut self, counter: u64) {
        self.counted = self.value(counter);
        self.started_at = None;
    }

    fn set(&mut self, value: u64, counter: u64) {
        self.counted = value;
        self.started_at = self.started_at.map(|_| counter);
    }
}

/// What is done with a performance variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// It counts from now on.
    Start,
    /// It stops to count.
    Stop,
    /// Its value becomes this.
    Set(u64),
}

/// Everything that tools have asked for.
#[derive(Debug)]
pub struct Tools {
    /// How often the interface was initialized and not finalized.
    uses: u32,
    cvars: Table<BoundSetting>,
    sessions: Table<PvarSession>,
    pvars: Table<Bound>,
    /// Handles of kinds of events.
    pub registrations: Table<Registration>,
    /// Events of which callbacks run.
    pub instances: Table<Event>,
}

/// What tools have asked for.
pub static TOOLS: Mutex<Tools> = Mutex::new(Tools::UNUSED);

/// The tool interface, in use.
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`.
pub fn tools() -> Result<MutexGuard<'static, Tools>> {
    let tools = TOOLS.lock();
    if tools.uses == 0 {
        return Err(Error::new(abi::MPI_T_ERR_NOT_INITIALIZED, NOT_INITIALIZED));
    }
    Ok(tools)
}

/// Refuses the call if the tool interface is not in use.
///
/// # Errors
/// `MPI_T_ERR_NOT_INITIALIZED`.
pub fn in_use() -> Result<()> {
    tools().map(drop)
}

const NOT_INITIALIZED: &str = "MPI_T_init_thread was not called";

/// `index`, if it is that of one of `count` things.
///
/// # Errors
/// `MPI_T_ERR_INVALID_INDEX`.
pub fn index(index: c_int, count: usize) -> Result<usize> {
    let place = usize::try_from(index).ok().filter(|place| *place < count);
    place.ok_or_else(|| Error::new(abi::MPI_T_ERR_INVALID_INDEX, NO_SUCH_INDEX))
}

const NO_SUCH_INDEX: &str = "the index is out of range";

/// The place of the thing that `is_it`.
///
/// # Errors
/// `MPI_T_ERR_INVALID_NAME`.
pub fn find<T>(things: &[T], is_it: impl Fn(&T) -> bool) -> Result<c_int> {
    let place = things.iter().position(is_it);
    place
        .map(number)
        .ok_or_else(|| Error::new(abi::MPI_T_ERR_INVALID_NAME, NO_SUCH_NAME))
}

const NO_SUCH_NAME: &str = "nothing has this name";

/// A number of things as C counts them.
pub fn number(count: usize) -> c_int {
    c_int::try_from(count).expect("there are a few hundred variables")
}

impl Tools {
    /// Nobody uses it.
    pub const UNUSED: Self = Self {
        uses: 0,
        cvars: Table::new(),
        sessions: Table::new(),
        pvars: Table::new(),
        registrations: Table::new(),
        instances: Table::new(),
    };

    /// One more uses it.
    pub fn begin(&mut self) {
        self.uses += 1;
    }

    /// One less; with the last go all handles and sessions.
    pub fn end(&mut self) {
        self.uses -= 1;
        if self.uses == 0 {
            *self = Self::UNUSED;
            self.settle_events();
        }
    }

    /// A handle of the setting at `place`.
    pub fn bind_cvar(&mut self, place: usize) -> Handle {
        self.cvars.insert(BoundSetting(place))
    }

    /// The place of the setting behind a handle.
    ///
    /// # Errors
    /// `MPI_T_ERR_INVALID_HANDLE`.
    pub fn cvar(&self, handle: Handle) -> Result<usize> {
        self.cvars.get(handle).map(|it| it.0).map_err(no_handle)
    }

    /// Frees a handle of a setting.
    ///
    /// # Errors
    /// `MPI_T_ERR_INVALID_HANDLE`.
    pub fn free_cvar(&mut self, handle: Handle) -> Result<()> {
        self.cvars.remove(handle).map(drop).map_err(no_handle)
    }

    /// A new session.
    pub fn begin_session(&mut self) -> Handle {
        self.sessions.insert(PvarSession)
    }

    /// Ends a session and frees its handles.
    ///
    /// # Errors
    /// `MPI_T_ERR_INVALID_SESSION`.
    pub fn end_session(&mut self, session: Handle) -> Result<()> {
        self.sessions.remove(session).map_err(no_session)?;
        for handle in self.handles_of(session) {
            self.pvars.remove(handle).map_err(no_handle)?;
        }
        Ok(())
    }

    fn handles_of(&self, session: Handle) -> Vec<Handle> {
        let of_session = self
            .pvars
            .iter()
            .filter(|(_, bound)| bound.session == session);
        of_session.map(|(handle, _)| handle).collect()
    }

    /// A handle of the counter at `variable` for a session, stopped unless it runs all the time.
    ///
    /// # Errors
    /// `MPI_T_ERR_INVALID_SESSION`.
    pub fn bind_pvar(
        &mut self,
        session: Handle,
        variable: usize,
        measure: Measure,
    ) -> Result<Handle> {
        self.sessions.get(session).map_err(no_session)?;
        Ok(self.pvars.insert(Bound {
            session,
            variable,
            measure,
            started_at: None,
            counted: 0,
        }))
    }

    fn pvar(&mut self, session: Handle, handle: Handle) -> Result<&mut Bound> {
        self.sessions.get(session).map_err(no_session)?;
        let bound = self.pvars.get_mut(handle).map_err(no_handle)?;
        if bound.session == session {
            Ok(bound)
        } else {
            Err(Error::new(abi::MPI_T_ERR_INVALID_HANDLE, OTHER_SESSION))
        }
    }

    /// Frees a handle of a counter.
    ///
    /// # Errors
    /// `MPI_T_ERR_INVALID_SESSION`, `MPI_T_ERR_INVALID_HANDLE`.
    pub fn free_pvar(&mut self, session: Handle, handle: Handle) -> Result<()> {
        self.pvar(session, handle)?;
        self.pvars.remove(handle).map(drop).map_err(no_handle)
    }

    /// The value of a counter in a session.
    ///
    /// # Errors
    /// `MPI_T_ERR_INVALID_SESSION`, `MPI_T_ERR_INVALID_HANDLE`.
    pub fn read(&mut self, session: Handle, handle: Handle) -> Result<u64> {
        let bound = self.pvar(session, handle)?;
        Ok(bound.value(counters()[bound.variable].value))
    }

    /// The value of a counter in a session, which is 0 after that.
    ///
    /// # Errors
    /// As [`Tools::act`].
    pub fn read_and_reset(&mut self, session: Handle, handle: Handle) -> Result<u64> {
        let bound = self.pvar(session, handle)?;
        check(bound, Act::Set(0))?;
        // One look, so that what is counted between the two is not lost.
        let counter = counters()[bound.variable].value;
        let value = bound.value(counter);
        bound.set(0, counter);
        Ok(value)
    }

    /// Does something with a counter in a session, or with all to which it can be done.
    ///
    /// # Errors
    /// `MPI_T_ERR_INVALID_SESSION`, `MPI_T_ERR_INVALID_HANDLE`; `MPI_T_ERR_PVAR_NO_STARTSTOP` or
    /// `MPI_T_ERR_PVAR_NO_WRITE` if it runs all the time.
    pub fn act(&mut self, session: Handle, handle: Handle, act: Act) -> Result<()> {
        let counters = counters();
        if handle != abi::MPI_T_PVAR_ALL_HANDLES {
            let bound = self.pvar(session, handle)?;
            check(bound, act)?;
            apply(bound, act, counters[bound.variable].value);
            return Ok(());
        }
        self.sessions.get(session).map_err(no_session)?;
        for handle in self.handles_of(session) {
            let bound = self.pvar(session, handle)?;
            if check(bound, act).is_ok() {
                apply(bound, act, counters[bound.variable].value);
            }
        }
        Ok(())
    }
}

impl Tools {
    /// A handle of a kind of event.
    pub fn bind_event(&mut self, kind: usize) -> Handle {
        let handle = self.registrations.insert(Registration::new(kind));
        self.settle_events();
        handle
    }

    /// Frees a handle of a kind of event.
    ///
    /// # Errors
    /// `MPI_T_ERR_INVALID_HANDLE`.
    pub fn free_event(&mut self, handle: Handle) -> Result<()> {
        self.registrations.remove(handle).map_err(no_handle)?;
        self.settle_events();
        Ok(())
    }

    /// What a handle of a kind of event stands for.
    ///
    /// # Errors
    /// `MPI_T_ERR_INVALID_HANDLE`.
    pub fn registration(&mut self, handle: Handle) -> Result<&mut Registration> {
        self.registrations.get_mut(handle).map_err(no_handle)
    }

    /// The event whose callback runs.
    ///
    /// # Errors
    /// `MPI_T_ERR_INVALID_HANDLE`.
    pub fn event(&self, handle: Handle) -> Result<Event> {
        self.instances.get(handle).copied().map_err(no_handle)
    }

    fn settle_events(&self) {
        let registrations = self.registrations.iter().map(|(_, it)| *it);
        events::EVENTS.settle(registrations);
    }
}

fn check(bound: &Bound, act: Act) -> Result<()> {
    match act {
        _ if !is_continuous(bound.measure) => Ok(()),
        Act::Start | Act::Stop => {
            let class = abi::MPI_T_ERR_PVAR_NO_STARTSTOP;
            Err(Error::new(
                class,
                "the variable always runs: it cannot be started or stopped",
            ))
        }
        Act::Set(_) => {
            let class = abi::MPI_T_ERR_PVAR_NO_WRITE;
            Err(Error::new(
                class,
                "the variable is the same for all sessions",
            ))
        }
    }
}

fn apply(bound: &mut Bound, act: Act, counter: u64) {
    match act {
        Act::Start => bound.start(counter),
        Act::Stop => bound.stop(counter),
        Act::Set(value) => bound.set(value, counter),
    }
}

const OTHER_SESSION: &str = "the handle belongs to another session";

fn no_handle(what: Unusable) -> Error {
    Error::of_handle("handle", what, abi::MPI_T_ERR_INVALID_HANDLE)
}

fn no_session(what: Unusable) -> Error {
    Error::of_handle("session", what, abi::MPI_T_ERR_INVALID_SESSION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variable_is_in_one_category_and_categories_are_a_tree() {
        let categories = categories();
        let mut pvars: Vec<usize> = categories.iter().flat_map(|it| it.pvars.clone()).collect();
        pvars.sort_unstable();
        assert_eq!(
            pvars,
            (0..Counters::default().rows().len()).collect::<Vec<_>>()
        );
        let inner: Vec<usize> = categories
            .iter()
            .flat_map(|it| it.categories.clone())
            .collect();
        let mut different = inner.clone();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), inner.len());
        assert!(
            inner
                .iter()
                .all(|place| categories[*place].categories.is_empty())
        );
    }

    #[test]
    fn a_counter_counts_only_while_it_runs() {
        let mut bound = Bound {
            session: abi::MPI_T_PVAR_SESSION_NULL,
            variable: 0,
            measure: Measure::Count,
            started_at: None,
            counted: 0,
        };
        assert_eq!(bound.value(100), 0);
        bound.start(100);
        bound.start(103);
        assert_eq!(bound.value(107), 7);
        bound.stop(110);
        assert_eq!(bound.value(150), 10);
        bound.start(150);
        assert_eq!(bound.value(151), 11);
        bound.set(0, 160);
        assert_eq!(bound.value(162), 2);
        bound.stop(162);
        bound.set(0, 170);
        assert_eq!(bound.value(200), 0);
    }
}
