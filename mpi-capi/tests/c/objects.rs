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
    assert!(output.stderr.is_empty(), "{output:?}");
}
