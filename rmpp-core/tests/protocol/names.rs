//! Names of messages (msgID) after 2^32 sends: the counter comes round to names that are in use.

use std::time::Duration;

use rmpp_core::{Caps, Config, Event, Kind, Landing};

use crate::wire::{PACKET, Wire};

const CIRCLE: u64 = 1 << 32;
const SECOND: Duration = Duration::from_secs(1);

fn with(caps: &str) -> Config {
    let caps = Caps::parse(caps).expect("a profile");
    let mut config = Config::with_caps(3, PACKET as usize, caps);
    config.lost_after = None;
    config
}

fn pass(wire: &mut Wire) {
    wire.now = wire.now.plus(SECOND);
    wire.timeouts();
    wire.run();
}

fn ended(wire: &Wire, node: usize) -> usize {
    let is_end = |event: &&Event| matches!(event, Event::Sent(..));
    wire.events[node].iter().filter(is_end).count()
}

fn arrived(wire: &Wire, node: usize) -> usize {
    let is_end = |event: &&Event| matches!(event, Event::Arrived(..));
    wire.events[node].iter().filter(is_end).count()
}

#[test]
fn rule_l_a_message_may_be_held_for_2_32_sends() {
    for profile in ["fast", "classic", "fast,-hold", "fast,-lazy"] {
        for len in [8, 5 * PACKET] {
            let mut wire = Wire::new(3, with(profile));
            wire.landing = Some(Landing::Later);
            wire.send(0, 1, len);
            wire.run();
            pass(&mut wire);
            wire.landing = Some(Landing::Accept);
            wire.nodes[0].skip_msg_ids(CIRCLE - 1);
            wire.send(0, 1, 8);
            wire.send(0, 2, 8);
            (0..5).for_each(|_| pass(&mut wire));
            assert_eq!(ended(&wire, 0), 2, "{profile}, {len} bytes: the later ones");
            wire.land_all(1, Landing::Accept);
            (0..5).for_each(|_| pass(&mut wire));
            assert_eq!(ended(&wire, 0), 3, "{profile}, {len} bytes: the held one");
            assert_eq!((arrived(&wire, 1), arrived(&wire, 2)), (2, 1), "{profile}");
        }
    }
}

#[test]
fn rule_l_an_unanswered_message_keeps_its_name_for_2_32_sends() {
    let mut wire = Wire::new(3, with("fast"));
    wire.landing = Some(Landing::Later);
    wire.send(0, 2, 8);
    let unanswered = wire
        .take(0)
        .expect("LAST_RTS, which is on its way for long");
    wire.nodes[0].skip_msg_ids(CIRCLE - 1);
    wire.send(0, 1, 8);
    let other = wire.take(0).expect("LAST_RTS");
    assert_ne!(other.header.msg_id, unanswered.header.msg_id);
    wire.give_all(&[other, unanswered]);
    wire.run();
    (0..3).for_each(|_| pass(&mut wire));
    assert_eq!(ended(&wire, 0), 0, "neither has landed");
    wire.land_all(1, Landing::Accept);
    wire.land_all(2, Landing::Drop);
    (0..3).for_each(|_| pass(&mut wire));
    assert_eq!(ended(&wire, 0), 1);
    let is_refused = |event: &&Event| matches!(event, Event::Refused(..));
    assert_eq!(wire.events[0].iter().filter(is_refused).count(), 1);
}

#[test]
fn rule_l_a_finished_message_gives_its_name_to_the_one_that_is_due() {
    let mut wire = Wire::new(3, with("classic"));
    for len in [8, 5 * PACKET] {
        wire.send(0, 1, len);
        // Its GCH is lost: the receiver remembers the message.
        for _ in 0..20 {
            let packets = wire.take_all(0);
            let kept: Vec<_> = packets
                .into_iter()
                .filter(|p| p.header.kind != Kind::Gch)
                .collect();
            wire.give_all(&kept);
            let answers = wire.take_all(1);
            wire.give_all(&answers);
        }
        assert!(wire.nodes[0].state().is_quiet);
        wire.nodes[0].skip_msg_ids(CIRCLE - 1);
    }
    for _ in 0..3 {
        pass(&mut wire);
    }
    assert_eq!((ended(&wire, 0), arrived(&wire, 1)), (2, 2));
}

#[test]
fn rule_l_no_two_messages_that_live_have_one_name_through_2_32_sends() {
    let mut wire = Wire::new(3, with("fast"));
    wire.landing = Some(Landing::Later);
    let mut sent = 0;
    for step in 0..64 {
        for len in [8, 300] {
            wire.send(0, 1, len);
            wire.send(0, 2, len);
            sent += 2;
        }
        if step % 3 == 0 {
            wire.run();
        }
        let names = wire.nodes[0].live_msg_ids();
        let mut unique = names.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!((names.len(), unique.len()), (sent, sent), "step {step}");
        // Each step comes out a little before or after a name that is in use.
        wire.nodes[0].skip_msg_ids(CIRCLE / 16 - 5);
    }
    wire.run();
    wire.land_all(1, Landing::Accept);
    wire.land_all(2, Landing::Accept);
    for _ in 0..40 {
        wire.land_all(1, Landing::Accept);
        wire.land_all(2, Landing::Accept);
        pass(&mut wire);
    }
    assert_eq!(ended(&wire, 0), sent);
}
