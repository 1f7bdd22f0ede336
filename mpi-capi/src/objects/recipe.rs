//! The calls that made datatypes, as `MPI_Type_get_envelope` and `MPI_Type_get_contents` return
//! them.
//!
//! Source: MPI 5.0, 5.1.13.

use core::ffi::c_int;

use crate::abi;
use crate::error::{Error, Result};
use crate::objects::types::Datatype;

/// The constructor of a datatype and its arguments. It keeps the datatypes among them alive.
#[derive(Debug)]
pub struct Recipe {
    /// `MPI_COMBINER_...`
    pub combiner: c_int,
    /// Those of type `int`.
    pub integers: Vec<c_int>,
    /// Addresses and distances in bytes, of a function without suffix.
    pub addresses: Vec<i64>,
    /// The arguments of type `MPI_Count`.
    pub large_counts: Vec<i64>,
    /// The datatypes.
    pub datatypes: Vec<Datatype>,
    is_large: bool,
}

impl Recipe {
    /// The recipe of a constructor without arguments; `is_large` is true for a `_c` function.
    pub fn new(combiner: c_int, is_large: bool) -> Self {
        Self {
            combiner,
            integers: Vec::new(),
            addresses: Vec::new(),
            large_counts: Vec::new(),
            datatypes: Vec::new(),
            is_large,
        }
    }

    /// Adds arguments that are `int` in both widths.
    pub fn integers(mut self, values: impl IntoIterator<Item = c_int>) -> Self {
        self.integers.extend(values);
        self
    }

    /// Adds arguments that are `int`, or `MPI_Count` in a `_c` function.
    pub fn counts(mut self, values: impl IntoIterator<Item = i64>) -> Self {
        match self.is_large {
            true => self.large_counts.extend(values),
            false => self
                .integers
                .extend(values.into_iter().map(|value| value as c_int)),
        }
        self
    }

    /// Adds arguments that are `MPI_Aint`, or `MPI_Count` in a `_c` function.
    pub fn addresses(mut self, values: impl IntoIterator<Item = i64>) -> Self {
        match self.is_large {
            true => self.large_counts.extend(values),
            false => self.addresses.extend(values),
        }
        self
    }

    /// Adds arguments that are datatypes.
    pub fn types(mut self, datatypes: impl IntoIterator<Item = Datatype>) -> Self {
        self.datatypes.extend(datatypes);
        self
    }

    /// Returns true if it makes a predefined datatype without a name, which is never freed.
    pub fn is_of_predefined(&self) -> bool {
        matches!(
            self.combiner,
            abi::MPI_COMBINER_F90_INTEGER
                | abi::MPI_COMBINER_F90_REAL
                | abi::MPI_COMBINER_F90_COMPLEX
        )
    }

    /// Returns true if both are calls of the same constructor with the same integers.
    pub fn has_same_integers(&self, other: &Self) -> bool {
        self.combiner == other.combiner && self.integers == other.integers
    }

    /// Checks that a function without the suffix `_c` can return the arguments.
    ///
    /// # Errors
    /// `MPI_ERR_TYPE` if some are of type `MPI_Count`.
    pub fn check_small(&self) -> Result<()> {
        if self.large_counts.is_empty() {
            return Ok(());
        }
        Err(Error::new(
            abi::MPI_ERR_TYPE,
            "the datatype was made with large counts: call the function with suffix _c",
        ))
    }

    /// How many integers, addresses, large counts and datatypes there are.
    pub fn lengths(&self) -> [i64; 4] {
        [
            self.integers.len(),
            self.addresses.len(),
            self.large_counts.len(),
            self.datatypes.len(),
        ]
        .map(|len| len as i64)
    }

    /// Checks that arrays of these lengths, in the order of `lengths`, have room for all.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` if one has not.
    pub fn check_room(&self, most: [i64; 4]) -> Result<()> {
        if self
            .lengths()
            .iter()
            .zip(most)
            .all(|(need, most)| *need <= most)
        {
            return Ok(());
        }
        Err(Error::new(
            abi::MPI_ERR_ARG,
            "an array is shorter than the contents: MPI_Type_get_envelope returns the lengths",
        ))
    }
}

impl Datatype {
    /// How the program made it; `None` for a named predefined datatype.
    ///
    /// # Errors
    /// `MPI_ERR_TYPE` if the program has freed it, and its operator gets it once more.
    pub fn recipe(&self) -> Result<Option<&Recipe>> {
        let Some(made) = self.made() else {
            return Ok(None);
        };
        let lost = "the datatype was freed during the reduction: how it was made is not known";
        let recipe = made.recipe.as_ref();
        Ok(Some(
            recipe.ok_or_else(|| Error::new(abi::MPI_ERR_TYPE, lost))?,
        ))
    }

    /// How the program made it, if it did.
    ///
    /// # Errors
    /// `MPI_ERR_TYPE` if it is a named predefined datatype; as [`Datatype::recipe`].
    pub fn contents(&self) -> Result<&Recipe> {
        let named = "a named predefined datatype has no contents: no call has made it";
        self.recipe()?
            .ok_or_else(|| Error::new(abi::MPI_ERR_TYPE, named))
    }
}
