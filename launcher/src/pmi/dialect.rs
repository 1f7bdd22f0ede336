//! What a message asks for, and how its answer is written, in PMI-1 and in PMI-2.
//!
//! * [`Request`]: what a rank asks for.
//! * [`Asked`]: a request with what its answer must repeat.
//! * [`Reply`]: what the answer says.

use super::Put;
use super::names::Ask;
use super::text::{Dialect, Message, frame, line};

/// What a rank asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// To begin, in this version of the protocol.
    Init(u32),
    /// To begin, in PMI-2: the second step.
    FullInit,
    /// The longest names, keys and values.
    Maxes,
    /// Which of the programs of the job it runs.
    AppNumber,
    /// The name of the space that it puts into and gets from.
    SpaceName,
    /// How many ranks the job may have.
    UniverseSize,
    /// The name of the job.
    JobName,
    /// The value of this key that holds for the whole job.
    JobAttribute(String),
    /// The value of this key that a rank of its node has given; true: the rank waits for it.
    NodeAttribute(String, bool),
    /// To give the ranks of its node a value.
    PutNodeAttribute(Put),
    /// To put a value.
    Put(Put),
    /// To get the value of a key, of a space if it names one.
    Get(Option<String>, String),
    /// To wait for all ranks.
    Fence,
    /// Something about a service.
    Name(Ask),
    /// To start more programs; true: more messages belong to it, and follow.
    Spawn(bool),
    /// To end the conversation.
    Finalize,
    /// To end the job, with this exit status and text.
    Abort(i32, String),
    /// Something that the server does not have.
    Unknown,
}

/// A request with what its answer must repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// As the rank has written it.
    pub command: String,
    thread: Option<String>,
    /// What is asked for.
    pub request: Request,
}

