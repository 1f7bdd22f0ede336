//! Which shared libraries a program asks for, to find out programs of another MPI.
//!
//! Such a program does not see our launcher: each rank would believe to be alone, and say so only
//! by doing all the work N times.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Entries of a table that are looked at; real programs have a few dozen.
const ENTRIES_MAX: u64 = 4096;
/// The longest name of a library, in bytes.
const NAME_MAX: usize = 256;

const PT_LOAD: u64 = 1;
const PT_DYNAMIC: u64 = 2;
const DT_NULL: u64 = 0;
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;

/// The other MPI whose library the program asks for: (its name, the library).
pub fn foreign_mpi(program: &Path) -> Option<(&'static str, String)> {
    let file = File::open(program).ok()?;
    let read = |at, bytes: &mut [u8]| file.read_at(bytes, at).unwrap_or(0);
    let needed = Elf::new(&read)?.needed().unwrap_or_default();
    needed
        .into_iter()
        .find_map(|library| Some((owner(&library)?, library)))
}

/// The MPI that a library belongs to, if it is not ours.
fn owner(library: &str) -> Option<&'static str> {
    match library {
        _ if library.starts_with("libmpi.so.12") || library.starts_with("libmpich.so") => {
            Some("MPICH")
        }
        _ if library.starts_with("libmpi.so.") || library.starts_with("libopen-rte.so") => {
            Some("Open MPI")
        }
        _ => None,
    }
}

/// Reads from a place of the file into a buffer; answers how many bytes there were.
type ReadAt<'a> = dyn Fn(u64, &mut [u8]) -> usize + 'a;

/// A program of 64 bits, little endian. Nothing in it is trusted: every read is checked.
struct Elf<'a> {
    read: &'a ReadAt<'a>,
}

impl<'a> Elf<'a> {
    fn new(read: &'a ReadAt<'a>) -> Option<Elf<'a>> {
        let mut start = [0; 6];
        (read(0, &mut start) == 6 && start == *b"\x7fELF\x02\x01").then_some(Elf { read })
    }

    /// A little-endian number of `length` bytes.
    fn number(&self, at: u64, length: usize) -> Option<u64> {
        let mut bytes = [0; 8];
        let is_there = (self.read)(at, &mut bytes[..length]) == length;
        is_there.then_some(u64::from_le_bytes(bytes))
    }

    /// (type, offset in the file, address, length in the file) of each program header.
    fn segments(&self) -> Option<Vec<[u64; 4]>> {
        let (table, size) = (self.number(32, 8)?, self.number(54, 2)?);
        let count = self.number(56, 2)?.min(ENTRIES_MAX);
        let segment = |index: u64| {
            let at = table.checked_add(index.checked_mul(size)?)?;
            Some([
                self.number(at, 4)?,
                self.number(at.checked_add(8)?, 8)?,
                self.number(at.checked_add(16)?, 8)?,
                self.number(at.checked_add(32)?, 8)?,
            ])
        };
        (0..count).map(segment).collect()
    }

    /// The names of the libraries.
    fn needed(&self) -> Option<Vec<String>> {
        let segments = self.segments()?;
        let [_, dynamic, _, length] = *segments.iter().find(|[kind, ..]| *kind == PT_DYNAMIC)?;
        let (mut names, mut table) = (Vec::new(), None);
        for index in 0..(length / 16).min(ENTRIES_MAX) {
            let at = dynamic.checked_add(index * 16)?;
            let (tag, value) = (self.number(at, 8)?, self.number(at.checked_add(8)?, 8)?);
            match tag {
                DT_NULL => break,
                DT_NEEDED => names.push(value),
                DT_STRTAB => table = Some(value),
                _ => {}
            }
        }
        let table = table?;
        let holds = |[kind, _, address, length]: &&[u64; 4]| {
            *kind == PT_LOAD && (*address..address.saturating_add(*length)).contains(&table)
        };
        let [_, offset, address, _] = segments.iter().find(holds)?;
        let table = offset.checked_add(table - address)?;
        names
            .into_iter()
            .map(|name| self.text(table.checked_add(name)?))
            .collect()
    }

    /// A name that ends with a zero byte.
    fn text(&self, at: u64) -> Option<String> {
        let mut bytes = [0; NAME_MAX];
        let length = (self.read)(at, &mut bytes);
        let end = bytes[..length].iter().position(|byte| *byte == 0)?;
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn needed(program: &[u8]) -> Option<Vec<String>> {
        let read = |at, bytes: &mut [u8]| {
            let rest = program.get(at as usize..).unwrap_or_default();
            let length = bytes.len().min(rest.len());
            bytes[..length].copy_from_slice(&rest[..length]);
            length
        };
        Elf::new(&read)?.needed()
    }

    #[test]
    fn the_libraries_of_this_test_are_found() {
        let libraries = needed(&std::fs::read("/proc/self/exe").unwrap()).unwrap();
        assert!(
            libraries
                .iter()
                .any(|library| library.starts_with("libc.so")),
            "{libraries:?}"
        );
        assert_eq!(foreign_mpi(Path::new("/proc/self/exe")), None);
    }

    #[test]
    fn libraries_of_other_mpis_are_known_and_ours_is_not_among_them() {
        assert_eq!(owner("libmpi.so.40"), Some("Open MPI"));
        assert_eq!(owner("libmpi.so.12"), Some("MPICH"));
        assert_eq!(owner("libmpich.so.12"), Some("MPICH"));
        assert_eq!(owner("libmpi_abi.so.1"), None);
        assert_eq!(owner("libc.so.6"), None);
    }

    #[test]
    fn a_script_asks_for_nothing() {
        assert_eq!(needed(b"#!/bin/sh\n"), None);
    }

    proptest! {
        #[test]
        fn a_damaged_program_is_harmless(at in 0_usize..4096, byte: u8, cut in 0_usize..4096) {
            let mut program = std::fs::read("/bin/true").unwrap();
            needed(&program[..cut.min(program.len())]);
            let at = at.min(program.len() - 1);
            program[at] = byte;
            needed(&program);
        }
    }
}
