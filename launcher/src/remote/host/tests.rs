//! A host whose agent starts, fails, or falls silent.

use super::*;
use crate::poll::Interests;
use crate::wire::MAGIC;

/// A node whose "ssh" is this shell script.
fn behind(script: &str) -> Remote {
    let inherited = Inherited {
        signals: crate::signals::Inherited::default(),
        files: (1024, 1024),
        descriptors: 3,
    };
    let settings = Settings::of_program(&["sh", "-c", script]);
    Remote::new("n1", &[0], &settings, inherited).expect("nothing is set wrong")
}

/// Lets the node read until it is ready.
fn until_ready(remote: &mut Remote) {
    remote.connect(Instant::now());
    while !remote.is_ready() {
        let mut interests = Interests::default();
        remote.way.interests(0, &mut interests);
        interests.wait(None);
        remote.ready(Instant::now());
    }
}

/// The reports, without those that `--verbose` alone shows.
fn reports(remote: &mut Remote) -> Vec<Report> {
    let reports = std::iter::from_fn(|| remote.report());
    let is_of_way = |it: &Report| matches!(it, Report::Calling(_) | Report::Connected);
    reports.filter(|it| !is_of_way(it)).collect()
}

/// An agent that is there and then says nothing more.
fn silent_agent() -> String {
    let version = env!("CARGO_PKG_VERSION").to_string();
    let ready = Report::Ready {
        version,
        known: Known::default(),
    };
    let frame = protocol::encode(&ready).expect("it is short");
    let bytes: String = MAGIC
        .iter()
        .chain(&frame)
        .map(|byte| format!("\\{byte:03o}"))
        .collect();
    format!("printf '{bytes}'; exec sleep 100")
}

#[test]
fn a_silent_node_is_reported_and_then_lost() {
    let mut remote = behind(&silent_agent());
    until_ready(&mut remote);
    let start = Instant::now();
    remote.silence.heard(start);
    let warning = silence::LIMIT / 2;
    let mut pass = |from: Duration, to: Duration| {
        let mut time = from;
        while time < to {
            remote.tick(start + time);
            time += Duration::from_secs(1);
        }
        reports(&mut remote)
    };
    assert_eq!(pass(Duration::ZERO, warning), []);
    assert_eq!(pass(warning, silence::LIMIT), [Report::Silent(warning)]);
    let end = silence::LIMIT + Duration::from_secs(1);
    assert!(matches!(
        &pass(silence::LIMIT, end)[..],
        [Report::Lost { .. }]
    ));
    assert!(remote.is_over());
}

#[test]
fn a_node_that_does_not_end_is_given_up() {
    let mut remote = behind(&silent_agent());
    until_ready(&mut remote);
    let now = Instant::now();
    remote.obey(&Order::End, None, now);
    remote.tick(now + ENDING_LIMIT);
    assert!(matches!(&reports(&mut remote)[..], [Report::Lost { .. }]));
}

#[test]
fn a_node_that_was_not_reached_yet_ends_without_a_word() {
    let mut remote = behind("exec sleep 100");
    remote.connect(Instant::now());
    remote.obey(&Order::End, None, Instant::now());
    assert!(reports(&mut remote).is_empty());
    assert!(remote.is_over());
}
