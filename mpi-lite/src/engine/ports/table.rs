//! The ports of a process, and which of their collectives are over. Decision 0047.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;

use super::handler::Handler;
use super::port::Port;
use crate::engine::envelope::RANK_BITS;
use crate::engine::inbox::matching::Pattern;
use crate::error::Error;
use crate::ids::{Context, PeerId};

/// A process has lost a peer. It completes no collective operation that both take part in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Desertion {
    pub(super) by: PeerId,
    pub(super) lost: PeerId,
}

/// So many closed ports are looked at each time.
const FEW_CLOSED: usize = 32;

/// The open ports, and those that are closed but may still be looked at.
#[derive(Debug, Default)]
struct Rows {
    ports: BTreeMap<Context, Entry>,
    /// The program has freed these communicators; receives may still be posted.
    closed: BTreeSet<Context>,
    /// How many of the closed ones were in use at the last sweep.
    used: usize,
    /// Which collectives are over.
    given_up: BTreeMap<Calls, GivenUp>,
}

/// A port, and how many collectives its communicator has begun here.
#[derive(Debug)]
struct Entry {
    port: Port,
    begun: Arc<Begun>,
}

/// How many collectives a communicator has begun here.
#[derive(Debug, Default)]
struct Begun {
    blocking: AtomicU32,
    nonblocking: AtomicU32,
}

/// Nonblocking collectives whose numbers in the source of an envelope differ.
const NUMBERS: u32 = 1 << (u32::BITS - RANK_BITS);

/// The collectives whose messages match only each other: the blocking ones of a communicator, a
/// nonblocking one, or a persistent one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Calls {
    /// Of their messages.
    pub context: Context,
    /// Of a nonblocking one, in its place in the source of an envelope; otherwise 0.
    pub number: u32,
}

impl Calls {
    /// Those whose messages have this context and source.
    pub(in crate::engine) fn of(context: Context, source: Option<u32>) -> Self {
        let number = source.map_or(0, |source| source >> RANK_BITS << RANK_BITS);
        Self { context, number }
    }
}

/// Some collectives are over.
#[derive(Clone, Debug)]
pub(in crate::engine) struct GivenUp {
    /// From this call on. Persistent collectives are not counted: it is 0.
    pub(in crate::engine) from: u32,
    pub(in crate::engine) why: Error,
}

/// The ports of a process, by the context of the point-to-point messages: it stands for all that
/// belong to the same communicator.
///
/// The table has a lock of its own, so that a communicator may be dropped whether or not the lane
/// is locked. A thread that takes both locks takes the lane's first.
#[derive(Debug, Default)]
pub(super) struct PortTable {
    table: Mutex<Rows>,
}

impl PortTable {
    pub(super) fn open(self: &Arc<Self>, context: Context, port: Port) -> OpenPort {
        let context = match port {
            Port::Matching { .. } => context.point_to_point(),
            Port::Window(_) | Port::Service(_) => context,
        };
        let begun = Arc::<Begun>::default();
        let counted = Arc::clone(&begun);
        let entry = Entry {
            port,
            begun: counted,
        };
        let mut table = self.table.lock();
        table.ports.insert(context, entry);
        table.closed.remove(&context);
        drop(table);
        let ports = Arc::clone(self);
        OpenPort {
            ports,
            context,
            begun,
        }
    }

    /// Forgets the closed ports that nothing `uses` any more. Of many it looks again only when they
    /// are twice as many as were left, so each costs a few looks, however many there are. Returns
    /// how many it looked at; open ones are not among them.
    pub(super) fn sweep(&self, mut uses: impl FnMut(Context) -> bool) -> usize {
        let Rows {
            ports,
            closed,
            used,
            given_up: _,
        } = &mut *self.table.lock();
        if closed.len() > FEW_CLOSED && closed.len() <= 2 * *used {
            return 0;
        }
        let looked_at = closed.len();
        closed.retain(|&context| {
            let is_used = uses(context);
            if !is_used {
                ports.remove(&context);
            }
            is_used
        });
        *used = closed.len();
        looked_at
    }

