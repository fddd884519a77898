//! Secrets. Every user of the machine can read command lines (`/proc/PID/cmdline`, `ps`), so no
//! secret is taken from there. btu asks for it, or reads it from standard input or from a file.

use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use btu_testbed::note;

/// Longest secret that is read, in bytes.
const MOST_BYTES: u64 = 4096;

/// The place of a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Secret {
    /// A line of standard input; at a terminal btu asks for it.
    StandardInput,
    /// The first line of this file.
    File(PathBuf),
}

impl Secret {
    /// The place that `@FILE` or `@-` names; `None` for any other text.
    pub(super) fn named(text: &str) -> Option<Self> {
        text.strip_prefix('@').map(|name| match name {
            "-" => Self::StandardInput,
            name => Self::File(name.into()),
        })
    }

    /// Reads the secret. `what` names its kind in the question and in errors, which never show the
    /// secret.
    pub(crate) fn read(&self, what: &str) -> Result<String, String> {
        let (line, from) = match self {
            Self::StandardInput => {
                let input = std::io::stdin();
                if input.is_terminal() {
                    note::write(format_args!("{what}: "));
                }
                (first_line(input.lock()), "standard input".to_owned())
            }
            Self::File(path) => (private(path).and_then(first_line), path.display().to_string()),
        };
        line.map_err(|why| format!("reading the {what} from {from}: {why}"))
    }
}

/// Opens a file that no other user can read, or a pipe that a shell has made.
pub(crate) fn private(path: &Path) -> Result<BufReader<File>, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let about = file.metadata().map_err(|error| error.to_string())?;
    if about.is_file() && about.permissions().mode() & 0o077 != 0 {
        let path = path.display().to_string();
        return Err(format!(
            "others can read it; `chmod 600 {}` keeps them out",
            btu_units::shell_word(&path)
        ));
    }
    Ok(BufReader::new(file))
}

fn first_line(from: impl BufRead) -> Result<String, String> {
    let mut line = String::new();
    from.take(MOST_BYTES).read_line(&mut line).map_err(|error| error.to_string())?;
    let line = line.trim();
    if line.is_empty() { Err("its first line is empty".to_owned()) } else { Ok(line.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_the_first_line_of_a_private_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("code");
        std::fs::write(&path, " K7QF-9M2R \nmore\n").unwrap();
        let secret =
            |name: &str| Secret::named(&format!("@{name}")).expect("a file").read("code of alpha");
        let name = path.display().to_string();
        let mode = |mode| std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        mode(0o644);
        let refused = secret(&name).unwrap_err();
        assert!(refused.contains("others can read it") && !refused.contains("K7QF"), "{refused}");
        mode(0o600);
        assert_eq!(secret(&name).unwrap(), "K7QF-9M2R");
        std::fs::write(&path, "\n").unwrap();
        assert!(secret(&name).unwrap_err().contains("empty"));
        let missing = secret("/nowhere/at/all").unwrap_err();
        assert!(missing.contains("code of alpha from /nowhere/at/all: No such file"), "{missing}");
    }

    #[test]
    fn nothing_but_a_place_is_a_secret() {
        assert_eq!(Secret::named("@-"), Some(Secret::StandardInput));
        assert_eq!(Secret::named("K7QF-9M2R"), None);
        assert_eq!(Secret::named(""), None);
    }
}
