//! The operations of a random program.

use mpi_lite::engine::{BUFFERED_OVERHEAD_BYTES, Plan, ReceivePlan, SendPlan, Status};
use mpi_lite::error::{Cause, Error};
use mpi_lite::ids::{Context, Mode, Source, TagSelector};
use mpi_lite::transport::PeerId;
use mpi_lite::transport::sim::Guest;

use crate::job::{Job, Message, Phase, Probed, Receiving, Sending};
use crate::oracle::{Label, MessageId, Wanted};
use crate::plan::Group;
use crate::room::Room;

impl Job {
    /// One operation of some process.
    pub(crate) fn act(&mut self) {
        let process = self.rng.index(self.lanes.len());
        match self.rng.below(100) {
            0..32 => self.send_something(process),
            32..60 => self.receive_something(process),
            60..68 => self.start_something(process),
            68..74 => self.probe_something(process),
            74..80 => self.take_something(process),
            80..84 => self.receive_probed(process),
            84..88 => self.cancel_something(process),
            88..91 => self.free_something(process),
            _ => self.ask_all(process),
        }
    }

    /// A communicator of the process.
    fn group_of(&mut self, process: usize) -> Group {
        let groups = self.plan.groups.iter();
        let own: Vec<&Group> = groups.filter(|g| g.rank_of(process).is_some()).collect();
        own[self.rng.index(own.len())].clone()
    }

    fn length(&mut self) -> u64 {
        let longest = self.plan.longest;
        match self.rng.below(4) {
            0 => 0,
            1 => longest,
            _ => self.rng.below(longest + 1),
        }
    }

    fn send_something(&mut self, process: usize) {
        let group = self.group_of(process);
        let to = if self.rng.percent(10) {
            process
        } else {
            // Few receivers see many messages: queues get long.
            let one = self.rng.index(group.members.len());
            let other = self.rng.index(group.members.len());
            group.members[one.min(other)] as usize
        };
        let label = Label {
            context: group.context.0,
            source: group.rank_of(process).unwrap(),
            tag: self.rng.below(self.plan.tags) as i32,
        };
        let mode = match self.rng.below(10) {
            0..2 => Mode::Synchronous,
            2..4 => Mode::Buffered,
            // The promise of a ready send holds if a receive for it is posted.
            4..6 if self.oracles[to].posted.iter().any(|(_, w)| w.fits(label)) => Mode::Ready,
            _ => Mode::Standard,
        };
        self.send(process, to, label, mode);
    }

    pub(crate) fn send(&mut self, process: usize, to: usize, label: Label, mode: Mode) {
        let len = self.length();
        let mut room = Room::draw(&mut self.rng, len);
        let plan = SendPlan {
            to: Some(PeerId(to as u32)),
            context: Context(label.context),
            source: label.source,
            tag: label.tag,
            mode,
            area: room.buffer.area().unwrap(),
        };
        let is_persistent = self.rng.percent(25);
        let data = room.fill(&mut self.rng);
        let (request, phase) = if is_persistent {
            (self.lanes[process].plan(Plan::Send(plan)), Phase::Inactive)
        } else {
            match self.lanes[process].send(&plan) {
                Ok(request) => (request, Phase::Active),
                Err(error) => return self.check_full(process, mode, &room, &error),
            }
        };
        let sending = Sending {
            process,
            to,
            label,
            mode,
            room,
            request,
            is_persistent,
            phase,
            message: None,
        };
        self.sends.push(sending);
        let index = self.sends.len() - 1;
        self.say(|| format!("{process}: send {index} to {to} {mode:?} {label:?} {phase:?}"));
        if phase == Phase::Active {
            self.note_sent(index, data);
        }
    }

    /// A send has begun.
    fn note_sent(&mut self, index: usize, data: Vec<u8>) {
        let sending = &mut self.sends[index];
        let id = self.messages.len();
        sending.message = Some(id);
        sending.phase = Phase::Active;
        let (process, to) = (sending.process, sending.to);
        if sending.mode == Mode::Buffered {
            self.buffered[process].push(id);
        }
        self.messages.push(Message {
            label: sending.label,
            synchronous: sending.mode == Mode::Synchronous,
            data,
            is_announced: false,
            is_matched: false,
            is_withdrawn: false,
        });
        self.under_way
            .entry((process, to))
            .or_default()
            .push_back(id);
        let least = self.buffered_bytes(process, false);
        assert!(
            least <= self.plan.attached,
            "more than the attached buffer holds"
        );
        self.say(|| format!("{process}: message {id} of send {index}"));
        self.compare(process);
    }

