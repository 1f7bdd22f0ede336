//! What random accesses do to a file, told byte by byte.

use std::collections::BTreeSet;

use crate::coll::tests::Dice;
use crate::data::{Basic, Datatype};
use crate::io::Direction;

/// A view: blocks of etypes in a tile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ViewPlan {
    pub(super) displacement: u64,
    /// Bytes of an etype.
    pub(super) unit: u64,
    /// Etypes, and where in the tile, in etypes.
    blocks: Vec<(u64, i64)>,
    /// Etypes from tile to tile.
    extent: u64,
}

impl ViewPlan {
    fn bytes() -> Self {
        Self {
            displacement: 0,
            unit: 1,
            blocks: vec![(1, 0)],
            extent: 1,
        }
    }

    /// The view of process `rank` of `size`: no two of them have a byte in common if their
    /// displacement and unit are the same.
    pub(super) fn random(dice: &mut Dice, rank: u64, size: u64) -> Self {
        let unit = 1 << dice.roll(3);
        let displacement = dice.roll(3) * 5;
        // The same choices for all processes; the rank only says which block is its own.
        let (rounds, block, gap) = (1 + dice.roll(3), 1 + dice.roll(6), dice.roll(4));
        let each = block + gap;
        let is_uneven = dice.roll(3) == 0;
        let blocks = (0..rounds).map(|round| {
            let len = if is_uneven {
                1 + (round + block) % each
            } else {
                block
            };
            (len.min(each), ((round * size + rank) * each) as i64)
        });
        Self {
            displacement,
            unit,
            blocks: blocks.collect(),
            extent: rounds * size * each + dice.roll(3) * gap,
        }
    }

    pub(super) fn etype(&self) -> Datatype {
        let basic = match self.unit {
            1 => Basic::Byte,
            2 => Basic::Short,
            _ => Basic::Int,
        };
        basic.into()
    }

    pub(super) fn filetype(&self) -> Datatype {
        let listed = self.etype().indexed(&self.blocks).unwrap();
        let extent = (self.extent * self.unit) as i64;
        let filetype = listed.resized(0, extent).unwrap();
        filetype.commit();
        filetype
    }

    /// The places of the first data bytes.
    pub(super) fn places(&self, count: usize) -> Vec<u64> {
        let tiles = 0..;
        let places = tiles.flat_map(|tile| {
            self.blocks.iter().flat_map(move |&(len, at)| {
                let first = tile * self.extent + at as u64;
                let first = self.displacement + first * self.unit;
                first..first + len * self.unit
            })
        });
        places.take(count).collect()
    }
}

/// Which file pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Where {
    At,
    Individual,
    Shared,
}

/// What a process accesses, in etypes.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) offset: u64,
    pub(super) units: u64,
}

#[derive(Clone, Debug)]
pub(super) enum Act {
    /// By rank.
    View(Vec<ViewPlan>),
    Seek(Vec<u64>),
    SeekShared(u64),
    Size(u64),
    Atomic(bool),
    /// A collective access, by rank.
    All(Direction, Where, Vec<Part>),
    /// An access of this process.
    One(usize, Direction, Where, Part),
}

#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) number: u64,
    pub(super) act: Act,
    /// The memory of the program has gaps.
    pub(super) has_gaps: bool,
    /// Blocking, split or beside the program.
    pub(super) way: u64,
}

/// The steps of a seed: the same in all processes.
pub(super) fn plan(seed: u64, size: usize) -> Vec<Step> {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let steps = 3 + dice.roll(6);
    (0..steps)
        .map(|number| Step {
            number,
            act: act(&mut dice, size),
            has_gaps: dice.roll(3) == 0,
            way: dice.roll(3),
        })
        .collect()
}

fn act(dice: &mut Dice, size: usize) -> Act {
    let direction = match dice.roll(5) {
        0 | 1 => Direction::Read,
        _ => Direction::Write,
    };
    let place = match dice.roll(4) {
        0 | 1 => Where::At,
        2 => Where::Individual,
        _ => Where::Shared,
    };
    match dice.roll(12) {
        0..=2 => {
            let choices = dice.roll(1 << 20);
            let is_common = dice.roll(3) == 0;
            let view = |rank: usize| {
                let rank = if is_common { 0 } else { rank as u64 };
                ViewPlan::random(&mut Dice(choices | 1), rank, size as u64)
            };
            Act::View((0..size).map(view).collect())
        }
        3 => Act::Seek((0..size).map(|_| dice.roll(30)).collect()),
        4 if dice.roll(2) == 0 => Act::SeekShared(dice.roll(30)),
        4 => Act::Atomic(dice.roll(2) == 0),
        5 if dice.roll(3) == 0 => Act::Size(dice.roll(200)),
        5..=8 => {
            let is_even = dice.roll(2) == 0;
            let first = part(dice);
            let parts = (0..size).map(|_| match is_even {
                true => first.clone(),
                false => part(dice),
            });
            Act::All(direction, place, parts.collect())
        }
        _ => Act::One(
            dice.roll(size as u64) as usize,
            direction,
            place,
            part(dice),
        ),
    }
}

