//! `--net`: what ranks send goes as over a bad network.
//!
//! The option, else `-x MPILITE_NET=...`, else the variable of `mpirun` itself. The ranks find it
//! in their `MPILITE_NET`, with a seed in any case.

use std::ffi::OsStr;

use mpi_boot::config::Network;

use crate::cli::request::Options;
use crate::failure::{Failure, printable};

/// The variable by which ranks learn of their network.
pub const VARIABLE: &str = "MPILITE_NET";

/// A network that the user asks for.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// It has a seed.
    pub network: Network,
    /// The seed was drawn here: the user cannot know it.
    is_drawn: bool,
    /// What asks for it.
    asked: &'static str,
}

/// Reads the network that `asked` gave: `--net `, `-x MPILITE_NET=` or `MPILITE_NET=`.
///
/// # Errors
///
/// A usage failure that names the wrong part and what is possible.
pub fn parse(asked: &str, value: &OsStr) -> Result<Network, Failure> {
    let text = value.to_string_lossy();
    let network = text.parse();
    network.map_err(|error: String| Failure::usage(format!("{asked}{}", printable(&error))))
}

/// The network that the user asks for.
///
/// # Errors
///
/// As [`parse`]; or the system has no random numbers.
pub fn wanted(options: &Options) -> Result<Option<Wanted>, Failure> {
    let Some((mut network, asked)) = read(options)? else {
        return Ok(None);
    };
    let is_drawn = network.seed.is_none();
    if is_drawn {
        network.seed = Some(draw_seed()?.into());
    }
    Ok(Some(Wanted {
        network,
        is_drawn,
        asked,
    }))
}

fn read(options: &Options) -> Result<Option<(Network, &'static str)>, Failure> {
    if let Some(network) = options.network {
        return Ok(Some((network, "--net")));
    }
    if let Some((_, Some(value))) = options.exported(VARIABLE) {
        let network = parse(&format!("-x {VARIABLE}="), value)?;
        return Ok(Some((network, "-x MPILITE_NET")));
    }
    let Some(value) = std::env::var_os(VARIABLE) else {
        return Ok(None);
    };
    Ok(Some((parse(&format!("{VARIABLE}="), &value)?, VARIABLE)))
}

/// A seed that is short enough to be typed.
fn draw_seed() -> Result<u32, Failure> {
    getrandom::u32()
        .map_err(|error| Failure::launch(format!("no random numbers for the seed: {error}")))
}

impl Wanted {
    /// What asks for the network, for a message.
    #[must_use]
    pub fn asked(&self) -> &'static str {
        self.asked
    }

    /// What the user needs to run the same again, unless it is what was asked for.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        self.is_drawn.then(|| format!("--net {}", self.network))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &str) -> Wanted {
        let options = Options {
            network: Some(parse("--net ", OsStr::new(words)).unwrap()),
            ..Options::default()
        };
        wanted(&options).unwrap().unwrap()
    }

    #[test]
    fn a_seed_that_is_missing_is_drawn_and_told() {
        let wanted = of("loss=1%");
        let seed = wanted.network.seed.unwrap();
        assert_eq!(wanted.note(), Some(format!("--net loss=1%,seed={seed}")));
        assert_eq!(of("loss=1%,seed=5").note(), None);
        assert_eq!(of("loss=1%,seed=5").network.seed, Some(5));
        assert_ne!(of("loss=1%").network, of("loss=1%").network);
    }

    #[test]
    fn the_last_export_counts_unless_there_is_an_option() {
        let export = |value: &str| (VARIABLE.into(), Some(value.into()));
        let mut options = Options {
            exports: vec![export("loss=x"), export("loss=2%,seed=1")],
            ..Options::default()
        };
        let found = wanted(&options).unwrap().unwrap();
        assert_eq!(found.network.to_string(), "loss=2%,seed=1");
        options.exports.push(export("loss=3"));
        let failure = wanted(&options).unwrap_err();
        assert!(failure.text.starts_with("-x MPILITE_NET=loss=3: "));
        options.network = Some(of("loss=3%,seed=1").network);
        let found = wanted(&options).unwrap().unwrap();
        assert_eq!(found.network.to_string(), "loss=3%,seed=1");
    }
}
