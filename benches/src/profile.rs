//! The profiles of RMPP that are compared, as `MPILITE_RMPP` names them.

use rmpp_core::Caps;

/// The variable that chooses the profile.
pub const VARIABLE: &str = "MPILITE_RMPP";

/// The name of each extension of the fast profile, and what it does.
pub fn extensions() -> impl Iterator<Item = (&'static str, &'static str)> {
    Caps::ALL.iter().map(|(_, name, what)| (*name, what.trim()))
}

/// The fast profile without one extension.
#[must_use]
pub fn without(extension: &str) -> String {
    format!("fast,-{extension}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_that_is_compared_can_be_read() {
        for (name, _) in extensions() {
            let caps = Caps::parse(&without(name)).expect("a profile");
            assert_ne!(caps, Caps::FAST, "{name} is switched off");
        }
    }
}
