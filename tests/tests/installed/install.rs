//! What build systems ask of an installation: pkg-config, FindMPI of CMake, a header without
//! warnings, programs that run without `LD_LIBRARY_PATH`.

use std::path::Path;
use std::process::{Command, Output};

use mpi_lite_tests::{Job, Scratch, c_source, prefix, tool};

const HELLO: &str = "tests/c/tools/hello.c";

fn run(command: &mut Command) -> Output {
    command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

fn text(command: &mut Command) -> String {
    let output = run(command);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed: {stderr}");
    assert!(stderr.is_empty(), "{command:?} complains: {stderr}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn succeed(command: &mut Command) -> String {
    let output = run(command);
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?} failed: {stdout}{stderr}"
    );
    stdout
}

fn include_flag() -> String {
    format!("-I{}", prefix().join("include").display())
}

fn say_hello(binary: &Path) {
    let outcome = Job::mpirun(2).arg(binary).run().expect_code(0);
    drop(
        outcome
            .expect_stdout("hello from 0 of 2")
            .expect_stdout("hello from 1 of 2"),
    );
}

/// What a message tells to read is where it says.
#[test]
fn a_function_without_a_body_names_a_page_of_the_installation() {
    let scratch = Scratch::new("page");
    let source = "#include <mpi.h>\nint main(void) { MPI_Init(0, 0); \
                  return MPI_Close_port(\"port\"); }\n";
    let source = scratch.write("page.c", source);
    let binary = scratch.path().join("page");
    let _ = succeed(
        Command::new(tool("mpicc"))
            .arg(&source)
            .arg("-o")
            .arg(&binary),
    );
    let outcome = Job::mpirun(1).arg(&binary).run().expect_failure();
    let mut words = outcome.stderr.split([' ', ';']);
    let page = words.find(|word| word.ends_with("coverage.md"));
    let page = prefix().join(page.unwrap_or_else(|| panic!("{}", outcome.report())));
    let page = std::fs::read_to_string(&page).unwrap_or_else(|e| panic!("{page:?}: {e}"));
    assert!(page.contains("`MPI_Close_port`"));
}

/// Build systems that know other libraries say `-lmpi`.
#[test]
fn a_program_that_names_libmpi_gets_our_library() {
    let scratch = Scratch::new("lmpi");
    for (wrapper, source) in [("mpicc", HELLO), ("mpicxx", "tests/c/tools/hello.cpp")] {
        let binary = scratch.path().join(wrapper);
        let mut compiler = Command::new(tool(wrapper));
        compiler.arg(c_source(source)).arg("-o").arg(&binary);
        text(compiler.args(["-Wl,--no-as-needed", "-lmpi"]));
        say_hello(&binary);
        let alone = run(Command::new(&binary).env_remove("LD_LIBRARY_PATH"));
        let stdout = String::from_utf8_lossy(&alone.stdout);
        assert_eq!(stdout, "hello from 0 of 1\n", "{wrapper}");
        let needed = text(Command::new("readelf").arg("-d").arg(&binary));
        let libraries = needed.lines().filter(|line| line.contains("NEEDED"));
        let of_mpi = libraries.filter(|line| line.contains("libmpi"));
        let of_mpi: Vec<_> = of_mpi.collect();
        assert!(
            of_mpi.len() == 1 && of_mpi[0].contains("[libmpi_abi.so.1]"),
            "{wrapper}: {of_mpi:?}"
        );
    }
}

#[test]
fn a_cplusplus_program_compiles_and_runs() {
    let scratch = Scratch::new("cxx");
    let binary = scratch.path().join("hello");
    let source = c_source("tests/c/tools/hello.cpp");
    let flags = ["-std=c++11", "-Wall", "-Wextra", "-pedantic", "-Werror"];
    text(
        Command::new(tool("mpicxx"))
            .args(flags)
            .arg(source)
            .arg("-o")
            .arg(&binary),
    );
    say_hello(&binary);
}

