//! Looking at messages before they are received. Source: MPI 5.0, 3.8.

use super::Communicator;
use crate::engine::{Message, Status};
use crate::error::Result;
use crate::ids::{Source, TagSelector};

/// What a matched probe found: `None` is `MPI_MESSAGE_NO_PROC`.
pub type Matched = (Option<Message>, Status);

impl Communicator {
    /// Waits until a message is there that a receive with these arguments would get.
    ///
    /// # Errors
    /// `Rank`, `Tag`: the arguments.
    pub fn probe(&self, source: Source, tag: TagSelector) -> Result<Status> {
        let Some(pattern) = self.pattern(source, tag)? else {
            return Ok(Status::FROM_NULL);
        };
        Ok(self.engine().wait_until(|lane| lane.probe(&pattern)))
    }

    /// Tells whether such a message is there.
    ///
    /// # Errors
    /// `Rank`, `Tag`: the arguments.
    pub fn iprobe(&self, source: Source, tag: TagSelector) -> Result<Option<Status>> {
        let Some(pattern) = self.pattern(source, tag)? else {
            return Ok(Some(Status::FROM_NULL));
        };
        Ok(self.engine().look(|lane| lane.probe(&pattern)))
    }

    /// Waits for such a message and takes it: no other receive or probe will see it.
    ///
    /// # Errors
    /// `Rank`, `Tag`: the arguments.
    pub fn mprobe(&self, source: Source, tag: TagSelector) -> Result<Matched> {
        let Some(pattern) = self.pattern(source, tag)? else {
            return Ok((None, Status::FROM_NULL));
        };
        let found = self
            .engine()
            .wait_until(|lane| lane.matched_probe(&pattern));
        Ok((Some(found.0), found.1))
    }

    /// Takes such a message if one is there.
    ///
    /// # Errors
    /// `Rank`, `Tag`: the arguments.
    pub fn improbe(&self, source: Source, tag: TagSelector) -> Result<Option<Matched>> {
        let Some(pattern) = self.pattern(source, tag)? else {
            return Ok(Some((None, Status::FROM_NULL)));
        };
        let found = self.engine().look(|lane| lane.matched_probe(&pattern));
        Ok(found.map(|(message, status)| (Some(message), status)))
    }
}
