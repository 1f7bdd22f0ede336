//! What all collective operations have in common, and the three ways to use one.
//!
//! An operation with its arguments is a value: [`Bcast`](super::Bcast), [`Reduce`](super::Reduce)
//! and so on. It can be checked without any effect, and its algorithm can begin as often as it is
//! called. So one value serves a blocking, a nonblocking and a persistent call.

use std::future::ready;
use std::sync::Arc;

use super::near::Near;
use crate::comm::{Call, Communicator, Everyone, Members, Peers, Sides, TaskPeers, drive};
use crate::engine::{Outcome, Request};
use crate::error::{Cause, Error, Result};

/// A collective operation with its arguments.
///
/// Its buffers stay valid, and are left alone, until the call or the request that carries it out
/// has completed; those of a persistent request until it is freed.
pub trait Collective: Send + Sync + 'static {
    /// What it returns beside what it writes to its buffers.
    type Output: Send + 'static;

    /// The operation, and its root if it has one.
    #[doc(hidden)]
    fn call(&self) -> Call;

    /// Returns true if it may call functions of the program, which only a thread of the program
    /// does.
    #[doc(hidden)]
    fn calls_program(&self) -> bool {
        false
    }

    /// Reports each error that one process can see in the arguments. Has no effects.
    #[doc(hidden)]
    fn check(&self, members: Members) -> Result<()>;

    /// Reports each error that one process can see in the arguments of a call on an
    /// inter-communicator. `members` are those of this side; `others` is the number of processes
    /// on the other one. Has no effects.
    #[doc(hidden)]
    fn check_between(&self, members: Members, others: usize) -> Result<()> {
        let _ = (members, others);
        Err(undefined())
    }

    /// Carries out the operation between the sides of an inter-communicator. The arguments are
    /// checked.
    #[doc(hidden)]
    fn between<P: Peers>(
        &self,
        sides: &Sides<P>,
    ) -> impl Future<Output = Result<Self::Output>> + Send {
        let _ = sides;
        ready(Err(undefined()))
    }

    /// Carries out the operation without messages: alone, or in memory that the processes share.
    /// The arguments are checked. Blocks. Returns nothing if it takes messages; then no buffer has
    /// changed.
    #[doc(hidden)]
    fn without_messages(&self, near: &Near<'_>) -> Result<Option<Self::Output>> {
        let _ = near;
        Ok(None)
    }

    /// Carries out the operation by messages among `peers`. The arguments are checked.
    #[doc(hidden)]
    fn by_messages<P: Everyone>(
        &self,
        peers: &P,
    ) -> impl Future<Output = Result<Self::Output>> + Send;
}

/// The error of an operation that two sides cannot carry out.
fn undefined() -> Error {
    Cause::Communicator("the operation is not defined for intercommunicators").into()
}

/// Carries out an operation beside the program.
async fn go_on<C: Collective>(collective: Arc<C>, peers: TaskPeers) -> Result<C::Output> {
    let Some(local) = peers.local_side() else {
        let peers = peers.participant();
        let done = collective.by_messages(&peers).await;
        return done.map_err(|error| peers.fail(error));
    };
    let (local, remote) = (local.participant(), peers.participant());
    let sides = Sides { local, remote };
    let done = collective.between(&sides).await;
    done.map_err(|error| sides.give_up(error))
}

/// Collective operations. All processes of the communicator must make the same calls in the same
/// order.
impl Communicator {
    /// Carries out an operation. Returns when this process's part is done and its buffers may be
    /// used again.
    ///
    /// # Errors
    /// Those of the operation, which its type lists, before anything is sent or written. Then:
    /// `Cause::Mismatch` if another process called something else, `Cause::Truncate` if a message
    /// is longer than its place, `Cause::Lost` if a process is gone.
    ///
    /// Source: MPI 5.0, 6.2.
    #[inline]
    pub fn run<C: Collective>(&self, collective: &C) -> Result<C::Output> {
        if let Some(local) = self.local() {
            return self.run_between(local, collective);
        }
        collective.check(self.members())?;
        let peers = self.within(collective.call());
        match collective.without_messages(&Near::of(self))? {
            Some(value) => Ok(value),
            None => drive(collective.by_messages(&peers)).map_err(|error| peers.fail(error)),
        }
    }

