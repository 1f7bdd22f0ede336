//! Datatypes by number, so that a wire form goes to a peer once.
//!
//! The origin writes a datatype with [`Sent::write`]; the target reads it with [`Known::read`]. The
//! target must read in the order in which the origin wrote for it, and all of it.
//!
//! | event | rule |
//! |---|---|
//! | a predefined datatype | its form, without a number |
//! | a derived one, first time for a peer | its form, with a number; the target keeps it |
//! | a derived one, again | the number alone |
//! | the program has dropped it | its number is free: the next datatype that needs one takes it |
//! | all numbers are taken | the next one in turn passes to the new datatype |
//! | a number comes with a form | it replaces what the target had of that number |
//! | an unknown number, one too large | the target refuses it |
//! | what was written for a peer is not sent | [`Sent::forget`]: it gets all forms again |
//!
//! | bytes | |
//! |---|---|
//! | number 0 | a form follows, to be used once |
//! | number `2 n + 1` | a form follows, to be kept as `n` |
//! | number `2 n + 2` | what was kept as `n` |
//!
//! A number and a form are those of `wire.rs`. Source: MPI 5.0, 12.3.1.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use super::datatype::{Datatype, Derived};
use super::wire::{Malformed, Reader, put, wrong_at};
use crate::ids::PeerId;

/// Numbers of an origin. Programs use a few datatypes for their windows at a time; a target keeps
/// this many for each origin.
const NUMBERS: usize = 256;

/// The datatypes that this process has sent, by number, and which peers have them.
#[derive(Debug, Default)]
pub struct Sent {
    numbers: Vec<Numbered>,
    /// The number that is taken away next if none is free.
    next: usize,
}

/// What a number names.
#[derive(Debug)]
struct Numbered {
    datatype: Weak<Derived>,
    peers: BTreeSet<PeerId>,
}

impl Sent {
    /// Appends `datatype` to `out` in words that `peer` understands.
    pub fn write(&mut self, datatype: &Datatype, peer: PeerId, out: &mut Vec<u8>) {
        let Datatype::Derived(derived) = datatype else {
            put(out, 0);
            return datatype.write(out);
        };
        let number = self.number(derived);
        let is_new = self.numbers[number].peers.insert(peer);
        put(out, 2 * number as u64 + if is_new { 1 } else { 2 });
        if is_new {
            datatype.write(out);
        }
    }

    /// Forgets what `peer` has: it is gone, or something that was written for it was not sent.
    pub fn forget(&mut self, peer: PeerId) {
        for numbered in &mut self.numbers {
            numbered.peers.remove(&peer);
        }
    }

    /// The number of a datatype, a new one if it has none.
    fn number(&mut self, derived: &Arc<Derived>) -> usize {
        let named = |numbered: &Numbered| numbered.datatype.as_ptr() == Arc::as_ptr(derived);
        if let Some(number) = self.numbers.iter().position(named) {
            return number;
        }
        let numbered = Numbered {
            datatype: Arc::downgrade(derived),
            peers: BTreeSet::new(),
        };
        let is_free = |numbered: &Numbered| numbered.datatype.strong_count() == 0;
        let number = match self.numbers.iter().position(is_free) {
            Some(free) => free,
            None if self.numbers.len() < NUMBERS => {
                self.numbers.push(numbered);
                return self.numbers.len() - 1;
            }
            None => {
                self.next += 1;
                (self.next - 1) % NUMBERS
            }
        };
        self.numbers[number] = numbered;
        number
    }
}

/// The datatypes that one peer has sent, by number.
#[derive(Debug, Default)]
pub struct Known {
    numbers: Vec<Option<Datatype>>,
}

