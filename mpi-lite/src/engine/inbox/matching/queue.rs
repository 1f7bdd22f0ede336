//! A queue of one side that waits for the other: patterns for envelopes, envelopes for patterns.

use std::collections::VecDeque;

use super::deep::Deep;
use super::key::Side;
use crate::slab::Key;

/// A queue of up to this length is scanned. Windows of 64 messages are common, and to scan that
/// many takes about as long as to find one by its label.
const SHORT: usize = 64;

/// A deep queue that has shrunk to this length is scanned again. Less than `SHORT`, so that a queue
/// of about that length is not moved to and fro.
const SHORT_AGAIN: usize = SHORT / 2;

/// The entries that wait, in the order in which they came. While they are few, they lie side by
/// side; when they are many, they are found by their labels. One of the two is always empty.
#[derive(Debug)]
pub(super) struct Queue<S> {
    short: VecDeque<(S, Key)>,
    /// How long `short` may become: `SHORT`, or nothing while there is an entry in `deep`.
    room: usize,
    deep: Deep<S>,
}

impl<S> Default for Queue<S> {
    fn default() -> Self {
        Self {
            short: VecDeque::new(),
            room: SHORT,
            deep: Deep::default(),
        }
    }
}

impl<S: Side> Queue<S> {
    /// Adds `side` behind all others. No two that wait may have keys of the same index.
    #[inline]
    pub(super) fn push(&mut self, side: S, key: Key) {
        if self.short.len() < self.room {
            self.short.push_back((side, key));
        } else {
            self.push_deep(side, key);
        }
    }

    #[inline(never)]
    fn push_deep(&mut self, side: S, key: Key) {
        for (side, key) in self.short.drain(..) {
            self.deep.push(side, key);
        }
        self.room = 0;
        self.deep.push(side, key);
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.short.is_empty() && self.room > 0
    }

    /// Takes the first that fits. It is quick if that is the first of all.
    #[inline]
    pub(super) fn take(&mut self, other: &S::Other) -> Option<Key> {
        match self.short.front() {
            Some(&(side, key)) if side.fits(other) => {
                // Most messages come in the order in which they are awaited.
                self.short.pop_front();
                Some(key)
            }
            None if self.room > 0 => None,
            _ => self.search(other),
        }
    }

    /// Takes the first that fits, if it is quickly found and `place` returns something for it. In a
    /// short queue only the first of all is quickly found, in a deep one any is.
    #[inline(always)]
    pub(super) fn take_if<T>(
        &mut self,
        other: &S::Other,
        place: impl FnOnce(Key) -> Option<T>,
    ) -> Option<(Key, T)> {
        let Some(&(side, key)) = self.short.front() else {
            return if self.room > 0 {
                None
            } else {
                self.take_deep_if(other, place)
            };
        };
        if !side.fits(other) {
            return None;
        }
        let place = place(key)?;
        self.short.pop_front();
        Some((key, place))
    }

    #[inline(never)]
    fn take_deep_if<T>(
        &mut self,
        other: &S::Other,
        place: impl FnOnce(Key) -> Option<T>,
    ) -> Option<(Key, T)> {
        let key = self.deep.find(other)?;
        let place = place(key)?;
        self.remove_deep(key);
        Some((key, place))
    }

    /// Takes the first that fits.
    #[inline(never)]
    pub(super) fn search(&mut self, other: &S::Other) -> Option<Key> {
        if self.room > 0 {
            let at = self.short.iter().position(|(side, _)| side.fits(other))?;
            return self.short.remove(at).map(|(_, key)| key);
        }
        let key = self.deep.find(other)?;
        self.remove_deep(key);
        Some(key)
    }

    /// Finds the first that fits.
    pub(super) fn find(&mut self, other: &S::Other) -> Option<Key> {
        let fitting = self.short.iter().find(|(side, _)| side.fits(other));
        match fitting {
            Some(&(_, key)) => Some(key),
            None => self.deep.find(other),
        }
    }

    /// Takes out the entry that `key` names. Returns true if it was waiting.
    pub(super) fn remove(&mut self, key: Key) -> bool {
        match self.short.iter().position(|&(_, short)| short == key) {
            Some(at) => self.short.remove(at).is_some(),
            None => self.remove_deep(key),
        }
    }

    fn remove_deep(&mut self, key: Key) -> bool {
        let was_there = self.deep.remove(key);
        if was_there && self.deep.len() <= SHORT_AGAIN {
            self.come_up();
        }
        was_there
    }

    /// Moves the entries of a deep queue that has become short.
    #[cold]
    fn come_up(&mut self) {
        while let Some((key, side)) = self.deep.first() {
            self.short.push_back((side, key));
            self.deep.remove(key);
        }
        self.deep.give_back();
        self.room = SHORT;
    }

    /// Returns true if `is_it` holds for any entry.
    pub(super) fn any(&self, is_it: impl Fn(&S) -> bool) -> bool {
        self.iter().any(|(_, side)| is_it(side))
    }

    /// Takes all entries for which `is_hopeless` holds.
    pub(super) fn extract(&mut self, is_hopeless: impl Fn(&S) -> bool) -> Vec<Key> {
        let hopeless: Vec<Key> = self
            .iter()
            .filter(|(_, side)| is_hopeless(side))
            .map(|(key, _)| key)
            .collect();
        for &key in &hopeless {
            self.remove(key);
        }
        hopeless
    }

    /// All entries, in their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Key, &S)> {
        let short = self.short.iter().map(|(side, key)| (*key, side));
        short.chain(self.deep.iter())
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.short.len() + self.deep.len()
    }
}
