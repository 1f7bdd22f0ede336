//! Two ranks that share memory into which anything may be written: nothing panics or leaves its
//! bounds, each send ends once at most, nothing is heard of a lost peer, and memory is bounded.
//!
//! Long messages are copied by the system out of and into a process that a rank names. Here it is
//! always a child that sleeps, so that wild addresses do no harm.
#![no_main]

use std::sync::{Mutex, OnceLock};

use arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use mpi_lite::transport::shm::fuzzing::{How, Memory, Rig, State, Target};
use mpi_lite_fuzz::memory::peak_of;

/// Most acts of an input, and most bytes of memory: each act may begin a message of 1 MiB that is
/// in the transport's buffer, in the sender's and in the receiver's.
const ACTS: usize = 64;
const MOST_BYTES: usize = ACTS * (3 << 20);

#[derive(Arbitrary, Debug)]
enum Landing {
    Into(u16),
    Whole,
    Later,
}

impl From<Landing> for How {
    fn from(landing: Landing) -> Self {
        match landing {
            Landing::Into(bytes) => Self::Into(bytes),
            Landing::Whole => Self::Whole,
            Landing::Later => Self::Later,
        }
    }
}

#[derive(Arbitrary, Debug)]
enum Place {
    Sequence(u8),
    Word(u8, u8),
    Taken(u8),
    Transfer(u8, u8),
    Area(u8),
    ReplySlot,
    ReplyWord(u8),
}

impl From<Place> for Target {
    fn from(place: Place) -> Self {
        match place {
            Place::Sequence(slot) => Self::Sequence(slot),
            Place::Word(slot, word) => Self::Word(slot, word),
            Place::Taken(number) => Self::Taken(number),
            Place::Transfer(number, field) => Self::Transfer(number, field),
            Place::Area(field) => Self::Area(field),
            Place::ReplySlot => Self::ReplySlot,
            Place::ReplyWord(word) => Self::ReplyWord(word),
        }
    }
}

/// A number: small ones come from one byte.
#[derive(Arbitrary, Debug)]
enum Number {
    Small(u8),
    Bit(u8),
    Any(u64),
}

impl From<Number> for u64 {
    fn from(number: Number) -> Self {
        match number {
            Number::Small(number) => number.into(),
            Number::Bit(bit) => 1 << (bit % 64),
            Number::Any(number) => number,
        }
    }
}

/// Lengths at which something changes: what fits a slot, a reply slot, a piece, the ring.
#[derive(Arbitrary, Debug)]
enum Length {
    Few(u8),
    Some(u16),
    Long(u16),
}

impl From<Length> for u32 {
    fn from(length: Length) -> Self {
        match length {
            Length::Few(bytes) => bytes.into(),
            Length::Some(bytes) => bytes.into(),
            Length::Long(bytes) => 16 * u32::from(bytes),
        }
    }
}

#[derive(Arbitrary, Debug)]
enum Act {
    Send(bool, Length, bool),
    Forge(bool, u8, Number, [Number; 5]),
    Write(bool, Place, Number, bool),
    Turn(bool, Landing),
    Land(bool, Landing),
    Away(bool, bool),
    Wakeup(bool),
}

/// The child: its memory is a copy of ours.
fn stand() -> State {
    static STAND: OnceLock<State> = OnceLock::new();
    *STAND.get_or_init(|| {
        let witness = Box::leak(Box::new(0x5eed_5eed_5eed_5eed_u64));
        let parent = std::process::id();
        // SAFETY: the child makes three system calls and nothing else.
        let process = unsafe { libc::fork() };
        assert!(process >= 0, "no child");
        if process == 0 {
            // SAFETY: as above; it ends with us.
            unsafe {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                while libc::getppid().cast_unsigned() == parent {
                    libc::pause();
                }
                libc::_exit(0);
            }
        }
        State {
            process: process.cast_unsigned(),
            witness_at: std::ptr::from_ref(witness).addr() as u64,
            witness: *witness,
        }
    })
}

static MEMORY: OnceLock<Mutex<Memory>> = OnceLock::new();

fn play(input: &[u8]) {
    let mut choices = Unstructured::new(input);
    let copies = bool::arbitrary(&mut choices).unwrap_or(false);
    let memory = MEMORY.get_or_init(|| Mutex::new(Memory::new().expect("memory")));
    let mut memory = memory.lock().expect("one thread");
    let mut rig = Rig::new(&mut memory, copies.then(stand)).expect("descriptors");
    for _ in 0..ACTS {
        let Ok(act) = Act::arbitrary(&mut choices) else {
            break;
        };
        match act {
            Act::Send(from, len, needs_match) => rig.send(from, len.into(), needs_match),
            Act::Forge(from, kind, bytes, words) => {
                let mut all = [0; 7];
                for (place, word) in all.iter_mut().zip(words) {
                    *place = word.into();
                }
                rig.forge(from, kind % 10, u64::from(bytes) as u32, all);
            }
            Act::Write(at, place, word, is_change) => {
                rig.write(at, place.into(), word.into(), is_change);
            }
            Act::Turn(at, how) => rig.turn(at, how.into()),
            Act::Land(at, how) => rig.land(at, how.into()),
            Act::Away(at, away) => rig.push_back(at, away),
            Act::Wakeup(at) => rig.rest(at),
        }
        if choices.is_empty() {
            break;
        }
    }
    for turn in 0..12 {
        rig.turn(turn % 2 == 0, How::Whole);
        rig.land(turn % 2 == 0, How::Whole);
    }
}

fuzz_target!(|input: &[u8]| {
    let ((), peak) = peak_of(|| play(input));
    assert!(peak < MOST_BYTES, "{peak} bytes");
});
