//! Ranks of a node that gather in any order, in many communicators, and not at the same speed.

use super::tests::{
    allgather, allreduce, alltoall, bcast, exscan, gather, on_one_node, reduce, reduce_scatter,
    scan, scatter,
};
use super::*;
use crate::comm::Communicator;
use crate::data::{Area, Basic, Buffer, Datatype, Op, UserOp};
use crate::ids::{Dest, Mode, PeerId, Source, TagSelector};

/// Numbers that look random: the same for the same seed.
struct Dice(u64);

impl Dice {
    fn of(seed: u64, stream: u64) -> Self {
        let mut dice = Self((seed << 16 | stream).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        dice.roll(1);
        dice
    }

    fn roll(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 20) % below
    }
}

/// Composition of functions `x -> a * x + b` modulo 2^32: associative, and the order matters.
fn composition() -> Op {
    let function = |left: &[u8], inout: &mut [u8], count: u64, _: &Datatype| {
        let load =
            |bytes: &[u8], at: usize| u32::from_ne_bytes(bytes[at * 4..][..4].try_into().unwrap());
        for at in (0..count as usize).map(|index| index * 2) {
            let (a, b) = (load(left, at), load(left, at + 1));
            let (c, d) = (load(inout, at), load(inout, at + 1));
            let both = [a.wrapping_mul(c), a.wrapping_mul(d).wrapping_add(b)];
            for (place, word) in inout[at * 4..].chunks_exact_mut(4).zip(both) {
                place.copy_from_slice(&word.to_ne_bytes());
            }
        }
    };
    Op::User(UserOp::on_slices(function, false))
}

fn compose(left: &[u32], right: &[u32]) -> Vec<u32> {
    let pairs = left.chunks_exact(2).zip(right.chunks_exact(2));
    pairs
        .flat_map(|(left, right)| {
            let (a, b) = (left[0], left[1]);
            [
                a.wrapping_mul(right[0]),
                a.wrapping_mul(right[1]).wrapping_add(b),
            ]
        })
        .collect()
}

/// What the process of `rank` in the world brings in `step`.
fn brought(rank: u32, step: usize, len: usize) -> Vec<u32> {
    let word = |at: usize| (rank + 3) * 2_654_435 + step as u32 * 97 + at as u32 * 31;
    (0..len * 2).map(word).collect()
}

