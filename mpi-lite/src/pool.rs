//! Buffers of messages that are done with, for the next ones: a steady load does not allocate.

/// Bytes of buffers that wait, in all, and how many they are: what a burst leaves behind is small.
const BYTES_MAX: usize = 1 << 20;
const BUFFERS_MAX: usize = 1024;

/// Empty buffers.
#[derive(Debug, Default)]
pub struct Pool {
    buffers: Vec<Vec<u8>>,
    bytes: usize,
}

impl Pool {
    /// An empty buffer, of any capacity.
    #[inline]
    pub fn take(&mut self) -> Vec<u8> {
        let buffer = self.buffers.pop().unwrap_or_default();
        self.bytes -= buffer.capacity();
        buffer
    }

    /// A buffer of `len` bytes, all zero.
    #[inline]
    pub fn take_filled(&mut self, len: usize) -> Vec<u8> {
        let mut buffer = self.take();
        buffer.resize(len, 0);
        buffer
    }

    /// Keeps a buffer, if there is room for it.
    #[inline]
    pub fn keep(&mut self, mut buffer: Vec<u8>) {
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
    fn kept_buffers_are_bounded_in_number_and_bytes() {
        let mut pool = Pool::default();
        (0..2 * BUFFERS_MAX).for_each(|_| pool.keep(vec![1]));
        assert_eq!(pool.buffers.len(), BUFFERS_MAX);
        let mut pool = Pool::default();
        (0..8).for_each(|_| pool.keep(vec![1; BYTES_MAX / 4]));
        assert_eq!((pool.buffers.len(), pool.bytes), (4, BYTES_MAX));
        assert!(pool.take().is_empty());
        assert_eq!(pool.bytes, BYTES_MAX / 4 * 3);
    }
}
