//! A file that an option names for a result. It is opened before the job starts, and nothing about
//! it waits for ever.

use std::collections::HashMap;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, poll};

use crate::failure::{Failure, printable};

/// How long a fifo may take to find its reader: a shell starts both at the same time.
const READER_WITHIN: Duration = Duration::from_secs(2);

/// How long a reader may take for what is written at a time. It is less than what makes another
/// host count us as lost.
const READ_WITHIN: Duration = Duration::from_secs(5);

/// Opens a file for writing as `options` say, without waiting.
///
/// # Errors
///
/// The system's reason.
pub(crate) fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    let end = Instant::now() + READER_WITHIN;
    loop {
        let error = match options.open(path) {
            Ok(file) => return Ok(file),
            Err(error) => error,
        };
        let is_fifo = || path.metadata().is_ok_and(|it| it.file_type().is_fifo());
        if error.raw_os_error() != Some(Errno::ENXIO as i32) || !is_fifo() {
            return Err(error);
        }
        if Instant::now() >= end {
            return Err(io::Error::other("nobody reads this fifo"));
        }
        sleep(READER_WITHIN / 100);
    }
}

/// How a result is written.
pub(crate) fn anew() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    options
}

/// Behind what is there.
pub(crate) fn behind() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    options
}

/// Writes everything, at the pace of a reader.
///
/// # Errors
///
/// The system's reason, or that the reader is too slow.
pub(crate) fn write_all(file: &File, bytes: &[u8]) -> io::Result<()> {
    write_within(READ_WITHIN, file, bytes)
}

fn write_within(limit: Duration, mut file: &File, mut bytes: &[u8]) -> io::Result<()> {
    let end = Instant::now() + limit;
    while !bytes.is_empty() {
        match file.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(length) => bytes = &bytes[length..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => wait_for_room(file, end)?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn wait_for_room(file: &File, end: Instant) -> io::Result<()> {
    let left = end.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::Error::other("its reader is too slow"));
    }
    // At least a millisecond, or this would spin.
    let wait = u16::try_from(left.as_millis() + 1).unwrap_or(u16::MAX);
    let mut descriptors = [PollFd::new(file.as_fd(), PollFlags::POLLOUT)];
    match poll(&mut descriptors, wait) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// An open file for one result.
#[derive(Debug)]
pub(crate) struct ResultFile {
    /// The option and the file, for messages.
    name: String,
    file: File,
}

impl ResultFile {
    /// Writes everything.
    ///
    /// # Errors
    ///
    /// A line for the user.
    pub(crate) fn write_whole(&mut self, bytes: &[u8]) -> Result<(), String> {
        write_all(&self.file, bytes).map_err(|error| self.line(&error))
    }

    /// The line for the user about an error.
    pub(crate) fn line(&self, error: &io::Error) -> String {
        format!("{}: {error}", self.name)
    }
}

impl Write for ResultFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write_all(&self.file, bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The files of all options.
#[derive(Debug, Default)]
pub(crate) struct Opener {
    /// By device and number, the option that named it.
    known: HashMap<(u64, u64), String>,
}

impl Opener {
    /// Opens the file that `option` names.
    ///
    /// # Errors
    ///
    /// A usage failure that names the option and the file.
    pub(crate) fn open(
        &mut self,
        option: &str,
        path: &Path,
        mut how: OpenOptions,
    ) -> Result<ResultFile, Failure> {
        let name = format!("{option}{}", printable(&path.to_string_lossy()));
        let fail = |error| Failure::usage(format!("{name}: {error}"));
        let file = open(path, &mut how).map_err(fail)?;
        if let Some(other) = self.enter(&name, &file.metadata().map_err(fail)?) {
            return Err(Failure::usage(format!(
                "{name}: this is also the file of {other}; give each its own"
            )));
        }
        Ok(ResultFile { name, file })
    }

    /// Enters a file. Returns the name of the option that has it already. Devices have room for
    /// several.
    pub(crate) fn enter(&mut self, name: &str, metadata: &Metadata) -> Option<String> {
        if !metadata.is_file() && !metadata.file_type().is_fifo() {
            return None;
        }
        self.known
            .insert((metadata.dev(), metadata.ino()), name.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn a_reader_that_takes_a_little_again_and_again_has_one_time_for_all() {
        let (theirs, ours) = nix::unistd::pipe().unwrap();
        crate::node::set_nonblocking(&ours).unwrap();
        let reader = std::thread::spawn(move || {
            let (mut theirs, mut bytes) = (File::from(theirs), [0; 4096]);
            let mut taken = 0;
            while let Ok(length @ 1..) = theirs.read(&mut bytes) {
                taken += length;
                sleep(Duration::from_millis(10));
            }
            taken
        });
        // A minute at this pace.
        let bytes = vec![0; 6000 * 4096];
        let limit = Duration::from_millis(100);
        let written = write_within(limit, &File::from(ours), &bytes);
        assert_eq!(written.unwrap_err().to_string(), "its reader is too slow");
        assert!(reader.join().unwrap() < bytes.len());
    }
}
