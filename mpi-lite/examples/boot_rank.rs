//! A rank without MPI: what a program says to its launcher, to try the launcher alone.
//!
//! `mpirun -n 4 boot_rank exchange` runs Init (the exchange of cards) and Finalize and nothing
//! between. The other modes go wrong at a chosen place; the launcher's tests use them.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::process::{Command, Stdio, exit};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};

use mpi_boot::shared::sealed_memory;
use mpi_lite::boot::protocol::{FromRank, Measure, PROTOCOL, encode};
use mpi_lite::boot::state::RankState;
use mpi_lite::boot::{Boot, Counted, Shared};
use mpi_lite::clock::{Clock, Instant};
use mpi_lite::config::CopyAcross;
use mpi_lite::node::{self, Arena, Node, PassageError};
use mpi_lite::world::Process;
use rustix::event::{PollFd, PollFlags};
use rustix::io::write;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mode = words.first().map_or("exchange", String::as_str);
    let who = words.get(1).and_then(|word| word.parse::<u32>().ok());
    let own: u32 = std::env::var("MPILITE_RANK").map_or(0, |rank| rank.parse().unwrap_or(0));
    let is_chosen = who == Some(own);
    match mode {
        "leave-before-init" if is_chosen => {}
        "garbage" if is_chosen => send_garbage(),
        "long-card" if is_chosen => send_long_card(words[2].parse().expect("bytes")),
        "die-before-init" if is_chosen => kill_oneself(),
        "send-nothing" => send_nothing(),
        _ => in_mpi(mode, &words, is_chosen),
    }
}

/// A whole MPI program without a message.
fn send_nothing() {
    let process = Process::init().expect("the launcher listens");
    process
        .finalize("finalize", false)
        .expect("all ranks finalize");
}

fn in_mpi(mode: &str, words: &[String], is_chosen: bool) {
    let mut boot = match Boot::from_environment() {
        Ok(boot) => boot,
        Err(error) => {
            eprintln!("{error}");
            exit(9);
        }
    };
    if mode == "die-in-init" && is_chosen {
        kill_oneself();
    }
    if mode == "count" && !is_chosen {
        report(&mut boot);
    }
    exchange(&mut boot);
    match mode {
        "print" => print(&boot),
        "appnum" => println!(
            "rank {} of {} program {:?}",
            boot.assignment().rank,
            boot.assignment().size,
            boot.assignment().appnum
        ),
        "share" => share(&mut boot),
        "pass" => pass(&mut boot),
        "hold" => hold(&mut boot),
        "die" | "count" if is_chosen => kill_oneself(),
        "stop" if is_chosen => signal_oneself("STOP"),
        "abort" if is_chosen => {
            let code = words[2].parse().expect("a code");
            boot.abort(code, &words[3]);
            exit(code);
        }
        "exit" if is_chosen => exit(words[2].parse().expect("a code")),
        "die" | "abort" | "exit" => forever(),
        "count" if words.len() > 1 => forever(),
        _ => {}
    }
    boot.finalized().expect("the launcher listens");
    match mode {
        "die-in-finalize" if is_chosen => kill_oneself(),
        "exit-after-finalize" if is_chosen => exit(5),
        _ => {}
    }
}

/// As a rank that has sent 100 packets and its rank again.
fn report(boot: &mut Boot) {
    let counter = |name: &str, array: &str, measure, value| Counted {
        name: name.into(),
        array: array.into(),
        measure,
        value,
    };
    let rank = u64::from(boot.assignment().rank);
    let counters = vec![
        counter("rmpp_sent_data", "rmpp_sent", Measure::Count, 100 + rank),
        counter("rmpp_messages_sent", "", Measure::Count, 80),
        counter("udp_datagrams_sent", "", Measure::Count, 100),
        counter("rmpp_data_repeated", "", Measure::Repeats, rank),
    ];
    boot.report(counters).expect("the launcher listens");
}

/// Every rank shows its number to every other.
fn exchange(boot: &mut Boot) {
    let (rank, size) = (boot.assignment().rank, boot.assignment().size);
    let card = format!("card of {rank}").into_bytes();
    match boot.exchange(&card, &RankState::default) {
        Ok(cards) => {
            let expected: Vec<Vec<u8>> = (0..size)
                .map(|rank| format!("card of {rank}").into_bytes())
                .collect();
            assert_eq!(cards, expected, "rank {rank} got other cards");
        }
        Err(error) => {
            eprintln!("rank {rank}: {error}");
            exit(9);
        }
    }
}

