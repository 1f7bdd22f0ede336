//! Where a link delivers.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::time::Duration;

use super::{Arrival, EnvelopeBytes, PeerId, Token};
use crate::config::Network;
use crate::data::Area;

/// Receives the events of a link that makes progress. The engine's delivery is one, and so are the
/// recorders of tests. A sink calls no link: it sends afterwards.
pub trait Sink {
    /// Called when the first packet of a message has come. Returns where its body goes. Matching
    /// happens here, once, before the bulk of the body is sent. (RMPP paper, §3.6, Figure 7: the
    /// up-call (b).)
    fn arriving(&mut self, message: Incoming) -> Landing;

    /// Called when a message that landed is complete. Its name is free. Not called for a message
    /// that was
    /// [whole](Incoming::is_whole) when it landed.
    fn arrived(&mut self, arrival: Arrival);

    /// Called when the body of a message is with its receiver, or on a link that loses nothing: the
    /// area may be reused.
    fn sent(&mut self, token: Token);

    /// Called when a peer is lost: nothing more comes from it or goes to it.
    fn lost(&mut self, lost: Lost);

    /// Called when a peer has never answered, though packets to it were repeated. Nothing is given
    /// up.
    fn unheard(&mut self, _peer: Unheard) {}

    /// Returns true if a message of `from` may arrive before an earlier one that has not come yet,
    /// and that is of another tag or context: its receive could not take the earlier one. (MPI 5.0,
    /// 3.5: messages do not overtake each other.)
    fn may_overtake(&self, _from: PeerId, _envelope: &EnvelopeBytes) -> bool {
        false
    }

    /// Returns false if the link should return from [`progress`](super::Transport::progress)
    /// before it delivers anything else.
    fn wants_more(&self) -> bool;
}

/// A message whose first packet is here.
#[derive(Clone, Copy, Debug)]
pub struct Incoming {
    /// The link's name for the message.
    pub arrival: Arrival,
    /// The sender.
    pub from: PeerId,
    /// The engine's envelope.
    pub envelope: EnvelopeBytes,
    /// Bytes of the body.
    pub len: u64,
    /// All of the body is here: once it has landed the message is complete, its name is free, and
    /// no `arrived` follows.
    pub is_whole: bool,
}

/// Where an incoming message goes.
#[derive(Clone, Debug)]
pub enum Landing {
    /// Into this memory, with or without gaps. What does not fit is dropped, the message still
    /// arrives. The memory stays valid until the message has arrived or its sender is lost.
    Into(Area),
    /// Not yet: a call of [`land`](super::Transport::land) follows. No more of the message is asked
    /// for until then.
    Later,
}

impl Landing {
    /// Nowhere: the message arrives, its bytes are dropped.
    pub const NOWHERE: Self = Self::Into(Area::EMPTY);
}

/// A peer that is lost. Sends to it get no `sent`, messages of it no `arrived`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The peer.
    pub peer: PeerId,
    /// Where its socket listens, on a link that has sockets.
    pub address: Option<SocketAddr>,
    /// Incoming messages of it that will not be completed.
    pub unfinished: Vec<Arrival>,
    /// Outgoing messages to it that will not be completed.
    pub unsent: Vec<Token>,
    /// Why, in words.
    pub reason: Cow<'static, str>,
}

/// A peer that has never answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unheard {
    /// The peer.
    pub peer: PeerId,
    /// Where its socket listens, on a link that has sockets.
    pub address: Option<SocketAddr>,
    /// What carries packets to it, and a firewall may refuse: `UDP` or `TCP`.
    pub carrier: &'static str,
    /// How long packets to it have been repeated.
    pub waited: Duration,
    /// What stands between this host and it, as far as is known.
    pub hindrance: Option<Hindrance>,
}

/// Why no answer of a peer comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hindrance {
    /// The system does not send to it; why, in words.
    Refusal(String),
    /// The user has asked for this network, which lets next to nothing through.
    BadNetwork(Network),
}

/// An event that a link reports at its next progress.
#[derive(Debug)]
pub(super) enum LinkEvent {
    /// [`Sink::arrived`].
    Arrived(Arrival),
    /// [`Sink::sent`].
    Sent(Token),
    /// [`Sink::lost`]. Rare: in a box, so that other events stay small.
    Lost(Box<Lost>),
}

impl LinkEvent {
    /// Calls the function of `sink` for it.
    pub(super) fn deliver(self, sink: &mut impl Sink) {
        match self {
            Self::Arrived(arrival) => sink.arrived(arrival),
            Self::Sent(token) => sink.sent(token),
            Self::Lost(lost) => sink.lost(*lost),
        }
    }
}

#[cfg(test)]
pub(crate) mod told {
    //! What a link tells, one thing at a time: for tests.

    use super::super::Transport;
    use super::{Arrival, Incoming, Landing, Lost, Sink, Token};
    use crate::clock::Instant;

    /// One thing that a link has told.
    #[derive(Debug)]
    pub(crate) enum Told {
        Arriving(Incoming),
        Arrived(Arrival),
        Sent(Token),
        Lost,
    }

    struct One<F> {
        land: F,
        told: Option<Told>,
    }

    impl<F: FnMut(&Incoming) -> Landing> Sink for One<F> {
        fn arriving(&mut self, message: Incoming) -> Landing {
            let landing = (self.land)(&message);
            self.told = Some(Told::Arriving(message));
            landing
        }

        fn arrived(&mut self, arrival: Arrival) {
            self.told = Some(Told::Arrived(arrival));
        }

        fn sent(&mut self, token: Token) {
            self.told = Some(Told::Sent(token));
        }

        fn lost(&mut self, _lost: Lost) {
            self.told = Some(Told::Lost);
        }

        fn wants_more(&self) -> bool {
            self.told.is_none()
        }
    }

    /// The next event of `link`. A message that arrives lands where `land` returns.
    pub(crate) fn next(
        link: &mut impl Transport,
        now: Instant,
        land: impl FnMut(&Incoming) -> Landing,
    ) -> Option<Told> {
        let mut sink = One { land, told: None };
        link.progress(now, &mut sink);
        sink.told
    }
}
