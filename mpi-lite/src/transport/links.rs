//! The links of a process, by what each of them leads to.

use core::ops::{Deref, DerefMut};

use super::tallies::Counts;
use super::{Link, Tallies, Transport};

/// The links of a process. The first one leads to the process itself. One may lead to the ranks of
/// its node, through memory, and one to all others.
#[derive(Debug)]
pub struct Links {
    list: Vec<Link>,
    memory: Option<usize>,
}

impl Links {
    /// The place of the link to the process itself.
    pub const OWN: usize = 0;

    /// The link to the process itself, the one through memory, and the one to all others.
    ///
    /// # Panics
    /// When `memory` is no link through memory: see
    /// [`Capabilities::is_memory`](super::Capabilities::is_memory).
    #[must_use]
    pub fn new(own: Link, memory: Option<Link>, others: Option<Link>) -> Self {
        let is_memory = memory.as_ref().map(|link| link.capabilities().is_memory);
        assert_ne!(is_memory, Some(false), "the link is not through memory");
        let place = memory.is_some().then_some(Self::OWN + 1);
        let list = [Some(own), memory, others];
        Self {
            list: list.into_iter().flatten().collect(),
            memory: place,
        }
    }

    /// The place of the link through memory.
    #[inline]
    #[must_use]
    pub fn memory(&self) -> Option<usize> {
        self.memory
    }

    /// The place of the link to peers that no other link leads to.
    #[must_use]
    pub fn others(&self) -> usize {
        self.list.len() - 1
    }

    /// What all of them have counted.
    #[must_use]
    pub fn tallies(&self) -> Tallies {
        let mut tallies = Tallies::default();
        for link in &self.list {
            link.count(&mut tallies);
        }
        tallies
    }

    /// Returns true if a link leads to other nodes.
    #[must_use]
    pub fn reach_beyond_memory(&self) -> bool {
        self.memory != Some(self.others())
    }
}

impl Deref for Links {
    type Target = [Link];

    #[inline]
    fn deref(&self) -> &[Link] {
        &self.list
    }
}

impl DerefMut for Links {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Link] {
        &mut self.list
    }
}
