//! The error codes of functions without a body: each names its function.

use core::ffi::c_int;

use crate::abi;
use crate::chapters::{CHAPTERS, Chapter};
use crate::codes;
use crate::declaration::Entry;
use crate::error::Cause;

/// The code of the first function of the table; that of the next one is larger by 1.
pub const FIRST_FUNCTION: c_int = 0x2000;

fn functions() -> impl Iterator<Item = &'static Entry> {
    CHAPTERS.iter().flat_map(Chapter::entries)
}

/// The error code of a call of the function `name`, which has no body.
pub fn code_of(name: &str) -> c_int {
    (FIRST_FUNCTION..)
        .zip(functions())
        .find(|(_, function)| function.name == name)
        .map_or(abi::MPI_ERR_UNSUPPORTED_OPERATION, |(code, _)| code)
}

/// The function without a body that has this error code.
pub fn function(code: c_int) -> Option<&'static str> {
    let place = usize::try_from(code.checked_sub(FIRST_FUNCTION)?).ok()?;
    let function = functions().nth(place)?;
    (!function.implemented).then_some(function.name)
}

/// The text of the error code of `function`.
pub fn text_of(function: &str) -> String {
    let class = codes::class_name(abi::MPI_ERR_UNSUPPORTED_OPERATION);
    format!("{class}: {function} is {}", Cause::Unsupported { code: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::Codes;

    #[test]
    fn every_function_without_a_body_has_a_code_that_names_it() {
        let codes = Codes::new();
        for known in functions() {
            let code = code_of(known.name);
            // The program can add none of them.
            codes.class_of(code).expect_err(known.name);
            if known.implemented {
                assert_eq!(function(code), None);
                continue;
            }
            assert_eq!(function(code), Some(known.name));
            let text = text_of(known.name);
            assert!(text.contains(&format!(" {} ", known.name)), "{text}");
            assert!(text.len() < abi::MPI_MAX_ERROR_STRING as usize, "{text}");
        }
        let last = FIRST_FUNCTION + c_int::try_from(functions().count()).expect("hundreds");
        assert!(last < abi::MPI_ERR_LASTCODE);
        for beyond in [c_int::MIN, FIRST_FUNCTION - 1, last] {
            assert_eq!(function(beyond), None);
        }
    }
}