    /// Bytes of the attached buffer: of all buffered sends, or of those surely still waiting.
    fn buffered_bytes(&self, process: usize, all: bool) -> u64 {
        // A protocol of streams has a copy of its own of what it has begun to send.
        let keeps_copies = self.plan.guest != Guest::Rmpp;
        let waits = |&&id: &&MessageId| all || !(keeps_copies || self.messages[id].is_announced);
        let bytes = |&id: &MessageId| self.messages[id].data.len() as u64;
        let waiting = self.buffered[process].iter().filter(waits);
        waiting.map(|id| bytes(id) + BUFFERED_OVERHEAD_BYTES).sum()
    }

    /// The only error of these sends: a buffered one found no room.
    fn check_full(&mut self, process: usize, mode: Mode, room: &Room, error: &Error) {
        self.say(|| format!("{process}: {error}"));
        let &Cause::BufferFull {
            need, room: free, ..
        } = error.cause()
        else {
            panic!("{process}: {mode:?}: {error}");
        };
        assert_eq!(mode, Mode::Buffered);
        assert_eq!(need, room.len() + BUFFERED_OVERHEAD_BYTES);
        assert!(need > free, "it had room");
        assert!(free <= self.plan.attached - self.buffered_bytes(process, false));
        assert!(
            free >= self
                .plan
                .attached
                .saturating_sub(self.buffered_bytes(process, true))
        );
        self.compare(process);
    }

    fn wanted(&mut self, process: usize) -> Wanted {
        let group = self.group_of(process);
        let source = self.rng.index(group.members.len()) as u32;
        let tag = self.rng.below(self.plan.tags) as i32;
        let any = [(); 2].map(|()| self.rng.percent(self.plan.wild));
        Wanted {
            context: group.context.0,
            source: (!any[0]).then_some(source),
            tag: (!any[1]).then_some(tag),
        }
    }

    fn receive_something(&mut self, process: usize) {
        let unexpected = &self.oracles[process].unexpected;
        let wanted = if unexpected.is_empty() || self.rng.percent(60) {
            self.wanted(process)
        } else {
            // What is there is asked for more often than chance would.
            let (_, label) = unexpected[self.rng.index(unexpected.len())];
            self.wanting(label)
        };
        self.receive(process, wanted);
    }

    /// Something that `label` fits.
    pub(crate) fn wanting(&mut self, label: Label) -> Wanted {
        let any = [(); 2].map(|()| self.rng.percent(self.plan.wild));
        Wanted {
            context: label.context,
            source: (!any[0]).then_some(label.source),
            tag: (!any[1]).then_some(label.tag),
        }
    }

    fn room_for_receive(&mut self) -> Room {
        let len = if self.rng.percent(80) {
            self.plan.longest + 20
        } else {
            self.length()
        };
        Room::draw(&mut self.rng, len)
    }

    pub(crate) fn receive(&mut self, process: usize, wanted: Wanted) {
        let room = self.room_for_receive();
        let plan = ReceivePlan {
            pattern: Some(Self::pattern(wanted)),
            area: room.buffer.area().unwrap(),
        };
        let is_persistent = self.rng.percent(25);
        let lane = &mut self.lanes[process];
        let (request, phase) = if is_persistent {
            (lane.plan(Plan::Receive(plan)), Phase::Inactive)
        } else {
            (lane.receive(plan), Phase::Active)
        };
        let receiving = Receiving {
            process,
            wanted,
            room,
            request,
            is_persistent,
            phase,
            message: None,
            is_cancelled: false,
        };
        self.receives.push(receiving);
        let index = self.receives.len() - 1;
        self.say(|| format!("{process}: receive {index} of {wanted:?} {phase:?}"));
        if phase == Phase::Active {
            self.note_posted(index);
        }
    }

    /// A receive has begun.
    fn note_posted(&mut self, index: usize) {
        let receiving = &mut self.receives[index];
        receiving.phase = Phase::Active;
        let process = receiving.process;
        let message = self.oracles[process].post(index, receiving.wanted);
        self.say(|| format!("{process}: receive {index} posted, gets {message:?}"));
        if let Some(message) = message {
            self.match_up(index, message);
        }
        self.compare(process);
    }

