//! Runs of data packets: two pairs of endpoints do the same, one packet by packet and one in runs.
//! Their packets, placements and events are alike, and so is their state at the end of each step.

use std::hash::{DefaultHasher, Hash, Hasher};

use rmpp_core::Rng;
use rmpp_core::{
    Caps, Config, Dropped, Endpoint, Event, HeaderBytes, Instant, Landing, Message, NodeId,
    Placement, Run,
};

const PACKET: usize = 100;

/// Rounds in which messages begin and packets may be lost; and those after which all is quiet.
const ROUNDS: u32 = 60;
const MOST_ROUNDS: u32 = 3000;

/// A packet as it stands in its datagram.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Datagram {
    to: u32,
    bytes: Vec<u8>,
}

fn datagram(to: NodeId, header: HeaderBytes, len: usize) -> Datagram {
    let mut bytes = header.to_vec();
    bytes.resize(header.len() + len, 0);
    Datagram { to: to.0, bytes }
}

/// The outcome of a packet.
type Fate = Result<Placement, Dropped>;

/// Two endpoints; the other pair does the same.
struct Pair {
    ends: [Endpoint; 2],
    /// If packets leave and come in runs: a generator for their lengths.
    in_runs: Option<Rng>,
    /// How many packets came behind another one that was handled with them.
    followers: u32,
    /// Messages that were whole when they landed, since events were last asked for.
    landed: Vec<Event>,
}

impl Pair {
    fn new(config: &Config, in_runs: Option<Rng>) -> Self {
        Self {
            ends: [0, 1].map(|node| Endpoint::new(NodeId(node), config.clone())),
            in_runs,
            followers: 0,
            landed: Vec::new(),
        }
    }

    fn transmit(&mut self, from: usize, now: Instant) -> Vec<Datagram> {
        let mut out = Vec::new();
        loop {
            let transmit = match &mut self.in_runs {
                None => self.ends[from].poll_transmit(now, 1),
                Some(rng) => {
                    let most = rng.below(12) as u32;
                    self.ends[from].poll_transmit(now, most)
                }
            };
            let Some(transmit) = transmit else {
                return out;
            };
            for packet in transmit.each() {
                out.push(datagram(packet.to, packet.header, packet.len));
            }
        }
    }

    /// Handles packets that came in one go.
    fn handle(&mut self, at: usize, datagrams: &[Datagram], now: Instant) -> Vec<Fate> {
        let (end, from) = (&mut self.ends[at], NodeId(1 - at as u32));
        let mut fates = Vec::new();
        let mut left = datagrams;
        while let [first, behind @ ..] = left {
            left = behind;
            let packet = end.cut(&first.bytes, first.bytes.len());
            let run = self.in_runs.as_ref().and(Run::of(&packet));
            let Some(mut run) = run else {
                let fate = end.handle(from, &packet, now);
                if let Ok(Placement::First { message, .. }) = fate {
                    let whole = end.incoming().land(message, Landing::Accept, (), now);
                    self.landed
                        .extend(whole.map(|()| Event::Arrived(message, ())));
                }
                fates.push(fate);
                continue;
            };
            while let [next, behind @ ..] = left
                && run.takes(&next.bytes, next.bytes.len())
            {
                left = behind;
            }
            while run.count() > 0 {
                let fate = end.handle(from, &run.packets(), now);
                let taken = match fate {
                    Ok(Placement::Data { packets, .. }) => packets,
                    _ => 1,
                };
                run.skip(taken);
                self.followers += taken - 1;
                fates.extend((0..taken).map(|number| behind_by(fate, number)));
            }
        }
        fates
    }

    fn events(&mut self, at: usize, now: Instant) -> Vec<Event> {
        let mut events = core::mem::take(&mut self.landed);
        while let Some(event) = self.ends[at].poll_event() {
            if let Event::Due { message, .. } = event {
                let whole = self.ends[at]
                    .incoming()
                    .land(message, Landing::Accept, (), now);
                events.extend(whole.map(|()| Event::Arrived(message, ())));
            }
            events.push(event);
        }
        events
    }

    fn digest(&self, at: usize) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.ends[at].hash(&mut hasher);
        hasher.finish()
    }
}

/// What becomes of the packet that is `number` behind one of which this has become.
fn behind_by(fate: Fate, number: u32) -> Fate {
    match fate {
        Ok(Placement::Data {
            message, offset, ..
        }) => Ok(Placement::Data {
            message,
            offset: offset + u64::from(number) * PACKET as u64,
            packets: 1,
        }),
        alone => {
            assert_eq!(number, 0, "only data is placed in runs: {alone:?}");
            alone
        }
    }
}

