//! Source lines and functions of addresses in the states of ranks, from all kinds of files.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use common::Scratch;
use launcher::stall::source::Source;
use mpi_boot::state::{Address, RankState, ThreadState};
use proptest::prelude::*;

/// A function called from another place, an inlined one, and a static one.
const PROGRAM: &str = "\
void leaf(int);
static __attribute__((noinline)) void exchange(int n)
{
    leaf(n);
    leaf(n + 1);
}
static inline __attribute__((always_inline)) void halo(int n)
{
    leaf(7 * n);
    leaf(8 * n);
}
int main(int argc, char **argv)
{
    (void)argv;
    exchange(argc);
    halo(argc);
    leaf(0);
    return 0;
}
";

const LEAF: &str = "void leaf(int n) { static volatile int kept; kept = n; }";

fn run(folder: &Path, command: &str, arguments: &[&str]) -> String {
    let output = Command::new(command)
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap_or_else(|error| panic!("{command}: {error}"));
    assert!(
        output.status.success(),
        "{command} {arguments:?}: {output:?}"
    );
    String::from_utf8(output.stdout).expect("plain text")
}

/// Builds the program in a folder `deep` of the scratch folder, with these flags for the part that
/// calls.
fn build(scratch: &Scratch, name: &str, source: &str, flags: &[&str]) -> PathBuf {
    fs::create_dir_all(scratch.path().join("deep")).expect("it is ours");
    scratch.write(&format!("deep/{name}"), source, 0o644);
    scratch.write("leaf.c", LEAF, 0o644);
    run(
        scratch.path(),
        "cc",
        &["-O1", "-c", "leaf.c", "-o", "leaf.o"],
    );
    let compiler = if name.ends_with(".cc") { "c++" } else { "cc" };
    let source = format!("deep/{name}");
    let mut arguments = vec![
        "-O1",
        "-fno-optimize-sibling-calls",
        source.as_str(),
        "leaf.o",
    ];
    arguments.extend(["-o", "program"]);
    arguments.extend(flags);
    run(scratch.path(), compiler, &arguments);
    scratch.path().join("program")
}

/// The return addresses of the calls of a function, as the disassembler shows them.
fn returns(program: &Path, callee: &str) -> Vec<u64> {
    let folder = program.parent().expect("a folder");
    let text = run(
        folder,
        "objdump",
        &[
            "-d",
            "--no-show-raw-insn",
            program.to_str().expect("a plain name"),
        ],
    );
    let lines: Vec<_> = text.lines().collect();
    let is_call = |line: &str| {
        let calls = line.contains("\tcall") || line.contains("\tbl\t");
        calls && (line.contains(&format!("<{callee}>")) || line.contains(&format!("<{callee}@")))
    };
    let address = |line: &str| {
        let number = line.split(':').next().expect("a first part").trim();
        u64::from_str_radix(number, 16).expect("an address")
    };
    lines
        .windows(2)
        .filter(|pair| is_call(pair[0]))
        .map(|pair| address(pair[1]))
        .collect()
}

fn state(module: &str, offsets: &[u64]) -> RankState {
    let frame = |&offset: &u64| Address {
        module: module.to_owned(),
        offset,
        ..Address::default()
    };
    RankState {
        threads: vec![ThreadState {
            frames: offsets.iter().map(frame).collect(),
            ..ThreadState::default()
        }],
        ..RankState::default()
    }
}

/// What is filled in for these addresses.
fn ask(module: &Path, offsets: &[u64]) -> Vec<Address> {
    let mut state = state(module.to_str().expect("a plain name"), offsets);
    let deadline = Instant::now() + Duration::from_secs(60);
    Source::default().fill(&mut [&mut state], deadline);
    state.threads.remove(0).frames
}

