//! Endpoints over a faulty network in virtual time, checked after each step.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rmpp_core::{Endpoint, IncomingId, Instant, Landing, NodeId, Rng};

use super::checker::{Checker, Verdict, hold};
use super::network::{Faults, Network};
use super::node::{Node, Packet};
use super::plan::Plan;

/// The cookie of the simulated job (rule E).
pub(super) const COOKIE: u64 = 0xc00c_1e00;
/// I16: so long after the network has healed all must be done.
pub(super) const HEALING_NS: u64 = 10_000_000_000;
/// So long one packet type alone may be lost.
const ONE_KIND_NS: u64 = 2_000_000_000;
/// I15: no run takes this many steps, with [`STEPS_PER_MS`] on top. Without any extension a message
/// of many packets begins anew from the first after each timeout: of 200,000 worlds two took
/// 741,068 and 626,968, the mean is 6,440.
const MOST_STEPS: u64 = 3_000_000;
/// I15: steps for each millisecond that passes. While one of 64 nodes sleeps for minutes, the
/// others may go on asking all the time, without any extension 70 times in a millisecond.
const STEPS_PER_MS: u64 = 200;
/// I15: this many packets are never under way at a time.
pub(super) const MOST_UNDER_WAY: usize = 1_000_000;
/// How many packets that fail rule S are thrown in.
pub(super) const MOST_FORGED: u32 = 300;

/// The totals of a run that kept all invariants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Messages sent.
    pub messages: u64,
    /// Packets handed to the network.
    pub packets: u64,
    /// Steps taken, each of them checked.
    pub steps: u64,
    /// Digest of everything that happened, in order.
    pub digest: u64,
    /// Virtual time that passed, in nanoseconds.
    pub virtual_ns: u64,
}

/// Something that is to happen.
#[derive(Clone, Debug)]
pub(super) enum Act {
    Send,
    Abort(u32),
    Land(u32, IncomingId, u32, Landing),
    Sleep(usize),
    Wake(u32),
    Cut(usize),
    Clog(usize),
    Late(NodeId, NodeId, Packet),
    Unstall(u32),
    StartTimers(u32),
    Forge,
    MendKind,
    Heal,
}

/// A run. Everything in it follows from its plan.
pub struct World {
    pub(super) plan: Plan,
    pub(super) rng: Rng,
    /// For what a driver may do so or so.
    pub(super) whims: Rng,
    pub(super) now: Instant,
    pub(super) nodes: Vec<Node>,
    pub(super) network: Network<Packet>,
    pub(super) checker: Checker,
    /// When what is to happen; the list beside it holds what.
    pub(super) agenda: BinaryHeap<Reverse<(Instant, usize)>>,
    pub(super) acts: Vec<Option<Act>>,
    pub(super) free_acts: Vec<usize>,
    pub(super) to_send: u32,
    pub(super) forged: u32,
    pub(super) calm: bool,
    pub(super) healed: Option<Instant>,
    pub(super) verbose: bool,
    pub(super) report: Report,
}

impl World {
    /// The beginning of the run that `plan` describes; `verbose` prints one line per event.
    #[must_use]
    pub fn new(plan: Plan, verbose: bool) -> Self {
        let config = &plan.config;
        let nodes = (0..config.nodes).map(|node| {
            let mut own = config.clone();
            own.seed = plan.seed ^ u64::from(node);
            // A node that sleeps must not blame the others for it (rule T).
            if plan.pauses.iter().any(|pause| pause.node == node) {
                own.lost_after = Some(std::time::Duration::from_secs(120));
            }
            Node::new(Endpoint::new(NodeId(node), own))
        });
        let mut world = Self {
            rng: Rng::new(plan.seed),
            whims: Rng::new(plan.seed ^ 0x3_81b5),
            now: Instant::ZERO,
            nodes: nodes.collect(),
            network: Network::new(plan.seed ^ 0x2e7, plan.faults.clone()),
            checker: Checker::new(config),
            agenda: BinaryHeap::new(),
            acts: Vec::new(),
            free_acts: Vec::new(),
            to_send: plan.messages,
            forged: 0,
            calm: plan.is_calm(),
            healed: None,
            verbose,
            report: Report::default(),
            plan,
        };
        world.fill_agenda();
        world
    }

    /// Runs to the end, checking each step.
    ///
    /// # Errors
    /// Says which invariant was broken when, and by what.
    pub fn run(mut self) -> Result<Report, String> {
        let seed = self.plan.seed;
        let verdict = self.run_to_end();
        if let (true, Err(violation)) = (self.verbose, &verdict) {
            std::println!("{:>15} violation: {violation}", self.now.0);
        }
        verdict.map_err(|violation| format!("seed {seed}, at {} ns: {violation}", self.now.0))?;
        self.report.messages = self.checker.messages.len() as u64;
        self.report.virtual_ns = self.now.0;
        Ok(self.report)
    }

    fn run_to_end(&mut self) -> Verdict {
        while !self.is_over() {
            let Some(at) = self.next_moment() else {
                return Err(String::from("I16: nothing will ever happen again"));
            };
            self.now = self.now.max(at);
            self.check_healing()?;
            self.happen()?;
            self.report.steps += 1;
            let most = MOST_STEPS + STEPS_PER_MS * (self.now.0 / 1_000_000);
            hold!(self.report.steps < most, "I15: {most} steps and no end");
        }
        self.check_end()
    }

