//! Another host that reports what cannot be, or more than it may: the job fails and names it.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::time::Duration;

use crate::common::{Scratch, mpirun, mpirun_by};
use launcher::pmi::{Ask, Event};
use launcher::wire::{Answer, Ended, Known, MAGIC, OUTPUT_WINDOW, Report, Stream};
use mpi_boot::protocol::{CARD_MAX, encode};
use serde_bytes::ByteBuf;

fn ready() -> Report {
    Report::Ready {
        version: env!("CARGO_PKG_VERSION").into(),
        known: Known::default(),
    }
}

fn started(rank: u32) -> Report {
    Report::Started { rank, pid: 4711 }
}

fn ended(rank: u32) -> Report {
    let ended = Ended::Exited(0);
    Report::Ended { rank, ended }
}

fn card(rank: u32) -> Report {
    let card = ByteBuf::from([1, 2]);
    Report::Card { rank, card }
}

fn loss(lost: u32) -> Report {
    let reason = "no answer".into();
    Report::Loss {
        rank: 0,
        lost,
        reason,
    }
}

fn failure() -> Report {
    let reason = "no answer".into();
    Report::Failure { rank: 0, reason }
}

fn blocked() -> Report {
    let blocked_ms = 2000;
    Report::Blocked {
        rank: 0,
        blocked_ms,
    }
}

fn described(question: u32) -> Report {
    let answer = Answer::State(Box::default());
    Report::Described {
        rank: 0,
        question,
        answer,
    }
}

fn of_pmi(event: Event) -> Report {
    Report::Pmi { rank: 0, event }
}

fn output(rank: u32, bytes: Vec<u8>) -> Report {
    Report::Output {
        rank,
        stream: Stream::Output,
        bytes: ByteBuf::from(bytes),
    }
}

fn bytes_of(reports: &[Report]) -> Vec<u8> {
    let frames = reports
        .iter()
        .flat_map(|report| encode(report).expect("it is short"));
    frames.collect()
}

/// An "ssh" that says it is ready, waits for the order to start, and sends these bytes; `then` is
/// the rest of its script.
fn host_that_sends(scratch: &Scratch, bytes: &[u8], then: &str) -> std::path::PathBuf {
    let hello = [MAGIC, &bytes_of(&[ready()])].concat();
    let hello = scratch.write("hello", hello, 0o644);
    let sent = scratch.write("sent", bytes, 0o644);
    let script = format!(
        "#!/bin/sh\ncat {}\nhead -c 4 >/dev/null\ncat {}\n{then}\n",
        hello.display(),
        sent.display()
    );
    scratch.write("ssh", script, 0o755)
}

/// Waits for the end of its input, as an agent does whose ranks run.
const STAY: &str = "exec cat >/dev/null";

#[test]
fn ranks_that_have_not_ended_when_their_host_is_quiet_are_lost() {
    let scratch = Scratch::new();
    let reports = [
        vec![Report::Quiet],
        vec![started(0), started(1), Report::Quiet],
        vec![started(0), started(1), ended(0), Report::Quiet],
    ];
    for reports in reports {
        let ssh = host_that_sends(&scratch, &bytes_of(&reports), STAY);
        let lost = if reports.contains(&ended(0)) {
            "rank 1"
        } else {
            "ranks 0 and 1"
        };
        mpirun(&["-n", "2", "--host", "other:2", "./nosuch"])
            .env("MPILITE_SSH", ssh)
            .run()
            .fails_with(125, &["host other", lost, "never reported how"]);
    }
}

/// Runs a job on a host that sends these reports of one rank, and asserts that it fails with a line
/// about the host.
fn cannot_be(what: &str, reports: &[Report]) {
    let scratch = Scratch::new();
    let ssh = host_that_sends(&scratch, &bytes_of(reports), STAY);
    let outcome = mpirun(&["-n", "1", "--host", "other", "./nosuch"])
        .env("MPILITE_SSH", ssh)
        .run();
    assert_eq!(outcome.code, 125, "{what}: {outcome:?}");
    outcome.fails_with(125, &["host other", "an impossible report"]);
}

