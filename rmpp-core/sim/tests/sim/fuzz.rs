//! Arbitrary packets: at the parser, and among the packets of a few live nodes. Scripts of
//! `corpus/` are played as they are, and changed at random. `RMPP_FUZZ_SEED=n` says where to begin,
//! `RMPP_FUZZ_RUNS=n` how many scripts to play.

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use rmpp_core::{Config, Endpoint, Header, NodeId, Rng};
use rmpp_sim::{Choices, Played, Rig, Script};

/// Scripts that a thread takes at a time.
const BATCH: u64 = 500;

fn number(variable: &str, otherwise: u64) -> u64 {
    let text = std::env::var(variable);
    text.map_or(otherwise, |text| text.parse().expect(variable))
}

/// All scripts, in the order of their names.
fn corpus() -> Vec<(String, Script)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let entries = fs::read_dir(folder).expect("the corpus is there");
    let mut scripts: Vec<_> = entries
        .map(|entry| {
            let path = entry.expect("a readable entry").path();
            let text = fs::read_to_string(&path).expect("a readable script");
            let script = Script::parse(&text);
            let script = script.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            (path.display().to_string(), script)
        })
        .collect();
    scripts.sort_by(|one, other| one.0.cmp(&other.0));
    scripts
}

fn scripts() -> Vec<Script> {
    corpus().into_iter().map(|(_, script)| script).collect()
}

/// Plays a script; the core's own assertions count as well.
fn play(script: &Script) -> Result<Played, String> {
    catch_unwind(|| Rig::play(script))
        .unwrap_or_else(|_| Err(String::from("an assertion of the core failed")))
}

/// The script of a seed.
fn script_of(seed: u64, corpus: &[Script]) -> Script {
    Script::draw(&mut Choices::of_seed(Rng::new(seed)), corpus)
}

fn report(seed: u64, script: &Script) -> String {
    let shortest = script.shortest(|script| play(script).is_err());
    let violation = play(&shortest).err().unwrap_or_default();
    format!("RMPP_FUZZ_SEED={seed} RMPP_FUZZ_RUNS=1 fails: {violation}\n{shortest}")
}

#[test]
fn each_script_of_the_corpus_does_no_harm() {
    for (name, script) in corpus() {
        println!("{name}");
        let own = play(&script);
        own.unwrap_or_else(|violation| panic!("{name}: {violation}"));
        for profile in ["classic", "fast"] {
            let outcome = play(&script.clone().with_profile(profile));
            outcome.unwrap_or_else(|violation| panic!("{name}, {profile}: {violation}"));
        }
    }
}

#[test]
fn rule_s_no_script_does_harm() {
    let first = number("RMPP_FUZZ_SEED", 1);
    let runs = number("RMPP_FUZZ_RUNS", 1_000_000);
    println!("RMPP_FUZZ_SEED={first} RMPP_FUZZ_RUNS={runs}");
    let corpus = scripts();
    let next = AtomicU64::new(first);
    let work = || {
        let mut sum = Played::default();
        loop {
            let batch = next.fetch_add(BATCH, Ordering::Relaxed);
            let end = (batch + BATCH).min(first + runs);
            if batch >= end {
                return sum;
            }
            for seed in batch..end {
                let script = script_of(seed, &corpus);
                match play(&script) {
                    Ok(played) => sum += played,
                    Err(_) => panic!("{}", report(seed, &script)),
                }
            }
        }
    };
    let all = thread::scope(|scope| {
        let threads = [scope.spawn(work), scope.spawn(work)];
        let played = threads.map(|thread| thread.join().expect("a script failed"));
        played.into_iter().sum::<Played>()
    });
    println!("{runs} scripts, {all:?}");
    assert!(
        all.lines >= 20 * runs && all.packets >= 10 * runs,
        "too little to mean anything: {all:?}"
    );
}

#[test]
fn rule_s_any_bytes_are_parsed_or_refused() {
    let mut rng = Rng::new(number("RMPP_FUZZ_SEED", 7));
    let endpoint: Endpoint = Endpoint::new(NodeId(1), Config::classic(3, 100));
    for _ in 0..number("RMPP_FUZZ_RUNS", 300_000) {
        let mut bytes: Vec<u8> = (0..rng.below(100)).map(|_| rng.bits() as u8).collect();
        if bytes.len() > 4 && rng.chance(800_000) {
            bytes[..4].copy_from_slice(&[0, rng.below(12) as u8, 0, rng.below(4) as u8]);
        }
        let packet = endpoint.cut(&bytes, bytes.len());
        let is_all = packet.bytes() == bytes.len();
        assert!(is_all, "classic packets do not share a datagram: {bytes:?}");
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
    let corpus = scripts();
    let bugs = [
        "TrustSource",
        "LeakGrant",
        "ForgetOldNumbers",
        "TimerArmedOnce",
    ];
    let look_for = |bug| {
        let fails = |seed| play(&script_of(seed, &corpus).with_bug(bug)).is_err();
        (!(0..5_000).any(fails)).then_some(bug)
    };
    let hidden = crate::silence::silently(|| bugs.map(look_for));
    assert_eq!(hidden, [None; 4], "not found in 5,000 scripts");
}
