//! Sequences of packets among a few endpoints, true and false ones, by a script that the input
//! chooses: the invariants of the simulator's scripts hold after each line, messages of honest
//! nodes get through, and memory is bounded. A failing input is printed as a script for
//! `rmpp-core/sim/tests/corpus/`; with `SHOW=1` each input is.
#![no_main]

use std::sync::OnceLock;
use std::{env, fs, path::Path};

use libfuzzer_sys::fuzz_target;
use mpi_lite_fuzz::memory::peak_of;
use rmpp_sim::{Choices, Rig, Script};

/// Bytes that a few endpoints take at most for a script, and for each line of it: a line begins one
/// message, and has one packet repeated.
const MOST_BYTES: usize = 2 << 20;
const PER_LINE: usize = 16 << 10;

/// The scripts that tests play.
fn corpus() -> &'static [Script] {
    static CORPUS: OnceLock<Vec<Script>> = OnceLock::new();
    CORPUS.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rmpp-core/sim/tests/corpus");
        let mut paths: Vec<_> = fs::read_dir(folder)
            .expect("the corpus is there")
            .map(|entry| entry.expect("a readable entry").path())
            .collect();
        paths.sort();
        let read = |path: &_| fs::read_to_string(path).expect("a readable script");
        let texts = paths.iter().map(read);
        texts
            .map(|text| Script::parse(&text).expect("a script"))
            .collect()
    })
}

fuzz_target!(|input: &[u8]| {
    let script = Script::draw(&mut Choices::of_bytes(input), corpus());
    // An endpoint's own assertion does not know the script.
    if env::var_os("SHOW").is_some() {
        eprintln!("{script}");
    }
    let (outcome, peak) = peak_of(|| Rig::play(&script));
    if let Err(violation) = outcome {
        panic!("{violation} by this script:\n{script}");
    }
    let most = MOST_BYTES + PER_LINE * script.len();
    assert!(peak < most, "{peak} bytes by this script:\n{script}");
});
