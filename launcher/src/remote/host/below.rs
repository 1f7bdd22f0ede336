//! What a host has below it: others that are reached through its agent.

use crate::wire::Up;

/// What a node has to do with the hosts below it.
#[derive(Debug, Default)]
pub struct Below {
    /// How many there are.
    others: usize,
    /// What has come from them.
    ups: Vec<(u32, Up)>,
    /// All ranks of this node ended.
    is_done: bool,
}

impl Below {
    /// One more host hangs on this one.
    pub fn add(&mut self) {
        self.others += 1;
    }

    /// What has come from the hosts below.
    pub fn ups(&mut self) -> Vec<(u32, Up)> {
        std::mem::take(&mut self.ups)
    }

    /// Enters what has come from a host below.
    pub(super) fn push(&mut self, node: u32, up: Up) {
        self.ups.push((node, up));
    }

    /// One host fewer hangs on this one. Returns true if the agent may end now.
    pub(super) fn remove(&mut self) -> bool {
        self.others = self.others.saturating_sub(1);
        self.others == 0 && self.is_done
    }

    /// All ranks of the node ended. Returns true if the agent may end now.
    pub(super) fn note_done(&mut self) -> bool {
        self.is_done = true;
        self.others == 0
    }

    /// Returns true if all ranks of the node ended.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// How many hosts are lost with this one, as a part of a line.
    pub(super) fn losses(&self) -> String {
        match self.others {
            0 => String::new(),
            1 => ", through which 1 other host was reached".into(),
            others => format!(", through which {others} other hosts were reached"),
        }
    }
}
