//! The flags that our header and library need.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// What the static library needs from the system.
const STATIC_NEEDS: [&str; 5] = ["-lpthread", "-ldl", "-lm", "-lrt", "-lgcc_s"];

/// A binary interface: what a compiled program asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Abi {
    /// That of the MPI standard: `libmpi_abi.so.1`.
    Standard,
    /// That of MPICH: `libmpi.so.12`.
    Mpich,
}

impl Abi {
    /// The interface with this name.
    pub(super) fn named(name: &OsStr) -> Result<Abi, String> {
        match name.to_str() {
            Some("standard") => Ok(Abi::Standard),
            Some("mpich") => Ok(Abi::Mpich),
            _ => Err(format!(
                "'{}' is no binary interface of mpi-lite: there are standard (libmpi_abi.so.1, \
                 the default) and mpich (libmpi.so.12)",
                name.display()
            )),
        }
    }

    /// Below the folder of headers.
    fn include(self) -> &'static str {
        match self {
            Abi::Standard => "",
            Abi::Mpich => "mpich",
        }
    }

    /// Where the library is called `libmpi.so`, below the folder of libraries: in that one it could
    /// be taken for the library of another MPI.
    fn namesake(self) -> &'static str {
        match self {
            Abi::Standard => "mpilite/libmpi",
            Abi::Mpich => "mpilite/mpich",
        }
    }

    /// What follows `-l`.
    pub(super) fn library(self) -> &'static str {
        match self {
            Abi::Standard => "mpi_abi",
            Abi::Mpich => "mpi",
        }
    }
}

/// Flags for one installation and one binary interface.
#[derive(Debug)]
pub(super) struct Flags {
    include: PathBuf,
    library: PathBuf,
    abi: Abi,
    is_static: bool,
}

impl Flags {
    /// # Errors
    /// The interface has no static library.
    pub(super) fn new(prefix: &Path, abi: Abi, is_static: bool) -> Result<Flags, String> {
        if is_static && abi != Abi::Standard {
            return Err(
                "-static-mpi is for the standard's interface: --abi=mpich has no \
                 static library; leave out one of them (or MPILITE_ABI)"
                    .into(),
            );
        }
        let include = prefix.join("include");
        let include = match abi.include() {
            "" => include,
            below => include.join(below),
        };
        Ok(Flags {
            include,
            library: prefix.join("lib"),
            abi,
            is_static,
        })
    }

    /// # Errors
    /// The static library is wanted and is not installed, as after `pip install`.
    pub(super) fn check(&self) -> Result<(), String> {
        let library = self.static_library();
        if !self.is_static || library.exists() {
            return Ok(());
        }
        Err(format!(
            "-static-mpi: {} is missing; a wheel has no static library: leave the option out, or \
             install mpi-lite from source or with the package mpi-lite-dev",
            library.display()
        ))
    }

    fn static_library(&self) -> PathBuf {
        self.library.join("libmpi_abi.a")
    }

    pub(super) fn include_directory(&self) -> OsString {
        self.include.clone().into()
    }

    pub(super) fn library_directories(&self) -> Vec<OsString> {
        match self.abi {
            Abi::Standard => vec![self.library.clone().into()],
            Abi::Mpich => vec![self.namesake().into(), self.library.clone().into()],
        }
    }

    fn namesake(&self) -> PathBuf {
        self.library.join(self.abi.namesake())
    }

    /// What follows `-l`.
    pub(super) fn library_name(&self) -> OsString {
        self.abi.library().into()
    }

    pub(super) fn compile(&self) -> Vec<OsString> {
        vec![with_prefix("-I", &self.include)]
    }

    pub(super) fn link(&self) -> Vec<OsString> {
        if self.is_static {
            let mut flags = vec![self.static_library().into()];
            flags.extend(STATIC_NEEDS.map(OsString::from));
            return flags;
        }
        let mut flags = Vec::new();
        // In front of the system's own: there `libmpi.so` may be that of another MPI.
        if self.abi == Abi::Mpich {
            flags.push(with_prefix("-L", &self.namesake()));
        }
        flags.push(with_prefix("-L", &self.library));
        // The system's own directories are searched anyway.
        if !["/usr/lib", "/lib"]
            .iter()
            .any(|system| self.library == Path::new(system))
        {
            flags.push(with_prefix("-Wl,-rpath,", &self.library));
            flags.push("-Wl,--enable-new-dtags".into());
        }
        // Behind ours: another `-lmpi` of the command line finds ours under its usual name.
        if self.abi == Abi::Standard {
            flags.push(with_prefix("-L", &self.namesake()));
        }
        flags.push(with_prefix("-l", Path::new(self.abi.library())));
        flags
    }
}

fn with_prefix(prefix: &str, path: &Path) -> OsString {
    let mut flag = OsString::from(prefix);
    flag.push(path);
    flag
}

/// Words as one line that a shell reads back as the same words.
pub(super) fn joined(words: &[OsString]) -> String {
    words
        .iter()
        .map(|word| shell_word(word))
        .collect::<Vec<_>>()
        .join(" ")
}

fn shell_word(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+=,:@%^~".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_only_where_a_shell_needs_it() {
        let words = ["cc", "-DX=\"a b\"", "", "it's", "-I/x+y"].map(OsString::from);
        assert_eq!(joined(&words), r#"cc '-DX="a b"' '' 'it'\''s' -I/x+y"#);
    }

    fn links(prefix: &str, abi: Abi) -> String {
        let flags = Flags::new(Path::new(prefix), abi, false).expect("it has no fault");
        joined(&flags.link())
    }

    #[test]
    fn a_run_path_is_set_except_where_the_system_looks_anyway() {
        let expected = "-L/opt/m/lib -Wl,-rpath,/opt/m/lib -Wl,--enable-new-dtags \
                        -L/opt/m/lib/mpilite/libmpi -lmpi_abi";
        assert_eq!(links("/opt/m", Abi::Standard), expected);
        let expected = "-L/usr/lib -L/usr/lib/mpilite/libmpi -lmpi_abi";
        assert_eq!(links("/usr", Abi::Standard), expected);
        let expected = "-L/opt/m/lib/mpilite/mpich -L/opt/m/lib -Wl,-rpath,/opt/m/lib \
                        -Wl,--enable-new-dtags -lmpi";
        assert_eq!(links("/opt/m", Abi::Mpich), expected);
        let expected = "-L/usr/lib/mpilite/mpich -L/usr/lib -lmpi";
        assert_eq!(links("/usr", Abi::Mpich), expected);
    }

    #[test]
    fn interfaces_have_names_and_one_has_a_static_library() {
        for (name, abi) in [("standard", Abi::Standard), ("mpich", Abi::Mpich)] {
            assert_eq!(Abi::named(OsStr::new(name)), Ok(abi));
        }
        for name in ["", "MPICH", "ompi"] {
            let why = Abi::named(OsStr::new(name)).expect_err("it is no interface");
            assert!(why.contains("standard") && why.contains("mpich"), "{why}");
        }
        let prefix = Path::new("/opt/m");
        assert!(Flags::new(prefix, Abi::Standard, true).is_ok());
        let why = Flags::new(prefix, Abi::Mpich, true).expect_err("there is none");
        assert!(why.contains("-static-mpi"), "{why}");
        let flags = Flags::new(prefix, Abi::Standard, true).expect("it has one");
        let why = flags.check().expect_err("nothing is installed there");
        assert!(why.contains("/opt/m/lib/libmpi_abi.a is missing"), "{why}");
    }
}
