//! Messages on their way in.

mod arrivals;
mod awaited;
mod ends;
mod granting;
mod message;
mod peers;
mod states;
mod store;
mod turns;
mod window;

pub use awaited::Awaited;
#[cfg(test)]
pub(crate) use peers::FromPeer;

use core::marker::PhantomData;

use crate::bits::Bits;
use crate::caps::Caps;
use crate::common::{Common, Kept};
use crate::config::{Bug, Config};
use crate::ids::{IncomingId, Key};
use crate::list::{Linked, Links, List};
use crate::packet::{Flags, Header, Kind};
use crate::slab::Slab;
use crate::table::Table;
use crate::time::Instant;
use granting::Granting;
use peers::FromPeers;
use states::State;

/// The receiving side of an endpoint: its messages on their way in, and what is granted them.
#[cfg_attr(feature = "simulated", derive(Clone, Hash))]
pub(crate) struct Receiver<K: Kept> {
    store: Store<K>,
    /// By this `derive` sees which values are in `store`.
    kept: PhantomData<K::In>,
    granting: Granting,
}

/// The messages on their way in: their names, their lists, and whose turn it is.
#[cfg_attr(feature = "simulated", derive(Clone, Hash))]
struct Store<K: Kept> {
    /// The paper's list `receiving`, and the finished ones.
    messages: Slab<Incoming<K::In>>,
    /// Where they are, by their names.
    at: Table,
    /// The finished ones, oldest first.
    done: List,
    /// A short message that came in order. It is announced, but not entered: most likely it lands
    /// at once and leaves nothing behind.
    fresh: Option<Fresh>,
    /// How many held messages keep their unscheduled data (rule U).
    keeping: u32,
    from: FromPeers,
}

/// A message of which nothing is kept as long as its packet is in hand.
#[derive(Clone, Copy, Hash)]
struct Fresh {
    /// Its key in `messages`.
    key: Key,
    header: Header,
}

/// The state of an incoming message.
#[derive(Clone, Debug, Hash)]
struct Incoming<In> {
    from: u32,
    msg_id: u32,
    msg_num: u32,
    len: u64,
    state: State,
    /// Latest attempt of the sender seen (`info2`).
    attempt: u16,
    /// Next data packet in sequence.
    expected: u32,
    /// Last data packet granted.
    limit: u32,
    /// True if its sender waits for the acknowledgement (rule K).
    asks: bool,
    /// True if a GCH or CTS may have named it to its sender. Its end is then named too: no
    /// acknowledgement completes it any more (rules H, K).
    named: bool,
    /// True if data of it may have come too early, and was dropped (rule U).
    in_vain: bool,
    /// True if it is held, and keeps its unscheduled data (rule U).
    keeps: bool,
    /// Which list it is in.
    listed: Listed,
    /// The packets that have come, from `expected` on (rule R).
    came: Bits,
    /// How many NAKs have gone out (rule R).
    nak: u16,
    /// The highest packet that names the last NAK.
    fresh: u32,
    /// All missing packets up to this one are lost, and no NAK names them yet; 0: none.
    lost_to: u32,
    /// The last NAK names all missing packets up to this one.
    asked_to: u32,
    /// True if it counts among the messages being received (rule G).
    is_counted: bool,
    /// True if a CTS waits to be made.
    cts_due: bool,
    /// When it was answered for good.
    done_at: Instant,
    links: Links,
    /// The value that the layer above keeps with it, once it has landed.
    kept: Option<In>,
}

/// The list an incoming message is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Listed {
    /// None.
    Nowhere,
    /// Its path's, of messages that the cumulative acknowledgement must not pass (rule K).
    Unconfirmed,
    /// Its path's, of messages ahead of their turn (rule O).
    Early,
    /// The finished ones.
    Done,
}

impl<In> Linked for Incoming<In> {
    fn links(&mut self) -> &mut Links {
        &mut self.links
    }

    fn next(&self) -> u32 {
        self.links.next()
    }
}

