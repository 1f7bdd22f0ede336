//! Attributes: what programs and libraries attach to communicators, datatypes and windows.
//! Source: MPI 5.0, 7.7.
#![expect(
    unsafe_code,
    reason = "the program's copy and delete functions are called"
)]

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicI32, Ordering};

use parking_lot::Mutex;

use crate::abi::{self, Handle};
use crate::callback::{Attributed, Callback, CopyCall, DeleteCall, call_program};
use crate::codes::CODES;
use crate::error::{Cause, Error, Result};
use crate::handle::Kind;

/// A key that the program made.
#[derive(Debug, Clone, Copy)]
pub struct Keyval {
    /// What it may be attached to.
    pub owner: Kind,
    /// The copy function, or one of MPI's constants.
    pub copy: CopyCall,
    /// The delete function, or null.
    pub delete: DeleteCall,
    /// What both functions are given.
    pub extra_state: usize,
}

/// All keys. The number of a key is its place from `FIRST_KEYVAL` on and, above that, which of the
/// keys it is that were at this place: one that is gone is found out.
#[derive(Debug, Default)]
pub struct Keyvals {
    places: Vec<Place>,
    /// Places without a key.
    empty: Vec<usize>,
}

#[derive(Debug)]
struct Place {
    keyval: Keyval,
    generation: c_int,
    /// Attributes under it, in all objects.
    uses: usize,
    /// The program has freed it: its attributes live on, but there are no new ones.
    freed: bool,
}

impl Place {
    /// Returns true if there is no key here any more.
    fn is_empty(&self) -> bool {
        self.freed && self.uses == 0
    }
}

/// Well above the standard's keys, which end at `MPI_WIN_MODEL`.
const FIRST_KEYVAL: c_int = 1024;

/// How many bits of a key's number are for its place.
const PLACE_BITS: u32 = 20;

/// The generations that fit above them.
const GENERATIONS: c_int = 1 << (c_int::BITS - 1 - PLACE_BITS);

type CopyFunction = unsafe extern "C-unwind" fn(
    Handle,
    c_int,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    *mut c_int,
) -> c_int;
type DeleteFunction = unsafe extern "C-unwind" fn(Handle, c_int, *mut c_void, *mut c_void) -> c_int;

impl From<*const c_void> for CopyCall {
    fn from(address: *const c_void) -> Self {
        Self {
            address: address.expose_provenance(),
            call: call_standard_copy,
        }
    }
}

impl From<*const c_void> for DeleteCall {
    fn from(address: *const c_void) -> Self {
        Self {
            address: address.expose_provenance(),
            call: call_standard_delete,
        }
    }
}

/// # Safety
/// `function` is a copy function of the standard's binary interface.
unsafe fn call_standard_copy(
    function: *const c_void,
    of: Attributed,
    copy: *mut *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the caller says so.
    let function = unsafe { core::mem::transmute::<*const c_void, CopyFunction>(function) };
    // SAFETY: the arguments are those MPI gives to a copy function; the places outlive the call.
    unsafe {
        function(
            of.object,
            of.key,
            of.extra_state,
            of.value,
            copy.cast(),
            flag,
        )
    }
}

/// # Safety
/// `function` is a delete function of the standard's binary interface.
unsafe fn call_standard_delete(function: *const c_void, of: Attributed) -> c_int {
    // SAFETY: the caller says so.
    let function = unsafe { core::mem::transmute::<*const c_void, DeleteFunction>(function) };
    // SAFETY: the arguments are those MPI gives to a delete function.
    unsafe { function(of.object, of.key, of.value, of.extra_state) }
}

/// `MPI_COMM_DUP_FN` and its like, compared and never called.
const DUP_FN: usize = abi::MPI_COMM_DUP_FN;

/// All keys.
pub static KEYVALS: Mutex<Keyvals> = Mutex::new(Keyvals::new());

/// The values of MPI's own attributes. Source: MPI 5.0, 9.1.2.
#[derive(Debug)]
struct Predefined {
    tag_ub: AtomicI32,
    io: AtomicI32,
    host: AtomicI32,
    wtime_is_global: AtomicI32,
    last_used_code: AtomicI32,
    universe_size: AtomicI32,
    /// Negative if it is not set.
    appnum: AtomicI32,
}

static PREDEFINED: Predefined = Predefined {
    tag_ub: AtomicI32::new(c_int::MAX),
    io: AtomicI32::new(abi::MPI_ANY_SOURCE),
    host: AtomicI32::new(abi::MPI_PROC_NULL),
    wtime_is_global: AtomicI32::new(0),
    last_used_code: AtomicI32::new(abi::MPI_ERR_LASTCODE),
    universe_size: AtomicI32::new(1),
    appnum: AtomicI32::new(-1),
};

/// Notes how many processes there are, for `MPI_UNIVERSE_SIZE`.
pub fn note_size(size: c_int) {
    PREDEFINED.universe_size.store(size, Ordering::Relaxed);
}

