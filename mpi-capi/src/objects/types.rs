//! Datatypes of C: mpi-lite's, and what C attaches to them.

use std::sync::{Arc, OnceLock};

use mpi_lite::data::{self, Basic};
use parking_lot::Mutex;

use crate::abi::{self, Handle, LAST_RESERVED_HANDLE};
use crate::error::{Error, Result};
use crate::handle::{Kind, Unusable};
use crate::objects::attributes::Attributes;
use crate::objects::recipe::Recipe;
use crate::registry::{self, Registered, registered};

/// A datatype and the call that made it.
#[derive(Debug)]
pub struct Made {
    /// What it is.
    pub lite: data::Datatype,
    /// How it was made; `None` if the program has freed it and an operator of the program gets it.
    pub recipe: Option<Recipe>,
}

/// A datatype that the program made.
#[derive(Debug)]
pub struct TypeObject {
    /// What it is.
    pub made: Arc<Made>,
    /// The name that `MPI_Type_get_name` returns.
    pub name: Vec<u8>,
    /// What the program caches with it.
    pub attributes: Arc<Attributes>,
}

registered!(TypeObject: Datatype);

/// The predefined datatypes by handle, less `MPI_DATATYPE_NULL`.
static BASICS: OnceLock<Vec<Option<Option<data::Datatype>>>> = OnceLock::new();

/// Attributes of predefined datatypes.
static BASIC_ATTRIBUTES: Mutex<Vec<(Handle, Arc<Attributes>)>> = Mutex::new(Vec::new());

/// Names that the program gave to predefined datatypes.
static BASIC_NAMES: Mutex<Vec<(Handle, Vec<u8>)>> = Mutex::new(Vec::new());

/// The predefined datatype behind a reserved handle; `None` if we do not support it.
///
/// # Errors
/// The handle is no datatype.
#[inline(always)]
pub fn basic(handle: Handle) -> core::result::Result<Option<&'static data::Datatype>, Unusable> {
    let place = handle.0.wrapping_sub(abi::MPI_DATATYPE_NULL.0 + 1);
    match BASICS.get_or_init(basics).get(place) {
        Some(Some(known)) => Ok(known.as_ref()),
        _ if handle == abi::MPI_DATATYPE_NULL => Err(Unusable::Null("MPI_DATATYPE_NULL")),
        _ => Err(Unusable::Foreign(handle)),
    }
}

/// A datatype that the program made.
///
/// # Errors
/// The handle is foreign or freed.
#[inline(never)]
pub fn made(handle: Handle) -> core::result::Result<Arc<Made>, Unusable> {
    let types = TypeObject::table().lock();
    types.get(handle).map(|object| Arc::clone(&object.made))
}

/// The handle of a datatype in the program.
pub fn handle_of(datatype: &data::Datatype) -> Handle {
    let known = match datatype {
        data::Datatype::Basic(basic) => abi::predefined()
            .find(|constant| constant.name == basic.name())
            .map(|constant| Handle(constant.value as usize)),
        data::Datatype::Derived(_) => {
            let types = TypeObject::table().lock();
            let it = types
                .iter()
                .find(|(_, object)| object.made.lite.is_same(datatype));
            it.map(|(handle, _)| handle)
        }
    };
    known.unwrap_or(abi::MPI_DATATYPE_NULL)
}

/// The predefined datatypes by their place after `MPI_DATATYPE_NULL`.
fn basics() -> Vec<Option<Option<data::Datatype>>> {
    let first = abi::MPI_DATATYPE_NULL.0 as i64 + 1;
    let mut places = Vec::new();
    for constant in abi::predefined().filter(|it| it.value >= first) {
        let place = (constant.value - first) as usize;
        if places.len() <= place {
            places.resize(place + 1, None);
        }
        // Of a datatype with two names, mpi-lite has one.
        let known = places[place].take().flatten();
        let named = || Basic::named(constant.name).map(data::Datatype::Basic);
        places[place] = Some(known.or_else(named));
    }
    places
}

/// A datatype that exists.
#[derive(Debug, Clone)]
pub struct Datatype {
    /// The handle in the program.
    pub handle: Handle,
    lite: TypeRef,
}

