//! Settings: some must be equal on all nodes, the others are each node's own.

use core::time::Duration;

use crate::bits::WINDOW;
use crate::caps::Caps;
use crate::packet::{FAST_VERSION, Shape, WIDE_LEN};

/// With extensions nothing is begun anew, so to be too early costs a packet.
const FIRST_TIMEOUT: Duration = Duration::from_millis(5);

/// Several times what a peer that has a core of its own takes to answer. Notebook 8.
const PROBE_TIMEOUT: Duration = Duration::from_micros(200);

/// One burst of segmentation offload: the data that follows RTS without a grant.
const UNSCHEDULED_BYTES: usize = 65_536;

/// The greatest count that a path can hold.
const COUNTED: usize = u16::MAX as usize;

/// The version that all nodes of a job must use (paper §3.1; the number is ours). With extensions
/// it is one more.
pub const VERSION: u16 = 1;

/// Parameters of an endpoint. `nodes`, `packet_bytes`, `version` and the first numbers must be the
/// same on all nodes of a job; the rest is each node's own choice.
#[derive(Clone, Debug)]
pub struct Config {
    /// Number of nodes in the system; node numbers are `0..nodes`.
    pub nodes: u32,
    /// Payload bytes of one full packet (the header is not counted).
    pub packet_bytes: usize,
    /// The extensions of the classic profile; equal on all nodes of a job.
    pub caps: Caps,
    /// Version put into each header and demanded of each header.
    pub version: u16,
    /// `MAX_RCV_BUF`: packets this node has room for. Figure 8 keeps one per node for first
    /// packets and grants the rest.
    pub max_rcv_buf: u32,
    /// Packets that this node grants at most where a path holds more of them than the buffer
    /// (rule G); up to `max_rcv_buf`: as many as the buffer.
    pub max_on_path: u32,
    /// `MAX_DATA_PKTS`: the most one CTS grants.
    pub max_data_pkts: u16,
    /// Retransmission timeout before a round trip was measured.
    pub first_timeout: Duration,
    /// Least time before something is asked after for the first time, with extensions: it costs a
    /// packet if the answer is merely late.
    pub probe_timeout: Duration,
    /// Least retransmission timeout.
    pub min_timeout: Duration,
    /// Least time before a long message is begun again at 1: a scheduler's time slice, since that
    /// throws away so much more than it costs to repeat a first packet.
    pub restart_timeout: Duration,
    /// Greatest retransmission timeout, back-off included (jitter comes on top, at most 1/8).
    pub max_timeout: Duration,
    /// A peer that answered nothing for so long is lost; `None`: never.
    pub lost_after: Option<Duration>,
    /// A peer that has never answered anything is reported once it has been silent for so long;
    /// `None`: never.
    pub unheard_after: Option<Duration>,
    /// How long a finished incoming message is remembered when its GCH does not come.
    pub done_state_lifetime: Duration,
    /// How many finished incoming messages are remembered at most; the oldest goes first.
    pub max_done_states: usize,
    /// How many unanswered first packets may be under way to one node; at most 65,535.
    pub first_window: usize,
    /// How many bytes of unanswered first packets (and unscheduled data behind them) may be under
    /// way to one node; one message always may.
    pub first_window_bytes: u64,
    /// Bytes of data packets that follow RTS without a grant; the same on all nodes (rule U).
    pub unscheduled_bytes: usize,
    /// How long an acknowledgement waits for a packet that it can ride on (rule K).
    pub ack_delay: Duration,
    /// How many messages may wait for it; 1: acknowledge at once; at most 65,535.
    pub ack_every: u32,
    /// How many answers may wait for `poll_transmit`; what is beyond counts as lost.
    pub max_answers: usize,
    /// `msgNum` of the first message of each pair.
    pub first_msg_num: u32,
    /// `msgID` of the first message of each node.
    pub first_msg_id: u32,
    /// Seed of the generator that spreads timeouts.
    pub seed: u64,
    /// A bug to show that the simulator finds it.
    #[cfg(feature = "planted")]
    pub planted: Option<Bug>,
}

