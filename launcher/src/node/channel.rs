//! The launcher's end of the channel to one rank, and the order in which a rank may speak.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::{Duration, Instant};

use mpi_boot::protocol::{self, CARD_MAX, Frames, FromRank, PROTOCOL, RANK_FRAME_MAX, ToRank};
use mpi_boot::shared::Shared;
use mpi_boot::state::STATE_MAX;
use nix::errno::Errno;
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use nix::unistd::read;

use crate::job::phase::{Course, Step};
use crate::reports::stall::limits;

/// The most descriptors that one message carries: `SCM_MAX_FD`, unix(7).
const DESCRIPTORS_PER_MESSAGE: usize = 253;

/// A user may have only a limited number of descriptors on the way (`ETOOMANYREFS`, unix(7)): we
/// try again after this time, in which ranks may have taken theirs.
const DESCRIPTORS_PAUSE: Duration = Duration::from_millis(2);

/// A frame on its way to a rank, or to several.
#[derive(Debug, Clone)]
pub(super) struct Outgoing {
    bytes: Rc<[u8]>,
    sent: usize,
    /// What goes beside the bytes, and how many of its descriptors have gone.
    segment: Option<Rc<Shared>>,
    passed: usize,
}

impl Outgoing {
    pub(super) fn new(message: &ToRank) -> Outgoing {
        let frame = protocol::encode(message).unwrap_or_else(|error| {
            let refusal = ToRank::Refused(format!("the launcher cannot send {error}"));
            protocol::encode(&refusal).expect("a line fits in a frame")
        });
        Outgoing {
            bytes: frame.into(),
            sent: 0,
            segment: None,
            passed: 0,
        }
    }

    /// With descriptors beside it.
    pub(super) fn sharing(message: &ToRank, segment: Option<Rc<Shared>>) -> Outgoing {
        let frame = Outgoing::new(message);
        Outgoing { segment, ..frame }
    }

    fn is_sent(&self) -> bool {
        self.sent == self.bytes.len()
    }

    /// Sends once. All descriptors go with the first bytes, so that a rank that has the frame has
    /// them; a frame that names the ranks of a node is far longer than the messages they take.
    fn write(&mut self, stream: &UnixStream) -> Result<(), Errno> {
        let waiting = self.segment.iter().flat_map(|it| it.descriptors());
        let beside: Vec<RawFd> = waiting
            .map(|it| it.as_raw_fd())
            .skip(self.passed)
            .take(DESCRIPTORS_PER_MESSAGE)
            .collect();
        let rights = [ControlMessage::ScmRights(&beside)];
        let is_last = beside.len() < DESCRIPTORS_PER_MESSAGE;
        let end = if is_last {
            self.bytes.len()
        } else {
            self.sent + 1
        };
        let bytes = &self.bytes[self.sent..end];
        let sent = sendmsg::<()>(
            stream.as_raw_fd(),
            &[IoSlice::new(bytes)],
            if beside.is_empty() { &[] } else { &rights },
            MsgFlags::MSG_NOSIGNAL,
            None,
        )?;
        self.sent += sent;
        self.passed += beside.len();
        Ok(())
    }
}

/// The channel to one rank.
#[derive(Debug)]
pub(super) struct Channel {
    stream: UnixStream,
    frames: Frames,
    outgoing: VecDeque<Outgoing>,
    /// When to try again what too many descriptors on the way hindered.
    paused_until: Option<Instant>,
    course: Course,
    /// The last [`ToRank::Describe`] has not been answered.
    is_asked: bool,
    /// The question that is to follow then: a rank that does not read gets no more of them.
    next: Option<u32>,
    is_closed: bool,
}

