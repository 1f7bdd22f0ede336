//! Error classes, codes and their texts, and those that the program adds.
//!
//! The library's own codes are the classes themselves, and one code for each function without a
//! body (`missing.rs`). What the program adds starts above `MPI_ERR_LASTCODE`. Source: MPI 5.0, 9.4
//! and 9.5.

use core::ffi::c_int;
use std::collections::BTreeSet;

use parking_lot::Mutex;

use crate::abi;
use crate::error::{Error, Result};

/// Classes and codes that the program added, by number from `MPI_ERR_LASTCODE + 1`. A number that
/// was removed is used again; the last one is never a removed one.
#[derive(Debug, Default)]
pub struct Codes {
    added: Vec<Option<Added>>,
    /// The places of removed ones.
    removed: BTreeSet<usize>,
}

#[derive(Debug)]
struct Added {
    /// The class of the code; a class is its own.
    class: c_int,
    /// Codes of this class, apart from itself.
    codes: usize,
    text: Vec<u8>,
}

/// What the program has added; MPI lets threads use it at any time.
pub static CODES: Mutex<Codes> = Mutex::new(Codes::new());

const FIRST: c_int = abi::MPI_ERR_LASTCODE + 1;

impl Codes {
    /// No additions.
    pub const fn new() -> Self {
        Self {
            added: Vec::new(),
            removed: BTreeSet::new(),
        }
    }

    /// Adds a class.
    pub fn add_class(&mut self) -> c_int {
        self.add(None)
    }

    /// Adds a code of `class`.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` if there is no such class.
    pub fn add_code(&mut self, class: c_int) -> Result<c_int> {
        if self.class_of(class)? != class {
            return Err(no_class());
        }
        if let Ok(class) = self.find_mut(class) {
            class.codes += 1;
        }
        Ok(self.add(Some(class)))
    }

    /// Adds a code of `class`, or a class.
    fn add(&mut self, class: Option<c_int>) -> c_int {
        let place = self.removed.pop_first().unwrap_or(self.added.len());
        let code = number(place);
        let added = Some(Added {
            class: class.unwrap_or(code),
            codes: 0,
            text: Vec::new(),
        });
        match self.added.get_mut(place) {
            Some(removed) => *removed = added,
            None => self.added.push(added),
        }
        code
    }

    /// Gives an added class or code its text.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` if the program did not add it or the text is too long.
    pub fn set_text(&mut self, code: c_int, text: &[u8]) -> Result<()> {
        if text.len() >= abi::MPI_MAX_ERROR_STRING as usize {
            return Err(refuse("the string is longer than 511 bytes"));
        }
        self.find_mut(code)?.text = text.to_vec();
        Ok(())
    }

    /// Takes an added class or code away.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` if the program did not add it, it still has a text, or it is a class that
    /// still has codes.
    pub fn remove(&mut self, code: c_int) -> Result<()> {
        let added = self.find_mut(code)?;
        if added.codes > 0 {
            return Err(refuse("the class still has error codes"));
        }
        if !added.text.is_empty() {
            return Err(refuse("it still has a string: remove that first"));
        }
        let class = added.class;
        if let Ok(class) = self.find_mut(class).map(|class| &mut class.codes) {
            *class = class.saturating_sub(1);
        }
        let place = place_of(code).expect("it was just found");
        self.added[place] = None;
        self.removed.insert(place);
        while let Some(None) = self.added.last() {
            self.added.pop();
            self.removed.remove(&self.added.len());
        }
        Ok(())
    }

    /// The class of a code.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` if there is no such code.
    pub fn class_of(&self, code: c_int) -> Result<c_int> {
        match text_of_class(code) {
            Some(_) => Ok(code),
            None => self.find(code).map(|added| added.class),
        }
    }

    /// The text of a code.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` if there is no such code.
    pub fn text_of(&self, code: c_int) -> Result<Vec<u8>> {
        match text_of_class(code) {
            Some(text) => Ok(format!("{}: {text}", class_name(code)).into_bytes()),
            None => self.find(code).map(|added| added.text.clone()),
        }
    }

    /// The largest code in use: the attribute `MPI_LASTUSEDCODE`.
    pub fn last_used(&self) -> c_int {
        number(self.added.len()) - 1
    }

    fn find(&self, code: c_int) -> Result<&Added> {
        let added = place_of(code).and_then(|place| self.added.get(place)?.as_ref());
        added.ok_or_else(|| refuse(NO_SUCH_CODE))
    }

    fn find_mut(&mut self, code: c_int) -> Result<&mut Added> {
        let added = place_of(code).and_then(|place| self.added.get_mut(place)?.as_mut());
        added.ok_or_else(|| refuse(NO_SUCH_CODE))
    }
}

/// The error of a code where a class is needed.
pub fn no_class() -> Error {
    refuse("errorclass is a code, not a class")
}

fn refuse(why: &'static str) -> Error {
    Error::new(abi::MPI_ERR_ARG, why)
}

fn place_of(code: c_int) -> Option<usize> {
    usize::try_from(i64::from(code) - i64::from(FIRST)).ok()
}

const NO_SUCH_CODE: &str = "there is no such error class or code, or it is one of MPI's own";

fn number(place: usize) -> c_int {
    c_int::try_from(place)
        .ok()
        .and_then(|place| FIRST.checked_add(place))
        .expect("2^31 codes")
}

