//! Tests of `passage`: several ranks in one process.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use super::passage::{Ask, Offer, Passage, PassageError};
use super::segment::Segment;
use crate::clock::Instant;

const NUMBER: u64 = 1 << 40;
const START: Instant = Instant(0);
const DEADLINE: Instant = Instant(1_000_000_000);

fn passages<const RANKS: usize>() -> [Passage; RANKS] {
    let segment = Segment::alone(RANKS as u32);
    core::array::from_fn(|me| Passage::new(segment, me as u32))
}

/// Something to read, with this in it.
fn descriptor(text: &str) -> OwnedFd {
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    writer.write_all(text.as_bytes()).expect("it has room");
    reader.into()
}

fn read(descriptor: OwnedFd) -> String {
    let mut text = String::new();
    let read = File::from(descriptor).read_to_string(&mut text);
    read.expect("a pipe with text");
    text
}

fn offer(passage: &Passage, takers: &[u32]) -> Offer {
    let something = descriptor("something");
    let offer = passage.offer(NUMBER, something, takers, DEADLINE);
    offer.expect("the number is free")
}

fn is_taken(ask: &mut Ask, offer: &mut Offer) -> Result<Option<OwnedFd>, PassageError> {
    let early = ask.poll(START)?;
    assert!(early.is_none(), "nobody has answered");
    offer.poll(START)?;
    ask.poll(START)
}

#[test]
fn a_descriptor_passes_whoever_comes_first_and_the_offer_knows_who_has_it() {
    let [first, second, third] = passages();
    let mut early = first.ask(1, NUMBER, DEADLINE);
    assert!(early.poll(START).unwrap().is_none());
    // Another number: what is offered there is not for this question.
    let other = second.offer(2, descriptor("another"), &[0], DEADLINE);
    let mut other = other.unwrap();
    assert!(early.poll(START).unwrap().is_none());
    assert!(!other.poll(START).unwrap());

    let mut offer = offer(&second, &[0, 2]);
    let came = is_taken(&mut early, &mut offer).unwrap().unwrap();
    assert!(!offer.poll(START).unwrap(), "rank 2 does not have it");
    let late = is_taken(&mut third.ask(1, NUMBER, DEADLINE), &mut offer).unwrap();
    assert!(offer.poll(DEADLINE).unwrap(), "all have it");
    assert_eq!(read(came), "something");
    assert!(late.is_some());
    let came = is_taken(&mut first.ask(1, 2, DEADLINE), &mut other).unwrap();
    assert_eq!(read(came.unwrap()), "another");
}

#[test]
fn a_number_is_free_again_when_its_offer_is_gone() {
    let [first, second] = passages();
    for _ in 0..2 {
        let mut offer = offer(&first, &[1]);
        let twice = first.offer(NUMBER, descriptor(""), &[1], DEADLINE);
        assert!(
            matches!(twice, Err(PassageError::Twice(NUMBER))),
            "{twice:?}"
        );
        let came = is_taken(&mut second.ask(0, NUMBER, DEADLINE), &mut offer);
        assert!(came.unwrap().is_some());
    }
}

#[test]
fn a_wrong_rank_and_one_that_asks_twice_get_nothing_and_are_told() {
    let [first, second, third] = passages();
    let mut offer = offer(&first, &[1]);
    let refused = is_taken(&mut third.ask(0, NUMBER, DEADLINE), &mut offer).unwrap_err();
    let text = "rank 0 of this host offers descriptor 1099511627776 to others, or has given it \
                before";
    assert_eq!(refused.to_string(), text);
    let mut asks = [0, 1].map(|_| second.ask(0, NUMBER, DEADLINE));
    for ask in &mut asks {
        assert!(ask.poll(START).unwrap().is_none());
    }
    assert!(offer.poll(START).unwrap());
    let [one, other] = asks.each_mut().map(|ask| ask.poll(START));
    assert_eq!(read(one.unwrap().unwrap()), "something");
    let refused = other.unwrap_err();
    assert!(
        matches!(refused, PassageError::Refused { rank: 0, .. }),
        "{refused:?}"
    );
}

