//! What a process has lent to windows, and which pages have moved for that.

use core::ops::Range;
use std::io;

use mpi_boot::node_memory::PAGE;
use parking_lot::Mutex;

use super::image::Image;
use super::maps::Maps;

/// Addresses of whole pages.
pub(super) type Pages = Range<usize>;

/// The pages in which `len` bytes at an address lie.
pub(super) fn around(address: u64, len: usize) -> Pages {
    let (start, page) = (address as usize, PAGE as usize);
    match len {
        0 => 0..0,
        len => start / page * page..(start + len).next_multiple_of(page),
    }
}

fn overlap(one: &Pages, other: &Pages) -> bool {
    one.start < other.end && other.start < one.end
}

/// What is left of pages without others.
fn without<'a>(pages: &Pages, others: impl Iterator<Item = &'a Pages>) -> Vec<Pages> {
    let mut left = vec![pages.clone()];
    for other in others {
        let parts = left.into_iter().flat_map(|part| {
            let before = part.start..part.end.min(other.start);
            [before, part.start.max(other.end)..part.end]
        });
        left = parts.filter(|part| !part.is_empty()).collect();
    }
    left
}

/// What a process has lent to windows.
#[derive(Debug, Default)]
pub struct Lending {
    /// A word that only this process has.
    pub(super) witness: u64,
    pub(super) loans: Mutex<Loans>,
}

impl Lending {
    pub(crate) fn new(witness: u64) -> Self {
        let loans = Mutex::default();
        Self { witness, loans }
    }
}

/// The memory of windows, and where it is.
#[derive(Debug, Default)]
pub(super) struct Loans {
    lent: Vec<(u64, Pages)>,
    next: u64,
    /// Made with the first pages that move.
    pub(super) image: Option<Image>,
    /// Pages that are in the image. None of them is there twice.
    pub(super) moved: Vec<Pages>,
    /// Pages have left the image that are still mapped from it: it takes no more.
    is_closed: bool,
}

impl Loans {
    /// Enters the memory of a window. Returns its number.
    pub(super) fn enter(&mut self, pages: Pages) -> u64 {
        self.next += 1;
        self.lent.push((self.next, pages));
        self.next
    }

    pub(super) fn remove(&mut self, number: u64) {
        self.lent.retain(|(other, _)| *other != number);
    }

    /// Moves those of these pages that have not moved. Returns false if some may not: nothing has
    /// changed then.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn move_in(&mut self, pages: &Pages, witness: u64) -> io::Result<bool> {
        if self.is_closed {
            return Ok(false);
        }
        let maps = Maps::read_unlocked()?;
        if self.image.is_none() {
            self.image = Some(Image::new(witness)?);
        }
        let Some(image) = &self.image else {
            return Ok(false);
        };
        let there = image.still_there(&self.moved, &maps).into_iter();
        self.moved = there.map(|(pages, _)| pages).collect();
        let rest = without(pages, self.moved.iter());
        let is_used = |part: &Pages| self.lent.iter().any(|(_, other)| overlap(part, other));
        let may_move = |part: &Pages| !is_used(part) && image.may_take(part, &maps);
        if !rest.iter().all(may_move) {
            return Ok(false);
        }
        drop(maps);
        self.moved.reserve(rest.len());
        for part in rest {
            image.take(&part)?;
            self.moved.push(part);
        }
        Ok(true)
    }

    /// Makes pages private that have moved, and that no window has any more. Threads of the program
    /// may run unless the process `is_still`.
    pub(super) fn move_out(&mut self, is_still: bool) {
        let used = || self.lent.iter().map(|(_, pages)| pages);
        let left = self.moved.iter().flat_map(|pages| without(pages, used()));
        let left: Vec<Pages> = left.collect();
        let (Some(image), false) = (&self.image, left.is_empty()) else {
            return;
        };
        let Ok(maps) = Maps::read() else { return };
        // What the program has unmapped, or mapped anew, is not the window's any more.
        for (part, may) in image.still_there(&left, &maps) {
            if !is_still || !image.give_back(&part, may) {
                self.is_closed |= image.leave(&part, may);
            }
        }
        let moved = self.moved.iter();
        self.moved = moved
            .flat_map(|pages| without(pages, left.iter()))
            .collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_pages_is_what_no_other_has() {
        let others = [2..4, 6..7, 9..20];
        let table: [(Pages, &[Pages]); 6] = [
            (0..5, &[0..2, 4..5]),
            (2..4, &[]),
            (1..5, &[1..2, 4..5]),
            (0..12, &[0..2, 4..6, 7..9]),
            (10..12, &[]),
            (7..22, &[7..9, 20..22]),
        ];
        for (pages, left) in table {
            assert_eq!(without(&pages, others.iter()), left, "{pages:?}");
        }
    }
}
