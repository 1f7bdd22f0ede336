//! Groups: mpi-lite's.

use mpi_lite::comm::Group;

use crate::handle::Kind;
use crate::object::Object;
use crate::registry::registered;

impl Object for Group {
    const KIND: Kind = Kind::Group;
}

registered!(Group);
