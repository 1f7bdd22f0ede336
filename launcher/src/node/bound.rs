//! What the ranks of a node are bound to.

use nix::sched::CpuSet;

use crate::failure::Failure;
use crate::node::binding::{self, Wish};
use crate::node::cores::Machine;
use crate::wire::{Report, Start};

/// The CPUs of each rank of a node.
#[derive(Debug)]
pub(super) struct Bound {
    /// By place; empty if no rank is bound.
    sets: Vec<CpuSet>,
    /// What to report about each rank; empty if nothing is asked for.
    texts: Vec<String>,
}

impl Bound {
    /// What the order to start asks for, on the machine of this process.
    pub(super) fn new(start: &Start) -> Result<Bound, Failure> {
        let ranks = start.ranks.len();
        let found = match &start.binding {
            Some(wish) => bind(ranks, wish, start.reports_bindings)?,
            None => None,
        };
        let not_bound = || Bound {
            sets: Vec::new(),
            texts: match start.reports_bindings {
                true => vec!["not bound".into(); ranks],
                false => Vec::new(),
            },
        };
        Ok(found.unwrap_or_else(not_bound))
    }

    /// The CPUs of the rank at this place, if it is bound.
    pub(super) fn cpus(&self, place: usize) -> Option<CpuSet> {
        self.sets.get(place).copied()
    }

    /// A report for each rank if the order to start asks for it.
    pub(super) fn reports(&self, start: &Start) -> Vec<Report> {
        let ranks = start.ranks.iter().zip(&self.texts);
        let report = |(rank, text): (&u32, &String)| Report::Bound {
            rank: *rank,
            text: text.clone(),
        };
        ranks.map(report).collect()
    }
}

fn bind(ranks: usize, wish: &Wish, is_told: bool) -> Result<Option<Bound>, Failure> {
    let machine = Machine::here();
    let Some(bound) = binding::bind(&machine, ranks, wish).map_err(Failure::launch)? else {
        return Ok(None);
    };
    let sets: Result<Vec<CpuSet>, Failure> = bound.iter().map(|cpus| set_of(cpus)).collect();
    let told = bound.iter().filter(|_| is_told);
    let texts = told.map(|cpus| binding::describe(&machine, wish.to, cpus));
    let texts = texts.collect();
    Ok(Some(Bound { sets: sets?, texts }))
}

fn set_of(cpus: &[u32]) -> Result<CpuSet, Failure> {
    let mut set = CpuSet::new();
    for cpu in cpus {
        set.set(*cpu as usize).map_err(|_| {
            let limit = CpuSet::count();
            Failure::launch(format!(
                "CPU {cpu} cannot be bound to: mpirun counts {limit} CPUs"
            ))
        })?;
    }
    Ok(set)
}
