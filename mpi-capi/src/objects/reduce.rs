//! Reduction operators: those of MPI by handle, and those that the program makes.
#![expect(unsafe_code, reason = "the program's operators are called")]

use core::ffi::{c_int, c_void};
use std::sync::Arc;

use mpi_lite::data::{Datatype, Op, UserOp};
use mpi_lite::memory::{Bytes, Room};

use crate::abi::{self, Handle};
use crate::callback::{Callback, OperatorFn, call_program};
use crate::error::{Error, Result};
use crate::objects::types::Named;
use crate::registry::{self, registered};

/// The C types of the program's operators. Source: MPI 5.0, 6.9.5.
type Small = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void, *mut c_int, *mut usize);
type Large = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void, *mut i64, *mut usize);

registered!(Op: Op);

/// The operator of MPI behind a handle, if it is one.
pub fn predefined(handle: Handle) -> Option<Op> {
    Some(match handle {
        abi::MPI_SUM => Op::Sum,
        abi::MPI_MIN => Op::Min,
        abi::MPI_MAX => Op::Max,
        abi::MPI_PROD => Op::Prod,
        abi::MPI_BAND => Op::Band,
        abi::MPI_BOR => Op::Bor,
        abi::MPI_BXOR => Op::Bxor,
        abi::MPI_LAND => Op::Land,
        abi::MPI_LOR => Op::Lor,
        abi::MPI_LXOR => Op::Lxor,
        abi::MPI_MINLOC => Op::Minloc,
        abi::MPI_MAXLOC => Op::Maxloc,
        abi::MPI_REPLACE => Op::Replace,
        abi::MPI_NO_OP => Op::NoOp,
        _ => return None,
    })
}

/// Makes an operator that calls the program's function.
///
/// # Errors
/// `MPI_ERR_ARG` if the function is null.
pub fn create(function: OperatorFn, commutative: bool) -> Result<Handle> {
    if function.address.is_null() {
        return Err(Error::new(
            abi::MPI_ERR_ARG,
            "the function of the operator is a null pointer",
        ));
    }
    let user = User {
        address: function.address.expose_provenance(),
        is_large: function.is_large,
        word: function.word,
    };
    let function = move |incoming: Bytes<'_>, inout: Room<'_>, count: u64, datatype: &Datatype| {
        let elements = Elements {
            incoming,
            inout,
            count,
            datatype,
        };
        call(user, elements);
    };
    let op = Op::User(UserOp {
        function: Arc::new(function),
        commutative,
    });
    Ok(registry::insert(op))
}

/// The function of the program.
#[derive(Clone, Copy)]
struct User {
    address: usize,
    is_large: bool,
    word: fn(Handle) -> usize,
}

/// What a function of the program reduces: `incoming` into `inout`.
struct Elements<'a> {
    incoming: Bytes<'a>,
    inout: Room<'a>,
    count: u64,
    datatype: &'a Datatype,
}

/// Calls the program's function on as many elements as its count can name at a time.
fn call(user: User, elements: Elements<'_>) {
    let Elements {
        incoming,
        mut inout,
        count,
        datatype,
    } = elements;
    let pointer = core::ptr::with_exposed_provenance::<c_void>(user.address);
    let named = Named::of(datatype);
    let mut handle = (user.word)(named.handle());
    // The function wants the addresses of the elements; the spans begin at their first byte.
    let first = datatype.occupied(count).map_or(0, |(first, _)| first) as isize;
    let incoming = incoming.as_ptr().cast_mut().wrapping_offset(-first);
    let inout = inout.as_mut_ptr().wrapping_offset(-first);
    if user.is_large {
        let mut count = count.cast_signed();
        // SAFETY: the program passed this address as a large-count operator, not null.
        let function = unsafe { core::mem::transmute::<*const c_void, Large>(pointer) };
        // SAFETY: both buffers hold `count` elements of the datatype; the places outlive the call.
        call_program(Callback::Operator, || unsafe {
            function(
                incoming.cast(),
                inout.cast(),
                &raw mut count,
                &raw mut handle,
            );
        });
        return;
    }
    // SAFETY: the program passed this address as an operator, not null.
    let function = unsafe { core::mem::transmute::<*const c_void, Small>(pointer) };
    let extent = datatype.extent() as isize;
    let mut done = 0;
    while done < count {
        let mut some = c_int::try_from(count - done).unwrap_or(c_int::MAX);
        let skip = extent.wrapping_mul(done as isize);
        let (from, to) = (incoming.wrapping_offset(skip), inout.wrapping_offset(skip));
        done += u64::from(some.cast_unsigned());
        // SAFETY: both buffers hold `some` more elements; the places outlive the call.
        call_program(Callback::Operator, || unsafe {
            function(from.cast(), to.cast(), &raw mut some, &raw mut handle);
        });
    }
}
