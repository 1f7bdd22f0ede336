//! `mpi-packets`: merges the records that ranks made of their datagrams (`mpi_boot::packets`) in
//! order of time, and writes them as pcapng, as a diagram, or both.
//!
//! `mpirun --packets` and `--sequence` start it at the end of a job, once for each file. The
//! contract with them: `-` is the standard output; each line on standard error begins with
//! `mpi-packets: `, and with `note: ` behind it if the result is as it should be.

mod frame;
mod pcapng;
mod records;
mod sequence;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use pcapng::Writer;
use records::Merge;
use sequence::Diagram;

/// The exit status if the files are whole, but ranks could not record all their packets.
const LACKING: u8 = 3;
const FAILED: u8 = 1;
const USAGE: u8 = 2;

/// Packets of a diagram unless the user asks for another number.
const SEQUENCE_PACKETS: usize = 200;

const HELP: &str = "\
usage: mpi-packets [--packets FILE] [--sequence FILE [--sequence-packets N]] RECORD...
Merges what ranks have recorded of their packets (MPILITE_PACKETS). RECORD is the file of a rank, or
a folder of such files; FILE may be - for the standard output.
  --packets FILE        write all packets to this file (pcapng), for Wireshark
  --sequence FILE       draw the first packets to this file (SVG), an arrow each
  --sequence-packets N  how many packets --sequence draws (default: 200)
Exit status 3: the files are written, but ranks could not record all their packets.
";

/// What a command line asks for.
#[derive(Debug, Default)]
struct Wish {
    packets: Option<PathBuf>,
    sequence: Option<PathBuf>,
    most: Option<usize>,
    records: Vec<PathBuf>,
}

impl Wish {
    /// Reads a command line. `None` if it asks for help.
    fn read(mut words: impl Iterator<Item = OsString>) -> Result<Option<Wish>, String> {
        let mut wish = Wish::default();
        while let Some(word) = words.next() {
            let name = word.to_string_lossy().into_owned();
            let mut value = || words.next().ok_or(format!("{name} needs a value"));
            match &*name {
                "--help" | "-h" => return Ok(None),
                "--packets" => wish.packets = Some(value()?.into()),
                "--sequence" => wish.sequence = Some(value()?.into()),
                "--sequence-packets" => {
                    let number = value()?.to_string_lossy().parse();
                    wish.most = Some(number.map_err(|_| format!("{name} needs a number"))?);
                }
                "--" => wish.records.extend(words.by_ref().map(PathBuf::from)),
                _ if name.starts_with('-') => return Err(format!("{name} is not known")),
                _ => wish.records.push(word.into()),
            }
        }
        if wish.packets.is_none() && wish.sequence.is_none() {
            return Err("no file to write is named (--packets, --sequence)".into());
        }
        if wish.records.is_empty() {
            return Err("no record is named".into());
        }
        Ok(Some(wish))
    }

    /// Writes the files. Returns the exit status.
    fn fulfil(&self) -> Result<u8, String> {
        let merge = Merge::open(&self.records)?;
        let lacking: Vec<_> = merge.lacking.iter().map(u32::to_string).collect();
        if let Some(path) = &self.packets {
            let limited = write_pcapng(merge, create(path)?).map_err(named(path))?;
            limited.iter().for_each(|it| say(&format!("note: {it}")));
        }
        if let Some(path) = &self.sequence {
            let merge = Merge::open(&self.records)?;
            let most = self.most.unwrap_or(SEQUENCE_PACKETS);
            write_diagram(merge, most, create(path)?).map_err(named(path))?;
        }
        let plural = match lacking.len() {
            0 => return Ok(0),
            1 => "",
            _ => "s",
        };
        let ranks = lacking.join(", ");
        say(&format!(
            "rank{plural} {ranks} could not record all packets"
        ));
        Ok(LACKING)
    }
}

/// Writes all records. Returns a line for each rank that reached the limit of recording.
fn write_pcapng(merge: Merge, file: File) -> io::Result<Vec<String>> {
    let mut writer = Writer::new(file, &merge.ranks)?;
    for (preamble, record) in merge {
        writer.add(&preamble, &record)?;
    }
    writer.finish()
}

fn write_diagram(merge: Merge, most: usize, mut file: File) -> io::Result<()> {
    let mut diagram = Diagram::new(most, &merge.ranks);
    for (preamble, record) in merge {
        diagram.hear(&preamble, &record);
    }
    file.write_all(diagram.to_svg().as_bytes())
}

/// Does what these arguments ask for.
pub fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let status = match Wish::read(arguments) {
        Ok(Some(wish)) => wish.fulfil().unwrap_or_else(|line| {
            say(&line);
            FAILED
        }),
        Ok(None) => {
            print!("{HELP}");
            0
        }
        Err(line) => {
            say(&format!("{line}; see mpi-packets --help"));
            USAGE
        }
    };
    status.into()
}

fn say(line: &str) {
    eprintln!("mpi-packets: {line}");
}

/// Opens a file to write.
fn create(path: &Path) -> Result<File, String> {
    let opened = match path.to_str() {
        Some("-") => io::stdout().as_fd().try_clone_to_owned().map(File::from),
        _ => File::create(path),
    };
    opened.map_err(named(path))
}

/// Makes a line of an error about a file.
fn named(path: &Path) -> impl Fn(io::Error) -> String {
    move |error| format!("{}: {error}", path.display())
}
