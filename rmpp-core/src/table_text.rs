//! A state machine written out as text, for the tests that pin the tables.

use alloc::format;
use alloc::string::String;
use core::fmt::Debug;

/// One line per expected pair of state and input; pairs not listed are dropped.
pub(crate) fn table<S, I, A>(
    states: &[S],
    inputs: &[I],
    step: impl Fn(S, I) -> Option<(S, A)>,
) -> String
where
    S: Copy + Debug,
    I: Copy + Debug,
    A: Debug,
{
    let mut text = String::new();
    for &state in states {
        for &input in inputs {
            if let Some((next, action)) = step(state, input) {
                let (state, input) = (format!("{state:?}"), format!("{input:?}"));
                let next = format!("{next:?}");
                text += &format!("{state:10} {input:12} -> {next:10} {action:?}\n");
            }
        }
    }
    text
}
