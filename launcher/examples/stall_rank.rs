//! A rank without MPI that is blocked: what such a program tells its launcher, and what goes wrong
//! in it, to try the report about a job that hangs.
//!
//! `stall_rank MODE [RANK]`: all ranks are blocked and answer what they do. The rank of that
//! number, or every rank, does what the mode says.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio, exit};
use std::time::Instant;

use mpi_boot::protocol::{Frames, FromRank, PROTOCOL, ToRank, encode};
use mpi_boot::state::{RankState, STATE_MAX, THREADS_MAX, ThreadState};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let own = std::env::var("MPILITE_RANK").unwrap_or_default();
    let is_chosen = words.get(1).is_none_or(|rank| *rank == own);
    let mode = words.first().filter(|_| is_chosen);
    let mode = mode.map_or("block", String::as_str);
    let mut channel = Channel::open();
    let start = Instant::now();
    let _assigned = channel.receive();
    match mode {
        "deaf" => {
            channel.send(&FromRank::Blocked(2000));
            channel.reader.kill().expect("it is our child");
            forever();
        }
        "work" => {}
        _ => channel.send(&FromRank::Blocked(2000)),
    }
    let mut questions = 0;
    loop {
        let ToRank::Describe(question) = channel.receive() else {
            continue;
        };
        questions += 1;
        let mut state = blocked_since(start);
        match mode {
            "silent" => continue,
            "stop" => {
                stop_oneself();
                continue;
            }
            "compute" | "work" => state.threads.clear(),
            "threads" => state.threads = vec![ThreadState::default(); THREADS_MAX + 1],
            "long" => state.last_call = "x".repeat(STATE_MAX),
            "garbage" => channel.send_bytes(b"this is no frame"),
            "blocked-twice" => channel.send(&FromRank::Blocked(2000)),
            "other-question" => channel.send(&FromRank::State {
                question: question.wrapping_add(1),
                state: Box::default(),
            }),
            "resume" if questions == 2 => channel.send(&FromRank::Resumed),
            "leave" => channel.leave(),
            _ => {}
        }
        let state = Box::new(state);
        channel.send(&FromRank::State { question, state });
    }
}

/// The state of a rank whose one thread has waited since then.
fn blocked_since(start: Instant) -> RankState {
    let blocked_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    let thread = ThreadState {
        call: "MPI_Recv".into(),
        blocked_ms,
        ..ThreadState::default()
    };
    RankState {
        threads: vec![thread],
        last_call: "MPI_Recv".into(),
        ..RankState::default()
    }
}

/// The channel to the launcher, through two programs that inherit it.
struct Channel {
    reader: Child,
    writer: Child,
    from: ChildStdout,
    to: Option<ChildStdin>,
    frames: Frames,
}

impl Channel {
    /// Begins as `MPI_Init` does.
    fn open() -> Channel {
        let fd = std::env::var("MPILITE_BOOT_FD").expect("started by a launcher");
        let shell = |line: String, input, output| {
            let mut command = Command::new("bash");
            command.args(["-c", &line]).stdin(input).stdout(output);
            command
                .stderr(Stdio::null())
                .spawn()
                .expect("bash can be executed")
        };
        let mut reader = shell(format!("exec cat <&{fd}"), Stdio::null(), Stdio::piped());
        let mut writer = shell(format!("exec cat >&{fd}"), Stdio::piped(), Stdio::null());
        let (from, to) = (reader.stdout.take(), writer.stdin.take());
        let mut channel = Channel {
            from: from.expect("a pipe"),
            to,
            reader,
            writer,
            frames: Frames::default(),
        };
        channel.send(&FromRank::Hello {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").into(),
        });
        channel
    }

    fn send(&mut self, message: &FromRank) {
        self.send_bytes(&encode(message).expect("a frame"));
    }

    fn send_bytes(&mut self, bytes: &[u8]) {
        let to = self.to.as_mut().expect("it is open");
        // The launcher may close its end.
        let written = to.write_all(bytes);
        if written.and_then(|()| to.flush()).is_err() {
            forever();
        }
    }

    fn receive(&mut self) -> ToRank {
        loop {
            let message = self.frames.pop().expect("the launcher sends frames");
            if let Some(message) = message {
                return message;
            }
            let mut bytes = [0; 4096];
            match self.from.read(&mut bytes) {
                Ok(0) | Err(_) => forever(),
                Ok(length) => self.frames.push(&bytes[..length]),
            }
        }
    }

    /// Finalizes and ends, as a rank that has got its message.
    fn leave(&mut self) -> ! {
        self.send(&FromRank::Finalized);
        self.to = None;
        self.writer.wait().expect("it is our child");
        self.reader.kill().expect("it is our child");
        exit(0);
    }
}

fn stop_oneself() {
    let own = std::process::id().to_string();
    let kill = Command::new("kill").args(["-STOP", &own]).status();
    kill.expect("kill runs");
}

fn forever() -> ! {
    loop {
        std::thread::park();
    }
}
