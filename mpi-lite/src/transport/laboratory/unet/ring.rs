//! Buffers for the packets of a window. Their memory is used again.

/// As many buffers as a window has packets, by the numbers of the packets.
pub(super) struct Ring(Box<[Vec<u8>]>);

impl Ring {
    /// Empty buffers for `window` packets, a power of two: the numbers of packets wrap.
    pub(super) fn new(window: u32) -> Self {
        assert!(window.is_power_of_two());
        Self((0..window).map(|_| Vec::new()).collect())
    }

    /// Packets that there is room for.
    pub(super) fn window(&self) -> u32 {
        self.0.len() as u32
    }

    /// The buffer of the packet with this number.
    pub(super) fn at(&mut self, number: u32) -> &mut Vec<u8> {
        let place = number & (self.window() - 1);
        &mut self.0[place as usize]
    }
}
