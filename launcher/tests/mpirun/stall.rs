//! A job that hangs is reported, and so is any other when the user asks or its time is over.

use std::fs;
use std::path::Path;

use crate::common::{Mpirun, Outcome, Running, Scratch, mpirun, stall_rank, wait_until};

const HANGS: &str = "mpirun: the job hangs: no rank has gone on for ";
const ASKED: &str = "mpirun: what the ranks do (SIGQUIT)";
const TIME_IS_UP: &str = "mpirun: what the ranks do at the end of --timeout";

/// Far longer than a job needs to start.
const LIMITED: [&str; 4] = ["--stall", "off", "--timeout", "3"];

/// On this machine, and on two others. The jobs of a test mostly wait, so they run side by side.
const WHERE: [&[&str]; 2] = [&[], &["--host", "n1:1,n2:1"]];

/// Two ranks that are blocked; `mode` is what goes wrong, and in which rank.
fn job(options: &[&str], mode: &[&str]) -> Mpirun {
    let program = stall_rank();
    let options = [&["-n", "2", "--stall-after", "0.6"], options].concat();
    mpirun(&[&options[..], &[&program], mode].concat())
}

/// A job that is observed through its file of reports.
struct Watched {
    job: Running,
    scratch: Scratch,
}

impl Watched {
    fn start(options: &[&str], mode: &[&str]) -> Watched {
        let scratch = Scratch::new();
        let file = scratch.path().join("reports");
        let file = file.to_str().expect("a plain path");
        let options = [options, &["--stall-json", file]].concat();
        let job = job(&options, mode).over_fake_ssh().start();
        Watched { job, scratch }
    }

    #[track_caller]
    fn wait_for_reports(&self, number: usize) {
        wait_until("there are reports", || {
            (reports(&self.scratch.path().join("reports")) >= number).then_some(())
        });
    }

    /// Asks what the ranks do, and waits for the report of that number.
    #[track_caller]
    fn ask(&self, number: usize) {
        self.job.signal("QUIT");
        self.wait_for_reports(number);
    }

    /// Ends the job.
    fn end(self) -> Outcome {
        self.job.signal("TERM");
        let outcome = self.job.finish();
        assert_eq!(outcome.code, 143, "{outcome:?}");
        outcome
    }
}

fn reports(file: &Path) -> usize {
    fs::read_to_string(file).map_or(0, |text| text.matches('\n').count())
}

/// How many lines of standard error begin so.
fn times(outcome: &Outcome, wanted: &str) -> usize {
    outcome
        .stderr
        .lines()
        .filter(|line| line.starts_with(wanted))
        .count()
}

#[test]
fn a_job_that_hangs_is_reported_once_and_a_line_reports_that_it_goes_on() {
    for job in WHERE.map(|options| Watched::start(options, &["resume", "1"])) {
        job.wait_for_reports(1);
        job.ask(2);
        let outcome = job.end();
        let goes_on = "mpirun: rank 1 goes on; the job is no longer stalled";
        let lines: Vec<&str> = outcome.stderr.lines().collect();
        let place = |wanted: &str| lines.iter().position(|line| line.starts_with(wanted));
        let places = [HANGS, goes_on, ASKED].map(place);
        assert!(places[0].is_some() && places.is_sorted(), "{outcome:?}");
        for line in [HANGS, goes_on, ASKED] {
            assert_eq!(times(&outcome, line), 1, "{outcome:?}");
        }
    }
}

#[test]
fn a_job_with_a_rank_at_work_does_not_hang() {
    let modes = [["work", "1"], ["compute", "1"]];
    for running in modes.map(|mode| job(&LIMITED[2..], &mode).start()) {
        let outcome = running.finish();
        assert_eq!(outcome.code, 124, "{outcome:?}");
        assert_eq!(times(&outcome, HANGS), 0, "{outcome:?}");
        assert_eq!(times(&outcome, TIME_IS_UP), 1, "{outcome:?}");
    }
}

