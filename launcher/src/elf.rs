//! Which shared libraries a program asks for, to find out of which MPI it is.
//!
//! A program of Open MPI does not see our launcher: each rank would believe to be alone, and say so
//! only by doing all the work N times. One of MPICH finds a server of PMI ([`crate::pmi`]).

use std::fs::File;
use std::path::Path;

use object::elf::{DT_NEEDED, FileHeader64};
use object::read::elf::FileHeader;
use object::{Endianness, ReadCache, ReadRef};

/// An MPI, by its library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mpi {
    /// This one.
    Own,
    /// MPICH, or one with its binary interface, such as Intel MPI.
    Mpich,
    /// Open MPI.
    OpenMpi,
}

/// The MPI whose library the program asks for, and the library.
pub fn mpi_of(program: &Path) -> Option<(Mpi, String)> {
    let file = ReadCache::new(File::open(program).ok()?);
    let needed = needed(&file).unwrap_or_default();
    needed
        .into_iter()
        .find_map(|library| Some((owner(&library)?, library)))
}

/// The MPI that a library belongs to.
fn owner(library: &str) -> Option<Mpi> {
    let starts_with = |start| library.starts_with(start);
    match () {
        () if starts_with("libmpi_abi.so") => Some(Mpi::Own),
        () if starts_with("libmpi.so.12") || starts_with("libmpich.so") => Some(Mpi::Mpich),
        () if starts_with("libmpi.so.") || starts_with("libopen-rte.so") => Some(Mpi::OpenMpi),
        () => None,
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
        assert_eq!(mpi_of(Path::new("/proc/self/exe")), None);
    }

    #[test]
    fn the_library_shows_the_mpi() {
        assert_eq!(owner("libmpi.so.40"), Some(Mpi::OpenMpi));
        assert_eq!(owner("libmpi.so.12"), Some(Mpi::Mpich));
        assert_eq!(owner("libmpich.so.12"), Some(Mpi::Mpich));
        assert_eq!(owner("libmpi_abi.so.1"), Some(Mpi::Own));
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