fn print(boot: &Boot) {
    let who = boot.assignment();
    let key: String = who
        .key
        .bytes()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    println!(
        "rank {} of {} local {} of {} node {} host {} bind {} transport {} hosts {} key {key}",
        who.rank,
        who.size,
        who.local_rank,
        who.local_size,
        who.node,
        who.host,
        who.bind,
        who.transport,
        who.hosts
            .all()
            .map(|host| &**host)
            .collect::<Vec<_>>()
            .join(",")
    );
}

/// Tries the memory and the doorbells of the node: all of it is new and works between its ranks.
#[expect(
    clippy::disallowed_methods,
    reason = "a program waits for its doorbell"
)]
fn share(boot: &mut Boot) {
    let Some(Shared { memory, doorbells }) = boot.shared() else {
        println!("nothing to share");
        return;
    };
    let (place, ranks) = (
        boot.assignment().local_rank as usize,
        boot.assignment().local_size as usize,
    );
    assert_eq!(boot.assignment().local_peers.len(), ranks);
    assert!(boot.shared().is_none());
    let memory = File::from(memory);
    let read = || {
        let mut bytes = vec![0; ranks];
        memory.read_exact_at(&mut bytes, 0).expect("it is readable");
        bytes
    };
    assert_eq!(read(), vec![0; ranks], "the memory of others");
    // Nobody writes before all have looked.
    exchange(boot);
    let mark = |place: usize| (place % 255) as u8 + 1;
    memory
        .write_all_at(&[mark(place)], place as u64)
        .expect("it is writable");
    write(&doorbells[(place + 1) % ranks], &1_u64.to_ne_bytes()).expect("it is a doorbell");
    let mut own = [PollFd::new(&doorbells[place], PollFlags::IN)];
    rustix::event::poll(&mut own, None).expect("the doorbell wakes");
    exchange(boot);
    assert_eq!(read(), (0..ranks).map(mark).collect::<Vec<_>>());
    let about = memory.metadata().expect("it is open");
    for length in [0, about.len() - 1, about.len() + 1] {
        assert!(memory.set_len(length).is_err(), "it is sealed");
    }
    let (inode, length, doorbells) = (about.ino(), about.len(), doorbells.len());
    println!(
        "memory {inode} of {length} bytes, {doorbells} doorbells{}",
        inherited()
    );
}

/// Three ranks give each other memory and descriptors after Init; one takes what is for another,
/// one expects more bytes, and the last one ends before it has given what it offers. Each prints
/// what it gets; all open files are those of before.
fn pass(boot: &mut Boot) {
    let node = join_node(boot);
    let (passage, clock) = (node.passage(), Clock::start());
    let me = passage.me();
    let open = open_files();
    let late = Instant(3_600_000_000_000);
    let arena = Arena::among(passage, &[1, 0, 2], (1, 10_000), late);
    let mut joining = arena.expect("the system has room");
    let arena = drive(clock, |now| joining.poll(now)).expect("all come");
    let word = |number: usize| &arena.words()[number];
    let await_word = |number: usize, value: u64| {
        while word(number).load(Acquire) != value {
            std::thread::yield_now();
        }
    };
    word(0).fetch_add(1 << (8 * me), AcqRel);
    await_word(0, 0x01_01_01);

    let said = match me {
        0 => {
            let (_other, memory) = Arena::make(4096).expect("the system has room");
            let offer = passage.offer(2, memory, &[1], late);
            let mut offer = offer.expect("the number is free");
            let given = |now| Ok::<_, PassageError>(offer.poll(now)?.then_some("given"));
            drive(clock, given).map_or_else(|error| error.to_string(), str::to_owned)
        }
        1 => {
            await_word(1, 1);
            let mut ask = passage.ask(0, 2, late);
            let memory = drive(clock, |now| ask.poll(now)).expect("it is for this rank");
            Arena::map(&memory, 8192).map_or_else(|error| error.to_string(), |_| "mapped".into())
        }
        _ => {
            let mut ask = passage.ask(0, 2, late);
            let refused = drive(clock, |now| ask.poll(now));
            word(1).store(1, Release);
            refused.map_or_else(|error| error.to_string(), |_| "given".into())
        }
    };
    println!("rank {me}: {said}");
    if me == 2 {
        let memory = sealed_memory(4096).expect("the system has room");
        let _offer = passage.offer(3, memory, &[0, 1], late).expect("it is free");
        word(2).store(1, Release);
        // They have asked: now this process ends.
        await_word(3, 2);
        boot.finalized().expect("the launcher listens");
        exit(0);
    }
    let mut last = passage.ask(2, 3, late);
    await_word(2, 1);
    let early = last.poll(clock.now()).expect("the rank is there");
    assert!(early.is_none());
    word(3).fetch_add(1, AcqRel);
    let ended = drive(clock, |now| last.poll(now)).expect_err("it gives nothing");
    let mut ask = passage.ask(1 - me, 4, Instant(clock.now().0 + 50_000_000));
    let silent = drive(clock, |now| ask.poll(now)).expect_err("it offers nothing");
    println!("rank {me}: {ended}; {silent}");
    drop((last, ask, joining, arena));
    assert_eq!(open_files(), open);
}

