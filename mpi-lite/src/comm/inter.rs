//! Inter-communicators: two sides, each of which sends to the other. Source: MPI 5.0, 7.6.
//!
//! An inter-communicator has a context of its own for what goes between the sides. Each side also
//! has an intra-communicator that the program does not see, for the part of a collective that the
//! processes of one side do among themselves.
//!
//! The processes of a side agree on the context of that one as any others do (`context`). For the
//! one between the sides, the process of rank 0 on each side (when there is no inter-communicator
//! yet, the leader) proposes a number. The two exchange their proposals, take the lesser one, and
//! tell their sides.

use std::sync::Arc;

use super::context::{Agreement, NONE_LEFT};
use super::create::{NO_COLOR, hash};
use super::{Basis, Call, Communicator, Group, Peers, drive};
use crate::data::Buffer;
use crate::engine::matching::Pattern;
use crate::engine::{OpenPort, Port, ReceivePlan, SendPlan};
use crate::error::{Cause, Error, Result};
use crate::ids::{Context, Dest, Mode};
use crate::transport::PeerId;

/// How the leader of a side reaches the leader of the other one, while they make an
/// inter-communicator.
#[derive(Clone, Debug)]
pub struct Bridge {
    /// Both leaders are in it.
    pub communicator: Communicator,
    /// The rank of the other leader there.
    pub remote_leader: i32,
    /// 0 or more. Inter-communicators that are made at once by the same leaders have different
    /// ones.
    pub tag: i32,
}

/// The processes of an inter-communicator in one call, seen from one of them.
#[derive(Debug)]
pub struct Sides<P> {
    /// This side. This process is one of them.
    pub local: P,
    /// The other side: `here` is the rank of this process on its own side, and `all` the number of
    /// processes on the other.
    pub remote: P,
}

/// What the processes of both sides have agreed on.
pub(super) struct Pact<'a> {
    /// That of this side.
    pub(super) agreement: Agreement<'a>,
    /// A new context for what goes between the sides.
    pub(super) context: Context,
    /// The words of the processes of the other side, by rank.
    pub(super) words: Vec<[u32; 2]>,
}

/// Bytes of a word of a message between leaders.
const WORD: usize = size_of::<u32>();

/// How inter-communicators are made.
impl Communicator {
    /// Makes an inter-communicator of the processes of this communicator and those of another one,
    /// which has no process in common with it. Collective over both. `leader` is a rank here, the
    /// same at all processes, and only its `bridge` is used.
    ///
    /// # Errors
    /// `Rank`: the leader. `Communicator`: this is an inter-communicator, or the two have processes
    /// in common. At the leader `Rank` or `Tag`: the bridge, or the error that it gave as `bridge`;
    /// at the others of this side `Argument` then. A process is lost.
    ///
    /// Source: MPI 5.0, 7.6.2.
    pub fn connect<E: From<Error>>(
        &self,
        leader: i32,
        bridge: impl FnOnce() -> core::result::Result<Bridge, E>,
    ) -> core::result::Result<Self, E> {
        self.require_intra()?;
        self.peer("local_leader", Dest::Rank(leader))?;
        let leader = leader.cast_unsigned();
        let agreement = drive(self.agree(&self.within(Call::CREATE), [leader, 0]))?;
        all_alike(
            agreement.words(),
            "the processes of local_comm gave different local leaders",
        )?;
        let local = self.derive(&agreement, self.group().clone(), self.rank(), None);
        drop(agreement);
        local.meet_other_side(leader, bridge)
    }

