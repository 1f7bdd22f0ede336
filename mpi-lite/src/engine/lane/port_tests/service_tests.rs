//! A service beside a window of the same communicator: a lock that process 0 grants. A grant may
//! come long after the head that asks for it, as the answer to what another process sends.

use std::collections::VecDeque;

use super::*;

const LOCKS: Context = Context::WORLD.service();

/// Asks for the lock.
const TAKE: u8 = 0;
/// Gives it back.
const GIVE: u8 = 1;
/// It is granted.
const GRANT: u8 = 2;

#[derive(Debug, Default)]
struct Lock {
    /// The one that has it, and those that wait for it.
    queue: VecDeque<(PeerId, u32)>,
    /// What this process waits for.
    asked: BTreeMap<u32, Request>,
}

impl Lock {
    fn grant(&self, effects: &mut Effects) {
        if let Some(&(to, number)) = self.queue.front() {
            effects.send_head(to, number, vec![GRANT]);
        }
    }

    fn drop_first(&mut self, effects: &mut Effects) {
        self.queue.pop_front();
        self.grant(effects);
    }
}

#[derive(Debug)]
struct LockService(Arc<Mutex<Lock>>);

impl Handler for LockService {
    fn head(&mut self, head: &Head, effects: &mut Effects) -> Option<Area> {
        let lock = &mut *self.0.lock();
        match *head.bytes() {
            [TAKE] => {
                lock.queue.push_back((head.from(), head.number()));
                if lock.queue.len() == 1 {
                    lock.grant(effects);
                }
            }
            [GIVE] => {
                assert_eq!(lock.queue[0].0, head.from(), "it has no lock");
                lock.drop_first(effects);
            }
            [GRANT] => {
                let request = lock.asked.remove(&head.number()).unwrap();
                effects.finish(request, None);
            }
            _ => panic!("{head:?}"),
        }
        None
    }

    fn landed(&mut self, from: PeerId, number: u32, _: u64, _: &mut Effects) {
        panic!("{from:?} has announced no body: {number}");
    }

    fn sent(&mut self, to: PeerId, number: u32, _: &mut Effects) {
        panic!("{to:?} gets no body: {number}");
    }

    fn lost(&mut self, peer: PeerId, effects: &mut Effects) {
        let lock = &mut *self.0.lock();
        let had_it = lock.queue.front().is_some_and(|first| first.0 == peer);
        lock.queue.retain(|(from, _)| *from != peer);
        if had_it {
            lock.grant(effects);
        }
        if peer == PeerId(0) {
            for request in std::mem::take(&mut lock.asked).into_values() {
                effects.finish(request, Some(lost(peer)));
            }
        }
    }
}

/// The lock, and the ports of all processes for it.
struct Locks {
    locks: Vec<Arc<Mutex<Lock>>>,
    ports: Vec<OpenPort>,
}

impl Locks {
    fn open(job: &mut Job) -> Self {
        let locks: Vec<_> = job.lanes.iter().map(|_| Arc::default()).collect();
        let open = |(lane, lock): (&mut Lane, &Arc<_>)| {
            let service = LockService(Arc::clone(lock));
            lane.open_port(LOCKS, Port::Service(Box::new(service)))
        };
        let ports = job.lanes.iter_mut().zip(&locks).map(open).collect();
        Self { locks, ports }
    }

    fn take(&self, job: &mut Job, at: usize) -> Request {
        job.number += 1;
        let request = job.lanes[at].open_operation(LOCKS);
        self.locks[at].lock().asked.insert(job.number, request);
        Self::tell(job, at, TAKE);
        request
    }

    /// Its number is that of the last operation: nobody answers what is given.
    fn tell(job: &mut Job, at: usize, what: u8) {
        let name = (PeerId(0), LOCKS, job.number);
        job.lanes[at]
            .begin_operation(name, vec![what], None)
            .unwrap();
    }

    fn close(self, job: &mut Job) {
        drop(self.ports);
        job.drain(&[]);
    }
}

/// What a process is at that adds one to a number in the window of process 1.
enum Stage {
    Asks(Request),
    Reads(Begun),
    Writes(Begun),
}

/// The number is read and written, which is safe under the lock alone.
#[test]
fn a_service_grants_a_lock_to_one_process_after_the_other() {
    const ROUNDS: u64 = 10;
    for faults in [Faults::none(), bad()] {
        let mut job = Job::tiny(4, faults);
        let locks = Locks::open(&mut job);
        let mut stages: Vec<_> = (0..4)
            .map(|at| Some(Stage::Asks(locks.take(&mut job, at))))
            .collect();
        let mut rounds = [0; 4];
        let mut is_idle = false;
        while stages.iter().any(Option::is_some) {
            let mut has_moved = false;
            for at in 0..4 {
                let Some(stage) = stages[at].take() else {
                    continue;
                };
                let request = match &stage {
                    Stage::Asks(request) => *request,
                    Stage::Reads(begun) | Stage::Writes(begun) => begun.request,
                };
                if job.lanes[at].peek(Some(request)).unwrap().is_none() {
                    stages[at] = Some(stage);
                    continue;
                }
                has_moved = true;
                stages[at] = match stage {
                    Stage::Asks(request) => {
                        job.complete(at, request);
                        Some(Stage::Reads(job.begin(Kind::Get, (at, 1), 0, &[0; 8])))
                    }
                    Stage::Reads(get) => {
                        let old = to_number(&job.end(&get).unwrap());
                        Some(Stage::Writes(job.put((at, 1), 0, &from_number(old + 1))))
                    }
                    Stage::Writes(put) => {
                        job.end(&put).unwrap();
                        Locks::tell(&mut job, at, GIVE);
                        rounds[at] += 1;
                        let goes_on = rounds[at] < ROUNDS;
                        goes_on.then(|| Stage::Asks(locks.take(&mut job, at)))
                    }
                };
            }
            assert!(has_moved || !is_idle, "nobody has the lock");
            is_idle = !job.step() && !has_moved;
        }
        assert_eq!(to_number(&job.window(1)), 4 * ROUNDS);
        assert!(locks.locks[0].lock().queue.len() <= 1);
        locks.close(&mut job);
    }
}

#[test]
fn the_lock_of_a_process_that_is_lost_goes_to_the_next() {
    let mut job = Job::tiny(3, bad());
    let locks = Locks::open(&mut job);
    let first = locks.take(&mut job, 2);
    job.complete(2, first);
    let next = locks.take(&mut job, 1);
    assert!(job.run(|_| locks.locks[0].lock().queue.len() == 2));
    for (one, other) in [(2, 0), (0, 2), (2, 1), (1, 2)] {
        job.air().cut(PeerId(one), PeerId(other), Instant(u64::MAX));
    }
    // A peer is found to be lost by what is sent to it.
    for at in [0, 1] {
        let put = job.put((at, 2), 0, &[1; 1000]);
        assert!(matches!(
            job.end(&put).unwrap_err().cause(),
            Cause::Lost { rank: 2, .. }
        ));
    }
    job.complete(1, next);
    Locks::tell(&mut job, 1, GIVE);
    assert!(job.run(|_| locks.locks[0].lock().queue.is_empty()));
    job.drain(&[2]);
}
