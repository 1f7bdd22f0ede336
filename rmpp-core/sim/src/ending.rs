//! When a run must be over, and what must be true then.

use rmpp_core::{Instant, NodeId};

use super::checker::{Outcome, Verdict, all_gone, hold};
use super::world::{HEALING_NS, World};

impl World {
    /// I16: everything is done in time once the network has healed.
    pub(super) fn check_healing(&self) -> Verdict {
        let Some(healed) = self.healed else {
            return Ok(());
        };
        let lost_after_ns = self
            .plan
            .dead()
            .and(self.plan.config.lost_after)
            .map_or(0, |span| Instant::ZERO.plus(span).0);
        // A late copy of a dead node's packet is a sign of life.
        let late_ns = if lost_after_ns > 0 {
            self.plan.late_ns
        } else {
            0
        };
        let limit = healed.plus_ns(HEALING_NS + lost_after_ns + late_ns);
        if self.now <= limit {
            return Ok(());
        }
        let open = self
            .checker
            .messages
            .iter()
            .filter(|m| m.outcome == Outcome::Open);
        let first = open.clone().next();
        Err(format!(
            "I16: {} sends are unfinished 10 s after all faults ended; the first: {first:?}",
            open.count()
        ))
    }

    /// I5, I8, I11, I15.
    pub(super) fn check_end(&mut self) -> Verdict {
        let dead = self.plan.dead();
        self.checker.all_ended(dead)?;
        let later = self
            .now
            .plus(self.plan.config.done_state_lifetime)
            .plus_ns(3_000_000_000);
        for at in (0..self.nodes.len() as u32).filter(|at| Some(*at) != dead) {
            if self.calm {
                let kept = self.nodes[at as usize].endpoint.survey().incoming_done;
                let under_way = self.network.under_way();
                hold!(
                    kept <= under_way,
                    "I8: node {at} still remembers {kept} finished messages"
                );
            }
            let endpoint = &mut self.nodes[at as usize].endpoint;
            endpoint.handle_timeout(later);
            endpoint.handle_timeout(later);
            all_gone(at, endpoint, self.checker.orphans_of(at))?;
        }
        self.check_numbers()
    }

    /// I11: of each pair that lives.
    fn check_numbers(&self) -> Verdict {
        let dead = self.plan.dead().map(NodeId);
        let all = || (0..).map(NodeId).zip(&self.nodes);
        let alive = || all().filter(|(at, _)| Some(*at) != dead);
        for (at, node) in alive() {
            for (to, peer) in alive() {
                let (out, _) = node.endpoint.numbers(to);
                let (_, due) = peer.endpoint.numbers(at);
                hold!(
                    out == due,
                    "I11: {at} sends number {out} next, {to} expects {due}"
                );
            }
        }
        Ok(())
    }
}
