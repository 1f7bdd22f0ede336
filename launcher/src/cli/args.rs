//! The command line of `mpirun`.
//!
//! Every long option may be written with one dash or two. The first word that is no option is the
//! program; `--` ends the options before it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use crate::cli::foreign::{self, Found};
use crate::cli::mca::{self, Parameter};
use crate::cli::nearest::nearest;
use crate::cli::network;
use crate::cli::options::{Entry, Meaning, OPTIONS, Value, dashed, find};
use crate::cli::part::Reader;
use crate::cli::request::{Options, Request};
use crate::cli::times;
use crate::cli::values::{Launcher, Mapping, Readers, Stats};
use crate::cli::words::{self, WHOLE_NUMBER, absolute, needs, text};
use crate::failure::{Failure, printable};
use crate::job::environment::{Base, Export};
use crate::job::hosts;
use crate::reports::stall::settings as stall;

/// Reads the arguments of `mpirun`, without its own name.
///
/// # Errors
///
/// A usage failure that names the option and what it needs.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Request, Failure> {
    let mut words = Reader::new(arguments.into_iter());
    let mut options = Options::default();
    if let Some(request) = options.read(&mut words, &|_| true)? {
        return Ok(request);
    }
    options.part.arguments = words.rest_of_part();
    let general = std::mem::take(&mut options.part);
    match options.app_file.clone() {
        Some(file) => options.read_app_file(&file, &general)?,
        None => options.read_programs(words, general)?,
    }
    options.check()?;
    Ok(Request::Run(Box::new(options)))
}

/// The bytes behind the dashes, if the word is an option.
fn as_option(word: &OsStr) -> Option<&[u8]> {
    let bytes = word.as_bytes();
    let option = bytes.strip_prefix(b"-")?;
    let option = option.strip_prefix(b"-").unwrap_or(option);
    (!option.is_empty()).then_some(option)
}

