//! How windows are made. All processes tell each other what they bring, and each can see whether
//! all can go on: what fails at one, fails everywhere. Source: MPI 5.0, 12.2.

use std::sync::Arc;

use parking_lot::Mutex;

use super::attached::{Attached, SharedAttached};
use super::epochs::Epochs;
use super::errors::wrong;
use super::extent::{Extent, Flavor};
use super::far::Far;
use super::hints::Hints;
use super::means::Means;
use super::memory::{self, Memory, Views};
use super::near::{self, Near, RankMemory};
use super::title::Title;
use super::window::{Inner, Window};
use crate::coll::{BarrierOf, Told};
use crate::comm::{Communicator, Operation};
use crate::engine::while_still;
use crate::error::{Cause, Class, Result};
use crate::memory::Span;
use crate::node::in_place::{self, Loan, Still};
use crate::node::{Arena, Node};

/// The barrier of a fence.
pub(super) const FENCE: BarrierOf = BarrierOf(Operation::WinFence);

/// The barrier at the end of a window.
pub(super) const FREE: BarrierOf = BarrierOf(Operation::WinFree);

/// What a process brings to a new window.
struct Making {
    communicator: Communicator,
    flavor: Flavor,
    extents: Box<[Extent]>,
    /// The addresses of memory of the program, by rank.
    bases: Vec<u64>,
    hints: Hints,
    title: Title,
}

impl Window {
    /// Makes a window of memory of the program. Collective.
    ///
    /// # Errors
    /// `Communicator`: it is an inter-communicator. `NoMem`; `Lost`; `Mismatch`: another process
    /// makes another kind of window.
    ///
    /// Source: MPI 5.0, 12.2.1.
    pub fn create(communicator: &Communicator, own: Span, unit: u32, hints: Hints) -> Result<Self> {
        let size = own.len() as u64;
        let making = Making::begin(
            communicator,
            (Flavor::Create, Extent { size, unit }),
            own.address(),
            hints,
        )?;
        match making.node() {
            Some(node) => making.finish_lent(&node, own),
            None => {
                let memory = Memory::given(own, making.place());
                making.finish_far(memory)
            }
        }
    }

    /// Makes a window and its memory. Collective.
    ///
    /// # Errors
    /// As [`Window::create`].
    ///
    /// Source: MPI 5.0, 12.2.2.
    pub fn allocate(communicator: &Communicator, extent: Extent, hints: Hints) -> Result<Self> {
        let making = Making::begin(communicator, (Flavor::Allocate, extent), 0, hints)?;
        match making.node() {
            Some(node) => making.finish_allocated(&node),
            None => {
                let memory = Memory::private(extent.size, making.place());
                let memory = making.all_succeed(memory)?;
                making.finish_far(memory)
            }
        }
    }

    /// Makes a window whose memory all processes load and store. Collective.
    ///
    /// # Errors
    /// As [`Window::create`]; `RmaShared`: the processes share no memory.
    ///
    /// Source: MPI 5.0, 12.2.3.
    pub fn allocate_shared(
        communicator: &Communicator,
        extent: Extent,
        hints: Hints,
    ) -> Result<Self> {
        let making = Making::begin(communicator, (Flavor::Shared, extent), 0, hints)?;
        if let Some(node) = making.node() {
            return making.finish_allocated(&node);
        }
        let memory = making.shared_without_node()?;
        making.finish_far(memory)
    }

    /// Makes a window to which processes attach memory. Collective.
    ///
    /// # Errors
    /// As [`Window::create`].
    ///
    /// Source: MPI 5.0, 12.2.4.
    pub fn create_dynamic(communicator: &Communicator, hints: Hints) -> Result<Self> {
        let extent = Extent { size: 0, unit: 1 };
        let making = Making::begin(communicator, (Flavor::Dynamic, extent), 0, hints)?;
        let memory = Memory::given(Span::EMPTY, making.place());
        making.finish_far(memory)
    }
}

fn tell(communicator: &Communicator, words: Vec<u64>) -> Result<Vec<Vec<u64>>> {
    let operation = Operation::WinCreate;
    communicator.run(&Told { operation, words })
}