/// A datatype in use by a call.
#[derive(Debug, Clone)]
enum TypeRef {
    /// A predefined one.
    Predefined(&'static data::Datatype),
    /// An optional predefined one that this library does not support, or `MPI_DATATYPE_NULL`.
    Unsupported,
    /// One that the program made; another thread may free it meanwhile. There until dropped.
    Made(Option<Arc<Made>>),
}

impl Drop for TypeRef {
    /// Hands the counted reference over by value: so the whole lives in registers.
    #[inline(always)]
    fn drop(&mut self) {
        if let Self::Made(made) = self {
            release(made.take());
        }
    }
}

#[inline(never)]
fn release(_made: Option<Arc<Made>>) {}

impl Datatype {
    /// The datatype behind a handle.
    ///
    /// # Errors
    /// It is null, foreign or freed.
    #[inline(always)]
    pub fn of(handle: Handle) -> core::result::Result<Self, Unusable> {
        let lite = if handle.0 <= LAST_RESERVED_HANDLE {
            basic(handle)?.map_or(TypeRef::Unsupported, TypeRef::Predefined)
        } else {
            TypeRef::Made(Some(made(handle)?))
        };
        Ok(Self { handle, lite })
    }

    /// `MPI_DATATYPE_NULL`, where it may be. It is of no use in anything that asks what it is.
    pub fn null() -> Self {
        let (handle, lite) = (abi::MPI_DATATYPE_NULL, TypeRef::Unsupported);
        Self { handle, lite }
    }

    /// What it is.
    ///
    /// # Errors
    /// `MPI_ERR_TYPE` if this library does not support it.
    #[inline(always)]
    pub fn lite(&self) -> Result<&data::Datatype> {
        self.supported().ok_or_else(|| {
            let why = match self.handle {
                abi::MPI_DATATYPE_NULL => "the datatype of elements is MPI_DATATYPE_NULL",
                _ => "this library does not support this optional datatype",
            };
            Error::new(abi::MPI_ERR_TYPE, why)
        })
    }

    /// The predefined datatype without padding that it is, and the bytes of `count` elements.
    #[inline(always)]
    pub fn run_of(&self, count: u64) -> Option<(Basic, usize)> {
        match self.supported()? {
            data::Datatype::Basic(basic) => Some((*basic, basic.run_of(count)?)),
            data::Datatype::Derived(_) => None,
        }
    }

    /// What it is, if the library supports it.
    #[inline(always)]
    pub fn supported(&self) -> Option<&data::Datatype> {
        match &self.lite {
            TypeRef::Predefined(lite) => Some(lite),
            TypeRef::Unsupported => None,
            TypeRef::Made(made) => made.as_deref().map(|made| &made.lite),
        }
    }

    /// What the program made, and how; `None` for a predefined datatype.
    pub fn made(&self) -> Option<&Arc<Made>> {
        match &self.lite {
            TypeRef::Predefined(_) | TypeRef::Unsupported => None,
            TypeRef::Made(made) => made.as_ref(),
        }
    }

    /// Returns true if it is predefined without a name: made by a call but never freed.
    pub fn is_unnamed_predefined(&self) -> bool {
        let recipe = self.made().and_then(|made| made.recipe.as_ref());
        recipe.is_some_and(Recipe::is_of_predefined)
    }

