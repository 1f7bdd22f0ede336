//! Arbitrary packets: at the parser, and among the packets of three live nodes. Scripts of
//! `corpus/` are played as they are, and changed at random. `RMPP_FUZZ_SEED=n` says where to begin,
//! `RMPP_FUZZ_RUNS=n` how many scripts to play.

mod rig;

use std::fmt::Write;
use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

use rig::{FIELDS, Rig};
use rmpp_core::sim::Rng;
use rmpp_core::{Config, Endpoint, Header, NodeId};

const LINES: u64 = 120;

fn number(variable: &str, otherwise: u64) -> u64 {
    let text = std::env::var(variable);
    text.map_or(otherwise, |text| text.parse().expect(variable))
}

/// All scripts, in the order of their names.
fn corpus() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let entries = fs::read_dir(folder).expect("the corpus is there");
    let mut scripts: Vec<_> = entries
        .map(|entry| {
            let path = entry.expect("a readable entry").path();
            let text = fs::read_to_string(&path).expect("a readable script");
            (path.display().to_string(), text)
        })
        .collect();
    scripts.sort();
    scripts
}

/// A value at or near a border.
fn value(rng: &mut Rng) -> u64 {
    let near = rng.below(40);
    let borders = [
        0, 1, 2, 99, 100, 101, 300, 5_000, 65_507, 0xffff, 0x1_0000, near,
    ];
    let powers = [
        u64::from(u32::MAX),
        1 << 31,
        (1 << 31) - 1,
        (1 << 48) - 1,
        near,
    ];
    if rng.chance(700_000) {
        rng.pick(&borders)
    } else {
        rng.pick(&powers)
    }
}

fn length(rng: &mut Rng) -> u64 {
    let any = rng.below(2_000);
    rng.pick(&[0, 1, 99, 100, 101, 300, 1_000, any])
}

fn raw(rng: &mut Rng) -> String {
    let bytes = rng.below(72) as usize;
    let mut header: Vec<u8> = (0..bytes).map(|_| rng.bits() as u8).collect();
    if bytes > 8 && rng.chance(800_000) {
        let start = [0, rng.below(12) as u8, 0, 1 + rng.below(2) as u8, 0, 0, 0];
        header[..7].copy_from_slice(&start);
        header[7] = rng.below(3) as u8;
    }
    let mut text = format!("raw {} {} ", rng.pick(&[0, 0, 0, 1, 3, 99]), rng.below(2));
    for byte in header {
        write!(text, "{byte:02x}").expect("a string takes all");
    }
    format!("{text} {}", length(rng))
}

fn line(rng: &mut Rng) -> String {
    let (node, seen) = (rng.below(3), rng.below(60));
    let landing = rng.pick(&["accept", "accept", "drop", "later"]);
    match rng.below(28) {
        0..=3 => format!("send {node} {} {}", rng.below(3), length(rng)),
        4 => format!("abort {node}"),
        5 => format!("landing {node} {landing}"),
        6 => format!("land {node} {landing}"),
        7..=8 => format!("wait {}", rng.pick(&[0, 1, 25, 300])),
        9..=14 => format!("give {node}"),
        15 => format!("give-all {node}"),
        16 => format!("lose {node}"),
        17 => format!("replay {seen}"),
        18 => format!("turn {seen}"),
        19..=24 => {
            let mut text = format!("lie {seen}");
            for _ in 0..=rng.below(3) {
                let name = rng.pick(&FIELDS).0;
                let name = if rng.chance(100_000) { "payload" } else { name };
                write!(text, " {name}{}{}", rng.pick(&["=", "+"]), value(rng)).expect("room");
            }
            text
        }
        25 => format!("flip {seen} {}", rng.below(600)),
        26 => format!("cut {seen} {}", rng.below(40)),
        _ => raw(rng),
    }
}

