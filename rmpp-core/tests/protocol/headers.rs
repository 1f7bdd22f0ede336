//! The headers of packets, field by field, where nothing but the other end would notice.

use std::time::Duration;

use crate::wire::{PACKET, Wire, config};
use rmpp_core::{Caps, Config, Flags, Kind};

fn fast() -> Wire {
    let caps = Caps::parse("fast").expect("a profile");
    let mut config = Config::with_caps(2, PACKET as usize, caps);
    config.unscheduled_bytes = 4 * PACKET as usize;
    Wire::new(2, config)
}

#[test]
fn rule_a_an_end_without_state_repeats_the_name_of_the_message_and_nothing_else() {
    let mut wire = Wire::new(2, config(2));
    wire.send(0, 1, 8);
    let first = wire.take(0).expect("LAST_RTS");
    wire.give(&first).expect("a new message");
    wire.take(1).expect("MSGEND, lost");
    wire.now = wire.now.plus(Duration::from_secs(601));
    wire.timeouts();
    let mut data = first.long().data(3, 5);
    data.header.info2 = 2;
    wire.give(&data).expect("an old number");
    let end = wire.take(1).expect("an answer").header;
    assert_eq!(end.kind, Kind::MsgEnd);
    let name = |header: rmpp_core::Header| (header.src, header.msg_id, header.msg_num);
    assert_eq!(name(end), name(data.header));
    assert_eq!(end.info2, 2, "of the attempt that it answers");
    assert_eq!((end.seq, end.info1, end.flags), (0, 0, Flags::NONE));
}

#[test]
fn rule_a_an_end_without_state_asks_for_nothing_though_a_probe_is_answered() {
    let mut wire = fast();
    wire.send(0, 1, 50 * PACKET);
    let first = wire.take(0).expect("RTS");
    wire.run();
    wire.take_all(0);
    wire.now = wire.now.plus(Duration::from_secs(601));
    wire.timeouts();
    wire.run();
    let mut probe = first.clone();
    probe.header.flags = Flags::PROBE;
    if wire.give(&probe).is_ok() {
        for answer in wire.take_all(1) {
            assert!(!answer.header.flags.has(Flags::PROBE), "{answer:?}");
        }
    }
}

#[test]
fn rule_r_data_names_the_last_nak_that_came() {
    let mut wire = fast();
    wire.send(0, 1, 50 * PACKET + 1);
    let first = wire.take_all(0);
    assert!(first.iter().all(|packet| packet.header.info2 == 0));
    wire.give_all(&first);
    let grant = wire.take(1).expect("CTS");
    wire.give(&grant).expect("a grant");
    let block = wire.take_all(0);
    for (round, lost) in [0, 8].into_iter().enumerate() {
        wire.give_all(&block[lost + 1..lost + 8]);
        let nak = wire
            .take_all(1)
            .into_iter()
            .find(|packet| !packet.tail.is_empty())
            .expect("a NAK");
        assert_eq!(usize::from(nak.header.info2), round + 1);
        wire.give(&nak).expect("a NAK");
        let again = wire.take_all(0);
        assert_eq!(again[0].header.seq, block[lost].header.seq);
        let named = again.iter().map(|packet| packet.header.info2);
        assert!(named.into_iter().all(|number| number == nak.header.info2));
        wire.give_all(&again);
    }
}
