//! A client of PMI, version 1.1 or 2: one request and one answer at a time.
//!
//! Version 1 has lines `cmd=NAME key=value ...`, version 2 frames `cmd=NAME;key=value;...`, behind
//! six digits that count their bytes. What begins a conversation is a line in any case.

use std::net::IpAddr;
use std::os::fd::BorrowedFd;

use super::fields::Fields;
use super::wire::Wire;
use crate::boot::BootError;
use crate::boot::managed::{Interface, mapping};

/// The longest value in bytes: a request has the names of the space and of the key, too.
const VALUE_MAX: usize = 700;

/// Digits in front of a frame; some managers have blanks in the place of zeros, on either side.
const DIGITS: usize = 6;

/// The version that a conversation has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// A command of version 1, that of its answer, and the command of version 2.
type Command = (&'static str, &'static str, &'static str);

const GET: Command = ("get", "get_result", "kvs-get");
const PUT: Command = ("put", "put_result", "kvs-put");
const FENCE: Command = ("barrier_in", "barrier_out", "kvs-fence");
const FINALIZE: Command = ("finalize", "finalize_ack", "finalize");
const ATTRIBUTE: Command = ("", "", "info-getjobattr");

impl Version {
    /// Sends a request.
    fn send(
        self,
        wire: &mut Wire,
        command: &str,
        fields: &[(&str, &str)],
    ) -> Result<(), BootError> {
        let separator = if self == Self::One { ' ' } else { ';' };
        let mut text = format!("cmd={command}");
        for (key, value) in fields {
            text += &format!("{separator}{key}={value}");
        }
        wire.send(&match self {
            Self::One => text + "\n",
            Self::Two => format!("{:DIGITS$}{text};", text.len() + 1),
        })
    }

    /// Waits for the answer `expected`.
    fn answer(self, wire: &mut Wire, expected: &str) -> Result<Fields, BootError> {
        let (text, separator) = match self {
            Self::One => (line(wire)?, ' '),
            Self::Two => (frame(wire)?, ';'),
        };
        let fields = Fields::of(&text, separator);
        if fields.get("cmd") == Some(expected) {
            return Ok(fields);
        }
        let shown = text.escape_debug();
        Err(wire.wrong(format!("answered '{shown}' where cmd={expected} is due")))
    }
}

fn line(wire: &mut Wire) -> Result<String, BootError> {
    wire.receive(|bytes| {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        Some((end + 1, String::from_utf8_lossy(&bytes[..end]).into_owned()))
    })
}

fn frame(wire: &mut Wire) -> Result<String, BootError> {
    let taken = wire.receive(|bytes| {
        let (digits, rest) = bytes.split_at_checked(DIGITS)?;
        let length = str::from_utf8(digits).ok()?.trim().parse::<usize>();
        match length {
            Err(_) => Some((bytes.len(), Err(digits.to_vec()))),
            Ok(length) => {
                let body = rest.get(..length)?;
                let text = String::from_utf8_lossy(body).into_owned();
                Some((DIGITS + length, Ok(text)))
            }
        }
    })?;
    taken.map_err(|digits| {
        let shown = String::from_utf8_lossy(&digits).escape_debug().to_string();
        wire.wrong(format!("sent '{shown}' where a frame of PMI 2 is due"))
    })
}

fn ask_one(
    wire: &mut Wire,
    command: &str,
    fields: &[(&str, &str)],
    expected: &str,
) -> Result<Fields, BootError> {
    Version::One.send(wire, command, fields)?;
    Version::One.answer(wire, expected)
}

/// Introduces this process to a manager that has not passed it a socket. Returns rank and size.
pub(super) fn introduce(wire: &mut Wire, id: u32) -> Result<(u32, u32), BootError> {
    ask_one(wire, "initack", &[("pmiid", &id.to_string())], "initack")?;
    let (mut rank, mut size) = (None, None);
    for _ in 0..3 {
        let set = Version::One.answer(wire, "set")?;
        rank = set.number("rank").or(rank);
        size = set.number("size").or(size);
    }
    match (rank, size) {
        (Some(rank), Some(size)) => Ok((rank, size)),
        _ => Err(wire.wrong("gave no rank or no size")),
    }
}

/// Asks for version 1. Returns false if the manager refuses it.
pub(super) fn begin(wire: &mut Wire) -> Result<bool, BootError> {
    let version = [("pmi_version", "1"), ("pmi_subversion", "1")];
    let answer = ask_one(wire, "init", &version, "response_to_init")?;
    Ok(answer.is_ok() && answer.number("pmi_version").is_none_or(|it: u32| it == 1))
}

/// A process manager that speaks one of the versions.
#[derive(Debug)]
pub(super) struct Client {
    wire: Wire,
    version: Version,
    rank: u32,
    size: u32,
    appnum: Option<u32>,
    /// The name of the space for the job's values, in version 2 that of the job.
    space: String,
}

impl Client {
    /// Goes on in version 1, with which the conversation has begun.
    pub(super) fn one(mut wire: Wire, rank: u32, size: u32) -> Result<Self, BootError> {
        let appnum = ask_one(&mut wire, "get_appnum", &[], "appnum")?.number("appnum");
        let named = ask_one(&mut wire, "get_my_kvsname", &[], "my_kvsname")?;
        let Some(space) = named.get("kvsname") else {
            return Err(wire.wrong("gave no name for the job's values"));
        };
        Ok(Self {
            space: space.into(),
            wire,
            version: Version::One,
            rank,
            size,
            appnum,
        })
    }

    /// Begins in version 2. `job` is the value of `PMI_JOBID`.
    pub(super) fn two(mut wire: Wire, rank: u32, job: &str) -> Result<Self, BootError> {
        let version = [("pmi_version", "2"), ("pmi_subversion", "0")];
        Version::One.send(&mut wire, "init", &version)?;
        let text = line(&mut wire)?;
        if !text.split(' ').any(|word| word == "rc=0") {
            return Err(wire.wrong(format!(
                "speaks neither PMI 1 nor PMI 2: it answered '{}'",
                text.escape_debug()
            )));
        }
        let mut two = Self {
            wire,
            version: Version::Two,
            rank,
            size: 0,
            appnum: None,
            space: job.into(),
        };
        let who = [
            ("pmijobid", job),
            ("pmirank", &rank.to_string()),
            ("threaded", "FALSE"),
        ];
        let who = two.demand(("", "", "fullinit"), &who)?;
        two.rank = who.number("rank").unwrap_or(rank);
        two.appnum = who.number("appnum");
        let Some(size) = who.number("size") else {
            return Err(two.wire.wrong("gave no size"));
        };
        two.size = size;
        Ok(two)
    }

    fn send(&mut self, command: Command, fields: &[(&str, &str)]) -> Result<(), BootError> {
        let name = self.name_of(command);
        self.version.send(&mut self.wire, name, fields)
    }

    fn name_of(&self, (one, _, two): Command) -> &'static str {
        match self.version {
            Version::One => one,
            Version::Two => two,
        }
    }

    fn answer(&mut self, (_, answer, two): Command) -> Result<Fields, BootError> {
        match self.version {
            Version::One => Version::One.answer(&mut self.wire, answer),
            Version::Two => Version::Two.answer(&mut self.wire, &format!("{two}-response")),
        }
    }

    /// Asks for what the manager may refuse.
    fn demand(&mut self, command: Command, fields: &[(&str, &str)]) -> Result<Fields, BootError> {
        self.send(command, fields)?;
        let answer = self.answer(command)?;
        if answer.is_ok() {
            return Ok(answer);
        }
        let why = answer.get("errmsg").or(answer.get("msg"));
        let why = why.unwrap_or("no reason").escape_debug();
        let name = self.name_of(command);
        Err(self.wire.wrong(format!("refused 'cmd={name}': {why}")))
    }

    /// The value that is asked for, if the answer says that there is one.
    fn value(
        &mut self,
        command: Command,
        fields: &[(&str, &str)],
    ) -> Result<Option<String>, BootError> {
        self.send(command, fields)?;
        let answer = self.answer(command)?;
        let found = answer.get("found");
        let is_found = found.is_none_or(|it| it.eq_ignore_ascii_case("true")) && answer.is_ok();
        let value = answer.get("value").filter(|_| is_found);
        Ok(value.map(ToString::to_string))
    }

    /// The value of a key among those of all ranks.
    fn get(&mut self, key: &str) -> Result<Option<String>, BootError> {
        let space = self.space.clone();
        match self.version {
            Version::One => self.value(GET, &[("kvsname", &space), ("key", key)]),
            Version::Two => self.value(GET, &[("jobid", &space), ("srcid", "-1"), ("key", key)]),
        }
    }
}

