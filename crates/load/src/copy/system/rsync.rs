//! The system's rsync as a client, and as the daemon of one directory.
//!
//! rsync follows no link to a file without a name, so file, settings and password are in a
//! directory that only this user may enter.

use std::fs::OpenOptions;
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use btu_contract::activity::Token;
use btu_contract::copy::Direction;
use btu_units::hexadecimal;

use super::ends::{CopyCommand, ServingProgram};
use super::{ending_with_us, find};
use crate::LoadError;
use crate::scratch::NAMED;

/// User and module.
const BTU: &str = "btu";

const SETTINGS: &str = "rsyncd.conf";
const PASSWORDS: &str = "passwords";

/// The command that puts or gets the file at `path`: written in place, since the file is watched
/// and made durable here. No file of the user's decides anything, nor the environment.
pub(super) fn client(
    to: SocketAddr,
    token: &Token,
    direction: Direction,
    path: &Path,
) -> Result<CopyCommand, LoadError> {
    let mut command = ending_with_us("rsync")?;
    command.env_clear().env("RSYNC_PASSWORD", hexadecimal(token));
    command.args(["--inplace", "--stderr=all", "--debug=proto"]);
    let there = format!("rsync://{BTU}@{to}/{BTU}/{NAMED}");
    match direction {
        Direction::Put => command.arg(path).arg(there),
        Direction::Get => command.arg(there).arg(path),
    };
    let let_in = |line: &str| line.contains("Protocol versions: ");
    Ok(CopyCommand { program: "rsync", command, let_in, held: Vec::new() })
}

/// A daemon for connections on its standard input, which serves the directory of the file at
/// `path`.
pub(super) fn service(token: &Token, path: &Path) -> Result<ServingProgram, LoadError> {
    let directory = path.parent().unwrap_or(path);
    let passwords = directory.join(PASSWORDS);
    write(&passwords, &format!("{BTU}:{}\n", hexadecimal(token)))?;
    let settings = format!(
        "use chroot = no\nreverse lookup = no\nlog file = /proc/self/fd/6\n[{BTU}]\npath = {}\n\
         read only = no\nlist = no\nauth users = {BTU}\nsecrets file = {}\nstrict modes = no\n",
        directory.display(),
        passwords.display()
    );
    let settings_file = directory.join(SETTINGS);
    write(&settings_file, &settings)?;
    let config = format!("--config={}", settings_file.display());
    let words = vec![find("rsync")?.into(), "--daemon".into(), config.into()];
    Ok(ServingProgram { program: "rsync", words, let_in: is_let_in, held: None })
}

/// Whether a line of its log, after time and process, reports that a client copies to or from the
/// module. The line of a refused client has another ending.
fn is_let_in(line: &str) -> bool {
    let said = line.split_once("] ").map_or("", |(_, said)| said);
    ["to", "on"].iter().any(|way| said.starts_with(&format!("rsync {way} {BTU}/")))
}

fn write(path: &Path, text: &str) -> Result<(), LoadError> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| LoadError::Program {
        program: "rsync",
        problem: format!("its settings could not be written to {}: {error}", path.display()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_is_let_in_is_known_from_one_that_is_not() {
        let at = "2026/11/24 16:33:43 [25603] ";
        for (said, expected) in [
            ("rsync to btu/copy from btu@UNDETERMINED (127.0.0.1)", true),
            ("rsync on btu/copy from btu@UNDETERMINED (127.0.0.1)", true),
            ("rsync allowed access on module btu from UNDETERMINED (127.0.0.1)", false),
            ("auth failed on module btu from x (127.0.0.1) for ] rsync to btu/: no", false),
        ] {
            assert_eq!(is_let_in(&format!("{at}{said}")), expected, "{said}");
        }
    }
}