/// Notes the number of the process's program among those of the job, for `MPI_APPNUM`. Source:
/// MPI 5.0, 11.10.3.
pub fn note_appnum(appnum: Option<u32>) {
    let appnum = appnum.and_then(|appnum| c_int::try_from(appnum).ok());
    let appnum = appnum.unwrap_or(-1);
    PREDEFINED.appnum.store(appnum, Ordering::Relaxed);
}

/// The address of the value of one of MPI's own attributes, if `key` is one that is set.
pub fn predefined(key: c_int) -> Option<*mut c_int> {
    let attributes = &PREDEFINED;
    let value = match key {
        abi::MPI_TAG_UB => &attributes.tag_ub,
        abi::MPI_IO => &attributes.io,
        abi::MPI_HOST => &attributes.host,
        abi::MPI_WTIME_IS_GLOBAL => &attributes.wtime_is_global,
        abi::MPI_UNIVERSE_SIZE => &attributes.universe_size,
        abi::MPI_APPNUM if attributes.appnum.load(Ordering::Relaxed) >= 0 => &attributes.appnum,
        abi::MPI_LASTUSEDCODE => {
            attributes
                .last_used_code
                .store(CODES.lock().last_used(), Ordering::Relaxed);
            &attributes.last_used_code
        }
        _ => return None,
    };
    Some(value.as_ptr())
}

impl Keyvals {
    /// No keys.
    pub const fn new() -> Self {
        Self {
            places: Vec::new(),
            empty: Vec::new(),
        }
    }

    /// Makes a key.
    ///
    /// # Errors
    /// `MPI_ERR_NO_MEM` if there are a million already.
    pub fn create(&mut self, keyval: Keyval) -> Result<c_int> {
        let place = self.empty.pop().unwrap_or(self.places.len());
        if place >= (1 << PLACE_BITS) - FIRST_KEYVAL as usize {
            return Err(Error::new(
                abi::MPI_ERR_NO_MEM,
                "there are too many attribute keys: free those that are not needed",
            ));
        }
        let generation = self.places.get(place).map_or(0, |old| {
            old.generation.wrapping_add(1).rem_euclid(GENERATIONS)
        });
        let made = Place {
            keyval,
            generation,
            uses: 0,
            freed: false,
        };
        match self.places.get_mut(place) {
            Some(old) => *old = made,
            None => self.places.push(made),
        }
        Ok(generation << PLACE_BITS | (FIRST_KEYVAL + place as c_int))
    }

    /// Forbids new uses of a key; it is gone with its last attribute.
    ///
    /// # Errors
    /// `MPI_ERR_KEYVAL` if it is not a key of the program's, or was freed.
    pub fn free(&mut self, key: c_int, owner: Kind) -> Result<()> {
        self.get_unfreed(key, owner)?;
        self.change(key, |place| place.freed = true);
        Ok(())
    }

    /// A key under which there are, or may be, attributes.
    ///
    /// # Errors
    /// `MPI_ERR_KEYVAL` if it is none, is gone, or belongs to another kind of object.
    pub fn get(&self, key: c_int, owner: Kind) -> Result<Keyval> {
        let place = self
            .find(key)
            .ok_or_else(|| refuse("there is no such attribute key, or it was freed"))?;
        if place.keyval.owner == owner {
            Ok(place.keyval)
        } else {
            Err(refuse(
                "the attribute key belongs to another kind of object",
            ))
        }
    }

    /// A key that may be freed or get new attributes.
    fn get_unfreed(&self, key: c_int, owner: Kind) -> Result<()> {
        self.get(key, owner)?;
        match self.find(key) {
            Some(place) if !place.freed => Ok(()),
            _ => Err(refuse("the attribute key was freed")),
        }
    }

    fn find(&self, key: c_int) -> Option<&Place> {
        let place = self.places.get(place_of(key)?)?;
        let is_it = place.generation == key >> PLACE_BITS && !place.is_empty();
        is_it.then_some(place)
    }

    fn change(&mut self, key: c_int, change: impl FnOnce(&mut Place)) {
        let Some(at) = place_of(key).filter(|_| self.find(key).is_some()) else {
            return;
        };
        change(&mut self.places[at]);
        if self.places[at].is_empty() {
            self.empty.push(at);
        }
    }

    /// Changes the functions of a key, if it is one of the program's.
    pub fn alter(&mut self, key: c_int, alter: impl FnOnce(&mut Keyval)) {
        self.change(key, |place| alter(&mut place.keyval));
    }

    /// Counts an attribute more.
    fn attach(&mut self, key: c_int) {
        self.change(key, |place| place.uses += 1);
    }

    /// Counts an attribute less.
    fn detach(&mut self, key: c_int) {
        self.change(key, |place| place.uses -= 1);
    }
}

/// The place in the number of a key.
fn place_of(key: c_int) -> Option<usize> {
    usize::try_from((key & ((1 << PLACE_BITS) - 1)) - FIRST_KEYVAL).ok()
}

