//! The samples of the pages about a job that hangs are what `mpirun` prints: docs/hanging-job.md
//! has the program and the report, README.md the report, docs/stall-json.md the JSON of it.

use std::fs;

use mpi_lite_tests::{Job, Scratch, source_root, tool};
use serde_json::Value;

/// What in JSON differs from run to run, or from machine to machine.
const MOVING: [&str; 7] = [
    "pid",
    "host",
    "seconds",
    "blocked_seconds",
    "module",
    "offset",
    "into_function",
];

fn page(name: &str) -> String {
    let path = source_root().join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The first block of this kind behind the heading.
fn block<'a>(page: &'a str, heading: &str, kind: &str) -> &'a str {
    let (_, section) = page
        .split_once(&format!("\n{heading}\n"))
        .unwrap_or_else(|| panic!("no heading `{heading}`"));
    let (_, block) = section
        .split_once(&format!("\n```{kind}\n"))
        .unwrap_or_else(|| panic!("no block of {kind} behind `{heading}`"));
    let end = block.find("\n```").expect("the block ends");
    &block[..=end]
}

/// What the program of docs/hanging-job.md prints as it hangs, and the JSON of it.
fn printed() -> (String, Value) {
    let scratch = Scratch::new("samples");
    let page = page("docs/hanging-job.md");
    scratch.write("halo.c", block(&page, "## The report", "c"));
    let compiler = Job::new(tool("mpicc")).args(["-g", "halo.c", "-o", "halo"]);
    let compiled = compiler.directory(scratch.path()).run();
    assert_eq!(compiled.code, Some(0), "{compiled:?}");
    let job = Job::mpirun(2).args(["--stall", "abort", "--stall-after", "3"]);
    let job = job.args(["--stall-json", "stall.json", "./halo"]);
    let outcome = job.directory(scratch.path()).run();
    assert_eq!(outcome.code, Some(123), "{outcome:?}");
    let (report, _) = outcome
        .stderr
        .split_once("mpirun: ending the job")
        .unwrap_or_else(|| panic!("no report: {outcome:?}"));
    let json =
        fs::read_to_string(scratch.path().join("stall.json")).expect("the file of --stall-json");
    let json = serde_json::from_str(json.trim()).expect("JSON on one line");
    (report.to_owned(), json)
}

/// The text with `N` in place of each number of seconds.
fn without_seconds(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let is_unit = |word: Option<&&str>| word.is_some_and(|word| *word == "s" || *word == "s,");
    let words = words.iter().enumerate().map(|(place, word)| {
        match word.parse::<u32>().is_ok() && is_unit(words.get(place + 1)) {
            true => "N",
            false => word,
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The value without what differs from run to run. Of the frames those of the program stay.
fn without_moving(value: &Value) -> Value {
    let is_frame_of_start =
        |value: &&Value| value.get("into_function").is_some() && !is_of_program(value);
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| !MOVING.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), without_moving(value)))
            .collect(),
        Value::Array(items) => items
            .iter()
            .filter(|item| !is_frame_of_start(item))
            .map(without_moving)
            .collect(),
        Value::String(text) => Value::String(without_seconds(text)),
        other => other.clone(),
    }
}

fn is_of_program(frame: &Value) -> bool {
    let line = frame.get("line").and_then(Value::as_str);
    line.is_some_and(|line| line.starts_with("halo.c:"))
}

#[test]
fn the_samples_of_the_pages_are_what_mpirun_prints() {
    let (report, json) = printed();
    for (name, heading, kind) in [
        ("README.md", "## When a job hangs", "console"),
        ("docs/hanging-job.md", "## The report", "text"),
    ] {
        let text = page(name);
        let sample = block(&text, heading, kind);
        let sample = sample.lines().filter(|line| !line.starts_with('$'));
        let sample: String = sample.map(|line| format!("{line}\n")).collect();
        let (sample, report) = (without_seconds(&sample), without_seconds(&report));
        assert_eq!(sample, report, "{name} has another report than mpirun");
    }
    let text = page("docs/stall-json.md");
    let sample = serde_json::from_str(block(&text, "## An example", "json"));
    let sample: Value = sample.expect("the example is JSON");
    assert_eq!(
        without_moving(&sample),
        without_moving(&json),
        "docs/stall-json.md has another example than mpirun writes"
    );
}

#[test]
fn only_numbers_of_seconds_are_left_out() {
    assert_eq!(
        without_seconds("tag 7 for 12 s, at halo.c:9"),
        "tag 7 for N s, at halo.c:9"
    );
    assert_eq!(without_seconds("3 seconds"), "3 seconds");
}