    /// Makes an inter-communicator of two groups. This communicator is the one of all processes of
    /// the job. Collective over both groups. `leader` is a rank in the own group, and only its
    /// `remote` is used: the other group and the rank of the leader there. A process that is not in
    /// `group` gets `None` at once.
    ///
    /// # Errors
    /// As for [`Communicator::connect`] and [`Communicator::create_from_group`].
    ///
    /// Source: MPI 5.0, 7.6.2.
    pub fn connect_groups<E: From<Error>>(
        &self,
        (group, leader): (&Group, i32),
        remote: impl FnOnce() -> core::result::Result<(Group, i32), E>,
        name: &[u8],
    ) -> core::result::Result<Option<Self>, E> {
        if !u32::try_from(leader).is_ok_and(|leader| leader < group.size()) && group.size() > 0 {
            let (what, size) = ("local_leader", group.size());
            let rank = leader;
            return Err(Error::from(Cause::Rank { what, rank, size }).into());
        }
        let Some(local) = self.create_from_group(group, name)? else {
            return Ok(None);
        };
        let bridge = || {
            let (group, rank) = remote()?;
            let other = u32::try_from(rank).ok().and_then(|rank| group.peer(rank));
            let remote_leader = other.and_then(|other| self.group().rank_of(other));
            let (what, size) = ("remote_leader", group.size());
            let remote_leader =
                remote_leader.ok_or_else(|| Error::from(Cause::Rank { what, rank, size }))?;
            Ok(Bridge {
                communicator: self.clone(),
                remote_leader: remote_leader.cast_signed(),
                tag: hash(name).1,
            })
        };
        local
            .meet_other_side(leader.cast_unsigned(), bridge)
            .map(Some)
    }

    /// Makes an inter-communicator of this side, which is a new communicator, and the other one.
    fn meet_other_side<E: From<Error>>(
        self,
        leader: u32,
        bridge: impl FnOnce() -> core::result::Result<Bridge, E>,
    ) -> core::result::Result<Self, E> {
        let met = match self.rank() == leader {
            true => Some(bridge().and_then(|bridge| Ok(self.meet_leader(&bridge)?))),
            false => None,
        };
        // The context and the number of processes of the other side: none if it was not met.
        let known = met.as_ref().and_then(|met| met.as_ref().ok());
        let mut head = known.map_or([0, 0], |(context, members)| {
            [context.0, members.len() as u32]
        });
        self.tell(leader, &mut head)?;
        let [context, size] = head;
        let mut members = known.map_or(vec![0; size as usize], |(_, members)| members.clone());
        self.tell(leader, &mut members)?;
        if let Some(Err(error)) = met {
            return Err(error);
        }
        if size == 0 {
            let why = "the local leader could not reach the other side";
            return Err(Error::from(Cause::Argument(why)).into());
        }
        let members = members.into_iter().map(PeerId::of_world_rank);
        let remote = Group::from_members(members.collect());
        Ok(self.beside(remote, Context(context))?)
    }

    /// Exchanges the groups with the leader of the other side. Returns the context that both take,
    /// and the ranks of its processes in `MPI_COMM_WORLD`.
    fn meet_leader(&self, bridge: &Bridge) -> Result<(Context, Vec<u32>)> {
        let mut members = self.engine().with(|lane| -> Vec<u32> {
            let all = self.group().members().iter();
            all.map(|&member| lane.peers().rank(member)).collect()
        });
        let proposed = self.inner.contexts.propose();
        let mut head = [proposed.0, members.len() as u32];
        let mut theirs = [0; 2];
        bridge.exchange(&mut head, &mut theirs)?;
        let context = self.inner.contexts.settle(proposed, Context(theirs[0]));
        let mut others = vec![0; theirs[1] as usize];
        bridge.exchange(&mut members, &mut others)?;
        Ok((context, others))
    }

    /// Gives the others of this communicator what `leader` has in `words`.
    fn tell(&self, leader: u32, words: &mut [u32]) -> Result<()> {
        drive(tell(&self.within(Call::CREATE), leader, words))
    }

    /// Makes the inter-communicator of this side, a communicator that nothing else uses, and
    /// `remote`.
    ///
    /// # Errors
    /// `Communicator`: a process is on both sides. `NoContext`: the contexts are used up.
    fn beside(self, remote: Group, context: Context) -> Result<Self> {
        if context == NONE_LEFT {
            return Err(Cause::NoContext.into());
        }
        if !self.group().is_apart_from(&remote) {
            return Err(Cause::Communicator("a process is in both groups").into());
        }
        let (inner, rank) = (Arc::clone(&self.inner), self.rank());
        let basis = Basis {
            local: Some(self),
            ..Basis::of(context, remote, rank)
        };
        Ok(Self::new(&inner.engine, &inner.contexts, basis))
    }

    /// Makes `context` lead to the processes of this side and to those of `remote`.
    pub(super) fn open_port_between(&self, remote: &Group, context: Context) -> OpenPort {
        let senders = remote.members().len();
        let both = remote.members().iter().chain(self.group().members());
        let members = both.copied().collect();
        let port = Port::Matching { members, senders };
        self.engine().with(|lane| lane.open_port(context, port))
    }
}

