//! Completion: what a finished operation must have done, and how a program ends.

use mpi_lite::engine::{BufferOwner, Completion, Lane, Request, Status, Survey};
use mpi_lite::error::{Cause, Error};
use mpi_lite::ids::Mode;

use crate::job::{Job, Phase};
use crate::oracle::{Label, MessageId, Wanted};

impl Job {
    /// Asks for all active requests of a process.
    pub(crate) fn ask_all(&mut self, process: usize) {
        for index in 0..self.sends.len() {
            if self.sends[index].process == process && self.sends[index].phase == Phase::Active {
                self.ask_send(index);
            }
        }
        for index in 0..self.receives.len() {
            let receiving = &self.receives[index];
            if receiving.process == process && receiving.phase == Phase::Active {
                self.ask_receive(index);
            }
        }
        self.compare(process);
    }

    /// Asks how a request ended, after a look that must tell the same.
    fn ask(&mut self, process: usize, request: Request) -> Option<Completion> {
        let lane = &mut self.lanes[process];
        assert!(lane.is_active(Some(request)).unwrap());
        let seen = lane.peek(Some(request)).unwrap();
        let taken = lane.take(Some(request)).unwrap();
        assert_eq!(seen, taken, "looking changes nothing");
        let again = lane.peek(Some(request));
        match &taken {
            None => assert_eq!(again, Ok(None)),
            Some(_) if request == Request::SENT => assert_eq!(again, Ok(taken.clone())),
            Some(completion) if completion.is_gone => assert_eq!(again, Err(Cause::Request.into())),
            Some(_) => assert_eq!(again, Ok(Some(Completion::NOTHING))),
        }
        taken
    }

    fn ask_send(&mut self, index: usize) {
        let (process, request) = (self.sends[index].process, self.sends[index].request);
        let completion = self.ask(process, request);
        let sending = &mut self.sends[index];
        let Some(completion) = completion else {
            assert_ne!(
                sending.mode,
                Mode::Buffered,
                "a buffered send completes at once"
            );
            return;
        };
        assert_eq!(completion.error, None, "send {index}");
        assert_eq!(completion.is_gone, !sending.is_persistent, "send {index}");
        let message = &self.messages[sending.message.take().unwrap()];
        let is_cancelled = message.is_withdrawn;
        let status = match is_cancelled {
            true => Status::CANCELLED,
            false => Status::EMPTY,
        };
        assert_eq!(completion.status, status, "send {index}");
        self.report.withdrawn += u64::from(is_cancelled);
        if sending.mode == Mode::Synchronous {
            assert!(
                message.is_matched || is_cancelled,
                "send {index} completed before its match"
            );
        }
        // The buffer is the program's again.
        sending.room.wipe();
        sending.phase = if sending.is_persistent {
            Phase::Inactive
        } else {
            Phase::Gone
        };
        self.say(|| format!("{process}: send {index} complete"));
    }

    fn ask_receive(&mut self, index: usize) {
        let (process, request) = (self.receives[index].process, self.receives[index].request);
        let completion = self.ask(process, request);
        let receiving = &self.receives[index];
        let Some(completion) = completion else {
            assert!(
                !receiving.is_cancelled,
                "a cancelled receive completes at once"
            );
            return;
        };
        assert_eq!(
            completion.is_gone, !receiving.is_persistent,
            "receive {index}"
        );
        if receiving.is_cancelled {
            assert_eq!(completion.status, Status::CANCELLED, "receive {index}");
            assert_eq!(completion.error, None, "receive {index}");
            assert!(receiving.room.holds(&[]), "receive {index} was cancelled");
            self.report.cancelled += 1;
        } else {
            let message = receiving.message.expect("complete without a message");
            let (status, error) = self.expected(message, receiving.room.len());
            assert_eq!(completion.status, status, "receive {index}");
            assert_eq!(completion.error, error, "receive {index}");
            self.check_data(index, message);
        }
        let receiving = &mut self.receives[index];
        receiving.message = None;
        receiving.phase = if receiving.is_persistent {
            Phase::Inactive
        } else {
            Phase::Gone
        };
        self.say(|| format!("{process}: receive {index} complete"));
    }

    /// What a receive with `room` bytes learns of `message`.
    fn expected(&self, message: MessageId, room: u64) -> (Status, Option<Error>) {
        let len = self.messages[message].data.len() as u64;
        let error = (len > room).then(|| Cause::Truncate { len, room }.into());
        (self.status(message, len.min(room)), error)
    }

    fn check_data(&mut self, index: usize, message: MessageId) {
        let (receiving, data) = (&self.receives[index], &self.messages[message].data);
        let fitting = data.len().min(receiving.room.len() as usize);
        let is_whole = receiving.room.holds(&data[..fitting]);
        assert!(
            is_whole,
            "receive {index}: not the bytes of message {message}"
        );
        self.report.receives += 1;
        self.report.truncated += u64::from(fitting < data.len());
    }

