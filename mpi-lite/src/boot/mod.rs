//! How the ranks of a job find each other: the conversation of a rank with its launcher.
//!
//! A rank that `mpirun` started owns one end of a socket pair; the other end belongs to the
//! launcher's part on the same machine. Over it the rank asks for its [`Assignment`], exchanges its
//! *card* (for example the address of its data socket) for the cards of all ranks, and reports when
//! it has finalized or must abort. A program started without a launcher is rank 0 of 1.
//!
//! Other process managers (Slurm, Hydra, Flux, servers of PMIx) are spoken to in their own protocol
//! ([`Managed`]).
//!
//! Beside the assignment come the descriptors of the memory that the ranks of a node share, new
//! ones with each Init ([`Shared`]).
//!
//! ```text
//!    rank                         launcher
//!     | Hello -----------------------> |
//!     | <------------------- Assigned  |
//!     | Card ------------------------> |   (waits for the card of every rank)
//!     | <---------------------- Cards  |
//!     | Blocked, Resumed ------------> |   (after seconds; see `state`)
//!     | <-------------------- Describe |   (at any time)
//!     | State -----------------------> |
//!     | Counters, if wanted ---------> |
//!     | Loss, of each lost peer -----> |   (nobody waits for its card)
//!     | Finalized or Abort ----------> |
//! ```

mod beside;
mod client;
mod environment;
mod foreign;
mod managed;
mod pmi;
mod pmix;
mod single;
mod waiting;

use std::ffi::OsString;
use std::os::fd::{OwnedFd, RawFd};
use std::time::Duration;

pub use client::Client;
pub use managed::Managed;
pub use mpi_boot::protocol::{Assignment, Counted};
pub use mpi_boot::secret::{SECRET_BYTES, Secret};
pub use mpi_boot::shared::Shared;
pub use mpi_boot::{hex, protocol, state};
pub use single::Single;
use state::RankState;

