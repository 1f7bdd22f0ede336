//! A process group that can be signalled after its leader has ended, and never another one.
//!
//! A number of a process group is free for others once its last process has ended, so a signal by
//! number may hit strangers. A descriptor of the leader (pidfd_open(2)) means this group for ever.
#![expect(unsafe_code, reason = "the C library has no calls for this")]

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// pidfd_send_signal(2), from Linux 6.9.
const PROCESS_GROUP: libc::c_uint = 1 << 2;

/// The group of one leader.
#[derive(Debug)]
pub struct Group {
    leader: Pid,
    descriptor: Option<OwnedFd>,
}

impl Group {
    /// The group of a process that leads one and was not waited for yet: its number is still its
    /// own.
    #[must_use]
    pub fn of(leader: Pid) -> Group {
        // SAFETY: it takes two numbers and answers a descriptor that nobody else has.
        let descriptor = unsafe {
            let raw = libc::syscall(libc::SYS_pidfd_open, leader.as_raw(), 0);
            i32::try_from(raw)
                .ok()
                .filter(|raw| *raw >= 0)
                .map(|raw| OwnedFd::from_raw_fd(raw))
        };
        Group { leader, descriptor }
    }

    /// The group of this leader by its number alone, where descriptors are scarce.
    #[must_use]
    pub fn by_number(leader: Pid) -> Group {
        Group {
            leader,
            descriptor: None,
        }
    }

    /// Signals all its processes; without a signal only asks whether there are any.
    ///
    /// # Errors
    ///
    /// `ESRCH` if no process of it is left.
    pub fn signal(&self, signal: Option<Signal>) -> nix::Result<()> {
        let Some(descriptor) = &self.descriptor else {
            return killpg(self.leader, signal);
        };
        let number = signal.map_or(0, |signal| signal as libc::c_int);
        // SAFETY: a descriptor of ours, numbers, and no further information.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_pidfd_send_signal,
                descriptor.as_raw_fd(),
                number,
                core::ptr::null::<libc::siginfo_t>(),
                PROCESS_GROUP,
            )
        };
        match Errno::result(answer) {
            Ok(_) => Ok(()),
            // An older system: the number is all there is.
            Err(Errno::EINVAL | Errno::ENOSYS) => killpg(self.leader, signal),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use super::*;

    fn start(script: &str) -> std::process::Child {
        Command::new("sh")
            .args(["-c", script])
            .process_group(0)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn pid(child: &std::process::Child) -> Pid {
        Pid::from_raw(i32::try_from(child.id()).unwrap())
    }

    #[test]
    fn a_group_is_signalled_after_the_end_of_its_leader() {
        let mut leader = start("sleep 1000 & exit 0");
        let group = Group::of(pid(&leader));
        leader.wait().unwrap();
        assert_eq!(group.signal(None), Ok(()));
        group.signal(Some(Signal::SIGKILL)).unwrap();
        // Its output ends with the last process of the group.
        let output = leader.stdout.take().unwrap();
        assert_eq!(std::io::read_to_string(output).unwrap(), "");
        while group.signal(None).is_ok() {
            std::thread::yield_now();
        }
        assert_eq!(group.signal(Some(Signal::SIGTERM)), Err(Errno::ESRCH));
    }

    #[test]
    fn another_group_with_the_same_number_is_not_hit() {
        let mut leader = start("exit 0");
        let mut group = Group::of(pid(&leader));
        leader.wait().unwrap();
        let mut other = start("exec sleep 1000");
        // As if the system had given the number to somebody else since.
        group.leader = pid(&other);
        if is_known_to_the_system(&group) {
            assert_eq!(group.signal(Some(Signal::SIGKILL)), Err(Errno::ESRCH));
            assert!(other.try_wait().unwrap().is_none());
        }
        other.kill().unwrap();
        other.wait().unwrap();
    }

    /// Returns true if this system signals groups by descriptor.
    fn is_known_to_the_system(group: &Group) -> bool {
        let own = Group::of(nix::unistd::getpid());
        let descriptor = own.descriptor.as_ref().map(AsRawFd::as_raw_fd);
        // SAFETY: as in `signal`.
        let answer = descriptor.map(|own| unsafe {
            let nothing = core::ptr::null::<libc::siginfo_t>();
            libc::syscall(libc::SYS_pidfd_send_signal, own, 0, nothing, PROCESS_GROUP)
        });
        let is_refused = answer == Some(-1) && Errno::last() == Errno::EINVAL;
        group.descriptor.is_some() && !is_refused
    }
}