impl Channel {
    pub(super) fn new(stream: UnixStream) -> std::io::Result<Channel> {
        stream.set_nonblocking(true)?;
        Ok(Channel {
            stream,
            frames: Frames::up_to(RANK_FRAME_MAX),
            outgoing: VecDeque::new(),
            paused_until: None,
            course: Course::default(),
            is_asked: false,
            next: None,
            is_closed: false,
        })
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// What the rank has done so far.
    pub(super) fn course(&self) -> Course {
        self.course
    }

    /// Returns true if [`Channel::flush`] waits for room.
    pub(super) fn has_outgoing(&self) -> bool {
        !self.outgoing.is_empty() && !self.is_closed && self.paused_until.is_none()
    }

    /// When [`Channel::flush`] is to be called though no room was missing.
    pub(super) fn paused_until(&self) -> Option<Instant> {
        self.paused_until
    }

    /// Reads what the rank has sent, by way of `scratch`. Returns its messages, or what the rank
    /// did wrong; the channel is closed then.
    pub(super) fn receive(&mut self, scratch: &mut [u8]) -> Result<Vec<FromRank>, String> {
        let mut messages = Vec::new();
        let mut has_more = true;
        while has_more && !self.is_closed {
            match read(&self.stream, scratch) {
                Ok(0) => self.is_closed = true,
                Ok(length) => {
                    self.frames.push(&scratch[..length]);
                    has_more = length == scratch.len();
                }
                Err(Errno::EINTR) => continue,
                Err(Errno::EAGAIN) => break,
                Err(_) => self.is_closed = true,
            }
            let answer = self.take_messages(&mut messages);
            self.is_closed |= answer.is_err();
            answer?;
        }
        Ok(messages)
    }

    fn take_messages(&mut self, messages: &mut Vec<FromRank>) -> Result<(), String> {
        loop {
            match self.frames.pop::<FromRank>() {
                Ok(None) => return Ok(()),
                Ok(Some(message)) => {
                    self.course = self.course_after(&message)?;
                    self.ask_next(&message);
                    messages.push(message);
                }
                Err(error) => return Err(format!("sent {error}")),
            }
        }
    }

    fn course_after(&self, message: &FromRank) -> Result<Course, String> {
        let course = self.course.after(match message {
            FromRank::Hello { .. } => Step::Init,
            FromRank::Card(_) => Step::Card,
            FromRank::Counters(_) => Step::Counters,
            FromRank::Finalized => Step::Finalized,
            FromRank::Abort { .. } => Step::Abort,
            FromRank::Loss { .. } => Step::Loss,
            FromRank::Failure(_) => Step::Failure,
            FromRank::Blocked(_) => Step::Blocked,
            FromRank::Resumed => Step::Resumed,
            FromRank::State { .. } => Step::State,
        })?;
        match message {
            FromRank::Hello { protocol, version } if *protocol != PROTOCOL => {
                let own = env!("CARGO_PKG_VERSION");
                Err(format!(
                    "uses mpi-lite {version} (protocol {protocol}), but this mpirun is mpi-lite \
                     {own} (protocol {PROTOCOL}); use the mpirun of the same installation"
                ))
            }
            FromRank::Card(card) if card.len() > CARD_MAX => Err(format!(
                "gave a card of {} bytes ({CARD_MAX} at most)",
                card.len()
            )),
            FromRank::State { state, .. } => limits::check(state, STATE_MAX).map(|()| course),
            _ => Ok(course),
        }
    }

    /// Asks the rank what it does, once it has answered what it was asked before.
    pub(super) fn describe(&mut self, question: u32) {
        if self.is_asked {
            self.next = Some(question);
        } else {
            self.is_asked = true;
            self.send(Outgoing::new(&ToRank::Describe(question)));
        }
    }

    /// Asks what was to follow the question that this message answers. A program that begins has
    /// not been asked anything.
    fn ask_next(&mut self, message: &FromRank) {
        if let FromRank::State { .. } | FromRank::Hello { .. } = message {
            self.is_asked = false;
            let next = self.next.take();
            if let (Some(question), FromRank::State { .. }) = (next, message) {
                self.describe(question);
            }
        }
    }

    /// Sends a message, as far as there is room; the rest goes with [`Channel::flush`].
    pub(super) fn send(&mut self, frame: Outgoing) {
        self.outgoing.push_back(frame);
        self.flush();
    }

    /// Sends the cards of all ranks: the next exchange may begin.
    pub(super) fn send_cards(&mut self, frame: Outgoing) {
        self.course = self.course.after_cards();
        self.send(frame);
    }

    pub(super) fn flush(&mut self) {
        self.paused_until = None;
        while let Some(frame) = self.outgoing.front_mut().filter(|_| !self.is_closed) {
            match frame.write(&self.stream) {
                Ok(()) if frame.is_sent() => drop(self.outgoing.pop_front()),
                Ok(()) | Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return,
                Err(Errno::ETOOMANYREFS) => {
                    self.paused_until = Some(Instant::now() + DESCRIPTORS_PAUSE);
                    return;
                }
                // The rank takes nothing more. What it has sent is still to be read.
                Err(_) => self.outgoing.clear(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{IoSliceMut, Read, Write};

    use mpi_boot::state::{RankState, THREADS_MAX, ThreadState};
    use nix::sys::socket::{ControlMessageOwned, recvmsg};
    use nix::unistd::close;

    use super::*;

    fn pair() -> (Channel, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (Channel::new(ours).unwrap(), theirs)
    }

    fn hear(messages: &[FromRank]) -> Result<Vec<FromRank>, String> {
        let (mut channel, mut rank) = pair();
        for message in messages {
            rank.write_all(&protocol::encode(message).unwrap()).unwrap();
        }
        channel.receive(&mut [0; 64])
    }

    fn hello() -> FromRank {
        FromRank::Hello {
            protocol: PROTOCOL,
            version: "0".into(),
        }
    }

    fn card() -> FromRank {
        FromRank::Card(Default::default())
    }

    #[test]
    fn the_right_order_is_heard_also_a_second_time() {
        let messages = [
            hello(),
            card(),
            FromRank::Finalized,
            hello(),
            card(),
            FromRank::Finalized,
        ];
        assert_eq!(hear(&messages).unwrap(), messages);
    }

    #[test]
    fn every_other_order_is_refused() {
        let abort = FromRank::Abort {
            code: 1,
            message: String::new(),
        };
        let counters = || FromRank::Counters(Vec::new());
        let wrong: [&[FromRank]; 12] = [
            &[FromRank::Blocked(1)],
            &[hello(), FromRank::Resumed],
            &[hello(), FromRank::Blocked(1), FromRank::Blocked(1)],
            &[card()],
            &[counters()],
            &[hello(), FromRank::Finalized, counters()],
            &[FromRank::Finalized],
            &[abort],
            &[hello(), hello()],
            &[hello(), card(), card()],
            &[hello(), card(), hello()],
            &[hello(), FromRank::Finalized, FromRank::Finalized],
        ];
        for messages in wrong {
            assert!(hear(messages).is_err(), "{messages:?}");
        }
    }

    #[test]
    fn another_protocol_is_refused_with_both_versions() {
        let text = hear(&[FromRank::Hello {
            protocol: 99,
            version: "7.7".into(),
        }])
        .unwrap_err();
        assert!(
            text.contains("7.7") && text.contains(env!("CARGO_PKG_VERSION")),
            "{text}"
        );
    }

    #[test]
    fn garbage_closes_the_channel() {
        for garbage in [&[0; 4][..], &[0xff; 4], &[1, 0, 0, 0, 99]] {
            let (mut channel, mut rank) = pair();
            rank.write_all(garbage).unwrap();
            assert!(channel.receive(&mut [0; 64]).is_err(), "{garbage:?}");
            assert!(channel.is_closed());
        }
    }

    #[test]
    fn a_card_longer_than_the_limit_is_refused() {
        let card = |bytes| FromRank::Card(serde_bytes::ByteBuf::from(vec![7; bytes]));
        assert!(hear(&[hello(), card(CARD_MAX)]).is_ok());
        let text = hear(&[hello(), card(CARD_MAX + 1)]).unwrap_err();
        assert!(
            text.contains("a card of 1025 bytes (1024 at most)"),
            "{text}"
        );
    }

    #[test]
    fn a_frame_longer_than_a_ranks_is_refused_at_its_length() {
        let (mut channel, mut rank) = pair();
        let length = u32::try_from(RANK_FRAME_MAX + 1).unwrap();
        rank.write_all(&length.to_le_bytes()).unwrap();
        let text = channel.receive(&mut [0; 64]).unwrap_err();
        assert!(
            text.contains("1048577 bytes (1 to 1048576 are possible)"),
            "{text}"
        );
        assert!(channel.is_closed());
    }

    #[test]
    fn what_a_rank_sent_before_its_end_is_read_though_it_takes_nothing_more() {
        let (mut channel, mut rank) = pair();
        let messages = [hello(), FromRank::Finalized];
        for message in &messages {
            rank.write_all(&protocol::encode(message).unwrap()).unwrap();
        }
        drop(rank);
        channel.send(Outgoing::new(&ToRank::Refused("late".into())));
        assert_eq!(channel.receive(&mut [0; 64]).unwrap(), messages);
        assert!(!channel.has_outgoing());
    }

    #[test]
    fn half_a_frame_and_then_the_end_is_only_the_end() {
        let (mut channel, mut rank) = pair();
        rank.write_all(&protocol::encode(&hello()).unwrap()[..3])
            .unwrap();
        drop(rank);
        for is_closed in [false, true] {
            assert_eq!(channel.receive(&mut [0; 64]).unwrap(), []);
            assert_eq!(channel.is_closed(), is_closed);
        }
    }

    /// Reads once: (bytes, descriptors), as many as there are.
    fn take(rank: &UnixStream, into: &mut [u8]) -> (usize, usize) {
        let mut space = nix::cmsg_space!([RawFd; DESCRIPTORS_PER_MESSAGE]);
        let mut pieces = [IoSliceMut::new(into)];
        let (raw, flags) = (rank.as_raw_fd(), MsgFlags::MSG_CMSG_CLOEXEC);
        let message = recvmsg::<()>(raw, &mut pieces, Some(&mut space), flags).unwrap();
        let mut descriptors = 0;
        for control in message.cmsgs().unwrap() {
            if let ControlMessageOwned::ScmRights(all) = control {
                descriptors += all.len();
                all.into_iter().for_each(|it| close(it).unwrap());
            }
        }
        (message.bytes, descriptors)
    }

    #[test]
    fn any_number_of_descriptors_goes_with_the_beginning_of_its_frame() {
        for ranks in [2, 252, 253, 256, 505, 506] {
            let (mut channel, rank) = pair();
            let segment = Rc::new(Shared::make(ranks, 1024).unwrap());
            let message = ToRank::Refused("x".repeat(1000));
            // What goes before takes nothing of it.
            channel.send(Outgoing::new(&message));
            channel.send(Outgoing::sharing(&message, Some(Rc::clone(&segment))));
            assert!(!channel.has_outgoing());
            assert_eq!(Rc::strong_count(&segment), 1);
            let frame = protocol::encode(&message).unwrap().len();
            let (mut bytes, mut descriptors) = (0, 0);
            while bytes < frame {
                let mut room = vec![0; frame - bytes];
                let (length, beside) = take(&rank, &mut room);
                assert_eq!(beside, 0);
                bytes += length;
            }
            while bytes < 2 * frame {
                let (length, beside) = take(&rank, &mut [0; 100]);
                (bytes, descriptors) = (bytes + length, descriptors + beside);
            }
            assert_eq!(descriptors, ranks as usize + 1);
        }
    }

    #[test]
    fn a_rank_that_does_not_read_gets_one_question_and_then_the_last_one() {
        let (mut channel, mut rank) = pair();
        rank.write_all(&protocol::encode(&hello()).unwrap())
            .unwrap();
        channel.receive(&mut [0; 64]).unwrap();
        for question in 1..=10_000 {
            channel.describe(question);
        }
        let answer = |question| FromRank::State {
            question,
            state: Box::default(),
        };
        for question in [1, 10_000] {
            assert!(!channel.has_outgoing());
            let expected = protocol::encode(&ToRank::Describe(question)).unwrap();
            let mut bytes = [0; 4096];
            let length = rank.read(&mut bytes).unwrap();
            assert_eq!(bytes[..length], expected);
            rank.write_all(&protocol::encode(&answer(question)).unwrap())
                .unwrap();
            assert_eq!(channel.receive(&mut [0; 64]).unwrap(), [answer(question)]);
        }
        channel.describe(10_001);
        let mut bytes = [0; 4096];
        assert!(rank.read(&mut bytes).unwrap() > 0);
    }

    #[test]
    fn a_program_that_begins_is_asked_though_the_one_before_has_not_answered() {
        let (mut channel, mut rank) = pair();
        channel.describe(1);
        rank.write_all(&protocol::encode(&hello()).unwrap())
            .unwrap();
        channel.receive(&mut [0; 64]).unwrap();
        channel.describe(2);
        let expected = [1, 2].map(|it| protocol::encode(&ToRank::Describe(it)).unwrap());
        let expected = expected.concat();
        let mut bytes = vec![0; expected.len()];
        rank.read_exact(&mut bytes).unwrap();
        assert_eq!(bytes, expected);
    }

    #[test]
    fn a_state_longer_than_the_limits_is_refused() {
        let state = |threads, bytes| FromRank::State {
            question: 1,
            state: Box::new(RankState {
                threads: vec![ThreadState::default(); threads],
                last_call: "x".repeat(bytes),
                ..RankState::default()
            }),
        };
        assert!(hear(&[hello(), state(THREADS_MAX, 1000)]).is_ok());
        for (threads, bytes) in [(THREADS_MAX + 1, 0), (0, STATE_MAX)] {
            let text = hear(&[hello(), state(threads, bytes)]).unwrap_err();
            assert!(text.starts_with("described "), "{text}");
        }
    }

    #[test]
    fn a_rank_that_does_not_read_is_waited_for() {
        let (mut channel, rank) = pair();
        let segment = Rc::new(Shared::make(300, 1024).unwrap());
        let message = ToRank::Refused("x".repeat(100_000));
        for _ in 0..10 {
            channel.send(Outgoing::sharing(&message, Some(Rc::clone(&segment))));
        }
        assert!(channel.has_outgoing() && Rc::strong_count(&segment) > 1);
        let all = 10 * protocol::encode(&message).unwrap().len();
        let (mut bytes, mut descriptors) = (0, 0);
        while bytes < all {
            let (length, beside) = take(&rank, &mut [0; 4096]);
            (bytes, descriptors) = (bytes + length, descriptors + beside);
            channel.flush();
        }
        assert_eq!((descriptors, Rc::strong_count(&segment)), (3010, 1));
        assert!(!channel.has_outgoing());
    }
}