/// What can go wrong between a rank and its launcher.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    /// The environment names a descriptor that is not the launcher's channel.
    #[error(
        "MPILITE_BOOT_FD={value} does not name the launcher's channel ({reason}); a wrapper \
         between mpirun and the program must leave this descriptor open (to run the program \
         alone, or from a rank with an environment from before MPI_Init, unset MPILITE_BOOT_FD \
         MPILITE_SIZE PMI_FD PMI_RANK)"
    )]
    Channel {
        /// The value of the variable.
        value: String,
        /// What is wrong with the descriptor.
        reason: String,
    },
    /// A wrapper has taken the variable of our launcher's channel away.
    #[error(
        "mpi-lite's mpirun started this program as one of {size} ranks (MPILITE_SIZE), but \
         MPILITE_BOOT_FD is not set: a wrapper between mpirun and the program must keep this \
         variable, and leave its descriptor open (to run the program alone, unset MPILITE_SIZE)"
    )]
    NoChannel {
        /// How many ranks there are.
        size: String,
    },
    /// The system lists no descriptors, so none can be checked.
    #[error(
        "{missing} does not exist: mpi-lite needs the /proc file system, which is not mounted here \
         (as root: mount -t proc proc /proc)"
    )]
    NoProc {
        /// The directory that should be there.
        missing: &'static str,
    },
    /// Another launcher, which we do not support, started several copies of this program.
    #[error(
        "{launcher} started this program ({variable}={value}), and offers nothing by which its \
         copies find each other: {advice}start it with mpi-lite's mpirun (to run it alone, unset \
         {variable}{others})"
    )]
    Foreign {
        /// The launcher, as its users know it.
        launcher: &'static str,
        /// The variable by which it was recognised.
        variable: &'static str,
        /// The value of that variable.
        value: String,
        /// What helps with this launcher, and "or "; empty if nothing does.
        advice: &'static str,
        /// More variables to unset, each with a blank in front.
        others: String,
    },
    /// A rank of this host ended without `MPI_Finalize`; another process manager started the job.
    #[error("rank {rank} (pid {pid} on this host) ended without calling MPI_Finalize")]
    Died {
        /// Which.
        rank: u32,
        /// Its process.
        pid: i32,
    },
    /// Another rank ends the job.
    #[error("another rank ends the job ({manager} started it)")]
    Ending {
        /// The process manager.
        manager: &'static str,
    },
    /// The process manager is gone.
    #[error("{manager}, which started this rank, has closed its connection: the job is ending")]
    ManagerGone {
        /// The process manager.
        manager: &'static str,
    },
    /// The process manager does not do what it must.
    #[error("{manager}, which started this rank, {what}")]
    Manager {
        /// The process manager.
        manager: &'static str,
        /// What it did.
        what: String,
    },
    /// The variables of a process manager lead nowhere.
    #[error(
        "{manager} started this program ({variable}={value}), but {reason}; a wrapper between \
         them (sudo, Python's subprocess with close_fds) must leave it open (to run the program \
         alone, unset {variable})"
    )]
    ManagerChannel {
        /// The process manager.
        manager: &'static str,
        /// The variable that names its connection.
        variable: &'static str,
        /// The value of that variable.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The launcher closed the channel: it is gone or it ends the job.
    #[error("the launcher closed its channel while this rank was in {during}: the job is ending")]
    Closed {
        /// The step of the conversation.
        during: &'static str,
    },
    /// The launcher refuses to serve this rank.
    #[error("the launcher refused this rank: {0}")]
    Refused(String),
    /// The launcher sent something that does not belong in this step.
    #[error("the launcher sent {what} while this rank was in {during}")]
    Unexpected {
        /// What was received.
        what: String,
        /// The step of the conversation.
        during: &'static str,
    },
    /// This process may not open as many files as the ranks of its node share.
    #[error(
        "this rank cannot take the {needed} descriptors that the ranks of its host share: too many \
         open files (raise ulimit -n, or run with --transport rmpp)"
    )]
    Descriptors {
        /// How many there are.
        needed: usize,
    },
    /// The system does not give what the conversation needs.
    #[error("{0}")]
    System(String),
    /// A card that the launcher would refuse.
    #[error(
        "a card of {bytes} bytes is too long for the launcher ({} at most)",
        protocol::CARD_MAX
    )]
    LongCard {
        /// Its bytes.
        bytes: usize,
    },
    /// Reading from or writing to the channel failed.
    #[error("the channel to the launcher failed in {during}: {error}")]
    Io {
        /// The step of the conversation.
        during: &'static str,
        /// The system's reason.
        error: std::io::Error,
    },
}

/// The rank's side of starting up: either a launcher is there, or the program runs alone.
#[derive(Debug)]
pub enum Boot {
    /// Started by `mpirun`.
    Launched(Client),
    /// Started by another process manager.
    Managed(Box<Managed>),
    /// No launcher: rank 0 of 1.
    Single(Single),
}

impl Boot {
    /// Finds in the environment what started this process, and gets its assignment.
    ///
    /// Blocks until the launcher has answered: well below a millisecond if it is our own. With
    /// another process manager it blocks until all ranks of the job have come as far.
    ///
    /// # Errors
    ///
    /// [`BootError::Foreign`] if a launcher that we do not support started several copies: an error
    /// is better than N programs that are each rank 0 of 1. [`BootError::Channel`] and the rest if
    /// the channel to our own launcher does not work.
    pub fn from_environment() -> Result<Boot, BootError> {
        let boot = match origin(environment::variable, environment::is_inherited)? {
            Origin::Launcher(fd) => Boot::Launched(Client::connect(fd)?),
            Origin::Pmi(place) => {
                let manager = pmi::connect(place)?;
                Boot::Managed(Box::new(Managed::join(manager)?))
            }
            Origin::Pmix => match pmix::connect(&environment::variable)? {
                Some(manager) => Boot::Managed(Box::new(Managed::join(manager)?)),
                None => Boot::Single(Single::new()),
            },
            Origin::Alone => Boot::Single(Single::new()),
        };
        // A process that is alone has taken no place.
        if !matches!(boot, Boot::Single(_)) {
            environment::mark_used();
        }
        Ok(boot)
    }

