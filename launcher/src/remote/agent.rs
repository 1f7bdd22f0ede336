//! The launcher's part on another host: a [`Node`] that speaks through standard input and output,
//! or through a connection to `mpirun` if srun has started it.
//!
//! The end of that input means that `mpirun`, its host or the connection is gone: then every
//! rank here ends as well. So does a long silence: a network that is cut closes nothing. While
//! `mpirun` is suspended, of which it tells, its silence means nothing.

use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use mpi_boot::protocol::{self, Frames};

use crate::failure::Failure;
use crate::node::Node;
use crate::poll::{Interests, Token, earlier};
use crate::process::{Prepared, prepare_process};
use crate::remote::carrier::Carrier;
use crate::remote::home::Home;
use crate::remote::relay::Relay;
use crate::remote::silence::{self, Silence};
use crate::remote::streams::Streams;
use crate::signals::Reported;
use crate::wire::{Known, MAGIC, Order, Report};
use mpi_boot::machine;

/// No more is read from hosts below while so many bytes wait for `mpirun`.
const WAITING_MAX: usize = 1 << 20;

/// How long `mpirun` may take to read the last reports.
const FAREWELL: Duration = Duration::from_secs(1);

/// Serves one node until all its ranks ended. Returns a failure if this process cannot be set up.
pub fn serve() -> Result<(), Failure> {
    let process = prepare_process()?;
    let inherited = process.inherited;
    let no_connection = |error| Failure::launch(format!("agent: no connection: {error}"));
    let connection = match Home::find()? {
        Some(home) => Some(home.connect()?),
        None => None,
    };
    let (streams, known) = match &connection {
        Some(connection) => (Streams::of(connection), known_of(connection)),
        None => (standard_streams(), known_of_sshd()),
    };
    let streams = streams.map_err(no_connection)?;
    let now = Instant::now();
    let mut agent = Agent {
        node: Node::new(inherited),
        relay: Relay::new(inherited),
        process,
        reported: Reported::default(),
        streams,
        outgoing: MAGIC.iter().copied().collect(),
        frames: Frames::default(),
        silence: Silence::new(Some(silence::LIMIT), now),
        sign_at: now,
        is_lost: false,
    };
    let version = env!("CARGO_PKG_VERSION").to_string();
    agent.send(&Report::Ready { version, known });
    agent.run();
    if let Some(connection) = connection {
        take_leave(connection);
    }
    Ok(())
}

fn standard_streams() -> io::Result<Streams> {
    Streams::new(
        io::stdin().as_fd().try_clone_to_owned()?,
        io::stdout().as_fd().try_clone_to_owned()?,
    )
}

/// Waits until `mpirun` has read everything. An end with orders unread would break the connection
/// off, and lose our last reports.
fn take_leave(mut connection: TcpStream) {
    let is_ready = connection.shutdown(Shutdown::Write).is_ok()
        && connection.set_nonblocking(false).is_ok()
        && connection.set_read_timeout(Some(FAREWELL)).is_ok();
    let mut bytes = [0; 4096];
    while is_ready && matches!(connection.read(&mut bytes), Ok(length) if length > 0) {}
}

struct Agent {
    node: Node,
    relay: Relay,
    process: Prepared,
    /// Those that `mpirun` was told of.
    reported: Reported,
    /// Those of `mpirun`.
    streams: Streams,
    outgoing: VecDeque<u8>,
    frames: Frames,
    /// Of `mpirun`.
    silence: Silence,
    /// When the node must know again that we live.
    sign_at: Instant,
    /// Nobody listens any more.
    is_lost: bool,
}

impl Agent {
    fn run(&mut self) {
        loop {
            let now = Instant::now();
            self.node.tick(now);
            self.relay.tick(now);
            self.watch_silence(now);
            self.pass_reports(now);
            let is_idle = !self.node.has_ranks() || self.node.is_quiet();
            let has_ended = self.node.is_quiet() && self.outgoing.is_empty();
            if self.relay.is_empty() && (self.is_lost && is_idle || has_ended) {
                if self.node.ending.has_begun() {
                    self.process.children.kill_all();
                }
                return;
            }
            let ready = self.wait();
            let now = Instant::now();
            for token in ready {
                self.ready(token, now);
            }
        }
    }

    fn wait(&self) -> Vec<Token> {
        let mut interests = Interests::default();
        interests.readable(self.process.signals.descriptor(), Token::Signals);
        if !self.is_lost {
            let has_outgoing = !self.outgoing.is_empty();
            self.streams
                .interests(has_outgoing, Token::Server, &mut interests);
        }
        self.node.interests(&mut interests);
        self.relay.interests(self.has_room(), &mut interests);
        let until = self.sign_at.min(self.silence.look_at());
        let until = earlier(self.relay.wake_at(), Some(until));
        interests.wait(earlier(self.node.wake_at(), until))
    }

