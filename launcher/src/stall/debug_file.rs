//! Opening an ELF file, and finding the file that holds its debug information.
//!
//! Nothing in a file is trusted. It is read and never mapped: another process may cut a mapped file
//! short, and the next access would end this process.

use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use mpi_boot::hex;
use object::elf::FileHeader64;
use object::read::elf::ElfFile;
use object::{Endianness, Object, ReadCache};

/// The longest file that is read, in bytes.
const FILE_MAX: u64 = 2 << 30;

/// Where the packages of a system put debug information.
const SYSTEM: &str = "/usr/lib/debug";

/// A file that is read piece by piece.
pub(super) type Content = ReadCache<File>;

/// An ELF file of 64 bits.
pub(super) type Elf<'a> = ElfFile<'a, FileHeader64<Endianness>, &'a Content>;

/// Opens a regular file that is not too long. Opening it neither waits nor has an effect. A file
/// without a length is none, but a view of the system.
pub(super) fn open(path: &Path) -> Option<Content> {
    regular(path).map(ReadCache::new)
}

fn regular(path: &Path) -> Option<File> {
    let may_be_read =
        |metadata: fs::Metadata| metadata.is_file() && (1..=FILE_MAX).contains(&metadata.len());
    if !path.is_absolute() || !may_be_read(fs::metadata(path).ok()?) {
        return None;
    }
    // The name may lead elsewhere by now.
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)
        .ok()?;
    may_be_read(file.metadata().ok()?).then_some(file)
}

/// Returns true if the file itself has debug information.
fn has_debug(elf: &Elf) -> bool {
    elf.section_by_name(".debug_info").is_some()
}

/// The file that holds the debug information of `elf`, if `elf` has none: named by the build ID,
/// as packages do it, or by a link in `elf`.
pub(super) fn separate(path: &Path, elf: &Elf) -> Option<(PathBuf, Content)> {
    if has_debug(elf) {
        return None;
    }
    let id = elf.build_id().ok().flatten();
    let by_id = id.and_then(by_build_id);
    by_id
        .and_then(|path| checked(path, |_, debug| same_build(id, debug) == Some(true)))
        .or_else(|| {
            let (name, sum) = elf.gnu_debuglink().ok()??;
            by_link(path, name)?.into_iter().find_map(|path| {
                checked(path, |path, debug| {
                    same_build(id, debug).unwrap_or_else(|| checksum(path) == Some(sum))
                })
            })
        })
}

/// The file with what several files of debug information have in common (`dwz` makes such).
pub(super) fn common(path: &Path, debug: &Elf) -> Option<Content> {
    let (name, id) = debug.gnu_debugaltlink().ok()??;
    let named = path.parent()?.join(std::ffi::OsStr::from_bytes(name));
    [Some(named), by_build_id(id)]
        .into_iter()
        .flatten()
        .find_map(|path| checked(path, |_, common| same_build(Some(id), common) == Some(true)))
        .map(|(_, content)| content)
}

/// The file at `path`, if it has debug information and is the right one.
fn checked(
    path: PathBuf,
    is_right: impl FnOnce(&Path, &Elf) -> bool,
) -> Option<(PathBuf, Content)> {
    let content = open(&path)?;
    let is_right = {
        let elf = Elf::parse(&content).ok()?;
        has_debug(&elf) && is_right(&path, &elf)
    };
    is_right.then_some((path, content))
}

/// Returns true if both files are of the same build; `None` if one of them has no build ID.
fn same_build(id: Option<&[u8]>, debug: &Elf) -> Option<bool> {
    Some(id? == debug.build_id().ok()??)
}

fn by_build_id(id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = id.split_at_checked(1).filter(|_| id.len() <= 64)?;
    let (first, rest) = (hex(first), hex(rest));
    Some(PathBuf::from(format!(
        "{SYSTEM}/.build-id/{first}/{rest}.debug"
    )))
}

/// The places where a debugger looks for the file that a link names.
fn by_link(path: &Path, name: &[u8]) -> Option<[PathBuf; 3]> {
    let path = fs::canonicalize(path).ok()?;
    let folder = path.parent()?;
    let name = Path::new(std::ffi::OsStr::from_bytes(name)).file_name()?;
    let system = Path::new(SYSTEM).join(folder.strip_prefix("/").ok()?);
    Some([folder, &folder.join(".debug"), &system].map(|folder| folder.join(name)))
}

/// The checksum by which a link recognizes its file.
fn checksum(path: &Path) -> Option<u32> {
    let mut file = regular(path)?.take(FILE_MAX);
    let mut sum = crc32fast::Hasher::new();
    let mut piece = vec![0; 64 << 10];
    loop {
        match file.read(&mut piece).ok()? {
            0 => return Some(sum.finalize()),
            length => sum.update(&piece[..length]),
        }
    }
}
