//! Chapter 19: datatypes that match those of Fortran.

use core::ffi::c_int;

use mpi_lite::data::Basic;

use crate::abi;
use crate::args::*;
use crate::error::{Error, Result};
use crate::objects::recipe::Recipe;
use crate::objects::types;
use crate::objects::types::register_once;

mpi! {
    /// The complex datatype of parts with `p` digits and exponents to `r`. MPI 5.0, 19.1.9.
    fn MPI_Type_create_f90_complex(p: Int, r: Int, newtype: Out<Datatype>) {
        let found = floating(p, r, [Basic::Complex8, Basic::Complex16])?;
        let recipe = Recipe::new(abi::MPI_COMBINER_F90_COMPLEX, false).integers([p.0, r.0]);
        newtype.set(register_once(found.into(), recipe))
    }

    /// The integer datatype of numbers with `r` digits. MPI 5.0, 19.1.9.
    fn MPI_Type_create_f90_integer(r: Int, newtype: Out<Datatype>) {
        let kind = INTEGERS.iter().find(|(digits, _)| r.0 <= *digits);
        let found = supported(kind.map(|(_, basic)| *basic))?;
        let recipe = Recipe::new(abi::MPI_COMBINER_F90_INTEGER, false).integers([r.0]);
        newtype.set(register_once(found.into(), recipe))
    }

    /// The real datatype with `p` digits and exponents to `r`. MPI 5.0, 19.1.9.
    fn MPI_Type_create_f90_real(p: Int, r: Int, newtype: Out<Datatype>) {
        let found = floating(p, r, [Basic::Real4, Basic::Real8])?;
        let recipe = Recipe::new(abi::MPI_COMBINER_F90_REAL, false).integers([p.0, r.0]);
        newtype.set(register_once(found.into(), recipe))
    }

    /// The predefined datatype of a class with `size` bytes. That of a real number with 16 bytes is
    /// C's `long double`; `MPI_REAL16` is not supported. MPI 5.0, 19.1.9.
    fn MPI_Type_match_size(typeclass: TypeClass, size: Int, datatype: Out<Datatype>) {
        let class = match typeclass.0 {
            abi::MPI_TYPECLASS_INTEGER => {
                &[Basic::Integer1, Basic::Integer2, Basic::Integer4, Basic::Integer8][..]
            }
            abi::MPI_TYPECLASS_REAL => {
                &[Basic::Real2, Basic::Real4, Basic::Real8, Basic::LongDouble]
            }
            abi::MPI_TYPECLASS_COMPLEX => {
                &[Basic::Complex4, Basic::Complex8, Basic::Complex16, Basic::CLongDoubleComplex]
            }
            _ => {
                let text = "typeclass is none of the constants MPI_TYPECLASS_...";
                return Err(Error::new(abi::MPI_ERR_ARG, text));
            }
        };
        let found = class.iter().find(|basic| i64::from(size.0) == basic.size() as i64);
        let found = found.ok_or_else(|| {
            let text = "this library supports no datatype of that class with this size";
            Error::new(abi::MPI_ERR_ARG, text)
        })?;
        datatype.set(types::handle_of(&(*found).into()))
    }
}

/// The decimal digits that integers hold: `selected_int_kind` of Fortran.
const INTEGERS: [(c_int, Basic); 4] = [
    (2, Basic::Integer1),
    (4, Basic::Integer2),
    (9, Basic::Integer4),
    (18, Basic::Integer8),
];

/// The first of two datatypes with `p` digits and exponents to `r`: `selected_real_kind` of
/// Fortran. One of `p` and `r` may be `MPI_UNDEFINED`.
fn floating(p: Int, r: Int, [single, double]: [Basic; 2]) -> Result<Basic> {
    if p.0 == abi::MPI_UNDEFINED && r.0 == abi::MPI_UNDEFINED {
        return Err(Error::new(
            abi::MPI_ERR_ARG,
            "p and r are both MPI_UNDEFINED",
        ));
    }
    // MPI_UNDEFINED is negative, so that it asks for nothing.
    let kinds = [(6, 37, single), (15, 307, double)];
    let found = kinds
        .iter()
        .find(|(digits, range, _)| p.0 <= *digits && r.0 <= *range);
    supported(found.map(|(_, _, basic)| *basic))
}

fn supported(found: Option<Basic>) -> Result<Basic> {
    found.ok_or_else(|| {
        let text = "this library supports no datatype with so many digits";
        Error::new(abi::MPI_ERR_ARG, text)
    })
}
