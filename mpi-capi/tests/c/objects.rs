//! What hangs on MPI's objects, in one process.

use crate::common;

#[test]
fn handlers_attributes_names_groups_operators_and_datatypes_do_as_the_standard_says() {
    let source = include_str!("objects.c");
    let program = common::compile("objects", common::C99, source, &common::library());
    let output = common::run(&program, &[]);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "fine\n",
        "{output:?}"
    );
    assert!(output.status.success());
    // Errors are returned; a function without a body prints a line at its first call.
    let lines = String::from_utf8_lossy(&output.stderr);
    let is_of_missing = |line: &str| line.contains("not implemented in mpi-lite");
    assert!(lines.lines().all(is_of_missing), "{output:?}");
}
