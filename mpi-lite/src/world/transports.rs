//! How the link to other nodes is made.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::process::failed;
use crate::boot::state::RankState;
use crate::boot::{Assignment, Boot};
use crate::clock::Clock;
use crate::config::Settings;
use crate::error::Result;
use crate::transport::tcp::{self, Sharing};
use crate::transport::udp::protocol::{GoBackN, Piped, Protocol, Sctp, Unet};
use crate::transport::udp::{Bound, Rmpp, agree};
use crate::transport::{Link, PeerId, Udp, possible, read_cards};

/// Makes the link to the ranks of other nodes. Blocks until all ranks have come as far.
type Maker = fn(Ground<'_>) -> Result<Link>;

/// What a link is made from.
pub(super) struct Ground<'a> {
    pub(super) boot: &'a mut Boot,
    pub(super) assignment: &'a Assignment,
    pub(super) settings: &'a Settings,
    pub(super) clock: Clock,
    /// Describes this rank for the report of a job that hangs.
    pub(super) state: &'a dyn Fn() -> RankState,
}

/// How each transport makes its link to other nodes.
const MAKERS: &[(&str, Maker)] = &[
    ("auto", udp::<Rmpp>),
    ("shm", udp::<Rmpp>),
    ("rmpp", udp::<Rmpp>),
    ("gobackn", udp::<Piped<GoBackN>>),
    ("unet", udp::<Piped<Unet>>),
    ("sctp", udp::<Piped<Sctp>>),
    ("tcp", |ground| tcp(ground, Sharing::Pair)),
    ("tcp-trc", |ground| tcp(ground, Sharing::Channel)),
    ("loopback", nowhere),
];

/// The link to the ranks of other nodes.
///
/// # Errors
/// `Start`, in words: an unknown transport, a setting, or the system.
pub(super) fn join(ground: Ground<'_>) -> Result<Link> {
    let name = &ground.assignment.transport;
    let Some((_, make)) = MAKERS.iter().find(|it| it.0 == name) else {
        return Err(failed(format!(
            "the transport {name:?} is unknown: {}",
            possible()
        )));
    };
    make(ground)
}

fn nowhere(ground: Ground<'_>) -> Result<Link> {
    let size = ground.assignment.size;
    Err(failed(format!(
        "the transport \"loopback\" connects a rank only to itself, but the job has {size} ranks: \
         leave --transport out"
    )))
}

impl Ground<'_> {
    /// Publishes the `card` of this rank. Blocks until all ranks have come as far, and returns the
    /// cards of all, by rank.
    fn exchange<Card: Serialize + DeserializeOwned>(&mut self, card: &Card) -> Result<Vec<Card>> {
        let card = postcard::to_allocvec(card).map_err(failed)?;
        let cards = self.boot.exchange(&card, self.state).map_err(failed)?;
        read_cards(&cards, &self.assignment.hosts).map_err(failed)
    }
}

/// A packet protocol over UDP.
fn udp<P: Protocol>(mut ground: Ground<'_>) -> Result<Link>
where
    Link: From<Udp<P>>,
{
    let (assignment, settings) = (ground.assignment, ground.settings);
    let bound = Bound::<P>::new(assignment.bind, oversubscribed(assignment), settings);
    let bound = bound.map_err(failed)?;
    let cards = ground.exchange(bound.card())?;
    agree(&cards, &assignment.hosts).map_err(failed)?;
    let me = PeerId::of_world_rank(assignment.rank);
    let context = (settings, ground.clock);
    Ok(bound
        .connect(me, &cards, assignment.key.bytes(), context)
        .into())
}

/// TCP.
fn tcp(mut ground: Ground<'_>, sharing: Sharing) -> Result<Link> {
    let (assignment, settings) = (ground.assignment, ground.settings);
    let bound = tcp::Bound::new(assignment.bind, sharing, settings).map_err(failed)?;
    let cards = ground.exchange(bound.card())?;
    let me = PeerId::of_world_rank(assignment.rank);
    let context = (settings, ground.clock);
    Ok(bound
        .connect(me, &cards, assignment.key.bytes(), context)
        .into())
}

/// Ranks for each core of this node, rounded up, as this rank sees it.
fn oversubscribed(assignment: &Assignment) -> u32 {
    let cores = u32::try_from(super::process::own_cores()).unwrap_or(u32::MAX);
    assignment.local_size.div_ceil(cores).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::TRANSPORTS;

    #[test]
    fn each_transport_that_has_a_name_can_be_made() {
        let made: Vec<_> = MAKERS.iter().map(|it| it.0).collect();
        let named: Vec<_> = TRANSPORTS.iter().map(|it| it.name).collect();
        assert_eq!(made, named);
    }
}
