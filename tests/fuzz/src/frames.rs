//! Streams of frames, whatever they are made of.

use std::fmt::Debug;

use mpi_lite::boot::protocol::{FrameError, Frames, encode};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::memory::peak_of;

/// Bytes of memory per byte of a stream: a string of no bytes is one byte in a frame and 24 in a
/// list, whose memory is taken twice while it grows.
const PER_BYTE: usize = 96;

/// Bytes that a list may take before its first entry is there (serde's own limit), and some.
const ONCE: usize = 3 << 20;

/// The messages of a stream that comes in pieces of `step` bytes, and the error that ends it.
fn messages<T: DeserializeOwned>(stream: &[u8], step: usize) -> (Vec<T>, Option<FrameError>) {
    let mut frames = Frames::default();
    let mut got = Vec::new();
    for piece in stream.chunks(step.max(1)) {
        frames.push(piece);
        loop {
            match frames.pop() {
                Ok(Some(message)) => got.push(message),
                Ok(None) => break,
                Err(error) => return (got, Some(error)),
            }
        }
    }
    (got, None)
}

/// Takes a stream apart as a receiver of `T` does. It may end in an error, but: however it was cut,
/// the same comes out; what comes out can be sent on; and memory is in proportion to the stream.
pub fn check<T>(stream: &[u8], step: usize)
where
    T: Serialize + DeserializeOwned + PartialEq + Debug,
{
    let (whole, peak) = peak_of(|| messages::<T>(stream, usize::MAX));
    let most = ONCE + PER_BYTE * stream.len();
    assert!(
        peak <= most,
        "{peak} bytes for {} of a stream",
        stream.len()
    );
    assert_eq!(messages(stream, step), whole, "in pieces of {step} bytes");
    for message in whole.0 {
        let again = encode(&message).expect("what came in a frame fits one");
        assert_eq!(messages(&again, usize::MAX), (vec![message], None));
    }
}

/// A stream of one frame around `content`, of which there is some.
#[must_use]
pub fn frame(content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).expect("an input is short");
    [&length.to_le_bytes(), content].concat()
}

/// What an input says: in which steps the stream comes, and the stream. Half of the inputs are
/// streams, half the content of one frame: its length need not be guessed.
#[must_use]
pub fn stream_of(input: &[u8]) -> Option<(usize, Vec<u8>)> {
    let (&how, rest) = input.split_first()?;
    let step = usize::from(how / 2) + 1;
    let stream = if how % 2 == 0 {
        frame(rest)
    } else {
        rest.to_vec()
    };
    Some((step, stream))
}
