//! Random accesses by several processes against a model of a file, on a file system that is short,
//! interrupts, and fails. `MPILITE_SEED=n` replays seed n alone.

mod memory;
mod model;

use std::sync::{Arc, Mutex, PoisonError};

use memory::{Faults, MemoryFile};
use model::{Act, Model, Step, plan};

use super::*;
use crate::coll::tests::Dice;
use crate::coll::{Barrier, tests::on_one_node};
use crate::comm::Communicator;
use crate::data::{Basic, Buffer, Datatype};
use crate::error::{Class, Result};

const SEEDS: u64 = 10_000;
/// Seeds that one set of processes plays.
const EACH: u64 = 250;

fn seeds() -> (u64, u64) {
    match std::env::var("MPILITE_SEED") {
        Ok(seed) => {
            let seed = seed.parse().unwrap();
            (seed, seed + 1)
        }
        Err(_) => (0, SEEDS),
    }
}

/// Tells the seed when its test fails.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("replay it with MPILITE_SEED={}", self.0);
        }
    }
}

/// Plays each seed in processes that share a file.
fn each_seed(play: impl Fn(u64, &Communicator, &Mutex<Option<Arc<MemoryFile>>>) + Sync) {
    let (first, end) = seeds();
    for start in (first..end).step_by(EACH as usize) {
        let size = 1 + (start / EACH % 4) as usize;
        // One place for the file of each seed: process 0 makes it.
        let place = Mutex::new(None);
        on_one_node(size, start / EACH % 2 == 1, &|world| {
            for seed in start..(start + EACH).min(end) {
                let _named = Named(seed);
                play(seed, &world, &place);
                world.run(&Barrier).unwrap();
            }
        });
    }
}

/// The file of a seed, opened by all.
fn open(
    world: &Communicator,
    place: &Mutex<Option<Arc<MemoryFile>>>,
    faults: Faults,
) -> (Arc<MemoryFile>, File) {
    if world.rank() == 0 {
        let file = Arc::new(MemoryFile::new(faults));
        *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
    }
    world.run(&Barrier).unwrap();
    let memory = place.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let memory = memory.unwrap();
    let mode = Mode {
        reads_and_writes: true,
        ..Mode::default()
    };
    let storage: Arc<dyn Storage> = Arc::<MemoryFile>::clone(&memory);
    let file = File::on(world, storage, mode);
    // Process 0 has set the shared pointer.
    world.run(&Barrier).unwrap();
    (memory, file)
}

/// Memory of a process for an access of `len` bytes, with gaps or without.
fn memory(len: usize, has_gaps: bool) -> Buffer {
    let byte = Datatype::from(Basic::Byte);
    match has_gaps && len > 0 {
        false => Buffer::zeroed(len).unwrap(),
        true => {
            let spread = byte.resized(0, 3).unwrap();
            Buffer::scratch(len as u64, &spread).unwrap()
        }
    }
}

/// Carries an access out in the way that the step says.
fn carry_out(file: &File, step: &Step, access: &Access) -> Result<u64> {
    let is_collective = matches!(step.act, Act::All(..));
    let engine = file.communicator().engine();
    match (is_collective, step.way) {
        (true, 0) => file.access_all(access),
        (true, 1) => {
            file.begin(access)?;
            file.end_split(access)
        }
        (true, _) if access.pointer == Pointer::Shared => file.access_all(access),
        (false, 0) => file.access(access),
        (is_collective, _) => {
            let request = match is_collective {
                true => file.start_all(access)?,
                false => file.start(access)?,
            };
            let ended = engine.wait(Some(request))?;
            ended.into_result().map(|status| status.bytes)
        }
    }
}

