//! The files of the library, read.

use std::fs;
use std::path::Path;

use syn::{Attribute, Ident, UseTree};

/// A module or item by its path from the crate on.
pub(crate) type Name = Vec<String>;

/// Whether an item is there for tests or fuzzers alone.
pub(crate) fn is_apart(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let condition = attribute.meta.require_list().ok();
        let condition = condition.filter(|list| list.path.is_ident("cfg"));
        let text = condition.map(|list| list.tokens.to_string());
        text.is_some_and(|it| it.contains("test") || it.contains("fuzzing"))
    })
}

fn is_looked_at(path: &Path) -> bool {
    let name = path.file_name().expect("a file").to_string_lossy();
    name.ends_with(".rs") && !name.ends_with("tests.rs") && name != "fuzzing.rs"
}

fn read(folder: &Path, called: &str, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).expect("a folder of src") {
        let path = entry.expect("an entry").path();
        let name = format!("{called}/{}", path.file_name().expect("a name").display());
        if path.is_dir() {
            read(&path, &name, found);
        } else if is_looked_at(&path) {
            let text = fs::read_to_string(&path).expect("a readable file");
            found.push((name, text));
        }
    }
}

/// The files of these folders of `src`, by their path from there, without those that are nothing
/// but tests or for fuzzers alone.
pub(crate) fn files_of(folders: &[&str]) -> Vec<(String, String)> {
    files_below("src", folders)
}

/// The same of all of `src`.
pub(crate) fn all_files() -> Vec<(String, String)> {
    let from_src = |(file, text): (String, String)| (file["src/".len()..].to_owned(), text);
    files_below("", &["src"])
        .into_iter()
        .map(from_src)
        .collect()
}

/// The same of the folders below `root`, which is named from this crate on.
pub(crate) fn files_below(root: &str, folders: &[&str]) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(root);
    let mut files = Vec::new();
    for folder in folders {
        read(&root.join(folder), folder, &mut files);
    }
    assert!(files.len() > folders.len(), "hardly a file in {folders:?}");
    files
}

/// The module that a file is: `engine/matching/mod.rs` is `engine::matching`.
pub(crate) fn module_of(file: &str) -> Name {
    let path = file.trim_end_matches(".rs").trim_end_matches("/mod");
    path.split('/').map(str::to_owned).collect()
}

/// A path that stands in a module, from the crate on; none if it begins elsewhere.
pub(crate) fn absolute(module: &[String], path: &[String]) -> Option<Name> {
    let mut name = module.to_vec();
    let mut rest = path;
    loop {
        match rest.first().map(String::as_str) {
            Some("crate") => name.clear(),
            Some("super") => drop(name.pop()),
            Some("self") => {}
            _ if rest.len() < path.len() => break,
            _ => return None,
        }
        rest = &rest[1..];
    }
    name.extend_from_slice(rest);
    Some(name)
}

/// The paths of a `use`, each with the name that it has here.
pub(crate) fn flatten(tree: &UseTree, before: &[String], found: &mut Vec<(Name, String)>) {
    let with = |ident: &Ident| [before, &[ident.to_string()]].concat();
    match tree {
        UseTree::Path(path) => flatten(&path.tree, &with(&path.ident), found),
        UseTree::Name(name) if name.ident == "self" => {
            found.push((before.to_vec(), before.last().cloned().unwrap_or_default()));
        }
        UseTree::Name(name) => found.push((with(&name.ident), name.ident.to_string())),
        UseTree::Rename(rename) => {
            found.push((with(&rename.ident), rename.rename.to_string()));
        }
        UseTree::Glob(_) => found.push((before.to_vec(), "*".to_owned())),
        UseTree::Group(group) => {
            for tree in &group.items {
                flatten(tree, before, found);
            }
        }
    }
}
