//! The report as JSON, for programs: one object, on one line.
//! `docs/stall-json.md` has the fields.

use mpi_boot::state::{
    Address, COMMUNICATORS_MAX, EndsWith, HeldMessage, LISTED_MAX, MessageKind, Operation,
    RankState, ThreadState, Wanted,
};
use serde_json::{Value, json};

use super::analysis::{Finding, Reason};
use super::collectives::{Form, Meeting};
use super::near::Difference;
use super::waits::{Nature, Wait, left_out, operations, threads};
use super::{Doing, Occasion, RankSeen, Snapshot, lines, words};
use crate::failure::printable;

pub(super) fn text(snapshot: &Snapshot) -> String {
    let finding = Finding::new(snapshot);
    let ranks = (0..).zip(&snapshot.ranks);
    let ranks: Vec<Value> = ranks.map(|(rank, seen)| finding.json(rank, seen)).collect();
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

impl Finding<'_> {
    fn json(&self, rank: u32, seen: &RankSeen) -> Value {
        let mut object = json!({
            "rank": rank,
            "host": printable(&seen.host),
            "pid": seen.pid,
            "doing": doing(Nature::of(seen)),
        });
        match &seen.doing {
            Doing::Silent(process) => {
                object["process"] = json!({
                    "state": printable(&process.state.to_string()),
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

    fn add_state(&self, rank: u32, state: &RankState, object: &mut Value) {
        let listed = threads(state);
        let more = (state.threads.len() - listed.len()) as u64;
        let threads = listed.iter().map(|thread| self.thread(rank, thread));
        let unexpected = state.unexpected.iter().take(LISTED_MAX);
        let unexpected = unexpected.map(|held| self.held_message(rank, held));
        let communicators = state.communicators.iter().take(COMMUNICATORS_MAX);
        let communicators = communicators.map(|described| {
            json!({
                "context": described.context,
                "name": printable(&described.name),
                "made": printable(&described.made),
                "size": described.size,
                "first": described.first,
                "begun": described.begun,
                "begun_nonblocking": described.begun_nonblocking,
            })
        });
        object["last_call"] = printable(&state.last_call).into();
        object["threads"] = threads.collect();
        object["threads_left_out"] = (u64::from(state.threads_left_out) + more).into();
        object["unexpected"] = unexpected.collect();
        object["unexpected_left_out"] = state.unexpected_left_out.into();
        let awaited = state.awaited.iter().take(LISTED_MAX);
        let awaited = awaited.map(|wanted| self.wanted_json(rank, "receive", wanted));
        object["awaited"] = awaited.collect();
        object["communicators"] = communicators.collect();
    }

    fn collectives(&self) -> Vec<Value> {
        let mut meetings: Vec<(&Meeting, &Vec<u32>)> = self.missing.iter().collect();
        meetings.sort();
        let collectives = meetings.into_iter().map(|(meeting, missing)| {
            json!({
                "communicator": self.name(meeting.communicator),
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

    fn thread(&self, rank: u32, thread: &ThreadState) -> Value {
        let waits = operations(thread).iter().map(|operation| Wait {
            rank,
            thread,
            operation,
        });
        let arguments = thread.arguments.iter().map(|words| printable(words));
        json!({
            "call": printable(&thread.call),
            "arguments": arguments.collect::<Vec<_>>(),
            "blocked_seconds": seconds(thread.blocked_ms),
            "ends_with": match thread.ends_with {
                EndsWith::All => "all",
                EndsWith::Any => "any",
            },
            "operations": waits.map(|wait| self.operation_json(wait)).collect::<Vec<_>>(),
            "operations_left_out": left_out(thread),
            "at": words::at(thread),
            "frames": thread.frames.iter().map(frame).collect::<Vec<_>>(),
        })
    }

    fn operation_json(&self, wait: Wait<'_>) -> Value {
        let name = |context| self.name(self.communicators.id(wait.rank, context));
        match wait.operation {
            Operation::Receive(wanted) => self.wanted_json(wait.rank, "receive", wanted),
            Operation::Probe(wanted) => self.wanted_json(wait.rank, "probe", wanted),
            Operation::Incoming(held) => {
                let mut object = self.held_message(wait.rank, held);
                object["kind"] = "incoming".into();
                object
            }
            Operation::Send {
                context,
                dest,
                tag,
                bytes,
                is_synchronous,
                kind,
            } => with_partitions(
                json!({
                    "kind": "send",
                    "communicator": name(*context),
                    "dest": dest.world,
                    "tag": tag,
                    "bytes": bytes,
                    "synchronous": is_synchronous,
                }),
                *kind,
            ),
            Operation::Collective {
                context,
                name: called,
                root,
                number,
                is_blocking,
            } => json!({
                "kind": "collective",
                "communicator": name(*context),
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
            "communicator": self.name(self.communicators.id(rank, wanted.context)),
            "source": wanted.source.and_then(|source| source.world),
            "tag": wanted.tag,
            "room": wanted.room,
        });
        with_partitions(object, wanted.kind)
    }

    fn held_message(&self, rank: u32, held: &HeldMessage) -> Value {
        let object = json!({
            "communicator": self.name(self.communicators.id(rank, held.context)),
            "source": held.source.world,
            "tag": held.tag,
            "bytes": held.bytes,
            "collective": printable(&held.collective),
        });
        with_partitions(object, held.kind)
    }

    fn reason(&self, reason: &Reason<'_>) -> Value {
        let waits = reason.waits();
        let (kind, others) = match reason {
            Reason::Cycle(_) => ("cycle", Vec::new()),
            Reason::Near(_, near) => ("near_match", Vec::from_iter(near.source.world)),
            Reason::Mixed(_) => ("different_collectives", Vec::new()),
            Reason::OtherCollective(_, held) => {
                ("other_collective", Vec::from_iter(held.source.world))
            }
            Reason::End(_, ends, _) => ("end", ends.clone()),
            Reason::AnySource(..) => ("any_source", Vec::new()),
            Reason::OnItsWay(_) => ("on_its_way", Vec::new()),
            Reason::NotFound => ("not_found", Vec::new()),
        };
        let mut ranks: Vec<u32> = waits.iter().map(|wait| wait.rank).chain(others).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let waits = waits.iter().map(|wait| {
            json!({
                "rank": wait.rank,
                "call": printable(&wait.thread.call),
                "operation": self.operation_json(*wait),
            })
        });
        let mut object = json!({
            "kind": kind,
            "ranks": ranks,
            "waits": waits.collect::<Vec<_>>(),
            "sentence": self.sentence(reason),
        });
        match reason {
            Reason::Near(_, near) => {
                object["message"] = json!({
                    "source": near.source.world,
                    "tag": near.tag,
                    "communicator": self.name(near.communicator),
                    "bytes": near.bytes,
                    "difference": match near.difference {
                        Difference::Tag => "tag",
                        Difference::Communicator => "communicator",
                        Difference::Room => "room",
                        Difference::Kind => "partitioned",
                    },
                });
            }
            Reason::Mixed(mixed) => {
                object["communicator"] = self.name(mixed.communicator).into();
            }
            Reason::End(nature, ranks, _) | Reason::AnySource(_, Some((nature, ranks))) => {
                object["ends"] = json!(ranks);
                object["doing"] = doing(*nature).into();
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

fn frame(address: &Address) -> Value {
    json!({
        "module": printable(&address.module),
        "offset": address.offset,
        "function": printable(&address.function),
        "into_function": address.into_function,
        "line": printable(&address.line),
    })
}

fn doing(nature: Nature) -> &'static str {
    match nature {
        Nature::Waits => "waits",
        Nature::InFinalize => "in_finalize",
        Nature::Finalized => "finalized",
        Nature::Ended => "ended",
        Nature::BeforeInit => "before_init",
        Nature::OtherMpi => "other_mpi",
        Nature::Computes => "computes",
        Nature::ComputesBeside => "computes_beside",
        Nature::Stopped(_) => "stopped",
        Nature::Runs => "runs",
        Nature::Silent => "silent",
        Nature::Unknown => "unknown",
    }
}

fn seconds(ms: u64) -> f64 {
    std::time::Duration::from_millis(ms).as_secs_f64()
}