    /// The first of `lost` without which nothing may ever fit `pattern`.
    ///
    /// That is the source that it names. Without one it is any process of the communicator. It is
    /// also any in a collective operation, which all processes must carry on: a process that is not
    /// lost may have given up because of the lost one.
    ///
    /// Nothing is known of a context that leads nowhere, so each lost peer may be the one.
    pub(super) fn lost_member(&self, pattern: &Pattern, lost: &[PeerId]) -> Option<PeerId> {
        let table = self.table.lock();
        let entry = table.ports.get(&pattern.context.point_to_point());
        let Some(Port::Matching { members, senders }) = entry.map(|entry| &entry.port) else {
            return lost.first().copied();
        };
        let is_awaited = |peer: &PeerId| match pattern.source {
            Some(rank) if !pattern.context.is_collective() => {
                members.get(rank as usize) == Some(peer)
            }
            _ if pattern.context.is_collective() => members.contains(peer),
            _ => members.iter().take(*senders).any(|sender| sender == peer),
        };
        lost.iter().copied().find(is_awaited)
    }

    /// These collectives are over: the process `by` completes none from the call `from` on. Returns
    /// all members; `None` if `by` is none of them, or if the collectives were over before.
    pub(super) fn give_up(
        &self,
        calls: Calls,
        by: PeerId,
        what: &GivenUp,
    ) -> Option<Arc<[PeerId]>> {
        let table = &mut *self.table.lock();
        let communicator = calls.context.point_to_point();
        let Port::Matching { members, .. } = &table.ports.get(&communicator)?.port else {
            return None;
        };
        let is_open = !table.closed.contains(&communicator);
        if !is_open || !members.contains(&by) || !table.is_news(calls, what.from) {
            return None;
        }
        table.given_up.insert(calls, what.clone());
        Some(Arc::clone(members))
    }

    /// Why the present one of these collectives is over, if it is.
    pub(super) fn given_up(&self, calls: Calls) -> Option<Error> {
        let table = self.table.lock();
        let GivenUp { from, why } = table.given_up.get(&calls)?;
        let is_reached = *from <= table.calls(calls.context);
        is_reached.then(|| why.clone())
    }

    /// The call `from` begins, which has the number of an earlier one.
    pub(super) fn renew(&self, calls: Calls, from: u32) {
        let given_up = &mut self.table.lock().given_up;
        given_up.retain(|it, what| *it != calls || what.from >= from);
    }

    /// The number of the last collective of this context that has begun here; 0 of persistent ones.
    pub(super) fn calls(&self, context: Context) -> u32 {
        self.table.lock().calls(context)
    }

    /// The members of the communicator of this context, by rank.
    pub(super) fn members(&self, context: Context) -> Option<Arc<[PeerId]>> {
        let table = self.table.lock();
        let entry = table.ports.get(&context.point_to_point())?;
        let Port::Matching { members, .. } = &entry.port else {
            return None;
        };
        Some(Arc::clone(members))
    }

    /// The contexts of at most `most` open ports, the oldest first.
    pub(super) fn contexts(&self, most: usize) -> Vec<Context> {
        let table = self.table.lock();
        let open = table.ports.iter();
        let open = open.filter(|(context, entry)| {
            matches!(entry.port, Port::Matching { .. }) && !table.closed.contains(context)
        });
        open.take(most).map(|(context, _)| *context).collect()
    }

    /// Calls `serve` with what takes the messages of this context, if a port of it is open.
    pub(super) fn with_handler<T>(
        &self,
        context: Context,
        serve: impl FnOnce(&mut dyn Handler) -> T,
    ) -> Option<T> {
        let mut table = self.table.lock();
        match &mut table.ports.get_mut(&context)?.port {
            Port::Matching { .. } => None,
            Port::Window(handler) | Port::Service(handler) => Some(serve(&mut **handler)),
        }
    }

    /// Returns true if a port of this context is open that is no communicator's.
    pub(super) fn has_handler(&self, context: Context) -> bool {
        self.with_handler(context, |_| ()).is_some()
    }

    /// The contexts of the ports that are no communicators'.
    pub(super) fn of_handlers(&self) -> Vec<Context> {
        let table = self.table.lock();
        let ports = table.ports.iter();
        let handlers = ports.filter(|(_, entry)| !matches!(entry.port, Port::Matching { .. }));
        handlers.map(|(context, _)| *context).collect()
    }

    /// The first of `desertions` that leaves a collective operation of this context incomplete:
    /// both the deserter and the peer that it has lost are members.
    pub(super) fn desertion(
        &self,
        context: Context,
        desertions: &[Desertion],
    ) -> Option<Desertion> {
        let table = self.table.lock();
        let Port::Matching { members, .. } = &table.ports.get(&context.point_to_point())?.port
        else {
            return None;
        };
        let concerns = |it: &&Desertion| members.contains(&it.by) && members.contains(&it.lost);
        desertions.iter().find(concerns).copied()
    }

