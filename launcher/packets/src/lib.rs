//! `mpi-packets`: merges the records that ranks made of their datagrams (`mpi_boot::packets`) in
//! order of time, and writes them as pcapng, as a diagram, or both.
//!
//! `mpirun --packets` and `--sequence` start it at the end of a job, once for each file. The
//! contract with them: `-` is the standard output; each line on standard error begins with
//! `mpi-packets: `, and with `note: ` behind it if the result is as it should be; [`LACKING`].

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
        let (ranks, lacking) = (merge.ranks(), merge.ranks_with_loss());
        let mut pcapng = None;
        if let Some(path) = &self.packets {
            let writer = Writer::new(create(path)?, &ranks);
            pcapng = Some((writer.map_err(named(path))?, path));
        }
        let most = self.most.unwrap_or(SEQUENCE_PACKETS);
        let mut diagram = None;
        if let Some(path) = &self.sequence {
            diagram = Some((Diagram::new(most, &ranks), create(path)?, path));
        }
        for (preamble, record) in merge {
            if let Some((writer, path)) = &mut pcapng {
                writer.add(&preamble, &record).map_err(named(path))?;
            }
            if let Some((diagram, ..)) = &mut diagram {
                diagram.hear(&preamble, &record);
            }
        }
        if let Some((writer, path)) = pcapng {
            let limited = writer.finish().map_err(named(path))?;
            limited.iter().for_each(|it| say(&format!("note: {it}")));
        }
        if let Some((diagram, mut file, path)) = diagram {
            let svg = diagram.to_svg();
            file.write_all(svg.as_bytes()).map_err(named(path))?;
        }
        if lacking.is_empty() {
            return Ok(0);
        }
        let plural = if lacking.len() == 1 { "" } else { "s" };
        let names: Vec<_> = lacking.iter().map(u32::to_string).collect();
        say(&format!(
            "rank{plural} {} could not record all packets",
            names.join(", ")
        ));
        Ok(LACKING)
    }
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
