//! What `mpirun --info` prints: how mpi-lite was built, what this machine allows, and the settings
//! with their present values.

#![expect(unsafe_code, reason = "the C library tells its version by a pointer")]

use std::ffi::CStr;
use std::fmt::Write as _;
use std::fs;
use std::io::{IoSlice, IoSliceMut};
use std::path::{Path, PathBuf};

use mpi_boot::config::{Settings, Value};
use mpi_boot::machine;
use mpi_boot::transports::TRANSPORTS;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::socket::sockopt::{UdpGroSegment, UdpGsoSegment};
use nix::sys::socket::{AddressFamily, SetSockOpt, SockFlag, SockType, setsockopt, socket};
use nix::sys::uio::{RemoteIoVec, process_vm_readv, process_vm_writev};
use nix::unistd::getpid;

use crate::cli::settings;
use crate::failure::printable;
use crate::job::program;

/// The version of MPI that the library has. A test compares it with `mpi.h`.
const MPI: &str = "5.0";
/// The version of the ABI.
const ABI: &str = "1.0";

/// The width of the names.
const COLUMN: usize = 30;

/// What `make build` tells about the build.
#[derive(Clone, Copy, Debug)]
pub struct Build {
    /// The commit, if it is known.
    pub commit: Option<&'static str>,
    /// The compiler, if it is known.
    pub compiler: Option<&'static str>,
}

/// The binary interfaces of programs that run.
fn interfaces() -> String {
    format!("{ABI} of MPI {MPI} (libmpi_abi.so.1), MPICH's (libmpi.so.12)")
}

/// What `mpirun --version` prints.
#[must_use]
pub fn version() -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("mpirun (mpi-lite) {version}\nABI: {}\n", interfaces())
}

/// The whole text.
#[must_use]
pub fn text(build: Build) -> String {
    let mut text = String::new();
    section(&mut text, "Build", &built(build));
    section(&mut text, "Transports (--transport)", &transports());
    section(&mut text, "This machine", &machine());
    section(&mut text, "Paths", &paths());
    section(&mut text, "Settings", &present_settings());
    text
}

fn section(text: &mut String, title: &str, rows: &[(String, String)]) {
    if !text.is_empty() {
        text.push('\n');
    }
    let _ = writeln!(text, "{title}");
    for (name, value) in rows {
        let value = printable(value);
        let _ = writeln!(text, "  {name:COLUMN$} {value}");
    }
}

fn row(name: &str, value: impl Into<String>) -> (String, String) {
    (name.into(), value.into())
}

fn built(build: Build) -> Vec<(String, String)> {
    let profile = match cfg!(debug_assertions) {
        true => "debug (with assertions)",
        false => "release",
    };
    let target = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
    // SAFETY: the C library returns a string that is never freed.
    let libc = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) };
    vec![
        row("mpi-lite", env!("CARGO_PKG_VERSION")),
        row("commit", build.commit.unwrap_or("not known")),
        row("MPI", MPI),
        row("ABI", interfaces()),
        row("languages", "C, C++"),
        row("compiler", build.compiler.unwrap_or("not known")),
        row("profile", profile),
        row("target", target),
        row(
            "glibc",
            format!("{} (of this machine)", libc.to_string_lossy()),
        ),
    ]
}

fn transports() -> Vec<(String, String)> {
    let rows = TRANSPORTS.iter().map(|it| row(it.name, it.meaning));
    rows.collect()
}

fn machine() -> Vec<(String, String)> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = machine::memory_bytes().map_or_else(
        || "not known".into(),
        |bytes| format!("{} MiB", bytes >> 20),
    );
    vec![
        row("CPUs for this process", cpus.to_string()),
        row("memory", memory),
        row("memory shared by memfd", memfd()),
        row("process_vm_readv, _writev", process_vm()),
        row(
            "  kernel.yama.ptrace_scope",
            kernel("kernel/yama/ptrace_scope"),
        ),
        row("UDP_SEGMENT (bursts)", udp(UdpGsoSegment, &0)),
        row("UDP_GRO (trains)", udp(UdpGroSegment, &true)),
        row("  net.core.rmem_max", kernel("net/core/rmem_max")),
        row("  net.core.wmem_max", kernel("net/core/wmem_max")),
        row("transparent huge pages", huge_pages("enabled")),
        row("  of shared memory", huge_pages("shmem_enabled")),
    ]
}

