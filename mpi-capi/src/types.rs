//! Datatypes of C: mpi-lite's, and what C attaches to them.

use std::sync::Arc;

use mpi_lite::data::Datatype;

use crate::abi::{self, Handle, LAST_RESERVED_HANDLE};
use crate::args as arg;
use crate::attributes::{Attributes, Owner};
use crate::error::{Error, Result};
use crate::global::LIBRARY;
use crate::recipe::Recipe;

/// A datatype and the call that made it.
#[derive(Debug)]
pub struct Made {
    /// What it is.
    pub lite: Datatype,
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

/// Gives a new handle to a datatype.
pub fn register(made: Arc<Made>) -> Handle {
    let attributes = Arc::new(Attributes::new(Owner::Datatype));
    LIBRARY.types.lock().insert(TypeObject {
        made,
        name: Vec::new(),
        attributes,
    })
}

/// The handle of the datatype that a call with the same arguments has made; otherwise makes it.
/// Such datatypes are never freed.
pub fn register_once(lite: Datatype, recipe: Recipe) -> Handle {
    let mut types = LIBRARY.types.lock();
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
        attributes: Arc::new(Attributes::new(Owner::Datatype)),
    })
}

/// Gives a handle to a copy of a datatype, with copies of its attributes.
///
/// # Errors
/// What a copy function of an attribute returns.
pub fn duplicate(old: &arg::Datatype) -> Result<Handle> {
    let recipe = Recipe::new(abi::MPI_COMBINER_DUP, false).types([old.clone()]);
    let handle = register(Arc::new(Made {
        lite: old.lite()?.duplicate()?,
        recipe: Some(recipe),
    }));
    let made = arg::Datatype::of(handle).expect("it was just registered");
    attributes(&made).copy_from(&attributes(old), old.handle)?;
    Ok(handle)
}

/// Gives up a datatype that the program made, after its attributes are deleted.
///
/// # Errors
/// `MPI_ERR_TYPE` if it is predefined; what a delete function of an attribute returns.
pub fn free(datatype: &arg::Datatype) -> Result<()> {
    if datatype.handle.0 <= LAST_RESERVED_HANDLE || datatype.is_unnamed_predefined() {
        return Err(Error::new(
            abi::MPI_ERR_TYPE,
            "a predefined datatype cannot be freed",
        ));
    }
    attributes(datatype).delete_all(datatype.handle)?;
    LIBRARY.types.lock().remove(datatype.handle).ok();
    Ok(())
}

/// The name of a datatype. Predefined ones have MPI's until they get another.
pub fn name(datatype: &arg::Datatype) -> Vec<u8> {
    if let Ok(object) = LIBRARY.types.lock().get(datatype.handle) {
        return object.name.clone();
    }
    let names = LIBRARY.basic_names.lock();
    let given = names.iter().find(|(known, _)| *known == datatype.handle);
    given.map_or_else(
        || abi::name_of(datatype.handle).unwrap_or_default().into(),
        |(_, name)| name.clone(),
    )
}

/// Names a datatype.
pub fn set_name(datatype: &arg::Datatype, name: Vec<u8>) {
    if let Ok(object) = LIBRARY.types.lock().get_mut(datatype.handle) {
        object.name = name;
        return;
    }
    let mut names = LIBRARY.basic_names.lock();
    names.retain(|(known, _)| *known != datatype.handle);
    names.push((datatype.handle, name));
}

/// The attributes of a datatype. Predefined ones have some too.
pub fn attributes(datatype: &arg::Datatype) -> Arc<Attributes> {
    if let Ok(object) = LIBRARY.types.lock().get(datatype.handle) {
        return Arc::clone(&object.attributes);
    }
    let mut of_basics = LIBRARY.basic_attributes.lock();
    if let Some((_, known)) = of_basics
        .iter()
        .find(|(handle, _)| *handle == datatype.handle)
    {
        return Arc::clone(known);
    }
    let made = Arc::new(Attributes::new(Owner::Datatype));
    of_basics.push((datatype.handle, Arc::clone(&made)));
    made
}
