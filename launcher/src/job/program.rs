//! Finding the program, and saying in words why it cannot be run.

use std::ffi::{OsStr, OsString};
use std::fs::{File, FileType, Metadata};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;

use crate::failure::{Failure, NOT_EXECUTABLE, NOT_FOUND, printable};
use crate::node::elf;

/// Where programs are if PATH is not set.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Finds `name` as a shell would: a name with a slash relative to `directory`, another one in the
/// directories of `path`, and at last in `directory` itself.
///
/// # Errors
///
/// A failure with status 127 (not there) or 126 (there, but not to be executed).
pub fn find(name: &OsStr, directory: &Path, path: Option<&OsStr>) -> Result<PathBuf, Failure> {
    if name.as_bytes().contains(&b'/') {
        let file = directory.join(name);
        return check(&file).map(|()| file);
    }
    let mut first_obstacle = None;
    for entry in std::env::split_paths(path.unwrap_or(OsStr::new(DEFAULT_PATH))) {
        let file = directory.join(entry).join(name);
        match check(&file) {
            Ok(()) => return Ok(file),
            Err(failure) if failure.code == NOT_EXECUTABLE && file.is_file() => {
                first_obstacle.get_or_insert(failure);
            }
            Err(_) => {}
        }
    }
    let here = directory.join(name);
    if here.is_file() && check(&here).is_ok() {
        return Ok(here);
    }
    Err(first_obstacle.unwrap_or_else(|| {
        let shown = printable(&name.to_string_lossy());
        Failure::new(NOT_FOUND, format!("program '{shown}' is not in PATH"))
    }))
}

/// Returns true if [`find`] has found `name` as this file in a directory of PATH, and not where the
/// name itself says, or in `directory`: another program of that name is not meant then.
pub fn is_from_path(name: &OsStr, file: &Path, directory: &Path) -> bool {
    !name.as_bytes().contains(&b'/') && file != directory.join(name)
}

/// The directories of `--path` in front of those of PATH.
pub fn search_path(first: Option<&OsStr>, path: Option<&OsStr>) -> Option<OsString> {
    let Some(first) = first else {
        return path.map(OsStr::to_os_string);
    };
    let mut all = first.to_os_string();
    all.push(":");
    all.push(path.unwrap_or(OsStr::new(DEFAULT_PATH)));
    Some(all)
}

/// Checks the working directory of the ranks; `is_asked` if it comes from `--wdir`.
///
/// # Errors
///
/// A failure with status 125 that names the directory: the program is not to blame.
pub fn check_directory(directory: &Path, is_asked: bool) -> Result<(), Failure> {
    if directory.is_dir() {
        return Ok(());
    }
    let option = if is_asked { "--wdir: " } else { "" };
    let shown = printable(&directory.to_string_lossy());
    Err(Failure::launch(match directory.symlink_metadata() {
        Ok(_) => format!("{option}'{shown}' is not a directory"),
        Err(_) => format!("{option}directory '{shown}' does not exist"),
    }))
}

/// Says why a file cannot be executed, if so.
fn check(file: &Path) -> Result<(), Failure> {
    let shown = printable(&file.to_string_lossy());
    let metadata = std::fs::metadata(file).map_err(|error| unreached(file, &shown, &error))?;
    let obstacle = match kind(metadata.file_type()) {
        // Nobody may ever write to a pipe, so it is not even opened.
        Some(kind) => Some(format!("'{shown}' is {kind}, not a program")),
        None => obstacle(file, &metadata).map(|what| format!("program '{shown}'{what}")),
    };
    obstacle.map_or(Ok(()), |text| Err(Failure::new(NOT_EXECUTABLE, text)))
}

/// Says why a file of bytes cannot be executed, as the end of a line that begins with its name.
fn obstacle(file: &Path, metadata: &Metadata) -> Option<String> {
    if metadata.permissions().mode() & 0o111 == 0 {
        return Some(" is not executable (chmod +x makes it so)".into());
    }
    if nix::unistd::access(file, nix::unistd::AccessFlags::X_OK).is_err() {
        let what = " is not executable for this user, or not on this file system";
        return Some(what.into());
    }
    obstacle_at_start(file)
}