    #[cfg(all(test, feature = "sim"))]
    pub(super) fn len(&self) -> usize {
        self.table.lock().ports.len()
    }
}

/// A port that is open. When it is dropped the port closes: receives that are posted then may still
/// get their message.
#[derive(Debug)]
pub struct OpenPort {
    ports: Arc<PortTable>,
    context: Context,
    begun: Arc<Begun>,
}

impl OpenPort {
    /// Counts a blocking collective that begins. One thread at a time does, as MPI requires of
    /// programs (MPI 5.0, 6.14); of one that does not the count is merely wrong.
    #[inline]
    pub fn count_call(&self) {
        count(&self.begun.blocking);
    }

    /// Counts a nonblocking collective that begins. Returns its number: the first one is 1.
    pub fn count_nonblocking_call(&self) -> u32 {
        count(&self.begun.nonblocking)
    }

    /// The number of the last blocking collective that has begun.
    #[must_use]
    pub fn present_call(&self) -> u32 {
        self.begun.blocking.load(Ordering::Relaxed)
    }
}

#[inline]
fn count(calls: &AtomicU32) -> u32 {
    let number = calls.load(Ordering::Relaxed).wrapping_add(1);
    calls.store(number, Ordering::Relaxed);
    number
}

impl Rows {
    fn calls(&self, context: Context) -> u32 {
        let communicator = context.point_to_point();
        let begun = self.ports.get(&communicator).map(|entry| &entry.begun);
        begun.map_or(0, |begun| match context == communicator.collective() {
            true => begun.blocking.load(Ordering::Relaxed),
            false => begun.nonblocking.load(Ordering::Relaxed),
        })
    }

    /// Returns true if it was not known that these calls are over from the call `from` on. Blocking
    /// ones are over for good: the first call that fails counts. Of nonblocking ones each has a
    /// number: the last call that has it counts, and none that has ended here.
    fn is_news(&self, calls: Calls, from: u32) -> bool {
        let known = self.given_up.get(&calls).map(|known| known.from);
        if calls.context == calls.context.point_to_point().nonblocking() {
            let has_ended = from != 0 && from.saturating_add(NUMBERS) <= self.calls(calls.context);
            !has_ended && known.is_none_or(|known| known < from)
        } else {
            known.is_none_or(|known| from < known)
        }
    }
}

impl Drop for OpenPort {
    fn drop(&mut self) {
        let mut table = self.ports.table.lock();
        let entry = table.ports.get(&self.context);
        // Another port may have been opened for the same context meanwhile.
        let is_own = |entry: &&Entry| Arc::ptr_eq(&entry.begun, &self.begun);
        let Some(entry) = entry.filter(is_own) else {
            return;
        };
        if !matches!(entry.port, Port::Matching { .. }) {
            table.ports.remove(&self.context);
            return;
        }
        table.closed.insert(self.context);
        let is_other = |calls: &Calls| calls.context.point_to_point() != self.context;
        table.given_up.retain(|calls, _| is_other(calls));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(ports: &Arc<PortTable>, number: u32) -> OpenPort {
        let members = [PeerId(0)].into();
        let context = Context(Context::FIRST_FREE.0 + number * Context::EACH);
        ports.open(context, Port::among(members))
    }

    #[test]
    fn to_open_a_port_looks_at_no_open_one_and_at_each_closed_one_a_few_times() {
        const PORTS: u32 = 1000;
        let ports = Arc::new(PortTable::default());
        let mut looked_at = 0;
        let mut is_open = Vec::new();
        for number in 0..PORTS {
            looked_at += ports.sweep(|_| true);
            is_open.push(open(&ports, number));
        }
        assert_eq!(looked_at, 0, "all are open");
        // Receives are still posted for every one that is freed.
        for (number, freed) in (PORTS..).zip(is_open) {
            drop(freed);
            looked_at += ports.sweep(|_| true);
            drop(open(&ports, number));
        }
        assert!(looked_at <= 4 * 2 * PORTS as usize, "{looked_at} looks");
        let table = ports.table.lock();
        assert_eq!(table.ports.len(), 2 * PORTS as usize, "all are in use");
    }

    #[test]
    fn a_closed_port_is_forgotten_when_nothing_uses_it() {
        let ports = Arc::new(PortTable::default());
        let (first, second) = (open(&ports, 0), open(&ports, 1));
        let used = first.context;
        drop((first, second));
        ports.sweep(|context| context == used);
        let left: Vec<Context> = ports.table.lock().ports.keys().copied().collect();
        assert_eq!(left, [used]);
    }
}
