//! Calls before `MPI_Init`: those that MPI allows work, the others say so and stop the program.

use std::process::Output;

use crate::common;

fn program(args: &[&str]) -> Output {
    let name = format!("anytime{}", args.join("_"));
    let source = include_str!("anytime.c");
    let program = common::compile(&name, common::C99, source, &common::library());
    common::run(&program, args)
}

#[test]
fn what_mpi_allows_before_init_works() {
    let output = program(&[]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "fine\n");
    assert!(output.status.success());
    assert!(output.stderr.is_empty());
}

#[test]
fn a_call_before_init_stops_the_program_with_one_line() {
    let output = program(&["rank"]);
    let line = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(line.lines().count(), 1, "{line}");
    assert!(
        line.contains("in MPI_Comm_rank(): called before MPI_Init"),
        "{line}"
    );
}

#[test]
fn a_null_place_for_a_result_is_an_error_and_no_crash() {
    let output = program(&["null"]);
    let line = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    let wanted = "in MPI_Get_version(version=NULL, subversion=NULL): version is a null pointer";
    assert!(line.contains(wanted), "{line}");
    assert!(line.ends_with(" [MPI_ERR_ARG]\n"), "{line}");
}