/// Lines and functions of the calls of `leaf`.
fn calls(program: &Path, addresses_of: &Path) -> Vec<String> {
    let offsets = returns(addresses_of, "leaf");
    assert_eq!(offsets.len(), 5, "{program:?}");
    ask(program, &offsets)
        .into_iter()
        .map(|address| format!("{} in {}", address.line, address.function))
        .collect()
}

const ALL: [&str; 5] = [
    "solver.c:4 in exchange",
    "solver.c:5 in exchange",
    "solver.c:9 in halo",
    "solver.c:10 in halo",
    "solver.c:17 in main",
];

#[test]
fn each_call_has_its_line_and_the_function_of_this_line() {
    for flags in [
        &["-g", "-gdwarf-4"][..],
        &["-g", "-gdwarf-5"],
        &["-g", "-no-pie"],
        &["-g", "-gz=zlib"],
        &["-g1"],
        &["-g", "-Wl,--build-id=none"],
    ] {
        let scratch = Scratch::new();
        let program = build(&scratch, "solver.c", PROGRAM, flags);
        assert_eq!(calls(&program, &program), ALL, "{flags:?}");
    }
}

#[test]
fn the_address_behind_the_last_call_of_a_function_belongs_to_it() {
    let source = "_Noreturn void leaf(int);\n\
                  static __attribute__((noinline)) void last(int n)\n{\n    leaf(n);\n}\n\
                  int main(int argc, char **argv) {\n (void)argv; last(argc); }\n";
    let scratch = Scratch::new();
    let program = build(&scratch, "last.c", source, &["-g"]);
    let text = run(
        scratch.path(),
        "objdump",
        &["-d", "--no-show-raw-insn", "program"],
    );
    let call = text
        .lines()
        .position(|line| line.contains("<leaf>") && line.contains('\t'));
    let number = |line: &str| u64::from_str_radix(line.split(':').next()?.trim(), 16).ok();
    // What follows may be an empty line, or belong to another function.
    let end = text
        .lines()
        .skip(call.unwrap() + 1)
        .find_map(number)
        .unwrap();
    let places = ask(&program, &[end]);
    assert_eq!(
        (places[0].line.as_str(), places[0].function.as_str()),
        ("last.c:4", "last")
    );
}

#[test]
fn functions_are_found_without_debug_information() {
    let scratch = Scratch::new();
    let program = build(&scratch, "solver.c", PROGRAM, &[]);
    let functions = [
        " in exchange",
        " in exchange",
        " in main",
        " in main",
        " in main",
    ];
    assert_eq!(calls(&program, &program), functions);
    let symbols = run(scratch.path(), "nm", &["program"]);
    let line = symbols
        .lines()
        .find(|line| line.ends_with(" t exchange"))
        .unwrap();
    let start = u64::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap();
    let offsets = returns(&program, "leaf");
    let places = ask(&program, &offsets);
    assert_eq!(places[0].into_function, offsets[0] - start);
}

#[test]
fn a_stripped_program_leaves_what_the_rank_has_reported() {
    let scratch = Scratch::new();
    let program = build(&scratch, "solver.c", PROGRAM, &["-g"]);
    let offsets = returns(&program, "leaf");
    run(scratch.path(), "strip", &["program"]);
    let mut state = state(program.to_str().unwrap(), &offsets);
    let before = Address {
        function: "exported".into(),
        into_function: 17,
        ..state.threads[0].frames[0].clone()
    };
    state.threads[0].frames[0] = before.clone();
    let deadline = Instant::now() + Duration::from_secs(60);
    Source::default().fill(&mut [&mut state], deadline);
    assert_eq!(state.threads[0].frames[0], before);
    assert_eq!(state.threads[0].frames[1].function, "");
}

