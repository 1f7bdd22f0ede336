//! `mpicc` and `mpicxx`: what they answer, what they build, and that CMake and pkg-config accept
//! an installation made of them.

#[path = "../../tests/mpirun/common/scratch.rs"]
mod scratch;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use scratch::Scratch;

const MPICC: &str = env!("CARGO_BIN_EXE_mpicc");

/// The `mpirun` that cargo builds beside `mpicc`.
fn mpirun() -> PathBuf {
    let mpirun = Path::new(MPICC).with_file_name("mpirun");
    assert!(
        mpirun.exists(),
        "{} is missing: cargo build -p launcher",
        mpirun.display()
    );
    mpirun
}

/// An installation with our header and a library that has only what a smallest program needs.
struct Installation {
    scratch: Scratch,
}

const LIBRARY: &str = "
    int MPI_Init(int *argc, char ***argv) { (void)argc; (void)argv; return 0; }
    int MPI_Finalize(void) { return 0; }
    int MPI_Get_library_version(char *text, int *length)
    { text[0] = 'x'; text[1] = 0; *length = 1; return 0; }
";

const PROGRAM: &str = "
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    printf(\"MPI %d\\n\", MPI_VERSION);
    return MPI_Finalize();
}
";

impl Installation {
    fn new() -> Installation {
        let scratch = Scratch::new();
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .ancestors()
            .nth(2)
            .expect("in a workspace");
        for directory in [
            "bin",
            "include",
            "lib/pkgconfig",
            "lib/mpilite/compat/pkgconfig",
        ] {
            fs::create_dir_all(scratch.path().join(directory)).expect("it is ours");
        }
        let place = |from: &Path, to: &str| {
            fs::copy(from, scratch.path().join(to)).expect("both are there");
        };
        place(Path::new(MPICC), "bin/mpicc");
        place(&mpirun(), "bin/mpirun");
        place(&root.join("include/mpi.h"), "include/mpi.h");
        for name in ["mpicxx", "mpic++", "mpiCC", "mpifort", "mpif90", "mpif77"] {
            symlink("mpicc", scratch.path().join("bin").join(name)).expect("it is new");
        }
        symlink("mpirun", scratch.path().join("bin/mpiexec")).expect("it is new");
        for (from, to) in [
            ("pkgconfig", "lib/pkgconfig"),
            ("pkgconfig/compat", "lib/mpilite/compat/pkgconfig"),
        ] {
            let from = root.join("launcher").join(from);
            for file in fs::read_dir(from).expect("it is in the tree").flatten() {
                if file.path().is_file() {
                    let name = file.file_name().into_string().expect("a plain name");
                    place(&file.path(), &format!("{to}/{name}"));
                }
            }
        }
        let installation = Installation { scratch };
        installation.build_library();
        installation
    }

    fn build_library(&self) {
        self.scratch.write("library.c", LIBRARY, 0o644);
        let mut cc = Command::new("cc");
        cc.args([
            "-shared",
            "-fPIC",
            "-Wl,-soname,libmpi_abi.so.1",
            "library.c",
        ]);
        cc.args(["-o", "lib/libmpi_abi.so.1"])
            .current_dir(self.prefix());
        assert!(cc.status().expect("cc runs").success());
        symlink("libmpi_abi.so.1", self.prefix().join("lib/libmpi_abi.so")).expect("it is new");
    }

    fn prefix(&self) -> &Path {
        self.scratch.path()
    }

    fn tool(&self, name: &str) -> Command {
        let mut command = Command::new(self.prefix().join("bin").join(name));
        for (variable, _) in std::env::vars_os() {
            let name = variable.to_string_lossy();
            let others = ["LD_LIBRARY_PATH", "MPILITE_ABI"];
            if name.ends_with("_CC") || name.ends_with("_CXX") || others.contains(&&*name) {
                command.env_remove(&variable);
            }
        }
        command.current_dir(self.prefix());
        command
    }

    /// Standard output of a question, which must have no standard error.
    #[track_caller]
    fn answer(&self, name: &str, arguments: &[&str]) -> String {
        let output = self.tool(name).args(arguments).output().expect("it runs");
        assert_eq!(
            (output.status.code(), text(&output.stderr).as_str()),
            (Some(0), "")
        );
        text(&output.stdout).trim_end().to_string()
    }

    fn compile_flags(&self) -> String {
        format!("-I{}/include", self.prefix().display())
    }

