//! The invariants after each line of a script, and at its end.

use rmpp_core::{Landing, NodeId};

use super::rig::{MS, Rig};
use crate::checker::{Message, Outcome, Verdict, all_gone, hold};

/// I16: so long after the last fault all must be done, in nanoseconds.
const HEALING_NS: u64 = 10_000 * MS;
/// I15: no timer runs longer than this, in nanoseconds.
const LONGEST_TIMER_NS: u64 = 3_600_000 * MS;

impl Rig {
    /// After each line.
    pub(super) fn check(&self) -> Verdict {
        for (at, end) in (0..).zip(&self.ends).filter(|(_, end)| end.is_alive) {
            let survey = end.core.survey();
            self.checker.grants(at, &survey)?;
            // I8: a node keeps nothing beyond the messages of its driver.
            let outgoing = end.outgoing.live().count();
            let incoming = end.incoming.live().count();
            hold!(
                survey.outgoing <= outgoing && survey.incoming_live <= incoming,
                "I8: node {at} keeps {survey:?}, its driver {outgoing} out and {incoming} in"
            );
            let next = end.core.state().next_timeout;
            hold!(
                next.is_none_or(|timer| timer < self.now.plus_ns(LONGEST_TIMER_NS)),
                "I15: node {at} has a timer at {next:?}"
            );
            if let Some(id) = end.core.stranded().filter(|_| end.begun.is_empty()) {
                let tag = end.outgoing.get(id.index(), id).map(|entry| entry.1);
                return Err(format!(
                    "I5: message {tag:?} of node {at} has neither a timer nor anything to transmit"
                ));
            }
        }
        Ok(())
    }

    /// From here on nothing is lost and nobody lies: whatever nodes that are alive have for each
    /// other gets through, and what they have for a dead one ends.
    pub(super) fn finish(&mut self) -> Verdict {
        self.delay_ns = 0;
        self.ends
            .iter_mut()
            .for_each(|end| end.landing = Landing::Accept);
        let limit = self.now.plus_ns(HEALING_NS + 3 * self.lost_ns);
        loop {
            for at in 0..self.nodes() {
                self.start_timers(at);
                self.hear(at)?;
                self.land_waiting(at, Landing::Accept)?;
            }
            self.carry_all()?;
            self.check()?;
            let Some((tag, message)) = self.open() else {
                break;
            };
            let at = self.next_moment().ok_or_else(|| {
                format!("I16: nothing will ever happen again; message {tag}: {message:?}")
            })?;
            hold!(
                at <= limit,
                "I16: message {tag} is still on its way: {message:?}"
            );
            self.now = self.now.max(at);
            self.deliver()?;
            self.look_at_timers()?;
        }
        self.check_gone()
    }

    /// The first message that must still end.
    fn open(&self) -> Option<(usize, &Message)> {
        let all = self.checker.messages.iter().enumerate();
        all.filter(|(_, message)| message.outcome == Outcome::Open)
            .find(|(_, message)| {
                let (from, to) = (message.from, message.to);
                let lives = |node: u32| self.ends[node as usize].is_alive;
                let ends = lives(to) || self.lost_ns > 0;
                lives(from) && ends && self.is_honest(from, to)
            })
    }

    /// I1, I8, I11, I15: nothing is left when all nodes are honest and alive at the end.
    fn check_gone(&mut self) -> Verdict {
        let all_live = self.ends.iter().all(|end| end.is_alive);
        if self.lied || self.has_lost || !all_live {
            return Ok(());
        }
        self.run(HEALING_NS)?;
        self.checker.all_ended(None)?;
        for at in 0..self.nodes() {
            all_gone(at, &self.ends[at as usize].core, 0)?;
        }
        let numbers = |at: u32, of: u32| self.ends[at as usize].core.numbers(NodeId(of));
        for (at, to) in (0..self.nodes()).flat_map(|at| (0..at).map(move |to| (at, to))) {
            let ((a, b), (c, d)) = (numbers(at, to), numbers(to, at));
            hold!(
                (a, b) == (d, c),
                "I11: {at} and {to} disagree: {a} {b} {c} {d}"
            );
        }
        Ok(())
    }
}