#[test]
fn debug_information_in_another_file_is_found_by_its_link() {
    for (flags, folder) in [
        (&["-g"][..], ""),
        (&["-g"], ".debug"),
        (&["-g", "-Wl,--build-id=none"], ".debug"),
    ] {
        let scratch = Scratch::new();
        let program = build(&scratch, "solver.c", PROGRAM, flags);
        let whole = scratch.path().join("whole");
        fs::copy(&program, &whole).unwrap();
        run(
            scratch.path(),
            "objcopy",
            &["--only-keep-debug", "program", "program.debug"],
        );
        run(scratch.path(), "strip", &["program"]);
        run(
            scratch.path(),
            "objcopy",
            &["--add-gnu-debuglink=program.debug", "program"],
        );
        if !folder.is_empty() {
            let folder = scratch.path().join(folder);
            fs::create_dir(&folder).unwrap();
            fs::rename(
                scratch.path().join("program.debug"),
                folder.join("program.debug"),
            )
            .unwrap();
        }
        assert_eq!(calls(&program, &whole), ALL, "{flags:?} {folder}");
    }
}

#[test]
fn debug_information_of_another_build_is_not_taken() {
    for flags in [&["-g"][..], &["-g", "-Wl,--build-id=none"]] {
        let scratch = Scratch::new();
        let program = build(&scratch, "solver.c", PROGRAM, flags);
        run(
            scratch.path(),
            "objcopy",
            &["--only-keep-debug", "program", "program.debug"],
        );
        run(scratch.path(), "objcopy", &["--strip-debug", "program"]);
        run(
            scratch.path(),
            "objcopy",
            &["--add-gnu-debuglink=program.debug", "program"],
        );
        let kept = scratch.path().join("kept");
        fs::rename(&program, &kept).unwrap();
        let moved = PROGRAM.replace("leaf(0)", "\n\n leaf(0)");
        build(&scratch, "solver.c", &moved, flags);
        run(
            scratch.path(),
            "objcopy",
            &["--only-keep-debug", "program", "program.debug"],
        );
        fs::rename(&kept, &program).unwrap();
        assert_eq!(calls(&program, &program)[4], " in main", "{flags:?}");
    }
}

#[test]
fn a_shared_library_and_names_of_cxx_are_understood() {
    let source = "extern \"C\" void leaf(int);\nnamespace wrap {\n\
                  template <typename T> void send(T n)\n{\n    leaf(static_cast<int>(n));\n}\n}\n\
                  void call() { wrap::send<long>(3); }\n";
    for (flags, line) in [(&["-g"][..], "wrapper.cc:5"), (&[], "")] {
        let scratch = Scratch::new();
        let flags = [flags, &["-fno-inline", "-shared", "-fPIC", "-nostartfiles"]].concat();
        scratch.write("leaf.o", "", 0o644);
        fs::create_dir_all(scratch.path().join("deep")).unwrap();
        scratch.write("deep/wrapper.cc", source, 0o644);
        let fixed = [
            "-O1",
            "-fno-optimize-sibling-calls",
            "deep/wrapper.cc",
            "-o",
            "wrapper.so",
        ];
        run(scratch.path(), "c++", &[&fixed[..], &flags].concat());
        let library = scratch.path().join("wrapper.so");
        let places = ask(&library, &returns(&library, "leaf"));
        assert_eq!(places.len(), 1);
        assert_eq!(places[0].line, line);
        assert!(
            places[0].function.contains("wrap::send<long>("),
            "{places:?}"
        );
    }
}

#[test]
fn what_is_no_program_gives_nothing() {
    let scratch = Scratch::new();
    let pipe = scratch.path().join("pipe");
    run(scratch.path(), "mkfifo", &["pipe"]);
    let long = scratch.path().join("long");
    fs::copy("/proc/self/exe", &long).unwrap();
    fs::File::options()
        .write(true)
        .open(&long)
        .unwrap()
        .set_len((2 << 30) + 1)
        .unwrap();
    let script = scratch.write("script", "#!/bin/sh\n", 0o755);
    let modules = [
        "",
        "relative",
        "/nowhere/program",
        "/dev/zero",
        "/proc/self/mem",
        "/",
        "/a\0b",
    ];
    let paths = [&pipe, &long, &script, &scratch.path().to_owned()];
    let paths = paths.map(|path| path.to_str().unwrap());
    for module in modules.iter().chain(&paths) {
        let places = ask(Path::new(module), &[0, 1, 4096, u64::MAX]);
        for place in places {
            assert_eq!(
                (place.line.as_str(), place.function.as_str()),
                ("", ""),
                "{module}"
            );
        }
    }
}

