//! What each process of a file sees of it, and what the others know of that.
//!
//! Source: MPI 5.0, 14.3.

use std::sync::Arc;

use super::errors::wrong;
use super::represent::Representation;
use super::view::{Order, View};
use crate::coll::Told;
use crate::comm::{Communicator, Operation, number_of};
use crate::data::Datatype;
use crate::error::{Class, Error, Result};

impl Viewed {
    /// The file as bytes.
    pub(super) fn bytes() -> Self {
        let byte = Datatype::from(crate::data::Basic::Byte);
        Self {
            view: View::of_bytes(),
            displacement: 0,
            etype: byte.clone(),
            filetype: byte,
            representation: Representation::Native("native"),
            parties: None,
        }
    }
}

/// How the file is seen, from one `set_view` to the next.
pub(super) struct Viewed {
    pub(super) view: View,
    pub(super) displacement: u64,
    /// As the program gave them.
    pub(super) etype: Datatype,
    pub(super) filetype: Datatype,
    pub(super) representation: Representation,
    /// Who sees what, if processes may move data for each other.
    pub(super) parties: Option<Arc<Parties>>,
}

/// A view of more bytes is not told to others.
const VIEW_MOST: usize = 1 << 16;
/// All views together have at most as many.
const VIEWS_MOST: usize = 1 << 24;
/// Runs of tiles that each process keeps of all.
const RUNS_MOST: u64 = 1 << 16;

/// Who sees what of a file.
pub(super) struct Parties {
    /// By rank.
    pub(super) views: Vec<View>,
}

impl Parties {
    /// Tells all processes of the view of this one, or that it has none. Collective.
    pub(super) fn meet(
        (communicator, name): (&Communicator, &str),
        made: Result<Viewed>,
    ) -> Result<(Viewed, Option<Arc<Self>>)> {
        let operation = Operation::FileSetView;
        let mut form = Vec::new();
        let words = match &made {
            Err(_) => vec![0; 7],
            Ok(seen) => {
                seen.view.write(&mut form);
                let name = number_of(seen.representation.name().as_bytes());
                let order = seen.view.order() as u64;
                let extent = seen.etype.extent().cast_unsigned();
                let (len, runs) = (form.len() as u64, seen.view.listed_runs());
                vec![1, order, len, runs, extent, name, seen.view.unit()]
            }
        };
        let tell = |words| communicator.run(&Told { operation, words });
        let all = tell(words.clone())?;
        let seen = made?;
        let rank_of = |is: &dyn Fn(&Vec<u64>) -> bool| all.iter().position(is);
        if let Some(rank) = rank_of(&|theirs| theirs[0] == 0) {
            return Err(not_same(
                name,
                &format!("rank {rank} could not set its view"),
            ));
        }
        if let Some(rank) = rank_of(&|theirs| theirs[4..] != words[4..]) {
            let why = format!(
                "the extent of the etype or the data representation differs between rank {} and \
                 rank {rank}: all processes must pass the same",
                communicator.rank()
            );
            return Err(not_same(name, &why));
        }
        let is = |theirs: &Vec<u64>, order: Order| theirs[1] == order as u64;
        let has_gaps = !all.iter().all(|theirs| is(theirs, Order::Dense));
        let is_mixed = all.iter().any(|theirs| is(theirs, Order::Mixed));
        let most = all.iter().map(|theirs| theirs[2] as usize).max();
        let most = most.unwrap_or(0);
        let runs = all
            .iter()
            .map(|theirs| theirs[3])
            .fold(0, u64::saturating_add);
        let fits = most <= VIEW_MOST && most * all.len() <= VIEWS_MOST && runs <= RUNS_MOST;
        let views = match has_gaps && !is_mixed && fits && all.len() > 1 {
            true => Some(Arc::new(Self::told(&tell, form, (most, &all))?)),
            false => None,
        };
        Ok((seen, views))
    }

    /// Tells all processes the form of the view of this one, padded to the length of the longest.
    fn told(
        tell: &dyn Fn(Vec<u64>) -> Result<Vec<Vec<u64>>>,
        mut form: Vec<u8>,
        (most, all): (usize, &[Vec<u64>]),
    ) -> Result<Self> {
        form.resize(most.next_multiple_of(8), 0);
        let words = form
            .as_chunks()
            .0
            .iter()
            .map(|word| u64::from_ne_bytes(*word));
        let told = tell(words.collect())?;
        let view = |(words, about): (&Vec<u64>, &Vec<u64>)| {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
            let len = (about[2] as usize).min(bytes.len());
            View::read(&bytes[..len])
        };
        let views = told.iter().zip(all).map(view).collect::<Result<_>>()?;
        Ok(Self { views })
    }
}

fn not_same(name: &str, why: &str) -> Error {
    wrong(Class::NotSame, format!("{name}: {why}"))
}
