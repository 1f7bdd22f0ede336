//! Host lists and host files, in the forms of Open MPI, MPICH and Slurm.
//!
//! ```text
//! list  = entry { "," entry }                                        (--host)
//! line  = [ entry { WS key "=" value } ] [ "#" comment ]             (--hostfile)
//! entry = [ user "@" ] name [ ":" slots ]
//! name  = host name | IPv4 | "[" IPv6 "]" | prefix "[" 01-04,7 "]"
//! key   = slots | max_slots | max-slots | cpu | user | binding
//! ```
//!
//! Every name is checked before it can reach a command line: letters, digits, `_ . : @ % -`, the
//! first character not a dash.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::net::Ipv6Addr;
use std::path::Path;

use crate::failure::{Failure, printable};

/// The longest host file that is read, in bytes.
const FILE_MAX: u64 = 16 << 20;
/// The most hosts in a job.
pub(crate) const HOSTS_MAX: usize = 100_000;
/// The most slots of one host: the limit for ranks of a job.
pub const RANKS_MAX: u32 = 1_000_000;
/// The longest name of a host, user included.
const NAME_MAX: usize = 255;

/// A host as the user named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// The name for ssh, maybe with `user@`; an IPv6 address without brackets.
    pub name: String,
    /// How many ranks it should get, if the user said so.
    pub slots: Option<u32>,
}

/// Reads the value of `--host`.
///
/// # Errors
///
/// A usage failure that names the entry and what is wrong with it.
pub fn parse_list(list: &str) -> Result<Vec<Host>, Failure> {
    let mut hosts = Vec::new();
    for entry in split_outside_brackets(list) {
        hosts.extend(
            parse_entry(entry).map_err(|reason| {
                Failure::usage(format!("--host {}: {reason}", printable(list)))
            })?,
        );
        check_number_of_hosts(hosts.len())?;
    }
    Ok(merged(hosts))
}

/// Reads a host file.
///
/// # Errors
///
/// A usage failure `FILE:LINE: reason`.
pub fn read_file(path: &Path) -> Result<Vec<Host>, Failure> {
    read_lines(path).map(merged)
}

/// Reads a host file. A host comes as often as the file names it.
///
/// # Errors
///
/// As of [`read_file`].
pub fn read_lines(path: &Path) -> Result<Vec<Host>, Failure> {
    let shown = printable(&path.to_string_lossy());
    let text = read_bytes(path)
        .map_err(|reason| Failure::usage(format!("host file {shown}: {reason}")))?;
    parse_lines(&text, &shown)
}

/// Reads a file of hosts, with a limit. Returns the reason if it cannot be read.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, String> {
    let words = |error: std::io::Error| error.to_string();
    let file = File::open(path).map_err(words)?;
    if file.metadata().map_err(words)?.is_dir() {
        return Err("it is a directory".into());
    }
    // A pipe or a device has no length.
    let mut text = Vec::new();
    let read = file.take(FILE_MAX + 1).read_to_end(&mut text);
    read.map_err(words)?;
    match text.len() as u64 > FILE_MAX {
        true => Err(format!("it is longer than {} MiB", FILE_MAX >> 20)),
        false => Ok(text),
    }
}

/// The text without the byte order mark that editors of other systems put in front of it.
pub(crate) fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text)
}

/// Reads the text of a host file; `name` is for messages.
fn parse_lines(text: &[u8], name: &str) -> Result<Vec<Host>, Failure> {
    let mut hosts = Vec::new();
    for (index, line) in without_mark(text).split(|byte| *byte == b'\n').enumerate() {
        let fail = |reason: String| Failure::usage(format!("{name}:{}: {reason}", index + 1));
        let line = std::str::from_utf8(line).map_err(|_| fail("it is not text".into()))?;
        let line = line
            .split_once('#')
            .map_or(line, |(before, _)| before)
            .trim();
        if !line.is_empty() {
            hosts.extend(parse_line(line).map_err(fail)?);
            check_number_of_hosts(hosts.len())?;
        }
    }
    if hosts.is_empty() {
        return Err(Failure::usage(format!(
            "host file {name}: it names no host"
        )));
    }
    Ok(hosts)
}

fn check_number_of_hosts(number: usize) -> Result<(), Failure> {
    if number > HOSTS_MAX {
        return Err(Failure::usage(format!("more than {HOSTS_MAX} hosts")));
    }
    Ok(())
}

fn parse_line(line: &str) -> Result<Vec<Host>, String> {
    let mut words = line.split_ascii_whitespace();
    let entry = words.next().expect("a line that is not empty has a word");
    let mut hosts = parse_entry(entry)?;
    for word in words {
        let Some((key, value)) = word.split_once('=') else {
            let shown = printable(word);
            let hint = match parse_slots(word) {
                Ok(slots) => format!("; did you mean slots={slots}?"),
                Err(_) => String::new(),
            };
            return Err(format!("'{shown}' is not KEY=VALUE{hint}"));
        };
        match key {
            "slots" | "cpu" => {
                let slots = parse_slots(value)?;
                hosts.iter_mut().for_each(|host| host.slots = Some(slots));
            }
            "max_slots" | "max-slots" => {
                parse_slots(value)?;
            }
            "user" => {
                for host in &mut hosts {
                    host.name = format!("{value}@{}", host.name);
                    check_name(&host.name)?;
                }
            }
            "binding" => {}
            _ => {
                return Err(format!(
                    "unknown key '{}'; did you mean slots=N?",
                    printable(key)
                ));
            }
        }
    }
    Ok(hosts)
}

