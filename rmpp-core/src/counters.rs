//! The counters of an endpoint, and their table.
//!
//! A counter is one line of a [`tally!`](crate::tally): from that line come its field, its row in
//! the table at the end of a job, and its performance variable for tools.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::error::Dropped;
use crate::packet::Kind;

/// A count of packets that had been sent before, in one form or another.
pub type Repeats = u64;

/// A number of bytes that adds up.
pub type Bytes = u64;

/// The greatest amount there ever was at a time.
pub type Peak = u64;

/// The meaning of a row's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// How often something happened.
    Count,
    /// How many packets were sent again; it also counts as `Count`.
    Repeats,
    /// Bytes that add up.
    Bytes,
    /// The greatest amount at a time: of several processes the greatest counts, not the sum.
    Peak,
}

/// One counter with its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The part of the library that counts.
    pub part: &'static str,
    /// The array that it is one of, or nothing.
    pub group: &'static str,
    /// The counter, within its array if there is one.
    pub item: &'static str,
    /// A sentence: the thing that it counts, or its array.
    pub doc: &'static str,
    /// The meaning of the number.
    pub measure: Measure,
    /// The number.
    pub value: u64,
}

impl Row {
    /// The name among all counters of a process: part, group and item, in small letters.
    #[must_use]
    pub fn name(&self) -> String {
        let words = [self.part, self.group, self.item];
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        words.join("_").to_ascii_lowercase()
    }

    /// A sentence: the thing that it counts.
    #[must_use]
    pub fn about(&self) -> String {
        if self.group.is_empty() {
            return self.doc.into();
        }
        let array = self.doc.trim_end_matches('.');
        format!("{array}: {}.", self.item)
    }
}

/// Makes a struct of counters, and its rows from the same lines.
///
/// The name in brackets is the part of [`Row`]. A field is `u64`, [`Repeats`], [`Bytes`] or
/// [`Peak`], by the way it is read; or an array of `u64` whose length begins with the name of a
/// type that has `ALL` and `name`: a counter for each of these.
#[macro_export]
macro_rules! tally {
    (
        $(#[$about:meta])*
        pub struct $tally:ident [$part:literal] {
            $( $(#[doc = $doc:literal])+ pub $field:ident: $kind:tt, )*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $tally {
            $( $(#[doc = $doc])+ pub $field: $kind, )*
        }

        impl $tally {
            /// All of it as rows, always as many and in the same order.
            #[must_use]
            pub fn rows(&self) -> $crate::Rows {
                let mut rows = $crate::Rows::new();
                $( $crate::tally!(
                    @push rows, self.$field, $part, $field, concat!($($doc),+).trim(), $kind
                ); )*
                rows
            }
        }
    };
    (
        @push $rows:ident, $value:expr, $part:expr, $field:ident, $doc:expr,
        [u64; $by:ident $($rest:tt)*]
    ) => {
        $rows.extend($by::ALL.iter().zip($value).map(|(item, value)| $crate::Row {
            part: $part,
            group: stringify!($field),
            item: item.name(),
            doc: $doc,
            measure: $crate::Measure::Count,
            value,
        }));
    };
    (@push $rows:ident, $value:expr, $part:expr, $field:ident, $doc:expr, $kind:ident) => {
        $rows.push($crate::Row {
            part: $part,
            group: "",
            item: stringify!($field),
            doc: $doc,
            measure: $crate::tally!(@measure $kind),
            value: $value,
        });
    };
    (@measure u64) => { $crate::Measure::Count };
    (@measure $measure:ident) => { $crate::Measure::$measure };
}

/// The rows of a [`tally!`](crate::tally).
pub type Rows = Vec<Row>;

tally! {
    /// Counts since the endpoint was made. Nothing in here steers the protocol.
    pub struct Counters ["rmpp"] {
        /// Packets sent, by type.
        pub sent: [u64; Kind::COUNT],
        /// Packets received that passed all checks, by type.
        pub received: [u64; Kind::COUNT],
        /// Packets dropped, by reason.
        pub dropped: [u64; Dropped::COUNT],
        /// Messages that this rank has begun to send.
        pub messages_sent: u64,
        /// First packets and NULLs sent again.
        pub first_repeated: Repeats,
        /// Data packets sent again.
        pub data_repeated: Repeats,
        /// Repeated packets answered while their message was still known.
        pub answered_again: Repeats,
        /// Repeated packets answered after their message was forgotten (rule A).
        pub answered_without_state: Repeats,
        /// Times that the answer to a packet was overdue.
        pub timeouts: u64,
        /// Long messages begun again at sequence number 1.
        pub restarts: u64,
        /// CTS packets that asked for data again (rule R).
        pub naks: u64,
        /// Times that this rank asked a receiver what was missing (rule R).
        pub probes: u64,
        /// Data packets that came twice.
        pub duplicates: u64,
        /// First packets that came early and were kept until their turn (rule O).
        pub early: u64,
        /// Acknowledgements sent in a packet of their own (rule K).
        pub acks_alone: u64,
        /// Acknowledgements received of messages that were never sent.
        pub acks_beyond: u64,
        /// Times that the layer below lost packets because it had no room (rule G).
        pub overflows: u64,
        /// Answers dropped because too many were waiting.
        pub answers_lost: u64,
        /// Finished messages forgotten without a GCH.
        pub done_expired: u64,
        /// Times that this process found that it had not run for a while (rule T).
        pub own_pauses: u64,
    }
}

impl Counters {
    /// How many packets were dropped for `reason`.
    #[must_use]
    pub fn dropped(&self, reason: Dropped) -> u64 {
        self.dropped[reason as usize]
    }

    /// How many packets of `kind` were sent.
    #[must_use]
    pub fn sent(&self, kind: Kind) -> u64 {
        self.sent[kind.index()]
    }

    /// How many packets of `kind` were received and passed rule S.
    #[must_use]
    pub fn received(&self, kind: Kind) -> u64 {
        self.received[kind.index()]
    }

    /// All packets sent.
    #[must_use]
    pub fn sent_total(&self) -> u64 {
        self.sent.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_counter_has_a_row_with_its_own_name_and_its_value() {
        let mut counters = Counters::default();
        counters.sent[Kind::LastRts.index()] = 3;
        counters.dropped[Dropped::OutOfOrder as usize] = 5;
        counters.restarts = 7;
        let rows = counters.rows();
        let names: BTreeSet<String> = rows.iter().map(Row::name).collect();
        assert_eq!(names.len(), rows.len());
        let fields = size_of::<Counters>() / size_of::<u64>();
        assert_eq!(rows.len(), fields);
        let value = |name: &str| rows.iter().find(|row| row.name() == name).map(|r| r.value);
        assert_eq!(value("rmpp_sent_last_rts"), Some(3));
        assert_eq!(value("rmpp_dropped_out_of_order"), Some(5));
        assert_eq!(value("rmpp_restarts"), Some(7));
        assert_eq!(rows.iter().map(|row| row.value).sum::<u64>(), 15);
        assert!(rows.iter().all(|row| row.doc.ends_with('.')));
    }
}
