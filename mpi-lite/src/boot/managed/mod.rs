//! A rank that another process manager has started: Slurm, Hydra, Flux, a server of PMIx.
//!
//! The manager offers a place to publish texts and a fence ([`Interface`]). With these alone the
//! ranks do what our launcher does otherwise: they agree on a key, meet on each node
//! ([`Neighbours`]), make the memory that a node shares, and exchange their cards.
//!
//! 1. Rank 0 publishes the key of the job. The first rank of each node publishes the name of its
//!    host and a secret; each other rank publishes the name of its socket. A fence.
//! 2. The others connect. A second fence: all that can connect have done so. A rank that cannot is
//!    in a container of its own, and is a node of its own.
//! 3. An exchange of cards: the first rank of a node collects its cards and publishes them at once.
//!    A fence. It reads those of the other nodes, and hands all of them out.
//!
//! A manager may leave the others waiting when a rank dies (`srun` without `-K`). So the ranks of a
//! node watch each other, and end the job.

mod hatch;
mod interface;
pub(super) mod mapping;
mod node;

use std::os::fd::OwnedFd;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::process::{Resource, Signal, getpid, getrlimit, kill_process};
use serde_bytes::ByteBuf;

use super::protocol::{Assignment, Secure};
use super::waiting::{await_reader, has_hung_up, pause};
use super::{Asked, BootError, Shared};
use super::{SECRET_BYTES, Secret};
use crate::config::Settings;
use crate::hidden::wipe;
use crate::hosts::Hosts;
use crate::transport::named;
pub(super) use interface::Interface;
use mpi_boot::address::{self, Wish};
use node::{Loss, Neighbours};

/// How long the manager has to end this process when the job ends.
const LAST_GRACE: Duration = Duration::from_secs(1);

/// How long the manager has to read each stream of this process, before the job is aborted.
const READ_GRACE: Duration = Duration::from_millis(500);

/// A rank of a job of another process manager.
#[derive(Debug)]
pub struct Managed {
    manager: Box<dyn Interface>,
    neighbours: Neighbours,
    /// The first rank of the node of each rank, by rank, as the manager sees the nodes.
    firsts: Vec<u32>,
    assignment: Assignment,
    shared: Option<Shared>,
    /// How many exchanges there were.
    rounds: u32,
    /// Peers are gone: no fence will end.
    has_losses: bool,
    has_finalized: bool,
}

impl Managed {
    /// Joins the job. Blocks until all its ranks have come as far.
    pub(super) fn join(mut manager: Box<dyn Interface>) -> Result<Self, BootError> {
        let (rank, size) = (manager.rank(), manager.size());
        if rank >= size {
            return Err(nonsense(&*manager, format!("rank {rank} of {size}")));
        }
        let firsts = first_ranks(&mut *manager)?;
        let first = firsts[rank as usize];
        if rank == 0 {
            publish_key(&mut *manager)?;
        }
        let mut neighbours = open(&mut *manager, &firsts)?;
        fence(&mut *manager, &mut neighbours)?;
        let key = read_key(&mut *manager)?;
        let hosts = hosts(&mut *manager, &firsts)?;
        let connected = if rank == first {
            let names = neighbours.expected().into_iter();
            let names = names.map(|rank| needed(&mut *manager, rank, "hatch"));
            let names: Vec<String> = names.collect::<Result<_, _>>()?;
            neighbours.face(&names)
        } else {
            let secret = needed(&mut *manager, first, "node")?;
            neighbours.connect(first, &secret)
        };
        connected.map_err(|loss| lost(&*manager, loss))?;
        fence(&mut *manager, &mut neighbours)?;
        let mut managed = Self {
            assignment: assignment(&*manager, key, hosts),
            manager,
            neighbours,
            firsts,
            shared: None,
            rounds: 0,
            has_losses: false,
            has_finalized: false,
        };
        managed.meet()?;
        managed.settle()?;
        managed.watch_manager()?;
        Ok(managed)
    }

