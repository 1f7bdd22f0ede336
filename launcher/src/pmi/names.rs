//! The services that ranks publish, for the other ranks of their job.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::store::{VALUE_MAX, check_text};

/// The longest name of a service, in bytes.
pub const NAME_MAX: usize = 256;

/// The most services of a job.
const NAMES_MAX: usize = 1024;

/// What a rank asks about a service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ask {
    /// Others shall find the service of this name at this port.
    Publish(String, String),
    /// Others shall find it no more.
    Unpublish(String),
    /// Where it is.
    Lookup(String),
}

impl Ask {
    /// Checks the lengths.
    ///
    /// # Errors
    ///
    /// What is too long.
    pub fn check(&self) -> Result<(), String> {
        let (name, port) = match self {
            Ask::Publish(name, port) => (name, port.as_str()),
            Ask::Unpublish(name) | Ask::Lookup(name) => (name, ""),
        };
        check_text("name of the service", name, 1, NAME_MAX)?;
        check_text("port", port, 0, VALUE_MAX)
    }
}

/// The services of a job.
#[derive(Debug, Default)]
pub struct Names {
    ports: BTreeMap<String, String>,
}

impl Names {
    /// Does what is asked. Returns the port, if that was asked for.
    ///
    /// # Errors
    ///
    /// Why not.
    pub fn answer(&mut self, ask: Ask) -> Result<String, String> {
        match ask {
            Ask::Publish(name, _) if self.ports.contains_key(&name) => {
                Err(format!("the service {name} has been published already"))
            }
            Ask::Publish(..) if self.ports.len() >= NAMES_MAX => {
                Err(format!("a job has at most {NAMES_MAX} services"))
            }
            Ask::Publish(name, port) => {
                self.ports.insert(name, port);
                Ok(String::new())
            }
            Ask::Unpublish(name) => match self.ports.remove(&name) {
                Some(_) => Ok(String::new()),
                None => Err(format!("there is no service {name}")),
            },
            Ask::Lookup(name) => {
                let port = self.ports.get(&name).cloned();
                port.ok_or_else(|| format!("there is no service {name}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_found_from_its_publishing_to_its_end() {
        let mut names = Names::default();
        let name = || "s".to_string();
        let publish = |port: &str| Ask::Publish(name(), port.into());
        assert!(names.answer(Ask::Lookup(name())).is_err());
        assert_eq!(names.answer(publish("p")), Ok(String::new()));
        assert!(names.answer(publish("q")).is_err());
        assert_eq!(names.answer(Ask::Lookup(name())), Ok("p".into()));
        assert_eq!(names.answer(Ask::Unpublish(name())), Ok(String::new()));
        assert!(names.answer(Ask::Unpublish(name())).is_err());
    }

    #[test]
    fn the_number_and_the_lengths_of_services_are_bounded() {
        let mut names = Names::default();
        let publish = |name: String| Ask::Publish(name, "p".into());
        let all = (0..NAMES_MAX + 5).map(|number| names.answer(publish(number.to_string())));
        assert_eq!(all.filter(Result::is_ok).count(), NAMES_MAX);
        assert!(publish("n".repeat(NAME_MAX)).check().is_ok());
        assert!(publish("n".repeat(NAME_MAX + 1)).check().is_err());
        assert!(publish(String::new()).check().is_err());
    }
}
