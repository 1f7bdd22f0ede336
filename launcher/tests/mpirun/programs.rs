//! Several programs in one job, and what each of them gets.

use crate::common::{Scratch, boot_rank, link_with, mpirun, mpirun_after};

#[test]
fn several_programs_are_one_job_with_dense_ranks() {
    let rank = boot_rank();
    let line = [
        "-n", "2", &rank, "appnum", ":", "-n", "1", "--host", "n1", &rank, "appnum", ":", "-n",
        "2", &rank, "appnum",
    ];
    let outcome = mpirun(&line).over_fake_ssh().run().succeeds();
    let expected = [(0, 0), (1, 0), (2, 1), (3, 2), (4, 2)]
        .map(|(rank, program)| format!("rank {rank} of 5 program Some({program})"));
    assert_eq!(outcome.sorted(), expected);
}

#[test]
fn one_program_has_the_number_0() {
    let outcome = mpirun(&["-n", "1", &boot_rank(), "appnum"]).run();
    assert_eq!(outcome.succeeds().out(), "rank 0 of 1 program Some(0)\n");
}

#[test]
fn each_line_of_an_application_file_is_a_program() {
    let scratch = Scratch::new();
    let text = "# two programs\n-n 1 -env A 'x  y' sh -c 'echo \"$G$A:$1\"' name \"a 'b\" # c\n\n\
                -n 2 -wdir / \\\n   sh -c 'echo $PWD:$G:$A'\n";
    let file = scratch.write("apps", text, 0o644);
    for option in ["--app", "-configfile"] {
        for hosts in ["localhost", "n1,n2,n3"] {
            let line = ["--host", hosts, "-genv", "G", "g", option];
            let outcome = mpirun(&[&line[..], &[file.to_str().unwrap()]].concat())
                .over_fake_ssh()
                .run();
            assert_eq!(outcome.succeeds().sorted(), ["/:g:", "/:g:", "gx  y:a 'b"]);
        }
    }
}

#[test]
fn the_ranks_get_the_variables_that_the_options_name() {
    let cases: [(&[&str], &str); 6] = [
        (&[], "1:2:3"),
        (&["-genvnone"], "::"),
        (&["-genvlist", "A,OMPI_C"], "1::3"),
        (&["-genvnone", "-genv", "B", "x y", "-env", "B", "z"], ":z:"),
        (&["-genvnone", "-envlist", "B"], ":2:"),
        (&["-envnone", "-x", "OMPI_*", "-x", "A"], "1::3"),
    ];
    for host in ["localhost", "n1"] {
        for (options, expected) in cases {
            let line = [&["-n", "1", "--host", host][..], options];
            let program = ["/bin/sh", "-c", "echo $A:$B:$OMPI_C"];
            let outcome = mpirun(&[&line.concat()[..], &program].concat())
                .over_fake_ssh()
                .env("A", "1")
                .env("B", "2")
                .env("OMPI_C", "3")
                .run()
                .succeeds();
            assert_eq!(outcome.out(), format!("{expected}\n"), "{host} {options:?}");
        }
    }
}

#[test]
fn without_a_base_a_rank_of_another_host_has_nothing_of_that_host_either() {
    let line = ["-n", "1", "--host", "n1", "-genvnone", "/usr/bin/env"];
    let outcome = mpirun(&line).over_fake_ssh().run().succeeds();
    for name in outcome
        .out()
        .lines()
        .filter_map(|line| line.split('=').next())
    {
        let is_ours = name.starts_with("MPI") || name.starts_with("PMI_");
        let is_ours = is_ours || name == "LD_LIBRARY_PATH";
        assert!(is_ours, "{name}");
    }
}

#[test]
fn each_program_runs_in_its_directory_with_its_own_variables() {
    let line = [
        "-n",
        "1",
        "-wdir",
        "/",
        "-x",
        "A=a",
        "sh",
        "-c",
        "echo $PWD:$A",
        ":",
        "-n",
        "1",
        "-wdir",
        "/usr",
        "sh",
        "-c",
        "echo $PWD:$A",
    ];
    let outcome = mpirun(&line).run().succeeds();
    assert_eq!(outcome.sorted(), ["/:a", "/usr:"]);
}

