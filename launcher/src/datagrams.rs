//! What needs a transport that sends datagrams: `--net`, `--packets`, `--sequence`.

use mpi_boot::transports::{TRANSPORTS, named};

use crate::failure::Failure;

/// What `auto` stands for: ranks of one machine would share memory.
const USUAL: &str = "rmpp";

/// The transport that ranks take if `transport` is what `asked` for, as `--transport `, or what
/// they would take otherwise; and if `what` needs datagrams.
///
/// # Errors
///
/// A usage failure if it sends no datagrams.
pub fn needed(what: &str, asked: &str, transport: String) -> Result<String, Failure> {
    if transport == "auto" {
        return Ok(USUAL.into());
    }
    if named(&transport).is_some_and(|it| it.sends_datagrams) {
        return Ok(transport);
    }
    Err(Failure::usage(format!(
        "{what} needs datagrams, and {asked}{transport} sends none: leave it out, or take {}",
        senders()
    )))
}

/// The transports that send datagrams, as a sentence lists them.
pub fn senders() -> String {
    let senders = TRANSPORTS.iter().filter(|it| it.sends_datagrams);
    let names = senders.map(|it| it.name).filter(|it| *it != "auto");
    names.collect::<Vec<_>>().join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_datagrams_takes_a_transport_that_has_them() {
        let take = |asked, transport: &str| needed("--net", asked, transport.into());
        assert_eq!(take("", "auto").unwrap(), "rmpp");
        for transport in ["rmpp", "gobackn", "unet", "sctp"] {
            assert_eq!(take("--transport ", transport).unwrap(), transport);
        }
        for transport in ["shm", "loopback", "tcp", "tcp-trc"] {
            let failure = take("--transport ", transport).unwrap_err();
            let expected = format!(
                "--net needs datagrams, and --transport {transport} sends none: leave it out, or \
                 take rmpp or gobackn or unet or sctp"
            );
            assert_eq!((failure.code, failure.text), (2, expected));
        }
    }
}
