//! How an agent that srun has started finds `mpirun`: it tries its addresses, the one from which
//! srun has reached this node first, and takes the first that proves to be of the job.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::mpsc;
use std::time::Duration;

use crate::failure::Failure;
use crate::remote::proof::{BLOCK, GREETING, Side, Token, answer, random};
use crate::remote::srun::HOME;

/// How long a connection, or an answer on it, may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// After this time without an answer the next address is tried as well. So the agents of a job all
/// take the same address if they can.
const HEAD_START: Duration = Duration::from_secs(2);

/// Where `mpirun` is, and the proof that one is of its job.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    token: Token,
    addresses: Vec<SocketAddr>,
    node: String,
}

impl Home {
    /// The home of an agent that srun has started; `None` for one behind ssh.
    ///
    /// # Errors
    ///
    /// A failure if the environment does not name it as `mpirun` does.
    pub(crate) fn find() -> Result<Option<Home>, Failure> {
        let Ok(text) = std::env::var(HOME) else {
            return Ok(None);
        };
        let wrong = || Failure::launch(format!("agent: {HOME} is not what mpirun has set"));
        let mut words = text.split(' ');
        let token = words.next().and_then(Token::parse).ok_or_else(wrong)?;
        let port: Option<u16> = words.next().and_then(|port| port.parse().ok());
        let port = port.ok_or_else(wrong)?;
        // srun has reached this node from there.
        let launch = std::env::var("SLURM_LAUNCH_NODE_IPADDR").unwrap_or_default();
        let mut addresses: Vec<SocketAddr> = Vec::new();
        for word in std::iter::once(launch.as_str()).chain(words) {
            let address = word.parse::<IpAddr>().ok();
            let address = address.map(|address| SocketAddr::new(address, port));
            addresses.extend(address.filter(|address| !addresses.contains(address)));
        }
        let node = std::env::var("SLURMD_NODENAME").map_err(|_| {
            Failure::launch("agent: srun has set no SLURMD_NODENAME: which node is this?")
        })?;
        Ok(Some(Home {
            token,
            addresses,
            node,
        }))
    }

    /// Connects.
    ///
    /// # Errors
    ///
    /// A failure that names the node and the addresses if none leads to `mpirun`.
    pub(crate) fn connect(&self) -> Result<TcpStream, Failure> {
        let (sender, receiver) = mpsc::channel();
        for address in self.addresses.clone() {
            let (home, sender) = (self.clone(), sender.clone());
            std::thread::spawn(move || {
                // Nobody listens any more once another address has led there.
                sender.send(home.connect_to(address)).ok();
            });
            if let Ok(Ok(stream)) = receiver.recv_timeout(HEAD_START) {
                return Ok(stream);
            }
        }
        drop(sender);
        receiver.into_iter().flatten().next().ok_or_else(|| {
            let addresses: Vec<String> = self.addresses.iter().map(ToString::to_string).collect();
            Failure::launch(format!(
                "agent on node {}: no address of mpirun's host leads to it ({}): is a firewall \
                 between the nodes?",
                self.node,
                addresses.join(", ")
            ))
        })
    }

    fn connect_to(&self, address: SocketAddr) -> std::io::Result<TcpStream> {
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let stranger = || std::io::Error::other("it is not mpirun");
        let mut first = [0; GREETING.len() + BLOCK];
        stream.read_exact(&mut first)?;
        let a = first.strip_prefix(GREETING).ok_or_else(stranger)?;
        let b: [u8; BLOCK] = random("a token").map_err(std::io::Error::other)?;
        stream.write_all(&answer(&self.token, a, &b, &self.node))?;
        let mut reply = [0; BLOCK];
        stream.read_exact(&mut reply)?;
        let nonces = [a, &b].concat();
        let is_proven = self
            .token
            .is_proven(Side::Mpirun, &nonces, &self.node, &reply);
        is_proven.then_some(stream).ok_or_else(stranger)
    }
}
