//! Text made from the table of functions: the prototypes of `include/mpi.h` and
//! `docs/coverage.md`. Tests compare both with the tracked files; `UPDATE=1` rewrites them.

use core::fmt::Write as _;

use crate::chapters::{CHAPTERS, Chapter};
use crate::declaration::Entry;

const WIDTH: usize = 100;

/// The prototypes, `MPI_` and `PMPI_`, chapter by chapter.
pub fn prototypes() -> String {
    let mut text = String::new();
    for chapter in CHAPTERS {
        writeln!(text, "\n/* {}. {}. */", chapter.number, chapter.title).expect(INFALLIBLE);
        for entry in chapter.entries() {
            prototype(entry, "", &mut text);
        }
        for entry in chapter.entries() {
            prototype(entry, "P", &mut text);
        }
    }
    text
}

fn prototype(entry: &Entry, prefix: &str, text: &mut String) {
    let parameters = match entry.parameters {
        "" => "void",
        some => some,
    };
    declare(
        entry.returns,
        &format!("{prefix}{}", entry.name),
        parameters,
        text,
    );
}

/// Appends the prototype of one function.
pub fn declare(returns: &str, name: &str, parameters: &str, text: &mut String) {
    let mut line = format!("{returns} {name}(");
    for (index, parameter) in format!("{parameters});").split_inclusive(", ").enumerate() {
        let arg = parameter.trim_end();
        let space = if index == 0 { "" } else { " " };
        if line.len() + space.len() + arg.len() > WIDTH {
            writeln!(text, "{line}").expect(INFALLIBLE);
            line = format!("    {arg}");
        } else {
            line.push_str(space);
            line.push_str(arg);
        }
    }
    writeln!(text, "{line}").expect(INFALLIBLE);
}

/// What is implemented, chapter by chapter.
pub fn coverage() -> String {
    let mut text = String::from(PREFACE);
    let mut total = (0, 0);
    for chapter in CHAPTERS {
        let (all, done) = count(chapter);
        total = (total.0 + all, total.1 + done);
        writeln!(
            text,
            "| {}. {} | {all} | {done} |",
            chapter.number, chapter.title
        )
        .expect(INFALLIBLE);
    }
    writeln!(text, "| **all** | **{}** | **{}** |", total.0, total.1).expect(INFALLIBLE);
    for chapter in CHAPTERS {
        list(chapter, &mut text);
    }
    text
}

fn count(chapter: &Chapter) -> (usize, usize) {
    let done = chapter.entries().filter(|entry| entry.implemented).count();
    (chapter.entries().count(), done)
}

fn list(chapter: &Chapter, text: &mut String) {
    writeln!(text, "\n## {}. {}\n", chapter.number, chapter.title).expect(INFALLIBLE);
    let names: Vec<&str> = chapter.entries().map(|entry| entry.name).collect();
    for (implemented, title) in [(true, "Implemented"), (false, "Not yet")] {
        let items: Vec<String> = chapter
            .entries()
            .filter(|entry| entry.implemented == implemented)
            .filter(|entry| {
                !entry
                    .name
                    .strip_suffix("_c")
                    .is_some_and(|it| names.contains(&it))
            })
            .map(
                |entry| match names.contains(&format!("{}_c", entry.name).as_str()) {
                    true => format!("`{}` (`_c`)", entry.name),
                    false => format!("`{}`", entry.name),
                },
            )
            .collect();
        if !items.is_empty() {
            writeln!(text, "{title}: {}.\n", items.join(", ")).expect(INFALLIBLE);
        }
    }
    text.pop();
}

const PREFACE: &str = "\
# Coverage

Which functions of MPI 5.0 have a body. All of them link; one without a body raises
`MPI_ERR_UNSUPPORTED_OPERATION`. Generated from the table in `mpi-capi/src/chapters`; to renew:
`UPDATE=1 cargo test -p mpi-capi --test generated`.

| chapter | functions | implemented |
|---|---:|---:|
";

const INFALLIBLE: &str = "writing to a string cannot fail";