/// A script of its own, or one of the corpus with lines changed.
fn script(rng: &mut Rng, corpus: &[(String, String)]) -> String {
    let profiles = [
        "classic",
        "fast",
        "fast,-snak",
        "fast,-ooo",
        "fast,-lazy",
        "fast,-pipe",
    ];
    let mut lines = vec![format!("profile {}", rng.pick(&profiles))];
    if rng.chance(300_000) {
        let (_, text) = &corpus[rng.below(corpus.len() as u64) as usize];
        lines.extend(
            text.lines()
                .filter(|l| !l.starts_with("profile"))
                .map(String::from),
        );
        for _ in 0..rng.below(20) {
            let at = 1 + rng.below(lines.len() as u64) as usize;
            match rng.below(3) {
                0 if at < lines.len() => drop(lines.remove(at)),
                1 if at < lines.len() => lines.insert(at, lines[at].clone()),
                _ => lines.insert(at, line(rng)),
            }
        }
    } else {
        lines.extend((0..1 + rng.below(LINES)).map(|_| line(rng)));
    }
    lines.join("\n")
}

fn fails(script: &str) -> bool {
    catch_unwind(|| Rig::play(script).check_end()).is_err()
}

/// Leaves out what is not needed to fail.
fn shortest(script: &str) -> String {
    let mut lines: Vec<&str> = script.lines().collect();
    let mut at = lines.len();
    while at > 0 {
        at -= 1;
        let line = lines.remove(at);
        if !fails(&lines.join("\n")) {
            lines.insert(at, line);
        }
    }
    lines.join("\n")
}

#[test]
fn each_script_of_the_corpus_does_no_harm() {
    for (name, text) in corpus() {
        println!("{name}");
        for profile in ["", "profile classic\n", "profile fast\n"] {
            Rig::play(&format!("{profile}{text}")).check_end();
        }
    }
}

#[test]
fn rule_s_no_script_does_harm() {
    let first = number("RMPP_FUZZ_SEED", 1);
    let runs = number("RMPP_FUZZ_RUNS", 20_000);
    println!("RMPP_FUZZ_SEED={first} RMPP_FUZZ_RUNS={runs}");
    let corpus = corpus();
    for seed in first..first + runs {
        let script = script(&mut Rng::new(seed), &corpus);
        if fails(&script) {
            let shortest = shortest(&script);
            let _ = catch_unwind(|| Rig::play(&shortest).check_end());
            panic!("RMPP_FUZZ_SEED={seed} RMPP_FUZZ_RUNS=1 fails by this script:\n{shortest}");
        }
    }
}

#[test]
fn rule_s_any_bytes_are_parsed_or_refused() {
    let mut rng = Rng::new(number("RMPP_FUZZ_SEED", 7));
    let endpoint = Endpoint::new(NodeId(1), Config::classic(3, 100));
    for _ in 0..100 * number("RMPP_FUZZ_RUNS", 3_000) {
        let mut bytes: Vec<u8> = (0..rng.below(100)).map(|_| rng.bits() as u8).collect();
        if bytes.len() > 4 && rng.chance(800_000) {
            bytes[..4].copy_from_slice(&[0, rng.below(12) as u8, 0, rng.below(4) as u8]);
        }
        if let Some(packet) = endpoint.cut(&bytes) {
            assert!(packet.bytes() <= bytes.len(), "{bytes:?}");
        }
        if let Some(header) = Header::decode(&bytes) {
            let again = Header::decode(&header.encode());
            let known = again.map(|again| Header {
                flags: header.flags,
                ..again
            });
            assert_eq!(known, Some(header), "{bytes:?}");
        }
    }
}

#[cfg(feature = "planted")]
#[test]
fn planted_bugs_are_found_by_scripts_too() {
    std::panic::set_hook(Box::new(|_| {}));
    let corpus = corpus();
    let hidden = [
        "TrustSource",
        "LeakGrant",
        "ForgetOldNumbers",
        "TimerArmedOnce",
    ]
    .map(|bug| {
        let found = (0..5_000).any(|seed| {
            let script = script(&mut Rng::new(seed), &corpus);
            let (profile, rest) = script.split_once('\n').unwrap_or((&script, ""));
            fails(&format!("{profile}\nplant {bug}\n{rest}"))
        });
        (!found).then_some(bug)
    });
    let _ = std::panic::take_hook();
    assert_eq!(hidden, [None; 4], "not found in 5,000 scripts");
}
