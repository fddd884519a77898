//! The system's scp and sftp, and its sshd as a server of one file; and ssh with a terminal at its
//! sshd.

use std::net::SocketAddr;
use std::path::Path;

use btu_contract::activity::Token;
use btu_contract::copy::{Direction, Program};

use super::ends::{CopyCommand, MemoryFile, ServingProgram};
use super::key::Key;
use super::log::LetIn;
use super::{NAME, account, ending_with_us, find};
use crate::LoadError;

/// The name of the host in the file of known hosts, for any address.
const ALIAS: &str = "btu";

/// Goes on with host key, authorised key and file open as 3, 4 and 5. This shell stays, since its
/// open files are the directory that is served, and sshd hides its own open files from other
/// processes.
const SERVE: &str = "\"$@\" -o HostKey=/proc/$$/fd/3 -o AuthorizedKeysFile=/proc/$$/fd/4 \
                     -o \"ForceCommand=internal-sftp -d /proc/$$/fd\"; exit $?";

/// The same for a terminal: what comes to it goes to 5, and what comes from 6 goes to it, as it is.
/// No other command can be asked for.
const SERVE_TERMINAL: &str = "\"$@\" -o HostKey=/proc/$$/fd/3 -o AuthorizedKeysFile=/proc/$$/fd/4 \
                              -o \"ForceCommand=stty raw -echo && { cat </proc/$$/fd/6 & exec cat \
                              >/proc/$$/fd/5; }\"; exit $?";

/// The options of sshd in addition to those; no file of the system decides anything.
const OPTIONS: [&str; 11] = [
    "AuthenticationMethods=publickey",
    "DisableForwarding=yes",
    "LoginGraceTime=5",
    "LogLevel=VERBOSE",
    "PermitUserRC=no",
    "PidFile=none",
    "PrintLastLog=no",
    "PrintMotd=no",
    "StrictModes=no",
    "Subsystem=sftp internal-sftp",
    "UsePAM=no",
];

/// The command that puts or gets the file at `path`. No file of the user's decides anything.
pub(super) fn client(
    program: Program,
    to: SocketAddr,
    token: &Token,
    direction: Direction,
    path: &Path,
) -> Result<CopyCommand, LoadError> {
    let Known { identity, known } = Known::of(token)?;
    let options = options(&identity, &known);
    let user = account()?.name;
    let host = match to {
        SocketAddr::V4(to) => format!("{user}@{}", to.ip()),
        SocketAddr::V6(to) => format!("{user}@[{}]", to.ip()),
    };
    let name = if program == Program::Sftp { "sftp" } else { "scp" };
    let mut command = ending_with_us(name)?;
    command.args(["-F", "none", "-P", &to.port().to_string()]);
    let mut held = vec![identity, known];
    if program == Program::Sftp {
        let batch = MemoryFile::new(match direction {
            Direction::Put => format!("put {} {NAME}\n", path.display()),
            Direction::Get => format!("get {NAME} {}\n", path.display()),
        })?;
        command.arg("-b").arg(batch.path());
        held.push(batch);
    }
    command.args(options.iter().flat_map(|option| ["-o", option]));
    match (program, direction) {
        (Program::Sftp, _) => command.arg(host),
        (_, Direction::Put) => command.arg(path).arg(format!("{host}:{NAME}")),
        (_, Direction::Get) => command.arg(format!("{host}:{NAME}")).arg(path),
    };
    Ok(CopyCommand { program: name, command, let_in: AUTHENTICATED, held })
}

/// The command that has a terminal at the other end. Its keystrokes are sent when they come, which
/// OpenSSH does by itself up to version 9.4.
pub(super) fn terminal_client(to: SocketAddr, token: &Token) -> Result<CopyCommand, LoadError> {
    let Known { identity, known } = Known::of(token)?;
    let mut command = ending_with_us("ssh")?;
    command.args(["-F", "none", "-tt", "-e", "none", "-p", &to.port().to_string()]);
    let terminal =
        ["ConnectTimeout=10", "IgnoreUnknown=ObscureKeystrokeTiming", "ObscureKeystrokeTiming=no"];
    let options = options(&identity, &known);
    let options = options.iter().map(String::as_str).chain(terminal);
    command.args(options.flat_map(|option| ["-o", option]));
    command.args(["-l", &account()?.name, &to.ip().to_string()]);
    Ok(CopyCommand { program: "ssh", command, let_in: AUTHENTICATED, held: vec![identity, known] })
}

/// How the client reports that it was let in.
const AUTHENTICATED: LetIn = |line| line.starts_with("Authenticated to");

/// The client's key, and the host's as the client knows it.
struct Known {
    identity: MemoryFile,
    known: MemoryFile,
}

impl Known {
    fn of(token: &Token) -> Result<Self, LoadError> {
        let identity = MemoryFile::new(Key::of(token, "user")?.private_text())?;
        let known =
            MemoryFile::new(format!("{ALIAS} {}\n", Key::of(token, "host")?.public_line()))?;
        Ok(Self { identity, known })
    }
}

/// The options of the client.
fn options(identity: &MemoryFile, known: &MemoryFile) -> [String; 11] {
    let option = |name: &str, value: &Path| format!("{name}={}", value.display());
    [
        "BatchMode=yes".to_owned(),
        "CanonicalizeHostname=no".to_owned(),
        "GlobalKnownHostsFile=/dev/null".to_owned(),
        format!("HostKeyAlias={ALIAS}"),
        "IdentitiesOnly=yes".to_owned(),
        "IdentityAgent=none".to_owned(),
        option("IdentityFile", &identity.path()),
        "LogLevel=VERBOSE".to_owned(),
        "PreferredAuthentications=publickey".to_owned(),
        "StrictHostKeyChecking=yes".to_owned(),
        option("UserKnownHostsFile", &known.path()),
    ]
}

/// An sshd for connections on its standard input. One that is not the superuser's needs neither a
/// directory nor an account for itself.
pub(super) fn service(token: &Token) -> Result<ServingProgram, LoadError> {
    serving(token, SERVE)
}

/// The same with a terminal in raw mode instead of files.
pub(super) fn terminal_service(token: &Token) -> Result<ServingProgram, LoadError> {
    serving(token, SERVE_TERMINAL)
}

fn serving(token: &Token, serve: &str) -> Result<ServingProgram, LoadError> {
    let host = MemoryFile::new(Key::of(token, "host")?.private_text())?;
    let user = MemoryFile::new(format!("{}\n", Key::of(token, "user")?.public_line()))?;
    let mut words = vec![find("sh")?.into(), "-c".into(), serve.into(), "sh".into()];
    words.extend([find("sshd")?.into(), "-i".into(), "-e".into(), "-f".into(), "/dev/null".into()]);
    words.extend(OPTIONS.iter().flat_map(|option| ["-o".into(), option.into()]));
    let let_in = |line: &str| line.starts_with("Accepted publickey");
    Ok(ServingProgram { program: "sshd", words, let_in, held: Some([host, user]) })
}
