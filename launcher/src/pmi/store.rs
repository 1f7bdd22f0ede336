//! What ranks have put: keys and values, and how many of them.

use std::collections::BTreeMap;

use super::Put;

/// The longest key, in bytes.
pub const KEY_MAX: usize = 64;

/// The longest value, in bytes.
pub const VALUE_MAX: usize = 1024;

/// The most that a rank puts from its Init on, in bytes, with [`PUT_OVERHEAD`] for each put.
pub const PUTS_MAX: usize = 256 << 10;

/// What a put counts beside its key and its value.
pub const PUT_OVERHEAD: usize = 32;

/// Keys that begin so are the server's own.
pub const RESERVED: &str = "PMI_";

/// What a put counts in [`PUTS_MAX`].
pub fn size((key, value): &Put) -> usize {
    key.len() + value.len() + PUT_OVERHEAD
}

/// Checks the lengths of a key and a value.
///
/// # Errors
///
/// What is too long.
pub fn check(key: &str, value: &str) -> Result<(), String> {
    check_text("key", key, 1, KEY_MAX)?;
    check_text("value", value, 0, VALUE_MAX)
}

/// Checks the length of one text, which errors call `what`.
pub(super) fn check_text(what: &str, text: &str, least: usize, most: usize) -> Result<(), String> {
    match text.len() {
        length if length < least => Err(format!("the {what} is empty")),
        length if length > most => Err(format!("the {what} is longer than {most} bytes")),
        _ => Ok(()),
    }
}

/// What a rank has put since the last fence.
#[derive(Debug, Default)]
pub struct Puts {
    list: Vec<Put>,
    /// Of all puts since Init.
    bytes: usize,
}

impl Puts {
    /// Notes a put.
    ///
    /// # Errors
    ///
    /// Why the rank may not put it.
    pub fn add(&mut self, put: Put) -> Result<(), String> {
        let (key, value) = &put;
        check(key, value)?;
        if key.starts_with(RESERVED) {
            return Err(format!("keys that begin with {RESERVED} are reserved"));
        }
        let bytes = self.bytes + size(&put);
        if bytes > PUTS_MAX {
            return Err(format!("a rank puts at most {PUTS_MAX} bytes"));
        }
        self.bytes = bytes;
        self.list.push(put);
        Ok(())
    }

    /// What has been put since the last time.
    pub fn take(&mut self) -> Vec<Put> {
        std::mem::take(&mut self.list)
    }
}

/// What the ranks of the job have put, as far as a fence has made it visible.
#[derive(Debug, Default)]
pub struct Store {
    values: BTreeMap<String, String>,
}

impl Store {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&String> {
        self.values.get(key)
    }

    /// Makes visible what the fence has brought. With the first fence of a program what the program
    /// before it had put is forgotten.
    pub fn release(&mut self, puts: Vec<Put>, is_first: bool) {
        if is_first {
            self.values.clear();
        }
        self.values.extend(puts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_put_is_seen_after_the_fence_and_by_its_own_program_only() {
        let mut store = Store::default();
        let put = |key: &str, value: &str| (key.to_string(), value.to_string());
        store.release(vec![put("a", "1")], true);
        store.release(vec![put("b", "2")], false);
        let seen = |store: &Store| ["a", "b"].map(|key| store.get(key).cloned());
        assert_eq!(seen(&store), [Some("1".into()), Some("2".into())]);
        store.release(vec![put("b", "3")], true);
        assert_eq!(seen(&store), [None, Some("3".into())]);
    }

    #[test]
    fn long_keys_long_values_and_too_many_are_refused() {
        let mut all = Puts::default();
        let mut put = |key: &str, value: &str| all.add((key.into(), value.into()));
        assert!(put(&"k".repeat(KEY_MAX), &"v".repeat(VALUE_MAX)).is_ok());
        assert!(put(&"k".repeat(KEY_MAX + 1), "v").is_err());
        assert!(put("k", &"v".repeat(VALUE_MAX + 1)).is_err());
        assert!(put("", "v").is_err());
        assert!(put("PMI_process_mapping", "v").is_err());
        let count = (0..100_000).filter(|_| put("k", "v").is_ok()).count();
        assert!(count < PUTS_MAX / PUT_OVERHEAD, "{count}");
        assert!(all.take().iter().map(size).sum::<usize>() <= PUTS_MAX);
        assert!(all.add(("k".into(), "v".into())).is_err());
    }
}