    fn link_flags(&self) -> String {
        let lib = self.prefix().join("lib");
        let lib = lib.display();
        format!("-L{lib} -Wl,-rpath,{lib} -Wl,--enable-new-dtags -L{lib}/mpilite/libmpi -lmpi_abi")
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn succeeds(command: &mut Command) -> Output {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?}\n{out}\n{err}");
    output
}

#[test]
fn every_question_is_answered_on_one_clean_line() {
    let mpi = Installation::new();
    let (compile, link) = (mpi.compile_flags(), mpi.link_flags());
    let version = env!("CARGO_PKG_VERSION");
    for question in [
        "-show",
        "--show",
        "-showme",
        "--showme",
        "-compile_info",
        "-compile-info",
        "-link_info",
        "-link-info",
    ] {
        assert_eq!(
            mpi.answer("mpicc", &[question]),
            format!("cc {compile} {link}")
        );
        let with_file = mpi.answer("mpicxx", &[question, "a.cc"]);
        assert_eq!(with_file, format!("c++ a.cc {compile} {link}"));
    }
    assert_eq!(
        mpi.answer("mpicc", &["-show", "-c", "a.c"]),
        format!("cc -c a.c {compile}")
    );
    for question in ["--showme:compile", "-showme:compile", "-show-compile-info"] {
        assert_eq!(mpi.answer("mpicc", &[question]), compile);
    }
    for question in ["--showme:link", "-showme:link", "-show-link-info"] {
        assert_eq!(mpi.answer("mpicc", &[question]), link);
    }
    let prefix = mpi.prefix().display();
    assert_eq!(
        mpi.answer("mpicc", &["--showme:incdirs"]),
        format!("{prefix}/include")
    );
    assert_eq!(
        mpi.answer("mpicc", &["--showme:libdirs"]),
        format!("{prefix}/lib")
    );
    assert_eq!(mpi.answer("mpicc", &["--showme:libs"]), "mpi_abi");
    assert_eq!(mpi.answer("mpic++", &["--showme:command"]), "c++");
    assert_eq!(
        mpi.answer("mpiCC", &["--showme:version"]),
        format!("mpiCC: mpi-lite {version} (Language: C++)")
    );
}

#[test]
fn the_compiler_is_chosen_by_option_then_by_variable() {
    let mpi = Installation::new();
    let command = |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut tool = mpi.tool("mpicc");
        tool.envs(variables.iter().copied())
            .args(arguments)
            .arg("--showme:command");
        text(&succeeds(&mut tool).stdout).trim_end().to_string()
    };
    assert_eq!(command(&[], &[]), "cc");
    assert_eq!(command(&[("OMPI_CC", "a"), ("MPICH_CC", "b")], &[]), "b");
    assert_eq!(
        command(&[("MPICH_CC", "b"), ("MPILITE_CC", "ccache c")], &[]),
        "ccache c"
    );
    assert_eq!(command(&[("MPILITE_CC", "c")], &["-cc=d"]), "d");
    let own = mpi.prefix().join("bin/mpicc");
    assert_eq!(command(&[("MPICH_CC", own.to_str().unwrap())], &[]), "cc");
}

