//! Files of C: mpi-lite's, and what C attaches to them.

use std::sync::Arc;

use mpi_lite::ids::Context;
use mpi_lite::io;
use parking_lot::Mutex;

use crate::abi::{self, Handle};
use crate::error::{Error, Result};
use crate::objects::errhandler::{Attached, OF_NO_FILE};
use crate::objects::types::{self, Datatype};
use crate::registry::{Registered, registered};

/// A file behind a handle. Source: MPI 5.0, chapter 14.
#[derive(Debug)]
pub struct FileObject {
    /// The error handler in charge.
    pub errhandler: Attached,
    /// What the file does; nothing once a thread closes it.
    lite: Mutex<Option<io::File>>,
    /// The datatypes of its view, unless that is the first one.
    view: Mutex<Option<(Datatype, Datatype)>>,
}

/// Handles of the datatypes of a view, for the program.
#[derive(Debug, Clone, Copy)]
pub struct ViewTypes {
    /// The etype.
    pub etype: Handle,
    /// The filetype.
    pub filetype: Handle,
}

/// It begins with the error handler of `MPI_FILE_NULL`. Source: MPI 5.0, 14.7.
impl Default for FileObject {
    fn default() -> Self {
        Self {
            errhandler: Attached::new(OF_NO_FILE.get()),
            lite: Mutex::default(),
            view: Mutex::default(),
        }
    }
}

registered!(FileObject: File, counted, errhandler);

impl FileObject {
    /// An open file.
    pub fn new(lite: io::File) -> Self {
        let lite = Mutex::new(Some(lite));
        Self {
            lite,
            ..Self::default()
        }
    }

    /// What the file does.
    ///
    /// # Errors
    /// `MPI_ERR_FILE`: another thread closes it.
    pub fn lite(&self) -> Result<io::File> {
        self.lite.lock().clone().ok_or_else(closed)
    }

    /// The same, to close it: nobody else gets it any more.
    ///
    /// # Errors
    /// As [`FileObject::lite`].
    pub fn take(&self) -> Result<io::File> {
        self.lite.lock().take().ok_or_else(closed)
    }

    /// The context of its messages, and its name, unless another thread is busy with it.
    pub fn described(&self) -> Option<(Context, String)> {
        let lite = self.lite.try_lock()?;
        let lite = lite.as_ref()?;
        Some((lite.communicator().context(), lite.name().to_owned()))
    }

    /// Notes the datatypes of the view.
    pub fn set_types(&self, etype: &Datatype, filetype: &Datatype) {
        *self.view.lock() = Some((etype.clone(), filetype.clone()));
    }

    /// New handles of the datatypes of the view, which the program frees; those of predefined ones.
    ///
    /// # Errors
    /// None.
    pub fn types(&self) -> Result<ViewTypes> {
        let view = self.view.lock().clone();
        let Some((etype, filetype)) = view else {
            let (etype, filetype) = (abi::MPI_BYTE, abi::MPI_BYTE);
            return Ok(ViewTypes { etype, filetype });
        };
        let [etype, filetype] = [etype, filetype].map(|datatype| types::copy(&datatype));
        let (etype, filetype) = (etype?, filetype?);
        Ok(ViewTypes { etype, filetype })
    }
}

fn closed() -> Error {
    Error::new(
        abi::MPI_ERR_FILE,
        "the file is being closed by another thread",
    )
}

/// The handle of the file whose messages have `context`.
pub fn of_context(context: Context) -> Option<Handle> {
    let files = <Arc<FileObject>>::table().lock();
    let is_it = |object: &FileObject| {
        let lite = object.lite.lock();
        lite.as_ref()
            .is_some_and(|lite| lite.communicator().context() == context)
    };
    let mut files = files.iter();
    let found = files.find(|(_, object)| is_it(object));
    found.map(|(handle, _)| handle)
}
