//! What a job leaves behind, beside its output: the files that options ask for.

use crate::cli::request::Options;
use crate::failure::Failure;
use crate::job::place::Placement;
use crate::remote::link::Link;
use crate::reports::capture::Capture;
use crate::reports::rank_files::RankFiles;
use crate::reports::result_file::{self, Opener, ResultFile};
use crate::reports::stats::Recorder;

/// All of them. Their files are open.
#[derive(Debug)]
pub(crate) struct Results {
    /// `--stats`.
    pub(crate) recorder: Option<Recorder>,
    /// `--packets` and `--sequence`.
    pub(crate) capture: Option<Capture>,
    /// `--stall-json`: a line for each report.
    pub(crate) stall_record: Option<ResultFile>,
    /// `--output`.
    pub(crate) rank_files: Option<RankFiles>,
}

/// What the user reads at the end.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Closing {
    /// A text of several lines.
    pub(crate) text: String,
    /// Lines about a result.
    pub(crate) notes: Vec<String>,
    /// A line for each file that lacks something.
    pub(crate) losses: Vec<String>,
}

impl Results {
    /// Opens the files: better now than when the job has run for hours.
    ///
    /// # Errors
    ///
    /// A failure that names the option and the file.
    pub(crate) fn open(options: &Options, placement: &Placement) -> Result<Results, Failure> {
        let mut opener = Opener::default();
        let capture = Capture::new(options, placement, &mut opener)?;
        let size = placement.hosts.len();
        let recorder = options.stats.as_ref();
        let recorder = recorder.map(|wish| Recorder::new(wish, size, &mut opener));
        let record = options.stall_json.as_deref();
        let record = record.map(|it| opener.open("--stall-json ", it, result_file::behind()));
        let (recorder, stall_record) = (recorder.transpose()?, record.transpose()?);
        let directory = options.output_directory.as_deref();
        let has_errors = !options.style.merges_errors;
        let files =
            directory.map(|it| RankFiles::create(it, placement.size, has_errors, &mut opener));
        Ok(Results {
            recorder,
            capture,
            stall_record,
            rank_files: files.transpose()?,
        })
    }

    /// Makes room for what the ranks of this host record: they are about to start.
    ///
    /// # Errors
    ///
    /// A line for the user.
    pub(crate) fn begin(&mut self, links: &mut [Link]) -> Result<(), String> {
        let here = links.iter_mut().find_map(|link| match link {
            Link::Here(node) => Some(node),
            Link::There(_) => None,
        });
        if let (Some(capture), Some(node)) = (&mut self.capture, here) {
            node.have_records(capture.begin()?.to_path_buf());
        }
        Ok(())
    }

    /// The job is over: writes what is known only now. A second time there is nothing.
    pub(crate) fn finish(&mut self) -> Closing {
        let mut closing = Closing::default();
        if let Some(recorder) = self.recorder.take() {
            match recorder.finish() {
                Ok(text) => closing.text = text,
                Err(line) => closing.losses.push(line),
            }
        }
        if let Some(capture) = self.capture.take() {
            capture.finish(&mut closing);
        }
        closing
    }
}
