//! What a section has to tell, and where its text and pictures are kept.

use std::path::{Path, PathBuf};
use std::{fs, io};

use mpi_lite_tests::c_source;
use serde::{Deserialize, Serialize};

use crate::goal::Goal;
use crate::origin::Origin;
use crate::plot::Plot;
use crate::table::Table;

/// The tables, goals and pictures of a section.
#[derive(Debug, Default)]
pub struct Report {
    text: String,
    goals: Vec<Goal>,
    origin: Option<Origin>,
    pictures: Vec<(String, Picture)>,
}

/// A picture as it is kept: where its figures come from, and the figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Picture {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<Origin>,
    #[serde(flatten)]
    plot: Plot,
}

impl Picture {
    fn to_svg(&self) -> String {
        self.plot.to_svg(&Origin::small_print(self.origin.as_ref()))
    }

    /// The documentation shows no figures of chance.
    fn is_presentable(&self) -> bool {
        self.origin.as_ref().is_some_and(Origin::is_presentable)
    }
}

/// Where the pictures of the documentation are.
#[must_use]
pub fn plots_folder() -> PathBuf {
    c_source("docs/plots")
}

/// Where the texts of the sections are kept, and the pictures that are not of the documentation.
fn texts_folder() -> PathBuf {
    c_source("target/compare")
}

impl Report {
    /// Adds a table, and prints it, since the next may take its time.
    pub fn table(&mut self, table: &Table) {
        self.line(&table.to_string());
    }