/// The name of a predefined class.
pub fn class_name(class: c_int) -> &'static str {
    abi::CONSTANTS
        .iter()
        .filter(|it| it.name == "MPI_SUCCESS" || it.name.contains("_ERR_"))
        .find(|it| it.value == i64::from(class))
        .map_or("an error code of the program", |it| it.name)
}

/// What a predefined class means, in a few words.
fn text_of_class(class: c_int) -> Option<&'static str> {
    let texts: &[&str] = match class {
        0..=62 => TEXTS,
        1001..=1018 => TOOL_TEXTS,
        abi::MPI_ERR_LASTCODE => return Some("the last error code of the library itself"),
        _ => return None,
    };
    let place = if class > 1000 { class - 1001 } else { class };
    usize::try_from(place)
        .ok()
        .and_then(|place| texts.get(place).copied())
}

/// By class, from `MPI_SUCCESS` on.
const TEXTS: &[&str] = &[
    "no error",
    "the buffer cannot be used",
    "the count cannot be used",
    "the datatype cannot be used",
    "the tag is out of range",
    "the communicator cannot be used",
    "the rank is not in the group",
    "the request cannot be used",
    "the root is not in the group",
    "the group cannot be used",
    "the operator cannot be used here",
    "the communicator does not have this topology",
    "the dimensions do not fit",
    "an argument cannot be used",
    "an error of unknown kind",
    "the message is longer than the receive buffer",
    "an error of another kind",
    "an error inside the library",
    "the operation is still pending",
    "the error is in the status of each operation",
    "permission denied",
    "the access mode cannot be used",
    "the assertion cannot be used",
    "the file name cannot be used",
    "the base address cannot be used",
    "the conversion of data failed",
    "the displacement cannot be used",
    "the data representation is defined already",
    "the file exists already",
    "the file is in use",
    "the file handle cannot be used",
    "the info key cannot be used",
    "the info key is not set",
    "the info value cannot be used",
    "the info object cannot be used",
    "input or output failed",
    "the attribute key cannot be used",
    "the lock type cannot be used",
    "the service name is not published",
    "there is not enough memory",
    "the processes did not pass the same argument",
    "there is not enough space",
    "there is no such file",
    "the port cannot be used",
    "the quota is exceeded",
    "the file cannot be written",
    "the memory cannot be attached to the window",
    "accesses to the window conflict",
    "the target is not within the window",
    "the memory cannot be shared",
    "the synchronization of the window is wrong",
    "the service cannot be published",
    "the size cannot be used",
    "processes cannot be started",
    "the data representation is not supported",
    "the operation is not supported",
    "the window cannot be used",
    "the window is of the wrong flavor",
    "a process of the operation is gone",
    "the value does not fit the type of the result",
    "the session cannot be used",
    "the error handler cannot be used",
    "the request does not fit the binary interface",
];

/// By class, from `MPI_T_ERR_CANNOT_INIT` on.
const TOOL_TEXTS: &[&str] = &[
    "the tool interface cannot be initialized",
    "the variable is not accessible",
    "the tool interface is not initialized",
    "the tool interface does not support this",
    "there is not enough memory",
    "an argument cannot be used",
    "the index is out of range",
    "the item is out of range",
    "the session cannot be used",
    "the handle cannot be used",
    "there is no such name",
    "there are no more handles",
    "there are no more sessions",
    "the variable cannot be set now",
    "the variable cannot be set at all",
    "the variable cannot be written",
    "the variable cannot be started or stopped",
    "the variable cannot be read and reset at once",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_predefined_class_has_a_name_and_a_text_and_is_its_own_class() {
        let codes = Codes::new();
        let classes = abi::CONSTANTS
            .iter()
            .filter(|it| it.name == "MPI_SUCCESS" || it.name.contains("_ERR_"))
            .map(|it| (it.name, c_int::try_from(it.value).expect("an int")));
        for (name, class) in classes {
            assert_eq!(codes.class_of(class).expect(name), class);
            let text = String::from_utf8(codes.text_of(class).expect(name)).expect("ASCII");
            assert!(text.starts_with(name), "{text}");
        }
        for beyond in [c_int::MIN, -1, 63, 1000, 1019, FIRST] {
            assert_eq!(
                codes.class_of(beyond).expect_err("unknown").class(),
                abi::MPI_ERR_ARG
            );
        }
    }

    #[test]
    fn added_codes_lie_above_the_last_code_and_keep_their_class() {
        let mut codes = Codes::new();
        assert_eq!(codes.last_used(), abi::MPI_ERR_LASTCODE);
        let class = codes.add_class();
        let code = codes.add_code(class).expect("the class exists");
        assert!(class > abi::MPI_ERR_LASTCODE && code > class);
        assert_eq!(codes.class_of(code).expect("added"), class);
        assert_eq!(codes.last_used(), code);
        codes.set_text(code, b"too hot").expect("short");
        assert_eq!(codes.text_of(code).expect("added"), b"too hot");
        codes
            .set_text(abi::MPI_ERR_RANK, b"no")
            .expect_err("predefined");
    }

    #[test]
    fn a_class_goes_only_after_its_codes() {
        let mut codes = Codes::new();
        let class = codes.add_class();
        let code = codes.add_code(class).expect("the class exists");
        codes.remove(class).expect_err("it has a code");
        codes.remove(code).expect("added");
        codes.remove(class).expect("no codes left");
        codes.class_of(class).expect_err("removed");
    }
}
