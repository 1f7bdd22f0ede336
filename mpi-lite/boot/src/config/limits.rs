//! Up to which sizes collectives by messages take which algorithm.
//!
//! The values are in `limits.table`, which `make tune` writes.

use std::fmt;
use std::str::FromStr;

/// The file with the values.
const TABLE: &str = include_str!("limits.table");

macro_rules! limits {
    ($( $(#[doc = $doc:literal])* $field:ident: $name:literal; )*) => {
        /// Up to how many bytes a collective takes the first of two ways. All ranks of a job must
        /// have the same.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Limits {
            $( $(#[doc = $doc])* pub $field: u64, )*
        }

        impl Limits {
            /// Those of the table.
            pub const MEASURED: Self = Self { $( $field: in_table($name), )* };

            /// Their names.
            pub const NAMES: &[&str] = &[$( $name ),*];

            fn find(&mut self, name: &str) -> Option<&mut u64> {
                match name {
                    $( $name => Some(&mut self.$field), )*
                    _ => None,
                }
            }
        }

        impl fmt::Display for Limits {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let rows = [$( ($name, self.$field) ),*];
                for (at, (name, bytes)) in rows.iter().enumerate() {
                    write!(f, "{}{name}={bytes}", if at > 0 { "," } else { "" })?;
                }
                Ok(())
            }
        }
    };
}

limits! {
    /// Gather and scatter of blocks of so many bytes pass packed blocks along a tree; beyond, the
    /// root deals with each process itself, without copies.
    gather_tree: "gather-tree";
    /// Allgather of so many bytes in all doubles its blocks in each round; beyond, each block goes
    /// around a ring without copies.
    allgather_doubling: "allgather-doubling";
    /// Allreduce of so many bytes exchanges whole vectors; beyond, each process reduces its part
    /// and the parts are gathered.
    allreduce_whole: "allreduce-whole";
    /// Bcast of so many bytes goes whole along a tree; beyond, in pieces along a chain or a tree.
    bcast_tree: "bcast-tree";
    /// Reduce of so many bytes goes whole along a tree; beyond, in pieces along a chain or a tree.
    reduce_tree: "reduce-tree";
    /// Alltoall of blocks of so many bytes sends several blocks in one message; beyond, each goes
    /// straight to its process, since a block in hops goes ⌈log2 n⌉ / 2 times over the wire
    /// (docs/decisions/0037).
    alltoall_hops: "alltoall-hops";
}

/// The number behind `name` in the table.
const fn in_table(name: &str) -> u64 {
    let (table, name) = (TABLE.as_bytes(), name.as_bytes());
    let mut at = 0;
    while at < table.len() {
        let mut same = 0;
        while same < name.len() && at + same < table.len() && table[at + same] == name[same] {
            same += 1;
        }
        if same == name.len() && table[at + same] == b' ' {
            return number(table, at + same + 1);
        }
        while at < table.len() && table[at] != b'\n' {
            at += 1;
        }
        at += 1;
    }
    panic!("limits.table lacks a limit");
}

/// The number that begins at `at`.
const fn number(table: &[u8], mut at: usize) -> u64 {
    let mut number = 0;
    while at < table.len() && table[at].is_ascii_digit() {
        number = 10 * number + (table[at] - b'0') as u64;
        at += 1;
    }
    number
}

impl FromStr for Limits {
    type Err = String;

    /// Reads `NAME=BYTES,...`; limits that are not named are those of the table.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut limits = Self::MEASURED;
        for part in text.split(',').map(str::trim) {
            let (name, bytes) = part.split_once('=').unwrap_or((part, ""));
            let Some(limit) = limits.find(name) else {
                let names = Self::NAMES.join(", ");
                return Err(format!("no limit is called {name:?}; there are {names}"));
            };
            *limit = bytes
                .parse()
                .map_err(|_| format!("{part:?} is not NAME=BYTES"))?;
        }
        Ok(limits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_names_limits_that_are_not_those_of_the_table() {
        let limits: Limits = "bcast-tree=7, alltoall-hops=0".parse().unwrap();
        let expected = Limits {
            bcast_tree: 7,
            alltoall_hops: 0,
            ..Limits::MEASURED
        };
        assert_eq!(limits, expected);
        assert_eq!(limits.to_string().parse(), Ok(limits));
    }

    #[test]
    fn what_is_no_limit_is_an_error_that_names_those_that_are() {
        let error = "tree=7".parse::<Limits>().unwrap_err();
        assert!(
            error.contains("\"tree\"") && error.contains("bcast-tree"),
            "{error}"
        );
        assert!("bcast-tree".parse::<Limits>().is_err());
        assert!("bcast-tree=-1".parse::<Limits>().is_err());
    }

    #[test]
    fn the_table_has_each_limit_once_and_nothing_else() {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
        let names: Vec<_> = lines.map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(names, Limits::NAMES);
    }
}