    /// Starts a persistent request; one that is active cannot be started.
    fn start_something(&mut self, process: usize) {
        if self.rng.percent(50) {
            let Some(index) = self.some_send(process, |s| s.is_persistent) else {
                return;
            };
            self.start_send(index);
        } else {
            let Some(index) = self.some_receive(process, |r| r.is_persistent) else {
                return;
            };
            self.start_receive(index);
        }
    }

    fn start_send(&mut self, index: usize) {
        let Sending { process, mode, .. } = self.sends[index];
        let request = self.sends[index].request;
        if self.sends[index].phase == Phase::Active {
            let refused = self.lanes[process].start(request);
            assert_eq!(refused, Err(Cause::NotStartable.into()));
            return;
        }
        let data = self.sends[index].room.fill(&mut self.rng);
        match self.lanes[process].start(request) {
            Ok(()) => self.note_sent(index, data),
            Err(error) => {
                let room = Room::draw(&mut self.rng, 0);
                let room = std::mem::replace(&mut self.sends[index].room, room);
                self.check_full(process, mode, &room, &error);
                self.sends[index].room = room;
                // It is inactive as before: waiting for it does not wait.
                let taken = self.lanes[process].take(Some(request)).unwrap().unwrap();
                assert_eq!((taken.error, taken.is_gone), (None, false));
            }
        }
    }

    fn start_receive(&mut self, index: usize) {
        let receiving = &mut self.receives[index];
        let (process, request) = (receiving.process, receiving.request);
        let is_active = receiving.phase == Phase::Active;
        if !is_active {
            receiving.room.wipe();
            receiving.is_cancelled = false;
        }
        let started = self.lanes[process].start(request);
        if is_active {
            assert_eq!(started, Err(Cause::NotStartable.into()));
        } else {
            started.unwrap();
            self.note_posted(index);
        }
    }

    /// Some request of the process that is not gone and for which `is` holds.
    pub(crate) fn some_send(
        &mut self,
        process: usize,
        is: impl Fn(&Sending) -> bool,
    ) -> Option<usize> {
        let lives = |s: &Sending| matches!(s.phase, Phase::Active | Phase::Inactive);
        let fits = |i: &usize| {
            let sending = &self.sends[*i];
            sending.process == process && lives(sending) && is(sending)
        };
        let all: Vec<usize> = (0..self.sends.len()).filter(fits).collect();
        (!all.is_empty()).then(|| all[self.rng.index(all.len())])
    }

    pub(crate) fn some_receive(
        &mut self,
        process: usize,
        is: impl Fn(&Receiving) -> bool,
    ) -> Option<usize> {
        let lives = |r: &Receiving| matches!(r.phase, Phase::Active | Phase::Inactive);
        let fits = |i: &usize| {
            let receiving = &self.receives[*i];
            receiving.process == process && lives(receiving) && is(receiving)
        };
        let all: Vec<usize> = (0..self.receives.len()).filter(fits).collect();
        (!all.is_empty()).then(|| all[self.rng.index(all.len())])
    }

    /// The status that tells of `message`, of which `bytes` bytes were received.
    pub(crate) fn status(&self, message: MessageId, bytes: u64) -> Status {
        let label = self.messages[message].label;
        Status {
            source: Source::Rank(label.source as i32),
            tag: TagSelector::Tag(label.tag),
            bytes,
            cancelled: false,
        }
    }

    fn whole(&self, message: MessageId) -> Status {
        self.status(message, self.messages[message].data.len() as u64)
    }

    fn probe_something(&mut self, process: usize) {
        let wanted = self.wanted(process);
        let seen = self.lanes[process].probe(&Self::pattern(wanted));
        let expected = self.oracles[process].probe(wanted);
        assert_eq!(
            seen,
            expected.map(|id| self.whole(id)),
            "{process}: {wanted:?}"
        );
    }

    /// A matched probe: nothing else will see the message.
    fn take_something(&mut self, process: usize) {
        let wanted = self.wanted(process);
        let found = self.lanes[process].matched_probe(&Self::pattern(wanted));
        let expected = self.oracles[process].extract(wanted);
        let status = found.map(|(_, status)| status);
        assert_eq!(
            status,
            expected.map(|id| self.whole(id)),
            "{process}: {wanted:?}"
        );
        self.say(|| format!("{process}: probed {wanted:?}, took {expected:?}"));
        if let (Some((handle, _)), Some(message)) = (found, expected) {
            self.report.probed += 1;
            self.probed.push(Probed {
                process,
                handle,
                message,
            });
        }
        self.compare(process);
    }

