//! The tests against an installed mpi-lite, in one program: its tests run at once in threads, so
//! that each has names, folders and ports of its own and leaves the process as it is.

mod across;
mod benches;
mod exceptions;
mod files;
mod guide;
mod install;
mod installation;
mod instructions;
mod interpose;
mod kills;
mod last_words;
mod launcher;
mod limits;
mod loss;
mod managers;
mod memcheck;
mod mismatch;
mod mpich;
mod mpich_abi;
mod mpich_header;
mod one_machine;
mod packages;
mod packets;
mod prerequisites;
mod samples;
mod seals;
mod shaped;
mod ssh;
mod stats;
mod strays;
mod symbols;
mod two_hosts;
mod wheel;
