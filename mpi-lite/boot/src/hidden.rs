//! Memory for keys: it is in no core file, and it is wiped when its owner is done.
#![expect(
    unsafe_code,
    reason = "pages of the system, and writes that nobody reads"
)]

use core::fmt;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use core::sync::atomic::{Ordering, compiler_fence};

/// A value in pages of its own which the system leaves out of core files (`MADV_DONTDUMP`,
/// madvise(2)).
pub struct Hidden<T> {
    value: NonNull<T>,
}

// SAFETY: it owns its value, as a box does.
unsafe impl<T: Send> Send for Hidden<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Hidden<T> {}

impl<T> Hidden<T> {
    /// Moves a value into pages of its own. What it was made from may be left on the stack:
    /// [`scrub_stack`].
    ///
    /// # Panics
    /// If the system has no memory.
    #[must_use]
    pub fn new(value: T) -> Self {
        const { assert!(align_of::<T>() <= 4096 && size_of::<T>() > 0) };
        // SAFETY: a private anonymous mapping, at an address that the system chooses.
        let pages = unsafe {
            libc::mmap(
                core::ptr::null_mut(),
                size_of::<T>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        assert!(pages != libc::MAP_FAILED, "no memory for the keys of a job");
        // A system that cannot do it (before Linux 3.4) dumps the pages as all others.
        // SAFETY: the pages were mapped a line ago.
        unsafe { libc::madvise(pages, size_of::<T>(), libc::MADV_DONTDUMP) };
        let value_at = NonNull::new(pages.cast::<T>()).expect("nothing is mapped at null");
        // SAFETY: fresh pages, aligned to a page, as long as a T or longer.
        unsafe { value_at.write(value) };
        Self { value: value_at }
    }
}

impl<T> Deref for Hidden<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: written when it was made, borrowed like its owner.
        unsafe { self.value.as_ref() }
    }
}

impl<T> DerefMut for Hidden<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { self.value.as_mut() }
    }
}

impl<T> Drop for Hidden<T> {
    fn drop(&mut self) {
        // SAFETY: the value is there, and nobody uses it any more; then its bytes are nobody's, and
        // the pages go as they came.
        unsafe {
            self.value.drop_in_place();
            wipe_at(self.value.cast(), size_of::<T>());
            libc::munmap(self.value.as_ptr().cast(), size_of::<T>());
        }
    }
}

impl<T> fmt::Debug for Hidden<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hidden(..)")
    }
}

/// Overwrites bytes with zeros, also if nobody reads them afterwards.
pub fn wipe(bytes: &mut [u8]) {
    let len = bytes.len();
    if let Some(first) = NonNull::new(bytes.as_mut_ptr()) {
        // SAFETY: the bytes are borrowed for writing.
        unsafe { wipe_at(first, len) };
    }
}

/// # Safety
/// `len` bytes from `first` on may be written.
unsafe fn wipe_at(first: NonNull<u8>, len: usize) {
    for at in 0..len {
        // SAFETY: the caller's word. A volatile write is not left out.
        unsafe { first.add(at).write_volatile(0) };
    }
    compiler_fence(Ordering::SeqCst);
}

/// Overwrites the stack below the caller's frame, where functions that it called have left what
/// they worked with.
#[inline(never)]
pub fn scrub_stack() {
    let mut below = [0_u8; 64 << 10];
    wipe(core::hint::black_box(&mut below));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The flags of the mapping that holds `address`, as in /proc/self/smaps.
    fn flags_of(address: usize) -> String {
        let text = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut is_here = false;
        for line in text.lines() {
            let range = line
                .split(' ')
                .next()
                .and_then(|range| range.split_once('-'));
            let number = |text| usize::from_str_radix(text, 16).ok();
            if let Some((Some(first), Some(end))) =
                range.map(|(first, end)| (number(first), number(end)))
            {
                is_here = (first..end).contains(&address);
            } else if let Some(flags) = line.strip_prefix("VmFlags:").filter(|_| is_here) {
                return flags.to_owned();
            }
        }
        panic!("{address:x} is in no mapping");
    }

    #[test]
    fn hidden_memory_is_in_no_core_file() {
        let hidden = Hidden::new([7_u8; 5000]);
        for at in [0, 4999] {
            let flags = flags_of(core::ptr::from_ref(&hidden[at]).addr());
            assert!(flags.split(' ').any(|flag| flag == "dd"), "{flags}");
        }
        let boxed = Box::new([7_u8; 5000]);
        let flags = flags_of(boxed.as_ptr().addr());
        assert!(!flags.split(' ').any(|flag| flag == "dd"), "{flags}");
    }

    #[test]
    fn a_hidden_value_is_dropped_once() {
        let counted = std::sync::Arc::new(());
        let mut hidden = Hidden::new(Some(std::sync::Arc::clone(&counted)));
        assert_eq!(std::sync::Arc::strong_count(&counted), 2);
        hidden.take();
        assert_eq!(std::sync::Arc::strong_count(&counted), 1);
        *hidden = Some(std::sync::Arc::clone(&counted));
        drop(hidden);
        assert_eq!(std::sync::Arc::strong_count(&counted), 1);
    }

    #[test]
    fn a_wiped_secret_is_gone() {
        let mut bytes = [9_u8; 40];
        wipe(&mut bytes[1..39]);
        assert_eq!((bytes[0], bytes[39]), (9, 9));
        assert!(bytes[1..39].iter().all(|byte| *byte == 0));
    }
}
