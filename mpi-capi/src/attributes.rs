//! Attributes: what programs and libraries attach to communicators, datatypes and windows.
//! Source: MPI 5.0, 7.7.
#![expect(
    unsafe_code,
    reason = "the program's copy and delete functions are called"
)]

use core::ffi::{c_int, c_void};

use parking_lot::Mutex;

use crate::abi::{self, Handle};
use crate::error::{Cause, Error, Result};
use crate::global::LIBRARY;

/// What kind of object a key belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// Communicators.
    Comm,
    /// Datatypes.
    Datatype,
    /// Windows.
    Win,
}

/// A key that the program made.
#[derive(Debug, Clone, Copy)]
pub struct Keyval {
    /// What it may be attached to.
    pub owner: Owner,
    /// Address of the copy function, or one of MPI's constants.
    pub copy: usize,
    /// Address of the delete function, or null.
    pub delete: usize,
    /// What both functions are given.
    pub extra_state: usize,
}

/// All keys, by number from `FIRST_KEYVAL` on.
#[derive(Debug, Default)]
pub struct Keyvals {
    places: Vec<Place>,
}

#[derive(Debug)]
struct Place {
    keyval: Keyval,
    /// The program has freed it: attributes live on, but it cannot be used for new ones.
    freed: bool,
}

/// Well above the standard's keys, which end at `MPI_WIN_MODEL`.
const FIRST_KEYVAL: c_int = 1024;

type CopyFunction =
    unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
type DeleteFunction = unsafe extern "C" fn(Handle, c_int, *mut c_void, *mut c_void) -> c_int;

/// `MPI_COMM_DUP_FN` and its like, compared and never called.
const DUP_FN: usize = abi::MPI_COMM_DUP_FN;

impl Keyvals {
    /// No keys.
    pub const fn new() -> Self {
        Self { places: Vec::new() }
    }

    /// Makes a key.
    pub fn create(&mut self, keyval: Keyval) -> c_int {
        self.places.push(Place {
            keyval,
            freed: false,
        });
        FIRST_KEYVAL + c_int::try_from(self.places.len() - 1).expect("fewer than 2^31 keys")
    }

    /// Forbids new uses of a key.
    ///
    /// # Errors
    /// `MPI_ERR_KEYVAL` if it is not a key of the program's.
    pub fn free(&mut self, key: c_int, owner: Owner) -> Result<()> {
        self.get(key, owner)?;
        self.places[(key - FIRST_KEYVAL) as usize].freed = true;
        Ok(())
    }

    /// A key that can be used.
    ///
    /// # Errors
    /// `MPI_ERR_KEYVAL` if it is none, is freed, or belongs to another kind of object.
    pub fn get(&self, key: c_int, owner: Owner) -> Result<Keyval> {
        match self.find(key) {
            Some(place) if !place.freed && place.keyval.owner == owner => Ok(place.keyval),
            Some(place) if place.freed => Err(Error::new(
                abi::MPI_ERR_KEYVAL,
                "the attribute key was freed",
            )),
            Some(_) => Err(Error::new(
                abi::MPI_ERR_KEYVAL,
                "the attribute key belongs to another kind of object",
            )),
            None => Err(Error::new(
                abi::MPI_ERR_KEYVAL,
                "there is no such attribute key",
            )),
        }
    }

    fn find(&self, key: c_int) -> Option<&Place> {
        let place = usize::try_from(i64::from(key) - i64::from(FIRST_KEYVAL)).ok()?;
        self.places.get(place)
    }
}

/// The attributes of one object. No lock is held while a function of the program runs.
#[derive(Debug)]
pub struct Attributes {
    owner: Owner,
    values: Mutex<Vec<(c_int, usize)>>,
}

impl Attributes {
    /// No attributes.
    pub const fn new(owner: Owner) -> Self {
        Self {
            owner,
            values: Mutex::new(Vec::new()),
        }
    }

    /// Attaches `value` to `object` under `key`; an older value is deleted first.
    ///
    /// # Errors
    /// `MPI_ERR_KEYVAL`, or what the delete function returns.
    pub fn set(&self, object: Handle, key: c_int, value: *mut c_void) -> Result<()> {
        LIBRARY.keyvals.lock().get(key, self.owner)?;
        if self.get(key)?.is_some() {
            self.delete(object, key)?;
        }
        self.values.lock().push((key, value.expose_provenance()));
        Ok(())
    }