/// What is made of inter-communicators. `local` is this side of this one.
impl Communicator {
    /// Makes an intra-communicator of both sides. The side with `high` comes after the other one.
    /// If all processes give the same, that one comes first whose first process has the lower rank
    /// in `MPI_COMM_WORLD`. Collective.
    ///
    /// # Errors
    /// `Communicator`: this is no inter-communicator. `Argument`: the processes of a side gave
    /// different values. A process is lost.
    ///
    /// Source: MPI 5.0, 7.6.2.
    pub fn merge(&self, high: bool) -> Result<Self> {
        let Some(local) = self.local() else {
            return Err(Cause::Communicator("this is no intercommunicator").into());
        };
        let pact = self.make_pact(local, [high.into(), 0])?;
        let why = "the processes of a side gave different values of high";
        all_alike(pact.agreement.words(), why)?;
        all_alike(pact.words.iter().copied(), why)?;
        let first_of = |group: &Group| group.members().first().copied();
        let is_first = match pact.words[0][0] == u32::from(high) {
            true => first_of(local.group()) < first_of(self.group()),
            false => !high,
        };
        let [mut both, last] = [local, self].map(|side| side.group().members().to_vec());
        let rank = match is_first {
            true => self.rank(),
            false => self.rank() + last.len() as u32,
        };
        match is_first {
            true => both.extend(last),
            false => both = [last, both].concat(),
        }
        let group = Group::from_members(both.into());
        let context = pact.context;
        drop(pact);
        // It has no site: that takes an agreement of all its processes. So its duplicate is used.
        let basis = Basis::of(context, group, rank);
        Self::new(self.engine(), &self.inner.contexts, basis).dup()
    }

    /// [`Communicator::dup`] of an inter-communicator.
    pub(super) fn dup_between(&self, local: &Self) -> Result<Self> {
        drive(self.dup_among_sides(local, &self.sides(local, Call::CREATE)))
    }

    /// [`Communicator::dup_between`] of these processes of both sides.
    pub(super) async fn dup_among_sides(
        &self,
        local: &Self,
        sides: &Sides<impl Peers>,
    ) -> Result<Self> {
        let pact = local.make_pact_among(sides, [0, 0]).await?;
        let side = local.derive(&pact.agreement, local.group().clone(), self.rank(), None);
        side.beside(self.group().clone(), pact.context)
    }

    /// [`Communicator::split`] of an inter-communicator. A part has the processes of one color on
    /// both sides, and there is none if one side has no such process.
    pub(super) fn split_between(
        &self,
        local: &Self,
        color: Option<u32>,
        key: i32,
    ) -> Result<Option<Self>> {
        let words = [color.unwrap_or(NO_COLOR), key.cast_unsigned()];
        let pact = self.make_pact(local, words)?;
        let Some(color) = color else {
            return Ok(None);
        };
        self.part(local, &pact, color)
    }

    /// [`Communicator::create`] of an inter-communicator: `group` is a part of this side.
    pub(super) fn create_between(&self, local: &Self, group: &Group) -> Result<Option<Self>> {
        let is_part = local.check_has(group);
        let place = group.rank_of(self.me()).filter(|_| is_part.is_ok());
        let words = place.map_or([NO_COLOR, 0], |place| [0, place]);
        let pact = self.make_pact(local, words)?;
        is_part?;
        match place {
            Some(_) => self.part(local, &pact, 0),
            None => Ok(None),
        }
    }

    /// The part of the processes with this color, in which this one is.
    fn part(&self, local: &Self, pact: &Pact<'_>, color: u32) -> Result<Option<Self>> {
        let remote = self.group().of_color(pact.words.iter().copied(), color);
        if remote.size() == 0 {
            return Ok(None);
        }
        let group = local.group().of_color(pact.agreement.words(), color);
        let rank = group
            .rank_of(self.me())
            .expect("this process has the color");
        let side = local.derive(&pact.agreement, group, rank, None);
        side.beside(remote, pact.context).map(Some)
    }