#[test]
fn the_binary_interface_is_chosen_by_option_then_by_variable() {
    let mpi = Installation::new();
    let prefix = mpi.prefix().display();
    let compile = format!("-I{prefix}/include/mpich");
    let link = format!(
        "-L{prefix}/lib/mpilite/mpich -L{prefix}/lib -Wl,-rpath,{prefix}/lib \
         -Wl,--enable-new-dtags -lmpi"
    );
    for option in ["-abi=mpich", "--abi=mpich"] {
        for (tool, compiler) in [("mpicc", "cc"), ("mpicxx", "c++")] {
            let line = mpi.answer(tool, &["-show", option, "a.c"]);
            assert_eq!(line, format!("{compiler} a.c {compile} {link}"));
        }
    }
    for (question, answer) in [
        ("--showme:compile", compile.clone()),
        ("--showme:link", link),
        ("--showme:incdirs", format!("{prefix}/include/mpich")),
        (
            "--showme:libdirs",
            format!("{prefix}/lib/mpilite/mpich {prefix}/lib"),
        ),
        ("--showme:libs", "mpi".into()),
    ] {
        assert_eq!(mpi.answer("mpicc", &["--abi=mpich", question]), answer);
    }
    let with_variable = |value: &str, arguments: &[&str]| {
        let mut tool = mpi.tool("mpicc");
        tool.env("MPILITE_ABI", value).args(arguments);
        tool.output().expect("it runs")
    };
    let answer = |value: &str, arguments: &[&str]| {
        let output = with_variable(value, &[&["--showme:compile"], arguments].concat());
        assert_eq!(text(&output.stderr), "");
        text(&output.stdout).trim_end().to_string()
    };
    assert_eq!(answer("mpich", &[]), compile);
    assert_eq!(answer("mpich", &["--abi=standard"]), mpi.compile_flags());
    assert_eq!(answer("", &[]), mpi.compile_flags());
    for (value, arguments, words) in [
        ("intel", vec!["a.c"], ["'intel'", "standard", "mpich"]),
        (
            "",
            vec!["--abi=ompi", "-show"],
            ["'ompi'", "standard", "mpich"],
        ),
        (
            "mpich",
            vec!["-static-mpi", "a.c"],
            ["-static-mpi", "standard", "--abi=mpich"],
        ),
    ] {
        let output = with_variable(value, &arguments);
        let said = text(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
    }
}

#[test]
fn a_question_to_the_compiler_gets_no_flags_of_the_wrapper() {
    let mpi = Installation::new();
    for question in [
        "--version",
        "-dumpversion",
        "-dumpmachine",
        "-print-search-dirs",
    ] {
        let direct = text(&succeeds(Command::new("cc").arg(question)).stdout);
        assert_eq!(
            mpi.answer("mpicc", &[question]),
            direct.trim_end(),
            "{question}"
        );
    }
    let version = mpi.tool("mpicc").arg("-v").output().unwrap();
    assert_eq!(version.status.code(), Some(0));
    assert!(text(&version.stdout).starts_with("mpicc for mpi-lite version "));
    let nothing = mpi.tool("mpicc").output().unwrap();
    assert_eq!((nothing.status.code(), nothing.stdout.len()), (Some(1), 0));
    assert!(text(&nothing.stderr).starts_with("usage: mpicc"));
}

#[test]
fn an_answer_that_cannot_be_written_is_an_error_in_one_line() {
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let output = Command::new(MPICC)
        .arg("-show")
        .stdout(full)
        .output()
        .unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn the_status_of_the_compiler_is_the_status_of_the_wrapper() {
    let mpi = Installation::new();
    mpi.scratch
        .write("wrong.c", "int main(void) { return x; }", 0o644);
    let direct = Command::new("cc")
        .arg("wrong.c")
        .current_dir(mpi.prefix())
        .output()
        .unwrap();
    let ours = mpi.tool("mpicc").arg("wrong.c").output().unwrap();
    assert_eq!(
        (ours.status.code(), ours.stderr),
        (direct.status.code(), direct.stderr)
    );
    let missing = mpi
        .tool("mpicc")
        .args(["-cc=no-such-cc", "wrong.c"])
        .output()
        .unwrap();
    assert_eq!(missing.status.code(), Some(1));
    assert!(text(&missing.stderr).contains("cannot run the compiler 'no-such-cc'"));
}

#[test]
fn a_program_is_built_in_every_way_and_runs_without_a_library_path() {
    let mpi = Installation::new();
    mpi.scratch.write("p.c", PROGRAM, 0o644);
    mpi.scratch.write("p.cc", PROGRAM, 0o644);
    mpi.scratch.write("flags", "-c p.c -o from_file.o", 0o644);
    let steps: [(&str, &[&str]); 8] = [
        ("mpicc", &["p.c", "-o", "one_step"]),
        (
            "mpicc",
            &["-c", "p.c", "-o", "p.o", "-Wall", "-Wextra", "-Werror"],
        ),
        ("mpicc", &["p.o", "-o", "two_steps"]),
        ("mpicxx", &["p.cc", "-o", "cxx"]),
        ("mpicc", &["@flags"]),
        ("mpicc", &["from_file.o", "-o", "from_file"]),
        (
            "mpicc",
            &["-MD", "-MF", "p.d", "p.c", "-o", "with_dependencies"],
        ),
        ("mpicc", &["-shared", "-fPIC", "p.c", "-o", "shared.so"]),
    ];
    for (tool, arguments) in steps {
        let output = succeeds(mpi.tool(tool).args(arguments));
        assert_eq!(text(&output.stderr), "", "{arguments:?}");
    }
    for program in [
        "one_step",
        "two_steps",
        "cxx",
        "from_file",
        "with_dependencies",
    ] {
        let mut run = Command::new(mpi.prefix().join(program));
        let output = succeeds(run.env_remove("LD_LIBRARY_PATH"));
        assert_eq!(text(&output.stdout), "MPI 5\n", "{program}");
    }
}

#[test]
fn a_program_linked_without_run_path_runs_under_mpirun() {
    let mpi = Installation::new();
    mpi.scratch.write("p.c", PROGRAM, 0o644);
    let mut cc = Command::new("cc");
    cc.current_dir(mpi.prefix())
        .args(["-Iinclude", "p.c", "-Llib", "-lmpi_abi", "-o", "p"]);
    succeeds(&mut cc);
    let output = succeeds(mpi.tool("mpirun").args(["-n", "2", "./p"]));
    assert_eq!(text(&output.stdout), "MPI 5\nMPI 5\n");
}

#[test]
fn a_source_from_standard_input_is_compiled() {
    use std::io::Write;
    let mpi = Installation::new();
    let mut tool = mpi.tool("mpicc");
    tool.args(["-x", "c", "-", "-o", "p"])
        .stdin(std::process::Stdio::piped());
    let mut child = tool.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(PROGRAM.as_bytes())
        .unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn there_is_no_fortran_and_the_wrapper_says_so() {
    let mpi = Installation::new();
    for name in ["mpifort", "mpif90", "mpif77"] {
        let output = mpi.tool(name).arg("-show").output().unwrap();
        let said = text(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
        let start = format!("{name}: mpi-lite has no Fortran binding: configure");
        assert!(
            said.starts_with(&start) && said.lines().count() == 1,
            "{said}"
        );
    }
}

#[test]
fn the_package_files_lead_into_the_installation() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pkgconfig");
    let files = |directory: PathBuf| fs::read_dir(directory).unwrap().flatten();
    for (directory, up) in [(root.clone(), 2), (root.join("compat"), 4)] {
        let packages = files(directory)
            .map(|file| file.path())
            .filter(|path| path.is_file());
        for path in packages {
            let content = fs::read_to_string(&path).unwrap();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let prefix = format!("prefix=${{pcfiledir}}{}\n", "/..".repeat(up));
            let version = format!("\nVersion: {}\n", env!("CARGO_PKG_VERSION"));
            for part in [prefix, version, format!("\nName: {name}\n")] {
                assert!(content.contains(&part), "{}: {part}", path.display());
            }
            let libraries = match &*name {
                "mpi-lite-mpich" => {
                    "Libs: -L${libdir}/mpilite/mpich -L${libdir} -Wl,-rpath,${libdir} -lmpi\n"
                }
                _ => "Libs: -L${libdir} -Wl,-rpath,${libdir} -lmpi_abi\n",
            };
            assert!(content.ends_with(libraries), "{}", path.display());
        }
    }
}

const PROJECT: &str = "
cmake_minimum_required(VERSION 3.16)
project(try C CXX)
find_package(MPI REQUIRED COMPONENTS C CXX)
add_executable(p p.c)
target_link_libraries(p MPI::MPI_C)
add_executable(pp p.cc)
target_link_libraries(pp MPI::MPI_CXX)
get_cmake_property(names VARIABLES)
foreach(name ${names})
  if(name MATCHES \"^MPI.*_(COMPILER|EXECUTABLE|LIBRARY|LIBRARIES|DIR|DIRS|PATH|VERSION)$\")
    message(STATUS \"FOUND ${name}=${${name}}\")
  endif()
endforeach()
";

/// Needs cmake, and fails without it.
#[test]
fn cmake_finds_the_installation_and_nothing_else() {
    let mpi = Installation::new();
    let project = mpi.prefix().join("project");
    fs::create_dir(&project).unwrap();
    for (name, content) in [
        ("CMakeLists.txt", PROJECT),
        ("p.c", PROGRAM),
        ("p.cc", PROGRAM),
    ] {
        fs::write(project.join(name), content).unwrap();
    }
    let path = format!(
        "{}:{}",
        mpi.prefix().join("bin").display(),
        std::env::var("PATH").expect("a PATH")
    );
    let mut cmake = Command::new("cmake");
    cmake
        .args(["-S", ".", "-B", "build"])
        .current_dir(&project)
        .env("PATH", &path);
    let output = cmake.output().expect("cmake is installed");
    let log = text(&output.stdout);
    assert!(output.status.success(), "{log}\n{}", text(&output.stderr));
    assert!(log.contains("FOUND MPI_C_VERSION=5.0"), "{log}");
    let found = log
        .lines()
        .filter_map(|line| line.strip_prefix("-- FOUND "));
    for line in found.filter(|line| line.contains("=/")) {
        assert!(
            line.contains(&*mpi.prefix().to_string_lossy()),
            "of another MPI: {line}\n{log}"
        );
    }
    succeeds(
        Command::new("cmake")
            .args(["--build", "build"])
            .current_dir(&project),
    );
    for program in ["p", "pp"] {
        succeeds(&mut Command::new(project.join("build").join(program)));
    }
}
