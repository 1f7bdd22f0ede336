//! Ranks that speak PMI: one of MPICH's kind, played by a script in Python.

use std::path::PathBuf;

use crate::common::{Scratch, boot_rank, mpirun};

/// A client of PMI-1 and PMI-2. Its arguments are what it does, one after the other.
const CLIENT: &str = r#"#!/usr/bin/env python3
import os, signal, socket, sys, time

channel = socket.socket(fileno=int(os.environ["PMI_FD"]))
rank, size = int(os.environ["PMI_RANK"]), int(os.environ["PMI_SIZE"])
stream = channel.makefile("rb")
version = 0

def ask(command, *fields):
    if version == 2:
        body = f"cmd={command};" + "".join(field + ";" for field in fields)
        channel.sendall(f"{len(body):<6}{body}".encode())
        length = stream.read(6)
        answer = stream.read(int(length)) if length else b""
    else:
        channel.sendall((" ".join([f"cmd={command}", *fields]) + "\n").encode())
        answer = stream.readline()
    if not answer:
        # mpirun ends the job, and this rank with it.
        time.sleep(100)
    return answer.decode().strip()

def init(wanted):
    global version
    answer = ask("init", f"pmi_version={wanted}", "pmi_subversion=0")
    assert f"pmi_version={wanted}" in answer, answer
    version = wanted
    if wanted == 2:
        answer = ask("fullinit", f"pmijobid={os.environ['PMI_JOBID']}", f"pmirank={rank}",
                     "threaded=FALSE")
        assert f";rank={rank};size={size};" in answer, answer

def put(key, value):
    answer = ask("kvs-put" if version == 2 else "put", "kvsname=" + os.environ["PMI_JOBID"],
                 f"key={key}", f"value={value}")
    assert "rc=0" in answer, answer

def get(key):
    return ask("kvs-get" if version == 2 else "get", "kvsname=" + os.environ["PMI_JOBID"],
               f"key={key}")

def fence():
    assert "rc=0" in ask("kvs-fence" if version == 2 else "barrier_in")

def exchange():
    put(f"card-{rank}", f"x{rank * rank}")
    fence()
    for peer in range(size):
        assert f"value=x{peer * peer}" in get(f"card-{peer}"), get(f"card-{peer}")

def do(word):
    global version
    if word.startswith("only"):
        number, word = word[4:].split(":")
        if rank != int(number):
            return
    if word in ("1", "2"):
        init(int(word))
    elif word == "exchange":
        exchange()
    elif word == "fence":
        fence()
    elif word == "mapping":
        print(get("PMI_process_mapping"))
    elif word == "finalize":
        assert "rc=0" in ask("finalize")
        version = 0
    elif word == "abort":
        channel.sendall(b"cmd=abort exitcode=7 message=it is x=1 broken\n")
        time.sleep(100)
    elif word == "publish":
        assert "rc=0" in ask("publish_name", "service=s", "port=here")
    elif word == "lookup":
        assert "port=here" in ask("lookup_name", "service=s")
    elif word == "long":
        answer = ask("put", "kvsname=" + os.environ["PMI_JOBID"], "key=k", "value=" + "v" * 2000)
        assert "rc=-1" in answer, answer
    elif word == "many":
        space, value = "kvsname=" + os.environ["PMI_JOBID"], "value=" + "v" * 1000
        while "rc=0" in ask("put", space, "key=k", value):
            pass
    elif word == "garbage":
        channel.sendall(b"garbage\n")
        time.sleep(100)
    elif word == "endless":
        channel.sendall(b"cmd=put key=" + b"k" * 1000000)
        time.sleep(100)
    elif word == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif word == "sleep":
        time.sleep(100)
    elif word == "ready":
        print("ready", flush=True)
    else:
        raise Exception(word)

try:
    for word in sys.argv[1:]:
        do(word)
except (BrokenPipeError, ConnectionResetError):
    # mpirun ends the job, and this rank with it.
    time.sleep(100)
"#;

fn client(scratch: &Scratch) -> String {
    let path: PathBuf = scratch.write("client.py", CLIENT, 0o755);
    path.display().to_string()
}

/// The command line of so many clients that do this.
fn line<'a>(ranks: &'a str, client: &'a str, words: &[&'a str]) -> Vec<&'a str> {
    [&["-n", ranks, client][..], words].concat()
}

#[test]
fn ranks_on_one_host_find_each_other_by_both_versions() {
    let scratch = Scratch::new();
    let client = client(&scratch);
    for version in ["1", "2"] {
        for ranks in ["1", "2", "5"] {
            let words = [version, "exchange", "exchange", "finalize"];
            mpirun(&line(ranks, &client, &words)).run().succeeds();
        }
    }
}

#[test]
fn ranks_on_several_hosts_find_each_other_and_know_who_shares_a_host() {
    let scratch = Scratch::new();
    let client = client(&scratch);
    for version in ["1", "2"] {
        let words = [version, "exchange", "only3:mapping", "finalize"];
        let line = line("4", &client, &words);
        let outcome = mpirun(&[&["--host", "n1:2,n2:2"][..], &line].concat())
            .over_fake_ssh()
            .run()
            .succeeds();
        let text = outcome.out();
        assert!(text.contains("value=(vector,(0,2,2))"), "{text}");
    }
}