/// The fields of an answer, or why there is none.
pub type Reply = Result<Vec<(&'static str, String)>, String>;

/// A command of PMI-1, that of its answer, and the one of PMI-2 that asks for the same.
const COMMANDS: [(&str, &str, &str); 14] = [
    ("init", "response_to_init", ""),
    ("get_maxes", "maxes", ""),
    ("get_appnum", "appnum", ""),
    ("get_my_kvsname", "my_kvsname", ""),
    ("get_universe_size", "universe_size", ""),
    ("put", "put_result", "kvs-put"),
    ("get", "get_result", "kvs-get"),
    ("barrier_in", "barrier_out", "kvs-fence"),
    ("publish_name", "publish_result", "name-publish"),
    ("unpublish_name", "unpublish_result", "name-unpublish"),
    ("lookup_name", "lookup_result", "name-lookup"),
    ("spawn", "spawn_result", "spawn"),
    ("finalize", "finalize_ack", "finalize"),
    ("abort", "abort", "abort"),
];

impl Dialect {
    /// What a message asks for.
    pub fn read(self, message: &Message) -> Asked {
        let request = match self {
            Dialect::One => request_of_line(&message.command, message),
            Dialect::Two => request_of_frame(message),
        };
        Asked {
            command: message.command.clone(),
            thread: message.get("thrid").map(String::from),
            request: request.unwrap_or(Request::Unknown),
        }
    }

    /// Writes the answer.
    pub fn write(self, asked: &Asked, reply: &Reply) -> Vec<u8> {
        let mut fields: Vec<(&str, String)> = Vec::new();
        let thread = asked.thread.as_ref();
        fields.extend(thread.map(|thread| ("thrid", thread.clone())));
        let code = if reply.is_ok() { "0" } else { "-1" };
        fields.push(("rc", code.into()));
        match (self, reply) {
            (_, Ok(of_reply)) => fields.extend(of_reply.iter().cloned()),
            // A word: older clients end a value at the first blank.
            (Dialect::One, Err(reason)) => fields.push(("msg", reason.replace([' ', '='], "_"))),
            (Dialect::Two, Err(reason)) => fields.push(("errmsg", reason.clone())),
        }
        let command = &*asked.command;
        let answer = COMMANDS.iter().find(|(known, ..)| *known == command);
        match self {
            Dialect::One => line(answer.map_or(command, |(_, answer, _)| answer), &fields),
            Dialect::Two => frame(&format!("{command}-response"), &fields),
        }
    }
}

/// What a message asks for with a command that PMI-1 calls so. `None` if a field is missing, or
/// PMI-1 has no such command.
fn request_of_line(command: &str, message: &Message) -> Option<Request> {
    let one_of = |names: &[&str]| {
        names
            .iter()
            .find_map(|name| message.get(name))
            .map(String::from)
    };
    let field = |name: &str| one_of(&[name]);
    let number = |name: &str| message.get(name)?.parse::<u32>().ok();
    let service = || one_of(&["service", "name"]);
    let code = |name: &str| message.get(name)?.parse().ok();
    Some(match command {
        "init" => Request::Init(number("pmi_version")?),
        "get_maxes" => Request::Maxes,
        "get_appnum" => Request::AppNumber,
        "get_my_kvsname" => Request::SpaceName,
        "get_universe_size" => Request::UniverseSize,
        "put" => Request::Put((field("key")?, field("value")?)),
        "get" => Request::Get(field("kvsname"), field("key")?),
        "barrier_in" => Request::Fence,
        "publish_name" => Request::Name(Ask::Publish(service()?, field("port")?)),
        "unpublish_name" => Request::Name(Ask::Unpublish(service()?)),
        "lookup_name" => Request::Name(Ask::Lookup(service()?)),
        "spawn" => Request::Spawn(number("spawnssofar") < number("totspawns")),
        "finalize" => Request::Finalize,
        "abort" => Request::Abort(
            code("exitcode").or(code("exit_code")).unwrap_or(1),
            one_of(&["message", "error_msg", "msg"]).unwrap_or_default(),
        ),
        _ => return None,
    })
}

/// The same for a command of PMI-2.
fn request_of_frame(message: &Message) -> Option<Request> {
    let field = |name: &str| message.get(name).map(String::from);
    let is_true = |name: &str| {
        message
            .get(name)
            .is_some_and(|it| it.eq_ignore_ascii_case("true"))
    };
    Some(match &*message.command {
        "fullinit" => Request::FullInit,
        "job-getid" => Request::JobName,
        "info-getjobattr" => Request::JobAttribute(field("key")?),
        "info-getnodeattr" => Request::NodeAttribute(field("key")?, is_true("wait")),
        "info-putnodeattr" => Request::PutNodeAttribute((field("key")?, field("value")?)),
        "spawn" => Request::Spawn(false),
        "kvs-get" => Request::Get(None, field("key")?),
        other => {
            let known = COMMANDS.iter().find(|(_, _, two)| *two == other);
            let (one, ..) = known.filter(|_| !other.is_empty())?;
            return request_of_line(one, message);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pmi::text::Reader;

    fn asked(dialect: Dialect, bytes: &str) -> Asked {
        let mut reader = Reader::default();
        reader.push(bytes.as_bytes());
        reader.dialect = dialect;
        dialect.read(&reader.pop().unwrap().unwrap())
    }

    fn answer(dialect: Dialect, bytes: &str, reply: &Reply) -> String {
        String::from_utf8(dialect.write(&asked(dialect, bytes), reply)).unwrap()
    }

    #[test]
    fn answers_of_pmi_1_have_names_of_their_own_and_reasons_without_blanks() {
        let value = Ok(vec![("value", "x=y".to_string())]);
        assert_eq!(
            answer(Dialect::One, "cmd=get kvsname=k key=a\n", &value),
            "cmd=get_result rc=0 value=x=y\n"
        );
        let refused = Err("no such key".to_string());
        assert_eq!(
            answer(Dialect::One, "cmd=get kvsname=k key=a\n", &refused),
            "cmd=get_result rc=-1 msg=no_such_key\n"
        );
    }

    #[test]
    fn answers_of_pmi_2_repeat_the_command_and_the_thread() {
        let bytes = "    34cmd=kvs-put;thrid=7;key=a;value=b;";
        let (done, refused) = (Ok(vec![]), Err("too long".to_string()));
        assert_eq!(
            answer(Dialect::Two, bytes, &done),
            "    34cmd=kvs-put-response;thrid=7;rc=0;"
        );
        assert!(answer(Dialect::Two, bytes, &refused).ends_with("rc=-1;errmsg=too long;"));
    }

    #[test]
    fn a_request_without_a_field_that_it_needs_is_unknown() {
        assert_eq!(
            asked(Dialect::One, "cmd=put key=a\n").request,
            Request::Unknown
        );
        assert_eq!(asked(Dialect::One, "cmd=init\n").request, Request::Unknown);
        assert_eq!(
            asked(Dialect::Two, "    12cmd=kvs-get;").request,
            Request::Unknown
        );
    }

    #[test]
    fn an_abort_may_have_no_code_and_no_text() {
        let code_of = |bytes: &str| match asked(Dialect::One, bytes).request {
            Request::Abort(code, message) => (code, message),
            other => panic!("{other:?}"),
        };
        assert_eq!(code_of("cmd=abort\n"), (1, String::new()));
        assert_eq!(
            code_of("cmd=abort exitcode=7 message=a b\n"),
            (7, "a b".into())
        );
    }
}