/// The pair that goes packet by packet, and the other one.
struct Twins {
    pairs: [Pair; 2],
    rng: Rng,
    now: Instant,
    /// On their way, by receiver.
    under_way: [Vec<Datagram>; 2],
    loss_ppm: u32,
}

impl Twins {
    fn new(config: &Config, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        Self {
            pairs: [
                Pair::new(config, None),
                Pair::new(config, Some(Rng::new(seed ^ 0x7))),
            ],
            loss_ppm: rng.pick(&[0, 0, 5_000, 100_000]),
            rng,
            now: Instant::ZERO,
            under_way: [Vec::new(), Vec::new()],
        }
    }

    /// Does the same with both pairs; what comes of it is alike.
    fn both<T: PartialEq + std::fmt::Debug>(&mut self, act: impl Fn(&mut Pair) -> T) -> T {
        let [single, in_runs] = &mut self.pairs;
        let expected = act(single);
        assert_eq!(act(in_runs), expected);
        expected
    }

    fn send(&mut self) {
        let (from, now) = (self.rng.below(4) / 3, self.now);
        let most = self.rng.pick(&[200, 3_000, 90_000]);
        let len = self.rng.below(most);
        let to = NodeId(1 - from as u32);
        let is_awaited = self.rng.chance(500_000);
        self.both(|pair| {
            pair.ends[from as usize]
                .send(to, Message::of(len, is_awaited), now)
                .expect("a send")
        });
    }

    fn transmit(&mut self, from: usize) {
        let now = self.now;
        let sent = self.both(|pair| (pair.transmit(from, now), pair.digest(from)));
        let faults = self.loss_ppm;
        for packet in sent.0 {
            let flights = &mut self.under_way[packet.to as usize];
            if self.rng.chance(faults) {
                continue;
            }
            flights.push(packet.clone());
            if self.rng.chance(faults / 4) {
                flights.push(packet);
            }
            if self.rng.chance(faults / 4) {
                let place = self.rng.below(flights.len() as u64) as usize;
                let last = flights.len() - 1;
                flights.swap(place, last);
            }
        }
    }

    fn arrive(&mut self, at: usize) {
        let now = self.now;
        let flights = core::mem::take(&mut self.under_way[at]);
        let mut left = &flights[..];
        while !left.is_empty() {
            let most = self.rng.pick(&[1, 7, 50]).min(left.len() as u64);
            let (these, others) = left.split_at(1 + self.rng.below(most) as usize);
            left = others;
            self.both(|pair| {
                let fates = pair.handle(at, these, now);
                (fates, pair.events(at, now), pair.digest(at))
            });
            // Grants go out between packets, or when all have come.
            if self.rng.chance(200_000) {
                self.transmit(at);
            }
        }
    }

    fn round(&mut self) -> bool {
        for at in [0, 1] {
            self.transmit(at);
            self.arrive(1 - at);
        }
        self.now = Instant(self.now.0 + self.rng.below(100_000));
        if self.under_way.iter().all(Vec::is_empty) {
            let due = self.both(|pair| pair.ends.each_ref().map(|end| end.state().next_timeout));
            self.now = due.into_iter().flatten().fold(self.now, Instant::max);
        }
        let (now, overflows) = (self.now, self.rng.chance(20_000));
        self.both(|pair| {
            for end in &mut pair.ends {
                end.handle_timeout(now);
                if overflows {
                    end.incoming().note_overflow();
                }
            }
            [0, 1].map(|at| (pair.events(at, now), pair.digest(at)))
        });
        self.pairs[0].ends.iter().all(|node| node.state().is_quiet)
    }

    /// Returns how many packets were handled with the one before them.
    fn run(mut self) -> u32 {
        for round in 0..MOST_ROUNDS {
            if round < ROUNDS && self.rng.chance(300_000) {
                self.send();
            }
            if round == ROUNDS {
                self.loss_ppm = 0;
            }
            if self.round() && round > ROUNDS {
                return self.pairs[1].followers;
            }
        }
        panic!("not quiet after {MOST_ROUNDS} rounds");
    }
}

#[test]
fn a_run_has_the_effect_of_its_packets_one_by_one() {
    for profile in [
        "fast",
        "fast,-pipe",
        "fast,-budget",
        "fast,-unsched",
        "fast,-snak",
        "classic",
    ] {
        let caps = Caps::parse(profile).expect("a profile");
        let mut config = Config::with_caps(2, PACKET, caps);
        config.lost_after = None;
        // As many packets as make several grants of one message.
        config.unscheduled_bytes = 20 * PACKET;
        let mut followers = 0;
        for seed in 0..60 {
            config.max_rcv_buf = if seed % 2 == 0 { 2048 } else { 90 };
            followers += Twins::new(&config, seed).run();
        }
        assert_eq!(
            caps.has(Caps::SNAK),
            followers > 3_000,
            "{profile}: {followers}"
        );
    }
}
