//! Chapter 10, the info object.

use crate::abi;
use crate::args::*;
use crate::error::{Error, Result};
use crate::objects::info::InfoObject;
use crate::registry;

mpi! {
    /// Makes an empty info object. MPI 5.0, 10.
    fn MPI_Info_create(info: Out<Info>) {
        info.set(insert(InfoObject::default()))
    }

    /// Makes an info object with what `MPI_INFO_ENV` has. MPI 5.0, 10.
    fn MPI_Info_create_env(argc: Int, argv: Texts, info: Out<Info>) {
        let _ = (argc, argv);
        info.set(insert(InfoObject::environment()))
    }

    /// Takes a key and its value away.
    fn MPI_Info_delete(info: Info, key: Text) {
        info.change(|object| object.delete(key.bytes()))
    }

    /// Copies an info object.
    fn MPI_Info_dup(info: Info, newinfo: Out<Info>) {
        let copy = info.read(|object| Ok(object.clone()))?;
        newinfo.set(insert(copy))
    }

    /// Frees an info object and sets the handle to `MPI_INFO_NULL`.
    fn MPI_Info_free(info: InOut<Info>) {
        info.value.change(|_| Ok(()))?;
        registry::remove::<InfoObject>(info.value.0).expect("it was there a line ago");
        info.set(abi::MPI_INFO_NULL)
    }

    /// The number of keys.
    fn MPI_Info_get_nkeys(info: Info, nkeys: Out<Int>) {
        let keys = info.read(|object| Ok(object.keys().len()))?;
        nkeys.set(c_len(keys))
    }

    /// The key at a place, from 0 in the order in which keys were set.
    fn MPI_Info_get_nthkey(info: Info, n: Length, key: TextOut) {
        info.read(|object| {
            let name = object.keys().nth(n.0 as usize);
            let why = "n is not below the number of keys";
            let name = name.ok_or_else(|| Error::new(abi::MPI_ERR_ARG, why))?;
            key.set(name, abi::MPI_MAX_INFO_KEY as usize).map(|_| ())
        })
    }

    /// The value of a key as a string of at most `buflen` bytes; `buflen` becomes what is needed.
    fn MPI_Info_get_string(
        info: Info, key: Text, buflen: InOut<Int>, value: TextOut, flag: Out<Flag>
    ) {
        let Some(found) = info.read(|object| lookup(object, key))? else {
            return flag.set(false);
        };
        let room = usize::try_from(buflen.value.0).unwrap_or(0);
        if room > 0 {
            value.set(&found, room)?;
        }
        buflen.set(c_len(found.len() + 1))?;
        flag.set(true)
    }

    /// Sets the value of a key.
    fn MPI_Info_set(info: Info, key: Text, value: Text) {
        info.change(|object| object.set(key.bytes(), value.bytes()))
    }
}

/// Keeps an info object and names it.
pub(super) fn insert(info: InfoObject) -> abi::Handle {
    registry::insert(info)
}

/// A copy of the value under `key`.
pub(super) fn lookup(object: &InfoObject, key: Text<'_>) -> Result<Option<Vec<u8>>> {
    Ok(object.get(key.bytes())?.map(<[u8]>::to_vec))
}

/// A length of this chapter as C's `int`.
pub(super) fn c_len(len: usize) -> i32 {
    i32::try_from(len).expect("info objects are small")
}
