//! States of small cases, all of them where there is an end: what a simulation meets by chance is
//! met here for certain. Most cases have more states than a day has time for. The tables
//! `exploration.*.table` say with how many timers each has been explored to its end, and a run that
//! completes less fails; `UPDATE=1` writes them anew.
//!
//! `RMPP_DEPTH=n` allows n more timers to fire in each case; `RMPP_STATES=n` stops a case after n
//! states; `RMPP_FIRST_SEED=n` tries other ways first.

use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use rmpp_core::{Caps, Config};
use rmpp_sim::{Case, explore};

const PACKET: u64 = 16;
/// Enough for most cases to be explored to their end, few enough for every day.
const MOST_STATES: u64 = 80_000;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable}={text} is not a number")),
    )
}

/// A pair with small packets and few buffers.
fn config(caps: Caps) -> Config {
    Config {
        max_rcv_buf: 4,
        max_data_pkts: 2,
        unscheduled_bytes: if caps.is_classic() {
            0
        } else {
            PACKET as usize
        },
        ..Config::with_caps(2, PACKET as usize, caps)
    }
}

/// A message of a first packet and `data` data packets.
fn long(data: u64) -> u64 {
    data * PACKET + 1
}

/// Both ends' messages, how many timers may fire, how often a packet may come.
fn case(name: &'static str, sends: [&[u64]; 2], timeouts: u32, copies: u8) -> Case {
    let mut case = Case::new(name, config(Caps::CLASSIC));
    case.sends = sends.map(<[u64]>::to_vec);
    case.timeouts = timeouts;
    case.copies = copies;
    case.heal_every = 4;
    case
}

/// The cases that the daily run explores to their end in both profiles.
fn small() -> Vec<Case> {
    let case = |name, len, timeouts| case(name, [&[len], &[]], timeouts, Case::ANY);
    vec![
        case("one short message", 1, 3),
        case("one of one data packet", long(1), 1),
        Case {
            aborts: 1,
            ..case("one short message given up", 1, 2)
        },
        Case {
            late_landing: true,
            refusals: true,
            ..case("one short message late", 1, 2)
        },
    ]
}

/// Messages of one direction, and of both.
fn plain() -> Vec<Case> {
    let (any, two, three) = (Case::ANY, long(2), long(3));
    vec![
        case("a message of 3 data packets", [&[three], &[]], 4, any),
        case("a message of 5 data packets", [&[long(5)], &[]], 3, any),
        case("3 data packets that come twice", [&[three], &[]], 1, 2),
        case("three short messages", [&[1, 1, 1], &[]], 2, any),
        case("three short messages, no copies", [&[1, 1, 1], &[]], 4, 1),
        case("a long and a short message", [&[two, 1], &[]], 3, any),
        case("a short and a long message", [&[1, two], &[]], 3, any),
        case("short messages both ways", [&[1], &[1]], 4, any),
        case("long one way, short the other", [&[two], &[1]], 2, any),
        case("long messages both ways", [&[two], &[two]], 2, any),
    ]
}

/// Sends given up, messages that land late or not at all.
fn unwilling() -> Vec<Case> {
    let (any, two, three) = (Case::ANY, long(2), long(3));
    let aborts = |case: Case| Case { aborts: 1, ..case };
    let late = |case: Case| Case {
        late_landing: true,
        refusals: true,
        ..case
    };
    vec![
        aborts(case("abort of a long message", [&[three], &[]], 3, any)),
        aborts(case("abort of a short message", [&[1, 1], &[]], 2, any)),
        aborts(case("abort of long or short", [&[two, 1], &[]], 1, any)),
        late(case("late landing of a long one", [&[three], &[]], 3, any)),
        late(case("late landing of short ones", [&[1, 1], &[]], 2, any)),
        late(case("late landing of both", [&[two, 1], &[]], 1, any)),
        aborts(late(case("late, or given up", [&[1, 1], &[]], 1, any))),
        aborts(late(case("late or given up, long", [&[two], &[]], 2, any))),
    ]
}