    fn receive_probed(&mut self, process: usize) {
        let at = self
            .probed
            .iter()
            .position(|probed| probed.process == process);
        if let Some(at) = at {
            self.receive_message(at);
        }
    }

    pub(crate) fn receive_message(&mut self, at: usize) {
        let probed = self.probed.remove(at);
        let process = probed.process;
        let room = self.room_for_receive();
        let lane = &mut self.lanes[process];
        let area = room.buffer.area().unwrap();
        let request = lane.matched_receive(probed.handle, area.clone()).unwrap();
        let again = lane.matched_receive(probed.handle, area);
        assert_eq!(again, Err(Cause::Message.into()), "received twice");
        let label = self.messages[probed.message].label;
        self.receives.push(Receiving {
            process,
            wanted: Wanted {
                context: label.context,
                source: None,
                tag: None,
            },
            room,
            request,
            is_persistent: false,
            phase: Phase::Active,
            message: None,
            is_cancelled: false,
        });
        let index = self.receives.len() - 1;
        self.match_up(index, probed.message);
        self.say(|| format!("{process}: receive {index} of message {}", probed.message));
        self.compare(process);
    }

    fn cancel_something(&mut self, process: usize) {
        if let Some(index) = self.some_send(process, |s| s.phase == Phase::Active) {
            self.cancel_send(index);
        }
        if let Some(index) = self.some_receive(process, |r| r.phase == Phase::Active) {
            self.cancel_receive(index);
        }
    }

    /// Asks for the message of a send back, if the send is not complete. Until the answer comes the
    /// program does nothing else, so what waited before waits until then.
    fn cancel_send(&mut self, index: usize) {
        let (process, request) = (self.sends[index].process, self.sends[index].request);
        let (to, message) = (self.sends[index].to, self.sends[index].message);
        let lane = &mut self.lanes[process];
        let is_pending = lane.peek(Some(request)).unwrap().is_none();
        lane.cancel(request).unwrap();
        lane.cancel(request).unwrap();
        let id = message.expect("an active send has its message");
        if !is_pending || self.messages[id].is_withdrawn {
            return;
        }
        (self.is_asking, self.answer) = (true, None);
        self.settle("asking back", |job| job.answer.is_some());
        self.is_asking = false;
        let is_withdrawn = self.oracles[to].drop_message(id);
        assert_eq!(self.answer, Some(is_withdrawn), "message {id}");
        self.messages[id].is_withdrawn = is_withdrawn;
        self.say(|| format!("{process}: cancel of send {index}: {is_withdrawn}"));
        self.compare(to);
    }

    pub(crate) fn cancel_receive(&mut self, index: usize) {
        let (process, request) = (self.receives[index].process, self.receives[index].request);
        self.lanes[process].cancel(request).unwrap();
        let withdrawn = self.oracles[process].withdraw(index);
        self.receives[index].is_cancelled |= withdrawn;
        self.say(|| format!("{process}: cancel of receive {index}: {withdrawn}"));
        self.compare(process);
    }

    /// Frees a request; an active operation goes on. A receive is not freed before its match, or
    /// nothing would ever tell that its message came.
    fn free_something(&mut self, process: usize) {
        let after = |phase| match phase {
            Phase::Active => Phase::Freed,
            _ => Phase::Gone,
        };
        if self.rng.percent(50) {
            let Some(index) = self.some_send(process, |_| true) else {
                return;
            };
            let sending = &mut self.sends[index];
            sending.phase = after(sending.phase);
            self.lanes[process].free(sending.request).unwrap();
            self.say(|| format!("{process}: send {index} freed"));
        } else {
            let is_known = |r: &Receiving| r.phase == Phase::Inactive || r.message.is_some();
            let Some(index) = self.some_receive(process, is_known) else {
                return;
            };
            let receiving = &mut self.receives[index];
            receiving.phase = after(receiving.phase);
            self.lanes[process].free(receiving.request).unwrap();
            self.say(|| format!("{process}: receive {index} freed"));
        }
        self.compare(process);
    }
}