#[test]
fn a_step_of_a_rank_that_is_out_of_order_fails_the_job_and_names_the_host() {
    let init = || Report::Init { rank: 0 };
    let finalized = || Report::Finalized { rank: 0 };
    let quiet = || Report::Quiet;
    let impossible = [
        ("started twice", vec![started(0), started(0)]),
        ("started rank 7", vec![started(7)]),
        ("ended before", vec![ended(0), started(0), quiet()]),
        ("ended twice", vec![started(0), ended(0), ended(0)]),
        ("Init before", vec![init(), started(0), ended(0), quiet()]),
        ("Init twice", vec![started(0), init(), init()]),
        ("card", vec![started(0), card(0)]),
        (
            "two cards",
            vec![started(0), init(), card(0), card(0), card(0)],
        ),
        (
            "Finalize without Init",
            vec![started(0), finalized(), ended(0), quiet()],
        ),
        ("a loss before Init", vec![started(0), loss(0)]),
        ("a failure before Init", vec![started(0), failure()]),
        ("blocked before Init", vec![started(0), blocked()]),
        (
            "blocked twice",
            vec![started(0), init(), blocked(), blocked()],
        ),
        (
            "resumed without a block",
            vec![started(0), init(), Report::Resumed { rank: 0 }],
        ),
        (
            "a block of another host's rank",
            vec![started(0), init(), Report::Resumed { rank: 1 }],
        ),
        (
            "described without a question",
            vec![started(0), init(), described(1)],
        ),
        (
            "described for no question",
            vec![started(0), init(), described(0)],
        ),
        (
            "stopped at once",
            vec![started(0), Report::Stopped { rank: 0 }],
        ),
    ];
    for (what, reports) in impossible {
        cannot_be(what, &reports);
    }
}

#[test]
fn a_step_of_pmi_that_is_out_of_order_or_too_long_fails_the_job_and_names_the_host() {
    let init = || of_pmi(Event::Init);
    let fence = |puts| of_pmi(Event::Fence(puts));
    let put = |key: &str, bytes: usize| (key.to_string(), "v".repeat(bytes));
    let name = "s".repeat(1000);
    let abort = Event::Abort {
        code: 1,
        message: String::new(),
    };
    let impossible = [
        ("Init twice", vec![init(), init()]),
        ("a fence before Init", vec![fence(vec![])]),
        ("Finalize before Init", vec![of_pmi(Event::Finalized)]),
        ("an abort before Init", vec![of_pmi(abort)]),
        ("a long value", vec![init(), fence(vec![put("k", 1025)])]),
        (
            "a long key",
            vec![init(), fence(vec![put(&"k".repeat(65), 1)])],
        ),
        ("a reserved key", vec![init(), fence(vec![put("PMI_x", 1)])]),
        (
            "too many puts",
            vec![init(), fence(vec![put("k", 1000); 300])],
        ),
        (
            "a long name",
            vec![init(), of_pmi(Event::Name(Ask::Lookup(name)))],
        ),
    ];
    for (what, reports) in impossible {
        cannot_be(what, &[vec![started(0)], reports].concat());
    }
}

#[test]
fn the_loss_of_a_rank_that_does_not_exist_fails_the_job_and_names_the_host() {
    for lost in [1, u32::MAX] {
        let reports = [started(0), Report::Init { rank: 0 }, loss(lost)];
        cannot_be("a loss", &reports);
    }
}

#[test]
fn a_report_that_a_host_may_not_make_fails_the_job_and_names_the_host() {
    let silent = Report::Silent(Duration::from_secs(1));
    let lost = Report::Lost { reason: "x".into() };
    let unreached = Report::Unreached {
        reason: "x".into(),
        patience: Duration::from_secs(1),
    };
    let after_quiet = [ended(0), Report::Quiet, output(0, vec![b'x'])];
    let impossible = [
        ("a second Ready", vec![ready()]),
        ("empty output", vec![started(0), output(0, vec![])]),
        ("output before", vec![output(0, vec![b'x'])]),
        (
            "input of nobody",
            vec![started(0), Report::InputTaken(1 << 40)],
        ),
        ("a report of mpirun", vec![silent]),
        (
            "a signal that no agent hears",
            vec![Report::Signalled { signal: 9 }],
        ),
        ("a report of mpirun", vec![lost]),
        ("a report of mpirun", vec![unreached]),
        (
            "more after Quiet",
            [vec![started(0)], after_quiet.to_vec()].concat(),
        ),
    ];
    for (what, reports) in impossible {
        cannot_be(what, &reports);
    }
}