    /// Meets the other ranks of the node. The first one makes what they share.
    fn meet(&mut self) -> Result<(), BootError> {
        let me = self.assignment.rank;
        let first = self.firsts[me as usize];
        let met = if me == first {
            self.neighbours.admit(me).and_then(|ranks| {
                let shared = self.make_shared(&ranks);
                self.neighbours.welcome(&ranks, shared.as_ref())?;
                Ok((ranks, shared))
            })
        } else if self.neighbours.is_empty() {
            Ok((vec![me], None))
        } else {
            self.neighbours.await_welcome(me)
        };
        let (ranks, shared) = met.map_err(|loss| self.lost(loss))?;
        let place = ranks.iter().position(|rank| *rank == me);
        let assignment = &mut self.assignment;
        assignment.local_rank = number(place.unwrap_or(usize::MAX));
        assignment.local_size = number(ranks.len());
        assignment.local_peers = ranks;
        assignment.shares_memory = shared.is_some();
        self.shared = shared;
        if !self.assignment.is_possible() {
            return Err(self.nonsense(format!("an impossible {:?}", self.assignment)));
        }
        Ok(())
    }

    /// The memory of the node, if the transport takes it and the system gives it.
    fn make_shared(&self, ranks: &[u32]) -> Option<Shared> {
        let is_wanted = named(&self.assignment.transport).is_some_and(|it| it.shares_memory);
        if !is_wanted || ranks.len() < 2 {
            return None;
        }
        let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        Shared::make(number(ranks.len()), files).ok()
    }

    /// Settles what depends on the ranks of the node: the address, and whether the job's key may be
    /// used for `MPILITE_SECURE`.
    fn settle(&mut self) -> Result<(), BootError> {
        let Assignment {
            size, local_size, ..
        } = self.assignment;
        let is_one_node = local_size == size;
        if self.assignment.transport == "shm" && !(self.assignment.shares_memory && is_one_node) {
            return Err(BootError::System(
                "MPILITE_TRANSPORT=shm: the ranks of this job share no memory, as they are on \
                 several hosts or the system gives none (auto takes it as far as it goes)"
                    .into(),
            ));
        }
        let settings = Settings::from_environment().map_err(BootError::System)?;
        let secure = settings.secure.unwrap_or(Secure::Cookie);
        if secure != Secure::Cookie && !is_one_node && !self.manager.is_private() {
            return Err(BootError::System(format!(
                "MPILITE_SECURE={secure} is refused: the ranks got the key of this job from {}, \
                 which carries it between hosts unencrypted; start the job with mpi-lite's mpirun \
                 over ssh, or unset MPILITE_SECURE",
                self.manager.name()
            )));
        }
        self.assignment.secure = secure;
        let interface = std::env::var("MPILITE_INTERFACE").ok();
        let interface = interface.filter(|value| !value.is_empty());
        let wish = Wish {
            interface: interface.as_deref(),
            proven: self.manager.address(),
            has_other_nodes: !is_one_node,
        };
        self.assignment.bind = address::choose(wish).map_err(|error| {
            let value = interface.as_deref().unwrap_or_default();
            BootError::System(format!("MPILITE_INTERFACE={value} {error}"))
        })?;
        Ok(())
    }

    /// Watches the manager, too, from now on.
    fn watch_manager(&mut self) -> Result<(), BootError> {
        let Some(manager) = self.manager.descriptor() else {
            return Ok(());
        };
        let gone = EventFlags::RDHUP | EventFlags::HUP;
        let watch = self.neighbours.descriptor();
        epoll::add(watch, manager, EventData::new_u64(u64::MAX), gone)
            .map_err(|errno| BootError::System(format!("epoll: {}", std::io::Error::from(errno))))
    }

    pub(super) fn assignment(&self) -> &Assignment {
        &self.assignment
    }

    pub(super) fn forget_key(&mut self) {
        self.assignment.key.forget();
    }

    pub(super) fn shared(&mut self) -> Option<Shared> {
        self.shared.take()
    }

