//! The info keys of windows. Source: MPI 5.0, 12.2.1, 12.2.3 and 12.2.7.

use super::extent::Flavor;

/// What the program promises, and how it wants its memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hints {
    /// No passive target: the program never locks.
    no_locks: bool,
    /// Each process may have its memory on pages of its own.
    pub(super) is_noncontiguous: bool,
    same_size: bool,
    same_unit: bool,
    ordering: String,
    operations: &'static str,
    granularity: u64,
}

/// Which operations may meet at an element.
const OPERATIONS: [&str; 2] = ["same_op_no_op", "same_op"];

/// The orders between accumulates. More order than asked for is always allowed.
const ORDERS: [&str; 4] = ["rar", "raw", "war", "waw"];

impl Default for Hints {
    fn default() -> Self {
        Self {
            no_locks: false,
            is_noncontiguous: false,
            same_size: false,
            same_unit: false,
            ordering: ORDERS.join(","),
            operations: OPERATIONS[0],
            granularity: 0,
        }
    }
}

impl Hints {
    /// Takes a hint of the standard over. Other keys, and values that mean nothing, are ignored.
    pub fn set(&mut self, key: &str, value: &str) {
        let is_true = match value {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        };
        let flag = match key {
            "no_locks" => &mut self.no_locks,
            "same_size" => &mut self.same_size,
            "same_disp_unit" => &mut self.same_unit,
            "alloc_shared_noncontig" => &mut self.is_noncontiguous,
            "accumulate_ordering" => {
                let mut orders = value.split(',');
                if value == "none" || orders.all(|order| ORDERS.contains(&order)) {
                    self.ordering = value.into();
                }
                return;
            }
            "accumulate_ops" => {
                let known = OPERATIONS.iter().find(|known| **known == value);
                self.operations = known.unwrap_or(&self.operations);
                return;
            }
            "mpi_accumulate_granularity" => {
                self.granularity = value.parse().unwrap_or(self.granularity);
                return;
            }
            _ => return,
        };
        *flag = is_true.unwrap_or(*flag);
    }

    /// All hints in use.
    pub(super) fn in_use(&self, flavor: Flavor) -> Vec<(&'static str, String)> {
        let mut all = vec![
            ("no_locks", self.no_locks.to_string()),
            ("accumulate_ordering", self.ordering.clone()),
            ("accumulate_ops", self.operations.into()),
            ("mpi_accumulate_granularity", self.granularity.to_string()),
            ("same_size", self.same_size.to_string()),
            ("same_disp_unit", self.same_unit.to_string()),
        ];
        if flavor == Flavor::Shared {
            let value = self.is_noncontiguous.to_string();
            all.push(("alloc_shared_noncontig", value));
        }
        all
    }
}
