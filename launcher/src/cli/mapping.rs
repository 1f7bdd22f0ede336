//! `--map-by`, `--bind-to` and `--rank-by`: what their values mean.
//!
//! * [`Local`]: what they say about the ranks of one host.
//! * [`RankBy`]: the order of the ranks' numbers.

use std::ffi::OsStr;

use crate::cli::nearest::nearest;
use crate::cli::request::Options;
use crate::cli::values::Mapping;
use crate::cli::words::{listed, number as parse_number};
use crate::failure::{Failure, printable};
use crate::node::binding::Wish;
use crate::node::cores::Object;

/// How the ranks are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankBy {
    /// Host after host.
    Slot,
    /// Host after host, and part of a host after part.
    Fill,
    /// Over the hosts in turn.
    Node,
}

/// What `--bind-to` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Target {
    /// `None`: the ranks are not bound.
    to: Option<Object>,
    /// How many of it each rank gets.
    width: u32,
    may_share: bool,
}

/// What the options say about the ranks of one host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Local {
    by: Option<Object>,
    per_part: Option<u32>,
    /// `:pe=N`.
    cores: Option<u32>,
    counts_threads: bool,
    bind: Option<Target>,
    /// `--rank-by`.
    pub rank_by: Option<RankBy>,
}

impl Local {
    /// The number of slots that a rank takes.
    #[must_use]
    pub fn slots_per_rank(&self) -> u32 {
        self.cores.unwrap_or(1)
    }
}

/// What may stand behind `--map-by`.
const POLICIES: [&str; 12] = [
    "slot", "node", "seq", "ppr", "hwthread", "core", "l2cache", "l3cache", "numa", "socket",
    "package", "board",
];

/// What may stand behind a colon of `--map-by`; the last three ask for what is the case.
const MODIFIERS: [&str; 8] = [
    "pe=N",
    "span",
    "oversubscribe",
    "nooversubscribe",
    "hwtcpus",
    "corecpus",
    "inherit",
    "noinherit",
];

/// What may stand behind a colon of `--bind-to`; the last two ask for what is the case.
const BIND_MODIFIERS: [&str; 3] = ["overload-allowed", "no-overload", "if-supported"];

impl Options {
    /// `--map-by`.
    pub(crate) fn map_by(&mut self, value: &str) -> Result<(), Failure> {
        let lower = value.to_ascii_lowercase();
        let mut parts = lower.split(':');
        match parts.next().unwrap_or_default() {
            "" => {}
            "slot" if self.mapping == Mapping::ByNode => self.mapping = Mapping::BySlot,
            "slot" => {}
            "node" => self.mapping = Mapping::ByNode,
            "seq" => self.mapping = Mapping::Sequence,
            "ppr" => {
                let number = parts.next().unwrap_or_default();
                self.per_part(number, parts.next().unwrap_or("node"))?;
            }
            word => match Object::named(word) {
                Some(object) => self.local.by = Some(object),
                None => return Err(unknown("--map-by ", value, word, &POLICIES)),
            },
        }
        parts.try_for_each(|modifier| self.modify_mapping(value, modifier))
    }

    /// `--map-by ppr:N:WHAT`.
    fn per_part(&mut self, number: &str, what: &str) -> Result<(), Failure> {
        let name = format!("--map-by ppr:N:{}", printable(what));
        let number = parse_number(OsStr::new(number), &name)?;
        if what == "node" {
            self.mapping = Mapping::PerNode(number);
            return Ok(());
        }
        let Some(object) = Object::named(what) else {
            let value = format!("{number}:{what}");
            return Err(unknown("--map-by ppr:", &value, what, &POLICIES[4..]));
        };
        self.mapping = Mapping::PerPart(number, object);
        self.local.by = Some(object);
        self.local.per_part = Some(number);
        Ok(())
    }

    fn modify_mapping(&mut self, value: &str, modifier: &str) -> Result<(), Failure> {
        if let Some(number) = modifier.strip_prefix("pe=") {
            let number = parse_number(OsStr::new(number), "--map-by :pe=N")?;
            self.local.cores = Some(number);
            return Ok(());
        }
        match modifier {
            "span" if self.mapping == Mapping::BySlot => self.mapping = Mapping::ByNode,
            "oversubscribe" => self.oversubscribes = true,
            "nooversubscribe" => self.refuses_oversubscription = true,
            "hwtcpus" => self.local.counts_threads = true,
            "span" | "corecpus" | "inherit" | "noinherit" | "" => {}
            _ => return Err(unknown("--map-by ", value, modifier, &MODIFIERS)),
        }
        Ok(())
    }