    /// All-gather of cards. All ranks give an empty one, or none does.
    pub(super) fn exchange(&mut self, card: &[u8]) -> Result<Vec<Vec<u8>>, BootError> {
        let size = self.assignment.size as usize;
        if card.is_empty() {
            if !self.has_losses {
                self.fence()?;
            }
            return Ok(vec![Vec::new(); size]);
        }
        let round = self.rounds;
        self.rounds += 1;
        let is_first = self.is_first();
        if is_first {
            self.publish_cards(card, round)?;
        } else {
            let given = self.neighbours.give_card(card);
            given.map_err(|loss| self.lost(loss))?;
        }
        self.fence()?;
        if is_first {
            let cards = self.read_cards(round)?;
            let sent = self.neighbours.send_cards(&cards);
            sent.map_err(|loss| self.lost(loss))?;
            return Ok(cards);
        }
        let come = self.neighbours.await_cards();
        let come = come.map_err(|loss| self.lost(loss))?;
        match come.into_iter().next() {
            Some((_, cards)) if cards.len() == size => Ok(cards),
            _ => Err(self.nonsense("too few cards")),
        }
    }

    /// This rank speaks for its node.
    fn is_first(&self) -> bool {
        self.assignment.local_rank == 0
    }

    /// Publishes the cards of the ranks of this node.
    fn publish_cards(&mut self, own: &[u8], round: u32) -> Result<(), BootError> {
        let mut cards = vec![(self.assignment.rank, ByteBuf::from(own))];
        if self.assignment.local_size > 1 {
            let come = self.neighbours.await_cards();
            for (rank, card) in come.map_err(|loss| self.lost(loss))? {
                cards.extend(card.into_iter().map(|card| (rank, ByteBuf::from(card))));
            }
        }
        let bytes = postcard::to_allocvec(&cards).map_err(|error| self.nonsense(error))?;
        let text = URL_SAFE_NO_PAD.encode(bytes);
        let room = self.manager.value_max() - LENGTH_DIGITS;
        let pieces: Vec<&str> = pieces(&text, room);
        let count = pieces.len();
        for (place, piece) in pieces.into_iter().enumerate() {
            let value = format!("{count}:{piece}");
            self.manager
                .put(&format!("cards-{round}-{place}"), &value)?;
        }
        Ok(())
    }

    /// Reads the cards of all nodes. Those of a rank that is alone though the manager places it on
    /// a node with others are missing in that node's, and are published by itself.
    fn read_cards(&mut self, round: u32) -> Result<Vec<Vec<u8>>, BootError> {
        let mut cards: Vec<Option<Vec<u8>>> = vec![None; self.assignment.size as usize];
        for rank in 0..self.assignment.size {
            let first = self.firsts[rank as usize];
            for speaker in [first, rank] {
                let is_missing = cards[rank as usize].is_none();
                let is_unread = cards[speaker as usize].is_none();
                if is_missing && is_unread {
                    self.read_cards_of(speaker, round, &mut cards)?;
                }
            }
        }
        let all: Option<Vec<Vec<u8>>> = cards.into_iter().collect();
        all.ok_or_else(|| self.nonsense("no card of a rank"))
    }

    fn read_cards_of(
        &mut self,
        speaker: u32,
        round: u32,
        cards: &mut [Option<Vec<u8>>],
    ) -> Result<(), BootError> {
        let (mut text, mut place, mut count) = (String::new(), 0, 1);
        while place < count {
            let value = needed(
                &mut *self.manager,
                speaker,
                &format!("cards-{round}-{place}"),
            )?;
            let parsed = value.split_once(':').and_then(|(count, piece)| {
                let count = count.parse::<usize>().ok()?;
                Some((count, piece))
            });
            let Some((total, piece)) = parsed else {
                return Err(self.nonsense(format!("a card {value:?}")));
            };
            text.push_str(piece);
            (place, count) = (place + 1, total);
        }
        let bytes = URL_SAFE_NO_PAD
            .decode(&text)
            .map_err(|error| self.nonsense(error))?;
        let read: Vec<(u32, ByteBuf)> =
            postcard::from_bytes(&bytes).map_err(|error| self.nonsense(error))?;
        for (rank, card) in read {
            if let Some(slot) = cards.get_mut(rank as usize) {
                *slot = Some(card.into_vec());
            }
        }
        Ok(())
    }

    fn fence(&mut self) -> Result<(), BootError> {
        fence(&mut *self.manager, &mut self.neighbours)
    }

