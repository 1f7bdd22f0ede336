//! The program around the library, for the report of a job that hangs:
//! docs/decisions/0051-who-waits.md.

use std::sync::Arc;

use mpi_lite::boot::state::{CommunicatorState, FailedCall, Operation, Peer, ThreadState};
use mpi_lite::engine::Program;
use mpi_lite::ids::Context;

use crate::abi;
use crate::calls::record;
use crate::chapters;
use crate::global::LIBRARY;
use crate::objects::comm::{self, CommObject};
use crate::objects::file::FileObject;
use crate::objects::win::WinObject;
use crate::python;
use crate::registry::Registered;
use crate::stack;
use crate::symbol::shows_arguments;

/// The program that is linked with this library.
#[derive(Debug)]
pub struct Caller;

impl Program for Caller {
    fn describe_call(&self, thread: &mut ThreadState) {
        let callers = stack::callers();
        let running = callers.running.as_ref();
        let kept =
            running.and_then(|it| record::arguments(it, |name| Some(chapters::entry(name)?.show)));
        // Without exported names, in a static library, what was entered last is the best guess.
        let last = || LIBRARY.last().called().map(|symbol| symbol.name.to_owned());
        if let Some(call) = running.map(|running| running.name.clone()).or_else(last) {
            thread.call = call;
        }
        let kept = kept.iter().flat_map(|line| line[1..].split(", "));
        let kept = kept.filter(|argument| !argument.is_empty());
        let mut arguments: Vec<String> = kept.map(str::to_owned).collect();
        // In a static library, the host finds the name of a recorded call.
        let is_unnamed = callers.begin_inside && thread.call.is_empty();
        let is_call_of_one = shows_arguments(&thread.call) || is_unnamed;
        if arguments.is_empty() && is_call_of_one {
            // The record is not known, or another thread has entered a call since.
            arguments = thread
                .operations
                .first()
                .map_or_else(Vec::new, arguments_of);
        }
        arguments.extend(own_communicator(thread, is_call_of_one));
        thread.arguments = arguments;
        thread.frames = callers.frames;
        thread.begins_inside = callers.begin_inside;
        thread.python = python::line_of_this_thread().unwrap_or_default();
    }

    fn name(&self, communicators: &mut [CommunicatorState]) {
        let Some(names) = Names::get() else {
            return;
        };
        for communicator in communicators {
            let found = names.find(Context(communicator.context));
            if let Some((name, made)) = found {
                communicator.name = name;
                communicator.made = made;
            }
        }
    }

    fn last_call(&self) -> String {
        // Also of another thread's record nothing is read here but the static symbol.
        let called = LIBRARY.last().called();
        called.map_or_else(String::new, |symbol| symbol.name.to_owned())
    }

    fn failed_call(&self) -> FailedCall {
        LIBRARY.failed_call.lock().clone().unwrap_or_default()
    }

    fn has_calling_threads(&self) -> bool {
        let level = LIBRARY.threads.get().map(|(_, level)| *level);
        level.is_some_and(|level| level >= abi::MPI_THREAD_SERIALIZED)
    }
}

/// The arguments of a call that waits for this operation, as far as the engine knows them.
fn arguments_of(operation: &Operation) -> Vec<String> {
    let or_any = |value: Option<String>, any: &str| value.unwrap_or_else(|| any.to_owned());
    match operation {
        Operation::Receive(wanted) | Operation::Probe(wanted) => {
            let source = wanted.source.map(in_words);
            let tag = wanted.tag.map(|tag| tag.to_string());
            let room = wanted.room.map(|room| format!("{room} bytes"));
            let rest = [
                format!("source={}", or_any(source, "MPI_ANY_SOURCE")),
                format!("tag={}", or_any(tag, "MPI_ANY_TAG")),
            ];
            room.into_iter().chain(rest).collect()
        }
        Operation::Send {
            dest, tag, bytes, ..
        } => vec![
            format!("{bytes} bytes"),
            format!("dest={}", in_words(*dest)),
            format!("tag={tag}"),
        ],
        _ => Vec::new(),
    }
}

/// The communicator of a call that waits for itself, not for requests of the program.
fn own_communicator(thread: &ThreadState, is_call_of_one: bool) -> Option<String> {
    let context = match thread.operations.first()? {
        Operation::Collective {
            context,
            is_blocking: true,
            ..
        } => *context,
        Operation::Receive(wanted) | Operation::Probe(wanted) if is_call_of_one => wanted.context,
        Operation::Incoming(message) if is_call_of_one => message.context,
        Operation::Send { context, .. } if is_call_of_one => *context,
        _ => return None,
    };
    let (name, _) = Names::get()?.find(Context(context))?;
    Some(match name.is_empty() {
        true => format!("communicator {context}"),
        false => name,
    })
}

/// The communicators of the program, of its files and of its windows, by context. Another thread
/// may hold their lock: then it is not waited for.
struct Names(Vec<Name>);

/// Context and name of a communicator; the call that made it, and the context of its parent.
type Name = (Context, String, Option<(&'static str, Context)>);

impl Names {
    fn get() -> Option<Self> {
        let described = |object: &CommObject| {
            let name = object.name.try_lock();
            let name = name.map_or_else(String::new, |name| {
                String::from_utf8_lossy(&name).into_owned()
            });
            (object.lite.context(), name, object.made())
        };
        let comms = <Arc<CommObject>>::table().try_lock()?;
        let made = comms.iter().map(|(_, object)| &**object);
        let mut names: Vec<Name> = comm::predefined().chain(made).map(described).collect();
        let files = <Arc<FileObject>>::table().try_lock()?;
        let files = files.iter().filter_map(|(_, object)| object.described());
        names.extend(files.map(|(context, path)| (context, format!("file {path}"), None)));
        let windows = <Arc<WinObject>>::table().try_lock()?;
        let windows = windows.iter().filter_map(|(_, object)| object.described());
        names.extend(windows.map(|(context, name)| (context, name, None)));
        Some(Self(names))
    }

    /// Name of the communicator, and how it was made.
    fn find(&self, context: Context) -> Option<(String, String)> {
        let it = |wanted: Context| self.0.iter().find(move |(other, ..)| *other == wanted);
        let (_, name, made) = it(context)?;
        let made = made.map_or_else(String::new, |(call, parent)| {
            let parent = it(parent).map(|(_, name, _)| name.as_str());
            match parent.filter(|parent| !parent.is_empty()) {
                Some(parent) => format!("{call} on {parent}"),
                None => call.to_owned(),
            }
        });
        Some((name.clone(), made))
    }
}
/// The rank in the communicator; of one that is gone it is not known.
fn in_words(peer: Peer) -> String {
    peer.rank.map_or("?".into(), |rank| rank.to_string())
}