    /// `--bind-to`.
    pub(crate) fn bind_to(&mut self, value: &str) -> Result<(), Failure> {
        let lower = value.to_ascii_lowercase();
        let mut parts = lower.split(':');
        let word = parts.next().unwrap_or_default();
        let to = match (word, Object::named(word)) {
            ("none", _) => None,
            (_, Some(object)) => Some(object),
            // Only the modifiers are given.
            ("", None) if lower.len() > 1 => Some(Object::Core),
            _ => {
                let known = [&["none"], &POLICIES[4..]].concat();
                return Err(unknown("--bind-to ", value, word, &known));
            }
        };
        let mut target = Target {
            to,
            width: 1,
            may_share: false,
        };
        for modifier in parts {
            match modifier {
                "overload-allowed" => target.may_share = true,
                "no-overload" | "if-supported" => {}
                number if number.starts_with(|c: char| c.is_ascii_digit()) => {
                    let name = format!("--bind-to {}:N", printable(word));
                    target.width = parse_number(OsStr::new(number), &name)?;
                }
                _ => return Err(unknown("--bind-to ", value, modifier, &BIND_MODIFIERS)),
            }
        }
        self.local.bind = Some(target);
        Ok(())
    }

    /// `--rank-by`.
    pub(crate) fn rank_by(&mut self, value: &str) -> Result<(), Failure> {
        let lower = value.to_ascii_lowercase();
        self.local.rank_by = Some(match lower.as_str() {
            "slot" => RankBy::Slot,
            "fill" => RankBy::Fill,
            "node" | "span" => RankBy::Node,
            word => {
                let known = ["slot", "node", "fill", "span"];
                return Err(unknown("--rank-by ", value, word, &known));
            }
        });
        Ok(())
    }

    /// How the ranks of each host are bound, if they are.
    ///
    /// # Errors
    ///
    /// A usage failure if the options contradict each other.
    pub fn binding(&self) -> Result<Option<Wish>, Failure> {
        let local = &self.local;
        if self.mapping == Mapping::Sequence && local.rank_by.is_some() {
            return Err(Failure::usage(
                "--map-by seq numbers the ranks as the lines of the host file: leave out --rank-by",
            ));
        }
        let to = match local.bind {
            Some(target) => target.to,
            None if local.cores.is_some() && local.counts_threads => Some(Object::Thread),
            None if local.cores.is_some() => Some(Object::Core),
            None => local.by,
        };
        let width = local.bind.map_or(1, |target| target.width);
        if let Some(cores) = local.cores {
            let is_of_cores = to.is_some_and(|to| to <= Object::Core);
            if !is_of_cores || (width > 1 && width != cores) {
                return Err(Failure::usage(format!(
                    "--map-by :pe={cores} gives each rank {cores} cores: leave out --bind-to, or \
                     give --bind-to core or hwthread"
                )));
            }
        }
        let is_asked = local.bind.is_some() || local.cores.is_some();
        Ok(to.map(|to| Wish {
            by: local.by.unwrap_or(to),
            per_part: local.per_part,
            to,
            width: local.cores.unwrap_or(width),
            may_share: self.oversubscribes || local.bind.is_some_and(|target| target.may_share),
            gives_way: !is_asked,
            is_filled: local.rank_by == Some(RankBy::Fill),
        }))
    }
}