#[test]
fn a_rank_that_never_comes_is_an_error_when_time_is_over() {
    let [first, second] = passages();
    let mut ask = second.ask(0, NUMBER, DEADLINE);
    assert!(ask.poll(Instant(DEADLINE.0 - 1)).unwrap().is_none());
    let late = ask.poll(DEADLINE).unwrap_err();
    let text = "rank 0 of this host did not hand out descriptor 1099511627776 in time";
    assert_eq!(late.to_string(), text);
    let mut offer = offer(&first, &[1]);
    assert!(!offer.poll(Instant(DEADLINE.0 - 1)).unwrap());
    let late = offer.poll(DEADLINE).unwrap_err();
    let text = "rank 1 of this host did not ask for descriptor 1099511627776 in time";
    assert_eq!(late.to_string(), text);
    // It has asked, and the other one does not answer.
    assert!(ask.poll(START).unwrap().is_none());
    let late = ask.poll(DEADLINE).unwrap_err();
    assert!(matches!(late, PassageError::NotOffered { rank: 0, .. }));
}

#[test]
fn the_end_of_one_side_is_seen_by_the_other_at_once() {
    let [first, second, third] = passages();
    let mut ask = second.ask(0, NUMBER, DEADLINE);
    let mut gone = offer(&first, &[1]);
    assert!(ask.poll(START).unwrap().is_none());
    drop(gone);
    let ended = ask.poll(START).unwrap_err();
    assert!(
        matches!(ended, PassageError::Ended { rank: 0, .. }),
        "{ended:?}"
    );

    // A rank that has asked and ends keeps nothing from the others.
    gone = offer(&first, &[1, 2]);
    ask = second.ask(0, NUMBER, DEADLINE);
    assert!(ask.poll(START).unwrap().is_none());
    drop(ask);
    let mut ask = third.ask(0, NUMBER, DEADLINE);
    assert!(ask.poll(START).unwrap().is_none());
    let ended = gone.poll(START).unwrap_err();
    assert!(
        matches!(ended, PassageError::Ended { rank: 1, .. }),
        "{ended:?}"
    );
    assert!(ask.poll(START).unwrap().is_some());
}

/// The names of all sockets that this library has bound.
fn names() -> Vec<String> {
    let table = std::fs::read_to_string("/proc/net/unix").expect("it is there");
    let names = table.lines().filter_map(|line| line.split('@').nth(1));
    names
        .filter(|it| it.starts_with("mpi-lite-"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn what_strangers_send_never_comes_into_a_queue() {
    let [first, second] = passages();
    let before = names();
    let mut offer = offer(&first, &[1]);
    let stranger = UnixDatagram::unbound().unwrap();
    stranger.set_nonblocking(true).unwrap();
    // Other tests have sockets as well.
    let new: Vec<String> = names()
        .into_iter()
        .filter(|it| !before.contains(it))
        .collect();
    assert!(!new.is_empty());
    for name in new {
        let name = SocketAddr::from_abstract_name(name).unwrap();
        for _ in 0..1000 {
            let _ = stranger.send_to_addr(&[7; 36], &name);
        }
    }
    let came = is_taken(&mut second.ask(0, NUMBER, DEADLINE), &mut offer);
    assert_eq!(read(came.unwrap().unwrap()), "something");
}

#[test]
fn many_ranks_take_from_one() {
    let passages: [Passage; 40] = passages();
    let takers: Vec<u32> = (1..40).collect();
    let mut offer = offer(&passages[0], &takers);
    let ask = |passage: &Passage| (passage.ask(0, NUMBER, DEADLINE), None);
    let mut asks: Vec<(Ask, Option<OwnedFd>)> = passages[1..].iter().map(ask).collect();
    // A queue of the system may be shorter than they are many: then some ask again.
    for _ in 0..100 {
        for (ask, came) in asks.iter_mut().filter(|(_, came)| came.is_none()) {
            *came = ask.poll(START).unwrap();
        }
        if offer.poll(START).unwrap() {
            break;
        }
    }
    let rest = asks.iter_mut().filter(|(_, came)| came.is_none());
    assert!(
        rest.map(|(ask, _)| ask.poll(START))
            .all(|it| it.unwrap().is_some())
    );
}
