//! What a process counts, beside the protocol (`rmpp_core::Counters`): one line per counter.
//!
//! Each belongs to code that holds the lane's lock anyway: counting is an increment of a plain
//! integer. `docs/counters.md` is generated from these tables; a test keeps the two equal.

use std::fmt::Write as _;

pub use rmpp_core::{Bytes, Measure, Peak, Repeats, Row, Rows};

rmpp_core::tally! {
    /// What the engine counts, whatever transport a message takes.
    pub struct Messages ["mpi"] {
        /// Messages sent: those of collective operations and those to oneself included.
        pub messages_sent: u64,
        /// Bytes in them.
        pub bytes_sent: Bytes,
        /// Messages received.
        pub messages_received: u64,
        /// Bytes in them.
        pub bytes_received: Bytes,
        /// Messages that came before their receive.
        pub unexpected: u64,
        /// The greatest number of messages that waited for their receive at a time.
        pub unexpected_peak: Peak,
        /// The most that such messages took of their budget at a time: each counts 160 more.
        pub unexpected_peak_bytes: Peak,
        /// The most that they may take, while this rank waits in a call; 0 if there were none.
        pub unexpected_room_bytes: Peak,
        /// The most that copies of sends took of their budget at a time: each counts 320 more.
        pub copies_peak_bytes: Peak,
        /// Times a waiting thread went to sleep.
        pub sleeps: u64,
    }
}

rmpp_core::tally! {
    /// What the transport through shared memory counts.
    pub struct Shared ["shm"] {
        /// Messages sent.
        pub messages_sent: u64,
        /// Long ones among them: they wait until the receiver knows where they go.
        pub long_sent: u64,
        /// Messages that found no room and had to wait.
        pub delayed: u64,
        /// Bytes of long messages that this rank read out of their sender's memory.
        pub bytes_read: Bytes,
        /// Bytes of long messages that this rank wrote into their receiver's memory.
        pub bytes_written: Bytes,
        /// Long messages that went through the ring: the system does not copy between these ranks.
        pub long_asked: u64,
        /// Sleeping ranks that were woken.
        pub woken: u64,
        /// Collective operations without messages.
        pub collectives: u64,
    }
}

rmpp_core::tally! {
    /// What a UDP socket counts.
    pub struct Datagrams ["udp"] {
        /// Datagrams given to the system.
        pub datagrams_sent: u64,
        /// System calls that did it.
        pub send_calls: u64,
        /// Bursts among them: several datagrams that the system cut itself (UDP_SEGMENT).
        pub bursts_sent: u64,
        /// Bursts that the system refused; each datagram goes alone from then on.
        pub bursts_refused: u64,
        /// Datagrams that the system refused to send; the protocol sends them again.
        pub refused: u64,
        /// Paths found narrower than their interface: datagrams are cut into IP fragments since.
        pub narrow_paths: u64,
        /// Datagrams received.
        pub datagrams_received: u64,
        /// Trains among them: several datagrams in one stretch (UDP_GRO).
        pub trains_received: u64,
        /// System calls that asked for datagrams, those that got none included.
        pub receive_calls: u64,
        /// Datagrams that the system dropped because the receive buffer was full.
        pub overflowed: u64,
        /// Datagrams dropped: too short, too long, or another job's.
        pub foreign: u64,
        /// Datagrams dropped: not from the address of the rank that they name.
        pub misplaced: u64,
        /// Datagrams dropped: made or changed by somebody without the job's key (MPILITE_SECURE).
        pub forged: u64,
        /// Datagrams dropped: encrypted ones that came again, or are too old to know.
        pub replayed: u64,
    }
}

const HEAD: &str = "\
# Counters

What each rank counts. Generated from `mpi-lite/src/counters.rs` and `rmpp-core/src/counters.rs`.

* `mpirun --stats` prints a table at the end of the job: of each counter that is not zero
  everywhere the sum over the ranks, the least and the greatest with its rank; then packets per
  message, and how many packets were sent again. More than 1 % of these are noted. A rank that
  is killed reports nothing; the table says how many ranks have.
* `mpirun --stats=FILE` writes it into a file. `--stats=json`, or a file whose name ends with
  `.json`, gets one JSON object instead: `ranks`, `reported`, `packets`, `datagrams`,
  `packets_per_message`, `repeated`, `repeated_percent`, and `counters`, each with `sum`,
  `least`, `least_rank`, `greatest` and `greatest_rank`.
* Each counter is a performance variable of the tool interface, `MPI_T_pvar_...`, of the class
  counter (numbers), aggregate (bytes) or high watermark (a *peak*, the greatest amount at a
  time, which has no sum).

| counter | | meaning |
|---|---|---|
";

/// The text of `docs/counters.md` for these counters.
#[must_use]
pub fn documentation(rows: &[Row]) -> String {
    let mut text = String::from(HEAD);
    for row in rows {
        let what = match row.measure {
            Measure::Count | Measure::Repeats => "number",
            Measure::Bytes => "bytes",
            Measure::Peak => "peak",
        };
        let _ = writeln!(text, "| `{}` | {what} | {} |", row.name(), row.about());
    }
    text
}