/// An option's name for messages, its entry, and the value behind `=`.
pub(crate) type Identified = (String, &'static Entry, Option<OsString>);

fn identify(option: &[u8], word: &OsStr) -> Result<Identified, Failure> {
    let (name, attached) = match option.iter().position(|byte| *byte == b'=') {
        None => (option, None),
        Some(at) => (
            &option[..at],
            Some(OsString::from_vec(option[at + 1..].to_vec())),
        ),
    };
    let name = String::from_utf8_lossy(name);
    if let Some(entry) = find(&name) {
        return Ok((dashed(&name), entry, attached));
    }
    let shown = printable(&word.to_string_lossy());
    // The agent is for ourselves.
    let entries = OPTIONS.iter().filter(|it| it.meaning != Meaning::Agent);
    let names = entries.flat_map(|entry| entry.names.iter().copied());
    let known = names.filter(|known| known.len() > 1);
    let meant = match (with_attached_number(&name), nearest(&name, known)) {
        (Some(known), _) => format!("did you mean {known}?"),
        (None, Some(known)) => format!("did you mean {}?", dashed(known)),
        (None, None) => "see mpirun --help".to_string(),
    };
    Err(Failure::usage(format!("unknown option {shown}; {meant}")))
}

/// `-n 2` for `n2`: an option that takes a number, with the number written to it.
fn with_attached_number(name: &str) -> Option<String> {
    let option = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = &name[option.len()..];
    let entry = find(option)?;
    let takes_number = matches!(entry.meaning, Meaning::Ranks | Meaning::PerNode);
    (takes_number && !number.is_empty()).then(|| format!("{} {number}", dashed(option)))
}

fn values_of(
    name: &str,
    entry: &Entry,
    attached: Option<OsString>,
    words: &mut impl Iterator<Item = OsString>,
) -> Result<Vec<OsString>, Failure> {
    let needed = entry.words();
    if attached.is_some() && entry.value == Value::Nothing {
        return Err(Failure::usage(format!("option {name} takes no value")));
    }
    let mut values: Vec<OsString> = attached.into_iter().collect();
    while values.len() < needed {
        let value = words.next().ok_or_else(|| match entry.meaning {
            Meaning::Ranks => Failure::usage(format!("{name} needs {WHOLE_NUMBER}")),
            _ => Failure::usage(format!("option {name} needs a value")),
        })?;
        values.push(value);
    }
    Ok(values)
}

impl Options {
    /// Reads options up to the program, and its name. Returns the request if it is to do something
    /// else than to run a job.
    pub(crate) fn read(
        &mut self,
        words: &mut impl Iterator<Item = OsString>,
        may_come: &dyn Fn(&Entry) -> bool,
    ) -> Result<Option<Request>, Failure> {
        let mut seen: Vec<Meaning> = Vec::new();
        while let Some(word) = words.next() {
            if word == "--" {
                self.part.program = words.next().unwrap_or_default();
                break;
            }
            let Some(option) = as_option(&word) else {
                self.part.program = word;
                break;
            };
            let found = foreign::find(option);
            let is_fixed = found.as_ref().is_some_and(Found::has_fixed_value);
            let identified = match found {
                Some(found) => self.read_foreign(found, words)?,
                None => Some(identify(option, &word)?),
            };
            let Some((name, entry, attached)) = identified else {
                continue;
            };
            let meaning = entry.meaning;
            if !may_come(entry) {
                return Err(Failure::usage(format!(
                    "option {name} is for the whole job: give it before the first program"
                )));
            }
            if seen.contains(&meaning) && !entry.repeats() && !is_fixed {
                return Err(Failure::usage(format!("option {name} is given twice")));
            }
            if !is_fixed {
                seen.push(meaning);
            }
            let values = values_of(&name, entry, attached, words)?;
            match meaning {
                Meaning::Help => return Ok(Some(Request::Help)),
                Meaning::Version => return Ok(Some(Request::Version)),
                Meaning::Info => return Ok(Some(Request::Info)),
                Meaning::Agent => return Ok(Some(Request::Agent)),
                Meaning::Mca => self.mca(&name, text(&values[0], &name)?, text(&values[1], &name)?),
                Meaning::GlobalEnv => self.exports.push(pair(&values, &name)?),
                Meaning::Env => self.part.exports.push(pair(&values, &name)?),
                _ => self.set(meaning, values.last().map_or(OsStr::new(""), |v| v), &name)?,
            }
        }
        Ok(None)
    }

    fn set(&mut self, meaning: Meaning, value: &OsStr, name: &str) -> Result<(), Failure> {
        match meaning {
            Meaning::Ranks => self.ranks = Some(words::number(value, name)?),
            Meaning::PerNode => self.mapping = Mapping::PerNode(words::number(value, name)?),
            Meaning::Host => self.hosts.extend(hosts::parse_list(text(value, name)?)?),
            Meaning::HostFile => self.host_file = Some(PathBuf::from(value)),
            Meaning::Export => self.part.exports.push(parse_export(value)?),
            Meaning::Directory => self.part.directory = Some(PathBuf::from(value)),
            Meaning::SearchPath => self.part.path = Some(value.into()),
            Meaning::EnvAll => self.part.base = Some(Base::All),
            Meaning::EnvNone => self.part.base = Some(Base::Nothing),
            Meaning::EnvList => self.part.base = Some(Base::listed(value)),
            Meaning::GlobalEnvAll => self.base = Base::All,
            Meaning::GlobalEnvNone => self.base = Base::Nothing,
            Meaning::GlobalEnvList => self.base = Base::listed(value),
            Meaning::App => self.app_file = Some(PathBuf::from(value)),
            Meaning::Transport => self.transport = Some(words::transport("--transport ", value)?),
            Meaning::Interface => self.interface = Some(text(value, name)?.to_string()),
            Meaning::PortRange => self.port_range = Some(words::port_range(value, name)?),
            Meaning::Launcher => {
                self.launcher = Some(Launcher::parse(name, text(value, name)?)?);
            }
            Meaning::LaunchFanout => self.launch_fanout = Some(words::fanout(value, name)?),
            Meaning::LaunchTimeout => self.launch_timeout = Some(words::time(value, name)?),
            Meaning::SshArguments => self.ssh_arguments = Some(text(value, name)?.to_string()),
            Meaning::Network => self.network = Some(network::parse("--net ", value)?),
            Meaning::TagOutput => self.style.has_tags = true,
            Meaning::TimestampOutput => self.style.has_stamps = true,
            Meaning::MergeErrors => self.style.merges_errors = true,
            Meaning::OutputDirectory => self.output(value, name)?,
            Meaning::Stdin => self.readers = Readers::parse(text(value, name)?)?,
            Meaning::Prefix => self.prefix = Some(absolute(value, name)?),
            Meaning::Preload => self.preloads = true,
            Meaning::Stats => self.stats = Some(Stats::of(value)),
            Meaning::Secure => self.secure = Some(words::secure_of_option(value)?),
            Meaning::Timeout => self.timeout = Some(words::time(value, name)?),
            Meaning::Grace => self.grace = Some(times::parse_grace(value, name)?),
            Meaning::Stall => self.stall = Some(stall::policy("--stall ", value)?),
            Meaning::StallAfter => self.stall_after = Some(stall::after(value, name)?),
            Meaning::StallJson => self.stall_json = Some(PathBuf::from(value)),
            Meaning::Packets => self.packets = Some(PathBuf::from(value)),
            Meaning::Sequence => self.sequence = Some(PathBuf::from(value)),
            Meaning::SequencePackets => self.sequence_packets = Some(words::number(value, name)?),
            Meaning::Oversubscribe => self.oversubscribes = true,
            Meaning::NoOversubscribe => self.refuses_oversubscription = true,
            Meaning::ByNode => self.mapping = Mapping::ByNode,
            Meaning::BySlot => self.mapping = Mapping::BySlot,
            Meaning::MapBy => self.map_by(text(value, name)?)?,
            Meaning::BindTo => self.bind_to(text(value, name)?)?,
            Meaning::RankBy => self.rank_by(text(value, name)?)?,
            Meaning::ReportBindings => self.reports_bindings = true,
            Meaning::Verbose => self.is_verbose = true,
            Meaning::DisplayMap => self.shows_map = true,
            Meaning::Display => self.display(text(value, name)?)?,
            Meaning::Mca | Meaning::Ignored | Meaning::Env | Meaning::GlobalEnv => {}
            Meaning::Help | Meaning::Version | Meaning::Info | Meaning::Agent => {}
        }
        Ok(())
    }

    /// `--display`.
    fn display(&mut self, value: &str) -> Result<(), Failure> {
        for word in value.split(',') {
            match word {
                "map" | "allocation" => self.shows_map = true,
                "bind" => self.reports_bindings = true,
                _ => {
                    let shown = printable(value);
                    return Err(Failure::usage(format!(
                        "--display {shown}: expected map, allocation or bind"
                    )));
                }
            }
        }
        Ok(())
    }

    fn mca(&mut self, name: &str, key: &str, value: &str) {
        let note = match mca::meaning(name, key, value) {
            Parameter::Interface(asked, note) => {
                self.mca_interface = Some(asked);
                note
            }
            Parameter::DaemonInterface(asked, note) => {
                self.mca_interface.get_or_insert(asked);
                note
            }
            Parameter::Noted(note) => Some(note),
            Parameter::Ignored => None,
        };
        self.notes.extend(note);
    }

    /// A directory; or a list of words of Open MPI for how the output looks.
    fn output(&mut self, value: &OsStr, name: &str) -> Result<(), Failure> {
        let mut style = self.style;
        let mut directory = None;
        for word in value.as_bytes().split(|byte| *byte == b',') {
            match word {
                b"tag" => style.has_tags = true,
                b"timestamp" => style.has_stamps = true,
                b"merge" => style.merges_errors = true,
                _ => match word.strip_prefix(b"dir=") {
                    Some(path) => directory = Some(PathBuf::from(OsStr::from_bytes(path))),
                    // Then it is a directory, whatever its name looks like.
                    None => {
                        self.output_directory = Some(PathBuf::from(value));
                        return match value.is_empty() {
                            true => Err(Failure::usage(format!("{name} needs a directory"))),
                            false => Ok(()),
                        };
                    }
                },
            }
        }
        self.style = style;
        self.output_directory = directory.or_else(|| self.output_directory.take());
        Ok(())
    }

    fn check(&self) -> Result<(), Failure> {
        self.binding()?;
        if self.sequence_packets.is_some() && self.sequence.is_none() {
            return Err(Failure::usage(
                "--sequence-packets needs --sequence FILE: the file that they are drawn to",
            ));
        }
        if self.oversubscribes && self.refuses_oversubscription {
            return Err(Failure::usage(
                "give --oversubscribe or --nooversubscribe, not both",
            ));
        }
        if !self.hosts.is_empty() && self.host_file.is_some() {
            return Err(Failure::usage("give --host or --hostfile, not both"));
        }
        Ok(())
    }
}

/// The variable of `-env NAME VALUE`.
fn pair(values: &[OsString], name: &str) -> Result<Export, Failure> {
    let (variable, value) = (&values[0], &values[1]);
    if variable.is_empty() || variable.as_bytes().contains(&b'=') {
        let shown = printable(&variable.to_string_lossy());
        return Err(Failure::usage(format!(
            "{name} needs NAME VALUE, and '{shown}' is no name"
        )));
    }
    Ok((variable.clone(), Some(value.clone())))
}

fn parse_export(value: &OsStr) -> Result<Export, Failure> {
    let bytes = value.as_bytes();
    let (name, content) = match bytes.iter().position(|byte| *byte == b'=') {
        None => (bytes, None),
        Some(at) => (
            &bytes[..at],
            Some(OsString::from_vec(bytes[at + 1..].to_vec())),
        ),
    };
    if name.is_empty() {
        return Err(needs("-x", "NAME or NAME=VALUE", value));
    }
    Ok((OsStr::from_bytes(name).to_os_string(), content))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mpi_boot::config::PortRange;
    use mpi_boot::protocol::Secure;
    use mpi_boot::transports;

    use super::*;

    fn run(line: &str) -> Options {
        match parse(line.split(' ').map(OsString::from)) {
            Ok(Request::Run(options)) => *options,
            other => panic!("{line}: {other:?}"),
        }
    }

    fn refusal(line: &str) -> String {
        let failure = parse(line.split(' ').map(OsString::from)).unwrap_err();
        assert_eq!(failure.code, 2, "{line}");
        assert!(!failure.text.contains('\n'), "{line}");
        failure.text
    }

    #[test]
    fn every_spelling_of_the_number_of_ranks_is_understood() {
        for option in ["-n 3", "-np 3", "--np 3", "-c 3", "--n 3", "-n=3", "--np=3"] {
            assert_eq!(run(&format!("{option} a")).ranks, Some(3), "{option}");
        }
    }

    #[test]
    fn long_options_take_one_dash_or_two() {
        for dashes in ["-", "--"] {
            let options = run(&format!(
                "{dashes}host a:2,b {dashes}wdir /x {dashes}transport rmpp \
                 {dashes}tag-output {dashes}timeout 1.5 {dashes}oversubscribe p"
            ));
            assert_eq!(options.hosts.len(), 2);
            assert_eq!(options.programs[0].directory, Some(PathBuf::from("/x")));
            assert_eq!(options.transport.as_deref(), Some("rmpp"));
            assert!(options.style.has_tags && options.oversubscribes);
            assert_eq!(options.timeout, Some(Duration::from_millis(1500)));
        }
    }

    #[test]
    fn plain_secure_encrypts() {
        for (line, expected) in [
            ("p", None),
            ("--secure p", Some(Secure::Encrypt)),
            ("-secure=tag p", Some(Secure::Tag)),
            ("--secure=cookie --secure=encrypt p", Some(Secure::Encrypt)),
        ] {
            assert_eq!(run(line).secure, expected, "{line}");
        }
    }

    #[test]
    fn everything_behind_the_program_belongs_to_the_program() {
        let options = run("-n 2 prog -n 3 --help -- x");
        assert_eq!(options.programs[0].program, "prog");
        let arguments = &options.programs[0].arguments;
        assert_eq!(arguments, &["-n", "3", "--help", "--", "x"]);
        assert_eq!(run("-n 2 -- -odd x").programs[0].program, "-odd");
    }

    #[test]
    fn habits_from_other_launchers_are_accepted() {
        let options = run(
            "--allow-run-as-root --mca plm rsh --use-hwthread-cpus --bind-to none \
             --map-by slot:OVERSUBSCRIBE -np 2 p",
        );
        assert!(
            options.oversubscribes && options.notes.is_empty(),
            "{:?}",
            options.notes
        );
        assert_eq!(run("-ppn 2 p").mapping, Mapping::PerNode(2));
        assert_eq!(run("--map-by ppr:3:node p").mapping, Mapping::PerNode(3));
        assert_eq!(run("--map-by node p").mapping, Mapping::ByNode);
    }

    #[test]
    fn a_transport_that_is_chosen_for_open_mpi_is_ignored_with_a_note() {
        for (line, words) in [
            ("--mca btl tcp,self p", "--mca btl tcp,self"),
            ("--gmca pml ucx p", "--gmca pml ucx"),
            ("--mca mtl ^ofi p", "--mca mtl ^ofi"),
        ] {
            let note = " is ignored: mpi-lite chooses its transport (--transport)";
            assert_eq!(run(line).notes, [words.to_string() + note]);
        }
    }

    #[test]
    fn the_interface_of_open_mpi_for_messages_wins_over_that_for_its_daemons() {
        for line in [
            "--mca oob_tcp_if_include eth1 --mca btl_tcp_if_include eth0 p",
            "--mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth1 p",
        ] {
            let options = run(line);
            let asked = options.mca_interface.map(|asked| asked.to_string());
            assert_eq!(asked.as_deref(), Some("--mca btl_tcp_if_include eth0"));
            assert_eq!((options.interface, options.notes.len()), (None, 0));
        }
    }

    #[test]
    fn a_wrong_number_of_ranks_is_refused() {
        for value in [
            "0",
            "-3",
            "abc",
            "1000001",
            "99999999999",
            "1.5",
            "2x",
            "0x2",
        ] {
            let text = refusal(&format!("-n {value} p"));
            assert!(
                text.starts_with("-n needs a whole number from 1 to"),
                "{value}: {text}"
            );
        }
        assert!(refusal("-n").starts_with("-n needs a whole number"));
    }

    #[test]
    fn an_unknown_option_is_named_with_the_nearest_match() {
        let cases = [
            (
                "--hostfil x p",
                "unknown option --hostfil; did you mean --hostfile?",
            ),
            (
                "--tiemout 3 p",
                "unknown option --tiemout; did you mean --timeout?",
            ),
            (
                "--tag_output p",
                "unknown option --tag_output; did you mean --tag-output?",
            ),
            (
                "--frobnicate p",
                "unknown option --frobnicate; see mpirun --help",
            ),
            ("-z p", "unknown option -z; see mpirun --help"),
            ("-gpus 1 p", "unknown option -gpus; see mpirun --help"),
        ];
        for (line, expected) in cases {
            assert_eq!(refusal(line), expected);
        }
    }

    #[test]
    fn contradictions_and_missing_parts_are_refused() {
        let cases = [
            ("-n 2 -np 3 p", "option -np is given twice"),
            ("-n 2", "no program is named; see mpirun --help"),
            (
                "--host a --hostfile b p",
                "give --host or --hostfile, not both",
            ),
            ("--help=3 p", "option --help takes no value"),
            ("--host", "option --host needs a value"),
            (
                "--timeout soon p",
                "--timeout needs a number of seconds, not 'soon'",
            ),
            (
                "--timeout nan p",
                "--timeout needs a number of seconds, not 'nan'",
            ),
            (
                "--timeout -1 p",
                "--timeout needs a number of seconds, not '-1'",
            ),
            (
                "--transport ib p",
                "--transport ib: expected auto, shm, rmpp, gobackn, unet, sctp, tcp, tcp-trc or \
                 loopback",
            ),
            (
                "--secure=no p",
                "--secure=no: expected cookie, tag or encrypt",
            ),
            (
                "--port-range 5-4 p",
                "--port-range needs LOW-HIGH with ports from 1 to 65535, as 40000-40100, not '5-4'",
            ),
            (
                "--net loss=1%,delay=5 p",
                "--net delay=5: a time up to 60s is possible, as 5ms (units: ns, us, ms, s)",
            ),
            (
                "--net loss p",
                "--net \"loss\" is not NAME=VALUE, as in loss=1%,delay=5ms",
            ),
            ("-x =1 p", "-x needs NAME or NAME=VALUE, not '=1'"),
        ];
        for (line, expected) in cases {
            assert_eq!(refusal(line), expected);
        }
    }

    #[test]
    fn what_is_wrong_with_one_of_several_programs_names_its_part() {
        let cases = [
            (
                "-n 1 a : -n 1 b : ",
                "part 3 of the command line: no program is named",
            ),
            (
                "-n 1 a : : -n 1 b",
                "part 2 of the command line: no program is named",
            ),
            (
                "-n 1 : -n 1 b",
                "part 1 of the command line: no program is named",
            ),
            (
                "-n 1 a : -n 1 --wdri x b",
                "part 2 of the command line: unknown option --wdri; did you mean --wdir?",
            ),
            (
                "-n 1 a : -n 1 --stats b",
                "part 2 of the command line: option --stats is for the whole job: give it before \
                 the first program",
            ),
            (
                "-n 1 a : b",
                "part 2 of the command line: 'b' needs -n N: each of several programs has its own \
                 number of ranks",
            ),
            (
                "-n 600000 a : -n 600000 b",
                "the programs have 1200000 ranks together; 1000000 are possible",
            ),
            (
                "-genv A=1 2 p",
                "--genv needs NAME VALUE, and 'A=1' is no name",
            ),
            (
                "--app f p",
                "--app names the programs of the job: leave out 'p'",
            ),
        ];
        for (line, expected) in cases {
            assert_eq!(refusal(line), expected);
        }
    }

    #[test]
    fn no_spelling_belongs_to_two_options() {
        let mut all: Vec<_> = OPTIONS.iter().flat_map(|it| it.names).collect();
        all.sort_unstable();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn every_value_that_the_table_names_is_accepted_and_none_is_missing() {
        let choices = |name: &str| find(name).unwrap().choices().collect::<Vec<_>>();
        let transports: Vec<_> = transports::TRANSPORTS.iter().map(|it| it.name).collect();
        assert_eq!(choices("transport"), transports);
        for (option, glue) in [
            ("map-by", ' '),
            ("bind-to", ' '),
            ("rank-by", ' '),
            ("secure", '='),
        ] {
            for choice in choices(option) {
                let _ = run(&format!("--{option}{glue}{choice} p"));
            }
        }
        assert_eq!(choices("secure").len(), 3);
    }

    #[test]
    fn each_program_has_its_own_options_and_the_job_the_others() {
        let options = run(
            "-genv G 1 -genvlist HOME --host a,b -n 2 -wdir /x -env A 1 p q : \
             -n 3 --host c -path /y -envnone -x B=2 r : -n 1 s",
        );
        assert_eq!((options.ranks, options.hosts.len()), (Some(6), 2));
        assert_eq!(options.base, Base::Listed(vec!["HOME".into()]));
        assert_eq!(options.exports, [("G".into(), Some("1".into()))]);
        let [first, second, third] = &options.programs[..] else {
            panic!("{options:?}");
        };
        assert_eq!(
            (first.ranks, &*first.arguments),
            (Some(2), &["q".into()][..])
        );
        assert_eq!(first.exports, [("A".into(), Some("1".into()))]);
        assert_eq!((second.ranks, second.hosts.len()), (Some(3), 1));
        assert_eq!(second.exports, [("B".into(), Some("2".into()))]);
        assert_eq!(second.base, Some(Base::Nothing));
        assert_eq!(second.path, Some("/y".into()));
        assert_eq!((&third.directory, &third.exports), (&None, &vec![]));
        assert_eq!(options.exported("B").unwrap().1, Some("2".into()));
    }

    #[test]
    fn the_output_goes_to_a_directory_or_looks_as_its_words_say() {
        for line in ["--output d p", "--output-filename d p", "--output dir=d p"] {
            assert_eq!(run(line).output_directory, Some("d".into()), "{line}");
        }
        let options = run("--output tag,timestamp,merge p");
        let style = options.style;
        assert!(style.has_tags && style.has_stamps && style.merges_errors);
        assert_eq!(options.output_directory, None);
        let options = run("--output tag,other p");
        assert_eq!(options.output_directory, Some("tag,other".into()));
        assert!(!options.style.has_tags);
    }

    #[test]
    fn the_input_has_one_reader_or_all_or_none() {
        for (word, expected) in [
            ("0", Readers::One(0)),
            ("7", Readers::One(7)),
            ("all", Readers::All),
            ("none", Readers::None),
        ] {
            assert_eq!(run(&format!("--stdin {word} p")).readers, expected);
        }
        assert_eq!(run("p").readers, Readers::One(0));
        assert_eq!(
            refusal("--stdin -1 p"),
            "--stdin -1: expected a rank, `all` or `none`"
        );
    }

    #[test]
    fn a_range_of_ports_has_two_ends() {
        let range = run("--port-range 40000-40100 p").port_range;
        let (first, last) = (40000, 40100);
        assert_eq!(range, Some(PortRange { first, last }));
    }

    #[test]
    fn exported_values_are_kept_byte_for_byte() {
        let mut words = vec![OsString::from("-x")];
        words.push(OsString::from_vec(b"A=\xff=\n".to_vec()));
        words.extend(["-x", "B", "p"].map(OsString::from));
        let Request::Run(options) = parse(words).unwrap() else {
            panic!()
        };
        assert_eq!(
            options.programs[0].exports,
            [
                ("A".into(), Some(OsString::from_vec(b"\xff=\n".to_vec()))),
                ("B".into(), None),
            ]
        );
    }
}
