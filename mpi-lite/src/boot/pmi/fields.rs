//! The fields of an answer: `key=value`, between blanks in version 1, before semicolons in 2.

use std::collections::BTreeMap;
use std::str::FromStr;

/// The fields by their keys. Managers add some of their own, in any order.
#[derive(Debug)]
pub(super) struct Fields(BTreeMap<String, String>);

impl Fields {
    /// Takes a text apart. What is no field is left out.
    pub(super) fn of(text: &str, separator: char) -> Self {
        let fields = text.split(separator).filter_map(|it| it.split_once('='));
        Self(
            fields
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
        )
    }

    /// The value of a field.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// The value of a field that is a number.
    pub(super) fn number<T: FromStr>(&self, key: &str) -> Option<T> {
        self.get(key)?.trim().parse().ok()
    }

    /// Returns true unless the request has failed. Some managers leave `rc` out where all is well.
    pub(super) fn is_ok(&self) -> bool {
        self.number::<i32>("rc").unwrap_or(0) == 0
    }
}
