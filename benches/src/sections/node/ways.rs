//! Long messages between two ranks of one machine, by the way that they travel: copied across, in
//! pieces through shared memory, or whichever the receiver has measured to take less time.

use super::program;
use crate::bench::Bench;
use crate::contender::{Contender, auto};
use crate::measurements::Better;
use crate::report::Report;
use crate::sections::in_rounds;
use crate::sections::subject::{Subject, WAYS};

/// The columns, and the values of the setting that chooses the way.
const SETTINGS: [(&str, &str); 3] = [
    ("measured", "measured"),
    ("across", "always"),
    ("in pieces", "off"),
];

const ROUNDS: usize = 3;

const LATENCY: Subject = Subject {
    program: "latency",
    unit: "half round trip, us",
    better: Better::Smaller,
    sizes: &[
        16_384, 32_768, 65_536, 131_072, 262_144, 524_288, 1_048_576, 4_194_304,
    ],
    ways: WAYS,
};

/// Prints what each way costs on this machine, for buffers that change and that do not.
pub fn ways(bench: &Bench, report: &mut Report) {
    let contenders = SETTINGS.map(|(name, value)| {
        let mut who = Contender {
            name: name.to_owned(),
            ..auto()
        };
        who.variables
            .push(("MPILITE_COPY_ACROSS", value.to_owned()));
        who
    });
    let words = LATENCY.words();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let program = program(LATENCY.program, 2, &words, 120);
    let all = in_rounds(ROUNDS, &contenders, |who, all| {
        LATENCY.run(bench, (who, &program), all);
    });
    LATENCY.tell_figures(
        report,
        (&contenders, ", long messages between two ranks"),
        &all,
    );
}