    /// Returns true if `mpirun` reads what comes from hosts below as fast as it comes.
    fn has_room(&self) -> bool {
        self.outgoing.len() < WAITING_MAX
    }

    /// Gives a sign of life, and looks for one of `mpirun`.
    fn watch_silence(&mut self, now: Instant) {
        if self.sign_at <= now {
            self.sign_at = now + self.silence.period();
            self.node.give_sign();
        }
        if self.node.ending.is_paused() {
            self.silence.heard(now);
        }
        if self.silence.is_too_long(now) && !self.is_lost {
            let seconds = self.silence.limit().unwrap_or_default().as_secs_f64();
            // If the network works again, or `mpirun` was only stopped, the user reads it there.
            let line = format!(
                "mpirun has given no sign of life for {seconds} s (MPILITE_SILENT_S), so its ranks \
                 here were ended"
            );
            writeln!(io::stderr(), "{line}").ok();
            self.lose(now);
        }
    }

    fn ready(&mut self, token: Token, now: Instant) {
        match token {
            Token::Signals => self.hear_signals(now),
            Token::Server => {
                self.flush(now);
                self.read_orders(now);
            }
            Token::Below(node) => self.relay.ready(node, self.has_room()),
            token => self.node.ready(token, now),
        }
    }

    fn hear_signals(&mut self, now: Instant) {
        while let Some(arrived) = self.process.signals.pop() {
            let signal = arrived.signal as i32;
            if !self.node.is_quiet() && self.reported.enter(signal) {
                self.send(&Report::Signalled { signal });
            }
        }
        let has_any = self.process.children.changes(|pid, status| {
            if !self.relay.child(pid, status) {
                self.node.child(pid, status, now);
            }
        });
        if !has_any {
            self.node.lose_children(now);
        }
    }

    fn read_orders(&mut self, now: Instant) {
        let received = self.streams.read();
        if !received.is_empty() {
            self.silence.heard(now);
            self.frames.push(&received);
        }
        while !self.is_lost {
            match self.frames.pop::<Order>() {
                Ok(Some(order)) => self.obey(order, now),
                Ok(None) if !self.streams.is_at_end() => return,
                _ => self.lose(now),
            }
        }
    }

    fn obey(&mut self, order: Order, now: Instant) {
        if let Order::Below { node, down } = order {
            return self.relay.obey(node, down);
        }
        if let Order::Start(start) = &order {
            self.silence = Silence::new(start.silent_for, now);
            self.node.lives_on_signs(start.silent_for);
            self.sign_at = now;
        }
        self.node.obey(order, now);
    }

    fn pass_reports(&mut self, now: Instant) {
        while let Some(report) = self.node.report() {
            if let (true, Report::Output { bytes, .. }) = (self.is_lost, &report) {
                // Nobody will take it; the ranks shall not wait for that.
                self.node.obey(Order::OutputTaken(bytes.len() as u64), now);
            }
            self.send(&report);
        }
        while let Some(report) = self.relay.next_report() {
            self.send(&report);
        }
        self.flush(now);
    }

    fn send(&mut self, report: &Report) {
        if !self.is_lost {
            let frame = protocol::encode(report)
                .expect("ranks are held to their limits (channel.rs), output to the window");
            self.outgoing.extend(frame);
        }
    }

    fn flush(&mut self, now: Instant) {
        if !self.is_lost && !self.streams.write(&mut self.outgoing) {
            self.lose(now);
        }
    }

    fn lose(&mut self, now: Instant) {
        self.is_lost = true;
        self.outgoing.clear();
        self.node.end(now);
        self.relay.leave(now);
    }
}

/// What a connection shows. Several nodes of Slurm may be one machine, and shall be.
fn known_of(connection: &TcpStream) -> Known {
    let address = |address: io::Result<SocketAddr>| Some(address.ok()?.ip().to_canonical());
    Known {
        server: address(connection.local_addr()),
        client: address(connection.peer_addr()),
        machine: None,
    }
}

/// What sshd tells: "client port server port".
fn known_of_sshd() -> Known {
    let connection = std::env::var("SSH_CONNECTION").unwrap_or_default();
    let words: Vec<&str> = connection.split_ascii_whitespace().collect();
    let address = |at: usize| words.get(at).and_then(|word| word.parse::<IpAddr>().ok());
    let server = address(2);
    Known {
        server,
        client: address(0),
        machine: server.and_then(|_| machine::identity()),
    }
}
