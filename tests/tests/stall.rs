//! A job that hangs gets a report with the reason; a slow job that is right gets none. The programs
//! are in `tests/c/stall`; each runs over shared memory, over RMPP, and some on two hosts.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use mpi_lite_tests::{Job, Running, Scratch, SshServer, build_with, c_source, prefix};
use rustix::process::Signal;

/// The options of the jobs: a stall is found after 0.6 s as a rule.
const ABORT: [&str; 2] = ["--stall", "abort"];
const STALL_AFTER: &str = "0.6";
const REPORT: [&str; 4] = ["--stall-after", STALL_AFTER, "--stall", "report"];
const OFF: [&str; 2] = ["--stall", "off"];

/// The exit status of a job that `--stall abort` has ended.
const STALLED: i32 = 123;
/// The exit status of a job that SIGTERM has ended.
const TERMINATED: i32 = 143;

/// The jobs mostly wait, so many of them run at the same time; with 24 on two cores the ones that
/// compute make hosts answer too late.
const AT_ONCE: usize = 12;
/// How long a report may take.
const DEADLINE: Duration = Duration::from_secs(60);

/// A report that has not come after this time is asked for again.
const AGAIN: Duration = Duration::from_secs(1);
/// The comment before the line that a report is to name.
const LINE_MARK: &str = "The test looks for this";

/// Which build of a deadlock runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Build {
    /// C with debug information.
    Debug,
    /// C without it.
    Plain,
    /// C with debug information and the static library.
    Static,
    Python,
}

/// When the report is made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Occasion {
    Stall,
    /// SIGQUIT: some rank does not wait in MPI, so there is no stall.
    Asked,
}

/// A deadlock and its report.
struct Deadlock {
    /// As `hang.c` calls it.
    name: &'static str,
    ranks: usize,
    reason: &'static str,
    /// Words; each item is in one line of the report.
    lines: Vec<Vec<String>>,
    build: Build,
    occasion: Occasion,
    is_over_ssh: bool,
    /// Seconds.
    stall_after: &'static str,
}

impl Deadlock {
    fn new(name: &'static str, ranks: usize, reason: &'static str) -> Self {
        Self {
            name,
            ranks,
            reason,
            lines: Vec::new(),
            build: Build::Debug,
            occasion: Occasion::Stall,
            is_over_ssh: false,
            stall_after: STALL_AFTER,
        }
    }

    fn over_ssh_too(mut self) -> Self {
        self.is_over_ssh = true;
        self
    }

    /// All threads are to wait by then, however busy the machine is.
    fn after(mut self, seconds: &'static str) -> Self {
        self.stall_after = seconds;
        self
    }

    fn asked(mut self) -> Self {
        self.occasion = Occasion::Asked;
        self
    }

    fn built(mut self, build: Build) -> Self {
        self.build = build;
        self
    }

    /// One line of the report has all these words.
    fn line(mut self, words: &[&str]) -> Self {
        self.lines
            .push(words.iter().map(|&word| word.into()).collect());
        self
    }

    /// The programs of this job and their words.
    fn command(&self, programs: &Programs) -> Vec<PathBuf> {
        let name = PathBuf::from(self.name);
        match self.build {
            Build::Debug => vec![programs.hang.get(&["-g"]), name],
            Build::Plain => vec![programs.plain.get(&[]), name],
            Build::Static => vec![programs.linked.get(&["-g", "-static-mpi"]), name],
            Build::Python => {
                let library = prefix().join("lib/libmpi_abi.so");
                vec!["python3".into(), c_source("tests/c/stall/hang.py"), library]
            }
        }
    }

    /// What is wrong with this report; `None` if nothing is.
    fn complaint(&self, stderr: &str) -> Option<String> {
        let lines: Vec<_> = stderr
            .lines()
            .map(|line| line.strip_prefix("mpirun: ").unwrap_or(line))
            .collect();
        let reason = format!("reason: {}", self.reason);
        if !lines.contains(&reason.as_str()) {
            return Some(format!("no line `{reason}`"));
        }
        let missing = self.lines.iter().find(|words| {
            let has_all = |line: &&str| words.iter().all(|word| line.contains(word.as_str()));
            !lines.iter().any(has_all)
        });
        missing.map(|words| format!("no line with {words:?}"))
    }

