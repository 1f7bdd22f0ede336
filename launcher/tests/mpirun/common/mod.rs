//! Running `mpirun` as a user does, with a watchdog.

pub(crate) mod scratch;

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) use scratch::Scratch;

/// No run of a test may take longer. What a job must not wait for takes much longer.
const LIMIT: Duration = Duration::from_secs(60);

/// What a finished run left.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Outcome {
    pub(crate) fn out(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// The lines of standard output, sorted: ranks come in any order.
    pub(crate) fn sorted(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.out().lines().map(String::from).collect();
        lines.sort();
        lines
    }

    /// Checks the status and that standard error is one line that contains all of `parts`.
    #[track_caller]
    pub(crate) fn fails_with(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, code, "{self:?}");
        assert_eq!(
            self.stderr.lines().count(),
            1,
            "one line is expected: {self:?}"
        );
        let speakers = ["mpirun: ", "MPI error "];
        assert!(
            speakers.iter().any(|who| self.stderr.starts_with(who)),
            "{self:?}"
        );
        for part in parts {
            assert!(self.stderr.contains(part), "'{part}' is missing: {self:?}");
        }
    }

    #[track_caller]
    pub(crate) fn succeeds(self) -> Outcome {
        assert_eq!((self.code, self.stderr.as_str()), (0, ""), "{self:?}");
        self
    }
}

/// A command line of `mpirun`, in an environment without settings.
pub(crate) struct Mpirun {
    command: Command,
    input: Vec<u8>,
}

/// What a shell in the background or nohup(1) may have set for the tests.
const DEFAULTS: &str = "--default-signal=HUP,INT,QUIT";

pub(crate) fn mpirun(arguments: &[&str]) -> Mpirun {
    mpirun_by(&["env", DEFAULTS], arguments)
}

/// Started by a process that ignores `signal`, as a shell does that starts it in the background.
pub(crate) fn mpirun_ignoring(signal: &str, arguments: &[&str]) -> Mpirun {
    let ignored = format!("--ignore-signal={signal}");
    mpirun_by(&["env", DEFAULTS, &ignored], arguments)
}

/// Started by a process that blocks these signals.
pub(crate) fn mpirun_blocking(signals: &str, arguments: &[&str]) -> Mpirun {
    let blocked = format!("--block-signal={signals}");
    mpirun_by(&["env", DEFAULTS, &blocked], arguments)
}

/// Started by a shell in which `preparation` has been executed.
pub(crate) fn mpirun_after(preparation: &str, arguments: &[&str]) -> Mpirun {
    let script = format!("{preparation}; exec \"$0\" \"$@\"");
    mpirun_by(&["bash", "-c", &script], arguments)
}

/// Executed by `starter`, a program with its first arguments.
pub(crate) fn mpirun_by(starter: &[&str], arguments: &[&str]) -> Mpirun {
    let (program, first) = starter.split_first().expect("a program");
    let mut command = Command::new(program);
    command.args(first).arg(env!("CARGO_BIN_EXE_mpirun"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("MPILITE_") {
            command.env_remove(name);
        }
    }
    command.args(arguments);
    Mpirun {
        command,
        input: Vec::new(),
    }
}

impl Mpirun {
    pub(crate) fn command(&mut self) -> &mut Command {
        &mut self.command
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Mpirun {
        self.command.env(name, value);
        self
    }

    pub(crate) fn input(mut self, bytes: impl Into<Vec<u8>>) -> Mpirun {
        self.input = bytes.into();
        self
    }

    pub(crate) fn directory(mut self, directory: &Path) -> Mpirun {
        self.command.current_dir(directory);
        self
    }

    /// Other hosts are this machine, through a program that only behaves like ssh. Silence ends no
    /// job, so that nothing else that should can be late unseen.
    pub(crate) fn over_fake_ssh(self) -> Mpirun {
        let ssh = fake_ssh();
        self.env("MPILITE_SSH", ssh).env("MPILITE_SILENT_S", "0")
    }

    pub(crate) fn start(mut self) -> Running {
        let command = &mut self.command;
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("mpirun can be started");
        let mut input = child.stdin.take().expect("a pipe");
        let bytes = std::mem::take(&mut self.input);
        // A job need not read its input.
        thread::spawn(move || input.write_all(&bytes).ok());
        let stdout = reader(child.stdout.take().expect("a pipe"));
        let stderr = reader(child.stderr.take().expect("a pipe"));
        Running {
            child,
            stdout,
            stderr,
        }
    }

    pub(crate) fn run(self) -> Outcome {
        self.start().finish()
    }
}

fn reader(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).expect("a pipe can be read");
        bytes
    })
}

/// An `mpirun` that runs.
pub(crate) struct Running {
    child: Child,
    stdout: thread::JoinHandle<Vec<u8>>,
    stderr: thread::JoinHandle<Vec<u8>>,
}

