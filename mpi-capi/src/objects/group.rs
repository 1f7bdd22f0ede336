//! Groups: mpi-lite's.

use mpi_lite::comm::Group;

use crate::registry::registered;

registered!(Group: Group);
