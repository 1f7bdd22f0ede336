//! An `sshd` of a test's own: throw-away keys, configurations of both sides, two host names.

use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use crate::scratch::Scratch;

/// Where distributions install the server.
const SSHD: &str = "/usr/sbin/sshd";
/// How long the server may take until it listens.
const SOON: Duration = Duration::from_secs(60);
/// No server of this process listens on this port.
const NOBODYS_PORT: u16 = 22000;
/// The port of the server that was made last.
static PORT: AtomicU16 = AtomicU16::new(NOBODYS_PORT);

/// Keys and configurations; `n1`, `n2` and `n3` all mean this machine.
#[derive(Debug)]
pub struct SshFiles {
    scratch: Scratch,
    address: SocketAddrV4,
}

/// A running server, gone with the value.
#[derive(Debug)]
pub struct SshServer {
    /// Its files.
    pub files: SshFiles,
    child: Child,
}

fn make_key(path: &Path) {
    let result = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(path)
        .status();
    let status = result.unwrap_or_else(|error| panic!("ssh-keygen is needed: {error}"));
    assert!(status.success(), "ssh-keygen makes no key");
}

impl Default for SshFiles {
    fn default() -> Self {
        Self::new()
    }
}

impl SshFiles {
    /// Makes them for a port of the loopback that is this server's own: the address is that of
    /// this process, so that nobody else takes the port.
    ///
    /// # Panics
    /// If there is no sshd on this machine.
    #[must_use]
    pub fn new() -> Self {
        assert!(
            Path::new(SSHD).exists(),
            "{SSHD} is needed (package openssh-server)"
        );
        fs::create_dir_all("/run/sshd").expect("sshd wants an empty /run/sshd");
        let [_, a, b, c] = std::process::id().to_be_bytes();
        let port = PORT.fetch_add(1, Ordering::Relaxed) + 1;
        let files = Self {
            scratch: Scratch::new("ssh"),
            address: SocketAddrV4::new(Ipv4Addr::new(127, a, b, c), port),
        };
        make_key(&files.path("host_key"));
        make_key(&files.path("user_key"));
        files.scratch.write("sshd_config", &files.server_config());
        files.write_client_config(port);
        files.write_client();
        files
    }

    /// A file of the directory that holds everything.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// The directory that holds everything.
    #[must_use]
    pub fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// The program for `MPILITE_SSH`: it reads our configuration and writes down its arguments.
    #[must_use]
    pub fn client(&self) -> PathBuf {
        self.path("ssh")
    }

    /// What the client was asked to do, one call per line; `None` if it was never called.
    #[must_use]
    pub fn calls(&self) -> Option<String> {
        fs::read_to_string(self.path("calls")).ok()
    }

    /// The words that start the server in the foreground.
    #[must_use]
    pub fn server_words(&self) -> Vec<String> {
        let config = self.path("sshd_config").display().to_string();
        [SSHD, "-D", "-e", "-f", &config]
            .map(str::to_owned)
            .to_vec()
    }

    fn server_config(&self) -> String {
        let folder = self.scratch.path().display();
        let (ip, port) = (self.address.ip(), self.address.port());
        format!(
            "Port {port}\nListenAddress {ip}\nHostKey {folder}/host_key\n\
             AuthorizedKeysFile {folder}/user_key.pub\nPidFile {folder}/sshd.pid\n\
             StrictModes no\nUsePAM no\nPasswordAuthentication no\n\
             KbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n\
             MaxStartups 100:30:200\nLogLevel ERROR\n"
        )
    }

    /// Lets the client connect to a port where nobody listens.
    pub fn point_client_at_nobody(&self) {
        self.write_client_config(NOBODYS_PORT);
    }

    fn write_client_config(&self, port: u16) {
        let folder = self.scratch.path().display();
        let ip = self.address.ip();
        let config = format!(
            "Host n1 n2 n3\n  HostName {ip}\n  Port {port}\n\
             Host *\n  IdentityFile {folder}/user_key\n  IdentitiesOnly yes\n  \
             StrictHostKeyChecking accept-new\n  UserKnownHostsFile {folder}/known_hosts\n  \
             LogLevel ERROR\n"
        );
        self.scratch.write("ssh_config", &config);
    }

    fn write_client(&self) {
        let folder = self.scratch.path().display();
        let text = format!(
            "#!/bin/sh\nprintf '%s\\n' \"$*\" >> {folder}/calls\n\
             exec ssh -F {folder}/ssh_config \"$@\"\n"
        );
        self.scratch.program("ssh", text);
    }
}

impl SshServer {
    /// Starts a server and waits until it listens.
    ///
    /// # Panics
    /// If it does not.
    #[must_use]
    pub fn start() -> Self {
        let files = SshFiles::new();
        let log = fs::File::create(files.path("sshd.log")).expect("a fresh directory");
        let words = files.server_words();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::null()).stderr(log);
        let child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{SSHD}: {error}"));
        let server = Self { files, child };
        server.wait_until_it_listens();
        server
    }

    fn wait_until_it_listens(&self) {
        let deadline = Instant::now() + SOON;
        while TcpStream::connect(self.files.address).is_err() {
            let log = fs::read_to_string(self.files.path("sshd.log"));
            assert!(
                Instant::now() < deadline,
                "sshd does not listen: {}",
                log.unwrap_or_default()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for SshServer {
    fn drop(&mut self) {
        // Already gone is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