impl Making {
    /// Tells all processes what this one brings.
    fn begin(
        communicator: &Communicator,
        (flavor, extent): (Flavor, Extent),
        base: u64,
        hints: Hints,
    ) -> Result<Self> {
        if communicator.is_inter() {
            let why = "a window is not made with an intercommunicator";
            return Err(Cause::Communicator(why).into());
        }
        let communicator = communicator.dup()?;
        let is_apart = u64::from(hints.is_noncontiguous);
        let words = vec![
            flavor as u64,
            extent.size,
            extent.unit.into(),
            base,
            is_apart,
        ];
        let all = tell(&communicator, words)?;
        let rank_of_other = all.iter().position(|words| words[0] != flavor as u64);
        if let Some(other) = rank_of_other {
            let why = format!(
                "rank {} and rank {other} of the communicator make windows of different kinds: all \
                 processes must call the same function",
                communicator.rank()
            );
            return Err(Cause::Collective(why.into()).into());
        }
        // All processes must pass the same; if they do not, more room than asked for is no harm.
        let mut hints = hints;
        hints.is_noncontiguous = all.iter().any(|words| words[4] == 1);
        let extent = |words: &Vec<u64>| Extent {
            size: words[1],
            unit: words[2] as u32,
        };
        Ok(Self {
            communicator,
            flavor,
            extents: all.iter().map(extent).collect(),
            bases: all.iter().map(|words| words[3]).collect(),
            hints,
            title: Title::default(),
        })
    }

    fn place(&self) -> (u32, usize) {
        (self.communicator.rank(), self.extents.len())
    }

    /// The node, if all processes are on it and share memory.
    fn node(&self) -> Option<Arc<Node>> {
        let node = self.communicator.engine().with(|lane| lane.node())?;
        let locals = near::locals(&self.communicator, &node);
        (locals.len() == self.extents.len()).then_some(node)
    }

    /// Returns true if that is so at all processes.
    fn all_agree(&self, is_so: bool) -> Result<bool> {
        let all = tell(&self.communicator, vec![u64::from(is_so)])?;
        Ok(all.iter().all(|words| words[0] == 1))
    }

    /// Returns what was made here, if all processes have made theirs.
    ///
    /// # Errors
    /// That of this process, or `NoMem` with the rank of another one.
    fn all_succeed<T>(&self, made: Result<T>) -> Result<T> {
        let words = vec![u64::from(made.is_ok())];
        let all = tell(&self.communicator, words)?;
        let made = made?;
        match all.iter().position(|words| words[0] == 0) {
            None => Ok(made),
            Some(rank) => Err(wrong(
                Class::NoMem,
                format!("rank {rank} of the communicator could not get its memory"),
            )),
        }
    }

    /// Memory that ranks of one host share although their messages do not go through any.
    fn shared_without_node(&self) -> Result<Memory> {
        let me = self.communicator.rank();
        let is_apart = memory::is_apart(self.flavor, self.hints.is_noncontiguous);
        let sized = memory::parts_of(&self.extents, is_apart);
        let made = match (&sized, me) {
            (Ok((_, bytes)), 0) => memory::make_arena(*bytes).map(Some),
            _ => Ok(None),
        };
        let place = match &made {
            Ok(Some((_, descriptor))) => memory::place_of(descriptor),
            _ => [0, 0],
        };
        let all = tell(&self.communicator, place.to_vec())?;
        let place = [all[0][0], all[0][1]];
        let arena = match made {
            Ok(Some((arena, descriptor))) => Ok((arena, Some(descriptor))),
            Ok(None) => {
                let (_, bytes) = sized.clone()?;
                memory::open_arena(place, bytes).map(|arena| (arena, None))
            }
            Err(error) => Err(error),
        };
        // The descriptor stays open until all have come here.
        let (arena, _descriptor) = self.all_succeed(arena)?;
        let (parts, _) = sized?;
        Ok(Memory::parts(&Arc::new(arena), (0, me), &parts))
    }

    /// Memory that all processes map.
    fn arena(&self, node: &Node, bytes: u64) -> Result<Arc<Arena>> {
        // Nobody waits for what the first process cannot make.
        let can_make = match self.communicator.rank() {
            0 => memory::make_arena(bytes).map(drop),
            _ => Ok(()),
        };
        self.all_succeed(can_make)?;
        self.all_succeed(memory::arena_near(&self.communicator, node, bytes))
    }

    /// A window whose memory is a part of an arena.
    fn finish_allocated(self, node: &Arc<Node>) -> Result<Window> {
        let me = self.communicator.rank();
        let is_apart = memory::is_apart(self.flavor, self.hints.is_noncontiguous);
        let (parts, bytes) = memory::parts_of(&self.extents, is_apart)?;
        let first = memory::whole_pages(near::bytes_of(self.extents.len()));
        let arena = self.arena(node, first.saturating_add(bytes))?;
        let memory = Memory::parts(&arena, (first, me), &parts);
        Ok(self.finish_mapped(node, arena, memory))
    }