impl Config {
    /// The paper's parameters for `nodes` nodes and `packet_bytes` of payload in a packet
    /// (paper §3.7: 2048 receive buffers, at most 16 packets in a grant). Time-outs are rule T's.
    #[must_use]
    pub fn classic(nodes: u32, packet_bytes: usize) -> Self {
        Self {
            nodes,
            packet_bytes,
            caps: Caps::CLASSIC,
            version: VERSION,
            max_rcv_buf: 2048,
            max_on_path: 0,
            max_data_pkts: 16,
            first_timeout: Duration::from_millis(20),
            probe_timeout: Duration::from_millis(1),
            min_timeout: Duration::from_millis(1),
            restart_timeout: Duration::from_millis(5),
            max_timeout: Duration::from_secs(1),
            lost_after: Some(Duration::from_secs(120)),
            unheard_after: None,
            done_state_lifetime: Duration::from_secs(600),
            max_done_states: 65_536,
            first_window: 512,
            first_window_bytes: u64::MAX,
            unscheduled_bytes: 0,
            ack_delay: Duration::from_micros(100),
            ack_every: 32,
            max_answers: 65_536,
            first_msg_num: 0,
            first_msg_id: 0,
            seed: 0x5eed,
            #[cfg(feature = "planted")]
            planted: None,
        }
    }

    /// The profile with the extensions `caps`; [`Caps::FAST`] is the fast profile.
    #[must_use]
    pub fn with_caps(nodes: u32, packet_bytes: usize, caps: Caps) -> Self {
        let mut config = Self::classic(nodes, packet_bytes);
        if !caps.is_classic() {
            config.caps = caps;
            config.version = FAST_VERSION;
            config.first_timeout = FIRST_TIMEOUT;
            config.probe_timeout = PROBE_TIMEOUT;
            config.unscheduled_bytes = UNSCHEDULED_BYTES;
            config.first_window_bytes = 16 * UNSCHEDULED_BYTES as u64;
        }
        config
    }

    /// Data packets that may follow RTS without a grant.
    // Rule U.
    #[must_use]
    pub fn unscheduled(&self) -> u32 {
        if !self.caps.has(Caps::UNSCHED) {
            return 0;
        }
        (self.unscheduled_bytes / self.packet_bytes).min(WINDOW as usize) as u32
    }

    /// How many of them a message of `shape` has; a short one is not worth the division.
    // Rule U.
    pub(crate) fn unscheduled_of(&self, shape: Shape) -> u32 {
        match shape.last_seq() {
            0 => 0,
            last => self.unscheduled().min(last),
        }
    }

    /// Returns true if all of a message goes out unasked, so that the cumulative acknowledgement
    /// alone may end it: a short one, and one that is wholly unscheduled.
    // Rule K. Rule U.
    pub(crate) fn is_unasked(&self, shape: Shape) -> bool {
        self.caps.has(Caps::LAZY) && (shape.is_short() || shape.last_seq() <= self.unscheduled())
    }

    /// Bytes that a message has under way before its first packet is acknowledged. The system
    /// keeps about a kibibyte beside those of a packet (facts: truesize).
    // Rule M.
    #[inline]
    pub(crate) fn charge_of(&self, len: u64) -> u64 {
        let packet_bytes = self.packet_bytes as u64;
        if len <= packet_bytes {
            return len + 1024;
        }
        let packets = 1 + u64::from(self.unscheduled());
        let bytes = len.min(packets * packet_bytes);
        bytes + 1024 * bytes.div_ceil(packet_bytes).max(1)
    }

    /// Bytes of the longest message that can be sent: 32 bits of them in classic, 48 in fast or as
    /// many as 32 bits of packets hold.
    // Rule L.
    #[must_use]
    pub fn longest(&self) -> u64 {
        if !self.caps.has(Caps::WIDE) {
            return u64::from(u32::MAX);
        }
        // Data packets are numbered in 32 bits.
        WIDE_LEN.min(u64::from(u32::MAX - 1) * self.packet_bytes as u64)
    }

    /// Panics on a configuration no protocol could work with.
    pub(crate) fn check(&self) {
        assert!(self.nodes > 0, "a system has at least one node");
        assert!(
            (16..=1 << 30).contains(&self.packet_bytes),
            "packet_bytes {} is not in 16..=2^30",
            self.packet_bytes
        );
        assert!(self.max_data_pkts > 0, "a grant has at least one packet");
        assert!(
            self.first_window > 0 && self.max_answers > 0,
            "a queue has room for one"
        );
        assert!(
            self.first_window <= COUNTED && self.ack_every as usize <= COUNTED,
            "messages of a path are counted up to {COUNTED}"
        );
        assert!(
            !self.first_timeout.is_zero()
                && !self.min_timeout.is_zero()
                && self.min_timeout <= self.max_timeout,
            "timeouts are positive and ordered"
        );
    }

