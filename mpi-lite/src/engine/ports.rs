//! What a context leads to.
//!
//! Matching does not use it: it goes by the envelope alone. A port is looked at when a peer is
//! lost, to find out which receives may never be matched now. Decision 0047.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::matching::Pattern;
use crate::ids::{Context, PeerId};

/// What the messages of a context are for. One-sided communication (`Window`), and locks, file
/// pointers and the making of new jobs (`Service`), come here when they come.
#[derive(Clone, Debug)]
pub enum Port {
    /// Messages that receives match: those of a communicator.
    Matching {
        /// Its processes, by rank.
        members: Arc<[PeerId]>,
    },
}

/// A process has lost a peer. It completes no collective operation that both take part in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Desertion {
    pub(super) by: PeerId,
    pub(super) lost: PeerId,
}

#[derive(Debug)]
struct Entry {
    port: Port,
    /// The program has freed the communicator; receives may still be posted.
    is_closed: bool,
}

/// The ports of a process, by the context of the point-to-point messages: it stands for all that
/// belong to the same communicator.
///
/// The table has a lock of its own, so that a communicator may be dropped whether or not the lane
/// is locked. A thread that takes both locks takes the lane's first.
#[derive(Debug, Default)]
pub(super) struct Ports {
    table: Mutex<BTreeMap<Context, Entry>>,
}

impl Ports {
    pub(super) fn open(self: &Arc<Self>, context: Context, port: Port) -> OpenPort {
        let is_closed = false;
        let context = context.point_to_point();
        self.table.lock().insert(context, Entry { port, is_closed });
        let ports = Arc::clone(self);
        OpenPort { ports, context }
    }

    /// Forgets the closed ports that nothing `uses` any more.
    pub(super) fn sweep(&self, uses: impl Fn(Context) -> bool) {
        let mut table = self.table.lock();
        table.retain(|&context, entry| !entry.is_closed || uses(context));
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
        let entry = table.get(&pattern.context.point_to_point());
        let Some(Port::Matching { members }) = entry.map(|entry| &entry.port) else {
            return lost.first().copied();
        };
        let is_awaited = |peer: &PeerId| match pattern.source {
            Some(rank) if !pattern.context.is_collective() => {
                members.get(rank as usize) == Some(peer)
            }
            _ => members.contains(peer),
        };
        lost.iter().copied().find(is_awaited)
    }

    /// The first of `desertions` that leaves a collective operation of this context incomplete: both
    /// the deserter and the peer that it has lost are members.
    pub(super) fn desertion(
        &self,
        context: Context,
        desertions: &[Desertion],
    ) -> Option<Desertion> {
        let table = self.table.lock();
        let Port::Matching { members } = &table.get(&context.point_to_point())?.port;
        let concerns = |it: &&Desertion| members.contains(&it.by) && members.contains(&it.lost);
        desertions.iter().find(concerns).copied()
    }

    #[cfg(all(test, feature = "sim"))]
    pub(super) fn len(&self) -> usize {
        self.table.lock().len()
    }
}

/// A port that is open. When it is dropped the port closes: receives that are posted then may still
/// get their message.
#[derive(Debug)]
pub struct OpenPort {
    ports: Arc<Ports>,
    context: Context,
}

impl Drop for OpenPort {
    fn drop(&mut self) {
        if let Some(entry) = self.ports.table.lock().get_mut(&self.context) {
            entry.is_closed = true;
        }
    }
}
