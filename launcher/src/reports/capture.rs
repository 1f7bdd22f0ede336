//! The packets of a job: `mpirun --packets` and `--sequence`.
//!
//! The ranks of this host record their datagrams in files of a private folder
//! (`mpi_boot::packets`). When all have ended, `mpi-packets` makes the results of them: it is a
//! program beside `mpirun` (`launcher/packets/`).

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Seek as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::unistd::{AccessFlags, access};

use crate::cli::request::Options;
use crate::failure::{Failure, printable};
use crate::job::place::Placement;
use crate::reports::result_file::{self, Opener, ResultFile};
use crate::reports::results::Closing;

/// The variable that tells the ranks where to record.
pub const VARIABLE: &str = "MPILITE_PACKETS";

/// The program that reads the records.
const TOOL: &str = "mpi-packets";
/// Its exit status if the result is whole, but ranks could not record all their packets.
const LACKING: i32 = 3;

/// The records of a job, and what is to be made of them.
#[derive(Debug)]
pub(crate) struct Capture {
    tool: PathBuf,
    /// The folder of the records, which goes away with this value.
    folder: PathBuf,
    is_begun: bool,
    /// The files, each with the words that ask the tool for it.
    results: Vec<(ResultFile, Vec<String>)>,
    /// Hosts whose ranks record nothing.
    missing: Vec<String>,
}

impl Capture {
    /// Opens the files that the user asks for. `None` if there are none.
    ///
    /// # Errors
    ///
    /// A failure that names the file, or the tool if it is missing.
    pub(crate) fn new(
        options: &Options,
        placement: &Placement,
        opener: &mut Opener,
    ) -> Result<Option<Capture>, Failure> {
        if !options.shows_packets() {
            return Ok(None);
        }
        let tool = std::env::current_exe().unwrap_or_default();
        let tool = tool.with_file_name(TOOL);
        access(&tool, AccessFlags::X_OK).map_err(|error| {
            let tool = printable(&tool.to_string_lossy());
            let reason = error.desc();
            Failure::launch(format!(
                "--packets and --sequence need {TOOL} beside mpirun, but {tool}: {reason}"
            ))
        })?;
        let mut results = Vec::new();
        let wishes = [
            ("--packets", &options.packets),
            ("--sequence", &options.sequence),
        ];
        for (option, path) in wishes {
            if let Some(path) = path {
                let file = opener.open(&format!("{option} "), path, result_file::anew())?;
                results.push((file, vec![option.into(), "-".into()]));
            }
        }
        if let (Some(most), Some((_, words))) = (options.sequence_packets, results.last_mut()) {
            words.extend(["--sequence-packets".into(), most.to_string()]);
        }
        // A name that nobody can guess.
        let mut random = [0; 8];
        getrandom::fill(&mut random)
            .map_err(|error| Failure::launch(format!("no folder for the packets: {error}")))?;
        let folder = format!("mpilite-packets-{:016x}", u64::from_ne_bytes(random));
        let elsewhere = placement.places.iter().filter(|place| !place.is_here);
        Ok(Some(Capture {
            tool,
            folder: std::env::temp_dir().join(folder),
            is_begun: false,
            results,
            missing: elsewhere.map(|place| printable(&place.host)).collect(),
        }))
    }

    /// The variable for the ranks of this host: what the names of their files begin with.
    pub(crate) fn variable(&self) -> (OsString, OsString) {
        (VARIABLE.into(), self.folder.join("rank").into_os_string())
    }

    /// Makes the folder for us alone, whatever the umask takes away. Returns its path.
    ///
    /// # Errors
    ///
    /// A line for the user that names the folder above.
    pub(crate) fn begin(&mut self) -> Result<&Path, String> {
        let made = DirBuilder::new().mode(0o700).create(&self.folder);
        self.is_begun = made.is_ok();
        made.and_then(|()| fs::set_permissions(&self.folder, Permissions::from_mode(0o700)))
            .map_err(|error| {
                format!(
                    "the packets of the ranks cannot be collected in {}: {error}; TMPDIR names \
                     another folder",
                    above()
                )
            })?;
        Ok(&self.folder)
    }

    /// Writes the files, and adds what is missing in them.
    pub(crate) fn finish(mut self, closing: &mut Closing) {
        if !self.missing.is_empty() {
            let hosts = self.missing.join(", ");
            closing.notes.push(format!(
                "the packets of the ranks on {hosts} are missing: only ranks of this host are \
                 recorded"
            ));
        }
        for (mut file, words) in std::mem::take(&mut self.results) {
            if let Err(error) = self.write(&mut file, &words, closing) {
                closing.losses.push(file.line(&error));
            }
        }
    }

    /// Lets the tool write one file.
    ///
    /// # Errors
    ///
    /// Why the file is not whole.
    fn write(
        &self,
        file: &mut ResultFile,
        words: &[String],
        closing: &mut Closing,
    ) -> io::Result<()> {
        // Without a start there are no records.
        let records = match self.is_begun {
            true => &self.folder,
            false => Path::new("/dev/null"),
        };
        // What it says is little, and waits in memory for its end.
        let mut said = File::from(memfd_create(c"said", MFdFlags::MFD_CLOEXEC)?);
        let mut tool = Command::new(&self.tool);
        tool.args(words).arg(records).stdin(Stdio::null());
        tool.stdout(Stdio::piped()).stderr(said.try_clone()?);
        let mut tool = tool.spawn()?;
        let mut output = tool.stdout.take().expect("it is a pipe");
        let copied = io::copy(&mut output, file);
        // If the file takes no more, the tool may still have something to say.
        io::copy(&mut output, &mut io::sink())?;
        let status = tool.wait()?;
        said.rewind()?;
        let mut reason = format!("{TOOL}: {status}");
        for line in io::read_to_string(said)?.lines() {
            let line = line.strip_prefix("mpi-packets: ").unwrap_or(line);
            match line.strip_prefix("note: ") {
                Some(note) => closing.notes.push(note.into()),
                None => reason = line.into(),
            }
        }
        if status.code() == Some(LACKING) {
            let line = format!("{reason}: is {} full? TMPDIR names another folder", above());
            // Each file is made of the same records.
            if !closing.losses.contains(&line) {
                closing.losses.push(line);
            }
        } else if !status.success() {
            copied?;
            return Err(io::Error::other(reason));
        }
        copied.map(drop)
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        if self.is_begun {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// Where the folder of the records lies, for messages.
fn above() -> String {
    printable(&std::env::temp_dir().to_string_lossy())
}