/// Plays one step in this process. Returns what was read, as far as it goes.
fn play(file: &File, step: &Step, rank: usize, model: &Model) -> Option<(Vec<u8>, Result<u64>)> {
    let (direction, place, parts) = match &step.act {
        Act::View(views) => {
            let view = &views[rank];
            let etype = view.etype();
            let types = (&etype, &view.filetype());
            let native = Representation::Native("native");
            file.set_view(Some(view.displacement), types, native)
                .unwrap();
            return None;
        }
        Act::Seek(targets) => {
            file.seek(targets[rank] as i64, Whence::Start).unwrap();
            return None;
        }
        Act::SeekShared(target) => {
            file.seek_shared(*target as i64, Whence::Start).unwrap();
            return None;
        }
        Act::Size(size) => {
            file.set_size(*size).unwrap();
            return None;
        }
        Act::Atomic(is_atomic) => {
            file.set_atomic(*is_atomic).unwrap();
            return None;
        }
        Act::All(direction, place, parts) => (*direction, *place, parts[rank].clone()),
        Act::One(actor, direction, place, part) => {
            if *actor != rank {
                return None;
            }
            (*direction, *place, part.clone())
        }
    };
    let len = part_len(&parts, model, rank);
    let memory = memory(len, step.has_gaps);
    if direction == Direction::Write {
        memory.unpack(&model::content(step.number, rank, len));
    }
    let place = match place {
        model::Where::At => Pointer::Explicit(parts.offset),
        model::Where::Individual => Pointer::Individual,
        model::Where::Shared => Pointer::Shared,
    };
    let access = Access {
        direction,
        pointer: place,
        memory: memory.clone(),
    };
    let ended = carry_out(file, step, &access);
    Some((memory.pack(), ended))
}

fn part_len(part: &model::Part, model: &Model, rank: usize) -> usize {
    (part.units * model.unit(rank)) as usize
}

#[test]
#[cfg_attr(miri, ignore = "it takes too long there")]
fn random_accesses_are_those_of_the_model_however_the_file_system_cuts_them() {
    each_seed(|seed, world, place| {
        let size = world.size() as usize;
        let faults = Faults {
            seed,
            is_short: seed % 3 > 0,
            interrupts: seed % 5 > 2,
            is_remote: seed % 7 == 0,
            has_no_locks: seed % 7 == 1,
            fails_at: None,
        };
        let (disk, file) = open(world, place, faults);
        let (mut model, rank) = (Model::new(size), world.rank() as usize);
        for step in plan(seed, size) {
            let needs_locks = matches!(step.act, Act::Atomic(_));
            if !model.is_defined(&step) || (needs_locks && faults.has_no_locks) {
                continue;
            }
            let seen = play(&file, &step, rank, &model);
            world.run(&Barrier).unwrap();
            let expected = model.apply(&step, rank);
            if let Some((bytes, ended)) = seen {
                let moved = ended.unwrap_or_else(|error| panic!("{step:?}: {error}"));
                if let Some(expected) = expected {
                    assert_eq!(moved, expected.len() as u64, "{step:?}");
                    assert_eq!(bytes[..expected.len()], expected, "{step:?}");
                }
            }
            assert_eq!(file.position().unwrap(), model.pointer(rank), "{step:?}");
            if rank == 0 {
                assert_eq!(disk.bytes(), model.bytes(), "after {step:?}");
                let shared = file.shared_position().unwrap();
                assert_eq!(shared, model.shared_pointer(), "{step:?}");
            }
            world.run(&Barrier).unwrap();
        }
        file.close().unwrap();
        assert_eq!(disk.locks(), 0, "a lock is left");
    });
}

