//! Memory of a message, contiguous or with gaps; what may not be touched is watched.

use mpi_lite::data::{Basic, Buffer, Datatype};

use crate::rng::Rng;

/// What stands where no data is.
const UNTOUCHED: u8 = 0xee;

/// Bytes and where they stand: elements of blocks of bytes.
#[derive(Debug)]
pub(crate) struct Room {
    /// All of the memory, as bytes.
    memory: Buffer,
    pub(crate) buffer: Buffer,
    /// Where each byte of the message stands.
    places: Vec<usize>,
}

impl Room {
    /// Room for about `len` bytes: exactly `len` in half of the cases, whole elements of a datatype
    /// with gaps otherwise.
    pub(crate) fn draw(rng: &mut Rng, len: u64) -> Self {
        if rng.percent(50) {
            return Self::new(
                &Datatype::Basic(Basic::Byte),
                len,
                (0..len as usize).collect(),
            );
        }
        let (blocks, block) = (1 + rng.below(3), 1 + rng.below(5));
        let stride = block + rng.below(4);
        let datatype = Datatype::Basic(Basic::Byte)
            .vector(blocks, block, stride as i64)
            .unwrap();
        let count = len.div_ceil(blocks * block);
        let extent = (blocks - 1) * stride + block;
        let mut places = Vec::new();
        for element in 0..count {
            for at in 0..blocks {
                for byte in 0..block {
                    places.push((element * extent + at * stride + byte) as usize);
                }
            }
        }
        Self::new(&datatype, count, places)
    }

    fn new(datatype: &Datatype, count: u64, places: Vec<usize>) -> Self {
        datatype.commit();
        let buffer = Buffer::scratch(count, datatype).unwrap();
        let memory = buffer.whole().unwrap();
        let mut this = Self {
            memory,
            buffer,
            places,
        };
        this.wipe();
        this
    }

    /// Bytes of a message that fills it.
    pub(crate) fn len(&self) -> u64 {
        self.places.len() as u64
    }

    /// Puts new data in and answers it.
    pub(crate) fn fill(&mut self, rng: &mut Rng) -> Vec<u8> {
        let data: Vec<u8> = self.places.iter().map(|_| rng.bits() as u8).collect();
        let mut bytes = self.memory.pack();
        for (&place, &byte) in self.places.iter().zip(&data) {
            bytes[place] = byte;
        }
        self.memory.unpack(&bytes);
        data
    }

    /// Makes it as new: what was sent from here must not change by it.
    pub(crate) fn wipe(&mut self) {
        let len = self.memory.count() as usize;
        self.memory.unpack(&vec![UNTOUCHED; len]);
    }

    /// Whether the first bytes are `data` and all else is untouched.
    pub(crate) fn holds(&self, data: &[u8]) -> bool {
        let mut expected = vec![UNTOUCHED; self.memory.count() as usize];
        for (&place, &byte) in self.places.iter().zip(data) {
            expected[place] = byte;
        }
        self.memory.pack() == expected
    }
}