#[test]
fn the_reports_of_a_right_host_are_believed() {
    let scratch = Scratch::new();
    let reports = [
        started(0),
        Report::Init { rank: 0 },
        card(0),
        output(0, b"yes\n".to_vec()),
        Report::Finalized { rank: 0 },
        ended(0),
        Report::Quiet,
        Report::Pong,
    ];
    let ssh = host_that_sends(&scratch, &bytes_of(&reports), STAY);
    let outcome = mpirun(&["-n", "1", "--host", "other", "./nosuch"])
        .env("MPILITE_SSH", ssh)
        .run();
    assert_eq!(outcome.succeeds().out(), "yes\n");
}

/// Runs its arguments and prints the greatest resident size of what it has waited for, in KiB.
const MEASURED: &str = "
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print('peak', peak, file=sys.stderr)
sys.exit(code)";

/// A job of one rank on a host that sends these reports for ever, while nobody reads the output.
/// Checks that `mpirun` cuts the host off, with a line of these words, and stays small.
fn is_cut_off(flood: &[Report], words: &str) {
    let scratch = Scratch::new();
    let endless = bytes_of(flood).repeat(1 + (1 << 20) / bytes_of(flood).len());
    let endless = scratch.write("endless", endless, 0o644);
    let flooding = format!("while cat {0}; do :; done", endless.display());
    let before = [started(0), Report::Init { rank: 0 }];
    let ssh = host_that_sends(&scratch, &bytes_of(&before), &flooding);
    let line = ["--stats", "-n", "1", "--host", "other", "./nosuch"];
    let mut job = mpirun_by(&["python3", "-c", MEASURED], &line).env("MPILITE_SSH", ssh);
    let command = job.command();
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("mpirun can be started");
    let mut errors = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    errors.read_line(&mut line).expect("a line");
    assert!(line.contains("host other"), "{line}");
    assert!(line.contains(words), "{line}");
    let mut output = Vec::new();
    let mut pipe = child.stdout.take().expect("a pipe");
    pipe.read_to_end(&mut output).expect("a pipe can be read");
    errors.read_to_string(&mut line).expect("the rest");
    assert_eq!(child.wait().expect("a child").code(), Some(125), "{line}");
    assert!(output.len() < 4 * OUTPUT_WINDOW, "{} bytes", output.len());
    let peak = line
        .trim_end()
        .rsplit_once("peak ")
        .expect("it is measured");
    let peak: u64 = peak.1.parse().expect("a number");
    assert!(peak < 64 << 10, "{peak} KiB");
}

#[test]
fn a_host_that_sends_more_output_than_the_window_is_cut_off() {
    let lines = output(0, b"flood\n".repeat(10_000));
    is_cut_off(&[lines], "more output than");
    is_cut_off(&[output(0, b"x".to_vec())], "more output than");
}

#[test]
fn a_host_that_sends_a_frame_that_no_report_needs_is_cut_off() {
    let frame = output(0, vec![b'x'; 4 << 20]);
    is_cut_off(&[frame], "a frame of");
}

#[test]
fn a_host_that_passes_on_a_long_card_is_named() {
    let scratch = Scratch::new();
    let card = ByteBuf::from(vec![1; CARD_MAX + 1]);
    let reports = [
        started(0),
        Report::Init { rank: 0 },
        Report::Card { rank: 0, card },
    ];
    let ssh = host_that_sends(&scratch, &bytes_of(&reports), STAY);
    let words = ["host other", "a card of 1025 bytes (1024 at most)"];
    mpirun(&["-n", "1", "--host", "other", "./nosuch"])
        .env("MPILITE_SSH", ssh)
        .run()
        .fails_with(125, &words);
}

#[test]
fn an_mpi_lite_of_another_version_is_named_at_once() {
    let scratch = Scratch::new();
    let ours = String::from_utf8_lossy(MAGIC);
    let ours = ours.rsplit(' ').next().expect("a version").trim_end();
    for (line, theirs) in [
        (r"\001mpi-lite agent 3\n", "3"),
        (
            r"Welcome\n\001mpi-lite agent 77\n\004\000\000\000\000",
            "77",
        ),
        (
            r"\001mpi-lite agent something that never ends its line",
            "something",
        ),
    ] {
        let script = format!("#!/bin/sh\nprintf '{line}'\nexec sleep 1000\n");
        let ssh = scratch.write("ssh", script, 0o755);
        let own = nix::unistd::gethostname().expect("we have a name");
        let words = [
            "host other",
            &format!("version {theirs}"),
            &format!("host {}", own.display()),
            &format!("version {ours} (mpi-lite "),
        ];
        mpirun(&["-n", "1", "--host", "other", "true"])
            .env("MPILITE_SSH", ssh)
            .run()
            .fails_with(125, &words);
    }
}