#[test]
fn a_script_runs_programs_of_both_mpis_one_after_the_other() {
    let scratch = Scratch::new();
    let (client, own) = (client(&scratch), boot_rank());
    let script = format!("#!/bin/sh\n{client} 1 exchange finalize && {own} print\n");
    let script = scratch.write("both", script, 0o755).display().to_string();
    mpirun(&["-n", "2", &script]).run().succeeds();
}

#[test]
fn a_service_is_found_by_a_rank_of_another_host() {
    let scratch = Scratch::new();
    let client = client(&scratch);
    let words = ["1", "only0:publish", "fence", "only1:lookup", "finalize"];
    let line = line("2", &client, &words);
    mpirun(&[&["--host", "n1,n2"][..], &line].concat())
        .over_fake_ssh()
        .run()
        .succeeds();
}

#[test]
fn the_end_of_one_rank_ends_the_job_with_its_reason() {
    let scratch = Scratch::new();
    let client = client(&scratch);
    let wait = ["1", "ready"];
    let cases: [(&str, i32, &str); 6] = [
        ("only1:abort", 7, "it is x=1 broken"),
        ("only1:kill", 137, "rank 1"),
        ("only1:garbage", 1, "sent a PMI message without a command"),
        ("only1:endless", 1, "sent a PMI message that is too long"),
        ("only1:1", 1, "between Init and Finalize"),
        ("only1:finalize", 1, "waits for it in a barrier of PMI"),
    ];
    for (word, code, text) in cases {
        let words = [&wait[..], &[word, "only0:fence", "only0:sleep"]].concat();
        mpirun(&line("2", &client, &words))
            .run()
            .fails_with(code, &[text]);
    }
}

#[test]
fn a_rank_that_exits_without_finalize_fails_the_job() {
    let scratch = Scratch::new();
    let client = client(&scratch);
    mpirun(&line("2", &client, &["1", "only0:fence"]))
        .run()
        .fails_with(1, &["rank 1", "without calling MPI_Finalize"]);
}

#[test]
fn what_is_too_long_or_too_much_is_refused_and_the_rank_goes_on() {
    let scratch = Scratch::new();
    let client = client(&scratch);
    let words = ["1", "long", "only1:many", "fence", "finalize"];
    mpirun(&line("2", &client, &words)).run().succeeds();
}

#[test]
fn ranks_of_two_mpis_in_one_job_are_refused() {
    let scratch = Scratch::new();
    let (client, own) = (client(&scratch), boot_rank());
    let script = format!(
        "#!/bin/sh\nif [ $PMI_RANK = 0 ]; then exec {client} 1 fence; else exec {own} print; fi\n"
    );
    let script = scratch.write("mixed", script, 0o755).display().to_string();
    mpirun(&["-n", "2", &script])
        .run()
        .fails_with(1, &["rank 0", "runs a program of another MPI", "rank 1"]);
}

#[test]
fn a_rank_of_another_mpi_that_waits_is_no_stall_and_the_report_says_what_it_is() {
    let scratch = Scratch::new();
    let client = client(&scratch);
    let words = ["1", "only0:fence", "only1:sleep"];
    let line = line("2", &client, &words);
    let options = ["--timeout", "5", "--stall-after", "3"];
    let outcome = mpirun(&[&options[..], &line].concat()).run();
    assert_eq!(outcome.code, 124, "{outcome:?}");
    let text = &outcome.stderr;
    assert!(
        text.contains("ranks 0-1: runs a program of another MPI"),
        "{text}"
    );
    assert_eq!(text.lines().count(), 3, "{text}");
}

#[test]
fn a_seal_ends_the_job_when_a_script_turns_out_to_speak_pmi() {
    let scratch = Scratch::new();
    let client = client(&scratch);
    let script = format!("#!/bin/sh\n'{client}' \"$@\"\necho ran\n");
    let script = scratch.write("script", script, 0o755).display().to_string();
    for version in ["1", "2"] {
        let line = line("2", &script, &[version, "exchange", "finalize"]);
        let run = |options: &[&str]| mpirun(&[options, &line].concat()).run();
        let outcome = run(&["--secure"]);
        outcome.fails_with(1, &["uses PMI", "--secure does not protect", "for no seal"]);
        assert_eq!(outcome.out(), "", "no rank has come through the fence");
        let outcome = run(&["--transport", "rmpp", "--stats=json", "--secure=cookie"]);
        let mut lines = outcome.stderr.lines();
        assert!(lines.any(|line| {
            line.starts_with("mpirun: note: --transport and --stats do nothing here: rank ")
        }));
        assert_eq!(
            (outcome.code, &*outcome.out()),
            (0, "ran\nran\n"),
            "{outcome:?}"
        );
    }
}
