//! A panic of the library is told in one line and ends the process with a code of its own.

use std::process::Command;

/// Set for the copy of this test that panics.
const PANICS: &str = "MPI_CAPI_TEST_PANICS";

#[test]
fn a_panic_names_the_call_and_ends_the_process_with_status_70() {
    if std::env::var_os(PANICS).is_some() {
        mpi_abi::panic::install_hook();
        panic!("the sky fell");
    }
    let output = Command::new(std::env::current_exe().expect("a running program has a path"))
        .args(["--exact", "--nocapture"])
        .arg("a_panic_names_the_call_and_ends_the_process_with_status_70")
        .env(PANICS, "1")
        .output()
        .expect("this very program");
    let line = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(70), "{line}");
    assert_eq!(line.lines().count(), 1, "{line}");
    assert!(line.starts_with("internal error "), "{line}");
    assert!(
        line.contains("in no MPI function (please report): the sky fell at "),
        "{line}"
    );
}
