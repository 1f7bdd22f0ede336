//! What a process counts, beside the protocol (`rmpp_core::Counters`): one line per counter.
//!
//! Each belongs to code that holds the lane's lock anyway: counting is an increment of a plain
//! integer. `docs/counters.md` is generated from these tables; a test keeps the two equal.

use std::fmt::Write as _;

pub use rmpp_core::{Bytes, Measure, Peak, Repeats, Row, Rows};

rmpp_core::tally! {
    /// What the engine counts, whatever transport a message takes.
    pub struct Messages ["mpi"] {
        /// Messages sent, including those of collective operations and those to this rank itself.
        pub messages_sent: u64,
        /// Bytes of the messages sent.
        pub bytes_sent: Bytes,
        /// Messages received.
        pub messages_received: u64,
        /// Bytes of the messages received.
        pub bytes_received: Bytes,
        /// Messages that came before their receive was posted.
        pub unexpected: u64,
        /// The greatest number of unexpected messages that waited at the same time.
        pub unexpected_peak: Peak,
        /// The most that unexpected messages took of their budget; each counts 160 bytes more.
        pub unexpected_peak_bytes: Peak,
        /// The most that unexpected messages may take while this rank waits in a call; 0 if there
        /// were none.
        pub unexpected_room_bytes: Peak,
        /// The most that copies of sends took of their budget; each counts 320 bytes more.
        pub copies_peak_bytes: Peak,
        /// Bodies of one-sided operations that were dropped, since their sender had announced more
        /// than 65,536 that were still to come.
        pub refused_bodies: u64,
        /// Times a waiting thread went to sleep.
        pub sleeps: u64,
    }
}

rmpp_core::tally! {
    /// What the transport through shared memory counts.
    pub struct Shared ["shm"] {
        /// Messages sent through shared memory.
        pub messages_sent: u64,
        /// Long messages sent: they wait until the receiver knows where they land.
        pub long_sent: u64,
        /// Messages that had to wait because their channel was full.
        pub delayed: u64,
        /// Bytes of long messages that this rank copied from the sender's memory.
        pub bytes_read: Bytes,
        /// Bytes of long messages that this rank copied into the receiver's memory.
        pub bytes_written: Bytes,
        /// Long messages that came to this rank in pieces through shared memory.
        pub long_asked: u64,
        /// Times that this rank woke another one.
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
        /// System calls that sent datagrams.
        pub send_calls: u64,
        /// Bursts sent: several datagrams in one call, which the system cuts (UDP_SEGMENT).
        pub bursts_sent: u64,
        /// Bursts that the system refused; from then on each datagram goes alone.
        pub bursts_refused: u64,
        /// Datagrams that the system refused to send; the protocol sends them again.
        pub refused: u64,
        /// Paths with a smaller MTU than their interface: their datagrams become IP fragments.
        pub narrow_paths: u64,
        /// Datagrams received.
        pub datagrams_received: u64,
        /// Trains received: several datagrams in one call, joined by the system (UDP_GRO).
        pub trains_received: u64,
        /// System calls that asked for datagrams, including those that got none.
        pub receive_calls: u64,
        /// Datagrams that the system dropped because the receive buffer was full.
        pub overflowed: u64,
        /// Datagrams dropped: too short, too long, or another job's.
        pub foreign: u64,
        /// Datagrams dropped: not from the address of the rank that they name.
        pub misplaced: u64,
        /// Datagrams dropped: forged or changed without the job's key (MPILITE_SECURE).
        pub forged: u64,
        /// Datagrams dropped: encrypted ones that came twice, or that are too old to check.
        pub replayed: u64,
        /// Datagrams that this rank dropped instead of sending them (`mpirun --net`: `loss`).
        pub net_lost: u64,
        /// Datagrams that this rank sent twice (`duplicate`).
        pub net_duplicated: u64,
        /// Datagrams that this rank sent without the delay of the others (`reorder`).
        pub net_reordered: u64,
        /// Datagrams that this rank dropped because too many waited for the `rate` (`queue`).
        pub net_overflowed: u64,
    }
}

rmpp_core::tally! {
    /// What the protocol of `ParaStation2` counts.
    pub struct GoBackN ["gobackn"] {
        /// Packets given to the socket, of all kinds.
        pub packets_sent: u64,
        /// Data packets received, those that were dropped included.
        pub data_received: u64,
        /// Acknowledgements (ACK) of data packets.
        pub acks_sent: u64,
        /// Acknowledgements received.
        pub acks_received: u64,
        /// Refusals (NACK) of data packets.
        pub nacks_sent: u64,
        /// Refusals received.
        pub nacks_received: u64,
        /// Data packets refused because no receive buffer was free.
        pub nacks_without_buffer: u64,
        /// Data packets sent again.
        pub retransmitted: Repeats,
        /// Data packets that came twice.
        pub duplicates: u64,
        /// Data packets refused because an earlier one was missing.
        pub out_of_order: u64,
        /// Packets dropped: not of this protocol.
        pub malformed: u64,
        /// Times that an answer was overdue.
        pub timeouts: u64,
    }
}