#[test]
#[cfg_attr(miri, ignore = "it takes too long there")]
fn an_error_of_the_file_system_is_told_and_spoils_nothing_else() {
    each_seed(|seed, world, place| {
        let size = world.size() as usize;
        let faults = Faults {
            seed,
            is_short: seed % 2 > 0,
            interrupts: false,
            is_remote: false,
            has_no_locks: false,
            fails_at: Some(1 + seed % 40),
        };
        let (disk, file) = open(world, place, faults);
        let (mut model, rank) = (Model::new(size), world.rank() as usize);
        for step in plan(seed, size) {
            if !model.is_defined(&step) || matches!(step.act, Act::Size(_)) {
                continue;
            }
            let before = disk.bytes();
            world.run(&Barrier).unwrap();
            let seen = play(&file, &step, rank, &model);
            let failed = matches!(&seen, Some((_, Err(_))));
            if let Some((_, Err(error))) = &seen {
                assert!(
                    [Class::NoSpace, Class::Io].contains(&error.class()),
                    "{error}"
                );
            }
            world.run(&Barrier).unwrap();
            model.apply(&step, rank);
            if rank == 0 {
                // Each byte is the old one or the new one; a byte behind the old end may be 0.
                let (now, new) = (disk.bytes(), model.bytes());
                for (at, byte) in now.iter().enumerate() {
                    let old = before.get(at).copied().unwrap_or(0);
                    let fits = *byte == old || new.get(at) == Some(byte);
                    assert!(fits, "byte {at} after {step:?}");
                }
                let is_lost = now != new;
                let has_failed = disk.has_failed();
                assert!(!is_lost || has_failed, "{step:?}: wrong without an error");
            }
            let _ = failed;
            world.run(&Barrier).unwrap();
            if disk.has_failed() {
                break;
            }
        }
        file.close().unwrap();
        assert_eq!(disk.locks(), 0, "a lock is left");
    });
}

#[test]
fn a_failed_write_is_told_to_its_caller_whatever_it_was() {
    on_one_node(1, false, &|world| {
        for (errno, class) in [
            (nix::errno::Errno::ENOSPC, Class::NoSpace),
            (nix::errno::Errno::EDQUOT, Class::Quota),
            (nix::errno::Errno::EIO, Class::Io),
            (nix::errno::Errno::EROFS, Class::ReadOnly),
            (nix::errno::Errno::EACCES, Class::Access),
            (nix::errno::Errno::EFBIG, Class::Io),
        ] {
            let disk = Arc::new(MemoryFile::failing(errno));
            let mode = Mode {
                reads_and_writes: true,
                ..Mode::default()
            };
            let storage: Arc<dyn Storage> = disk;
            let file = File::on(&world, storage, mode);
            let access = Access {
                direction: Direction::Write,
                pointer: Pointer::Explicit(7),
                memory: Buffer::holding(b"abc").unwrap(),
            };
            for ended in [file.access(&access), file.access_all(&access)] {
                let error = ended.unwrap_err();
                assert_eq!(error.class(), class, "{error}");
                let text = error.to_string();
                let begin =
                    "writing at byte 7 of the file, after 0 of 3 bytes of data, to memory: ";
                assert!(text.starts_with(begin), "{text}");
            }
            file.close().unwrap();
        }
    });
}

#[test]
fn a_view_of_any_datatype_is_its_runs() {
    let mut dice = Dice(7);
    for number in 0..2_000 {
        let view = model::ViewPlan::random(&mut dice, 0, 1);
        let made = View::new(view.displacement, &view.etype(), &view.filetype(), true);
        let made = made.unwrap_or_else(|error| panic!("{number} {view:?}: {error}"));
        let places = view.places(200);
        for from in 0..20.min(places.len() as u64) {
            let mut seen = Vec::new();
            let len = (places.len() as u64 - from).min(60);
            made.runs(from, len, |run| {
                seen.extend(run.at..run.end());
                true
            })
            .unwrap();
            assert_eq!(seen, places[from as usize..][..len as usize], "{view:?}");
        }
        for at in 0..100 {
            let before = places.iter().take_while(|place| **place < at).count() as u64;
            if before < places.len() as u64 {
                assert_eq!(made.data_before(at), before, "before {at} in {view:?}");
            }
        }
        let mut form = Vec::new();
        made.write(&mut form);
        let there = View::read(&form).unwrap();
        assert_eq!(there.locate(13).unwrap(), made.locate(13).unwrap());
    }
}