/// The failure for a word that is none of the known ones.
fn unknown(option: &str, value: &str, word: &str, known: &[&str]) -> Failure {
    let value = printable(value);
    let begun = known.iter().copied();
    let mut begun = begun.filter(|known| word.len() > 2 && known.starts_with(word));
    let meant = match begun
        .next()
        .or_else(|| nearest(word, known.iter().copied()))
    {
        Some(meant) => format!("did you mean {meant}?"),
        None => format!("expected {}", listed(known)),
    };
    Failure::usage(format!("{option}{value}: {meant}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::parse;
    use crate::cli::request::Request;

    fn run(line: &str) -> Options {
        match parse(line.split(' ').map(Into::into)) {
            Ok(Request::Run(options)) => *options,
            other => panic!("{line}: {other:?}"),
        }
    }

    fn wish(line: &str) -> Option<Wish> {
        run(line).binding().unwrap()
    }

    fn refusal(line: &str) -> String {
        let failure = parse(line.split(' ').map(Into::into)).unwrap_err();
        assert_eq!(failure.code, 2, "{line}");
        assert!(!failure.text.contains('\n'), "{line}");
        failure.text
    }

    #[test]
    fn nothing_is_bound_unless_it_is_asked_for() {
        for line in [
            "p",
            "--bind-to none p",
            "--map-by slot p",
            "--map-by node p",
            "--map-by ppr:2:node p",
            "--map-by seq p",
            "--map-by socket --bind-to none p",
            "--rank-by fill p",
        ] {
            assert_eq!(wish(line), None, "{line}");
        }
    }

    #[test]
    fn a_binding_says_what_to_and_how_many() {
        let core = Wish {
            by: Object::Core,
            per_part: None,
            to: Object::Core,
            width: 1,
            may_share: false,
            gives_way: false,
            is_filled: false,
        };
        assert_eq!(wish("--bind-to core p"), Some(core));
        assert_eq!(wish("-bind-to CORE p"), Some(core));
        let two = Wish { width: 2, ..core };
        assert_eq!(wish("--bind-to core:2 p"), Some(two));
        assert_eq!(wish("--map-by slot:PE=2 p"), Some(two));
        assert_eq!(wish("--map-by :pe=2 --bind-to core p"), Some(two));
        let shared = Wish {
            may_share: true,
            ..core
        };
        for line in [
            "--bind-to core:overload-allowed p",
            "--bind-to :overload-allowed p",
            "--bind-to core --oversubscribe p",
            "--bind-to core --map-by :oversubscribe p",
        ] {
            assert_eq!(wish(line), Some(shared), "{line}");
        }
        let thread = wish("--map-by slot:pe=2:hwtcpus p").unwrap();
        assert_eq!((thread.to, thread.width), (Object::Thread, 2));
    }

    #[test]
    fn ranks_that_are_dealt_to_parts_are_bound_there_where_there_is_room() {
        let wish = |line| wish(line).unwrap();
        let numa = wish("--map-by numa p");
        assert_eq!((numa.by, numa.to), (Object::Numa, Object::Numa));
        assert!(numa.gives_way);
        let core = wish("--map-by socket --bind-to core --rank-by fill p");
        assert_eq!((core.by, core.to), (Object::Package, Object::Core));
        assert!(!core.gives_way && core.is_filled);
        let per_socket = wish("--map-by ppr:3:socket:pe=2 p");
        assert_eq!(per_socket.per_part, Some(3));
        assert_eq!((per_socket.to, per_socket.width), (Object::Core, 2));
    }

    #[test]
    fn a_number_per_host_stands_beside_a_part_of_the_host() {
        let options = run("-ppn 2 --map-by socket --bind-to socket p");
        assert_eq!(options.mapping, Mapping::PerNode(2));
        assert_eq!(run("--map-by core:span p").mapping, Mapping::ByNode);
    }

    #[test]
    fn what_is_unknown_or_contradictory_is_refused_in_one_line() {
        let cases = [
            ("--map-by sokcet p", "--map-by sokcet: did you mean socket?"),
            (
                "--map-by slot:spam p",
                "--map-by slot:spam: did you mean span?",
            ),
            (
                "--map-by ppr:2:cores p",
                "--map-by ppr:2:cores: did you mean core?",
            ),
            (
                "--map-by ppr:0:core p",
                "--map-by ppr:N:core needs a whole number from 1 to 1000000, not '0'",
            ),
            (
                "--map-by slot:pe=x p",
                "--map-by :pe=N needs a whole number from 1 to 1000000, not 'x'",
            ),
            (
                "--bind-to cpu p",
                "--bind-to cpu: expected none, hwthread, core, l2cache, l3cache, numa, socket, \
                 package or board",
            ),
            (
                "--bind-to core:overload p",
                "--bind-to core:overload: did you mean overload-allowed?",
            ),
            ("--bind-to cor p", "--bind-to cor: did you mean core?"),
            ("--rank-by slots p", "--rank-by slots: did you mean slot?"),
            (
                "--map-by slot:pe=2 --bind-to socket p",
                "--map-by :pe=2 gives each rank 2 cores: leave out --bind-to, or give --bind-to \
                 core or hwthread",
            ),
            (
                "--map-by seq --rank-by node p",
                "--map-by seq numbers the ranks as the lines of the host file: leave out --rank-by",
            ),
        ];
        for (line, expected) in cases {
            assert_eq!(refusal(line), expected);
        }
        assert!(refusal("--map-by slot:pe=2 --bind-to none p").contains("leave out --bind-to"));
    }
}
