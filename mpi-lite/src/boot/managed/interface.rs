//! What a process manager of others offers the ranks that it starts.

use std::fmt::Debug;
use std::net::IpAddr;
use std::os::fd::BorrowedFd;

use crate::boot::BootError;

/// A place to publish texts for all ranks of the job, and a barrier. The keys of a rank are its
/// own: two ranks may use the same one.
///
/// Every function blocks for a message to a process of the same host and back, unless it says more.
pub(in crate::boot) trait Interface: Debug + Send {
    /// Its name, as its users know it.
    fn name(&self) -> &'static str;

    /// This process's rank in the job.
    fn rank(&self) -> u32;

    /// How many ranks the job has.
    fn size(&self) -> u32;

    /// The number of this rank's program, if several were started at once.
    fn appnum(&self) -> Option<u32>;

    /// Returns true if nobody else can read what is published, also between hosts.
    fn is_private(&self) -> bool;

    /// The address of this host as the manager's own connections show it.
    fn address(&self) -> Option<IpAddr>;

    /// The longest value in bytes. It may have the letters of base64, and `:` and `.`.
    fn value_max(&self) -> usize;

    /// The number of the node of each rank, by rank; `None` if the manager does not know them all.
    ///
    /// # Errors
    /// The manager is gone or sends nonsense. So for all functions.
    fn nodes(&mut self) -> Result<Option<Vec<u32>>, BootError>;

    /// Publishes a value of this rank. Other ranks see it after the next fence. A key is used once.
    fn put(&mut self, key: &str, value: &str) -> Result<(), BootError>;

    /// The value that `rank` has published before a fence, if it has.
    fn get(&mut self, rank: u32, key: &str) -> Result<Option<String>, BootError>;

    /// Begins a fence, which ends when all ranks of the job have begun it.
    fn enter_fence(&mut self) -> Result<(), BootError>;

    /// Waits for the end of the fence. Returns false if `watch` became readable before.
    fn leave_fence(&mut self, watch: Option<BorrowedFd<'_>>) -> Result<bool, BootError>;

    /// A descriptor that hangs up when the manager is gone.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;

    /// Asks the manager to end the job with this exit status, as far as it can. `line` is one line.
    fn abort(&mut self, code: i32, line: &str);

    /// Reports that this rank leaves the job in order.
    fn finalize(&mut self) -> Result<(), BootError>;
}
