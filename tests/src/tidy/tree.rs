//! Rules that look at the whole tree: the map names every room, the links of the documents lead
//! somewhere, the index of decisions lists each of them with its status.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::{SourceFile, Violation, violations_of_file};

/// Folders that are not source.
const NOT_SOURCE: &[&str] = &["target", "install", ".git"];
/// The kinds of files that people write.
const WRITTEN: &[&str] = &[
    "rs", "c", "h", "md", "toml", "yml", "yaml", "sh", "txt", "in", "svg", "json", "lua",
];

/// Every text file under the root, sorted by path.
#[must_use]
pub fn files(root: &Path) -> Vec<SourceFile> {
    let mut found = Vec::new();
    collect(root, root, &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn collect(root: &Path, folder: &Path, found: &mut Vec<SourceFile>) {
    let entries = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", folder.display()));
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path
            .file_name()
            .expect("an entry has a name")
            .to_string_lossy();
        if path.is_dir() {
            if !NOT_SOURCE.contains(&name.as_ref()) {
                collect(root, &path, found);
            }
        } else if is_written(&path, &name) {
            let from_root = path.strip_prefix(root).expect("found below the root");
            let bytes = fs::read(&path).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            found.push(SourceFile::new(&from_root.to_string_lossy(), &text));
        }
    }
}

fn is_written(path: &Path, name: &str) -> bool {
    let extension = path
        .extension()
        .map(|extension| extension.to_string_lossy());
    matches!(name, "Makefile" | "run") || extension.is_some_and(|e| WRITTEN.contains(&e.as_ref()))
}

/// Everything that is wrong anywhere.
#[must_use]
pub fn violations_of_tree(files: &[SourceFile]) -> Vec<Violation> {
    let mut found: Vec<_> = files.iter().flat_map(violations_of_file).collect();
    found.extend(unnamed_folders(files));
    found.extend(broken_links(files));
    found.extend(unlisted_decisions(files));
    found.extend(untrue_size(files));
    found
}

/// What follows README's number of lines.
const SIZE_UNIT: &str = " lines of Rust without tests";
/// README gives the number of lines in hundreds.
const SIZE_STEP: usize = 100;
/// How far it may be from theirs.
const SIZE_MARGIN: usize = 500;

/// The simulator.
const TESTS: [&str; 1] = ["rmpp-core/sim/"];

/// The lines of Rust of all crates but those of tests and measurements: those of their `src`
/// folders, without unit tests and without what is a test as a whole, to the nearest hundred.
fn size(files: &[SourceFile]) -> usize {
    let is_counted = |file: &&SourceFile| {
        let is_product = !file.path.starts_with("tests/") && !file.path.starts_with("benches/");
        let is_source = file.is_rust() && file.path.contains("/src/");
        let is_test = TESTS.iter().any(|folder| file.path.starts_with(folder))
            || file.path.ends_with("tests.rs");
        is_product && is_source && !is_test
    };
    let counted = files.iter().filter(is_counted);
    let lines: usize = counted.map(|file| file.product_lines().count()).sum();
    (lines + SIZE_STEP / 2) / SIZE_STEP * SIZE_STEP
}

/// The number before `SIZE_UNIT` in a line, as it is written.
fn claimed_size(line: &str) -> Option<&str> {
    let (before, _) = line.split_once(SIZE_UNIT)?;
    let start = before.rfind(' ').map_or(0, |blank| blank + 1);
    Some(&before[start..])
}

/// The text of README with the true number of lines.
#[must_use]
pub fn readme_with_size(files: &[SourceFile]) -> Option<String> {
    let readme = files.iter().find(|file| file.path == "README.md")?;
    let claimed = readme.text.lines().find_map(claimed_size)?;
    let size = size(files);
    let written = match size / 1000 {
        0 => size.to_string(),
        thousands => format!("{thousands},{:03}", size % 1000),
    };
    let (old, new) = (claimed.to_owned() + SIZE_UNIT, written + SIZE_UNIT);
    Some(readme.text.replacen(&old, &new, 1))
}

/// README gives the number of lines, near enough to the true one.
fn untrue_size(files: &[SourceFile]) -> Option<Violation> {
    let readme = files.iter().find(|file| file.path == "README.md")?;
    let lines = (1..).zip(readme.text.lines());
    let mut claims = lines.filter_map(|(place, line)| Some((place, claimed_size(line)?)));
    let Some((place, claimed)) = claims.next() else {
        return Some(readme.violation(1, format!("no line has a number and `{SIZE_UNIT}`")));
    };
    let size = size(files);
    let number = claimed.replace(',', "").parse::<usize>();
    let is_near = number.is_ok_and(|number| number.abs_diff(size) <= SIZE_MARGIN);
    let what = format!(
        "{claimed} lines, but there are {size}: UPDATE=1 cargo test -p mpi-lite-tests --test tidy"
    );
    (!is_near).then(|| readme.violation(place, what))
}

/// Each folder below a `src` is named, with a closing slash, in ARCHITECTURE.md.
fn unnamed_folders(files: &[SourceFile]) -> Vec<Violation> {
    let map = files.iter().find(|file| file.path == "ARCHITECTURE.md");
    let text = map.map(|file| file.text.as_str()).unwrap_or_default();
    let folder = |file: &SourceFile| {
        let (crate_name, rest) = file.path.split_once("/src/")?;
        let (folder, _) = rest.rsplit_once('/')?;
        file.is_rust()
            .then(|| (crate_name.to_owned(), folder.to_owned()))
    };
    let folders: BTreeSet<_> = files.iter().filter_map(folder).collect();
    let is_named = |folder: &str| {
        let last = folder.rsplit('/').next().unwrap_or(folder);
        text.contains(&format!("{last}/"))
    };
    let unnamed = folders.into_iter().filter(|(_, folder)| !is_named(folder));
    let violation = |(crate_name, folder): (String, String)| Violation {
        path: format!("{crate_name}/src/{folder}"),
        line: 1,
        what: format!("ARCHITECTURE.md does not name `{folder}/`"),
    };
    unnamed.map(violation).collect()
}

/// `](path)` and `](path#part)` in a Markdown file name files or folders that exist.
fn broken_links(files: &[SourceFile]) -> Vec<Violation> {
    let mut known: BTreeSet<String> = files.iter().map(|file| file.path.clone()).collect();
    for file in files {
        let mut path = file.path.as_str();
        while let Some((folder, _)) = path.rsplit_once('/') {
            known.insert(folder.to_owned());
            path = folder;
        }
    }
    let documents = files.iter().filter(|file| file.path.ends_with(".md"));
    let broken = |file: &SourceFile| {
        let links = links(&file.text).into_iter();
        let gone = links.filter(|(_, link)| !known.contains(&resolve(&file.path, link)));
        gone.map(|(line, link)| file.violation(line, format!("`{link}` leads nowhere")))
            .collect::<Vec<_>>()
    };
    documents.flat_map(broken).collect()
}

/// Links to places in the tree, with their lines; code blocks hold none.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut in_code = false;
    for (i, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        for piece in line.split("](").skip(1).filter(|_| !in_code) {
            let Some((target, _)) = piece.split_once(')') else {
                continue;
            };
            let path = target.split('#').next().unwrap_or_default();
            if !path.is_empty() && !target.contains("://") && !target.starts_with("mailto:") {
                found.push((i + 1, path.to_owned()));
            }
        }
    }
    found
}

