//! The rules of `deny.toml` for licences, sources and version requirements, by what cargo knows.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The source of each package that is not ours.
const SOURCE: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The packages that we build for one of our targets, as `cargo metadata` describes them.
pub fn packages(root: &Path, target: &str) -> Vec<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--locked"])
        .args(["--all-features", "--filter-platform", target])
        .current_dir(root)
        .output()
        .expect("cargo runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    let packages = metadata["packages"].as_array();
    packages.expect("cargo names packages").clone()
}

/// The texts in the list that a file such as `deny.toml` has under a name.
pub fn list(file: &str, name: &str) -> Vec<String> {
    let start = format!("\n{name} = [");
    let (_, list) = file.split_once(&start).unwrap_or_default();
    let (list, _) = list.split_once(']').unwrap_or_default();
    let quoted = list.split('"').skip(1).step_by(2);
    quoted.map(Into::into).collect()
}

/// What is forbidden of a package, if these licences are allowed.
pub fn violations_of_package(package: &Value, allowed: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    match package["license"].as_str() {
        Some(license) if is_allowed(license, allowed) => {}
        Some(license) => found.push(format!("its licence is {license}")),
        None => found.push("it names no licence".into()),
    }
    let source = &package["source"];
    if !source.is_null() && source != SOURCE {
        found.push(format!("its source is {source}"));
    }
    for dependency in package["dependencies"].as_array().into_iter().flatten() {
        if dependency["req"] == "*" && dependency["path"].is_null() {
            found.push(format!("any version of {} will do", dependency["name"]));
        }
    }
    let name = package["name"].as_str().unwrap_or("?");
    found.iter().map(|it| format!("{name}: {it}")).collect()
}

/// Returns true if the expression can be met with these licences alone.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let spaced = ["(", ")", "/"]
        .iter()
        .fold(expression.to_owned(), |text, sign| {
            text.replace(sign, &format!(" {sign} "))
        });
    let mut words = spaced.split_whitespace().peekable();
    any(&mut words, allowed) && words.next().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

/// `A OR B`; old packages write `A/B`.
fn any(words: &mut Words<'_>, allowed: &[String]) -> bool {
    let mut is_met = all(words, allowed);
    while words.next_if(|word| ["OR", "/"].contains(word)).is_some() {
        is_met |= all(words, allowed);
    }
    is_met
}

/// `A AND B`.
fn all(words: &mut Words<'_>, allowed: &[String]) -> bool {
    let mut is_met = one(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        is_met &= one(words, allowed);
    }
    is_met
}

/// A name, a name with an exception, or an expression in brackets.
fn one(words: &mut Words<'_>, allowed: &[String]) -> bool {
    match words.next() {
        Some("(") => any(words, allowed) & (words.next() == Some(")")),
        Some(name) => {
            let mut name = name.to_owned();
            if words.next_if_eq(&"WITH").is_some() {
                name += &format!(" WITH {}", words.next().unwrap_or_default());
            }
            allowed.contains(&name)
        }
        None => false,
    }
}
