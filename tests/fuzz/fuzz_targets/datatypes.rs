//! Wire forms of datatypes, alone and by number: any bytes are a datatype or refused. What they are
//! is written and read again as the same, and memory is in proportion to the bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mpi_lite::data::{Buffer, Datatype, Known};
use mpi_lite_fuzz::memory::peak_of;

/// Bytes of memory for a datatype: those for each byte of its form, and some. An entry of four
/// bytes may hold 64 runs of 16 bytes, in a list that has twice the room while it grows.
const PER_BYTE: usize = 1 << 10;
const ONCE: usize = 1 << 14;

/// The most memory in which the elements of a datatype are compared.
const SPAN: usize = 1 << 16;

fn form(datatype: &Datatype) -> Vec<u8> {
    let mut form = Vec::new();
    datatype.write(&mut form);
    form
}

fn measures(datatype: &Datatype) -> (u64, [i64; 4], Vec<Option<u64>>) {
    let bounds = [
        datatype.lower_bound(),
        datatype.extent(),
        datatype.true_lower_bound(),
        datatype.true_extent(),
    ];
    let elements = [0, 1, 7, 8, 1000, datatype.size(), u64::MAX];
    let elements = elements.map(|bytes| datatype.elements(bytes)).to_vec();
    (datatype.size(), bounds, elements)
}

/// What two elements hold after a message, if they are small.
fn unpacked(datatype: &Datatype) -> Option<Vec<u8>> {
    let (_, len) = datatype.occupied(2).ok().filter(|(_, len)| *len <= SPAN)?;
    let message: Vec<u8> = (0..2 * len).map(|at| (at % 251) as u8).collect();
    let buffer = Buffer::scratch(2, datatype).expect("little memory");
    buffer.unpack(&message);
    let bytes = buffer.bytes().ok().filter(|bytes| *bytes <= SPAN as u64);
    Some(bytes.map_or_else(Vec::new, |_| buffer.pack()))
}

fn check(input: &[u8]) {
    let (read, peak) = peak_of(|| Datatype::read(input));
    let used = input.len();
    assert!(peak <= ONCE + PER_BYTE * used, "{peak} bytes for {used}");
    let Ok((datatype, len)) = read else {
        return;
    };
    assert!(len <= used);
    let written = form(&datatype);
    let (again, len) = Datatype::read(&written).expect("what was written is read");
    assert_eq!(len, written.len());
    assert_eq!(form(&again), written);
    assert_eq!(measures(&again), measures(&datatype));
    assert_eq!(unpacked(&again), unpacked(&datatype));
}

/// Reads one datatype after the other from an origin.
fn receive(mut input: &[u8]) {
    let mut known = Known::default();
    while let Ok((datatype, len)) = known.read(input) {
        assert!(datatype.is_committed() && len > 0);
        input = &input[len..];
    }
}

fuzz_target!(|input: &[u8]| {
    check(input);
    receive(input);
});