    /// Agrees with all processes of both sides. Exchanges the `words` of all. Collective.
    ///
    /// # Errors
    /// A process is lost. `NoContext`: all contexts are used up.
    pub(super) fn make_pact<'a>(&self, local: &'a Self, words: [u32; 2]) -> Result<Pact<'a>> {
        drive(local.make_pact_among(&self.sides(local, Call::CREATE), words))
    }

    /// [`Communicator::make_pact`] of these processes of both sides. This is the communicator of
    /// this side.
    async fn make_pact_among(
        &self,
        sides: &Sides<impl Peers>,
        words: [u32; 2],
    ) -> Result<Pact<'_>> {
        let contexts = &self.inner.contexts;
        let agreement = self.agree(&sides.local, words).await?;
        let mut theirs = vec![0; 1 + 2 * sides.remote.all()];
        if self.rank() == 0 {
            let proposed = contexts.propose();
            let mine: Vec<u32> = [proposed.0]
                .into_iter()
                .chain(agreement.words().flatten())
                .collect();
            let (send, receive) = (
                Buffer::holding(&encode(&mine))?,
                Buffer::holding(&encode(&theirs))?,
            );
            sides.remote.exchange((0, &send), (0, &receive)).await?;
            decode(&receive.pack(), &mut theirs);
            theirs[0] = contexts.settle(proposed, Context(theirs[0])).0;
        }
        tell(&sides.local, 0, &mut theirs).await?;
        let (pairs, _) = theirs[1..].as_chunks();
        match Context(theirs[0]) {
            NONE_LEFT => Err(Cause::NoContext.into()),
            context => Ok(Pact {
                agreement,
                context,
                words: pairs.to_vec(),
            }),
        }
    }
}

impl Bridge {
    /// Sends `outgoing` to the other leader and receives `incoming` from it.
    fn exchange(&self, outgoing: &mut [u32], incoming: &mut [u32]) -> Result<()> {
        let Self {
            communicator,
            remote_leader,
            tag,
        } = self;
        let to = communicator.peer("remote_leader", Dest::Rank(*remote_leader))?;
        let tag = *tag;
        if tag < 0 {
            return Err(Cause::Tag(tag).into());
        }
        let context = communicator.context().of_groups();
        let (own, theirs) = (
            Buffer::holding(&encode(outgoing))?,
            Buffer::holding(&encode(incoming))?,
        );
        let send = SendPlan {
            to,
            context,
            source: communicator.rank(),
            tag,
            mode: Mode::Standard,
            area: own.area()?,
        };
        let receive = ReceivePlan {
            pattern: Some(Pattern {
                context,
                source: Some(remote_leader.cast_unsigned()),
                tag: Some(tag),
            }),
            area: theirs.area()?,
        };
        communicator.engine().exchange(&send, receive)?;
        decode(&theirs.pack(), incoming);
        Ok(())
    }
}

/// Gives the other `peers` what `leader` has in `words`.
async fn tell(peers: &impl Peers, leader: u32, words: &mut [u32]) -> Result<()> {
    let buffer = Buffer::holding(&encode(words))?;
    spread(peers, &buffer, leader as usize).await?;
    decode(&buffer.pack(), words);
    Ok(())
}

/// Sends what `root` has to all: in each round those that have it send it to as many others.
async fn spread(peers: &impl Peers, buffer: &Buffer, root: usize) -> Result<()> {
    let size = peers.all();
    let distance = (peers.here() + size - root) % size;
    let mut have = 1;
    while have < size {
        match distance {
            it if it < have && it + have < size => peers.send(peers.after(have), buffer).await?,
            it if it >= have && it < 2 * have => peers.receive(peers.before(have), buffer).await?,
            _ => {}
        }
        have *= 2;
    }
    Ok(())
}

/// Checks that all processes gave the same words.
fn all_alike(mut words: impl Iterator<Item = [u32; 2]>, why: &'static str) -> Result<()> {
    let first = words.next();
    match words.all(|it| Some(it) == first) {
        true => Ok(()),
        false => Err(Cause::Argument(why).into()),
    }
}

fn encode(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn decode(bytes: &[u8], words: &mut [u32]) {
    let (parts, _) = bytes.as_chunks::<WORD>();
    for (word, part) in words.iter_mut().zip(parts) {
        *word = u32::from_be_bytes(*part);
    }
}
