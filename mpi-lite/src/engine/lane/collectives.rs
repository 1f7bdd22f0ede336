//! Collectives that fail, as the calls of the program see it.

use super::Lane;
use crate::engine::inbox::matching::Pattern;
use crate::engine::ports::Calls;
use crate::error::Error;

impl Lane {
    /// Why no message may ever come that fits `pattern`: a peer is lost that could have sent it, or
    /// the collectives of its communicator have failed.
    #[inline]
    #[must_use]
    pub fn failure_behind(&self, pattern: &Pattern) -> Option<Error> {
        self.parts.failure_behind(pattern)
    }

    /// This process completes none of these collectives any more: one has failed in its midst, for
    /// a reason that the other members cannot see. They are told, since they may wait for messages
    /// of this one. `from` is the number of the call. `error` is that of this process, and `why` is
    /// what the others are told.
    #[cold]
    pub fn give_up_collectives(&mut self, (calls, from): (Calls, u32), error: &Error, why: &str) {
        // MPI_Finalize ends collectives that the program has not completed: no failure of theirs.
        if !self.parts.is_closing {
            self.parts.give_up_collectives((calls, from), error, why);
            self.run_errands();
        }
    }

    /// The call `from` begins, with the number of an earlier one that may have failed.
    pub fn renew_call(&mut self, (calls, from): (Calls, u32)) {
        self.parts.ports.renew(calls, from);
    }
}
