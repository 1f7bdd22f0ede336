//! What `mpirun` prints and writes: the ranks' output, the report of a job that hangs, counters,
//! records of packets.

pub mod capture;
pub mod output;
pub mod progress;
pub mod rank_files;
pub mod result_file;
pub mod results;
pub mod stall;
pub mod stamp;
pub mod stats;
pub mod verbose;
