//! `mpicc` and `mpicxx`: the real compiler with the flags for our header and library.
//!
//! The program looks at its own name for the language, and at its own place for the prefix:
//! `PREFIX/bin/mpicc` finds `PREFIX/include` and `PREFIX/lib`. It replaces itself by the compiler,
//! so that it costs nothing while that runs.

mod command;
mod flags;

use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Write as _};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use command::{Asked, Invocation};
use flags::{Abi, Flags, joined};

/// What a wrapper compiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    C,
    Cxx,
}

impl Language {
    /// The language of the wrapper with this name (suffixes do not count), or `None` for Fortran,
    /// for which there is no binding.
    fn of(name: &OsStr) -> Option<Language> {
        let name = Path::new(name)
            .file_name()
            .unwrap_or(name)
            .to_string_lossy()
            .into_owned();
        match name.split(['.', '_']).next() {
            Some("mpicxx" | "mpic++" | "mpiCC") => Some(Language::Cxx),
            Some("mpifort" | "mpif90" | "mpif77" | "mpif95" | "mpifc") => None,
            _ => Some(Language::C),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Language::C => "C",
            Language::Cxx => "C++",
        }
    }

    /// The variables that name the compiler, ours first.
    fn variables(self) -> [&'static str; 4] {
        match self {
            Language::C => ["MPILITE_CC", "MPICH_CC", "I_MPI_CC", "OMPI_CC"],
            Language::Cxx => ["MPILITE_CXX", "MPICH_CXX", "I_MPI_CXX", "OMPI_CXX"],
        }
    }

    fn default_compiler(self) -> &'static str {
        match self {
            Language::C => "cc",
            Language::Cxx => "c++",
        }
    }
}

/// Runs the wrapper with its whole argv; on success the compiler takes this process over.
pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let mut words = arguments.into_iter();
    let own_name = words.next().unwrap_or_else(|| "mpicc".into());
    let shown = Path::new(&own_name)
        .file_name()
        .unwrap_or(&own_name)
        .display()
        .to_string();
    let Some(language) = Language::of(&own_name) else {
        complain(&format!(
            "{shown}: mpi-lite has no Fortran binding: configure the program without Fortran \
             (often --disable-fortran or FC=no), and compile Fortran that does not \
             call MPI with gfortran"
        ));
        return ExitCode::FAILURE;
    };
    let invocation = Invocation::parse(words);
    let wrapper = Wrapper {
        name: shown,
        language,
        invocation,
    };
    match wrapper.act() {
        Ok(code) => code,
        Err(text) => {
            complain(&format!("{}: {text}", wrapper.name));
            ExitCode::FAILURE
        }
    }
}

/// Prints a line of an answer. A reader that takes only its beginning (`mpicc -show | head -1`)
/// causes no error.
fn say(line: &str) -> Result<(), String> {
    match writeln!(std::io::stdout(), "{line}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(format!("cannot write the output: {error}"))
        }
        _ => Ok(()),
    }
}

