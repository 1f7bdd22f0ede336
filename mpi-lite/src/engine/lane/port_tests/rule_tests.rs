//! One test for each rule of the door.

use super::*;

#[test]
fn a_put_is_at_its_place_and_no_byte_beside_it_is_touched() {
    for faults in [Faults::none(), bad()] {
        let mut job = Job::tiny(3, faults);
        for ends in [(0, 1), (1, 0), (2, 0), (0, 0)] {
            put_and_get_all(&mut job, ends);
        }
        job.drain(&[]);
    }
}

#[test]
fn of_additions_at_once_each_has_its_own_old_value() {
    let mut job = Job::tiny(4, bad());
    let adds: Vec<Begun> = (0..100)
        .map(|number| job.begin(Kind::Add, (number % 4, 2), 16, &from_number(1)))
        .collect();
    let old: BTreeSet<u64> = adds
        .iter()
        .map(|add| to_number(&job.end(add).unwrap()))
        .collect();
    assert_eq!(old, (0..100).collect());
    job.drain(&[]);
}

#[test]
fn heads_of_a_process_are_served_in_the_order_in_which_they_were_sent() {
    let mut job = Job::tiny(2, bad());
    let lens = (0..60).map(|number| if number % 3 == 0 { SHORT } else { 1 });
    let puts: Vec<Begun> = lens
        .map(|len| job.put((0, 1), 0, &pattern(len, len as u64)))
        .collect();
    for put in &puts {
        job.end(put).unwrap();
    }
    let numbers: Vec<u32> = job.memories[1].lock().heads.iter().map(|it| it.1).collect();
    assert_eq!(numbers, (1..=60).collect::<Vec<_>>());
    job.drain(&[]);
}

/// A message of process `from` to the ports of process `to`, whatever it says.
fn say(job: &mut Job, (from, to): (usize, usize), envelope: Envelope, bytes: Vec<u8>) {
    let parts = &mut job.lanes[from].parts;
    parts.outbox.defer(Deferred {
        to: PeerId(to as u32),
        envelope,
        body: Load::Bytes(bytes),
    });
    parts.has_errands = true;
    job.lanes[from].run_errands();
}

#[test]
fn what_no_port_has_asked_for_is_dropped_and_leaves_nothing_behind() {
    let mut job = Job::tiny(2, bad());
    let long = encode(Kind::Put, 0, 1000);
    let twice = [&*long, &[0; 300]].concat();
    let unknown = Envelope {
        source: 99,
        ..head_envelope(NOWHERE, 8)
    };
    let nonsense = [
        (head_envelope(NOWHERE, 1), long.clone()),
        (body_envelope(NOWHERE, 1), vec![7; 1000]),
        (body_envelope(WINDOW, 2), vec![7; 1000]),
        (head_envelope(WINDOW, 3), vec![7; 5000]),
        (body_envelope(WINDOW, 3), vec![7; 1000]),
        (head_envelope(WINDOW, 4), vec![]),
        (head_envelope(WINDOW, 5), encode(Kind::Put, 9990, 1000)),
        (body_envelope(WINDOW, 5), vec![7; 1000]),
        (head_envelope(WINDOW, 6 | ANSWER), vec![7; 8]),
        (body_envelope(WINDOW, 6 | ANSWER), vec![7; 1000]),
        (unknown, vec![7; 100]),
        (head_envelope(Context::SERVICE, 7), vec![7; 100]),
        (head_envelope(WINDOW, 8), twice.clone()),
        (head_envelope(WINDOW, 8), twice),
    ];
    for (envelope, bytes) in nonsense {
        say(&mut job, (0, 1), envelope, bytes);
    }
    // More than was announced: what is beyond is dropped.
    say(&mut job, (0, 1), body_envelope(WINDOW, 8), vec![7; 3000]);
    say(&mut job, (0, 1), body_envelope(WINDOW, 8), vec![8; 1000]);
    job.drain(&[]);
    let mut expected = vec![7; 1000];
    expected.resize(10_000, 0);
    assert_eq!(job.window(1), expected);
    put_and_get_all(&mut job, (0, 1));
    put_and_get_all(&mut job, (1, 0));
    job.drain(&[]);
}

