//! Programs that `mpirun` has sent: files without a name, in memory. They are gone with the last
//! process that has them open, whatever ends it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::node::elf;

/// The programs that have come, by their number in the job.
#[derive(Debug, Default)]
pub(super) struct Memory {
    files: BTreeMap<u32, io::Result<File>>,
}

impl Memory {
    /// Adds a piece to a program.
    pub(super) fn add(&mut self, program: u32, bytes: &[u8]) {
        let create = || Ok(memfd_create("program", MFdFlags::MFD_CLOEXEC)?.into());
        let file = self.files.entry(program).or_insert_with(create);
        if let Ok(open) = file
            && let Err(error) = open.write_all(bytes)
        {
            *file = Err(error);
        }
    }

    /// The file of a program, if it was sent, or the system's reason why it could not be kept.
    pub(super) fn program(&self, number: u32) -> Option<Result<InMemory, String>> {
        let file = self.files.get(&number)?;
        let open = file.as_ref().map_err(ToString::to_string);
        Some(open.and_then(|file| InMemory::of(file).map_err(|error| error.to_string())))
    }
}

/// A program to be executed from memory.
#[derive(Debug)]
pub(super) struct InMemory {
    file: File,
    /// It is no binary: an interpreter, or a shell, opens it again.
    pub(super) is_script: bool,
}

impl InMemory {
    fn of(file: &File) -> io::Result<InMemory> {
        let mut start = [0; elf::MAGIC.len()];
        let length = file.read_at(&mut start, 0)?;
        Ok(InMemory {
            file: file.try_clone()?,
            is_script: start[..length] != *elf::MAGIC,
        })
    }

    /// The name of the file in this process and in its children.
    pub(super) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
    }

    /// Its descriptor.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
