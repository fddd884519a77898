//! A copy by programs of the system: OpenSSH's scp and sftp to its sshd, rsync to itself as a
//! daemon, and btu's own FTP client to vsftpd.
//!
//! Nothing of it is installed and no account is needed: the server accepts connections itself and
//! gives each to a process of the program that speaks on its standard input, as a super-server
//! would. That process runs as an account of the system's in a user namespace of its own
//! (`user_namespaces`(7)) and knows one password or key, which both ends make from the token. A
//! program that can open a file without a name gets one, in the directory of a process's open
//! files: so neither the file nor a key has a name on any disk. rsync opens no such file; it gets a
//! directory of its own, which is gone with this process.
//!
//! | end | what is known of its marks |
//! |---|---|
//! | scp, sftp, rsync | let in: when the program says so; first and last byte of a file that is put: when it was let in, and when the program ended; of one that is got: when its first bytes were there, and all, looked at every 2 ms |
//! | FTP client | all of them, as with btu's own server |
//! | server | let in: when the program says so; of a file that is taken: when its first bytes were there, and all, looked at every 2 ms; of one that is given: when it let the client in, and when the program ended |
//!
//! None of the programs reports when a file is durable. So an end that has put one makes another
//! connection, with the token, on which the server confirms it: three round trips, as with the bare
//! program.

mod client;
mod ends;
mod from_pipe;
mod key;
mod log;
mod openssh;
mod process;
mod rsync;
mod sandbox;
mod server;
pub(crate) mod terminal;
mod vsftpd;
mod x11perf;
mod xserver;

pub(super) use client::{Call, system_get, system_put};
pub use log::fuzz_log;
pub(super) use server::SystemServer;
pub(crate) use x11perf::x11perf;
pub(crate) use xserver::{COOKIE, XServer};

use std::path::PathBuf;
use std::process::Command;

use btu_contract::copy::Program;
use nix::unistd::User;

use crate::LoadError;

/// Number of the descriptor that is the file, in the process whose open files are served: its name
/// there.
const NAME: u8 = 5;

/// Directories of the superuser's programs that are not in an ordinary user's path.
const BEYOND_PATH: &str = "/usr/sbin:/sbin:/usr/local/sbin";

/// System accounts that every system has; a server runs as one of them, in its own user namespace,
/// and sshd admits it. `nobody` is not among them: if an ordinary user may not read the passwords,
/// systemd's name service answers for it, and reports it as locked (nss-systemd(8)).
const ACCOUNTS: [&str; 3] = ["daemon", "bin", "sys"];

/// The first of these that this system has.
fn account() -> Result<User, LoadError> {
    let mut found = ACCOUNTS.iter().filter_map(|name| User::from_name(name).ok().flatten());
    found.next().ok_or_else(|| LoadError::Program {
        program: "a server of the system",
        problem: format!(
            "it runs as one of the accounts {}, and this system has none of them",
            ACCOUNTS.join(", ")
        ),
    })
}

/// Finds a program of the system.
fn find(program: &'static str) -> Result<PathBuf, LoadError> {
    let path = std::env::var("PATH").unwrap_or_default();
    let directories = path
        .split(':')
        .chain(BEYOND_PATH.split(':'))
        .filter(|directory| directory.starts_with('/'));
    let found = directories
        .map(|directory| PathBuf::from(directory).join(program))
        .find(|file| file.is_file());
    found.ok_or_else(|| LoadError::Program {
        program,
        problem: "this system does not have it: install it, or leave out what it copies".to_owned(),
    })
}

/// The system's packages for copies, in addition to util-linux.
const fn needed(program: Program) -> &'static [&'static str] {
    match program {
        Program::Scp | Program::Sftp => &["scp", "sftp", "sshd"],
        Program::Rsync => &["rsync"],
        Program::Vsftpd => &["vsftpd"],
        _ => &[],
    }
}

/// The programs that a terminal at another host takes.
const FOR_TERMINAL: [&str; 8] =
    ["ssh", "sshd", "setpriv", "unshare", "mount", "readlink", "stty", "cat"];

/// The first of them that this system does not have.
pub fn missing_for_terminal() -> Option<&'static str> {
    first_missing(FOR_TERMINAL)
}

/// The programs that an X server takes: xkbcomp compiles its keyboard's map.
const FOR_X11: [&str; 6] = ["Xvfb", "xkbcomp", "sh", "unshare", "mount", "setpriv"];

/// The program that measures X servers.
const X11PERF: &str = "x11perf";

/// The first program that drawing on an X server takes, or measuring it by x11perf, and that this
/// system does not have.
pub fn missing_for_x11(with_x11perf: bool) -> Option<&'static str> {
    first_missing(FOR_X11.into_iter().chain(with_x11perf.then_some(X11PERF)))
}

/// The first program that copying by `program` takes and this system does not have.
pub fn missing_for(program: Program) -> Option<&'static str> {
    let own = needed(program);
    let of_util_linux: &[&str] = if own.is_empty() { &[] } else { &["setpriv", "unshare"] };
    first_missing(own.iter().chain(of_util_linux).copied())
}

fn first_missing(all: impl IntoIterator<Item = &'static str>) -> Option<&'static str> {
    all.into_iter().find(|program| find(program).is_err())
}

/// A command that ends when this process does.
fn ending_with_us(program: &'static str) -> Result<Command, LoadError> {
    let mut command = Command::new(find("setpriv")?);
    command.args(["--pdeathsig", "KILL", "--"]).arg(find(program)?);
    Ok(command)
}