    /// This rank's assignment.
    pub fn assignment(&self) -> &Assignment {
        match self {
            Boot::Launched(client) => client.assignment(),
            Boot::Managed(managed) => managed.assignment(),
            Boot::Single(single) => single.assignment(),
        }
    }

    /// Wipes the job's key: from now on it is only in copies of the assignment.
    pub fn forget_key(&mut self) {
        match self {
            Boot::Launched(client) => client.forget_key(),
            Boot::Managed(managed) => managed.forget_key(),
            Boot::Single(_) => {}
        }
    }

    /// Returns the node's memory and doorbells at the first call after Init, then `None`. Returns
    /// `None`, too, unless [`Assignment::shares_memory`].
    pub fn shared(&mut self) -> Option<Shared> {
        match self {
            Boot::Launched(client) => client.shared(),
            Boot::Managed(managed) => managed.shared(),
            Boot::Single(_) => None,
        }
    }

    /// All-gather of one card per rank. Returns the cards by rank. Init exchanges addresses,
    /// Finalize empty cards: a fence.
    ///
    /// Blocks until every rank has given its card. If the launcher asks meanwhile what this rank
    /// does, `state` is the answer.
    ///
    /// # Errors
    ///
    /// [`BootError::Closed`] if the job ends meanwhile, for instance because a rank died.
    pub fn exchange(
        &mut self,
        card: &[u8],
        state: &dyn Fn() -> RankState,
    ) -> Result<Vec<Vec<u8>>, BootError> {
        match self {
            Boot::Launched(client) => client.exchange(card, state),
            Boot::Managed(managed) => managed.exchange(card),
            Boot::Single(_) => Ok(vec![card.to_vec()]),
        }
    }

    /// Reports to the launcher that nothing has come for the program for this long.
    ///
    /// # Errors
    ///
    /// [`BootError::Io`] if the launcher is gone.
    pub fn blocked(&mut self, time: Duration) -> Result<(), BootError> {
        match self {
            Boot::Launched(client) => client.blocked(time),
            // Nobody asks what the ranks of such a job do.
            Boot::Managed(_) => Ok(()),
            Boot::Single(_) => Ok(()),
        }
    }

    /// Reports to the launcher that the program goes on, after [`Boot::blocked`].
    ///
    /// # Errors
    ///
    /// [`BootError::Io`] if the launcher is gone.
    pub fn resumed(&mut self) -> Result<(), BootError> {
        match self {
            Boot::Launched(client) => client.resumed(),
            // Nobody asks what the ranks of such a job do.
            Boot::Managed(_) => Ok(()),
            Boot::Single(_) => Ok(()),
        }
    }

    /// Answers a question of the launcher. What does not fit [`state::STATE_MAX`] is left out.
    ///
    /// # Errors
    ///
    /// [`BootError::Io`] if the launcher is gone.
    pub fn describe(&mut self, question: u32, state: RankState) -> Result<(), BootError> {
        match self {
            Boot::Launched(client) => client.describe(question, state),
            Boot::Managed(_) => Ok(()),
            Boot::Single(_) => Ok(()),
        }
    }

    /// Takes a question of the launcher that has come, without waiting.
    pub fn question(&mut self) -> Asked {
        match self {
            Boot::Launched(client) => client.question(),
            Boot::Managed(managed) => managed.question(),
            Boot::Single(_) => Asked::Gone,
        }
    }

    /// A copy of the descriptor that becomes readable when the launcher asks; `None` without one.
    ///
    /// # Errors
    ///
    /// The system has no more file descriptors.
    pub fn descriptor(&self) -> std::io::Result<Option<OwnedFd>> {
        match self {
            Boot::Launched(client) => client.descriptor().map(Some),
            Boot::Managed(managed) => managed.descriptor().map(Some),
            Boot::Single(_) => Ok(None),
        }
    }

