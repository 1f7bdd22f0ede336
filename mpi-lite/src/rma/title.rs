//! How messages name a window.

use core::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

/// The name that the program gave a window, if it did.
#[derive(Clone, Debug, Default)]
pub(super) struct Title(Arc<Mutex<String>>);

impl Title {
    pub(super) fn set(&self, name: &str) {
        name.clone_into(&mut self.0.lock());
    }
}

impl fmt::Display for Title {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &**self.0.lock() {
            "" => write!(f, "the window"),
            name => write!(f, "window {name:?}"),
        }
    }
}