rmpp_core::tally! {
    /// What the protocol of MPI over U-Net counts.
    pub struct Unet ["unet"] {
        /// Packets sent: data, and acknowledgements alone.
        pub packets_sent: u64,
        /// Packets with data received, including those that were dropped.
        pub data_received: u64,
        /// Acknowledgements sent alone, including duplicate ones.
        pub acks_sent: u64,
        /// Packets with data that carried an acknowledgement which was owed.
        pub acks_piggybacked: u64,
        /// Duplicate acknowledgements sent alone: a packet came twice or out of order.
        pub duplicate_acks_sent: u64,
        /// Packets with data sent again.
        pub retransmitted: Repeats,
        /// Packets dropped: received before.
        pub duplicates: u64,
        /// Packets dropped: one before them was missing.
        pub out_of_order: u64,
        /// Packets dropped for want of room: their sender has ignored its window.
        pub no_room: u64,
        /// Packets dropped: not of this protocol, or impossible.
        pub malformed: u64,
        /// Timers of the left edge of a window that ended.
        pub timeouts: u64,
    }
}

rmpp_core::tally! {
    /// What the SCTP associations of a process count.
    pub struct Sctp ["sctp"] {
        /// SCTP associations made.
        pub associations: u64,
        /// SCTP packets sent.
        pub packets_sent: u64,
        /// SCTP packets with data that had been sent before.
        pub packets_repeated: Repeats,
        /// Pieces of messages sent again because later ones had arrived.
        pub fast_repeats: u64,
        /// Times that an acknowledgement of SCTP was overdue.
        pub timeouts: u64,
        /// SCTP packets received.
        pub packets_received: u64,
        /// SCTP packets and messages dropped because they were malformed.
        pub malformed: u64,
        /// SCTP messages sent.
        pub fragments_sent: u64,
        /// SCTP messages received.
        pub fragments_received: u64,
    }
}

rmpp_core::tally! {
    /// What is counted of messages over streams: those of `gobackn`, `unet`, `sctp`, `tcp` and
    /// `tcp-trc`.
    pub struct Streams ["streams"] {
        /// Messages sent over streams.
        pub messages_sent: u64,
        /// Messages whose receiver was asked for a place before their body was sent.
        pub asked: u64,
        /// Streams to other ranks.
        pub opened: u64,
    }
}

rmpp_core::tally! {
    /// What the transport over TCP counts.
    pub struct Connections ["tcp"] {
        /// Connections that this rank has made.
        pub made: u64,
        /// Connections that it has accepted.
        pub accepted: u64,
        /// Connections closed because they did not prove that they know the job's key.
        pub refused: u64,
        /// Bytes given to the system, headers included.
        pub bytes_sent: Bytes,
        /// Bytes received, headers included.
        pub bytes_received: Bytes,
        /// System calls that sent bytes.
        pub write_calls: u64,
        /// System calls that asked a connection for bytes.
        pub read_calls: u64,
        /// Times that the system had no room for more bytes of a connection.
        pub full: u64,
        /// System calls that asked which connections are ready.
        pub polls: u64,
    }
}

const HEAD: &str = "\
# Counters

What each rank counts. Generated from `mpi-lite/src/counters.rs` and `rmpp-core/src/counters.rs`.

* `mpirun --stats` prints a table at the end of the job. For each counter that is not zero on
  all ranks it shows the sum, and the least and the greatest value with their ranks. Then it
  shows the packets per message, and how many packets were sent again; a note follows if these
  are more than 1 %. A rank that is killed reports nothing; the table shows how many ranks have
  reported.
* `mpirun --stats=FILE` writes the table into a file. `--stats=json`, or a file whose name ends with
  `.json`, gets one JSON object instead: `ranks`, `reported`, `packets`, `datagrams`,
  `packets_per_message`, `repeated`, `repeated_percent`, and `counters`, each with `sum`,
  `least`, `least_rank`, `greatest` and `greatest_rank`.
* Each counter is a performance variable of the tool interface, `MPI_T_pvar_...`, of the class
  counter (numbers), aggregate (bytes) or high watermark (a *peak*: the greatest value at any
  time; peaks are not added up).

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