    fn fill_agenda(&mut self) {
        self.schedule(Instant::ZERO, Act::Send);
        for at in 0..self.plan.pauses.len() {
            let pause = self.plan.pauses[at];
            self.schedule(Instant(pause.at_ns), Act::Sleep(at));
            if pause.span_ns < u64::MAX {
                self.schedule(Instant(pause.at_ns + pause.span_ns), Act::Wake(pause.node));
            }
        }
        for at in 0..self.plan.cuts.len() {
            self.schedule(Instant(self.plan.cuts[at].at_ns), Act::Cut(at));
        }
        for at in 0..self.plan.clogs.len() {
            self.schedule(Instant(self.plan.clogs[at].at_ns), Act::Clog(at));
        }
        self.schedule(Instant(ONE_KIND_NS), Act::MendKind);
        if self.plan.forge_ns > 0 {
            self.schedule(Instant::ZERO, Act::Forge);
        }
    }

    pub(super) fn schedule(&mut self, at: Instant, act: Act) {
        let slot = self.free_acts.pop().unwrap_or(self.acts.len());
        if slot == self.acts.len() {
            self.acts.push(None);
        }
        self.acts[slot] = Some(act);
        self.agenda.push(Reverse((at, slot)));
    }

    fn is_over(&self) -> bool {
        let dead = self.plan.dead();
        let quiet = |(_, node): (u32, &Node)| node.endpoint.state().is_quiet;
        self.healed.is_some()
            && self.checker.unfinished == 0
            && (0..)
                .zip(&self.nodes)
                .filter(|(n, _)| Some(*n) != dead)
                .all(quiet)
    }

    fn next_moment(&self) -> Option<Instant> {
        let planned = self.agenda.peek().map(|entry| entry.0.0);
        let awake = self.nodes.iter().filter(|node| !node.asleep);
        let timers = awake.filter_map(|node| node.endpoint.state().next_timeout);
        timers
            .chain(planned)
            .chain(self.network.next_delivery())
            .min()
    }

    /// Everything that is due now.
    fn happen(&mut self) -> Verdict {
        while let Some((from, to, packet)) = self.network.deliver(self.now) {
            self.arrive(from, to, packet)?;
        }
        while let Some(&Reverse((at, slot))) = self.agenda.peek() {
            if at > self.now {
                break;
            }
            self.agenda.pop();
            self.free_acts.push(slot);
            let act = self.acts[slot]
                .take()
                .ok_or("an agenda entry without its act")?;
            self.act(act)?;
        }
        for node in 0..self.nodes.len() as u32 {
            self.handle_timeout(node)?;
            if self.nodes[node as usize].has_more {
                self.service(node)?;
            }
        }
        Ok(())
    }

    fn act(&mut self, act: Act) -> Verdict {
        match act {
            Act::Send => self.send(),
            Act::Abort(tag) => self.abort(tag),
            Act::Land(node, id, tag, landing) => self.land(node, id, tag, landing),
            Act::Sleep(pause) => self.fall_asleep(pause),
            Act::Wake(node) => self.wake_up(node),
            Act::Cut(at) => {
                let cut = self.plan.cuts[at];
                let until = Instant(cut.at_ns.saturating_add(cut.span_ns));
                self.network.cut(NodeId(cut.node), NodeId(cut.to), until);
                Ok(())
            }
            Act::Clog(at) => {
                let clog = self.plan.clogs[at];
                let until = Instant(clog.at_ns + clog.span_ns);
                self.network.clog(NodeId(clog.node), NodeId(clog.to), until);
                Ok(())
            }
            Act::Late(from, to, packet) => self.arrive(from, to, packet),
            Act::Unstall(node) => {
                self.nodes[node as usize].stalled = false;
                self.service(node)
            }
            Act::StartTimers(node) if self.nodes[node as usize].asleep => Ok(()),
            Act::StartTimers(node) => {
                self.start_timers(node);
                self.service(node)
            }
            Act::Forge => self.forge(),
            Act::MendKind => {
                let faults = Faults {
                    loss_of: None,
                    ..self.plan.faults.clone()
                };
                self.network.set_faults(faults);
                Ok(())
            }
            Act::Heal => self.heal(),
        }
    }

    /// One line, and one step of the digest, for each thing that happens.
    pub(super) fn note(&mut self, what: &str, node: u32, tag: u32, detail: u64) {
        let mut digest = self.report.digest;
        let words = [self.now.0, u64::from(node), u64::from(tag), detail];
        for word in what.bytes().map(u64::from).chain(words) {
            digest = (digest ^ word)
                .wrapping_mul(0x0000_0100_0000_01b3)
                .rotate_left(29);
        }
        self.report.digest = digest;
        if self.verbose {
            let tag = if tag == u32::MAX {
                String::from("-")
            } else {
                format!("{tag}")
            };
            std::println!(
                "{:>15} node {node:<3} {what:<11} message {tag:<5} {detail}",
                self.now.0
            );
        }
    }
}
