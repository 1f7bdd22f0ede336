//! What `mpirun` tells about itself: `--info` and `--verbose`.

mod common;

use common::{Scratch, boot_rank, mpirun};

/// The value behind a name.
fn value<'a>(text: &'a str, name: &str) -> &'a str {
    let lines = text.lines().map(str::trim);
    let mut values = lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let value = values.next().unwrap_or_else(|| panic!("{name}: {text}"));
    value.trim()
}

#[test]
fn info_names_the_versions_the_machine_and_each_setting_with_its_source() {
    let outcome = mpirun(&["--info"])
        .env("MPILITE_LOST_S", "77")
        .env("MPILITE_STALL", "abort")
        .run();
    let text = outcome.succeeds().out();
    assert_eq!(value(&text, "mpi-lite"), env!("CARGO_PKG_VERSION"));
    assert_eq!(value(&text, "MPI"), "5.0");
    for name in ["process_vm_readv, _writev", "UDP_SEGMENT (bursts)"] {
        let said = value(&text, name);
        assert!(said == "yes" || said.starts_with("no: "), "{name}: {said}");
    }
    assert_eq!(value(&text, "MPILITE_LOST_S"), "77 (environment)");
    assert_eq!(value(&text, "MPILITE_STALL"), "abort (environment)");
    assert_eq!(value(&text, "MPILITE_STALL_AFTER"), "10 (default)");
    for variable in mpi_boot::config::variables() {
        value(&text, variable);
    }
    for transport in mpi_boot::transports::TRANSPORTS {
        assert_eq!(value(&text, transport.name), transport.meaning);
    }
    assert!(value(&text, "mpirun").ends_with("/mpirun"), "{text}");
}

#[test]
fn info_names_a_setting_that_is_not_valid() {
    let outcome = mpirun(&["--info"]).env("MPILITE_GSO", "perhaps").run();
    let text = outcome.succeeds().out();
    let said = value(&text, "not valid");
    assert!(
        said.contains("MPILITE_GSO") && said.contains("perhaps"),
        "{said}"
    );
}

#[test]
fn verbose_tells_how_hosts_are_reached_and_how_ranks_begin_and_end() {
    let scratch = Scratch::new();
    let wrapper = scratch.write("wrapper", "#!/bin/sh\nexec \"$@\"\n", 0o755);
    let line = ["-n", "2", "--host", "localhost:1,n2:1", "--verbose"];
    let program = [wrapper.to_str().unwrap(), &boot_rank(), "exchange"];
    let outcome = mpirun(&[&line[..], &program].concat())
        .over_fake_ssh()
        .run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    for words in [
        "mpirun: hosts: from --host\n",
        "mpirun: host n2: an agent by ssh; ranks 1\n",
        "(a script of /bin/sh: the MPI program is what it starts)",
        "mpirun: host n2: ",
        " -- n2 '",
        "mpirun: host n2: its agent is connected\n",
        "mpirun: rank 1: started on host n2, pid ",
        "mpirun: rank 1: in MPI_Init\n",
        "mpirun: rank 0: has finalized\n",
        "mpirun: rank 0: ended, exit status 0\n",
    ] {
        assert!(outcome.stderr.contains(words), "{words}: {outcome:?}");
    }
    let mut lines = outcome.stderr.lines();
    assert!(
        lines.all(|line| line.starts_with("mpirun: ")),
        "{outcome:?}"
    );
}

#[test]
fn a_program_for_another_host_that_is_a_fifo_is_not_waited_for() {
    let scratch = Scratch::new();
    let fifo = scratch.path().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.expect("mkfifo runs").success());
    for option in ["--verbose", "--preload"] {
        let line = ["-n", "1", "--host", "n2", option, fifo.to_str().unwrap()];
        let outcome = mpirun(&line).over_fake_ssh().run();
        assert_ne!(outcome.code, 0, "{outcome:?}");
        assert!(outcome.stderr.contains("is a named pipe"), "{outcome:?}");
    }
}

#[test]
fn verbose_names_the_signal_that_ended_a_rank() {
    let outcome = mpirun(&["-n", "1", "-v", "sh", "-c", "kill -KILL $$"]).run();
    assert_eq!(outcome.code, 137, "{outcome:?}");
    let words = "mpirun: rank 0: ended, killed by signal 9\n";
    assert!(outcome.stderr.contains(words), "{outcome:?}");
    let words = "mpirun: hosts: this one alone";
    assert!(outcome.stderr.contains(words), "{outcome:?}");
}