    /// Reports to the launcher what this rank has counted since Init, if the launcher asked for it.
    ///
    /// # Errors
    ///
    /// [`BootError::Io`] if the launcher is gone.
    pub fn report(&mut self, counters: Vec<Counted>) -> Result<(), BootError> {
        match self {
            Boot::Launched(client) => client.report(counters),
            Boot::Managed(_) => Ok(()),
            Boot::Single(_) => Ok(()),
        }
    }

    /// Reports to the launcher that Finalize is complete: from now on exit status 0 is a clean end.
    ///
    /// # Errors
    ///
    /// [`BootError::Io`] if the launcher is gone.
    pub fn finalized(&mut self) -> Result<(), BootError> {
        match self {
            Boot::Launched(client) => client.finalized(),
            Boot::Managed(managed) => managed.finalized(),
            Boot::Single(_) => Ok(()),
        }
    }

    /// Reports to the launcher that the peer of this rank no longer answers: nobody waits for it in
    /// Finalize.
    ///
    /// # Errors
    ///
    /// [`BootError::Io`] if the launcher is gone.
    pub fn loss(&mut self, rank: u32, reason: &str) -> Result<(), BootError> {
        match self {
            Boot::Launched(client) => client.loss(rank, reason),
            Boot::Managed(managed) => {
                managed.lose_peer();
                Ok(())
            }
            Boot::Single(_) => Ok(()),
        }
    }

    /// Reports to the launcher why Finalize fails, before [`Boot::finalized`].
    ///
    /// # Errors
    ///
    /// [`BootError::Io`] if the launcher is gone.
    pub fn failure(&mut self, why: &str) -> Result<(), BootError> {
        match self {
            Boot::Launched(client) => client.failure(why),
            Boot::Managed(_) => {
                eprintln!("mpi-lite: MPI_Finalize failed: {why}");
                Ok(())
            }
            Boot::Single(_) => Ok(()),
        }
    }

    /// Asks the launcher to end the job with exit status `code`, and to print `message` once.
    ///
    /// Without a launcher, or if it cannot be reached, the message goes to this process's standard
    /// error. The caller exits by itself after this.
    pub fn abort(&mut self, code: i32, message: &str) {
        let is_told = match self {
            Boot::Launched(client) => client.abort(code, message).is_ok(),
            Boot::Managed(managed) => {
                managed.abort(code, message);
                true
            }
            Boot::Single(_) => false,
        };
        if !is_told && !message.is_empty() {
            eprintln!("{message}");
        }
    }

    /// Returns true if the launcher is gone.
    pub fn lost(&mut self) -> bool {
        match self {
            Boot::Launched(client) => client.lost(),
            Boot::Managed(managed) => managed.is_manager_gone(),
            Boot::Single(_) => false,
        }
    }
}

/// What came from the launcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A question, with its number.
    Question(u32),
    /// Nothing.
    Nothing,
    /// Nobody knows: another thread speaks to the launcher.
    Busy,
    /// Nothing, nor will anything come.
    Gone,
}

/// How many ranks our launcher has started; it sets this for scripts.
const SIZE: &str = "MPILITE_SIZE";

#[derive(Debug, PartialEq, Eq)]
enum Origin {
    Launcher(RawFd),
    Pmi(pmi::ManagerAddress),
    Pmix,
    Alone,
}