impl<K: Kept> Receiver<K> {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            store: Store {
                messages: Slab::new(),
                at: Table::new(),
                done: List::EMPTY,
                fresh: None,
                keeping: 0,
                from: FromPeers::new(config.nodes),
            },
            kept: PhantomData,
            granting: Granting::new(config),
        }
    }

    /// Enters the message that was announced last, if it has not landed at once.
    #[inline]
    pub(crate) fn keep_fresh(&mut self, common: &mut Common<K>) {
        if self.store.fresh.is_some() {
            self.store.keep_fresh(common);
        }
    }

    /// A short message in order lands as soon as it has come: all that is left of it is that an
    /// acknowledgement is owed. Returns false if `message` is another one.
    // Rule K.
    #[inline]
    pub(crate) fn land_fresh(
        &mut self,
        common: &mut Common<K>,
        message: IncomingId,
        now: Instant,
    ) -> bool {
        let store = &mut self.store;
        let Some(Fresh { key, header }) = store.fresh.filter(|fresh| fresh.key == message.0) else {
            return false;
        };
        store.fresh = None;
        store.messages.skip(key);
        let asks = header.flags.has(Flags::ASKS);
        store.from.owe(common, header.src, asks, now);
        true
    }

    #[inline]
    pub(crate) fn id_at(&self, index: u32) -> Option<IncomingId> {
        self.store.messages.get(index)?;
        Some(IncomingId(self.store.messages.key(index)))
    }

    /// What is kept with a message that has landed and has not arrived.
    #[inline]
    pub(crate) fn kept(&mut self, message: IncomingId) -> Option<&mut K::In> {
        let index = self.store.messages.find(message.0)?;
        self.store.messages.get_mut(index)?.kept.as_mut()
    }

    /// The next CTS, and the peer it goes to.
    #[inline]
    pub(crate) fn next_cts(&mut self, common: &mut Common<K>) -> Option<(u32, Header, Bits)> {
        self.granting.next_cts(common, &mut self.store.messages)
    }

    /// The acknowledgement on a packet that leaves for `to`: all messages of that peer with numbers
    /// before it are accepted. Without this extension it is 0.
    // Rule K.
    #[inline]
    pub(crate) fn acknowledge(&mut self, common: &Common<K>, to: u32) -> u32 {
        if !common.caps().has(Caps::LAZY) {
            return 0;
        }
        let ack = self.store.acceptable(common, to);
        self.store.from.note_acknowledged(to);
        ack
    }

    /// The next acknowledgement that goes out alone: nothing else could carry it.
    // Rule K.
    pub(crate) fn next_ack(&mut self, common: &Common<K>) -> Option<(u32, Header, Bits)> {
        let (to, has_gap) = self.store.from.next_ripe()?;
        let mut header = Header::bare(Kind::MsgEnd, common.config().version, to);
        header.flags = Flags::PURE;
        if !has_gap {
            return Some((to, header, Bits::NONE));
        }
        header.flags = Flags::PURE.with(Flags::GAP);
        Some((to, header, self.store.accepted_ahead(common, to)))
    }

    /// When the acknowledgement that is owed to a peer goes alone; `NEVER`: not, or at once.
    #[inline]
    pub(crate) fn ack_due(&self, common: &Common<K>, from: u32) -> Instant {
        match common.has(Bug::ForgetOwedAck) {
            true => Instant::NEVER,
            false => self.store.from.ack_due(from),
        }
    }

    #[inline]
    pub(crate) fn tick_ack(&mut self, from: u32, now: Instant) {
        self.store.from.tick(from, now);
    }

    /// Forgets the finished messages that have been remembered for long enough, without a GCH.
    /// Returns when the next one has been.
    // Rule P8.
    pub(crate) fn forget_expired(&mut self, common: &mut Common<K>) -> Instant {
        let store = &mut self.store;
        while let Some(oldest) = store.done.head() {
            debug_assert!(store.messages[oldest].is_done());
            let done_at = store.messages[oldest].done_at;
            let expiry = done_at.plus(common.config().done_state_lifetime);
            if expiry > common.now() {
                return expiry;
            }
            common.counts().done_expired += 1;
            store.forget(oldest);
        }
        Instant::NEVER
    }

    /// Returns true if it has a finished message, or owes an acknowledgement.
    #[inline]
    pub(crate) fn is_timed(&self) -> bool {
        self.store.done.len() > 0 || self.store.from.owes()
    }

    #[inline]
    pub(crate) fn owes(&self) -> bool {
        self.store.from.owes()
    }

    /// Returns true if a CTS is due, or an acknowledgement may go alone.
    #[inline]
    pub(crate) fn is_pressed(&self, common: &Common<K>) -> bool {
        (self.granting.is_due() && !common.has(Bug::LeaveGrants)) || self.store.from.is_ripe()
    }

    // Rule G.
    pub(crate) fn overflow(&mut self) {
        self.granting.overflow();
    }

    #[inline]
    pub(crate) fn give_back(&mut self) {
        self.granting.give_back_queue();
    }
}

/// What the simulator asks of a receiver.
#[cfg(feature = "simulated")]
impl<K: Kept> Receiver<K> {
    /// Messages not yet answered for good and those that are remembered; Figure 8's `outstanding`,
    /// the sum of the packets granted, and how many messages have some.
    pub(crate) fn counts(&self) -> (usize, usize, [u64; 3]) {
        let store = &self.store;
        let done = store.done.len();
        let live = store.messages.len() + usize::from(store.fresh.is_some()) - done;
        let receiving = store.messages.iter().map(|it| it.1);
        let receiving = receiving.filter(|m| m.state == State::Receiving);
        let (in_grant, granted) = receiving.fold((0, 0), |(count, sum), m| {
            (count + 1, sum + u64::from(m.granted()))
        });
        (live, done, [self.granting.outstanding(), granted, in_grant])
    }

    /// Bytes kept for all peers, and for the messages.
    pub(crate) fn bytes(&self) -> (usize, usize) {
        let (peers, queue) = self.store.from.bytes();
        let rooms = self.store.messages.bytes() + self.store.at.bytes();
        (peers, rooms + queue + self.granting.bytes())
    }

    pub(crate) fn check(&self) {
        self.store.from.check();
    }
}
