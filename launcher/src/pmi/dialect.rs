//! What a message asks for, and how its answer is written, in PMI-1 and in PMI-2.
//!
//! * [`Dialect`]: the version that a rank speaks.
//! * [`Request`]: what it asks for.
//! * [`Asked`]: a request with what its answer must repeat.
//! * [`Reply`]: what the answer says.

use super::names::Ask;
use super::text::{Message, Syntax, frame, line};

/// The version of the protocol that a rank speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// PMI-1. The first message of a rank is written in it in any case.
    One,
    /// PMI-2.
    Two,
}

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
    /// A value that holds for the whole job.
    JobAttribute(String),
    /// A value of a rank of its node.
    NodeAttribute {
        /// Its key.
        key: String,
        /// True if the rank waits until it is there.
        waits: bool,
    },
    /// To give the ranks of its node a value.
    PutNodeAttribute {
        /// Its key.
        key: String,
        /// The value.
        value: String,
    },
    /// To put a value.
    Put {
        /// Its key.
        key: String,
        /// The value.
        value: String,
    },
    /// To get a value.
    Get {
        /// The name of the space, if it gives one.
        space: Option<String>,
        /// The key.
        key: String,
    },
    /// To wait for all ranks.
    Fence,
    /// Something about a service.
    Name(Ask),
    /// To start more programs.
    Spawn {
        /// More messages belong to it, and follow.
        has_more: bool,
    },
    /// To end the conversation.
    Finalize,
    /// To end the job.
    Abort {
        /// Exit status.
        code: i32,
        /// What to print.
        message: String,
    },
    /// Something that the server does not have.
    Unknown,
}

/// A request with what its answer must repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    command: String,
    thread: Option<String>,
    /// What is asked for.
    pub request: Request,
}

impl Asked {
    /// The command, as the rank has written it.
    pub fn command(&self) -> &str {
        &self.command
    }
}

/// The fields of an answer, or why there is none.
pub type Reply = Result<Vec<(&'static str, String)>, String>;

impl Dialect {
    /// How messages are written after the first one.
    pub fn syntax(self) -> Syntax {
        match self {
            Dialect::One => Syntax::Lines,
            Dialect::Two => Syntax::Frames,
        }
    }

    /// What a message asks for.
    pub fn read(self, message: &Message) -> Asked {
        let request = match self {
            Dialect::One => request_of_line(message),
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
        match (self, reply) {
            (_, Ok(of_reply)) => {
                fields.push(("rc", "0".into()));
                fields.extend(of_reply.iter().cloned());
            }
            (Dialect::One, Err(reason)) => {
                fields.push(("rc", "-1".into()));
                // A word: older clients end a value at the first blank.
                fields.push(("msg", reason.replace([' ', '='], "_")));
            }
            (Dialect::Two, Err(reason)) => {
                fields.push(("rc", "-1".into()));
                fields.push(("errmsg", reason.clone()));
            }
        }
        match self {
            Dialect::One => line(answer_of_line(&asked.command), &fields),
            Dialect::Two => frame(&format!("{}-response", asked.command), &fields),
        }
    }
}

/// The command of the answer to a command of PMI-1.
fn answer_of_line(command: &str) -> &str {
    match command {
        "init" => "response_to_init",
        "get_maxes" => "maxes",
        "get_appnum" => "appnum",
        "get_my_kvsname" => "my_kvsname",
        "get_universe_size" => "universe_size",
        "put" => "put_result",
        "get" => "get_result",
        "barrier_in" => "barrier_out",
        "publish_name" => "publish_result",
        "unpublish_name" => "unpublish_result",
        "lookup_name" => "lookup_result",
        "spawn" => "spawn_result",
        "finalize" => "finalize_ack",
        other => other,
    }
}

/// Returns `None` if a field is missing, or the command is not of PMI-1.
fn request_of_line(message: &Message) -> Option<Request> {
    let field = |name: &str| message.get(name).map(String::from);
    let number = |name: &str| message.get(name)?.parse::<u32>().ok();
    Some(match &*message.command {
        "init" => Request::Init(number("pmi_version")?),
        "get_maxes" => Request::Maxes,
        "get_appnum" => Request::AppNumber,
        "get_my_kvsname" => Request::SpaceName,
        "get_universe_size" => Request::UniverseSize,
        "put" => Request::Put {
            key: field("key")?,
            value: field("value")?,
        },
        "get" => Request::Get {
            space: field("kvsname"),
            key: field("key")?,
        },
        "barrier_in" => Request::Fence,
        "publish_name" => Request::Name(Ask::Publish {
            name: field("service")?,
            port: field("port")?,
        }),
        "unpublish_name" => Request::Name(Ask::Unpublish {
            name: field("service")?,
        }),
        "lookup_name" => Request::Name(Ask::Lookup {
            name: field("service")?,
        }),
        "spawn" => Request::Spawn {
            has_more: number("spawnssofar") < number("totspawns"),
        },
        "finalize" => Request::Finalize,
        "abort" => Request::Abort {
            code: code(message, "exitcode")
                .or(code(message, "exit_code"))
                .unwrap_or(1),
            message: field("message").or(field("error_msg")).unwrap_or_default(),
        },
        _ => return None,
    })
}

/// Returns `None` if a field is missing, or the command is not of PMI-2.
fn request_of_frame(message: &Message) -> Option<Request> {
    let field = |name: &str| message.get(name).map(String::from);
    Some(match &*message.command {
        "fullinit" => Request::FullInit,
        "job-getid" => Request::JobName,
        "info-getjobattr" => Request::JobAttribute(field("key")?),
        "info-getnodeattr" => Request::NodeAttribute {
            key: field("key")?,
            waits: message
                .get("wait")
                .is_some_and(|it| it.eq_ignore_ascii_case("true")),
        },
        "info-putnodeattr" => Request::PutNodeAttribute {
            key: field("key")?,
            value: field("value")?,
        },
        "kvs-put" => Request::Put {
            key: field("key")?,
            value: field("value")?,
        },
        "kvs-get" => Request::Get {
            space: None,
            key: field("key")?,
        },
        "kvs-fence" => Request::Fence,
        "name-publish" => Request::Name(Ask::Publish {
            name: field("name")?,
            port: field("port")?,
        }),
        "name-unpublish" => Request::Name(Ask::Unpublish {
            name: field("name")?,
        }),
        "name-lookup" => Request::Name(Ask::Lookup {
            name: field("name")?,
        }),
        "spawn" => Request::Spawn { has_more: false },
        "finalize" => Request::Finalize,
        "abort" => Request::Abort {
            code: code(message, "exitcode").unwrap_or(1),
            message: field("msg").unwrap_or_default(),
        },
        _ => return None,
    })
}

fn code(message: &Message, name: &str) -> Option<i32> {
    message.get(name)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pmi::text::Reader;

    fn asked(dialect: Dialect, bytes: &str) -> Asked {
        let mut reader = Reader::default();
        reader.set_syntax(dialect.syntax());
        reader.push(bytes.as_bytes());
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
            Request::Abort { code, message } => (code, message),
            other => panic!("{other:?}"),
        };
        assert_eq!(code_of("cmd=abort\n"), (1, String::new()));
        assert_eq!(
            code_of("cmd=abort exitcode=7 message=a b\n"),
            (7, "a b".into())
        );
    }
}