fn refuse(why: &'static str) -> Error {
    Error::new(abi::MPI_ERR_KEYVAL, why)
}

/// The attributes of one object. No lock is held while a function of the program runs.
#[derive(Debug)]
pub struct Attributes {
    owner: Kind,
    values: Mutex<Vec<(c_int, usize)>>,
}

impl Attributes {
    /// No attributes.
    pub const fn new(owner: Kind) -> Self {
        Self {
            owner,
            values: Mutex::new(Vec::new()),
        }
    }

    /// Attaches `value` to `object` under `key`; an older value is deleted first.
    ///
    /// # Errors
    /// `MPI_ERR_KEYVAL`, also if the key was freed; what the delete function returns.
    pub fn set(&self, object: Handle, key: c_int, value: *mut c_void) -> Result<()> {
        KEYVALS.lock().get_unfreed(key, self.owner)?;
        if self.get(key)?.is_some() {
            self.delete(object, key)?;
        }
        self.put(key, value.expose_provenance());
        Ok(())
    }

    fn put(&self, key: c_int, value: usize) {
        KEYVALS.lock().attach(key);
        self.values.lock().push((key, value));
    }

    fn take(&self, key: c_int) {
        let mut values = self.values.lock();
        if let Some(at) = values.iter().position(|(known, _)| *known == key) {
            values.remove(at);
            drop(values);
            KEYVALS.lock().detach(key);
        }
    }

    /// The value under `key`, if there is one.
    ///
    /// # Errors
    /// `MPI_ERR_KEYVAL` if the key cannot be used.
    pub fn get(&self, key: c_int) -> Result<Option<*mut c_void>> {
        KEYVALS.lock().get(key, self.owner)?;
        let values = self.values.lock();
        let value = values.iter().find(|(known, _)| *known == key);
        Ok(value.map(|(_, value)| core::ptr::with_exposed_provenance_mut(*value)))
    }

    /// Takes the value under `key` away, after the delete function agreed.
    ///
    /// # Errors
    /// `MPI_ERR_KEYVAL` if there is none, or what the delete function returns.
    pub fn delete(&self, object: Handle, key: c_int) -> Result<()> {
        let keyval = KEYVALS.lock().get(key, self.owner)?;
        let value = self.get(key)?.ok_or_else(|| {
            Error::new(
                abi::MPI_ERR_KEYVAL,
                "the object has no attribute under this key",
            )
        })?;
        call_delete(keyval, object, key, value)?;
        self.take(key);
        Ok(())
    }

    /// Copies the attributes of `old` into these, as the copy functions decide.
    ///
    /// # Errors
    /// What a copy function returns.
    pub fn copy_from(&self, from: &Self, old: Handle) -> Result<()> {
        let values = from.values.lock().clone();
        for (key, value) in values {
            let Some(keyval) = KEYVALS.lock().find(key).map(|place| place.keyval) else {
                continue;
            };
            if let Some(copy) = call_copy(keyval, old, key, value)? {
                self.put(key, copy);
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
            let keyval = KEYVALS.lock().find(key).map(|place| place.keyval);
            if let Some(keyval) = keyval {
                let value = core::ptr::with_exposed_provenance_mut(value);
                call_delete(keyval, object, key, value)?;
            }
            self.take(key);
        }
    }
}

fn call_copy(keyval: Keyval, old: Handle, key: c_int, value: usize) -> Result<Option<usize>> {
    match keyval.copy.address {
        0 => return Ok(None),
        DUP_FN => return Ok(Some(value)),
        _ => {}
    }
    let mut copy = core::ptr::null_mut::<c_void>();
    let mut flag = 0;
    let pointer = core::ptr::with_exposed_provenance::<c_void>(keyval.copy.address);
    let attributed = Attributed {
        object: old,
        key,
        extra_state: core::ptr::with_exposed_provenance_mut(keyval.extra_state),
        value: core::ptr::with_exposed_provenance_mut(value),
    };
    // SAFETY: the program passed this address as a copy function, with its call; it is none of the
    // constants. The arguments are those MPI gives to it; the places outlive the call.
    let code = call_program(Callback::Copy, || unsafe {
        (keyval.copy.call)(pointer, attributed, &raw mut copy, &raw mut flag)
    });
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
    if keyval.delete.address == abi::MPI_COMM_NULL_DELETE_FN {
        return Ok(());
    }
    let pointer = core::ptr::with_exposed_provenance::<c_void>(keyval.delete.address);
    let attributed = Attributed {
        object,
        key,
        extra_state: core::ptr::with_exposed_provenance_mut(keyval.extra_state),
        value,
    };
    // SAFETY: the program passed this address as a delete function, not null, with its call.
    let call = || unsafe { (keyval.delete.call)(pointer, attributed) };
    match call_program(Callback::Delete, call) {
        abi::MPI_SUCCESS => Ok(()),
        code => Err(Cause::Callback {
            what: "attribute delete function",
            code,
        }
        .into()),
    }
}
