//! The installed `mpirun` starts what is no MPI program: a smoke test. What it makes of its command
//! line, of host files and of streams the launcher's own tests check.

use mpi_lite_tests::Job;

#[test]
fn jobs_beside_each_other_do_not_disturb_each_other() {
    let start = |_| Job::mpirun(2).args(["sh", "-c", "echo here"]).start();
    let running: Vec<_> = (0..6).map(start).collect();
    for job in running {
        assert_eq!(job.finish().expect_code(0).stdout, "here\nhere\n");
    }
}