fn join_node(boot: &mut Boot) -> Node {
    let shared = boot.shared().expect("the ranks share memory");
    let access = node::Access {
        memory: shared.memory,
        doorbells: shared.doorbells,
        ranks: boot.assignment().local_peers.clone(),
        me: boot.assignment().local_rank,
        cores: node::Cores {
            allowed: [u64::MAX; 16],
            most: u32::MAX,
        },
        copy_across: CopyAcross::Off,
    };
    let node = Node::join(access, boot.assignment().size);
    node.expect("the memory can be mapped")
}

/// Polls until there is something.
fn drive<T, E>(
    clock: Clock,
    mut poll: impl FnMut(Instant) -> Result<Option<T>, E>,
) -> Result<T, E> {
    loop {
        if let Some(came) = poll(clock.now())? {
            return Ok(came);
        }
        std::thread::yield_now();
    }
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd")
        .expect("it is there")
        .count()
}

/// What a child of this process has got of it.
fn inherited() -> String {
    let list = Command::new("ls").args(["-l", "/proc/self/fd"]).output();
    let list = String::from_utf8(list.expect("ls runs").stdout).expect("it is text");
    let ours = |line: &&str| line.contains("memfd") || line.contains("eventfd");
    list.lines()
        .filter(ours)
        .map(|line| format!("; a child has {line}"))
        .collect()
}

/// Has the shared memory open until it is killed.
fn hold(boot: &mut Boot) {
    let shared = boot.shared();
    assert!(shared.is_some());
    forever();
}

/// A shell inherits the channel and writes what is no frame.
fn send_garbage() {
    let fd = std::env::var("MPILITE_BOOT_FD").expect("started by a launcher");
    let line = format!("printf 'this is no frame' >&{fd}");
    Command::new("bash")
        .args(["-c", &line])
        .status()
        .expect("bash runs");
    forever();
}

/// As a library would that does not know the limit: a shell passes on what it inherits.
fn send_long_card(bytes: usize) {
    let fd = std::env::var("MPILITE_BOOT_FD").expect("started by a launcher");
    let hello = FromRank::Hello {
        protocol: PROTOCOL,
        version: String::new(),
    };
    let card = FromRank::Card(vec![7; bytes].into());
    let frames = [encode(&hello), encode(&card)].map(|frame| frame.expect("a frame"));
    let mut shell = Command::new("bash")
        .args(["-c", &format!("cat >&{fd}")])
        .stdin(Stdio::piped())
        .spawn()
        .expect("bash runs");
    let mut input = shell.stdin.take().expect("a pipe");
    // The launcher may close its end before all is written.
    let _ = input.write_all(&frames.concat());
    drop(input);
    shell.wait().expect("it is our child");
    forever();
}

fn kill_oneself() {
    signal_oneself("KILL");
    forever();
}

fn signal_oneself(signal: &str) {
    std::io::stdout().flush().ok();
    let own = std::process::id().to_string();
    Command::new("kill")
        .arg(format!("-{signal}"))
        .arg(own)
        .status()
        .expect("kill runs");
}

fn forever() -> ! {
    loop {
        std::thread::park();
    }
}
