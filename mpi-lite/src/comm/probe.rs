//! Probes: looks at messages before they are received. Source: MPI 5.0, 3.8.

use super::Communicator;
use crate::engine::matching::Pattern;
use crate::engine::{Lane, Message, Status, Subject};
use crate::error::Result;
use crate::ids::{Source, TagSelector};

/// What a matched probe found: `None` is `MPI_MESSAGE_NO_PROC`.
pub type Matched = (Option<Message>, Status);

/// Returns the result of a probe that has found `thing`.
fn found<T>(thing: T) -> Option<Result<T>> {
    Some(Ok(thing))
}

/// Returns the error for a probe that has found nothing and would wait for a lost peer for ever.
fn hopeless<T>(lane: &Lane, pattern: &Pattern) -> Option<Result<T>> {
    lane.failure_behind(pattern).map(Err)
}

impl Communicator {
    /// Waits until there is a message that a receive with these arguments would get.
    ///
    /// # Errors
    /// `Rank`, `Tag`: the arguments. `Lost`: no such message is there, and a peer is lost that
    /// could have sent it.
    pub fn probe(&self, source: Source, tag: TagSelector) -> Result<Status> {
        let Some(pattern) = self.pattern(source, tag)? else {
            return Ok(Status::FROM_NULL);
        };
        self.engine().wait_until(
            |_| Subject::Probe(pattern),
            |lane| {
                lane.probe(&pattern)
                    .map_or_else(|| hopeless(lane, &pattern), found)
            },
        )
    }

    /// Returns the status of a message that a receive could match, or `None` if there is none.
    ///
    /// # Errors
    /// `Rank`, `Tag`: the arguments. `Lost`: no such message is there, and a peer is lost that
    /// could have sent it.
    pub fn iprobe(&self, source: Source, tag: TagSelector) -> Result<Option<Status>> {
        let Some(pattern) = self.pattern(source, tag)? else {
            return Ok(Some(Status::FROM_NULL));
        };
        self.engine()
            .look(|lane| {
                lane.probe(&pattern)
                    .map_or_else(|| hopeless(lane, &pattern), found)
            })
            .transpose()
    }

    /// Waits for a message that a receive with these arguments would get, and takes it: no other
    /// receive or probe sees it.
    ///
    /// # Errors
    /// `Rank`, `Tag`: the arguments. `Lost`: no such message is there, and a peer is lost that
    /// could have sent it.
    pub fn mprobe(&self, source: Source, tag: TagSelector) -> Result<Matched> {
        let Some(pattern) = self.pattern(source, tag)? else {
            return Ok((None, Status::FROM_NULL));
        };
        let (message, status) = self.engine().wait_until(
            |_| Subject::Probe(pattern),
            |lane| {
                lane.matched_probe(&pattern)
                    .map_or_else(|| hopeless(lane, &pattern), found)
            },
        )?;
        Ok((Some(message), status))
    }

    /// Takes the message that a receive with these arguments would get, if there is one.
    ///
    /// # Errors
    /// `Rank`, `Tag`: the arguments. `Lost`: no such message is there, and a peer is lost that
    /// could have sent it.
    pub fn improbe(&self, source: Source, tag: TagSelector) -> Result<Option<Matched>> {
        let Some(pattern) = self.pattern(source, tag)? else {
            return Ok(Some((None, Status::FROM_NULL)));
        };
        let taken = self.engine().look(|lane| {
            lane.matched_probe(&pattern)
                .map_or_else(|| hopeless(lane, &pattern), found)
        });
        let taken = taken.transpose()?;
        Ok(taken.map(|(message, status)| (Some(message), status)))
    }
}
