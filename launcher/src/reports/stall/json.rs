//! The report as JSON, for programs: one object, on one line.
//! `docs/stall-json.md` has the fields.

use mpi_boot::state::{
    EndsWith, HeldMessage, MessageKind, Operation, RankState, ThreadState, Wanted,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::analysis::{Finding, Reason};
use super::collectives::Form;
use super::facts::Facts;
use super::near::Difference;
use super::waits::{Nature, Wait, sorted};
use super::{Doing, Occasion, RankSeen, Snapshot, lines, words};
use crate::failure::printable;

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
            Doing::Answered(state) => self.add_state(rank, state, &mut object),
            _ => (),
        }
        object
    }

    fn add_state(&self, rank: u32, state: &'a RankState, object: &mut Value) {
        let threads = state.threads.iter().map(|thread| self.thread(rank, thread));
        let unexpected = state.unexpected.iter();
        let unexpected = unexpected.map(|held| self.held_message(rank, held));
        let awaited = state.awaited.iter();
        let awaited = awaited.map(|wanted| self.wanted_json(rank, "receive", wanted));
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
        let name = wait.id.map(|id| self.name(id));
        match wait.operation {
            Operation::Receive(wanted) => self.wanted_json(wait.rank, "receive", wanted),
            Operation::Probe(wanted) => self.wanted_json(wait.rank, "probe", wanted),
            Operation::Incoming(held) => {
                let mut object = self.held_message(wait.rank, held);
                object["kind"] = "incoming".into();
                object
            }
            Operation::Send {
                dest,
                tag,
                bytes,
                is_synchronous,
                kind,
                ..
            } => with_partitions(
                json!({
                    "kind": "send",
                    "communicator": name,
                    "dest": dest.world,
                    "tag": tag,
                    "bytes": bytes,
                    "synchronous": is_synchronous,
                }),
                *kind,
            ),
            Operation::Collective {
                name: called,
                root,
                number,
                is_blocking,
                ..
            } => json!({
                "kind": "collective",
                "communicator": name,
                "name": printable(called),
                "root": root,
                "number": number,
                "blocking": is_blocking,
            }),
            Operation::Job => json!({ "kind": "job" }),
            Operation::Other(what) => json!({ "kind": "other", "what": printable(what) }),
        }
    }

    fn wanted_json(&self, rank: u32, kind: &str, wanted: &Wanted) -> Value {
        let object = json!({
            "kind": kind,
            "communicator": self.name(self.id(rank, wanted.context)),
            "source": wanted.source.and_then(|source| source.world),
            "tag": wanted.tag,
            "room": wanted.room,
        });
        with_partitions(object, wanted.kind)
    }

    fn held_message(&self, rank: u32, held: &HeldMessage) -> Value {
        let object = json!({
            "communicator": self.name(self.id(rank, held.context)),
            "source": held.source.world,
            "tag": held.tag,
            "bytes": held.bytes,
            "collective": printable(&held.collective),
        });
        with_partitions(object, held.kind)
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
        let (kind, others) = match reason {
            Reason::Cycle(_) => ("cycle", Vec::new()),
            Reason::Near(_, (near, _)) => ("near_match", Vec::from_iter(near.source.world)),
            Reason::Mixed(_) => ("different_collectives", Vec::new()),
            Reason::OtherCollective(_, held) => {
                ("other_collective", Vec::from_iter(held.source.world))
            }
            Reason::End(_, ends, _) => ("end", ends.clone()),
            Reason::AnySource(..) => ("any_source", Vec::new()),
            Reason::OnItsWay(_) => ("on_its_way", Vec::new()),
            Reason::NotFound => ("not_found", Vec::new()),
        };
        let waits = reason.waits();
        let ranks = sorted(waits.iter().map(|wait| wait.rank).chain(others));
        let waits = waits.iter().map(|wait| {
            json!({
                "rank": wait.rank,
                "call": printable(&wait.thread.call),
                "operation": self.facts.operation_json(*wait),
            })
        });
        let mut object = json!({
            "kind": kind,
            "ranks": ranks,
            "waits": waits.collect::<Vec<_>>(),
            "sentence": self.sentence(reason),
        });
        match reason {
            Reason::Near(_, (near, difference)) => {
                object["message"] = json!({
                    "source": near.source.world,
                    "tag": near.tag,
                    "communicator": self.facts.name(near.communicator),
                    "bytes": near.bytes,
                    "difference": match difference {
                        Difference::Tag => "tag",
                        Difference::Communicator => "communicator",
                        Difference::Room => "room",
                        Difference::Kind => "partitioned",
                    },
                });
            }
            Reason::Mixed(mixed) => {
                object["communicator"] = self.facts.name(mixed.communicator).into();
            }
            Reason::End(nature, ranks, _) | Reason::AnySource(_, Some((nature, ranks))) => {
                object["ends"] = json!(ranks);
                object["doing"] = nature.words().0.into();
            }
            _ => (),
        }
        object
    }
}

/// Adds the partitions of a partitioned message, send or receive.
fn with_partitions(mut object: Value, kind: MessageKind) -> Value {
    if let MessageKind::Partitioned(partitions) = kind {
        object["partitions"] = json!({ "ready": partitions.ready, "all": partitions.all });
    }
    object
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