/// Why nothing is known of a file.
fn unreached(file: &Path, shown: &str, error: &std::io::Error) -> Failure {
    let target = std::fs::read_link(file).ok();
    let target = target.map(|it| printable(&it.to_string_lossy()));
    let (code, what) = match (error.raw_os_error().map(Errno::from_raw), target) {
        (Some(Errno::ENOENT | Errno::ENOTDIR), None) => (NOT_FOUND, "does not exist".into()),
        (Some(Errno::ENOENT | Errno::ENOTDIR), Some(target)) => (
            NOT_FOUND,
            format!("does not exist: it is a link to '{target}'"),
        ),
        (Some(Errno::ELOOP), _) => (
            NOT_EXECUTABLE,
            "cannot be reached: links lead in a circle".into(),
        ),
        _ => (NOT_EXECUTABLE, format!("cannot be reached: {error}")),
    };
    Failure::new(code, format!("program '{shown}' {what}"))
}

/// What a file is that has no bytes.
fn kind(of: FileType) -> Option<&'static str> {
    match () {
        () if of.is_file() => None,
        () if of.is_dir() => Some("a directory"),
        () if of.is_fifo() => Some("a named pipe"),
        () if of.is_socket() => Some("a socket"),
        () => Some("a device"),
    }
}

/// Looks at the first bytes: the C library would hand a foreign binary to a shell.
fn obstacle_at_start(file: &Path) -> Option<String> {
    let mut start = [0; 256];
    // An executable file need not be readable.
    let length = File::open(file).and_then(|mut file| file.read(&mut start));
    let start = &start[..length.ok()?];
    if start.is_empty() {
        return Some(" is an empty file".into());
    }
    if let Some(line) = start.strip_prefix(b"#!") {
        return obstacle_of_script(line);
    }
    let is_binary = start.starts_with(elf::MAGIC);
    is_binary.then(|| obstacle_of_binary(start, file)).flatten()
}

/// Checks a file that begins as an ELF file does.
fn obstacle_of_binary(start: &[u8], file: &Path) -> Option<String> {
    let cut = || Some(" is cut off: copy or build it again".into());
    let Some(machine) = start.get(18..20) else {
        return cut();
    };
    let machine: [u8; 2] = machine.try_into().expect("they are two");
    let (is_big, has_64_bits) = (start[5] == 2, start[4] == 2);
    let machine = match is_big {
        true => u16::from_be_bytes(machine),
        false => u16::from_le_bytes(machine),
    };
    if machine != own_machine() || is_big != cfg!(target_endian = "big") {
        let (its, own) = (elf::machine_name(machine), std::env::consts::ARCH);
        return Some(format!(
            " is built for another kind of machine ({its}) than this one ({own})"
        ));
    }
    (has_64_bits && elf::is_cut_off(file)).then(cut).flatten()
}

fn obstacle_of_script(line: &[u8]) -> Option<String> {
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    // As the kernel reads it: blanks separate, a carriage return belongs to the name.
    let mut words = line.split(|byte| b" \t".contains(byte));
    let name = words.find(|word| !word.is_empty()).unwrap_or_default();
    let interpreter = Path::new(OsStr::from_bytes(name));
    if name.is_empty() || interpreter.exists() {
        return None;
    }
    let hint = match line.ends_with(b"\r") {
        true => " (the file has CRLF line ends)",
        false => "",
    };
    let interpreter = printable(&interpreter.to_string_lossy());
    Some(format!(
        ": its interpreter '{interpreter}' does not exist{hint}"
    ))
}

/// The machine number of ELF files for this machine.
fn own_machine() -> u16 {
    match std::env::consts::ARCH {
        "x86_64" => 62,
        "aarch64" => 183,
        "riscv64" => 243,
        "powerpc64" => 21,
        _ => own_machine_from_file(),
    }
}

/// The launcher itself surely is built for this machine.
fn own_machine_from_file() -> u16 {
    let mut start = [0; 20];
    let read = File::open("/proc/self/exe").and_then(|mut file| file.read_exact(&mut start));
    read.map_or(0, |()| u16::from_le_bytes([start[18], start[19]]))
}
