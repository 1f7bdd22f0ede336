//! Each rule of docs/protocol.md is kept somewhere in the code and checked by some test, and
//! neither names a rule that the page does not have.
//!
//! A rule is kept by the item or statement below the comment that cites it (`// Rule P6. Rule K.`).
//! Citations in the simulator and in unit tests do not count.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the crate's folders are there") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}

fn text_of(folder: &str) -> String {
    let mut files = Vec::new();
    rust_files(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join(folder),
        &mut files,
    );
    files
        .iter()
        .map(|file| fs::read_to_string(file).expect("a readable file"))
        .collect()
}

/// The files of the protocol, and those of the driver below it, which keeps what the core cannot.
fn kept_in() -> Vec<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    rust_files(&own.join("src"), &mut files);
    rust_files(&own.join("../mpi-lite/src/transport/udp"), &mut files);
    files
}

/// The lines that are not in an item for tests, with their numbers.
fn product_lines(text: &str) -> Vec<(usize, &str)> {
    let mut lines = Vec::new();
    // How far the item for tests is indented in which we are.
    let mut tests: Option<usize> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        match tests {
            None if code == "#[cfg(test)]" => tests = Some(indent),
            None => lines.push((number, line)),
            Some(start) if indent == start && code.ends_with(['}', ';', ',']) => tests = None,
            Some(_) => {}
        }
    }
    lines
}

/// Returns true if a line begins an item or a statement: no field, no variant, no `use`, no end of
/// a block.
fn does_something(line: &str) -> bool {
    let code = line.trim();
    let (word, rest) = match code.find(|c: char| !c.is_alphanumeric() && c != '_') {
        Some(end) => code.split_at(end),
        None => (code, ""),
    };
    match word {
        "use" | "mod" | "" => false,
        "pub" => {
            let rest = rest.strip_prefix('(').and_then(|it| it.split_once(')'));
            does_something(rest.map_or(&code[3..], |it| it.1))
        }
        // A field, or a variant.
        _ => !(rest.starts_with(": ") && rest.ends_with(',')) && rest != ",",
    }
}

/// The rules that a text keeps, and the lines with a citation below which nothing is done.
fn citations(text: &str) -> (BTreeSet<String>, Vec<usize>) {
    let lines = product_lines(text);
    let (mut kept, mut astray) = (BTreeSet::new(), Vec::new());
    for (i, (number, line)) in lines.iter().enumerate() {
        let Some(cited) = line.trim_start().strip_prefix("// Rule ") else {
            continue;
        };
        let below = lines[i + 1..].iter().map(|(_, line)| line.trim_start());
        let mut below = below.skip_while(|it| it.starts_with("//") || it.starts_with("#["));
        if below.next().is_some_and(does_something) {
            kept.append(&mut names_after(&format!(". Rule {cited}"), ". Rule "));
        } else {
            astray.push(*number);
        }
    }
    (kept, astray)
}

#[test]
fn a_citation_stands_on_code() {
    let kept = |text: &str| citations(text).0.into_iter().collect::<Vec<_>>().join(" ");
    for text in [
        "// Rule A. Rule P1.\nfn f() {}",
        "    // Rule A. Rule P1.\n    if x {",
        "/// Does.\n// Rule A: so. Rule P1.\n// More.\n#[inline]\npub(super) fn f() {}",
        "#[cfg(test)]\nmod tests;\n// Rule A. Rule P1.\nself.x();",
    ] {
        assert_eq!(
            (kept(text).as_str(), citations(text).1.len()),
            ("A P1", 0),
            "{text}"
        );
    }
    for text in [
        "// Rule A.",
        "// Rule A.\n\nfn f() {}",
        "    x();\n    // Rule A.\n}",
        "// Rule A.\nuse x::y;",
        "// Rule A.\npub(crate) mod x;",
        "// Rule A.\nincoming: Slab<Incoming>,",
        "// Rule A.\npub(crate) next: u32,",
        "// Rule A.\nPending,",
    ] {
        assert_eq!(
            (kept(text).as_str(), citations(text).1.len()),
            ("", 1),
            "{text}"
        );
    }
    for text in [
        "//! Rule A: all.\nfn f() {}",
        "#[cfg(test)]\nmod tests {\n    // Rule A.\n    fn f() {}\n}",
    ] {
        assert_eq!(
            (kept(text).as_str(), citations(text).1.len()),
            ("", 0),
            "{text}"
        );
    }
}

/// The rule names that follow each `prefix` in `text`: a capital and perhaps digits.
fn names_after(text: &str, prefix: &str) -> BTreeSet<String> {
    let name = |rest: &str| {
        let end = rest
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(rest.len());
        let word = rest[..end].to_ascii_uppercase();
        let digits = word.strip_prefix(|c: char| c.is_ascii_uppercase())?;
        digits.chars().all(|c| c.is_ascii_digit()).then_some(word)
    };
    text.split(prefix).skip(1).filter_map(name).collect()
}

#[test]
fn every_rule_is_stated_kept_and_tested() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/protocol.md");
    let page = fs::read_to_string(page).expect("docs/protocol.md is there");
    let stated = names_after(&page, "### Rule ");
    let code = text_of("src") + &text_of("sim/src");
    let tests = text_of("tests") + &text_of("sim/tests");
    let (mut kept, mut astray) = (BTreeSet::new(), Vec::new());
    for file in kept_in() {
        let text = fs::read_to_string(&file).expect("a readable file");
        let (mut here, lines) = citations(&text);
        kept.append(&mut here);
        astray.extend(
            lines
                .iter()
                .map(|line| format!("{}:{line}", file.display())),
        );
    }
    assert_eq!(
        astray,
        Vec::<String>::new(),
        "citations above nothing that keeps a rule"
    );
    let mut tested = names_after(&code, "fn rule_");
    tested.append(&mut names_after(&tests, "fn rule_"));
    assert!(stated.len() > 20, "the page states its rules: {stated:?}");
    assert_eq!(
        stated, kept,
        "rules stated on the page, and cited above the code that keeps them as `// Rule X.`"
    );
    assert_eq!(
        stated, tested,
        "rules stated on the page, and named by tests as `rule_x_…`"
    );
    let mentioned = names_after(&code, "(rule ");
    assert!(
        mentioned.is_subset(&stated),
        "{mentioned:?} but the page has {stated:?}"
    );
}
