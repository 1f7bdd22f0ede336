//! The report as JSON, for programs: one object, on one line.
//! `docs/stall-json.md` has the fields.

use mpi_boot::state::{EndsWith, HeldMessage, MessageKind, Operation, RankState, ThreadState};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::analysis::{Finding, Reason};
use super::collectives::Form;
use super::facts::Facts;
use super::near::Difference;
use super::waits::{Mail, Nature, Wait, sorted};
use super::{Doing, Occasion, RankSeen, Snapshot, lines, words};
use crate::failure::printable;

/// The names of the fields for the other side and the bytes.
const RECEIVE: [&str; 2] = ["source", "room"];
const MESSAGE: [&str; 2] = ["source", "bytes"];
const SEND: [&str; 2] = ["dest", "bytes"];

pub(super) fn text(snapshot: &Snapshot) -> String {
    let finding = Finding::new(snapshot);
    let facts = &finding.facts;
    let ranks = (0..).zip(&snapshot.ranks);
    let ranks: Vec<Value> = ranks.map(|(rank, seen)| facts.json(rank, seen)).collect();
    let groups = lines::groups(&finding).into_iter();
    let groups: Vec<Value> = groups
        .map(|group| json!({ "ranks": group.ranks, "lines": group.lines() }))
        .collect();
    let reasons = finding.reasons.iter();
    let reasons: Vec<Value> = reasons.map(|reason| finding.reason(reason)).collect();
    let (occasion, seconds) = match snapshot.occasion {
        Occasion::Stall { seconds } => ("stall", Some(seconds)),
        Occasion::Asked => ("asked", None),
        Occasion::Timeout => ("timeout", None),
    };
    let mut object = json!({
        "occasion": occasion,
        "ranks": ranks,
        "collectives": finding.collectives(),
        "groups": groups,
        "reasons": reasons,
    });
    if let Some(seconds) = seconds {
        object["seconds"] = seconds.into();
    }
    object.to_string()
}

impl<'a> Facts<'a> {
    fn json(&self, rank: u32, seen: &'a RankSeen) -> Value {
        let mut object = json!({
            "rank": rank,
            "host": printable(&seen.host),
            "pid": seen.pid,
            "doing": Nature::of(seen).words().0,
        });
        match &seen.doing {
            Doing::Silent(process) => {
                object["process"] = json!({
                    "state": words::shown(process.state),
                    "stopped_seconds": process.stopped_ms.map(seconds),
                    "used_ms": process.used_ms,
                    "waited_ms": process.waited_ms,
                });
            }
            Doing::State(state) => self.add_state(rank, state, &mut object),
            _ => (),
        }
        object
    }

    fn add_state(&self, rank: u32, state: &'a RankState, object: &mut Value) {
        let threads = state.threads.iter().map(|thread| self.thread(rank, thread));
        let unexpected = state.unexpected.iter();
        let unexpected = unexpected.map(|held| self.held_message(rank, held));
        let awaited = state.awaited.iter();
        let awaited = awaited.map(|wanted| {
            let id = self.id(rank, wanted.context);
            let mut object = self.mail(Mail::wanted(id, wanted), RECEIVE);
            object["kind"] = "receive".into();
            object
        });
        let communicators = state.communicators.iter().map(|described| {
            let mut object = fields(described);
            object.remove("members");
            Value::from(object)
        });
        object["last_call"] = printable(&state.last_call).into();
        object["threads"] = threads.collect();
        object["threads_left_out"] = state.threads_left_out.into();
        object["unexpected"] = unexpected.collect();
        object["unexpected_left_out"] = state.unexpected_left_out.into();
        object["awaited"] = awaited.collect();
        object["communicators"] = communicators.collect();
    }

    fn thread(&self, rank: u32, thread: &'a ThreadState) -> Value {
        let operations = self.of_thread(rank, thread);
        let arguments = thread.arguments.iter().map(|words| printable(words));
        json!({
            "call": printable(&thread.call),
            "arguments": arguments.collect::<Vec<_>>(),
            "blocked_seconds": seconds(thread.blocked_ms),
            "ends_with": match thread.ends_with {
                EndsWith::All => "all",
                EndsWith::Any => "any",
            },
            "operations": operations.map(|it| self.operation_json(it)).collect::<Vec<_>>(),
            "operations_left_out": thread.left_out,
            "at": words::at(thread),
            "frames": thread.frames.iter().map(fields).collect::<Vec<_>>(),
        })
    }

