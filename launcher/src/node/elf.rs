//! Which shared libraries a program asks for, to find out of which MPI it is.
//!
//! A program of Open MPI does not see our launcher: each rank would believe to be alone, and say so
//! only by doing all the work N times. One of MPICH finds a server of PMI ([`crate::pmi`]).

use std::fs::File;
use std::path::Path;

use object::elf::{DT_NEEDED, FileHeader64, PT_LOAD};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, ReadCache, ReadRef};

/// How an ELF file begins.
pub const MAGIC: &[u8] = b"\x7fELF";

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

impl Mpi {
    /// Its name for messages.
    pub fn name(self) -> &'static str {
        match self {
            Mpi::Own => "mpi-lite",
            Mpi::Mpich => "MPICH",
            Mpi::OpenMpi => "Open MPI",
        }
    }
}

/// The MPI whose library the program asks for, and the library.
pub fn mpi_of(program: &Path) -> Option<(Mpi, String)> {
    let file = ReadCache::new(File::open(program).ok()?);
    let mut needed = needed(&file).unwrap_or_default().into_iter();
    needed.find_map(|library| Some((owner(&library)?, library)))
}

/// The MPI that a library belongs to, by the name of its file. A library that a wheel brings along
/// has a checksum in its name: `libmpi-0f3a.so.12`.
pub fn owner(library: &str) -> Option<Mpi> {
    let (stem, version) = library.split_once(".so")?;
    let stem = stem.split_once('-').map_or(stem, |(stem, _)| stem);
    let is_mpich = version == ".12" || version.starts_with(".12.");
    match stem {
        "libmpi_abi" => Some(Mpi::Own),
        "libmpich" => Some(Mpi::Mpich),
        "libmpi" if is_mpich => Some(Mpi::Mpich),
        "libmpi" if version.starts_with('.') => Some(Mpi::OpenMpi),
        _ => None,
    }
}

/// Returns true if a program of 64 bits, which begins as one, ends before the last byte that is to
/// be loaded from it: the system would start it and kill it.
pub fn is_cut_off(program: &Path) -> bool {
    let Ok(file) = File::open(program) else {
        return false;
    };
    let Ok(bytes) = file.metadata().map(|it| it.len()) else {
        return false;
    };
    is_shorter(&ReadCache::new(file), bytes).unwrap_or(true)
}

/// Nothing if its headers are not all there.
fn is_shorter<'a>(program: impl ReadRef<'a>, bytes: u64) -> Option<bool> {
    let header = FileHeader64::<Endianness>::parse(program).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, program).ok()?;
    let mut loaded = segments.iter().filter(|it| it.p_type(endian) == PT_LOAD);
    Some(loaded.any(|it| it.p_offset(endian).saturating_add(it.p_filesz(endian)) > bytes))
}

/// What a machine number of ELF files stands for.
pub fn machine_name(machine: u16) -> String {
    let known = match machine {
        3 => "x86, 32 bits",
        8 => "mips",
        20 => "powerpc",
        21 => "powerpc64",
        22 => "s390x",
        40 => "arm, 32 bits",
        62 => "x86_64",
        183 => "aarch64",
        243 => "riscv",
        258 => "loongarch",
        other => return format!("number {other} of ELF"),
    };
    known.into()
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
        assert_eq!(owner("libmpi-1a2b3c4d.so.12.1.8"), Some(Mpi::Mpich));
        assert_eq!(owner("libmpi.so.40.30.4 (deleted)"), Some(Mpi::OpenMpi));
        for other in [
            "libc.so.6",
            "libmpi.so",
            "libmpifort.so.12",
            "libmpi_cxx.so.40",
        ] {
            assert_eq!(owner(other), None, "{other}");
        }
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
