//! Inside mpi-lite a module names only modules of its own layer and of lower ones.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The layers, low to high (ARCHITECTURE.md).
const LAYERS: &[&[&str]] = &[
    &[
        "error", "ids", "counters", "clock", "memory", "pool", "slab", "sync",
    ],
    &["data", "topology"],
    &["node", "transport", "boot"],
    &["peers"],
    &["engine"],
    &["comm"],
    &["coll"],
    &["io", "rma"],
    &["world", "protocol_page"],
];

fn layer_of(module: &str) -> Option<usize> {
    LAYERS.iter().position(|modules| modules.contains(&module))
}

/// The modules that a text names by `crate::module`, also inside `crate::{a, b::c}`.
fn named_modules(text: &str) -> Vec<&str> {
    let mut named = Vec::new();
    for piece in text.split("crate::").skip(1) {
        match piece.strip_prefix('{') {
            Some(list) => named.extend(top_of_list(list)),
            None => named.extend(first_word(piece)),
        }
    }
    named
}

/// The first words of `a, b::c, d::{e, f}}`: those at depth one.
fn top_of_list(list: &str) -> Vec<&str> {
    let mut depth = 1;
    let mut start = Some(0);
    let mut words = Vec::new();
    for (i, letter) in list.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if letter == ',' && depth == 1 {
            start = Some(i + 1);
        } else if let Some(from) = start.filter(|_| letter == ':' || depth == 0) {
            words.extend(first_word(&list[from..=i]));
            start = None;
        }
        if depth == 0 {
            break;
        }
    }
    words
}

fn first_word(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let end = text
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    (end > 0).then(|| &text[..end])
}

/// What is wrong with a file of this top-level module.
fn violations(module: &str, text: &str) -> Vec<String> {
    let Some(own) = layer_of(module) else {
        return vec![format!("`{module}` has no layer: give it one in this test")];
    };
    let code = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let code = code.collect::<Vec<_>>().join("\n");
    let higher = |named: &&str| layer_of(named).is_some_and(|layer| layer > own);
    let wrong = |named: &str| format!("`{module}` (L{own}) names `{named}` of a higher layer");
    named_modules(&code)
        .into_iter()
        .filter(higher)
        .map(wrong)
        .collect()
}

/// The modules that have a layer twice, or one and no file or folder.
fn wrong_layers(is_there: impl Fn(&str) -> bool) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut wrong = Vec::new();
    for module in LAYERS.iter().flat_map(|layer| layer.iter()) {
        if !seen.insert(module) || !is_there(module) {
            wrong.push((*module).to_owned());
        }
    }
    wrong
}

#[test]
fn every_module_with_a_layer_is_there_and_has_no_other() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let is_there = |module: &str| {
        source.join(format!("{module}.rs")).is_file()
            || source.join(module).join("mod.rs").is_file()
    };
    assert_eq!(wrong_layers(is_there), Vec::<String>::new());
    assert_eq!(wrong_layers(|module| module != "slab"), ["slab"]);
}

fn check_folder(module: &str, folder: &Path, found: &mut Vec<String>) {
    for path in fs::read_dir(folder)
        .expect("a folder of src")
        .flatten()
        .map(|e| e.path())
    {
        if path.is_dir() {
            check_folder(module, &path, found);
        } else {
            check_file(module, &path, found);
        }
    }
}

fn check_file(module: &str, path: &Path, found: &mut Vec<String>) {
    let text = fs::read_to_string(path).expect("a readable source file");
    found.extend(
        violations(module, &text)
            .iter()
            .map(|what| format!("{}: {what}", path.display())),
    );
}

#[test]
fn no_module_names_a_higher_layer() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let mut modules = 0;
    for path in fs::read_dir(&source)
        .expect("src is there")
        .flatten()
        .map(|e| e.path())
    {
        let module = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if module == "lib" {
            continue;
        }
        modules += 1;
        if path.is_dir() {
            check_folder(&module, &path, &mut found);
        } else {
            check_file(&module, &path, &mut found);
        }
    }
    assert!(modules > 0, "no module found in {}", source.display());
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_name_of_a_higher_layer_is_found_however_it_is_written() {
    for text in [
        "use crate::engine::Lane;",
        "use crate::{error, engine};",
        "use crate::{error::Error, engine::{Lane, wait}};",
        "fn f() { crate::world::init(); }",
        "use crate::{\n    clock,\n    comm::Communicator,\n};",
    ] {
        assert_eq!(violations("data", text).len(), 1, "{text}");
    }
}

#[test]
fn names_of_lower_layers_and_of_ones_own_are_fine() {
    for text in [
        "use crate::{error::{Error, engine}, ids};",
        "use crate::data::Datatype;",
        "//! Used by crate::world.",
    ] {
        assert_eq!(violations("data", text), Vec::<String>::new(), "{text}");
    }
    assert_eq!(
        violations("coll", "use crate::{comm, engine};"),
        Vec::<String>::new()
    );
}

#[test]
fn a_module_without_a_layer_is_found() {
    assert_eq!(violations("attic", "").len(), 1);
}
