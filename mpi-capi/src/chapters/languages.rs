//! Chapter 19: datatypes that match those of Fortran.

use crate::args::*;

mpi! {
    fn MPI_Type_create_f90_complex(p: Int, r: Int, newtype: Out<Datatype>);

    fn MPI_Type_create_f90_integer(r: Int, newtype: Out<Datatype>);

    fn MPI_Type_create_f90_real(p: Int, r: Int, newtype: Out<Datatype>);

    fn MPI_Type_match_size(typeclass: Int, size: Int, datatype: Out<Datatype>);
}