/// Each record of a decision says its status below its title, and the index repeats both.
fn unlisted_decisions(files: &[SourceFile]) -> Vec<Violation> {
    const FOLDER: &str = "docs/decisions/";
    const INDEX: &str = "docs/decisions/README.md";
    let index = files.iter().find(|file| file.path == INDEX);
    let index = index.map(|file| file.text.as_str()).unwrap_or_default();
    let is_record = |file: &&SourceFile| file.path.starts_with(FOLDER) && file.path != INDEX;
    let wrong = |file: &SourceFile| {
        let name = file.path.strip_prefix(FOLDER)?;
        let mut lines = file.text.lines();
        let title = lines.next().and_then(|line| line.strip_prefix("# "));
        let Some((number, title)) = title.and_then(|title| title.split_once(". ")) else {
            return Some(file.violation(1, "`# NUMBER. TITLE` expected"));
        };
        let Some(status) = lines.nth(1).and_then(|line| line.strip_prefix("Status: ")) else {
            return Some(file.violation(3, "`Status: …` expected"));
        };
        let status = status.split(". ").next()?.trim_end_matches('.');
        let row = format!("| [{number}]({name}) | {title} | {status} |");
        let is_listed = index.lines().any(|line| line == row);
        (!is_listed).then(|| file.violation(1, format!("{INDEX} lacks the line `{row}`")))
    };
    files.iter().filter(is_record).filter_map(wrong).collect()
}

/// The path from the root of what a document links to.
fn resolve(document: &str, link: &str) -> String {
    let mut parts: Vec<_> = document.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    parts.join("/")
}
