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
use crate::transport::udp::protocol::Protocol;
use crate::transport::udp::{Bound, Rmpp, agree};
use crate::transport::{Link, PeerId, Udp, named, possible, read_cards};

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
const MAKERS: &[&[(&str, Maker)]] = &[
    &[
        ("auto", udp::<Rmpp>),
        ("shm", udp::<Rmpp>),
        ("rmpp", udp::<Rmpp>),
        ("tcp", |ground| tcp(ground, Sharing::Pair)),
        ("loopback", nowhere),
    ],
    #[cfg(feature = "laboratory")]
    {
        use crate::transport::laboratory::{GoBackN, Piped, Sctp, Unet};
        &[
            ("gobackn", udp::<Piped<GoBackN>>),
            ("unet", udp::<Piped<Unet>>),
            ("sctp", udp::<Piped<Sctp>>),
            ("tcp-trc", |ground| tcp(ground, Sharing::Channel)),
        ]
    },
];

/// The link to the ranks of other nodes.
///
/// # Errors
/// `Start`, in words: a transport that is unknown or not built, a setting, or the system.
pub(super) fn join(ground: Ground<'_>) -> Result<Link> {
    let name = &ground.assignment.transport;
    let mut makers = MAKERS.iter().copied().flatten();
    let Some((_, make)) = makers.find(|it| it.0 == name) else {
        return Err(failed(why_not(name)));
    };
    make(ground)
}

/// Why nothing makes a link of the transport `name`.
fn why_not(name: &str) -> String {
    if named(name).is_some_and(|it| it.is_of_laboratory) {
        format!(
            "the transport {name:?} is not in this library, which was built without cargo's \
             feature \"laboratory\": `make install` builds with it, and so does `cargo build \
             --release --package mpi-capi --features laboratory`"
        )
    } else {
        format!("the transport {name:?} is unknown: {}", possible())
    }
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
    use std::collections::BTreeSet;

    use super::*;
    use crate::transport::{Named, TRANSPORTS};

    #[test]
    fn each_transport_that_has_a_name_can_be_made_if_it_is_built() {
        let has_laboratory = MAKERS.len() > 1;
        let is_built = |it: &&Named| has_laboratory || !it.is_of_laboratory;
        let named = TRANSPORTS.iter().filter(is_built).map(|it| it.name);
        let made = MAKERS.iter().copied().flatten().map(|it| it.0);
        assert_eq!(BTreeSet::from_iter(made), BTreeSet::from_iter(named));
    }

    #[test]
    fn a_transport_that_is_not_built_is_told_from_an_unknown_one() {
        for transport in TRANSPORTS.iter().filter(|it| it.is_of_laboratory) {
            let line = why_not(transport.name);
            assert_eq!(line.lines().count(), 1, "{line}");
            for part in [transport.name, "make install", "--features laboratory"] {
                assert!(line.contains(part), "{part}: {line}");
            }
        }
        let unknown = why_not("ib");
        assert!(
            unknown.starts_with("the transport \"ib\" is unknown: expected auto, "),
            "{unknown}"
        );
    }
}