#[test]
fn a_program_is_found_in_the_directory_of_path_first() {
    let scratch = Scratch::new();
    let program = "#!/bin/sh\necho mine\n";
    scratch.write("env", program, 0o755);
    for host in ["localhost", "n1"] {
        let line = ["-n", "1", "--host", host, "--path", ".", "env"];
        let outcome = mpirun(&line)
            .over_fake_ssh()
            .directory(scratch.path())
            .run()
            .succeeds();
        assert_eq!(outcome.out(), "mine\n", "{host}");
    }
}

#[test]
fn a_program_that_cannot_run_is_named_and_no_other_starts() {
    let line = ["-n", "1", "echo", "x", ":", "-n", "1", "/nowhere/p"];
    let outcome = mpirun(&line).run();
    outcome.fails_with(127, &["program '/nowhere/p' does not exist"]);
    assert_eq!(outcome.out(), "");
}

#[test]
fn what_is_wrong_in_a_part_or_a_file_is_named_with_its_place() {
    let scratch = Scratch::new();
    let file = scratch.write("apps", "-n 1 true\n-n 1 --nodes 3 true\n", 0o644);
    let quote = scratch.write("quote", "-n 1 echo 'x\n", 0o644);
    let empty = scratch.write("empty", "# nothing\n", 0o644);
    let text = |path: &std::path::Path| path.to_str().unwrap().to_string();
    let cases: [(&[&str], &[&str]); 8] = [
        (
            &["--app", "/dev/zero"],
            &["/dev/zero is longer than 16 MiB"],
        ),
        (
            &["--app", "/nowhere/apps"],
            &["/nowhere/apps", "cannot be read"],
        ),
        (
            &["--app", &text(&file)],
            &["apps:2: there is no --nodes here; use --host"],
        ),
        (&["--app", &text(&quote)], &["quote:1: a quote has no end"]),
        (&["--app", &text(&empty)], &["empty", "names no program"]),
        (&["--app", &text(&file), "true"], &["leave out 'true'"]),
        (
            &["-n", "1", "true", ":", ":", "-n", "1", "true"],
            &["part 2 of the command line: no program is named"],
        ),
        (
            &["-n", "1", "true", ":", "-n", "1", "--wdri", "/", "true"],
            &["part 2 of the command line: unknown option --wdri; did you mean --wdir?"],
        ),
    ];
    for (line, parts) in cases {
        mpirun(line).run().fails_with(2, parts);
    }
}

/// A program whose file names no MPI, and that loads the library of one.
#[test]
fn ranks_that_load_another_mpi_and_hear_nothing_of_ours_are_told_once_and_fail_the_job() {
    let scratch = Scratch::new();
    link_with(&scratch, "libmpi.so.40");
    let folder = scratch.path();
    std::fs::rename(folder.join("libmpi.so"), folder.join("libmpi.so.40")).unwrap();
    // It lives until the user has been told.
    let loader = r#"
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>
int main(void) {
    struct stat said;
    if (!dlopen("./libmpi.so.40", RTLD_NOW))
        return 9;
    while (stat("said", &said) || !said.st_size)
        usleep(1000);
    return 0;
}
"#;
    scratch.write("loader.c", loader, 0o644);
    let build = std::process::Command::new("cc")
        .args(["loader.c", "-o", "loader", "-ldl"])
        .current_dir(folder)
        .status();
    assert!(build.unwrap().success());
    let line = [
        "--host",
        "localhost:1,n1:2",
        "sh",
        "-c",
        "./loader; exit $?",
    ];
    let outcome = mpirun_after("exec 2>said", &line)
        .over_fake_ssh()
        .directory(folder)
        .run();
    let said = std::fs::read_to_string(folder.join("said")).unwrap();
    assert_eq!((outcome.code, said.lines().count()), (1, 1), "{said}");
    for part in [
        "mpirun: rank ",
        " has loaded libmpi.so.40 of Open MPI and has not called MPI_Init of mpi-lite",
        "start it with the mpirun of Open MPI",
    ] {
        assert!(said.contains(part), "{said}");
    }
}