/// State that is forgotten early, numbers that wrap, a window of one.
fn cramped() -> Vec<Case> {
    let with = |name, sends: &[u64], timeouts, change: fn(&mut Config)| {
        let mut case = case(name, [sends, &[]], timeouts, Case::ANY);
        change(&mut case.config);
        case
    };
    let two = long(2);
    vec![
        with("ten minutes over at once", &[two, 1], 2, |config| {
            config.done_state_lifetime = Duration::from_nanos(7);
        }),
        with("nothing remembered", &[two, 1], 2, |config| {
            config.max_done_states = 0;
        }),
        with("nothing but one remembered", &[1, 1, 1], 2, |config| {
            config.max_done_states = 1;
        }),
        with("numbers that wrap", &[1, 1, 1], 2, |config| {
            config.first_msg_num = u32::MAX - 1;
            config.first_msg_id = u32::MAX;
        }),
        with("a window of one", &[1, two, 1], 2, |config| {
            config.first_window = 1;
        }),
        with("grants of one packet", &[long(3)], 3, |config| {
            config.max_data_pkts = 1;
        }),
    ]
}

/// All cases with the extensions `caps`, each with its own changes to the parameters.
fn cases(caps: Caps) -> Vec<Case> {
    let mut cases = [small(), plain(), unwilling(), cramped()].concat();
    for case in &mut cases {
        if !caps.is_classic() {
            // Each copy may be answered with a new number (rule R): copies need a limit.
            case.copies = case.copies.min(1);
        }
        let Config {
            caps,
            version,
            unscheduled_bytes,
            ..
        } = config(caps);
        case.config = Config {
            caps,
            version,
            unscheduled_bytes,
            ..case.config.clone()
        };
    }
    if !caps.is_classic() {
        let twice = cases
            .clone()
            .into_iter()
            .map(|case| Case { copies: 2, ..case });
        cases.extend(twice);
    }
    cases
}

/// How far a case was explored.
struct Explored {
    /// Profile, copies of a packet, and the case's name.
    name: String,
    /// With how many timers all of its states were visited; `None`: not even without any.
    timers: Option<u32>,
    /// With how many timers they were to be visited.
    wanted: u32,
    /// States of the last run.
    states: u64,
}

impl Explored {
    fn line(&self) -> String {
        let timers = self.timers.map_or(String::from("-"), |n| n.to_string());
        format!("{:<48} {timers:>2} of {}", self.name, self.wanted)
    }
}

/// Explores a case with more and more timers that may fire, until one of these runs has more than
/// `most_states` states.
fn run(mut case: Case, most_states: u64) -> Explored {
    let wanted = case.timeouts;
    let mut most_timeouts = case.timeouts;
    if let Some(more) = number("RMPP_DEPTH") {
        most_timeouts += more as u32;
        case.heal_every = 1;
    }
    case.most_states = number("RMPP_STATES").unwrap_or(most_states);
    case.seed = number("RMPP_FIRST_SEED").unwrap_or(0);
    let bits = case.config.caps.bits();
    let copies = match case.copies {
        Case::ANY => String::from("any"),
        copies => copies.to_string(),
    };
    // Columns 6 to 8 and from 10 on.
    let name = format!("{bits:#05x} {copies:<3} {}", case.name);
    let (mut states, mut timers) = (0, None);
    for timeouts in 0..=most_timeouts {
        case.timeouts = timeouts;
        let explored = explore(&case).unwrap_or_else(|violation| panic!("{bits:#x}: {violation}"));
        println!("{name:<48} {timeouts} timers {explored:?}");
        states = explored.states;
        if !explored.complete {
            break;
        }
        timers = Some(timeouts);
    }
    Explored {
        name,
        timers,
        wanted,
        states,
    }
}