    /// Carries out an operation between the sides of this inter-communicator; `local` is this one.
    #[cold]
    fn run_between<C: Collective>(&self, local: &Self, collective: &C) -> Result<C::Output> {
        let call = self.check(collective)?;
        let sides = self.sides(local, call);
        drive(collective.between(&sides)).map_err(|error| sides.give_up(error))
    }

    /// Checks the arguments of an operation. Returns the call.
    fn check<C: Collective>(&self, collective: &C) -> Result<Call> {
        if !self.is_inter() {
            collective.check(self.members())?;
            return Ok(collective.call());
        }
        collective.check_between(self.members(), self.group().size() as usize)?;
        // Each side, and each process of the root's side, names the root in another way.
        Ok(collective.call().without_root())
    }

    /// Starts an operation. The request completes with it, with the errors of
    /// [`Communicator::run`].
    ///
    /// # Errors
    /// Those of the operation's arguments: then nothing was started.
    ///
    /// Source: MPI 5.0, 6.12.
    #[inline(never)]
    pub fn start<C: Collective<Output = ()>>(&self, collective: C) -> Result<Request> {
        let (call, calls_program) = (self.check(&collective)?, collective.calls_program());
        let collective = Arc::new(collective);
        Ok(self.start_call(call, calls_program, |peers| {
            Box::pin(async { go_on(collective, peers).await.map(|()| 0) })
        }))
    }

    /// Starts an operation that returns a number of bytes, which the status of the request has.
    ///
    /// # Errors
    /// Those of [`Communicator::start`].
    pub(crate) fn start_moving<C: Collective<Output = u64>>(
        &self,
        collective: C,
    ) -> Result<Request> {
        let (call, calls_program) = (self.check(&collective)?, collective.calls_program());
        let collective = Arc::new(collective);
        Ok(self.start_call(call, calls_program, |peers| {
            Box::pin(go_on(collective, peers))
        }))
    }

    /// Starts an operation that returns a value: it is in the outcome once the request has
    /// completed.
    ///
    /// # Errors
    /// Those of [`Communicator::start`].
    ///
    /// Source: MPI 5.0, 6.12.
    pub fn start_for<C: Collective>(&self, collective: C) -> Result<(Request, Outcome<C::Output>)> {
        let (call, calls_program) = (self.check(&collective)?, collective.calls_program());
        let (collective, outcome) = (Arc::new(collective), Outcome::default());
        let request = self.start_call(call, calls_program, |peers| {
            Box::pin(outcome.of(go_on(collective, peers)))
        });
        Ok((request, outcome))
    }

    /// Makes a persistent request for an operation, not started. Collective: returns when all
    /// processes have called it. Each start ends with the errors of [`Communicator::run`].
    ///
    /// # Errors
    /// Those of the operation's arguments: then nothing was sent. `Cause::Mismatch` if another
    /// process called something else; `Cause::Lost`.
    ///
    /// Source: MPI 5.0, 6.13.
    #[inline(never)]
    pub fn plan<C: Collective<Output = ()>>(&self, collective: C) -> Result<Request> {
        let (call, calls_program) = (self.check(&collective)?, collective.calls_program());
        let collective = Arc::new(collective);
        self.plan_call(call, calls_program, move |peers| {
            let collective = Arc::clone(&collective);
            Box::pin(async { go_on(collective, peers).await.map(|()| 0) })
        })
    }

    /// Makes a persistent request for an operation that returns a value. Each start leaves another
    /// one in the outcome.
    ///
    /// # Errors
    /// Those of [`Communicator::plan`].
    ///
    /// Source: MPI 5.0, 6.13.
    pub fn plan_for<C: Collective>(&self, collective: C) -> Result<(Request, Outcome<C::Output>)> {
        let (call, calls_program) = (self.check(&collective)?, collective.calls_program());
        let (collective, outcome) = (Arc::new(collective), Outcome::default());
        let values = outcome.clone();
        let request = self.plan_call(call, calls_program, move |peers| {
            Box::pin(values.of(go_on(Arc::clone(&collective), peers)))
        })?;
        Ok((request, outcome))
    }
}
