//! The packets of a job: `mpirun --packets` and `--sequence`.
//!
//! The ranks of this host record their datagrams in files of a private folder
//! (`mpi_boot::packets`). When all have ended the records are merged in order of time, and written
//! as pcapng, as a diagram, or both.

mod frame;
mod merge;
mod pcapng;
mod sequence;

use std::ffi::OsString;
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use mpi_boot::packets::{RECORDS_MOST, Record, Way};

use crate::cli::request::Options;
use crate::failure::{Failure, printable};
use crate::job::place::Placement;
use crate::reports::result_file::{self, Opener, ResultFile};
use crate::reports::results::Closing;
use merge::{Merge, Records};
use pcapng::Writer;
use sequence::Diagram;

/// The variable that tells the ranks where to record.
pub const VARIABLE: &str = "MPILITE_PACKETS";

/// Packets of a diagram unless the user asks for another number.
const SEQUENCE_PACKETS: u32 = 200;

/// The folder of the records, which goes away with it.
#[derive(Debug)]
struct Folder(PathBuf);

impl Folder {
    /// A name that nobody can guess.
    fn name() -> io::Result<PathBuf> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let name = format!("mpilite-packets-{:016x}", u64::from_ne_bytes(random));
        Ok(std::env::temp_dir().join(name))
    }

    /// Makes the folder for us alone, whatever the umask takes away.
    fn make(path: &Path) -> io::Result<Folder> {
        DirBuilder::new().mode(0o700).create(path)?;
        let folder = Folder(path.to_path_buf());
        fs::set_permissions(path, Permissions::from_mode(0o700))?;
        Ok(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The records of a job, and what is to be made of them.
#[derive(Debug)]
pub(crate) struct Capture {
    path: PathBuf,
    /// None before the start.
    folder: Option<Folder>,
    packets: Option<ResultFile>,
    sequence: Option<(ResultFile, usize)>,
    /// Hosts whose ranks record nothing.
    missing: Vec<String>,
}

impl Capture {
    /// Opens the files that the user asks for. `None` if there are none.
    ///
    /// # Errors
    ///
    /// A failure that names the file.
    pub(crate) fn new(
        options: &Options,
        placement: &Placement,
        opener: &mut Opener,
    ) -> Result<Option<Capture>, Failure> {
        if !options.shows_packets() {
            return Ok(None);
        }
        let mut open = |option, path: &Option<PathBuf>| {
            let path = path.as_ref();
            let opened = path.map(|path| opener.open(option, path, result_file::anew()));
            opened.transpose()
        };
        let most = options.sequence_packets.unwrap_or(SEQUENCE_PACKETS) as usize;
        let no_name = |error| Failure::launch(format!("no folder for the packets: {error}"));
        let elsewhere = placement.places.iter().filter(|place| !place.is_here);
        Ok(Some(Capture {
            packets: open("--packets ", &options.packets)?,
            sequence: open("--sequence ", &options.sequence)?.map(|file| (file, most)),
            path: Folder::name().map_err(no_name)?,
            folder: None,
            missing: elsewhere.map(|place| printable(&place.host)).collect(),
        }))
    }

    /// The variable for the ranks of this host: what the names of their files begin with.
    pub(crate) fn variable(&self) -> (OsString, OsString) {
        (VARIABLE.into(), self.path.join("rank").into_os_string())
    }

    /// Makes the folder. Returns its path.
    ///
    /// # Errors
    ///
    /// A line for the user that names the folder above.
    pub(crate) fn begin(&mut self) -> Result<&Path, String> {
        let made = Folder::make(&self.path);
        self.folder = Some(made.map_err(|error| {
            let above = self.path.parent().unwrap_or(&self.path);
            format!(
                "the packets of the ranks cannot be collected in {}: {error}; TMPDIR names \
                 another folder",
                printable(&above.to_string_lossy())
            )
        })?);
        Ok(&self.path)
    }

    /// Writes the files. Returns what is missing in them.
    pub(crate) fn finish(mut self) -> Closing {
        let mut closing = Closing::default();
        if !self.missing.is_empty() {
            let hosts = self.missing.join(", ");
            closing.notes.push(format!(
                "the packets of the ranks on {hosts} are missing: only ranks of this host are \
                 recorded"
            ));
        }
        let records = match &self.folder {
            Some(folder) => Records::open(&folder.0),
            None => Ok(Records::default()),
        };
        // They are read from open files now. Nothing is left of them, whatever happens to us.
        self.folder = None;
        let records = records.map_err(|error| error.to_string());
        closing.losses.extend(unrecorded(&records));
        if let Some(file) = &mut self.packets {
            match written(&records, file, write_pcapng) {
                Ok(limited) => closing.notes.extend(limited),
                Err(line) => closing.losses.push(line),
            }
        }
        if let Some((file, most)) = &mut self.sequence
            && let Err(line) = written(&records, file, |merge, file| {
                write_diagram(merge, file, *most)
            })
        {
            closing.losses.push(line);
        }
        closing
    }
}

/// A line for the user if ranks could not write all their records.
fn unrecorded(records: &Result<Records, String>) -> Option<String> {
    let merge = records.as_ref().ok()?.merge().ok()?;
    let ranks = merge.ranks_with_loss();
    let names: Vec<_> = ranks.iter().map(u32::to_string).collect();
    let plural = if ranks.len() == 1 { "" } else { "s" };
    (!ranks.is_empty()).then(|| {
        format!(
            "rank{plural} {} could not record all packets: is {} full? TMPDIR names another folder",
            names.join(", "),
            printable(&std::env::temp_dir().to_string_lossy())
        )
    })
}

/// Lets `write` write the records of all ranks to a file. The error is a line for the user.
fn written<T>(
    records: &Result<Records, String>,
    file: &mut ResultFile,
    write: impl FnOnce(Merge, &mut ResultFile) -> io::Result<T>,
) -> Result<T, String> {
    let records = records.as_ref();
    let records = records.map_err(|reason| io::Error::other(reason.clone()));
    let done = records.and_then(Records::merge);
    done.and_then(|merge| write(merge, file))
        .map_err(|error| file.line(&error))
}

/// Writes all records. Returns a line for each rank that reached the recording
/// limit.
fn write_pcapng(merge: Merge, file: &mut ResultFile) -> io::Result<Vec<String>> {
    let ranks = merge.ranks();
    let interfaces = ranks
        .iter()
        .flat_map(|rank| [format!("rank {rank} sent"), format!("rank {rank} received")]);
    let mut writer = Writer::new(BufWriter::new(file), interfaces)?;
    let mut limited = Vec::new();
    for (preamble, record) in merge {
        let place = ranks.binary_search(&preamble.rank).unwrap_or(0);
        let interface = 2 * place + usize::from(record.way == Way::Received);
        if record.way == Way::Limit {
            limited.push((interface, limit_line(preamble.rank)));
            continue;
        }
        let (bytes, original) = frame::of(&preamble, &record);
        writer.packet(interface, record.time, (&bytes, original))?;
    }
    for (interface, line) in &limited {
        writer.statistics(*interface, line)?;
    }
    writer.finish()?.flush()?;
    Ok(limited.into_iter().map(|(_, line)| line).collect())
}

fn limit_line(rank: u32) -> String {
    format!(
        "rank {rank} had more datagrams than are recorded of a rank: {RECORDS_MOST}, or 256 MiB"
    )
}

fn write_diagram(merge: Merge, file: &mut ResultFile, most: usize) -> io::Result<()> {
    let mut diagram = Diagram::new(most, &merge.ranks());
    for (preamble, record) in merge {
        diagram.hear(&preamble, &record);
    }
    file.write_all(diagram.to_svg().as_bytes())
}

/// Sender and receiver of a record.
fn ends(rank: u32, record: &Record) -> (u32, u32) {
    match record.way {
        Way::Received => (record.peer, rank),
        Way::Sent | Way::Limit => (rank, record.peer),
    }
}
