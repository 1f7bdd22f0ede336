//! The way to the agent of a host, and why it leads there no more.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use nix::unistd::Pid;

use crate::failure::printable;
use crate::poll::{Interests, Token, earlier};
use crate::remote::carrier::Carrier;
use crate::remote::fate::Fate;
use crate::remote::greeting;
use crate::remote::settings::Settings;
use crate::remote::ssh::{self, Obstacle};
use crate::remote::tunnel::Tunnel;
use crate::wire::{Ended, Report};

/// Both ends of a dead connection are noticed within this time of the first.
const LAST_NEWS: Duration = Duration::from_millis(300);
/// An sshd that is flooded with connections drops some of them: how often to try.
const ATTEMPTS: u32 = 4;

/// The way to the agent of a host, and the bytes that wait for it.
#[derive(Debug)]
pub struct Way {
    host: String,
    pub(super) settings: Settings,
    /// Nodes do not all try again at once, but a little later by this.
    different: Duration,
    attempts: u32,
    /// Until when to try a host that accepts no connection. Unknown before the first attempt.
    patient_until: Option<Instant>,
    /// Why the last attempt did not reach the host, if it is tried again.
    pub(super) unreached: Option<&'static str>,
    carrier: Option<Box<dyn Carrier>>,
    outgoing: VecDeque<u8>,
    /// When to conclude from the end of the connection.
    pub(super) gone_at: Option<Instant>,
    /// Why the host was not reached through another one.
    detour: Option<String>,
}

impl Way {
    /// No way yet to the host of these ranks.
    pub(super) fn new(host: &str, ranks: &[u32], settings: &Settings) -> Way {
        let different = u64::from(ranks.first().copied().unwrap_or_default() % 16) * 10;
        Way {
            host: host.to_string(),
            settings: settings.clone(),
            different: Duration::from_millis(different),
            attempts: 0,
            patient_until: None,
            unreached: None,
            carrier: None,
            outgoing: VecDeque::new(),
            gone_at: None,
            detour: None,
        }
    }

    /// The name of the host.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// How many bytes of orders have not been written yet.
    pub fn backlog(&self) -> usize {
        self.outgoing.len()
    }

    /// Returns true if the node is reached through another host.
    pub fn has_tunnel(&self) -> bool {
        self.carrier.as_ref().is_some_and(|it| it.is_tunnel())
    }

    /// The tunnel through another host, if it is one.
    pub(in crate::remote) fn tunnel(&mut self) -> Option<&mut Tunnel> {
        self.carrier.as_mut()?.tunnel()
    }

    /// Why the node was not reached through another host, once: it is to be reached directly now.
    pub fn detour(&mut self) -> Option<String> {
        self.detour.take()
    }

