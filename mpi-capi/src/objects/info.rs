//! Info objects: ordered lists of keys and values. Source: MPI 5.0, chapter 10.

use crate::abi;
use crate::error::{Error, Result};
use crate::registry::registered;

/// Keys and values in the order in which the keys were first set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InfoObject {
    pairs: Vec<(Vec<u8>, Vec<u8>)>,
}

registered!(InfoObject: Info);

impl InfoObject {
    /// Sets the value of `key`; a key that is there keeps its place.
    ///
    /// # Errors
    /// `MPI_ERR_INFO_KEY` or `MPI_ERR_INFO_VALUE` if one is empty or too long.
    pub fn set(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        check_key(key)?;
        if value.len() >= abi::MPI_MAX_INFO_VAL as usize {
            return Err(Error::new(
                abi::MPI_ERR_INFO_VALUE,
                "the value is longer than 1023 bytes",
            ));
        }
        match self.pairs.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => *old = value.to_vec(),
            None => self.pairs.push((key.to_vec(), value.to_vec())),
        }
        Ok(())
    }

    /// The value of `key`, if it is there.
    ///
    /// # Errors
    /// `MPI_ERR_INFO_KEY` if the key is empty or too long.
    pub fn get(&self, key: &[u8]) -> Result<Option<&[u8]>> {
        check_key(key)?;
        Ok(self
            .pairs
            .iter()
            .find(|(known, _)| known == key)
            .map(|(_, value)| value.as_slice()))
    }

    /// Takes `key` away.
    ///
    /// # Errors
    /// `MPI_ERR_INFO_NOKEY` if it is not there, `MPI_ERR_INFO_KEY` if it cannot be.
    pub fn delete(&mut self, key: &[u8]) -> Result<()> {
        check_key(key)?;
        let place = self.pairs.iter().position(|(known, _)| known == key);
        let place =
            place.ok_or_else(|| Error::new(abi::MPI_ERR_INFO_NOKEY, "the key is not set"))?;
        self.pairs.remove(place);
        Ok(())
    }

    /// The keys in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.pairs.iter().map(|(key, _)| key.as_slice())
    }

    /// What the launcher and the system report of this process: `MPI_INFO_ENV`. Source: MPI 5.0,
    /// 11.2.1.
    pub fn environment() -> Self {
        let mut info = Self::default();
        let mut args = std::env::args_os().map(|arg| arg.into_encoded_bytes());
        let facts: [(&[u8], Option<Vec<u8>>); 5] = [
            (b"command", args.next()),
            (
                b"argv",
                Some(args.collect::<Vec<_>>().join(&b' ')).filter(|argv| !argv.is_empty()),
            ),
            (b"host", Some(crate::global::host_name())),
            (b"arch", Some(std::env::consts::ARCH.into())),
            (
                b"wdir",
                std::env::current_dir()
                    .ok()
                    .map(|dir| dir.into_os_string().into_encoded_bytes()),
            ),
        ];
        for (key, value) in facts {
            // A value that is too long for an info object is left out, as MPI allows.
            let _ = value.map(|value| info.set(key, &value));
        }
        info
    }
}

fn check_key(key: &[u8]) -> Result<()> {
    if key.is_empty() {
        return Err(Error::new(abi::MPI_ERR_INFO_KEY, "the key is empty"));
    }
    if key.len() >= abi::MPI_MAX_INFO_KEY as usize {
        return Err(Error::new(
            abi::MPI_ERR_INFO_KEY,
            "the key is longer than 255 bytes",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_the_order_in_which_they_were_first_set() {
        let mut info = InfoObject::default();
        for (key, value) in [(b"one", b"1"), (b"two", b"2"), (b"one", b"3")] {
            info.set(key, value).expect("short strings");
        }
        assert_eq!(info.keys().collect::<Vec<_>>(), [b"one", b"two"]);
        assert_eq!(info.get(b"one").expect("a valid key"), Some(&b"3"[..]));
        info.delete(b"one").expect("it is there");
        assert_eq!(
            info.delete(b"one").expect_err("it is gone").class(),
            abi::MPI_ERR_INFO_NOKEY
        );
    }

    #[test]
    fn a_key_or_value_of_the_largest_length_fits_and_one_more_does_not() {
        let mut info = InfoObject::default();
        info.set(&[b'k'; 255], &[b'v'; 1023])
            .expect("both fit with their zero");
        let class = |result: Result<()>| result.expect_err("too long").class();
        assert_eq!(class(info.set(&[b'k'; 256], b"")), abi::MPI_ERR_INFO_KEY);
        assert_eq!(
            class(info.set(b"k", &[b'v'; 1024])),
            abi::MPI_ERR_INFO_VALUE
        );
        assert_eq!(class(info.set(b"", b"")), abi::MPI_ERR_INFO_KEY);
    }
}
