//! Accesses to data: by one process or by all, blocking or beside the program.
//!
//! Source: MPI 5.0, 14.4.

use super::errors::wrong;
use super::file::{File, Split, data_bytes};
use super::prepared::{Access, Pointer, Prepared};
use super::together::Together;
use crate::comm::Operation;
use crate::engine::{Job, Purpose, Request, Submissions};
use crate::error::{Class, Result};

impl File {
    /// Carries out an access of this process. Returns the bytes moved: of a read fewer at the end
    /// of the file.
    ///
    /// # Errors
    /// `Access`, `ReadOnly`, `UnsupportedOperation`: the file was not opened for that. `Argument`,
    /// `Count`, `NullBuffer`: there are no such bytes. What the system says; then the file may have
    /// a part of the data.
    ///
    /// Source: MPI 5.0, 14.4.2 to 14.4.4.
    pub fn access(&self, access: &Access) -> Result<u64> {
        prepare_alone(self, access)?.carry_out()
    }

    /// Starts an access of this process, which goes on beside the program. The status of its
    /// request has the bytes moved.
    ///
    /// # Errors
    /// As [`File::access`], before anything is started; what the system says, its request has.
    ///
    /// Source: MPI 5.0, 14.4.2 to 14.4.4.
    pub fn start(&self, access: &Access) -> Result<Request> {
        let mut prepared = prepare_alone(self, access)?;
        prepared.pointer = None;
        let engine = self.communicator().engine();
        let submissions = Submissions::default();
        let calls = submissions.clone();
        let calls_program = prepared.seen.representation.calls_program();
        let work = async move {
            match calls_program {
                // Functions of the program are called by its threads alone.
                true => prepared.carry_out(),
                false => calls.call(move || prepared.carry_out()).await,
            }
        };
        let job = Job {
            context: self.communicator().context(),
            calls_program,
            purpose: Purpose::Other("the file system"),
            submissions,
            work: Box::pin(work),
        };
        let (request, _) = engine.enter_task(job, None);
        engine.run_tasks();
        Ok(request)
    }

    /// Carries out an access of all processes. Collective. Returns the bytes moved for this one.
    ///
    /// # Errors
    /// As [`File::access`], and those of the messages. A process whose arguments are refused takes
    /// part all the same.
    ///
    /// Source: MPI 5.0, 14.4.2 to 14.4.4.
    pub fn access_all(&self, access: &Access) -> Result<u64> {
        self.check_not_split(access.operation())?;
        self.carry_out_all(access)
    }

    fn carry_out_all(&self, access: &Access) -> Result<u64> {
        self.communicator().run(&Together::new(
            access.operation(),
            self,
            self.prepare(access),
        ))
    }

    /// Starts an access of all processes. Collective.
    ///
    /// # Errors
    /// As [`File::access_all`]; of what can be seen later, its request has them.
    ///
    /// Source: MPI 5.0, 14.4.2 and 14.4.3.
    pub fn start_all(&self, access: &Access) -> Result<Request> {
        self.check_not_split(access.operation())?;
        let mut prepared = self.prepare(access);
        if let Ok(prepared) = &mut prepared {
            prepared.pointer = None;
        }
        let together = Together::new(access.operation(), self, prepared);
        self.communicator().start_moving(together)
    }

    /// Begins a split access of all processes, and carries it out. Collective.
    ///
    /// # Errors
    /// Another one is active. Others, [`File::end_split`] has.
    ///
    /// Source: MPI 5.0, 14.4.5.
    pub fn begin(&self, access: &Access) -> Result<()> {
        let operation = access.operation();
        self.check_not_split(operation)?;
        let ended = self.carry_out_all(access);
        self.inner.state.lock().split = Some(Split { operation, ended });
        Ok(())
    }

    /// Ends a split access that has begun in this direction with such a place.
    ///
    /// # Errors
    /// None has begun; those of the access.
    ///
    /// Source: MPI 5.0, 14.4.5.
    pub fn end_split(&self, access: &Access) -> Result<u64> {
        let operation = access.operation();
        let mut state = self.inner.state.lock();
        match state.split.take() {
            Some(split) if split.operation == operation => split.ended,
            other => {
                let active = other.as_ref().map(|split| split.operation.name());
                state.split = other;
                drop(state);
                let has = match active {
                    Some(name) => format!("the one that is active began as {name}_begin"),
                    None => "none is active".into(),
                };
                Err(wrong(
                    Class::Io,
                    format!(
                        "{}: {}_end ends no split access: {has}",
                        self.inner.name,
                        operation.name()
                    ),
                ))
            }
        }
    }

    /// Refuses a collective access while a split one is active.
    fn check_not_split(&self, operation: Operation) -> Result<()> {
        let state = self.inner.state.lock();
        let Some(split) = &state.split else {
            return Ok(());
        };
        Err(wrong(
            Class::Io,
            format!(
                "{}: {} while the split access is active that began as {}_begin: end that first",
                self.inner.name,
                operation.name(),
                split.operation.name()
            ),
        ))
    }
}

/// An access of one process, which takes its part of the file if the pointer is the shared one.
fn prepare_alone(file: &File, access: &Access) -> Result<Prepared> {
    let mut prepared = file.prepare(access)?;
    if access.pointer == Pointer::Shared {
        let first = file.inner.pointer.take(prepared.units())?;
        prepared.from = data_bytes(&prepared.seen, first)?;
    }
    Ok(prepared)
}
