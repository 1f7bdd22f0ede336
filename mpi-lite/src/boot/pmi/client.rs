//! PMI, version 1.1: lines of `key=value` words, one request and one answer at a time.

use std::net::IpAddr;
use std::os::fd::BorrowedFd;

use super::fields::Fields;
use super::wire::Wire;
use crate::boot::BootError;
use crate::boot::managed::{Interface, mapping};

/// The longest value in bytes: a request has the names of the space and of the key, too.
const VALUE_MAX: usize = 700;

fn line(wire: &mut Wire) -> Result<String, BootError> {
    wire.receive(|bytes| {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        Some((end + 1, String::from_utf8_lossy(&bytes[..end]).into_owned()))
    })
}

/// Waits for the answer `expected`.
fn answer(wire: &mut Wire, expected: &str) -> Result<Fields, BootError> {
    let text = line(wire)?;
    let line = Fields::of(&text, ' ');
    if line.get("cmd") == Some(expected) {
        return Ok(line);
    }
    let shown = text.escape_debug();
    Err(wire.wrong(format!("answered '{shown}' where cmd={expected} is due")))
}

fn ask(wire: &mut Wire, request: &str, expected: &str) -> Result<Fields, BootError> {
    wire.send(&format!("{request}\n"))?;
    answer(wire, expected)
}

/// Introduces this process to a manager that has not passed it a socket. Returns rank and size.
pub(super) fn introduce(wire: &mut Wire, id: u32) -> Result<(u32, u32), BootError> {
    ask(wire, &format!("cmd=initack pmiid={id}"), "initack")?;
    let (mut rank, mut size) = (None, None);
    for _ in 0..3 {
        let set = answer(wire, "set")?;
        rank = set.number("rank").or(rank);
        size = set.number("size").or(size);
    }
    match (rank, size) {
        (Some(rank), Some(size)) => Ok((rank, size)),
        _ => Err(wire.wrong("gave no rank or no size")),
    }
}

/// Asks for this version. Returns false if the manager refuses it.
pub(super) fn begin(wire: &mut Wire) -> Result<bool, BootError> {
    let request = "cmd=init pmi_version=1 pmi_subversion=1";
    let answer = ask(wire, request, "response_to_init")?;
    Ok(answer.is_ok() && answer.number("pmi_version").is_none_or(|it: u32| it == 1))
}

/// A process manager that speaks this version.
#[derive(Debug)]
pub(super) struct One {
    wire: Wire,
    rank: u32,
    size: u32,
    appnum: Option<u32>,
    /// The name of the space for the job's values.
    space: String,
}

impl One {
    pub(super) fn new(mut wire: Wire, rank: u32, size: u32) -> Result<Self, BootError> {
        let appnum = ask(&mut wire, "cmd=get_appnum", "appnum")?.number("appnum");
        let named = ask(&mut wire, "cmd=get_my_kvsname", "my_kvsname")?;
        let Some(space) = named.get("kvsname") else {
            return Err(wire.wrong("gave no name for the job's values"));
        };
        Ok(Self {
            space: space.into(),
            wire,
            rank,
            size,
            appnum,
        })
    }

    /// The value of this key, if there is one.
    fn value(&mut self, key: &str) -> Result<Option<String>, BootError> {
        let request = format!("cmd=get kvsname={} key={key}", self.space);
        let answer = ask(&mut self.wire, &request, "get_result")?;
        Ok(answer
            .get("value")
            .filter(|_| answer.is_ok())
            .map(ToString::to_string))
    }
}

/// The key of a rank, among those of all.
pub(super) fn key_of(rank: u32, key: &str) -> String {
    format!("mpilite-{rank}-{key}")
}

impl Interface for One {
    fn name(&self) -> &'static str {
        self.wire.name
    }

    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn appnum(&self) -> Option<u32> {
        self.appnum
    }

    fn is_private(&self) -> bool {
        // Its brokers speak CurveZMQ to each other.
        self.wire.name == "Flux"
    }

    fn address(&self) -> Option<IpAddr> {
        self.wire.address()
    }

    fn value_max(&self) -> usize {
        VALUE_MAX
    }

    fn nodes(&mut self) -> Result<Option<Vec<u32>>, BootError> {
        let text = self.value("PMI_process_mapping")?;
        Ok(text.and_then(|text| mapping::nodes(&text, self.size)))
    }

    fn put(&mut self, key: &str, value: &str) -> Result<(), BootError> {
        let key = key_of(self.rank, key);
        let request = format!("cmd=put kvsname={} key={key} value={value}", self.space);
        let answer = ask(&mut self.wire, &request, "put_result")?;
        match answer.is_ok() {
            true => Ok(()),
            false => Err(self.wire.wrong(format!("refused the value of {key}"))),
        }
    }

    fn get(&mut self, rank: u32, key: &str) -> Result<Option<String>, BootError> {
        self.value(&key_of(rank, key))
    }

    fn enter_fence(&mut self) -> Result<(), BootError> {
        self.wire.send("cmd=barrier_in\n")
    }

    fn leave_fence(&mut self, watch: Option<BorrowedFd<'_>>) -> Result<bool, BootError> {
        if !self.wire.await_answer(watch)? {
            return Ok(false);
        }
        let answer = answer(&mut self.wire, "barrier_out")?;
        match answer.is_ok() {
            true => Ok(true),
            false => Err(self.wire.wrong("failed in a barrier")),
        }
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.wire.descriptor())
    }

    fn abort(&mut self, code: i32, line: &str) {
        let line: String = line.chars().filter(|c| !c.is_control()).take(200).collect();
        // Nobody answers, and a manager that is gone has ended the job already.
        let request = format!(
            "cmd=abort exitcode={code} message={}\n",
            line.replace(' ', "_")
        );
        let _ = self.wire.send(&request);
    }

    fn finalize(&mut self) -> Result<(), BootError> {
        match ask(&mut self.wire, "cmd=finalize", "finalize_ack") {
            // Some close the connection in the place of an answer.
            Ok(_) | Err(BootError::ManagerGone { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
