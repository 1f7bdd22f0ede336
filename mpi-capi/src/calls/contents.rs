//! What a program gets of the call that made a datatype. Source: MPI 5.0, 5.1.13.

use std::sync::Arc;

use crate::args::{OutAints, OutDatatypes, OutInts, OutLargeCounts};
use crate::error::Result;
use crate::objects::recipe::Recipe;
use crate::objects::types;

impl Recipe {
    /// Writes the integers.
    ///
    /// # Errors
    /// The array is null.
    pub fn write_integers(&self, room: OutInts) -> Result<()> {
        write(&self.integers, |at, value| room.set(at, *value))
    }

    /// Writes the addresses.
    ///
    /// # Errors
    /// The array is null.
    pub fn write_addresses(&self, room: OutAints) -> Result<()> {
        write(&self.addresses, |at, value| room.set(at, *value))
    }

    /// Writes the large counts.
    ///
    /// # Errors
    /// The array is null.
    pub fn write_large_counts(&self, room: OutLargeCounts) -> Result<()> {
        write(&self.large_counts, |at, value| room.set(at, *value))
    }

    /// Writes a handle to each of the datatypes. A handle to a datatype that the program made is a
    /// new one, which the program has to free.
    ///
    /// # Errors
    /// The array is null.
    pub fn write_datatypes(&self, room: OutDatatypes) -> Result<()> {
        write(&self.datatypes, |at, part| {
            // A handle is made only if there is a place for it.
            room.set(at, part.handle)?;
            match part.made() {
                Some(made) if !part.is_unnamed_predefined() => {
                    room.set(at, types::register(Arc::clone(made)))
                }
                _ => Ok(()),
            }
        })
    }
}

fn write<T>(values: &[T], set: impl Fn(usize, &T) -> Result<()>) -> Result<()> {
    let mut places = values.iter().enumerate();
    places.try_for_each(|(at, value)| set(at, value))
}
