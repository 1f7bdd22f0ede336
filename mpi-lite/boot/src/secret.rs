//! The job's key, which the launcher sends to its ranks.

use core::fmt;

use ring::digest::{Context, SHA256};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::hidden::{Hidden, wipe};

/// Bytes of the key.
pub const SECRET_BYTES: usize = 32;

/// The secret of a job. Its memory is in no core file and is wiped when it is dropped. It never
/// shows in debug output.
pub struct Secret(Hidden<[u8; SECRET_BYTES]>);

impl Secret {
    /// The secret with these bytes. The caller should wipe its own copy.
    #[must_use]
    pub fn new(bytes: &[u8; SECRET_BYTES]) -> Self {
        let mut secret = Hidden::new([0; SECRET_BYTES]);
        secret.copy_from_slice(bytes);
        Self(secret)
    }

    /// The bytes. Never log them.
    #[must_use]
    pub fn bytes(&self) -> &[u8; SECRET_BYTES] {
        &self.0
    }

    /// Overwrites it with zeros, when its holder no longer needs it.
    pub fn forget(&mut self) {
        wipe(&mut *self.0);
    }

    /// A number that is the same in all ranks of the job and differs between jobs. It reveals
    /// nothing of the secret.
    #[must_use]
    pub fn lot(&self) -> u32 {
        let mut all = Context::new(&SHA256);
        all.update(b"mpi-lite: lot");
        all.update(self.bytes());
        let digest = all.finish();
        let (first, _) = digest.as_ref().split_first_chunk().expect("it is longer");
        u32::from_be_bytes(*first)
    }
}

impl Clone for Secret {
    fn clone(&self) -> Self {
        Self::new(self.bytes())
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.bytes().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut bytes = <[u8; SECRET_BYTES]>::deserialize(deserializer)?;
        let secret = Self::new(&bytes);
        wipe(&mut bytes);
        Ok(secret)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_passes_through_a_frame_and_is_shown_nowhere() {
        let secret = Secret::new(&[0xA5; SECRET_BYTES]);
        let bytes = postcard::to_allocvec(&secret).unwrap();
        assert_eq!(bytes, [0xA5; SECRET_BYTES]);
        assert_eq!(postcard::from_bytes::<Secret>(&bytes), Ok(secret.clone()));
        let text = format!("{secret:?}").to_lowercase();
        assert!(!text.contains("165") && !text.contains("a5"), "{text}");
    }

    #[test]
    fn a_forgotten_secret_is_zero_and_its_copies_are_not() {
        let mut secret = Secret::new(&[7; SECRET_BYTES]);
        let copy = secret.clone();
        secret.forget();
        assert_eq!((secret.bytes(), copy.bytes()), (&[0; 32], &[7; 32]));
    }

    #[test]
    fn jobs_draw_different_lots() {
        let lot = |byte| Secret::new(&[byte; SECRET_BYTES]).lot();
        assert_eq!(lot(1), lot(1));
        let lots: std::collections::BTreeSet<_> = (0..=255).map(lot).collect();
        assert!(lots.len() > 250);
    }
}