    /// Ends the program: everything is received or cancelled, or left if the plan says so.
    pub(crate) fn finish(&mut self) {
        self.settle("announcing", |job| {
            job.under_way.values().all(|q| q.is_empty())
        });
        while !self.probed.is_empty() {
            self.receive_message(0);
        }
        self.serve_posted();
        self.settle("announcing", |job| {
            job.under_way.values().all(|q| q.is_empty())
        });
        if !self.plan.leaves {
            self.receive_rest();
        }
        if self.plan.leaves {
            self.say(|| "the processes finalize".into());
            self.is_closed = true;
            self.settle("finalizing", |job| {
                job.lanes.iter_mut().for_each(Lane::close);
                job.lanes.iter().all(|lane| lane.links().are_quiet())
            });
            // What nobody received is gone or was taken in; its synchronous sends are over.
            self.messages
                .iter_mut()
                .for_each(|message| message.is_matched = true);
        }
        self.settle("completing", |job| {
            (0..job.lanes.len()).for_each(|process| job.ask_all(process));
            job.is_over()
        });
        self.settle("last answers", |job| {
            let is_over = |lane: &Lane| {
                let survey = lane.survey();
                lane.links().are_quiet() && survey.arriving == 0 && survey.sends == 0
            };
            job.lanes.iter().all(is_over)
        });
        self.check_end();
    }

    fn is_over(&self) -> bool {
        let sends = self.sends.iter().map(|s| s.phase);
        let receives = self.receives.iter().map(|r| r.phase);
        sends.chain(receives).all(|phase| phase != Phase::Active)
    }

    /// Receives without a message get one, or are cancelled.
    fn serve_posted(&mut self) {
        for process in 0..self.lanes.len() {
            for (index, wanted) in self.oracles[process].posted.clone() {
                if self.rng.percent(50) {
                    self.cancel_receive(index);
                } else {
                    self.answer(process, wanted);
                }
            }
        }
        self.settle("announcing", |job| {
            job.under_way.values().all(|q| q.is_empty())
        });
        // Another receive may have taken what was sent for this one.
        for process in 0..self.lanes.len() {
            for (index, _) in self.oracles[process].posted.clone() {
                self.cancel_receive(index);
            }
        }
    }

    fn answer(&mut self, process: usize, wanted: Wanted) {
        let groups = &self.plan.groups;
        let group = groups
            .iter()
            .find(|g| g.context.0 == wanted.context)
            .unwrap();
        let drawn = self.rng.index(group.members.len()) as u32;
        let source = wanted.source.unwrap_or(drawn);
        let from = group.members[source as usize] as usize;
        let label = Label {
            context: wanted.context,
            source,
            tag: wanted.tag.unwrap_or(0),
        };
        self.send(from, process, label, Mode::Standard);
    }

    fn receive_rest(&mut self) {
        for process in 0..self.lanes.len() {
            while !self.oracles[process].unexpected.is_empty() {
                // Not always the first: receives by exact label may come in any order.
                let waiting = self.oracles[process].unexpected.len();
                let (_, label) = self.oracles[process].unexpected[self.rng.index(waiting)];
                let wanted = self.wanting(label);
                self.receive(process, wanted);
            }
        }
    }

    /// Nothing is left behind.
    fn check_end(&mut self) {
        for index in 0..self.receives.len() {
            let receiving = &self.receives[index];
            if let (Phase::Freed, Some(message)) = (receiving.phase, receiving.message) {
                self.check_data(index, message);
            }
        }
        let is_inactive = |&phase: &Phase| phase == Phase::Inactive;
        for (process, lane) in self.lanes.iter_mut().enumerate() {
            let sends = self.sends.iter().filter(|s| s.process == process);
            let receives = self.receives.iter().filter(|r| r.process == process);
            let phases = sends.map(|s| s.phase).chain(receives.map(|r| r.phase));
            let survey = lane.survey();
            let (unexpected, taken_in_bytes) = if self.plan.leaves {
                (survey.unexpected, survey.taken_in_bytes)
            } else {
                (0, 0)
            };
            let expected = Survey {
                requests: phases.filter(is_inactive).count(),
                unexpected,
                taken_in_bytes,
                ..Survey::default()
            };
            assert_eq!(survey, expected, "left behind by {process}");
            if self.plan.attached > 0 {
                let detached = lane
                    .buffers()
                    .detach(BufferOwner::Process)
                    .unwrap()
                    .expect("all buffered sends are over");
                assert_eq!(detached.bytes, self.plan.attached);
            }
        }
    }
}
