//! Why a peer is lost, in words.

use std::borrow::Cow;
use std::io;

use super::socket;

/// Why a connection has ended.
pub(super) fn of_end(error: &io::Error) -> Cow<'static, str> {
    match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe => {
            "it has closed its connection (has its process ended?)".into()
        }
        io::ErrorKind::ConnectionReset => {
            "it has reset its connection (has its process ended?)".into()
        }
        io::ErrorKind::TimedOut => SILENT.into(),
        _ => format!("its connection has failed: {error}").into(),
    }
}

/// Why a peer is lost that never acknowledges.
pub(super) const SILENT: &str = "it has given no answer for too long (MPILITE_LOST_S); is its \
                                 host up, and does a firewall between the hosts keep TCP away?";

/// Why a peer is lost where nothing listens.
pub(super) const NOBODY: &str =
    "nothing listens there any more (has its process ended, or does a firewall reject TCP?)";

/// Why a peer is lost at whose address something else answers.
pub(super) const FOREIGN: &str = "what listens there does not know the key of this job";

/// Why a peer is lost that closes all connections.
pub(super) const UNWANTED: &str = "it closes each new connection before it has proved itself";

/// Why a peer is lost that has no descriptor left.
pub(super) const FULL: &str = "it has no descriptor left for another connection: raise ulimit -n \
     on its host, or use --transport tcp, which needs one for each peer";

/// Why a peer is lost to which this process cannot open another connection, of `open` that it has.
pub(super) fn of_full(error: &io::Error, open: usize, is_per_channel: bool) -> String {
    let limit = match (error.raw_os_error(), socket::limit()) {
        (Some(libc::ENFILE), _) => {
            "the machine has too many open files (sysctl fs.file-max)".into()
        }
        (_, Some(limit)) => format!("the limit is {limit} open files of this process (ulimit -n)"),
        (_, None) => "this process has too many open files".to_owned(),
    };
    let advice = if is_per_channel {
        "; tcp-trc needs a connection for each tag and communicator: use --transport tcp, or raise \
         the limit"
    } else {
        ": raise it"
    };
    format!("{error}: {limit}, and {open} connections are open{advice}")
}

/// Returns true if a process ends a connection so that has nothing more to say.
pub(super) fn is_leave(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
    )
}

/// Why this host does not reach another one, and what to look at.
pub(super) fn of_network(error: &io::Error) -> String {
    format!(
        "{error}; is the interface of this host up (ip link), and does a route lead there (ip \
             route, firewalls)?"
    )
}

/// Returns true if `error` is about the way to a peer: it may pass.
pub(super) fn is_of_network(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::ENETUNREACH
                | libc::EHOSTUNREACH
                | libc::ENETDOWN
                | libc::EPERM
                | libc::EACCES
                | libc::EADDRNOTAVAIL
        )
    )
}