#[test]
fn the_header_compiles_without_a_warning_as_c99_and_as_cplusplus_11() {
    let scratch = Scratch::new("header");
    let source = "#include <mpi.h>\nint main(void) { return MPI_VERSION - 5; }\n";
    for (compiler, standard, name) in [
        ("cc", "-std=c99", "a.c"),
        ("cc", "-std=c11", "b.c"),
        ("c++", "-std=c++11", "c.cpp"),
    ] {
        let file = scratch.write(name, source);
        let mut command = Command::new(compiler);
        command.args([
            standard,
            "-Wall",
            "-Wextra",
            "-pedantic",
            "-Werror",
            "-fsyntax-only",
        ]);
        text(command.arg(include_flag()).arg(file));
    }
}

#[test]
fn pkg_config_knows_how_to_compile_and_link() {
    let folder = prefix().join("lib/pkgconfig");
    let entries = std::fs::read_dir(&folder).expect("lib/pkgconfig is installed");
    let names: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    assert!(!names.is_empty(), "{} holds no .pc file", folder.display());
    for file in names {
        let name = file
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let mut command = Command::new("pkg-config");
        command
            .env("PKG_CONFIG_PATH", &folder)
            .args(["--cflags", "--libs", &name]);
        let flags = text(&mut command);
        let scratch = Scratch::new("pkg-config");
        let binary = scratch.path().join("hello");
        let mut compiler = Command::new("cc");
        compiler
            .arg(c_source(HELLO))
            .arg("-o")
            .arg(&binary)
            .args(flags.split_whitespace());
        text(&mut compiler);
        // By hand, without a variable: the run path leads to the library.
        let outcome = Job::new(&binary).run();
        drop(outcome.expect_code(0).expect_stdout("hello from 0 of 1"));
    }
}

const CMAKE_PROJECT: &str = "\
cmake_minimum_required(VERSION 3.16)
project(hello C CXX)
set(MPI_DETERMINE_LIBRARY_VERSION TRUE)
find_package(MPI REQUIRED COMPONENTS C CXX)
message(STATUS \"C libraries: ${MPI_C_LIBRARIES}\")
message(STATUS \"C version: ${MPI_C_VERSION}\")
message(STATUS \"C library version: ${MPI_C_LIBRARY_VERSION_STRING}\")
message(STATUS \"launcher: ${MPIEXEC_EXECUTABLE}\")
add_executable(hello hello.c)
target_link_libraries(hello MPI::MPI_C)
add_executable(hello_cxx hello_cxx.cpp)
target_link_libraries(hello_cxx MPI::MPI_CXX)
enable_testing()
add_test(NAME hello COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 2
         ${MPIEXEC_PREFLAGS} $<TARGET_FILE:hello> ${MPIEXEC_POSTFLAGS})
";

#[test]
fn cmake_accepts_the_installation() {
    let scratch = Scratch::new("cmake");
    scratch.write("CMakeLists.txt", CMAKE_PROJECT);
    let copy = |from: &str, to: &str| {
        std::fs::copy(c_source(from), scratch.path().join(to)).expect("a copy of hello");
    };
    copy(HELLO, "hello.c");
    copy("tests/c/tools/hello.cpp", "hello_cxx.cpp");
    let home = format!("-DMPI_HOME={}", prefix().display());
    let cmake = |words: &[&str]| {
        let mut command = Command::new("cmake");
        succeed(command.args(words).current_dir(scratch.path()))
    };
    let answer = cmake(&["-B", "build", "-S", ".", &home]);
    let ours = prefix().display().to_string();
    let line = |start: &str| {
        let found = answer.lines().find(|line| line.contains(start));
        found
            .unwrap_or_else(|| panic!("no `{start}` in {answer}"))
            .to_owned()
    };
    assert!(line("C libraries:").contains(&ours), "{answer}");
    assert!(line("launcher:").contains(&ours), "{answer}");
    assert!(line("C version:").ends_with("5.0"), "{answer}");
    assert!(!line("C library version:").ends_with(": "), "{answer}");
    cmake(&["--build", "build"]);
    say_hello(&scratch.path().join("build/hello"));
    say_hello(&scratch.path().join("build/hello_cxx"));
    succeed(Command::new("ctest").current_dir(scratch.path().join("build")));
}
