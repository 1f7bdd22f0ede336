//! Rules that look at one file.

use super::{SourceFile, Violation};

const COLUMNS: usize = 100;
const FUNCTION_LINES: usize = 70;
const FILE_LINES: usize = 600;

/// Words that say that something is unfinished. Spelled in halves, or this file would name itself.
const UNFINISHED: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("X", "XX:"),
    concat!("dbg", "!("),
    concat!("todo", "!("),
    concat!("unimple", "mented!("),
];

/// The page about containers.
const IMAGES: &str = "docs/kubernetes.md";

/// Paths that exist on somebody's machine only.
const MACHINES: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/tmp/", "w/"),
];

/// Endings of names that say nothing.
const EMPTY_NAMES: &[&str] = &["Manager", "Helper", "Util", "Utils"];

/// Everything that is wrong with one file.
#[must_use]
pub fn violations_of_file(file: &SourceFile) -> Vec<Violation> {
    let mut found = Vec::new();
    found.extend(banned_words(file));
    if file.is_generated() || !(file.is_rust() || file.is_c()) {
        return found;
    }
    found.extend(long_lines(file));
    found.extend(long_functions(file));
    found.extend(long_file(file));
    found.extend(first_line(file));
    if file.is_rust() {
        found.extend(empty_names(file));
    }
    if file.path.starts_with("mpi-lite/src/") {
        found.extend(global_state(file));
    }
    found
}

fn banned_words(file: &SourceFile) -> Vec<Violation> {
    let mut found = Vec::new();
    for (i, line) in file.text.lines().enumerate() {
        for word in UNFINISHED.iter().filter(|word| line.contains(**word)) {
            // The guides may name what they forbid.
            if !file.path.ends_with(".md") {
                found.push(file.violation(i + 1, format!("`{word}`: finish it or leave it out")));
            }
        }
        // A page about containers names what is in their image.
        let is_of_image = file.path == IMAGES;
        for path in MACHINES
            .iter()
            .filter(|path| !is_of_image && line.contains(**path))
        {
            found.push(file.violation(i + 1, format!("`{path}` is a path of one machine")));
        }
    }
    found
}

fn long_lines(file: &SourceFile) -> Vec<Violation> {
    let too_long = |(_, line): &(usize, &str)| line.chars().count() > COLUMNS;
    let lines = file.text.lines().enumerate().filter(too_long);
    lines
        .map(|(i, _)| file.violation(i + 1, format!("more than {COLUMNS} columns")))
        .collect()
}

/// A file that is nothing but tests may list as many cases as there are.
fn is_all_tests(file: &SourceFile) -> bool {
    file.path.contains("/tests/") || file.path.ends_with("/tests.rs")
}

fn long_file(file: &SourceFile) -> Option<Violation> {
    if is_all_tests(file) {
        return None;
    }
    let lines = file.product_lines().count();
    let what = format!("{lines} lines without its tests, more than {FILE_LINES}");
    (lines > FILE_LINES).then(|| file.violation(lines, what))
}

fn first_line(file: &SourceFile) -> Option<Violation> {
    let wanted = if file.is_rust() { "//! " } else { "/* " };
    let line = file.text.lines().next().unwrap_or_default();
    let what = format!("the first line is to say what the file is for (`{wanted}...`)");
    (!line.starts_with(wanted)).then(|| file.violation(1, what))
}

/// A function runs from its first line to the closing brace at the same indentation.
fn long_functions(file: &SourceFile) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (i, line) in file.text.lines().enumerate() {
        match &open {
            None if starts_function(file, line) => {
                let indent = " ".repeat(line.len() - line.trim_start().len());
                open = (!ends_at_once(line)).then(|| (i, format!("{indent}}}")));
            }
            Some((start, end)) if line.starts_with(end.as_str()) => {
                let lines = i - start + 1;
                if lines > FUNCTION_LINES {
                    let what = format!("function of {lines} lines, more than {FUNCTION_LINES}");
                    found.push(file.violation(start + 1, what));
                }
                open = None;
            }
            // A declaration without a body has nothing to measure.
            Some((_, end)) if file.is_rust() && is_end_of_declaration(line, end) => open = None,
            _ => {}
        }
    }
    found
}

fn starts_function(file: &SourceFile, line: &str) -> bool {
    if file.is_c() {
        return line == "{";
    }
    let qualifiers = ["const", "unsafe", "async", "extern"];
    let is_qualifier = |word: &&str| qualifiers.contains(word) || word.starts_with('"');
    let mut words = without_visibility(line).split(' ').skip_while(is_qualifier);
    words.next() == Some("fn")
}

/// The line from its first word that is neither space nor `pub` nor `pub(...)`.
fn without_visibility(line: &str) -> &str {
    let start = line.trim_start();
    let Some(rest) = start.strip_prefix("pub") else {
        return start;
    };
    match rest.strip_prefix('(').and_then(|of| of.split_once(") ")) {
        Some((_, rest)) => rest,
        None => rest.strip_prefix(' ').unwrap_or(start),
    }
}

fn ends_at_once(line: &str) -> bool {
    line.ends_with('}') || line.ends_with(';')
}

fn is_end_of_declaration(line: &str, end: &str) -> bool {
    let indent = end.len() - 1;
    line.ends_with(';') && line.len() - line.trim_start().len() == indent
}

fn empty_names(file: &SourceFile) -> Vec<Violation> {
    let mut found = Vec::new();
    for (i, line) in file.text.lines().enumerate() {
        let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        let is_type = |word: &str| matches!(word, "struct" | "enum" | "trait" | "mod");
        let Some(name) = words.by_ref().find(|word| is_type(word)).and(words.next()) else {
            continue;
        };
        if EMPTY_NAMES.iter().any(|ending| name.ends_with(ending)) {
            found.push(file.violation(i + 1, format!("`{name}` does not say what it is")));
        }
    }
    found
}

/// Whether a line has the word `static` that is no lifetime, wherever it stands.
fn declares_static(code: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
    code.match_indices("static ")
        .any(|(at, _)| !code[..at].ends_with(is_part))
}

/// mpi-lite hangs everything on a `Process`, so that 64 ranks fit into one thread; its unit tests
/// do too, since they run side by side.
fn global_state(file: &SourceFile) -> Vec<Violation> {
    let is_global = |line: &str| {
        let code = line.split("//").next().unwrap_or_default();
        let makes = ["thread_", "lazy_"].iter().zip(["local!", "static!"]);
        let mut makes = makes.map(|(start, end)| format!("{start}{end}"));
        declares_static(code) || makes.any(|name| code.contains(&name))
    };
    let lines = file.text.lines().enumerate();
    lines
        .filter(|(_, line)| is_global(line))
        .map(|(i, _)| file.violation(i + 1, "global state in mpi-lite"))
        .collect()
}