/// Finds what started this process. `is_inherited`: a variable was meant for a process above it.
fn origin(
    variable: impl Fn(&str) -> Option<OsString>,
    is_inherited: impl Fn(&str) -> bool,
) -> Result<Origin, BootError> {
    if let Some(value) = variable(protocol::BOOT_FD) {
        let text = value.to_string_lossy();
        return match text.parse::<RawFd>() {
            Ok(fd) if fd > 2 => Ok(Origin::Launcher(fd)),
            _ => Err(BootError::Channel {
                value: text.escape_debug().to_string(),
                reason: "it is not the number of a descriptor".into(),
            }),
        };
    }
    if let Some(place) = pmi::place(&variable)? {
        return Ok(Origin::Pmi(place));
    }
    let is_of_several = |size: &OsString| !is_inherited(SIZE) && !size.is_empty() && size != "1";
    if let Some(size) = variable(SIZE).filter(is_of_several) {
        let size = size.to_string_lossy().escape_debug().to_string();
        return Err(BootError::NoChannel { size });
    }
    if pmix::is_there(&variable) {
        return Ok(Origin::Pmix);
    }
    foreign::check(variable, is_inherited)?;
    Ok(Origin::Alone)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin_of(set: &[(&str, &str)]) -> Result<Origin, BootError> {
        let value = |name: &str| set.iter().find(|(n, _)| *n == name).map(|(_, v)| v.into());
        origin(value, |_| false)
    }

    #[test]
    fn an_empty_environment_means_alone() {
        assert_eq!(origin_of(&[]).unwrap(), Origin::Alone);
    }

    #[test]
    fn the_launchers_descriptor_wins_over_foreign_variables() {
        let set = [("MPILITE_BOOT_FD", "7"), ("OMPI_COMM_WORLD_SIZE", "4")];
        assert_eq!(origin_of(&set).unwrap(), Origin::Launcher(7));
    }

    #[test]
    fn a_child_of_a_rank_is_alone_unless_a_launcher_of_its_own_started_it() {
        let of_child = |set: &[(&str, &str)]| {
            let value = |name: &str| set.iter().find(|(n, _)| *n == name).map(|(_, v)| v.into());
            let inherited = [("MPILITE_SIZE", "4"), ("SLURM_STEP_ID", "0")];
            let is_inherited = |name: &str| {
                let there = set.iter().find(|(it, _)| *it == name);
                there.is_some_and(|it| inherited.contains(it))
            };
            origin(value, is_inherited)
        };
        let inherited = [
            ("MPILITE_SIZE", "4"),
            ("SLURM_STEP_ID", "0"),
            ("SLURM_NTASKS", "4"),
        ];
        assert_eq!(of_child(&inherited).unwrap(), Origin::Alone);
        let of_launcher = of_child(&[("MPILITE_BOOT_FD", "7")]);
        assert_eq!(of_launcher.unwrap(), Origin::Launcher(7));
        let of_srun = [&inherited[..1], &[("SLURM_STEP_ID", "1")]].concat();
        let of_jsrun = [&inherited[..], &[("JSM_NAMESPACE_RANK", "0")]].concat();
        for of_foreign in [of_srun, of_jsrun] {
            let error = of_child(&of_foreign).unwrap_err();
            assert!(matches!(error, BootError::Foreign { .. }), "{error}");
        }
        let error = of_child(&[("MPILITE_SIZE", "2")]).unwrap_err();
        assert!(matches!(error, BootError::NoChannel { .. }), "{error}");
    }

    #[test]
    fn a_descriptor_that_is_no_number_is_refused() {
        for value in ["", "x", "-1", "0", "2", "99999999999", "7 "] {
            let error = origin_of(&[("MPILITE_BOOT_FD", value)]).unwrap_err();
            assert!(
                matches!(error, BootError::Channel { .. }),
                "{value:?}: {error}"
            );
        }
    }

    #[test]
    fn a_rank_of_several_without_its_channel_is_an_error_that_says_how_to_run_alone() {
        let error = origin_of(&[("MPILITE_SIZE", "4"), ("MPILITE_RANK", "1")]).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("MPILITE_BOOT_FD is not set"), "{error}");
        assert!(error.contains("unset MPILITE_SIZE"), "{error}");
        assert_eq!(origin_of(&[("MPILITE_SIZE", "1")]).unwrap(), Origin::Alone);
    }

    #[test]
    fn a_boot_can_move_to_another_thread() {
        fn sendable<T: Send>() {}
        sendable::<Boot>();
    }
}
