//! The flags that our header and library need.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// What the static library needs from the system.
const STATIC_NEEDS: [&str; 5] = ["-lpthread", "-ldl", "-lm", "-lrt", "-lgcc_s"];

/// Where the library is called `libmpi.so`, below its own folder: in that one it could be taken for
/// the library of another MPI.
const NAMESAKE: &str = "mpilite/libmpi";

/// Flags for one installation.
#[derive(Debug)]
pub(super) struct Flags {
    include: PathBuf,
    library: PathBuf,
    is_static: bool,
}

impl Flags {
    pub(super) fn new(prefix: &Path, is_static: bool) -> Flags {
        Flags {
            include: prefix.join("include"),
            library: prefix.join("lib"),
            is_static,
        }
    }

    pub(super) fn include_directory(&self) -> OsString {
        self.include.clone().into()
    }

    pub(super) fn library_directory(&self) -> OsString {
        self.library.clone().into()
    }

    pub(super) fn compile(&self) -> Vec<OsString> {
        vec![with_prefix("-I", &self.include)]
    }

    pub(super) fn link(&self) -> Vec<OsString> {
        if self.is_static {
            let mut flags = vec![self.library.join("libmpi_abi.a").into()];
            flags.extend(STATIC_NEEDS.map(OsString::from));
            return flags;
        }
        let mut flags = vec![with_prefix("-L", &self.library)];
        // The system's own directories are searched anyway.
        if !["/usr/lib", "/lib"]
            .iter()
            .any(|system| self.library == Path::new(system))
        {
            flags.push(with_prefix("-Wl,-rpath,", &self.library));
            flags.push("-Wl,--enable-new-dtags".into());
        }
        // Behind ours: another `-lmpi` of the command line finds ours under its usual name.
        flags.push(with_prefix("-L", &self.library.join(NAMESAKE)));
        flags.push("-lmpi_abi".into());
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

    #[test]
    fn a_run_path_is_set_except_where_the_system_looks_anyway() {
        let links = |prefix: &str| joined(&Flags::new(Path::new(prefix), false).link());
        let expected = "-L/opt/m/lib -Wl,-rpath,/opt/m/lib -Wl,--enable-new-dtags \
                        -L/opt/m/lib/mpilite/libmpi -lmpi_abi";
        assert_eq!(links("/opt/m"), expected);
        let expected = "-L/usr/lib -L/usr/lib/mpilite/libmpi -lmpi_abi";
        assert_eq!(links("/usr"), expected);
    }
}