fn part(dice: &mut Dice) -> Part {
    Part {
        offset: dice.roll(25),
        units: dice.roll(30),
    }
}

/// What a process writes in a step.
pub(super) fn content(number: u64, rank: usize, len: usize) -> Vec<u8> {
    let seed = number * 37 + rank as u64 * 101 + 1;
    (0..len as u64)
        .map(|at| (seed + at * 7 + (at >> 3)) as u8 | 1)
        .collect()
}

/// The file, and what each process knows of it.
pub(super) struct Model {
    bytes: Vec<u8>,
    views: Vec<ViewPlan>,
    pointers: Vec<u64>,
    shared: u64,
}

impl Model {
    pub(super) fn new(size: usize) -> Self {
        Self {
            bytes: Vec::new(),
            views: vec![ViewPlan::bytes(); size],
            pointers: vec![0; size],
            shared: 0,
        }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        self.bytes.clone()
    }

    pub(super) fn pointer(&self, rank: usize) -> u64 {
        self.pointers[rank]
    }

    pub(super) fn shared_pointer(&self) -> u64 {
        self.shared
    }

    pub(super) fn unit(&self, rank: usize) -> u64 {
        self.views[rank].unit
    }

    /// Returns true if the standard says what the step does.
    pub(super) fn is_defined(&self, step: &Step) -> bool {
        let is_common = self.views.iter().all(|view| *view == self.views[0]);
        match &step.act {
            Act::All(_, Where::Shared, _) | Act::One(_, _, Where::Shared, _) => is_common,
            Act::SeekShared(_) => is_common,
            Act::All(Direction::Write, ..) => {
                let mut seen = BTreeSet::new();
                let accesses = self.accesses(step).into_iter();
                accesses
                    .flat_map(|(_, _, places)| places)
                    .all(|place| seen.insert(place))
            }
            _ => true,
        }
    }

    /// The accesses of a step: rank, first etype, places of the bytes.
    fn accesses(&self, step: &Step) -> Vec<(usize, u64, Vec<u64>)> {
        let (place, parts): (Where, Vec<(usize, &Part)>) = match &step.act {
            Act::All(_, place, parts) => (*place, parts.iter().enumerate().collect()),
            Act::One(actor, _, place, part) => (*place, vec![(*actor, part)]),
            _ => return Vec::new(),
        };
        let mut shared = self.shared;
        let access = |(rank, part): (usize, &Part)| {
            let first = match place {
                Where::At => part.offset,
                Where::Individual => self.pointers[rank],
                Where::Shared => {
                    shared += part.units;
                    shared - part.units
                }
            };
            let view = &self.views[rank];
            let places = view.places(((first + part.units) * view.unit) as usize);
            (rank, first, places[(first * view.unit) as usize..].to_vec())
        };
        parts.into_iter().map(access).collect()
    }

    /// Carries a step out. Returns what process `own` reads.
    pub(super) fn apply(&mut self, step: &Step, own: usize) -> Option<Vec<u8>> {
        let accesses = self.accesses(step);
        match &step.act {
            Act::View(views) => {
                self.views.clone_from(views);
                self.pointers.fill(0);
                self.shared = 0;
            }
            Act::Seek(targets) => self.pointers.clone_from(targets),
            Act::SeekShared(target) => self.shared = *target,
            Act::Size(size) => self.bytes.resize(*size as usize, 0),
            Act::Atomic(_) => {}
            Act::All(direction, place, _) | Act::One(_, direction, place, _) => {
                let mut read = None;
                for (rank, first, places) in accesses {
                    let moved = match direction {
                        Direction::Write => {
                            self.write(&places, &content(step.number, rank, places.len()));
                            places.len()
                        }
                        Direction::Read => {
                            let found = self.read(&places);
                            let moved = found.len();
                            if rank == own {
                                read = Some(found);
                            }
                            moved
                        }
                    };
                    self.advance((rank, *place), first, (places.len(), moved), step);
                }
                return read;
            }
        }
        None
    }

    fn advance(
        &mut self,
        (rank, place): (usize, Where),
        first: u64,
        (asked, moved): (usize, usize),
        step: &Step,
    ) {
        let unit = self.views[rank].unit as usize;
        match place {
            Where::At => {}
            Where::Shared => self.shared += (asked / unit) as u64,
            Where::Individual => {
                // What goes on beside the program moves the pointer before the end is known.
                let goes_on = match step.act {
                    Act::All(..) => step.way == 2,
                    _ => step.way > 0,
                };
                let bytes = if goes_on { asked } else { moved };
                self.pointers[rank] = first + bytes.div_ceil(unit) as u64;
            }
        }
    }

    fn write(&mut self, places: &[u64], content: &[u8]) {
        for (place, byte) in places.iter().zip(content) {
            let place = *place as usize;
            if self.bytes.len() <= place {
                self.bytes.resize(place + 1, 0);
            }
            self.bytes[place] = *byte;
        }
    }

    fn read(&self, places: &[u64]) -> Vec<u8> {
        let bytes = places
            .iter()
            .map_while(|place| self.bytes.get(*place as usize).copied());
        bytes.collect()
    }
}
