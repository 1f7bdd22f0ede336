//! Ranks of a node give each other descriptors and memory after Init, with our launcher and with
//! a process manager of another kind.

use std::fs;

use crate::common::{boot_rank, mpirun};

/// What the ranks print, sorted.
const LINES: [&str; 5] = [
    "rank 0: given",
    "rank 0: rank 2 of this host ended, or withdrew, before descriptor 3 had passed; rank 1 of \
     this host did not hand out descriptor 4 in time",
    "rank 1: a rank of this host shares 4096 bytes where 8192 are expected",
    "rank 1: rank 2 of this host ended, or withdrew, before descriptor 3 had passed; rank 0 of \
     this host did not hand out descriptor 4 in time",
    "rank 2: rank 0 of this host offers descriptor 2 to others, or has given it before",
];

#[test]
fn descriptors_and_memory_pass_after_init_and_what_is_wrong_is_named() {
    let program = boot_rank();
    let lines = mpirun(&["-n", "3", &program, "pass"]).run().succeeds();
    assert_eq!(lines.sorted(), LINES);
}

/// Without our launcher's channel a rank takes mpirun for a process manager that speaks PMI.
#[test]
fn they_pass_as_well_between_ranks_of_another_process_manager() {
    let program = boot_rank();
    let script = r#"unset MPILITE_BOOT_FD MPILITE_SIZE; exec "$0" pass"#;
    let lines = mpirun(&["-n", "3", "sh", "-c", script, &program]).run();
    assert_eq!(lines.succeeds().sorted(), LINES);
}

#[test]
fn nothing_is_left_where_files_of_memory_could_have_names() {
    let names = || {
        let folder = fs::read_dir("/dev/shm").expect("it is there");
        let names = folder.flatten().map(|it| it.file_name().into_string());
        let ours = |name: &String| name.contains("mpi-lite");
        names.flatten().filter(ours).collect::<Vec<_>>()
    };
    mpirun(&["-n", "3", &boot_rank(), "pass"]).run().succeeds();
    assert_eq!(names(), Vec::<String>::new());
}
