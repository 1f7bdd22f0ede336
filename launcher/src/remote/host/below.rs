//! A node that is reached through the agent of another host, and one through which others are.

use std::time::{Duration, Instant};

use super::{ENDING_LIMIT, FAREWELL, Remote, State};
use crate::cli::values::Launcher;
use crate::remote::ssh;
use crate::remote::tunnel::Tunnel;
use crate::wire::{Down, Order, Report, Up};

/// What a node has to do with other hosts.
#[derive(Debug, Default)]
pub(super) struct Below {
    /// How many hosts are reached through this one.
    others: usize,
    /// What has come from them.
    ups: Vec<(u32, Up)>,
    /// All ranks of this node ended, and others hang on it.
    is_done: bool,
    /// Why the host was not reached through another one.
    detour: Option<String>,
}

impl Below {
    /// Enters what has come from a host below.
    pub(super) fn push(&mut self, node: u32, up: Up) {
        self.ups.push((node, up));
    }

    /// Returns true if all ranks of the node ended.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }
}

impl Remote {
    /// Has the agent of another host start ssh, if it is time to. Returns true if it is.
    pub fn connect_through(&mut self, now: Instant) -> bool {
        if self.state != State::Waiting(None) || self.settings.launcher != Launcher::Ssh {
            return false;
        }
        let words = ssh::command_line(&self.settings, &self.host);
        self.go_through(Box::new(Tunnel::new(words)), now);
        true
    }

    /// Returns true if the node is reached through another host.
    pub fn has_tunnel(&self) -> bool {
        self.carrier.as_ref().is_some_and(|it| it.is_tunnel())
    }

    /// Returns true if there is no way to the node any more.
    pub fn is_gone(&self) -> bool {
        self.state == State::Over
    }

    /// The next order for the agent through which the node is reached.
    pub fn down(&mut self) -> Option<Down> {
        self.carrier.as_mut()?.tunnel()?.down()
    }

    /// Takes what has come through another host. Returns false if it cannot be.
    pub fn receive(&mut self, up: Up, now: Instant) -> bool {
        let Some(tunnel) = self.carrier.as_mut().and_then(|it| it.tunnel()) else {
            return true;
        };
        let is_last = matches!(up, Up::Ended(..) | Up::End | Up::NotExecuted(_));
        if tunnel.take(up).is_err() {
            return false;
        }
        self.ready(now);
        if is_last {
            self.notice_end(now);
        }
        true
    }

    /// What has come from the hosts below.
    pub fn ups(&mut self) -> Vec<(u32, Up)> {
        std::mem::take(&mut self.below.ups)
    }

    /// Passes an order on to a host below.
    pub fn pass(&mut self, node: u32, down: Down, now: Instant) {
        if self.state == State::Ready {
            self.send(&Order::Below { node, down }, None, now);
        }
    }

    /// The agent has sent what none sends about a host below.
    pub fn refuse_below(&mut self, host: &str) {
        self.blame(&format!(
            "sent an impossible report about host {host}, which is below it"
        ));
    }

    /// One more host hangs on this one.
    pub fn add_below(&mut self) {
        self.below.others += 1;
    }

    /// One host fewer hangs on this one. After the last one, its agent may end.
    pub fn remove_below(&mut self, now: Instant) {
        self.below.others = self.below.others.saturating_sub(1);
        if self.below.others == 0 && self.below.is_done && self.state == State::Ready {
            self.be_quiet(now);
        }
    }

    /// The host through which the node was reached is lost.
    pub fn lose_above(&mut self, above: &str) {
        let host = &self.host;
        self.lose(format!("lost host {host} together with host {above}"));
    }

    /// Why the node was not reached through another host, once: it is to be reached directly now.
    pub fn detour(&mut self) -> Option<String> {
        self.below.detour.take()
    }

    /// The node is not reached through another host.
    pub(super) fn take_detour(&mut self) {
        self.below.detour = Some(self.how_it_ended());
        self.carrier = None;
        self.state = State::Waiting(None);
        self.gone_at = None;
    }

    /// All ranks of the node ended.
    pub(super) fn hear_quiet(&mut self, now: Instant) {
        self.below.is_done = true;
        if self.below.others == 0 {
            self.be_quiet(now);
        }
        self.reports.push_back(Report::Quiet);
    }

    fn be_quiet(&mut self, now: Instant) {
        self.state = State::Quiet(now + FAREWELL);
        if let Some(carrier) = &mut self.carrier {
            carrier.close_input();
        }
    }

    /// How many hosts are lost with this one, as a part of a line.
    pub(super) fn losses(&self) -> String {
        match self.below.others {
            0 => String::new(),
            1 => ", through which 1 other host was reached".into(),
            others => format!(", through which {others} other hosts were reached"),
        }
    }

    /// How much longer the silence of a node may be whose signs of life go through another host: if
    /// that one is silent, it is the one to name.
    pub(super) fn grace(&self) -> Duration {
        match (self.has_tunnel(), self.is_ending) {
            (false, _) => Duration::ZERO,
            (true, true) => ENDING_LIMIT / 2,
            (true, false) => self.silence.period(),
        }
    }
}