    /// The value under `key`, if there is one.
    ///
    /// # Errors
    /// `MPI_ERR_KEYVAL` if the key cannot be used.
    pub fn get(&self, key: c_int) -> Result<Option<*mut c_void>> {
        LIBRARY.keyvals.lock().get(key, self.owner)?;
        let values = self.values.lock();
        let value = values.iter().find(|(known, _)| *known == key);
        Ok(value.map(|(_, value)| core::ptr::with_exposed_provenance_mut(*value)))
    }

    /// Takes the value under `key` away, after the delete function agreed.
    ///
    /// # Errors
    /// `MPI_ERR_KEYVAL` if there is none, or what the delete function returns.
    pub fn delete(&self, object: Handle, key: c_int) -> Result<()> {
        let keyval = LIBRARY.keyvals.lock().get(key, self.owner)?;
        let value = self.get(key)?.ok_or_else(|| {
            Error::new(
                abi::MPI_ERR_KEYVAL,
                "the object has no attribute under this key",
            )
        })?;
        call_delete(keyval, object, key, value)?;
        self.values.lock().retain(|(known, _)| *known != key);
        Ok(())
    }

    /// Copies the attributes of `old` into these, as the copy functions decide.
    ///
    /// # Errors
    /// What a copy function returns.
    pub fn copy_from(&self, from: &Self, old: Handle) -> Result<()> {
        let values = from.values.lock().clone();
        for (key, value) in values {
            let Some(keyval) = LIBRARY.keyvals.lock().find(key).map(|place| place.keyval) else {
                continue;
            };
            if let Some(copy) = call_copy(keyval, old, key, value)? {
                self.values.lock().push((key, copy));
            }
        }
        Ok(())
    }

    /// Deletes all attributes, the last one first, as MPI asks of `MPI_COMM_SELF` at the end.
    ///
    /// # Errors
    /// What a delete function returns; the attributes before it stay.
    pub fn delete_all(&self, object: Handle) -> Result<()> {
        loop {
            let Some((key, value)) = self.values.lock().last().copied() else {
                return Ok(());
            };
            // Apart, so that the delete function, which may use keys itself, finds no lock taken.
            let keyval = LIBRARY.keyvals.lock().find(key).map(|place| place.keyval);
            if let Some(keyval) = keyval {
                let value = core::ptr::with_exposed_provenance_mut(value);
                call_delete(keyval, object, key, value)?;
            }
            self.values.lock().retain(|(known, _)| *known != key);
        }
    }
}

fn call_copy(keyval: Keyval, old: Handle, key: c_int, value: usize) -> Result<Option<usize>> {
    match keyval.copy {
        0 => return Ok(None),
        DUP_FN => return Ok(Some(value)),
        _ => {}
    }
    let mut copy = core::ptr::null_mut::<c_void>();
    let mut flag = 0;
    let pointer = core::ptr::with_exposed_provenance::<c_void>(keyval.copy);
    // SAFETY: the program passed this address as a copy function; it is none of the constants.
    let function = unsafe { core::mem::transmute::<*const c_void, CopyFunction>(pointer) };
    // SAFETY: the arguments are those MPI gives to a copy function; the places outlive the call.
    let code = unsafe {
        function(
            old,
            key,
            core::ptr::with_exposed_provenance_mut(keyval.extra_state),
            core::ptr::with_exposed_provenance_mut(value),
            (&raw mut copy).cast(),
            &raw mut flag,
        )
    };
    match (code, flag) {
        (abi::MPI_SUCCESS, 0) => Ok(None),
        (abi::MPI_SUCCESS, _) => Ok(Some(copy.expose_provenance())),
        (code, _) => Err(Cause::Callback {
            what: "attribute copy function",
            code,
        }
        .into()),
    }
}

fn call_delete(keyval: Keyval, object: Handle, key: c_int, value: *mut c_void) -> Result<()> {
    if keyval.delete == abi::MPI_COMM_NULL_DELETE_FN {
        return Ok(());
    }
    let pointer = core::ptr::with_exposed_provenance::<c_void>(keyval.delete);
    // SAFETY: the program passed this address as a delete function, not null.
    let function = unsafe { core::mem::transmute::<*const c_void, DeleteFunction>(pointer) };
    let extra_state = core::ptr::with_exposed_provenance_mut(keyval.extra_state);
    // SAFETY: the arguments are those MPI gives to a delete function.
    match unsafe { function(object, key, value, extra_state) } {
        abi::MPI_SUCCESS => Ok(()),
        code => Err(Cause::Callback {
            what: "attribute delete function",
            code,
        }
        .into()),
    }
}