#[test]
fn each_quit_signal_is_one_report_and_the_job_goes_on() {
    // Each answer for one that is deaf takes a second.
    let jobs = [("block", 10), ("deaf", 3), ("other-question", 10)];
    let jobs = jobs.map(|(mode, signals)| (Watched::start(&[], &[mode]), signals));
    jobs.iter().for_each(|(job, _)| job.wait_for_reports(1));
    for number in 1..=10 {
        let asked = || jobs.iter().filter(|(_, signals)| number <= *signals);
        asked().for_each(|(job, _)| job.job.signal("QUIT"));
        asked().for_each(|(job, _)| job.wait_for_reports(1 + number));
    }
    for (job, signals) in jobs {
        let outcome = job.end();
        assert_eq!(times(&outcome, ASKED), signals, "{outcome:?}");
        assert_eq!(times(&outcome, HANGS), 1, "{outcome:?}");
    }
}

/// A scheduler signals all processes of a job, agents among them.
#[test]
fn a_quit_signal_to_an_agent_is_a_report_and_the_job_goes_on() {
    let (mark, scratch) = (crate::common::unique_sleep(), Scratch::new());
    let file = scratch.path().join("reports");
    let script = format!("trap 'kill $!; exit 0' USR1; sleep {mark} & echo $PPID > agent; wait");
    let mut run = mpirun(&["-n", "1", "--host", "n1", "sh", "-c", &script])
        .over_fake_ssh()
        .directory(scratch.path());
    let errors = fs::File::create(&file).unwrap();
    let mut child = run.command().stderr(errors).spawn().unwrap();
    crate::common::wait_for_sleepers(&mark, 1);
    let agent = scratch.path().join("agent");
    let agent = wait_until("the rank names its agent", || {
        fs::read_to_string(&agent).ok()?.trim().parse().ok()
    });
    crate::common::signal_process(agent, "QUIT");
    wait_until("there is a report", || (reports(&file) >= 1).then_some(()));
    crate::common::signal_process(child.id(), "USR1");
    let status = wait_until("mpirun ends", || child.try_wait().unwrap());
    assert_eq!(status.code(), Some(0));
    assert!(fs::read_to_string(&file).unwrap().starts_with(ASKED));
}

#[test]
fn a_program_without_mpi_is_reported_as_one() {
    let mark = crate::common::unique_sleep();
    let scratch = Scratch::new();
    let file = scratch.path().join("reports");
    let line = [
        "-n",
        "1",
        "--stall-json",
        file.to_str().unwrap(),
        "sleep",
        &mark,
    ];
    let running = mpirun(&line).start();
    crate::common::wait_for_sleepers(&mark, 1);
    running.signal("QUIT");
    wait_until("there is a report", || (reports(&file) == 1).then_some(()));
    running.signal("TERM");
    let outcome = running.finish();
    let lines = [ASKED, "mpirun: rank 0: has not called MPI_Init"];
    assert_eq!(outcome.stderr.lines().collect::<Vec<_>>(), lines);
    assert_eq!(outcome.code, 143);
}

#[test]
fn a_rank_that_does_not_answer_is_named_after_a_second() {
    let modes = ["silent", "deaf"];
    let jobs = WHERE.map(|options| modes.map(|mode| Watched::start(options, &[mode, "1"])));
    let jobs: Vec<Watched> = jobs.into_iter().flatten().collect();
    for job in &jobs {
        job.wait_for_reports(1);
        job.job.signal("QUIT");
    }
    for job in jobs {
        job.wait_for_reports(2);
        let outcome = job.end();
        let named = "mpirun: rank 1: does not answer (state S, ";
        let lines = outcome.stderr.lines();
        let lines: Vec<&str> = lines.filter(|line| line.starts_with(named)).collect();
        assert_eq!(lines.len(), 2, "{outcome:?}");
        for line in lines {
            // `0 ms of processor time in 1000 ms)`
            let waited = line
                .strip_suffix(" ms)")
                .and_then(|line| line.rsplit_once(' '));
            let waited: Option<u64> = waited.and_then(|(_, ms)| ms.parse().ok());
            assert!(waited.is_some_and(|ms| ms >= 1000), "{line}");
        }
    }
}

