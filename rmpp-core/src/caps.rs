//! Capabilities: what the nodes of a job do beyond the classic profile.

use alloc::string::{String, ToString};
use core::fmt;

/// A set of extensions. All nodes of a job use the same set: each publishes its own with its
/// address, and the job uses what all have in common. The empty set is the *classic* profile: the
/// paper, with the fields of answers that it leaves unused filled (rule B); the full one is *fast*.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Caps(u16);

macro_rules! caps {
    ($( $(#[doc = $doc:literal])* $name:ident = $bit:literal, $word:literal; )*) => {
        impl Caps {
            $( $(#[doc = $doc])* pub const $name: Self = Self(1 << $bit); )*

            /// All extensions: the fast profile.
            pub const FAST: Self = Self($( Self::$name.0 )|*);

            /// Each extension with its name in settings and tables, and what it does.
            pub const ALL: &'static [(Self, &'static str, &'static str)] =
                &[$( (Self::$name, $word, concat!($($doc),*)) ),*];
        }
    };
}

caps! {
    /// Acknowledgements ride on every packet and are cumulative; no GCH (rule K).
    LAZY = 0, "lazy";
    /// Grants name an absolute limit and are renewed before they are used up (rule W).
    PIPE = 1, "pipe";
    /// The first data packets follow RTS without a grant (rule U); needs `snak`.
    UNSCHED = 2, "unsched";
    /// Data may come out of sequence; a selective NAK names what is missing (rule R).
    SNAK = 3, "snak";
    /// The receive budget is shared among the messages being received (rule G).
    BUDGET = 4, "budget";
    /// A message that waits for its receive is acknowledged as held (rule H).
    HOLD = 5, "hold";
    /// Several packets may share a datagram (rule J).
    COALESCE = 6, "coalesce";
    /// First packets ahead of their turn are kept (rule O).
    OOO = 7, "ooo";
    /// Lengths have 48 bits (rule L).
    WIDE = 8, "wide";
}

/// Why a profile cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// It begins with neither profile.
    #[error("{0:?} is no profile: begin with classic or fast, for example fast,-snak")]
    Profile(String),
    /// It names no extension.
    #[error("{word:?} is no extension: each is + or - and one of {names}")]
    Extension {
        /// The word that was read.
        word: String,
        /// All extensions.
        names: String,
    },
}

impl Caps {
    /// The classic profile: no extension.
    pub const CLASSIC: Self = Self(0);

    /// Reads a profile: `classic` or `fast`, then changes to it such as `,-snak` or `,+lazy`.
    ///
    /// # Errors
    /// Says which word is wrong and what may stand there.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let mut words = text.split(',').map(str::trim);
        let mut caps = match words.next() {
            Some("classic") => Self::CLASSIC,
            Some("fast") => Self::FAST,
            other => return Err(ProfileError::Profile(other.unwrap_or("").into())),
        };
        for word in words {
            let known = |name: &str| Self::ALL.iter().find(|cap| cap.1 == name);
            let cap = word.get(1..).and_then(known).map(|cap| cap.0);
            caps = match (word.chars().next(), cap) {
                (Some('+'), Some(cap)) => Self(caps.0 | cap.0),
                (Some('-'), Some(cap)) => Self(caps.0 & !cap.0),
                _ => return Err(unknown(word)),
            };
        }
        Ok(caps.closed())
    }

    /// The set without what cannot work alone: an unscheduled block is lost as a whole when its
    /// receive is late, and only a selective NAK asks for it again.
    fn closed(self) -> Self {
        if self.has(Self::SNAK) {
            self
        } else {
            Self(self.0 & !Self::UNSCHED.0)
        }
    }

    /// The extensions that two nodes have in common.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0).closed()
    }

    /// Returns true if all of `other` is in the set.
    #[inline]
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns true if the set is empty: the classic profile.
    #[must_use]
    pub const fn is_classic(self) -> bool {
        self.0 == 0
    }

    /// The set as bits, as it is published.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// The set of published bits, without those that this version does not have.
    #[must_use]
    pub fn from_bits(bits: u16) -> Self {
        Self(bits & Self::FAST.0).closed()
    }
}

fn unknown(word: &str) -> ProfileError {
    let names: alloc::vec::Vec<&str> = Caps::ALL.iter().map(|cap| cap.1).collect();
    ProfileError::Extension {
        word: word.to_string(),
        names: names.join(", "),
    }
}

impl fmt::Display for Caps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_classic() {
            return f.write_str("classic");
        }
        f.write_str("fast")?;
        for (_, name, _) in Self::ALL.iter().filter(|cap| !self.has(cap.0)) {
            write!(f, ",-{name}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_read_as_it_is_written() {
        for text in ["classic", "fast", "fast,-lazy", "fast,-hold,-ooo"] {
            assert_eq!(Caps::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Caps::parse("classic,+lazy").unwrap(), Caps::LAZY);
        assert_eq!(
            Caps::parse("fast,-snak").unwrap().to_string(),
            "fast,-unsched,-snak"
        );
    }

    #[test]
    fn the_error_of_a_profile_names_the_wrong_word() {
        for (text, word) in [
            ("slow", "slow"),
            ("fast,snak", "snak"),
            ("fast,-snack", "-snack"),
        ] {
            assert!(
                Caps::parse(text).unwrap_err().to_string().contains(word),
                "{text}"
            );
        }
    }

    #[test]
    fn nodes_use_what_they_have_in_common() {
        let without_snak = Caps::parse("fast,-snak").unwrap();
        assert_eq!(Caps::FAST.and(without_snak), without_snak);
        assert!(Caps::FAST.and(Caps::CLASSIC).is_classic());
        assert_eq!(Caps::from_bits(0xffff), Caps::FAST);
    }
}