fn bytes_of(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

fn pairs(bytes: &mut [u8]) -> Buffer {
    let pair = Datatype::Basic(Basic::Unsigned).contiguous(2).unwrap();
    let all = Buffer::of_bytes(bytes);
    Buffer::at(all.origin(), bytes.len() as u64 / 8, pair)
}

/// One rank of a random program: all ranks roll the same dice, but for the pauses.
struct Walker {
    steps: Dice,
    pauses: Dice,
    /// Communicators by slot: all ranks have one in each, but not all the same.
    slots: Vec<Communicator>,
    me: u32,
    step: usize,
}

impl Walker {
    fn new(world: Communicator, seed: u64) -> Self {
        let me = world.rank();
        Self {
            steps: Dice::of(seed, 0),
            pauses: Dice::of(seed, u64::from(me) + 1),
            slots: vec![world],
            me,
            step: 0,
        }
    }

    /// Gives way once, and computes for a while. To give way costs a whole time slice for each
    /// other process that computes, so that more of it takes minutes on a busy machine.
    fn pause(&mut self) {
        if self.pauses.roll(4) == 0 {
            std::thread::yield_now();
            for _ in 0..100 * self.pauses.roll(40) {
                core::hint::spin_loop();
            }
        }
    }

    fn walk(&mut self) {
        self.step += 1;
        self.pause();
        let slot = self.steps.roll(self.slots.len() as u64) as usize;
        let comm = self.slots[slot].clone();
        let root = (self.steps.roll(1 << 20) % u64::from(comm.size())) as u32;
        // A line, a payload, and pieces.
        let longest = [1, 6, 7, 500, 700, 20_000][self.steps.roll(6) as usize];
        let len = self.steps.roll(longest + 1) as usize;
        match self.steps.roll(18) {
            0 | 1 => comm.run(&Barrier).unwrap(),
            2 | 3 => self.allreduce(&comm, len),
            4 | 5 => self.bcast(&comm, root, len),
            6 | 7 => self.reduce(&comm, root, len),
            8 => self.pass_around(&comm, len),
            9 => self.allgather(&comm, len),
            10 => self.alltoall(&comm, len),
            11 => self.alltoallw(&comm, len),
            12 => self.scan(&comm, len),
            13 => self.exscan(&comm, len),
            14 => self.gather(&comm, root, len),
            15 => self.scatter(&comm, root, len),
            16 => self.reduce_scatter(&comm, len),
            _ => self.renew(&comm),
        }
    }

    fn expected(&self, comm: &Communicator, len: usize) -> Vec<u32> {
        self.expected_of(comm, comm.size(), len).unwrap()
    }

    /// What the lowest `ranks` ranks of `comm` bring, reduced.
    fn expected_of(&self, comm: &Communicator, ranks: u32, len: usize) -> Option<Vec<u32>> {
        let lowest = comm.group().members()[..ranks as usize].iter();
        lowest
            .map(|&peer| brought(peer.0, self.step, len))
            .reduce(|left, right| compose(&left, &right))
    }

    fn scan(&self, comm: &Communicator, len: usize) {
        let mut own = bytes_of(&brought(self.me, self.step, len));
        let own = pairs(&mut own);
        comm.run(&scan(Input::InPlace, &own, &composition()))
            .unwrap();
        let expected = self.expected_of(comm, comm.rank() + 1, len);
        assert_eq!(own.pack(), bytes_of(&expected.unwrap()));
    }

    fn exscan(&self, comm: &Communicator, len: usize) {
        let mut own = bytes_of(&brought(self.me, self.step, len));
        let mut room = own.clone();
        let result = pairs(&mut room);
        let own = Input::Buffer(pairs(&mut own));
        comm.run(&exscan(own, &result, &composition())).unwrap();
        let expected = self.expected_of(comm, comm.rank(), len);
        let untouched = || brought(self.me, self.step, len);
        assert_eq!(result.pack(), bytes_of(&expected.unwrap_or_else(untouched)));
    }

    fn allreduce(&self, comm: &Communicator, len: usize) {
        let mut own = bytes_of(&brought(self.me, self.step, len));
        let own = pairs(&mut own);
        comm.run(&allreduce(Input::InPlace, &own, &composition()))
            .unwrap();
        assert_eq!(own.pack(), bytes_of(&self.expected(comm, len)));
    }

    fn reduce(&self, comm: &Communicator, root: u32, len: usize) {
        let mut own = bytes_of(&brought(self.me, self.step, len));
        let mut room = own.clone();
        let result = pairs(&mut room);
        let is_root = comm.rank() == root;
        let own = Input::Buffer(pairs(&mut own));
        let receive = is_root.then_some(&result);
        comm.run(&reduce(own, receive, &composition(), root as i32))
            .unwrap();
        assert!(!is_root || result.pack() == bytes_of(&self.expected(comm, len)));
    }

    fn bcast(&self, comm: &Communicator, root: u32, len: usize) {
        let from = comm.group().members()[root as usize].0;
        let mut room = bytes_of(&brought(self.me, self.step, len));
        comm.run(&bcast(&Buffer::of_bytes(&mut room), root as i32))
            .unwrap();
        assert_eq!(room, bytes_of(&brought(from, self.step, len)));
    }

    fn allgather(&self, comm: &Communicator, len: usize) {
        let mut own = bytes_of(&brought(self.me, self.step, len));
        let mut room = vec![0; own.len() * comm.size() as usize];
        let place = Buffer::of_bytes(&mut room).part(0, own.len() as u64);
        let own = Input::Buffer(Buffer::of_bytes(&mut own));
        comm.run(&allgather(own, &place)).unwrap();
        let all = comm.group().members().iter();
        let expected = all.flat_map(|&peer| bytes_of(&brought(peer.0, self.step, len)));
        assert_eq!(room, expected.collect::<Vec<_>>());
    }

    fn gather(&self, comm: &Communicator, root: u32, len: usize) {
        let mut own = bytes_of(&brought(self.me, self.step, len));
        let all = comm.group().members().iter();
        let expected: Vec<u8> = all
            .flat_map(|&peer| bytes_of(&brought(peer.0, self.step, len)))
            .collect();
        let mut room = vec![0; expected.len()];
        let place = pairs(&mut room).part(0, len as u64);
        let is_root = comm.rank() == root;
        let own = Input::Buffer(pairs(&mut own));
        comm.run(&gather(own, is_root.then_some(&place), root as i32))
            .unwrap();
        assert!(!is_root || room == expected);
    }

    fn scatter(&self, comm: &Communicator, root: u32, len: usize) {
        let from = comm.group().members()[root as usize].0;
        let all = 0..comm.size();
        let block = |rank| bytes_of(&brought(from * 30 + rank, self.step, len));
        let mut blocks: Vec<u8> = all.flat_map(block).collect();
        let mut room = vec![0; len * 8];
        let send = pairs(&mut blocks).part(0, len as u64);
        let is_root = comm.rank() == root;
        let receive = Input::Buffer(pairs(&mut room));
        comm.run(&scatter(is_root.then_some(&send), receive, root as i32))
            .unwrap();
        assert_eq!(room, block(comm.rank()));
    }

    /// Parts of different lengths, some of them empty.
    fn reduce_scatter(&self, comm: &Communicator, len: usize) {
        let size = comm.size() as usize;
        let count = |rank: usize| (rank * 5 + self.step) % 4 * len / size / 3;
        let counts: Vec<u64> = (0..size).map(|rank| count(rank) as u64).collect();
        let ends = |rank: usize| counts[..rank].iter().sum::<u64>() as usize;
        let mut own = bytes_of(&brought(self.me, self.step, ends(size)));
        let rank = comm.rank() as usize;
        let (mut given, mut room) = (own.clone(), vec![0; count(rank) * 8]);
        let is_in_place = self.step.is_multiple_of(2);
        let (send, place) = match is_in_place {
            true => (Input::InPlace, pairs(&mut own)),
            false => (Input::Buffer(pairs(&mut given)), pairs(&mut room)),
        };
        comm.run(&reduce_scatter(send, &place, &counts, &composition()))
            .unwrap();
        let result = if is_in_place { &own } else { &room };
        let expected = bytes_of(&self.expected(comm, ends(size)));
        let part = &expected[8 * ends(rank)..8 * ends(rank + 1)];
        assert!(result[..part.len()] == *part);
    }

    /// What the process of rank `from` sends to that of rank `to`, ranks in the world.
    fn letter(&self, (from, to): (u32, u32), len: usize) -> Vec<u8> {
        bytes_of(&brought(from * 30 + to, self.step, len))
    }

    fn alltoall(&self, comm: &Communicator, len: usize) {
        let members = comm.group().members();
        let letters = |way: &dyn Fn(u32) -> (u32, u32)| {
            let all = members.iter().map(|&other| self.letter(way(other.0), len));
            all.collect::<Vec<_>>().concat()
        };
        let mut room = letters(&|other| (self.me, other));
        let block = room.len() as u64 / u64::from(comm.size());
        let place = Buffer::of_bytes(&mut room).part(0, block);
        comm.run(&alltoall(Input::InPlace, &place)).unwrap();
        assert_eq!(room, letters(&|other| (other, self.me)));
    }

    /// Each pair has a length of its own, a few of which are longer than an exchange buffer.
    fn alltoallw(&self, comm: &Communicator, len: usize) {
        let members = comm.group().members();
        let length = |from: u32, to: u32| match (from * 3 + to * 5 + self.step as u32) % 29 {
            0 if len > 600 => 9000,
            other => len * other as usize / 29,
        };
        let letters = |way: &dyn Fn(u32) -> (u32, u32)| -> Vec<Vec<u8>> {
            let letter = |&PeerId(other): &PeerId| {
                let (from, to) = way(other);
                self.letter((from, to), length(from, to))
            };
            members.iter().map(letter).collect()
        };
        let expected = letters(&|other| (other, self.me));
        let mut own = letters(&|other| (self.me, other));
        let mut room: Vec<_> = expected
            .iter()
            .map(|letter| vec![0; letter.len()])
            .collect();
        let buffers = |all: &mut [Vec<u8>]| -> Vec<Buffer> {
            all.iter_mut().map(|one| Buffer::of_bytes(one)).collect()
        };
        comm.run(&Alltoallw {
            send: Some(buffers(&mut own)),
            receive: buffers(&mut room),
        })
        .unwrap();
        assert_eq!(room, expected);
    }

    /// A message around the communicator, with a barrier before it is waited for.
    fn pass_around(&self, comm: &Communicator, len: usize) {
        let (rank, size) = (comm.rank(), comm.size());
        let mut own = bytes_of(&brought(self.me, self.step, len));
        let mut room = vec![0; own.len()];
        let before = (rank + size - 1) % size;
        let source = Source::Rank(before as i32);
        let to = Dest::Rank(((rank + 1) % size) as i32);
        let receive = comm.irecv(Area::of_bytes(&mut room), source, TagSelector::Tag(3));
        let send = comm.isend(Area::of_bytes(&mut own), to, 3, Mode::Standard);
        comm.run(&Barrier).unwrap();
        for request in [receive, send] {
            comm.engine().wait(Some(request.unwrap())).unwrap();
        }
        let from = comm.group().members()[before as usize].0;
        assert_eq!(room, bytes_of(&brought(from, self.step, len)));
    }

    /// A communicator is made, another one freed.
    fn renew(&mut self, comm: &Communicator) {
        let made = match self.steps.roll(3) {
            0 => comm.dup().unwrap(),
            _ => {
                let colors = 1 + self.steps.roll(3) as u32;
                let color = Some((self.me * 7 + self.step as u32) % colors);
                comm.split(color, -(self.me as i32)).unwrap().unwrap()
            }
        };
        match self.steps.roll(6) as usize {
            slot if (1..self.slots.len()).contains(&slot) => self.slots[slot] = made,
            _ if self.slots.len() < 6 => self.slots.push(made),
            _ => {}
        }
    }
}

#[test]
fn collectives_of_many_communicators_do_not_meet_each_other() {
    const STEPS: usize = 600;
    for seed in 1..=24 {
        let size = 2 + seed as usize % 5;
        on_one_node(size, seed % 2 == 0, &|world| {
            println!("seed {seed}, {size} ranks");
            let mut walker = Walker::new(world, seed);
            (0..STEPS).for_each(|_| walker.walk());
        });
    }
}

#[test]
fn places_are_used_again_but_not_before_all_have_left_them() {
    for is_oversubscribed in [false, true] {
        on_one_node(3, is_oversubscribed, &|world| {
            let mut pauses = Dice::of(9, u64::from(world.rank()));
            for round in 0_u32..2000 {
                let comm = world.dup().unwrap();
                assert!(comm.at_site().is_some(), "round {round}: no place is left");
                // A late member has to find what the root left behind.
                if comm.rank() != 0 && pauses.roll(3) == 0 {
                    std::thread::yield_now();
                }
                let mut word = [round as u8, comm.rank() as u8];
                comm.run(&bcast(&Buffer::of_bytes(&mut word), 0)).unwrap();
                assert_eq!(word, [round as u8, 0]);
                drop(comm);
                let pair = world.split(Some(world.rank().min(1)), 0).unwrap().unwrap();
                pair.run(&Barrier).unwrap();
            }
        });
    }
}

#[test]
fn a_communicator_without_a_place_uses_messages() {
    on_one_node(2, false, &|world| {
        let all: Vec<_> = (0..100).map(|_| world.dup().unwrap()).collect();
        let met = all.iter().filter(|comm| comm.at_site().is_some()).count();
        assert_eq!(met, 63);
        for comm in &all {
            comm.run(&Barrier).unwrap();
        }
        drop(all);
        // Both have left: the first one to come may not know it yet.
        world.run(&Barrier).unwrap();
        assert!(world.dup().unwrap().at_site().is_some());
    });
}

#[test]
fn a_root_does_not_write_over_what_others_have_still_to_read() {
    for is_oversubscribed in [false, true] {
        on_one_node(3, is_oversubscribed, &|world| {
            let mut pauses = Dice::of(5, u64::from(world.rank()));
            for round in 0_u32..3000 {
                for _ in 0..pauses.roll(3) * pauses.roll(2) {
                    std::thread::yield_now();
                }
                let len = if round % 7 == 0 { 3000 } else { 8 };
                let is_root = world.rank() == round / 50 % 3;
                let mut room = vec![if is_root { round as u8 } else { 0 }; len];
                let root = (round / 50 % 3) as i32;
                world
                    .run(&bcast(&Buffer::of_bytes(&mut room), root))
                    .unwrap();
                assert!(room.iter().all(|&byte| byte == round as u8));
            }
        });
    }
}

#[test]
fn long_data_with_gaps_go_in_pieces() {
    const COUNT: usize = 40_003;
    let gaps = Datatype::Basic(Basic::Int).resized(-4, 12).unwrap();
    for (size, is_oversubscribed) in [(2, false), (3, true), (5, false), (5, true)] {
        on_one_node(size, is_oversubscribed, &|world| {
            let me = world.rank() as usize;
            let block = |from: usize, to: usize| -> Vec<u8> {
                let words = (0..COUNT).map(|at| (from * 10_000_000 + to * 100_000 + at) as u32);
                words.flat_map(u32::to_ne_bytes).collect()
            };
            let blocks = |way: &dyn Fn(usize) -> (usize, usize)| -> Vec<u8> {
                let each = (0..size).map(|other| {
                    let (from, to) = way(other);
                    block(from, to)
                });
                each.collect::<Vec<_>>().concat()
            };
            let room = |bytes: &[u8]| {
                let buffer = Buffer::scratch(bytes.len() as u64 / 4, &gaps).unwrap();
                buffer.unpack(bytes);
                buffer
            };
            let of_one = |buffer: &Buffer| buffer.part(0, COUNT as u64);
            let place = room(&block(me, 7));
            world.run(&bcast(&place, size as i32 - 1)).unwrap();
            assert_eq!(place.pack(), block(size - 1, 7));
            let own = room(&blocks(&|other| (me, other)));
            let all = room(&vec![0; size * COUNT * 4]);
            let send = Input::Buffer(of_one(&own));
            world.run(&alltoall(send, &of_one(&all))).unwrap();
            assert_eq!(all.pack(), blocks(&|other| (other, me)));
            world.run(&alltoall(Input::InPlace, &of_one(&own))).unwrap();
            assert_eq!(own.pack(), blocks(&|other| (other, me)), "in place");
            let mine = Input::Buffer(room(&block(me, 3)));
            world.run(&allgather(mine, &of_one(&all))).unwrap();
            assert_eq!(all.pack(), blocks(&|other| (other, 3)));
        });
    }
}

/// The root has 150,000 bytes.
/// Blocks of 4,000 bytes of 20 ranks are more than an exchange buffer holds.
#[test]
fn what_fits_no_buffer_goes_in_several_epochs() {
    const SIZE: usize = 20;
    const COUNT: usize = 1000;
    let gaps = Datatype::Basic(Basic::Int).resized(-4, 12).unwrap();
    for datatype in [Datatype::Basic(Basic::Int), gaps] {
        on_one_node(SIZE, true, &|world| {
            let me = world.rank() as usize;
            let letters = |way: &dyn Fn(usize) -> (usize, usize)| -> Vec<u8> {
                let words = (0..SIZE).flat_map(|other| {
                    let (from, to) = way(other);
                    (0..COUNT).map(move |at| (from * 10_000_000 + to * 100_000 + at) as u32)
                });
                words.flat_map(u32::to_ne_bytes).collect()
            };
            let room = |bytes: &[u8]| {
                let count = bytes.len() as u64 / 4;
                let buffer = Buffer::scratch(count, &datatype).unwrap();
                buffer.unpack(bytes);
                buffer
            };
            let of_one = |buffer: &Buffer| buffer.part(0, COUNT as u64);
            let own = room(&letters(&|other| (me, other)));
            let all = room(&vec![0; SIZE * COUNT * 4]);
            let send = Input::Buffer(of_one(&own));
            let before = world.at_site().unwrap().site().site_id().last;
            world.run(&alltoall(send.clone(), &of_one(&all))).unwrap();
            let epochs = world.at_site().unwrap().site().site_id().last - before;
            assert_eq!(epochs, 2, "80,000 bytes in buffers of 65,536");
            assert_eq!(all.pack(), letters(&|other| (other, me)));
            world.run(&alltoall(Input::InPlace, &of_one(&own))).unwrap();
            assert_eq!(own.pack(), letters(&|other| (other, me)), "in place");
            let mine = own.part((me * COUNT) as i64, COUNT as u64);
            world
                .run(&allgather(Input::Buffer(mine), &of_one(&all)))
                .unwrap();
            assert_eq!(all.pack(), letters(&|other| (other, other)));
        });
    }
}

/// The blocks of each sender fit its send buffer, but all those to one receiver do not fit.
#[test]
fn blocks_that_fit_no_buffer_go_as_messages() {
    on_one_node(20, true, &|world| {
        let (me, size) = (world.rank() as usize, world.size() as usize);
        for root in [0, size - 1] {
            let length = |to: usize| if to == root { 4000 } else { 3 };
            let mut own: Vec<_> = (0..size).map(|to| vec![me as u8; length(to)]).collect();
            let mut room = vec![vec![0; length(me)]; size];
            let buffers = |all: &mut [Vec<u8>]| -> Vec<Buffer> {
                all.iter_mut().map(|one| Buffer::of_bytes(one)).collect()
            };
            let (send, receive) = (buffers(&mut own), buffers(&mut room));
            world
                .run(&Alltoallw {
                    send: Some(send),
                    receive,
                })
                .unwrap();
            let is_right =
                |(from, block): (usize, &Vec<u8>)| block.iter().all(|&it| it == from as u8);
            assert!(room.iter().enumerate().all(is_right));
        }
    });
}

/// A piece has an element of each rank's part: two of these do not fit it, one does.
#[test]
fn elements_of_which_few_fit_a_piece_are_reduced_and_scattered() {
    let last = Op::User(UserOp::on_slices(|_, _, _, _| (), false));
    for is_oversubscribed in [false, true] {
        on_one_node(2, is_oversubscribed, &|world| {
            let datatype = Datatype::Basic(Basic::Byte).contiguous(40_000).unwrap();
            let elements = |bytes: &mut [u8], count| {
                let all = Buffer::of_bytes(bytes);
                Buffer::at(all.origin(), count, datatype.clone())
            };
            let mut given = vec![world.rank() as u8; 80_000];
            let mut room = vec![9; 40_000];
            let own = Input::Buffer(elements(&mut given, 2));
            let place = elements(&mut room, 1);
            world
                .run(&reduce_scatter(own, &place, &[1, 1], &last))
                .unwrap();
            assert!(
                room.iter().all(|&byte| byte == 1),
                "the last rank's elements"
            );
        });
    }
}
