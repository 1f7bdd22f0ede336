//! When the job ends, everything ends: ranks, what they started, here and behind ssh.

use std::time::Duration;

use crate::common::{
    Running, Scratch, boot_rank, mpirun, mpirun_after, mpirun_blocking, mpirun_ignoring,
    signal_process, sleepers, unique_sleep, wait_for_sleepers, wait_until,
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
        let line = ["-n", "2", "--grace", "0.2", "sh", "-c", &script];
        let running = mpirun(&line).start();
        wait_for_sleepers(&mark, 2);
        running.signal(signal);
        running.finish();
        wait_for_sleepers(&mark, 0);
    }
}

/// A batch system sends TERM and leaves some time. Each rank saves its state for longer than a rank
/// has after the failure of another one.
#[test]
fn ranks_save_their_state_on_a_signal_before_mpirun_kills_anything() {
    let mark = unique_sleep();
    let script =
        format!("trap 'sleep 0.8; echo saved; exit 0' TERM INT; sleep {mark} & wait; wait");
    let signals = [("TERM", 143), ("INT", 130), ("HUP", 129)];
    let jobs = signals.map(|case| (case, start_on(&["localhost:2", "localhost,n1"], &script)));
    wait_for_sleepers(&mark, 12);
    for ((signal, _), jobs) in &jobs {
        jobs.iter().for_each(|job| job.signal(signal));
    }
    for ((_, code), jobs) in jobs {
        for outcome in jobs.into_iter().map(Running::finish) {
            let seen = (outcome.code, outcome.out());
            assert_eq!(seen, (code, "saved\nsaved\n".to_owned()), "{outcome:?}");
        }
    }
    wait_for_sleepers(&mark, 0);
}

/// A job of two ranks on each of these lists of hosts.
fn start_on(hosts: &[&str], script: &str) -> Vec<Running> {
    let start = |hosts: &&str| {
        let line = ["-n", "2", "--host", hosts, "sh", "-c", script];
        mpirun(&line).over_fake_ssh().start()
    };
    hosts.iter().map(start).collect()
}

/// The shell that is the rank does not become the program, and ends at once.
#[test]
fn a_program_saves_its_state_though_the_shell_above_it_has_ended() {
    let (mark, scratch) = (unique_sleep(), Scratch::new());
    let file = scratch.path().join("saved");
    let file = file.display();
    let saves = format!(
        "trap \"sleep 0.8; echo saved; echo saved >> {file}; exit\" TERM; sleep {mark} & wait; wait"
    );
    // Rank 1 has no pipe to mpirun any more.
    let script = format!(
        "if [ $MPILITE_RANK = 0 ]; then sh -c '{saves}'; true; \
         else sh -c '{saves}' > /dev/null 2>&1; true; fi; true"
    );
    let jobs = start_on(&["localhost:2", "n1:2"], &script);
    wait_for_sleepers(&mark, 4);
    jobs.iter().for_each(|job| job.signal("TERM"));
    for outcome in jobs.into_iter().map(Running::finish) {
        let seen = (outcome.code, outcome.out());
        assert_eq!(seen, (143, "saved\n".to_owned()), "{outcome:?}");
    }
    let saved = std::fs::read_to_string(scratch.path().join("saved"));
    assert_eq!(saved.unwrap(), "saved\n".repeat(4));
}

/// A scheduler signals all processes of a job, and mpirun may read its signal last.
#[test]
fn a_rank_that_a_scheduler_kills_first_costs_no_other_its_time() {
    let (first, mark) = (unique_sleep(), unique_sleep());
    let script = format!(
        "if [ $MPILITE_RANK = 0 ]; then exec sleep {first}; fi; \
         trap 'sleep 0.8; echo saved; exit 0' TERM; sleep {mark} & wait; wait"
    );
    let running = mpirun(&["-n", "2", "sh", "-c", &script]).start();
    wait_for_sleepers(&mark, 1);
    wait_for_sleepers(&first, 1);
    signal_process(sleepers(&first)[0], "TERM");
    wait_for_sleepers(&mark, 0);
    running.signal("TERM");
    let outcome = running.finish();
    outcome.fails_with(143, &["rank 0", "was killed by signal 15 (Terminated)"]);
    assert_eq!(outcome.out(), "saved\n");
}

/// A rank that is stopped would not notice the signal, and the others may end before.
#[test]
fn a_stopped_rank_and_one_that_ends_early_cost_no_other_its_time() {
    let mark = unique_sleep();
    let script = format!(
        "if [ $MPILITE_RANK = 0 ]; then exec sleep {mark}; fi; \
         trap 'sleep 0.5; echo saved; exit 0' TERM; sleep {mark} & kill -STOP $$; wait; wait"
    );
    let running = mpirun(&["-n", "3", "sh", "-c", &script]).start();
    wait_for_sleepers(&mark, 3);
    running.signal("TERM");
    let outcome = running.finish();
    assert_eq!(
        (outcome.code, outcome.out().as_str()),
        (143, "saved\nsaved\n")
    );
}

