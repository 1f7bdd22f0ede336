//! What the ranks of a node are bound to.

use nix::sched::CpuSet;

use crate::failure::Failure;
use crate::node::binding;
use crate::node::cores::Machine;
use crate::wire::{Report, Start};

/// The CPUs of each rank of a node.
#[derive(Debug, Default)]
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
        let mut bound = Bound::default();
        if start.reports_bindings {
            bound.texts = vec!["not bound".into(); ranks];
        }
        let Some(wish) = &start.binding else {
            return Ok(bound);
        };
        let machine = Machine::here();
        let Some(sets) = binding::bind(&machine, ranks, wish).map_err(Failure::launch)? else {
            return Ok(bound);
        };
        for (text, cpus) in bound.texts.iter_mut().zip(&sets) {
            *text = binding::describe(&machine, wish.to, cpus);
        }
        let sets = sets.iter().map(|cpus| set_of(cpus));
        bound.sets = sets.collect::<Result<_, _>>()?;
        Ok(bound)
    }

    /// The CPUs of the rank at this place, if it is bound.
    pub(super) fn cpus(&self, place: usize) -> Option<CpuSet> {
        self.sets.get(place).copied()
    }

    /// A report for each rank if the order to start asks for it.
    pub(super) fn reports(&self, start: &Start) -> Vec<Report> {
        let ranks = start.ranks.iter().copied().zip(self.texts.iter().cloned());
        ranks
            .map(|(rank, text)| Report::Bound { rank, text })
            .collect()
    }
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