#[test]
fn a_body_touches_no_memory_of_a_port_that_has_closed_or_of_its_successor() {
    for is_opened_again in [false, true] {
        let mut job = Job::tiny(2, bad());
        say(
            &mut job,
            (0, 1),
            head_envelope(WINDOW, 1),
            encode(Kind::Put, 0, 1000),
        );
        assert!(job.run(|job| !job.memories[1].lock().heads.is_empty()));
        let window = 3;
        job.ports[window] = None;
        if is_opened_again {
            job.ports[window] = Some(job.open(1));
        }
        say(&mut job, (0, 1), body_envelope(WINDOW, 1), vec![7; 1000]);
        // Nobody answers this.
        say(
            &mut job,
            (0, 1),
            head_envelope(NOWHERE, 2),
            encode(Kind::Put, 0, 1000),
        );
        let is_quiet = |lane: &Lane| lane.survey() == Survey::default() && lane.links().are_quiet();
        assert!(job.run(|job| job.lanes.iter().all(is_quiet)));
        assert_eq!(job.window(1), vec![0; 10_000]);
        job.ports[window] = Some(job.open(1));
        put_and_get_all(&mut job, (0, 1));
        job.drain(&[]);
    }
}

#[test]
fn the_loss_of_a_process_ends_all_operations_with_it_and_no_others() {
    for seed in 1..=20 {
        println!("seed {seed}");
        let mut rng = Rng::new(seed);
        let mut job = Job::tiny(3, Faults::lossy(30_000));
        let mut begun = Vec::new();
        for number in 0..40 {
            let ends = (rng.below(3) as usize, rng.below(3) as usize);
            let kind = [Kind::Put, Kind::Get][rng.below(2) as usize];
            let data = vec![1; rng.below(1000) as usize];
            begun.push((ends, job.begin(kind, ends, 16 * number, &data)));
            for _ in 0..rng.below(4) {
                job.step();
            }
        }
        for other in [0, 1] {
            let never = Instant(u64::MAX);
            job.air().cut(PeerId(2), PeerId(other), never);
            job.air().cut(PeerId(other), PeerId(2), never);
        }
        // A peer is found to be lost by what is sent to it.
        for at in [0, 1] {
            begun.push(((at, 2), job.put((at, 2), 0, &[1; 1000])));
        }
        for (ends, operation) in begun.iter().filter(|(ends, _)| ends.0 != 2) {
            let ended = job.end(operation);
            assert!(ended.is_ok() || ends.1 == 2, "{ends:?}: {ended:?}");
        }
        let late = job.lanes[0].begin_operation((PeerId(2), WINDOW, 9999), vec![], None);
        assert!(matches!(
            late.unwrap_err().cause(),
            Cause::Lost { rank: 2, .. }
        ));
        for at in [0, 1] {
            assert_eq!(job.memories[at].lock().lost, [PeerId(2)]);
        }
        put_and_get_all(&mut job, (0, 1));
        job.drain(&[2]);
    }
}

/// The head was served in the same turn, so that the body was about to land.
#[test]
fn a_body_that_waited_for_its_head_lands_nowhere_once_its_sender_is_lost() {
    let mut job = Job::tiny(2, Faults::none());
    let lane = &mut job.lanes[1];
    let incoming = |arrival, envelope: Envelope, len| Incoming {
        arrival: Arrival(arrival),
        from: PeerId(0),
        envelope: envelope.encode(),
        len,
        is_whole: false,
    };
    let others = 1;
    let mut inlet = Inlet::new(&mut lane.parts, others, 0);
    let mut head = encode(Kind::Put, 0, 1000);
    let Landing::Into(area) =
        inlet.arriving(incoming(0, head_envelope(WINDOW, 1), head.len() as u64))
    else {
        panic!("a head is taken in");
    };
    area.copy_from(&Area::of_bytes(&mut head));
    let body = inlet.arriving(incoming(1, body_envelope(WINDOW, 1), 1000));
    assert!(matches!(body, Landing::Later));
    inlet.arrived(Arrival(0));
    inlet.arriving(incoming(2, head_envelope(WINDOW, 2), 8));
    inlet.lost(Lost {
        peer: PeerId(0),
        address: None,
        unfinished: vec![Arrival(1), Arrival(2)],
        unsent: Vec::new(),
        reason: "it is gone".into(),
    });
    lane.run_errands();
    assert_eq!(job.memories[1].lock().lost, [PeerId(0)]);
    assert_eq!(job.memories[1].lock().heads, [(PeerId(0), 1)]);
    assert_eq!(job.lanes[1].survey(), Survey::default());
    assert!(job.lanes[1].parts.ports.await_nothing());
}