fn allowed(result: Result<(), nix::Error>) -> String {
    match result {
        Ok(()) => "yes".into(),
        Err(error) => format!("no: {}", error.desc()),
    }
}

fn memfd() -> String {
    allowed(memfd_create(c"mpilite-info", MFdFlags::MFD_CLOEXEC).map(drop))
}

/// Copies a byte of this process there and back. Another process may still be refused: Yama, a
/// container.
fn process_vm() -> String {
    let (mut from, mut to) = ([7_u8], [0_u8]);
    let there = |bytes: &mut [u8; 1]| RemoteIoVec {
        base: bytes.as_mut_ptr().addr(),
        len: 1,
    };
    let source = there(&mut from);
    let read = process_vm_readv(getpid(), &mut [IoSliceMut::new(&mut to)], &[source]);
    let written = read.and_then(|_| process_vm_writev(getpid(), &[IoSlice::new(&to)], &[source]));
    allowed(written.map(|_| ()))
}

fn udp<O: SetSockOpt>(option: O, value: &O::Val) -> String {
    let flags = SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Inet, SockType::Datagram, flags, None);
    allowed(socket.and_then(|socket| setsockopt(&socket, option, value)))
}

fn kernel(name: &str) -> String {
    first_line(&Path::new("/proc/sys").join(name))
}

/// The chosen one of `always [madvise] never`.
fn huge_pages(file: &str) -> String {
    let line = first_line(&Path::new("/sys/kernel/mm/transparent_hugepage").join(file));
    let chosen = line
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    chosen.map_or(line.clone(), |(chosen, _)| chosen.into())
}

fn first_line(path: &Path) -> String {
    let text = fs::read_to_string(path);
    let line = text
        .ok()
        .and_then(|text| text.lines().next().map(String::from));
    line.unwrap_or_else(|| "not known".into())
}

fn paths() -> Vec<(String, String)> {
    let own = std::env::current_exe().unwrap_or_default();
    let prefix = own.parent().and_then(Path::parent).unwrap_or(&own);
    let path = std::env::var_os("PATH");
    let here = std::env::current_dir().unwrap_or_default();
    let in_path = |name: &str| match program::find(name.as_ref(), &here, path.as_deref()) {
        Ok(found) => found.display().to_string(),
        Err(_) => "not in PATH".into(),
    };
    let installed = |place: &str| {
        let path: PathBuf = prefix.join(place);
        match path.exists() {
            true => path.display().to_string(),
            false => format!("{} (is missing)", path.display()),
        }
    };
    vec![
        row("mpirun", own.display().to_string()),
        row("library", installed("lib/libmpi_abi.so.1")),
        row("header", installed("include/mpi.h")),
        row("compiler wrapper", installed("bin/mpicc")),
        row("documentation", installed("share/doc/mpilite")),
        row("ssh", in_path("ssh")),
        row("srun", in_path("srun")),
    ]
}

/// Each setting with its value, and where that comes from.
fn present_settings() -> Vec<(String, String)> {
    let source = |variable: &str| match std::env::var_os(variable) {
        Some(_) => "environment",
        None => "default",
    };
    let from = |variable: &str, value: String| {
        let value = match value.as_str() {
            "" => "chosen by the library",
            value => value,
        };
        row(variable, format!("{value} ({})", source(variable)))
    };
    let mut rows: Vec<(String, String)> = settings::present()
        .map(|(variable, value)| from(variable, value))
        .collect();
    match Settings::from_environment() {
        Ok(settings) => rows.extend(settings.rows().into_iter().map(|setting| {
            let value = match setting.value {
                Value::Number(number) => number.to_string(),
                Value::Text(text) => text,
            };
            from(setting.variable, value)
        })),
        Err(error) => rows.push(row("not valid", error)),
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versions_are_those_of_the_header() {
        let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("../include/mpi.h");
        let header = fs::read_to_string(header).expect("the header");
        let number = |name: &str| {
            let mut words = header
                .lines()
                .map(|line| line.split(' ').collect::<Vec<_>>());
            let line = words.find(|words| words.get(1) == Some(&name)).expect(name);
            line[2].to_string()
        };
        let version = |of: &str| {
            let (major, minor) = (format!("{of}VERSION"), format!("{of}SUBVERSION"));
            format!("{}.{}", number(&major), number(&minor))
        };
        assert_eq!(
            (version("MPI_"), version("MPI_ABI_")),
            (MPI.into(), ABI.into())
        );
    }
}