    /// Adds a line of words and prints it.
    pub fn line(&mut self, line: &str) {
        println!("{line}");
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Adds a goal.
    pub fn goal(&mut self, goal: Goal) {
        self.goals.push(goal);
    }

    /// Says where the figures of all pictures that follow come from.
    pub fn set_origin(&mut self, origin: Origin) {
        self.origin = Some(origin);
    }

    /// Adds a picture, which becomes `NAME.svg` with its origin and figures in `NAME.json`.
    pub fn plot(&mut self, name: impl Into<String>, plot: Plot) {
        let origin = self.origin.clone();
        self.pictures.push((name.into(), Picture { origin, plot }));
    }

    /// The goals so far.
    #[must_use]
    pub fn goals(&self) -> &[Goal] {
        &self.goals
    }

    /// Writes the text.
    ///
    /// # Errors
    /// What could not be written.
    pub fn keep(&self, section: &str) -> io::Result<()> {
        fs::create_dir_all(texts_folder())?;
        fs::write(texts_folder().join(format!("{section}.txt")), &self.text)
    }

    /// Draws the pictures, each with its origin and figures beside it: those of quick or few rounds
    /// beside the texts, all others into [`plots_folder`]. Returns where they are.
    ///
    /// # Errors
    /// What could not be written.
    pub fn draw(&self) -> io::Result<Vec<PathBuf>> {
        self.draw_into(&plots_folder(), &texts_folder())
    }

    fn draw_into(&self, presented: &Path, others: &Path) -> io::Result<Vec<PathBuf>> {
        let draw = |(name, picture): &(String, Picture)| {
            let folder = if picture.is_presentable() {
                presented
            } else {
                others
            };
            fs::create_dir_all(folder)?;
            let path = folder.join(name);
            fs::write(path.with_extension("json"), serde_json::to_string(picture)?)?;
            let svg = path.with_extension("svg");
            fs::write(&svg, picture.to_svg())?;
            Ok(svg)
        };
        self.pictures.iter().map(draw).collect()
    }
}

/// Draws the pictures of this folder again from what is kept beside them, their small print too.
/// Returns the number of pictures.
///
/// # Errors
/// What could not be read or written.
pub fn redraw(folder: &Path) -> io::Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "json") {
            let picture: Picture = serde_json::from_slice(&fs::read(&path)?)?;
            fs::write(path.with_extension("svg"), picture.to_svg())?;
            count += 1;
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use mpi_lite_tests::Scratch;

    use super::*;
    use crate::measurements::Spread;
    use crate::origin::LEAST_ROUNDS;
    use crate::origin::tests::origin;
    use crate::plot::{Bar, BarPlot, LinePlot, Series, Ticks};

    fn spread() -> Spread {
        Spread::of(vec![1.1, 2.7, 3.3]).expect("three figures")
    }

    fn bars() -> Plot {
        let bar = |name: &str, figure| Bar {
            name: name.to_owned(),
            figure,
        };
        let absent = bar("MPICH tcp", Err("not installed".to_owned()));
        Plot::Bars(BarPlot {
            title: "Rate".to_owned(),
            subtitle: "two ranks".to_owned(),
            unit: "/s".to_owned(),
            groups: vec![(
                "one way".to_owned(),
                vec![bar("fast", Ok(spread())), absent],
            )],
        })
    }

    fn lines() -> Plot {
        Plot::Lines(LinePlot {
            title: "Farm".to_owned(),
            subtitle: "tasks of 30 KiB".to_owned(),
            x: Ticks::steps("packets lost", &[0.0, 0.1], "%"),
            y: "tasks/s".to_owned(),
            series: vec![Series {
                name: "fast".to_owned(),
                points: vec![(0.0, spread()), (0.1, spread())],
            }],
            notes: vec!["MPICH tcp: not installed".to_owned()],
        })
    }

    /// A report of both kinds of pictures.
    fn report(origin: Option<Origin>) -> Report {
        let mut report = Report {
            origin,
            ..Report::default()
        };
        report.plot("rate", bars());
        report.plot("loss", lines());
        report
    }

    /// The files of this folder, sorted by name, with their texts.
    fn files(folder: &Path) -> Vec<(String, String)> {
        let entries = fs::read_dir(folder).expect("a folder");
        let file = |entry: io::Result<fs::DirEntry>| {
            let entry = entry.expect("an entry");
            let name = entry.file_name().into_string().expect("a name of ours");
            (name, fs::read_to_string(entry.path()).expect("a text"))
        };
        let mut files: Vec<_> = entries.map(file).collect();
        files.sort();
        files
    }

    fn names(folder: &Path) -> Vec<String> {
        files(folder).into_iter().map(|(name, _)| name).collect()
    }

    const ALL: [&str; 4] = ["loss.json", "loss.svg", "rate.json", "rate.svg"];

    #[test]
    fn a_picture_is_drawn_again_with_its_small_print_from_what_was_kept_of_it() {
        let (scratch, others) = (Scratch::new("redraw"), Scratch::new("redraw-others"));
        let origin = origin(LEAST_ROUNDS, false);
        let drawn = report(Some(origin.clone())).draw_into(scratch.path(), others.path());
        assert_eq!(drawn.map(|paths| paths.len()).ok(), Some(2));
        let first = files(scratch.path());
        assert_eq!(names(scratch.path()), ALL);
        for (name, text) in first.iter().filter(|(name, _)| name.ends_with("svg")) {
            for part in [
                &origin.machine,
                &origin.date,
                &origin.commit,
                &origin.peers[1],
            ] {
                assert!(text.contains(part.as_str()), "{part} in {name}: {text}");
            }
            fs::remove_file(scratch.path().join(name)).expect("it is there");
        }
        assert_eq!(redraw(scratch.path()).ok(), Some(2));
        assert_eq!(files(scratch.path()), first);
    }

    #[test]
    fn figures_that_were_kept_without_origin_are_drawn_and_say_so() {
        let scratch = Scratch::new("redraw-old");
        let old = serde_json::to_string(&lines()).expect("figures");
        fs::write(scratch.path().join("loss.json"), old).expect("a folder");
        assert_eq!(redraw(scratch.path()).ok(), Some(1));
        let svg = &files(scratch.path())[1].1;
        assert!(svg.contains("not recorded"), "{svg}");
    }

    #[test]
    fn quick_and_few_rounds_leave_the_pictures_of_the_documentation_as_they_are() {
        for (rounds, is_quick) in [(LEAST_ROUNDS - 1, false), (LEAST_ROUNDS, true)] {
            let (docs, others) = (Scratch::new("docs"), Scratch::new("others"));
            let report = report(Some(origin(rounds, is_quick)));
            drop(
                report
                    .draw_into(docs.path(), others.path())
                    .expect("folders"),
            );
            assert_eq!(names(docs.path()), [""; 0]);
            assert_eq!(names(others.path()), ALL);
        }
    }

    #[test]
    fn a_report_draws_its_own_pictures_alone() {
        let (docs, others) = (Scratch::new("own"), Scratch::new("own-others"));
        for name in ["latency.json", "latency.svg"] {
            fs::write(docs.path().join(name), "as it was").expect("a folder");
        }
        let report = report(Some(origin(LEAST_ROUNDS, false)));
        drop(
            report
                .draw_into(docs.path(), others.path())
                .expect("folders"),
        );
        let of_others = files(docs.path());
        let of_others = of_others
            .iter()
            .filter(|(name, _)| name.starts_with("latency"));
        assert!(of_others.clone().all(|(_, text)| text == "as it was"));
        assert_eq!(of_others.count(), 2);
    }

    #[test]
    fn the_pictures_of_the_documentation_are_what_their_figures_draw() {
        let mut count = 0;
        for (name, text) in files(&plots_folder()) {
            if name.ends_with("json") {
                let picture: Picture = serde_json::from_str(&text).expect("what was kept");
                let path = plots_folder().join(name).with_extension("svg");
                let svg = fs::read_to_string(&path).expect("a picture beside its figures");
                let path = path.display();
                assert!(
                    svg == picture.to_svg(),
                    "{path}: `make plots` draws another"
                );
                count += 1;
            }
        }
        assert!(count > 0, "no figures in {}", plots_folder().display());
    }
}
