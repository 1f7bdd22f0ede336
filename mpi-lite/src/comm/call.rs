//! Which collective operation a process is in. Each of its messages says it, so that the error says
//! which ones were called if the processes of a program call different ones.

use std::fmt;

use crate::engine::AtSite;
use crate::error::{Cause, Error};
use crate::node::site::{About, Before, Straggler};

/// Bits of the operation in a tag; the root is above them. [`About`] has as many.
const KIND_BITS: u32 = 6;

/// Bits of the root in a tag, which is one more there. The form has the two bits that are left; so
/// a tag may be negative, unlike those of the program.
const ROOT_BITS: u32 = 24;

/// How an operation is called: of which form all processes must call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The call returns when it is over.
    Blocking,
    /// It goes on beside the program.
    Nonblocking,
    /// It goes on beside the program, as often as it is started.
    Persistent,
}

macro_rules! operations {
    ($($name:ident = $number:literal, $text:literal;)*) => {
        /// A collective operation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Operation { $($name = $number,)* }

        impl Operation {
            pub(crate) fn of(number: u32) -> Option<Self> {
                match number { $($number => Some(Self::$name),)* _ => None }
            }

            pub(crate) fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

operations! {
    Barrier = 1, "MPI_Barrier";
    Allreduce = 2, "MPI_Allreduce";
    Bcast = 3, "MPI_Bcast";
    Reduce = 4, "MPI_Reduce";
    Allgather = 5, "MPI_Allgather";
    Allgatherv = 17, "MPI_Allgatherv";
    Alltoall = 6, "MPI_Alltoall";
    Alltoallv = 7, "MPI_Alltoallv or MPI_Alltoallw";
    Gather = 9, "MPI_Gather";
    Gatherv = 10, "MPI_Gatherv";
    ReduceScatter = 11, "MPI_Reduce_scatter";
    ReduceScatterBlock = 12, "MPI_Reduce_scatter_block";
    Scan = 13, "MPI_Scan";
    Exscan = 14, "MPI_Exscan";
    Scatter = 15, "MPI_Scatter";
    Scatterv = 16, "MPI_Scatterv";
    NeighborAllgather = 18, "MPI_Neighbor_allgather";
    NeighborAllgatherv = 19, "MPI_Neighbor_allgatherv";
    NeighborAlltoall = 20, "MPI_Neighbor_alltoall";
    NeighborAlltoallv = 21, "MPI_Neighbor_alltoallv or MPI_Neighbor_alltoallw";
    Create = 8, "the creation of a communicator";
    FileOpen = 22, "MPI_File_open";
    FileClose = 23, "MPI_File_close";
    FileSetView = 24, "MPI_File_set_view";
    FileSetSize = 25, "MPI_File_set_size";
    FilePreallocate = 26, "MPI_File_preallocate";
    FileSetInfo = 27, "MPI_File_set_info";
    FileSetAtomicity = 28, "MPI_File_set_atomicity";
    FileSync = 29, "MPI_File_sync";
    FileSeekShared = 30, "MPI_File_seek_shared";
    FileReadAll = 31, "MPI_File_read_all";
    FileWriteAll = 32, "MPI_File_write_all";
    FileReadAtAll = 33, "MPI_File_read_at_all";
    FileWriteAtAll = 34, "MPI_File_write_at_all";
    FileReadOrdered = 35, "MPI_File_read_ordered";
    FileWriteOrdered = 36, "MPI_File_write_ordered";
    WinCreate = 37, "the creation of a window";
    WinFence = 38, "MPI_Win_fence";
    WinFree = 39, "MPI_Win_free";
}

/// An operation with its root, if it has one. All processes must call the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    operation: Operation,
    root: Option<u32>,
    form: Form,
}

impl Call {
    /// The creation of a communicator.
    pub(crate) const CREATE: Self = Self::of_all(Operation::Create);

    /// An operation without a root.
    pub(crate) const fn of_all(operation: Operation) -> Self {
        Self {
            operation,
            root: None,
            form: Form::Blocking,
        }
    }

    /// An operation with a root.
    pub(crate) fn rooted(operation: Operation, root: i32) -> Self {
        Self {
            operation,
            root: u32::try_from(root).ok(),
            form: Form::Blocking,
        }
    }

    /// An operation of an epoch, with its root if it has one.
    fn with(operation: Operation, root: u32) -> Self {
        use Operation::{Bcast, Gather, Reduce, Scatter};
        match operation {
            Bcast | Gather | Reduce | Scatter => Self::rooted(operation, root.cast_signed()),
            _ => Self::of_all(operation),
        }
    }

    /// Returns this call with no word of its root.
    pub(crate) fn without_root(self) -> Self {
        Self { root: None, ..self }
    }

    /// Returns this call in another form.
    pub(crate) fn in_form(self, form: Form) -> Self {
        Self { form, ..self }
    }

    /// What a member came to an epoch for, in words.
    pub(crate) fn of_epoch(about: About) -> String {
        let Some(operation) = Operation::of(about.kind().into()) else {
            return "another operation".into();
        };
        let call = Self::with(operation, about.root());
        match (operation, about.bytes()) {
            // A receiver of a broadcast does not know how long it is; the lengths of blocks that
            // differ are not told either.
            (_, 0) | (Operation::Create, _) => call.to_string(),
            (_, bytes) => format!("{call} of {bytes} bytes"),
        }
    }

    /// What the epoch before was, in words.
    pub(crate) fn of_before(before: Before) -> String {
        match Operation::of(before.kind().into()) {
            None => "nothing".into(),
            Some(operation) => Self::with(operation, before.root()).to_string(),
        }
    }

    /// The call of a message that nobody received, in words.
    pub(crate) fn name_of(tag: i32) -> String {
        Self::of_tag(tag).map_or("another operation".into(), |call| call.to_string())
    }

    /// The name of the blocking function of the operation whose messages have this tag; of two
    /// functions that are one operation the first. `None` of what is no function.
    #[must_use]
    pub fn operation_name(tag: i32) -> Option<&'static str> {
        Self::of_tag(tag)?.operation.name().split(" or ").next()
    }

    /// The call of messages with this tag, in words, and its root.
    pub(crate) fn in_parts(tag: i32) -> (String, Option<u32>) {
        let call = Self::of_tag(tag);
        let name = call.map(|call| Self { root: None, ..call }.to_string());
        (name.unwrap_or_default(), call.and_then(|call| call.root))
    }

    /// The tag of its messages. Ranks are below 2^24 - 1.
    pub(crate) fn tag(self) -> i32 {
        let root = self.root.map_or(0, |root| root + 1);
        let form = (self.form as u32) << (KIND_BITS + ROOT_BITS);
        (form | root << KIND_BITS | self.operation as u32).cast_signed()
    }

    fn of_tag(tag: i32) -> Option<Self> {
        let word = tag.cast_unsigned();
        let operation = Operation::of(word & ((1 << KIND_BITS) - 1))?;
        let root = word >> KIND_BITS & ((1 << ROOT_BITS) - 1);
        Some(Self {
            operation,
            root: root.checked_sub(1),
            form: match word >> (KIND_BITS + ROOT_BITS) {
                0 => Form::Blocking,
                1 => Form::Nonblocking,
                _ => Form::Persistent,
            },
        })
    }

    /// The error of the process of rank `me` that is in this call and met a message of another one,
    /// with `tag`, from rank `other`.
    #[cold]
    pub(crate) fn met(self, me: u32, (other, tag): (u32, i32)) -> Error {
        mismatch((me, &self.to_string()), (other, &Self::name_of(tag)))
    }
}

/// The error for two processes that are not in the same operation: their ranks and calls, the own
/// first.
#[cold]
pub(crate) fn mismatch((me, mine): (u32, &str), (other, theirs): (u32, &str)) -> Error {
    Cause::Mismatch {
        me,
        mine: mine.into(),
        other,
        theirs: theirs.into(),
    }
    .into()
}

/// An error of an epoch; in words that name calls and ranks if members came for different
/// operations. The other members are told of those, since this process does not stay.
#[cold]
pub(crate) fn in_words(at_site: AtSite<'_>, error: Error) -> Error {
    match error.cause() {
        Cause::Stray { .. } | Cause::MismatchAtSite { .. } => {
            let error = mismatch_in_words(at_site, error);
            give_up_at(at_site, &error);
            error
        }
        _ => error,
    }
}

/// Tells the other members that this one gave up, and why.
pub(crate) fn give_up_at(at_site: AtSite<'_>, error: &Error) {
    let me = at_site.site().me();
    at_site.give_up(
        error,
        &format!("rank {me} of the communicator gave up: {error}"),
    );
}

fn mismatch_in_words(at_site: AtSite<'_>, error: Error) -> Error {
    let site = at_site.site();
    let me = site.me() as u32;
    match *error.cause() {
        Cause::Stray {
            source_rank,
            tag,
            mine,
        } => {
            let mine = Call::of_epoch(About::decode(mine));
            mismatch((me, &mine), (source_rank, &Call::name_of(tag)))
        }
        Cause::MismatchAtSite { rank, mine, theirs } => {
            let [mine, theirs] = [mine, theirs].map(About::decode);
            // The last member to come reports a mismatch without a rank. Then this one looks for
            // the rank: all have been counted by then.
            let silent = || (0..site.size()).find(|&rank| !site.has_come(rank));
            let found = || {
                let found = site.mismatch(mine);
                found.or_else(|| silent().map(|rank| (rank, About::NONE)))
            };
            let known = rank.map(|rank| (rank, theirs));
            let known = known.or_else(|| found().map(|(rank, theirs)| (rank as u32, theirs)));
            match known {
                Some(other) => mismatch_at_site((me, mine), other),
                None => mismatch_somewhere(mine, theirs),
            }
        }
        _ => error,
    }
}

/// The error for two ranks that did not come for the same, the own first.
#[cold]
pub(crate) fn mismatch_at_site((me, mine): (u32, About), (other, theirs): (u32, About)) -> Error {
    if mismatched_before(mine, theirs) {
        return mismatch_before(&format!("rank {other}"), mine, theirs);
    }
    let theirs = match theirs {
        // No other operation counts its members without a line from each.
        About::NONE => Call::of_all(Operation::Barrier).to_string(),
        theirs => Call::of_epoch(theirs),
    };
    mismatch((me, &Call::of_epoch(mine)), (other, &theirs))
}

/// The error for a member that missed an operation to which another one came.
#[cold]
pub(crate) fn missed_at_site(straggler: Straggler) -> Error {
    let Straggler {
        rank,
        ahead,
        missed,
    } = straggler;
    let missed = Call::of_epoch(missed.unwrap_or(About::NONE));
    let why = format!(
        "rank {ahead} of the communicator called {missed}, which rank {rank} never called: all \
         processes of a communicator must call the same collective operations in the same order, \
         with the same root"
    );
    Cause::Collective(why.into()).into()
}

/// The error for a mismatch that the last member to come has reported: the rank is unknown.
fn mismatch_somewhere(mine: About, theirs: About) -> Error {
    if mismatched_before(mine, theirs) {
        return mismatch_before("another rank", mine, theirs);
    }
    let [mine, theirs] = [mine, theirs].map(Call::of_epoch);
    let why = format!(
        "this process called {mine} but another rank called {theirs}: all processes of the \
         communicator must call the same collective operations in the same order, with the same \
         root"
    );
    Cause::Collective(why.into()).into()
}

/// Returns true if two members were in different calls before this one. Each line contains both.
fn mismatched_before(mine: About, theirs: About) -> bool {
    let is_same = (mine.kind(), mine.root()) == (theirs.kind(), theirs.root());
    is_same && mine.before() != theirs.before()
}

/// The error for members whose calls before this one differed; `other` names the other member.
fn mismatch_before(other: &str, mine: About, theirs: About) -> Error {
    let [mine, theirs] = [mine, theirs].map(|about| Call::of_before(about.before()));
    let why = format!(
        "in the collective call before this one, this process called {mine} but {other} called \
         {theirs}: all processes of the communicator must call the same collective operations in \
         the same order, with the same root"
    );
    Cause::Collective(why.into()).into()
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.operation.name();
        match (self.form, name.strip_prefix("MPI_")) {
            (Form::Nonblocking, Some(name)) if name.starts_with("File_") => {
                let name = name.trim_start_matches("File_");
                write!(f, "MPI_File_i{name}")?;
            }
            (Form::Nonblocking, Some(name)) => {
                let (first, rest) = name.split_at(1);
                write!(f, "MPI_I{}{rest}", first.to_lowercase())?;
            }
            (Form::Persistent, _) => write!(f, "{name}_init")?,
            _ => f.write_str(name)?,
        }
        match self.root {
            Some(root) => write!(f, "(root {root})"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_known_again_by_its_tag() {
        for number in 1..=36 {
            let operation = Operation::of(number).unwrap();
            for call in [
                Call::of_all(operation),
                Call::rooted(operation, 0),
                Call::rooted(operation, (1 << 24) - 2),
            ] {
                for form in [Form::Blocking, Form::Nonblocking, Form::Persistent] {
                    let call = call.in_form(form);
                    assert_ne!(call.tag(), 0);
                    assert_eq!(Call::of_tag(call.tag()), Some(call));
                }
            }
        }
    }

    #[test]
    fn a_call_is_named_as_the_program_called_it() {
        let call = Call::rooted(Operation::Bcast, 2);
        for (form, name) in [
            (Form::Blocking, "MPI_Bcast(root 2)"),
            (Form::Nonblocking, "MPI_Ibcast(root 2)"),
            (Form::Persistent, "MPI_Bcast_init(root 2)"),
        ] {
            assert_eq!(call.in_form(form).to_string(), name);
        }
    }

    #[test]
    fn a_call_names_its_bytes_once_and_only_if_they_are_known() {
        for (operation, bytes, words) in [
            (Operation::Allgather, 4, "MPI_Allgather of 4 bytes"),
            (Operation::Alltoallv, 0, "MPI_Alltoallv or MPI_Alltoallw"),
            (Operation::Bcast, 0, "MPI_Bcast(root 3)"),
            (Operation::Bcast, 4, "MPI_Bcast(root 3) of 4 bytes"),
            (Operation::Create, 64, "the creation of a communicator"),
        ] {
            let about = About::new(operation as u8, 3, bytes);
            assert_eq!(Call::of_epoch(about), words);
        }
    }

    #[test]
    fn the_error_for_different_calls_names_both() {
        let mine = Call::rooted(Operation::Bcast, 1);
        let theirs = Call::of_all(Operation::Allreduce).tag();
        let text = mine.met(1, (0, theirs)).to_string();
        let words = "rank 1 of the communicator called MPI_Bcast(root 1) but rank 0 called \
                     MPI_Allreduce: ";
        assert!(text.starts_with(words), "{text}");
    }
}