/// A scheduler signals all processes of a job, agents among them; mpirun may be none of them.
#[test]
fn a_signal_to_an_agent_leaves_all_ranks_their_time() {
    let mark = unique_sleep();
    let script =
        format!("trap 'sleep 0.5; echo saved; exit 0' TERM; sleep {mark} & echo $PPID; wait; wait");
    let line = ["-n", "2", "--host", "n1,n2", "sh", "-c", &script];
    let running = mpirun(&line).over_fake_ssh().start();
    wait_for_sleepers(&mark, 2);
    let rank = parent(sleepers(&mark)[0]);
    signal_process(parent(rank), "TERM");
    let outcome = running.finish();
    assert_eq!(outcome.code, 143, "{outcome:?}");
    assert_eq!(outcome.out().matches("saved").count(), 2, "{outcome:?}");
    assert!(
        outcome.stderr.contains("mpirun's agent on host n"),
        "{outcome:?}"
    );
}

#[test]
fn a_timeout_leaves_the_ranks_their_time_and_is_124() {
    let script = "trap 'sleep 0.5; echo saved; exit 0' TERM; sleep 100 & wait; kill $!";
    // On a busy machine a shell needs some time until it traps.
    let line = ["-n", "2", "--timeout", "3", "sh", "-c", script];
    let outcome = mpirun(&line).run();
    assert_eq!(
        (outcome.code, outcome.out().as_str()),
        (124, "saved\nsaved\n")
    );
}

/// The one interrupt that a rank hears makes it send mpirun the second signal: one that is pending
/// already comes only once.
#[test]
fn a_second_signal_kills_at_once() {
    let mark = unique_sleep();
    let again = "kill -TERM $PPID; trap \"\" INT";
    let script = format!("trap '{again}' INT; sleep {mark} & wait; sleep {mark}");
    // Without the second one the test would wait in vain.
    let line = ["-n", "1", "--grace", "1000", "sh", "-c", &script];
    let running = mpirun(&line).start();
    wait_for_sleepers(&mark, 1);
    running.signal("INT");
    let outcome = running.finish();
    assert_eq!(outcome.code, 130, "{outcome:?}");
    wait_for_sleepers(&mark, 0);
}

#[test]
fn an_interrupt_reaches_the_ranks_so_that_they_can_clean_up() {
    let mark = unique_sleep();
    let script = format!("trap 'echo cleaned; exit 0' INT; sleep {mark} & wait");
    for hosts in ["localhost:2", "n1:1,n2:1"] {
        // The sleepers are in the background, and ignore it: nobody waits for them.
        let options = ["-n", "2", "--grace", "1000", "--host", hosts];
        let line = [&options[..], &["sh", "-c", &script]].concat();
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

/// What mpirun needs and its starter has set otherwise: actions of signals, and their mask.
#[test]
fn ends_are_noticed_whatever_signals_the_starter_ignores_or_blocks() {
    let line = ["-n", "2", "--host", "localhost,n1", "echo", "hello"];
    let all = "CHLD,INT,TERM,QUIT,USR1,USR2,TSTP,CONT,HUP,PIPE,XFSZ";
    for run in [
        mpirun_ignoring("CHLD", &line),
        mpirun_ignoring(all, &line),
        mpirun_blocking(all, &line),
    ] {
        let outcome = run.over_fake_ssh().run().succeeds();
        assert_eq!(outcome.out(), "hello\nhello\n");
    }
}

#[test]
fn a_signal_ends_the_job_whatever_signals_the_starter_ignores_or_blocks() {
    let all = "CHLD,INT,TERM,PIPE,XFSZ";
    for start in [mpirun_ignoring, mpirun_blocking] {
        let mark = unique_sleep();
        let line = [
            "-n",
            "2",
            "--grace",
            "0.2",
            "--host",
            "localhost,n1",
            "sleep",
            &mark,
        ];
        let running = start(all, &line).over_fake_ssh().start();
        wait_for_sleepers(&mark, 2);
        running.signal("TERM");
        assert_eq!(running.finish().code, 143);
        wait_for_sleepers(&mark, 0);
    }
}

/// A shell may start something and then become mpirun.
#[test]
fn children_that_mpirun_did_not_start_are_left_alone() {
    let mark = unique_sleep();
    let starts = format!("sleep {mark} > /dev/null 2>&1 &");
    let outcome = mpirun_after(&format!("{starts} true"), &["-n", "2", "false"]).run();
    assert_eq!(outcome.code, 1, "{outcome:?}");
    let left = sleepers(&mark);
    assert_eq!(left.len(), 1);
    left.into_iter().for_each(|pid| signal_process(pid, "KILL"));
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