#[test]
fn a_rank_that_is_stopped_is_named_as_such() {
    for job in WHERE.map(|options| Watched::start(options, &["stop", "1"])) {
        job.wait_for_reports(1);
        let outcome = job.end();
        let named = times(&outcome, "mpirun: rank 1: is stopped (state T) for ");
        assert_eq!(named, 1, "{outcome:?}");
    }
}

#[test]
fn what_the_ranks_do_is_printed_before_the_time_limit_ends_them() {
    let mut jobs = Vec::new();
    for hosts in WHERE {
        for mode in ["block", "silent"] {
            let options = [hosts, &LIMITED].concat();
            jobs.push(job(&options, &[mode, "1"]).over_fake_ssh().start());
        }
    }
    for running in jobs {
        let outcome = running.finish();
        assert_eq!(outcome.code, 124, "{outcome:?}");
        let lines: Vec<&str> = outcome.stderr.lines().collect();
        let last = "mpirun: the job still runs after 3 s (--timeout); ending it";
        let ends = (lines.first(), lines.last());
        assert_eq!(ends, (Some(&TIME_IS_UP), Some(&last)), "{outcome:?}");
        assert!(lines.len() > 2, "{outcome:?}");
    }
}

#[test]
fn a_job_that_hangs_is_ended_if_the_user_wants_that() {
    let by_option = job(&["--stall=abort"], &["block"]).start();
    let by_variable = job(&[], &["block"]).env("MPILITE_STALL", "abort").start();
    for (running, asked) in [
        (by_option, "--stall abort"),
        (by_variable, "MPILITE_STALL=abort"),
    ] {
        let outcome = running.finish();
        assert_eq!(outcome.code, 123, "{outcome:?}");
        let last = format!("mpirun: ending the job ({asked})");
        assert_eq!(outcome.stderr.lines().last(), Some(&*last), "{outcome:?}");
        assert_eq!(times(&outcome, HANGS), 1, "{outcome:?}");
    }
}

#[test]
fn a_job_that_hangs_is_not_reported_if_the_user_wants_that() {
    let outcome = job(&LIMITED, &["block"]).run();
    assert_eq!(outcome.code, 124, "{outcome:?}");
    assert_eq!(times(&outcome, HANGS), 0, "{outcome:?}");
    assert_eq!(times(&outcome, TIME_IS_UP), 1, "{outcome:?}");
}

#[test]
fn a_job_that_ends_while_it_is_asked_ends_as_ever() {
    job(&[], &["leave"]).run().succeeds();
}

#[test]
fn a_rank_that_answers_what_cannot_be_fails_the_job_and_is_named() {
    let wrong = [
        ("threads", "described 33 threads (32 at most)"),
        ("long", "bytes (65536 at most)"),
        ("garbage", "sent a frame of"),
        ("blocked-twice", "was blocked already"),
    ];
    let jobs = wrong.map(|(mode, words)| (job(&[], &[mode, "1"]).start(), words));
    for (running, words) in jobs {
        running.finish().fails_with(1, &["rank 1 (pid ", words]);
    }
}

#[test]
fn wrong_wishes_are_refused_before_anything_starts() {
    for (options, words) in [
        (
            ["--stall", "maybe"],
            "--stall maybe: expected report, abort or off",
        ),
        (
            ["--stall-after", "0.4"],
            "--stall-after needs a number of seconds, 0.5 or more, not '0.4'",
        ),
        (
            ["--stall-json", "/nowhere/reports"],
            "--stall-json /nowhere/reports: No such file",
        ),
    ] {
        let line = [&options[..], &["-n", "1", "true"]].concat();
        mpirun(&line).run().fails_with(2, &[words]);
    }
    mpirun(&["-n", "1", "true"])
        .env("MPILITE_STALL", "maybe")
        .run()
        .fails_with(2, &["MPILITE_STALL=maybe: expected report, abort or off"]);
}