fn parse_entry(entry: &str) -> Result<Vec<Host>, String> {
    let (name, slots) = split_slots(entry)?;
    let mut hosts = Vec::new();
    for name in expand(name)? {
        check_name(&name)?;
        hosts.push(Host { name, slots });
    }
    Ok(hosts)
}

/// Takes `:N` off the end of an entry; the colons of an IPv6 address are none of these.
fn split_slots(entry: &str) -> Result<(&str, Option<u32>), String> {
    if entry.parse::<Ipv6Addr>().is_ok() {
        return Ok((entry, None));
    }
    let after_bracket = entry.rfind(']').map_or(0, |at| at + 1);
    let Some((_, slots)) = entry[after_bracket..].split_once(':') else {
        return Ok((entry, None));
    };
    let name = &entry[..entry.len() - slots.len() - 1];
    Ok((name, Some(parse_slots(slots)?)))
}

pub(crate) fn parse_slots(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(slots) if (1..=RANKS_MAX).contains(&slots) => Ok(slots),
        _ => Err(format!(
            "'{}' is not a number of slots (1 to {RANKS_MAX})",
            printable(text)
        )),
    }
}

/// Expands `n[01-04,7]` to five names; takes the brackets off an IPv6 address.
fn expand(name: &str) -> Result<Vec<String>, String> {
    let Some(open) = name.find('[') else {
        return Ok(vec![name.to_string()]);
    };
    let wrong = || {
        format!(
            "'{}' is not a list of hosts such as n[01-04,7]",
            printable(name)
        )
    };
    let (prefix, rest) = name.split_at(open);
    let (inside, suffix) = rest[1..].split_once(']').ok_or_else(wrong)?;
    if inside.parse::<Ipv6Addr>().is_ok() && suffix.is_empty() {
        return Ok(vec![format!("{prefix}{inside}")]);
    }
    if prefix.is_empty() || suffix.contains(['[', ']']) {
        return Err(wrong());
    }
    let numbers = expand_ranges(inside, HOSTS_MAX).ok_or_else(wrong)?;
    let numbers = numbers.iter();
    Ok(numbers
        .map(|number| format!("{prefix}{number}{suffix}"))
        .collect())
}

/// The numbers of `1-2,05`, with their leading zeros; `None` if they are none, or more than `most`.
pub(crate) fn expand_ranges(inside: &str, most: usize) -> Option<Vec<String>> {
    let mut numbers = Vec::new();
    for part in inside.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(first) || !is_number(last) {
            return None;
        }
        let (from, to): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if from > to || to - from >= most || numbers.len() > most {
            return None;
        }
        let width = first.len();
        numbers.extend((from..=to).map(|number| format!("{number:0width$}")));
    }
    Some(numbers)
}

/// Refuses every name that ssh or a shell could take for something else than a host.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let shown = printable(name);
    if name.is_empty() {
        return Err("a host name is empty".into());
    }
    if name.len() > NAME_MAX {
        return Err(format!(
            "host name '{shown}' is longer than {NAME_MAX} bytes"
        ));
    }
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "_.:@%-".contains(c);
    if let Some(wrong) = name.chars().find(|c| !is_allowed(*c)) {
        return Err(format!("host name '{shown}' contains {wrong:?}"));
    }
    let mut parts = name.splitn(2, '@');
    if parts.any(|part| part.is_empty() || part.starts_with('-') || part.contains('@')) {
        return Err(format!("'{shown}' is not a host name ([user@]host)"));
    }
    Ok(())
}

