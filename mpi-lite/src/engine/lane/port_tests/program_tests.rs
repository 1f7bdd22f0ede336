//! Random programs of puts, gets, additions and messages.

use super::*;

/// Each target has a number, and slots for each origin.
const SLOTS: usize = 4;
const SLOT_BYTES: usize = 3000;
const BETWEEN: usize = 5;

fn slot_at((origin, slot): (usize, usize)) -> usize {
    16 + (origin * SLOTS + slot) * (SLOT_BYTES + BETWEEN)
}

/// An operation of a random program.
struct Step {
    begun: Begun,
    kind: Kind,
    /// Target, origin, slot.
    slot: (usize, usize, usize),
    /// What a get must bring.
    expected: Vec<u8>,
}

/// A message of a random program.
struct Mail {
    ends: (usize, usize),
    context: Context,
    body: Arc<Scratch>,
    send: Request,
}

/// A random program of puts, gets, additions and messages. It is checked by what the windows must
/// hold.
struct Program {
    job: Job,
    rng: Rng,
    /// What the windows must hold, but for the first number.
    windows: Vec<Vec<u8>>,
    /// How much was added to the first number of each window, and the old values.
    sums: Vec<u64>,
    old: Vec<BTreeSet<u64>>,
    steps: Vec<Step>,
    mails: Vec<Mail>,
    receives: Vec<(Mail, Arc<Scratch>, Request)>,
}

impl Program {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let count = 3 + rng.below(3) as u32;
        let handlers = [
            Protocol::Rmpp,
            Protocol::Rmpp,
            Protocol::Rmpp,
            Protocol::GoBackN,
            Protocol::Unet,
            Protocol::Sctp,
        ];
        let handler = handlers[rng.below(6) as usize];
        let loss = [0, 10_000, 50_000][rng.below(3) as usize];
        let config = match (handler, rng.below(4)) {
            // Classic repeats a whole message: it must be short in packets.
            (_, 0) => Config::classic(count, 1000),
            (Protocol::Rmpp, 1) => Config::with_caps(count, 16, Caps::FAST),
            (Protocol::Rmpp, 2) => Config::with_caps(count, 100, Caps::FAST),
            _ => Config::with_caps(count, 1000, Caps::FAST),
        };
        println!("seed {seed}: {count} processes, {handler:?}, loss {loss} ppm");
        let bytes = slot_at((count as usize, 0));
        let job = Job::simulated((handler, &config), (seed, Faults::lossy(loss)), bytes);
        Self {
            job,
            rng,
            windows: vec![vec![0; bytes]; count as usize],
            sums: vec![0; count as usize],
            old: vec![BTreeSet::new(); count as usize],
            steps: Vec::new(),
            mails: Vec::new(),
            receives: Vec::new(),
        }
    }

    fn below(&mut self, limit: usize) -> usize {
        self.rng.below(limit as u64) as usize
    }

    fn len(&mut self) -> usize {
        let most = [10, SHORT + 2, SLOT_BYTES][self.below(3)];
        self.below(most + 1)
    }

    fn ends(&mut self) -> (usize, usize) {
        let count = self.windows.len();
        (self.below(count), self.below(count))
    }

    /// Begins an operation, unless one is under way at its place.
    fn operate(&mut self) {
        let (ends, number) = (self.ends(), self.below(SLOTS));
        let (origin, target) = ends;
        let slot = (target, origin, number);
        let kind = [Kind::Put, Kind::Put, Kind::Get, Kind::Add][self.below(4)];
        if kind == Kind::Add {
            let more = 1 + self.rng.below(1000);
            self.sums[target] += more;
            let begun = self.job.begin(kind, ends, 0, &from_number(more));
            let slot = (target, origin, SLOTS);
            self.steps.push(Step {
                begun,
                kind,
                slot,
                expected: Vec::new(),
            });
            return;
        }
        if self.steps.iter().any(|step| step.slot == slot) {
            return;
        }
        let (len, offset) = (self.len(), slot_at((origin, number)));
        let mut data = vec![0; len];
        let place = offset..offset + len;
        if kind == Kind::Put {
            data = pattern(len, self.rng.bits());
            self.windows[target][place.clone()].copy_from_slice(&data);
        }
        let begun = self.job.begin(kind, ends, offset, &data);
        let expected = self.windows[target][place].to_vec();
        self.steps.push(Step {
            begun,
            kind,
            slot,
            expected,
        });
    }

    /// Takes the operations that are over.
    fn collect(&mut self) {
        let job = &self.job;
        let (over, steps) = core::mem::take(&mut self.steps)
            .into_iter()
            .partition::<Vec<_>, _>(|step| job.is_over(&step.begun));
        self.steps = steps;
        for step in over {
            let data = self.job.end(&step.begun).unwrap();
            match step.kind {
                Kind::Add => assert!(self.old[step.slot.0].insert(to_number(&data))),
                Kind::Put | Kind::Get => assert_eq!(data, step.expected),
            }
        }
    }

    fn send(&mut self) {
        let (ends, len) = (self.ends(), self.len());
        let body = filled(&pattern(len, self.rng.bits()));
        let context = [Context::WORLD, Context::WORLD.collective()][self.below(2)];
        let send = self.job.send(ends, context, &body);
        self.mails.push(Mail {
            ends,
            context,
            body,
            send,
        });
    }

    /// Posts the receive for the first message that has none.
    fn receive(&mut self) {
        if self.mails.is_empty() {
            return;
        }
        let mail = self.mails.remove(0);
        let room = filled(&vec![0; bytes_of(&mail.body).len()]);
        let receive = self.job.receive(mail.ends, mail.context, &room);
        self.receives.push((mail, room, receive));
    }

    fn run(mut self, steps: usize) {
        for _ in 0..steps {
            match self.below(10) {
                0..=5 => self.operate(),
                6 | 7 => self.send(),
                _ => self.receive(),
            }
            for _ in 0..self.below(6) {
                self.job.step();
            }
            self.collect();
        }
        while !self.mails.is_empty() {
            self.receive();
        }
        for (mail, room, receive) in core::mem::take(&mut self.receives) {
            self.job.complete(mail.ends.1, receive);
            self.job.complete(mail.ends.0, mail.send);
            assert_eq!(bytes_of(&room), bytes_of(&mail.body));
        }
        for step in &self.steps {
            assert!(self.job.run(|job| job.is_over(&step.begun)), "it hangs");
        }
        self.collect();
        self.job.drain(&[]);
        for (at, window) in self.windows.iter().enumerate() {
            let found = self.job.window(at);
            assert_eq!(to_number(&found), self.sums[at]);
            assert!(found[8..] == window[8..], "the window of process {at}");
            let heads = &self.job.memories[at].lock().heads;
            for from in (0..self.windows.len() as u32).map(PeerId) {
                let numbers = heads.iter().filter(|head| head.0 == from);
                assert!(numbers.is_sorted(), "they stay in order");
            }
        }
    }
}

#[test]
fn a_random_program_leaves_in_the_windows_what_it_must() {
    for seed in 1..=24 {
        Program::new(seed).run(300);
    }
}
