//! Each rule of docs/protocol.md is kept somewhere in the code and checked by some test, and
//! neither names a rule that the page does not have.

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
    let (code, tests) = (text_of("src"), text_of("tests"));
    let kept = names_after(&code, "// Rule ");
    let kept: BTreeSet<_> = kept
        .union(&names_after(&code, ". Rule "))
        .cloned()
        .collect();
    let mut tested = names_after(&code, "fn rule_");
    tested.append(&mut names_after(&tests, "fn rule_"));
    assert!(stated.len() > 20, "the page states its rules: {stated:?}");
    assert_eq!(
        stated, kept,
        "rules stated on the page, and cited by the code as `// Rule X.`"
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
