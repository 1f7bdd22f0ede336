//! What a process reports about itself: to a tool, at its end, and if the job hangs.

mod describe;
mod held;
mod inquiry;
mod leftovers;
mod observer;
mod question;
#[cfg(test)]
mod question_tests;
mod threads;
mod unheard;
mod waits;

pub(super) use describe::Description;
pub use inquiry::Launcher;
pub(super) use inquiry::{Inquiry, LOOK, PACE};
pub use leftovers::{CollectiveLeft, Leftovers, MessageLeft};
pub(super) use observer::Watch;
pub use observer::{CollectiveEvent, Event, MessageEvent, MessageStep, Observer};
pub use question::Report;
pub(super) use unheard::UnheardPeers;
pub(super) use waits::{Blockage, Describe, LONG, Waits};
pub use waits::{NameOfTag, Program, Subject};