/// The key of a rank, among those of all.
fn key_of(rank: u32, key: &str) -> String {
    format!("mpilite-{rank}-{key}")
}

impl Interface for Client {
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
        // Its brokers, which speak version 1, speak CurveZMQ to each other.
        self.wire.name == "Flux" && self.version == Version::One
    }

    fn address(&self) -> Option<IpAddr> {
        self.wire.address()
    }

    fn value_max(&self) -> usize {
        VALUE_MAX
    }

    fn nodes(&mut self) -> Result<Option<Vec<u32>>, BootError> {
        let key = "PMI_process_mapping";
        let text = match self.version {
            Version::One => self.get(key)?,
            Version::Two => self.value(ATTRIBUTE, &[("key", key)])?,
        };
        Ok(text.and_then(|text| mapping::nodes(&text, self.size)))
    }

    fn put(&mut self, key: &str, value: &str) -> Result<(), BootError> {
        let (space, key) = (self.space.clone(), key_of(self.rank, key));
        let fields = [("kvsname", &*space), ("key", &*key), ("value", value)];
        // Version 2 names no space.
        let first = usize::from(self.version == Version::Two);
        self.demand(PUT, &fields[first..]).map(drop)
    }

    fn get(&mut self, rank: u32, key: &str) -> Result<Option<String>, BootError> {
        Client::get(self, &key_of(rank, key))
    }

    fn enter_fence(&mut self) -> Result<(), BootError> {
        self.send(FENCE, &[])
    }

    fn leave_fence(&mut self, watch: Option<BorrowedFd<'_>>) -> Result<bool, BootError> {
        if !self.wire.await_answer(watch)? {
            return Ok(false);
        }
        let answer = self.answer(FENCE)?;
        match answer.is_ok() {
            true => Ok(true),
            false => Err(self.wire.wrong("failed in a fence")),
        }
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.wire.descriptor())
    }

    fn abort(&mut self, code: i32, line: &str) {
        let line: String = line.chars().filter(|c| !c.is_control()).take(200).collect();
        let (code, wire) = (code.to_string(), &mut self.wire);
        // Nobody answers, and a manager that is gone has ended the job already.
        let _ = match self.version {
            Version::One => {
                let fields = [("exitcode", &*code), ("message", &line.replace(' ', "_"))];
                Version::One.send(wire, "abort", &fields)
            }
            Version::Two => {
                let fields = [("isworld", "TRUE"), ("msg", &line.replace([';', '='], ""))];
                Version::Two.send(wire, "abort", &fields)
            }
        };
    }

    fn finalize(&mut self) -> Result<(), BootError> {
        match self.demand(FINALIZE, &[]) {
            // Some close the connection in the place of an answer.
            Ok(_) | Err(BootError::ManagerGone { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
