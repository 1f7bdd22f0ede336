//! The messages of PMI as bytes: lines of PMI-1, frames of PMI-2.
//!
//! A line is `cmd=NAME key=value ...` with a line feed. One message of PMI-1 has several lines:
//! `mcmd=spawn` to `endcmd`. A frame is a length, six characters wide with blanks on either side,
//! and that many bytes `cmd=NAME;key=value;...`.
//!
//! * [`Dialect`]: the version that a rank speaks.
//! * [`Reader`]: cuts a stream of bytes into messages.
//! * [`Message`]: a command and its fields.
//! * [`line()`], [`frame`]: write a message.

/// The longest line and the longest frame, in bytes. Clients send 1024 bytes and a little.
pub const LINE_MAX: usize = 16 << 10;

/// The longest message of several lines, in bytes: it has the arguments of programs.
pub const BLOCK_MAX: usize = 1 << 20;

/// The characters of a frame's length.
const LENGTH_WIDTH: usize = 6;

/// The version of the protocol that a rank speaks, and how its messages are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// PMI-1: lines. The first message of a rank is one in any case.
    #[default]
    One,
    /// PMI-2: frames.
    Two,
}

/// Cuts a stream of bytes into messages.
#[derive(Debug, Default)]
pub struct Reader {
    bytes: Vec<u8>,
    /// How the next message is written.
    pub dialect: Dialect,
}

impl Reader {
    /// Adds bytes that have come.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// How many bytes have come and not been taken.
    pub fn waiting(&self) -> usize {
        self.bytes.len()
    }

    /// Takes the next message.
    ///
    /// # Errors
    ///
    /// What is wrong with it, behind the name of its sender. The stream cannot be read further.
    pub fn pop(&mut self) -> Result<Option<Message>, String> {
        let rest = &*self.bytes;
        let found = match self.dialect {
            Dialect::Two => frame_in(rest)?,
            Dialect::One if rest.starts_with(b"mcmd=") => block_in(rest)?,
            Dialect::One => line_in(rest)?,
        };
        let Some((length, message)) = found else {
            return Ok(None);
        };
        self.bytes.drain(..length);
        Ok(Some(message))
    }
}

fn text(bytes: &[u8]) -> Result<&str, String> {
    str::from_utf8(bytes).map_err(|_| "sent a PMI message that is no text".into())
}

/// How many bytes the first message has, if it is there, and what it says.
type First = Result<Option<(usize, Message)>, String>;

fn line_in(bytes: &[u8]) -> First {
    let end = bytes.iter().position(|byte| *byte == b'\n');
    match end {
        _ if end.unwrap_or(bytes.len()) > LINE_MAX => Err(too_long(LINE_MAX)),
        Some(end) => Ok(Some((end + 1, Message::of_line(text(&bytes[..end])?)?))),
        None => Ok(None),
    }
}

/// A message of several lines.
fn block_in(bytes: &[u8]) -> First {
    const END: &[u8] = b"\nendcmd\n";
    let end = bytes.windows(END.len()).position(|it| it == END);
    match end.map(|end| end + END.len()) {
        end if end.unwrap_or(bytes.len()) > BLOCK_MAX => Err(too_long(BLOCK_MAX)),
        Some(end) => Ok(Some((end, Message::of_block(text(&bytes[..end])?)?))),
        None => Ok(None),
    }
}

fn frame_in(bytes: &[u8]) -> First {
    let Some((field, rest)) = bytes.split_at_checked(LENGTH_WIDTH) else {
        return Ok(None);
    };
    let number = str::from_utf8(field).unwrap_or_default().trim_matches(' ');
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    match number.parse::<usize>().ok().filter(|_| is_number) {
        None => Err("sent a PMI-2 message without a length".into()),
        Some(length) if length > LINE_MAX => Err(too_long(LINE_MAX)),
        Some(length) => match rest.get(..length) {
            Some(body) => Ok(Some((
                LENGTH_WIDTH + length,
                Message::of_frame(text(body)?)?,
            ))),
            None => Ok(None),
        },
    }
}

