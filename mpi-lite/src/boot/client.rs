//! The rank's end of the channel to the launcher.
#![expect(
    unsafe_code,
    reason = "adopts the descriptor that the launcher left in the environment"
)]

use std::io::{ErrorKind, Write};
use std::mem;
use std::os::fd::{AsFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use serde_bytes::ByteBuf;

use super::Shared;
use super::beside::Beside;
use super::protocol::{
    self, ABORT_TEXT_MAX, Assignment, CARD_MAX, Counted, Frames, FromRank, PROTOCOL, ToRank,
};
use super::state::RankState;
use super::{Asked, BootError};
use crate::hidden::scrub_stack;
use crate::machine::cannot;

/// The step of the conversation in which a rank says what it waits for.
const REPORT: &str = "the report of what it waits for";

/// A rank's connection to the launcher that started it.
#[derive(Debug)]
pub struct Client {
    stream: UnixStream,
    frames: Frames,
    /// Descriptors that came with the bytes of the frames.
    beside: Beside,
    assignment: Assignment,
    shared: Option<Shared>,
    /// The question that has no answer yet.
    question: Option<u32>,
    /// Frames, or the rest of one, for which the socket had no room.
    unsent: Vec<u8>,
    lost: bool,
}

impl Client {
    /// Adopts descriptor `fd` and asks the launcher for this rank's assignment.
    ///
    /// # Errors
    ///
    /// [`BootError::Channel`] if `fd` is not an open socket; otherwise the error of the launcher.
    pub(super) fn connect(fd: RawFd) -> Result<Client, BootError> {
        Client::over(adopt(fd, OWN_DESCRIPTORS)?)
    }

    fn over(stream: UnixStream) -> Result<Client, BootError> {
        let mut client = Client {
            stream,
            frames: Frames::default(),
            beside: Beside::default(),
            assignment: Assignment::alone(),
            shared: None,
            question: None,
            unsent: Vec::new(),
            lost: false,
        };
        let version = env!("CARGO_PKG_VERSION").to_string();
        client.send(
            &FromRank::Hello {
                protocol: PROTOCOL,
                version,
            },
            "Init",
        )?;
        match client.receive("Init")? {
            ToRank::Assigned(assignment) => client.take_up(*assignment)?,
            ToRank::Refused(reason) => return Err(BootError::Refused(reason)),
            other => return Err(unexpected(&other, "Init")),
        }
        client.frames.wipe();
        scrub_stack();
        Ok(client)
    }

    pub(super) fn forget_key(&mut self) {
        self.assignment.key.forget();
    }

    /// Takes the assignment, if it is possible: the launcher is our own, but versions may differ.
    fn take_up(&mut self, assignment: Assignment) -> Result<(), BootError> {
        if !assignment.is_possible() {
            return Err(BootError::Unexpected {
                what: format!("an impossible {assignment:?}"),
                during: "Init",
            });
        }
        self.shared = mem::take(&mut self.beside).sort(&assignment)?;
        self.assignment = assignment;
        Ok(())
    }

    pub(super) fn shared(&mut self) -> Option<Shared> {
        self.shared.take()
    }

    pub(super) fn assignment(&self) -> &Assignment {
        &self.assignment
    }

    pub(super) fn exchange(
        &mut self,
        card: &[u8],
        state: &dyn Fn() -> RankState,
    ) -> Result<Vec<Vec<u8>>, BootError> {
        let during = "the exchange of addresses";
        if card.len() > CARD_MAX {
            return Err(BootError::LongCard { bytes: card.len() });
        }
        if let Some(question) = self.question {
            self.describe(question, state())?;
        }
        self.send(&FromRank::Card(ByteBuf::from(card)), during)?;
        let answer = loop {
            match self.receive(during)? {
                ToRank::Describe(question) => self.describe(question, state())?,
                answer => break answer,
            }
        };
        match answer {
            ToRank::Cards(cards) if cards.len() == self.assignment.size as usize => {
                Ok(cards.into_iter().map(ByteBuf::into_vec).collect())
            }
            ToRank::Refused(reason) => Err(BootError::Refused(reason)),
            other => Err(unexpected(&other, during)),
        }
    }

    /// Reports that nothing has come for the program for this long.
    pub(super) fn blocked(&mut self, time: Duration) -> Result<(), BootError> {
        let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.send_at_once(&FromRank::Blocked(ms))
    }

    /// Reports that the program goes on.
    pub(super) fn resumed(&mut self) -> Result<(), BootError> {
        self.send_at_once(&FromRank::Resumed)
    }

    /// Answers a question of the launcher.
    pub(super) fn describe(&mut self, question: u32, state: RankState) -> Result<(), BootError> {
        let state = Box::new(state.cut());
        self.question = None;
        self.send_at_once(&FromRank::State { question, state })
    }

    /// Takes a question of the launcher that has come, without waiting. The launcher asks at any
    /// time between `Assigned` and `Finalized`.
    pub(super) fn question(&mut self) -> Asked {
        if self.flush().is_err() {
            return Asked::Gone;
        }
        loop {
            match self.frames.pop() {
                Ok(Some(ToRank::Describe(question))) => {
                    self.question = Some(question);
                    return Asked::Question(question);
                }
                Ok(None) if self.lost => return Asked::Gone,
                Ok(None) => {}
                // The launcher ends the job.
                Ok(Some(_)) | Err(_) => return Asked::Gone,
            }
            let mut bytes = [0; 256];
            match recv(&self.stream, &mut bytes, RecvFlags::DONTWAIT) {
                Ok((0, _)) => self.lost = true,
                Ok((length, _)) => self.frames.push(&bytes[..length]),
                Err(Errno::AGAIN | Errno::INTR) => return Asked::Nothing,
                Err(_) => self.lost = true,
            }
        }
    }

    pub(super) fn descriptor(&self) -> std::io::Result<OwnedFd> {
        self.stream.as_fd().try_clone_to_owned()
    }

    pub(super) fn report(&mut self, counters: Vec<Counted>) -> Result<(), BootError> {
        if !self.assignment.reports_counters {
            return Ok(());
        }
        self.send(&FromRank::Counters(counters), "the report of its counters")
    }

    pub(super) fn finalized(&mut self) -> Result<(), BootError> {
        self.send(&FromRank::Finalized, "Finalize")
    }

    pub(super) fn loss(&mut self, rank: u32, reason: &str) -> Result<(), BootError> {
        let reason = reason.to_string();
        self.send(&FromRank::Loss { rank, reason }, "Finalize")
    }

    pub(super) fn failure(&mut self, why: &str) -> Result<(), BootError> {
        self.send(&FromRank::Failure(cut(why)), "Finalize")
    }

    pub(super) fn abort(&mut self, code: i32, message: &str) -> Result<(), BootError> {
        let message = cut(message);
        let told = self.send(&FromRank::Abort { code, message }, "Abort");
        self.lost |= told.is_err();
        told
    }

    pub(super) fn lost(&mut self) -> bool {
        if !self.lost {
            let flags = RecvFlags::DONTWAIT | RecvFlags::PEEK;
            let answer = recv(&self.stream, &mut [0], flags);
            self.lost = !matches!(answer, Ok((1, _)) | Err(Errno::AGAIN | Errno::INTR));
        }
        self.lost
    }

    fn send(&mut self, message: &FromRank, during: &'static str) -> Result<(), BootError> {
        let mut bytes = mem::take(&mut self.unsent);
        bytes.extend(encode(message, during)?);
        self.stream
            .write_all(&bytes)
            .map_err(|error| self.failed(error, during))
    }

    /// Sends as much as there is room for; the rest goes with the next message. A launcher that is
    /// stopped must not stop this process.
    fn send_at_once(&mut self, message: &FromRank) -> Result<(), BootError> {
        self.unsent.extend(encode(message, REPORT)?);
        self.flush()
    }

    /// Sends what was left, as much as there is room for.
    pub(super) fn flush(&mut self) -> Result<(), BootError> {
        while !self.unsent.is_empty() {
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            match send(&self.stream, &self.unsent, flags) {
                Ok(sent) => drop(self.unsent.drain(..sent)),
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(self.failed(errno.into(), REPORT)),
            }
        }
        Ok(())
    }

    fn receive(&mut self, during: &'static str) -> Result<ToRank, BootError> {
        let mut bytes = [0; 16 << 10];
        loop {
            match self.frames.pop() {
                Ok(Some(message)) => return Ok(message),
                Ok(None) => {}
                Err(error) => {
                    return Err(BootError::Unexpected {
                        what: error.to_string(),
                        during,
                    });
                }
            }
            match self.beside.receive(&self.stream, &mut bytes) {
                Ok(0) => {
                    self.lost = true;
                    return Err(BootError::Closed { during });
                }
                Ok(length) => self.frames.push(&bytes[..length]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(error, during)),
            }
        }
    }

    fn failed(&mut self, error: std::io::Error, during: &'static str) -> BootError {
        self.lost = true;
        match error.kind() {
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => BootError::Closed { during },
            _ => BootError::Io { during, error },
        }
    }
}

fn encode(message: &FromRank, during: &'static str) -> Result<Vec<u8>, BootError> {
    protocol::encode(message).map_err(|error| BootError::Unexpected {
        what: error.to_string(),
        during,
    })
}

/// Where the system lists the open descriptors of this process.
const OWN_DESCRIPTORS: &str = "/proc/self/fd";

/// Takes over descriptor `fd`, in a copy that this process's own children do not inherit; `listed`
/// is [`OWN_DESCRIPTORS`].
fn adopt(fd: RawFd, listed: &'static str) -> Result<UnixStream, BootError> {
    let refuse = |reason: String| BootError::Channel {
        value: fd.to_string(),
        reason,
    };
    if !std::fs::exists(listed).unwrap_or(false) {
        return Err(BootError::NoProc { missing: listed });
    }
    let metadata = std::fs::metadata(format!("{listed}/{fd}"))
        .map_err(|_| refuse("it is not open in this process".into()))?;
    if !metadata.file_type().is_socket() {
        return Err(refuse("it is not a socket".into()));
    }
    // SAFETY: the descriptor is open (checked above), and by the launcher's contract it was made
    // for this purpose alone: no other part of the process owns it.
    let inherited = unsafe { UnixStream::from_raw_fd(fd) };
    inherited.try_clone().map_err(|error| {
        let what = format!("copy descriptor {fd}, the channel to mpirun");
        BootError::System(cannot(&what, &error))
    })
}

/// Cuts a text to what the launcher takes.
fn cut(text: &str) -> String {
    let fits = |at: &usize| text.is_char_boundary(*at);
    let end = (0..=text.len().min(ABORT_TEXT_MAX)).rev().find(fits);
    text[..end.unwrap_or(0)].to_string()
}

fn unexpected(message: &ToRank, during: &'static str) -> BootError {
    let what = match message {
        ToRank::Assigned(_) => "an assignment".to_string(),
        ToRank::Cards(cards) => format!("{} cards", cards.len()),
        ToRank::Refused(reason) => format!("a refusal ({reason})"),
        ToRank::Describe(question) => format!("question {question}"),
    };
    BootError::Unexpected { what, during }
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "the other end of the channel is a thread"
)]
mod tests {
    use std::io::Read as _;
    use std::mem::MaybeUninit;
    use std::os::fd::{AsFd, AsRawFd, OwnedFd};
    use std::thread;

    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, sendmsg};

    use super::*;
    use crate::hosts::Hosts;

    /// A launcher that answers each frame with the next of `answers`, then closes.
    fn launcher(answers: Vec<ToRank>) -> (UnixStream, thread::JoinHandle<Vec<FromRank>>) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let serve = move || {
            let mut frames = Frames::default();
            let mut heard = Vec::new();
            let mut answers = answers.into_iter();
            let mut bytes = [0; 1024];
            loop {
                while let Some(message) = frames.pop().unwrap() {
                    heard.push(message);
                    let Some(answer) = answers.next() else {
                        return heard;
                    };
                    theirs
                        .write_all(&protocol::encode(&answer).unwrap())
                        .unwrap();
                }
                match theirs.read(&mut bytes).unwrap() {
                    0 => return heard,
                    length => frames.push(&bytes[..length]),
                }
            }
        };
        (ours, thread::spawn(serve))
    }

    fn two_ranks() -> Assignment {
        let mut assignment = Assignment::alone();
        assignment.size = 2;
        assignment.hosts = Hosts::of(&["localhost", "b"]);
        assignment
    }

    fn assigned() -> ToRank {
        ToRank::Assigned(Box::new(two_ranks()))
    }

    #[test]
    fn a_rank_gets_its_assignment_and_all_cards() {
        let cards = ToRank::Cards(vec![ByteBuf::from(*b"a"), ByteBuf::from(*b"bb")]);
        let (stream, thread) = launcher(vec![assigned(), cards]);
        let mut client = Client::over(stream).unwrap();
        assert_eq!(client.assignment().size, 2);
        assert!(!client.lost());
        assert_eq!(
            client.exchange(b"a", &RankState::default).unwrap(),
            [b"a".to_vec(), b"bb".to_vec()]
        );
        client.finalized().unwrap();
        drop(client);
        assert_eq!(thread.join().unwrap().last(), Some(&FromRank::Finalized));
    }

    fn cards() -> ToRank {
        ToRank::Cards(vec![ByteBuf::new(), ByteBuf::new()])
    }

    fn in_finalize() -> RankState {
        RankState::waiting_for_all("MPI_Finalize", Duration::from_secs(1))
    }

    #[test]
    fn a_question_in_the_exchange_is_answered_there() {
        let (stream, thread) = launcher(vec![assigned(), ToRank::Describe(3), cards()]);
        let mut client = Client::over(stream).unwrap();
        assert_eq!(client.exchange(b"a", &in_finalize).unwrap().len(), 2);
        drop(client);
        let state = Box::new(in_finalize());
        let answer = FromRank::State { question: 3, state };
        assert_eq!(thread.join().unwrap().last(), Some(&answer));
    }

    #[test]
    fn a_question_before_the_exchange_that_has_no_answer_is_answered_there() {
        let (stream, thread) = launcher(vec![assigned(), ToRank::Describe(7), cards()]);
        let mut client = Client::over(stream).unwrap();
        client.resumed().unwrap();
        let asked = loop {
            match client.question() {
                Asked::Nothing => thread::yield_now(),
                asked => break asked,
            }
        };
        assert_eq!(asked, Asked::Question(7));
        // The ticker ends before it has answered.
        client.exchange(b"a", &in_finalize).unwrap();
        drop(client);
        let state = Box::new(in_finalize());
        let answer = FromRank::State { question: 7, state };
        assert!(thread.join().unwrap().contains(&answer));
    }

    #[test]
    fn a_launcher_that_reads_nothing_stops_no_ticker() {
        let (stream, _thread) = launcher(vec![assigned()]);
        let mut client = Client::over(stream).unwrap();
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        client.stream = ours;
        const FRAMES: usize = 2000;
        for question in 0..FRAMES as u32 {
            client.describe(question, in_finalize()).unwrap();
        }
        let mut frames = Frames::default();
        let mut bytes = [0; 1 << 16];
        let mut heard = 0;
        while heard < FRAMES {
            client.flush().unwrap();
            let length = theirs.read(&mut bytes).unwrap();
            frames.push(&bytes[..length]);
            while let Some(FromRank::State { question, .. }) = frames.pop().unwrap() {
                assert_eq!(question as usize, heard);
                heard += 1;
            }
        }
    }

    #[test]
    fn a_launcher_that_goes_away_in_the_exchange_is_an_error() {
        let (stream, thread) = launcher(vec![assigned()]);
        let mut client = Client::over(stream).unwrap();
        assert!(matches!(
            client.exchange(b"a", &RankState::default),
            Err(BootError::Closed { .. })
        ));
        assert!(client.lost());
        thread.join().unwrap();
    }

    #[test]
    fn a_refusal_reaches_the_program() {
        let (stream, _thread) = launcher(vec![ToRank::Refused("version 9".into())]);
        let error = Client::over(stream).unwrap_err();
        assert!(error.to_string().contains("version 9"), "{error}");
    }

    #[test]
    fn too_few_cards_are_refused() {
        let (stream, _thread) = launcher(vec![assigned(), ToRank::Cards(vec![])]);
        let mut client = Client::over(stream).unwrap();
        assert!(matches!(
            client.exchange(b"a", &RankState::default),
            Err(BootError::Unexpected { .. })
        ));
    }

    #[test]
    fn an_impossible_assignment_is_refused() {
        let mut wrong = two_ranks();
        wrong.rank = 2;
        let (stream, _thread) = launcher(vec![ToRank::Assigned(Box::new(wrong))]);
        assert!(matches!(
            Client::over(stream),
            Err(BootError::Unexpected { .. })
        ));
    }

    #[test]
    fn local_peers_that_do_not_fit_are_refused() {
        let possible = two_ranks();
        let wrong: [fn(&mut Assignment); 7] = [
            |it| it.local_peers.clear(),
            |it| it.local_peers = vec![1],
            |it| it.local_peers = vec![0, 1],
            |it| (it.local_size, it.local_peers) = (2, vec![0, 0]),
            |it| (it.local_size, it.local_peers) = (2, vec![0, 2]),
            |it| (it.local_size, it.local_peers) = (3, vec![0, 1, 2]),
            |it| it.shares_memory = true,
        ];
        assert!(possible.is_possible());
        for change in wrong {
            let mut assignment = possible.clone();
            change(&mut assignment);
            assert!(!assignment.is_possible(), "{assignment:?}");
        }
    }

    /// Returns Hello with the assignment to one of `ranks` ranks on one node, in `pieces` pieces;
    /// `each` descriptors come with each piece, with values that count up from 0.
    fn sharing(ranks: u32, pieces: usize, each: usize) -> Result<Client, BootError> {
        let assignment = Assignment {
            size: ranks,
            local_size: ranks,
            local_peers: (0..ranks).collect(),
            hosts: Hosts::of(&vec!["n"; ranks as usize]),
            shares_memory: true,
            ..two_ranks()
        };
        let frame = protocol::encode(&ToRank::Assigned(Box::new(assignment))).unwrap();
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let serve = move || {
            // Hello, whatever it says.
            assert!(theirs.read(&mut [0; 256]).unwrap() > 0);
            let (bytes, rest) = frame.split_at(pieces - 1);
            for (piece, bytes) in bytes.chunks(1).chain([rest]).enumerate() {
                let values = (piece * each) as u32..((piece + 1) * each) as u32;
                let descriptors: Vec<OwnedFd> = values.map(doorbell).collect();
                send_beside(&theirs, bytes, &descriptors);
            }
        };
        let thread = thread::spawn(serve);
        let client = Client::over(ours);
        thread.join().unwrap();
        client
    }

    fn doorbell(value: u32) -> OwnedFd {
        rustix::event::eventfd(value, rustix::event::EventfdFlags::NONBLOCK).unwrap()
    }

    fn send_beside(to: &UnixStream, bytes: &[u8], descriptors: &[OwnedFd]) {
        let borrowed: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(253))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(&borrowed)));
        let piece = [std::io::IoSlice::new(bytes)];
        let sent = sendmsg(to, &piece, &mut control, SendFlags::empty()).unwrap();
        assert_eq!(sent, bytes.len());
    }

    #[test]
    fn shared_descriptors_come_once_in_order_and_stay_with_the_process() {
        // 257 descriptors; those of 3 ranks byte by byte; 253 in one message.
        for (ranks, pieces, each) in [(256, 257, 1), (3, 4, 1), (252, 1, 253), (9, 2, 5)] {
            let mut client = sharing(ranks, pieces, each).unwrap();
            let Shared { memory, doorbells } = client.shared().unwrap();
            assert!(client.shared().is_none());
            assert_eq!(doorbells.len(), ranks as usize);
            for (number, descriptor) in std::iter::once(&memory).chain(&doorbells).enumerate() {
                let flags = rustix::io::fcntl_getfd(descriptor).unwrap();
                assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
                if number > 0 {
                    let mut value = [0; 8];
                    rustix::io::read(descriptor, &mut value).unwrap();
                    assert_eq!(u64::from_ne_bytes(value), number as u64);
                }
            }
        }
    }

    #[test]
    fn a_wrong_number_of_descriptors_is_refused() {
        for (pieces, each) in [(1, 2), (1, 4), (2, 3)] {
            let error = sharing(2, pieces, each).unwrap_err();
            let text = error.to_string();
            assert!(text.contains("descriptors instead of 3"), "{text}");
        }
        let (stream, _thread) = launcher(vec![assigned()]);
        assert!(Client::over(stream).unwrap().shared().is_none());
    }

    #[test]
    fn without_proc_nobody_else_is_blamed() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let error = adopt(ours.as_raw_fd(), "/no/such/proc/self/fd").unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("/no/such/proc/self/fd does not exist"),
            "{text}"
        );
        assert!(
            text.contains("mount -t proc") && !text.contains("wrapper"),
            "{text}"
        );
    }

    #[test]
    fn a_closed_descriptor_and_a_file_are_refused() {
        assert!(matches!(
            Client::connect(987_654),
            Err(BootError::Channel { .. })
        ));
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(matches!(
            Client::connect(file.as_raw_fd()),
            Err(BootError::Channel { .. })
        ));
    }
}
