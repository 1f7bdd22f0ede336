//! The memory of a window. Source: MPI 5.0, 12.2.

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use mpi_boot::node_memory::PAGE;

use super::errors::wrong;
use super::extent::{Extent, Flavor};
use super::near;
use crate::comm::Communicator;
use crate::data::Buffer;
use crate::engine::{Engine, while_still};
use crate::error::{Cause, Class, Result};
use crate::memory::Span;
use crate::node::in_place::{Loan, View};
use crate::node::{Arena, ArenaError, Node};

/// The memory of a window at one process.
#[derive(Debug)]
pub(super) struct Memory {
    /// That of this process.
    pub(super) own: Span,
    /// That of each rank, as far as it is mapped here.
    pub(super) mapped: Box<[Option<Span>]>,
    /// What keeps it.
    keeper: Keeper,
}

#[derive(Debug)]
enum Keeper {
    Program,
    /// The program, and local peers reach it. Beside it is what is mapped here of theirs.
    Lent(
        Loan,
        #[expect(dead_code, reason = "it is there to be dropped")] Views,
    ),
    Private(#[expect(dead_code, reason = "it is there to be dropped")] Buffer),
    Shared(#[expect(dead_code, reason = "it is there to be dropped")] Arc<Arena>),
}

/// What other processes have moved, by rank, mapped here; `None` where there is nothing.
pub(super) type Views = Vec<Option<(View, Span)>>;

/// Ranks find their parts in an arena within this time, or one of them is gone.
const PATIENCE: Duration = Duration::from_secs(60);

impl Memory {
    /// Memory that the program has given, or nothing.
    pub(super) fn given(own: Span, (rank, size): (u32, usize)) -> Self {
        let mut mapped = vec![None; size];
        mapped[rank as usize] = Some(own);
        Self {
            own,
            mapped: mapped.into(),
            keeper: Keeper::Program,
        }
    }

    /// Memory of this process alone.
    ///
    /// # Errors
    /// `NoMemory`.
    pub(super) fn private(bytes: u64, place: (u32, usize)) -> Result<Self> {
        let none = || Cause::NoMemory { bytes };
        let len = usize::try_from(bytes).map_err(|_| none())?;
        let buffer = Buffer::zeroed(len)?;
        let own = buffer.occupied()?;
        let given = Self::given(own, place);
        let keeper = Keeper::Private(buffer);
        Ok(Self { keeper, ..given })
    }

    /// The parts of an arena, from byte `first` of it on.
    pub(super) fn parts(
        arena: &Arc<Arena>,
        (first, rank): (u64, u32),
        parts: &[(u64, u64)],
    ) -> Self {
        let part = |&(at, len): &(u64, u64)| arena.part((first + at) as usize, len as usize);
        let mapped: Vec<_> = parts.iter().map(part).collect();
        Self {
            own: mapped[rank as usize],
            mapped: mapped.into_iter().map(Some).collect(),
            keeper: Keeper::Shared(Arc::clone(arena)),
        }
    }

    /// Memory that the program has given, from and to which the system copies for local peers.
    pub(super) fn copied(node: &Node, own: Span, place: (u32, usize)) -> Self {
        let loan = Loan::of_copied(node.lending(), own);
        let keeper = Keeper::Lent(loan, Views::default());
        let given = Self::given(own, place);
        Self { keeper, ..given }
    }

    /// Memory that each program has given, and that all have moved; that of others is mapped here.
    pub(super) fn lent((own, rank): (Span, u32), views: Views, loan: Loan) -> Self {
        let span = |view: &Option<(View, Span)>| view.as_ref().map(|(_, span)| *span);
        let spans = views.iter().map(|view| span(view).or(Some(Span::EMPTY)));
        let mut mapped: Box<[_]> = spans.collect();
        mapped[rank as usize] = Some(own);
        Self {
            own,
            mapped,
            keeper: Keeper::Lent(loan, views),
        }
    }

    /// Gives the program back what it has lent. Nobody else uses it any more.
    pub(super) fn end(&self, engine: &Engine) {
        if let Keeper::Lent(loan, _) = &self.keeper {
            end_loan(engine, loan);
        }
    }

    /// Where that of this process begins.
    pub(super) fn base(&self) -> *mut u8 {
        address(self.own)
    }

    /// Where that of a rank begins, if it is mapped here.
    pub(super) fn mapped(&self, rank: u32) -> Option<*mut u8> {
        self.mapped[rank as usize].map(address)
    }
}

/// Ends a loan that nobody uses any more.
pub(super) fn end_loan(engine: &Engine, loan: &Loan) {
    if while_still(engine, |still| loan.end(Some(still))).is_none() {
        loan.end(None);
    }
}

fn address(span: Span) -> *mut u8 {
    match span.is_empty() {
        true => core::ptr::null_mut(),
        false => span.as_mut_ptr(),
    }
}

/// Where the part of each rank begins and how long it is, and the bytes of all. Parts follow one
/// another, each on pages of its own if `is_apart`.
///
/// # Errors
/// `NoMemory`: more than there are addresses.
pub(super) fn parts_of(extents: &[Extent], is_apart: bool) -> Result<(Vec<(u64, u64)>, u64)> {
    let (mut parts, mut end) = (Vec::new(), 0_u64);
    for extent in extents {
        parts.push((end, extent.size));
        let next = end.checked_add(extent.size);
        let next = match is_apart {
            true => next.and_then(|next| next.checked_next_multiple_of(PAGE)),
            false => next,
        };
        let bytes = extent.size;
        end = next.ok_or(Cause::NoMemory { bytes })?;
    }
    Ok((parts, end))
}

/// So many bytes, and what is left of the last page.
pub(super) fn whole_pages(bytes: u64) -> u64 {
    bytes.next_multiple_of(PAGE)
}

/// Returns true if the parts of ranks lie on pages of their own.
pub(super) fn is_apart(flavor: Flavor, is_noncontiguous: bool) -> bool {
    flavor != Flavor::Shared || is_noncontiguous
}

fn refused(error: &ArenaError) -> crate::error::Error {
    wrong(Class::NoMem, error.to_string())
}

/// An arena of `bytes` bytes among all ranks of a communicator, which share this node. Collective.
///
/// # Errors
/// `NoMem`: the system has none, or a rank did not come.
pub(super) fn arena_near(
    communicator: &Communicator,
    node: &Node,
    bytes: u64,
) -> Result<Arc<Arena>> {
    let members = near::locals(communicator, node);
    let engine = communicator.engine();
    let number = u64::from(communicator.context().0);
    let deadline = engine.now().plus(PATIENCE);
    let joining = Arena::among(node.passage(), &members, (number, bytes), deadline);
    let mut joining = joining.map_err(|error| refused(&error))?;
    loop {
        if let Some(arena) = joining
            .poll(engine.now())
            .map_err(|error| refused(&error))?
        {
            return Ok(Arc::new(arena));
        }
        engine.look(|_| ());
        std::thread::yield_now();
    }
}

/// Makes an arena whose ranks share a host, but no memory yet: rank 0 does, and tells the others
/// where its descriptor is.
///
/// # Errors
/// `NoMem`.
pub(super) fn make_arena(bytes: u64) -> Result<(Arena, OwnedFd)> {
    Arena::make(bytes).map_err(|error| refused(&error))
}

/// Where a descriptor of this process is for others.
pub(super) fn place_of(descriptor: &OwnedFd) -> [u64; 2] {
    let number = descriptor.as_raw_fd();
    [u64::from(std::process::id()), number.unsigned_abs().into()]
}

/// Opens the descriptor of another process of this host.
///
/// # Errors
/// `RmaShared`: it cannot be reached.
pub(super) fn open_arena([process, number]: [u64; 2], bytes: u64) -> Result<Arena> {
    let path = format!("/proc/{process}/fd/{number}");
    let opened = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(path);
    let opened = opened.map_err(|error| {
        let why = format!(
            "the processes of the communicator cannot share memory: rank 0 of it is process \
             {process}, and its memory cannot be opened here: {error}"
        );
        wrong(Class::RmaShared, why)
    })?;
    Arena::map(&opened.into(), bytes).map_err(|error| wrong(Class::RmaShared, error.to_string()))
}
