//! A tool defines `MPI_X` and calls `PMPI_X`: loaded before the library, or linked with it.
//! Source: MPI 5.0, 15.2.

use std::path::Path;
use std::process::Command;

use crate::common::{self, C99};

const TOOL: &str = "
#include <mpi.h>
int MPI_Get_version(int *version, int *subversion)
{
    int code = PMPI_Get_version(version, subversion);
    *version += 100;
    return code;
}
";

const PROGRAM: &str = r#"
#include <mpi.h>
#include <stdio.h>
int main(void)
{
    int version, subversion;
    MPI_Get_version(&version, &subversion);
    printf("%d\n", version);
    return 0;
}
"#;

#[test]
fn a_preloaded_tool_comes_before_the_library() {
    let shared = ["-shared", "-fPIC"].map(str::to_owned);
    let tool = common::compile("tool.so", C99, TOOL, &shared);
    let program = common::compile("profiled", C99, PROGRAM, &common::library());
    assert_eq!(common::run(&program, &[]).stdout, b"5\n");
    let output = Command::new(program)
        .env("LD_PRELOAD", tool)
        .output()
        .expect("just built");
    assert_eq!(output.stdout, b"105\n");
}

#[test]
fn a_tool_linked_with_the_static_library_comes_before_it() {
    // As `make install` makes it from what cargo built.
    let built = std::env::current_exe()
        .expect("a path")
        .with_file_name("libmpi_abi.a");
    let weak = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libmpi_abi_weak.a");
    let result = Command::new("objcopy")
        .args(["--wildcard", "--weaken-symbol=MPI_*"])
        .args([&built, &weak])
        .output()
        .expect("the tests need objcopy of binutils");
    assert!(
        result.status.success(),
        "{}",
        String::from_utf8_lossy(&result.stderr)
    );
    let link = [
        weak.display().to_string(),
        "-lpthread".into(),
        "-ldl".into(),
        "-lm".into(),
    ];
    let source = format!("{TOOL}{PROGRAM}");
    let program = common::compile("statically_profiled", C99, &source, &link);
    assert_eq!(common::run(&program, &[]).stdout, b"105\n");
}