    /// Runs it into the deadlock, or asks for the report.
    fn check(&self, programs: &Programs, place: &str) -> Result<(), Failed> {
        let job = programs.mpirun(self.ranks, place);
        match self.occasion {
            Occasion::Stall => {
                let job = job.args(["--stall-after", self.stall_after]).args(ABORT);
                self.check_stall(job.args(self.command(programs)))
            }
            Occasion::Asked => self.check_asked(job.args(OFF).args(self.command(programs))),
        }
    }

    fn check_stall(&self, job: Job) -> Result<(), Failed> {
        let outcome = job.run();
        let count = |words: &str| outcome.stderr.matches(words).count();
        let complaint = if outcome.code != Some(STALLED) {
            Some(format!("the exit status is to be {STALLED}"))
        } else if count("the job hangs: no rank has gone on for ") != 1 {
            Some("one report is to be printed".to_owned())
        } else if count("mpirun: reason: ") != 1 {
            Some("one reason is to be printed".to_owned())
        } else {
            self.complaint(&outcome.stderr)
        };
        complaint.map_or(Ok(()), |what| {
            Err(format!("{what}: {}", outcome.report()).into())
        })
    }

    /// The ranks may have got to their waits, or into MPI, only after the first report, so it is
    /// made again. It comes in several pieces: it may be asked for once more than is needed.
    fn check_asked(&self, job: Job) -> Result<(), Failed> {
        let mut job = job.start();
        job.wait_for("ready", 1);
        let asked = Instant::now();
        while let Some(what) = self.complaint(&job.stderr()) {
            if asked.elapsed() > DEADLINE || !job.process().is_alive() {
                return Err(format!("{what}: {}", job.finish().report()).into());
            }
            let before = reports(&job);
            job.signal(Signal::QUIT);
            let again = Instant::now() + AGAIN;
            while reports(&job) == before && Instant::now() < again {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        job.signal(Signal::TERM);
        let outcome = job.finish().expect_code(TERMINATED);
        drop(outcome.expect_stderr("mpirun: what the ranks do (SIGQUIT)\n"));
        Ok(())
    }
}

/// How many reports a job has begun to print. One may have no reason.
fn reports(job: &Running) -> usize {
    job.stderr().matches("mpirun: what the ranks do").count()
}

/// The number of the line behind the mark.
fn marked_line(source: &str) -> usize {
    let text = std::fs::read_to_string(c_source(source)).expect("the source");
    let mark = text.lines().position(|line| line.contains(LINE_MARK));
    mark.expect("a mark") + 2
}

const RECV_RECV: &str = "rank 0 waits in MPI_Recv for rank 1, tag 7; \
     rank 1 waits in MPI_Recv for rank 0, tag 8: nobody sends";

/// The reports name the place in the program.
fn places() -> Vec<Deadlock> {
    let in_c = format!(
        ", at hang.c:{} in recv_recv",
        marked_line("tests/c/stall/hang.c")
    );
    let in_python = format!(
        " at hang.py:{} in wait_for_other",
        marked_line("tests/c/stall/hang.py")
    );
    let call = "rank 0: MPI_Recv(count=1, MPI_INT, source=1, tag=7, MPI_COMM_WORLD) for ";
    vec![
        Deadlock::new("recv_recv", 2, RECV_RECV)
            .line(&[call, &in_c])
            .line(&["rank 1: MPI_Recv(count=1, MPI_INT, source=0, tag=8,", &in_c])
            .over_ssh_too(),
        Deadlock::new("recv_recv", 2, RECV_RECV)
            .built(Build::Plain)
            .line(&[call, " at recv_recv+0x", " in stall.hang"])
            .over_ssh_too(),
        Deadlock::new("recv_recv", 2, RECV_RECV)
            .built(Build::Static)
            .line(&[
                "rank 0: MPI_Recv(4 bytes, source=1, tag=7, MPI_COMM_WORLD)",
                &in_c,
            ]),
        Deadlock::new("hang.py", 2, RECV_RECV)
            .built(Build::Python)
            .line(&[call, &in_python]),
    ]
}

fn unmatched_messages() -> Vec<Deadlock> {
    vec![
        Deadlock::new(
            "wrong_tag",
            2,
            "rank 0 waits in MPI_Recv for rank 1, tag 7; \
             rank 1 has sent it tag 8, which nobody received",
        )
        .line(&["  holds a message from rank 1, tag 8, 4 bytes, that nobody received"])
        .line(&["  nearly fits: the message from rank 1 has tag 8, not 7"])
        .over_ssh_too(),
        Deadlock::new(
            "wrong_communicator",
            2,
            "rank 0 waits in MPI_Recv for rank 1, tag 7; \
             rank 1 has sent it tag 7 on \"halo\", which nobody received",
        )
        .line(&[
            "  holds a message from rank 1, tag 7, 4 bytes",
            "on \"halo\"",
        ])
        .line(&["  nearly fits: the message from rank 1 is on \"halo\", not on MPI_COMM_WORLD"])
        .over_ssh_too(),
        Deadlock::new(
            "partitioned_and_recv",
            2,
            "rank 1 waits in MPI_Recv for rank 0, tag 1; rank 0 has sent it a partitioned message \
             with tag 1: an ordinary receive never meets a partitioned send",
        )
        .line(&["  holds a partitioned message from rank 0, tag 1, 4 of 4 partitions, 32 bytes"])
        .line(&["  nearly fits: the message from rank 0 is partitioned, the receive is not"]),
        Deadlock::new(
            "send_and_partitioned",
            2,
            "rank 1 waits in MPI_Wait for a partitioned message from rank 0, tag 1; rank 0 has \
             sent it a message with tag 1: a partitioned receive never meets an ordinary send",
        )
        .line(&["  waits for a partitioned message from rank 0, tag 1"]),
        Deadlock::new(
            "partitions_not_ready",
            2,
            "rank 0 waits in MPI_Wait for its own partitioned message to rank 1, tag 1, of which \
             3 of 4 partitions are ready: call MPI_Pready for the others",
        )
        .line(&["  waits for the rest of a partitioned message from rank 0, tag 1, 3 of 4 part"]),
        Deadlock::new(
            "many_unreceived",
            2,
            "rank 0 waits in MPI_Recv for rank 1, tag 7; \
             rank 1 has sent it tag 100, which nobody received",
        )
        .line(&["  holds a message from rank 1, tag 107, 4 bytes, that nobody received"])
        .line(&["  and 12 more"]),
        Deadlock::new(
            "ssend_wrong_tag",
            2,
            "rank 1 waits in MPI_Ssend until rank 0 receives tag 8; \
             rank 0 waits in MPI_Recv for rank 1, tag 7: the tags differ",
        )
        .over_ssh_too(),
        Deadlock::new(
            "ssend_wrong_communicator",
            2,
            "rank 1 waits in MPI_Ssend until rank 0 receives tag 7 on \"halo\"; \
             rank 0 waits in MPI_Recv for rank 1, tag 7: the communicators differ",
        ),
    ]
}

fn receives() -> Vec<Deadlock> {
    vec![
        Deadlock::new(
            "numbered_otherwise",
            4,
            "rank 0 waits in MPI_Recv for rank 2 (1 in \"even\"), tag 1 on \"even\"; \
             rank 2 waits in MPI_Recv for rank 0, tag 2 on \"even\": nobody sends",
        )
        .line(&["  communicator \"even\": made by MPI_Comm_split on MPI_COMM_WORLD, 2 ranks: 0, 2"])
        .over_ssh_too(),
        Deadlock::new(
            "ring_of_receives",
            8,
            "rank 0 waits in MPI_Recv for rank 1, tag 3; rank 1 waits in MPI_Recv for rank 2, \
             tag 3; rank 2 waits in MPI_Recv for rank 3, tag 3; rank 3 waits in MPI_Recv for \
             rank 4, tag 3; rank 4 waits in MPI_Recv for rank 5, tag 3; ...: nobody sends",
        ),
        Deadlock::new(
            "probe",
            2,
            "rank 0 waits in MPI_Probe for rank 1, tag 5; \
             rank 1 waits in MPI_Recv for rank 0, tag 6: nobody sends",
        )
        .over_ssh_too(),
        Deadlock::new(
            "mprobe",
            2,
            "rank 0 waits in MPI_Mprobe for rank 1, any tag; \
             rank 1 waits in MPI_Mprobe for rank 0, any tag: nobody sends",
        ),
        Deadlock::new(
            "to_itself",
            2,
            "rank 0 waits in MPI_Recv for itself, tag 5: it has not sent that",
        ),
        Deadlock::new(
            "any_source_and_finalize",
            4,
            "rank 0 waits in MPI_Recv for any rank, any tag; \
             ranks 1-3 are in MPI_Finalize (all others)",
        ),
        Deadlock::new(
            "master_without_work",
            4,
            "rank 0 waits in MPI_Recv for any rank, tag 2; \
             all other ranks wait too, and nobody sends",
        )
        .line(&["ranks 1-3: MPI_Recv(count=1, MPI_INT, source=0, tag=1, MPI_COMM_WORLD)"])
        .over_ssh_too(),
    ]
}

fn threads() -> Vec<Deadlock> {
    vec![
        Deadlock::new(
            "many_threads",
            2,
            "rank 0 waits in MPI_Recv for rank 1, tag 1; \
             rank 1 waits in MPI_Recv for rank 0, tag 1: nobody sends",
        )
        .after("5")
        // More threads wait than a rank describes.
        .line(&["rank 0, thread 1 of 64: MPI_Recv"]),
        Deadlock::new(
            "threads",
            2,
            "rank 0 waits in MPI_Recv for rank 1, tag 1; \
             rank 1 waits in MPI_Recv for rank 0, tag 1: nobody sends",
        )
        .line(&["rank 0, thread 1 of 2: MPI_Recv"])
        .line(&["rank 0, thread 2 of 2: MPI_Recv"])
        .line(&[
            "rank 0, thread ",
            ": MPI_Recv(count=1, MPI_INT, source=1, tag=1,",
        ])
        .line(&[
            "rank 0, thread ",
            ": MPI_Recv(4 bytes, source=1, tag=1, MPI_COMM_WORLD)",
        ])
        .over_ssh_too(),
    ]
}

fn sends() -> Vec<Deadlock> {
    vec![
        Deadlock::new(
            "ssend_cycle",
            5,
            "rank 0 waits in MPI_Ssend until rank 1 receives tag 3; rank 1 waits in MPI_Ssend \
             until rank 2 receives tag 3; rank 2 waits in MPI_Ssend until rank 3 receives tag 3; \
             rank 3 waits in MPI_Ssend until rank 4 receives tag 3; rank 4 waits in MPI_Ssend \
             until rank 0 receives tag 3: nobody receives",
        )
        .over_ssh_too(),
        Deadlock::new(
            "ssend_to_itself",
            2,
            "rank 0 waits in MPI_Ssend until it receives tag 5 itself",
        ),
        Deadlock::new(
            "send_send",
            2,
            "rank 0 waits in MPI_Send until rank 1 receives tag 1; \
             rank 1 waits in MPI_Send until rank 0 receives tag 1: nobody receives",
        )
        .over_ssh_too(),
        Deadlock::new(
            "long_send",
            2,
            "rank 0 waits in MPI_Send until rank 1 receives tag 4; \
             rank 1 waits in MPI_Barrier for rank 0: they wait for each other",
        ),
        Deadlock::new(
            "ssend_and_receives",
            3,
            "rank 0 waits in MPI_Ssend until rank 1 receives tag 1; rank 1 waits in MPI_Recv \
             for rank 2, tag 1; rank 2 waits in MPI_Recv for rank 0, tag 1: \
             they wait for each other",
        ),
        Deadlock::new(
            "buffer_detach",
            2,
            "rank 0 waits in MPI_Buffer_detach until rank 1 receives tag 3; \
             rank 1 waits in MPI_Barrier for rank 0: they wait for each other",
        ),
        Deadlock::new(
            "wrong_border",
            4,
            "rank 0 waits in MPI_Sendrecv for rank 3, tag 2; \
             ranks 1-3 wait in MPI_Barrier for rank 0: they wait for each other",
        )
        .line(&["  waits for a message from rank 3, tag 2"]),
    ]
}

fn requests() -> Vec<Deadlock> {
    vec![
        Deadlock::new(
            "waitall",
            2,
            "rank 0 waits in MPI_Waitall for rank 1, tag 7; \
             rank 1 waits in MPI_Recv for rank 0, tag 99: nobody sends",
        )
        .line(&["  waits for a message from rank 1, tag 7"])
        .over_ssh_too(),
        Deadlock::new(
            "waitall_of_many",
            2,
            "rank 1 is in MPI_Finalize; rank 0 waits for it in MPI_Waitall, tag 0",
        )
        .line(&["  waits for a message from rank 1, tag 7"])
        .line(&["  and 12 more"]),
        Deadlock::new(
            "waitany",
            2,
            "rank 0 waits in MPI_Waitany for rank 1, tag 1; \
             rank 1 waits in MPI_Recv for rank 0, tag 9: nobody sends",
        )
        .line(&["  waits for a message from rank 1, tag 3"]),
        Deadlock::new(
            "waitsome",
            2,
            "rank 0 waits in MPI_Waitsome for rank 1, tag 1; \
             rank 1 waits in MPI_Barrier for rank 0: they wait for each other",
        )
        .line(&["  waits for a message from rank 1, tag 2"]),
        Deadlock::new(
            "persistent_not_started",
            2,
            "rank 0 waits in MPI_Wait for rank 1, tag 4; \
             rank 1 waits in MPI_Barrier for rank 0: they wait for each other",
        ),
        Deadlock::new(
            "issend",
            2,
            "rank 0 waits in MPI_Wait until rank 1 receives tag 1; \
             rank 1 waits in MPI_Barrier for rank 0: they wait for each other",
        )
        .line(&["  waits for rank 1 to receive a message with tag 1, 4 bytes"]),
    ]
}

fn missing_in_collectives() -> Vec<Deadlock> {
    vec![
        Deadlock::new(
            "missing_in_barrier",
            4,
            "rank 3 waits in MPI_Recv for rank 0, tag 1; \
             ranks 0-2 wait in MPI_Barrier for rank 3: they wait for each other",
        )
        .line(&["ranks 0-2: MPI_Barrier(MPI_COMM_WORLD) for "])
        .line(&["  has come: ranks 0-2; has not come: rank 3"])
        .over_ssh_too(),
        Deadlock::new(
            "missing_in_allreduce",
            3,
            "rank 1 waits in MPI_Recv for rank 2, tag 6; \
             ranks 0, 2 wait in MPI_Allreduce for rank 1: they wait for each other",
        )
        .line(&["  has come: ranks 0, 2; has not come: rank 1"]),
        Deadlock::new(
            "missing_in_split",
            4,
            "rank 3 waits in MPI_Recv for rank 0, tag 1; \
             ranks 0-2 wait in MPI_Comm_split for rank 3: they wait for each other",
        )
        .over_ssh_too(),
        Deadlock::new(
            "missing_in_dup",
            3,
            "rank 0 waits in MPI_Ssend until rank 1 receives tag 2; \
             ranks 1-2 wait in MPI_Comm_dup for rank 0: they wait for each other",
        ),
        Deadlock::new(
            "missing_in_ibarrier",
            4,
            "rank 3 waits in MPI_Recv for rank 0, tag 1; \
             ranks 0-2 wait in MPI_Wait (MPI_Ibarrier) for rank 3: they wait for each other",
        )
        .line(&[
            "  waits for MPI_Ibarrier on MPI_COMM_WORLD: ranks 0-2 have begun it, rank 3 has not",
        ])
        .over_ssh_too(),
        Deadlock::new(
            "missing_in_write_all",
            3,
            "rank 2 waits in MPI_Recv for rank 0, tag 1; ranks 0-1 wait in \
             MPI_File_write_at_all on \"file /dev/null\" for rank 2: they wait for each other",
        )
        .line(&["ranks 0-1: MPI_File_write_at_all(file /dev/null)"])
        .over_ssh_too(),
        Deadlock::new(
            "missing_in_gather",
            3,
            "rank 2 waits in MPI_Recv for rank 0, tag 1; \
             rank 0 waits in MPI_Gather(root 0) for rank 2: they wait for each other",
        ),
        Deadlock::new(
            "bcast_and_ibcast",
            3,
            "rank 0 waits in MPI_Recv for rank 1, tag 2; \
             ranks 1-2 wait in MPI_Bcast(root 0) for rank 0: they wait for each other",
        ),
        Deadlock::new(
            "ibarrier_twice",
            2,
            "rank 0 is in MPI_Finalize; rank 1 waits for it in MPI_Wait (MPI_Ibarrier)",
        )
        .line(&["  waits for MPI_Ibarrier on MPI_COMM_WORLD: rank 1 has begun it, rank 0 has not"]),
    ]
}

fn windows() -> Vec<Deadlock> {
    vec![
        Deadlock::new(
            "missing_in_fence",
            3,
            "rank 2 waits in MPI_Recv for rank 0, tag 1; ranks 0-1 wait in \
             MPI_Win_fence on \"window table\" for rank 2: they wait for each other",
        )
        .line(&["ranks 0-1: MPI_Win_fence(window table)"]),
        Deadlock::new(
            "lock_that_is_held",
            2,
            "no reason found: see the lines above",
        )
        .line(&["of rank 0 of window \"table\"", "rank 0 ha"]),
        Deadlock::new("missing_post", 2, "no reason found: see the lines above")
            .line(&["  waits for the post (MPI_Win_post) of rank 1 of window \"table\""]),
    ]
}

fn different_collectives() -> Vec<Deadlock> {
    vec![
        Deadlock::new(
            "barrier_and_ibarrier",
            3,
            "ranks 0, 2 wait in MPI_Barrier, rank 1 in MPI_Ibarrier: \
             all ranks of MPI_COMM_WORLD must call the same",
        ),
        Deadlock::new(
            "wrong_root",
            2,
            "rank 0 waits in MPI_Gatherv(root 0), rank 1 in MPI_Gatherv(root 1): \
             all ranks of MPI_COMM_WORLD must call the same",
        )
        .over_ssh_too(),
        Deadlock::new(
            "gather_and_scatter",
            2,
            "rank 0 waits in MPI_Gatherv(root 0), rank 1 in MPI_Scatterv(root 0): \
             all ranks of MPI_COMM_WORLD must call the same",
        ),
        Deadlock::new(
            "other_order",
            2,
            "rank 0 waits in MPI_Barrier on \"left\" for rank 1; \
             rank 1 waits in MPI_Barrier on \"right\" for rank 0: they wait for each other",
        )
        .over_ssh_too(),
    ]
}

fn ranks_that_do_not_come_back() -> Vec<Deadlock> {
    vec![
        Deadlock::new(
            "finalize_and_barrier",
            4,
            "rank 3 is in MPI_Finalize; ranks 0-2 wait for it in MPI_Barrier",
        )
        .line(&["rank 3: in MPI_Finalize for "])
        .over_ssh_too(),
        Deadlock::new(
            "finalize_and_receive",
            2,
            "rank 1 is in MPI_Finalize; rank 0 waits for it in MPI_Recv, tag 7",
        ),
        Deadlock::new(
            "chain_to_finalize",
            3,
            "rank 2 is in MPI_Finalize; rank 1 waits for it in MPI_Recv, tag 7; \
             rank 0 waits for rank 1 in MPI_Recv, tag 7",
        )
        .over_ssh_too(),
        Deadlock::new(
            "stopped",
            3,
            "rank 1 is stopped (state T); ranks 0, 2 wait for it in MPI_Barrier",
        )
        .line(&["rank 1: is stopped (state T) for "])
        .asked()
        .over_ssh_too(),
        Deadlock::new(
            "computes",
            3,
            "rank 1 computes; ranks 0, 2 wait for it in MPI_Barrier",
        )
        .line(&["rank 1: computes; its last MPI call was MPI_"])
        .asked()
        .over_ssh_too(),
        Deadlock::new(
            "without_init",
            3,
            "rank 1 has not called MPI_Init; ranks 0, 2 wait for it in MPI_Init",
        )
        .line(&["rank 1: has not called MPI_Init"])
        .asked(),
    ]
}

/// A slow program of `slow.c`.
struct Slow {
    name: &'static str,
    ranks: usize,
    is_over_ssh: bool,
}

impl Slow {
    fn check(&self, programs: &Programs, place: &str) -> Result<(), Failed> {
        let job = programs.mpirun(self.ranks, place).args(REPORT);
        let outcome = job.arg(programs.slow.get(&[])).arg(self.name).run();
        if outcome.code == Some(0) && !outcome.stderr.contains("the job hangs") {
            Ok(())
        } else {
            Err(outcome.report().into())
        }
    }
}

/// The programs that run on one host, and those that run on two as well.
fn slow_programs() -> Vec<Slow> {
    let here = [
        ("recv_from_computing", 2),
        ("bcast_from_computing", 3),
        ("split_with_sleeping", 3),
        ("probe_of_sleeping", 2),
        ("waitany_of_sleeping", 2),
        ("ssend_to_sleeping", 2),
        ("detach_for_sleeping", 2),
        ("sendrecv_with_sleeping", 3),
        ("persistent_started_late", 2),
        ("polls_with_test", 2),
        ("polls_and_sleeps", 2),
        ("many_messages", 2),
        ("pipeline", 3),
        ("slow_steps", 3),
        ("computes_beside_ibcast", 3),
        ("ibarrier_begun_late", 3),
        ("ibarrier_waited_for_late", 3),
        ("thread_waits_and_main_computes", 2),
        ("waits_for_a_semaphore", 3),
        ("waits_for_a_condition", 3),
        ("child_works", 2),
        ("reads_a_slow_pipe", 2),
        ("leaves_late", 3),
    ];
    let on_two_hosts = [
        ("barrier_with_computing", 3),
        ("allreduce_with_sleeping", 3),
        ("gather_with_sleeping", 3),
        ("waitall_of_sleeping", 2),
        ("long_send_to_computing", 2),
        ("polls_with_iprobe", 2),
        ("message_now_and_then", 3),
        ("farm_with_long_tasks", 4),
        ("slow_token", 4),
        ("thread_sends_to_its_own_rank", 2),
        ("is_stopped_for_a_while", 3),
        ("comes_late", 3),
        ("finalizes_late", 3),
    ];
    let slow = |is_over_ssh| {
        move |(name, ranks)| Slow {
            name,
            ranks,
            is_over_ssh,
        }
    };
    let all = here.into_iter().map(slow(false));
    all.chain(on_two_hosts.into_iter().map(slow(true)))
        .collect()
}

/// A C program that is compiled when the first job runs it.
struct Compiled {
    source: &'static str,
    scratch: Scratch,
    binary: OnceLock<PathBuf>,
}

impl Compiled {
    fn new(source: &'static str) -> Self {
        Self {
            source,
            scratch: Scratch::new("stall"),
            binary: OnceLock::new(),
        }
    }

    fn get(&self, flags: &[&str]) -> PathBuf {
        let make = || build_with(self.source, &self.scratch, flags);
        self.binary.get_or_init(make).clone()
    }
}

/// What the trials share.
struct Programs {
    hang: Compiled,
    plain: Compiled,
    linked: Compiled,
    slow: Compiled,
    server: OnceLock<SshServer>,
}

impl Programs {
    fn new() -> Self {
        Self {
            hang: Compiled::new("tests/c/stall/hang.c"),
            plain: Compiled::new("tests/c/stall/hang.c"),
            linked: Compiled::new("tests/c/stall/hang.c"),
            slow: Compiled::new("tests/c/stall/slow.c"),
            server: OnceLock::new(),
        }
    }

    /// A job over a transport, or over ssh on two hosts.
    fn mpirun(&self, ranks: usize, place: &str) -> Job {
        let job = Job::mpirun(ranks).deadline(DEADLINE);
        if place != "ssh" {
            return job.args(["--transport", place]);
        }
        let server = self.server.get_or_init(SshServer::start);
        let hosts = format!("n1:{},n2:{}", ranks.div_ceil(2), ranks / 2);
        job.env("MPILITE_SSH", server.files.client())
            .args(["--host", &hosts])
    }
}

fn places_of(is_over_ssh: bool) -> &'static [&'static str] {
    if is_over_ssh {
        &["rmpp", "shm", "ssh"]
    } else {
        &["rmpp", "shm"]
    }
}

fn trials(programs: &Arc<Programs>) -> Vec<Trial> {
    let deadlocks = [
        places(),
        unmatched_messages(),
        receives(),
        threads(),
        sends(),
        requests(),
        missing_in_collectives(),
        windows(),
        different_collectives(),
        ranks_that_do_not_come_back(),
    ];
    let mut trials = Vec::new();
    for deadlock in deadlocks.into_iter().flatten().map(Arc::new) {
        for place in places_of(deadlock.is_over_ssh) {
            let kind = match deadlock.build {
                Build::Plain => " without debug information",
                Build::Static => " with the static library",
                Build::Debug | Build::Python => "",
            };
            let name = format!("hang {}{kind} over {place}", deadlock.name);
            let (programs, deadlock) = (Arc::clone(programs), Arc::clone(&deadlock));
            trials.push(Trial::test(name, move || deadlock.check(&programs, place)));
        }
    }
    for slow in slow_programs().into_iter().map(Arc::new) {
        for place in places_of(slow.is_over_ssh) {
            let name = format!("slow {} over {place}", slow.name);
            let (programs, slow) = (Arc::clone(programs), Arc::clone(&slow));
            trials.push(Trial::test(name, move || slow.check(&programs, place)));
        }
    }
    trials
}

fn main() -> ExitCode {
    drop(prefix());
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(AT_ONCE);
    let programs = Arc::new(Programs::new());
    libtest_mimic::run(&arguments, trials(&programs)).exit_code()
}
