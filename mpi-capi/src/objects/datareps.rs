//! Data representations that the program has made. Source: MPI 5.0, 14.5.3.
#![expect(unsafe_code, reason = "the program's functions are called")]

use core::ffi::{c_int, c_void};
use std::sync::Arc;

use mpi_lite::data::{Basic, Buffer};
use mpi_lite::error::{Cause, Class};
use mpi_lite::io::{Conversion, Representation};
use parking_lot::Mutex;

use crate::abi;
use crate::args::callbacks::{ConversionFn, ExtentCall};
use crate::callback::{Callback, call_program};
use crate::error::{Error, Result};
use crate::objects::types::Named;

/// The C types of the program's functions.
type Small =
    unsafe extern "C-unwind" fn(*mut c_void, usize, c_int, *mut c_void, i64, *mut c_void) -> c_int;
type Large =
    unsafe extern "C-unwind" fn(*mut c_void, usize, i64, *mut c_void, i64, *mut c_void) -> c_int;
type Extent = unsafe extern "C-unwind" fn(usize, *mut isize, *mut c_void) -> c_int;

/// Those that the program has made. They stay until the end. MPI 5.0, 14.5.3.
static MADE: Mutex<Vec<(Arc<str>, Arc<Functions>)>> = Mutex::new(Vec::new());

/// The functions of a representation.
#[derive(Debug)]
struct Functions {
    read: ConversionFn,
    write: ConversionFn,
    extent: ExtentCall,
    extra_state: usize,
}

// SAFETY: the addresses are those of functions, which any thread may call.
unsafe impl Send for Functions {}
// SAFETY: as above.
unsafe impl Sync for Functions {}

/// The names of MPI's own.
const OWN: [&str; 3] = ["native", "internal", "external32"];

/// Makes a representation.
///
/// # Errors
/// `MPI_ERR_DUP_DATAREP`: there is one of that name; `MPI_ERR_ARG`: the name is too long, or there
/// is no extent function.
pub fn register(
    name: &[u8],
    (read, write): (ConversionFn, ConversionFn),
    extent: ExtentCall,
    extra_state: usize,
) -> Result<()> {
    let refuse = |class, why| Err(Error::new(class, why));
    if name.is_empty() || name.len() >= abi::MPI_MAX_DATAREP_STRING as usize {
        let why = "datarep is empty or longer than MPI_MAX_DATAREP_STRING allows";
        return refuse(abi::MPI_ERR_ARG, why);
    }
    if extent.address.is_null() {
        return refuse(abi::MPI_ERR_ARG, "dtype_file_extent_fn is a null pointer");
    }
    let name: Arc<str> = String::from_utf8_lossy(name).into();
    let mut made = MADE.lock();
    if OWN.contains(&&*name) || made.iter().any(|(known, _)| *known == name) {
        let why = "there is a data representation of this name already";
        return refuse(abi::MPI_ERR_DUP_DATAREP, why);
    }
    let functions = Functions {
        read,
        write,
        extent,
        extra_state,
    };
    made.push((name, Arc::new(functions)));
    Ok(())
}

/// The representation of a name.
///
/// # Errors
/// `MPI_ERR_UNSUPPORTED_DATAREP`: there is none.
pub fn find(name: &[u8]) -> Result<Representation> {
    match name {
        b"native" => return Ok(Representation::Native("native")),
        b"internal" => return Ok(Representation::Native("internal")),
        b"external32" => return Ok(Representation::External32),
        _ => {}
    }
    let made = MADE.lock();
    let known = made.iter().find(|(known, _)| known.as_bytes() == name);
    known
        .map(|(name, functions)| {
            Representation::Own(Arc::clone(name), Arc::<Functions>::clone(functions))
        })
        .ok_or_else(|| {
            Error::new(
                abi::MPI_ERR_UNSUPPORTED_DATAREP,
                "datarep is none of \"native\", \"internal\", \"external32\" and those of \
                 MPI_Register_datarep",
            )
        })
}

impl Functions {
    fn state(&self) -> *mut c_void {
        core::ptr::with_exposed_provenance_mut(self.extra_state)
    }

    /// Has a function convert the elements of `memory`; without one they are as in memory.
    fn convert(
        &self,
        function: ConversionFn,
        memory: &Buffer,
        file: &mut [u8],
    ) -> mpi_lite::error::Result<()> {
        let named = Named::of(memory.datatype());
        let datatype = (function.word)(named.handle());
        let (user, count) = (memory.address(), memory.count());
        let (file, state) = (file.as_mut_ptr().cast::<c_void>(), self.state());
        let code = if function.is_large {
            // SAFETY: the program passed this address as such a function, not null.
            let large = unsafe { core::mem::transmute::<*const c_void, Large>(function.address) };
            // SAFETY: the arguments are those that MPI gives to a conversion function.
            call_program(Callback::Conversion, || unsafe {
                large(user, datatype, count.cast_signed(), file, 0, state)
            })
        } else {
            let Ok(count) = c_int::try_from(count) else {
                let why = "there are more elements than the conversion function can take: register \
                           it with MPI_Register_datarep_c";
                return Err(Cause::File(Class::Conversion, why.into()).into());
            };
            // SAFETY: the program passed this address as such a function, not null.
            let small = unsafe { core::mem::transmute::<*const c_void, Small>(function.address) };
            // SAFETY: the arguments are those that MPI gives to a conversion function.
            call_program(Callback::Conversion, || unsafe {
                small(user, datatype, count, file, 0, state)
            })
        };
        check("conversion", code)
    }
}

fn check(what: &str, code: c_int) -> mpi_lite::error::Result<()> {
    match code {
        abi::MPI_SUCCESS => Ok(()),
        code => {
            let why = format!("the {what} function of the data representation returned {code}");
            Err(Cause::File(Class::Conversion, why.into()).into())
        }
    }
}

impl Conversion for Functions {
    fn extent(&self, basic: Basic) -> mpi_lite::error::Result<u64> {
        let named = Named::of(&basic.into());
        let (datatype, mut extent) = ((self.extent.word)(named.handle()), 0);
        // SAFETY: the program passed this address as an extent function, not null.
        let function =
            unsafe { core::mem::transmute::<*const c_void, Extent>(self.extent.address) };
        // SAFETY: the arguments are those that MPI gives to an extent function.
        let code = call_program(Callback::Conversion, || unsafe {
            function(datatype, &raw mut extent, self.state())
        });
        check("extent", code)?;
        u64::try_from(extent).map_err(|_| {
            let why = "the extent function of the data representation gave a negative extent";
            Cause::File(Class::Conversion, why.into()).into()
        })
    }

    fn read(&self, memory: &Buffer, file: &mut [u8]) -> mpi_lite::error::Result<()> {
        match self.read.address.is_null() {
            true => {
                memory.unpack(file);
                Ok(())
            }
            false => self.convert(self.read, memory, file),
        }
    }

    fn write(&self, memory: &Buffer, file: &mut [u8]) -> mpi_lite::error::Result<()> {
        match self.write.address.is_null() {
            true => {
                memory.pack_into(file);
                Ok(())
            }
            false => self.convert(self.write, memory, file),
        }
    }
}