/// Explores cases on two threads.
fn run_all(cases: Vec<Case>, most_states: u64) -> Vec<Explored> {
    let cases = Mutex::new(cases);
    let next = || cases.lock().expect("no case failed").pop();
    let work = || -> Vec<Explored> {
        std::iter::from_fn(next)
            .map(|case| run(case, most_states))
            .collect()
    };
    let mut all: Vec<Explored> = thread::scope(|scope| {
        let threads = [scope.spawn(work), scope.spawn(work)];
        let explored = threads.map(|thread| thread.join().expect("a case failed"));
        explored.into_iter().flatten().collect()
    });
    all.sort_by(|one, other| one.name.cmp(&other.name));
    let states: u64 = all.iter().map(|case| case.states).sum();
    let whole = all.iter().filter(|case| case.timers >= Some(case.wanted));
    println!(
        "{states} states, {} of {} cases to their end",
        whole.count(),
        all.len()
    );
    all
}

/// Holds how far the cases of a profile were explored against the table of `what`.
fn compare(what: &str, all: &[Explored]) {
    if number("RMPP_STATES").is_some() {
        return;
    }
    let is_small =
        |case: &&Explored| case.name[10..].starts_with("one ") && &case.name[6..7] != "2";
    for case in all.iter().filter(is_small) {
        assert_eq!(case.timers, Some(case.wanted), "{}", case.name);
    }
    let path = format!(
        "{}/tests/exploration.{what}.table",
        env!("CARGO_MANIFEST_DIR")
    );
    if std::env::var_os("UPDATE").is_some() {
        let lines: Vec<String> = all.iter().map(|case| case.line() + "\n").collect();
        std::fs::write(path, lines.concat()).expect("the table can be written");
        return;
    }
    let kept = std::fs::read_to_string(path).expect("the table is there");
    let timers = |line: &str| line.get(48..51)?.trim().parse::<u32>().ok();
    assert_eq!(kept.lines().count(), all.len(), "a line for each case");
    for (case, line) in all.iter().zip(kept.lines()) {
        assert!(line.starts_with(&case.name), "{line}, but {}", case.name);
        assert!(
            case.timers >= timers(line),
            "was: {line}; now only: {}",
            case.line()
        );
    }
}

#[test]
fn small_cases_keep_the_invariants_in_the_classic_profile() {
    compare("classic", &run_all(cases(Caps::CLASSIC), MOST_STATES));
}

#[test]
fn small_cases_keep_the_invariants_with_all_extensions() {
    compare("fast", &run_all(cases(Caps::FAST), MOST_STATES / 5));
}

#[test]
fn small_cases_keep_the_invariants_with_each_extension_alone_and_without_it() {
    let all = Caps::ALL.iter();
    let bits = all.flat_map(|(cap, ..)| [cap.bits(), Caps::FAST.bits() & !cap.bits()]);
    let sets = bits.map(Caps::from_bits);
    run_all(sets.flat_map(cases).collect(), MOST_STATES / 100);
}

/// Returns true if any case finds the bug, by an invariant or by an assertion of the core.
#[cfg(feature = "planted")]
fn is_found(bug: rmpp_core::Bug) -> bool {
    let mut cases = cases(Caps::CLASSIC).into_iter();
    cases.any(|mut case| {
        case.config.planted = Some(bug);
        case.most_states = 3_000;
        let outcome = std::panic::catch_unwind(|| explore(&case));
        !matches!(outcome, Ok(Ok(_)))
    })
}

#[cfg(feature = "planted")]
#[test]
fn planted_bugs_are_found_in_small_cases_too() {
    use crate::silence::silently;
    use rmpp_core::Bug;

    let bugs = [
        Bug::AcceptAnyNumber,
        Bug::ForgetOldNumbers,
        Bug::FreeStateEarly,
        Bug::ObeyEveryCts,
        Bug::RestartOnOldAttempt,
        Bug::NullKeepsNumber,
        Bug::PlaceOutOfSequence,
        Bug::EndAtBlockEnd,
        Bug::LeakGrant,
        Bug::TimerArmedOnce,
        Bug::RestartWhereStopped,
        Bug::CompareWithoutWrap,
        Bug::AnnounceTwice,
        Bug::SilentAbort,
    ];
    let is_hidden = |bug: &Bug| !is_found(*bug);
    let hidden: Vec<Bug> = silently(|| bugs.into_iter().filter(is_hidden).collect());
    assert!(hidden.is_empty(), "not found: {hidden:?}");
}