fn too_long(most: usize) -> String {
    format!("sent a PMI message that is too long ({most} bytes at most)")
}

/// A command and its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What stands behind `cmd=`, or `mcmd=`.
    pub command: String,
    fields: Vec<(String, String)>,
}

impl Message {
    /// The value of a field.
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut fields = self.fields.iter();
        let found = fields.find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// A line of PMI-1. The text of `message=` goes to the end of the line; a word that is no field
    /// goes on with the value before it.
    fn of_line(line: &str) -> Result<Message, String> {
        let (line, message) = match line.split_once(" message=") {
            Some((line, message)) => (line, Some(message)),
            None => (line, None),
        };
        let mut fields: Vec<(String, String)> = Vec::new();
        for word in line.split(' ') {
            match (word.split_once('='), fields.last_mut()) {
                (Some((name, value)), _) => fields.push((name.into(), value.into())),
                (None, Some((_, value))) => *value = format!("{value} {word}"),
                (None, None) => return Err(no_command()),
            }
        }
        if let Some((_, value)) = fields.last_mut() {
            value.truncate(value.trim_end_matches([' ', '\r']).len());
        }
        fields.extend(message.map(|message| ("message".into(), message.into())));
        Message::of_fields(fields)
    }

    fn of_block(block: &str) -> Result<Message, String> {
        let fields = block.lines().filter_map(|line| line.split_once('='));
        let fields = fields.map(|(name, value)| (name.into(), value.into()));
        Message::of_fields(fields.collect())
    }

    /// The body of a frame of PMI-2. A semicolon in a value stands there twice.
    fn of_frame(body: &str) -> Result<Message, String> {
        let mut fields = Vec::new();
        let mut rest = body;
        while let Some((name, after)) = rest.split_once('=') {
            let (value, after) = frame_value(after);
            fields.push((name.into(), value));
            rest = after;
        }
        Message::of_fields(fields)
    }

    fn of_fields(mut fields: Vec<(String, String)>) -> Result<Message, String> {
        match fields.first() {
            Some((name, _)) if name == "cmd" || name == "mcmd" => {}
            _ => return Err(no_command()),
        }
        let (_, command) = fields.remove(0);
        Ok(Message { command, fields })
    }
}

/// The value at the start, and what follows it.
fn frame_value(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(';') {
        value.push_str(before);
        let Some(after) = after.strip_prefix(';') else {
            return (value, after);
        };
        value.push(';');
        rest = after;
    }
    value.push_str(rest);
    (value, "")
}

fn no_command() -> String {
    "sent a PMI message without a command".into()
}

/// Writes a line of PMI-1. Characters that would end a value or the line are replaced in it.
pub fn line(command: &str, fields: &[(&str, String)]) -> Vec<u8> {
    let mut line = format!("cmd={command}");
    for (name, value) in fields {
        let value = value.replace(['\n', '\r'], "_");
        line.push_str(&format!(" {name}={value}"));
    }
    line.push('\n');
    line.into_bytes()
}