/// Prints a line for humans; nothing can be done if nobody listens.
fn complain(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

struct Wrapper {
    name: String,
    language: Language,
    invocation: Invocation,
}

impl Wrapper {
    fn act(&self) -> Result<ExitCode, String> {
        let flags = Flags::new(&prefix()?, self.abi()?, self.invocation.is_static)?;
        let text = match self.invocation.asked {
            Asked::Compile if self.invocation.is_empty() => return Ok(self.usage()),
            Asked::Compile => return self.compile(&flags),
            Asked::CommandLine => joined(&self.command_line(&flags)),
            Asked::CompileFlags => joined(&flags.compile()),
            Asked::LinkFlags => joined(&flags.link()),
            Asked::IncludeDirectories => joined(&[flags.include_directory()]),
            Asked::LibraryDirectories => joined(&flags.library_directories()),
            Asked::Libraries => joined(&[flags.library_name()]),
            Asked::Compiler => joined(&self.compiler()?),
            Asked::Version => format!(
                "{}: mpi-lite {} (Language: {})",
                self.name,
                env!("CARGO_PKG_VERSION"),
                self.language.name()
            ),
            Asked::Help => help(&self.name),
        };
        say(&text)?;
        Ok(ExitCode::SUCCESS)
    }

    fn usage(&self) -> ExitCode {
        complain(&help(&self.name));
        ExitCode::FAILURE
    }

    fn compile(&self, flags: &Flags) -> Result<ExitCode, String> {
        for warning in &self.invocation.warnings {
            complain(&format!("{}: {warning}", self.name));
        }
        if self.invocation.asks_version_only() {
            let version = env!("CARGO_PKG_VERSION");
            say(&format!("{} for mpi-lite version {version}", self.name))?;
        }
        if self.invocation.links() {
            flags.check()?;
        }
        let line = self.command_line(flags);
        if self.invocation.echoes {
            say(&joined(&line))?;
        }
        let (compiler, arguments) = line.split_first().ok_or("no compiler is named")?;
        let error = Command::new(compiler).args(arguments).exec();
        Err(format!(
            "cannot run the compiler '{}': {error} (set {})",
            compiler.display(),
            self.language.variables()[0]
        ))
    }

    fn command_line(&self, flags: &Flags) -> Vec<OsString> {
        let mut line = self.compiler().unwrap_or_default();
        line.extend(self.invocation.arguments.iter().cloned());
        if self.invocation.compiles() {
            line.extend(flags.compile());
        }
        if self.invocation.links() {
            line.extend(flags.link());
        }
        line
    }

    /// The binary interface: from the command line, a variable, or the standard's.
    fn abi(&self) -> Result<Abi, String> {
        let from_variable = || std::env::var_os("MPILITE_ABI").filter(|value| !value.is_empty());
        let named = self.invocation.abi.clone().or_else(from_variable);
        named.map_or(Ok(Abi::Standard), |name| Abi::named(&name))
    }

    /// The compiler's words: from the command line, a variable, or the default.
    fn compiler(&self) -> Result<Vec<OsString>, String> {
        let from_variable = || {
            let values = self.language.variables().map(std::env::var_os);
            values.into_iter().flatten().find(|value| !value.is_empty())
        };
        let named = self.invocation.compiler.clone().or_else(from_variable);
        let named = named.unwrap_or_else(|| self.language.default_compiler().into());
        let words: Vec<OsString> = named
            .to_string_lossy()
            .split_ascii_whitespace()
            .map(OsString::from)
            .collect();
        let program = words.first().ok_or("the compiler's name is empty")?;
        if is_ourselves(program) {
            return Ok(vec![self.language.default_compiler().into()]);
        }
        Ok(words)
    }
}

/// The directory above the `bin` where this program is installed.
fn prefix() -> Result<PathBuf, String> {
    let own = std::env::current_exe()
        .map_err(|error| format!("cannot find the path of this program: {error}"))?;
    let prefix = own.parent().and_then(Path::parent);
    prefix.map(Path::to_path_buf).ok_or_else(|| {
        format!(
            "{} is not in the bin folder of an installation",
            own.display()
        )
    })
}

/// A build system may have been told that its compiler is mpicc, and passes that on to mpicc.
fn is_ourselves(program: &OsStr) -> bool {
    let Ok(own) = std::env::current_exe() else {
        return false;
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let candidates: Vec<PathBuf> = if Path::new(program).components().count() > 1 {
        vec![PathBuf::from(program)]
    } else {
        std::env::split_paths(&path)
            .map(|directory| directory.join(program))
            .collect()
    };
    let first = candidates.into_iter().find(|candidate| candidate.is_file());
    first
        .and_then(|first| first.canonicalize().ok())
        .is_some_and(|first| first == own || is_script_beside(&first, &own))
}

/// Where there are no links a script has the name of another wrapper: in a wheel.
fn is_script_beside(program: &Path, own: &Path) -> bool {
    const NAMES: [&str; 3] = ["mpicxx", "mpic++", "mpiCC"];
    let name = program.file_name().and_then(OsStr::to_str);
    program.parent() == own.parent() && name.is_some_and(|name| NAMES.contains(&name))
}

/// The options of the wrappers, each with what it does. All others are for the compiler.
pub const OPTIONS: &[(&str, &str)] = &[
    (
        "-show, --showme",
        "print the command line instead of running it",
    ),
    ("--showme:compile", "print the flags for compiling"),
    ("--showme:link", "print the flags for linking"),
    ("-compile_info", "print the command for compiling"),
    ("-link_info", "print the command for linking"),
    (
        "--showme:WHAT",
        "incdirs, libdirs, libs, command, version or help",
    ),
    (
        "-cc=CC, -cxx=CXX",
        "use this compiler (also MPILITE_CC, MPILITE_CXX)",
    ),
    (
        "--abi=standard|mpich",
        "the binary interface of the program: mpich links libmpi.so.12 (also MPILITE_ABI)",
    ),
    ("-static-mpi", "link libmpi_abi.a"),
    ("-echo", "print the command line and run it"),
];

fn help(name: &str) -> String {
    let rows = OPTIONS
        .iter()
        .map(|(option, text)| format!("\n  {option:23} {text}"));
    format!("usage: {name} [options of the compiler] file...") + &rows.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_decides_the_language() {
        for (name, language) in [
            ("/x/bin/mpicc", Some(Language::C)),
            ("mpicc.mpilite", Some(Language::C)),
            ("mpicc_abi", Some(Language::C)),
            ("mpicxx", Some(Language::Cxx)),
            ("mpic++", Some(Language::Cxx)),
            ("mpiCC", Some(Language::Cxx)),
            ("mpicxx.mpilite", Some(Language::Cxx)),
            ("mpif90", None),
        ] {
            assert_eq!(Language::of(OsStr::new(name)), language, "{name}");
        }
    }
}
