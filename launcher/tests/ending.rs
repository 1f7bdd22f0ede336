//! When the job ends, everything ends: ranks, what they started, here and behind ssh.

mod common;

use std::time::{Duration, Instant};

use common::{
    Scratch, boot_rank, mpirun, mpirun_ignoring, signal_process, sleepers, unique_sleep,
    wait_for_sleepers, wait_until,
};

/// A rank that sleeps, with a child that sleeps and one in its own session.
fn family(mark: &str) -> String {
    format!("sleep {mark} & setsid sleep {mark} & sleep {mark}")
}

fn ends_after(signal: &str, hosts: Option<&str>) {
    let mark = unique_sleep();
    let script = family(&mark);
    let mut line = vec!["-n", "4"];
    line.extend(hosts.iter().flat_map(|hosts| ["--host", hosts]));
    line.extend(["sh", "-c", &script]);
    let running = mpirun(&line).over_fake_ssh().start();
    wait_for_sleepers(&mark, 12);
    running.signal(signal);
    running.finish();
    wait_for_sleepers(&mark, 0);
}

#[test]
fn a_signal_to_mpirun_ends_ranks_and_grandchildren_here() {
    for signal in ["INT", "TERM", "HUP"] {
        ends_after(signal, None);
    }
}

#[test]
fn a_signal_to_mpirun_ends_ranks_and_grandchildren_behind_ssh() {
    for signal in ["INT", "TERM", "HUP"] {
        ends_after(signal, Some("n1:2,n2:2"));
    }
}

#[test]
fn a_killed_mpirun_leaves_no_rank_and_no_child_of_a_rank() {
    for hosts in [None, Some("n1:2,n2:2"), Some("localhost:2,n2:2")] {
        let mark = unique_sleep();
        let script = format!("sleep {mark} & sleep {mark}");
        let mut line = vec!["-n", "4"];
        line.extend(hosts.iter().flat_map(|hosts| ["--host", hosts]));
        line.extend(["sh", "-c", &script]);
        let running = mpirun(&line).over_fake_ssh().start();
        wait_for_sleepers(&mark, 8);
        running.signal("KILL");
        wait_for_sleepers(&mark, 0);
        running.finish();
    }
}

#[test]
fn a_failing_rank_ends_all_others_and_their_children() {
    for hosts in ["localhost:4", "n1:2,n2:2"] {
        let mark = unique_sleep();
        let script = format!(
            "if [ $MPILITE_RANK = 3 ]; then read line; exit 3; fi; {}",
            family(&mark)
        );
        let line = ["-n", "4", "--host", hosts, "sh", "-c", &script];
        let running = mpirun(&line).over_fake_ssh().start();
        running.finish().fails_with(3, &["rank 3"]);
        wait_for_sleepers(&mark, 0);
    }
}

#[test]
fn ranks_that_ignore_every_polite_signal_are_killed() {
    for signal in ["INT", "TERM"] {
        let mark = unique_sleep();
        let script = format!("trap '' INT TERM HUP; sleep {mark}; sleep {mark}");
        let running = mpirun(&["-n", "2", "sh", "-c", &script]).start();
        wait_for_sleepers(&mark, 2);
        running.signal(signal);
        running.finish();
        wait_for_sleepers(&mark, 0);
    }
}

/// Each time the one interrupt that a rank hears makes it send mpirun the second: a signal that is
/// pending already comes only once. A job that lets the ranks clean up takes `GRACE` each time,
/// however fast the machine is; one of which a busy machine makes something else takes less once.
#[test]
fn a_second_interrupt_kills_at_once() {
    const GRACE: Duration = Duration::from_secs(1);
    let is_fast = |_| {
        let mark = unique_sleep();
        let again = "kill -INT $PPID; trap \"\" INT";
        let script = format!("trap '{again}' INT; sleep {mark} & wait; sleep {mark}");
        let running = mpirun(&["-n", "1", "sh", "-c", &script]).start();
        wait_for_sleepers(&mark, 1);
        let since = Instant::now();
        running.signal("INT");
        let outcome = running.finish();
        let took = since.elapsed();
        assert_eq!(outcome.code, 130, "{outcome:?}");
        wait_for_sleepers(&mark, 0);
        took < GRACE
    };
    assert!((0..10).any(is_fast), "the ranks were given time each time");
}

#[test]
fn an_interrupt_reaches_the_ranks_so_that_they_can_clean_up() {
    let mark = unique_sleep();
    let script = format!("trap 'echo cleaned; exit 0' INT; sleep {mark} & wait");
    for hosts in ["localhost:2", "n1:1,n2:1"] {
        let line = ["-n", "2", "--host", hosts, "sh", "-c", &script];
        let running = mpirun(&line).over_fake_ssh().start();
        wait_for_sleepers(&mark, 2);
        running.signal("INT");
        let outcome = running.finish();
        assert_eq!(
            (outcome.code, outcome.out().as_str()),
            (130, "cleaned\ncleaned\n")
        );
    }
}