/// Writes a frame of PMI-2.
pub fn frame(command: &str, fields: &[(&str, String)]) -> Vec<u8> {
    let mut body = format!("cmd={command};");
    for (name, value) in fields {
        let value = value.replace(';', ";;");
        body.push_str(&format!("{name}={value};"));
    }
    format!("{:>LENGTH_WIDTH$}{body}", body.len()).into_bytes()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(dialect: Dialect, bytes: &[u8], step: usize) -> Result<Vec<Message>, String> {
        let mut reader = Reader {
            dialect,
            ..Reader::default()
        };
        let mut messages = Vec::new();
        for piece in bytes.chunks(step) {
            reader.push(piece);
            while let Some(message) = reader.pop()? {
                messages.push(message);
            }
        }
        Ok(messages)
    }

    fn fields(message: &Message) -> Vec<(&str, &str)> {
        let fields = message.fields.iter();
        fields.map(|(name, value)| (&**name, &**value)).collect()
    }

    #[test]
    fn a_line_has_a_command_and_fields_in_any_order() {
        let bytes = b"cmd=put kvsname=k key=-a-1 value=(vector,(0,1,2))=\ncmd=barrier_in\n";
        for step in [1, 7, 100] {
            let messages = read(Dialect::One, bytes, step).unwrap();
            assert_eq!(messages.len(), 2);
            assert_eq!(messages[0].command, "put");
            assert_eq!(messages[0].get("value"), Some("(vector,(0,1,2))="));
            assert_eq!(
                (&*messages[1].command, messages[1].get("x")),
                ("barrier_in", None)
            );
        }
    }

    #[test]
    fn a_text_goes_to_the_end_of_its_line() {
        let bytes = b"cmd=abort exitcode=7 message=it is a=b here\ncmd=x a=b c d\n";
        let messages = read(Dialect::One, bytes, 100).unwrap();
        assert_eq!(messages[0].get("message"), Some("it is a=b here"));
        assert_eq!(messages[1].get("a"), Some("b c d"));
    }

    #[test]
    fn a_message_of_several_lines_ends_with_endcmd() {
        let bytes = b"mcmd=spawn\nnprocs=2\narg1=a b=c\nendcmd\ncmd=finalize\n";
        for step in [1, 100] {
            let messages = read(Dialect::One, bytes, step).unwrap();
            assert_eq!(messages[0].command, "spawn");
            assert_eq!(fields(&messages[0]), [("nprocs", "2"), ("arg1", "a b=c")]);
            assert_eq!(messages[1].command, "finalize");
        }
    }

    #[test]
    fn the_length_of_a_frame_has_blanks_on_either_side() {
        for bytes in [b"    10cmd=a;k=v;", b"10    cmd=a;k=v;"] {
            let messages = read(Dialect::Two, bytes, 4).unwrap();
            assert_eq!(messages[0].command, "a");
            assert_eq!(messages[0].get("k"), Some("v"));
        }
        let messages = read(Dialect::Two, b"    17cmd=a;v=x;;y;z=1;", 3).unwrap();
        assert_eq!(fields(&messages[0]), [("v", "x;y"), ("z", "1")]);
    }

    #[test]
    fn what_is_no_message_or_too_long_is_refused() {
        let long = vec![b'a'; LINE_MAX + 1];
        let block = [b"mcmd=spawn\n".to_vec(), vec![b'a'; BLOCK_MAX]].concat();
        let of_lines: [&[u8]; 5] = [b"\n", b"hello\n", b"a=b\n", &long, &block];
        for bytes in of_lines {
            assert!(read(Dialect::One, bytes, 4096).is_err());
        }
        let of_frames: [&[u8]; 4] = [b"999999", b"  -123", b"12 345cmd=", b"      "];
        for bytes in of_frames {
            assert!(read(Dialect::Two, bytes, 4096).is_err());
        }
        assert!(read(Dialect::One, b"cmd=\xff\n", 100).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_harmless(bytes: Vec<u8>, step in 1_usize..9, frames: bool) {
            let dialect = if frames { Dialect::Two } else { Dialect::One };
            read(dialect, &bytes, step).ok();
        }

        #[test]
        fn what_is_written_is_read_again(key in "[a-z]{1,9}", value in "[ -~]{0,50}") {
            let fields = [(&*key, value.clone())];
            let framed = read(Dialect::Two, &frame("get", &fields), 5).unwrap();
            prop_assert_eq!(framed[0].get(&key), Some(&*value));
            let plain = value.replace([' ', '='], "_");
            let lined = read(Dialect::One, &line("get", &[(&*key, plain.clone())]), 5).unwrap();
            prop_assert_eq!(lined[0].get(&key), Some(&*plain));
        }
    }
}
