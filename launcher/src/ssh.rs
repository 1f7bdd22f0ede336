//! How ssh is called: which program, for how long, with which path on the other side.

use std::ffi::OsStr;
use std::time::Duration;

use crate::failure::{Failure, printable};

/// From starting ssh to the agent's first report, unless `MPILITE_LAUNCH_TIMEOUT` says else.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// The words of `MPILITE_SSH`, or ssh.
pub(crate) fn ssh_program() -> Result<Vec<String>, Failure> {
    let Some(setting) = std::env::var_os("MPILITE_SSH") else {
        return Ok(vec!["ssh".into()]);
    };
    let words: Vec<String> = setting
        .to_string_lossy()
        .split_ascii_whitespace()
        .map(String::from)
        .collect();
    if words.is_empty() {
        return Err(Failure::usage(
            "MPILITE_SSH is empty; unset it or name an ssh program",
        ));
    }
    Ok(words)
}

/// How long ssh and the agent may take until the agent's first report.
pub(crate) fn ready_within() -> Result<Duration, Failure> {
    let Some(setting) = std::env::var_os("MPILITE_LAUNCH_TIMEOUT") else {
        return Ok(READY_WITHIN);
    };
    let seconds = setting.to_str().and_then(|text| text.parse::<f64>().ok());
    match seconds {
        Some(seconds) if seconds > 0.0 && seconds <= 86_400.0 => {
            Ok(Duration::from_secs_f64(seconds))
        }
        _ => {
            let shown = printable(&setting.to_string_lossy());
            Err(Failure::usage(format!(
                "MPILITE_LAUNCH_TIMEOUT={shown} is no number of seconds"
            )))
        }
    }
}

/// Our own path as a word for any remote shell.
pub(crate) fn quoted(path: &OsStr) -> Result<String, Failure> {
    let shown = printable(&path.to_string_lossy());
    let Some(text) = path
        .to_str()
        .filter(|text| !text.contains(['\n', '!', '\'']))
    else {
        return Err(Failure::launch(format!(
            "cannot use my path '{shown}' on other hosts"
        )));
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if text.chars().all(is_plain) {
        Ok(text.to_string())
    } else {
        Ok(format!("'{text}'"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_unusual_path_is_quoted() {
        assert_eq!(
            quoted(OsStr::new("/usr/bin/mpirun")).unwrap(),
            "/usr/bin/mpirun"
        );
        assert_eq!(
            quoted(OsStr::new("/my dir/$x/mpirun")).unwrap(),
            "'/my dir/$x/mpirun'"
        );
        assert!(quoted(OsStr::new("/a'b/mpirun")).is_err());
    }
}
