//! The value of a task.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::error::Result;

/// Where a task leaves its value. It is there once the request of the task is complete without an
/// error; each start of a persistent request leaves another one.
pub struct Outcome<T>(Arc<Mutex<Option<T>>>);

impl<T> Outcome<T> {
    /// The same work, which leaves its value here.
    pub fn of(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> impl Future<Output = Result<u64>> + Send + 'static
    where
        T: Send + 'static,
    {
        let outcome = self.clone();
        async move {
            outcome.set(work.await?);
            Ok(0)
        }
    }

    pub(super) fn set(&self, value: T) {
        *self.0.lock() = Some(value);
    }

    /// Takes the value; `None` if it is not there, or was taken.
    #[must_use]
    pub fn take(&self) -> Option<T> {
        self.0.lock().take()
    }
}

impl<T> Clone for Outcome<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Outcome<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> fmt::Debug for Outcome<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outcome").finish_non_exhaustive()
    }
}