    /// What it is, if it may be used in communication.
    ///
    /// # Errors
    /// `MPI_ERR_TYPE` if it was not committed.
    #[inline(always)]
    pub fn committed(&self) -> Result<&data::Datatype> {
        let lite = self.lite()?;
        if !lite.is_committed() {
            return Err(Error::new(
                abi::MPI_ERR_TYPE,
                "the datatype was not committed: call MPI_Type_commit first",
            ));
        }
        Ok(lite)
    }
}

/// Gives a new handle to a datatype.
pub fn register(made: Arc<Made>) -> Handle {
    let attributes = Arc::new(Attributes::new(Kind::Datatype));
    registry::insert(TypeObject {
        made,
        name: Vec::new(),
        attributes,
    })
}

/// The handle of the datatype that a call with the same arguments has made; otherwise makes it.
/// Such datatypes are never freed.
pub fn register_once(lite: data::Datatype, recipe: Recipe) -> Handle {
    let mut types = TypeObject::table().lock();
    let equals = |object: &TypeObject| {
        object
            .made
            .recipe
            .as_ref()
            .is_some_and(|it| it.has_same_integers(&recipe))
    };
    let known = types.iter().find(|(_, object)| equals(object));
    if let Some((handle, _)) = known {
        return handle;
    }
    let recipe = Some(recipe);
    types.insert(TypeObject {
        made: Arc::new(Made { lite, recipe }),
        name: Vec::new(),
        attributes: Arc::new(Attributes::new(Kind::Datatype)),
    })
}

/// Gives a handle to a copy of a datatype that the program made, without its attributes. Returns
/// that of a predefined one itself.
///
/// # Errors
/// It is no datatype of this library.
pub fn copy(old: &Datatype) -> Result<Handle> {
    match old.made() {
        Some(_) if !old.is_unnamed_predefined() => duplicate_plain(old),
        _ => Ok(old.handle),
    }
}

fn duplicate_plain(old: &Datatype) -> Result<Handle> {
    let recipe = Recipe::new(abi::MPI_COMBINER_DUP, false).types([old.clone()]);
    Ok(register(Arc::new(Made {
        lite: old.lite()?.duplicate()?,
        recipe: Some(recipe),
    })))
}

/// Gives a handle to a copy of a datatype, with copies of its attributes.
///
/// # Errors
/// What a copy function of an attribute returns.
pub fn duplicate(old: &Datatype) -> Result<Handle> {
    let handle = duplicate_plain(old)?;
    let made = Datatype::of(handle).expect("it was just registered");
    attributes(&made).copy_from(&attributes(old), old.handle)?;
    Ok(handle)
}

/// Gives up a datatype that the program made, after its attributes are deleted.
///
/// # Errors
/// `MPI_ERR_TYPE` if it is predefined; what a delete function of an attribute returns.
pub fn free(datatype: &Datatype) -> Result<()> {
    if datatype.handle.0 <= LAST_RESERVED_HANDLE || datatype.is_unnamed_predefined() {
        return Err(Error::new(
            abi::MPI_ERR_TYPE,
            "a predefined datatype cannot be freed",
        ));
    }
    attributes(datatype).delete_all(datatype.handle)?;
    registry::remove::<TypeObject>(datatype.handle).ok();
    Ok(())
}

/// The name of a datatype. Predefined ones have MPI's until they get another.
pub fn name(datatype: &Datatype) -> Vec<u8> {
    if let Ok(object) = TypeObject::table().lock().get(datatype.handle) {
        return object.name.clone();
    }
    let names = BASIC_NAMES.lock();
    let given = names.iter().find(|(known, _)| *known == datatype.handle);
    given.map_or_else(
        || abi::name_of(datatype.handle).unwrap_or_default().into(),
        |(_, name)| name.clone(),
    )
}

/// Names a datatype.
pub fn set_name(datatype: &Datatype, name: Vec<u8>) {
    if let Ok(object) = TypeObject::table().lock().get_mut(datatype.handle) {
        object.name = name;
        return;
    }
    let mut names = BASIC_NAMES.lock();
    names.retain(|(known, _)| *known != datatype.handle);
    names.push((datatype.handle, name));
}

/// The attributes of a datatype. Predefined ones have some too.
pub fn attributes(datatype: &Datatype) -> Arc<Attributes> {
    if let Ok(object) = TypeObject::table().lock().get(datatype.handle) {
        return Arc::clone(&object.attributes);
    }
    let mut of_basics = BASIC_ATTRIBUTES.lock();
    if let Some((_, known)) = of_basics
        .iter()
        .find(|(handle, _)| *handle == datatype.handle)
    {
        return Arc::clone(known);
    }
    let made = Arc::new(Attributes::new(Kind::Datatype));
    of_basics.push((datatype.handle, Arc::clone(&made)));
    made
}

/// A datatype under a handle, for a function of the program.
#[derive(Debug)]
pub struct Named {
    handle: Handle,
    /// The program has freed it since the operation began: it has a handle for this call only.
    is_lent: bool,
}

impl Named {
    /// `datatype` with the handle that the program has, or with one for a while.
    pub fn of(datatype: &data::Datatype) -> Self {
        let known = handle_of(datatype);
        let is_lent = known == abi::MPI_DATATYPE_NULL;
        let handle = match is_lent {
            true => register(Arc::new(Made {
                lite: datatype.clone(),
                recipe: None,
            })),
            false => known,
        };
        Self { handle, is_lent }
    }

    /// The handle.
    pub fn handle(&self) -> Handle {
        self.handle
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        if self.is_lent {
            registry::remove::<TypeObject>(self.handle).ok();
        }
    }
}
