//! Buffers of messages that are done with, for the next ones: a steady load does not allocate.

/// Bytes of buffers that wait, in all, and how many they are: what a burst leaves behind is small.
const BYTES_MAX: usize = 1 << 20;
const BUFFERS_MAX: usize = 1024;

/// Empty buffers.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    buffers: Vec<Vec<u8>>,
    bytes: usize,
}

impl Shelf {
    /// An empty buffer, of any capacity.
    #[inline]
    pub(super) fn take(&mut self) -> Vec<u8> {
        let buffer = self.buffers.pop().unwrap_or_default();
        self.bytes -= buffer.capacity();
        buffer
    }

    /// Keeps a buffer, if there is room for it.
    #[inline]
    pub(super) fn keep(&mut self, mut buffer: Vec<u8>) {
        let bytes = self.bytes + buffer.capacity();
        if bytes <= BYTES_MAX && self.buffers.len() < BUFFERS_MAX {
            buffer.clear();
            self.bytes = bytes;
            self.buffers.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_bounded_in_number_and_bytes() {
        let mut shelf = Shelf::default();
        (0..2 * BUFFERS_MAX).for_each(|_| shelf.keep(vec![1]));
        assert_eq!(shelf.buffers.len(), BUFFERS_MAX);
        let mut shelf = Shelf::default();
        (0..8).for_each(|_| shelf.keep(vec![1; BYTES_MAX / 4]));
        assert_eq!((shelf.buffers.len(), shelf.bytes), (4, BYTES_MAX));
        assert!(shelf.take().is_empty());
        assert_eq!(shelf.bytes, BYTES_MAX / 4 * 3);
    }
}