pub(crate) fn split_outside_brackets(list: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    list.split(move |character| {
        match character {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        character == ',' && depth <= 0
    })
}

/// A name that comes again adds its slots (one, if it has none) to the first.
pub(crate) fn merged(hosts: Vec<Host>) -> Vec<Host> {
    let mut merged: Vec<Host> = Vec::new();
    let mut places = HashMap::new();
    for host in hosts {
        let place = *places.entry(host.name.clone()).or_insert(merged.len());
        match merged.get_mut(place) {
            None => merged.push(host),
            Some(first) => {
                let [sum, more] = [first.slots, host.slots].map(|slots| slots.unwrap_or(1));
                first.slots = Some(sum.saturating_add(more));
            }
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse_file(text: &[u8], name: &str) -> Result<Vec<Host>, Failure> {
        parse_lines(text, name).map(merged)
    }

    fn list(text: &str) -> Vec<(String, Option<u32>)> {
        parse_list(text)
            .unwrap()
            .into_iter()
            .map(|host| (host.name, host.slots))
            .collect()
    }

    fn file(text: &str) -> Vec<(String, Option<u32>)> {
        let hosts = parse_file(text.as_bytes(), "f").unwrap();
        hosts
            .into_iter()
            .map(|host| (host.name, host.slots))
            .collect()
    }

    fn named(name: &str, slots: Option<u32>) -> (String, Option<u32>) {
        (name.to_string(), slots)
    }

    #[test]
    fn host_lists_are_read_in_all_forms() {
        assert_eq!(list("a"), [named("a", None)]);
        assert_eq!(list("a:2,b:3"), [named("a", Some(2)), named("b", Some(3))]);
        assert_eq!(list("a,b,a"), [named("a", Some(2)), named("b", None)]);
        assert_eq!(list("me@n1.x:2"), [named("me@n1.x", Some(2))]);
        assert_eq!(list("10.0.0.1:4"), [named("10.0.0.1", Some(4))]);
        assert_eq!(list("::1"), [named("::1", None)]);
        assert_eq!(list("[::1]:2,b"), [named("::1", Some(2)), named("b", None)]);
        assert_eq!(list("me@[fe80::2]"), [named("me@fe80::2", None)]);
        let range = ["n09", "n10", "n3"].map(|name| named(name, Some(2)));
        assert_eq!(list("n[09-10,3]:2"), range);
        assert_eq!(
            list("r[1-2]-gpu"),
            [named("r1-gpu", None), named("r2-gpu", None)]
        );
    }

    #[test]
    fn host_files_are_read_in_all_forms() {
        assert_eq!(
            file("a slots=4\nb slots=2 max_slots=8\n"),
            [named("a", Some(4)), named("b", Some(2))]
        );
        assert_eq!(
            file("a:2\r\nb:3"),
            [named("a", Some(2)), named("b", Some(3))]
        );
        assert_eq!(file("# all\n\n a  # one\na\n"), [named("a", Some(2))]);
        assert_eq!(
            file("a cpu=2 binding=none\nb user=joe"),
            [named("a", Some(2)), named("joe@b", None)]
        );
        assert_eq!(file("n[1-3] slots=2").len(), 3);
    }

    #[test]
    fn a_wrong_host_is_refused_with_its_reason() {
        let long = "x".repeat(300);
        let wrong = [
            "",
            "a,,b",
            ",",
            "-oProxyCommand=x",
            "a b",
            "$(touch Z)",
            "a;b",
            "a\nb",
            "a\0",
            "höst",
            "`x`",
            "a/b",
            "a:0",
            "a:-1",
            "a:x",
            "a:",
            "a:1:2",
            "a:99999999999",
            "me@-x",
            "@a",
            "me@",
            "a@b@c",
            "n[",
            "n[]",
            "n[1",
            "n[2-1]",
            "n[a-b]",
            "n[1-9999999]",
            "[x]",
            "n]",
            "n[1][2]",
            "'a'",
            "a\\b",
            &long,
        ];
        for text in wrong {
            let failure = parse_list(text).unwrap_err();
            assert_eq!(failure.code, 2, "{text:?}");
            assert!(!failure.text.contains('\n'), "{text:?}: {failure}");
        }
    }

    #[test]
    fn a_wrong_line_is_named_by_number() {
        let wrong: [(&[u8], &str); 8] = [
            (b"a\nb slots=-1\n", "f:2: "),
            (b"a\nb slots=x", "f:2: "),
            (b"a\n\n#\nb c", "f:4: "),
            (b"a slotz=2", "f:1: unknown key 'slotz'"),
            (b"a\0b", "f:1: "),
            (b"\xff\xfe", "f:1: it is not text"),
            (b"a user=-x", "f:1: "),
            (b"", "host file f: it names no host"),
        ];
        for (text, start) in wrong {
            let failure = parse_file(text, "f").unwrap_err();
            assert!(failure.text.starts_with(start), "{text:?}: {failure}");
        }
    }

    #[test]
    fn a_file_of_100_000_lines_is_read_quickly() {
        let text: String = (0..HOSTS_MAX).map(|i| format!("n{i} slots=2\n")).collect();
        assert_eq!(file(&text).len(), HOSTS_MAX);
        assert!(parse_file((text + "more").as_bytes(), "f").is_err());
    }

    proptest! {
        #[test]
        fn no_accepted_name_can_be_an_option_or_shell_text(text in "\\PC{0,40}") {
            for host in parse_list(&text).unwrap_or_default() {
                prop_assert!(!host.name.is_empty() && !host.name.starts_with('-'));
                let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.:@%-".contains(c);
                prop_assert!(host.name.chars().all(is_plain));
                prop_assert!(host.slots != Some(0));
            }
        }

        #[test]
        fn any_bytes_are_a_host_file_or_a_failure_in_one_line(bytes: Vec<u8>) {
            if let Err(failure) = parse_file(&bytes, "f") {
                prop_assert!(!failure.text.chars().any(char::is_control));
            }
        }

        #[test]
        fn slots_of_plain_names_survive(slots in 1..=RANKS_MAX, name in "[a-z][a-z0-9.]{0,20}") {
            let hosts = parse_list(&format!("{name}:{slots}")).unwrap();
            prop_assert_eq!(hosts, vec![Host { name, slots: Some(slots) }]);
        }
    }
}