    /// A window whose memory is mapped by all processes.
    fn finish_mapped(self, node: &Arc<Node>, arena: Arc<Arena>, memory: Memory) -> Window {
        let places = memory.mapped.iter().flatten();
        let places = places.map(|span| RankMemory::here(*span)).collect();
        let near = Near::new(&self.communicator, node, arena, places, &self.title);
        self.finish(memory, Means::Near(near), Arc::default())
    }

    /// A window of memory of the program: all processes map it, or the system copies it from
    /// process to process. All of it in one way, since atomic operations must be.
    fn finish_lent(self, node: &Arc<Node>, own: Span) -> Result<Window> {
        let size = self.extents.len();
        let arena = self.arena(node, near::bytes_of(size))?;
        if size > 1
            && self
                .extents
                .iter()
                .all(|extent| in_place::moves(extent.size))
        {
            match self.move_and_map(node, own)? {
                (Some(loan), Some(mapped)) => {
                    let memory = Memory::lent((own, self.communicator.rank()), mapped, loan);
                    return Ok(self.finish_mapped(node, arena, memory));
                }
                (Some(loan), None) => memory::end_loan(self.communicator.engine(), &loan),
                (None, _) => {}
            }
        }
        self.finish_copied(node, arena, own)
    }

    /// Moves the memory of this process, and maps what the others have moved. Returns the loan if
    /// it has moved, and the mappings by rank if all have moved and mapped.
    fn move_and_map(&self, node: &Arc<Node>, own: Span) -> Result<(Option<Loan>, Option<Views>)> {
        let engine = self.communicator.engine();
        let may_move = node.shares_memory_of_programs();
        let act = |still: &Still<'_>| Loan::of_moved(still, node.lending(), own);
        let moved = may_move.then(|| while_still(engine, act)).flatten();
        let (loan, place) = moved.flatten().unzip();
        let [process, number] = place.unwrap_or_default();
        let words = vec![u64::from(loan.is_some()), process, number];
        let all = tell(&self.communicator, words)?;
        if all.iter().any(|words| words[0] == 0) {
            return Ok((loan, None));
        }
        let locals = near::locals(&self.communicator, node);
        let me = self.communicator.rank() as usize;
        let view = |(rank, words): (usize, &Vec<u64>)| {
            let (base, len) = (self.bases[rank], self.extents[rank].size);
            if rank == me || len == 0 {
                return Some(None);
            }
            let image = ([words[1], words[2]], node.witness_of(locals[rank]));
            in_place::view(image, (base, len)).ok().map(Some)
        };
        let views: Option<Views> = all.iter().enumerate().map(view).collect();
        let have_all = self.all_agree(views.is_some())?;
        Ok((loan, views.filter(|_| have_all)))
    }

    /// A window of memory that the system copies from process to process, if it does that for all.
    fn finish_copied(self, node: &Arc<Node>, arena: Arc<Arena>, own: Span) -> Result<Window> {
        let me = self.communicator.rank();
        let locals = near::locals(&self.communicator, node);
        let place = |rank: usize| match rank == me as usize {
            true => Some(RankMemory::here(own)),
            false => RankMemory::there(node, locals[rank], self.bases[rank]),
        };
        let places: Option<Vec<_>> = (0..locals.len()).map(place).collect();
        match (self.all_agree(places.is_some())?, places) {
            (true, Some(places)) => {
                let memory = Memory::copied(node, own, self.place());
                let near = Near::new(&self.communicator, node, arena, places, &self.title);
                Ok(self.finish(memory, Means::Near(near), Arc::default()))
            }
            _ => {
                let memory = Memory::given(own, self.place());
                self.finish_far(memory)
            }
        }
    }

    /// A window whose operations are messages. All have opened its port when this returns.
    fn finish_far(self, own: Memory) -> Result<Window> {
        let attached = Arc::<Mutex<Attached>>::default();
        let is_dynamic = self.flavor == Flavor::Dynamic;
        let far = Far::new(
            &self.communicator,
            (own.own, self.flavor == Flavor::Shared),
            is_dynamic.then(|| Arc::clone(&attached)),
            &self.title,
        );
        self.all_agree(true)?;
        Ok(self.finish(own, Means::Far(far), attached))
    }

    fn finish(self, memory: Memory, means: Means, attached: SharedAttached) -> Window {
        let epochs = Epochs::new(self.extents.len());
        Window {
            inner: Arc::new(Inner {
                communicator: self.communicator,
                flavor: self.flavor,
                extents: self.extents,
                epochs,
                means,
                memory,
                attached,
                hints: Mutex::new(self.hints),
                title: self.title,
            }),
        }
    }
}
