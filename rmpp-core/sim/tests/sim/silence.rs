//! Panics that a test expects: those of the core's assertions where a bug has been planted.

use std::cell::Cell;
use std::panic::{set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static SILENT: Cell<bool> = const { Cell::new(false) };
}

/// Calls `work`, and prints nothing of the panics that it catches. Those of other threads, where
/// other tests run, are told as ever.
pub(crate) fn silently<T>(work: impl FnOnce() -> T) -> T {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            if !SILENT.get() {
                usual(panic);
            }
        }));
    });
    SILENT.set(true);
    let result = work();
    SILENT.set(false);
    result
}
