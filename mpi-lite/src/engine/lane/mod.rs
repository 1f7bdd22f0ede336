//! The part of the engine under one lock, and the only place where its parts meet.
//!
//! `arrive`, `loss` and `serve` take what links deliver, and call no link; the other files call
//! links. What a delivery leaves to be sent waits until the link has returned.

mod arrive;
mod close;
mod collectives;
mod completion;
mod followers;
mod loss;
#[cfg(all(test, feature = "sim"))]
mod loss_tests;
mod partitioned;
#[cfg(all(test, feature = "sim"))]
mod port_tests;
mod receive;
mod send;
mod serve;
mod shortcut;
mod survey;
mod traffic;
mod turn;
mod view;

use core::ops::{Deref, DerefMut};
use std::sync::Arc;

pub(super) use shortcut::Early;
pub use survey::{Counters, Survey};
pub(super) use view::View;

use super::inbox::Inbox;
use super::outbox::{BufferOwner, Buffers, Outbox};
use super::ports::{Errand, OpenPort, Port, Ports};
use super::report::Leftovers;
use super::report::UnheardPeers;
use super::report::{Observer, Watch};
use super::requests::Requests;
use super::waiting::{WaitHistory, Waiters};
use crate::config::Settings;
use crate::hosts::Hosts;
use crate::ids::Context;
use crate::node::Node;
use crate::peers::PeerTable;
use crate::transport::{Links, PeerId};

/// What moves the messages of one process, under one lock, and the threads that wait for them.
#[derive(Debug)]
pub struct Lane {
    traffic: Traffic,
    /// The ranks that share memory, and what they share.
    node: Option<Arc<Node>>,
    history: WaitHistory,
    /// The threads that wait, if several may.
    waiters: Waiters,
}

/// Links, and all that they deliver to.
#[derive(Debug)]
pub struct Traffic {
    links: Links,
    parts: Parts,
}

impl Deref for Lane {
    type Target = Traffic;

    #[inline(always)]
    fn deref(&self) -> &Traffic {
        &self.traffic
    }
}

impl DerefMut for Lane {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Traffic {
        &mut self.traffic
    }
}

/// What links deliver to. It calls no link.
#[derive(Debug)]
struct Parts {
    inbox: Inbox,
    outbox: Outbox,
    requests: Requests,
    ports: Ports,
    peers: PeerTable,
    settings: Arc<Settings>,
    /// A port is to be served, something to be sent, or back pressure to be set.
    has_errands: bool,
    /// What ports have left to be done.
    errands: Vec<Errand>,
    /// There are failures, or a tool watches: calls leave their short ways.
    is_special: bool,
    /// A tool that watches the messages of the program.
    watch: Watch,
    /// From `MPI_Finalize` on, what nobody receives is dropped.
    is_closing: bool,
    leftovers: Leftovers,
    /// The contexts of the collectives that were not complete when `MPI_Finalize` began.
    unwaited: Vec<Context>,
    unheard: UnheardPeers,
    /// Messages received, and their bytes.
    received: u64,
    bytes_received: u64,
}

impl Lane {
    /// The lane of process `me`, one host name per process.
    #[must_use]
    pub fn new(me: PeerId, links: Links, settings: Settings, hosts: impl Into<Hosts>) -> Self {
        let others = u8::try_from(links.others()).expect("a handful of links");
        let peers = PeerTable::of_world(me, &hosts.into(), others);
        let settings = Arc::new(settings);
        let parts = Parts {
            inbox: Inbox::new(links.count(), Arc::clone(&settings)),
            outbox: Outbox::new(Arc::clone(&settings)),
            requests: Requests::default(),
            ports: Ports::default(),
            peers,
            has_errands: false,
            errands: Vec::new(),
            is_special: false,
            watch: Watch::default(),
            is_closing: false,
            leftovers: Leftovers::default(),
            unwaited: Vec::new(),
            unheard: UnheardPeers::new(settings.lost_s),
            settings,
            received: 0,
            bytes_received: 0,
        };
        Self {
            traffic: Traffic { links, parts },
            node: None,
            history: WaitHistory::default(),
            waiters: Waiters::default(),
        }
    }

    /// Joins `node`: this process shares memory with its other ranks, and the link through memory
    /// leads to them.
    ///
    /// # Panics
    /// When there is no such link.
    pub fn join(&mut self, node: Arc<Node>) {
        let link = self.links.memory().expect("there is a link through memory");
        let link = u8::try_from(link).expect("a handful of links");
        let peers = &mut self.parts.peers;
        for &peer in node.peers() {
            if peer != peers.me() {
                peers.set_link(peer, link);
            }
        }
        self.node = Some(node);
    }

    /// Sets what is called for events of messages and of collectives beside the program.
    pub fn observe(&mut self, observer: Option<Observer>) {
        self.parts.watch = Watch::new(observer);
        self.parts.is_special = observer.is_some() || self.parts.ports.has_failures();
    }

    /// The settings of this process.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.parts.settings
    }

    /// Opens `port` for `context`; one of a communicator for its other contexts too.
    pub fn open_port(&mut self, context: Context, port: Port) -> OpenPort {
        let Parts {
            inbox,
            outbox,
            ports,
            ..
        } = &mut self.parts;
        let gone = ports.sweep(|context| {
            let owner = BufferOwner::Communicator(context);
            inbox.uses(context) || !outbox.buffers().is_flushed(owner)
        });
        for context in gone {
            outbox.buffers_mut().forget(context);
        }
        ports.open(context, port)
    }
}

impl Traffic {
    /// The processes that this one can reach.
    #[must_use]
    pub fn peers(&self) -> &PeerTable {
        &self.parts.peers
    }

    /// The operations of this process.
    #[inline(always)]
    pub(crate) fn requests(&self) -> &Requests {
        &self.parts.requests
    }

    /// The operations of this process.
    #[inline(always)]
    pub(crate) fn requests_mut(&mut self) -> &mut Requests {
        &mut self.parts.requests
    }

    /// The buffers that the program attaches for buffered sends. Source: MPI 5.0, 3.6.
    pub fn buffers(&mut self) -> &mut Buffers {
        self.parts.outbox.buffers_mut()
    }
}