    /// Looks whether the ranks of this node and the manager are there. If one is gone the job ends.
    pub(super) fn question(&mut self) -> Asked {
        match self.look() {
            Ok(()) => Asked::Nothing,
            Err(error) => {
                self.end(&error);
                Asked::Gone
            }
        }
    }

    fn look(&mut self) -> Result<(), BootError> {
        let looked = self.neighbours.look();
        looked.map_err(|loss| self.lost(loss))?;
        let is_gone = self.manager.descriptor().is_some_and(has_hung_up);
        match is_gone && !self.has_finalized {
            true => Err(BootError::ManagerGone {
                manager: self.manager.name(),
            }),
            false => Ok(()),
        }
    }

    /// Ends the job from the ticker: the program may wait for ever for what will not come.
    fn end(&mut self, error: &BootError) {
        if !matches!(error, BootError::Ending { .. }) {
            let Assignment { rank, host, .. } = &self.assignment;
            let line = format!("mpi-lite: rank {rank} on host {host}: {error}; ending the job");
            self.abort(1, &line);
        }
        self.neighbours.end();
        pause(LAST_GRACE);
        let _ = kill_process(getpid(), Signal::TERM);
        pause(LAST_GRACE);
        let _ = kill_process(getpid(), Signal::KILL);
    }

    pub(super) fn descriptor(&self) -> std::io::Result<OwnedFd> {
        self.neighbours.descriptor().try_clone_to_owned()
    }

    pub(super) fn finalized(&mut self) -> Result<(), BootError> {
        self.has_finalized = true;
        self.neighbours.leave();
        self.manager.finalize()
    }

    pub(super) fn lose_peer(&mut self) {
        self.has_losses = true;
    }

    pub(super) fn abort(&mut self, code: i32, message: &str) {
        if !message.is_empty() {
            eprintln!("{message}");
        }
        // A manager that is asked to end the job may drop what it has not read (Hydra does).
        await_reader(std::io::stdout(), READ_GRACE);
        await_reader(std::io::stderr(), READ_GRACE);
        self.neighbours.end();
        let line = message.lines().next().unwrap_or("MPI_Abort");
        self.manager.abort(code, line);
    }

    pub(super) fn is_manager_gone(&self) -> bool {
        self.manager.descriptor().is_some_and(has_hung_up)
    }

    fn lost(&self, loss: Loss) -> BootError {
        lost(&*self.manager, loss)
    }

    fn nonsense(&self, what: impl ToString) -> BootError {
        nonsense(&*self.manager, what.to_string())
    }
}

/// Digits of the number of pieces, and a colon.
const LENGTH_DIGITS: usize = 11;

/// The first rank of the node of each rank, by rank. Ranks that the manager does not place are
/// placed by the machine and the network that they see.
fn first_ranks(manager: &mut dyn Interface) -> Result<Vec<u32>, BootError> {
    let size = manager.size();
    if let Some(nodes) = manager.nodes()? {
        return Ok(firsts(&nodes));
    }
    let own = crate::machine::identity().unwrap_or_else(|| format!("rank {}", manager.rank()));
    manager.put("machine", &URL_SAFE_NO_PAD.encode(own))?;
    let mut nobody = none(manager)?;
    fence(manager, &mut nobody)?;
    let machines: Vec<String> = (0..size)
        .map(|rank| needed(manager, rank, "machine"))
        .collect::<Result<_, _>>()?;
    Ok(firsts(&machines))
}

/// For each place the first one with an equal entry.
fn firsts<T: Ord>(entries: &[T]) -> Vec<u32> {
    let mut known = std::collections::BTreeMap::new();
    let places = entries.iter().enumerate();
    places
        .map(|(place, entry)| *known.entry(entry).or_insert(number(place)))
        .collect()
}

fn none(manager: &dyn Interface) -> Result<Neighbours, BootError> {
    Neighbours::none().map_err(|loss| lost(manager, loss))
}

