//! Exhaustive exploration: all that can happen to a pair of endpoints in a small case.
//!
//! A packet once sent may come at any later time, in any order, up to [`Case::copies`] times, or
//! never; a timer may fire at any time; sends, landings and aborts come when they like. Every
//! state that can be reached so is visited once, told from others by a digest of 128 bits, and
//! checked: the invariants of [`World`](super::World), and that all ends well from there once
//! nothing more is lost.
//!
//! All timeouts are the same few nanoseconds, so that no state differs from another by the wait.

mod digest;
mod situation;

use std::collections::HashSet;
use std::time::Duration;

use rmpp_core::{Config, Landing, Rng};

pub use digest::Digest;
use situation::Situation;

/// Every timeout; too short for the spread of an eighth (rule T) to matter.
const TIMEOUT_NS: u64 = 7;
/// Timers fired in a run without loss until it must have ended.
const MOST_ROUNDS: u32 = 100;
/// Packets carried between two timers in a run without loss.
const MOST_PACKETS: u32 = 1_000;

/// A small case: what is sent, and what may go wrong.
#[derive(Clone, Debug)]
pub struct Case {
    /// Named in reports.
    pub name: &'static str,
    /// Parameters of both endpoints, which are nodes 0 and 1.
    pub config: Config,
    /// Lengths of the messages that each end sends, in order, in bytes.
    pub sends: [Vec<u64>; 2],
    /// True if the sender waits for each of them.
    pub awaited: bool,
    /// How many timers may fire in all.
    pub timeouts: u32,
    /// How often each packet may come each time it is sent; [`Case::ANY`]: without limit.
    pub copies: u8,
    /// How many sends may be aborted.
    pub aborts: u32,
    /// True if a message may land later than it was announced.
    pub late_landing: bool,
    /// True if a message that lands late may be refused.
    pub refusals: bool,
    /// One of this many states is run to its end without loss.
    pub heal_every: u64,
    /// Which way is tried first, from each state. Without a limit to the states it makes no
    /// difference.
    pub seed: u64,
    /// Stop after this many states.
    pub most_states: u64,
}

impl Case {
    /// A packet may come any number of times. Fewer states than with a limit: what may come once
    /// may always come again.
    pub const ANY: u8 = u8::MAX;

    /// The case `name` of a pair with the parameters `config`: its timeouts are replaced, all else
    /// is kept. Nothing is sent yet, no timer fires, and each packet comes once at most.
    #[must_use]
    pub fn new(name: &'static str, config: Config) -> Self {
        let timeout = Duration::from_nanos(TIMEOUT_NS);
        let config = Config {
            nodes: 2,
            first_timeout: timeout,
            min_timeout: timeout,
            max_timeout: timeout,
            restart_timeout: timeout,
            ack_delay: timeout,
            lost_after: None,
            ..config
        };
        Self {
            name,
            config,
            sends: [Vec::new(), Vec::new()],
            awaited: false,
            timeouts: 0,
            copies: 1,
            aborts: 0,
            late_landing: false,
            refusals: false,
            heal_every: 1,
            seed: 0,
            most_states: u64::MAX,
        }
    }
}

/// An act that may happen next. A packet is named by its digest, so that a trace from which
/// something was left out still means the same packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Send(u32),
    Deliver(u128),
    /// The first timer of a node fires.
    Timeout(u32),
    /// All timers of a node fire.
    Silence(u32),
    Land(u32, Landing),
    Abort(u32),
}

/// How much of a case was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Explored {
    /// States visited, each of them checked.
    pub states: u64,
    /// Steps from one state to another.
    pub steps: u64,
    /// States run to their end without loss.
    pub healed: u64,
    /// Longest way from the beginning.
    pub depth: usize,
    /// True if these were all states.
    pub complete: bool,
}

/// A state on the way to the present one.
struct Level {
    situation: Situation,
    left: Vec<Act>,
    /// The act that is being tried from here.
    trying: Option<Act>,
}

/// Visits all states of a case, depth first.
///
/// # Errors
/// Says which invariant was broken, and by what, step by step.
pub fn explore(case: &Case) -> Result<Explored, String> {
    let mut explored = Explored {
        complete: true,
        ..Explored::default()
    };
    let (mut visited, mut deaf) = (HashSet::new(), HashSet::new());
    let mut rng = Rng::new(case.seed);
    let start = Situation::new(case);
    visited.insert(start.digest());
    let mut way = vec![enter(start, case, &mut rng)];
    while let Some(level) = way.last_mut() {
        level.trying = level.left.pop();
        let Some(act) = level.trying else {
            way.pop();
            continue;
        };
        let deafness = level.situation.deafness(act);
        if deafness.is_some_and(|name| deaf.contains(&name)) {
            continue;
        }
        let mut next = level.situation.clone();
        let outcome = next.act(case, act);
        explored.steps += 1;
        let done = outcome.map_err(|violation| tell(case, &way, violation))?;
        if let Some(name) = deafness
            && next.is_deaf(&way[way.len() - 1].situation)
        {
            deaf.insert(name);
            continue;
        }
        if !done || !visited.insert(next.digest()) {
            continue;
        }
        explored.states += 1;
        if explored.states.is_multiple_of(case.heal_every) {
            explored.healed += 1;
            heal(&next, case).map_err(|violation| tell(case, &way, violation))?;
        }
        if explored.states >= case.most_states {
            explored.complete = false;
            break;
        }
        way.push(enter(next, case, &mut rng));
        explored.depth = explored.depth.max(way.len());
    }
    Ok(explored)
}

fn enter(situation: Situation, case: &Case, rng: &mut Rng) -> Level {
    let mut left = situation.acts(case);
    for at in (1..left.len()).rev() {
        left.swap(at, rng.below(at as u64 + 1) as usize);
    }
    Level {
        left,
        situation,
        trying: None,
    }
}

/// All ends well from here, whether or not what is under way still comes.
fn heal(situation: &Situation, case: &Case) -> Result<(), String> {
    situation.clone().check_healing(case, true)?;
    situation.clone().check_healing(case, false)
}

/// Does `acts` from the beginning, those that can be done; answers the violation they lead to.
fn replay(case: &Case, acts: &[Act], mut each: impl FnMut(String)) -> Option<String> {
    let mut situation = Situation::new(case);
    for &act in acts {
        let text = situation.describe(act);
        match situation.act(case, act) {
            Ok(true) => each(text),
            Ok(false) => {}
            Err(violation) => {
                each(text);
                return Some(violation);
            }
        }
    }
    heal(&situation, case).err()
}

/// A report of a violation, with the steps that lead to it and no step more than needed.
fn tell(case: &Case, way: &[Level], violation: String) -> String {
    let mut acts: Vec<Act> = way.iter().filter_map(|level| level.trying).collect();
    let mut at = 0;
    while at < acts.len() {
        let mut fewer = acts.clone();
        fewer.remove(at);
        match replay(case, &fewer, |_| {}) {
            Some(_) => {
                acts = fewer;
                at = at.saturating_sub(1);
            }
            None => at += 1,
        }
    }
    let mut steps = String::new();
    let last = replay(case, &acts, |step| steps += &format!("\n  {step}"));
    let last = last.unwrap_or(violation);
    format!("case {}: {last}; after{steps}", case.name)
}