impl Running {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: &str) {
        signal_process(self.pid(), signal);
    }

    /// Waits for the end.
    pub(crate) fn finish(mut self) -> Outcome {
        let status = self.wait();
        Outcome {
            code: code_of(status),
            stdout: self.stdout.join().expect("the reader does not panic"),
            stderr: String::from_utf8_lossy(&self.stderr.join().expect("as above")).into_owned(),
        }
    }

    fn wait(&mut self) -> ExitStatus {
        wait_until("mpirun ends", || {
            self.child.try_wait().expect("a child of ours")
        })
    }
}

fn code_of(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status
        .code()
        .unwrap_or_else(|| 128 + status.signal().expect("ended by one or the other"))
}

pub(crate) fn signal_process(pid: u32, signal: &str) {
    let status = Command::new("kill")
        .arg(format!("-{signal}"))
        .arg(pid.to_string())
        .status();
    assert!(status.expect("kill runs").success(), "kill -{signal} {pid}");
}

/// Asks again and again until there is an answer.
#[track_caller]
pub(crate) fn wait_until<T>(what: &str, mut answer: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + LIMIT;
    loop {
        if let Some(answer) = answer() {
            return answer;
        }
        assert!(
            Instant::now() < end,
            "waited {LIMIT:?} in vain until {what}"
        );
        thread::sleep(Duration::from_millis(2));
    }
}

/// Makes `program` in the folder, which asks for the library of this name: for `mpirun` it is of
/// the MPI that has such a one.
pub(crate) fn link_with(scratch: &Scratch, library: &str) {
    scratch.write("library.c", "int MPI_Init(void) { return 0; }", 0o644);
    scratch.write(
        "program.c",
        "int MPI_Init(void); int main(void) { return MPI_Init(); }",
        0o644,
    );
    let build = format!(
        "cc -shared -fPIC -Wl,-soname,{library} library.c -o libmpi.so && \
         cc program.c -L. -lmpi -o program"
    );
    let mut sh = Command::new("sh");
    let built = sh.args(["-c", &build]).current_dir(scratch.path());
    assert!(built.status().expect("there is a shell").success());
}

/// What ssh does, on this machine: it skips the options and gives the command to a shell. The
/// shell is noisy, as one with an unlucky start-up file.
const FAKE_SSH: &str = r#"#!/bin/sh
while [ "$1" != -- ]; do shift; done
host=$2
shift 2
case "$host" in
    unknown) echo "ssh: Could not resolve hostname unknown" >&2; exit 255 ;;
    refused) echo "ssh: connect to host refused port 22: Connection refused" >&2; exit 255 ;;
    chatty) exec yes noise ;;
    silent) exec sleep 1000 ;;
    empty) exit 0 ;;
    bare) exec sh -c '/nowhere/mpirun --agent' ;;
    crowded)
        if mkdir "$MPILITE_TEST_ONCE" 2>/dev/null; then
            echo "kex_exchange_identification: Connection closed by remote host" >&2; exit 255
        fi ;;
esac
echo "Welcome to $host"
exec sh -c "$*"
"#;

pub(crate) fn fake_ssh() -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fake_ssh");
    static WRITTEN: std::sync::Once = std::sync::Once::new();
    WRITTEN.call_once(|| {
        // Renamed into place: another test binary may be executing it.
        let new = path.with_extension(std::process::id().to_string());
        fs::write(&new, FAKE_SSH).expect("the target directory can be written");
        fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).expect("it is ours");
        fs::rename(&new, &path).expect("same directory");
    });
    path
}

/// The example `boot_rank` of mpi-lite.
pub(crate) fn boot_rank() -> String {
    example("boot_rank", "mpi-lite --examples")
}

/// The example `stall_rank`.
pub(crate) fn stall_rank() -> String {
    example("stall_rank", "launcher --examples")
}

fn example(name: &str, package: &str) -> String {
    let path = built(&format!("examples/{name}"), package);
    path.to_str()
        .expect("the tree has a plain path")
        .to_string()
}

/// A program that cargo builds beside `mpirun`.
pub(crate) fn built(name: &str, package: &str) -> PathBuf {
    let programs = Path::new(env!("CARGO_BIN_EXE_mpirun"))
        .parent()
        .expect("in a directory");
    let path = programs.join(name);
    assert!(
        path.exists(),
        "{} is missing: cargo build -p {package}",
        path.display()
    );
    path
}

/// A number of seconds that no other process sleeps: it marks the processes of one test.
pub(crate) fn unique_sleep() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("98{:07}.{number}", std::process::id())
}

/// The processes `sleep mark`.
pub(crate) fn sleepers(mark: &str) -> Vec<u32> {
    let command = format!("sleep\0{mark}\0").into_bytes();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("proc is mounted").flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else {
            continue;
        };
        if fs::read(entry.path().join("cmdline")).is_ok_and(|line| line == command) {
            found.push(pid);
        }
    }
    found
}

/// Waits until as many processes `sleep mark` run.
#[track_caller]
pub(crate) fn wait_for_sleepers(mark: &str, number: usize) {
    let reached = || (sleepers(mark).len() == number).then_some(());
    wait_until(&format!("{number} processes sleep {mark}"), reached);
}