    /// Names the descriptors to wait for.
    pub fn interests<'a>(&'a self, number: usize, interests: &mut Interests<'a>) {
        if let Some(carrier) = &self.carrier {
            carrier.interests(!self.outgoing.is_empty(), Token::Remote(number), interests);
        }
    }

    /// What starts ssh.
    pub(super) fn command_line(&self) -> Vec<String> {
        ssh::command_line(&self.settings, &self.host)
    }

    /// Counts an attempt to start ssh.
    pub(super) fn count_attempt(&mut self, now: Instant) {
        self.attempts += 1;
        let until = now + self.settings.patience;
        self.patient_until.get_or_insert(until);
    }

    /// This is the way from now on.
    pub(super) fn open(&mut self, carrier: Box<dyn Carrier>) {
        self.carrier = Some(carrier);
        self.flush();
    }

    /// There is no way any more.
    pub(super) fn close(&mut self) {
        self.outgoing.clear();
        self.carrier = None;
    }

    /// There will be no more orders.
    pub(super) fn close_input(&mut self) {
        if let Some(carrier) = &mut self.carrier {
            carrier.close_input();
        }
    }

    /// The node is not reached through another host.
    pub(super) fn take_detour(&mut self) {
        self.detour = Some(self.how_it_ended());
        self.carrier = None;
    }

    /// Sends bytes as far as there is room for them.
    pub(super) fn send(&mut self, bytes: &[u8]) {
        self.outgoing.extend(bytes);
        self.flush();
    }

    pub(super) fn flush(&mut self) {
        if let Some(carrier) = &mut self.carrier {
            carrier.write(&mut self.outgoing);
        }
    }

    /// Reads what there is, and notices its end.
    pub(super) fn read(&mut self, now: Instant) -> Vec<u8> {
        let Some(carrier) = &mut self.carrier else {
            return Vec::new();
        };
        let was_at_end = carrier.is_at_end();
        let received = carrier.read();
        if carrier.is_at_end() && !was_at_end {
            self.notice_end(now);
        }
        received
    }

    /// A child process ended. Returns true if it is our ssh.
    pub(super) fn end(&mut self, pid: Pid, ended: Ended) -> bool {
        self.carrier.as_mut().is_some_and(|it| it.end(pid, ended))
    }

    /// One end of the connection is gone: the other follows at once, or does not matter.
    pub(super) fn notice_end(&mut self, now: Instant) {
        if let Some(carrier) = &self.carrier {
            let wait = LAST_NEWS * u32::from(!carrier.is_gone());
            self.gone_at = earlier(self.gone_at, Some(now + wait));
        }
    }

    /// When to try again what did not reach the agent, or why not to: ssh has met nothing that may
    /// pass. The first time, the user gets a line about a host that accepts no connection.
    pub(super) fn try_again(
        &mut self,
        reports: &mut VecDeque<Report>,
        now: Instant,
    ) -> Result<Instant, String> {
        let complaints = self.fate().map_or(String::new(), Fate::complaints);
        let may_succeed = match ssh::obstacle(&complaints, self.settings.waits_for_names) {
            Some(Obstacle::Crowd) => self.attempts < ATTEMPTS,
            Some(Obstacle::NoServer(reason)) => {
                let may = self.patient_until.is_some_and(|until| now < until);
                let is_first = self.unreached.replace(reason).is_none();
                // Where hosts are known to come late, progress is shown instead.
                if may && is_first && !self.settings.waits_for_names {
                    reports.push_back(Report::Unreached {
                        reason: reason.to_string(),
                        patience: self.settings.patience,
                    });
                }
                may
            }
            None => false,
        };
        if !may_succeed {
            return Err(self.why_not_connected());
        }
        self.carrier = None;
        Ok(now + Duration::from_millis(200) * self.attempts.min(10) + self.different)
    }

    fn why_not_connected(&self) -> String {
        let (fate, settings) = (self.fate(), &self.settings);
        let what = if fate.is_some_and(Fate::has_no_agent) {
            let agent = settings.agent.trim_end_matches(" --agent");
            let advice = "install mpi-lite at the same path on every host";
            format!("{agent} cannot be executed there ({advice})") + &self.complaint()
        } else if fate.is_some_and(Fate::has_succeeded) {
            let advice = "does it run the command that it is given on the host?";
            let what = "ended with status 0 before mpi-lite started there";
            format!("{} {what}: {advice}", settings.shown_program()) + &self.complaint()
        } else {
            self.how_it_ended()
        };
        self.cannot_start(&what)
    }

    pub(super) fn cannot_start(&self, why: &str) -> String {
        format!("cannot start on host {}: {why}", self.host)
    }

    /// The launcher there is not ours.
    pub(super) fn other_version(&self, theirs: &str) -> String {
        let here = nix::unistd::gethostname().unwrap_or_default();
        let (own, host) = (env!("CARGO_PKG_VERSION"), &self.host);
        let protocol = greeting::own_version();
        format!(
            "host {host} has mpi-lite of {theirs}, but host {} has version {protocol} (mpi-lite \
             {own}): install the same one on both, at {}",
            printable(&here.to_string_lossy()),
            self.settings.agent.trim_end_matches(" --agent")
        )
    }

    /// What became of the program that reaches the host, if one does.
    fn fate(&self) -> Option<&Fate> {
        self.carrier.as_ref().map(|it| it.fate())
    }

    /// What became of the way to the host, and the last line of its complaints.
    pub(super) fn how_it_ended(&self) -> String {
        let how = self.carrier.as_ref();
        let how = how.map_or(String::new(), |it| it.how_it_ended(&self.settings));
        how + &self.complaint()
    }

    /// The last line of ssh's complaints, as the end of a line of ours.
    pub(super) fn complaint(&self) -> String {
        self.fate().map_or(String::new(), Fate::complaint)
    }
}
