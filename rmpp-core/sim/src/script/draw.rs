//! Scripts drawn at random, or from a fuzzer's bytes.

use rmpp_core::{Landing, Rng};

use super::{Change, FIELDS, Line, Script};

/// Most lines of a script of its own.
const LINES: u64 = 120;

const PROFILES: [&str; 7] = [
    "classic",
    "classic",
    "fast",
    "fast,-snak",
    "fast,-ooo",
    "fast,-lazy",
    "fast,-pipe",
];

/// Where choices come from: a seed, or bytes that somebody else has chosen.
#[derive(Clone, Debug)]
pub struct Choices<'a>(Source<'a>);

#[derive(Clone, Debug)]
enum Source<'a> {
    Seed(Rng),
    Bytes(&'a [u8]),
}

impl<'a> Choices<'a> {
    /// Choices that follow from a generator's seed.
    #[must_use]
    pub fn of_seed(rng: Rng) -> Self {
        Self(Source::Seed(rng))
    }

    /// Choices that `bytes` make, each with as many of them as it needs; 0 when they are used up.
    #[must_use]
    pub fn of_bytes(bytes: &'a [u8]) -> Self {
        Self(Source::Bytes(bytes))
    }

    fn is_used_up(&self) -> bool {
        matches!(&self.0, Source::Bytes(bytes) if bytes.is_empty())
    }

    /// A number in `0..limit`; 0 when `limit` is 0.
    fn below(&mut self, limit: u64) -> u64 {
        match &mut self.0 {
            Source::Seed(rng) => rng.below(limit),
            Source::Bytes(bytes) => {
                let count = (u64::BITS - limit.saturating_sub(1).leading_zeros()).div_ceil(8);
                let (taken, left) = bytes.split_at(bytes.len().min(count as usize));
                *bytes = left;
                let number = taken
                    .iter()
                    .fold(0, |sum, &byte| sum << 8 | u64::from(byte));
                number % limit.max(1)
            }
        }
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// True in `count` of `of` cases.
    fn chance(&mut self, count: u64, of: u64) -> bool {
        self.below(of) < count
    }
}

/// A value at or near a border.
fn value(choices: &mut Choices<'_>) -> u64 {
    let near = choices.below(40);
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
    if choices.chance(7, 10) {
        choices.pick(&borders)
    } else {
        choices.pick(&powers)
    }
}

fn length(choices: &mut Choices<'_>) -> u64 {
    let any = choices.below(2_000);
    choices.pick(&[0, 1, 99, 100, 101, 300, 1_000, any])
}

fn raw(choices: &mut Choices<'_>) -> Line {
    let count = choices.below(72) as usize;
    let mut bytes: Vec<u8> = (0..count).map(|_| choices.below(256) as u8).collect();
    if count > 8 && choices.chance(8, 10) {
        let kind = choices.below(12) as u8;
        let start = [0, kind, 0, 1 + choices.below(2) as u8, 0, 0, 0];
        bytes[..7].copy_from_slice(&start);
        bytes[7] = choices.below(3) as u8;
    }
    Line::Raw {
        from: choices.pick(&[0, 0, 0, 1, 3, 99]),
        to: choices.below(2) as u32,
        bytes,
        len: length(choices),
    }
}

fn lie(seen: u64, choices: &mut Choices<'_>) -> Line {
    let mut changes = Vec::new();
    for _ in 0..=choices.below(3) {
        let field = choices.below(FIELDS.len() as u64) as usize;
        changes.push(Change {
            field: (!choices.chance(1, 10)).then_some(field),
            adds: choices.chance(1, 2),
            value: value(choices),
        });
    }
    Line::Lie(seen, changes)
}

fn send(nodes: u64, choices: &mut Choices<'_>) -> Line {
    Line::Send {
        from: choices.below(nodes) as u32,
        to: choices.below(nodes) as u32,
        len: length(choices),
        posted: choices.chance(1, 4),
    }
}

/// The rare events.
fn rarity(node: u32, choices: &mut Choices<'_>) -> Line {
    match choices.below(4) {
        0 => Line::Delay(choices.pick(&[0, 1, 20, 50, 150, 300])),
        1 => Line::Overflow(node),
        2 => Line::Names(node, 1 + choices.below(8)),
        _ if choices.chance(1, 6) => Line::Kill(node),
        _ => Line::Run(choices.pick(&[1, 25, 300, 2_000])),
    }
}

fn line(nodes: u64, is_honest: bool, choices: &mut Choices<'_>) -> Line {
    let (node, seen) = (choices.below(nodes) as u32, choices.below(60));
    let landing = choices.pick(&[
        Landing::Accept,
        Landing::Accept,
        Landing::Drop,
        Landing::Later,
    ]);
    // The last ones are lies.
    match choices.below(if is_honest { 24 } else { 34 }) {
        0..=3 => send(nodes, choices),
        4 => Line::Abort(node),
        5 => Line::Landing(node, landing),
        6 => Line::Land(node, landing),
        7..=8 => Line::Wait(choices.pick(&[0, 1, 25, 300])),
        9..=14 => Line::Give(node),
        15 => Line::GiveAll(node),
        16..=17 => Line::Hand(node),
        18..=19 => Line::Lose(node),
        20..=21 => Line::Replay(seen),
        22..=23 => rarity(node, choices),
        24 => Line::Turn(seen),
        25..=30 => lie(seen, choices),
        31 => Line::Flip(seen, choices.below(600)),
        32 => Line::Cut(seen, choices.below(40)),
        _ => raw(choices),
    }
}

/// Takes lines out, doubles them and puts others between.
fn mix(script: &mut Script, choices: &mut Choices<'_>) {
    let nodes = script.nodes.into();
    let lines = &mut script.lines;
    for _ in 0..choices.below(20) {
        let at = choices.below(lines.len() as u64 + 1) as usize;
        match choices.below(3) {
            0 if at < lines.len() => drop(lines.remove(at)),
            1 if at < lines.len() => lines.insert(at, lines[at].clone()),
            _ => lines.insert(at, line(nodes, false, choices)),
        }
    }
}

impl Script {
    /// A script of its own, or one of `corpus` with lines changed.
    #[must_use]
    pub fn draw(choices: &mut Choices<'_>, corpus: &[Self]) -> Self {
        let profile = choices.pick(&PROFILES);
        if !corpus.is_empty() && choices.chance(3, 10) {
            let known = &corpus[choices.below(corpus.len() as u64) as usize];
            let mut script = known.clone().with_profile(profile);
            mix(&mut script, choices);
            return script;
        }
        let nodes = choices.pick(&[3, 3, 3, 4, 6]);
        let is_honest = choices.chance(4, 10);
        let mut script = Self {
            profile: String::from(profile),
            nodes,
            lost_ms: choices.pick(&[0, 0, 0, 3_000]),
            first: choices.pick(&[0, 0, u32::MAX - 1]),
            ..Self::EMPTY
        };
        for _ in 0..=choices.below(LINES) {
            if choices.is_used_up() {
                break;
            }
            script.lines.push(line(nodes.into(), is_honest, choices));
        }
        script
    }
}