/// Publishes the host of each node, and by what its ranks find each other.
fn open(manager: &mut dyn Interface, firsts: &[u32]) -> Result<Neighbours, BootError> {
    let me = manager.rank();
    let is_first = firsts[me as usize] == me;
    if is_first {
        let host = rustix::system::uname().nodename().to_bytes().to_vec();
        manager.put("host", &URL_SAFE_NO_PAD.encode(host))?;
    }
    let is_of_mine = |rank: &u32| *rank != me && firsts[*rank as usize] == me;
    let others: Vec<u32> = (0..manager.size()).filter(is_of_mine).collect();
    let (opened, key) = match is_first {
        true if others.is_empty() => return none(manager),
        true => (Neighbours::open_for(&others), "node"),
        false => (Neighbours::open(me), "hatch"),
    };
    let (neighbours, text) = opened.map_err(|loss| lost(manager, loss))?;
    manager.put(key, &text)?;
    Ok(neighbours)
}

/// Waits until all ranks of the job have come here, or a rank of this node dies.
fn fence(manager: &mut dyn Interface, neighbours: &mut Neighbours) -> Result<(), BootError> {
    manager.enter_fence()?;
    while !manager.leave_fence(neighbours.watched())? {
        neighbours.look().map_err(|loss| lost(manager, loss))?;
    }
    Ok(())
}

fn publish_key(manager: &mut dyn Interface) -> Result<(), BootError> {
    let mut key = [0; SECRET_BYTES];
    let filled = SystemRandom::new().fill(&mut key);
    filled.map_err(|_| BootError::System("the system has no random numbers".into()))?;
    let put = manager.put("key", &URL_SAFE_NO_PAD.encode(key));
    wipe(&mut key);
    put
}

fn read_key(manager: &mut dyn Interface) -> Result<Secret, BootError> {
    let text = needed(manager, 0, "key")?;
    let bytes = URL_SAFE_NO_PAD.decode(&text).unwrap_or_default();
    match bytes.first_chunk() {
        Some(key) if bytes.len() == SECRET_BYTES => Ok(Secret::new(key)),
        _ => Err(nonsense(manager, "a wrong key".into())),
    }
}

/// The host of each rank, by rank.
fn hosts(manager: &mut dyn Interface, firsts: &[u32]) -> Result<Vec<String>, BootError> {
    let mut hosts: Vec<String> = Vec::with_capacity(firsts.len());
    for (rank, first) in firsts.iter().enumerate() {
        let host = if *first as usize == rank {
            let text = needed(manager, *first, "host")?;
            let bytes = URL_SAFE_NO_PAD.decode(text).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        } else {
            hosts[*first as usize].clone()
        };
        hosts.push(host);
    }
    Ok(hosts)
}

/// A value that must have been published.
fn needed(manager: &mut dyn Interface, rank: u32, key: &str) -> Result<String, BootError> {
    let value = manager.get(rank, key)?;
    value.ok_or_else(|| nonsense(manager, format!("no value {key:?} of rank {rank}")))
}

/// The assignment without what the node decides.
fn assignment(manager: &dyn Interface, key: Secret, hosts: Vec<String>) -> Assignment {
    let rank = manager.rank();
    Assignment {
        rank,
        size: manager.size(),
        host: hosts[rank as usize].clone(),
        key,
        hosts: Hosts::of(&hosts),
        appnum: manager.appnum(),
        ..super::Single::new().assignment().clone()
    }
}

/// Cuts a text of ASCII letters; an empty one is one piece.
fn pieces(text: &str, longest: usize) -> Vec<&str> {
    let cut = text.as_bytes().chunks(longest);
    let pieces: Vec<&str> = cut.filter_map(|it| str::from_utf8(it).ok()).collect();
    if pieces.is_empty() { vec![""] } else { pieces }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn lost(manager: &dyn Interface, loss: Loss) -> BootError {
    match loss {
        Loss::Ended { rank, pid } => BootError::Died { rank, pid },
        Loss::Aborted => BootError::Ending {
            manager: manager.name(),
        },
        Loss::Broken(what) => BootError::System(what),
    }
}

fn nonsense(manager: &dyn Interface, what: String) -> BootError {
    BootError::Manager {
        manager: manager.name(),
        what: format!("gave {what}"),
    }
}