    fn operation_json(&self, wait: Wait<'_>) -> Value {
        let mail = |names| wait.mail().map_or(Value::Null, |it| self.mail(it, names));
        let (kind, mut object) = match wait.operation {
            Operation::Receive(_) => ("receive", mail(RECEIVE)),
            Operation::Probe(_) => ("probe", mail(RECEIVE)),
            Operation::Incoming(held) => ("incoming", self.held_message(wait.rank, held)),
            Operation::Send { is_synchronous, .. } => {
                let mut object = mail(SEND);
                object["synchronous"] = json!(is_synchronous);
                ("send", object)
            }
            Operation::Collective {
                name,
                root,
                number,
                is_blocking,
                ..
            } => {
                let object = json!({
                    "communicator": wait.id.map(|id| self.name(id)),
                    "name": printable(name),
                    "root": root,
                    "number": number,
                    "blocking": is_blocking,
                });
                ("collective", object)
            }
            Operation::Job => ("job", json!({})),
            Operation::Other(what) => ("other", json!({ "what": printable(what) })),
        };
        object["kind"] = kind.into();
        object
    }

    fn held_message(&self, rank: u32, held: &HeldMessage) -> Value {
        let mut object = self.mail(Mail::held(self.id(rank, held.context), held), MESSAGE);
        object["collective"] = printable(&held.collective).into();
        object
    }

    /// The fields of a message or a receive, with these names for the other side and the bytes.
    fn mail(&self, mail: Mail, [peer, bytes]: [&str; 2]) -> Value {
        let mut object = json!({
            "communicator": self.name(mail.id),
            peer: mail.world(),
            "tag": mail.tag,
            bytes: mail.bytes,
        });
        if let MessageKind::Partitioned(partitions) = mail.kind {
            object["partitions"] = json!(partitions);
        }
        object
    }
}

impl Finding<'_> {
    fn collectives(&self) -> Vec<Value> {
        let collectives = self.missing.iter().map(|(meeting, missing)| {
            json!({
                "communicator": self.facts.name(meeting.communicator),
                "context": meeting.communicator.context,
                "form": match meeting.form {
                    Form::Blocking => "blocking",
                    Form::Nonblocking => "nonblocking",
                    Form::Persistent(..) => "persistent",
                },
                "number": meeting.number,
                "missing": missing,
            })
        });
        collectives.collect()
    }

    fn reason(&self, reason: &Reason<'_>) -> Value {
        let mut others = Vec::new();
        let mut object = json!({ "sentence": self.sentence(reason) });
        let kind = match reason {
            Reason::Cycle(_) => "cycle",
            Reason::Near(_, (near, difference)) => {
                others.extend(near.mail.world());
                object["message"] = json!({
                    "source": near.mail.world(),
                    "tag": near.mail.tag,
                    "communicator": self.facts.name(near.mail.id),
                    "bytes": near.mail.bytes,
                    "difference": match difference {
                        Difference::Tag => "tag",
                        Difference::Communicator => "communicator",
                        Difference::Room => "room",
                        Difference::Kind => "partitioned",
                    },
                });
                "near_match"
            }
            Reason::Mixed(mixed) => {
                object["communicator"] = self.facts.name(mixed.communicator).into();
                "different_collectives"
            }
            Reason::OtherCollective(_, held) => {
                others.extend(held.source.world);
                "other_collective"
            }
            Reason::End(_, ends, _) => {
                others.extend(ends);
                "end"
            }
            Reason::AnySource(..) => "any_source",
            Reason::OnItsWay(_) => "on_its_way",
            Reason::NotFound => "not_found",
        };
        if let Reason::End(nature, ends, _) | Reason::AnySource(_, Some((nature, ends))) = reason {
            object["ends"] = json!(ends);
            object["doing"] = nature.words().0.into();
        }
        let waits = reason.waits();
        let ranks = sorted(waits.iter().map(|wait| wait.rank).chain(others));
        let waits = waits.iter().map(|wait| {
            json!({
                "rank": wait.rank,
                "call": printable(&wait.thread.call),
                "operation": self.facts.operation_json(*wait),
            })
        });
        object["kind"] = kind.into();
        object["ranks"] = ranks.into();
        object["waits"] = waits.collect();
        object
    }
}

/// The fields of a structure, its words printable.
fn fields(structure: impl Serialize) -> Map<String, Value> {
    let mut fields = match serde_json::to_value(structure) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    for value in fields.values_mut() {
        if let Value::String(text) = value {
            *text = printable(text);
        }
    }
    fields
}

fn seconds(ms: u64) -> f64 {
    std::time::Duration::from_millis(ms).as_secs_f64()
}
