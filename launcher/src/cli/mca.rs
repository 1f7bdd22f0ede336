//! The parameters of Open MPI (`--mca KEY VALUE`) that mean something here.

use crate::failure::printable;
use crate::wire::Asked;

/// What a parameter of Open MPI comes to here.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Parameter {
    /// The interface for the ranks' traffic, and a note if more than one was named.
    Interface(Asked, Option<String>),
    /// The interface for the traffic of Open MPI's daemons: for the ranks' if none is named for it.
    DaemonInterface(Asked, Option<String>),
    /// Nothing, as this note says.
    Noted(String),
    /// Nothing.
    Ignored,
}

/// The meaning of a parameter that was given with `option`, a spelling of `--mca`.
pub(crate) fn meaning(option: &str, key: &str, value: &str) -> Parameter {
    match key {
        "btl_tcp_if_include" => interface(option, key, value, Parameter::Interface),
        "oob_tcp_if_include" => interface(option, key, value, Parameter::DaemonInterface),
        "btl" | "pml" | "mtl" => Parameter::Noted(format!(
            "{option} {key} {} is ignored: mpi-lite chooses its transport (--transport)",
            printable(value)
        )),
        _ => Parameter::Ignored,
    }
}

fn interface(
    option: &str,
    key: &str,
    value: &str,
    parameter: impl Fn(Asked, Option<String>) -> Parameter,
) -> Parameter {
    let mut names = value.split(',').filter(|name| !name.is_empty());
    let Some(first) = names.next() else {
        return Parameter::Ignored;
    };
    let note = names.next().map(|_| {
        let (shown, first) = (printable(value), printable(first));
        format!("{option} {key} {shown}: the ranks use the first interface alone, {first}")
    });
    let asked = Asked {
        by: format!("{option} {key} "),
        value: first.to_string(),
    };
    parameter(asked, note)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_several_interfaces_is_taken_with_a_note() {
        let Parameter::Interface(asked, note) =
            meaning("--mca", "btl_tcp_if_include", "eth0,10.1.0.0/16")
        else {
            panic!("it names an interface");
        };
        assert_eq!(asked.to_string(), "--mca btl_tcp_if_include eth0");
        assert!(note.is_some_and(|note| note.ends_with("alone, eth0")));
    }

    #[test]
    fn a_parameter_without_a_meaning_here_is_ignored() {
        for (key, value) in [
            ("btl_tcp_if_include", ","),
            ("btl_vader_single_copy_mechanism", "none"),
        ] {
            assert_eq!(meaning("--mca", key, value), Parameter::Ignored);
        }
    }
}
