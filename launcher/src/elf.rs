//! Which shared libraries a program asks for, to find out programs of another MPI.
//!
//! Such a program does not see our launcher: each rank would believe to be alone, and say so only
//! by doing all the work N times.

use std::fs::File;
use std::path::Path;

use object::elf::{DT_NEEDED, FileHeader64};
use object::read::elf::FileHeader;
use object::{Endianness, ReadCache, ReadRef};

/// Another MPI whose library the program asks for: (its name, the library).
pub fn foreign_mpi(program: &Path) -> Option<(&'static str, String)> {
    let file = ReadCache::new(File::open(program).ok()?);
    let needed = needed(&file).unwrap_or_default();
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

/// The names of the libraries that a program of 64 bits asks for. Nothing in it is trusted. A
/// program without section headers, which `strip` leaves alone, tells none.
fn needed<'a>(program: impl ReadRef<'a>) -> Option<Vec<String>> {
    let header = FileHeader64::<Endianness>::parse(program).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, program).ok()?;
    let table = sections.dynamic_table(endian, program).ok()?;
    table
        .iter()
        .filter(|entry| entry.tag == DT_NEEDED)
        .map(|entry| table.string(entry).ok())
        .map(|name| Some(String::from_utf8_lossy(name?).into_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_libraries_of_this_test_are_found() {
        let libraries = needed(&*std::fs::read("/proc/self/exe").unwrap()).unwrap();
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
        assert_eq!(needed(&b"#!/bin/sh\n"[..]), None);
    }

    proptest! {
        #[test]
        fn a_damaged_program_is_harmless(at in 0_usize..4096, byte: u8, cut in 0_usize..4096) {
            let mut program = std::fs::read("/bin/true").unwrap();
            needed(&program[..cut.min(program.len())]);
            let at = at.min(program.len() - 1);
            program[at] = byte;
            needed(&*program);
        }
    }
}