#[test]
fn a_program_in_python_sees_the_interrupt_and_cleans_up() {
    let mark = unique_sleep();
    let script = format!(
        "import subprocess\ntry:\n    subprocess.run(['sleep', '{mark}'])\n\
         except KeyboardInterrupt:\n    print('seen')\nfinally:\n    print('cleaned')\n"
    );
    let running = mpirun(&["-n", "1", "python3", "-c", &script]).start();
    wait_for_sleepers(&mark, 1);
    running.signal("INT");
    let outcome = running.finish();
    let seen = (outcome.code, outcome.out());
    assert_eq!(seen, (130, "seen\ncleaned\n".to_owned()));
}

#[test]
fn ranks_hear_an_interrupt_though_mpirun_was_started_in_the_background() {
    let mark = unique_sleep();
    let script = format!("trap 'echo cleaned; exit 0' INT; sleep {mark} & wait");
    let running = mpirun_ignoring("INT", &["-n", "2", "sh", "-c", &script]).start();
    wait_for_sleepers(&mark, 2);
    running.signal("INT");
    let outcome = running.finish();
    let seen = (outcome.code, outcome.out());
    assert_eq!(seen, (130, "cleaned\ncleaned\n".to_owned()));
}

#[test]
fn a_job_under_nohup_outlives_its_terminal() {
    let mark = unique_sleep();
    let running = mpirun_ignoring("HUP", &["-n", "2", "sleep", &mark]).start();
    wait_for_sleepers(&mark, 2);
    running.signal("HUP");
    // As long as the politest end of a job would take.
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(sleepers(&mark).len(), 2);
    running.signal("TERM");
    assert_eq!(running.finish().code, 143);
    wait_for_sleepers(&mark, 0);
}

#[test]
fn user_signals_are_forwarded_to_the_ranks() {
    for hosts in ["localhost:2", "n1:1,n2:1"] {
        let (mark, scratch) = (unique_sleep(), Scratch::new());
        let script = format!(
            "trap 'echo one; mkdir {}/$MPILITE_RANK' USR1; \
             trap 'echo two; kill $!; exit 0' USR2; sleep {mark} & wait; wait",
            scratch.path().display()
        );
        let line = ["-n", "2", "--host", hosts, "sh", "-c", &script];
        let running = mpirun(&line).over_fake_ssh().start();
        wait_for_sleepers(&mark, 2);
        running.signal("USR1");
        for rank in ["0", "1"] {
            let noted = scratch.path().join(rank);
            wait_until("a rank has had USR1", || noted.exists().then_some(()));
        }
        running.signal("USR2");
        let outcome = running.finish().succeeds();
        assert_eq!(outcome.sorted(), ["one", "one", "two", "two"]);
    }
}

/// The state letter of a process, if it lives.
fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

#[test]
fn a_stop_from_the_terminal_stops_the_ranks_and_continuing_goes_on() {
    let mark = unique_sleep();
    let running = mpirun(&["-n", "2", "sleep", &mark]).start();
    wait_for_sleepers(&mark, 2);
    let all = || [sleepers(&mark), vec![running.pid()]].concat();
    running.signal("TSTP");
    let are = |letter| {
        all()
            .iter()
            .all(|pid| state(*pid) == Some(letter))
            .then_some(())
    };
    wait_until("all are stopped", || are('T'));
    running.signal("CONT");
    wait_until("all go on", || are('S'));
    running.signal("TERM");
    assert_eq!(running.finish().code, 143);
}

#[test]
fn a_node_whose_agent_is_killed_ends_the_job() {
    let mark = unique_sleep();
    let script = format!("echo $PPID; exec sleep {mark}");
    let running = mpirun(&["-n", "2", "--host", "n1,n2", "sh", "-c", &script])
        .over_fake_ssh()
        .start();
    wait_for_sleepers(&mark, 2);
    let rank = sleepers(&mark)[0];
    signal_process(parent(rank), "KILL");
    running
        .finish()
        .fails_with(125, &["lost host n", "ending the job"]);
    wait_for_sleepers(&mark, 0);
}

fn parent(pid: u32) -> u32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it lives");
    let (_, rest) = stat.rsplit_once(") ").expect("a stat line");
    rest.split(' ')
        .nth(1)
        .and_then(|word| word.parse().ok())
        .expect("a parent")
}

#[test]
fn a_process_that_keeps_the_output_open_does_not_hinder_a_clean_end() {
    let mark = unique_sleep();
    let script = format!("setsid sleep {mark} & echo done");
    let outcome = mpirun(&["-n", "2", "sh", "-c", &script]).run().succeeds();
    assert_eq!(outcome.out(), "done\ndone\n");
    wait_for_sleepers(&mark, 2);
    sleepers(&mark)
        .into_iter()
        .for_each(|pid| signal_process(pid, "KILL"));
}

#[test]
fn no_file_is_left_behind() {
    let scratch = Scratch::new();
    let program = boot_rank();
    for mode in ["exchange", "die"] {
        mpirun(&["-n", "3", "--host", "localhost:2,n2", &program, mode, "1"])
            .over_fake_ssh()
            .directory(scratch.path())
            .env("TMPDIR", scratch.path())
            .env("HOME", scratch.path())
            .env("XDG_RUNTIME_DIR", scratch.path())
            .run();
    }
    let left: Vec<_> = std::fs::read_dir(scratch.path())
        .unwrap()
        .flatten()
        .collect();
    assert!(left.is_empty(), "{left:?}");
}
