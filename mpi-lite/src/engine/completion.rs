//! Waiting for and testing of requests, one or many. Source: MPI 5.0, 3.7.3 to 3.7.6.
//!
//! Slices of `Option<Request>` are the program's arrays; `None` is `MPI_REQUEST_NULL`.

use super::Engine;
use super::lane::Lane;
use super::request::{Completion, Request};
use crate::error::Result;

impl Lane {
    /// How the request ended, if it did; it is then gone or inactive.
    ///
    /// # Errors
    /// The request does not exist (any more).
    pub fn take(&mut self, request: Option<Request>) -> Result<Option<Completion>> {
        match request {
            Some(request) => self.requests.take(request),
            None => Ok(Some(Completion::NOTHING)),
        }
    }

    /// Like `take`, but leaves the request as it is. Source: MPI 5.0, 3.7.6.
    ///
    /// # Errors
    /// The request does not exist (any more).
    pub fn peek(&self, request: Option<Request>) -> Result<Option<Completion>> {
        match request {
            Some(request) => self.requests.peek(request),
            None => Ok(Some(Completion::NOTHING)),
        }
    }

    /// Frees a request; an active operation goes on. Source: MPI 5.0, 3.7.3.
    ///
    /// # Errors
    /// The request does not exist (any more).
    pub fn free(&mut self, request: Request) -> Result<()> {
        self.requests.free(request)
    }

    /// Whether waiting for any of several would wait for this one: it is neither null nor an
    /// inactive persistent request.
    ///
    /// # Errors
    /// The request does not exist (any more).
    pub fn is_active(&self, request: Option<Request>) -> Result<bool> {
        match request {
            Some(request) => Ok(!self.requests.is_inactive(request)?),
            None => Ok(false),
        }
    }

    /// Whether all are finished. The first `seen` are known to be; it moves on, so that who asks
    /// again and again looks at each request once, and waiting for many stays linear.
    fn all_done(&self, requests: &[Option<Request>], seen: &mut usize) -> Result<bool> {
        for &request in &requests[*seen..] {
            if let Some(request) = request
                && !self.requests.is_done(request)?
            {
                return Ok(false);
            }
            *seen += 1;
        }
        Ok(true)
    }

    fn take_all(
        &mut self,
        requests: &[Option<Request>],
        seen: &mut usize,
    ) -> Result<Option<Vec<Completion>>> {
        if !self.all_done(requests, seen)? {
            return Ok(None);
        }
        let mut done = Vec::with_capacity(requests.len());
        for &request in requests {
            done.extend(self.take(request)?);
        }
        Ok(Some(done))
    }

    /// The first finished one; `Any::NoneActive` if there is nothing to wait for.
    fn take_any(&mut self, requests: &[Option<Request>]) -> Result<Any> {
        let mut answer = Any::NoneActive;
        for (index, &request) in requests.iter().enumerate() {
            if !self.is_active(request)? {
                continue;
            }
            if let Some(completion) = self.take(request)? {
                return Ok(Any::Done(index, completion));
            }
            answer = Any::NotYet;
        }
        Ok(answer)
    }

    /// All finished ones; `None` if there is nothing to wait for.
    fn take_some(&mut self, requests: &[Option<Request>]) -> Result<Option<Vec<Indexed>>> {
        let mut done = Vec::new();
        let mut has_active = false;
        for (index, &request) in requests.iter().enumerate() {
            if self.is_active(request)? {
                has_active = true;
                done.extend(self.take(request)?.map(|completion| (index, completion)));
            }
        }
        Ok(has_active.then_some(done))
    }
}

/// A completion and the index of its request in the program's array.
pub type Indexed = (usize, Completion);

/// What waiting for any of several found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Any {
    /// No request of the array is active.
    NoneActive,
    /// None is finished.
    NotYet,
    /// This one is.
    Done(usize, Completion),
}

impl Engine {
    /// Waits for one request.
    ///
    /// # Errors
    /// The request does not exist (any more). What went wrong with the operation itself is in the
    /// completion.
    pub fn wait(&self, request: Option<Request>) -> Result<Completion> {
        self.wait_until(|lane| lane.take(request).transpose())
    }

    /// Tests one request.
    ///
    /// # Errors
    /// As [`Engine::wait`].
    pub fn test(&self, request: Option<Request>) -> Result<Option<Completion>> {
        self.look(|lane| lane.take(request))
    }

    /// Tests one request and leaves it as it is.
    ///
    /// # Errors
    /// As [`Engine::wait`].
    pub fn status(&self, request: Option<Request>) -> Result<Option<Completion>> {
        self.look(|lane| lane.peek(request))
    }

    /// Waits for all; the completions are in the order of the requests.
    ///
    /// # Errors
    /// As [`Engine::wait`].
    pub fn wait_all(&self, requests: &[Option<Request>]) -> Result<Vec<Completion>> {
        let mut seen = 0;
        self.wait_until(|lane| lane.take_all(requests, &mut seen).transpose())
    }

    /// Tests whether all are finished; only then any is taken.
    ///
    /// # Errors
    /// As [`Engine::wait`].
    pub fn test_all(&self, requests: &[Option<Request>]) -> Result<Option<Vec<Completion>>> {
        self.look(|lane| lane.take_all(requests, &mut 0))
    }

    /// Waits for one of several; `None` if none is active.
    ///
    /// # Errors
    /// As [`Engine::wait`].
    pub fn wait_any(&self, requests: &[Option<Request>]) -> Result<Option<Indexed>> {
        self.wait_until(|lane| match lane.take_any(requests) {
            Ok(Any::NotYet) => None,
            Ok(Any::NoneActive) => Some(Ok(None)),
            Ok(Any::Done(index, completion)) => Some(Ok(Some((index, completion)))),
            Err(error) => Some(Err(error)),
        })
    }

    /// Tests whether one of several is finished.
    ///
    /// # Errors
    /// As [`Engine::wait`].
    pub fn test_any(&self, requests: &[Option<Request>]) -> Result<Any> {
        self.look(|lane| lane.take_any(requests))
    }

    /// Waits for at least one of several; `None` if none is active.
    ///
    /// # Errors
    /// As [`Engine::wait`].
    pub fn wait_some(&self, requests: &[Option<Request>]) -> Result<Option<Vec<Indexed>>> {
        self.wait_until(|lane| match lane.take_some(requests) {
            Ok(Some(done)) if done.is_empty() => None,
            other => Some(other),
        })
    }

    /// Tests which of several are finished; `None` if none is active.
    ///
    /// # Errors
    /// As [`Engine::wait`].
    pub fn test_some(&self, requests: &[Option<Request>]) -> Result<Option<Vec<Indexed>>> {
        self.look(|lane| lane.take_some(requests))
    }
}