    /// Returns true if `bug` has been planted; never, unless compiled for that test.
    #[inline]
    pub(crate) fn has(&self, bug: Bug) -> bool {
        #[cfg(feature = "planted")]
        let planted = self.planted == Some(bug);
        #[cfg(not(feature = "planted"))]
        let planted = {
            let _ = bug;
            false
        };
        planted
    }
}

/// Bugs that a test plants to show that the simulator finds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(
    not(feature = "planted"),
    allow(unreachable_pub, reason = "public only when planted")
)]
pub enum Bug {
    /// A message number is accepted whatever number is expected.
    AcceptAnyNumber,
    /// An old message number without state is not answered (rule A broken).
    ForgetOldNumbers,
    /// Receive state goes at MSGEND and old numbers are silently dropped.
    FreeStateEarly,
    /// A CTS is obeyed whenever it comes (rule B broken).
    ObeyEveryCts,
    /// A restart is taken on an old attempt too (rule D broken).
    RestartOnOldAttempt,
    /// NULL of an unseen message does not consume its number (rule N broken).
    NullKeepsNumber,
    /// A finished message does not answer a repeated packet.
    NoSecondMsgend,
    /// Data out of sequence is placed.
    PlaceOutOfSequence,
    /// MSGEND goes out when a block ends instead of when the message ends.
    EndAtBlockEnd,
    /// A grant is not given back when a message ends.
    LeakGrant,
    /// The timer of a first packet is armed once only.
    TimerArmedOnce,
    /// A restart does not begin at 1 but goes on.
    RestartWhereStopped,
    /// GCH does not free the state.
    IgnoreGch,
    /// Message numbers are compared without regard to the wrap.
    CompareWithoutWrap,
    /// A held message is announced again when its first packet is repeated.
    AnnounceTwice,
    /// A pause of this node counts as silence of its peers (rule T broken).
    BlamePeersForPause,
    /// `srcNID` is believed whatever address the packet came from (rule S broken).
    TrustSource,
    /// The oldest first packet is never repeated, only the youngest.
    RepeatYoungest,
    /// A NULL for a message in progress is answered but not reported upward.
    SilentAbort,
    /// The cumulative acknowledgement passes a held message (rule K broken).
    AckPassesHeld,
    /// An acknowledgement owed waits for ever for a packet to ride on (rule K broken).
    ForgetOwedAck,
    /// Unscheduled data that came too soon is not asked for again (rule U broken).
    ForgetUnscheduled,
    /// Data sent before a NAK arrived counts as sent after it (rule R broken).
    NakOnOldData,
    /// A NAK that comes late is obeyed again (rule R broken).
    ObeyOldNak,
    /// A grant adds to the one before (rule W broken).
    AddGrants,
    /// A message that came early is announced before its turn (rule O broken).
    AnnounceEarly,
    /// A NAK names the packets behind those that are missing (rule R broken).
    ShiftNak,
    /// Lengths lose what does not fit into 32 bits (rule L broken).
    CutWideLength,
    /// A packet whose payload may be received at its place is one that has come already.
    AwaitWhatCame,
    /// No timer starts for a first packet that was handed out at once.
    ForgetLaunch,
    /// A grant that is due does not press.
    LeaveGrants,
    /// A packet ends where the words behind its header begin (rule J broken).
    CutBeforeWords,
}

#[cfg(feature = "planted")]
impl Bug {
    /// All of them.
    pub const ALL: [Self; 32] = [
        Self::AcceptAnyNumber,
        Self::ForgetOldNumbers,
        Self::FreeStateEarly,
        Self::ObeyEveryCts,
        Self::RestartOnOldAttempt,
        Self::NullKeepsNumber,
        Self::NoSecondMsgend,
        Self::PlaceOutOfSequence,
        Self::EndAtBlockEnd,
        Self::LeakGrant,
        Self::TimerArmedOnce,
        Self::RestartWhereStopped,
        Self::IgnoreGch,
        Self::CompareWithoutWrap,
        Self::AnnounceTwice,
        Self::BlamePeersForPause,
        Self::TrustSource,
        Self::RepeatYoungest,
        Self::SilentAbort,
        Self::AckPassesHeld,
        Self::ForgetOwedAck,
        Self::ForgetUnscheduled,
        Self::NakOnOldData,
        Self::ObeyOldNak,
        Self::AddGrants,
        Self::AnnounceEarly,
        Self::ShiftNak,
        Self::CutWideLength,
        Self::AwaitWhatCame,
        Self::ForgetLaunch,
        Self::LeaveGrants,
        Self::CutBeforeWords,
    ];
}
