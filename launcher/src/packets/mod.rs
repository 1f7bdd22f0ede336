//! The packets of a job: `mpirun --packets` and `--sequence`.
//!
//! The ranks of this host record their datagrams in files of a private folder
//! (`mpi_lite::packets`). When all have ended the records are merged in order of time, and written
//! as pcapng, as a diagram, or both.

mod frame;
mod merge;
mod pcapng;
mod sequence;

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use mpi_lite::packets::{RECORDS_MOST, Record, Way};

use crate::args::Options;
use crate::failure::{Failure, printable};
use crate::place::Placement;
use merge::Merge;
use pcapng::Writer;
use sequence::Diagram;

/// The variable that tells the ranks where to record.
pub const VARIABLE: &str = "MPILITE_PACKETS";

/// Packets of a diagram unless the user asks for another number.
const SEQUENCE_PACKETS: u32 = 200;

/// A file that is opened before anything is started, and its name for messages.
#[derive(Debug)]
struct Target {
    name: String,
    file: File,
}

impl Target {
    fn open(option: &str, path: &Path) -> Result<Target, Failure> {
        let name = format!("{option} {}", printable(&path.to_string_lossy()));
        match File::create(path) {
            Ok(file) => Ok(Target { name, file }),
            Err(error) => Err(Failure::usage(format!("{name}: {error}"))),
        }
    }
}

/// The folder of the records, which goes away with it.
#[derive(Debug)]
struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Folder> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let name = format!("mpilite-packets-{:016x}", u64::from_ne_bytes(random));
        let path = std::env::temp_dir().join(name);
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Folder(path))
    }

    /// What the names of the files begin with.
    fn prefix(&self) -> PathBuf {
        self.0.join("rank")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The records of a job, and what is to be made of them.
#[derive(Debug)]
pub struct Capture {
    folder: Folder,
    packets: Option<Target>,
    sequence: Option<(Target, usize)>,
    /// Hosts whose ranks record nothing.
    missing: Vec<String>,
}

impl Capture {
    /// Opens the files that the user asks for. `None` if there are none.
    ///
    /// # Errors
    ///
    /// A failure that names the file.
    pub fn new(options: &Options, placement: &Placement) -> Result<Option<Capture>, Failure> {
        if !options.shows_packets() {
            return Ok(None);
        }
        let open = |option, path: &Option<PathBuf>| {
            let opened = path.as_ref().map(|path| Target::open(option, path));
            opened.transpose()
        };
        let most = options.sequence_packets.unwrap_or(SEQUENCE_PACKETS) as usize;
        let no_folder = |error| Failure::launch(format!("no folder for the packets: {error}"));
        let elsewhere = placement.places.iter().filter(|place| !place.is_here);
        Ok(Some(Capture {
            packets: open("--packets", &options.packets)?,
            sequence: open("--sequence", &options.sequence)?.map(|target| (target, most)),
            folder: Folder::new().map_err(no_folder)?,
            missing: elsewhere.map(|place| printable(&place.host)).collect(),
        }))
    }

    /// The variable for the ranks of this host.
    pub fn variable(&self) -> (OsString, OsString) {
        (VARIABLE.into(), self.folder.prefix().into_os_string())
    }

    /// Writes the files. Returns lines for the user: what is missing in them.
    pub fn finish(self) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.missing.is_empty() {
            let hosts = self.missing.join(", ");
            lines.push(format!(
                "the packets of the ranks on {hosts} are missing: only ranks of this host are \
                 recorded"
            ));
        }
        if let Some(target) = &self.packets {
            match write_pcapng(&self.folder.0, &target.file) {
                Ok(limited) => lines.extend(limited),
                Err(error) => lines.push(format!("{}: {error}", target.name)),
            }
        }
        if let Some((target, most)) = &self.sequence
            && let Err(error) = write_diagram(&self.folder.0, &target.file, *most)
        {
            lines.push(format!("{}: {error}", target.name));
        }
        lines
    }
}

/// Writes all records of a folder. Returns a line for each rank that sent or got more than that.
fn write_pcapng(folder: &Path, file: &File) -> io::Result<Vec<String>> {
    let merge = Merge::open(folder)?;
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

fn write_diagram(folder: &Path, mut file: &File, most: usize) -> io::Result<()> {
    let merge = Merge::open(folder)?;
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
