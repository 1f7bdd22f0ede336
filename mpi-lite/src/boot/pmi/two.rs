//! PMI, version 2: frames of `key=value;` fields, behind six digits that count their bytes.

use std::net::IpAddr;
use std::os::fd::BorrowedFd;

use super::fields::Fields;
use super::one::key_of;
use super::wire::{Wire, command};
use crate::boot::BootError;
use crate::boot::managed::{Interface, mapping};

/// The longest value in bytes.
const VALUE_MAX: usize = 700;

/// Digits in front of a frame; some managers have blanks in the place of zeros, on either side.
const DIGITS: usize = 6;

/// The value of an answer, if it says that there is one.
fn value(answer: &Fields) -> Option<String> {
    let is_found = answer
        .get("found")
        .is_none_or(|it| it.eq_ignore_ascii_case("true"));
    answer
        .get("value")
        .filter(|_| is_found && answer.is_ok())
        .map(ToString::to_string)
}

fn frame(body: &str) -> String {
    format!("{:6}{body}", body.len())
}

fn answer(wire: &mut Wire, expected: &str) -> Result<Fields, BootError> {
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
    let text = taken.map_err(|digits| {
        let shown = String::from_utf8_lossy(&digits).escape_debug().to_string();
        wire.wrong(format!("sent '{shown}' where a frame of PMI 2 is due"))
    })?;
    let fields = Fields::of(&text, ';');
    if fields.get("cmd") == Some(expected) {
        return Ok(fields);
    }
    let shown = text.escape_debug();
    Err(wire.wrong(format!("answered '{shown}' where cmd={expected} is due")))
}

/// A process manager that speaks this version.
#[derive(Debug)]
pub(super) struct Two {
    wire: Wire,
    rank: u32,
    size: u32,
    appnum: Option<u32>,
    job: String,
}

impl Two {
    /// `job` is the value of `PMI_JOBID`.
    pub(super) fn new(mut wire: Wire, rank: u32, job: &str) -> Result<Self, BootError> {
        wire.send("cmd=init pmi_version=2 pmi_subversion=0\n")?;
        let text = wire.receive(|bytes| {
            let end = bytes.iter().position(|byte| *byte == b'\n')?;
            Some((end + 1, String::from_utf8_lossy(&bytes[..end]).into_owned()))
        })?;
        if !text.split(' ').any(|word| word == "rc=0") {
            return Err(wire.wrong(format!(
                "speaks neither PMI 1 nor PMI 2: it answered '{}'",
                text.escape_debug()
            )));
        }
        let mut two = Self {
            wire,
            rank,
            size: 0,
            appnum: None,
            job: job.into(),
        };
        let request = format!("cmd=fullinit;pmijobid={job};pmirank={rank};threaded=FALSE;");
        let who = two.ask(&request, "fullinit-response")?;
        two.rank = who.number("rank").unwrap_or(rank);
        two.appnum = who.number("appnum");
        let Some(size) = who.number("size") else {
            return Err(two.wire.wrong("gave no size"));
        };
        two.size = size;
        Ok(two)
    }

    fn ask(&mut self, body: &str, expected: &str) -> Result<Fields, BootError> {
        self.wire.send(&frame(body))?;
        let answer = answer(&mut self.wire, expected)?;
        match answer.is_ok() {
            true => Ok(answer),
            false => {
                let why = answer.get("errmsg").unwrap_or("no reason").to_string();
                let (command, why) = (command(body), why.escape_debug());
                Err(self.wire.wrong(format!("refused '{command}': {why}")))
            }
        }
    }
}

impl Interface for Two {
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
        false
    }

    fn address(&self) -> Option<IpAddr> {
        self.wire.address()
    }

    fn value_max(&self) -> usize {
        VALUE_MAX
    }

    fn nodes(&mut self) -> Result<Option<Vec<u32>>, BootError> {
        let request = "cmd=info-getjobattr;key=PMI_process_mapping;";
        self.wire.send(&frame(request))?;
        let answer = answer(&mut self.wire, "info-getjobattr-response")?;
        Ok(value(&answer).and_then(|it| mapping::nodes(&it, self.size)))
    }

    fn put(&mut self, key: &str, value: &str) -> Result<(), BootError> {
        let key = key_of(self.rank, key);
        let request = format!("cmd=kvs-put;key={key};value={value};");
        self.ask(&request, "kvs-put-response").map(drop)
    }

    fn get(&mut self, rank: u32, key: &str) -> Result<Option<String>, BootError> {
        let (job, key) = (&self.job, key_of(rank, key));
        let request = format!("cmd=kvs-get;jobid={job};srcid=-1;key={key};");
        self.wire.send(&frame(&request))?;
        let answer = answer(&mut self.wire, "kvs-get-response")?;
        Ok(value(&answer))
    }

    fn enter_fence(&mut self) -> Result<(), BootError> {
        self.wire.send(&frame("cmd=kvs-fence;"))
    }

    fn leave_fence(&mut self, watch: Option<BorrowedFd<'_>>) -> Result<bool, BootError> {
        if !self.wire.await_answer(watch)? {
            return Ok(false);
        }
        let answer = answer(&mut self.wire, "kvs-fence-response")?;
        match answer.is_ok() {
            true => Ok(true),
            false => Err(self.wire.wrong("failed in a fence")),
        }
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.wire.descriptor())
    }

    fn abort(&mut self, _code: i32, line: &str) {
        let is_plain = |c: &char| !c.is_control() && *c != ';' && *c != '=';
        let line: String = line.chars().filter(is_plain).take(200).collect();
        // Nobody answers, and a manager that is gone has ended the job already.
        let _ = self
            .wire
            .send(&frame(&format!("cmd=abort;isworld=TRUE;msg={line};")));
    }

    fn finalize(&mut self) -> Result<(), BootError> {
        match self.ask("cmd=finalize;", "finalize-response") {
            Ok(_) | Err(BootError::ManagerGone { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
