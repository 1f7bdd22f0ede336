//! The agent's first line in what a remote shell prints, and the version that it names.

use crate::failure::printable;
use crate::wire::{MAGIC, MAGIC_START, MAGIC_VERSION_MAX, NOISE_MAX};

/// What the first bytes are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Greeting {
    /// Our agent: these bytes follow.
    Agent(Vec<u8>),
    /// An agent of this version, which is not ours.
    OtherVersion(String),
    /// Too much else.
    TooMuch,
    /// Not yet known.
    Unknown,
}

/// Looks for the agent's first line.
pub(super) fn look(noise: &[u8]) -> Greeting {
    let start = position(noise, MAGIC_START);
    if let Some(rest) = start.and_then(|at| noise[at..].strip_prefix(MAGIC)) {
        return Greeting::Agent(rest.to_vec());
    }
    match start.and_then(|at| version_in(&noise[at..])) {
        Some(theirs) => Greeting::OtherVersion(theirs),
        None if noise.len() > NOISE_MAX => Greeting::TooMuch,
        None => Greeting::Unknown,
    }
}

/// The version that our own agent names.
pub(super) fn own_version() -> String {
    version_in(MAGIC).unwrap_or_default()
}

/// Where the bytes begin in others.
fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|it| it == wanted)
}

/// The version in a line like [`MAGIC`], if it has come as a whole.
fn version_in(line: &[u8]) -> Option<String> {
    let version = line.strip_prefix(MAGIC_START)?;
    let end = version.iter().position(|byte| *byte == b'\n');
    let end = end.or((version.len() >= MAGIC_VERSION_MAX).then_some(MAGIC_VERSION_MAX))?;
    let version = &version[..end.min(MAGIC_VERSION_MAX)];
    Some(printable(&String::from_utf8_lossy(version)))
}