#[test]
fn ranks_that_share_an_address_share_its_line() {
    let scratch = Scratch::new();
    let program = build(&scratch, "solver.c", PROGRAM, &["-g"]);
    let offsets = returns(&program, "leaf");
    let state = state(program.to_str().unwrap(), &offsets);
    let mut states = vec![state; 1000];
    let mut states: Vec<_> = states.iter_mut().collect();
    Source::default().fill(&mut states, Instant::now() + Duration::from_secs(60));
    for state in states {
        assert_eq!(state.threads[0].frames[4].line, "solver.c:17");
    }
}

#[test]
fn a_question_has_limits() {
    let scratch = Scratch::new();
    let program = build(&scratch, "solver.c", PROGRAM, &["-g"]);
    let offsets = returns(&program, "leaf");
    let known = state(program.to_str().unwrap(), &offsets[..1]);
    let fill = |first: RankState, others: Vec<RankState>| {
        let mut states = vec![known.clone(), first];
        states.extend(others);
        states.push(known.clone());
        let mut states: Vec<_> = states.iter_mut().collect();
        Source::default().fill(&mut states, Instant::now() + Duration::from_secs(60));
        let lines = states
            .iter()
            .map(|state| state.threads[0].frames[0].line.clone());
        lines.collect::<Vec<_>>()
    };
    let last = state(program.to_str().unwrap(), &offsets[1..2]);
    let files = (0..255)
        .map(|number| state(&format!("/nowhere/{number}"), &[1]))
        .collect();
    let lines = fill(state("/nowhere", &[1]), files);
    assert_eq!(
        (lines[0].as_str(), lines.last().unwrap().as_str()),
        ("solver.c:4", "solver.c:4")
    );
    let many = (0..4095)
        .map(|offset| state("/nowhere", &[offset]))
        .chain([last])
        .collect();
    let lines = fill(state("/nowhere", &[9999]), many);
    assert_eq!(lines[lines.len() - 2], "", "one address too many");
    assert_eq!(lines.last().unwrap(), "solver.c:4");
}

#[test]
fn nothing_is_read_behind_the_deadline() {
    let scratch = Scratch::new();
    let program = build(&scratch, "solver.c", PROGRAM, &["-g"]);
    let mut state = state(program.to_str().unwrap(), &returns(&program, "leaf"));
    let mut source = Source::default();
    source.fill(&mut [&mut state], Instant::now());
    assert_eq!(state.threads[0].frames[0].line, "");
}

/// The program whose copies are damaged, and its return addresses.
fn sound() -> &'static (Vec<u8>, Vec<u64>) {
    static SOUND: OnceLock<(Vec<u8>, Vec<u64>)> = OnceLock::new();
    SOUND.get_or_init(|| {
        let scratch = Scratch::new();
        let program = build(&scratch, "solver.c", PROGRAM, &["-g"]);
        (
            fs::read(&program).expect("it was built"),
            returns(&program, "leaf"),
        )
    })
}

proptest! {
    #[test]
    fn a_damaged_program_is_harmless(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..200),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let (content, offsets) = sound();
        let mut content = content.clone();
        for (place, byte) in changes {
            let place = place.index(content.len());
            content[place] = byte;
        }
        if let Some(cut) = cut {
            let length = cut.index(content.len());
            content.truncate(length);
        }
        let scratch = Scratch::new();
        ask(&scratch.write("program", content, 0o755), offsets);
    }
}