impl Known {
    /// Reads a datatype, with which `bytes` begin. Returns it and how many bytes it took.
    ///
    /// # Errors
    /// The bytes are none; then nothing has changed.
    pub fn read(&mut self, bytes: &[u8]) -> Result<(Datatype, usize), Malformed> {
        let mut reader = Reader { bytes, at: 0 };
        let word = reader.number()?;
        let index = (word.saturating_sub(1) / 2) as usize;
        if index >= NUMBERS {
            return Err(wrong_at(0, "the number of the datatype is too large"));
        }
        if word > 0 && word % 2 == 0 {
            let known = self.numbers.get(index).cloned().flatten();
            let known = known.ok_or_else(|| wrong_at(0, "no datatype has this number"))?;
            return Ok((known, reader.at));
        }
        let datatype = reader.datatype()?;
        datatype.commit();
        if word > 0 {
            self.numbers.resize(self.numbers.len().max(index + 1), None);
            self.numbers[index] = Some(datatype.clone());
        }
        Ok((datatype, reader.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Basic;

    const ONE: PeerId = PeerId(1);
    const TWO: PeerId = PeerId(2);

    fn doubles(count: u64) -> Datatype {
        Datatype::from(Basic::Double).contiguous(count).unwrap()
    }

    /// Sends `datatype` from `sent` to `known`, which gets it right. Returns the number of bytes.
    fn pass(sent: &mut Sent, known: &mut Known, datatype: &Datatype, peer: PeerId) -> usize {
        let mut bytes = Vec::new();
        sent.write(datatype, peer, &mut bytes);
        let (got, len) = known.read(&bytes).unwrap();
        assert_eq!((got.size(), len), (datatype.size(), bytes.len()));
        assert!(got.is_committed());
        len
    }

    #[test]
    fn a_form_goes_to_each_peer_once() {
        let (mut sent, mut known) = (Sent::default(), [Known::default(), Known::default()]);
        let datatype = doubles(1000);
        let mut lens = Vec::new();
        for (at, peer) in [ONE, ONE, TWO, TWO, ONE].into_iter().enumerate() {
            let to = &mut known[usize::from(peer == TWO)];
            lens.push((at, pass(&mut sent, to, &datatype, peer)));
        }
        assert_eq!(lens, [(0, 6), (1, 1), (2, 6), (3, 1), (4, 1)]);
    }

    #[test]
    fn a_predefined_datatype_needs_no_number() {
        let (mut sent, mut known) = (Sent::default(), Known::default());
        for _ in 0..2 {
            assert_eq!(pass(&mut sent, &mut known, &Basic::Int.into(), ONE), 3);
        }
        assert!(sent.numbers.is_empty() && known.numbers.is_empty());
    }

    #[test]
    fn the_number_of_a_dropped_datatype_names_the_next_one() {
        let (mut sent, mut known) = (Sent::default(), Known::default());
        let kept = doubles(1);
        pass(&mut sent, &mut known, &kept, ONE);
        for count in 2..5 {
            let dropped = doubles(count);
            assert!(pass(&mut sent, &mut known, &dropped, ONE) > 1, "{count}");
            assert_eq!(pass(&mut sent, &mut known, &dropped, ONE), 1);
        }
        assert_eq!(pass(&mut sent, &mut known, &kept, ONE), 1);
        assert_eq!((sent.numbers.len(), known.numbers.len()), (2, 2));
    }

    #[test]
    fn a_forgotten_peer_gets_the_form_again() {
        let (mut sent, mut known) = (Sent::default(), Known::default());
        let datatype = doubles(7);
        let first = pass(&mut sent, &mut known, &datatype, ONE);
        pass(&mut sent, &mut known, &datatype, TWO);
        sent.forget(ONE);
        assert_eq!(
            pass(&mut sent, &mut Known::default(), &datatype, ONE),
            first
        );
        assert_eq!(pass(&mut sent, &mut known, &datatype, TWO), 1);
    }

    #[test]
    fn numbers_pass_on_in_turn_once_all_are_taken() {
        let (mut sent, mut known) = (Sent::default(), Known::default());
        let all: Vec<_> = (1..=NUMBERS as u64 + 2).map(doubles).collect();
        for datatype in &all {
            assert!(pass(&mut sent, &mut known, datatype, ONE) > 2);
        }
        assert_eq!(
            (sent.numbers.len(), known.numbers.len()),
            (NUMBERS, NUMBERS)
        );
        assert!(pass(&mut sent, &mut known, &all[2], ONE) <= 2);
        // The first two have lost theirs, and take those of the next two.
        for datatype in [&all[0], &all[1], &all[2]] {
            assert!(pass(&mut sent, &mut known, datatype, ONE) > 2);
        }
        assert!(pass(&mut sent, &mut known, &all[NUMBERS], ONE) <= 2);
    }

    #[test]
    fn what_no_origin_writes_is_refused_and_changes_nothing() {
        let mut known = Known::default();
        let mut refused = |word: u64, form: &[u8]| {
            let mut bytes = Vec::new();
            put(&mut bytes, word);
            bytes.extend(form);
            known.read(&bytes).unwrap_err()
        };
        let unknown = refused(2, &[]);
        assert_eq!(unknown, wrong_at(0, "no datatype has this number"));
        for word in [2 * NUMBERS as u64 + 1, 2 * NUMBERS as u64 + 2, u64::MAX] {
            let large = wrong_at(0, "the number of the datatype is too large");
            assert_eq!(refused(word, &[0, 4]), large);
        }
        // Errors of a form count its bytes with those before it.
        assert_eq!(refused(1, &[0]), wrong_at(2, "the bytes end too early"));
        assert_eq!(refused(2, &[]), unknown);
    }
}
