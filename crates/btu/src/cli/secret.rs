//! Secrets of a command line. What stands on it is shown to every user of the machine (`/proc/PID/cmdline`), so a secret can be
//! read from a file, or from standard input.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;

/// No secret is longer.
const MOST_BYTES: u64 = 4096;

/// `text` itself, or the first line of the file that it names as `@FILE`; `@-` is standard input.
pub(super) fn secret(text: &str) -> Result<Cow<'_, str>, String> {
    let Some(name) = text.strip_prefix('@') else { return Ok(Cow::Borrowed(text)) };
    let line = if name == "-" { first_line(std::io::stdin().lock()) } else { private(name).and_then(first_line) };
    line.map(Cow::Owned).map_err(|why| format!("reading the secret from {name}: {why}"))
}

/// A file that nobody else can read, or a pipe that a shell has made.
fn private(name: &str) -> Result<BufReader<File>, String> {
    let file = File::open(name).map_err(|error| error.to_string())?;
    let about = file.metadata().map_err(|error| error.to_string())?;
    if about.is_file() && about.permissions().mode() & 0o077 != 0 {
        return Err(format!("others can read it; `chmod 600 {}` keeps them out", btu_units::shell_word(name)));
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
        let named = format!("@{}", path.display());
        let mode = |mode| std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        mode(0o644);
        let refused = secret(&named).unwrap_err();
        assert!(refused.contains("others can read it") && !refused.contains("K7QF"), "{refused}");
        mode(0o600);
        assert_eq!(secret(&named).unwrap(), "K7QF-9M2R");
        assert_eq!(secret("K7QF").unwrap(), "K7QF");
        std::fs::write(&path, "\n").unwrap();
        assert!(secret(&named).unwrap_err().contains("empty"));
        assert!(secret("@/nowhere/at/all").unwrap_err().contains("No such file"));
    }
}