/// The budget for messages without a receive is used up. Puts need none of it.
#[test]
fn long_puts_go_on_beside_a_flood_of_messages_that_nobody_receives() {
    let mut job = Job::tiny(3, Faults::lossy(30_000));
    let bodies: Vec<Arc<Scratch>> = (0..40).map(|seed| filled(&pattern(500, seed))).collect();
    let sends: Vec<Request> = bodies
        .iter()
        .map(|body| job.send((0, 1), Context::WORLD, body))
        .collect();
    for number in 0..20 {
        put_and_get_all(&mut job, (2 * (number % 2), 1));
    }
    let survey = job.lanes[1].survey();
    assert!(
        survey.unexpected > 0 && survey.taken_in_bytes > 0,
        "{survey:?}"
    );
    for (body, send) in bodies.iter().zip(sends) {
        let room = filled(&[0; 500]);
        let receive = job.receive((0, 1), Context::WORLD, &room);
        job.complete(1, receive);
        job.complete(0, send);
        assert_eq!(bytes_of(&room), bytes_of(body));
    }
    job.drain(&[]);
}

/// Process 0 sends anything. Process 1 takes no harm, and serves process 2.
#[test]
fn ports_survive_any_messages() {
    for seed in 1..=10 {
        println!("seed {seed}");
        let mut rng = Rng::new(seed);
        let mut job = Job::tiny(3, Faults::lossy(30_000));
        for _ in 0..300 {
            let contexts = [WINDOW, WINDOW, WINDOW, Context::SERVICE, NOWHERE];
            let context = contexts[rng.below(5) as usize];
            let envelope = Envelope {
                source: rng.below(7) as u32,
                ..head_envelope(context, rng.below(6) as u32)
            };
            let kind = [Kind::Put, Kind::Get, Kind::Add][rng.below(3) as usize];
            let (offset, len) = (rng.below(12_000) as usize, rng.below(1200) as usize);
            let mut bytes = encode(kind, offset, len);
            bytes.extend(pattern(rng.below(600) as usize, rng.bits()));
            bytes.truncate(rng.below(700) as usize);
            say(&mut job, (0, 1), envelope, bytes);
            for _ in 0..rng.below(4) {
                job.step();
            }
        }
        let is_quiet = |lane: &Lane| lane.survey() == Survey::default() && lane.links().are_quiet();
        assert!(job.run(|job| job.lanes.iter().all(is_quiet)));
        put_and_get_all(&mut job, (2, 1));
    }
}

/// Two processes, or one with itself, over each link that there is.
#[test]
fn a_put_and_a_get_go_over_every_transport() {
    for (name, rig) in tests::rigs() {
        println!("over {name}");
        let count = rig.links.len();
        let time = rig.air.map_or(Time::Real(rig.clock), Time::Simulated);
        let lane = |(link, me): (Link, u32)| {
            let own = Link::Loopback(Loopback::new(PeerId(me)));
            let links = match count {
                1 => Links::new(link, None, None),
                _ => Links::new(own, None, Some(link)),
            };
            Lane::new(
                PeerId(me),
                links,
                settings(),
                vec!["here".to_owned(); count],
            )
        };
        let lanes = rig.links.into_iter().zip(0..).map(lane).collect();
        let mut job = Job::new(time, lanes, 400_000);
        put_and_get_all(&mut job, (0, count - 1));
        put_and_get_all(&mut job, (count - 1, 0));
        let long = pattern(300_000, 9);
        let put = job.put((0, count - 1), 80_000, &long);
        job.end(&put).unwrap();
        let get = job.begin(Kind::Get, (0, count - 1), 80_000, &vec![0; long.len()]);
        assert_eq!(job.end(&get).unwrap(), long);
        job.drain(&[]);
    }
}
